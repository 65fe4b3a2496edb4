//! An object that its last user frees, where nothing but the lock inside it guards the count of users.
//!
//! This is the pattern that makes "nothing touches the lock after the releasing write" a promise one can rely on: the
//! user that counts down to zero knows that all others have released, though some may still be on their way out of
//! `release`.

use crate::harness::{CheckedCell, Harness};
use crate::properties::free_lock;
use ondeck_lineage::RawLock;

/// The object.
pub struct CountedObject<H: Harness, L> {
    lock: L,
    users: H::Cell,
}

impl<H: Harness, L: RawLock<Platform = H::Platform>> CountedObject<H, L> {
    /// An object with so many users.
    pub fn new(users: u64) -> Self {
        CountedObject { lock: free_lock::<H, L>(), users: H::Cell::new(users) }
    }

    /// Acquires and releases, and stays a user. `acquire` must return with the lock held.
    ///
    /// # Safety
    /// The caller is a user of the living object `this`.
    pub unsafe fn visit(this: *const Self, acquire: impl FnOnce(&L)) {
        // SAFETY: the caller is a user, and stays one.
        unsafe { Self::pass_through(this, acquire, |users| users) };
    }

    /// Acquires, counts the caller out, releases. Returns how many users are left: the last one frees the object.
    ///
    /// # Safety
    /// The caller is a user of the living object `this`, and is none afterwards.
    pub unsafe fn leave(this: *const Self, acquire: impl FnOnce(&L)) -> u64 {
        // SAFETY: the caller is a user until the release inside.
        unsafe { Self::pass_through(this, acquire, |users| users - 1) }
    }

    /// # Safety
    /// The caller is a user of the living object `this` until the release. Takes a pointer: a reference to the object
    /// must not be used later than that.
    unsafe fn pass_through(this: *const Self, acquire: impl FnOnce(&L), change: impl FnOnce(u64) -> u64) -> u64 {
        // SAFETY: alive until the release below.
        let object = unsafe { &*this };
        acquire(&object.lock);
        // SAFETY: the lock is ours.
        let left = unsafe { object.users.update(change) };
        // SAFETY: the lock is ours. Others may free the object as soon as it is released, so this is its last use.
        unsafe { object.lock.release() };
        left
    }
}

/// A pointer to a counted object, for the thread of one of its users.
pub struct Reference<H: Harness, L>(pub *mut CountedObject<H, L>);

// SAFETY: what it points to is shared under its lock and kept alive by its count of users.
unsafe impl<H: Harness, L> Send for Reference<H, L> {}

impl<H: Harness, L> Reference<H, L> {
    /// The pointer. A method, so that a closure captures the reference and not the bare pointer in it.
    pub fn pointer(&self) -> *mut CountedObject<H, L> {
        self.0
    }
}
