//! Condition variables that processes share: a counter of notifications to sleep on.
//!
//! A list of records on stacks cannot reach from one process into another. So each notification wakes all who sleep,
//! and each looks for itself: a wake of one might be taken by a thread of higher priority that has come after it.

use super::hold::MutexHold;
use crate::Answer;
use crate::bytes::cond::Cond;
use crate::bytes::mutex::Mutex;
use crate::cancel::{self, Sharing};
use crate::glibc;
use crate::handler::Handler;
use crate::time::Deadline;
use core::ffi::c_void;
use core::sync::atomic::{
    AtomicU32,
    Ordering::{Relaxed, Release},
};
use libc::ETIMEDOUT;
use ondeck_core::WaitEnd;
use ondeck_record::OpaqueWait;

impl Cond {
    /// Counts notifications.
    fn counter(&self) -> &AtomicU32 {
        let word = (&raw const self.waiters).cast::<AtomicU32>();
        // SAFETY: a shared one has no list, and its bytes are ours.
        unsafe { &*word }
    }
}

pub(super) fn notify(cond: &Cond) {
    if cond.n_inside.load(Relaxed) == 0 {
        return;
    }
    cond.counter().fetch_add(1, Relaxed);
    cancel::wake(cond.counter(), i32::MAX, Sharing::Processes);
}

struct WaitCleanup<'a> {
    cond: &'a Cond,
    had: MutexHold,
}

impl WaitCleanup<'_> {
    fn finish(&self) -> Answer {
        self.cond.n_inside.fetch_sub(1, Release);
        // SAFETY: the caller of the wait keeps the mutex.
        unsafe { self.had.again(Mutex::acquire) }
    }
}

/// # Safety
/// As for [`wait`](super::wait).
pub(super) unsafe fn wait(
    cond: &Cond,
    mutex: *const Mutex,
    deadline: Option<Deadline>,
    recorded: Option<&OpaqueWait>,
) -> Answer {
    cond.n_inside.fetch_add(1, Relaxed);
    let seen = cond.counter().load(Relaxed);
    // SAFETY: as the caller says.
    let had = match unsafe { MutexHold::leave(mutex) } {
        Ok(had) => had,
        Err(error) => {
            cond.n_inside.fetch_sub(1, Release);
            return error;
        }
    };
    glibc::look(recorded);
    let waiting = WaitCleanup { cond, had };
    let mut handler = Handler::new();
    // SAFETY: popped below, in this frame.
    unsafe { handler.push(cancelled, (&raw const waiting).cast_mut().cast()) };
    let mut waited = WaitEnd::Woken;
    // Ended by a notification or the deadline.
    while waited != WaitEnd::TimedOut && cond.counter().load(Relaxed) == seen {
        waited = cancel::sleep(cond.counter(), seen, Sharing::Processes, deadline);
    }
    // SAFETY: pushed above, and nothing since.
    unsafe { handler.pop() };
    match waiting.finish() {
        0 if waited == WaitEnd::TimedOut => ETIMEDOUT,
        answer => answer,
    }
}

/// A notification wakes all, so a cancelled waiter has taken nothing from anybody.
unsafe extern "C-unwind" fn cancelled(waiting: *mut c_void) {
    // SAFETY: pushed with this type, and the frame that it is in is whole.
    let waiting = unsafe { &*waiting.cast::<WaitCleanup<'_>>() };
    waiting.finish();
}
