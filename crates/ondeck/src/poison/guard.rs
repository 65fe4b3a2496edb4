//! The guards of a mutex with poison: those of [`crate::Mutex`], each with a sentry that poisons when a panic drops it.

use super::mutex::or_poison;
use super::{LockResult, Mutex};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

/// Poisons its mutex if a panic drops it that began after the mutex was acquired.
struct Sentry<'a> {
    is_poisoned: &'a AtomicBool,
    /// A guard that was made while its thread was unwinding already is no sign of a broken section.
    was_panicking: bool,
}

impl Sentry<'_> {
    /// One more for the same acquisition.
    #[inline]
    fn second(&self) -> Self {
        Sentry { is_poisoned: self.is_poisoned, was_panicking: self.was_panicking }
    }
}

impl Drop for Sentry<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.was_panicking && thread::panicking() {
            self.is_poisoned.store(true, Relaxed);
        }
    }
}

/// A guard of [`crate::Mutex`] that poisons. Dropped in this order, so that the poison is there before the mutex is free.
struct Poisoning<'a, G> {
    sentry: Sentry<'a>,
    inner: G,
}

/// Access to the data of a [`Mutex`], which is released when this is dropped. Stays on its thread.
///
/// # Example
/// ```
/// use ondeck::poison::{Mutex, MutexGuard};
///
/// let mutex = Mutex::new(1);
/// let guard: MutexGuard<'_, i32> = mutex.lock().unwrap();
/// assert_eq!(*guard, 1);
/// ```
#[must_use = "if unused the mutex is released at once"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    guard: Poisoning<'a, crate::MutexGuard<'a, T>>,
}

// A panic while the data was changed shows in the poison.
impl<T: ?Sized> UnwindSafe for MutexGuard<'_, T> {}
impl<T: ?Sized> RefUnwindSafe for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    #[inline]
    pub(super) fn new(mutex: &'a Mutex<T>, inner: crate::MutexGuard<'a, T>) -> LockResult<Self> {
        let sentry = Sentry { is_poisoned: &mutex.is_poisoned, was_panicking: thread::panicking() };
        MutexGuard { guard: Poisoning { sentry, inner } }.or_poison()
    }

    /// The guard, as an error if its mutex is poisoned.
    #[inline]
    pub(super) fn or_poison(self) -> LockResult<Self> {
        let is_poisoned = self.guard.sentry.is_poisoned.load(Relaxed);
        or_poison(self, is_poisoned)
    }

    /// The guard that a condition variable wants.
    #[inline]
    pub(super) fn inner(&mut self) -> &mut crate::MutexGuard<'a, T> {
        &mut self.guard.inner
    }

    /// Access to a part of the data instead of the whole. To be called as `MutexGuard::map`, so that it hides no method of
    /// the data.
    ///
    /// # Panics
    /// If `f` does, which poisons the mutex and releases it.
    ///
    /// # Example
    /// ```
    /// use ondeck::poison::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new((1, "two"));
    /// let mut second: MappedMutexGuard<'_, &str> = MutexGuard::map(mutex.lock().unwrap(), |pair| &mut pair.1);
    /// *second = "three";
    /// drop(second);
    /// assert_eq!(mutex.into_inner().unwrap(), (1, "three"));
    /// ```
    pub fn map<U, F>(orig: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
        U: ?Sized,
    {
        let Poisoning { sentry, inner } = orig.guard;
        let inner = crate::MutexGuard::map(inner, |data| {
            // A panic of `f` releases the mutex when it leaves the function around us, before it comes to `sentry`.
            let _earlier = sentry.second();
            f(data)
        });
        MappedMutexGuard { guard: Poisoning { sentry, inner } }
    }

    /// Access to a part of the data that may not be there; the guard itself if it is not. To be called as
    /// `MutexGuard::filter_map`, so that it hides no method of the data.
    ///
    /// # Errors
    /// The guard, still holding the mutex, if `f` gives `None`.
    ///
    /// # Panics
    /// If `f` does, which poisons the mutex and releases it.
    ///
    /// # Example
    /// ```
    /// use ondeck::poison::{Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new(vec![1, 2]);
    /// let guard = MutexGuard::filter_map(mutex.lock().unwrap(), |list| list.get_mut(7)).unwrap_err();
    /// let second = MutexGuard::filter_map(guard, |list| list.get_mut(1)).unwrap();
    /// assert_eq!(*second, 2);
    /// ```
    pub fn filter_map<U, F>(orig: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
        U: ?Sized,
    {
        let Poisoning { sentry, inner } = orig.guard;
        let part = crate::MutexGuard::try_map(inner, |data| {
            // As in `map`.
            let _earlier = sentry.second();
            f(data)
        });
        match part {
            Ok(inner) => Ok(MappedMutexGuard { guard: Poisoning { sentry, inner } }),
            Err(inner) => Err(MutexGuard { guard: Poisoning { sentry, inner } }),
        }
    }
}

/// Access to a part of the data of a [`Mutex`], made by [`MutexGuard::map`]. The mutex is released when this is dropped,
/// and poisoned if a panic drops it. Stays on its thread.
///
/// A [`Condvar`](super::Condvar) does not take it: during the wait another thread could change which part there is.
///
/// # Example
/// ```
/// use ondeck::poison::{MappedMutexGuard, Mutex, MutexGuard};
///
/// fn longest(names: &Mutex<Vec<String>>) -> Option<MappedMutexGuard<'_, String>> {
///     let guard = names.lock().unwrap();
///     MutexGuard::filter_map(guard, |names| names.iter_mut().max_by_key(|name| name.len())).ok()
/// }
///
/// let names = Mutex::new(vec!["on".to_owned(), "deck".to_owned()]);
/// longest(&names).unwrap().push('s');
/// assert_eq!(*names.lock().unwrap(), ["on", "decks"]);
/// ```
///
/// Guards are not [`Send`], and shared only if the part may be:
/// ```compile_fail,E0277
/// use ondeck::poison::{MappedMutexGuard, Mutex, MutexGuard};
///
/// let mutex = Mutex::new((1, 2));
/// let guard = MutexGuard::map(mutex.lock().unwrap(), |pair| &mut pair.0);
/// std::thread::scope(|scope| scope.spawn(move || drop(guard)).join());
/// ```
/// ```compile_fail,E0277
/// fn is_shared<T: Sync>() {}
/// is_shared::<ondeck::poison::MappedMutexGuard<'static, std::cell::Cell<u8>>>();
/// ```
///
/// A part of one lifetime is not taken for one of a shorter, which could then be put into its place:
/// ```compile_fail
/// use ondeck::poison::MappedMutexGuard;
///
/// fn shorter<'a, 'b>(guard: MappedMutexGuard<'b, &'static str>) -> MappedMutexGuard<'b, &'a str> {
///     guard
/// }
/// ```
#[must_use = "if unused the mutex is released at once"]
#[clippy::has_significant_drop]
pub struct MappedMutexGuard<'a, T: ?Sized + 'a> {
    guard: Poisoning<'a, crate::MappedMutexGuard<'a, T>>,
}

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    /// Access to a part of the part. To be called as `MappedMutexGuard::map`, so that it hides no method of the data.
    ///
    /// # Panics
    /// If `f` does, which poisons the mutex and releases it.
    ///
    /// # Example
    /// ```
    /// use ondeck::poison::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new((1, (2, 3)));
    /// let pair = MutexGuard::map(mutex.lock().unwrap(), |data| &mut data.1);
    /// assert_eq!(*MappedMutexGuard::map(pair, |pair| &mut pair.1), 3);
    /// ```
    pub fn map<U, F>(orig: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
        U: ?Sized,
    {
        let Poisoning { sentry, inner } = orig.guard;
        let inner = crate::MappedMutexGuard::map(inner, |data| {
            // As in `MutexGuard::map`.
            let _earlier = sentry.second();
            f(data)
        });
        MappedMutexGuard { guard: Poisoning { sentry, inner } }
    }

    /// Access to a part of the part that may not be there; the guard itself if it is not. To be called as
    /// `MappedMutexGuard::filter_map`, so that it hides no method of the data.
    ///
    /// # Errors
    /// The guard, still holding the mutex, if `f` gives `None`.
    ///
    /// # Panics
    /// If `f` does, which poisons the mutex and releases it.
    ///
    /// # Example
    /// ```
    /// use ondeck::poison::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new((1, vec![2]));
    /// let list = MutexGuard::map(mutex.lock().unwrap(), |data| &mut data.1);
    /// let list = MappedMutexGuard::filter_map(list, |list| list.get_mut(1)).unwrap_err();
    /// assert_eq!(*MappedMutexGuard::filter_map(list, |list| list.get_mut(0)).unwrap(), 2);
    /// ```
    pub fn filter_map<U, F>(orig: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
        U: ?Sized,
    {
        let Poisoning { sentry, inner } = orig.guard;
        let part = crate::MappedMutexGuard::try_map(inner, |data| {
            // As in `MutexGuard::map`.
            let _earlier = sentry.second();
            f(data)
        });
        match part {
            Ok(inner) => Ok(MappedMutexGuard { guard: Poisoning { sentry, inner } }),
            Err(inner) => Err(MappedMutexGuard { guard: Poisoning { sentry, inner } }),
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard.inner
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> Deref for MappedMutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard.inner
    }
}

impl<T: ?Sized> DerefMut for MappedMutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MappedMutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MappedMutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn the_poison_is_there_before_the_release() {
        /// Stands for a guard: its end is the release.
        struct Released<'a>(&'a AtomicBool, &'a Cell<Option<bool>>);
        impl Drop for Released<'_> {
            fn drop(&mut self) {
                self.1.set(Some(self.0.load(Relaxed)));
            }
        }
        let (is_poisoned, found) = (AtomicBool::new(false), Cell::new(None));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let sentry = Sentry { is_poisoned: &is_poisoned, was_panicking: false };
            let _guard = Poisoning { sentry, inner: Released(&is_poisoned, &found) };
            panic!("while holding");
        }));
        assert!(panicked.is_err());
        assert_eq!(found.get(), Some(true));
    }
}
