//! Sections 3 and 11 of coreclr-monitor-before: the word of the fat form as a value.

/// The word of the fat form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct State(pub(super) u32);

impl State {
    pub(super) const OPEN: State = State(0);
    pub(super) const HELD: State = State(1);
    pub(super) const WAITER: u32 = 2;

    /// Whether somebody who is no waiter may enter.
    pub(super) fn is_open(self) -> bool {
        self == State::OPEN
    }

    pub(super) fn is_held(self) -> bool {
        self.0 & State::HELD.0 != 0
    }

    pub(super) fn n_waiters(self) -> u32 {
        self.0 / State::WAITER
    }

    pub(super) fn with_waiter(self) -> State {
        State(self.0 + State::WAITER)
    }

    pub(super) fn without_waiter(self) -> State {
        State(self.0 - State::WAITER)
    }

    /// Held by what was a waiter; `None` if somebody else is inside.
    pub(super) fn reclaimed(self) -> Option<State> {
        (!self.is_held()).then(|| State(self.without_waiter().0 | State::HELD.0))
    }
}

const _: () = assert!(State::WAITER > State::HELD.0 && State::WAITER.is_power_of_two());

#[cfg(test)]
mod tests {
    use super::*;

    fn states() -> impl Iterator<Item = State> {
        (0..16).chain(u32::MAX - 15..=u32::MAX).map(State)
    }

    #[test]
    fn only_a_word_of_zero_is_open() {
        for state in states() {
            assert_eq!(state.is_open(), !state.is_held() && state.n_waiters() == 0);
        }
    }

    #[test]
    fn a_waiter_counts_as_one_and_changes_nothing_else() {
        for state in states().filter(|state| state.n_waiters() < u32::MAX / 2) {
            let next = state.with_waiter();
            assert_eq!((next.is_held(), next.n_waiters()), (state.is_held(), state.n_waiters() + 1));
            assert!(next.without_waiter() == state);
        }
    }

    #[test]
    fn a_waiter_reclaims_what_nobody_holds() {
        for state in states().filter(|state| state.n_waiters() > 0) {
            match state.reclaimed() {
                None => assert!(state.is_held()),
                Some(next) => {
                    assert!(next.is_held() && !state.is_held());
                    assert_eq!(next.n_waiters(), state.n_waiters() - 1);
                }
            }
        }
    }
}
