//! What the samples of one lock add up to, or those of another place of waiting: the same for recordings and for futexes.

use super::charges::Charges;
use super::holders::Shares;
use crate::profile::{Bar, Condition, Histogram, Lock, Timeline};
use crate::sites::{Sites, Stack, Sum};
use ondeck_record::layout::event;
use ondeck_record::read::Sample;
use ondeck_record::stats::WaitingThread;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Whether samples of this kind are waits, whose sum has a timeline.
const fn is_wait(what: u32) -> bool {
    matches!(event::plain(what), event::WAIT | event::GAVE_UP | event::CONDITION)
}

/// All that is known of one lock. It can be merged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    pub(crate) waits: Durations,
    pub(crate) holds: Durations,
    pub(crate) over_time: OverTime,
    /// Those that waited, and those that came without waiting: how often.
    pub(crate) threads: BTreeMap<u32, f64>,
    /// Those that tried it in vain.
    pub(crate) triers: BTreeSet<u32>,
    pub(crate) most_waiting: u32,
    /// Waits that ended without the lock.
    pub(crate) gave_up: f64,
    /// Waits that began right after another one.
    pub(crate) again: f64,
    pub(crate) handing_on_ns: f64,
    pub(crate) waiters: Sites,
    pub(crate) holders: Sites,
    pub(crate) takers: Sites,
    /// Who tried to lock it while another thread had it, and who had it then.
    pub(crate) tries: Sites,
    pub(crate) refusers: Sites,
    /// Who ended the waits; only the view from the kernel knows.
    pub(crate) wakers: Sites,
    /// Who notifies, of a condition variable: how often, and how often all.
    pub(crate) notifiers: Sites,
    pub(crate) notifications_of_all: f64,
    pub(crate) charges: Charges,
    /// Threads that wait now, for statistics.
    pub(crate) waiting: Vec<WaitingThread>,
}

impl Account {
    /// The numbers of all stacks in it.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = u32> {
        let sites = self.sites().into_iter();
        sites.flat_map(|sites| sites.0.keys().map(|stack| stack.number)).chain(self.charges.stacks())
    }

    /// The numbers of the stacks that have taken the lock or waited for it.
    pub(crate) fn taking_stacks(&self) -> impl Iterator<Item = u32> {
        [&self.waiters, &self.takers].into_iter().flat_map(|sites| sites.0.keys().map(|stack| stack.number))
    }

    fn sites(&self) -> [&Sites; 7] {
        [&self.waiters, &self.holders, &self.takers, &self.tries, &self.refusers, &self.wakers, &self.notifiers]
    }

    /// How many bytes a sample adds at most to those of its lock, if there are some, and to a second one with fewer samples.
    pub(crate) fn room_for(sample: &Sample, known: Option<&Account>) -> usize {
        /// In both, and the stack itself once its process has ended.
        const OF_STACK: usize = 1280;
        const OF_THREAD: usize = 64;
        const OF_TIMELINE: usize = 2 * 8000;
        let what = event::plain(sample.event);
        let has_stack = what == event::HANDING_ON
            || known.is_some_and(|known| known.sites_of(what).0.contains_key(&stack_of(sample)));
        let names_thread = is_wait(what) || matches!(what, event::TAKE | event::TRIED);
        let of = |known: &'_ Account| match what {
            event::TRIED => known.triers.contains(&sample.thread),
            _ => known.threads.contains_key(&sample.thread),
        };
        let has_thread = !names_thread || known.is_some_and(of);
        let has_timeline = !is_wait(what) || known.is_some_and(|known| known.waits.sum.count > 0.0);
        2 * size_of::<Account>() * usize::from(known.is_none())
            + OF_STACK * usize::from(!has_stack)
            + OF_THREAD * usize::from(!has_thread)
            + OF_TIMELINE * usize::from(!has_timeline)
    }

    /// Where [`add`](Self::add) puts the stack of such a sample.
    fn sites_of(&self, what: u32) -> &Sites {
        match what {
            event::CHARGE => &self.holders,
            event::TAKE => &self.takers,
            event::TRIED => &self.tries,
            event::REFUSED => &self.refusers,
            event::NOTIFY => &self.notifiers,
            _ => &self.waiters,
        }
    }

    /// A sample whose time is counted from the start of the run; of a long hold with what the holder did, as far as that was
    /// seen.
    pub(crate) fn add(&mut self, sample: &Sample, did: Option<&Shares>) {
        let Sample { thread, at, ns, weight, .. } = *sample;
        let stack = stack_of(sample);
        self.count(sample, Histogram::bar);
        match event::plain(sample.event) {
            event::CHARGE => {
                self.holders.add(stack, weight, ns);
                self.charges.held(stack, weight, ns, sample.lengths[0], did);
            }
            event::HANDING_ON => {
                self.handing_on_ns += weight * ns as f64;
                self.charges.handed_on(weight, ns, sample.lengths);
            }
            event::TAKE => {
                *self.threads.entry(thread).or_default() += weight;
                self.takers.add(stack, weight, ns);
            }
            event::TRIED => {
                self.triers.insert(thread);
                self.tries.add(stack, weight, ns);
            }
            event::REFUSED => self.refusers.add(stack, weight, ns),
            event::NOTIFY => {
                let all = if sample.event & event::ALL != 0 { weight } else { 0.0 };
                self.notifications_of_all += all;
                self.notifiers.add(stack, weight, 0);
            }
            what if is_wait(what) => {
                self.again += if sample.event & event::AGAIN != 0 { weight } else { 0.0 };
                self.place_wait(thread, at, ns, weight);
                self.waiters.add(stack, weight, ns);
            }
            _ => {}
        }
    }

    /// How often and how long alone, by bars of `bar`.
    pub(super) fn count(&mut self, sample: &Sample, bar: fn(u64) -> Range<u64>) {
        let Sample { ns, weight, .. } = *sample;
        match event::plain(sample.event) {
            // A hold that may be no sample by itself.
            event::CHARGE => self.holds.longest_ns = self.holds.longest_ns.max(sample.lengths[0]),
            event::TAKE => self.holds.add(weight, ns, bar(ns)),
            what if is_wait(what) => {
                self.gave_up += if what == event::GAVE_UP { weight } else { 0.0 };
                self.waits.add(weight, ns, bar(ns));
            }
            _ => {}
        }
    }

    /// A wait of `ns` that ended at `end`, counted from the start of the run.
    pub(crate) fn add_wait(&mut self, thread: u32, end: u64, ns: u64) {
        self.waits.add(1.0, ns, Histogram::bar(ns));
        self.place_wait(thread, end, ns, 1.0);
    }

    fn place_wait(&mut self, thread: u32, end: u64, ns: u64, weight: f64) {
        self.over_time.add(end, ns, weight);
        self.threads.entry(thread).or_default();
    }

    /// Adds another one, with the numbers that its stacks have here.
    pub(crate) fn merge(&mut self, other: &Account, mut number: impl FnMut(u32) -> u32) {
        self.waits.merge(&other.waits);
        self.holds.merge(&other.holds);
        self.over_time.merge(&other.over_time);
        for (thread, n) in &other.threads {
            *self.threads.entry(*thread).or_default() += n;
        }
        self.triers.extend(&other.triers);
        self.most_waiting = self.most_waiting.max(other.most_waiting);
        self.gave_up += other.gave_up;
        self.again += other.again;
        self.handing_on_ns += other.handing_on_ns;
        self.notifications_of_all += other.notifications_of_all;
        let Account { waiters, holders, takers, tries, refusers, wakers, notifiers, .. } = self;
        for (own, more) in [waiters, holders, takers, tries, refusers, wakers, notifiers].into_iter().zip(other.sites())
        {
            for (stack, sum) in &more.0 {
                own.merge(Stack { number: number(stack.number), ..*stack }, sum);
            }
        }
        self.charges.merge(&other.charges, number);
        self.waiting.extend_from_slice(&other.waiting);
    }

    /// Whether any thread has waited, or waits.
    pub(super) fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty() || self.waits.sum.count > 0.0
    }

    /// One lock with these waits, and nothing else.
    pub(crate) fn lock(&self, slice_ns: u64) -> Lock {
        Lock {
            waits: self.waits.sum.count,
            wait_ns: self.waits.sum.ns,
            longest_ns: self.waits.longest_ns,
            wait_histogram: self.waits.lengths.clone(),
            threads: self.threads.len() as u32,
            by_others: self.threads.values().sum::<f64>() - self.threads.values().copied().fold(0.0, f64::max),
            triers: self.triers.len() as u32,
            most_waiting: self.most_waiting,
            timeline: self.over_time.timeline(slice_ns),
            members: 1,
            ..Lock::default()
        }
    }

    /// The same of what is no lock.
    pub(crate) fn condition(&self) -> Condition {
        Condition {
            waits: self.waits.sum.count,
            wait_ns: self.waits.sum.ns,
            longest_ns: self.waits.longest_ns,
            wait_histogram: self.waits.lengths.clone(),
            again: self.again,
            notifications_of_all: self.notifications_of_all,
            ..Condition::default()
        }
    }
}

fn stack_of(sample: &Sample) -> Stack {
    Stack { number: sample.stack, is_reading: sample.event & event::READING != 0 }
}

/// How often, how long all together, and how long each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Durations {
    pub(crate) sum: Sum,
    pub(crate) longest_ns: u64,
    pub(crate) lengths: Histogram,
    pub(super) n_samples: u64,
}

impl Durations {
    fn add(&mut self, weight: f64, ns: u64, bar: Range<u64>) {
        self.sum.add(weight, ns);
        self.longest_ns = self.longest_ns.max(ns);
        self.lengths.add(Bar { from: bar.start, to: bar.end, count: weight });
        self.n_samples += 1;
    }

    fn merge(&mut self, other: &Durations) {
        self.sum.merge(&other.sum);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.lengths.merge(&other.lengths);
        self.n_samples += other.n_samples;
    }
}

impl Histogram {
    /// The bar of a duration, of an eighth of a power of two.
    pub(crate) fn bar(ns: u64) -> Range<u64> {
        /// Bits of a duration that are told apart below its highest one.
        const FINE_BITS: u32 = 3;
        let width = 1 << (u64::BITS - 1 - (ns | 1).leading_zeros()).saturating_sub(FINE_BITS);
        let from = ns & !(width - 1);
        from..from.saturating_add(width)
    }

    /// To the bar with the same limits, if there is one.
    pub(crate) fn add(&mut self, more: Bar) {
        match self.0.binary_search_by_key(&(more.from, more.to), |bar| (bar.from, bar.to)) {
            Ok(at) => self.0[at].count += more.count,
            Err(at) => self.0.insert(at, more),
        }
    }

    pub(crate) fn merge(&mut self, other: &Histogram) {
        other.0.iter().for_each(|bar| self.add(*bar));
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
        let mut lengths = Durations::default();
        for ns in [u64::MAX, 17, 0, 1, 7, 8, 15, 16, 1000, 1001, u64::MAX / 2] {
            lengths.add(1.0, ns, Histogram::bar(ns));
        }
        let Histogram(bars) = lengths.lengths;
        assert!(bars.windows(2).all(|pair| pair[0].to <= pair[1].from), "{bars:?}");
        assert!(bars.iter().all(|bar| bar.to - bar.from <= (bar.from / 8).max(1)), "{bars:?}");
        assert_eq!(bars.iter().map(|bar| bar.count).sum::<f64>(), 11.0);
    }
}
