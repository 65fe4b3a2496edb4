//! Each call, answered by ours or by the C library.

use super::at;
use crate::time::Deadline;
use crate::{Answer, real};
use libc::{CLOCK_REALTIME, EINVAL, clockid_t, pthread_rwlock_t, timespec};

/// The calls: what ours does, with the arguments behind the lock.
macro_rules! answers {
    ($($name:ident($($argument:ident: $type:ty),*) $ours:expr;)*) => {$(
        /// # Safety
        /// As the C library's function of that name.
        #[inline(always)]
        pub(super) unsafe fn $name(lock: *mut pthread_rwlock_t $(, $argument: $type)*) -> Answer {
            // SAFETY: the caller's lock exists.
            let here = unsafe { at(lock) };
            match here.ours() {
                Some(_) => $ours(here),
                // SAFETY: the caller's.
                None => unsafe { real::$name(lock $(, $argument)*) },
            }
        }
    )*};
}

answers! {
    pthread_rwlock_rdlock() |here: &super::Rwlock| here.read();
    pthread_rwlock_wrlock() |here: &super::Rwlock| here.write();
    pthread_rwlock_tryrdlock() |here: &super::Rwlock| here.try_read();
    pthread_rwlock_trywrlock() |here: &super::Rwlock| here.try_write();
    pthread_rwlock_unlock() |here: &super::Rwlock| here.unlock();
    pthread_rwlock_timedrdlock(at: *const timespec) |here: &super::Rwlock| {
        // SAFETY: the caller's.
        unsafe { deadline(CLOCK_REALTIME, at) }.map_or(EINVAL, |deadline| here.read_until(deadline))
    };
    pthread_rwlock_timedwrlock(at: *const timespec) |here: &super::Rwlock| {
        // SAFETY: the caller's.
        unsafe { deadline(CLOCK_REALTIME, at) }.map_or(EINVAL, |deadline| here.write_until(deadline))
    };
    pthread_rwlock_clockrdlock(clock: clockid_t, at: *const timespec) |here: &super::Rwlock| {
        // SAFETY: the caller's.
        unsafe { deadline(clock, at) }.map_or(EINVAL, |deadline| here.read_until(deadline))
    };
    pthread_rwlock_clockwrlock(clock: clockid_t, at: *const timespec) |here: &super::Rwlock| {
        // SAFETY: the caller's.
        unsafe { deadline(clock, at) }.map_or(EINVAL, |deadline| here.write_until(deadline))
    };
}

/// `None` if that is no clock of these, or no time.
///
/// # Safety
/// The time is there.
unsafe fn deadline(clock: clockid_t, at: *const timespec) -> Option<Deadline> {
    // SAFETY: the caller's.
    Deadline::is_clock(clock).then(|| unsafe { *at }).and_then(|at| Deadline::new(clock, at))
}
