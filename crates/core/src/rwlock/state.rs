//! The state word of the reader-writer lock: its fields, and every change of it as a pure function.

use crate::platform::counters::{COUNTER_BITS, COUNTER_SHIFT, FOLDING_SHIFT};

/// Readers that wait.
const WAITING: u64 = (1 << 17) - 1;
const ONE_WAITING: u64 = 1;
/// As many as the field can count.
pub(super) const MOST_WAITING: u64 = WAITING;
/// The next writer, or the one that is in, leaves without a locked instruction: quiet.rs.
pub(super) const QUIET: u64 = 1 << 19;
/// Somebody adds what the counter says to the word.
pub(super) const FOLDING: u64 = 1 << FOLDING_SHIFT;
/// Readers were admitted that slept: it takes a while until they have come and gone.
pub(super) const CALLED: u64 = 1 << 21;
/// The number of the counter.
const COUNTER: u64 = ((1 << COUNTER_BITS) - 1) << COUNTER_SHIFT;
const ACTIVE_SHIFT: u32 = 32;
const ACTIVE_BITS: u32 = 20;
/// One reader that has the lock, or is about to see that it has not.
pub(super) const ONE_ACTIVE: u64 = 1 << ACTIVE_SHIFT;
const ACTIVE: u64 = ((1 << ACTIVE_BITS) - 1) << ACTIVE_SHIFT;
/// Half of what the field can count: so many may still come before the first of them looks.
pub(super) const MOST_ACTIVE: u64 = 1 << (ACTIVE_BITS - 1);
/// Beside a counter, the field for active readers has so many more: some enter by the counter and leave by the word.
const SPARE: u64 = LEAST_ACTIVE + (1 << 17);
/// With fewer than that, or [`MOST_ACTIVE`], a spread lock is folded.
pub(super) const LEAST_ACTIVE: u64 = 1 << 18;
/// So far behind these limits, whoever comes waits until it is.
const FARTHEST: u64 = 1 << 17;

pub(super) const WRITER: u64 = 1 << 52;
pub(super) const WANTED: u64 = 1 << 53;
pub(super) const UPGRADABLE: u64 = 1 << 54;
pub(super) const UPGRADES: u64 = 1 << 55;
pub(super) const ASLEEP: u64 = 1 << 56;
const PHASE: u64 = 1 << 57;
/// Whether a counter pays. Of a compact lock: 1 after a read that was looked at, until a writer comes; from 2 on the lock is to be
/// spread. Of a spread one: 1 if its counter was worth it the last time.
const HEAT: u64 = 3 << HEAT_SHIFT;
const HEAT_SHIFT: u32 = 17;
/// Counts who enters by the word, without end: a carry goes nowhere.
const ENTERED: u64 = !0 << ENTERED_SHIFT;
const ENTERED_SHIFT: u32 = 58;
/// One more active reader, who has come just now.
pub(super) const ONE_COMES: u64 = ONE_ACTIVE + (1 << ENTERED_SHIFT);
/// Bits of the count: one in so many is looked at.
pub(super) const ONE_LOOKED_AT_IN: u32 = 1 << (64 - ENTERED_SHIFT);

/// What a reader waits for to be gone.
pub(super) const CLOSED: u64 = WRITER | WANTED | UPGRADES;

const _: () =
    assert!((WAITING | COUNTER | FOLDING) & ACTIVE == 0 && COUNTER & (WAITING | FOLDING) == 0, "fields overlap");
const _: () = assert!(WAITING & FOLDING == 0 && CALLED & (WAITING | FOLDING | COUNTER) == 0, "fields overlap");
const _: () =
    assert!((QUIET | HEAT) & (WAITING | FOLDING | CALLED | COUNTER) == 0 && QUIET & HEAT == 0, "fields overlap");
const _: () = assert!(ACTIVE & (CLOSED | UPGRADABLE | ASLEEP | PHASE | ENTERED) == 0, "fields overlap");
const _: () = assert!((CLOSED | UPGRADABLE | ASLEEP | PHASE) & ENTERED == 0, "fields overlap");
const _: () =
    assert!((WRITER | ACTIVE | PHASE) >> 32 << 32 == WRITER | ACTIVE | PHASE, "sleepers compare the upper half");

/// One value of the word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct State(pub(super) u64);

impl State {
    pub(super) const fn has(self, flags: u64) -> bool {
        self.0 & flags != 0
    }

    pub(super) const fn with(self, flags: u64) -> State {
        State(self.0 | flags)
    }

    pub(super) const fn without(self, flags: u64) -> State {
        State(self.0 & !flags)
    }

    pub(super) const fn n_active(self) -> u64 {
        (self.0 & ACTIVE) >> ACTIVE_SHIFT
    }

    pub(super) const fn n_waiting(self) -> u64 {
        self.0 & WAITING
    }

    pub(super) const fn phase(self) -> u64 {
        self.0 & PHASE
    }

    /// The number of the counter, 0 of a compact lock. Unless somebody is folding it, the lock is spread.
    pub(super) const fn counter(self) -> u32 {
        ((self.0 & COUNTER) >> COUNTER_SHIFT) as u32
    }

    /// Whether the reader that found it so is one to look at: one in some, and the one too many.
    pub(super) const fn is_looked_at(self) -> bool {
        self.0 >= ENTERED || self.n_active() >= MOST_ACTIVE
    }

    pub(super) const fn has_counter(self) -> bool {
        self.0 & COUNTER != 0
    }

    /// Whether readers count themselves by core.
    pub(super) const fn is_spread(self) -> bool {
        self.has_counter() && !self.has(FOLDING)
    }

    /// Whether so many have entered by the counter and left by the word, or the other way round, that it is to be folded.
    pub(super) const fn is_out_of_range(self) -> bool {
        self.has_counter() && (self.n_active() < LEAST_ACTIVE || self.n_active() >= MOST_ACTIVE)
    }

    /// Whether there is not much room left for others that do the same.
    pub(super) const fn is_far_out(self) -> bool {
        const LEAST: u64 = LEAST_ACTIVE - FARTHEST;
        self.has_counter() && (self.n_active() < LEAST || self.n_active() >= MOST_ACTIVE + FARTHEST)
    }

    /// Whether a lock with a counter has hardly any left, as so many that the word had counted have left by it since.
    pub(super) const fn is_used_up(self) -> bool {
        self.n_active() < FARTHEST / 2
    }

    const fn heat(self) -> u64 {
        (self.0 & HEAT) >> HEAT_SHIFT
    }

    /// Whether it is to be spread.
    pub(super) const fn is_hot(self) -> bool {
        self.heat() >= 2
    }

    /// The readers that have a lock whose counter says that: by both, as either may have those of the other.
    pub(super) const fn n_readers(self, counted: u64) -> u64 {
        if self.has_counter() { self.n_active().wrapping_sub(SPARE).wrapping_add(counted) } else { self.n_active() }
    }

    /// Whether nobody has the lock or waits for it. One with a counter never is.
    pub(super) const fn is_idle(self) -> bool {
        self.0 & !(QUIET | CALLED | PHASE | ASLEEP | HEAT | ENTERED) == 0
    }

    /// Whether a writer is in that may leave without a locked instruction.
    pub(super) const fn is_quiet_hold(self) -> bool {
        self.0 & (QUIET | WRITER) == QUIET | WRITER
    }

    /// Whether one is, and nobody has knocked.
    pub(super) const fn is_asked_nothing(self) -> bool {
        self.0 & !(PHASE | ENTERED) == QUIET | WRITER
    }

    /// Whether who has set that flag has closed it. Beside a quiet hold it has only knocked, and is not to rely on being heard.
    pub(super) const fn is_closed_by(self, flag: u64) -> bool {
        self.has(flag) && !self.is_quiet_hold()
    }

    /// Whether a writer that leaves it so may make it quiet: nothing is asked, and it is one of eight in 64, with which a writer and a
    /// reader in turns are met, too.
    pub(super) const fn may_hush(self) -> bool {
        self.0 & !(PHASE | ENTERED) == WRITER && self.0 >= 56 << ENTERED_SHIFT
    }

    /// Whether nobody asks anything of it, if it is quiet. In a quiet hold, WANTED and readers do not count.
    pub(super) const fn may_be_quiet(self) -> bool {
        let waits_for_another =
            self.n_waiting() > 0 || self.has_counter() || self.has(UPGRADES | ASLEEP | FOLDING | CALLED);
        !self.has(QUIET) || !(waits_for_another || self.has(WANTED) && !self.has(WRITER))
    }

    /// Whether nobody has it or waits for it, and nothing else is in the word than what a quiet one may have.
    pub(super) const fn is_idle_and_loud(self) -> bool {
        self.0 & !(PHASE | ENTERED) == 0
    }

    /// Whether somebody waits for no other reader than itself, and for no writer. With a counter that is not known: who folds the
    /// lock will see.
    pub(super) const fn lets_a_writer_in(self) -> bool {
        match self.n_active() {
            _ if self.has_counter() => false,
            0 => self.has(WANTED) && !self.has(WRITER),
            1 => self.has(UPGRADES),
            _ => false,
        }
    }

    // Changes.

    /// Of a quiet hold what counts, and QUIET is not of it.
    pub(super) const fn loud(self) -> State {
        State(self.0 & (WRITER | PHASE | HEAT | ENTERED))
    }

    /// What a writer that leaves has heard: of a quiet hold only whether it was asked anything.
    pub(super) const fn heard(self) -> State {
        if self.is_quiet_hold() && !self.is_asked_nothing() { self.loud() } else { self }
    }

    /// A reader found the lock closed: it waits, instead of being in.
    pub(super) const fn turned_away(self) -> State {
        State(self.0 - ONE_ACTIVE + ONE_WAITING)
    }

    /// A waiting reader lets itself in, as the lock is open again.
    pub(super) const fn let_in(self) -> State {
        State(self.0 + ONE_ACTIVE - ONE_WAITING)
    }

    /// A waiting reader gives up.
    pub(super) const fn left(self) -> State {
        State(self.0 - ONE_WAITING)
    }

    pub(super) const fn one_reader_more(self) -> State {
        State(self.0 + ONE_ACTIVE)
    }

    pub(super) const fn one_reader_less(self) -> State {
        State(self.0 - ONE_ACTIVE)
    }

    /// A writer comes. What was seen of readers counts no more, unless a counter was worth it; and those that were called have left.
    pub(super) const fn cooled(self) -> State {
        let cooled = self.without(if self.is_hot() { CALLED } else { CALLED | HEAT });
        State(cooled.0.wrapping_add(1 << ENTERED_SHIFT))
    }

    /// What was seen of readers counts no more.
    pub(super) const fn cold(self) -> State {
        self.without(HEAT)
    }

    /// One more read was seen; a compact lock that is hot by that is to be spread.
    pub(super) const fn warmer(self) -> State {
        if self.is_hot() { self } else { State(self.0 + (1 << HEAT_SHIFT)) }
    }

    /// Readers count themselves by core from here on.
    pub(super) const fn spread(self, counter: u32) -> State {
        let was_worth_it = (self.heat() == 3) as u64;
        let word = self.without(HEAT | QUIET).with((counter as u64) << COUNTER_SHIFT | was_worth_it << HEAT_SHIFT);
        State(word.0 + (SPARE << ACTIVE_SHIFT))
    }

    /// Nobody counts by core from here on, and somebody sees to it that the word has all readers.
    pub(super) const fn folding(self) -> State {
        self.with(FOLDING)
    }

    /// They go on counting. As if a reader had come, so that who is about to sleep notices it.
    pub(super) const fn spread_again(self) -> State {
        State(self.without(FOLDING).0.wrapping_add(1 << ENTERED_SHIFT))
    }

    /// The word has all readers again, with what the counter says. `None` if they are far too many. The lock is to be spread again if the
    /// counter was worth it now, or the last time: writers often come in pairs.
    pub(super) const fn folded(self, counted: u64, was_worth_it: bool) -> Option<State> {
        let n_readers = self.n_readers(counted);
        if n_readers > MOST_ACTIVE + FARTHEST {
            return None;
        }
        let word = self.without(ACTIVE | COUNTER | FOLDING | HEAT).with(n_readers << ACTIVE_SHIFT);
        let heat = if was_worth_it { 3 } else { 2 * self.heat() };
        Some(word.with(heat << HEAT_SHIFT))
    }

    const fn calls(self) -> u64 {
        if self.has(ASLEEP) { CALLED } else { 0 }
    }

    /// The writer is out, and all readers that wait are in.
    pub(super) const fn admitting(self) -> State {
        let out = self.without(WRITER | ASLEEP);
        match self.n_waiting() {
            0 => out,
            n => State(((out.0 & !WAITING) + (n << ACTIVE_SHIFT)) ^ PHASE).with(self.calls()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_leaves_admits_all_who_wait() {
        let waiting = State(WRITER | WANTED | ASLEEP | 5);
        let next = waiting.admitting();
        assert_eq!((next.n_active(), next.n_waiting(), next.0 & CLOSED, next.has(ASLEEP)), (5, 0, WANTED, false));
        assert!(
            State(CALLED).is_idle()
                && next.has(CALLED)
                && !next.cooled().has(CALLED)
                && !waiting.without(ASLEEP).admitting().has(CALLED)
        );
        assert_ne!(next.phase(), waiting.phase());
        assert_eq!(next.with(WRITER | 1).admitting().phase(), waiting.phase());
    }

    #[test]
    fn a_writer_that_was_asked_nothing_leaves_the_lock_quiet() {
        let held = State(QUIET | WRITER | PHASE);
        assert!(held.is_quiet_hold() && held.is_asked_nothing() && held.may_be_quiet());
        assert_eq!((held.heard(), held.admitting()), (held, State(QUIET | PHASE)));
        assert!(State(QUIET | PHASE).is_idle() && !State(QUIET).is_quiet_hold() && !State(WRITER).is_quiet_hold());
        for asked in [WANTED, ONE_ACTIVE, 2 << HEAT_SHIFT] {
            let heard = held.with(asked).heard();
            assert_eq!(heard, held.with(asked & HEAT).without(QUIET), "{asked:x}");
            assert!(!held.with(asked).is_asked_nothing() && held.with(asked).may_be_quiet());
        }
        assert_eq!(State(WRITER | WANTED | ONE_ACTIVE).heard(), State(WRITER | WANTED | ONE_ACTIVE));
    }

    #[test]
    fn a_knock_closes_nothing() {
        let closed = State(WRITER | WANTED);
        assert!(
            closed.is_closed_by(WANTED) && !closed.is_closed_by(UPGRADES) && !closed.with(QUIET).is_closed_by(WANTED)
        );
        assert!(closed.with(QUIET).without(WRITER).is_closed_by(WANTED));
    }

    #[test]
    fn who_waits_for_something_finds_no_quiet_word() {
        for asked in [1, FOLDING, CALLED, 1 << COUNTER_SHIFT, UPGRADES, ASLEEP, WANTED] {
            assert!(!State(QUIET | asked).may_be_quiet() && State(asked).may_be_quiet(), "{asked:x}");
            assert!(!State(WRITER | 63 << ENTERED_SHIFT | asked).may_hush());
        }
        assert!(!State(QUIET).spread(3).has(QUIET));
    }

    #[test]
    fn eight_in_64_that_leave_may_make_it_quiet() {
        let may = |n: u64| State(WRITER | PHASE | n << ENTERED_SHIFT).may_hush();
        assert_eq!((0..64).filter(|&n| may(n)).collect::<std::vec::Vec<_>>(), (56..64).collect::<std::vec::Vec<_>>());
    }

    #[test]
    fn the_phase_stays_if_nobody_waits() {
        assert_eq!(State(WRITER | ASLEEP).admitting(), State(0));
        assert_eq!(State(WRITER | PHASE).admitting(), State(PHASE));
        assert!(State(PHASE | ASLEEP).is_idle() && !State(WANTED).is_idle() && !State(1).is_idle());
    }

    #[test]
    fn a_lock_that_is_folded_has_the_readers_of_both() {
        let three = State(UPGRADABLE | ASLEEP | (3 * ONE_ACTIVE) | 1);
        let spread = three.spread(7);
        assert_eq!((spread.counter(), spread.n_waiting(), spread.n_active()), (7, 1, SPARE + 3));
        assert!(spread.is_spread() && !spread.is_idle() && !State(0).spread(1).is_idle());
        let folding = spread.with(WANTED).folding();
        assert!(!folding.is_spread() && folding.has_counter() && folding.n_readers(2) == 5);
        // Two left by the word that the counter had, and two that it had not.
        let left = State(folding.0 - 4 * ONE_ACTIVE);
        assert_eq!(left.folded(2, false), Some(State(three.with(WANTED).0 - 2 * ONE_ACTIVE)));
        assert_eq!((spread.n_readers(u64::MAX), three.n_readers(9)), (2, 3));
        let again = folding.spread_again();
        assert!(again.is_spread() && again.n_readers(2) == 5 && again.0 >> 32 != folding.0 >> 32);
        assert_eq!((spread.folded(MOST_ACTIVE + FARTHEST, true), spread.folded(u64::MAX - 3, true)), (None, None));
    }

    #[test]
    fn with_a_counter_the_word_lets_no_writer_in() {
        let none_left = State(State(WANTED).spread(7).folding().0 - SPARE * ONE_ACTIVE);
        assert!(none_left.n_active() == 0 && !none_left.lets_a_writer_in() && !none_left.is_idle());
        assert!(none_left.folded(SPARE, false).unwrap().lets_a_writer_in());
    }

    #[test]
    fn a_word_that_is_about_to_run_over_is_out_of_range() {
        let with = |n_active: u64| State((7 << COUNTER_SHIFT) | (n_active * ONE_ACTIVE));
        let ranges = |n_active| (with(n_active).is_out_of_range(), with(n_active).is_far_out());
        assert_eq!([LEAST_ACTIVE, SPARE, MOST_ACTIVE - 1].map(ranges), [(false, false); 3]);
        assert_eq!([LEAST_ACTIVE - 1, MOST_ACTIVE].map(ranges), [(true, false); 2]);
        assert_eq!([LEAST_ACTIVE - FARTHEST - 1, MOST_ACTIVE + FARTHEST].map(ranges), [(true, true); 2]);
        assert!(!State(MOST_ACTIVE * ONE_ACTIVE).is_out_of_range());
        assert_eq!([FARTHEST / 2 - 1, FARTHEST / 2].map(|n| with(n).is_used_up()), [true, false]);
    }

    #[test]
    fn two_reads_make_a_lock_hot_and_a_writer_cools_one_that_is_not() {
        let warm = State(ONE_ACTIVE).warmer();
        assert!(!warm.is_hot() && warm.warmer().is_hot() && State(0).warmer().warmer().is_idle());
        let came = |state: State| State(state.0 + (1 << ENTERED_SHIFT));
        assert_eq!((warm.cooled(), warm.warmer().cooled()), (came(State(ONE_ACTIVE)), came(warm.warmer())));
        let last = State(0).warmer().warmer().warmer();
        assert_eq!(last.warmer(), last);
    }

    #[test]
    fn a_counter_that_was_worth_it_has_one_more_try() {
        let folded = |from: State, was_worth_it| from.spread(1).folded(0, was_worth_it).unwrap();
        let worth = folded(State(0), true);
        assert!(worth.is_hot() && !folded(State(0), false).is_hot());
        let once = folded(worth, false);
        assert!(once.is_hot() && !folded(once, false).is_hot() && folded(once, true).is_hot());
    }

    #[test]
    fn one_in_64_that_come_is_looked_at() {
        let n = (0..640_u64).filter(|n| State(n.wrapping_mul(ONE_COMES)).is_looked_at()).count();
        assert_eq!((n, ONE_LOOKED_AT_IN), (10, 64));
    }

    #[test]
    fn a_reader_is_counted_once() {
        let closed = State(WANTED | (3 * ONE_ACTIVE) | 1);
        assert_eq!((closed.turned_away().n_active(), closed.turned_away().n_waiting()), (2, 2));
        assert_eq!(closed.turned_away().let_in(), closed);
        assert_eq!(closed.left(), State(WANTED | (3 * ONE_ACTIVE)));
        assert_eq!(closed.one_reader_more().one_reader_less(), closed);
    }

    #[test]
    fn the_last_reader_but_who_upgrades_lets_a_writer_in() {
        assert!(State(WANTED).lets_a_writer_in() && !State(WRITER | WANTED).lets_a_writer_in());
        assert!(State(UPGRADES | UPGRADABLE | ONE_ACTIVE).lets_a_writer_in());
        assert!(!State(WANTED | ONE_ACTIVE).lets_a_writer_in());
        assert!(!State(UPGRADES | WANTED | (2 * ONE_ACTIVE)).lets_a_writer_in());
    }
}
