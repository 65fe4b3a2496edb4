//! The guards of a part of the data.

use super::RawRwLock;
use crate::guard::shows_data;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// Access to a part of the data of a [`RwLock`](crate::RwLock), for reading.
/// [`RwLockReadGuard::map`](crate::RwLockReadGuard::map) makes it. Dropping it releases the lock. It stays on its
/// thread.
///
/// # Example
/// ```
/// use ondeck::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
///
/// let lock = RwLock::new((1, "two"));
/// let second: MappedRwLockReadGuard<'_, &str> = RwLockReadGuard::map(lock.read(), |pair| &pair.1);
/// assert_eq!(*second, "two");
/// ```
#[must_use = "if unused the lock is released at once"]
#[clippy::has_significant_drop]
pub struct MappedRwLockReadGuard<'a, T: ?Sized + 'a> {
    /// Held by this thread for reading, for as long as the guard is alive.
    raw: &'a RawRwLock,
    /// No reference, as it would have to be valid until a function ends that drops the guard.
    data: *const T,
}

// SAFETY: a shared guard gives `&T`, and nothing else: it does not give the lock.
unsafe impl<T: ?Sized + Sync> Sync for MappedRwLockReadGuard<'_, T> {}

impl<'a, T: ?Sized> MappedRwLockReadGuard<'a, T> {
    /// The guard of an acquisition.
    ///
    /// # Safety
    /// The calling thread has the lock for reading, not upgradably, and this acquisition has no guard. `data` is made
    /// of a reference into what the lock guards, or of one that outlives `'a`.
    #[inline]
    pub(super) unsafe fn new(raw: &'a RawRwLock, data: *const T) -> Self {
        MappedRwLockReadGuard { raw, data }
    }

    /// Narrows the guard to a smaller part.
    ///
    /// # Panics
    /// If `f` panics. The lock is released then.
    ///
    /// # Example
    /// ```
    /// use ondeck::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
    ///
    /// let lock = RwLock::new((1, (2, 3)));
    /// let pair = RwLockReadGuard::map(lock.read(), |data| &data.1);
    /// assert_eq!(*MappedRwLockReadGuard::map(pair, |pair| &pair.1), 3);
    /// ```
    #[inline]
    pub fn map<U: ?Sized, F>(s: Self, f: F) -> MappedRwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let data: *const U = f(&s);
        MappedRwLockReadGuard { raw: ManuallyDrop::new(s).raw, data }
    }

    /// Narrows the guard to a smaller part that may be missing.
    ///
    /// # Errors
    /// If `f` returns `None`. The error is the guard, which still has the lock.
    ///
    /// # Panics
    /// If `f` panics. The lock is released then.
    ///
    /// # Example
    /// As for [`RwLockReadGuard::try_map`](crate::RwLockReadGuard::try_map).
    #[inline]
    pub fn try_map<U: ?Sized, F>(s: Self, f: F) -> Result<MappedRwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        let data: *const U = match f(&s) {
            Some(data) => data,
            None => return Err(s),
        };
        Ok(MappedRwLockReadGuard { raw: ManuallyDrop::new(s).raw, data })
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
    /// As for [`Self::try_map`](Self::try_map).
    #[inline]
    pub fn try_map_or_err<U: ?Sized, F, E>(s: Self, f: F) -> Result<MappedRwLockReadGuard<'a, U>, (Self, E)>
    where
        F: FnOnce(&T) -> Result<&U, E>,
    {
        let data: *const U = match f(&s) {
            Ok(data) => data,
            Err(error) => return Err((s, error)),
        };
        Ok(MappedRwLockReadGuard { raw: ManuallyDrop::new(s).raw, data })
    }

    /// Releases the lock, and threads that wait go before those that come.
    ///
    /// # Blocking
    /// As [`RawRwLock::unlock_shared_fair`].
    ///
    /// # Example
    /// ```
    /// use ondeck::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
    ///
    /// let lock = RwLock::new((1, 2));
    /// MappedRwLockReadGuard::unlock_fair(RwLockReadGuard::map(lock.read(), |pair| &pair.1));
    /// assert!(!lock.is_locked());
    /// ```
    #[inline]
    pub fn unlock_fair(s: Self) {
        // SAFETY: the guard has the lock, and its drop does not run.
        unsafe { ManuallyDrop::new(s).raw.unlock_shared_fair() };
    }
}

impl<T: ?Sized> Deref for MappedRwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: made of a reference that the guard has borrowed from the data; and the lock is held.
        unsafe { &*self.data }
    }
}

impl<T: ?Sized> Drop for MappedRwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard has the lock for reading.
        unsafe { self.raw.unlock_shared() };
    }
}

/// Access to a part of the data of a [`RwLock`](crate::RwLock), for writing.
/// [`RwLockWriteGuard::map`](crate::RwLockWriteGuard::map) makes it. Dropping it releases the lock. It stays on its
/// thread.
///
/// It has no `downgrade`. The part may be the inside of a `Cell`, and other readers could change that cell then.
///
/// # Example
/// ```
/// use ondeck::{MappedRwLockWriteGuard, RwLock, RwLockWriteGuard};
///
/// let lock = RwLock::new((1, 2));
/// let mut second: MappedRwLockWriteGuard<'_, i32> = RwLockWriteGuard::map(lock.write(), |pair| &mut pair.1);
/// *second = 3;
/// # drop(second);
/// assert_eq!(lock.into_inner(), (1, 3));
/// ```
#[must_use = "if unused the lock is released at once"]
#[clippy::has_significant_drop]
pub struct MappedRwLockWriteGuard<'a, T: ?Sized + 'a> {
    /// Held by this thread for writing, for as long as the guard is alive.
    raw: &'a RawRwLock,
    /// No reference, as it would have to be valid until a function ends that drops the guard.
    data: *mut T,
}

// SAFETY: a shared guard gives `&T`, and nothing else: it does not give the lock.
unsafe impl<T: ?Sized + Sync> Sync for MappedRwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> MappedRwLockWriteGuard<'a, T> {
    /// The guard of an acquisition.
    ///
    /// # Safety
    /// The calling thread has the lock for writing, and this acquisition has no guard. `data` is made of a reference
    /// into what the lock guards, or of one that outlives `'a`, and nothing else is borrowed from there.
    #[inline]
    pub(super) unsafe fn new(raw: &'a RawRwLock, data: *mut T) -> Self {
        MappedRwLockWriteGuard { raw, data }
    }

    /// Narrows the guard to a smaller part.
    ///
    /// # Panics
    /// If `f` panics. The lock is released then.
    ///
    /// # Example
    /// ```
    /// use ondeck::{MappedRwLockWriteGuard, RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new((1, (2, 3)));
    /// let pair = RwLockWriteGuard::map(lock.write(), |data| &mut data.1);
    /// *MappedRwLockWriteGuard::map(pair, |pair| &mut pair.1) += 1;
    /// assert_eq!(lock.into_inner(), (1, (2, 4)));
    /// ```
    #[inline]
    pub fn map<U: ?Sized, F>(mut s: Self, f: F) -> MappedRwLockWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let data: *mut U = f(&mut s);
        MappedRwLockWriteGuard { raw: ManuallyDrop::new(s).raw, data }
    }

    /// Narrows the guard to a smaller part that may be missing.
    ///
    /// # Errors
    /// If `f` returns `None`. The error is the guard, which still has the lock.
    ///
    /// # Panics
    /// If `f` panics. The lock is released then.
    ///
    /// # Example
    /// As for [`RwLockWriteGuard::try_map`](crate::RwLockWriteGuard::try_map).
    #[inline]
    pub fn try_map<U: ?Sized, F>(mut s: Self, f: F) -> Result<MappedRwLockWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let data: *mut U = match f(&mut s) {
            Some(data) => data,
            None => return Err(s),
        };
        Ok(MappedRwLockWriteGuard { raw: ManuallyDrop::new(s).raw, data })
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
    /// As for [`Self::try_map`](Self::try_map).
    #[inline]
    pub fn try_map_or_err<U: ?Sized, F, E>(mut s: Self, f: F) -> Result<MappedRwLockWriteGuard<'a, U>, (Self, E)>
    where
        F: FnOnce(&mut T) -> Result<&mut U, E>,
    {
        let data: *mut U = match f(&mut s) {
            Ok(data) => data,
            Err(error) => return Err((s, error)),
        };
        Ok(MappedRwLockWriteGuard { raw: ManuallyDrop::new(s).raw, data })
    }

    /// Releases the lock, and threads that wait go before those that come.
    ///
    /// # Blocking
    /// As [`RawRwLock::unlock_exclusive_fair`].
    ///
    /// # Example
    /// ```
    /// use ondeck::{MappedRwLockWriteGuard, RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new((1, 2));
    /// MappedRwLockWriteGuard::unlock_fair(RwLockWriteGuard::map(lock.write(), |pair| &mut pair.1));
    /// assert!(!lock.is_locked());
    /// ```
    #[inline]
    pub fn unlock_fair(s: Self) {
        // SAFETY: the guard has the lock, and its drop does not run.
        unsafe { ManuallyDrop::new(s).raw.unlock_exclusive_fair() };
    }
}

impl<T: ?Sized> Deref for MappedRwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: made of a reference that the guard has borrowed from the data; and the lock is held.
        unsafe { &*self.data }
    }
}

impl<T: ?Sized> DerefMut for MappedRwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; and the guard is borrowed alone.
        unsafe { &mut *self.data }
    }
}

impl<T: ?Sized> Drop for MappedRwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard has the lock for writing.
        unsafe { self.raw.unlock_exclusive() };
    }
}

shows_data!(MappedRwLockReadGuard<'_, T>, MappedRwLockWriteGuard<'_, T>);
