//! What a thread does on its way out of a wait that it does not come back from.
//!
//! It may end there: cancelled, or by `pthread_exit` in a signal handler, both of which unwind its stack. Or it jumps out of a
//! signal handler, by `siglongjmp`. The C library then runs the handlers that were pushed in the frames which the thread leaves,
//! while its stack is still whole.
//!
//! A sleeping thread pushes one, since a place in the queue of a lock is on the sleeper's stack. A thread that is awake
//! pushes none: that would make each wait longer. So a thread that leaves while it polls leaves its seat taken.

use core::ffi::{c_int, c_void};

unsafe extern "C" {
    fn _pthread_cleanup_push(
        buffer: *mut Handler,
        act: unsafe extern "C-unwind" fn(*mut c_void),
        argument: *mut c_void,
    );
    fn _pthread_cleanup_pop(buffer: *mut Handler, runs_it: c_int);
}

/// The C library's record of a handler, `struct _pthread_cleanup_buffer`. It lies in the frame of the thread that
/// pushes it: a handler runs once unwinding has got past its record.
#[repr(C)]
pub(crate) struct Handler {
    act: *mut c_void,
    argument: *mut c_void,
    kind: c_int,
    before: *mut c_void,
}

impl Handler {
    pub(crate) const fn new() -> Self {
        Handler { act: core::ptr::null_mut(), argument: core::ptr::null_mut(), kind: 0, before: core::ptr::null_mut() }
    }

    /// From here on a thread that leaves runs `act`.
    ///
    /// # Safety
    /// The record does not move, and is popped in the frame in which it was pushed.
    pub(crate) unsafe fn push(&mut self, act: unsafe extern "C-unwind" fn(*mut c_void), argument: *mut c_void) {
        // SAFETY: as the caller says.
        unsafe { _pthread_cleanup_push(self, act, argument) };
    }

    /// # Safety
    /// It was pushed last.
    pub(crate) unsafe fn pop(&mut self) {
        // SAFETY: as the caller says.
        unsafe { _pthread_cleanup_pop(self, 0) };
    }
}

/// Does `act`. If the thread leaves it without coming back, it does `leave` on its way. `act` does not panic. Nor does a
/// signal handler throw in it: an exception leaves the record in the list. C++ takes all functions that wait here for such as throw
/// nothing, but for `pthread_cond_wait`, `sem_wait` and `pthread_join`.
#[inline]
pub(crate) fn or_leave<T, F: Fn()>(leave: F, act: impl FnOnce() -> T) -> T {
    unsafe extern "C-unwind" fn run<F: Fn()>(leave: *mut c_void) {
        // SAFETY: pushed with this type, and the frame that it is in is whole.
        let leave = unsafe { &*leave.cast::<F>() };
        leave();
    }
    let mut handler = Handler::new();
    // SAFETY: it stays here, and is popped below.
    unsafe { handler.push(run::<F>, (&raw const leave).cast_mut().cast()) };
    let result = act();
    // SAFETY: pushed above, and what was pushed since has been popped.
    unsafe { handler.pop() };
    result
}
