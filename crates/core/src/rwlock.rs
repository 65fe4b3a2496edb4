//! rwlock: many readers or one writer, in turns that bound each other's waits.
//!
//! # Idea
//! Readers count themselves in one word, and a writer sets a flag in it. Only one writer at a time wants that: the one whose
//! *turn* it is. The turn is a mutex, the flagship. So writers wait as the flagship's threads do, one awake and the rest
//! asleep. Who has the turn *closes* the lock, lets the readers that are in finish, and takes it.
//!
//! A reader that finds the lock closed is counted among those that wait. The writer that leaves *admits* them all by the
//! write that takes its own flag away. So the next writer waits for them, and they wait for no second one.
//!
//! A lock that is mostly read becomes *spread*: readers count themselves by core, and write nothing that others read. A
//! writer makes it *compact* again. All of that is in `spread.rs`. A lock that is written, and of which nobody asks anything
//! meanwhile, becomes *quiet*: a writer leaves without a locked instruction (`quiet.rs`). Fair releases are in `fair.rs`.
//!
//! # Lineage
//! Phase-fair locks (Brandenburg and Anderson 2010): readers and writers take turns, all readers that wait in one. The flag that
//! holds readers back, and a mutex among writers: Linux' rw_semaphore and percpu-rwsem, Go's sync.RWMutex. Upgradable reads as
//! parking_lot has them. Left out: tickets, since writers have a mutex for that. For counters by core see `spread.rs`.
//!
//! # State word
//!
//! | bits | name | meaning | set by | cleared by |
//! |---|---|---|---|---|
//! | 0-16 | waiting | readers that found the lock closed and are not in | turn_away | admit, let_in, leave |
//! | 17-18 | heat | whether a counter pays | warm, spread, fold | claim, seize, admit |
//! | 19 | QUIET | the next hold of a writer, or this one, is quiet; of the word little counts then | hush | settle, close, doze, spread, a slow release |
//! | 20 | FOLDING | somebody adds to the word what the counter says | close, gather | fold |
//! | 21 | CALLED | readers were admitted that slept | admit | claim, seize |
//! | 22-31 | counter | a counter by core, 0 of a compact lock | spread, admit | fold |
//! | 32-51 | active | readers that are in, or have not looked yet; beside a counter, see there | enter, admit, let_in | exit, turn_away; beside a quiet hold slip, settle, admit |
//! | 52 | WRITER | a writer is in | claim, seize | admit, slip |
//! | 53 | WANTED | who has the turn waits for others to leave; new readers wait. Of a quiet hold: it knocks | close; knock, settle | seize, reserve, reopen; slip, settle, admit |
//! | 54 | UPGRADABLE | one of the readers may become a writer | reserve | unreserve, seize |
//! | 55 | UPGRADES | and it waits for the others | close | seize, reopen |
//! | 56 | ASLEEP | somebody may sleep on the word | doze | whoever wakes all |
//! | 57 | phase | turns with each admission | admit | admit |
//! | 58-63 | entered | counts who comes, and folds that are refused | enter, claim, seize, fold | nobody: it wraps |
//!
//! Beside it the turn: a flagship, held by at most one who waits to write or to read upgradably, or settles a quiet hold to read, and
//! by nobody who is in.
//!
//! # Life of a word
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | count | nothing; its core's part of the counter + 1 or - 1, if spread | reader | sequence: load, Acquire; store, Release |
//! | enter | active + 1, entered + 1; in if not closed | reader | fetch-add, Acquire |
//! | turn_away | active - 1, waiting + 1; or in, if open meanwhile | reader | CAS; load, Acquire |
//! | let_in | waiting - 1, active + 1, if not closed | waiting reader | CAS, Acquire |
//! | leave | waiting - 1 | waiting reader past its deadline | CAS |
//! | exit | active - 1 | reader | fetch-sub, Release |
//! | claim | idle -> WRITER | writer that has just come | CAS, Acquire |
//! | close | WANTED; of an upgrade, UPGRADES; of a spread lock FOLDING, too | who has the turn; upgradable reader | CAS |
//! | seize | WRITER, if active is 0 (of an upgrade: 1, and then 0) | who has the turn; upgradable reader | CAS, Acquire |
//! | reserve | UPGRADABLE, active + 1, WANTED off | who has the turn | CAS, Acquire |
//! | unreserve | UPGRADABLE off; also active - 1 | upgradable reader | CAS, Release |
//! | reopen | WANTED or UPGRADES off | who has set it: past its deadline, or to read upgradably once no writer is in | CAS |
//! | admit | WRITER off, active + waiting, waiting = 0, phase | writer; also active + 1 to go on as a reader | CAS, Release |
//! | hush | QUIET: as part of admit, or of an idle word | writer that leaves; whoever asks for it | CAS, Release; Relaxed |
//! | slip | a quiet hold: WRITER off, if nothing else is in the word | writer | sequence: load; store, Release |
//! | knock | a quiet hold: WANTED | who has the turn | CAS |
//! | settle | a quiet hold with WANTED, after an expulsion: QUIET off, and all that does not count | who has the turn | CAS |
//! | doze | ASLEEP, then sleep while the upper half is the same | who waits | CAS |
//! | warm | heat + 1 | reader | CAS |
//! | spread | a counter, active + 393,216 | reader | CAS, Release |
//! | gather | FOLDING | whoever finds active far from what it is at first, or asks for it | CAS |
//! | expel | nothing; nobody is about to count, or to slip, from then on | who has set FOLDING; who has knocked | system call |
//! | fold | no counter, active as it is, FOLDING off; or only that and entered + 1, if readers are far too many | who has set FOLDING | load, Acquire; CAS, AcqRel |
//!
//! # Invariants
//! - I1 A writer is alone. WRITER is set by writes that compare active with 0, of a compact lock. From then on whoever adds to
//!   active sees WRITER in the answer, and is turned away. Until then it is counted, and keeps the next writer waiting; that
//!   is all. asserted: `admit`; checked by: conformance `all_roles`, TLA+ `MutualExclusion`.
//! - I2 A waiting reader knows by one bit whether it was admitted. The phase turns only as a writer leaves; that writer came in
//!   when active was 0. So while an admitted reader has not left, the phase does not turn again. One that was not admitted sees
//!   the phase of its own turn_away, as each turn admits all who wait. asserted: cannot be, locally; checked by: conformance
//!   `all_roles`, TLA+ `WaitersAreCounted`.
//! - I3 No lost wake-up. A sleeper compares the upper half of the word, in which everything is that it waits for, with a value
//!   that has ASLEEP. (The counter is in the lower half. But each fold that ends a wait changes the upper one. One that is
//!   refused moves `entered` there, which comes round after 64 who come.) So when it falls asleep its wait is not over, and
//!   ASLEEP is set. Each write that may end a wait looks at ASLEEP in the value that it replaces, and then wakes all: admit,
//!   unreserve, reopen, a fold that is refused, and reserve if the lock was closed; exit, turn_away and fold if a writer
//!   waits for no other reader. ASLEEP is cleared only by who then wakes all. asserted: cannot be, locally; checked by: conformance `all_roles`, TLA+ `NoLostWakeup`.
//! - I4 WANTED has an owner, who has the turn, and UPGRADES has one, the upgradable reader. Who gives up takes its own away, but
//!   not from a quiet hold, where it says nothing.
//!   An upgrade does not wait for who has the turn: that one needs all readers gone, and the upgradable one is a reader.
//!   asserted: `unreserve`; checked by: test `upgrades`, TLA+ `WantedHasAnOwner`.
//! - I5 A lock with a counter has no writer, and as many readers as active, less 393,216, and the counter say together. asserted:
//!   cannot be, as a sum over cores takes time; checked by: test `a_writer_folds_it_and_finds_all_readers`, conformance
//!   `all_roles_with_counters`, TLA+ `SumIsRight`.
//! - I6 A quiet word is asked nothing: who waits for something takes QUIET away by the same write, and a hold that is quiet is settled
//!   before anybody relies on its end: `quiet.rs`. asserted: `cas`; checked by: conformance `quiet_holds`, TLA+ `QuietAlone`.
//!
//! # Orderings
//! - E1 `admit`, `slip` -> `enter`, `turn_away`, `let_in`, `claim`, `seize`, `reserve`, and the look of an admitted reader: what the
//!   writer wrote.
//! - E2 `exit`, `unreserve`, `count`, `fold` -> `claim`, `seize`, `fold`: what the readers have read, so that a writer does
//!   not change it before.
//! - E3 `spread`, `admit` -> `count`, `fold`: that the counter was zero.
//!
//! All writes to the word but `slip` are RMWs, so each is part of the release sequences of those before. A slip begins a new one: its
//! writer has acquired what came before. What turns a reader away, closes, reopens, knocks, settles or announces a sleeper lets
//! nobody in, so Relaxed is enough.
//!
//! # Promises
//! - Bound: a reader waits for at most one writer and, before that one, the readers that are in. A writer that has the turn closes
//!   the lock at once if readers have it, none waits and none was CALLED, and else after 37 us, or 75 us beside a writer; then
//!   it waits for the holder and for the readers that it admits. Beside a quiet hold both wait for some microseconds more, as
//!   `quiet.rs` has it. Until it has the turn it waits as for the flagship, each turn
//!   as long as that takes. Two do not count: writers that close and then give up, and readers that come in by the recursive
//!   form, without end.
//!   Conformance `writers_get_through`, `readers_get_through`.
//! - A thread that has the lock and acquires it again gets stuck beside a writer that waits. The recursive form does not: it
//!   waits for no writer that only waits.
//! - After a fair release, no writer that comes goes before one that waits (`fair.rs`), but before a reader that only knocks. Test
//!   `who_waits_goes_before_a_writer_that_comes`.
//!
//! # Cost
//! Reader: 2 RMWs, and none of a spread lock. Writer that finds the lock idle: 2 RMWs, on one line; 1 if it is quiet. Upgradable reader: 5. 16
//! bytes, and 8 on each core while it is spread. A reader that leaves, and lets a writer in that sleeps, wakes all who sleep,
//! as they sleep on one word. It does not take ASLEEP away, so the writer may wake nobody once more.
//!
//! # After release
//! No. The write that lets the next one in is the last touch, also of a slip; a wake goes by the address.
//!
//! # Limits
//! 524,288 readers at once, or so many holds of forgotten guards. The next one panics. Of a spread lock, which nobody adds up, the
//! next writer does, from 655,361 on; and of so many readers, when more than 131,072 have left by the word, the next one that does.
//! It is still counted then. A lock that many more readers enter at the same instant would run over. 131,071 may wait; the next panics.
//! A child of `vfork`, and a thread that `clone` has made without the C library, has no area of its own for sequences: it is not to
//! use a lock that may be spread or quiet.
//! The holder's core is not known, so nobody lends it a priority. A thread that ends in its sleep leaves the lock closed.

mod fair;
mod inspect;
mod pace;
mod quiet;
mod readers;
mod spread;
mod state;
mod upgradable;
mod wants;

use crate::ondeck::{Balanced, Policy, RawOndeck};
use crate::{Atomic, CoreCounters, Counted, Platform, RawLock, RawTimedLock, StaticPlatform, Step};
use core::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use pace::Pace;
use spread::give_back;
use state::{ASLEEP, CLOSED, MOST_ACTIVE, MOST_WAITING, ONE_ACTIVE, ONE_COMES, QUIET, State, UPGRADABLE, WRITER};
use wants::Want;

const ENTER: Step = step("enter");
const TURN_AWAY: Step = step("turn_away");
const LET_IN: Step = step("let_in");
const LEAVE: Step = step("leave");
const EXIT: Step = step("exit");
const CLAIM: Step = step("claim");
const CLOSE: Step = step("close");
const SEIZE: Step = step("seize");
const RESERVE: Step = step("reserve");
const UNRESERVE: Step = step("unreserve");
const REOPEN: Step = step("reopen");
const ADMIT: Step = step("admit");
const DOZE: Step = step("doze");
const COUNT: Step = step("count");
const WARM: Step = step("warm");
const SPREAD: Step = step("spread");
const EXPEL: Step = step("expel");
const FOLD: Step = step("fold");
const GATHER: Step = step("gather");
const SLIP: Step = step("slip");
const HUSH: Step = step("hush");
const KNOCK: Step = step("knock");
const SETTLE: Step = step("settle");

const fn step(name: &'static str) -> Step {
    Step { lock: "rwlock", name }
}

/// After that, a reader looks whether the writer has left that was in: about as long as a line takes from core to core.
const FIRST_LOOK_NS: u32 = 60;

/// How long a reader waits awake, and whoever has been woken: about what it costs to sleep and be woken.
const READER_AWAKE_NS: u32 = 2_500;

/// The same beside a writer that makes a spread lock compact: an expulsion, and the section.
const AWAKE_IN_FOLD_NS: u32 = 15_000;

/// A lock for many readers or one writer: see the head of this file.
#[repr(C)]
pub struct RawOndeckRwLock<P: CoreCounters, T: Policy = Balanced> {
    word: P::U64,
    /// Held by whoever waits to write, one at a time.
    turn: RawOndeck<P, T>,
}

const _: () = assert!(size_of::<RawOndeckRwLock<crate::Hardware>>() == 16);

impl<P: StaticPlatform + CoreCounters, T: Policy> RawOndeckRwLock<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = RawOndeckRwLock { word: P::U64_ZERO, turn: RawOndeck::INIT };
}

impl<P: CoreCounters, T: Policy> RawOndeckRwLock<P, T> {
    /// A free lock.
    pub fn new() -> Self {
        RawOndeckRwLock { word: P::U64::new(0), turn: RawOndeck::new() }
    }

    // -- Readers ------------------------------------------------------------------------------------------------------

    /// Acquires the lock for reading. Waits while a writer has it or waits for it.
    ///
    /// # Panics
    /// If 524,288 readers have the lock, or 131,071 wait for it.
    #[inline]
    pub fn read(&self) {
        self.enter(CLOSED);
    }

    /// As [`read`](Self::read), but does not wait for a writer that itself only waits: for a thread that may read already.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    #[inline]
    pub fn read_recursive(&self) {
        self.enter(WRITER);
    }

    /// As [`read`](Self::read), until the platform's clock has reached `deadline_ns`. Returns whether the caller has the lock.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    pub fn read_until(&self, deadline_ns: u64) -> bool {
        self.enter_until(CLOSED, deadline_ns)
    }

    /// As [`read_recursive`](Self::read_recursive), with a deadline.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    pub fn read_recursive_until(&self, deadline_ns: u64) -> bool {
        self.enter_until(WRITER, deadline_ns)
    }

    /// Acquires the lock for reading if no writer has it or waits for it. Never waits.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    #[inline]
    pub fn try_read(&self) -> bool {
        self.try_enter(CLOSED)
    }

    /// Acquires the lock for reading if no writer has it. Never waits.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    #[inline]
    pub fn try_read_recursive(&self) -> bool {
        self.try_enter(WRITER)
    }

    /// Releases the lock.
    ///
    /// # Panics
    /// If more than 655,360 readers have it, and the word has no room for one to leave by. The caller has the lock then.
    ///
    /// # Safety
    /// The calling thread has it for reading, and not upgradably.
    #[inline]
    pub unsafe fn release_read(&self) {
        if P::MAY_COUNT && P::is_noted(&self.word) {
            return self.leave_noted();
        }
        self.leave_by_word();
    }

    #[inline(always)]
    pub(super) fn leave_by_word(&self) {
        let word: *const P::U64 = &self.word;
        P::step(EXIT);
        let after = State(self.word.fetch_sub(ONE_ACTIVE, Release)).one_reader_less(); // E2
        if after.has_counter() {
            // So that who leaves next looks first. Only the address is used.
            P::note(word, true);
            if after.is_used_up() {
                end_process();
            }
        }
        if after.has(ASLEEP) && after.lets_a_writer_in() {
            wake_all::<P>(word);
        }
    }

    /// Reads, unless what `blocked` says is so. Returns whether the word counts the caller.
    #[inline(always)]
    fn enter(&self, blocked: u64) -> bool {
        if P::MAY_COUNT && P::is_noted(&self.word) {
            return self.enter_noted(blocked);
        }
        self.enter_by_word(blocked);
        true
    }

    #[inline(always)]
    pub(super) fn enter_by_word(&self, blocked: u64) {
        let before = self.add_one();
        if before.has(blocked) || before.is_looked_at() {
            self.enter_slow(before, blocked, None);
        }
    }

    #[inline(always)]
    fn add_one(&self) -> State {
        P::step(ENTER);
        State(self.word.fetch_add(ONE_COMES, Acquire)) // E1
    }

    /// The caller has counted itself active, and the lock was `before` as it says. Returns whether the caller has it.
    #[cold]
    #[inline(never)]
    fn enter_slow(&self, before: State, blocked: u64, deadline: Option<u64>) -> bool {
        let is_quiet = P::has_sequences() && before.is_quiet_hold();
        let Some(before) = (if is_quiet { self.enter_past_quiet(deadline) } else { Some(before) }) else {
            return false;
        };
        if before.n_active() >= MOST_ACTIVE {
            self.is_one_of_too_many();
        }
        self.heat(before);
        !before.has(blocked) || self.read_slow(before, blocked, deadline)
    }

    /// Counts itself only if it may wait, so that threads whose time is over hold up nobody.
    fn enter_until(&self, blocked: u64, deadline_ns: u64) -> bool {
        if self.try_enter(blocked) {
            return true;
        }
        if is_past::<P>(Some(deadline_ns)) {
            return false;
        }
        // What it adds beside a quiet hold stays there, so of all who come and give up one does.
        let state = self.load();
        let before = if state.is_quiet_hold() { state } else { self.add_one() };
        self.enter_slow(before, blocked, Some(deadline_ns))
    }

    /// The caller has counted itself, as one of more than there may be. Panics unless the word only seems to have them.
    #[cold]
    fn is_one_of_too_many(&self) {
        let has_room = self.keeps_in_range();
        let state = self.load();
        if !has_room || (!state.has_counter() && state.n_active() > MOST_ACTIVE) {
            self.leave_by_word();
            refuse_more();
        }
    }

    /// The word has room for no more readers, as `state` says: makes some, or panics.
    #[cold]
    fn has_room_or_refuses(&self, state: State) {
        if !state.has_counter() || !self.keeps_in_range() {
            refuse_more();
        }
        // Who folds it may be at it.
        P::yield_now();
    }

    fn try_enter(&self, blocked: u64) -> bool {
        if self.counts(Counted::ENTER) {
            return true;
        }
        loop {
            let state = self.load();
            if state.has(blocked) {
                return false;
            }
            if state.n_active() >= MOST_ACTIVE {
                self.has_room_or_refuses(state);
                continue;
            }
            P::step(ENTER);
            // E1
            if self.cas(state, state.one_reader_more(), Acquire) {
                self.heat(state);
                return true;
            }
        }
    }

    /// The same of a lock that was closed.
    fn read_slow(&self, before: State, blocked: u64, deadline: Option<u64>) -> bool {
        // It may be about to leave, and then all is done. What is written meanwhile would take the line away from it.
        if before.has(WRITER) && P::may_spin() {
            P::pause_ns(FIRST_LOOK_NS);
        }
        let Some(phase) = self.turn_away(before, blocked) else { return true };
        let mut pace = Pace::<P>::new(if before.has_counter() { AWAKE_IN_FOLD_NS } else { READER_AWAKE_NS });
        loop {
            let state = State(self.word.load(Acquire)); // E1
            if state.phase() != phase {
                return true;
            }
            if !state.has(blocked) {
                P::step(LET_IN);
                // E1
                if self.cas(state, state.let_in(), Acquire) {
                    return true;
                }
            } else if is_past::<P>(deadline) {
                P::step(LEAVE);
                if self.cas(state, state.left(), Relaxed) {
                    return false;
                }
            } else {
                self.wait_in(&mut pace, state, deadline);
            }
        }
    }

    /// Makes an active reader one that waits, and tells the phase. `None` if it is in: the lock is open meanwhile, or the
    /// writer that was in as it came has left. No other one can have come since.
    fn turn_away(&self, before: State, blocked: u64) -> Option<u64> {
        loop {
            let state = State(self.word.load(Acquire)); // E1
            if !state.has(blocked) || (before.has(WRITER) && !state.has(WRITER)) {
                return None;
            }
            if state.n_waiting() >= MOST_WAITING {
                self.leave_by_word();
                refuse_more();
            }
            P::step(TURN_AWAY);
            if self.change_and_wake(state, state.turned_away(), Relaxed, State::lets_a_writer_in) {
                return Some(state.phase());
            }
        }
    }

    // -- Writers ------------------------------------------------------------------------------------------------------

    /// Acquires the lock for writing. Waits while anybody else has it.
    ///
    /// # Panics
    /// If the lock was spread, and has more than 655,360 readers. The other ways to become a writer panic then, too.
    #[inline]
    pub fn write(&self) {
        if !self.try_write() {
            self.write_slow(Want::Write, None);
        }
    }

    /// As [`write`](Self::write), until the platform's clock has reached `deadline_ns`. Returns whether the caller has the lock.
    pub fn write_until(&self, deadline_ns: u64) -> bool {
        self.try_write() || self.write_slow(Want::Write, Some(deadline_ns))
    }

    /// Acquires the lock for writing if nobody has it or waits for it. Waits for nobody. Of a spread lock, an expulsion has to tell,
    /// and the answer is no while another thread is at that.
    #[inline]
    pub fn try_write(&self) -> bool {
        let state = self.load();
        if !state.is_idle() {
            // Nobody may read a spread lock, which only who has the turn can tell.
            let may_be_unread = state.is_spread() && !state.has(CLOSED | UPGRADABLE) && state.n_waiting() == 0;
            return may_be_unread && self.write_slow(Want::Write, Some(PAST));
        }
        P::step(CLAIM);
        self.cas(state, state.cooled().with(WRITER), Acquire) // E1, E2
    }

    /// Releases the lock. Readers that wait have it then.
    ///
    /// # Safety
    /// The calling thread has it for writing.
    #[inline]
    pub unsafe fn release_write(&self) {
        if !self.slips() {
            self.admit(|state| state);
        }
    }

    /// Goes on as a reader, together with those that wait.
    ///
    /// # Safety
    /// The calling thread has the lock for writing.
    pub unsafe fn downgrade(&self) {
        self.admit(State::one_reader_more);
    }

    /// Goes on as an upgradable reader, together with the readers that wait.
    ///
    /// # Safety
    /// The calling thread has the lock for writing.
    pub unsafe fn downgrade_to_upgradable(&self) {
        self.admit(|state| state.one_reader_more().with(UPGRADABLE));
    }

    #[inline(always)]
    fn admit(&self, go_on: impl Fn(State) -> State) {
        loop {
            let state = self.load();
            debug_assert!(state.has(WRITER), "I1: released by a writer");
            let heard = state.heard();
            let counter = self.counter_for(heard);
            P::step(ADMIT);
            let next = go_on(heard.admitting());
            let next = match counter {
                Some(counter) => next.spread(counter.get()),
                None if self.hushes(state) => next.with(QUIET),
                // There are no more counters: it has to be found anew that it would need one.
                None if heard.is_hot() && !heard.has(CLOSED & !WRITER) => next.cold(),
                None => next,
            };
            // E1, E3
            if self.change_and_wake(state, next, Release, |_| true) {
                return;
            }
            give_back::<P>(counter);
        }
    }

    #[cold]
    #[inline(never)]
    fn write_slow(&self, want: Want, deadline: Option<u64>) -> bool {
        match deadline {
            None => self.turn.acquire(),
            Some(deadline_ns) if !self.turn.try_acquire_until(deadline_ns) => return false,
            Some(_) => {}
        }
        // Also if there are too many readers, which is told by a panic.
        let _turn = Turn(&self.turn);
        self.wait_for(want, deadline)
    }

    /// Changes the word, and wakes all if somebody may sleep and the new state is one that may end a wait. The lock may be gone
    /// when this returns.
    #[inline(always)]
    fn change_and_wake(&self, from: State, to: State, order: Ordering, ends_a_wait: impl Fn(State) -> bool) -> bool {
        let word: *const P::U64 = &self.word;
        let wakes = from.has(ASLEEP) && ends_a_wait(to);
        let is_changed = self.cas(from, if wakes { to.without(ASLEEP) } else { to }, order);
        if is_changed && wakes {
            wake_all::<P>(word);
        }
        is_changed
    }

    #[inline(always)]
    fn load(&self) -> State {
        State(self.word.load(Relaxed))
    }

    #[inline(always)]
    fn cas(&self, from: State, to: State, order: Ordering) -> bool {
        debug_assert!(to.may_be_quiet(), "I6: who waits for something takes QUIET away");
        self.word.compare_exchange(from.0, to.0, order, Relaxed).is_ok()
    }
}

/// Releases the turn as it goes.
struct Turn<'a, P: Platform, T: Policy>(&'a RawOndeck<P, T>);

impl<P: Platform, T: Policy> Drop for Turn<'_, P, T> {
    fn drop(&mut self) {
        // SAFETY: who makes it has the turn.
        unsafe { self.0.release() };
    }
}

/// A deadline that has passed.
const PAST: u64 = 0;

#[cold]
fn refuse_more() -> ! {
    panic!("a reader-writer lock has {MOST_ACTIVE} readers, or {MOST_WAITING} that wait, and can have no more");
}

/// More readers than there may be have left by the word while it was folded. Nobody unwinds out of this: it ends the process.
#[cold]
extern "C" fn end_process() {
    panic!("the readers of a reader-writer lock cannot be counted any more");
}

/// Wakes whoever sleeps on the word of that address, which may be gone.
#[cold]
fn wake_all<P: Platform>(word: *const P::U64) {
    P::wake_upper(word, u32::MAX);
}

fn is_past<P: Platform>(deadline: Option<u64>) -> bool {
    deadline.is_some_and(|deadline_ns| P::now_ns() >= deadline_ns)
}

impl<P: CoreCounters, T: Policy> Default for RawOndeckRwLock<P, T> {
    fn default() -> Self {
        Self::new()
    }
}
