//! What waits and holds add up to: both collectors and groups of locks have the same sums.

use crate::profile::{Bar, Condition, Histogram, Lock, Site, Timeline};
use std::collections::{BTreeMap, BTreeSet};

/// Waits for one thing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    pub(crate) sum: Sum,
    pub(crate) longest_ns: u64,
    lengths: Lengths,
    pub(crate) over_time: OverTime,
    /// Those that waited, and those that came without waiting.
    pub(crate) threads: BTreeSet<u32>,
}

impl Waits {
    /// A wait of `ns` that ended at `end`, counted from the start of the run.
    pub(crate) fn add(&mut self, thread: u32, end: u64, ns: u64, weight: f64) {
        self.sum.add(weight, ns);
        self.longest_ns = self.longest_ns.max(ns);
        self.lengths.add(weight, ns);
        self.over_time.add(end, ns, weight);
        self.threads.insert(thread);
    }

    pub(crate) fn merge(&mut self, other: &Waits) {
        self.sum.merge(&other.sum);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.lengths.merge(&other.lengths);
        self.over_time.merge(&other.over_time);
        self.threads.extend(&other.threads);
    }

    /// One lock with these waits, and nothing else.
    pub(crate) fn lock(&self, slice_ns: u64) -> Lock {
        Lock {
            waits: self.sum.count,
            wait_ns: self.sum.ns,
            longest_ns: self.longest_ns,
            wait_histogram: self.lengths.histogram(),
            threads: self.threads.len() as u32,
            timeline: self.over_time.timeline(slice_ns),
            members: 1,
            ..Lock::default()
        }
    }

    /// The same of what is no lock.
    pub(crate) fn condition(&self) -> Condition {
        Condition {
            waits: self.sum.count,
            wait_ns: self.sum.ns,
            longest_ns: self.longest_ns,
            wait_histogram: self.lengths.histogram(),
            ..Condition::default()
        }
    }
}

/// How often, and how long.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) count: f64,
    pub(crate) ns: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, weight: f64, ns: u64) {
        self.count += weight;
        self.ns += weight * ns as f64;
    }

    pub(crate) fn merge(&mut self, other: &Sum) {
        (self.count, self.ns) = (self.count + other.count, self.ns + other.ns);
    }
}

/// By the stack.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sites<S = u32>(pub(crate) BTreeMap<S, Sum>);

impl<S: Ord + Copy> Sites<S> {
    pub(crate) fn add(&mut self, stack: S, weight: f64, ns: u64) {
        self.0.entry(stack).or_default().add(weight, ns);
    }

    /// As sites, those of most ns first, with the numbers that `number` gives; without those that have no stack.
    pub(crate) fn sites(&self, mut number: impl FnMut(S) -> Option<u32>) -> Vec<Site> {
        let site = |(stack, sum): (&S, &Sum)| Some(Site { stack: number(*stack)?, count: sum.count, ns: sum.ns });
        let mut sites: Vec<Site> = self.0.iter().filter_map(site).collect();
        sites.sort_by(|a, b| b.ns.total_cmp(&a.ns).then(b.count.total_cmp(&a.count)).then(a.stack.cmp(&b.stack)));
        sites
    }
}

/// Durations by length, in bars of an eighth of a power of two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lengths(BTreeMap<u64, f64>);

impl Lengths {
    /// Bits of a duration that are told apart below its highest one.
    const FINE_BITS: u32 = 3;

    fn width(ns: u64) -> u64 {
        1 << (u64::BITS - 1 - (ns | 1).leading_zeros()).saturating_sub(Self::FINE_BITS)
    }

    pub(crate) fn add(&mut self, weight: f64, ns: u64) {
        *self.0.entry(ns & !(Self::width(ns) - 1)).or_default() += weight;
    }

    fn merge(&mut self, other: &Lengths) {
        for (from, count) in &other.0 {
            *self.0.entry(*from).or_default() += count;
        }
    }

    pub(crate) fn histogram(&self) -> Histogram {
        let bar = |(from, count): (&u64, &f64)| Bar {
            from: *from,
            to: from.saturating_add(Self::width(*from)),
            count: *count,
        };
        Histogram(self.0.iter().map(bar).collect())
    }
}

/// Waiting in slices of time, which are made longer when there are too many.
#[derive(Clone, Debug)]
pub(crate) struct OverTime {
    slice_ns: u64,
    amounts: Vec<f64>,
}

impl Default for OverTime {
    fn default() -> Self {
        OverTime { slice_ns: Self::SHORTEST_NS, amounts: Vec::new() }
    }
}

impl OverTime {
    const SHORTEST_NS: u64 = 10_000_000;
    const MOST: u64 = 1000;

    /// A wait of `ns` that ended at `end`, counted from the start of the run.
    fn add(&mut self, end: u64, ns: u64, weight: f64) {
        while end / self.slice_ns >= Self::MOST {
            self.coarsen();
        }
        let (mut from, slice) = (end.saturating_sub(ns), self.slice_ns);
        while from <= end {
            let index = (from / slice) as usize;
            if self.amounts.len() <= index {
                self.amounts.resize(index + 1, 0.0);
            }
            let to = (from / slice + 1).saturating_mul(slice).min(end);
            self.amounts[index] += weight * (to - from) as f64;
            if to == end {
                break;
            }
            from = to;
        }
    }

    fn merge(&mut self, other: &OverTime) {
        let mut other = other.clone();
        while self.slice_ns < other.slice_ns {
            self.coarsen();
        }
        while other.slice_ns < self.slice_ns {
            other.coarsen();
        }
        self.amounts.resize(self.amounts.len().max(other.amounts.len()), 0.0);
        for (own, amount) in self.amounts.iter_mut().zip(&other.amounts) {
            *own += amount;
        }
    }

    fn coarsen(&mut self) {
        self.slice_ns *= 2;
        self.amounts = self.amounts.chunks(2).map(|pair| pair.iter().sum()).collect();
    }

    pub(crate) fn slice_ns(&self) -> u64 {
        self.slice_ns
    }

    /// In slices of that length, which is one of its own, doubled some times.
    fn timeline(&self, slice_ns: u64) -> Timeline {
        let mut own = self.clone();
        while own.slice_ns < slice_ns {
            own.coarsen();
        }
        while own.amounts.last() == Some(&0.0) {
            own.amounts.pop();
        }
        Timeline { slice: own.slice_ns as f64 / 1e9, amounts: own.amounts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_spread_over_the_time_that_they_took() {
        let mut over_time = OverTime::default();
        let ms = 1_000_000;
        over_time.add(25 * ms, 20 * ms, 2.0);
        let timeline = over_time.timeline(10 * ms);
        assert_eq!(timeline.amounts, [10.0e6, 20.0e6, 10.0e6]);
        // Later than there are slices.
        over_time.add(15_000 * ms, 5 * ms, 1.0);
        let timeline = over_time.timeline(over_time.slice_ns());
        assert_eq!(timeline.slice, 0.02);
        assert_eq!(timeline.amounts[0..2], [30.0e6, 10.0e6]);
        assert_eq!(timeline.amounts.iter().sum::<f64>(), 45.0e6);
        assert_eq!(timeline.amounts.len(), 750);
        // One with long slices takes one with short ones, and the other way round.
        let mut fine = OverTime::default();
        fine.add(35 * ms, 10 * ms, 1.0);
        let mut both = fine.clone();
        both.merge(&over_time);
        over_time.merge(&fine);
        for one in [both, over_time] {
            assert_eq!(one.timeline(20 * ms).amounts[0..2], [30.0e6, 20.0e6]);
            assert_eq!(one.timeline(20 * ms).amounts.len(), 750);
        }
    }

    #[test]
    fn no_time_is_too_late() {
        let mut over_time = OverTime::default();
        for end in [0, 1, 1 << 63, u64::MAX - 1, u64::MAX] {
            for ns in [0, 1, 1 << 63, u64::MAX] {
                over_time.add(end, ns, 1.0);
            }
        }
        assert!(over_time.amounts.len() <= 1000 && over_time.amounts.iter().sum::<f64>() > 4e19);
    }

    #[test]
    fn bars_are_narrow_and_do_not_overlap() {
        let mut lengths = Lengths::default();
        for ns in [0, 1, 7, 8, 15, 16, 17, 1000, 1001, u64::MAX / 2, u64::MAX] {
            lengths.add(1.0, ns);
        }
        let Histogram(bars) = lengths.histogram();
        assert!(bars.windows(2).all(|pair| pair[0].to <= pair[1].from), "{bars:?}");
        assert!(bars.iter().all(|bar| bar.to - bar.from <= (bar.from / 8).max(1)), "{bars:?}");
        assert_eq!(bars.iter().map(|bar| bar.count).sum::<f64>(), 11.0);
    }
}
