//! `ondeck_rwlock_t`.

use crate::clock::{Deadline, in_ns};
use crate::{OK, destroyed, misused, recorded};
use libc::{EBUSY, EINVAL, ETIMEDOUT, timespec};
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// What `ondeck_rwlock_t` is.
#[repr(transparent)]
struct RwLock(recorded::RwLock);

impl RwLock {
    const fn new() -> Self {
        RwLock(recorded::RwLock::INIT)
    }

    /// Ends the process with `message` if nobody reads: then the caller does not either. A release would take a reader
    /// away that is not there, and with it the writer's flag.
    #[inline(always)]
    fn expect_read(&self, message: &str) {
        // Beside a writer, readers that have just come are counted for a moment.
        if self.0.is_surely_unread() {
            misused(message);
        }
    }

    /// Ends the process with `message` if nobody writes: then the caller does not either.
    #[inline(always)]
    fn expect_written(&self, message: &str) {
        if !self.0.is_taken_for_writing() {
            misused(message);
        }
    }
}

const _: () = assert!(size_of::<RwLock>() == 16 && align_of::<RwLock>() == 8, "as the header has it");
// SAFETY: of the same size, and every pattern of bits is a number.
const _: () = assert!(unsafe { std::mem::transmute::<RwLock, u128>(RwLock::new()) } == 0, "ONDECK_RWLOCK_INIT");

/// 0 if `attempt`, which gets a time of the platform's clock, has succeeded before `deadline`, and ETIMEDOUT if not.
fn until(deadline: Deadline, attempt: impl Fn(u64) -> bool) -> c_int {
    // Another turn only if somebody has set the clock back meanwhile.
    loop {
        if attempt(deadline.on_platform()) {
            return OK;
        }
        if deadline.is_past() {
            return ETIMEDOUT;
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_rwlock_init(lock: &mut MaybeUninit<RwLock>) -> c_int {
    lock.write(RwLock::new());
    OK
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_rwlock_destroy(lock: &RwLock) -> c_int {
    if !lock.0.is_at_rest() {
        return EBUSY;
    }
    // Not `retire`: threads may go on using a static object of C++ after its destructor.
    lock.0.compact();
    destroyed((&raw const *lock) as u64);
    OK
}

// -- Readers. The one too many panics, in any of these ways, which ends the process here. ------------------------------

#[unsafe(no_mangle)]
extern "C" fn ondeck_rwlock_rdlock(lock: &RwLock) -> c_int {
    lock.0.read();
    OK
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_rwlock_tryrdlock(lock: &RwLock) -> c_int {
    if lock.0.try_read() { OK } else { EBUSY }
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_rwlock_timedrdlock(lock: &RwLock, clock: c_int, deadline: Option<&timespec>) -> c_int {
    let Some(deadline) = Deadline::new(clock, deadline) else { return EINVAL };
    if lock.0.try_read() { OK } else { until(deadline, |deadline_ns| lock.0.read_until(deadline_ns)) }
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_rwlock_rdlock_for(lock: &RwLock, ns: u64) -> c_int {
    if lock.0.try_read() || lock.0.read_until(in_ns(ns)) { OK } else { ETIMEDOUT }
}

/// # Safety
/// - The calling thread holds the lock for reading.
#[unsafe(no_mangle)]
unsafe extern "C" fn ondeck_rwlock_rdunlock(lock: &RwLock) -> c_int {
    lock.expect_read("ondeck_rwlock_rdunlock: nobody holds this lock for reading\n");
    // SAFETY: the caller reads. What can be seen is that somebody does; a thread that releases another's breaks it. There
    // are no upgradable readers, as no function here makes one.
    unsafe { lock.0.release_read() };
    OK
}

// -- Writers ----------------------------------------------------------------------------------------------------------

#[unsafe(no_mangle)]
extern "C" fn ondeck_rwlock_wrlock(lock: &RwLock) -> c_int {
    lock.0.write();
    OK
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_rwlock_trywrlock(lock: &RwLock) -> c_int {
    if lock.0.try_write() { OK } else { EBUSY }
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_rwlock_timedwrlock(lock: &RwLock, clock: c_int, deadline: Option<&timespec>) -> c_int {
    let Some(deadline) = Deadline::new(clock, deadline) else { return EINVAL };
    if lock.0.try_write() { OK } else { until(deadline, |deadline_ns| lock.0.write_until(deadline_ns)) }
}

#[unsafe(no_mangle)]
extern "C" fn ondeck_rwlock_wrlock_for(lock: &RwLock, ns: u64) -> c_int {
    if lock.0.try_write() || lock.0.write_until(in_ns(ns)) { OK } else { ETIMEDOUT }
}

/// # Safety
/// - The calling thread holds the lock for writing.
#[unsafe(no_mangle)]
unsafe extern "C" fn ondeck_rwlock_wrunlock(lock: &RwLock) -> c_int {
    lock.expect_written("ondeck_rwlock_wrunlock: nobody holds this lock for writing\n");
    // SAFETY: the caller writes. What can be seen is that somebody does; a thread that releases another's breaks it.
    unsafe { lock.0.release_write() };
    OK
}

/// # Safety
/// - The calling thread holds the lock for writing.
#[unsafe(no_mangle)]
unsafe extern "C" fn ondeck_rwlock_downgrade(lock: &RwLock) -> c_int {
    lock.expect_written("ondeck_rwlock_downgrade: nobody holds this lock for writing\n");
    // SAFETY: as for `ondeck_rwlock_wrunlock`; that the caller goes on as a reader changes nothing about it.
    unsafe { lock.0.downgrade() };
    OK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_a_lock_and_a_writer_has_it_alone() {
        let lock = RwLock::new();
        assert_eq!([ondeck_rwlock_rdlock(&lock), ondeck_rwlock_tryrdlock(&lock)], [OK; 2]);
        assert_eq!([ondeck_rwlock_trywrlock(&lock), ondeck_rwlock_destroy(&lock)], [EBUSY; 2]);
        for _ in 0..2 {
            // SAFETY: locked twice above.
            assert_eq!(unsafe { ondeck_rwlock_rdunlock(&lock) }, OK);
        }
        assert_eq!([ondeck_rwlock_wrlock(&lock), ondeck_rwlock_rdlock_for(&lock, 1_000_000)], [OK, ETIMEDOUT]);
        // SAFETY: locked for writing above.
        assert_eq!(unsafe { ondeck_rwlock_downgrade(&lock) }, OK);
        // SAFETY: so it reads.
        assert_eq!(unsafe { ondeck_rwlock_rdunlock(&lock) }, OK);
        assert_eq!(ondeck_rwlock_destroy(&lock), OK);
    }
}
