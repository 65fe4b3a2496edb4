//! Where hardly anything is recorded: what is done all the same, and what is not. And which stack it is of.

use crate::common::Mode::{Exact, Told};
use crate::common::{from_here, further_in, in_its_own_process, lock_at, pass, reader, samples, start};
use ondeck_record::layout::{NONE, event};
use ondeck_record::{Marks, PendingRelease, slept};

const LOCK: u64 = 0x5000;
/// A wait is recorded if it takes more than a time that is drawn among an hour.
const RARELY: u64 = u32::MAX as u64;

fn release(marks: &Marks) -> bool {
    let pending = if marks.is_marked() { marks.release(LOCK) } else { None };
    let is_some = pending.is_some();
    pending.into_iter().for_each(PendingRelease::done);
    is_some
}

/// So that the calling thread's next acquisitions are only counted.
fn count_one(marks: &Marks) {
    marks.taken(LOCK);
    release(marks);
    assert!(marks.is_quiet());
}

#[test]
fn a_wait_that_is_not_recorded_is_not_walked() {
    in_its_own_process("rarely::a_wait_that_is_not_recorded_is_not_walked", RARELY, |_| {
        start(Exact);
        let marks = Marks::default();
        count_one(&marks);
        marks.wait(LOCK).unwrap().end(true, LOCK);
        // With a stack it would tell who releases it.
        assert!(!marks.is_marked());
    });
}

#[test]
fn charges_are_not_recorded_either() {
    in_its_own_process("rarely::charges_are_not_recorded_either", RARELY, |directory| {
        start(Exact);
        let marks = Marks::default();
        count_one(&marks);
        let waiting = marks.wait(LOCK).unwrap();
        for _ in 0..20 {
            marks.taken(LOCK);
            assert!(release(&marks));
        }
        waiting.end(true, LOCK);
        // Few at most, however slow the machine is.
        assert!(samples(&mut reader(directory)).len() < 10);
    });
}

#[test]
fn who_finds_it_free_while_others_wait_is_charged_for() {
    in_its_own_process("rarely::who_finds_it_free_while_others_wait_is_charged_for", RARELY, |directory| {
        start(Exact);
        let marks = Marks::default();
        count_one(&marks);
        let (first, second) = (marks.wait(LOCK).unwrap(), marks.wait(LOCK).unwrap());
        pass(300);
        first.end(false, LOCK);
        let reader = reader(directory);
        assert!(lock_at(&reader, LOCK).left_over >= 300_000);
        marks.taken(LOCK);
        assert_eq!(lock_at(&reader, LOCK).left_over, 0);
        release(&marks);
        second.end(false, LOCK);
        assert!(marks.is_marked());
        // Nobody waits any more: the first who finds that looks, and nobody after that.
        marks.taken(LOCK);
        assert!(!marks.is_marked());
    });
}

#[test]
fn who_gives_up_has_used_no_lock() {
    in_its_own_process("rarely::who_gives_up_has_used_no_lock", 1, |directory| {
        start(Exact);
        let marks = Marks::default();
        marks.wait(LOCK).unwrap().end(false, LOCK);
        let reader = reader(directory);
        assert!(!reader.has_locked().unwrap());
        marks.wait(LOCK).unwrap().end(true, LOCK);
        assert!(reader.has_locked().unwrap());
    });
}

/// A wait that takes long enough to be recorded is of the stack from which it began, or went to sleep.
#[test]
fn a_wait_is_of_where_it_slept() {
    in_its_own_process("rarely::a_wait_is_of_where_it_slept", 1, |directory| {
        start(Exact);
        let (one, other) = (Marks::default(), Marks::default());
        let waiting = further_in(20, &mut || from_here(|| one.wait(LOCK).unwrap()));
        from_here(|| waiting.end(true, LOCK));
        // Another recording, of a lock whose waiters tell when they sleep.
        start(Told);
        let waiting = from_here(|| other.wait(LOCK).unwrap());
        waiting.told(|| further_in(20, &mut || from_here(slept)));
        from_here(|| waiting.end(true, LOCK));
        for file in crate::common::files(directory) {
            let mut reader = ondeck_record::read::Reader::open(&file).unwrap();
            let samples = samples(&mut reader);
            assert_eq!(samples.iter().map(|sample| sample.event).collect::<Vec<_>>(), [event::HANDING_ON, event::WAIT]);
            let stack = reader.stack(samples[1].stack).unwrap();
            let n_same = stack.windows(2).filter(|pair| pair[0] == pair[1]).count();
            assert!(n_same >= 18, "{stack:x?}");
        }
    });
}

/// A thread that waits alone is not kept from the lock by a walk of the stack, and walks when it has it: the waits that
/// are recorded would be shorter than the others.
#[test]
fn who_waits_alone_walks_afterwards() {
    // Waits of 100 us are recorded, and half of all would be walked for.
    in_its_own_process("rarely::who_waits_alone_walks_afterwards", 101, |directory| {
        start(Exact);
        let marks = Marks::default();
        for _ in 0..20 {
            let waiting = further_in(20, &mut || from_here(|| marks.wait(LOCK).unwrap()));
            pass(100);
            from_here(|| waiting.end(true, LOCK));
        }
        let mut reader = reader(directory);
        let samples = samples(&mut reader);
        let waits: Vec<u32> = samples.iter().filter(|s| s.event == event::WAIT).map(|s| s.stack).collect();
        assert_eq!(waits.len(), 20);
        for stack in waits {
            let stack = reader.stack(stack).unwrap();
            assert!(stack.len() > 2 && stack.windows(2).all(|pair| pair[0] != pair[1]), "{stack:x?}");
        }
    });
}

/// Of half of the waits beside others, before it is known how long they take.
#[test]
fn who_has_waited_may_be_known_by_its_stack() {
    in_its_own_process("rarely::who_has_waited_may_be_known_by_its_stack", 101, |_| {
        const N: u32 = 400;
        start(Exact);
        let marks = Marks::default();
        let (mut n_known, mut n_looked_at) = (0, 0);
        for _ in 0..N {
            let (beside, waiting) = (marks.wait(LOCK).unwrap(), marks.wait(LOCK).unwrap());
            beside.end(false, LOCK);
            waiting.end(true, LOCK);
            n_known += u32::from(marks.is_marked());
            // Where only the stack is known, there is nothing to do at the release.
            n_looked_at += u32::from(release(&marks));
        }
        assert!((N / 4..3 * N / 4).contains(&n_known) && n_looked_at < N / 8, "{n_known}, {n_looked_at}");
    });
}

#[test]
fn a_hold_of_which_no_stack_is_known_is_charged_to_the_one_that_releases() {
    in_its_own_process(
        "rarely::a_hold_of_which_no_stack_is_known_is_charged_to_the_one_that_releases",
        2,
        |directory| {
            start(Exact);
            let marks = Marks::default();
            for _ in 0..100 {
                from_here(|| marks.taken(LOCK));
                let waiting = marks.wait(LOCK).unwrap();
                // Long enough to be charged in any case.
                pass(2);
                further_in(5, &mut || from_here(|| release(&marks)));
                waiting.end(false, LOCK);
            }
            let samples = samples(&mut reader(directory));
            let stacks = |event| samples.iter().filter(move |sample| sample.event == event).map(|sample| sample.stack);
            let looked_at: Vec<u32> = stacks(event::TAKE).collect();
            let charged: Vec<u32> = stacks(event::CHARGE).collect();
            assert!(charged.len() == 100 && !charged.contains(&NONE));
            // Each is looked at with a chance of a half; the lock remembers the last of those, in the second half certainly.
            let is_known = |stack: &u32| looked_at.contains(stack);
            assert!(charged[50..].iter().any(is_known) && !charged[50..].iter().all(is_known));
        },
    );
}
