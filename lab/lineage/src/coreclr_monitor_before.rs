//! coreclr-monitor-before: spins for tens of milliseconds, and lets nobody past a registered waiter: the lock convoy.
//!
//! # Idea
//! A monitor knows its owner, so that a thread may enter what it is in already. One word counts the lock and its
//! waiters. Fairness is had in the simplest way: as soon as there is a waiter, nobody else may enter. So the lock goes
//! to a thread that is still asleep, and this is what breaks. Each pass costs a trip through the scheduler. A thread
//! that comes back meanwhile becomes a waiter itself, so the convoy never ends. Very long spinning hides it, as long as
//! there are cores to burn.
//!
//! # Lineage
//! `Monitor` of CoreCLR up to September 2017 (`AwareLock` in vm/syncblk.inl and vm/syncblk.cpp), the one that
//! dotnet/coreclr PR 14216 replaced and issues 11979 and 13978 complain of. Kept: the word, its one bit and its count;
//! that only a lock without waiters can be entered; the back-off of 50, 150, 450... pauses, once on the object's header
//! and then ten times on the fat form with a yield after each; that there, while there are waiters, no more than 20,000
//! pauses are made without a yield; the auto-reset event, handed to the oldest sleeper (event.rs); that a waiter does not
//! spin again. (The PR's figure for 64 threads on Linux leaves each acquisition 12 ms of its eight CPUs, where eleven rounds
//! of a Skylake's pauses would take 65: its pauses were shorter, or its rounds fewer. See docs/validation.md.)
//! Left out: what the runtime does for its collector and for aborted threads. Changed:
//! - The header and the sync block are the thin and the fat form of thin.rs, side by side in the lock.
//! - The release is one decrement; the original loops with a compare-exchange.
//! - On one core nobody spins or yields; the original yields ten times.
//! - The back-off of the header includes its limit and that of the fat form excludes it; here both include it.
//! - A deadline is a point of time; the original's is a number of milliseconds.
//!
//! Shared code: `coreclr.rs`.
//!
//! # State word
//! `held`, the word of the fat form. The thin word is described in thin.rs.
//!
//! | bits | name | meaning | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | 0 | HELD | somebody is inside | seize, reclaim, inflate | vacate | exact |
//! | 1-31 | waiters | threads that sleep, or were woken and have not looked yet | register | reclaim, unregister | exact |
//!
//! # Life of a word
//!
//! ```text
//! thin:  free --grab--> owned --vacate_thin--> free        any --latch, inflate--> fat, for good
//! fat:   0 --seize--> HELD --register--> HELD+1 waiter --vacate, signal--> 1 waiter --reclaim--> HELD
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | grab | thin: free -> owned | arrival, spinner | compare-exchange, Acquire (T1) |
//! | nest | thin: one level deeper | holder | compare-exchange, Acquire (not needed) |
//! | unnest | thin: one level less deep | holder | compare-exchange, Release (not needed) |
//! | vacate_thin | thin: owned -> free | holder | compare-exchange, Release (T1) |
//! | latch | thin: LATCHED set | whoever needs the fat form | compare-exchange, Acquire (T1) |
//! | inflate | thin: LATCHED -> FAT | the same, after HELD and the holder are written | store, Release (T2) |
//! | seize | 0 -> HELD | arrival, spinner | compare-exchange, Acquire (E1) |
//! | register | not 0 -> one waiter more | spinner that retires | compare-exchange, Relaxed |
//! | park | unchanged | waiter | waits for the event, with the edge of event.rs |
//! | reclaim | not HELD -> HELD, one waiter less | waiter that took the event | compare-exchange, Acquire (E1) |
//! | unregister | one waiter less | waiter past its deadline | fetch-sub, Relaxed |
//! | vacate | HELD cleared | holder | fetch-sub, Release (E1) |
//! | signal | unchanged | ex-holder, if vacate found waiters | sets the event, with the edge of event.rs |
//!
//! # Invariants
//! - I1 In the fat form HELD is set if and only if somebody is inside. asserted: `vacate`; checked by: conformance
//!   `exclusion`.
//! - I2 A thread that reclaims or unregisters is one of the waiters that the word counts. asserted: `reclaim`,
//!   `unregister`.
//! - I3 Not HELD, and waiters: then the event is set, or a vacate that will set it is under way, or a waiter has taken
//!   it and not looked yet. asserted: cannot be, locally; checked by: conformance `exclusion`.
//! - I4 Whoever releases is inside. asserted: `release_fat`, and `leave` of thin.rs; checked by: test `misuse_is_caught`.
//!
//! # Orderings
//! - E1 `vacate` -> `seize`, `reclaim`: everything the last holder wrote. A reclaim has it from the event too, unless that
//!   was left by a waiter that gave up; a model needs four threads to tell.
//!
//! The edges T1 and T2 of the thin word are those of thin.rs. The edge from signal to park, in event.rs, tells the woken
//! waiter that the lock was vacated: else it might still see HELD, and sleep again. The count of waiters admits nobody,
//! so Relaxed is enough for it.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found the thin word free, or HELD clear. Conformance `exclusion`.
//! - No lost wake-up: a waiter registers only while the word is not 0. If HELD, a vacate follows that counts it and sets
//!   the event; if not, there are waiters already, and I3 is kept by them. Nobody but a waiter that took the event can
//!   set HELD while there are waiters, and its own vacate sets the event for the others. A waiter that gives up leaves
//!   the event to the next. Conformance `every_waiter_finishes`.
//! - Bypass: nobody enters while a waiter is registered, except other waiters, and those in the order in which they fell
//!   asleep. An event that was set for a waiter that then gave up is left for the next to come, who takes it in vain if the
//!   lock is held, and then sleeps again behind the others.
//! - Reentrant, to any depth. Conformance `nesting`.
//! - Deadlines: a waiter past its own gives up; a spinner notices after its present pause. Conformance `timed`.
//!
//! # Cost
//! Alone: 2 RMWs, 1 line; nested, 2 more. Contended: every contender polls for 11 rounds of back-off, which at 40 ns
//! a pause are 24 ms on two cores and more on more; then a wake and a sleep per pass. Lock 40 bytes, a node of 32 bytes on the stack of a sleeper.
//!
//! # After release
//! Yes: signal sets the event after the vacate, when somebody else may be inside. In the original the collector keeps
//! the lock alive meanwhile; here the thread that frees it must know that no release is under way.
//!
//! # Limits
//! 2^24 - 1 threads can own the thin form; the others inflate. 2^31 waiters. A deadline may pass unnoticed for as long
//! as the longest pause of the back-off. While somebody inflates the lock a release waits for it, and tries fail.
//! A thread that waits for the latch of an event or for an inflation yields to threads of its own priority only.
//!
//! Unsafe: 3 blocks in coreclr.rs, all to use the wait room as the holder.

mod state;

use self::state::State;
use crate::coreclr::{CoreclrMonitor, FatForm};
use crate::thin::{self, Answer};
use crate::{Defaults, Entry, LowerSpin, NoSpin, Promises, RawLock, TuningSource};
use core::fmt;
use core::iter;
use core::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Hardware, Platform, StaticPlatform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "coreclr-monitor-before",
    idea: "CoreCLR before 2.1: spins for long; while there is a waiter only waiters may enter",
    bytes: 40,
    rmws: 2,
    awake: "all, for 11 rounds of growing pauses: milliseconds each",
    woken: "one waiter at each release",
    promises: Promises {
        timed: true,
        sleeps: true,
        reentrant: true,
        free_after_release: false,
        bypass: "none by arrivals once a waiter is registered; waiters in the order of falling asleep",
        starves: "nobody, unless waiters give up at deadlines; then a waiter, improbably",
    },
};

// -- 1. Steps ---------------------------------------------------------------------------------------------------------

const GRAB: Step = step("grab");
const NEST: Step = step("nest");
const UNNEST: Step = step("unnest");
const VACATE_THIN: Step = step("vacate_thin");
const LATCH: Step = step("latch");
const INFLATE: Step = step("inflate");
const SEIZE: Step = step("seize");
const REGISTER: Step = step("register");
const PARK: Step = step("park");
const RECLAIM: Step = step("reclaim");
const UNREGISTER: Step = step("unregister");
const VACATE: Step = step("vacate");
const SIGNAL: Step = step("signal");

const fn step(name: &'static str) -> Step {
    Step { lock: "coreclr-monitor-before", name }
}

const THIN: thin::Steps =
    thin::Steps { grab: GRAB, nest: NEST, unnest: UNNEST, vacate: VACATE_THIN, latch: LATCH, inflate: INFLATE };

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `coreclr-monitor-before`. The defaults are those of inc/clrconfigvalues.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Pauses before the second attempt of a round. Default 50 (`SpinInitialDuration`).
    pub first_pauses: u32,
    /// Each pause of a round is so many times the one before. At least 2, or a round would not end. Default 3
    /// (`SpinBackoffFactor`).
    pub factor: u32,
    /// Most pauses in a row, for each core that may run us. Default 20,000 (`SpinLimitProcFactor`).
    pub most_pauses_per_core: u32,
    /// Rounds on the fat form, each followed by a yield. Default 10 (`SpinRetryCount`).
    pub rounds: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { first_pauses: 50, factor: 3, most_pauses_per_core: 20_000, rounds: 10 };
}

/// The settings of the second table of PR 14216.
impl TuningSource<Tuning> for LowerSpin {
    const TUNING: Tuning = Tuning { first_pauses: 1, factor: 2, most_pauses_per_core: 0x80, rounds: 0 };
}

/// The settings of the third table of PR 14216. One pause is left, as it was there.
impl TuningSource<Tuning> for NoSpin {
    const TUNING: Tuning = Tuning { most_pauses_per_core: 0, ..<LowerSpin as TuningSource<Tuning>>::TUNING };
}

/// The three settings that were published.
pub const TUNINGS: &[(&str, Tuning)] = &[
    ("default", <Defaults as TuningSource<Tuning>>::TUNING),
    ("lower-spin", <LowerSpin as TuningSource<Tuning>>::TUNING),
    ("no-spin", <NoSpin as TuningSource<Tuning>>::TUNING),
];

impl Tuning {
    /// The lengths of one round's pauses where so many cores may run us; at least one.
    fn pauses(self, cores: u32) -> impl Iterator<Item = u32> {
        let most = self.most_pauses_per_core.saturating_mul(cores);
        let longer = move |&pauses: &u32| pauses.checked_mul(self.factor).filter(|&next| next <= most);
        iter::successors(Some(self.first_pauses), longer)
    }
}

/// Most pauses that a spinner on the fat form makes without looking for waiters, as in vm/syncblk.cpp.
const STRETCH: u32 = 20_000;

/// What so many pauses in a row are made of, and which is the last of them.
fn stretches(pauses: u32) -> impl Iterator<Item = (u32, bool)> {
    let n = pauses.div_ceil(STRETCH);
    (1..=n).map(move |at| if at < n { (STRETCH, false) } else { (pauses - (n - 1) * STRETCH, true) })
}

/// What a spinner does about waiters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SpinRule {
    /// Nothing, as on the object's header.
    KeepsOn,
    /// Yields between stretches of pauses while there are any.
    GivesWay,
}

// -- 3. State, in state.rs --------------------------------------------------------------------------------------------

// -- 4. The lock; 5, 6, 8 and 10 as far as both monitors have them: coreclr.rs ----------------------------------------

/// The monitor of CoreCLR before PR 14216.
pub type RawCoreclrMonitorBefore<P, T = Defaults> = CoreclrMonitor<P, FatWord<P>, T>;

/// The fat form: HELD and the number of waiters.
pub struct FatWord<P: Platform>(P::U32);

const _: () = assert!(size_of::<RawCoreclrMonitorBefore<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawCoreclrMonitorBefore<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = CoreclrMonitor::free(FatWord(P::U32_ZERO));
}

// -- 6. acquire_slow --------------------------------------------------------------------------------------------------

impl<P: Platform> FatForm<P> for FatWord<P> {
    const ENTRY: Entry = ENTRY;
    const THIN: thin::Steps = THIN;
    type Tuning = Tuning;

    fn new() -> Self {
        FatWord(P::U32::new(State::OPEN.0))
    }

    fn begin(&self, is_held: bool) {
        self.0.store(if is_held { State::HELD.0 } else { State::OPEN.0 }, Relaxed);
    }

    fn has_waiters(&self) -> bool {
        self.state().n_waiters() > 0
    }

    fn is_at_rest(&self) -> bool {
        self.state().is_open()
    }

    fn enter<T: TuningSource<Tuning>>(lock: &RawCoreclrMonitorBefore<P, T>, me: u32) -> Answer {
        let seen = lock.fat.state();
        if seen.is_open() {
            return if lock.seize(me) { Answer::Entered } else { Answer::Contended };
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
        lock: &RawCoreclrMonitorBefore<P, T>,
        me: u32,
        answer: Answer,
        deadline_ns: Option<u64>,
    ) -> bool {
        if answer == Answer::Contended && lock.spin(me, deadline_ns, SpinRule::KeepsOn) {
            return true;
        }
        lock.inflate();
        (answer == Answer::Overflow && Self::enter(lock, me) == Answer::Entered) || lock.enter_or_wait(me, deadline_ns)
    }

    fn vacate<T: TuningSource<Tuning>>(lock: &RawCoreclrMonitorBefore<P, T>) {
        lock.vacate();
    }
}

impl<P: Platform, T: TuningSource<Tuning>> RawCoreclrMonitorBefore<P, T> {
    fn seize(&self, me: u32) -> bool {
        P::step(SEIZE);
        let is_ours = self.change(State::OPEN, State::HELD, Acquire); // E1
        if is_ours {
            self.holder.set(me, 1);
        }
        is_ours
    }

    /// False only if the deadline has passed.
    fn enter_or_wait(&self, me: u32, deadline_ns: Option<u64>) -> bool {
        let mut rounds = if P::may_spin() { T::TUNING.rounds } else { 0 };
        // Ended by an entry, or by a register that succeeds; each failure is another thread's success.
        loop {
            let seen = self.fat.state();
            if seen.is_open() {
                if self.seize(me) {
                    return true;
                }
            } else if rounds > 0 {
                rounds -= 1;
                if self.spin(me, deadline_ns, SpinRule::GivesWay) {
                    return true;
                }
                P::yield_now();
            } else if self.register(seen) {
                return self.wait_for_turn(me, deadline_ns);
            }
        }
    }

    fn register(&self, seen: State) -> bool {
        P::step(REGISTER);
        self.change(seen, seen.with_waiter(), Relaxed)
    }

    /// For one who is registered. False only if the deadline has passed.
    fn wait_for_turn(&self, me: u32, deadline_ns: Option<u64>) -> bool {
        // Ended by a reclaim, for each vacate that finds us registered sets the event (I3); or by the deadline.
        loop {
            P::step(PARK);
            if !self.event.wait(deadline_ns) {
                self.unregister();
                return false;
            }
            if self.reclaim() {
                self.holder.set(me, 1);
                return true;
            }
        }
    }

    /// False if somebody is inside: then the event was left by one who gave up. Its vacate will find us registered.
    fn reclaim(&self) -> bool {
        // Ended by success or a holder; each failure is another thread's success.
        loop {
            let seen = self.fat.state();
            debug_assert!(seen.n_waiters() > 0, "I2");
            let Some(next) = seen.reclaimed() else { return false };
            P::step(RECLAIM);
            // E1
            if self.change(seen, next, Acquire) {
                return true;
            }
        }
    }

    fn unregister(&self) {
        P::step(UNREGISTER);
        let found = State(self.fat.0.fetch_sub(State::WAITER, Relaxed));
        debug_assert!(found.n_waiters() > 0, "I2");
    }

    fn change(&self, seen: State, next: State, order: Ordering) -> bool {
        self.fat.0.compare_exchange(seen.0, next.0, order, Relaxed).is_ok()
    }

    // -- 7. Spin helper -----------------------------------------------------------------------------------------------

    /// One round of pauses, each longer than the one before and followed by an attempt. True if one of them entered.
    #[inline(never)]
    fn spin(&self, me: u32, deadline_ns: Option<u64>, manners: SpinRule) -> bool {
        if !P::may_spin() {
            return false;
        }
        let is_over = || deadline_ns.is_some_and(|deadline_ns| P::now_ns() >= deadline_ns);
        for pauses in T::TUNING.pauses(P::parallelism()) {
            self.pause(pauses, manners);
            match self.enter(me) {
                Answer::Entered => return true,
                Answer::Contended if !is_over() => {}
                _ => return false,
            }
        }
        false
    }

    /// So many pauses before the next attempt.
    fn pause(&self, pauses: u32, manners: SpinRule) {
        for (stretch, is_last) in stretches(pauses) {
            P::pauses(stretch);
            // While there is a waiter our attempts fail, and it may be waiting for our core. Stale at worst: then we yield
            // in vain, or one stretch later.
            if manners == SpinRule::GivesWay && !is_last && self.fat.state().n_waiters() > 0 {
                P::yield_now();
            }
        }
    }

    // -- 8. release_slow ----------------------------------------------------------------------------------------------

    fn vacate(&self) {
        P::step(VACATE);
        let found = State(self.fat.0.fetch_sub(State::HELD.0, Release)); // E1
        debug_assert!(found.is_held(), "I1");
        if found.n_waiters() > 0 {
            P::step(SIGNAL);
            self.event.set();
        }
    }
}

// -- 9. Waiter record: none; those who sleep are counted. -------------------------------------------------------------

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform> FatWord<P> {
    fn state(&self) -> State {
        State(self.0.load(Relaxed))
    }
}

impl<P: Platform> fmt::Debug for FatWord<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = self.state();
        write!(f, "{}, {} waiters", if seen.is_held() { "held" } else { "free" }, seen.n_waiters())
    }
}

// -- 11. Tests of section 2 -------------------------------------------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of PR 14216 and of the source it changed, for a machine with eight cores.
    #[test]
    fn a_round_is_as_long_as_it_was() {
        let pauses = |tuning: Tuning, cores| tuning.pauses(cores).collect::<Vec<_>>();
        let [(_, default), (_, lower), (_, none)] = TUNINGS else { panic!("three settings") };
        assert_eq!(pauses(*default, 8), [50, 150, 450, 1350, 4050, 12_150, 36_450, 109_350]);
        assert_eq!(pauses(*lower, 8).last(), Some(&1024));
        assert_eq!(pauses(*none, 8), [1]);
    }

    #[test]
    fn no_pause_is_lost_between_stretches() {
        assert_eq!(stretches(109_350).filter(|&(_, is_last)| !is_last).count(), 5);
        for pauses in [0, 1, STRETCH - 1, STRETCH, STRETCH + 1, 36_450, 109_350, u32::MAX] {
            assert_eq!(stretches(pauses).map(|(stretch, _)| u64::from(stretch)).sum::<u64>(), pauses.into());
            assert!(stretches(pauses).all(|(stretch, _)| (1..=STRETCH).contains(&stretch)));
            assert_eq!(stretches(pauses).filter(|&(_, is_last)| is_last).count(), usize::from(pauses > 0));
        }
    }
}
