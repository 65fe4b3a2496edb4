//! What the occupant of the deck knows: how long it waits, how fast the lock turns over, when it last moved.

use super::state::{HOT, LOCKED, STANDIN, State};
use super::tuning::Tuning;
use core::marker::PhantomData;
use ondeck_platform::Platform;

/// A stopwatch. Differences saturate: the counters of two cores may disagree a little.
pub(super) struct Wait<P> {
    start: u64,
    platform: PhantomData<P>,
}

impl<P: Platform> Wait<P> {
    pub(super) fn new() -> Self {
        Wait { start: P::ticks(), platform: PhantomData }
    }

    pub(super) fn longer_than(&self, ns: u32) -> bool {
        P::ticks().saturating_sub(self.start) > P::ns_to_ticks(u64::from(ns))
    }

    /// Lets a moment pass: off the word at first, off the core when it takes longer than the awake need.
    pub(super) fn briefly(&self) {
        const AWAKE_NEED_NS: u32 = 1_000;
        if self.longer_than(AWAKE_NEED_NS) { P::yield_now() } else { P::pause_ns(300) }
    }
}

/// Two bits of a clock that ticks once per rotation.
pub(super) fn epoch_now<P: Platform>(tuning: &Tuning) -> u64 {
    (P::ticks() / P::ns_to_ticks(u64::from(tuning.rotate_ns)).max(1)) & 0b11
}

/// The observations of one occupant.
pub(super) struct Watch<P> {
    waited: Wait<P>,
    seen: State,
    seen_at: u64,
    moved_at: u64,
    free_since: u64,
    period: u64,
    pub(super) gap_ns: u32,
    pub(super) has_asked: bool,
    pub(super) is_hot: bool,
    pub(super) naps: u32,
}

impl<P: Platform> Watch<P> {
    pub(super) fn new(state: State, is_hot: bool, tuning: &Tuning) -> Self {
        let waited = Wait::new();
        let now = waited.start;
        Watch {
            waited,
            seen: state,
            seen_at: now,
            moved_at: now,
            free_since: now,
            period: u64::MAX / 2,
            gap_ns: if is_hot { tuning.poll_first_hot_ns } else { tuning.poll_first_ns },
            has_asked: false,
            is_hot,
            naps: 0,
        }
    }

    /// Takes in what a poll has shown.
    pub(super) fn observe(&mut self, state: State, tuning: &Tuning) {
        let now = P::ticks();
        let releases = state.releases_since(self.seen);
        if let Some(period) = now.saturating_sub(self.seen_at).checked_div(releases) {
            self.period = period;
        }
        // One release is an ending; two are a turnover. What is hot stays so until it is well below the limit: near it
        // a change of mind costs more than either choice.
        if releases > 1 {
            let slack = if self.is_hot { 3 } else { 2 };
            self.is_hot = self.period * 2 < P::ns_to_ticks(u64::from(tuning.hot_period_ns)) * slack;
        }
        if releases > 0 || self.seen.has(LOCKED) {
            self.free_since = now;
        }
        if releases > 0 || !state.has(LOCKED) {
            self.moved_at = now;
        }
        (self.seen, self.seen_at) = (state, now);
    }

    /// Whether a lock that looks free should be taken: it is, unless it is hot and its last holder is about to take
    /// it again.
    pub(super) fn may_take(&self, tuning: &Tuning) -> bool {
        let free_for = self.seen_at.saturating_sub(self.free_since);
        !self.is_hot || free_for > P::ns_to_ticks(u64::from(tuning.idle_ns))
    }

    /// Whether the occupant should ask for the lock: it or the dugout has waited long enough, or nothing moves.
    pub(super) fn is_due(&self, state: State, tuning: &Tuning) -> bool {
        if self.is_still_for(tuning.quiet_ns) {
            return true;
        }
        if state.has(STANDIN) {
            // A call is out already: asking more often than the dugout rotates would only toss the lock about.
            return self.waited.longer_than(tuning.rotate_ns);
        }
        if state.has_sleepers() {
            return epoch_now::<P>(tuning) != state.epoch();
        }
        self.waited.longer_than(tuning.patience_ns)
    }

    /// No release for so long, and the lock was never seen free.
    pub(super) fn is_still_for(&self, ns: u32) -> bool {
        self.seen_at.saturating_sub(self.moved_at) > P::ns_to_ticks(u64::from(ns))
    }

    /// The gap before the next poll.
    pub(super) fn next_gap_ns(&mut self, tuning: &Tuning) -> u32 {
        let gap = if self.has_asked || !self.seen.has(LOCKED) { tuning.poll_asked_ns } else { self.gap_ns };
        self.gap_ns = self.gap_ns.saturating_mul(2).min(tuning.poll_max_ns);
        gap
    }

    /// Forgets what was seen before a nap.
    pub(super) fn rise(&mut self, state: State, tuning: &Tuning) {
        let now = P::ticks();
        (self.seen, self.seen_at, self.moved_at, self.free_since) = (state, now, now, now);
        self.gap_ns = tuning.poll_first_ns;
        self.has_asked = false;
        self.naps = self.naps.saturating_add(1);
    }
}

/// Whether an arrival may take a free lock: in a hot lock with somebody on deck it would only break in.
pub(super) const fn may_barge(state: State) -> bool {
    !state.has(HOT) || !state.is_seat_occupied()
}
