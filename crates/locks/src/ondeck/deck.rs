//! On deck: looking before, sitting there, standing in, waiting in line, napping, giving up.

use super::dugout::Node;
use super::plan::{self, GiveUp, InLine, Line, Occupant, OnDeck};
use super::state::{ALARM, DECK, FAIR, FLIGHT, HOT, LATCHED, LOCKED, NAPPING, PASSED, STANDIN, State, VACANT};
use super::watch::{Heat, Tries, Wait, Watch};
use super::{
    ACCEPT, ASK, BREAK_LINE, CEDE, CLAIM, DOZE, ENQUEUE, HAND_DOWN, LEAVE, NAP, Policy, REVOKE, RISE, RawOndeck,
    SHOW_UP, STAND_IN, TAKE, Tuning, Turn, is_past,
};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_platform::{Atomic, Platform, Waited};

impl<P: Platform, T: Policy> RawOndeck<P, T> {
    /// The lock is on its way to the deck: a moment later the seat is vacant. If nothing happens to this very pass,
    /// takes the lock back.
    pub(super) fn give_way(&self, state: State, pass: &mut Option<(State, Wait<P>)>) -> Turn {
        debug_assert!(!state.has(STANDIN | NAPPING), "I5: what was given to somebody asleep is not taken back");
        let wait = match pass {
            Some((seen, wait)) if state.releases_since(*seen) == 0 => wait,
            _ => &mut pass.insert((state, Wait::new())).1,
        };
        // Somebody is being called to be the next in line, and will see to it, once the latch holder has a core.
        if state.has(LATCHED) {
            wait.briefly_or_make_way(T::tuning().revoke_ns);
            return Turn::Again;
        }
        if !wait.longer_than(T::tuning().revoke_ns) {
            wait.briefly();
            return Turn::Again;
        }
        P::step(REVOKE);
        // E1
        if self.cas(state, state.without(PASSED), Acquire) { Turn::AtBat } else { Turn::Again }
    }

    pub(super) fn claim(&self, heat: Heat, deadline: Option<u64>) -> Turn {
        P::step(CLAIM);
        let before = State(self.word.fetch_or(DECK | heat.flag(), Relaxed));
        if before.has(DECK) {
            return Turn::Again;
        }
        if before.has(VACANT) {
            // Ours to clear: nobody sets it while the deck is taken (I3).
            P::step(CLAIM);
            self.word.fetch_and(!VACANT, Relaxed);
        }
        self.on_deck(heat, deadline)
    }

    /// Sits down on a seat that is kept for a called sleeper.
    pub(super) fn stand_in(&self, state: State, heat: Heat, deadline: Option<u64>) -> Turn {
        P::step(STAND_IN);
        if self.cas(state, state.with(STANDIN | heat.flag()), Relaxed) {
            self.on_deck(heat, deadline)
        } else {
            Turn::Again
        }
    }

    /// Retires to the dugout and comes back from it with the seat, the lock, or neither.
    pub(super) fn enqueue(&self, state: State, node: &Node<P>, tries: &mut Tries, deadline: Option<u64>) -> Turn {
        let Some(next) = node.on_top_of(state) else {
            self.doze(deadline);
            return Turn::Again;
        };
        P::step(ENQUEUE);
        // E2
        if !self.get_through(state, next, Release, tries) {
            return Turn::Again;
        }
        let (word, waiting) = node.grant_word();
        while !node.is_granted() {
            if P::wait_on(word, waiting, deadline) == Waited::TimedOut && self.cancel(node) {
                return Turn::Left;
            }
        }
        self.show_up(deadline)
    }

    /// The node of this thread cannot be written into the word (I8), so nobody can call it: it looks in once a rotation.
    #[cold]
    fn doze(&self, deadline: Option<u64>) {
        let rotation_ns = T::tuning().rotate_ns;
        let left_ns = deadline.map_or(u64::MAX, |deadline_ns| deadline_ns.saturating_sub(P::now_ns()));
        P::step(DOZE);
        P::nap_ns(u32::try_from(left_ns).map_or(rotation_ns, |left_ns| left_ns.min(rotation_ns)));
    }

    /// A called sleeper takes its seat, or lines up behind whoever stands in for it.
    pub(super) fn show_up(&self, deadline: Option<u64>) -> Turn {
        P::step(SHOW_UP);
        let before = State(self.word.fetch_and(!FLIGHT, Relaxed));
        debug_assert!(before.has(FLIGHT) && before.has(DECK), "I4: the seat waits for the one that was called");
        let turn = if before.has(STANDIN) { self.wait_in_line(deadline) } else { Turn::Ceded };
        if turn == Turn::Ceded { self.on_deck(Heat::of(before, P::ticks() >> 4, T::tuning()), deadline) } else { turn }
    }

    /// Waits until the stand-in has gone: `Ceded` if the seat is ours. A stand-in that does not answer is not running;
    /// then we may take the lock past it, which leaves it the seat.
    fn wait_in_line(&self, deadline: Option<u64>) -> Turn {
        const GAP_NS: u32 = 2_000;
        let mut me = Line { spins: P::may_spin(), has_waked: false };
        let mut tries = Tries::default();
        let mut wait = Wait::<P>::new();
        let mut state = self.load();
        // Ends when the stand-in leaves its seat, which it does once it looks, or goes to bat; or when we get past it.
        loop {
            let is_late = || wait.longer_than(T::tuning().revoke_ns);
            match plan::in_line(state, me, is_late, || is_past::<P>(deadline)) {
                InLine::Sit => return Turn::Ceded,
                InLine::Wake => {
                    Self::wake_the_deck(self);
                    me.has_waked = true;
                    // What else that word asks for is done at once, without another poll.
                    continue;
                }
                InLine::Take { is_past } => {
                    if self.break_line(state, state.with(LOCKED), is_past, &mut tries) {
                        return Turn::AtBat;
                    }
                }
                InLine::Intercept { is_past } => {
                    if self.break_line(state, state.without(PASSED), is_past, &mut tries) {
                        return Turn::AtBat;
                    }
                }
                InLine::Leave => {
                    if self.break_line(state, state, true, &mut tries) {
                        return Turn::Left;
                    }
                }
                InLine::MakeWay => wait.make_way(),
                InLine::Pause => P::pause_ns(GAP_NS),
            }
            state = self.load();
        }
    }

    /// Leaves the line, and the seat to the stand-in. True if that is done.
    fn break_line(&self, state: State, next: State, is_past: bool, tries: &mut Tries) -> bool {
        let next = next.without(STANDIN);
        P::step(BREAK_LINE);
        if is_past {
            self.get_through(state, next, Acquire, tries) // E1
        } else {
            self.cas(state, next, Acquire) // E1
        }
    }

    /// Looks at a taken lock for a little while without writing to the word. `None` if that has got it; else what to make
    /// of it on deck.
    #[inline(never)]
    pub(super) fn first_look(&self) -> Option<Heat> {
        let tuning = T::tuning();
        let first = self.load();
        let wait = Wait::<P>::new();
        match (first.has(HOT), first.is_alone()) {
            // Left behind by a pass a moment ago: the best time for an audit.
            (true, true) if tuning.audit_every_ns > 0 => return Some(Heat::Audited),
            (true, false) => return Some(Heat::Hot),
            (false, _) if wait.is_auditor(tuning) => return Some(Heat::Audited),
            _ => {}
        }
        let (mut first, mut state) = (first, first);
        let mut gap = tuning.look_gap_ns;
        // Ends by the clock, if not before.
        loop {
            if !state.has(LOCKED) && self.grab() {
                return None;
            }
            if state.is_alarmed() {
                first = state;
            }
            let is_captured = state.releases_since(first) > u64::from(tuning.look_releases);
            if state.has(PASSED) || is_captured || wait.longer_than(tuning.look_ns) {
                return Some(Heat::Cool);
            }
            P::pause_ns(gap);
            gap = gap.saturating_mul(2);
            state = self.load();
        }
    }

    /// Sits on deck until at bat, or gives the seat up.
    #[inline(never)]
    pub(super) fn on_deck(&self, heat: Heat, deadline: Option<u64>) -> Turn {
        let tuning = T::tuning();
        let spins = P::may_spin();
        let mut watch = Watch::<P>::new(self.load(), heat, tuning);
        // One step a turn; ends when the lock comes, the deadline passes, or the seat's rightful owner shows up.
        loop {
            let state = self.load();
            watch.observe(state, tuning);
            let me = Occupant {
                spins,
                has_asked: watch.has_asked,
                has_napped: watch.naps > 0,
                has_missed: watch.has_missed,
            };
            let step = plan::occupant(
                state,
                me,
                || is_past::<P>(deadline),
                || watch.may_take(tuning),
                || watch.is_due(state, tuning),
                || watch.is_still_for(tuning.nap_after_ns),
                || watch.is_still_for(tuning.quiet_ns),
            );
            match step {
                OnDeck::Accept => {
                    if self.accept(state) {
                        return Turn::AtBat;
                    }
                }
                OnDeck::Take => {
                    if self.take(state, &mut watch, is_past::<P>(deadline)) {
                        return Turn::AtBat;
                    }
                }
                OnDeck::GiveUp => {
                    if self.give_up(state, &mut watch) {
                        return Turn::Left;
                    }
                }
                OnDeck::Ask => self.ask(&mut watch, tuning),
                OnDeck::Cede => {
                    if self.cede(state, &mut watch) {
                        return Turn::Ceded;
                    }
                }
                OnDeck::Nap => self.nap(state, &mut watch, deadline),
                OnDeck::Yield => P::yield_now(),
                OnDeck::Pause => P::pause_ns(watch.next_gap_ns(tuning)),
            }
        }
    }

    /// Takes the lock that has been passed to the seat. True unless that was undone meanwhile.
    fn accept(&self, state: State) -> bool {
        P::step(ACCEPT);
        self.cas(state, state.at_bat(), Acquire) // E1
    }

    /// Takes a lock that looks free. True if it was.
    fn take(&self, state: State, watch: &mut Watch<P>, is_past: bool) -> bool {
        let cooled = if watch.is_hot && watch.has_asked { state } else { state.without(HOT) };
        P::step(TAKE);
        if is_past {
            return self.get_through(state, cooled.at_bat(), Acquire, &mut watch.tries); // E1
        }
        let is_in = self.cas(state, cooled.at_bat(), Acquire); // E1
        if !is_in {
            watch.has_missed = true;
            P::pause_ns(watch.next_gap_ns(T::tuning()));
        }
        is_in
    }

    /// A stand-in gives the seat to the sleeper that was called to it. True if it did.
    fn cede(&self, state: State, watch: &mut Watch<P>) -> bool {
        let cooled = if watch.found_hot() { state } else { state.without(HOT) };
        P::step(CEDE);
        self.get_through(state, cooled.ceded(), Relaxed, &mut watch.tries)
    }

    /// Asks that the next release pass the lock.
    pub(super) fn ask(&self, watch: &mut Watch<P>, tuning: &Tuning) {
        watch.has_asked = true;
        P::step(ASK);
        self.word.fetch_or(ALARM | FAIR | if watch.is_hot { HOT } else { 0 }, Relaxed);
        P::pause_ns(watch.next_gap_ns(tuning));
    }

    /// Sleeps on the word until the next release.
    pub(super) fn nap(&self, state: State, watch: &mut Watch<P>, deadline: Option<u64>) {
        let napping = state.napping(watch.naps > 0).alarmed_if_asked();
        P::step(NAP);
        if !self.cas(state, napping, Relaxed) {
            return;
        }
        P::wait_on_upper(&self.word, napping.0, deadline);
        loop {
            let state = self.load();
            // Together with PASSED the flag stays until the lock is accepted (I5).
            if !state.has(NAPPING) || state.has(PASSED) {
                break;
            }
            P::step(RISE);
            if self.cas(state, state.without(NAPPING), Relaxed) {
                break;
            }
        }
        watch.rise(self.load(), T::tuning());
    }

    /// The deadline has passed and the lock has not been passed to us: true if the seat is given up.
    pub(super) fn give_up(&self, state: State, watch: &mut Watch<P>) -> bool {
        let tries = &mut watch.tries;
        match plan::giving_up(state) {
            GiveUp::Cede => {
                P::step(CEDE);
                self.get_through(state, state.ceded(), Relaxed, tries)
            }
            GiveUp::Leave => {
                P::step(LEAVE);
                self.get_through(state, state.left(), Relaxed, tries)
            }
            GiveUp::MakeWay => {
                watch.yields.make_way::<P>();
                false
            }
            GiveUp::HandDown => {
                P::step(HAND_DOWN);
                // E3
                if !self.get_through(state, state.handed_down(), Acquire, tries) {
                    return false;
                }
                // SAFETY: we hold the latch over a list that was not empty, and `self` outlives the call.
                unsafe { Self::call_a_sleeper(self) };
                true
            }
        }
    }
}
