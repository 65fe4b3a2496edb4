//! The guards of the whole data: for reading, for writing, and for reading upgradably.

use super::unlocked::lets_others_in;
use super::upgraded::writes_meanwhile;
use super::{MappedRwLockReadGuard, MappedRwLockWriteGuard, RawRwLock, RwLock};
use crate::guard::shows_data;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

// None of these guards gives the lock. One that is shared is with another thread, which could lock for writing and have
// `&mut T` there; `T: Sync` alone does not allow that.

/// Access to the data of a [`RwLock`], for reading. Dropping the guard releases the lock. A guard stays on its thread.
///
/// The functions are no methods, so they hide no method of the data. Call them as `RwLockReadGuard::map(guard, f)`.
///
/// # Example
/// ```
/// use ondeck::{RwLock, RwLockReadGuard};
///
/// let lock = RwLock::new(1);
/// let guard: RwLockReadGuard<'_, i32> = lock.read();
/// assert_eq!(*guard, 1);
/// ```
///
/// Guards are not [`Send`]:
/// ```compile_fail,E0277
/// let lock = ondeck::RwLock::new(1);
/// let guard = lock.read();
/// std::thread::scope(|scope| scope.spawn(move || drop(guard)).join());
/// ```
#[must_use = "if unused the lock is released at once"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'a, T: ?Sized + 'a> {
    /// Held by this thread for reading, for as long as the guard is alive.
    lock: &'a RwLock<T>,
    /// As good as a `&T`, that stays on its thread.
    data: PhantomData<*mut T>,
}

// SAFETY: a shared guard gives `&T`, and nothing else: it does not give the lock.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// The guard of an acquisition.
    ///
    /// # Safety
    /// The calling thread has the lock for reading, not upgradably, and this acquisition has no guard.
    #[inline]
    pub(super) unsafe fn new(lock: &'a RwLock<T>) -> Self {
        RwLockReadGuard { lock, data: PhantomData }
    }

    /// Narrows the guard to a part of the data.
    ///
    /// # Panics
    /// If `f` panics. The lock is released then.
    ///
    /// # Example
    /// See [`MappedRwLockReadGuard`].
    #[inline]
    pub fn map<U: ?Sized, F>(s: Self, f: F) -> MappedRwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let data: *const U = f(&s);
        // SAFETY: the guard has the lock, and is not dropped. The part is borrowed from the data.
        unsafe { MappedRwLockReadGuard::new(&ManuallyDrop::new(s).lock.raw, data) }
    }

    /// Narrows the guard to a part of the data that may be missing.
    ///
    /// # Errors
    /// If `f` returns `None`. The error is the guard, which still has the lock.
    ///
    /// # Panics
    /// If `f` panics. The lock is released then.
    ///
    /// # Example
    /// ```
    /// use ondeck::{RwLock, RwLockReadGuard};
    ///
    /// let lock = RwLock::new(vec![1, 2]);
    /// let guard = RwLockReadGuard::try_map(lock.read(), |list| list.get(7)).unwrap_err();
    /// assert_eq!(*RwLockReadGuard::try_map(guard, |list| list.get(1)).unwrap(), 2);
    /// ```
    #[inline]
    pub fn try_map<U: ?Sized, F>(s: Self, f: F) -> Result<MappedRwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        let data: *const U = match f(&s) {
            Some(data) => data,
            None => return Err(s),
        };
        // SAFETY: as in `map`.
        Ok(unsafe { MappedRwLockReadGuard::new(&ManuallyDrop::new(s).lock.raw, data) })
    }

    /// Narrows the guard to a part of the data that may be missing, and tells why.
    ///
    /// # Errors
    /// If `f` returns an error. The guard, which still has the lock, comes back with it.
    ///
    /// # Panics
    /// If `f` panics. The lock is released then.
    ///
    /// # Example
    /// As for [`RwLockReadGuard::try_map`](RwLockReadGuard::try_map).
    #[inline]
    pub fn try_map_or_err<U: ?Sized, F, E>(s: Self, f: F) -> Result<MappedRwLockReadGuard<'a, U>, (Self, E)>
    where
        F: FnOnce(&T) -> Result<&U, E>,
    {
        let data: *const U = match f(&s) {
            Ok(data) => data,
            Err(error) => return Err((s, error)),
        };
        // SAFETY: as in `map`.
        Ok(unsafe { MappedRwLockReadGuard::new(&ManuallyDrop::new(s).lock.raw, data) })
    }

    /// Releases the lock, and threads that wait go before those that come.
    ///
    /// # Blocking
    /// As [`RawRwLock::unlock_shared_fair`].
    ///
    /// # Example
    /// ```
    /// use ondeck::{RwLock, RwLockReadGuard};
    ///
    /// let lock = RwLock::new(1);
    /// RwLockReadGuard::unlock_fair(lock.read());
    /// assert!(!lock.is_locked());
    /// ```
    #[inline]
    pub fn unlock_fair(s: Self) {
        // SAFETY: the guard has the lock, and its drop does not run.
        unsafe { ManuallyDrop::new(s).lock.raw.unlock_shared_fair() };
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard has the lock for reading, so nobody writes the data.
        unsafe { &*self.lock.data_ptr() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard has the lock for reading.
        unsafe { self.lock.raw.unlock_shared() };
    }
}

/// Access to the data of a [`RwLock`], for writing. Dropping the guard releases the lock. A guard stays on its thread.
///
/// The functions are no methods, so they hide no method of the data. Call them as `RwLockWriteGuard::map(guard, f)`.
///
/// # Example
/// ```
/// use ondeck::{RwLock, RwLockWriteGuard};
///
/// let lock = RwLock::new(1);
/// let mut guard: RwLockWriteGuard<'_, i32> = lock.write();
/// *guard += 1;
/// assert_eq!(*RwLockWriteGuard::downgrade(guard), 2);
/// ```
///
/// Guards are not [`Send`]:
/// ```compile_fail,E0277
/// let lock = ondeck::RwLock::new(1);
/// let guard = lock.write();
/// std::thread::scope(|scope| scope.spawn(move || drop(guard)).join());
/// ```
#[must_use = "if unused the lock is released at once"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized + 'a> {
    /// Held by this thread for writing, for as long as the guard is alive.
    lock: &'a RwLock<T>,
    /// As good as a `&mut T`, that stays on its thread.
    data: PhantomData<*mut T>,
}

// SAFETY: a shared guard gives `&T`, and nothing else: it does not give the lock.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// The guard of an acquisition.
    ///
    /// # Safety
    /// The calling thread has the lock for writing, and this acquisition has no guard, nor a borrow through one.
    #[inline]
    pub(super) unsafe fn new(lock: &'a RwLock<T>) -> Self {
        RwLockWriteGuard { lock, data: PhantomData }
    }

    /// Narrows the guard to a part of the data.
    ///
    /// # Panics
    /// If `f` panics. The lock is released then.
    ///
    /// # Example
    /// See [`MappedRwLockWriteGuard`].
    #[inline]
    pub fn map<U: ?Sized, F>(mut s: Self, f: F) -> MappedRwLockWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let data: *mut U = f(&mut s);
        // SAFETY: the guard has the lock, and is not dropped. The part is borrowed from the data.
        unsafe { MappedRwLockWriteGuard::new(&ManuallyDrop::new(s).lock.raw, data) }
    }

    /// Narrows the guard to a part of the data that may be missing.
    ///
    /// # Errors
    /// If `f` returns `None`. The error is the guard, which still has the lock.
    ///
    /// # Panics
    /// If `f` panics. The lock is released then.
    ///
    /// # Example
    /// ```
    /// use ondeck::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(vec![1, 2]);
    /// let guard = RwLockWriteGuard::try_map(lock.write(), |list| list.get_mut(7)).unwrap_err();
    /// *RwLockWriteGuard::try_map(guard, |list| list.get_mut(1)).unwrap() = 3;
    /// assert_eq!(lock.into_inner(), [1, 3]);
    /// ```
    #[inline]
    pub fn try_map<U: ?Sized, F>(mut s: Self, f: F) -> Result<MappedRwLockWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let data: *mut U = match f(&mut s) {
            Some(data) => data,
            None => return Err(s),
        };
        // SAFETY: as in `map`.
        Ok(unsafe { MappedRwLockWriteGuard::new(&ManuallyDrop::new(s).lock.raw, data) })
    }

    /// Narrows the guard to a part of the data that may be missing, and tells why.
    ///
    /// # Errors
    /// If `f` returns an error. The guard, which still has the lock, comes back with it.
    ///
    /// # Panics
    /// If `f` panics. The lock is released then.
    ///
    /// # Example
    /// As for [`RwLockWriteGuard::try_map`](RwLockWriteGuard::try_map).
    #[inline]
    pub fn try_map_or_err<U: ?Sized, F, E>(mut s: Self, f: F) -> Result<MappedRwLockWriteGuard<'a, U>, (Self, E)>
    where
        F: FnOnce(&mut T) -> Result<&mut U, E>,
    {
        let data: *mut U = match f(&mut s) {
            Ok(data) => data,
            Err(error) => return Err((s, error)),
        };
        // SAFETY: as in `map`.
        Ok(unsafe { MappedRwLockWriteGuard::new(&ManuallyDrop::new(s).lock.raw, data) })
    }

    /// Goes on reading. No other thread writes in between. Readers that wait come in.
    ///
    /// # Example
    /// See [`RwLockWriteGuard`].
    #[inline]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'a, T> {
        let lock = ManuallyDrop::new(s).lock;
        // SAFETY: the guard had the lock for writing, and its drop, which would release it, does not run.
        unsafe { lock.raw.downgrade() };
        // SAFETY: the lock is had for reading now.
        unsafe { RwLockReadGuard::new(lock) }
    }

    /// Goes on reading upgradably. No other thread writes in between. Readers that wait come in.
    ///
    /// # Example
    /// ```
    /// use ondeck::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(1);
    /// let guard = RwLockWriteGuard::downgrade_to_upgradable(lock.write());
    /// assert_eq!((*guard, *lock.read()), (1, 1));
    /// assert!(lock.try_upgradable_read().is_none());
    /// ```
    #[inline]
    pub fn downgrade_to_upgradable(s: Self) -> RwLockUpgradableReadGuard<'a, T> {
        let lock = ManuallyDrop::new(s).lock;
        // SAFETY: as in `downgrade`.
        unsafe { lock.raw.downgrade_to_upgradable() };
        // SAFETY: the lock is had for reading upgradably now.
        unsafe { RwLockUpgradableReadGuard::new(lock) }
    }

    /// Releases the lock, and threads that wait go before those that come.
    ///
    /// # Blocking
    /// As [`RawRwLock::unlock_exclusive_fair`].
    ///
    /// # Example
    /// ```
    /// use ondeck::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(1);
    /// RwLockWriteGuard::unlock_fair(lock.write());
    /// assert!(!lock.is_locked());
    /// ```
    #[inline]
    pub fn unlock_fair(s: Self) {
        // SAFETY: the guard has the lock, and its drop does not run.
        unsafe { ManuallyDrop::new(s).lock.raw.unlock_exclusive_fair() };
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard has the lock for writing, so nobody else comes to the data.
        unsafe { &*self.lock.data_ptr() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; and the guard is borrowed alone.
        unsafe { &mut *self.lock.data_ptr() }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard has the lock for writing.
        unsafe { self.lock.raw.unlock_exclusive() };
    }
}

/// Access to the data of a [`RwLock`], for reading, that can become access for writing. Other threads may read
/// meanwhile, but only one thread at a time has such a guard. A guard stays on its thread.
///
/// The functions are no methods, so they hide no method of the data. Call them as
/// `RwLockUpgradableReadGuard::upgrade(guard)`.
///
/// # Example
/// ```
/// use ondeck::{RwLock, RwLockUpgradableReadGuard};
///
/// let names = RwLock::new(vec!["first"]);
/// let guard = names.upgradable_read();
/// if !guard.contains(&"second") {
///     // No other thread can have added it since the look.
///     RwLockUpgradableReadGuard::upgrade(guard).push("second");
/// }
/// assert_eq!(names.read().len(), 2);
/// ```
///
/// Guards are not [`Send`]:
/// ```compile_fail,E0277
/// let lock = ondeck::RwLock::new(1);
/// let guard = lock.upgradable_read();
/// std::thread::scope(|scope| scope.spawn(move || drop(guard)).join());
/// ```
#[must_use = "if unused the lock is released at once"]
#[clippy::has_significant_drop]
pub struct RwLockUpgradableReadGuard<'a, T: ?Sized + 'a> {
    /// Held by this thread for reading upgradably, for as long as the guard is alive.
    lock: &'a RwLock<T>,
    /// As good as a `&T`, that stays on its thread.
    data: PhantomData<*mut T>,
}

// SAFETY: a shared guard gives `&T`, and nothing else: it does not give the lock, and an upgrade takes the guard.
unsafe impl<T: ?Sized + Sync> Sync for RwLockUpgradableReadGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockUpgradableReadGuard<'a, T> {
    /// The guard of an acquisition.
    ///
    /// # Safety
    /// The calling thread has the lock for reading upgradably, and this acquisition has no guard.
    #[inline]
    pub(super) unsafe fn new(lock: &'a RwLock<T>) -> Self {
        RwLockUpgradableReadGuard { lock, data: PhantomData }
    }

    /// Becomes the writer. Waits until the other readers have left. No other thread writes in between.
    ///
    /// # Blocking
    /// May spin and sleep. New readers wait meanwhile. A thread that has another read guard of this lock waits for
    /// ever.
    ///
    /// # Example
    /// See [`RwLockUpgradableReadGuard`].
    #[inline]
    pub fn upgrade(s: Self) -> RwLockWriteGuard<'a, T> {
        let lock = s.lock;
        // SAFETY: the guard has the lock upgradably. If this panics, it has that still, and its drop releases it.
        unsafe { lock.raw.upgrade() };
        let _ = ManuallyDrop::new(s);
        // SAFETY: the lock is had for writing now. Borrows through the guard ended when it was passed.
        unsafe { RwLockWriteGuard::new(lock) }
    }

    /// Becomes the writer if there is no other reader. Waits for no thread; if readers count themselves by core, a system
    /// call has to tell, and the answer is no while another thread is at that.
    ///
    /// # Errors
    /// If there is another reader. The error is the guard, which still reads upgradably.
    ///
    /// # Example
    /// ```
    /// use ondeck::{RwLock, RwLockUpgradableReadGuard};
    ///
    /// let lock = RwLock::new(1);
    /// let other = lock.read();
    /// let guard = RwLockUpgradableReadGuard::try_upgrade(lock.upgradable_read()).unwrap_err();
    /// drop(other);
    /// *RwLockUpgradableReadGuard::try_upgrade(guard).unwrap() += 1;
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    #[inline]
    pub fn try_upgrade(s: Self) -> Result<RwLockWriteGuard<'a, T>, Self> {
        // SAFETY: the guard has the lock upgradably.
        let is_writer = unsafe { s.lock.raw.try_upgrade() };
        // SAFETY: as the lock has answered.
        unsafe { Self::upgraded_if(is_writer, s) }
    }

    /// Becomes the writer, and waits for at most `timeout` for the other readers to leave.
    ///
    /// # Errors
    /// If the timeout passed first. The error is the guard, which still reads upgradably.
    ///
    /// # Blocking
    /// As [`upgrade`](RwLockUpgradableReadGuard::upgrade), until the timeout.
    ///
    /// # Example
    /// ```
    /// use ondeck::{RwLock, RwLockUpgradableReadGuard};
    /// use std::time::Duration;
    ///
    /// let lock = RwLock::new(1);
    /// let _other = lock.read();
    /// let guard = lock.upgradable_read();
    /// assert!(RwLockUpgradableReadGuard::try_upgrade_for(guard, Duration::from_millis(1)).is_err());
    /// ```
    #[inline]
    pub fn try_upgrade_for(s: Self, timeout: Duration) -> Result<RwLockWriteGuard<'a, T>, Self> {
        // SAFETY: the guard has the lock upgradably.
        let is_writer = unsafe { s.lock.raw.try_upgrade_for(timeout) };
        // SAFETY: as the lock has answered.
        unsafe { Self::upgraded_if(is_writer, s) }
    }

    /// Becomes the writer, and waits at most until `deadline` for the other readers to leave.
    ///
    /// # Errors
    /// If the deadline passed first. The error is the guard, which still reads upgradably.
    ///
    /// # Blocking
    /// As [`upgrade`](RwLockUpgradableReadGuard::upgrade), until the deadline.
    ///
    /// # Example
    /// As for [`try_upgrade_for`](RwLockUpgradableReadGuard::try_upgrade_for).
    #[inline]
    pub fn try_upgrade_until(s: Self, deadline: Instant) -> Result<RwLockWriteGuard<'a, T>, Self> {
        // SAFETY: the guard has the lock upgradably.
        let is_writer = unsafe { s.lock.raw.try_upgrade_until(deadline) };
        // SAFETY: as the lock has answered.
        unsafe { Self::upgraded_if(is_writer, s) }
    }

    /// Goes on reading like any other reader. Another thread may read upgradably then.
    ///
    /// # Example
    /// ```
    /// use ondeck::{RwLock, RwLockUpgradableReadGuard};
    ///
    /// let lock = RwLock::new(1);
    /// let guard = RwLockUpgradableReadGuard::downgrade(lock.upgradable_read());
    /// assert_eq!(*lock.upgradable_read(), *guard);
    /// ```
    #[inline]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'a, T> {
        let lock = ManuallyDrop::new(s).lock;
        // SAFETY: the guard had the lock upgradably, and its drop, which would release it, does not run.
        unsafe { lock.raw.downgrade_upgradable() };
        // SAFETY: the lock is had for reading now.
        unsafe { RwLockReadGuard::new(lock) }
    }

    /// The guard after an attempt.
    ///
    /// # Safety
    /// The calling thread has the lock for writing if `is_writer`, and else as the guard says.
    #[inline]
    unsafe fn upgraded_if(is_writer: bool, s: Self) -> Result<RwLockWriteGuard<'a, T>, Self> {
        if !is_writer {
            return Err(s);
        }
        // SAFETY: the caller's; and the guard before is not dropped.
        Ok(unsafe { RwLockWriteGuard::new(ManuallyDrop::new(s).lock) })
    }

    /// Releases the lock, and threads that wait go before those that come.
    ///
    /// # Blocking
    /// As [`RawRwLock::unlock_upgradable_fair`].
    ///
    /// # Example
    /// ```
    /// use ondeck::{RwLock, RwLockUpgradableReadGuard};
    ///
    /// let lock = RwLock::new(1);
    /// RwLockUpgradableReadGuard::unlock_fair(lock.upgradable_read());
    /// assert!(!lock.is_locked());
    /// ```
    #[inline]
    pub fn unlock_fair(s: Self) {
        // SAFETY: the guard has the lock, and its drop does not run.
        unsafe { ManuallyDrop::new(s).lock.raw.unlock_upgradable_fair() };
    }
}

impl<T: ?Sized> Deref for RwLockUpgradableReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard has the lock for reading, so nobody writes the data.
        unsafe { &*self.lock.data_ptr() }
    }
}

impl<T: ?Sized> Drop for RwLockUpgradableReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard has the lock for reading upgradably.
        unsafe { self.lock.raw.unlock_upgradable() };
    }
}

shows_data!(RwLockReadGuard<'_, T>, RwLockWriteGuard<'_, T>, RwLockUpgradableReadGuard<'_, T>);

lets_others_in!(RwLockReadGuard<'a, T>, "RwLock::new(1)", "read",
    lock_shared unlock_shared unlock_shared_fair bump_shared);
lets_others_in!(RwLockWriteGuard<'a, T>, "RwLock::new(1)", "write",
    lock_exclusive unlock_exclusive unlock_exclusive_fair bump_exclusive);
lets_others_in!(RwLockUpgradableReadGuard<'a, T>, "RwLock::new(1)", "upgradable_read",
    lock_upgradable unlock_upgradable unlock_upgradable_fair bump_upgradable);

writes_meanwhile!(RwLockUpgradableReadGuard<'a, T>, "RwLock::new(1)", "upgradable_read");
