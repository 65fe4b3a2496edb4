//! linux-mutex-mcs: as linux-mutex-patch1, but spinners stand in a queue, and only the first of it watches the lock.
//!
//! # Idea
//! If many contenders spin on the lock's line, all see it free at once, and all but one write it in vain. If only one
//! may spin, the others have to sleep. There is a third way. A contender that wants to spin joins a queue and polls a
//! place of its own. Only the first of the queue watches the holder and tries. When it has got in, or has given up, the
//! next one is told by a single line transfer. So a pass costs the same with two spinners as with twenty.
//!
//! # Lineage
//! Linux 3.10 on x86-64: "mutex: Queue mutex spinners with MCS lock to reduce cacheline contention" (Waiman Long,
//! version 2 of the series, lkml.iu.edu, kernel/1304.1/04933), which is what the reply to the first version had asked
//! for. The queue is the lock of Mellor-Crummey and Scott (1991) in its usual form, see [`mcs`](crate::mcs), with the
//! node on the stack of the spinner. Kept: a first look before joining (`mutex_can_spin_on_owner`); one holder is
//! watched and one attempt made per turn (`mspin_lock` to `mspin_unlock`), after which a spinner that wants to go on
//! joins again, at the end; the waiting for the turn cannot be given up; the test before each RMW
//! (`MUTEX_SHOW_NO_WAITER`). Left out and changed: as in [`linux_mutex_base`](crate::linux_mutex_base). The budget runs
//! from before the first joining, so a spinner whose time has passed in the queue tries once and leaves. Added: yields
//! in the queue, as the kernel's spinners keep their cores and ours may not.
//!
//! Shared code: `linux_mutex.rs`, `linux_mutex/list.rs` and `linux_mutex/state.rs`.
//!
//! # State word
//!
//! | place | name | meaning when set | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | word = 0 | FREE | nobody inside | vacate, reopen | claim, try, grab, take | exact |
//! | word = 1 | HELD | somebody inside, or between vacate and reopen; if inside, release has nothing to look for | claim, try, grab, settle, vacate | vacate, claim, take | exact as a debt |
//! | word >= 2 | CROWDED | the same, but release must look at the list | claim, take | vacate, reopen, settle | may linger: the list may be empty |
//! | latch | LATCHED | somebody works on the list | latch | unlatch | exact |
//! | owner | - | who is inside, 0 for nobody | sign_in | sign_out | may be set late: a hint for spinners |
//! | first, last | - | the oldest and the youngest node of the list, 0 if it is empty | enqueue | dequeue | exact under the latch |
//! | tail | - | the node of the last in the spinners' queue, 0 if nobody spins | join | quit | exact |
//! | next, in a spinner's node | - | the node behind, 0 if there is none or it is not linked yet | link | - | may be set late |
//! | turn, in a spinner's node | ITS_TURN | this spinner is the first | pass_turn | - | exact |
//!
//! # Life of a word
//! That of linux-mutex-patch1; before and after the spinner's steps stand those of its queue:
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | claim | word + 1 | arrival | fetch-add, Acquire (E1); inside if it was FREE |
//! | try | FREE -> HELD | arrival that will not wait | compare-exchange, Acquire (E1) |
//! | sign_in | owner 0 -> me | new holder | store, Relaxed: a hint |
//! | join | tail any -> mine | contender | swap, AcqRel (E3); first if it found 0 |
//! | link | next of the node found: 0 -> mine | contender | store, Release (E4) |
//! | wait_turn | unchanged | contender in the queue | load of its own node, Acquire (E5) |
//! | look | unchanged | spinner | load of owner, Relaxed: a hint |
//! | peek | unchanged | spinner before grab, waiter before take | load, Relaxed; grab follows if FREE, take if not CROWDED |
//! | grab | FREE -> HELD | spinner that sees no owner | compare-exchange, Acquire (E1) |
//! | read_link | unchanged | first of the queue that leaves | load of its own node, Acquire (E4) |
//! | quit | tail mine -> 0 | first of the queue, if it seems to be the last | compare-exchange, Relaxed |
//! | pass_turn | turn of the next node | first of the queue that leaves | store, Release (E5) |
//! | latch | latch 0 -> 1 | waiter; ex-holder that found CROWDED | swap, Acquire (E2); tried again until it was 0 |
//! | take | any -> CROWDED | waiter with the latch | swap, Acquire (E1); inside if it was FREE |
//! | enqueue | list: behind the last | waiter with the latch | stores, Relaxed |
//! | park | unchanged | sleeper | waits for the permit of its node |
//! | dequeue | list: without the first | new holder with the latch, if it was in the list | stores, Relaxed |
//! | settle | CROWDED -> HELD | new holder with the latch, if the list is empty | store, Relaxed |
//! | unlatch | latch 1 -> 0 | who has the latch | store, Release (E2) |
//! | sign_out | owner me -> 0 | holder | store, Relaxed: a hint |
//! | vacate | word - 1 | holder | fetch-sub, Release (E1); free if it was HELD |
//! | reopen | any -> FREE | ex-holder with the latch | store, Release (E1) |
//! | wake | word untouched | ex-holder with the latch | gives the permit of the first node |
//!
//! # Invariants
//! Those of linux-mutex-patch1, and two more.
//! - I1 FREE says that nobody is inside. asserted: cannot be, locally; checked by: conformance `exclusion`.
//! - I2 From CROWDED the word comes to FREE by a reopen only, that is under the queue latch. asserted: cannot be;
//!   checked by: conformance `exclusion`.
//! - I3 The list and its nodes are touched under the queue latch only, and a waiter that leaves the list was its first.
//!   asserted: `remove_first`; checked by: conformance `exclusion`.
//! - I4 From sign_in to sign_out the owner field names the holder, else it is 0. asserted: `sign_in`, `sign_out`;
//!   checked by: test `misuse_is_caught`.
//! - I5 A vacate never finds FREE. asserted: `release`; checked by: test `misuse_is_caught`.
//! - I6 While the list is not empty, one of these is true: the word is CROWDED; a vacate that found it CROWDED has yet
//!   to reopen; the first waiter is awake, or its permit is there. asserted: cannot be; checked by: conformance
//!   `exclusion`.
//! - I7 Exactly one of those in the queue has the turn, or it is on its way to one; all looks but the first one, and
//!   all grabs, are by whoever has it. asserted: cannot be, locally; checked by: conformance `few_poll`.
//! - I8 A link is filled once, by the contender whose join returned its node, and whoever leaves after a failed quit
//!   waits for that: no node goes while another may still write to it. asserted: `link`; checked by: conformance
//!   `exclusion`.
//!
//! # Orderings
//! - E1 `vacate`, `reopen` -> `claim`, `try`, `grab`, `take`: everything the last holder wrote.
//! - E2 `unlatch` -> `latch`: the list, the nodes' links, and what the word was when it was left.
//! - E3 `join` -> `join`: the node whose address is found is initialised before somebody fills its link.
//! - E4 `link` -> `read_link`: the node behind is initialised; and the link is written before its node goes.
//! - E5 `pass_turn` -> `wait_turn`: the last access of the one before is over before the node goes.
//!
//! All else is Relaxed, for the reasons of linux-mutex-patch1. A quit leaves 0, which leads to no node.
//!
//! # Promises
//! - Mutual exclusion: each way in is one RMW that found FREE. Conformance `exclusion`.
//! - No lost wake-up: as in linux-mutex-patch1; no sleeper relies on a spinner. Whoever is in the queue gets its turn,
//!   since each that leaves passes it on, and a turn ends with its attempt or with the budget. Conformance `exclusion`.
//! - Bypass: unbounded. Arrivals get in before spinners, spinners before the woken waiter; among spinners none from
//!   joining to the attempt.
//! - Polling: one spinner, and those who wait for the latch. Those in the queue poll their own lines. Conformance
//!   `few_poll`.
//!
//! # Cost
//! Alone: 2 RMWs, 1 line. A contender: 1 claim; a turn of spinning 1 join, 1 grab if it has seen the word FREE, and at
//! the end of the queue 1 quit; then, if in vain, the list as in linux-mutex-patch1. What bounds the spinners: their
//! turn's, the holder and the budget as in linux-mutex-base; in the queue, nothing does, but there is little left of a
//! budget when the turn comes. A spinner that is preempted in the queue holds up all behind it: they pause, then yield.
//! Lock 40 bytes, in one line if aligned; 32 bytes of stack for the list, and while spinning 128, so that two spinners
//! never share a line or an adjacent pair.
//!
//! # After release
//! Yes, as in linux-mutex-base: after a reopen the ex-holder still reads the list and writes the latch. A spinner that
//! has got in leaves the queue before it enters the critical section.
//!
//! # Limits
//! As in linux-mutex-base: not recursive; no deadline; a release comes from the thread that acquired.
//!
//! Unsafe: 2 blocks here, to reach the node before or behind in the spinners' queue (I8); those of the shared code.

pub use crate::linux_mutex::Tuning;
use crate::linux_mutex::{LinuxMutex, Outcome, SpinBudget, State, Variant};
use crate::{Defaults, Entry, Promises, TuningSource};
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Hardware, Platform, RunState, StaticPlatform, Step};

/// The row of this lock in [`LOCKS`](crate::LOCKS).
pub const ENTRY: Entry = Entry {
    name: "linux-mutex-mcs",
    idea: "Linux 3.10: reads before writes, and spinners queue",
    bytes: 40,
    rmws: 2,
    awake: "all that queue to spin; the first watches the lock, until the holder changes or 50 us are over",
    woken: "the oldest sleeper, on each release after which somebody has come",
    promises: Promises {
        timed: false,
        sleeps: true,
        reentrant: false,
        free_after_release: false,
        bypass: "unbounded: spinners and arrivals go before sleepers",
        starves: "any sleeper",
    },
};

// -- 1. Steps: linux_mutex.rs, and seven more -------------------------------------------------------------------------

const PEEK: Step = Step { lock: "linux-mutex-mcs", name: "peek" };
const JOIN: Step = Step { lock: "linux-mutex-mcs", name: "join" };
const LINK: Step = Step { lock: "linux-mutex-mcs", name: "link" };
const WAIT_TURN: Step = Step { lock: "linux-mutex-mcs", name: "wait_turn" };
const READ_LINK: Step = Step { lock: "linux-mutex-mcs", name: "read_link" };
const QUIT: Step = Step { lock: "linux-mutex-mcs", name: "quit" };
const PASS_TURN: Step = Step { lock: "linux-mutex-mcs", name: "pass_turn" };

// -- 2, 3, 5, 6, 8, 10, 11: linux_mutex.rs ----------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// The mutex of Linux 3.10.
pub type RawLinuxMutexMcs<P, T = Defaults> = LinuxMutex<P, SpinQueue<P>, T>;

const _: () = assert!(size_of::<RawLinuxMutexMcs<Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform, T> RawLinuxMutexMcs<P, T> {
    /// A free lock, for statics.
    pub const INIT: Self = LinuxMutex::free(SpinQueue { tail: P::U64_ZERO });
}

// -- 7. What is this lock's own ---------------------------------------------------------------------------------------

const NOBODY: u64 = 0;
const NOT_YET: u32 = 0;
const ITS_TURN: u32 = 1;

/// Contenders spin one after the other.
pub struct SpinQueue<P: Platform> {
    /// Address of the last node.
    tail: P::U64,
}

impl<P: Platform> Variant<P> for SpinQueue<P> {
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        SpinQueue { tail: P::U64::new(NOBODY) }
    }

    fn is_worth_writing(word: &P::U32, hoped_for: fn(State) -> bool) -> bool {
        P::step(PEEK);
        hoped_for(State::of(word.load(Relaxed)))
    }

    fn spin<T: TuningSource<Tuning>>(&self, lock: &LinuxMutex<P, Self, T>) -> bool {
        if lock.look().is_some_and(|holder| P::is_running(holder) == RunState::No) {
            return false;
        }
        let budget = SpinBudget::new(T::TUNING);
        // Ended by the budget at the latest: each turn comes, and looks at it.
        loop {
            match self.take_a_turn(lock, &budget) {
                Outcome::Inside => return true,
                Outcome::InVain => return false,
                Outcome::Again => P::pause(),
            }
        }
    }

    fn is_at_rest(&self) -> bool {
        self.tail.load(Relaxed) == NOBODY
    }
}

impl<P: Platform> SpinQueue<P> {
    #[inline(never)]
    fn take_a_turn<T: TuningSource<Tuning>>(&self, lock: &LinuxMutex<P, Self, T>, budget: &SpinBudget<P>) -> Outcome {
        let node = Node::<P>::new();
        P::step(JOIN);
        let before = self.tail.swap(node.address(), AcqRel); // E3
        if before != NOBODY {
            node.link_behind(before);
            let mut n_looks = 0;
            // Ended by the one before, which passes the turn when its own is over.
            while !node.has_turn() {
                n_looks = LinuxMutex::<P, Self, T>::pause(n_looks);
            }
        }
        let outcome = lock.watch_holder(budget);
        self.leave::<T>(&node);
        outcome
    }

    /// Passes the turn on, if anybody is there to have it.
    fn leave<T: TuningSource<Tuning>>(&self, node: &Node<P>) {
        if node.behind() == NOBODY && self.quit(node) {
            return;
        }
        let mut n_looks = 0;
        // Ended by the contender that has joined behind us, whose next step is to link.
        while node.behind() == NOBODY {
            n_looks = LinuxMutex::<P, Self, T>::pause(n_looks);
        }
        pass_turn::<P>(node.behind());
    }

    /// False if somebody has joined behind.
    fn quit(&self, node: &Node<P>) -> bool {
        P::step(QUIT);
        self.tail.compare_exchange(node.address(), NOBODY, Relaxed, Relaxed).is_ok()
    }
}

// -- 9. Waiter record: that of the list in linux_mutex/list.rs, and this one of the spinners' queue -------------------
//
// | phase | next | turn |
// |---|---|---|
// | last, from the join to the next join | its thread reads | its thread reads; the one before stores once |
// | not last, until linked | the contender behind stores once, its thread reads | as above |
// | linked | its thread reads | as above |
//
// The thread leaves in two ways: its quit was the last change of the tail, so nobody knows the node; or it has read the
// link, so the one contender that knew the node has done its store (I8). The one before has made its store by then,
// because it was that store which gave us the turn.

/// What a spinner puts into the queue. On its stack, for one turn. 128 bytes: two lines, for processors that fetch
/// lines in pairs.
#[repr(align(128))]
struct Node<P: Platform> {
    next: P::U64,
    turn: P::U32,
}

impl<P: Platform> Node<P> {
    fn new() -> Self {
        Node { next: P::U64::new(NOBODY), turn: P::U32::new(NOT_YET) }
    }

    /// Exposes the provenance, so that it can be had back in another thread.
    fn address(&self) -> u64 {
        ptr::from_ref(self).expose_provenance() as u64
    }

    /// Tells the one before where we are.
    fn link_behind(&self, before: u64) {
        debug_assert_ne!(before, self.address(), "I8: a node stands behind itself");
        let before = ptr::with_exposed_provenance::<Node<P>>(before as usize);
        P::step(LINK);
        // SAFETY: our join has found it as the tail, so its thread has to read this link before it may leave (I8). E3
        // says that it is initialised.
        let before = unsafe { &*before };
        before.next.store(self.address(), Release); // E4
    }

    fn has_turn(&self) -> bool {
        P::step(WAIT_TURN);
        self.turn.load(Acquire) == ITS_TURN // E5
    }

    fn behind(&self) -> u64 {
        P::step(READ_LINK);
        self.next.load(Acquire) // E4
    }
}

/// The node at this address may be gone when this returns.
fn pass_turn<P: Platform>(next: u64) {
    let next = ptr::with_exposed_provenance::<Node<P>>(next as usize);
    P::step(PASS_TURN);
    // SAFETY: its thread waits for the turn that nobody but us gives; E4 says that it is initialised.
    let turn = unsafe { &(*next).turn };
    turn.store(ITS_TURN, Release); // E5
}
