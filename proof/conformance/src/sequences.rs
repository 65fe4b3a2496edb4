//! Restartable sequences in models: the two steps of `Platform::store_unless_expelled`, and what ends them in between.
//!
//! The look and the store are steps of their own, between which the model may run other threads. An expulsion ends each sequence
//! that has looked and has not come to its store; one that is at its store is waited for. So it promises what a machine does and
//! no more: what the sequence has looked at may have changed by the time of its store, which overwrites it. The look reads the
//! newest value, as coherence on a machine gives it to whoever looks after an interrupt.
//!
//! A sequence also ends for no reason, as by a signal or the loss of a core, where the platform's ticks say so.

use core::sync::atomic::Ordering::{Relaxed, Release};
use ondeck_core::{Atomic, Platform, ThreadId};
use std::cell::RefCell;

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
    /// One in so many sequences ends for no reason.
    const ENDS: u64 = 8;
    let me = P::thread_id();
    UNDER_WAY.with_borrow_mut(|all| all.push((me, Stage::Looked)));
    let is_as_expected = word.fetch_or(0, Relaxed) == expected;
    let is_ended = P::ticks() % ENDS == 0;
    let goes_on = goes_on(me) && is_as_expected && !is_ended;
    if goes_on {
        word.store(new, Release);
    }
    UNDER_WAY.with_borrow_mut(|all| all.retain(|(thread, _)| *thread != me));
    goes_on
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
