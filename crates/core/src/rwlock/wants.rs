//! Waiting for a reader-writer lock: what for, and how.

use super::pace::Pace;
use super::state::{ASLEEP, CALLED, QUIET, State, UPGRADABLE, UPGRADES, WANTED, WRITER};
use super::{CLOSE, DOZE, READER_AWAKE_NS, REOPEN, RESERVE, RawOndeckRwLock, SEIZE, is_past, refuse_more};
use crate::CoreCounters;
use crate::ondeck::Policy;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

/// What somebody with the right to wait for it waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// To write, with the turn.
    Write,
    /// To read upgradably, with the turn.
    Reserve,
    /// To write, as the upgradable reader.
    Upgrade,
}

impl Want {
    /// What closes the lock for it.
    fn flag(self) -> u64 {
        if self == Want::Upgrade { UPGRADES } else { WANTED }
    }

    /// The state in which it has what it wants.
    pub(super) fn taken(self, state: State) -> Option<State> {
        match self {
            Want::Write | Want::Upgrade if state.has_counter() => None,
            Want::Write if state.n_active() == 0 && !state.has(WRITER) => {
                Some(state.cooled().without(WANTED).with(WRITER))
            }
            Want::Reserve if !state.has(WRITER | UPGRADABLE) => {
                Some(state.without(WANTED).with(UPGRADABLE).one_reader_more())
            }
            Want::Upgrade if state.n_active() == 1 => {
                Some(state.cooled().without(UPGRADES | UPGRADABLE).with(WRITER).one_reader_less())
            }
            _ => None,
        }
    }

    /// Whether it is to close the lock now, so that nobody else comes in.
    fn closes(self, state: State, is_impatient: bool) -> bool {
        let has_readers = state.n_active() > 0 && !state.has(WRITER);
        match self {
            Want::Upgrade => true,
            // Readers that another one has held up and then let go come in first. Those that sleep need a while for it, and who is
            // awake reads on meanwhile, or all would fall asleep for each writer.
            Want::Write => is_impatient || (has_readers && state.n_waiting() == 0 && !state.has(CALLED)),
            Want::Reserve => is_impatient && state.has(WRITER),
        }
    }
}

impl<P: CoreCounters, T: Policy> RawOndeckRwLock<P, T> {
    /// Waits for it, with the turn, or as the upgradable reader. False if the deadline has passed.
    pub(super) fn wait_for(&self, want: Want, deadline: Option<u64>) -> bool {
        let tuning = T::tuning();
        let mut pace = Pace::<P>::new(tuning.patience_ns / 2);
        loop {
            let state = self.load();
            let yields = state.has(WRITER);
            // That nobody reads a spread lock, only a fold can tell; so who has no time left folds it once.
            let is_impatient = pace.is_over(yields) || state.is_spread() && is_past::<P>(deadline);
            let has_closed = state.is_closed_by(want.flag());
            let closes = !has_closed && want.closes(state, is_impatient);
            if let Some(next) = want.taken(state) {
                let step = if want == Want::Reserve { RESERVE } else { SEIZE };
                P::step(step);
                // Readers that wait for one that does not write are not to wait any more.
                let reopens = want == Want::Reserve && state.has(WANTED);
                // E1, E2
                if self.change_and_wake(state, next, Acquire, |_| reopens) {
                    return true;
                }
            } else if is_past::<P>(deadline) && !(state.is_spread() && closes) {
                if !has_closed || self.reopen(state, want) {
                    return false;
                }
            } else if has_closed && want == Want::Reserve && !state.has(WRITER) {
                // Closed against a writer, which reads upgradably by now.
                self.reopen(state, want);
            } else if closes || has_closed && state.is_spread() {
                if self.close(state, want) {
                    pace = Pace::new(tuning.nap_after_ns / 2);
                }
            } else if is_impatient {
                self.sleep_in(&mut pace, state, deadline);
            } else {
                pace.pause(yields);
            }
        }
    }

    /// Closes the lock for that, and folds it if it is spread. Panics if it has far too many readers then.
    fn close(&self, state: State, want: Want) -> bool {
        if state.is_quiet_hold() {
            return self.settle(true);
        }
        let closed = state.with(want.flag()).without(QUIET);
        P::step(CLOSE);
        if !self.cas(state, if state.is_spread() { closed.folding() } else { closed }, Relaxed) {
            return false;
        }
        if state.is_spread() && !self.fold() {
            while !self.reopen(self.load(), want) {}
            refuse_more();
        }
        true
    }

    /// Takes the flag away that the caller has set.
    pub(super) fn reopen(&self, state: State, want: Want) -> bool {
        P::step(REOPEN);
        self.change_and_wake(state, state.without(want.flag()), Relaxed, |_| true)
    }

    /// Waits for the upper half of the word to be another than in `state`, awake or asleep.
    pub(super) fn wait_in(&self, pace: &mut Pace<P>, state: State, deadline: Option<u64>) {
        if pace.is_over(false) { self.sleep_in(pace, state, deadline) } else { pace.pause(false) }
    }

    fn sleep_in(&self, pace: &mut Pace<P>, state: State, deadline: Option<u64>) {
        let asleep = state.with(ASLEEP).without(QUIET);
        P::step(DOZE);
        if state == asleep || self.cas(state, asleep, Relaxed) {
            P::wait_on_upper(&self.word, asleep.0, deadline);
            *pace = Pace::new(READER_AWAKE_NS);
        }
    }
}
