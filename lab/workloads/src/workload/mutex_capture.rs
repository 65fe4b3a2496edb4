//! `mutex-capture`, after Go's `BenchmarkMutexCapture`: does one thread keep the lock to itself?
//!
//! Each thread sorts its acquisitions into *streaks* (how many in a row were its own) and *starve gaps* (how many others
//! came in between), by powers of two. The percentile is one over time: 90 % of all acquisitions belong to streaks, or to
//! gaps, of at most this many, and this many mean acquisitions are so many nanoseconds.

use super::mutex_contention::Contention;
use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::execution::Execution;
use crate::measure::{Job, Meter, measure};
use ondeck_report::row::Row;
use std::sync::Arc;

/// Events by the power of two that their length begins with.
#[derive(Clone, Copy)]
struct Lengths([u64; 64]);

impl Lengths {
    const NONE: Lengths = Lengths([0; 64]);

    /// Counts an event; one of no length is none.
    #[inline]
    fn record(&mut self, length: u64) {
        if let Some(power) = length.checked_ilog2() {
            self.0[power as usize] += 1;
        }
    }

    fn add(&mut self, other: &Lengths) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// The length below which a part `p` of the total length lies. Longer events are thought of as cut in halves until
    /// they fit, so the answer is a power of two; `None` without events.
    fn quantile(&self, p: f64) -> Option<f64> {
        let weight = |power: usize| self.0[power] as f64 * (power as f64).exp2();
        let total: f64 = (0..64).map(weight).sum();
        let mut longer = 0.0;
        (0..64).rev().find_map(|power| {
            longer += weight(power);
            (total - longer < total * p).then(|| (power as f64).exp2())
        })
    }
}

struct Capture<L, E: Execution>(Contention<L, E>);

/// What one thread knows of the order of acquisitions.
struct ThreadTally {
    /// Number of my last acquisition.
    last: u64,
    /// How many others came before it.
    gap: u64,
    /// How many were mine in a row, up to now.
    streak: u64,
    streaks: Lengths,
    gaps: Lengths,
    /// The two as they were when the window ended.
    window: Option<(Lengths, Lengths)>,
}

impl<L: BenchLock, E: Execution> Job for Capture<L, E> {
    type Local = ThreadTally;

    fn local(&self, _me: u32) -> ThreadTally {
        ThreadTally { last: 0, gap: 0, streak: 0, streaks: Lengths::NONE, gaps: Lengths::NONE, window: None }
    }

    #[inline(always)]
    fn turn<M: Meter>(&self, mine: &mut ThreadTally, meter: &mut M) {
        let number = self.0.acquire_once(meter);
        mine.gap = number.wrapping_sub(mine.last).wrapping_sub(1);
        mine.last = number;
        if mine.gap == 0 {
            mine.streak += 1;
        } else {
            mine.streaks.record(mine.streak);
            mine.gaps.record(mine.gap);
            mine.streak = 1;
        }
    }

    fn updates(&self) -> u64 {
        self.0.witnessed()
    }

    fn window_begins(&self, mine: &mut ThreadTally) {
        (mine.streaks, mine.gaps) = (Lengths::NONE, Lengths::NONE);
        // A thread sees the window only after the acquisition that it was waiting for when the window began; for one
        // that starves, this gap may be the only one.
        mine.gaps.record(mine.gap);
    }

    fn window_ends(&self, mine: &mut ThreadTally) {
        mine.streaks.record(mine.streak);
        mine.window = Some((mine.streaks, mine.gaps));
    }

    fn add_figures(&self, threads: &[ThreadTally], row: &mut Row) {
        add_percentiles(threads, row);
    }
}

fn add_percentiles(threads: &[ThreadTally], row: &mut Row) {
    let (mut streaks, mut gaps) = (Lengths::NONE, Lengths::NONE);
    for (theirs, their_gaps) in threads.iter().filter_map(|mine| mine.window.as_ref()) {
        streaks.add(theirs);
        gaps.add(their_gaps);
    }
    let ns = |lengths: &Lengths| Some(lengths.quantile(0.9)? * row.ns_per_op?);
    (row.streak_p90_ns, row.starve_p90_ns) = (ns(&streaks), ns(&gaps));
}

pub(crate) fn run<L: BenchLock, E: Execution>(conditions: &Conditions) -> Result<Row, End> {
    measure::<E, _>(conditions, Arc::new(Capture::<L, E>(Contention::new())), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_over_time() {
        let mut lengths = Lengths::NONE;
        assert_eq!(lengths.quantile(0.9), None);
        (0..100).for_each(|_| lengths.record(1));
        lengths.record(1 << 20);
        lengths.record(0);
        // Almost all of the time is in the one long event.
        assert_eq!(lengths.quantile(0.9), Some((1 << 20) as f64));
        (0..1 << 24).for_each(|_| lengths.record(3));
        assert_eq!(lengths.quantile(0.9), Some(2.0));
        assert_eq!(lengths.quantile(1.0), Some((1 << 20) as f64));
    }
}
