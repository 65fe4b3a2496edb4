//! How long who waits for a reader-writer lock stays awake.

use crate::Platform;
use crate::ondeck::Wait;

/// How one that waits goes about it: it looks ever more seldom, and then it sleeps. Only a writer that waits for another one
/// yields its core before, for as long again. Others sleep at once: many that yield stay on the core where they are, and the
/// scheduler leaves another one idle for milliseconds.
pub(super) struct Pace<P> {
    since: Wait<P>,
    awake_ns: u32,
    gap_ns: u32,
}

impl<P: Platform> Pace<P> {
    const FIRST_NS: u32 = 40;
    const MOST_NS: u32 = 1_000;
    /// Both beside a writer. A look takes the line away from it, and it often comes again at once: sections shorter than that cost
    /// less one after the other, on one core.
    const FIRST_BESIDE_WRITER_NS: u32 = 1_000;
    const MOST_BESIDE_WRITER_NS: u32 = 4_000;

    pub(super) fn new(awake_ns: u32) -> Self {
        Pace { since: Wait::new(), awake_ns: if P::may_spin() { awake_ns } else { 0 }, gap_ns: Self::FIRST_NS }
    }

    /// Whether it is time to sleep, for one that `yields` before or not.
    pub(super) fn is_over(&self, yields: bool) -> bool {
        self.has_passed(if yields { 2 * self.awake_ns } else { self.awake_ns })
    }

    /// Awake until the next look.
    pub(super) fn pause(&mut self, yields: bool) {
        if yields && self.has_passed(self.awake_ns) {
            return P::yield_now();
        }
        let (least, most) = match yields {
            true => (Self::FIRST_BESIDE_WRITER_NS, Self::MOST_BESIDE_WRITER_NS),
            false => (0, Self::MOST_NS),
        };
        let gap_ns = self.gap_ns.max(least);
        P::pause_ns(gap_ns);
        self.gap_ns = (gap_ns * 2).min(most);
    }

    fn has_passed(&self, ns: u32) -> bool {
        ns == 0 || self.since.longer_than(ns)
    }
}
