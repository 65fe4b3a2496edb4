//! Charges at instants that are drawn by chance.

use crate::common::Mode::Sampled;
use crate::common::{in_its_own_process, lock_at, pass, reader, samples, start, sum as sum_of, when};
use ondeck_record::layout::event;
use ondeck_record::read::Sample;
use ondeck_record::{Marks, PendingRelease};
use std::ops::RangeInclusive;

const LOCK: u64 = 0x5000;
/// More than the mean time between two instants, so that one comes for certain.
const MANY_US: u64 = 10_000;
/// What is in doubt of a charge: an instant is 200 us in the mean, and more than ten times that is not seen in ten thousand
/// runs.
const DOUBT_NS: u64 = 2_500_000;

fn release(marks: &Marks) -> bool {
    let pending = if marks.is_marked() { marks.release(LOCK) } else { None };
    let is_some = pending.is_some();
    pending.into_iter().for_each(PendingRelease::done);
    is_some
}

/// What all charges of that kind stand for.
fn sum(samples: &[Sample], event: u32) -> f64 {
    samples.iter().filter(|sample| sample.event == event).map(|sample| sample.ns as f64 * sample.weight).sum()
}

/// So many have waited for about so long together.
#[track_caller]
fn is_about(sum: f64, ns: &RangeInclusive<u64>, n_waiting: u64) {
    let doubt = (n_waiting * DOUBT_NS) as f64;
    assert!(sum > *ns.start() as f64 - doubt && sum < *ns.end() as f64 + doubt, "{sum}, and not {ns:?}");
}

#[test]
fn a_long_hold_is_charged_for_all_who_wait() {
    in_its_own_process("instants::a_long_hold_is_charged_for_all_who_wait", 1000, |directory| {
        start(Sampled);
        let marks = Marks::default();
        let mut reader = reader(directory);
        marks.taken(LOCK);
        let ((first, second), came) = when(|| (marks.wait(LOCK).unwrap(), marks.wait(LOCK).unwrap()));
        pass(MANY_US);
        // Who comes late is charged for since it came.
        let (third, came_late) = when(|| marks.wait(LOCK).unwrap());
        pass(MANY_US);
        let (_, released) = when(|| assert!(release(&marks)));
        let charges = samples(&mut reader);
        let ns = sum_of(&twice(came.until(released)), &came_late.until(released));
        is_about(sum(&charges, event::CHARGE), &ns, 3);
        [first, second, third].into_iter().for_each(|wait| _ = wait.end(false, LOCK));
        assert_eq!(lock_at(&reader, LOCK).most_waiting, 3);
        let charge = charges.iter().find(|sample| sample.event == event::CHARGE).unwrap();
        // A hold of that length is always charged, and its length is known to an eighth.
        assert!(charge.weight < 1.01 && charge.lengths[0] >= 2 * MANY_US * 1000 * 7 / 8, "{charge:?}");
    });
}

fn twice(ns: RangeInclusive<u64>) -> RangeInclusive<u64> {
    2 * ns.start()..=2 * ns.end()
}

#[test]
fn what_is_waited_while_the_lock_is_free_is_charged_to_nobody() {
    in_its_own_process("instants::what_is_waited_while_the_lock_is_free_is_charged_to_nobody", 1000, |directory| {
        start(Sampled);
        let marks = Marks::default();
        let mut reader = reader(directory);
        let ((first, second), came) = when(|| (marks.wait(LOCK).unwrap(), marks.wait(LOCK).unwrap()));
        pass(MANY_US);
        // One that has not waited, then one that has.
        let ((), taken) = when(|| marks.taken(LOCK));
        release(&marks);
        is_about(sum(&samples(&mut reader), event::HANDING_ON), &twice(came.until(taken)), 2);
        pass(MANY_US);
        let (_, got) = when(|| second.end(true, LOCK));
        release(&marks);
        is_about(sum(&samples(&mut reader), event::HANDING_ON), &twice(taken.until(got)), 2);
        first.end(false, LOCK);
    });
}

/// What waits for long is no reason to look at what is done in a moment, and an instant comes now and then.
#[test]
fn few_of_many_holds_are_looked_at() {
    in_its_own_process("instants::few_of_many_holds_are_looked_at", 1_000_000, |directory| {
        const N: u32 = 100_000;
        start(Sampled);
        let marks = Marks::default();
        let waiting = marks.wait(LOCK).unwrap();
        let mut n_looked_at = 0;
        for _ in 0..N {
            marks.taken(LOCK);
            n_looked_at += u32::from(release(&marks));
        }
        let waited = waiting.end(false, LOCK);
        let charges = samples(&mut reader(directory));
        assert!((1..N / 50).contains(&n_looked_at), "{n_looked_at} in {waited} ns");
        // Each stands for as many as there are of its length: of hundred thousand, some hundreds are seen in slow runs.
        let n: f64 = charges.iter().filter(|sample| sample.event == event::CHARGE).map(|sample| sample.weight).sum();
        assert!(n > f64::from(N) / 50.0, "{n} of {N}");
    });
}

#[test]
fn what_somebody_waited_who_gave_up_is_charged_if_an_instant_was_in_it() {
    in_its_own_process(
        "instants::what_somebody_waited_who_gave_up_is_charged_if_an_instant_was_in_it",
        1000,
        |directory| {
            start(Sampled);
            let marks = Marks::default();
            marks.taken(LOCK);
            let (waiting, came) = when(|| marks.wait(LOCK).unwrap());
            pass(MANY_US);
            let (_, left) = when(|| waiting.end(false, LOCK));
            assert!(release(&marks));
            let mut reader = reader(directory);
            is_about(sum(&samples(&mut reader), event::CHARGE), &came.until(left), 1);
            // Nobody waits any more: who looked has found that.
            marks.taken(LOCK);
            assert!(!marks.is_marked());
            assert_eq!(lock_at(&reader, LOCK).left_over, 0);
        },
    );
}
