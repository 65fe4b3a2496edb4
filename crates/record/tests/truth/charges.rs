//! Who is charged for waits, and what is known of a hold.

use crate::common::Mode::{Exact, Told};
use crate::common::{from_here, in_its_own_process, lock_at, pass, reader, samples, start, sum, when};
use ondeck_record::layout::{NONE, event};
use ondeck_record::read::Sample;
use ondeck_record::{Marks, rotated, slept, spun, woke};

const LOCK: u64 = 0x5000;

fn events(samples: &[Sample]) -> Vec<u32> {
    samples.iter().map(|sample| sample.event).collect()
}

/// Releases it, and whether there was something to look at.
fn release(marks: &Marks) -> bool {
    let pending = if marks.is_marked() { marks.release(LOCK) } else { None };
    let is_some = pending.is_some();
    pending.into_iter().for_each(ondeck_record::PendingRelease::done);
    is_some
}

#[test]
fn a_hold_that_nobody_waits_for_is_timed() {
    in_its_own_process("charges::a_hold_that_nobody_waits_for_is_timed", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        let ((), taken) = when(|| marks.taken(LOCK));
        pass(300);
        let (was_looked_at, released) = when(|| release(&marks));
        assert!(was_looked_at && !marks.is_marked());
        let mut reader = reader(directory);
        let lock = lock_at(&reader, LOCK);
        let samples = samples(&mut reader);
        assert_eq!(events(&samples), [event::TAKE]);
        let sample = samples[0];
        assert!(taken.until(released).contains(&sample.ns), "{sample:?}");
        assert_eq!((sample.lock, sample.weight, lock.most_waiting, lock.left_over), (lock.number, 1.0, 0, 0));
        // SAFETY: always may be called.
        assert_eq!(sample.thread, unsafe { libc::gettid() } as u32);
        assert!(reader.stack(sample.stack).unwrap().len() > 3);
        assert!(reader.has_locked().unwrap());
    });
}

#[test]
fn a_hold_is_charged_for_all_who_wait() {
    in_its_own_process("charges::a_hold_is_charged_for_all_who_wait", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        from_here(|| marks.taken(LOCK));
        let (first, first_came) = when(|| marks.wait(LOCK).unwrap());
        pass(300);
        let (second, second_came) = when(|| marks.wait(LOCK).unwrap());
        pass(300);
        let (_, released) = when(|| release(&marks));
        pass(300);
        let (waited, first_got) = when(|| first.end(true, LOCK));
        pass(300);
        let (_, released_again) = when(|| release(&marks));
        pass(300);
        let (_, second_got) = when(|| second.end(true, LOCK));
        release(&marks);

        let mut reader = reader(directory);
        let samples = samples(&mut reader);
        let (take, charge, wait, free) = (event::TAKE, event::CHARGE, event::WAIT, event::HANDING_ON);
        assert_eq!(events(&samples), [take, charge, free, wait, take, charge, free, wait, take]);
        let ns: Vec<u64> = samples.iter().map(|sample| sample.ns).collect();
        let both = sum(&first_came.until(released), &second_came.until(released));
        assert!(both.contains(&ns[1]), "charged {}, and not {both:?}", ns[1]);
        // Two waited while the lock was free, then one during a hold, then that one while it was free.
        let free = released.until(first_got);
        assert!(sum(&free, &free).contains(&ns[2]), "{ns:?}");
        assert!(first_came.until(first_got).contains(&ns[3]) && ns[3] == waited, "{ns:?}");
        assert!(first_got.until(released_again).contains(&ns[4]), "{ns:?}");
        assert!(first_got.until(released_again).contains(&ns[5]), "{ns:?}");
        assert!(released_again.until(second_got).contains(&ns[6]), "{ns:?}");
        assert!(second_came.until(second_got).contains(&ns[7]), "{ns:?}");
        // All that was waited is charged, once.
        assert_eq!(ns[1] + ns[2] + ns[5] + ns[6], ns[3] + ns[7]);
        // Who had waited is known by the stack that did, and the release by the same.
        assert_eq!(samples[3].stack, samples[5].stack);
        assert_eq!(samples[2].stack, NONE);
        assert!(samples[1].stack != NONE && samples[1].stack != samples[3].stack);
        assert_eq!(lock_at(&reader, LOCK).most_waiting, 2);
        assert!(!marks.is_marked());
    });
}

#[test]
fn what_somebody_waited_who_gave_up_is_charged_to_the_next() {
    in_its_own_process("charges::what_somebody_waited_who_gave_up_is_charged_to_the_next", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        marks.taken(LOCK);
        let (waiting, came) = when(|| marks.wait(LOCK).unwrap());
        pass(300);
        let (_, left) = when(|| waiting.end(false, LOCK));
        let gone = came.until(left);
        let before = lock_at(&reader(directory), LOCK).left_over;
        assert!(gone.contains(&before), "{before}, and not {gone:?}");
        let (waiting, came) = when(|| marks.wait(LOCK).unwrap());
        pass(300);
        let (_, released) = when(|| release(&marks));
        let mut reader = reader(directory);
        let samples = samples(&mut reader);
        assert_eq!(events(&samples), [event::GAVE_UP, event::TAKE, event::CHARGE]);
        assert!(gone.contains(&samples[0].ns));
        assert!(came.until(released).contains(&(samples[2].ns - before)), "{samples:?}, left over {before}");
        assert_eq!(lock_at(&reader, LOCK).left_over, 0);
        // Somebody who leaves after a charge leaves what has passed since then.
        pass(300);
        let (_, left) = when(|| waiting.end(false, LOCK));
        let left_over = lock_at(&reader, LOCK).left_over;
        assert!(released.until(left).contains(&left_over), "{left_over}");
    });
}

#[test]
fn who_comes_while_the_lock_is_free_charges_nobody() {
    in_its_own_process("charges::who_comes_while_the_lock_is_free_charges_nobody", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        marks.taken(LOCK);
        let (waiting, came) = when(|| marks.wait(LOCK).unwrap());
        let (_, released) = when(|| release(&marks));
        pass(300);
        // Another is faster than who waits.
        let ((), taken) = when(|| marks.taken(LOCK));
        pass(300);
        let (_, released_again) = when(|| release(&marks));
        let (_, got) = when(|| waiting.end(true, LOCK));
        let mut reader = reader(directory);
        let samples = samples(&mut reader);
        let (take, charge, free) = (event::TAKE, event::CHARGE, event::HANDING_ON);
        assert_eq!(events(&samples), [take, charge, free, take, charge, free, event::WAIT]);
        assert!(came.until(released).contains(&samples[1].ns));
        assert!(released.until(taken).contains(&samples[2].ns));
        assert!(taken.until(released_again).contains(&samples[4].ns));
        assert!(released_again.until(got).contains(&samples[5].ns));
        assert_eq!([1, 2, 4, 5].map(|at| samples[at].ns).iter().sum::<u64>(), samples[6].ns);
    });
}

/// Also by who only finds the lock free.
#[test]
fn what_is_left_over_is_charged_at_once_while_others_wait() {
    in_its_own_process("charges::what_is_left_over_is_charged_at_once_while_others_wait", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        let (first, second) = (marks.wait(LOCK).unwrap(), marks.wait(LOCK).unwrap());
        pass(300);
        release(&marks);
        pass(300);
        first.end(false, LOCK);
        let reader = reader(directory);
        assert!(lock_at(&reader, LOCK).left_over > 300_000);
        marks.taken(LOCK);
        assert_eq!(lock_at(&reader, LOCK).left_over, 0);
        release(&marks);
        second.end(true, LOCK);
    });
}

/// However short the holds are.
#[test]
fn while_somebody_waits_each_hold_is_charged() {
    in_its_own_process("charges::while_somebody_waits_each_hold_is_charged", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        let (waiting, came) = when(|| marks.wait(LOCK).unwrap());
        for _ in 0..20 {
            marks.taken(LOCK);
            assert!(release(&marks));
        }
        let (_, got) = when(|| waiting.end(true, LOCK));
        assert!(release(&marks) && !marks.is_marked());
        let samples = samples(&mut reader(directory));
        let n_of = |event| samples.iter().filter(|sample| sample.event == event).count();
        let n = (n_of(event::HANDING_ON), n_of(event::CHARGE), n_of(event::TAKE), n_of(event::WAIT));
        assert_eq!(n, (21, 20, 21, 1));
        let charged: u64 =
            samples.iter().filter(|s| [event::HANDING_ON, event::CHARGE].contains(&s.event)).map(|s| s.ns).sum();
        assert!(came.until(got).contains(&charged), "{charged}");
    });
}

#[test]
fn what_waiters_and_releases_tell_is_counted() {
    in_its_own_process("charges::what_waiters_and_releases_tell_is_counted", 1, |directory| {
        start(Told);
        let marks = Marks::default();
        // Of no wait.
        slept();
        spun();
        rotated();
        marks.taken(LOCK);
        woke(5);
        let waiting = marks.wait(LOCK).unwrap();
        let pending = marks.release(LOCK).unwrap();
        woke(3);
        pending.done();
        waiting.told(|| {
            slept();
            slept();
            spun();
            // Of a signal's handler, say.
            let inner = marks.wait(LOCK).unwrap();
            inner.told(spun);
            inner.end(false, LOCK);
            rotated();
            (0..4).for_each(|_| spun());
        });
        spun();
        waiting.end(true, LOCK);
        let lock = lock_at(&reader(directory), LOCK);
        assert_eq!((lock.parks, lock.spins, lock.rotations, lock.wakes), (2, 6, 1, 3));
        assert_eq!(lock.most_waiting, 2);
    });
}

/// A stack that is walked before the lock is taken is that of the hold, and of no other lock's.
#[test]
fn a_stack_that_is_ready_is_used() {
    in_its_own_process("charges::a_stack_that_is_ready_is_used", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        let other = Marks::default();
        let take = || {
            from_here(|| marks.taken(LOCK));
            from_here(|| other.taken(LOCK + 64));
        };
        from_here(|| marks.take_ready(LOCK, take));
        let mut pending = vec![marks.release(LOCK).unwrap(), other.release(LOCK + 64).unwrap()];
        from_here(|| marks.taken(LOCK));
        pending.push(marks.release(LOCK).unwrap());
        pending.into_iter().for_each(ondeck_record::PendingRelease::done);
        let mut reader = reader(directory);
        let samples = samples(&mut reader);
        assert_eq!(events(&samples), [event::TAKE; 3]);
        let depths: Vec<usize> = samples.iter().map(|sample| reader.stack(sample.stack).unwrap().len()).collect();
        assert!(depths[0] > 3 && depths[0] < depths[1] && depths[0] == depths[2], "{depths:?}");
        assert!(samples[0].stack != samples[2].stack);
    });
}
