//! `ondeck_cond_t`.

use crate::clock::{Deadline, in_ns};
use crate::mutex::Mutex;
use crate::recorded::{self, Machine};
use crate::{OK, destroyed};
use libc::{EINVAL, ETIMEDOUT, timespec};
use ondeck_core::ondeck::RawCondvar;
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// What `ondeck_cond_t` is.
#[repr(transparent)]
struct Condvar(RawCondvar<Machine>);

impl Condvar {
    const fn new() -> Self {
        Condvar(RawCondvar::INIT)
    }
}

const _: () = assert!(size_of::<Condvar>() == 16 && align_of::<Condvar>() == 8, "as the header has it");
// SAFETY: of the same size, and every pattern of bits is a number.
const _: () = assert!(unsafe { std::mem::transmute::<Condvar, u128>(Condvar::new()) } == 0, "ONDECK_COND_INIT");

/// What is said of a wait whose mutex nobody holds.
const NOT_TAKEN: &str = "a wait in an ondeck_cond_t: nobody holds the mutex\n";

#[unsafe(no_mangle)]
extern "C" fn ondeck_cond_init(cond: &mut MaybeUninit<Condvar>) -> c_int {
    cond.write(Condvar::new());
    OK
}

/// Nothing else to do: a waiter keeps nothing elsewhere.
#[unsafe(no_mangle)]
extern "C" fn ondeck_cond_destroy(cond: &Condvar) -> c_int {
    destroyed((&raw const *cond) as u64);
    OK
}

/// # Safety
/// - The calling thread holds the mutex.
#[unsafe(no_mangle)]
unsafe extern "C" fn ondeck_cond_wait(cond: &Condvar, mutex: &Mutex) -> c_int {
    mutex.expect_taken(NOT_TAKEN);
    // SAFETY: the caller holds the mutex.
    unsafe { recorded::wait(&cond.0, &mutex.0, None) };
    OK
}

/// # Safety
/// - The calling thread holds the mutex.
#[unsafe(no_mangle)]
unsafe extern "C" fn ondeck_cond_timedwait(
    cond: &Condvar,
    mutex: &Mutex,
    clock: c_int,
    deadline: Option<&timespec>,
) -> c_int {
    let Some(deadline) = Deadline::new(clock, deadline) else { return EINVAL };
    mutex.expect_taken(NOT_TAKEN);
    // SAFETY: the caller holds the mutex.
    let is_notified = unsafe { recorded::wait(&cond.0, &mutex.0, Some(deadline.on_platform())) };
    // If somebody has set the clock back it is too early for a timeout. But this thread has left the list, and what was
    // signalled since then has gone to others: it has to look at its condition before it waits again.
    if is_notified || !deadline.is_past() { OK } else { ETIMEDOUT }
}

/// # Safety
/// - The calling thread holds the mutex.
#[unsafe(no_mangle)]
unsafe extern "C" fn ondeck_cond_wait_for(cond: &Condvar, mutex: &Mutex, ns: u64) -> c_int {
    mutex.expect_taken(NOT_TAKEN);
    // SAFETY: the caller holds the mutex.
    if unsafe { recorded::wait(&cond.0, &mutex.0, Some(in_ns(ns))) } { OK } else { ETIMEDOUT }
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_cond_signal(cond: &Condvar) -> c_int {
    recorded::notify_one(&cond.0);
    OK
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_cond_broadcast(cond: &Condvar) -> c_int {
    recorded::notify_all(&cond.0);
    OK
}
