//! Entering a monitor that is not simply free.

use super::exit::NO_MEMORY;
use super::state::State;
use super::{ENTER, EntryRecord, FOUND, NEST, Pool, RawOndeckMonitor, SLEEP, STRAY, Side, Tuning, WANT};
use crate::TuningSource;
use crate::yields::Yields;
use crate::{Atomic, Platform};
use core::sync::atomic::Ordering::{Acquire, Relaxed};

/// How an attempt to enter ended.
enum Turn<P: Platform> {
    /// We are inside.
    Inside(EntryRecord<P>),
    /// Another thread is, and no time is left.
    Left,
    /// The word has changed: look again.
    Again,
}

impl<P: Platform, S: Pool<P>, C: TuningSource<Tuning>> RawOndeckMonitor<P, S, C> {
    // -- 6. enter_slow --------------------------------------------------------------------------------------------------

    /// Enters what is not free: at once if it is fat and nobody is inside. Apart from the rest, which has more to set up
    /// than this takes.
    #[inline(never)]
    pub(super) fn enter_again(&self, me: u32) -> EntryRecord<P> {
        let state = self.load();
        if let Some(index) = state.side() {
            if let Turn::Inside(entered) = self.try_enter_side(state, S::side(index), me) {
                return entered;
            }
        }
        self.enter_at_last(me)
    }

    /// Apart from `enter_again`, which would make room on the stack for it before it has looked.
    #[cold]
    #[inline(never)]
    fn enter_at_last(&self, me: u32) -> EntryRecord<P> {
        self.enter_slow(me, None).expect("there is no deadline")
    }

    /// `None` if the deadline came first.
    #[inline(never)]
    pub(super) fn enter_slow(&self, me: u32, deadline_ns: Option<u64>) -> Option<EntryRecord<P>> {
        let mut yields = Yields::default();
        // Whether we may spin is asked late: the answer costs a look at the clock.
        let mut has_looked = false;
        loop {
            let state = self.load();
            let turn = if let Some(index) = state.side() {
                self.enter_side(state, S::side(index), me, deadline_ns, &mut yields)
            } else if state.is_free() {
                self.enter_free(me)
            } else if state.owner() == me {
                self.nest(state, me)
            } else if deadline_ns.is_some_and(|deadline_ns| P::now_ns() >= deadline_ns) {
                Turn::Left
            } else if !has_looked && P::may_spin() {
                has_looked = true;
                self.look(me)
            } else {
                self.sleep(state, deadline_ns)
            };
            match turn {
                Turn::Inside(entered) => return Some(entered),
                Turn::Left => return None,
                Turn::Again => {}
            }
        }
    }

    #[inline(never)]
    pub(super) fn try_enter_slow(&self, me: u32) -> Option<EntryRecord<P>> {
        loop {
            let state = self.load();
            let turn = if let Some(index) = state.side() {
                self.try_enter_side(state, S::side(index), me)
            } else if state.is_free() {
                self.enter_free(me)
            } else if state.owner() == me {
                self.nest(state, me)
            } else {
                Turn::Left
            };
            match turn {
                Turn::Inside(entered) => return Some(entered),
                Turn::Left => return None,
                Turn::Again => {}
            }
        }
    }

    fn enter_free(&self, me: u32) -> Turn<P> {
        if me > C::TUNING.most_thin_owner {
            self.found(me)
        } else if self.grab(me) {
            Turn::Inside(EntryRecord { me, side: None })
        } else {
            Turn::Again
        }
    }

    /// Enters a free monitor with a number that does not fit into the word.
    #[cold]
    fn found(&self, me: u32) -> Turn<P> {
        let (index, side) = Self::take_for(me, 0).expect(NO_MEMORY);
        P::step(FOUND);
        // E1
        if self.word.compare_exchange(State::FREE.0, State::inflated(index).0, Acquire, Relaxed).is_ok() {
            return Turn::Inside(EntryRecord { me, side: Some(side) });
        }
        side.disown();
        let is_ours = side.retire();
        debug_assert!(is_ours, "I3: no monitor has had it, so nobody is inside");
        // SAFETY: `take_for` has acquired it for us.
        unsafe { side.release() };
        S::give_back(index);
        Turn::Again
    }

    /// One level deeper in a thin monitor that is ours.
    fn nest(&self, state: State, me: u32) -> Turn<P> {
        let Some(deeper) = state.nested() else {
            let side = self.inflate(me, state.levels() + 1);
            return Turn::Inside(EntryRecord { me, side: Some(side) });
        };
        P::step(NEST);
        let is_done = self.word.compare_exchange(state.0, deeper.0, Relaxed, Relaxed).is_ok();
        if is_done { Turn::Inside(EntryRecord { me, side: None }) } else { Turn::Again }
    }

    /// Asks the thread inside to inflate the monitor when it leaves, and sleeps until then.
    #[cold]
    fn sleep(&self, state: State, deadline_ns: Option<u64>) -> Turn<P> {
        let wanted = state.wanted();
        P::step(WANT);
        if state == wanted || self.word.compare_exchange(state.0, wanted.0, Relaxed, Relaxed).is_ok() {
            P::step(SLEEP);
            P::wait_on(&self.word, wanted.0, deadline_ns);
        }
        Turn::Again
    }

    /// Enters a fat monitor, whose word was `state` and names `side`.
    fn enter_side(
        &self,
        state: State,
        side: &'static Side<P>,
        me: u32,
        deadline_ns: Option<u64>,
        yields: &mut Yields,
    ) -> Turn<P> {
        match self.try_enter_side(state, side, me) {
            Turn::Left => self.queue_up(state, side, me, deadline_ns, yields),
            turn => turn,
        }
    }

    #[inline(always)]
    fn try_enter_side(&self, state: State, side: &'static Side<P>, me: u32) -> Turn<P> {
        if side.is_owned_by(me) {
            side.nest();
            return Turn::Inside(EntryRecord { me, side: Some(side) });
        }
        P::step(ENTER);
        if !side.try_acquire() {
            return Turn::Left;
        }
        if self.is_still(state) {
            side.own(me);
            return Turn::Inside(EntryRecord { me, side: Some(side) });
        }
        P::step(STRAY);
        // SAFETY: acquired above.
        unsafe { side.release() };
        Turn::Again
    }

    /// Waits for the mutex of a fat monitor.
    #[cold]
    #[inline(never)]
    fn queue_up(
        &self,
        state: State,
        side: &'static Side<P>,
        me: u32,
        deadline_ns: Option<u64>,
        yields: &mut Yields,
    ) -> Turn<P> {
        if !side.pin() {
            // The one that has closed it is about to change the word, unless it has lost its core.
            if deadline_ns.is_some_and(|deadline_ns| P::now_ns() >= deadline_ns) {
                return Turn::Left;
            }
            yields.make_way::<P>();
            return Turn::Again;
        }
        if !self.is_still(state) {
            side.unpin();
            return Turn::Again;
        }
        P::step(ENTER);
        if !side.acquire_pinned(deadline_ns) {
            return Turn::Left;
        }
        side.own(me);
        Turn::Inside(EntryRecord { me, side: Some(side) })
    }

    /// Whether the word is what it was. Asked with the side object that it names held or pinned, so that a yes stays
    /// true until the caller lets go (I4).
    #[inline(always)]
    fn is_still(&self, state: State) -> bool {
        self.word.load(Acquire) == state.0 // E2
    }

    // -- 7. Spin helper -------------------------------------------------------------------------------------------------

    /// Looks for a while whether the thread inside leaves, with growing gaps.
    #[inline(never)]
    fn look(&self, me: u32) -> Turn<P> {
        let (begin, budget) = (P::ticks(), P::ns_to_ticks(C::TUNING.look_ns.into()));
        let mut gap_ns = C::TUNING.look_gap_ns;
        // Ends when the budget is spent.
        loop {
            P::pause_ns(gap_ns);
            gap_ns = (2 * gap_ns).min(C::TUNING.look_ns);
            if self.grab(me) {
                return Turn::Inside(EntryRecord { me, side: None });
            }
            let state = self.load();
            if state.is_free() || state.side().is_some() || P::ticks().wrapping_sub(begin) >= budget {
                return Turn::Again;
            }
        }
    }
}
