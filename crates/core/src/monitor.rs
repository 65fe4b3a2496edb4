//! monitor: a reentrant lock of four bytes that gets a mutex and a wait room while it is contended.
//!
//! # Idea
//! Most objects that can be locked never see a second thread. So the word of a *thin* monitor holds only who is inside,
//! how deep, and whether somebody else wants to be. It borrows a queue, a deck and a wait room only while they are
//! needed. The owner *inflates* the monitor: it puts the index of a *side object* into the word, and this object
//! contains the flagship. After a number of calm exits, the last holder *deflates* the monitor and gives the object
//! back. Three things go wrong if this is done carelessly:
//!
//! - A contender that inflates must act for the owner, who may leave, nest or inflate at the same moment. Here only the
//!   owner inflates. A contender says that it wants in and sleeps, and the owner's exit does the rest. So each thread
//!   writes its own number only, and *that is my number* cannot be misread.
//! - A contender that has read the index and comes late finds an object that is another monitor's by now. If it waits
//!   there, it waits for a thread that it has no business with. With a third monitor, that is a deadlock. So nobody
//!   waits before it has *pinned* the object and seen that the word still names it.
//! - A monitor that is deflated by one contender after another and inflated again pays a sleep each time. So it
//!   deflates only after many exits for which nobody had to wait.
//!
//! # Lineage
//! Bacon, Konuru, Murthy and Serrano, *Thin Locks* (1998): owner and depth in one word, inflation on contention or wait;
//! there inflation is for ever. Onodera and Kawachiya's *Tasuki* locks (1999): a contender sets a flag and sleeps, the
//! owner's exit inflates, and an idle lock deflates; kept, with the flag in the word itself, since the whole word is
//! ours. CoreCLR: the thin lock in front of a sync block with an index, and Monitor's operations (Enter, TryEnter,
//! Wait, Pulse, PulseAll) with their meaning. Changed: the side object is the flagship and its condition variable, so
//! a pulsed thread is moved to the waiters of the mutex and not woken into it. Left out: hash codes in the word.
//!
//! # State word
//!
//! | bits | name | meaning when set | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | 0-26 | owner | thin: number of the thread inside, 0 if free | grab | vacate, hand_over, inflate | exact |
//! | 27-29 | levels | thin: levels beyond the first | nest | unnest, inflate | exact |
//! | 30 | WANTED | thin: somebody may sleep on the word | want | hand_over, inflate | may linger: a sleeper may time out |
//! | 31 | INFLATED | fat: bits 0-30 are the index of the side object | hand_over, inflate, found | deflate | exact |
//!
//! The side object (side.rs) has the flagship's mutex and condition variable, and:
//!
//! | field | meaning | written by | may be stale? |
//! |---|---|---|---|
//! | owner | number of the thread inside, 0 if none | enter, exit: by that thread itself | exact for the thread that asks of itself |
//! | levels | levels beyond the first | the thread inside | exact |
//! | calm | exits since somebody last waited | the thread inside | exact |
//! | pins | threads that wait for the mutex or a pulse; CLOSED while no monitor has the object | pin, unpin, open, close, retire | exact |
//!
//! # Life of a word
//!
//! ```text
//!             grab                want                   hand_over                    enter
//!   free  <---------->  thin  ----------->  thin, WANTED ----------->  fat, nobody  <------->  fat, entered
//!    ^        vacate      |                      |                                    exit         |  ^
//!    |                    +------ inflate -------+-------------------------------------------------|--+
//!    +---- deflate --------------------------------------------------------------------------------+
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | grab | free -> thin | arrival | compare-exchange, Acquire (E1) |
//! | nest | thin -> one level more | owner | compare-exchange, Relaxed. Fat: plain writes to the object |
//! | want | thin -> WANTED | contender | compare-exchange, Relaxed; nothing if it is set |
//! | sleep | thin and WANTED, unchanged | contender | wait_on(word) |
//! | unnest | thin -> one level less | owner | compare-exchange, Relaxed. Fat: plain writes to the object |
//! | vacate | thin, first level, not WANTED -> free | owner | compare-exchange, Release (E1) |
//! | hand_over | thin, first level, WANTED -> fat with nobody inside; free if no side object can be had | owner that leaves | store, Release (E1, E2) |
//! | inflate | thin -> fat, entered by its owner | owner: out of levels, or about to wait | swap, Relaxed |
//! | rouse | word untouched | who took WANTED away | wake all, by address |
//! | found | free -> fat, entered | arrival whose number does not fit | compare-exchange, Acquire (E1) |
//! | enter | the object's mutex acquired; then the word is looked at again, unless pinned | contender of a fat monitor | the flagship's; the look is Acquire (E2) |
//! | stray | the object's mutex released again, because the word has changed | contender that came too late | the flagship's |
//! | exit | the object's mutex released, owner 0 before | thread inside, first level | the flagship's |
//! | pin | pins + 1; taken back if CLOSED, or if the word has changed | contender about to wait for the mutex; thread about to wait for a pulse, or to let a contender in | fetch-add, Acquire (E3) |
//! | unpin | pins - 1 | the same, inside again or given up | fetch-sub, Relaxed |
//! | close | pins 0 -> CLOSED | thread inside that would deflate | compare-exchange, Relaxed |
//! | deflate | fat -> free; then the mutex is released and the object given back | the same, once closed | store, Release (E1) |
//! | open | CLOSED cleared | who has taken the object from the pool | fetch-and, Release (E3) |
//! | retire | CLOSED set, though somebody may be about to take its pin back | dropper of a fat monitor that nobody is inside of; `found` that failed | fetch-or, Relaxed |
//!
//! # Invariants
//! - I1 At most one thread is inside: the one that a thin word names, or the owner in the side object that a fat word
//!   names. A thin word changes by its owner's hand, but for WANTED. asserted: `exit_slow`, `inflate`; checked by:
//!   `monitor_excludes`.
//! - I2 While somebody sleeps on the word, the word is thin and WANTED, or who took WANTED away has yet to rouse.
//!   asserted: cannot be, locally; checked by: `monitor_excludes`, TLA+ `NoLostWakeup`.
//! - I3 The owner of a side object is 0 or the thread that holds its mutex, and it says so itself. asserted: `own`,
//!   `exit_side`; checked by: `monitor_nests`.
//! - I4 A word names an object that is open, and no two words name one. It goes on naming it while the object is pinned
//!   by a thread that has looked at the word since, or held by one. asserted: `open`, `unpin`; checked by:
//!   `monitor_latecomer_goes_away`.
//! - I5 Whoever waits for the mutex, or for a pulse, has the object pinned for the monitor that it wants. asserted:
//!   nowhere, it speaks of many threads; checked by: `monitor_latecomer_does_not_wait`.
//!
//! # Orderings
//! - E1 `vacate`, `hand_over`, `deflate` -> `grab`, `found`: everything the last holder wrote.
//! - E2 `hand_over` -> the look of `enter`: everything the last holder wrote; the mutex has not been its own. Between
//!   fat holders it is the mutex that publishes, so `inflate` and `found` need no Release.
//! - E3 `open` -> `pin`: that the monitor which had the object before names it no more. All writes to the pins are
//!   read-modify-writes, so those in between continue the release sequence.
//! - A contender that holds the mutex needs no E3: the thread that deflated released it after it changed the word.
//! - The pool orders giving back before taking (`Pool`). Relaxed is enough for the rest: a thread that reads its own
//!   number reads what it wrote itself; `want` and `sleep` decide nothing but who is woken; levels and calm go from
//!   holder to holder with the mutex.
//!
//! # Promises
//! - Mutual exclusion by I1; reentrancy; levels come back after a wait. Conformance `monitor_excludes`, `monitor_nests`,
//!   `monitor_wait_restores_levels`.
//! - No lost wake-up: on the word by I2, `rouse` wakes all; in the side object by the flagship's promises. Nobody waits
//!   in an object whose monitor has gone, by I5. Conformance `monitor_excludes`, `monitor_latecomer_does_not_wait`.
//! - Waits end with a pulse or their deadline, never for no reason; a pulse is never spent on a wait that times out, and
//!   takes the oldest. Conformance `monitor_pulse_meets_timeout`, `monitor_pulses_in_order`.
//! - Bypass: while thin, for as long as the owner that saw WANTED late stays inside, since its exit inflates; then that
//!   of the flagship. Conformance `monitor_excludes`.
//! - Priorities: as the flagship's. A contender that finds the side object closed waits for the thread that has closed it
//!   with yields and then naps (yields.rs), until its deadline. Conformance `with_priority_on_one_core`,
//!   `monitor_under_priorities`.
//!
//! # Cost
//! Alone and thin: 2 RMWs and a load, 1 line, a thread number from thread-local memory; each further level 2 RMWs. Whoever
//! has entered remembers how (`EntryRecord`), so leaving begins with the write and not with a look, which would wait for the
//! write before it. Fat: the flagship's 2 RMWs, three looks at the word, one more line. Contended and fat: 2 RMWs more for
//! each that has to wait. Inflation by exit: 2 RMWs, the pool, one system call that wakes those that slept on the word,
//! all at once: the only herd here, once per inflation. Before that, contenders poll the word for `look_ns` each, without
//! writing. 4 bytes, and 64 for the side object.
//!
//! # After release
//! No: `vacate`, `hand_over` and `deflate` end with their write to the word, or wake by address; `exit` does not touch
//! the word at all, and the side object is never freed. Conformance `monitor_is_freed_by_its_last_user`.
//!
//! # Limits
//! 2^31 side objects at a time; 2^32 threads in the life of a process, after which entering panics. Threads after the
//! first 2^27 make every monitor fat that they enter. Inflation takes memory from the pool; leaving makes do without,
//! entering an eighth further level and `wait` panic if there is none, with the monitor as it was. `try_acquire` may find a fat monitor taken by a latecomer
//! of the object's last monitor, for the few instructions that it takes to see that.
//! 7 unsafe blocks, here and in side.rs, all about a mutex that the caller holds.

use crate::{Atomic, Platform, StaticPlatform, Step};
use crate::{Defaults, Entry, NotHeld, Promises, RawLock, RawTimedLock, TuningSource};
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use state::State;

mod enter;
mod exit;
mod side;
mod state;

pub use side::{Pool, Side};

/// What this lock is, in short.
pub const ENTRY: Entry = Entry {
    name: "monitor",
    idea: "four bytes with owner and level; a side object from a pool, with the flagship in it, while there is contention",
    bytes: 4,
    rmws: 2,
    awake: "one; before inflation all that look, for a bounded time",
    woken: "nobody while one is on deck; those that came before inflation, all at once",
    promises: Promises {
        timed: true,
        sleeps: true,
        reentrant: true,
        free_after_release: true,
        bypass: "bounded in time",
        starves: "nobody who has a place",
    },
};

// -- 1. Steps ---------------------------------------------------------------------------------------------------------

const GRAB: Step = step("grab");
const NEST: Step = step("nest");
const WANT: Step = step("want");
const SLEEP: Step = step("sleep");
const UNNEST: Step = step("unnest");
const VACATE: Step = step("vacate");
const HAND_OVER: Step = step("hand_over");
const ROUSE: Step = step("rouse");
const INFLATE: Step = step("inflate");
const FOUND: Step = step("found");
const DEFLATE: Step = step("deflate");
const ENTER: Step = step("enter");
const STRAY: Step = step("stray");
const EXIT: Step = step("exit");
const OPEN: Step = step("open");
const PIN: Step = step("pin");
const UNPIN: Step = step("unpin");
const CLOSE: Step = step("close");
const RETIRE: Step = step("retire");

const fn step(name: &'static str) -> Step {
    Step { lock: "monitor", name }
}

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// The constants of `monitor`.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// How long an arrival looks at a thin monitor that another thread is in, before it has it inflated.
    pub look_ns: u32,
    /// First gap between two looks; it doubles.
    pub look_gap_ns: u32,
    /// After so many exits in a row before which nobody had to wait, a fat monitor deflates.
    pub calm_exits: u32,
    /// Threads with a greater number inflate whatever they enter. The default is what fits into the word.
    pub most_thin_owner: u32,
}

impl TuningSource<Tuning> for Defaults {
    const TUNING: Tuning =
        Tuning { look_ns: 5_000, look_gap_ns: 40, calm_exits: 256, most_thin_owner: state::MOST_OWNER };
}

// -- 3. State: in state.rs --------------------------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// A reentrant lock of four bytes in which threads can wait for each other: see the head of this file.
#[repr(transparent)]
pub struct RawOndeckMonitor<P: Platform, S: Pool<P>, C: TuningSource<Tuning> = Defaults> {
    word: P::U32,
    kinds: PhantomData<fn() -> (S, C)>,
}

const _: () = assert!(ENTRY.bytes == 4, "the word is all there is");

impl<P: StaticPlatform, S: Pool<P>, C: TuningSource<Tuning>> RawOndeckMonitor<P, S, C> {
    /// A free monitor, for statics.
    pub const INIT: Self = RawOndeckMonitor { word: P::U32_ZERO, kinds: PhantomData };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, S: Pool<P>, C: TuningSource<Tuning>> RawLock for RawOndeckMonitor<P, S, C> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        RawOndeckMonitor { word: P::U32::new(0), kinds: PhantomData }
    }

    /// Enters if nobody else is inside. May fail, too, while a thread that came too late for the monitor that had the
    /// side object before is about to see so: for a few instructions after the object has changed hands.
    #[inline(always)]
    fn try_acquire(&self) -> bool {
        self.try_enter().is_some()
    }

    /// Enters, once more if the calling thread is inside.
    #[inline(always)]
    fn acquire(&self) {
        self.enter();
    }

    /// Leaves one level, and the monitor if it was the first.
    #[inline(always)]
    unsafe fn release(&self) {
        let entered = EntryRecord { me: me::<P>(), side: self.load().side().map(S::side) };
        // SAFETY: the caller's duty is the same, and the word of a monitor that one is inside of says how.
        unsafe { self.exit(entered) };
    }

    fn shows_sleeper(&self) -> Option<bool> {
        let state = self.load();
        state.side().map_or(Some(state.is_wanted()), |index| S::side(index).shows_sleeper())
    }

    fn is_at_rest(&self) -> bool {
        let state = self.load();
        state.side().map_or(state.is_free(), |index| S::side(index).is_at_rest())
    }
}

impl<P: Platform, S: Pool<P>, C: TuningSource<Tuning>> RawTimedLock for RawOndeckMonitor<P, S, C> {
    #[inline]
    fn try_acquire_until(&self, deadline_ns: u64) -> bool {
        self.enter_until(deadline_ns).is_some()
    }
}

/// How a thread has entered a monitor, so that it need not ask the word again when it leaves.
#[derive(Debug)]
pub struct EntryRecord<P: Platform> {
    /// Number of the thread.
    me: u32,
    /// What the word named, if the monitor was fat; it does so until the last level is left (I4). `None` may be out of
    /// date: since then the thread inside may have inflated it, and `vacate` finds another word than it expects.
    side: Option<&'static Side<P>>,
}

// By hand: the derived ones would ask the same of the platform.
impl<P: Platform> Clone for EntryRecord<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Platform> Copy for EntryRecord<P> {}

impl<P: Platform, S: Pool<P>, C: TuningSource<Tuning>> RawOndeckMonitor<P, S, C> {
    /// As [`acquire`](RawLock::acquire).
    #[inline(always)]
    pub fn enter(&self) -> EntryRecord<P> {
        let me = me::<P>();
        if self.grab(me) { EntryRecord { me, side: None } } else { self.enter_again(me) }
    }

    /// As [`try_acquire`](RawLock::try_acquire).
    #[inline(always)]
    pub fn try_enter(&self) -> Option<EntryRecord<P>> {
        let me = me::<P>();
        if self.grab(me) { Some(EntryRecord { me, side: None }) } else { self.try_enter_slow(me) }
    }

    /// As [`try_acquire_until`](RawTimedLock::try_acquire_until).
    #[inline]
    pub fn enter_until(&self, deadline_ns: u64) -> Option<EntryRecord<P>> {
        let me = me::<P>();
        if self.grab(me) { Some(EntryRecord { me, side: None }) } else { self.enter_slow(me, Some(deadline_ns)) }
    }

    /// As [`release`](RawLock::release), of the level that was entered so.
    ///
    /// # Safety
    /// - The calling thread has entered this monitor, got `entered` from that, and has not left that level.
    #[inline(always)]
    pub unsafe fn exit(&self, entered: EntryRecord<P>) {
        match entered.side {
            Some(side) => self.exit_side(side),
            None if self.vacate(State::thin(entered.me)) => {}
            None => self.exit_slow(),
        }
    }
}

impl<P: Platform, S: Pool<P>, C: TuningSource<Tuning>> RawOndeckMonitor<P, S, C> {
    /// Whether the calling thread is inside.
    #[inline]
    pub fn is_entered(&self) -> bool {
        let (state, me) = (self.load(), me::<P>());
        state.side().map_or(state.owner() == me, |index| S::side(index).is_owned_by(me))
    }

    /// Whether the calling thread, which is inside, has entered more than once.
    #[inline]
    pub fn is_nested(&self) -> bool {
        let state = self.load();
        state.side().map_or(state.levels() > 0, |index| S::side(index).is_nested())
    }

    /// Lets in a thread that is known to wait for the monitor, if there is one, and enters again; tells how. A thin
    /// monitor becomes fat instead, so that those who want it are known the next time. Does not unwind.
    ///
    /// # Safety
    /// - As for [`exit`](RawOndeckMonitor::exit); and the calling thread has entered once.
    #[inline]
    pub unsafe fn bump(&self, entered: EntryRecord<P>) -> EntryRecord<P> {
        let state = self.load();
        match state.side() {
            Some(index) if S::side(index).is_contended() => {
                // SAFETY: inside, as the caller says.
                unsafe { S::side(index).bump(entered.me) };
                entered
            }
            // They are asleep on the word: from here on they queue. Without memory they sleep on.
            None if state.is_wanted() => {
                let side = self.try_inflate(entered.me, state.levels());
                EntryRecord { side, ..entered }
            }
            _ => entered,
        }
    }

    /// Leaves all levels, waits for a pulse or until the platform's clock has reached `deadline_ns`, and enters again
    /// as deep as before. True if it was pulsed, false if the deadline came first.
    pub fn wait(&self, deadline_ns: Option<u64>) -> Result<bool, NotHeld> {
        let me = me::<P>();
        if !self.is_entered() {
            return Err(NotHeld);
        }
        let state = self.load();
        let side = match state.side() {
            Some(index) => S::side(index),
            None => self.inflate(me, state.levels()),
        };
        // SAFETY: inside, as we have just seen: nobody but the calling thread could change that.
        Ok(unsafe { side.wait(me, deadline_ns) })
    }

    /// Ends the wait of the thread that has waited longest; false if nobody waits.
    pub fn pulse(&self) -> Result<bool, NotHeld> {
        Ok(self.side_of_owner()?.is_some_and(Side::pulse))
    }

    /// Ends all waits; tells how many they were.
    pub fn pulse_all(&self) -> Result<usize, NotHeld> {
        Ok(self.side_of_owner()?.map_or(0, Side::pulse_all))
    }

    /// The side object, if there is one; nobody waits in a thin monitor.
    fn side_of_owner(&self) -> Result<Option<&'static Side<P>>, NotHeld> {
        if self.is_entered() { Ok(self.load().side().map(S::side)) } else { Err(NotHeld) }
    }

    #[inline(always)]
    fn load(&self) -> State {
        State(self.word.load(Relaxed))
    }

    /// Enters a free monitor, thin.
    #[inline(always)]
    fn grab(&self, me: u32) -> bool {
        if !self.load().is_free() || me > C::TUNING.most_thin_owner {
            return false;
        }
        P::step(GRAB);
        self.word.compare_exchange(State::FREE.0, State::thin(me).0, Acquire, Relaxed).is_ok() // E1
    }

    /// Leaves a monitor whose word is `state`: thin, on its first level, and not wanted.
    #[inline(always)]
    fn vacate(&self, state: State) -> bool {
        P::step(VACATE);
        self.word.compare_exchange(state.0, State::FREE.0, Release, Relaxed).is_ok() // E1
    }
}

/// Number of the calling thread.
#[inline(always)]
fn me<P: Platform>() -> u32 {
    P::thread_index().map_or_else(no_number, core::num::NonZeroU32::get)
}

#[cold]
fn no_number() -> u32 {
    panic!("2^32 threads have been started in this process: monitors cannot tell them apart any more")
}

impl<P: Platform, S: Pool<P>, C: TuningSource<Tuning>> Drop for RawOndeckMonitor<P, S, C> {
    #[inline]
    fn drop(&mut self) {
        if let Some(index) = self.load().side() {
            if S::side(index).retire() {
                S::give_back(index);
            }
        }
    }
}

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, S: Pool<P>, C: TuningSource<Tuning>> RawOndeckMonitor<P, S, C> {
    /// Whether the monitor has a side object now; stale at once.
    pub fn is_inflated(&self) -> bool {
        self.load().side().is_some()
    }
}

impl<P: Platform, S: Pool<P>, C: TuningSource<Tuning>> fmt::Debug for RawOndeckMonitor<P, S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.load();
        match state.side() {
            Some(index) => f.debug_struct("RawOndeckMonitor").field("side", S::side(index)).finish(),
            None => f
                .debug_struct("RawOndeckMonitor")
                .field("owner", &state.owner())
                .field("levels", &state.levels())
                .field("is_wanted", &state.is_wanted())
                .finish(),
        }
    }
}
