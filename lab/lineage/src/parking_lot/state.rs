//! Section 3 of the ports of parking_lot: the word as a value.

use core::fmt;

/// Whether somebody is inside, and whether somebody sleeps or is about to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(pub(crate) u32);

impl State {
    pub(crate) const FREE: State = State(0);
    /// The bit, and the word of a lock with a holder and nobody else.
    pub(crate) const LOCKED: State = State(1);
    /// The bit.
    pub(crate) const PARKED: State = State(2);

    pub(crate) fn is_locked(self) -> bool {
        self.0 & State::LOCKED.0 != 0
    }

    pub(crate) fn has_parked(self) -> bool {
        self.0 & State::PARKED.0 != 0
    }

    /// With a holder, and otherwise as it is.
    pub(crate) fn locked(self) -> State {
        State(self.0 | State::LOCKED.0)
    }

    /// With the mark of the sleepers, and otherwise as it is.
    pub(crate) fn parked(self) -> State {
        State(self.0 | State::PARKED.0)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_locked() { "held" } else { "free" })?;
        f.write_str(if self.has_parked() { ", sleepers" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [State; 4] = [State(0), State(1), State(2), State(3)];

    #[test]
    fn the_two_bits_are_independent() {
        assert_eq!(ALL.map(State::is_locked), [false, true, false, true]);
        assert_eq!(ALL.map(State::has_parked), [false, false, true, true]);
        for state in ALL {
            assert!(state.locked().is_locked() && state.locked().has_parked() == state.has_parked());
            assert!(state.parked().has_parked() && state.parked().is_locked() == state.is_locked());
        }
    }

    #[test]
    fn taking_the_lock_off_leaves_the_mark() {
        for state in ALL.map(State::locked) {
            let left = State(state.0 - State::LOCKED.0);
            assert!(!left.is_locked() && left.has_parked() == state.has_parked());
        }
    }
}
