//! What statistics have of a lock, or of several: counts that only grow.

use super::totals::is_wait;
use ondeck_record::layout::event;
use ondeck_record::read::Sample;
use ondeck_record::stats::{Histogram, LockStatistics, WaitingThread};
use std::time::Duration;

/// Waits and holds that are over, and the threads that wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    waits: Lengths,
    holds: Lengths,
    gave_up: f64,
    n_timed_holds: u64,
    longest_wait_ns: u64,
    longest_hold_ns: u64,
    waiting: Vec<WaitingThread>,
}

/// How many there were of each length, as statistics tell lengths apart.
#[derive(Clone, Debug, Default)]
struct Lengths {
    buckets: [f64; Histogram::BUCKETS],
    ns: f64,
}

impl Tally {
    pub(super) fn add_sample(&mut self, sample: &Sample) {
        let Sample { ns, weight, .. } = *sample;
        match event::plain(sample.event) {
            event::CHARGE => self.known_hold(sample.lengths[0]),
            event::TAKE => self.hold(weight, ns),
            what if is_wait(what) => self.wait(weight, ns, what == event::GAVE_UP),
            _ => {}
        }
    }

    fn wait(&mut self, weight: f64, ns: u64, gave_up: bool) {
        self.waits.add(weight, ns);
        self.gave_up += if gave_up { weight } else { 0.0 };
        self.longest_wait(ns);
    }

    /// A hold that was timed.
    fn hold(&mut self, weight: f64, ns: u64) {
        self.holds.add(weight, ns);
        self.n_timed_holds += 1;
        self.known_hold(ns);
    }

    /// A hold of which only that is known.
    fn known_hold(&mut self, ns: u64) {
        self.longest_hold_ns = self.longest_hold_ns.max(ns);
    }

    pub(super) fn longest_wait(&mut self, ns: u64) {
        self.longest_wait_ns = self.longest_wait_ns.max(ns);
    }

    /// The longest wait of another one, which is of the same lock.
    pub(super) fn longest_wait_of(&mut self, other: &Self) {
        self.longest_wait(other.longest_wait_ns);
    }

    pub(super) fn waits(&mut self, thread: u32, waited: Duration) {
        let mut waiting = WaitingThread::default();
        (waiting.thread, waiting.waited) = (thread, waited);
        self.waiting.push(waiting);
    }

    /// Whether any thread has waited, or waits.
    pub(super) fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty() || self.waits.buckets.iter().any(|count| *count > 0.0)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.waits.merge(&other.waits);
        self.holds.merge(&other.holds);
        self.gave_up += other.gave_up;
        self.n_timed_holds += other.n_timed_holds;
        self.longest_wait(other.longest_wait_ns);
        self.known_hold(other.longest_hold_ns);
        self.waiting.extend_from_slice(&other.waiting);
    }

    pub(super) fn statistics(&self, lock: &str) -> LockStatistics {
        let mut told = LockStatistics::default();
        lock.clone_into(&mut told.lock);
        (told.waits, told.holds) = (self.waits.histogram(), self.holds.histogram());
        told.gave_up = self.gave_up.round() as u64;
        told.longest_wait = Duration::from_nanos(self.longest_wait_ns);
        told.longest_hold = Duration::from_nanos(self.longest_hold_ns);
        told.timed_holds = self.n_timed_holds;
        told.waiting.clone_from(&self.waiting);
        told
    }
}

impl Lengths {
    fn add(&mut self, weight: f64, ns: u64) {
        self.buckets[Histogram::bucket(Duration::from_nanos(ns))] += weight;
        self.ns += weight * ns as f64;
    }

    fn merge(&mut self, other: &Self) {
        for (count, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *count += more;
        }
        self.ns += other.ns;
    }

    /// In whole numbers. What is rounded is the number up to each limit, as that is what is written: so the whole is off by no
    /// more than a half, and nothing ever decreases.
    fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::default();
        let (mut so_far, mut told) = (0.0, 0);
        for (bucket, count) in histogram.buckets.iter_mut().zip(&self.buckets) {
            so_far += count;
            *bucket = (so_far.round() as u64).saturating_sub(told);
            told += *bucket;
        }
        histogram.sum = Duration::from_nanos(self.ns as u64);
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_told_in_whole_numbers_that_add_up() {
        let mut tally = Tally::default();
        for ns in [500, 2_000, 5_000] {
            tally.wait(1.4, ns, ns == 2_000);
        }
        tally.wait(1.0, 20_000_000_000, true);
        let told = tally.statistics("a");
        assert_eq!((told.waits.buckets[..3].to_vec(), told.waits.buckets[15]), (vec![1, 2, 1], 1));
        assert_eq!((told.waits.count(), told.gave_up), (5, 2));
        assert_eq!(told.waits.sum, Duration::from_nanos(20_000_010_500));
        assert_eq!(told.longest_wait, Duration::from_secs(20));
        assert!(told.lock == "a" && told.holds == Histogram::default());
    }
}
