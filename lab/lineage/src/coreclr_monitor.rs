//! coreclr-monitor: arrivals may go past the waiters, at most seven spin, and one waiter at a time is woken.
//!
//! # Idea
//! The convoy of coreclr-monitor-before comes from giving the lock to a thread that is still asleep. So here any thread
//! that is awake may take a free lock, whether there are waiters or not. Three things keep that in bounds:
//!
//! - Spinners register in the word, seven at most, and a release that sees one wakes nobody. A spinner is on deck, so
//!   it must take a free lock before it stops spinning.
//! - A waiter that was signalled is noted in the word, and until it is up no other is woken. Once up, it spins like an
//!   arrival before it sleeps again.
//! - A clock runs from the last time a waiter got in. After a second, arrivals are barred until a waiter has been
//!   served.
//!
//! # Lineage
//! `Monitor` of CoreCLR 2.1, as dotnet/coreclr PR 14216 left it (`AwareLock::LockState` in vm/syncblk.h and vm/syncblk.inl;
//! the names of its functions are long sentences, and our steps are their verbs). Kept: the word, bit for bit; what each
//! change does to which field; 30 turns of spinning whose pauses double from 37 ns to 272 ns; the clock and its second,
//! which the PR's text names (later versions have a tenth of it). Left out: what the runtime does for its collector and
//! for aborted threads. Changed:
//! - The header and the sync block are the thin and the fat form of thin.rs, side by side in the lock.
//! - The pause is asked of the platform in nanoseconds. The original measures once how many PAUSEs make 37 ns and counts
//!   them off; at the end of its doubling it makes of 272 ns a whole number of these.
//! - The clock is started again by whoever stopped it, also if it turns out not to be the first waiter, which the
//!   original forgot until dotnet/runtime PR 87703; and also if it gets in after all.
//! - A spinner looks once more after its last pause, before it retires.
//! - A deadline is a point of time; the original's is a number of milliseconds.
//!
//! Shared code: `coreclr.rs`.
//!
//! # State word
//! `word`, that of the fat form. The thin word is described in thin.rs.
//!
//! | bits | name | meaning | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | 0 | HELD | somebody is inside | seize, seize_spinning, late_seize, rise, reclaim, inflate | vacate | exact |
//! | 1 | NO_BARGING | only waiters, and spinners that retire, may enter | bar | rise, reclaim, unregister | exact |
//! | 2-4 | spinners | arrivals that spin; never more than 7 | spin_up | seize_spinning, retire | exact |
//! | 5 | SIGNALLED | the event is set or about to be, or a waiter took it and still spins | choose | rise, heed | may linger when the waiter it was for gave up; the next one takes it |
//! | 6-31 | waiters | threads that sleep, or were woken and have not got in yet | register | rise, reclaim, unregister | exact |
//!
//! # Life of a word
//!
//! ```text
//! thin:     free --grab--> owned --vacate_thin--> free        any --latch, inflate--> fat, for good
//! spinner:  spin_up --> seize_spinning (in), or retire --> late_seize (in), or register
//! waiter:   register --> park --> rise (in), or heed --> reclaim (in), or park again
//! release:  vacate --> nothing more, or choose --> signal --> bar, if it is time
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
//! | seize | neither HELD nor NO_BARGING -> HELD | arrival | compare-exchange, Acquire (E1) |
//! | spin_up | HELD, and no NO_BARGING -> one spinner more | arrival | compare-exchange, Relaxed |
//! | seize_spinning | neither HELD nor NO_BARGING -> HELD, one spinner less | spinner | compare-exchange, Acquire (E1) |
//! | retire | one spinner less | spinner at the end of its turns | fetch-sub, Relaxed |
//! | late_seize | not HELD -> HELD | spinner that has just retired | compare-exchange, Acquire (E1) |
//! | register | HELD or NO_BARGING -> one waiter more | arrival | compare-exchange, Relaxed |
//! | park | unchanged | waiter | waits for the event, with the edge of event.rs |
//! | rise | not HELD -> HELD, one waiter less, SIGNALLED and NO_BARGING cleared | waiter that took the event | compare-exchange, Acquire (E1) |
//! | heed | SIGNALLED cleared | the same, at the end of its turns | fetch-sub, Relaxed |
//! | reclaim | not HELD -> HELD, one waiter less, NO_BARGING cleared | the same, just after | compare-exchange, Acquire (E1) |
//! | unregister | one waiter less; NO_BARGING cleared with the last | waiter past its deadline | compare-exchange, Relaxed |
//! | vacate | HELD cleared | holder | fetch-sub, Release (E1) |
//! | choose | waiters, no spinner, not SIGNALLED -> SIGNALLED | ex-holder | compare-exchange, Relaxed |
//! | signal | unchanged | the same | sets the event, with the edge of event.rs |
//! | bar | waiters, and it is time -> NO_BARGING | ex-holder that signalled; arrival | compare-exchange, Relaxed |
//!
//! # Invariants
//! - I1 In the fat form HELD is set if and only if somebody is inside. asserted: `vacate`; checked by: conformance
//!   `exclusion`.
//! - I2 NO_BARGING implies waiters. asserted: `bar_if_due`, `enter_or_register`.
//! - I3 Whoever took the event and has not yet entered or heeded finds SIGNALLED, and waiters. asserted: `rise`,
//!   `heed_or_enter`.
//! - I4 Whoever releases is inside. asserted: `release_fat`, and `leave` of thin.rs; checked by: test `misuse_is_caught`.
//! - I5 Not HELD, and waiters: then there is a spinner; or SIGNALLED; or a vacate has not yet chosen one; or a spinner that
//!   retired, or a waiter that heeded, has not yet looked again. asserted: cannot be, locally; checked by: conformance
//!   `exclusion`.
//!
//! # Orderings
//! - E1 `vacate` -> `seize`, `seize_spinning`, `late_seize`, `rise`, `reclaim`: everything the last holder wrote.
//!
//! The edges T1 and T2 of the thin word are those of thin.rs. The edge from signal to park, in event.rs, tells the woken
//! waiter that it is counted and signalled. The other changes admit nobody, and the clock is a hint, so Relaxed is enough.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found the thin word free, or HELD clear. Conformance `exclusion`.
//! - No lost wake-up: a waiter registers only while HELD, or while NO_BARGING with others registered before it. The
//!   vacate that follows chooses a waiter unless somebody is on deck, that is, a spinner or a signalled waiter. Who is on
//!   deck leaves it in one RMW and then takes the lock if that RMW, or a later look, found it free; if it was HELD, the
//!   next vacate finds the deck empty (I5). A waiter that gives up leaves event and SIGNALLED to the next. Conformance
//!   `every_waiter_finishes`.
//! - Bypass: unbounded until no waiter has got in for a second. From then on arrivals do not enter until one has
//!   (conformance `relief_bars_arrivals`).
//!   So waiters together are relieved. One of them is served only probably: a woken waiter that does not get in goes
//!   behind the others, and each of them that gets in starts the clock again.
//! - At most seven spinners poll the fat word, and one woken waiter. Contenders for the thin form poll without a bound,
//!   until the first of them has inflated it. Conformance few_poll.
//! - Reentrant, to any depth. Conformance `nesting`.
//! - Deadlines: a waiter past its own gives up; a spinner finishes its turns first, 8 us. Conformance `timed`.
//!
//! # Cost
//! Alone: 2 RMWs, 1 line; nested, 2 more. Contended: a spinner pays one more RMW to come and shares one with getting
//! in; a release that wakes pays one more RMW, the event, and a reading of the clock. Lock 48 bytes, a node of 32 bytes on
//! the stack of a sleeper.
//!
//! # After release
//! Yes: choose, signal and bar follow the vacate, when somebody else may be inside. In the original the collector keeps
//! the lock alive meanwhile; here the thread that frees it must know that no release is under way.
//!
//! # Limits
//! 2^24 - 1 threads can own the thin form; the others inflate. 2^26 waiters. While somebody inflates the lock a release
//! waits for it, and tries fail.
//! A thread that waits for the latch of an event or for an inflation yields to threads of its own priority only.
//!
//! Unsafe: 3 blocks in coreclr.rs, all to use the wait room as the holder.

mod slow;
mod state;

use self::state::State;
use crate::coreclr::CoreclrMonitor;
use crate::thin;
use crate::{Defaults, Entry, LowerSpin, NoSpin, Promises, TuningSource};
use core::fmt;
use core::sync::atomic::Ordering::Relaxed;
use ondeck_core::{Atomic, Hardware, Platform, StaticPlatform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "coreclr-monitor",
    idea: "CoreCLR since 2.1: arrivals may enter past waiters, seven spin, one waiter at a time is woken",
    bytes: 48,
    rmws: 2,
    awake: "seven spinners, and one woken waiter that spins",
    woken: "one waiter, if nobody spins and none is on its way already",
    promises: Promises {
        timed: true,
        sleeps: true,
        reentrant: true,
        free_after_release: false,
        bypass: "unbounded until no waiter has got in for a second; then none by arrivals",
        starves: "one waiter among several, improbably; together they are relieved after a second",
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
const SPIN_UP: Step = step("spin_up");
const SEIZE_SPINNING: Step = step("seize_spinning");
const RETIRE: Step = step("retire");
const LATE_SEIZE: Step = step("late_seize");
const REGISTER: Step = step("register");
const PARK: Step = step("park");
const RISE: Step = step("rise");
const HEED: Step = step("heed");
const RECLAIM: Step = step("reclaim");
const UNREGISTER: Step = step("unregister");
const VACATE: Step = step("vacate");
const CHOOSE: Step = step("choose");
const SIGNAL: Step = step("signal");
const BAR: Step = step("bar");

const fn step(name: &'static str) -> Step {
    Step { lock: "coreclr-monitor", name }
}

const THIN: thin::Steps =
    thin::Steps { grab: GRAB, nest: NEST, unnest: UNNEST, vacate: VACATE_THIN, latch: LATCH, inflate: INFLATE };

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `coreclr-monitor`. The defaults are those of PR 14216.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Turns of a spinner and of a woken waiter; none where spinning cannot pay. Default 30 (`MonitorSpinCount`).
    pub spins: u32,
    /// First pause, in nanoseconds; it doubles. Default 37 (`MinNsPerNormalizedYield`, one PAUSE of a Skylake).
    pub first_pause_ns: u32,
    /// Longest pause, in nanoseconds. Default 272 (`NsPerOptimalMaxSpinIterationDuration`).
    pub longest_pause_ns: u32,
    /// Arrivals are barred when no waiter has got in for so many milliseconds. Default 1000 (PR 14216, 16 November 2017;
    /// 100 in dotnet/runtime).
    pub starved_after_ms: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning = Tuning { spins: 30, first_pause_ns: 37, longest_pause_ns: 272, starved_after_ms: 1000 };
}

/// A third of the turns. The settings of the PR's second table are those of a spin that was replaced before it was
/// merged; this stands in for them.
impl TuningSource<Tuning> for LowerSpin {
    const TUNING: Tuning = Tuning { spins: 10, ..<Defaults as TuningSource<Tuning>>::TUNING };
}

/// The settings of the third table of the PR.
impl TuningSource<Tuning> for NoSpin {
    const TUNING: Tuning = Tuning { spins: 0, ..<Defaults as TuningSource<Tuning>>::TUNING };
}

/// The settings to compare with those of `coreclr-monitor-before` of the same names.
pub const TUNINGS: &[(&str, Tuning)] = &[
    ("default", <Defaults as TuningSource<Tuning>>::TUNING),
    ("lower-spin", <LowerSpin as TuningSource<Tuning>>::TUNING),
    ("no-spin", <NoSpin as TuningSource<Tuning>>::TUNING),
];

impl Tuning {
    /// The pause of the `turn`th turn, in nanoseconds.
    fn pause_ns(self, turn: u32) -> u32 {
        self.first_pause_ns.saturating_mul(1_u32.checked_shl(turn).unwrap_or(u32::MAX)).min(self.longest_pause_ns)
    }
}

// -- 3. State: coreclr_monitor/state.rs -------------------------------------------------------------------------------

// -- 4. The lock; 5, 6, 8 and 10 as far as both monitors have them: coreclr.rs ----------------------------------------

/// The monitor of CoreCLR since PR 14216.
pub type RawCoreclrMonitor<P, T = Defaults> = CoreclrMonitor<P, Word<P>, T>;

/// The fat form: the word described above, and a clock.
pub struct Word<P: Platform> {
    word: P::U32,
    /// When a waiter last got in, or the first of them registered, in milliseconds; 0 if that is not known.
    clock: P::U32,
}

const _: () = assert!(size_of::<RawCoreclrMonitor<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawCoreclrMonitor<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = CoreclrMonitor::free(Word { word: P::U32_ZERO, clock: P::U32_ZERO });
}

// -- 6, 7, 8. acquire_slow, spin helpers, release_slow: coreclr_monitor/slow.rs ---------------------------------------

// -- 9. Waiter record: none; those who sleep are counted. -------------------------------------------------------------

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform> Word<P> {
    fn state(&self) -> State {
        State(self.word.load(Relaxed))
    }
}

impl<P: Platform> fmt::Debug for Word<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = if self.clock.load(Relaxed) == 0 { "stands" } else { "runs" };
        write!(f, "{:?}, clock {clock}", self.state())
    }
}

// -- 11. Tests of section 2; those of section 3 are beside it ---------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let tuning = <Defaults as TuningSource<Tuning>>::TUNING;
        let pauses: Vec<u32> = (0..6).map(|turn| tuning.pause_ns(turn)).collect();
        assert_eq!(pauses, [37, 74, 148, 272, 272, 272]);
        assert_eq!(tuning.pause_ns(u32::MAX), 272);
        let all: u32 = (0..tuning.spins).map(|turn| tuning.pause_ns(turn)).sum();
        assert!((7_000..8_000).contains(&all), "the header says 8 us, not {all} ns");
    }
}
