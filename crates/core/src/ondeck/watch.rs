//! What the occupant of the deck knows: how long it waits, how fast the lock turns over, when it last moved.

use super::state::{HOT, LOCKED, SECOND, State};
use super::tuning::Tuning;
use crate::Platform;
use core::marker::PhantomData;

/// A stopwatch. Differences saturate: the counters of two cores may disagree a little.
pub(crate) struct Wait<P> {
    start: u64,
    platform: PhantomData<P>,
}

impl<P: Platform> Wait<P> {
    pub(crate) fn new() -> Self {
        Wait { start: P::ticks(), platform: PhantomData }
    }

    /// Whether who began to wait then is to audit the lock. By the clock, so that no rhythm of the threads avoids it.
    pub(super) fn is_auditor(&self, tuning: &Tuning) -> bool {
        /// An audit keeps the lock from being passed around for some five releases, so there must not be many.
        const PART: u64 = 64;
        let every = P::ns_to_ticks(u64::from(tuning.audit_every_ns));
        every > 0 && self.start % every < every / PART
    }

    pub(crate) fn longer_than(&self, ns: u32) -> bool {
        P::ticks().saturating_sub(self.start) > P::ns_to_ticks(u64::from(ns))
    }
}

/// How often in a row a compare-exchange of the word has failed for one thread, of those that it must get done.
///
/// The holder of a hot lock may write the word each time that the line is on its way to the other; so that who must get
/// through does not depend on luck, it asks for room.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tries(u32);

impl Tries {
    /// Lost races are common, and cost less than the holder's standing back.
    const BEFORE_ROOM: u32 = 2;

    pub(super) fn fail(&mut self) {
        self.0 = self.0.saturating_add(1);
    }

    pub(super) fn need_room(self) -> bool {
        self.0 >= Self::BEFORE_ROOM
    }

    /// How long to keep away before asking again: longer each time, or hundreds that retire at once would fail for each
    /// other's attempts.
    pub(super) fn back_off_ns<P: Platform>(self, tuning: &Tuning) -> u32 {
        const MOST_DOUBLINGS: u32 = 8;
        match self.0.saturating_sub(Self::BEFORE_ROOM) {
            0 => 0,
            asked => self.gap_ns::<P>(tuning).saturating_mul(1 << (asked - 1).min(MOST_DOUBLINGS)),
        }
    }

    /// How long the answer takes. Of no fixed length, or two that ask could go on failing in step.
    pub(super) fn gap_ns<P: Platform>(self, tuning: &Tuning) -> u32 {
        tuning.poll_asked_ns.saturating_mul(1 + (P::ticks() ^ u64::from(self.0)) as u32 % 4)
    }
}

/// What a contender makes of a free lock when it sits down on deck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heat {
    /// To be taken.
    Cool,
    /// To be left to its last holder, who is about to take it again.
    Hot,
    /// The same, for as long as it takes to find out which of the two is right.
    Audited,
}

impl Heat {
    /// What tells others to keep away while this contender finds out.
    pub(super) const fn flag(self) -> u64 {
        if matches!(self, Heat::Audited) { HOT } else { 0 }
    }
}

/// A lock that is released less often than once in this time is not hot. Within one memory node a pass costs less, and
/// finding out what it costs is worth it for the fastest locks only.
fn hot_most_ns<P: Platform>(tuning: &Tuning) -> u32 {
    if P::memory_nodes() == 1 { tuning.hot_most_near_ns.min(tuning.hot_most_ns) } else { tuning.hot_most_ns }
}

/// The comparison of a lock that is passed around with the same lock left to its holder.
///
/// The holder at the beginning of the audit has just got the lock by a pass, if passing is the rule; its section, with
/// the lines that it waits for, ends in the first release. What follows it does alone.
#[derive(Clone, Copy, Debug)]
struct Audit {
    /// How long the first release took; `None` before it.
    passed: Option<u64>,
    since: State,
    since_at: u64,
}

impl Audit {
    /// So many releases of the holder alone make up a rate.
    const ENOUGH: u64 = 4;

    fn new(state: State, now: u64) -> Self {
        Audit { passed: None, since: state, since_at: now }
    }

    /// Takes in what a poll has shown. At the end, the period of the holder alone and whether passing loses against it. A lock
    /// that takes longer than `most` for a release is not worth the rest.
    fn observe(&mut self, state: State, now: u64, most: u64) -> Option<(u64, bool)> {
        let (releases, elapsed) = (state.releases_since(self.since), now.saturating_sub(self.since_at));
        if elapsed > (releases + 1).saturating_mul(most) {
            return Some((elapsed / (releases + 1), false));
        }
        let period = elapsed.checked_div(releases)?;
        let Some(passed) = self.passed else {
            *self = Audit { passed: Some(period), since: state, since_at: now };
            return None;
        };
        // Half, because of passing only a part is seen: not what went by before this thread came back for the lock.
        (releases >= Self::ENOUGH).then_some((period, passed > period / 2))
    }
}

/// Two bits of a clock that ticks once per rotation.
pub(super) fn epoch_now<P: Platform>(tuning: &Tuning) -> u64 {
    (P::ticks() / P::ns_to_ticks(u64::from(tuning.rotate_ns)).max(1)) & 0b11
}

/// The observations of one occupant.
pub(super) struct Watch<P> {
    waited: Wait<P>,
    audit: Option<Audit>,
    looks_again: bool,
    is_still_free: bool,
    seen: State,
    seen_at: u64,
    moved_at: u64,
    free_since: u64,
    period: u64,
    pub(super) gap_ns: u32,
    pub(super) has_asked: bool,
    pub(super) has_missed: bool,
    pub(super) is_hot: bool,
    pub(super) naps: u32,
    pub(super) tries: Tries,
}

impl<P: Platform> Watch<P> {
    pub(super) fn new(state: State, heat: Heat, tuning: &Tuning) -> Self {
        let waited = Wait::new();
        let now = waited.start;
        Watch {
            waited,
            audit: (heat == Heat::Audited).then(|| Audit::new(state, now)),
            looks_again: false,
            is_still_free: false,
            seen: state,
            seen_at: now,
            moved_at: now,
            free_since: now,
            period: u64::MAX / 2,
            gap_ns: if heat == Heat::Hot { tuning.poll_first_hot_ns() } else { tuning.poll_first_ns },
            has_asked: false,
            has_missed: false,
            is_hot: heat != Heat::Cool,
            naps: 0,
            tries: Tries::default(),
        }
    }

    /// Takes in what a poll has shown.
    pub(super) fn observe(&mut self, state: State, tuning: &Tuning) {
        let now = P::ticks();
        // An alarm is no count: what was released before it is not known.
        if state.is_alarmed() && !self.seen.is_alarmed() {
            self.seen = state;
            self.audit = self.audit.map(|audit| Audit { since: state, since_at: now, ..audit });
        }
        let releases = state.releases_since(self.seen);
        if let Some(period) = now.saturating_sub(self.seen_at).checked_div(releases) {
            self.period = period;
        }
        // One release is an ending; two are a turnover. What is hot stays so until it is well below the limit: near it
        // a change of mind costs more than either choice.
        let most_ns = hot_most_ns::<P>(tuning);
        let is_below = |period, ns: u32| period < P::ns_to_ticks(u64::from(ns));
        if let Some(audit) = &mut self.audit {
            if let Some((period, passing_loses)) = audit.observe(state, now, P::ns_to_ticks(u64::from(most_ns))) {
                let may_be_hot = passing_loses && is_below(period, most_ns);
                self.is_hot = may_be_hot || is_below(period, tuning.hot_period_ns);
                self.audit = None;
            }
        } else if releases > 1 {
            self.is_hot = is_below(self.period, if self.is_hot { most_ns } else { tuning.hot_period_ns });
        }
        self.is_still_free = releases == 0 && !state.has(LOCKED);
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
        !self.is_hot || free_for > P::ns_to_ticks(u64::from(tuning.idle_ns()))
    }

    /// Whether the occupant should ask for the lock: it or the dugout has waited long enough, or nothing moves.
    pub(super) fn is_due(&self, state: State, tuning: &Tuning) -> bool {
        if self.is_still_for(tuning.quiet_ns()) {
            return true;
        }
        if state.has(SECOND) {
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
        // A free lock is worth a second look soon; not a third, if it was taken and released in between.
        self.looks_again = !self.seen.has(LOCKED) && (!self.looks_again || self.is_still_free);
        let gap = if self.has_asked || self.looks_again { tuning.poll_asked_ns } else { self.gap_ns };
        // A waiter of a lock that is passed around gains by each look what it would have come too late.
        let most_ns = if self.is_hot { tuning.poll_max_ns } else { tuning.poll_cool_max_ns() };
        self.gap_ns = self.gap_ns.saturating_mul(2).min(most_ns);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What an audit says of releases at these times, looked at each time.
    fn audit(releases_at: &[u64]) -> Option<(u64, bool)> {
        let mut audit = Audit::new(State(LOCKED), 0);
        let mut state = State(LOCKED);
        let mut verdict = None;
        for &now in releases_at {
            assert_eq!(verdict, None, "no more looks are needed");
            state = state.released().with(LOCKED);
            verdict = audit.observe(state, now, u64::MAX);
        }
        verdict
    }

    #[test]
    fn passing_loses_if_its_release_takes_longer_than_half_a_turn_of_the_holder_alone() {
        assert_eq!(audit(&[51, 151, 251, 351, 451]), Some((100, true)));
        assert_eq!(audit(&[50, 150, 250, 350, 450]), Some((100, false)));
    }

    #[test]
    fn an_audit_says_nothing_before_it_has_seen_enough() {
        assert_eq!(audit(&[]), None);
        assert_eq!(audit(&[300, 400, 500, 600]), None);
        let mut audit = Audit::new(State(0), 0);
        assert_eq!(audit.observe(State(0), 1_000_000, u64::MAX), None, "nothing was released");
    }

    #[test]
    fn an_audit_of_a_slow_lock_ends_with_what_has_been_seen() {
        let held = State(LOCKED);
        assert_eq!(Audit::new(held, 0).observe(held, 300, 300), None);
        assert_eq!(Audit::new(held, 0).observe(held, 301, 300), Some((301, false)));
        let mut audit = Audit::new(held, 0);
        let (first, second) = (held.released().with(LOCKED), held.released().with(LOCKED).released().with(LOCKED));
        assert_eq!(audit.observe(first, 200, 300), None);
        assert_eq!(audit.observe(second, 900, 300), Some((350, false)), "two turns may take 600");
    }

    #[test]
    fn only_an_audit_closes_the_door() {
        assert_eq!([Heat::Cool, Heat::Hot, Heat::Audited].map(Heat::flag), [0, 0, HOT]);
    }
}
