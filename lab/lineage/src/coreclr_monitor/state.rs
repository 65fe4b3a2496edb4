//! Sections 3 and 11 of coreclr-monitor: the word of the fat form as a value.

use core::fmt;

/// The word of the fat form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct State(pub(super) u32);

impl State {
    pub(super) const OPEN: State = State(0);
    pub(super) const HELD: u32 = 1;
    pub(super) const NO_BARGING: u32 = 1 << 1;
    pub(super) const SPINNER: u32 = 1 << 2;
    pub(super) const SPINNERS: u32 = 7 << 2;
    pub(super) const SIGNALLED: u32 = 1 << 5;
    pub(super) const WAITER: u32 = 1 << 6;

    pub(super) fn is_held(self) -> bool {
        self.0 & State::HELD != 0
    }

    pub(super) fn bars_arrivals(self) -> bool {
        self.0 & State::NO_BARGING != 0
    }

    pub(super) fn has_spinners(self) -> bool {
        self.0 & State::SPINNERS != 0
    }

    pub(super) fn is_signalled(self) -> bool {
        self.0 & State::SIGNALLED != 0
    }

    pub(super) fn n_waiters(self) -> u32 {
        self.0 / State::WAITER
    }

    pub(super) fn has_waiters(self) -> bool {
        self.n_waiters() > 0
    }

    /// Nobody inside, nobody waiting, nobody spinning. A signal may be left by a waiter that gave up.
    pub(super) fn is_at_rest(self) -> bool {
        self.0 & !State::SIGNALLED == 0
    }

    /// Whether somebody who is no waiter may enter.
    pub(super) fn may_barge(self) -> bool {
        !self.is_held() && !self.bars_arrivals()
    }

    pub(super) fn held(self) -> State {
        State(self.0 | State::HELD)
    }

    /// One spinner more; `None` if the bits are used up.
    pub(super) fn with_spinner(self) -> Option<State> {
        (self.0 & State::SPINNERS != State::SPINNERS).then(|| State(self.0 + State::SPINNER))
    }

    pub(super) fn without_spinner(self) -> State {
        State(self.0 - State::SPINNER)
    }

    pub(super) fn with_waiter(self) -> State {
        State(self.0 + State::WAITER)
    }

    /// One waiter less. Arrivals are barred for the sake of waiters only.
    pub(super) fn without_waiter(self) -> State {
        let next = State(self.0 - State::WAITER);
        if next.has_waiters() { next } else { State(next.0 & !State::NO_BARGING) }
    }

    /// Held by what was a waiter; the bar is down. `None` if somebody is inside.
    pub(super) fn claimed(self) -> Option<State> {
        (!self.is_held()).then(|| State(self.without_waiter().0 & !State::NO_BARGING).held())
    }

    pub(super) fn without_signal(self) -> State {
        State(self.0 & !State::SIGNALLED)
    }

    /// With a signal for a waiter; `None` if nobody has to be woken: nobody waits, or somebody is awake to take the lock.
    pub(super) fn signalled(self) -> Option<State> {
        let wants = self.has_waiters() && !self.has_spinners() && !self.is_signalled();
        wants.then_some(State(self.0 | State::SIGNALLED))
    }

    pub(super) fn barring(self) -> State {
        State(self.0 | State::NO_BARGING)
    }
}

const _: () = {
    let flags = State::HELD + State::NO_BARGING + State::SPINNERS + State::SIGNALLED;
    assert!(flags + 1 == State::WAITER);
    assert!(State::SPINNERS / State::SPINNER == 7);
};

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_held() { "held" } else { "free" })?;
        let n_spinners = (self.0 & State::SPINNERS) / State::SPINNER;
        write!(f, ", {n_spinners} spinners, {} waiters", self.n_waiters())?;
        let notes = [(self.is_signalled(), ", one signalled"), (self.bars_arrivals(), ", no barging")];
        notes.iter().filter(|(holds, _)| *holds).try_for_each(|(_, note)| f.write_str(note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of the flags and of the spinners, with nobody and with several waiting.
    fn states() -> impl Iterator<Item = State> {
        let waiters = [0, 1, 2, u32::MAX / State::WAITER];
        let all = (0..State::WAITER).flat_map(move |low| waiters.map(|n| State(low + n * State::WAITER)));
        all.filter(|state| state.has_waiters() || !state.bars_arrivals())
    }

    #[test]
    fn the_bar_keeps_arrivals_out_and_nobody_else() {
        for state in states() {
            assert_eq!(state.may_barge(), !state.is_held() && !state.bars_arrivals());
            assert!(!state.barring().may_barge());
            if state.has_waiters() {
                assert_eq!(state.claimed().is_some(), !state.is_held());
            }
        }
    }

    #[test]
    fn at_most_seven_spin() {
        for state in states() {
            match state.with_spinner() {
                None => assert_eq!(state.0 & State::SPINNERS, 7 * State::SPINNER),
                Some(next) => {
                    assert!(next.has_spinners() && next.without_spinner() == state);
                    assert_eq!(next.n_waiters(), state.n_waiters());
                }
            }
        }
    }

    #[test]
    fn the_last_waiter_takes_the_bar_away() {
        for state in states().filter(|state| state.has_waiters()) {
            let next = state.without_waiter();
            assert_eq!(next.n_waiters(), state.n_waiters() - 1);
            assert_eq!(next.bars_arrivals(), state.bars_arrivals() && next.has_waiters());
            let kept = State::HELD | State::SPINNERS | State::SIGNALLED;
            assert_eq!(next.0 & kept, state.0 & kept);
        }
    }

    #[test]
    fn a_claim_ends_the_bar_and_counts_one_waiter_less() {
        for state in states().filter(|state| state.has_waiters()) {
            let Some(next) = state.claimed() else { continue };
            assert!(next.is_held() && !next.bars_arrivals());
            assert_eq!(next.is_signalled(), state.is_signalled());
            assert!(!next.without_signal().is_signalled());
            assert_eq!(next.n_waiters(), state.n_waiters() - 1);
            assert_eq!(next.0 & State::SPINNERS, state.0 & State::SPINNERS);
        }
    }

    #[test]
    fn nobody_is_signalled_while_somebody_is_on_deck() {
        for state in states() {
            match state.signalled() {
                Some(next) => {
                    assert!(state.has_waiters() && !state.has_spinners() && !state.is_signalled());
                    assert_eq!(next.0, state.0 | State::SIGNALLED);
                }
                None => assert!(!state.has_waiters() || state.has_spinners() || state.is_signalled()),
            }
        }
    }

    #[test]
    fn only_a_signal_may_be_left_at_rest() {
        for state in states() {
            let is_busy = state.is_held() || state.has_spinners() || state.has_waiters();
            assert_eq!(state.is_at_rest(), !is_busy);
        }
    }
}
