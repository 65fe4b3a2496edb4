//! Each call, answered by ours or by the C library.

use super::{Rwlock, at};
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
    pthread_rwlock_rdlock() |here: &Rwlock| here.read();
    pthread_rwlock_wrlock() |here: &Rwlock| here.write();
    pthread_rwlock_tryrdlock() |here: &Rwlock| here.try_read();
    pthread_rwlock_trywrlock() |here: &Rwlock| here.try_write();
    pthread_rwlock_unlock() |here: &Rwlock| here.unlock();
    pthread_rwlock_timedrdlock(at: *const timespec) |here: &Rwlock| {
        // SAFETY: the caller's.
        unsafe { until(CLOCK_REALTIME, at, || here.read(), |deadline| here.read_until(deadline)) }
    };
    pthread_rwlock_timedwrlock(at: *const timespec) |here: &Rwlock| {
        // SAFETY: the caller's.
        unsafe { until(CLOCK_REALTIME, at, || here.write(), |deadline| here.write_until(deadline)) }
    };
    pthread_rwlock_clockrdlock(clock: clockid_t, at: *const timespec) |here: &Rwlock| {
        // SAFETY: the caller's.
        unsafe { until(clock, at, || here.read(), |deadline| here.read_until(deadline)) }
    };
    pthread_rwlock_clockwrlock(clock: clockid_t, at: *const timespec) |here: &Rwlock| {
        // SAFETY: the caller's.
        unsafe { until(clock, at, || here.write(), |deadline| here.write_until(deadline)) }
    };
}

/// Waits until that point of time, or for ever if it is null, as the C library does.
///
/// # Safety
/// The time is there, or null.
unsafe fn until(
    clock: clockid_t,
    at: *const timespec,
    for_ever: impl FnOnce() -> Answer,
    until: impl FnOnce(Deadline) -> Answer,
) -> Answer {
    // SAFETY: the caller's.
    match unsafe { at.as_ref() } {
        None => for_ever(),
        Some(_) if !Deadline::is_clock(clock) => EINVAL,
        Some(at) => Deadline::new(clock, *at).map_or(EINVAL, until),
    }
}
