//! How long who waits for a reader-writer lock stays awake.

use crate::Platform;
use crate::ondeck::Wait;

/// How one that waits goes about it: it looks ever more seldom, in the second half of its time it yields its core between two
/// looks, as the holder may need that, and then it sleeps.
pub(super) struct Pace<P> {
    since: Wait<P>,
    awake_ns: u32,
    gap_ns: u32,
}

impl<P: Platform> Pace<P> {
    const FIRST_NS: u32 = 40;
    const MOST_NS: u32 = 1_000;

    pub(super) fn new(awake_ns: u32) -> Self {
        Pace { since: Wait::new(), awake_ns: if P::may_spin() { awake_ns } else { 0 }, gap_ns: Self::FIRST_NS }
    }

    /// Whether it is time to sleep.
    pub(super) fn is_over(&self) -> bool {
        self.awake_ns == 0 || self.since.longer_than(self.awake_ns)
    }

    /// Awake until the next look.
    pub(super) fn pause(&mut self) {
        if self.since.longer_than(self.awake_ns / 2) {
            return P::yield_now();
        }
        P::pause_ns(self.gap_ns);
        self.gap_ns = (self.gap_ns * 2).min(Self::MOST_NS);
    }
}
