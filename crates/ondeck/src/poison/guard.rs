//! The guards of a mutex with poison: guards of [`crate::Mutex`], each with a sentry that poisons when a panic drops
//! it. The writers of a [`RwLock`](super::RwLock) have such a guard too.

use super::mutex::or_poison;
use super::{LockResult, Mutex};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

/// Poisons its lock when a panic drops it. A panic that began before the lock was acquired does not count.
pub(super) struct Sentry<'a> {
    is_poisoned: &'a AtomicBool,
    /// True if the thread was unwinding already when the guard was made. Then a drop by that panic shows no broken
    /// section.
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

/// A guard of one of this crate's locks that poisons. The fields are dropped in this order, so the poison is there
/// before the lock is free.
pub(super) struct PoisoningGuard<'a, G> {
    pub(super) sentry: Sentry<'a>,
    pub(super) inner: G,
}

impl<'a, G> PoisoningGuard<'a, G> {
    /// The guard of an acquisition by the calling thread, just now.
    #[inline]
    pub(super) fn new(is_poisoned: &'a AtomicBool, inner: G) -> Self {
        PoisoningGuard { sentry: Sentry { is_poisoned, was_panicking: thread::panicking() }, inner }
    }
}

/// Access to the data of a [`Mutex`]. Dropping the guard releases the mutex. A guard stays on its thread.
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
    guard: PoisoningGuard<'a, crate::MutexGuard<'a, T>>,
}

// A panic while the data was changed shows in the poison.
impl<T: ?Sized> UnwindSafe for MutexGuard<'_, T> {}
impl<T: ?Sized> RefUnwindSafe for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    #[inline]
    pub(super) fn new(mutex: &'a Mutex<T>, inner: crate::MutexGuard<'a, T>) -> LockResult<Self> {
        MutexGuard { guard: PoisoningGuard::new(&mutex.is_poisoned, inner) }.or_poison()
    }

    /// The guard, as an error if its mutex is poisoned.
    #[inline]
    pub(super) fn or_poison(self) -> LockResult<Self> {
        let is_poisoned = self.guard.sentry.is_poisoned.load(Relaxed);
        or_poison(self, is_poisoned)
    }

    /// The inner guard, for a condition variable.
    #[inline]
    pub(super) fn inner(&mut self) -> &mut crate::MutexGuard<'a, T> {
        &mut self.guard.inner
    }

    /// Narrows the guard to a part of the data. Call it as `MutexGuard::map(guard, f)`: as it is no method, it hides no
    /// method of the data.
    ///
    /// # Panics
    /// If `f` panics. The mutex is poisoned and released then.
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
        let PoisoningGuard { sentry, inner } = orig.guard;
        let inner = crate::MutexGuard::map(inner, |data| {
            // A panic of `f` releases the mutex when it leaves the function around us, before it comes to `sentry`.
            let _earlier = sentry.second();
            f(data)
        });
        MappedMutexGuard { guard: PoisoningGuard { sentry, inner } }
    }

    /// Narrows the guard to a part of the data that may be missing. Call it as `MutexGuard::filter_map(guard, f)`.
    ///
    /// # Errors
    /// If `f` returns `None`. The error is the guard, which still holds the mutex.
    ///
    /// # Panics
    /// If `f` panics. The mutex is poisoned and released then.
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
        let PoisoningGuard { sentry, inner } = orig.guard;
        let part = crate::MutexGuard::try_map(inner, |data| {
            // As in `map`.
            let _earlier = sentry.second();
            f(data)
        });
        match part {
            Ok(inner) => Ok(MappedMutexGuard { guard: PoisoningGuard { sentry, inner } }),
            Err(inner) => Err(MutexGuard { guard: PoisoningGuard { sentry, inner } }),
        }
    }
}

/// Access to a part of the data of a [`Mutex`]. [`MutexGuard::map`] makes it. Dropping it releases the mutex. If a
/// panic drops it, the mutex is also poisoned. It stays on its thread.
///
/// A [`Condvar`](super::Condvar) does not accept this guard: while it waits, another thread could replace the part.
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
/// Guards are not [`Send`]. They are [`Sync`] only if the part is:
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
/// The compiler does not shorten the lifetime of the part. Otherwise data of the shorter lifetime could be put in:
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
    guard: PoisoningGuard<'a, crate::MappedMutexGuard<'a, T>>,
}

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    /// Narrows the guard to a smaller part. Call it as `MappedMutexGuard::map(guard, f)`: as it is no method, it hides
    /// no method of the data.
    ///
    /// # Panics
    /// If `f` panics. The mutex is poisoned and released then.
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
        let PoisoningGuard { sentry, inner } = orig.guard;
        let inner = crate::MappedMutexGuard::map(inner, |data| {
            // As in `MutexGuard::map`.
            let _earlier = sentry.second();
            f(data)
        });
        MappedMutexGuard { guard: PoisoningGuard { sentry, inner } }
    }

    /// Narrows the guard to a smaller part that may be missing. Call it as `MappedMutexGuard::filter_map(guard, f)`.
    ///
    /// # Errors
    /// If `f` returns `None`. The error is the guard, which still holds the mutex.
    ///
    /// # Panics
    /// If `f` panics. The mutex is poisoned and released then.
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
        let PoisoningGuard { sentry, inner } = orig.guard;
        let part = crate::MappedMutexGuard::try_map(inner, |data| {
            // As in `MutexGuard::map`.
            let _earlier = sentry.second();
            f(data)
        });
        match part {
            Ok(inner) => Ok(MappedMutexGuard { guard: PoisoningGuard { sentry, inner } }),
            Err(inner) => Err(MappedMutexGuard { guard: PoisoningGuard { sentry, inner } }),
        }
    }
}

/// A guard around one of this crate's is access to the same data.
macro_rules! gives_data {
    ($($guard:ident),*) => {$(
        impl<T: ?Sized> std::ops::Deref for $guard<'_, T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                &self.guard.inner
            }
        }

        impl<T: ?Sized> std::ops::DerefMut for $guard<'_, T> {
            #[inline]
            fn deref_mut(&mut self) -> &mut T {
                &mut self.guard.inner
            }
        }

        crate::guard::shows_data!($guard<'_, T>);
    )*};
}
pub(super) use gives_data;
gives_data!(MutexGuard, MappedMutexGuard);

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn the_poison_is_there_before_the_release() {
        /// Stands for a guard: its end is the release.
        struct ReleaseMarker<'a>(&'a AtomicBool, &'a Cell<Option<bool>>);
        impl Drop for ReleaseMarker<'_> {
            fn drop(&mut self) {
                self.1.set(Some(self.0.load(Relaxed)));
            }
        }
        let (is_poisoned, found) = (AtomicBool::new(false), Cell::new(None));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let sentry = Sentry { is_poisoned: &is_poisoned, was_panicking: false };
            let _guard = PoisoningGuard { sentry, inner: ReleaseMarker(&is_poisoned, &found) };
            panic!("while holding");
        }));
        assert!(panicked.is_err());
        assert_eq!(found.get(), Some(true));
    }
}
