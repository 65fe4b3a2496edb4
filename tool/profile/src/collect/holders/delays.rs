//! How long holders ran, and how long they were kept from running.

use super::Holders;

/// How long a thread had been kept from running until a time from the start of the run, and how long it had run, in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    pub(super) at: u64,
    pub(super) kept: u64,
    pub(super) ran: u64,
}

impl Holders {
    /// The part of the time from a look on in which the thread was kept from running.
    pub(super) fn without_core(&self, thread: u32, first: u64, to: u64) -> f64 {
        let Some((before, after)) = self.between(thread, first, to) else { return 0.0 };
        let span = after.at.saturating_sub(before.at);
        if span == 0 { 0.0 } else { (after.kept.saturating_sub(before.kept) as f64 / span as f64).min(1.0) }
    }

    /// The part of the time from a look on in which the thread ran at most, if it was looked at late enough.
    pub(super) fn ran(&self, thread: u32, first: u64, to: u64) -> Option<f64> {
        /// ns. Of a thread that runs, the kernel notes that now and then only.
        const NOTED_NS: u64 = 5_000_000;
        let (before, after) = self.between(thread, first, to.saturating_add(NOTED_NS))?;
        let span = to.checked_sub(first).filter(|span| *span > 0)?;
        (after.at >= to + NOTED_NS).then(|| after.ran.saturating_sub(before.ran) as f64 / span as f64)
    }

    /// What was known of a thread before a time, and behind another one.
    fn between(&self, thread: u32, from: u64, to: u64) -> Option<(Delay, Delay)> {
        let seen = self.delays.get(&thread)?;
        let before = seen.iter().rev().find(|one| one.at <= from).or(seen.front())?;
        let after = seen.iter().find(|one| one.at >= to).or(seen.back())?;
        Some((*before, *after))
    }
}
