//! In a seat: looking before, sitting, napping, leaving; and the way through the dugout.

use super::dugout::Node;
use super::plan::{self, Occupant, OccupantPlan};
use super::state::{ALARM, DECK, FAIR, FLIGHT, HOT, LOCKED, NAPPING, PASSED, QUIET, RUSH, SECOND, State};
use super::watch::{Heat, Tries, Wait, Watch};
use super::{
    ACCEPT, ASK, CLAIM, DOZE, ENQUEUE, LEAVE, NAP, Policy, RISE, RawOndeck, SHOW_UP, TAKE, Tuning, Turn, is_past,
};
use crate::RawLock;
use crate::{Atomic, Platform, WaitEnd};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A deadline that has passed.
const PAST: Option<u64> = Some(0);

impl<P: Platform, T: Policy> RawOndeck<P, T> {
    pub(super) fn claim(&self, heat: Heat, deadline: Option<u64>) -> Turn {
        P::step(CLAIM);
        let before = State(self.word.fetch_or(DECK | heat.flag(), Relaxed));
        if before.has(DECK | QUIET) {
            return Turn::Again;
        }
        debug_assert!(!before.has(SECOND | FLIGHT), "I4: nobody has the other seat");
        self.sit(false, heat, deadline)
    }

    /// As [`claim`](Self::claim), beside a called sleeper that is on its way.
    pub(super) fn sit_beside(&self, state: State, heat: Heat, deadline: Option<u64>) -> Turn {
        P::step(CLAIM);
        if self.cas(state, state.with(SECOND | heat.flag()), Relaxed) {
            self.sit(false, heat, deadline)
        } else {
            Turn::Again
        }
    }

    /// Retires to the dugout and comes back from it with the seat, the lock, or neither.
    pub(super) fn enqueue(&self, state: State, node: &Node<P>, tries: &mut Tries, deadline: Option<u64>) -> Turn {
        // SAFETY: it is this thread's, and in no list yet.
        unsafe { node.waits_for(self) };
        let Some(next) = node.on_top_of(state) else {
            self.doze(deadline);
            return Turn::Again;
        };
        // Beside a kept seat, who has been notified relies on a release, and not on who has been called. One who is awake in the
        // other seat may be gone before that one is up.
        let hurries = node.is_notified() && state.has(FLIGHT);
        P::step(ENQUEUE);
        // E2
        if !self.get_through(state, if hurries { next.with(RUSH) } else { next }, Release, tries) {
            return Turn::Again;
        }
        let (word, waiting) = node.grant_word();
        while !node.is_granted() {
            let leave = || self.leave_dugout(node);
            if P::wait_on_or_leave(word, waiting, deadline, leave) == WaitEnd::TimedOut && self.cancel(node) {
                return Turn::Left;
            }
        }
        if node.is_alone() { Turn::Again } else { self.show_up(deadline) }
    }

    // -- For a thread that ends in its sleep: as if its deadline had passed. What it gets all the same it passes on -----

    #[cold]
    fn leave_dugout(&self, node: &Node<P>) {
        if !self.cancel(node) && !node.is_alone() {
            self.decline(self.show_up(PAST));
        }
    }

    #[cold]
    fn leave_nap(&self) {
        self.rise();
        self.decline(self.sit(false, Heat::Cool, PAST));
    }

    fn decline(&self, turn: Turn) {
        if turn == Turn::AtBat {
            // SAFETY: it has just been acquired, by this thread.
            unsafe { self.release() };
        }
    }

    /// The node of this thread cannot be written into the word (I8), so nobody can call it: it looks in once a rotation.
    #[cold]
    pub(super) fn doze(&self, deadline: Option<u64>) {
        let rotation_ns = T::tuning().rotate_ns;
        let left_ns = deadline.map_or(u64::MAX, |deadline_ns| deadline_ns.saturating_sub(P::now_ns()));
        P::step(DOZE);
        P::nap_ns(u32::try_from(left_ns).map_or(rotation_ns, |left_ns| left_ns.min(rotation_ns)));
    }

    /// A called sleeper takes the seat that is kept for it.
    pub(super) fn show_up(&self, deadline: Option<u64>) -> Turn {
        P::step(SHOW_UP);
        let before = State(self.word.fetch_and(!FLIGHT, Relaxed));
        debug_assert!(before.has(FLIGHT) && before.has(DECK), "I4: the seat waits for the one that was called");
        self.sit(true, if before.has(HOT) { Heat::Hot } else { Heat::Cool }, deadline)
    }

    /// Looks at a taken lock for a little while without writing to the word. `None` if that has got it; else what to make
    /// of it on deck.
    #[inline(never)]
    pub(super) fn first_look(&self) -> Option<Heat> {
        /// Who sees more releases than this go by stops looking: somebody acquires again and again.
        const CAPTURED: u64 = 3;
        let tuning = T::tuning();
        let wait = Wait::<P>::new();
        let mut first = self.load();
        // A pass under way: a moment later the seat of its receiver is empty.
        while first.has(PASSED) && !first.has(SECOND) && !wait.longer_than(tuning.look_ns) {
            P::pause_ns(tuning.poll_asked_ns);
            first = self.load();
        }
        match (first.has(HOT), first.is_alone()) {
            // Left behind by a pass a moment ago: the best time for an audit.
            (true, true) if tuning.audit_every_ns > 0 => return Some(Heat::Audited),
            (true, false) => return Some(Heat::Hot),
            (false, _) if wait.is_auditor(tuning) => return Some(Heat::Audited),
            _ => {}
        }
        let (mut state, mut gap) = (first, tuning.poll_first_ns / 2);
        // Ends by the clock, if not before.
        loop {
            if !state.has(LOCKED) && self.grab() {
                return None;
            }
            if state.is_alarmed() {
                first = state;
            }
            let is_captured = state.releases_since(first) > CAPTURED;
            if is_captured || wait.longer_than(tuning.look_ns) {
                return Some(Heat::Cool);
            }
            P::pause_ns(gap);
            gap = gap.saturating_mul(2);
            state = self.load();
        }
    }

    /// Sits until at bat, or gives the seat up.
    #[inline(never)]
    pub(super) fn sit(&self, is_called: bool, heat: Heat, deadline: Option<u64>) -> Turn {
        let tuning = T::tuning();
        let spins = P::may_spin();
        let mut watch = Watch::<P>::new(self.load(), heat, tuning);
        // One step a turn; ends when the lock comes, or the deadline passes, or the thread goes to the dugout.
        loop {
            let state = self.load();
            debug_assert!(state.has(DECK) && !state.has(QUIET), "I4, I10: one seat is ours");
            watch.observe(state, tuning);
            let me = Occupant {
                is_called,
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
                || watch.is_still_for(tuning.quiet_ns()),
            );
            match step {
                OccupantPlan::Accept => {
                    if self.accept(state) {
                        return Turn::AtBat;
                    }
                }
                OccupantPlan::Take => {
                    if self.take(state, &mut watch, is_past::<P>(deadline)) {
                        return Turn::AtBat;
                    }
                }
                OccupantPlan::GiveUp => {
                    if self.leave(state, &mut watch) {
                        return Turn::Left;
                    }
                }
                OccupantPlan::Retire => {
                    if self.leave(state, &mut watch) {
                        return Turn::Retired;
                    }
                }
                OccupantPlan::Ask => self.ask(&mut watch, tuning),
                OccupantPlan::Nap => self.nap(state, &mut watch, deadline),
                OccupantPlan::Yield => P::yield_now(),
                OccupantPlan::Pause => P::pause_ns(watch.next_gap_ns(tuning)),
            }
        }
    }

    /// Takes the lock that has been passed. True unless the other seat has done so meanwhile.
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
        P::wait_on_upper_or_leave(&self.word, napping.0, deadline, || self.leave_nap());
        self.rise();
        watch.rise(self.load(), T::tuning());
    }

    /// Takes back the flag of a nap.
    fn rise(&self) {
        // Ends with a flag that is clear, or that another thread is to clear; each further turn is caused by another's step.
        loop {
            let state = self.load();
            // Together with PASSED the flag stays until the lock is accepted (I5).
            if !state.has(NAPPING) || state.has(PASSED) {
                return;
            }
            P::step(RISE);
            if self.cas(state, state.without(NAPPING), Relaxed) {
                // Who clears the flag wakes all that it stands for.
                if state.has(SECOND) {
                    Self::wake_the_deck(self);
                }
                return;
            }
        }
    }

    /// Leaves the seat without the lock. True if that is done. If that leaves sleepers beside empty seats, the write asks the
    /// holder's release to call one.
    fn leave(&self, state: State, watch: &mut Watch<P>) -> bool {
        debug_assert!(state.has(LOCKED) || !state.left().is_vacant(), "I2: nobody would call");
        P::step(LEAVE);
        self.get_through(state, state.left(), Relaxed, &mut watch.tries)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Balanced;
    use super::*;
    use crate::Hardware;
    use crate::RawLock;
    use std::time::Duration;

    /// I5: one that naps alone clears the flag when it gets up by itself, and by then it also stands for who was called to the
    /// other seat meanwhile.
    #[test]
    fn whoever_gets_up_wakes_one_that_has_come_beside_it_since() {
        const FIRST_NS: u64 = 200_000_000;
        const SECOND_NS: u64 = 10_000_000_000;
        let lock = &RawOndeck::<Hardware, Balanced>::new();
        let alone = State(LOCKED | DECK);
        lock.word.store(alone.0, Relaxed);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut watch = Watch::new(alone, Heat::Cool, Balanced::tuning());
                lock.nap(alone, &mut watch, Some(Hardware::now_ns() + FIRST_NS));
            });
            while !lock.load().has(NAPPING) {
                std::thread::yield_now();
            }
            // Asleep by now, or it compares with what is written here.
            std::thread::sleep(Duration::from_nanos(FIRST_NS / 4));
            let both = State(lock.word.fetch_or(SECOND, Relaxed)).with(SECOND);
            let waited = Hardware::wait_on_upper(&lock.word, both.0, Some(Hardware::now_ns() + SECOND_NS));
            assert_eq!(waited, WaitEnd::Woken);
        });
        assert!(!lock.load().has(NAPPING));
    }
}
