//! What lets other threads in while a guard is alive, of all guards of a whole reader-writer lock; and what lets readers out soonest.

use super::RawRwLock;

/// Ends the process if `acquire` panics: the caller has a guard that outlives the panic, and would release what is not held.
#[inline]
pub(crate) fn or_abort<T>(acquire: impl FnOnce() -> T) -> T {
    struct Aborts;
    impl Drop for Aborts {
        #[cold]
        fn drop(&mut self) {
            std::process::abort();
        }
    }
    let aborts = Aborts;
    let acquired = acquire();
    std::mem::forget(aborts);
    acquired
}

impl RawRwLock {
    /// As [`lock_shared`](Self::lock_shared). Returns whether the word counts the caller, for [`unlock_shared_by`](Self::unlock_shared_by).
    #[inline]
    pub(super) fn lock_shared_by_word(&self) -> bool {
        self.0.read_by_word()
    }

    /// As [`unlock_shared`](Self::unlock_shared), in less time if it is known that the word counts the caller.
    ///
    /// # Safety
    /// As [`unlock_shared`](Self::unlock_shared). If `is_in_word`, [`lock_shared_by_word`](Self::lock_shared_by_word) has said so.
    #[inline]
    pub(super) unsafe fn unlock_shared_by(&self, is_in_word: bool) {
        if is_in_word {
            // SAFETY: the caller's.
            unsafe { self.0.release_read_by_word() };
        } else {
            // SAFETY: the caller's.
            unsafe { self.0.release_read() };
        }
    }

    /// Releases the lock by `release`, calls `f`, and acquires the lock again by `acquire`, also if `f` unwinds.
    ///
    /// # Safety
    /// The calling thread has the lock as `release` gives it up and `acquire` gets it, and owes `release` no more than that.
    #[inline]
    pub(super) unsafe fn unlocked<U>(&self, release: unsafe fn(&Self), acquire: fn(&Self), f: impl FnOnce() -> U) -> U {
        struct Locks<'a>(&'a RawRwLock, fn(&RawRwLock));
        impl Drop for Locks<'_> {
            #[inline]
            fn drop(&mut self) {
                or_abort(|| (self.1)(self.0));
            }
        }
        // Before the release, so that no guard rests on its not unwinding.
        let _locks = Locks(self, acquire);
        // SAFETY: the caller's.
        unsafe { release(self) };
        f()
    }
}

/// The functions of the guards `$guard`, which `$make` and then `$get` give, and whose lock is had and given up by these functions of
/// the raw lock. They take the guard by `&mut`: nothing is borrowed through it meanwhile. What `$way` says of how the lock counts it
/// is not so afterwards.
macro_rules! lets_others_in {
    (
        $guard:ident<$($of:tt),*>, $make:literal, $get:literal,
        $lock:ident $unlock:ident $unlock_fair:ident $bump:ident $(, $way:ident)?
    ) => {
        impl<$($of),*> $guard<$($of),*>
        where
            T: ?Sized,
        {
            /// Releases the lock, calls `f`, and acquires the lock again, also if `f` panics. Other threads may change the
            /// data meanwhile.
            ///
            /// # Blocking
            /// As the acquisition of the guard.
            ///
            /// # Panics
            /// If `f` panics. The caller still has the guard then.
            ///
            /// # Aborts
            /// Where the acquisition of the guard would panic, as the lock has too many readers, the process ends.
            ///
            /// # Example
            /// ```
            #[doc = concat!("use ondeck::{RwLock, ", stringify!($guard), "};")]
            ///
            #[doc = concat!("let lock = ", $make, ";")]
            #[doc = concat!("let mut guard = lock.", $get, "();")]
            #[doc = concat!(stringify!($guard), "::unlocked(&mut guard, || *lock.write() += 1);")]
            /// assert_eq!(*guard, 2);
            /// ```
            #[inline]
            pub fn unlocked<F, U>(s: &mut Self, f: F) -> U
            where
                F: FnOnce() -> U,
            {
                $(s.$way = false;)?
                // SAFETY: the guard has the lock, and nothing is borrowed through it until it has it again.
                unsafe { s.lock.raw.unlocked(RawRwLock::$unlock, RawRwLock::$lock, f) }
            }

            /// As [`unlocked`](Self::unlocked), but threads that wait go before those that come.
            ///
            /// # Blocking, panics, aborts
            /// As [`unlocked`](Self::unlocked).
            ///
            /// # Example
            /// As for [`unlocked`](Self::unlocked).
            #[inline]
            pub fn unlocked_fair<F, U>(s: &mut Self, f: F) -> U
            where
                F: FnOnce() -> U,
            {
                $(s.$way = false;)?
                // SAFETY: as in `unlocked`.
                unsafe { s.lock.raw.unlocked(RawRwLock::$unlock_fair, RawRwLock::$lock, f) }
            }

            /// Lets a waiting thread in, and acquires the lock again. Does nothing if no thread waits.
            ///
            /// # Blocking
            /// As the acquisition of the guard, if a thread waits.
            ///
            /// # Aborts
            /// As [`unlocked`](Self::unlocked).
            ///
            /// # Example
            /// ```
            #[doc = concat!("use ondeck::{RwLock, ", stringify!($guard), "};")]
            ///
            #[doc = concat!("let lock = ", $make, ";")]
            #[doc = concat!("let mut guard = lock.", $get, "();")]
            /// // Nobody waits, so nobody comes in between.
            #[doc = concat!(stringify!($guard), "::bump(&mut guard);")]
            /// assert!(lock.is_locked());
            /// ```
            #[inline]
            pub fn bump(s: &mut Self) {
                $(s.$way = false;)?
                // SAFETY: as in `unlocked`.
                unsafe { s.lock.raw.$bump() };
            }
        }
    };
}
pub(super) use lets_others_in;
