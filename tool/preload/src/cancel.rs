//! Sleeping so that `pthread_cancel` can end it.
//!
//! Waiting on a condition variable is a cancellation point, locking a mutex is none. A cancelled thread is not sent a
//! signal unless its cancellation is asynchronous, so for the length of the system call it is; a signal then unwinds the stack
//! from there, past every frame up to the thread's first, and on its way runs the handler that was pushed before (`handler`).
//!
//! So between the two changes of the type there is nothing but the system call, and no frame up to the pushed handler's
//! owns anything that would have to be dropped. Functions that may be unwound through are `C-unwind`. The call goes by the
//! C library's `syscall`, whose frame can be unwound at each of its instructions, and not by our own of that name.
//!
//! The C library decides to send the signal while the thread may be cancelled, and who gets it looks at the type alone. A
//! thread may have left this sleep meanwhile, disabled its cancellation, and be in its next. So the type stays as it is while
//! cancellation is disabled.

use crate::time::Deadline;
use core::ffi::{c_int, c_long};
use core::sync::atomic::AtomicU32;
use libc::{clockid_t, timespec};
use ondeck_core::{WaitEnd, kernel};

const ASYNCHRONOUS: c_int = 1;
const DISABLED: c_int = 1;

unsafe extern "C-unwind" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    fn pthread_setcanceltype(kind: c_int, before: *mut c_int) -> c_int;
    fn pthread_testcancel();
}

/// Ends here if the thread has been cancelled already.
#[inline(always)]
pub(crate) fn test() {
    // SAFETY: always may be called, by frames that may be unwound.
    unsafe { pthread_testcancel() };
}

/// Whose sleepers a futex has.
#[derive(Clone, Copy)]
pub(crate) enum Sharing {
    OneProcess,
    Processes,
}

impl Sharing {
    fn flag(self) -> c_int {
        match self {
            Sharing::OneProcess => libc::FUTEX_PRIVATE_FLAG,
            Sharing::Processes => 0,
        }
    }
}

/// Sleeps while `word` holds `expected`, until woken or until the deadline has passed by its own clock; a place where
/// a cancelled thread ends.
#[inline(never)]
pub(crate) fn sleep(word: &AtomicU32, expected: u32, sharing: Sharing, deadline: Option<Deadline>) -> WaitEnd {
    let is_real = deadline.is_some_and(|deadline| is_real_time(deadline.clock));
    let clock = if is_real { libc::FUTEX_CLOCK_REALTIME } else { 0 };
    let operation = libc::FUTEX_WAIT_BITSET | sharing.flag() | clock;
    let at = deadline.map(|deadline| sane(deadline.at));
    let timeout = at.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: always may be called.
    let error = unsafe { libc::__errno_location() };
    // SAFETY: the calling thread's own.
    let error_before = unsafe { *error };
    let syscall = crate::real::syscall();
    let may_be_cancelled = may_be_cancelled();
    let mut before = 0;
    if may_be_cancelled {
        // SAFETY: always may be called, by frames that may be unwound.
        unsafe { pthread_setcanceltype(ASYNCHRONOUS, &mut before) };
    }
    // SAFETY: the word is alive and aligned, the timeout null or a local.
    let answer = unsafe {
        let (word, timeout) = (word.as_ptr() as c_long, timeout as c_long);
        syscall(libc::SYS_futex, word, operation.into(), expected.into(), timeout, 0, u32::MAX.into())
    };
    if may_be_cancelled {
        // SAFETY: as above.
        unsafe { pthread_setcanceltype(before, core::ptr::null_mut()) };
    }
    // SAFETY: as above.
    let is_timeout = answer < 0 && unsafe { *error } == libc::ETIMEDOUT;
    // None of the functions that sleep here changes it.
    // SAFETY: as above.
    unsafe { *error = error_before };
    if is_timeout { WaitEnd::TimedOut } else { WaitEnd::Woken }
}

/// Whether the calling thread's cancellation is not disabled. There is no way to ask but to change it.
fn may_be_cancelled() -> bool {
    let mut before = DISABLED;
    // SAFETY: always may be called, by frames that may be unwound.
    unsafe { pthread_setcancelstate(DISABLED, &mut before) };
    if before != DISABLED {
        // SAFETY: as above.
        unsafe { pthread_setcancelstate(before, core::ptr::null_mut()) };
    }
    before != DISABLED
}

fn is_real_time(clock: clockid_t) -> bool {
    clock == libc::CLOCK_REALTIME
}

/// The kernel refuses what is before its clock began; that has passed.
fn sane(at: timespec) -> timespec {
    if at.tv_sec < 0 { timespec { tv_sec: 0, tv_nsec: 0 } } else { at }
}

/// Wakes everybody who sleeps on the address, which is not looked at.
pub(crate) fn wake(word: *const AtomicU32, n: c_int, sharing: Sharing) {
    // SAFETY: a wake uses the address as a key; of shared memory it is looked up, and an error if that is gone.
    let _ = unsafe {
        kernel::call(libc::SYS_futex, [word as usize, (libc::FUTEX_WAKE | sharing.flag()) as usize, n as usize])
    };
}
