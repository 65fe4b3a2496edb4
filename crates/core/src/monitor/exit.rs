//! Leaving a monitor that is not simply thin, and the two ways between thin and fat.

use super::state::State;
use super::{DEFLATE, EXIT, HAND_OVER, INFLATE, Pool, ROUSE, RawOndeckMonitor, Side, Tuning, UNNEST, me};
use crate::TuningSource;
use crate::{Atomic, Platform};
use core::sync::atomic::Ordering::{Relaxed, Release};

/// What those say who cannot go on without a side object.
pub(super) const NO_MEMORY: &str = "no memory for the side object of a monitor";

impl<P: Platform, S: Pool<P>, C: TuningSource<Tuning>> RawOndeckMonitor<P, S, C> {
    // -- 8. exit_slow ---------------------------------------------------------------------------------------------------

    /// The rest of an exit. Another thread may free the monitor once the releasing write is done; a reference to it may
    /// outlive it, since it is an atomic and nothing else, and is not used any more.
    #[inline(never)]
    pub(super) fn exit_slow(&self) {
        // Each further turn is caused by a contender's `want`, of which there is one.
        loop {
            let state = self.load();
            debug_assert!(!state.is_free(), "I1: somebody leaves, so somebody is inside");
            if let Some(index) = state.side() {
                return self.exit_side(S::side(index));
            }
            if let Some(less) = state.unnested() {
                P::step(UNNEST);
                if self.word.compare_exchange(state.0, less.0, Relaxed, Relaxed).is_ok() {
                    return;
                }
            } else {
                // Or `exit` would have vacated it: what was in its way stays until its owner takes it away.
                debug_assert!(state.is_wanted(), "I1: a thin word changes by its owner's hand, but for WANTED");
                return self.hand_over();
            }
        }
    }

    #[inline(never)]
    pub(super) fn exit_side(&self, side: &'static Side<P>) {
        debug_assert!(side.is_owned_by(me::<P>()), "I3: left by the thread that is inside");
        if side.unnest() {
            return;
        }
        side.disown();
        if side.is_calm(C::TUNING.calm_exits) && side.close() {
            return self.deflate(side);
        }
        P::step(EXIT);
        // SAFETY: inside until now, which is holding the mutex.
        unsafe { side.release() };
    }

    /// Leaves the monitor free and thin. The caller is inside for the last time, and has closed the object.
    #[cold]
    fn deflate(&self, side: &'static Side<P>) {
        let index = self.load().side().expect("the word names the object until it is changed below");
        P::step(DEFLATE);
        self.word.store(State::FREE.0, Release); // E1
        // SAFETY: ours until here. A thread that gets it now sees the write above, and goes away again.
        unsafe { side.release() };
        S::give_back(index);
    }

    /// Leaves a thin monitor that somebody wants: fat, so that they meet in the dugout of its side object.
    #[cold]
    fn hand_over(&self) {
        let next = match S::take() {
            Some(index) => {
                S::side(index).open();
                State::inflated(index)
            }
            // They will try again.
            None => State::FREE,
        };
        let word = &raw const self.word;
        P::step(HAND_OVER);
        // E1 E2
        self.word.store(next.0, Release);
        P::step(ROUSE);
        P::wake(word, u32::MAX);
    }

    // -- 9. Inflation by who stays inside -------------------------------------------------------------------------------

    /// Makes a thin monitor fat whose owner stays inside, at `levels` beyond the first.
    #[cold]
    pub(super) fn inflate(&self, me: u32, levels: u32) -> &'static Side<P> {
        self.try_inflate(me, levels).expect(NO_MEMORY)
    }

    /// The same; `None`, and nothing done, if there is no memory for a side object.
    #[cold]
    pub(super) fn try_inflate(&self, me: u32, levels: u32) -> Option<&'static Side<P>> {
        let (index, side) = Self::take_for(me, levels)?;
        P::step(INFLATE);
        let before = State(self.word.swap(State::inflated(index).0, Relaxed));
        debug_assert!(before.owner() == me && before.side().is_none(), "I1: the owner's word changes by its own hand");
        if before.is_wanted() {
            P::step(ROUSE);
            P::wake(&self.word, u32::MAX);
        }
        Some(side)
    }

    pub(super) fn take_for(me: u32, levels: u32) -> Option<(u32, &'static Side<P>)> {
        let index = S::take()?;
        let side = S::side(index);
        side.enter_first(me, levels);
        side.open();
        Some((index, side))
    }
}
