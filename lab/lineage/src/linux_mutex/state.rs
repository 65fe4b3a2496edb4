//! Sections 3 and 11 of the Linux mutexes: the word as a value.

use core::fmt;

/// The word: how many have laid claim to the lock since it was last free, as far as anybody still cares.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct State(pub(super) u32);

impl State {
    pub(super) const FREE: State = State(0);
    pub(super) const HELD: State = State(1);
    /// What a waiter makes of any word. Larger values mean the same.
    pub(super) const CROWDED: State = State(2);

    /// The value that `load` has found.
    pub fn of(value: u32) -> State {
        State(value)
    }

    /// Whether an RMW may get its thread in.
    pub fn is_free(self) -> bool {
        self == State::FREE
    }

    /// Whether a vacate would find that it has to look for waiters.
    pub fn is_crowded(self) -> bool {
        self.0 >= State::CROWDED.0
    }

    /// Whether a waiter has still to say that it is there, or could get in.
    pub fn is_uncrowded(self) -> bool {
        !self.is_crowded()
    }
}

const _: () = assert!(State::FREE.0 + 1 == State::HELD.0 && State::HELD.0 + 1 == State::CROWDED.0);

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            State::FREE => "free",
            State::HELD => "held",
            _ => "held, contenders",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values at which the predicates may change their answers, and both ends.
    const VALUES: [u32; 5] = [0, 1, 2, 3, u32::MAX];

    #[test]
    fn one_value_is_free_and_all_above_the_next_are_crowded() {
        assert_eq!(VALUES.map(|value| State::of(value).is_free()), [true, false, false, false, false]);
        assert_eq!(VALUES.map(|value| State::of(value).is_crowded()), [false, false, true, true, true]);
    }

    #[test]
    fn a_claim_gets_in_exactly_when_it_makes_held() {
        for value in VALUES {
            assert_eq!(State::of(value).is_free(), State::of(value.wrapping_add(1)) == State::HELD);
        }
    }

    #[test]
    fn who_is_uncrowded_is_not_crowded() {
        for value in VALUES {
            assert_ne!(State::of(value).is_crowded(), State::of(value).is_uncrowded());
        }
    }
}
