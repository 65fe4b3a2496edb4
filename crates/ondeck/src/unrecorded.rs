//! The operations of the locks in a build that records nothing: each calls the lock directly.

use ondeck_core::ondeck::{Policy, RawCondvar, RawOndeck};
use ondeck_core::{Hardware, RawOndeckRwLock};
use ondeck_core::{RawLock, RawTimedLock};

/// The platform that the locks run on.
pub(crate) type Machine = Hardware;

/// The reader-writer lock without data.
pub(crate) type RwLock = RawOndeckRwLock<Machine>;

pub(crate) fn name(_address: u64, _length: u64, _name: &[u8]) {}

#[inline(always)]
pub(crate) fn acquire<P: Policy>(lock: &RawOndeck<Machine, P>) {
    lock.acquire();
}

#[inline(always)]
pub(crate) fn try_acquire<P: Policy>(lock: &RawOndeck<Machine, P>) -> bool {
    lock.try_acquire()
}

#[inline(always)]
pub(crate) fn try_acquire_until<P: Policy>(lock: &RawOndeck<Machine, P>, deadline_ns: u64) -> bool {
    lock.try_acquire_until(deadline_ns)
}

/// # Safety
/// The calling thread holds the lock.
#[inline(always)]
pub(crate) unsafe fn release<P: Policy>(lock: &RawOndeck<Machine, P>) {
    // SAFETY: the caller's.
    unsafe { lock.release() };
}

/// # Safety
/// The calling thread holds the lock.
#[inline(always)]
pub(crate) unsafe fn release_fair<P: Policy>(lock: &RawOndeck<Machine, P>) {
    // SAFETY: the caller's.
    unsafe { lock.release_fair() };
}

/// # Safety
/// The calling thread holds the lock.
#[inline(always)]
pub(crate) unsafe fn wait<P: Policy>(
    waiters: &RawCondvar<Machine, P>,
    lock: &RawOndeck<Machine, P>,
    deadline_ns: Option<u64>,
) -> bool {
    // SAFETY: the caller's.
    unsafe { waiters.wait(lock, deadline_ns) }
}

#[inline(always)]
#[allow(dead_code, reason = "C has no upgradable readers")]
pub(crate) fn read_upgradable(lock: &RwLock) {
    if !lock.try_read_upgradable() {
        lock.read_upgradable();
    }
}

#[inline(always)]
pub(crate) fn notify_one<P: Policy>(waiters: &RawCondvar<Machine, P>) -> bool {
    waiters.notify_one()
}

#[inline(always)]
pub(crate) fn notify_all<P: Policy>(waiters: &RawCondvar<Machine, P>) -> usize {
    waiters.notify_all()
}
