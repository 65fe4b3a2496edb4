//! `ondeck_mutex_t`.

use crate::clock::{Deadline, in_ns};
use crate::recorded::{self, Machine};
use crate::{OK, destroyed, misused};
use libc::{EBUSY, EINVAL, ETIMEDOUT, timespec};
use ondeck_core::RawLock;
use ondeck_core::ondeck::RawOndeck;
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// What `ondeck_mutex_t` is.
#[repr(transparent)]
pub(crate) struct Mutex(pub(crate) RawOndeck<Machine>);

impl Mutex {
    const fn new() -> Self {
        Mutex(RawOndeck::INIT)
    }

    /// Ends the process with `message` if nobody holds the mutex: then the caller does not either.
    #[inline(always)]
    pub(crate) fn expect_taken(&self, message: &str) {
        if !self.0.is_taken() {
            misused(message);
        }
    }
}

const _: () = assert!(size_of::<Mutex>() == 8 && align_of::<Mutex>() == 8, "as the header has it");
// SAFETY: of the same size, and every pattern of bits is a number.
const _: () = assert!(unsafe { std::mem::transmute::<Mutex, u64>(Mutex::new()) } == 0, "ONDECK_MUTEX_INIT");

#[unsafe(no_mangle)]
extern "C" fn ondeck_mutex_init(mutex: &mut MaybeUninit<Mutex>) -> c_int {
    mutex.write(Mutex::new());
    OK
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_mutex_destroy(mutex: &Mutex) -> c_int {
    if !mutex.0.is_at_rest() {
        return EBUSY;
    }
    destroyed((&raw const *mutex) as u64);
    OK
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_mutex_lock(mutex: &Mutex) -> c_int {
    recorded::acquire(&mutex.0);
    OK
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_mutex_trylock(mutex: &Mutex) -> c_int {
    if recorded::try_acquire(&mutex.0) { OK } else { EBUSY }
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_mutex_timedlock(mutex: &Mutex, clock: c_int, deadline: Option<&timespec>) -> c_int {
    let Some(deadline) = Deadline::new(clock, deadline) else { return EINVAL };
    if recorded::try_acquire(&mutex.0) {
        return OK;
    }
    // Another turn only if somebody has set the clock back meanwhile.
    loop {
        if recorded::try_acquire_until(&mutex.0, deadline.on_platform()) {
            return OK;
        }
        if deadline.is_past() {
            return ETIMEDOUT;
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_mutex_lock_for(mutex: &Mutex, ns: u64) -> c_int {
    if recorded::try_acquire(&mutex.0) || recorded::try_acquire_until(&mutex.0, in_ns(ns)) { OK } else { ETIMEDOUT }
}

/// # Safety
/// - The calling thread holds the mutex.
#[unsafe(no_mangle)]
unsafe extern "C" fn ondeck_mutex_unlock(mutex: &Mutex) -> c_int {
    mutex.expect_taken("ondeck_mutex_unlock: nobody holds this mutex\n");
    // SAFETY: the caller holds it. What can be seen is that somebody does; a thread that releases another's breaks it.
    unsafe { recorded::release(&mutex.0) };
    OK
}

/// # Safety
/// - The calling thread holds the mutex.
#[unsafe(no_mangle)]
unsafe extern "C" fn ondeck_mutex_unlock_fair(mutex: &Mutex) -> c_int {
    mutex.expect_taken("ondeck_mutex_unlock_fair: nobody holds this mutex\n");
    // SAFETY: as for `ondeck_mutex_unlock`; the next holder changes nothing about it.
    unsafe { recorded::release_fair(&mutex.0) };
    OK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutex_is_locked_once_at_a_time() {
        let mutex = Mutex::new();
        assert_eq!(ondeck_mutex_lock(&mutex), OK);
        assert_eq!([ondeck_mutex_trylock(&mutex), ondeck_mutex_destroy(&mutex)], [EBUSY; 2]);
        assert_eq!(ondeck_mutex_lock_for(&mutex, 1_000_000), ETIMEDOUT);
        let past = timespec { tv_sec: 0, tv_nsec: 1 };
        assert_eq!(ondeck_mutex_timedlock(&mutex, libc::CLOCK_REALTIME as c_int, Some(&past)), ETIMEDOUT);
        assert_eq!(ondeck_mutex_timedlock(&mutex, libc::CLOCK_REALTIME as c_int, None), EINVAL);
        // SAFETY: locked above.
        assert_eq!(unsafe { ondeck_mutex_unlock(&mutex) }, OK);
        assert_eq!(ondeck_mutex_destroy(&mutex), OK);
    }
}
