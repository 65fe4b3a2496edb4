//! ondeck: one waiter stays awake, a second one while it is being replaced. A busy lock is left to its holder for a while.
//!
//! # Idea
//! Two things make a contended lock slow. Waiting threads that look at it take its cache line away from the holder. And a
//! release that wakes a thread each time costs the holder more than a short section. So this lock keeps most waiting
//! threads asleep, and wakes them seldom.
//!
//! Think of a baseball team. One thread is *at bat*: it holds the lock. One is *on deck*: it is awake and looks at the
//! lock now and then. All others sleep in the *dugout*, a list that hangs from the lock's word.
//!
//! 1. *A thread arrives.* It tries the lock once. If the lock is taken, it looks again for half a microsecond. Then it sits
//!    down on deck, if that seat is empty. Else it goes to sleep in the dugout.
//! 2. *A release normally wakes nobody.* If threads sleep and the seat is empty, nobody awake would take the lock. Then the
//!    release wakes a sleeper. This is a *call*.
//! 3. *A lock that is not hot goes to the first thread that finds it free:* the thread on deck at its next look, or an
//!    arrival.
//! 4. *A hot lock stays with its holder.* A lock is *hot* if its sections are short and its holder comes right back:
//!    then passing it around costs more than it gives. Threads that wait leave such a lock alone, even when it looks
//!    free. When the patience of the thread on deck is over (75 us), it *asks*. The next release *passes* the lock to it
//!    instead of freeing it. If the lock is free by then, and stays so, it takes it.
//! 5. *The dugout rotates.* If the last call is 150 us ago, the thread on deck asks too. The release that passes the lock
//!    to it also calls the oldest sleeper. So everybody gets a turn; *Promises* has the bound.
//!
//! Four threads and a hot lock, as the simulator ran them (`ondeck sim --machine i7-13700h --workload
//! sections/cs200-out400 --threads 4 --lock ondeck --trace FILE`, 700 to 956 us; a character is 4 us):
//!
//! ```text
//! A  zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz    # acquires again and again
//! B  ##########################zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz    . sits on deck
//! C  .........................#######################################    z sleeps in the dugout
//! D  zzzzzzzzzzzzzzzzzzzzzzzzzzww....................................    w wakes up
//! ```
//!
//! After 100 us C asks. B passes the lock to C and calls D, who has slept longest. B finds the seat kept for D, and goes to
//! sleep. D needs 10 us to wake up, and sits down.
//!
//! *There are two seats, but mostly one is in use.* While a called sleeper wakes up, one seat is kept for it, and an arrival
//! may sit in the other. So nobody has to wait for a thread that is still asleep. When the called sleeper is up, the arrival
//! leaves: it takes the lock at its next look, or goes to the dugout.
//!
//! A lock and an unlock without contention are one atomic instruction each:
//!
//! - *Lock* sets the bit LOCKED, and looks whether it was set before.
//! - *Unlock* adds a constant to the word, without looking first. The constant takes one away at LOCKED, which clears that
//!   bit, and adds one to a counter of releases below it.
//! - *The alarm:* if somebody wants something from the next release, it first sets all bits of the counter. Then the
//!   addition carries out of the counter, and LOCKED stays set. So the unlocking thread still has the lock, and reads what is
//!   asked. A counter that is full by itself, once in 1024 releases, only makes one unlock look in vain.
//! - *Quiet:* a lock that was asked nothing in 1024 releases is released without an atomic instruction from then on, until
//!   somebody finds it taken. quiet.rs has all of that. What follows here is about *loud* locks.
//!
//! The counter tells the thread on deck how often the lock was released between two looks. More than one release in 100 ns:
//! hot. Less than one in 2 us (300 ns if all threads run on one memory node): not hot. Between the two an *audit* decides.
//! Now and then an arrival sits down and, instead of taking the lock, times the next five releases. Before the first one the
//! lock came from another thread. Then one thread acquires again and again, with the data in its cache. Of the first
//! section the audit sees only the end. If that alone takes more than half as long as one whole turn of the others, moving
//! the lock costs too much: it is hot. It stays hot until somebody finds it free for a while, or an audit says otherwise.
//!
//! Two more rules help in rare cases. *Room:* the holder of a hot lock may write so often that another thread's
//! compare-exchange never succeeds. A thread that has failed twice sets ROOM. The next unlocking thread then leaves the word
//! alone for half a microsecond. *Yields:* an arrival that finds no seat at a lock that is not hot yields up to eight times
//! before it sleeps. If it slept at once, its core could stay idle although a called sleeper is queued on another one.
//!
//! *A rush.* Who has been notified by a condition variable must not depend on one thread that has been called and got no core.
//! So a notification in a hurry sets RUSH. The next release then calls a sleeper although a seat is taken or kept, and goes on
//! calling those that have been notified for as long as the lock stays free. They are called *alone*: they get no seat, and
//! acquire as arrivals do. If somebody has the latch, the rush is left to whoever drops it.
//!
//! # Lineage
//! Go's spinbit mutex (issue 68578): one spinner, recorded in the word, and no wake while there is one. CoreCLR's
//! Monitor (PR 14216): a waiter signalled is not signalled again until it is up. nsync and WebKit: one designated waker,
//! and relief for the oldest. parking_lot 0.13: release first, wake after. The list that is pushed by one
//! compare-exchange and linked backwards lazily is that of Rust's std queue-based RwLock. Our own: the counter whose carry
//! keeps the lock when something is asked; two seats that are alike, of which whoever goes leaves one to the other; the audit. Left
//! out without having been measured: a learned spin budget, waking the newest sleeper.
//!
//! # State word
//!
//! | bits | name | meaning when set | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | 0-38 | head | newest sleeper, its address without 9 low zero bits; if QUIET, the token of who knocks | enqueue, enlist; knock | detach; slip, settle, vacate | exact |
//! | 39-40 | epoch | time of the last call, in rotations, modulo 4 | detach, invite | - | a hint |
//! | 41 | core | core of the last caller, modulo 2 | detach, invite | - | a hint |
//! | 42 | ROOM | the next release without other work stays off the word for a moment | make_room | vacate; whoever asked, when it gets through | a hint |
//! | 43 | LATCHED | one thread may edit the dugout, and waits for nobody meanwhile | pass_on, call_up, hurry, latch | detach, unlatch | exact |
//! | 44 | DECK | a seat is taken, or kept for a sleeper | claim, detach, invite | take, accept, leave | exact |
//! | 45 | SECOND | the other seat too | claim, detach | take, accept, leave | exact |
//! | 46 | FLIGHT | a called sleeper, one of the two, is not up yet | detach, invite | show_up | exact |
//! | 47 | FAIR | an occupant asks the next release to pass the lock | ask | take, accept, leave, nap | exact |
//! | 48 | PASSED | the lock is given to who sits; LOCKED stays set | pass, pass_on | accept | exact |
//! | 49 | NAPPING | an occupant, or both, sleep on the word, and a release must wake them | nap | rise, rouse, accept, leave | may linger until they are up |
//! | 50 | HOT | the lock loses by being passed around, or an audit is under way | ask, claim | take, leave | a hint |
//! | 51 | QUIET | the next release looks and stores; of the rest of the word LOCKED counts, and the head is a token | hush | settle; a release that finds more than it expects; invite | exact |
//! | 52-61 | count | releases and passes, modulo 1024; full: the alarm | vacate, rouse, call_up, hurry, pass, pass_on; full: whatever asks something | a release that adds, and whatever compares with nothing asked | full in vain, once in 1024 releases and after a claim |
//! | 62 | LOCKED | somebody is inside, or PASSED | grab, take, `try_acquire_alone` | vacate, rouse, call_up, hurry, `release_alone` | exact |
//! | 63 | RUSH | the next release calls sleepers, whoever has a seat | enlist, enqueue, whoever ends a rush while nobody is up | hurry; vacate with nobody asleep | may linger on a free lock; whoever calls next then goes on with the rush |
//!
//! Asked of the next release are FAIR, NAPPING, ROOM, RUSH, and a call if the lock is *vacant*: somebody sleeps and no seat
//! is taken or kept.
//!
//! # Life of a word
//!
//! The lock: free -> held -> free, or held -> PASSED -> held. The seats:
//!
//! | seats | DECK, SECOND, FLIGHT | goes on to |
//! |---|---|---|
//! | both empty | 0, 0, 0 | one taken by claim; one kept by a call or invite |
//! | one taken | 1, 0, 0 | both empty when its occupant goes to bat (acquires) or leaves; the other kept by a call |
//! | one kept for a called sleeper | 1, 0, 1 | one taken by show_up; the other taken by claim |
//! | one taken, one kept | 1, 1, 1 | one kept when the occupant goes to bat or leaves; both taken by show_up |
//! | both taken | 1, 1, 0 | one taken when either goes to bat or leaves |
//!
//! The two seats are alike: whoever goes clears SECOND if it is set, else DECK. A pass is for both: who looks first accepts it.
//! While nothing is passed, one of two has been called and stays, and the other, which came by itself, goes.
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | grab | free -> held | arrival | fetch-or, Acquire (E1); inside if it was not LOCKED |
//! | claim | both seats empty -> one taken; one kept -> the other taken | arrival | fetch-or DECK, and HOT for an audit, Relaxed; beside a kept one compare-exchange, Relaxed |
//! | enqueue | pushed on the list, with a seat taken, or vacant and a rotation due; with a deadline not while LATCHED | arrival | compare-exchange, Release (E2) |
//! | doze | word untouched | arrival whose node fits into no word | sleeps for a rotation, or until its deadline; then looks again |
//! | accept | PASSED -> held, one seat less taken | occupant | compare-exchange, Acquire (E1) |
//! | take | free -> held, one seat less taken | occupant | compare-exchange, Acquire (E1) |
//! | ask | FAIR and the alarm set, and HOT if so | occupant | fetch-or, Relaxed |
//! | make_room | ROOM and the alarm set | whoever has failed twice at a step that it must get done (`get_through`) | fetch-or, Relaxed |
//! | nap | NAPPING set on a held lock | occupant | compare-exchange, Relaxed; then wait_on_upper |
//! | rise | NAPPING cleared | occupant | compare-exchange, Relaxed; then wake by address if SECOND |
//! | leave | one seat less taken | occupant out of time, or on its way to the dugout | compare-exchange, Relaxed |
//! | show_up | FLIGHT cleared | called sleeper | fetch-and, Relaxed |
//! | slip | quiet: held -> free | holder | a load, then a store with Release (E1), unless expelled in between |
//! | hush | held -> quiet and free | holder | compare-exchange, Release (E1) |
//! | knock | quiet and held: the token set | arrival, notifier | compare-exchange, Relaxed |
//! | expel | nothing: ends the slips under way | the same, later | a system call |
//! | settle | quiet and held, with the own token -> held | the same, then | compare-exchange, Relaxed |
//! | vacate | held -> free, or, under an alarm, held and the counter empty | holder | fetch-add, Release (E1); in the slow path a compare-exchange, then a pause if ROOM |
//! | rouse | held -> free, NAPPING cleared | holder | compare-exchange, Release (E1); then wake by address |
//! | pass | held -> PASSED | holder | compare-exchange, Release (E1); then wake by address if NAPPING |
//! | pass_on | held -> PASSED and LATCHED | holder | compare-exchange, AcqRel (E1, E3); a call follows |
//! | call_up | held -> free and LATCHED | holder | compare-exchange, AcqRel (E1, E3); a call follows |
//! | hurry | held -> free and LATCHED, NAPPING and RUSH cleared | holder | compare-exchange, AcqRel (E1, E3); then wake by address if NAPPING; a call follows |
//! | detach | sleeper off the list; call or removal done; latch dropped | latch holder | compare-exchange, AcqRel (E2, E3) |
//! | latch | LATCHED set | sleeper past its deadline; who calls, in a rush, on a free lock | fetch-or, or compare-exchange, Acquire (E3) |
//! | unlatch | LATCHED cleared | the sleeper past its deadline, called meanwhile | compare-exchange, Release (E3); a call instead if nobody else would |
//!
//! The condition variable of condvar.rs adds:
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | summon | a waiter's place: queued -> moving | notifier | compare-exchange, Relaxed |
//! | withdraw | a waiter's place: queued -> leaving | waiter past its deadline | compare-exchange, Relaxed |
//! | enlist | pushed on the list, with a seat taken or LOCKED set or somebody asleep; RUSH set in a hurry, on a held lock | notifier | compare-exchange, Release (E2) |
//! | invite | no seat taken, nobody asleep, and free -> kept for the waiter | notifier | compare-exchange, Relaxed |
//! | send_alone | nothing: in a hurry, and the lock is free, but somebody has a seat or sleeps; or somebody has the latch; or a quiet lock cannot be made loud; or the waiter's node fits into no word, or it has no lock | notifier | a grant of a waiter that is called alone |
//!
//! Each compare-exchange sets the alarm in what it writes if that asks something, and else takes it out.
//! A call is: choose a sleeper, detach it with FLIGHT and a seat set, grant. In a rush, if a seat is taken, without either: it is
//! called alone. After a call, another one follows if RUSH is set, the lock is free, and who was called has been notified.
//!
//! # Invariants
//! - I1 LOCKED if and only if exactly one of: a thread is inside; PASSED. asserted: `release`; checked by: `exclusion`,
//!   TLA+ `LockedIsExact`.
//! - I2 Somebody sleeps and not LOCKED: then DECK or LATCHED. So someone will act: an occupant, a called sleeper on
//!   its way, or a latch holder, which calls before it drops the latch (`State::unlatched`), also if a seat is taken and
//!   RUSH is set. Somebody sleeps, LOCKED, and no seat taken: then the holder's release calls (I9). asserted: `leave`; checked by: `every_waiter_finishes`, TLA+
//!   `NoLostWakeup`, plan/tests.rs `no_release_leaves_a_sleeper_beside_an_empty_seat_and_calls_nobody`.
//! - I4 DECK and SECOND together count those who sit, or have been called and are not up yet; one of them is not up if and
//!   only if FLIGHT. FLIGHT or SECOND imply DECK, so no call is made under either flag. Of two, unless PASSED, exactly one has
//!   been called: a call beside an occupant that has been called comes with a pass, and that ends when one of the two accepts
//!   it. PASSED implies DECK, or LATCHED before a call. asserted: `claim`, `sit`, `show_up`, `State::called`; checked by:
//!   `every_waiter_finishes`, TLA+ `SeatState`, TLA+ `OneStays`.
//! - I5 An occupant that naps does so under NAPPING, LOCKED and not PASSED, or its wake is on the way: whoever clears
//!   NAPPING, or passes, wakes both. checked by: `r06_both_seats_nap`, TLA+ `NoLostWakeup`,
//!   proof/spec/ondeck.toml `bug_rises_quietly`.
//! - I6 LATCHED pins the sleepers in the list, and their acquisitions keep the lock's memory alive. So does a sleeper that
//!   has been taken off the list and not granted yet: the caller has one whenever it looks at the lock in a rush. A latch over an
//!   empty list is taken only by a called sleeper, inside its own acquisition. checked by: `freeing`, TLA+ `Latched`,
//!   TLA+ `NobodyTouchesFreed`.
//! - I7 At rest the word is its counter and hints, or quiet and free. checked by: `exclusion`, TLA+ `IsAtRest`.
//! - I8 A node in the list has an address below 2^48. asserted: `State::with_head`; checked by: `far::mutual_exclusion`.
//! - I9 If something is asked and not PASSED, the counter is full, unless the holder has added to a full one already and is
//!   in the slow path, where it compares what it writes over. Only that addition and comparisons end an alarm, and a pass
//!   ends by a comparison. So no release frees a lock that is asked something. asserted: `release`; checked by: state.rs
//!   `a_release_under_an_alarm_keeps_the_lock`, `small::condvar_wakes_all_and_loses_none`, TLA+ `AlarmIsHeard`,
//!   proof/spec/ondeck.toml `bug_naps_quietly` and `bug_leaves_quietly`, proof/spec/ondeck_condvar.toml `bug_enlists_quietly`.
//!
//! - I10 A quiet word is asked nothing: quiet.rs. asserted: `cas`, `sit`; checked by: loom_quiet.rs, TLA+ `IsQuietAlone`, and seven
//!   faults in proof/spec/ondeck.toml.
//!
//! An equal word. A compare-exchange cannot tell the word that it read from an equal one of another time (the counter
//! returns after 1024 releases, and with each alarm), and need not: what it relies on beside the word holds whenever the
//! word is equal:
//!
//! | step | relied on beside the word | why an equal word has it |
//! |---|---|---|
//! | enqueue, enlist | the node's `next` is the head | set from the compared head, whatever list hangs from that now; it is not followed before the latch, and then by E2 |
//! | invite | nobody waits | that is all in the word: no head, no seat taken |
//! | accept, take, nap, rise, leave | a seat is ours | only its occupant leaves it; which of two is alike |
//! | claim beside a call | nothing: any arrival may | that is in the word |
//! | nap, its wait | the next release owes a wake | the upper half has LOCKED, NAPPING, the alarm and not PASSED, so the holder's release will hear of it, or has and will compare |
//! | latch in a rush | somebody sleeps, and the lock is not gone | that is in the word; who has been called and not granted keeps it (I6) |
//! | vacate, rouse, pass, hush | LOCKED is ours | we are inside |
//! | settle | the token was there all the time | only its thread writes it |
//! | pass_on, call_up, hurry | the same, and the latch is free | that is in the word |
//! | detach | the list is as it was linked, up to the head | under the latch the head changes by pushes only, so a node that was pushed on comes to the head again only by our own detach |
//! | summon, withdraw | a waiter's record, not the word | QUEUED does not return in the life of a record |
//!
//! So no decision that matters rests on the count, and the models hold without one. checked by: `no_count::mutual_exclusion`,
//! `no_count::every_waiter_finishes`, `no_count::deadlines`, `no_count::condvar`.
//!
//! # Orderings
//! - E1 `vacate`, `rouse`, `call_up`, `hurry`, `pass`, `pass_on` -> `grab`, `take`, `accept`: everything the last holder
//!   wrote. All writes to the word are RMWs, so those in between continue the release sequence; but for those of a process
//!   with one thread (`try_acquire_alone`, `release_alone`), which the start of another thread orders, and for slips, which
//!   begin one.
//! - E2 `enqueue`, `detach` -> the loads of the head under the latch: the fields of the sleeper, and the links.
//! - E3 `detach`, `unlatch` -> `pass_on`, `call_up`, `hurry`, `latch`: the links that the last latch holder edited.
//! - E4 `Node::grant` -> `Node::is_granted`: that the caller is done with the node.
//! - A seat publishes nothing, so claims and polls are Relaxed: whoever goes to bat from it does so by E1.
//! - No test can tell these from weaker ones. Acquire of `pass_on`, `call_up`, `hurry`, and `latch` in a rush: `link` loads
//!   the word with Acquire before it reads a link. Acquire of `detach`: its writes are followed by no read of what others wrote, its load is compared
//!   with a node that is known. Release of `unlatch`: it has edited nothing, and continues the caller's release sequence.
//!
//! # Promises
//! - Mutual exclusion: by I1; each way in is one RMW that finds the lock free or PASSED, or, where there is no other thread, a look and a write
//!   (`try_acquire_alone`). Conformance `exclusion`.
//! - No lost wake-up: by I2. Whoever relies on the next release says so in the word, with the alarm (I9), so that release
//!   frees nothing before it has seen it. A release in the slow path compares. Conformance `every_waiter_finishes`,
//!   `no_lost_wakeup`.
//! - One awake, and two until the one that has been called is up and the other has looked: the occupants of the seats. In a
//!   rush, those that have been notified. Arrivals are awake too, for the length of their first look, and of their yields if
//!   the lock is not hot. TLA+ `SeatState`.
//! - Waiting: who has a place (a seat, the dugout) waits at most patience + 2 G + 4 (H + L) if nobody sleeps, and
//!   with k older sleepers at most (k + 10) (rotation + 2 G + 4 (H + L)), where G is the longest gap between two polls, H
//!   the longest hold and L the time in which the system runs a thread that may run. (k + 10: the two seats, and 8 skips for
//!   the sake of cores, `dugout::MOST_SKIPS`. 2 and 4: in one rotation one seat goes to bat, then the other.)
//!   [`Tuning::longest_wait_ns`] adds what an arrival may take before: a look, yields. Arrivals may bypass any number of times
//!   within these times. An occupant may lose its pass to the sleeper that is called with it: if that has not fallen asleep
//!   yet, or the occupant has lost its core, or has not asked, as fair releases pass unasked. It keeps its seat, and waits for a
//!   rotation more. Getting through between the writes of a holder needs no luck, thanks to ROOM, unless all
//!   releases are fair ones, which leave none. An arrival gets a place unless others win every race that it runs for the
//!   lock, the seat or the list. Conformance `waits_are_bounded`, `nobody_needs_luck_against_the_holder`,
//!   `a_deadline_needs_no_luck_either`, TLA+ `Served`.
//! - Deadlines are kept in every phase but one: a sleeper that is out of time waits for the latch, which is longer than a few
//!   steps only if the latch holder has lost its core. That never is the thread that the sleeper has interrupted, as a signal
//!   handler: who has a deadline is not pushed under the latch. Conformance `timed`, proof/testprograms/signal_handler.c.
//!   Where the platform tells of a thread that ends in its sleep (`wait_on_or_leave`), that thread leaves as at a deadline,
//!   and passes on what it gets all the same. Conformance `a_thread_ends_in_the_dugout`, `a_thread_ends_in_its_nap`.
//! - Priorities: nobody waits for ever for a thread of lower priority that has lost its core to it. Waits for a holder, or
//!   on a list, end in sleep. Who would sleep beside a called sleeper that is on its way leaves its seat, and does not sit
//!   beside one again. A pass that one of two does not accept, the other does. Who waits for a latch holder
//!   yields, and naps when that was in vain (yields.rs). It does not lend its priority: threads between the two may keep the
//!   other from its core, as with any lock that does not know its holder. Conformance `with_priority_on_one_core`,
//!   `plain_under_priorities`, `timed_under_priorities`.
//!
//! # Cost
//! Alone: 2 RMWs, and on Arm a load, 1 line; quiet: 1 RMW. A pass: the occupant's `claim`, `ask` and `accept`, and two
//! RMWs for the release instead of one (the addition that finds the alarm, then `pass`); with a call one more for the ex-holder (`detach`), and
//! `enqueue` and `show_up` for the sleeper. One poll of the line per gap of an occupant; no system call while nobody sleeps. An
//! audit: one stay on deck of some five releases,
//! by arrivals in a 64th of the time. A rotation: one wake, paid by the ex-holder after its pass; on machines where lines
//! travel far, one to four releases that leave room. Lock 8 bytes, sleeper 512 bytes of stack.
//!
//! # After release
//! No, unless a sleeper pins the lock: vacate, pass and rouse end with the write that frees or gives the lock, and wake
//! by address; call_up, hurry and pass_on go on under LATCHED with a sleeper in the list (I6), until detach drops it. After that
//! the called node is touched until its grant, the lock in a rush only while a called node has not been granted, and then the
//! node's address. Conformance `freeing`.
//!
//! # Limits
//! Not recursive. More than 1023 releases between two polls look like fewer: at 16 us between polls that is below 16 ns a
//! release. An alarm between two polls looks like many. Both errors are of judgement only.
//!
//! Only stacks below 2^48 have sleepers. A thread on another one (five-level paging, if it asked for such a stack; tags in
//! the upper bits, as of HWASan, or MTE on stacks) has no place in the dugout: between two attempts it sleeps for a rotation
//! (`doze`), and nobody calls it. It gets in if one of its looks finds the lock free, or a seat that it may take;
//! it may starve while others are called past it. On deck the bound above holds for it. Its deadline is kept, it loses no
//! wake-up since it waits for none, and it holds up nobody.
//!
//! The unsafe blocks in this file and in calls.rs, deck.rs and dugout.rs are all about the lives of nodes and of the lock after
//! its release.

use crate::yields::Yields;
use crate::{Atomic, Hardware, Platform, StaticPlatform, Step};
use crate::{Entry, Promises, RawLock, RawTimedLock};
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use dugout::Node;
use plan::{Arrival, ArrivalPlan};
use quiet::Knock;
use state::{ALARM, LOCKED, NAPPING, QUIET, RELEASE, ROOM, State};
pub(crate) use watch::Wait;
use watch::{Heat, Tries, epoch_now};

mod calls;
mod condvar;
mod deck;
mod dugout;
mod inspect;
mod plan;
mod quiet;
mod state;
mod tuning;
mod watch;

pub use condvar::{RawCondvar, Waiter};
#[doc(hidden)]
pub use dugout::seen;
pub use tuning::{BALANCED, Balanced, LOW_LATENCY, LowLatency, Policy, Tuning};

/// What this lock is, in short.
pub const ENTRY: Entry = Entry {
    name: "ondeck",
    idea: "one waiter awake and patient, the rest asleep; a release counter tells it when to keep its hands off",
    bytes: 8,
    rmws: 2,
    awake: "one",
    woken: "nobody while one is on deck; a sleeper is called when the dugout rotates; who is notified, when the lock is free",
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
const ENQUEUE: Step = step("enqueue");
const DOZE: Step = step("doze");
const ACCEPT: Step = step("accept");
const TAKE: Step = step("take");
const ASK: Step = step("ask");
const NAP: Step = step("nap");
const RISE: Step = step("rise");
const LEAVE: Step = step("leave");
const SHOW_UP: Step = step("show_up");
const VACATE: Step = step("vacate");
const ROUSE: Step = step("rouse");
const PASS: Step = step("pass");
const PASS_ON: Step = step("pass_on");
const CALL_UP: Step = step("call_up");
const HURRY: Step = step("hurry");
const DETACH: Step = step("detach");
const MAKE_ROOM: Step = step("make_room");
const LATCH: Step = step("latch");
const UNLATCH: Step = step("unlatch");
const HUSH: Step = step("hush");
const SLIP: Step = step("slip");
const KNOCK: Step = step("knock");
const EXPEL: Step = step("expel");
const SETTLE: Step = step("settle");

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
            self.acquire_slow(None, Node::new);
        }
    }

    #[inline(always)]
    unsafe fn release(&self) {
        if P::has_sequences() && self.load().has(QUIET) {
            return Self::release_quiet(self);
        }
        // The load brings the line near; once it is here, its answer may as well be used.
        if P::atomics_may_be_far() && self.load().is_alarmed() {
            return Self::release_slow(self, false);
        }
        P::step(VACATE);
        let before = State(self.word.fetch_add(RELEASE, Release)); // E1
        debug_assert!(before.has(LOCKED), "I1: released by its holder");
        debug_assert!(before.is_alarmed() || !before.asks(), "I9: what is asked sounds the alarm");
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
        self.grab() || self.acquire_slow(Some(deadline_ns), Node::new)
    }
}

impl<P: Platform, T: Policy> RawOndeck<P, T> {
    /// As [`release`](RawLock::release), but if somebody waits the lock is given to a waiter instead of being freed:
    /// to the occupant of the deck, else to a sleeper that is called up for it.
    ///
    /// Costs a futile pause of the lock when the waiter has to be woken first: fairness is paid for in throughput. A thread
    /// that came a few microseconds ago may not count as one that waits yet.
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

    /// What [`acquire`](RawLock::acquire) does once its first attempt, [`grab`](Self::grab), has failed: for a caller
    /// that wants to do something before waiting. False if the platform's monotonic clock has reached `deadline_ns`.
    #[inline]
    pub fn acquire_contended(&self, deadline_ns: Option<u64>) -> bool {
        self.acquire_slow(deadline_ns, Node::new)
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
        self.word.store(self.load().without(LOCKED).0, Relaxed); // Nobody is there who could have asked.
    }

    #[inline(always)]
    fn load(&self) -> State {
        State(self.word.load(Relaxed))
    }

    /// The first attempt of [`acquire`](RawLock::acquire): one RMW without a look before it. A thread that fails goes
    /// on with [`acquire_contended`](Self::acquire_contended), or gives up.
    #[inline(always)]
    pub fn grab(&self) -> bool {
        P::step(GRAB);
        self.word.fetch_or(LOCKED, Acquire) & LOCKED == 0 // E1
    }

    #[inline(always)]
    fn cas(&self, from: State, to: State, order: Ordering) -> bool {
        debug_assert!(!(to.has(QUIET) && to.asks()), "I10: a quiet lock is asked nothing");
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
    fn acquire_slow(&self, deadline: Option<u64>, node: fn() -> Node<P>) -> bool {
        let spins = P::may_spin();
        let mut heat = Heat::Cool;
        if spins {
            match self.first_look() {
                Some(seen) => heat = seen,
                None => return true,
            }
        }
        let (mut sits_beside, mut n_yields, mut yields) = (spins, 0, Yields::default());
        let node = node();
        let (mut tries, mut knock) = (Tries::default(), Knock::new());
        // One step a turn; ends when the lock comes or the deadline passes.
        loop {
            let state = self.load();
            let may_yield = spins && n_yields < T::tuning().yields;
            let me = Arrival { sits_beside, may_yield, has_deadline: deadline.is_some() };
            let step = plan::arrival(
                state,
                me,
                || is_past::<P>(deadline),
                || epoch_now::<P>(T::tuning()) != state.epoch(),
                || state.is_coming_to(P::current_core()),
            );
            let turn = match step {
                ArrivalPlan::Grab if self.grab() => Turn::AtBat,
                ArrivalPlan::Grab => Turn::Again,
                ArrivalPlan::Leave => Turn::Left,
                ArrivalPlan::Knock => {
                    if !self.knock(state, &node, &mut knock) {
                        self.doze(deadline);
                    }
                    Turn::Again
                }
                ArrivalPlan::Claim => self.claim(heat, deadline),
                ArrivalPlan::SitBeside => self.sit_beside(state, heat, deadline),
                ArrivalPlan::Yield => {
                    n_yields += 1;
                    P::yield_now();
                    Turn::Again
                }
                ArrivalPlan::MakeWay => {
                    yields.make_way::<P>();
                    Turn::Again
                }
                ArrivalPlan::Enqueue => self.enqueue(state, &node, &mut tries, deadline),
            };
            match turn {
                Turn::AtBat => return true,
                Turn::Left => return false,
                Turn::Retired => sits_beside = false,
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
    /// The seat has been left, to go to sleep behind a called sleeper.
    Retired,
    /// Nothing was gained: look again.
    Again,
}

fn is_past<P: Platform>(deadline: Option<u64>) -> bool {
    deadline.is_some_and(|deadline_ns| P::now_ns() >= deadline_ns)
}
