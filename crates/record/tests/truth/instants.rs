//! Charges at instants, for which waiters ask, and who is charged between them.

use crate::common::{in_its_own_process, lock_at, pass, reader, samples, start, when};
use ondeck_record::ChargeMode::{AtInstants, Exact};
use ondeck_record::layout::event;
use ondeck_record::read::Sample;
use ondeck_record::{Marks, PendingRelease, slept};

const LOCK: u64 = 0x5000;

fn events(samples: &[Sample]) -> Vec<u32> {
    samples.iter().map(|sample| sample.event).collect()
}

fn release(marks: &Marks) {
    if marks.is_marked() {
        marks.release(LOCK).into_iter().for_each(PendingRelease::done);
    }
}

/// The step after a charge is charged for itself alone.
#[test]
fn what_is_left_over_is_charged_at_the_next_instant() {
    in_its_own_process("instants::what_is_left_over_is_charged_at_the_next_instant", 1, |directory| {
        start(AtInstants);
        let marks = Marks::default();
        let (first, second) = (marks.wait(LOCK).unwrap(), marks.wait(LOCK).unwrap());
        // The instant that they have asked for, and a long hold, as far as the recorder knows.
        release(&marks);
        pass(300);
        second.end(false, LOCK);
        let reader = reader(directory);
        let left_over = lock_at(&reader, LOCK).left_over;
        assert!(left_over >= 300_000);
        marks.taken(LOCK);
        assert_eq!(lock_at(&reader, LOCK).left_over, left_over);
        release(&marks);
        assert_eq!(lock_at(&reader, LOCK).left_over, left_over);
        first.told(slept);
        marks.taken(LOCK);
        assert_eq!(lock_at(&reader, LOCK).left_over, 0);
        release(&marks);
        first.end(true, LOCK);
    });
}

/// Who gives up takes its wait out, and what is found then is nothing.
#[test]
fn a_charge_of_nothing_is_recorded_like_others() {
    in_its_own_process("instants::a_charge_of_nothing_is_recorded_like_others", 1, |directory| {
        start(AtInstants);
        let marks = Marks::default();
        let waiting = marks.wait(LOCK).unwrap();
        release(&marks);
        waiting.end(false, LOCK);
        marks.taken(LOCK);
        let samples = samples(&mut reader(directory));
        assert_eq!(events(&samples), [event::CHARGE, event::GAVE_UP, event::HANDING_ON]);
        assert_eq!(samples[2].ns, 0);
    });
}

#[test]
fn who_gets_it_at_an_instant_charges_nobody() {
    in_its_own_process("instants::who_gets_it_at_an_instant_charges_nobody", 1, |directory| {
        start(AtInstants);
        let marks = Marks::default();
        // It has asked itself.
        let (waiting, came) = when(|| marks.wait(LOCK).unwrap());
        pass(300);
        let (_, got) = when(|| waiting.end(true, LOCK));
        release(&marks);
        let mut reader = reader(directory);
        let found = samples(&mut reader);
        assert_eq!(events(&found), [event::HANDING_ON, event::WAIT, event::TAKE]);
        assert!(came.until(got).contains(&found[0].ns));
        assert_eq!(lock_at(&reader, LOCK).left_over, 0);
        // It comes right after an instant.
        let (first, second) = (marks.wait(LOCK).unwrap(), marks.wait(LOCK).unwrap());
        pass(300);
        let (_, released) = when(|| release(&marks));
        pass(300);
        let (_, got) = when(|| first.end(true, LOCK));
        let found = samples(&mut reader);
        assert_eq!(events(&found), [event::CHARGE, event::HANDING_ON, event::WAIT]);
        let free = released.until(got);
        assert!((2 * free.start()..=2 * free.end()).contains(&found[1].ns));
        assert_eq!(lock_at(&reader, LOCK).left_over, 0);
        release(&marks);
        second.end(true, LOCK);
    });
}

/// Others may have had it meanwhile, who are not known.
#[test]
fn who_gets_it_between_two_instants_leaves_its_wait() {
    in_its_own_process("instants::who_gets_it_between_two_instants_leaves_its_wait", 1_000_000, |directory| {
        start(AtInstants);
        let marks = Marks::default();
        while !marks.is_quiet() {
            marks.taken(LOCK);
            release(&marks);
        }
        let waiting = marks.wait(LOCK).unwrap();
        release(&marks);
        // Short holds, if this thread keeps its core meanwhile.
        let mut n_long = 0;
        while marks.is_marked() && n_long < 1000 {
            marks.taken(LOCK);
            release(&marks);
            n_long += 1;
        }
        assert!(!marks.is_marked());
        pass(300);
        waiting.end(true, LOCK);
        assert!(lock_at(&reader(directory), LOCK).left_over >= 300_000);
    });
}

/// Exact charges do not need to be asked for.
#[test]
fn who_gets_it_charges_nobody_though_the_lock_has_forgotten_that_it_waits() {
    in_its_own_process(
        "instants::who_gets_it_charges_nobody_though_the_lock_has_forgotten_that_it_waits",
        1,
        |directory| {
            start(Exact);
            let marks = Marks::default();
            let waiting = marks.wait(LOCK).unwrap();
            marks.initialised();
            waiting.end(true, LOCK);
            let mut reader = reader(directory);
            assert_eq!(events(&samples(&mut reader)), [event::HANDING_ON, event::WAIT]);
            assert!(reader.locks().unwrap().iter().all(|lock| lock.left_over == 0));
        },
    );
}
