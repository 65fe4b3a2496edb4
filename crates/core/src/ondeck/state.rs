//! The state word of the flagship: its fields, what they mean together, and every change of it as a pure function.

/// Node addresses are multiples of 512, so 39 bits hold 48 bits of address.
pub(super) const NODE_ALIGN_BITS: u32 = 9;
pub(super) const ADDRESS_BITS: u32 = 48;
const HEAD_BITS: u32 = ADDRESS_BITS - NODE_ALIGN_BITS;
const HEAD: u64 = (1 << HEAD_BITS) - 1;
const EPOCH_SHIFT: u32 = 39;
const EPOCH: u64 = 0b11 << EPOCH_SHIFT;
const CORE_SHIFT: u32 = 41;
const CORE: u64 = 1 << CORE_SHIFT;
pub(super) const ROOM: u64 = 1 << 42;
pub(super) const LATCHED: u64 = 1 << 43;
pub(super) const DECK: u64 = 1 << 44;
pub(super) const SECOND: u64 = 1 << 45;
pub(super) const FLIGHT: u64 = 1 << 46;
pub(super) const FAIR: u64 = 1 << 47;
pub(super) const PASSED: u64 = 1 << 48;
pub(super) const NAPPING: u64 = 1 << 49;
pub(super) const HOT: u64 = 1 << 50;
pub(super) const QUIET: u64 = 1 << 51;
const COUNT_SHIFT: u32 = 52;
const COUNT_BITS: u32 = 10;
const COUNT: u64 = ((1 << COUNT_BITS) - 1) << COUNT_SHIFT;
// Not the top bit: of that, compilers make a test of the sign, and the fetch-or becomes a loop.
pub(super) const LOCKED: u64 = 1 << 62;
pub(super) const RUSH: u64 = 1 << 63;

/// A full counter: the next release carries into LOCKED, so the lock stays taken, and its holder looks what is asked.
pub(super) const ALARM: u64 = COUNT;
/// What a release adds: one to the counter. It takes LOCKED away.
pub(super) const RELEASE: u64 = (1u64 << COUNT_SHIFT).wrapping_sub(LOCKED);

const FLAGS: u64 = RUSH | ROOM | LATCHED | DECK | SECOND | FLIGHT | FAIR | PASSED | NAPPING | HOT | QUIET | LOCKED;
const _: () = assert!(HEAD ^ EPOCH ^ CORE ^ FLAGS ^ COUNT == u64::MAX, "fields overlap or leave gaps");
const _: () = assert!(COUNT + (1 << COUNT_SHIFT) == LOCKED, "the carry out of the counter goes into LOCKED");
const _: () = assert!(HEAD_BITS == EPOCH_SHIFT, "the fields above the head begin where it ends");
const _: () = assert!((LOCKED | NAPPING) >> 32 << 32 == LOCKED | NAPPING, "a nap compares the upper half");

/// One value of the word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct State(pub(super) u64);

impl State {
    // Questions.

    /// Whether any of `flags` is set.
    pub(super) const fn has(self, flags: u64) -> bool {
        self.0 & flags != 0
    }

    pub(super) const fn has_sleepers(self) -> bool {
        self.0 & HEAD != 0 && !self.has(QUIET)
    }

    /// Whether nobody is known to wait.
    pub(super) const fn is_alone(self) -> bool {
        self.0 & (HEAD | DECK) == 0
    }

    /// Whether somebody waits awake: not while the one seat that is taken is kept for a sleeper on its way.
    pub(super) const fn is_anybody_up(self) -> bool {
        self.has(SECOND) || self.0 & (DECK | FLIGHT) == DECK
    }

    /// Whether somebody sleeps and no seat is taken: then the next release must call.
    pub(super) const fn is_vacant(self) -> bool {
        self.has_sleepers() && !self.has(DECK)
    }

    /// Whether the next release will find out what is asked of it.
    pub(super) const fn is_alarmed(self) -> bool {
        self.0 & COUNT == ALARM
    }

    /// Whether something is asked of the next release.
    pub(super) const fn asks(self) -> bool {
        self.has(FAIR | NAPPING | ROOM | RUSH) || self.is_vacant()
    }

    /// Nothing left but the counter and the hints: HOT, ROOM, RUSH, and the two of the last call. Or quiet and free.
    pub(super) const fn is_at_rest(self) -> bool {
        self.is_quiet_and_free() || self.without(HOT | ROOM | RUSH).0 & (HEAD | FLAGS) == 0
    }

    pub(super) const fn is_quiet_and_free(self) -> bool {
        self.0 & (QUIET | LOCKED) == QUIET
    }

    /// Whether the release may leave the lock quiet: nobody is there, and the counter has come round, so that as many
    /// releases were asked nothing. Or it is quiet already.
    pub(super) const fn may_hush(self) -> bool {
        self.without(HOT | EPOCH | CORE | QUIET).0 == LOCKED
    }

    /// How many releases lie between two values, modulo 1024. What an alarm has skipped counts as well.
    pub(super) const fn releases_since(self, earlier: State) -> u64 {
        ((self.0 & COUNT).wrapping_sub(earlier.0 & COUNT) & COUNT) >> COUNT_SHIFT
    }

    /// The counter of releases and passes.
    pub(super) const fn count(self) -> u64 {
        (self.0 & COUNT) >> COUNT_SHIFT
    }

    pub(super) const fn epoch(self) -> u64 {
        (self.0 & EPOCH) >> EPOCH_SHIFT
    }

    /// Whether the sleeper called last is likely to run on `core`, where it was called, as far as one bit can tell.
    pub(super) const fn is_coming_to(self, core: u32) -> bool {
        (self.0 ^ ((core as u64) << CORE_SHIFT)) & CORE == 0
    }

    /// Address of the newest sleeper, without its low zero bits.
    pub(super) const fn head(self) -> u64 {
        self.0 & HEAD
    }

    // Building blocks.

    pub(super) const fn with(self, flags: u64) -> State {
        State(self.0 | flags)
    }

    pub(super) const fn without(self, flags: u64) -> State {
        State(self.0 & !flags)
    }

    pub(super) const fn with_head(self, head: u64) -> State {
        debug_assert!(head & !HEAD == 0, "I8: a head leaves the other fields alone");
        State(self.0 & !HEAD | head)
    }

    /// The alarm set if something is asked of the next release, and else off: of whatever is written over a whole word.
    pub(super) const fn alarmed_if_asked(self) -> State {
        match (self.asks(), self.is_alarmed()) {
            (true, _) => self.with(ALARM),
            (false, true) => self.without(ALARM),
            (false, false) => self,
        }
    }

    // Transitions, each installed by one RMW.

    /// What the addition of a release leaves behind: free, or still taken after an alarm.
    pub(super) const fn after_release(self) -> State {
        State(self.0.wrapping_add(RELEASE))
    }

    /// Free, and one more release counted. Of a quiet lock nothing else is left: it is loud from here on.
    pub(super) const fn released(self) -> State {
        let before = self.loud();
        let count = before.0.wrapping_add(1 << COUNT_SHIFT) & COUNT;
        State(before.0 & !(LOCKED | COUNT) | count)
    }

    /// Loud: of a quiet word nothing counts but LOCKED.
    pub(super) const fn loud(self) -> State {
        if self.has(QUIET) { State(self.0 & LOCKED) } else { self }
    }

    /// Quiet and held, with the token of a thread that knocks, or 0.
    pub(super) const fn quiet_and_held(token: u64) -> State {
        State(QUIET | LOCKED).with_head(token)
    }

    /// Quiet and free.
    pub(super) const fn quiet() -> State {
        State(QUIET)
    }

    /// The same, if there is nothing else to do; with nobody asleep there is no rush.
    pub(super) const fn vacated(self) -> State {
        let next = self.released().without(ROOM);
        if next.has_sleepers() { next } else { next.without(RUSH) }
    }

    /// Given to the occupant that is awake, or that comes to the seat that is kept.
    pub(super) const fn passed(self) -> State {
        self.released().with(LOCKED | PASSED)
    }

    /// One seat fewer is taken. Which of the two does not matter: the other is left to who stays.
    const fn with_a_seat_less(self) -> State {
        self.without(if self.has(SECOND) { SECOND } else { DECK })
    }

    /// An occupant goes to bat. What was asked is answered, or asked again by who still sits.
    pub(super) const fn at_bat(self) -> State {
        self.with(LOCKED).without(FAIR | PASSED | NAPPING).with_a_seat_less()
    }

    /// An occupant gives its seat up. What was asked goes if nobody is left who is awake, and what was learned if nobody is
    /// left at all.
    pub(super) const fn left(self) -> State {
        let next = self.with_a_seat_less();
        let next = if next.is_anybody_up() { next } else { next.without(FAIR | NAPPING) };
        if next.has(DECK) { next } else { next.without(HOT) }
    }

    /// An occupant goes to sleep on the word. On its first nap it takes its request back: a lock passed to a sleeper is
    /// idle until that one runs.
    pub(super) const fn napping(self, keeps_asking: bool) -> State {
        let next = self.with(NAPPING);
        if keeps_asking { next } else { next.without(FAIR) }
    }

    /// A sleeper has been unlinked and will be woken: a seat is kept for it. Drops the latch.
    pub(super) fn called(self, epoch: u64, core: u32) -> State {
        debug_assert!(!self.has(FLIGHT | SECOND), "I4: one call at a time");
        let hints = (epoch << EPOCH_SHIFT & EPOCH) | (u64::from(core) << CORE_SHIFT & CORE);
        let seat = if self.has(DECK) { SECOND } else { DECK };
        State(self.0 & !(EPOCH | CORE) | hints).without(LATCHED).with(FLIGHT | seat)
    }

    /// The latch dropped; `None` if its holder must call a sleeper first, since the lock is free and nobody else would (I2), or
    /// might have no core and a rush is on.
    pub(super) const fn unlatched(self) -> Option<State> {
        let next = self.without(LATCHED);
        if next.has_sleepers() && !next.has(LOCKED) && (!next.has(DECK) || next.has(RUSH)) { None } else { Some(next) }
    }
}

// -- 11. Tests --------------------------------------------------------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of flags, with and without a sleeper.
    fn all() -> impl Iterator<Item = State> {
        let flags =
            (0..1u64 << 11).map(|bits| ((bits & 0x1ff) << 42) | ((bits >> 9 & 1) * LOCKED) | ((bits >> 10) * RUSH));
        flags.flat_map(|flags| [State(flags), State(flags | 0x1234)])
    }

    /// As the header's table of the seats has it.
    #[test]
    fn a_seat_is_empty_or_kept_or_taken_by_somebody_awake() {
        let words = [0, DECK, DECK | FLIGHT, DECK | SECOND | FLIGHT, DECK | SECOND].map(State);
        assert_eq!(words.map(State::is_anybody_up), [false, true, false, true, true]);
    }

    #[test]
    fn a_lock_with_sleepers_and_no_seat_taken_is_vacant() {
        for state in all() {
            assert_eq!(state.is_vacant(), state.has_sleepers() && !state.has(DECK));
        }
    }

    #[test]
    fn a_release_counts_and_clears_locked_only() {
        for state in all().filter(|state| state.has(LOCKED)) {
            for next in [state.released(), state.after_release()] {
                assert_eq!(next.releases_since(state), 1);
                assert_eq!(next.0 & (HEAD | FLAGS), state.without(LOCKED).0 & (HEAD | FLAGS));
            }
        }
    }

    /// The addition of a release leaves an alarmed lock taken, and changes nothing else of it.
    #[test]
    fn a_release_under_an_alarm_keeps_the_lock() {
        for state in all().filter(|state| state.has(LOCKED)) {
            let next = state.with(ALARM).after_release();
            assert_eq!(next, state.without(ALARM));
            assert!(!next.is_alarmed());
            assert_eq!(
                state.with(ALARM).released(),
                state.without(ALARM | LOCKED),
                "the counter wraps, and LOCKED goes"
            );
        }
    }

    #[test]
    fn the_alarm_is_set_if_and_only_if_something_is_asked() {
        for state in all() {
            for before in [state, state.with(ALARM)] {
                let next = before.alarmed_if_asked();
                assert_eq!(next.is_alarmed(), state.has(FAIR | NAPPING | ROOM | RUSH) || state.is_vacant());
                assert_eq!(next.without(ALARM), state);
            }
        }
    }

    #[test]
    fn a_plain_release_answers_the_call_for_room_and_ends_a_rush_without_sleepers() {
        let next = State(LOCKED | ROOM | HOT | RUSH).vacated();
        assert!(next.has(HOT) && !next.has(LOCKED | ROOM | RUSH));
        assert!(State(LOCKED | RUSH | 0x1234).vacated().has(RUSH));
    }

    #[test]
    fn a_pass_keeps_the_lock_taken() {
        for state in all().filter(|state| state.has(LOCKED)) {
            assert!(state.passed().has(LOCKED) && state.passed().has(PASSED));
            assert_eq!(state.passed().releases_since(state), 1);
        }
    }

    /// Flags of seats that can occur.
    fn seated() -> impl Iterator<Item = State> {
        all().filter(|state| state.has(DECK) || !state.has(SECOND | FLIGHT))
    }

    /// Words with somebody in a seat.
    fn occupied() -> impl Iterator<Item = State> {
        seated().filter(|state| state.has(DECK))
    }

    fn n_seats(state: State) -> u32 {
        (state.0 & (DECK | SECOND)).count_ones()
    }

    #[test]
    fn going_to_bat_leaves_the_other_seat_and_nothing_of_the_occupant() {
        for state in occupied() {
            let next = state.at_bat();
            assert!(next.has(LOCKED) && !next.has(FAIR | PASSED | NAPPING | SECOND));
            assert_eq!(n_seats(next), n_seats(state) - 1);
            let rest = FAIR | PASSED | NAPPING | LOCKED | DECK | SECOND;
            assert_eq!(next.without(rest), state.without(rest), "what was learned outlives the stay");
        }
    }

    #[test]
    fn a_call_keeps_a_seat() {
        for state in seated().filter(|state| !state.has(SECOND | FLIGHT)) {
            let next = state.called(3, 2);
            assert!(next.has(FLIGHT) && !next.has(LATCHED) && !next.is_vacant());
            assert_eq!(n_seats(next), n_seats(state) + 1);
            assert_eq!(next.epoch(), 3);
            assert!(next.is_coming_to(2) && next.is_coming_to(6) && !next.is_coming_to(1));
        }
    }

    #[test]
    fn a_call_leaves_nothing_of_the_hints_before() {
        for (before, now) in [(0, 1), (1, 0), (3, 2)] {
            let next = State(0).called(before, before as u32).without(FLIGHT | DECK).called(now, now as u32);
            assert_eq!((next.epoch(), next.is_coming_to(now as u32)), (now, true));
        }
    }

    #[test]
    fn a_lock_is_alone_without_seats_and_sleepers_and_at_rest_without_anybody() {
        for state in all() {
            assert_eq!(state.is_alone(), !state.has(DECK) && !state.has_sleepers());
            let is_anybody_there = state.has(FLAGS & !(HOT | ROOM | RUSH)) || state.has_sleepers();
            assert_eq!(state.is_at_rest(), !is_anybody_there, "{:x}", state.0);
        }
    }

    #[test]
    fn whoever_leaves_takes_its_wishes_along_unless_another_may_share_them() {
        for state in occupied() {
            let left = state.left();
            assert_eq!(n_seats(left), n_seats(state) - 1);
            assert_eq!(left.has(FAIR | NAPPING), left.is_anybody_up() && state.has(FAIR | NAPPING));
            assert_eq!(left.has(HOT), left.has(DECK) && state.has(HOT));
        }
    }

    #[test]
    fn a_first_nap_takes_the_request_back() {
        for state in all() {
            assert!(state.napping(true).has(NAPPING) && state.napping(false).has(NAPPING));
            assert_eq!(state.napping(true).has(FAIR), state.has(FAIR));
            assert!(!state.napping(false).has(FAIR));
        }
    }

    #[test]
    fn of_a_quiet_word_nothing_counts_but_that_it_is_taken() {
        for stray in all().map(|state| state.with(QUIET)) {
            assert_eq!(stray.loud(), if stray.has(LOCKED) { State(LOCKED) } else { State(0) });
            assert!(!stray.has_sleepers() && !stray.is_vacant());
            assert_eq!(stray.is_at_rest(), !stray.has(LOCKED));
        }
        for token in [0, 0x1234] {
            let held = State::quiet_and_held(token);
            assert_eq!((held.head(), held.loud()), (token, State(LOCKED)));
            assert!(!held.asks() && !held.is_alarmed());
            assert_eq!(held.released(), State(1 << COUNT_SHIFT), "loud, with one release counted");
            assert_eq!(held.may_hush(), token == 0);
        }
    }

    /// A release that has found an alarm, and a slip that was ended: with nobody there.
    #[test]
    fn a_lock_becomes_quiet_only_alone() {
        for state in all().chain(all().map(|state| state.with(ALARM))) {
            let rest = state.without(HOT | LOCKED).0 & (HEAD | FLAGS | COUNT);
            assert_eq!(state.may_hush(), state.has(LOCKED) && rest == 0);
        }
    }

    #[test]
    fn the_latch_is_not_dropped_on_a_free_lock_with_sleepers_and_empty_seats() {
        for state in all() {
            let stuck = state.has_sleepers() && !state.has(LOCKED) && (state.has(RUSH) || !state.has(DECK));
            assert_eq!(state.unlatched().is_none(), stuck);
        }
    }
}
