//! Restartable sequences in models: the two steps of `Platform::store_unless_expelled` and of `CoreCounters::count_unless_expelled`,
//! and what ends them in between.
//!
//! The look and the store are steps of their own, between which the model may run other threads. An expulsion ends each sequence
//! that has looked and has not come to its store; one that is at its store is waited for. So it promises what a machine does and
//! no more: what the sequence has looked at may have changed by the time of its store, which overwrites it. The look reads the
//! newest value, as coherence on a machine gives it to whoever looks after an interrupt.
//!
//! A sequence also ends for no reason, as by a signal or the loss of a core, where the platform's ticks say so.

use core::num::NonZeroU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, CoreCounters, Counted, Platform, ThreadId};
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Looked,
    Expelled,
    Stores,
}

thread_local! {
    /// The sequences under way in the present execution; the threads of a model are coroutines of one real thread.
    static UNDER_WAY: RefCell<Vec<(ThreadId, Stage)>> = const { RefCell::new(Vec::new()) };
}

/// A new execution begins.
pub(crate) fn begin_execution() {
    UNDER_WAY.with_borrow_mut(Vec::clear);
    COUNTER.take();
}

/// Whether the sequence of `me` may go on to its store.
fn goes_on(me: ThreadId) -> bool {
    UNDER_WAY.with_borrow_mut(|all| {
        let mine = all.iter_mut().find(|(thread, _)| *thread == me).expect("a sequence of ours is under way");
        let goes_on = mine.1 == Stage::Looked;
        mine.1 = Stage::Stores;
        goes_on
    })
}

/// As `Platform::store_unless_expelled`.
pub(crate) fn look_and_store<P: Platform>(word: &P::U64, expected: u64, new: u64) -> bool {
    let is_as_expected = || (word.fetch_or(0, Relaxed) == expected).then_some(());
    sequence::<P, ()>(is_as_expected, |()| word.store(new, Release))
}

/// A look, and if that says so and nothing comes in between, a write. Whether it was written.
fn sequence<P: Platform, T>(look: impl FnOnce() -> Option<T>, write: impl FnOnce(T)) -> bool {
    /// One in so many sequences ends for no reason.
    const ENDS: u64 = 8;
    let me = P::thread_id();
    UNDER_WAY.with_borrow_mut(|all| all.push((me, Stage::Looked)));
    let seen = look();
    let is_ended = P::ticks() % ENDS == 0;
    let seen = seen.filter(|_| goes_on(me) && !is_ended);
    let is_written = seen.map(write).is_some();
    UNDER_WAY.with_borrow_mut(|all| all.retain(|(thread, _)| *thread != me));
    is_written
}

/// By themselves they have none.
impl CoreCounters for crate::loom_platform::LoomPlatform {}
impl CoreCounters for crate::schedule::SchedulePlatform {}

/// What two cores have counted.
type Parts<P> = [<P as Platform>::U64; 2];

thread_local! {
    /// The one counter that there is, as long as it is taken.
    static COUNTER: RefCell<Option<Rc<dyn Any>>> = const { RefCell::new(None) };
}

fn counter<P: Platform>() -> Option<Rc<Parts<P>>> {
    COUNTER.with_borrow(Clone::clone).map(|parts| parts.downcast().expect("an execution has one platform"))
}

/// As `CoreCounters::take_counter`.
pub(crate) fn take_counter<P: Platform>() -> Option<NonZeroU32> {
    if counter::<P>().is_some() {
        return None;
    }
    let parts: Parts<P> = [0, 0].map(P::U64::new);
    COUNTER.set(Some(Rc::new(parts)));
    Some(NonZeroU32::MIN)
}

/// As `CoreCounters::give_counter`.
pub(crate) fn give_counter() {
    assert!(COUNTER.take().is_some(), "nobody had it");
}

/// As `CoreCounters::count_unless_expelled`. A thread is now on one core and now on the other.
pub(crate) fn look_and_count<P: Platform>(word: &P::U64, amount: u64) -> bool {
    const NUMBER: u64 = 0x3ff << 22;
    const FOLDING: u64 = 1 << 20;
    let core = P::ticks() as usize % 2;
    let look = || {
        let seen = word.fetch_or(0, Acquire);
        let is_open = seen & FOLDING == 0 && seen & NUMBER != 0;
        is_open.then(|| counter::<P>().expect("a lock has a counter that somebody has taken"))
    };
    // No two threads of one core are in a sequence at once.
    sequence::<P, _>(look, |parts| {
        parts[core].fetch_add(amount, Release);
    })
}

/// As `CoreCounters::counted`.
pub(crate) fn counted<P: Platform>() -> Counted {
    let parts = counter::<P>().into_iter().flat_map(|parts| [0, 1].map(|core| parts[core].fetch_add(0, Acquire)));
    Counted::of(parts.fold(0, u64::wrapping_add))
}

/// As `Platform::expel`.
pub(crate) fn expel<P: Platform>() -> bool {
    UNDER_WAY.with_borrow_mut(|all| {
        for (_, stage) in all.iter_mut().filter(|(_, stage)| *stage == Stage::Looked) {
            *stage = Stage::Expelled;
        }
    });
    let looks = P::U32::new(0);
    while UNDER_WAY.with_borrow(|all| all.iter().any(|(_, stage)| *stage == Stage::Stores)) {
        // Platforms take pauses without an access in between for one.
        looks.load(Relaxed);
        P::yield_now();
    }
    true
}
