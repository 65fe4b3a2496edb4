//! What recording may cost.
//!
//! What is recorded by chance, waits and charges, is recorded by a length: the longer it is, the less is recorded. It grows while
//! that costs more than it may, and shrinks again, to the one that is best for who reads the recording. As each sample is told
//! with its weight by the length that it was drawn with, estimates stay without bias; they only get coarser.
//!
//! What a thread spends on samples is counted by the clock: walks of stacks, and writing down. What goes before that, to count who
//! waits and to look whether an instant has come, does not adapt.

use crate::thread::now_ns;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A length in ns that adapts to what is spent.
#[derive(Debug)]
pub(crate) struct Adaptive {
    ns: AtomicU64,
    least: AtomicU64,
    /// Since the last adaptation, and when that was, in ns.
    spent: AtomicU64,
    adapted_at: AtomicU64,
    /// Which part of the budget is its.
    part: f64,
}

/// The mean time between two instants at a lock that is waited for, at which charges are made.
pub(crate) static PERIOD: Adaptive = Adaptive::new(0.4);
/// Waits for locks of at least that are all recorded, and shorter ones in proportion.
pub(crate) static WAITS: Adaptive = Adaptive::new(0.4);
/// The same of waits that are for no lock, which are often longer than all that are, and matter less.
pub(crate) static OTHER_WAITS: Adaptive = Adaptive::new(0.2);

/// What all may cost, in millionths of the time of one core; 0 if that does not matter.
static BUDGET: AtomicU64 = AtomicU64::new(0);

/// A recording begins, in which one event of `rate` is recorded, and that may cost so much; 0 is any amount.
pub(super) fn begin(rate: u64, budget: u64) {
    const SHORTEST_PERIOD_NS: u64 = 200_000;
    const PER_RATE_NS: u64 = 1000;
    BUDGET.store(budget, Relaxed);
    PERIOD.begin(SHORTEST_PERIOD_NS);
    WAITS.begin((rate - 1) * PER_RATE_NS);
    OTHER_WAITS.begin((rate - 1) * PER_RATE_NS);
}

/// A recording begins into which nothing is drawn.
pub(super) fn begin_without_samples() {
    const NEVER_NS: u64 = 1 << 62;
    for length in [&WAITS, &OTHER_WAITS] {
        length.begin(NEVER_NS);
    }
}

impl Adaptive {
    const fn new(part: f64) -> Self {
        let [ns, least, spent, adapted_at] = [const { AtomicU64::new(0) }; 4];
        Adaptive { ns, least, spent, adapted_at, part }
    }

    fn begin(&self, ns: u64) {
        self.ns.store(ns, Relaxed);
        self.least.store(ns, Relaxed);
        self.spent.store(0, Relaxed);
        self.adapted_at.store(now_ns(), Relaxed);
    }

    /// What to draw by, now. Asked by each that may be recorded: one that hardly ever is must still shrink.
    pub(crate) fn at(&self, now: u64) -> u64 {
        if now.saturating_sub(self.adapted_at.load(Relaxed)) >= EACH_NS {
            self.adapt(now);
        }
        self.ns.load(Relaxed)
    }

    /// From that instant on the calling thread has been at what was drawn by this.
    pub(crate) fn spent(&self, from: u64) {
        /// What took longer was not at it all the time.
        const MOST_NS: u64 = 20_000;
        let now = now_ns();
        self.spent.fetch_add(now.saturating_sub(from).min(MOST_NS), Relaxed);
        self.adapt(now);
    }

    fn adapt(&self, now: u64) {
        /// What was spent in less says little.
        const SOON_NS: u64 = 5_000_000;
        let budget = BUDGET.load(Relaxed) as f64 * self.part;
        let since = self.adapted_at.load(Relaxed);
        let elapsed = now.saturating_sub(since);
        let is_over = || self.spent.load(Relaxed) as f64 > allowed(EACH_NS, budget);
        if budget == 0.0 || elapsed < SOON_NS || elapsed < EACH_NS && !is_over() {
            return;
        }
        if self.adapted_at.compare_exchange(since, now, Relaxed, Relaxed).is_ok() {
            let spent = self.spent.swap(0, Relaxed);
            let least = self.least.load(Relaxed);
            self.ns.store(adapted(self.ns.load(Relaxed), least, spent, elapsed, budget), Relaxed);
        }
    }
}

/// It is adapted so often, or sooner if it takes too much.
const EACH_NS: u64 = 100_000_000;

/// What may be spent in that time, in ns.
fn allowed(elapsed: u64, budget: f64) -> f64 {
    const MILLION: f64 = 1e6;
    elapsed as f64 * budget / MILLION
}

/// The length by which what was spent would have been as much as may be. It is at most halved in each time of adaptation.
fn adapted(ns: u64, least: u64, spent: u64, elapsed: u64, budget: f64) -> u64 {
    const LONGEST_NS: u64 = 1_000_000_000;
    const MOST_HALVINGS: u64 = 30;
    let lowest = 0.5_f64.powi((elapsed / EACH_NS).clamp(1, MOST_HALVINGS) as i32);
    let factor = (spent as f64 / allowed(elapsed, budget).max(1.0)).clamp(lowest, 8.0);
    ((ns as f64 * factor) as u64).min(LONGEST_NS).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::alone;

    #[test]
    fn a_length_adapts_to_what_was_spent() {
        let (ns, least, elapsed) = (1_000_000, 200_000, 100_000_000);
        let adapted = |ns, spent, budget| adapted(ns, least, spent, elapsed, budget);
        // 1 % of it.
        assert_eq!(adapted(ns, 1_000_000, 10_000.0), ns);
        assert_eq!(adapted(ns, 3_000_000, 10_000.0), 3 * ns);
        // Not more at once, and not beyond the bounds.
        assert_eq!(adapted(ns, 100_000_000, 10_000.0), 8 * ns);
        assert_eq!(adapted(ns, 0, 10_000.0), ns / 2);
        assert_eq!(super::adapted(8 * ns, least, 0, 3 * elapsed, 10_000.0), ns);
        assert_eq!(adapted(least, 0, 10_000.0), least);
        assert_eq!(adapted(900_000_000, 100_000_000, 1.0), 1_000_000_000);
        assert_eq!(super::adapted(ns, least, 0, u64::MAX, 10_000.0), least);
        // All are recorded.
        assert_eq!(super::adapted(0, 0, 100_000_000, elapsed, 1.0), 0);
    }

    /// A burst of waits, and hardly any after it.
    #[test]
    fn it_shrinks_though_nothing_is_recorded() {
        let _alone = alone();
        begin(1000, 10_000);
        let now = now_ns();
        WAITS.ns.store(1_000_000_000, Relaxed);
        WAITS.adapted_at.store(now, Relaxed);
        assert_eq!(WAITS.at(now + EACH_NS - 1), 1_000_000_000);
        assert_eq!(WAITS.at(now + EACH_NS), 500_000_000);
        assert_eq!(WAITS.at(now + 3 * EACH_NS), 125_000_000);
        assert_eq!(WAITS.at(now + 60 * EACH_NS), 999_000);
        begin(1000, 0);
        WAITS.spent.store(u64::MAX / 2, Relaxed);
        assert_eq!(WAITS.at(u64::MAX), 999_000, "it may take any time");
    }
}
