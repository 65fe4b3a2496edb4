//! How many stacks are copied: all of them, if the process calls so rarely that it costs little.
//!
//! A copy of a stack is what costs most, both the program and us. So if there are too many calls, one in so many is copied,
//! and each call is still told of. It never goes back: to change it takes new events for each thread.

use crate::process::sleeps;
use std::time::{Duration, Instant};

/// So many stacks in a second are copied at most, as long as the calls come as they did: a few hundredths of a core.
const MOST_A_SECOND: f64 = 4000.0;
/// A ring that is so full may be too small for what comes before the next look.
const FULL: f64 = 0.3;
/// So long a time is judged.
const EACH_NS: u64 = 100_000_000;
/// One stack in so many. Primes: a program that calls in turns, from one place and from another, has no such period.
const PERIODS: [u64; 5] = [1, 7, 61, 509, 4093];

/// The period for so many calls in a second.
fn due(a_second: f64) -> u64 {
    let enough = |period: &u64| a_second <= MOST_A_SECOND * *period as f64;
    PERIODS.into_iter().find(enough).unwrap_or(PERIODS[PERIODS.len() - 1])
}

/// The period for processes that run already, as often as they sleep now: the rings could be full before the first look.
pub(crate) fn first(pids: &[u32]) -> u64 {
    const LOOK: Duration = Duration::from_millis(20);
    /// A call to sleep, and one to wake.
    const CALLS: f64 = 2.0;
    let sleeps = || pids.iter().map(|pid| sleeps(*pid)).sum::<u64>();
    let (began, before) = (Instant::now(), sleeps());
    std::thread::sleep(LOOK);
    due(CALLS * sleeps().saturating_sub(before) as f64 / began.elapsed().as_secs_f64())
}

#[derive(Default)]
pub(crate) struct Budget {
    /// Calls since then, by the counts of looks, and when the time began that is judged, in ns; `None` before the first look.
    since: Option<(u64, u64)>,
    lost: u64,
    has_given_up: bool,
}

impl Budget {
    /// The period with which stacks are to be copied from now on, if that is another one: after `n_calls` calls from the start,
    /// of which `lost` records were lost. `fullest` is how full a ring is.
    pub(crate) fn period(&mut self, period: u64, now_ns: u64, n_calls: u64, lost: u64, fullest: f64) -> Option<u64> {
        let (from, n_before) = *self.since.get_or_insert((now_ns, n_calls));
        let elapsed = now_ns.saturating_sub(from);
        let is_short = fullest > FULL || lost > self.lost;
        if self.has_given_up || elapsed < EACH_NS && !is_short {
            return None;
        }
        (self.since, self.lost) = (Some((now_ns, n_calls)), lost);
        let a_second = (n_calls - n_before) as f64 * 1e9 / elapsed.max(1) as f64;
        let next = PERIODS.into_iter().find(|next| *next > period)?;
        let due = due(a_second);
        if is_short { Some(due.max(next)) } else { Some(due).filter(|due| *due > period) }
    }

    /// It was changed, which took a while: what was lost meanwhile says nothing of the new one.
    pub(crate) fn restart(&mut self, lost: u64) {
        (self.since, self.lost) = (None, lost);
    }

    /// It cannot be changed.
    pub(crate) fn give_up(&mut self) {
        self.has_given_up = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn fewer_stacks_are_copied_if_a_ring_fills_or_records_are_lost() {
        let mut budget = Budget::default();
        assert_eq!(budget.period(1, 1_000, 0, 0, 0.0), None);
        assert_eq!(budget.period(1, 2_000, 0, 0, FULL + 0.1), Some(7));
        assert_eq!(budget.period(7, 3_000, 0, 1, 0.0), Some(61));
        assert_eq!(budget.period(61, 4_000, 0, 1, 0.0), None);
        assert_eq!(budget.period(4093, 5_000, 0, 1, 1.0), None, "there are no fewer");
        budget.restart(8);
        assert_eq!(budget.period(61, 5_000, 0, 8, 0.0), None);
        budget.give_up();
        assert_eq!(budget.period(1, 6_000, 0, 9, 1.0), None);
    }

    #[test]
    fn so_many_are_copied_that_it_costs_little() {
        for (calls, expected) in [(0, 1), (4_000, 1), (4_100, 7), (100_000, 61), (1_000_000, 509), (u64::MAX, 4093)] {
            assert_eq!(due(calls as f64), expected, "{calls}");
        }
        let mut budget = Budget::default();
        assert_eq!(budget.period(7, 0, 7, 0, 0.0), None);
        assert_eq!(budget.period(7, EACH_NS - 1, 1_000_000, 0, 0.0), None, "too soon to tell");
        assert_eq!(budget.period(7, SECOND, 7 + 100_000, 0, 0.0), Some(61));
        // Only for fewer.
        assert_eq!(budget.period(61, 2 * SECOND, 7 + 100_000, 0, 0.0), None);
    }

    /// One that sleeps some thousand times in a second, and one that hardly does.
    #[test]
    fn a_process_that_sleeps_often_begins_with_fewer_copies() {
        let asleep = std::process::Command::new("sleep").arg("100").spawn();
        let busy = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        for child in [asleep, busy] {
            let mut child = child.unwrap();
            assert_eq!(first(&[child.id()]), 1);
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let napper = std::thread::spawn(|| (0..20_000).for_each(|_| std::thread::sleep(Duration::from_nanos(1))));
        let found = (0..10).map(|_| first(&[std::process::id()])).max();
        napper.join().unwrap();
        assert!(found > Some(1), "{found:?}");
    }
}
