//! The state word of the reader-writer lock: its fields, and every change of it as a pure function.

/// Readers that wait, in the lower half.
const WAITING: u64 = (1 << 32) - 1;
const ONE_WAITING: u64 = 1;
const ACTIVE_SHIFT: u32 = 32;
const ACTIVE_BITS: u32 = 24;
/// One reader that has the lock, or is about to see that it has not.
pub(super) const ONE_ACTIVE: u64 = 1 << ACTIVE_SHIFT;
const ACTIVE: u64 = ((1 << ACTIVE_BITS) - 1) << ACTIVE_SHIFT;
/// Half of what the field can count: so many may still come before the first of them looks.
pub(super) const MOST_ACTIVE: u64 = 1 << (ACTIVE_BITS - 1);

pub(super) const WRITER: u64 = 1 << 56;
pub(super) const WANTED: u64 = 1 << 57;
pub(super) const UPGRADABLE: u64 = 1 << 58;
pub(super) const UPGRADES: u64 = 1 << 59;
pub(super) const ASLEEP: u64 = 1 << 60;
const PHASE: u64 = 1 << 61;

/// What a reader waits for to be gone.
pub(super) const CLOSED: u64 = WRITER | WANTED | UPGRADES;

const _: () = assert!(WAITING & ACTIVE == 0 && ACTIVE & (CLOSED | UPGRADABLE | ASLEEP | PHASE) == 0, "fields overlap");
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

    /// Whether nobody has the lock or waits for it.
    pub(super) const fn is_idle(self) -> bool {
        self.0 & !(PHASE | ASLEEP) == 0
    }

    /// Whether somebody waits for no other reader than itself, and for no writer.
    pub(super) const fn lets_a_writer_in(self) -> bool {
        match self.n_active() {
            0 => self.has(WANTED) && !self.has(WRITER),
            1 => self.has(UPGRADES),
            _ => false,
        }
    }

    // Changes.

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

    /// The writer is out, and all readers that wait are in.
    pub(super) const fn admitting(self) -> State {
        let out = self.without(WRITER | ASLEEP);
        match self.n_waiting() {
            0 => out,
            n => State(((out.0 & !WAITING) + (n << ACTIVE_SHIFT)) ^ PHASE),
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
        assert_ne!(next.phase(), waiting.phase());
        assert_eq!(next.with(WRITER | 1).admitting().phase(), waiting.phase());
    }

    #[test]
    fn the_phase_stays_if_nobody_waits() {
        assert_eq!(State(WRITER | ASLEEP).admitting(), State(0));
        assert_eq!(State(WRITER | PHASE).admitting(), State(PHASE));
        assert!(State(PHASE | ASLEEP).is_idle() && !State(WANTED).is_idle() && !State(1).is_idle());
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
