//! What is done around a fork by `pthread_atfork`: keeping new waiters out of the words while pages are copied.
//!
//! Children that are made without these handlers (`_Fork`, the bare system call) go without that. They find a waiter in a
//! word and not in the table if it came between the copies of the two pages, and then that mutex is lost to them.

use super::{FRESH, STATE};
use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};
use ondeck_platform::{Hardware, Platform};

/// How many threads fork at this moment.
static N_UNDER_WAY: AtomicU32 = AtomicU32::new(0);
/// Whether the state's page is copied as any other, so that a child must be told that it is one.
pub(super) static IS_PAGE_COPIED: AtomicBool = AtomicBool::new(false);

/// Waits until no fork is under way. Not for ever: the handlers of a program, which run before the fork, may need a mutex
/// whose holder needs one that it has to wait for.
#[inline(always)]
pub(super) fn let_pass() {
    if N_UNDER_WAY.load(SeqCst) != 0 {
        wait();
    }
}

#[cold]
fn wait() {
    const GAP_NS: u32 = 50_000;
    const MOST_NS: u64 = 100_000_000;
    let begin_ns = Hardware::now_ns();
    while N_UNDER_WAY.load(Acquire) != 0 && Hardware::now_ns() - begin_ns < MOST_NS {
        Hardware::nap_ns(GAP_NS);
    }
}

extern "C" fn before() {
    // SeqCst: either who has written itself into the table is seen by the copy, or it sees this.
    N_UNDER_WAY.fetch_add(1, SeqCst);
}

extern "C" fn after_in_parent() {
    N_UNDER_WAY.fetch_sub(1, Release);
}

/// Who else forked in the parent does not exist here.
pub(super) fn end_in_child() {
    N_UNDER_WAY.store(0, Relaxed);
}

extern "C" fn after_in_child() {
    end_in_child();
    if IS_PAGE_COPIED.load(Relaxed) {
        STATE.state.store(FRESH, Relaxed);
    }
}

/// Run by the loader before the program, and not when a mutex is first locked: the C library may allocate here, and so lock.
#[used]
#[unsafe(link_section = ".init_array")]
static REGISTER: extern "C" fn() = {
    extern "C" fn register() {
        // SAFETY: the handlers use atomics only.
        unsafe { libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child)) };
    }
    register
};
