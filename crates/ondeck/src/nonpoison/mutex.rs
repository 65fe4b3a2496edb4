//! The mutex without poison: [`crate::Mutex`] with the standard library's names.

use super::{TryLockResult, WouldBlock};
use std::fmt;
use std::mem;

/// A mutex around data, with the methods of `std::sync::nonpoison::Mutex`.
///
/// # Panics
/// The mutex never panics. If a thread panics while it holds a guard, the mutex is released.
///
/// # Blocking, fairness
/// As [`crate::Mutex`].
///
/// # Example
/// ```
/// use ondeck::nonpoison::Mutex;
///
/// let total = Mutex::new(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub struct Mutex<T: ?Sized> {
    inner: crate::Mutex<T>,
}

impl<T> Mutex<T> {
    /// Makes a free mutex around `t`.
    ///
    /// # Example
    /// ```
    /// static TOTAL: ondeck::nonpoison::Mutex<u64> = ondeck::nonpoison::Mutex::new(0);
    /// ```
    #[inline]
    pub const fn new(t: T) -> Mutex<T> {
        Mutex { inner: crate::Mutex::new(t) }
    }

    /// Returns a clone of the data. The mutex is held while the clone is made.
    ///
    /// # Panics
    /// If `clone` panics. The mutex is released then.
    ///
    /// # Blocking
    /// As [`lock`](Mutex::lock).
    ///
    /// # Example
    /// ```
    /// let names = ondeck::nonpoison::Mutex::new(vec!["on", "deck"]);
    /// assert_eq!(names.get_cloned(), ["on", "deck"]);
    /// ```
    pub fn get_cloned(&self) -> T
    where
        T: Clone,
    {
        T::clone(&self.lock())
    }

    /// Replaces the data by `value`. The old data is dropped after the mutex has been released.
    ///
    /// # Panics
    /// If dropping the old data panics. The mutex is released by then.
    ///
    /// # Blocking
    /// As [`lock`](Mutex::lock).
    ///
    /// # Example
    /// ```
    /// let limit = ondeck::nonpoison::Mutex::new(10);
    /// limit.set(20);
    /// assert_eq!(limit.get_cloned(), 20);
    /// ```
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Replaces the data by `value`, and returns the old data.
    ///
    /// # Blocking
    /// As [`lock`](Mutex::lock).
    ///
    /// # Example
    /// ```
    /// let pending = ondeck::nonpoison::Mutex::new(vec![1, 2]);
    /// assert_eq!(pending.replace(Vec::new()), [1, 2]);
    /// assert!(pending.lock().is_empty());
    /// ```
    pub fn replace(&self, value: T) -> T {
        mem::replace(&mut *self.lock(), value)
    }

    /// Consumes the mutex and returns the data.
    ///
    /// # Example
    /// ```
    /// assert_eq!(ondeck::nonpoison::Mutex::new(7).into_inner(), 7);
    /// ```
    #[inline]
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks the mutex. Waits while another thread holds it.
    ///
    /// # Blocking
    /// May spin and sleep. A thread that holds the mutex already waits for ever.
    ///
    /// # Example
    /// ```
    /// let mutex = ondeck::nonpoison::Mutex::new(0);
    /// *mutex.lock() = 10;
    /// assert_eq!(*mutex.lock(), 10);
    /// ```
    #[inline(always)]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { inner: self.inner.lock() }
    }

    /// Locks the mutex if it is free. Never waits.
    ///
    /// # Errors
    /// [`WouldBlock`] if it is taken.
    ///
    /// # Example
    /// See [`WouldBlock`].
    #[inline(always)]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let inner = self.inner.try_lock().ok_or(WouldBlock)?;
        Ok(MutexGuard { inner })
    }

    /// Returns the data without locking. Nobody else can have a reference, so there is nothing to wait for.
    ///
    /// # Example
    /// ```
    /// let mut mutex = ondeck::nonpoison::Mutex::new(0);
    /// *mutex.get_mut() = 10;
    /// assert_eq!(*mutex.lock(), 10);
    /// ```
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }

    /// Returns the address of the data. Code that dereferences it must make sure that nobody else accesses the data
    /// meanwhile, and that the mutex still exists.
    ///
    /// # Example
    /// ```
    /// let mutex = ondeck::nonpoison::Mutex::new(1);
    /// let guard = mutex.lock();
    /// assert_eq!(mutex.data_ptr(), std::ptr::from_ref(&*guard).cast_mut());
    /// ```
    #[inline]
    pub fn data_ptr(&self) -> *mut T {
        self.inner.data_ptr()
    }

    /// Locks the mutex, calls `f` with the data, and returns what `f` returns.
    ///
    /// # Panics
    /// If `f` panics. The mutex is released then.
    ///
    /// # Blocking
    /// As [`lock`](Mutex::lock).
    ///
    /// # Example
    /// ```
    /// let ids = ondeck::nonpoison::Mutex::new(0..u64::MAX);
    /// assert_eq!(ids.with_mut(Iterator::next), Some(0));
    /// assert_eq!(ids.with_mut(Iterator::next), Some(1));
    /// ```
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        f(&mut self.lock())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(t: T) -> Self {
        Mutex::new(t)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => text.field("data", &&*guard),
            Err(WouldBlock) => text.field("data", &format_args!("<locked>")),
        };
        text.finish_non_exhaustive()
    }
}

/// Access to the data of a [`Mutex`]. Dropping the guard releases the mutex. A guard stays on its thread.
///
/// # Example
/// ```
/// use ondeck::nonpoison::{Mutex, MutexGuard};
///
/// let mutex = Mutex::new(1);
/// let guard: MutexGuard<'_, i32> = mutex.lock();
/// assert_eq!(*guard, 1);
/// ```
#[must_use = "if unused the mutex is released at once"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    pub(super) inner: crate::MutexGuard<'a, T>,
}

/// Access to a part of the data of a [`Mutex`]. [`MutexGuard::map`] makes it. Dropping it releases the mutex. It stays
/// on its thread.
///
/// A [`Condvar`](super::Condvar) does not accept this guard: while it waits, another thread could replace the part.
///
/// # Example
/// ```
/// use ondeck::nonpoison::{MappedMutexGuard, Mutex, MutexGuard};
///
/// fn longest(names: &Mutex<Vec<String>>) -> Option<MappedMutexGuard<'_, String>> {
///     MutexGuard::filter_map(names.lock(), |names| names.iter_mut().max_by_key(|name| name.len())).ok()
/// }
///
/// let names = Mutex::new(vec!["on".to_owned(), "deck".to_owned()]);
/// longest(&names).unwrap().push('s');
/// assert_eq!(*names.lock(), ["on", "decks"]);
/// ```
///
/// Guards are not [`Send`]. They are [`Sync`] only if the part is:
/// ```compile_fail,E0277
/// use ondeck::nonpoison::{Mutex, MutexGuard};
///
/// let mutex = Mutex::new((1, 2));
/// let guard = MutexGuard::map(mutex.lock(), |pair| &mut pair.0);
/// std::thread::scope(|scope| scope.spawn(move || drop(guard)).join());
/// ```
/// ```compile_fail,E0277
/// fn is_shared<T: Sync>() {}
/// is_shared::<ondeck::nonpoison::MappedMutexGuard<'static, std::cell::Cell<u8>>>();
/// ```
#[must_use = "if unused the mutex is released at once"]
#[clippy::has_significant_drop]
pub struct MappedMutexGuard<'a, T: ?Sized + 'a> {
    inner: crate::MappedMutexGuard<'a, T>,
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Narrows the guard to a part of the data. Call it as `MutexGuard::map(guard, f)`: as it is no method, it hides no
    /// method of the data.
    ///
    /// # Panics
    /// If `f` panics. The mutex is released then.
    ///
    /// # Example
    /// ```
    /// use ondeck::nonpoison::{Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new((1, "two"));
    /// *MutexGuard::map(mutex.lock(), |pair| &mut pair.1) = "three";
    /// assert_eq!(mutex.into_inner(), (1, "three"));
    /// ```
    pub fn map<U, F>(orig: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
        U: ?Sized,
    {
        MappedMutexGuard { inner: crate::MutexGuard::map(orig.inner, f) }
    }

    /// Narrows the guard to a part of the data that may be missing. Call it as `MutexGuard::filter_map(guard, f)`.
    ///
    /// # Errors
    /// If `f` returns `None`. The error is the guard, which still holds the mutex.
    ///
    /// # Panics
    /// If `f` panics. The mutex is released then.
    ///
    /// # Example
    /// ```
    /// use ondeck::nonpoison::{Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new(vec![1, 2]);
    /// let guard = MutexGuard::filter_map(mutex.lock(), |list| list.get_mut(7)).unwrap_err();
    /// assert_eq!(*MutexGuard::filter_map(guard, |list| list.get_mut(1)).unwrap(), 2);
    /// ```
    pub fn filter_map<U, F>(orig: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
        U: ?Sized,
    {
        match crate::MutexGuard::try_map(orig.inner, f) {
            Ok(inner) => Ok(MappedMutexGuard { inner }),
            Err(inner) => Err(MutexGuard { inner }),
        }
    }
}

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    /// Narrows the guard to a smaller part. Call it as `MappedMutexGuard::map(guard, f)`: as it is no method, it hides
    /// no method of the data.
    ///
    /// # Panics
    /// If `f` panics. The mutex is released then.
    ///
    /// # Example
    /// ```
    /// use ondeck::nonpoison::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new((1, (2, 3)));
    /// let pair = MutexGuard::map(mutex.lock(), |data| &mut data.1);
    /// assert_eq!(*MappedMutexGuard::map(pair, |pair| &mut pair.1), 3);
    /// ```
    pub fn map<U, F>(orig: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
        U: ?Sized,
    {
        MappedMutexGuard { inner: crate::MappedMutexGuard::map(orig.inner, f) }
    }

    /// Narrows the guard to a smaller part that may be missing. Call it as `MappedMutexGuard::filter_map(guard, f)`.
    ///
    /// # Errors
    /// If `f` returns `None`. The error is the guard, which still holds the mutex.
    ///
    /// # Panics
    /// If `f` panics. The mutex is released then.
    ///
    /// # Example
    /// ```
    /// use ondeck::nonpoison::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new((1, vec![2]));
    /// let list = MutexGuard::map(mutex.lock(), |data| &mut data.1);
    /// let list = MappedMutexGuard::filter_map(list, |list| list.get_mut(1)).unwrap_err();
    /// assert_eq!(*MappedMutexGuard::filter_map(list, |list| list.get_mut(0)).unwrap(), 2);
    /// ```
    pub fn filter_map<U, F>(orig: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
        U: ?Sized,
    {
        match crate::MappedMutexGuard::try_map(orig.inner, f) {
            Ok(inner) => Ok(MappedMutexGuard { inner }),
            Err(inner) => Err(MappedMutexGuard { inner }),
        }
    }
}

crate::guard::gives_data_of!(MutexGuard: inner, MappedMutexGuard: inner);
