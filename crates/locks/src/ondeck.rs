//! ondeck: at most one waiter is on deck, awake. It leaves a busy lock to its holder for a while, then asks for it.
//!
//! # Idea
//! Waiters that poll take the cache line away from the holder. Waiters that are woken at each release take the holder's
//! time. So here at most one contender is *on deck*: it has the lock's one *seat* (also called the deck), is awake, and
//! polls. All others sleep in the *dugout*, a list that hangs from the word. While the seat is taken, a release wakes
//! nobody. If a release finds sleepers and an empty seat, it *calls* one sleeper: it takes that one off the list, keeps
//! the seat for it and wakes it. These rules keep the speed of one thread:
//!
//! - *A hot lock is left to its holder.* A lock is *hot* if it loses by being passed around. If the deck took such a
//!   lock whenever it was free, and the holder came right back, the two would swap the line at each release. So the
//!   deck of a hot lock polls only every few microseconds. When its patience is over, it *asks* by a flag. The next
//!   release then *passes* the lock: it gives the lock to the seat, still locked.
//! - *How it is known that a lock is hot.* Ten bits of the word count releases, so two polls tell the rate. At more
//!   than one release per 100 ns the lock is hot. At less than one per 2 us it is not. Between the two an *audit*
//!   decides: now and then an arrival sits down, does not take the lock, and times some five releases. The first one
//!   ends a section after a pass, if passes are the rule. The rest are of one thread, which has the cache lines by
//!   then. If the first took more than half as long as one of the rest, the lock is hot. If all threads run on one
//!   memory node (`Platform::memory_nodes`), passes are cheap. Then a lock is not hot at less than one release per 300
//!   ns, and an audit ends as soon as it sees that. HOT outlives the stay of the occupant that set it. It ends when an
//!   occupant finds the lock free for a while, when an audit says otherwise, or when one in 16 called sleepers tries.
//! - *The dugout rotates.* When the last call is a *rotation* ago (150 us), the deck asks. The release that passes the
//!   lock to it also calls the oldest sleeper, or nearly, to the seat that falls empty. Until this sleeper is up, it is
//!   in *flight*, and an arrival may sit in the seat as its *stand-in*. A sleeper that is up and finds a stand-in waits
//!   *in line*. The stand-in goes when it looks.
//! - *A release is one RMW, and looks at nothing.* It adds one to the counter, and one to LOCKED, which clears that. The
//!   counter lies just below LOCKED. If it is full, the addition carries into LOCKED, and the lock stays taken. This is the
//!   *alarm*: whoever asks something of the next release fills the counter in the same write. So either nothing was asked,
//!   and the lock is free, or the holder still has it, and looks what is asked. About once in 1024 releases the counter is
//!   full by itself; then the holder looks in vain. Only where atomics may be done far from the core (Arm) does it load the
//!   word first: nothing else would bring the line near.
//! - *Room.* The holder of a hot lock may write so often that another thread's compare-exchange never finds the value
//!   that it read. A thread that must get through (to sleep, to leave the seat, to call) sets ROOM by a fetch-or after
//!   two failures. The next release without other work then stays off the word for half a microsecond, so that a line
//!   can come and go.
//! - *Yields in a crowd.* While threads outnumber the cores (`Platform::is_crowded`: a yield was long lately), an
//!   arrival that finds no seat yields some times before it sleeps, and looks again each time. If it left its core
//!   idle, that core might stay idle for a time slice, although a called sleeper is queued on another core.
//!
//! # Lineage
//! Go's spinbit mutex (issue 68578): one spinner, recorded in the word, and no wake while there is one. CoreCLR's
//! Monitor (PR 14216): a waiter signalled is not signalled again until it is up. nsync and WebKit: one designated waker,
//! and relief for the oldest. parking_lot 0.13: release first, wake after. The list that is pushed by one
//! compare-exchange and linked backwards lazily is that of Rust's std queue-based RwLock. Our own: the counter whose
//! carry keeps the lock; the seat that never falls vacant under a foreign holder; the seat kept with a stand-in. Left out without having been measured: a learned spin
//! budget, a turnover flag toggled by release, waking the newest sleeper.
//!
//! # State word
//!
//! | bits | name | meaning when set | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | 0-38 | head | newest sleeper, its address without 9 low zero bits | enqueue, enlist | detach | exact |
//! | 39-40 | epoch | time of the last call, in rotations, modulo 4 | detach, invite | - | a hint |
//! | 41 | core | core of the last caller, modulo 2 | detach, invite | - | a hint |
//! | 42 | ROOM | the next release without other work stays off the word for a moment | make_room | vacate; whoever asked, when it gets through | a hint |
//! | 43 | LATCHED | one thread may edit the dugout, and waits for nobody meanwhile | pass_on, call_up, hand_down, latch | detach, unlatch | exact |
//! | 44 | VACANT | somebody sleeps and the seat is empty: the next release must call | take, accept, hand_down, enlist | claim, detach, call_up | exact but for an instant in claim (I3) |
//! | 45 | DECK | the seat is taken, or kept for a sleeper | claim, detach, invite | take, accept, leave, hand_down | exact |
//! | 46 | FLIGHT | a called sleeper is not up yet | detach, invite | show_up | exact |
//! | 47 | STANDIN | the occupant keeps the seat for a called sleeper | stand_in, detach | cede, take, accept, break_line | exact |
//! | 48 | FAIR | the occupant asks the next release to pass the lock | ask | take, accept, cede, leave, hand_down, nap | exact |
//! | 49 | PASSED | the lock is given to whoever has the seat; LOCKED stays set | pass, pass_on | accept, revoke, break_line | exact |
//! | 50 | NAPPING | the occupant sleeps on the word, and a release must wake it. With PASSED: not to be revoked | nap, pass, pass_on | rise, rouse, accept | may linger until the occupant is up |
//! | 51 | HOT | the lock loses by being passed around, or an audit is under way | ask, claim, stand_in | take, cede, leave | a hint |
//! | 52-61 | count | releases and passes, modulo 1024; full: the alarm | vacate, rouse, call_up, pass, pass_on; full: whatever sets FAIR, NAPPING, VACANT or ROOM | a release that adds, and whatever compares with nothing asked | full: never missing (I9), may linger; else a hint |
//! | 62 | LOCKED | somebody is inside, or PASSED | grab, take, break_line | vacate, rouse, call_up | exact |
//! | 63 | carry | nothing: what an addition to LOCKED carries ends here | vacate | vacate | of no meaning |
//!
//! # Life of a word
//!
//! The lock: free -> held -> free, or held -> PASSED -> held. The seat:
//!
//! | seat | DECK, FLIGHT, STANDIN | goes on to |
//! |---|---|---|
//! | empty | 0, 0, 0 | occupied by claim; kept by a call or invite |
//! | occupied | 1, 0, 0 | empty when its occupant goes to bat (acquires) or gives up; stand-in by a call |
//! | kept for a called sleeper | 1, 1, 0 | occupied by show_up; stand-in by stand_in |
//! | stand-in, the sleeper on its way | 1, 1, 1 | kept when the stand-in goes to bat or cedes; line by show_up |
//! | stand-in, the sleeper in line | 1, 0, 1 | occupied by the one when the other goes to bat, cedes or gives up |
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | grab | free -> held | arrival | fetch-or, Acquire (E1); inside if it was not LOCKED |
//! | claim | empty seat -> occupied | arrival | fetch-or DECK, and HOT for an audit, Relaxed; if it shows VACANT, fetch-and clears that |
//! | stand_in | kept -> stand-in, and HOT for an audit | arrival | compare-exchange, Relaxed |
//! | enqueue | pushed on the list, with DECK set, or VACANT and a rotation due | arrival | compare-exchange, Release (E2) |
//! | doze | word untouched | arrival whose node fits into no word | sleeps for a rotation, or until its deadline; then looks again |
//! | revoke | PASSED -> held by the revoker | arrival | compare-exchange, Acquire (E1) |
//! | accept | PASSED -> held | occupant | compare-exchange, Acquire (E1) |
//! | take | free -> held | occupant | compare-exchange, Acquire (E1) |
//! | cede | stand-in -> kept, or occupied by the called sleeper if that is in line | stand-in | compare-exchange, Relaxed |
//! | ask | FAIR set, and the alarm, and HOT if so | occupant | fetch-or, Relaxed |
//! | make_room | ROOM set, and the alarm | whoever has failed twice at a step that it must get done (`get_through`) | fetch-or, Relaxed |
//! | nap | NAPPING set on a held lock | occupant | compare-exchange, Relaxed; then wait_on_upper |
//! | rise | NAPPING cleared | occupant | compare-exchange, Relaxed |
//! | leave | occupied -> empty, nobody asleep | occupant that gives up | compare-exchange, Relaxed |
//! | hand_down | occupied -> empty and LATCHED | occupant that gives up | compare-exchange, Acquire (E3); a call follows |
//! | show_up | FLIGHT cleared | called sleeper | fetch-and, Relaxed |
//! | break_line | STANDIN cleared | called one in line that takes the lock or gives up | compare-exchange, Acquire (E1) |
//! | vacate | held -> free, or, under an alarm, held and the counter empty | holder | fetch-add, Release (E1); in the slow path a compare-exchange, then a pause if ROOM |
//! | rouse | held -> free, NAPPING cleared | holder | compare-exchange, Release (E1); then wake by address |
//! | pass | held -> PASSED | holder | compare-exchange, Release (E1); then wake by address if NAPPING |
//! | pass_on | held -> PASSED and LATCHED | holder | compare-exchange, AcqRel (E1, E3); a call follows |
//! | call_up | held -> free and LATCHED | holder | compare-exchange, AcqRel (E1, E3); a call follows |
//! | detach | sleeper off the list; call or removal done; latch dropped | latch holder | compare-exchange, AcqRel (E2, E3) |
//! | latch | LATCHED set | sleeper past its deadline | fetch-or, Acquire (E3) |
//! | unlatch | LATCHED cleared | the same, called meanwhile | fetch-and, Release (E3) |
//!
//! The condition variable of condvar.rs adds:
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | summon | a waiter's place: queued -> moving | notifier | compare-exchange, Relaxed |
//! | withdraw | a waiter's place: queued -> leaving | waiter past its deadline | compare-exchange, Relaxed |
//! | enlist | pushed on the list, with DECK or LOCKED set or somebody asleep | notifier | compare-exchange, Release (E2) |
//! | invite | empty seat, nobody asleep, and free -> kept for the waiter | notifier | compare-exchange, Relaxed |
//! | send_alone | a waiter's place: moving -> alone, as its node fits into no word, or it has no lock | notifier | store, Relaxed; a grant follows |
//!
//! Each compare-exchange sets the alarm in what it writes if that has FAIR, NAPPING, VACANT or ROOM, and else takes it out.
//! A call is: choose a sleeper, detach it with DECK and FLIGHT set (and STANDIN, if somebody sits there), grant.
//!
//! # Invariants
//! - I1 LOCKED if and only if exactly one of: a thread is inside; PASSED. asserted: `release`; checked by: `exclusion`,
//!   TLA+ `LockedIsExact`.
//! - I2 Somebody sleeps and not LOCKED: then DECK or LATCHED. So someone will act: an occupant, a called sleeper on its
//!   way, or a latch holder, which calls before it drops the latch (`State::unlatched`). checked by: `every_waiter_finishes`,
//!   TLA+ `NoLostWakeup`.
//! - I3 VACANT if and only if somebody sleeps and not DECK; but between the two writes of claim both are set. VACANT is set
//!   by whoever goes to bat, as it acquires, and by a notifier while somebody is inside: the holder's release hears of it
//!   (I9). Or by a latch holder, which calls. A call follows each time, so a sleeper may push itself beside VACANT as beside
//!   DECK. checked by: state.rs `settled_is_exact_and_idempotent`, TLA+ `VacantIsExact`, plan/tests.rs
//!   `no_release_leaves_a_sleeper_beside_an_empty_seat_and_calls_nobody`.
//! - I4 FLIGHT or STANDIN imply DECK. Of those who sit on deck, are in line, or are called and not up yet there are two
//!   under STANDIN, else one under DECK, else none; one of them is not up yet if and only if FLIGHT. So no call is made
//!   under either flag. One in line has the seat as soon as its stand-in is gone, and may not have looked yet. If a release
//!   calls another meanwhile, it is the stand-in of that one. The two of a seat are alike: whoever goes clears STANDIN and
//!   leaves the seat to the other. asserted: `show_up`, `State::called`; checked by: `every_waiter_finishes`, TLA+ `SeatState`.
//! - I5 PASSED together with NAPPING is not revoked: who was given the lock asleep gets it, unless the one in line
//!   behind it breaks the line. asserted: `give_way`; checked by: `r05_pass_is_accepted_or_revoked`, plan/tests.rs
//!   `nobody_takes_back_what_was_given_to_somebody_asleep_or_with_one_in_line_behind`.
//! - I6 LATCHED pins the sleepers in the list, and their acquisitions keep the lock's memory alive. A latch over an
//!   empty list is taken only by a called sleeper, inside its own acquisition. checked by: `freeing`, TLA+ `Latched`,
//!   TLA+ `NobodyTouchesFreed`.
//! - I7 At rest the word is its counter and hints. checked by: `exclusion`, TLA+ `IsAtRest`.
//! - I8 A node in the list has an address below 2^48. asserted: `State::with_head`; checked by: `far::mutual_exclusion`.
//! - I9 If FAIR, NAPPING, VACANT or ROOM is set and not PASSED, the counter is full, unless the holder has added to a full one
//!   already and is in the slow path, where it compares what it writes over. Only that addition and comparisons end an alarm,
//!   and a pass ends by a comparison. So no release frees a lock that is asked something. checked by: state.rs
//!   `a_release_under_an_alarm_keeps_the_lock`, `small::condvar_wakes_all_and_loses_none`, TLA+ `AlarmIsHeard`,
//!   spec/ondeck.bug_naps_quietly.cfg, spec/ondeck_condvar.bug_enlists_quietly.cfg.
//!
//! An equal word. A compare-exchange cannot tell the word that it read from an equal one of another time (the counter
//! returns after 1024 releases, and with each alarm), and need not: what it relies on beside the word holds whenever the word is equal:
//!
//! | step | relied on beside the word | why an equal word has it |
//! |---|---|---|
//! | enqueue, enlist | the node's `next` is the head | set from the compared head, whatever list hangs from that now; it is not followed before the latch, and then by E2 |
//! | invite | nobody waits | that is all in the word: no head, no DECK |
//! | stand_in, revoke | nothing: any arrival may | a pass revoked early, being another of the same count, is repeated at the next release |
//! | accept, take, nap, rise, leave, cede, hand_down | the seat is ours | only its occupant leaves it; whether as a stand-in, the word says |
//! | nap, its wait | the next release owes a wake | the upper half has LOCKED, NAPPING, the alarm and not PASSED, so the holder's release will hear of it, or has and will compare |
//! | break_line | there are two of us, and one of us goes | that is in the word: STANDIN (I4) |
//! | vacate, rouse, pass | LOCKED is ours | we are inside |
//! | pass_on, call_up | the same, and the latch is free | that is in the word |
//! | detach | the list is as it was linked, up to the head | under the latch the head changes by pushes only, so a node that was pushed on comes to the head again only by our own detach |
//! | summon, withdraw | a waiter's record, not the word | QUEUED does not return in the life of a record |
//!
//! So no decision that matters rests on the count, and the models hold without one. checked by: `no_count::mutual_exclusion`,
//! `no_count::every_waiter_finishes`, `no_count::deadlines`, `no_count::condvar`.
//!
//! # Orderings
//! - E1 `vacate`, `rouse`, `call_up`, `pass`, `pass_on` -> `grab`, `take`, `accept`, `revoke`, `break_line`: everything
//!   the last holder wrote. All writes to the word are RMWs, so those in between continue the release sequence; but for
//!   those of a process with one thread (`try_acquire_alone`, `release_alone`), which the start of another thread orders.
//! - E2 `enqueue`, `detach` -> the loads of the head under the latch: the fields of the sleeper, and the links.
//! - E3 `detach`, `unlatch` -> `pass_on`, `call_up`, `hand_down`, `latch`: the links that the last latch holder edited.
//! - E4 `Node::grant` -> `Node::is_granted`: that the caller is done with the node.
//! - The seat publishes nothing, so claims and polls are Relaxed: whoever goes to bat from it does so by E1.
//!
//! # Promises
//! - Mutual exclusion: by I1; each way in is one RMW that finds the lock free or PASSED. Conformance `exclusion`.
//! - No lost wake-up: by I2. Whoever relies on the next release says so in the word, with the alarm (I9), so that release
//!   frees nothing before it has seen it. A release in the slow path compares. Conformance `every_waiter_finishes`,
//!   `no_lost_wakeup`.
//! - One awake: pollers are the occupant of the seat and, while a wake is in flight, the one that was woken; and
//!   arrivals for the length of their first look, or of a pass that they see under way, or between their yields: in a
//!   crowd, and with `awake_yields`, as in [`LOW_LATENCY`], also without, if the lock is not hot. TLA+ `SeatState`.
//! - Waiting: who has a place (the seat, the line, the dugout) waits at most patience + G + 3 (H + L) if nobody sleeps, and
//!   with k older sleepers at most (k + 10) (rotation + G + 3 (H + L)), where G is the longest gap between two polls, H
//!   the longest hold and L the time in which the system runs a thread that may run. (k + 10: the seat itself, the sleeper
//!   on its way, and 8 skips for the sake of cores, `dugout::MOST_SKIPS`. 3: if holds are longer than `nap_after_ns`, one
//!   release wakes the deck, one passes the lock to it, and one calls.) [`Tuning::longest_wait_ns`] adds what an arrival may
//!   take before: a look, a pass under way, yields. Arrivals may bypass any number of times within these times. A pass
//!   revoked because its receiver did not run is repeated at the next release. A called sleeper waits for one stand-in at
//!   most, which leaves the seat as soon as it looks. Getting through between the writes of a holder needs no luck, thanks
//!   to ROOM, unless all releases are fair ones, which leave none. An arrival gets a place unless others win every race
//!   that it runs for the lock, the seat or the list. Conformance `waits_are_bounded`,
//!   `nobody_needs_luck_against_the_holder`, `a_deadline_needs_no_luck_either`, TLA+ `Served`.
//! - Deadlines are kept in every phase. Conformance `timed`.
//! - Priorities: nobody waits for ever for a thread of lower priority that has lost its core to it. Waits for a holder, or
//!   on a list, end in sleep. Who waits for a latch holder, for a pass under way or for a stand-in, which would be done at
//!   once if it ran, yields, and naps when that was in vain (yields.rs). It does not lend its priority: threads between the
//!   two may keep the other from its core, as with any lock that does not know its holder. Conformance
//!   `with_priority_on_one_core`, `plain_under_priorities`, `timed_under_priorities`.
//!
//! # Cost
//! Alone: 2 RMWs, and on Arm a load, 1 line. Contended pass: two more RMWs on the holder's side, one on the other; one poll of the line per gap of the
//! deck; no system call while nobody sleeps. An audit: one stay on deck of some five releases, by arrivals in a 64th
//! of the time. A rotation: one wake, paid by the ex-holder after its pass; on machines where lines travel far, one to
//! four releases that leave room.
//! Lock 8 bytes, sleeper 512 bytes of stack.
//!
//! # After release
//! No, unless a sleeper pins the lock: vacate, pass and rouse end with the write that frees or gives the lock, and wake
//! by address; call_up and pass_on go on under LATCHED with a sleeper in the list (I6), until detach drops it. After that
//! only the called node is touched, once, and then its address. Conformance `freeing`.
//!
//! # Limits
//! Not recursive. More than 1023 releases between two polls look like fewer: at 16 us between polls that is below 16 ns a
//! release. An alarm between two polls looks like many. Both errors are of judgement only.
//!
//! Only stacks below 2^48 have sleepers. A thread on another one (five-level paging, if it asked for such a stack; tags in
//! the upper bits, as of HWASan, or MTE on stacks) has no place in the dugout: between two attempts it sleeps for a rotation
//! (`doze`), and nobody calls it. It gets in if one of its looks finds the lock free, the seat empty with no rotation due,
//! or kept for a sleeper; it may starve while others are called past it. On deck the bound above holds for it. Its deadline
//! is kept, it loses no wake-up since it waits for none, and it holds up nobody.
//!
//! 27 unsafe blocks in this file and in calls.rs, deck.rs and dugout.rs, all about the lives of nodes and of the lock
//! after its release.

use crate::{Entry, Promises, RawLock, RawTimedLock};
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use dugout::Node;
use ondeck_platform::{Atomic, Hardware, Platform, StaticPlatform, Step};
use plan::{Arrival, Arrive};
use state::{ALARM, DECK, LOCKED, NAPPING, RELEASE, ROOM, State};
use watch::{Heat, Tries, Wait, epoch_now};

mod calls;
mod condvar;
mod deck;
mod dugout;
mod plan;
mod state;
mod tuning;
mod watch;

pub use condvar::{RawCondvar, Waiter};
pub use tuning::{BALANCED, Balanced, LOW_LATENCY, LowLatency, Policy, THROUGHPUT, Throughput, Tuning};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "ondeck",
    idea: "one waiter awake and patient, the rest asleep; a release counter tells it when to keep its hands off",
    bytes: 8,
    rmws: 2,
    awake: "one",
    woken: "nobody while one is on deck; a sleeper is called when the dugout rotates",
    promises: Promises {
        timed: true,
        sleeps: true,
        reentrant: false,
        free_after_release: true,
        bypass: "bounded in time",
        starves: "nobody who has a place",
    },
};

// -- 1. Steps ---------------------------------------------------------------------------------------------------------

const GRAB: Step = step("grab");
const CLAIM: Step = step("claim");
const STAND_IN: Step = step("stand_in");
const ENQUEUE: Step = step("enqueue");
const DOZE: Step = step("doze");
const REVOKE: Step = step("revoke");
const ACCEPT: Step = step("accept");
const TAKE: Step = step("take");
const CEDE: Step = step("cede");
const ASK: Step = step("ask");
const NAP: Step = step("nap");
const RISE: Step = step("rise");
const LEAVE: Step = step("leave");
const HAND_DOWN: Step = step("hand_down");
const SHOW_UP: Step = step("show_up");
const BREAK_LINE: Step = step("break_line");
const VACATE: Step = step("vacate");
const ROUSE: Step = step("rouse");
const PASS: Step = step("pass");
const PASS_ON: Step = step("pass_on");
const CALL_UP: Step = step("call_up");
const DETACH: Step = step("detach");
const MAKE_ROOM: Step = step("make_room");
const LATCH: Step = step("latch");
const UNLATCH: Step = step("unlatch");

const fn step(name: &'static str) -> Step {
    Step { lock: "ondeck", name }
}

// -- 2. Tuning: in tuning.rs. -- 3. State: in state.rs, and what to do next in plan.rs --------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The flagship: see the head of this file.
#[repr(transparent)]
pub struct RawOndeck<P: Platform, T: Policy = Balanced> {
    word: P::U64,
    policy: PhantomData<fn() -> T>,
}

const _: () = assert!(size_of::<RawOndeck<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T: Policy> RawOndeck<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = RawOndeck { word: P::U64_ZERO, policy: PhantomData };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, T: Policy> RawLock for RawOndeck<P, T> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    #[inline]
    fn new() -> Self {
        RawOndeck { word: P::U64::new(0), policy: PhantomData }
    }

    #[inline(always)]
    fn try_acquire(&self) -> bool {
        !self.load().has(LOCKED) && self.grab()
    }

    #[inline(always)]
    fn acquire(&self) {
        if !self.grab() {
            self.acquire_slow(None);
        }
    }

    #[inline(always)]
    unsafe fn release(&self) {
        // The load brings the line near; once it is here, its answer may as well be used.
        if P::atomics_may_be_far() && self.load().is_alarmed() {
            return Self::release_slow(self, false);
        }
        P::step(VACATE);
        let before = State(self.word.fetch_add(RELEASE, Release)); // E1
        debug_assert!(before.has(LOCKED), "I1: released by its holder");
        if before.after_release().has(LOCKED) {
            Self::release_slow(self, false);
        }
    }

    fn shows_sleeper(&self) -> Option<bool> {
        let state = self.load();
        Some(state.has_sleepers() || state.has(NAPPING))
    }

    fn is_at_rest(&self) -> bool {
        self.load().is_at_rest()
    }
}

impl<P: Platform, T: Policy> RawTimedLock for RawOndeck<P, T> {
    #[inline]
    fn try_acquire_until(&self, deadline_ns: u64) -> bool {
        self.grab() || self.acquire_slow(Some(deadline_ns))
    }
}

impl<P: Platform, T: Policy> RawOndeck<P, T> {
    /// As [`release`](RawLock::release), but if somebody waits the lock is given to a waiter instead of being freed:
    /// to the occupant of the deck, else to a sleeper that is called up for it.
    ///
    /// Costs a futile pause of the lock when the waiter has to be woken first: fairness is paid for in throughput.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    #[inline]
    pub unsafe fn release_fair(&self) {
        if self.load().is_alone() {
            // SAFETY: the caller holds the lock.
            unsafe { self.release() };
        } else {
            Self::release_slow(self, true);
        }
    }

    /// What [`acquire`](RawLock::acquire) does once its first attempt, [`grab`](Self::grab), has failed: for who wants to do
    /// something before waiting. False if the platform's monotonic clock has reached `deadline_ns`.
    #[inline]
    pub fn acquire_contended(&self, deadline_ns: Option<u64>) -> bool {
        self.acquire_slow(deadline_ns)
    }

    /// As [`try_acquire`](RawLock::try_acquire), without an atomic read-modify-write.
    ///
    /// # Safety
    /// The process has no other thread, and no signal handler acquires or releases the lock between the look and the write.
    #[inline(always)]
    pub unsafe fn try_acquire_alone(&self) -> bool {
        let state = self.load();
        // Nothing is written to a taken one: a signal handler may release that meanwhile.
        if !state.has(LOCKED) {
            self.word.store(state.with(LOCKED).0, Relaxed);
        }
        !state.has(LOCKED)
    }

    /// As [`release`](RawLock::release), without an atomic read-modify-write.
    ///
    /// # Safety
    /// The calling thread holds the lock, and the process has no other thread.
    #[inline(always)]
    pub unsafe fn release_alone(&self) {
        self.word.store(self.load().released().0, Relaxed);
    }

    /// How often the lock was released or passed, modulo 1024; `None` while something is asked of its holder, after which it is
    /// counted anew. Stale at once.
    pub fn n_releases(&self) -> Option<u64> {
        let state = self.load();
        (!state.is_alarmed()).then(|| state.count())
    }

    /// Whether some thread holds the lock; stale at once.
    #[inline]
    pub fn is_taken(&self) -> bool {
        self.load().has(LOCKED)
    }

    /// Whether some thread is known to wait for the lock; stale at once.
    #[inline]
    pub fn is_contended(&self) -> bool {
        !self.load().is_alone()
    }

    #[inline(always)]
    fn load(&self) -> State {
        State(self.word.load(Relaxed))
    }

    /// The first attempt of [`acquire`](RawLock::acquire): one RMW without a look before it. Whoever fails goes on with
    /// [`acquire_contended`](Self::acquire_contended), or gives up.
    #[inline(always)]
    pub fn grab(&self) -> bool {
        P::step(GRAB);
        self.word.fetch_or(LOCKED, Acquire) & LOCKED == 0 // E1
    }

    #[inline(always)]
    fn cas(&self, from: State, to: State, order: Ordering) -> bool {
        self.word.compare_exchange(from.0, to.alarmed_if_asked().0, order, Relaxed).is_ok()
    }

    /// One attempt to change the word, by a thread that must get through in the end.
    fn get_through(&self, from: State, to: State, order: Ordering, tries: &mut Tries) -> bool {
        let to = if tries.need_room() { to.without(ROOM) } else { to };
        if self.cas(from, to, order) {
            *tries = Tries::default();
            return true;
        }
        tries.fail();
        if tries.need_room() {
            P::pause_ns(tries.back_off_ns::<P>(T::tuning()));
            P::step(MAKE_ROOM);
            self.word.fetch_or(ROOM | ALARM, Relaxed);
            P::pause_ns(tries.gap_ns::<P>(T::tuning()));
        }
        false
    }

    // -- 6. acquire_slow ----------------------------------------------------------------------------------------------

    #[cold]
    #[inline(never)]
    fn acquire_slow(&self, deadline: Option<u64>) -> bool {
        let spins = P::may_spin();
        let mut heat = Heat::Cool;
        if spins {
            match self.first_look() {
                Some(seen) => heat = seen,
                None => return true,
            }
        }
        let (mut may_stand_in, mut n_yields) = (spins, 0);
        let node = Node::<P>::new();
        let mut tries = Tries::default();
        let mut pass: Option<(State, Wait<P>)> = None;
        // One step a turn; ends when the lock comes or the deadline passes.
        loop {
            let state = self.load();
            let (may_yield, stays_awake) = (n_yields < T::tuning().yields, n_yields < T::tuning().awake_yields);
            let me = Arrival { spins, may_stand_in, may_yield, stays_awake };
            let step = plan::arrival(
                state,
                me,
                || is_past::<P>(deadline),
                || epoch_now::<P>(T::tuning()) != state.epoch(),
                || state.is_coming_to(P::current_core()),
                P::is_crowded,
            );
            if step != Arrive::GiveWay {
                pass = None;
            }
            let turn = match step {
                Arrive::Grab if self.grab() => Turn::AtBat,
                Arrive::Grab => Turn::Again,
                Arrive::Leave => Turn::Left,
                Arrive::GiveWay => self.give_way(state, &mut pass),
                Arrive::Claim => self.claim(heat, deadline),
                Arrive::StandIn => self.stand_in(state, heat, deadline),
                Arrive::Yield => {
                    n_yields += 1;
                    P::yield_now();
                    Turn::Again
                }
                Arrive::Enqueue => self.enqueue(state, &node, &mut tries, deadline),
            };
            match turn {
                Turn::AtBat => return true,
                Turn::Left => return false,
                Turn::Ceded => may_stand_in = false,
                Turn::Again => {}
            }
        }
    }
}

/// How a stay in the dugout or on deck ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    /// The lock is ours.
    AtBat,
    /// The deadline has passed and nothing is left of us.
    Left,
    /// The seat has been given to the one it was kept for.
    Ceded,
    /// Nothing was gained: look again.
    Again,
}

fn is_past<P: Platform>(deadline: Option<u64>) -> bool {
    deadline.is_some_and(|deadline_ns| P::now_ns() >= deadline_ns)
}

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, T: Policy> fmt::Debug for RawOndeck<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.load();
        f.debug_struct("RawOndeck")
            .field("is_taken", &state.has(LOCKED))
            .field("has_deck", &state.has(DECK))
            .field("has_sleepers", &state.has_sleepers())
            .finish()
    }
}
