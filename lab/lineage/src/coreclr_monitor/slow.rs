//! Sections 6 to 8 of coreclr-monitor: what arrivals, spinners, waiters and ex-holders do where one RMW is not enough.

use super::state::State;
use super::{
    BAR, CHOOSE, ENTRY, HEED, LATE_SEIZE, PARK, RECLAIM, REGISTER, RETIRE, RISE, RawCoreclrMonitor, SEIZE,
    SEIZE_SPINNING, SIGNAL, SPIN_UP, THIN, Tuning, UNREGISTER, VACATE, Word,
};
use crate::coreclr::FatForm;
use crate::thin::{self, Answer};
use crate::{Entry, RawLock, TuningSource};
use core::ops::Range;
use core::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Platform, Step};

// -- 6. acquire_slow --------------------------------------------------------------------------------------------------

impl<P: Platform> FatForm<P> for Word<P> {
    const ENTRY: Entry = ENTRY;
    const THIN: thin::Steps = THIN;
    type Tuning = Tuning;

    fn new() -> Self {
        Word { word: P::U32::new(State::OPEN.0), clock: P::U32::new(0) }
    }

    fn begin(&self, is_held: bool) {
        self.word.store(if is_held { State::HELD } else { State::OPEN.0 }, Relaxed);
    }

    fn has_waiters(&self) -> bool {
        self.state().has_waiters()
    }

    fn is_at_rest(&self) -> bool {
        self.state().is_at_rest()
    }

    fn enter<T: TuningSource<Tuning>>(lock: &RawCoreclrMonitor<P, T>, me: u32) -> Answer {
        let seen = lock.fat.state();
        if seen.may_barge() {
            return if lock.seize(me, seen) { Answer::Entered } else { Answer::Contended };
        }
        if !(seen.is_held() && lock.holder.is(me)) {
            return Answer::Contended;
        }
        lock.holder.nest();
        Answer::Entered
    }

    #[cold]
    #[inline(never)]
    fn acquire_slow<T: TuningSource<Tuning>>(
        lock: &RawCoreclrMonitor<P, T>,
        me: u32,
        answer: Answer,
        deadline_ns: Option<u64>,
    ) -> bool {
        if answer == Answer::Contended && lock.spin(me) {
            return true;
        }
        lock.inflate();
        (answer == Answer::Overflow && Self::enter(lock, me) == Answer::Entered)
            || lock.enter_or_register(me)
            || lock.wait_for_turn(me, deadline_ns)
    }

    fn vacate<T: TuningSource<Tuning>>(lock: &RawCoreclrMonitor<P, T>) {
        lock.vacate();
    }
}

impl<P: Platform, T: TuningSource<Tuning>> RawCoreclrMonitor<P, T> {
    fn seize(&self, me: u32, seen: State) -> bool {
        P::step(SEIZE);
        self.change(seen, seen.held(), Acquire) && self.begins(me) // E1
    }

    /// The lock has become ours. True, for those who have to say so.
    fn begins(&self, me: u32) -> bool {
        self.holder.set(me, 1);
        true
    }

    /// True if the lock has become ours, false if we have become a waiter.
    fn enter_or_register(&self, me: u32) -> bool {
        let mut has_stopped_clock = false;
        // Ended by one or the other; each failure is another thread's success.
        loop {
            let seen = self.fat.state();
            debug_assert!(seen.has_waiters() || !seen.bars_arrivals(), "I2");
            if seen.may_barge() {
                if self.seize(me, seen) {
                    if has_stopped_clock {
                        // Somebody may have registered since, and counts on it.
                        self.start_clock();
                    }
                    return true;
                }
                continue;
            }
            if !seen.has_waiters() {
                // Stopped before we are counted: another thread might take the time of a waiter long gone for ours.
                self.fat.clock.store(0, Relaxed);
                has_stopped_clock = true;
            }
            P::step(REGISTER);
            if self.change(seen, seen.with_waiter(), Relaxed) {
                if has_stopped_clock {
                    self.start_clock();
                }
                return false;
            }
        }
    }

    /// For one who is registered. False only if the deadline has passed.
    fn wait_for_turn(&self, me: u32, deadline_ns: Option<u64>) -> bool {
        // Ended by a claim, or by the deadline. Each time we sleep somebody will set the event (I5).
        loop {
            P::step(PARK);
            if !self.event.wait(deadline_ns) {
                self.unregister();
                return false;
            }
            if self.turns().any(|turn| self.rise() || Self::pause(turn)) || self.heed_or_enter() {
                return self.begins(me);
            }
        }
    }

    /// Of a waiter that spins: in, if the lock is free. The signal is cleared with that, and not before: a release wakes
    /// nobody else meanwhile.
    fn rise(&self) -> bool {
        // Ended by success or a holder; each failure is another thread's success.
        loop {
            let seen = self.fat.state();
            debug_assert!(seen.is_signalled() && seen.has_waiters(), "I3");
            let Some(next) = seen.claimed() else { return false };
            if self.claim(seen, next.without_signal(), RISE) {
                return true;
            }
        }
    }

    /// Of a waiter that will sleep again: without the signal, unless the lock is free at that moment. Then it must be
    /// taken, for its last holder saw the signal and woke nobody.
    fn heed_or_enter(&self) -> bool {
        P::step(HEED);
        let found = State(self.fat.word.fetch_sub(State::SIGNALLED, Relaxed));
        debug_assert!(found.is_signalled() && found.has_waiters(), "I3");
        let mut seen = found.without_signal();
        // Ended by success or a holder, who finds us registered and no signal.
        while let Some(next) = seen.claimed() {
            // A signal that came since is for another waiter, and stays.
            if self.claim(seen, next, RECLAIM) {
                return true;
            }
            seen = self.fat.state();
        }
        false
    }

    /// A waiter gets in: the clock starts again for the others.
    fn claim(&self, seen: State, next: State, step: Step) -> bool {
        // With the bar still up, or another thread might find it down and the old time, and put it up again.
        if seen.bars_arrivals() && next.has_waiters() {
            self.start_clock();
        }
        P::step(step);
        let is_ours = self.change(seen, next, Acquire); // E1
        if is_ours && !seen.bars_arrivals() && next.has_waiters() {
            self.start_clock();
        }
        is_ours
    }

    fn unregister(&self) {
        // Ended by success; each failure is another thread's.
        loop {
            let seen = self.fat.state();
            P::step(UNREGISTER);
            if self.change(seen, seen.without_waiter(), Relaxed) {
                return;
            }
        }
    }

    fn change(&self, seen: State, next: State, order: Ordering) -> bool {
        self.fat.word.compare_exchange(seen.0, next.0, order, Relaxed).is_ok()
    }

    // -- 7. Spin helpers ----------------------------------------------------------------------------------------------

    /// Turns on the thin form, and from the first that finds it fat on the fat form. True if one of them entered.
    #[inline(never)]
    fn spin(&self, me: u32) -> bool {
        let mut turns = self.turns();
        while let Some(turn) = turns.next() {
            Self::pause(turn);
            match self.thin.enter(me, &THIN) {
                Answer::Entered => return true,
                Answer::Contended => {}
                Answer::Overflow => return false,
                Answer::Fat => return self.spin_fat(me, turns),
            }
        }
        false
    }

    fn spin_fat(&self, me: u32, turns: Range<u32>) -> bool {
        if self.bar_if_due() {
            return false;
        }
        match self.seize_or_spin_up(me) {
            Answer::Contended => {}
            answer => return answer == Answer::Entered,
        }
        for turn in turns {
            Self::pause(turn);
            let seen = self.fat.state();
            if seen.bars_arrivals() {
                break;
            }
            if seen.may_barge() {
                P::step(SEIZE_SPINNING);
                // E1
                if self.change(seen, seen.held().without_spinner(), Acquire) {
                    return self.begins(me);
                }
            }
        }
        self.retire_or_enter() && self.begins(me)
    }

    /// `Contended` if we are counted as a spinner now; `Overflow` if there are too many, or arrivals are barred.
    fn seize_or_spin_up(&self, me: u32) -> Answer {
        // Ended by one of the three; each failure is another thread's success.
        loop {
            let seen = self.fat.state();
            if seen.may_barge() {
                if self.seize(me, seen) {
                    return Answer::Entered;
                }
                continue;
            }
            let Some(next) = seen.with_spinner().filter(|_| !seen.bars_arrivals()) else { return Answer::Overflow };
            P::step(SPIN_UP);
            if self.change(seen, next, Relaxed) {
                return Answer::Contended;
            }
        }
    }

    /// No spinner any more; but if the lock is free at that moment it must be taken, bar or not: its last holder saw us
    /// spin and woke nobody.
    fn retire_or_enter(&self) -> bool {
        P::step(RETIRE);
        let mut seen = State(self.fat.word.fetch_sub(State::SPINNER, Relaxed)).without_spinner();
        // Ended by success or a holder, who will see that we are gone.
        while !seen.is_held() {
            P::step(LATE_SEIZE);
            // E1
            if self.change(seen, seen.held(), Acquire) {
                return true;
            }
            seen = self.fat.state();
        }
        false
    }

    fn turns(&self) -> Range<u32> {
        0..if P::may_spin() { T::TUNING.spins } else { 0 }
    }

    /// False, for those who go on after it.
    fn pause(turn: u32) -> bool {
        P::pause_ns(T::TUNING.pause_ns(turn));
        false
    }

    // -- 8. release_slow ----------------------------------------------------------------------------------------------

    fn vacate(&self) {
        P::step(VACATE);
        let found = State(self.fat.word.fetch_sub(State::HELD, Release)); // E1
        debug_assert!(found.is_held(), "I1");
        if found.has_waiters() && self.choose(State(found.0 - State::HELD)) {
            P::step(SIGNAL);
            self.event.set();
            self.bar_if_due();
        }
    }

    /// Whether a waiter has to be woken, and it is for us to do so.
    fn choose(&self, mut seen: State) -> bool {
        // Ended by success, or by a word that wants nobody woken; each failure is another thread's success.
        while let Some(next) = seen.signalled() {
            P::step(CHOOSE);
            if self.change(seen, next, Relaxed) {
                return true;
            }
            seen = self.fat.state();
        }
        false
    }

    /// Bars arrivals if the clock has come due; true if they are barred. The clock is read only if somebody waits.
    fn bar_if_due(&self) -> bool {
        // Ended by the bar, or by nobody to put it up for; each failure is another thread's success.
        loop {
            let seen = self.fat.state();
            debug_assert!(seen.has_waiters() || !seen.bars_arrivals(), "I2");
            if seen.bars_arrivals() || !seen.has_waiters() || !self.is_due() {
                return seen.bars_arrivals();
            }
            P::step(BAR);
            if self.change(seen, seen.barring(), Relaxed) {
                return true;
            }
        }
    }

    fn is_due(&self) -> bool {
        let start_ms = self.fat.clock.load(Relaxed);
        start_ms != 0 && Self::now_ms().wrapping_sub(start_ms) >= T::TUNING.starved_after_ms
    }

    fn start_clock(&self) {
        // 0 means that the clock stands, so the millisecond before is taken for it.
        let now_ms = Self::now_ms();
        self.fat.clock.store(if now_ms == 0 { u32::MAX } else { now_ms }, Relaxed);
    }

    /// Wraps around every 50 days, as the clock of the original does. A waiter would have to starve as long to see it.
    fn now_ms() -> u32 {
        (P::now_ns() / 1_000_000) as u32
    }
}
