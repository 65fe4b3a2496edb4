//! Section 3 of the locks whose word has three values: what each value means.
//!
//! Who writes which of them, when, and with which ordering is each lock's own text.

use core::fmt;

/// Whether somebody is inside, and whether somebody may sleep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(pub(crate) u32);

impl State {
    pub(crate) const FREE: State = State(0);
    /// Somebody is inside, and the release owes nothing.
    pub(crate) const HELD: State = State(1);
    /// Somebody is inside, and the release owes a wake.
    pub(crate) const CROWDED: State = State(2);

    pub(crate) fn is_free(self) -> bool {
        self == State::FREE
    }

    /// Whether somebody may sleep: the vacate that finds it owes a wake.
    pub(crate) fn is_crowded(self) -> bool {
        self == State::CROWDED
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            State::FREE => "free",
            State::HELD => "held",
            _ => "held, sleepers",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_is_free_and_one_owes_a_wake() {
        let values = [State::FREE, State::HELD, State::CROWDED];
        assert_eq!(values.map(State::is_free), [true, false, false]);
        assert_eq!(values.map(State::is_crowded), [false, false, true]);
    }
}
