//! Writing for a moment, of the guards that read upgradably.

use super::RawRwLock;

impl RawRwLock {
    /// Calls `f` for the writer that `upgrade` has made of the caller, if it has. Then goes on reading upgradably, also if `f`
    /// unwinds.
    ///
    /// # Safety
    /// The calling thread has the lock upgradably. `upgrade` returns whether it has it for writing instead.
    #[inline]
    pub(super) unsafe fn upgraded<U>(&self, upgrade: impl FnOnce(&Self) -> bool, f: impl FnOnce() -> U) -> Option<U> {
        struct Downgrades<'a>(&'a RawRwLock);
        impl Drop for Downgrades<'_> {
            #[inline]
            fn drop(&mut self) {
                // SAFETY: upgraded before this was made.
                unsafe { self.0.downgrade_to_upgradable() };
            }
        }
        upgrade(self).then(|| {
            let _downgrades = Downgrades(self);
            f()
        })
    }
}

/// The functions of the guards `$guard`, which `$make` and then `$get` give. They take the guard by `&mut`: nothing is borrowed through
/// it while `f` has the data.
macro_rules! writes_meanwhile {
    ($guard:ident<$($of:tt),*>, $make:literal, $get:literal) => {
        impl<$($of),*> $guard<$($of),*>
        where
            T: ?Sized,
        {
            /// Becomes the writer, calls `f` with the data, and goes on reading upgradably, also if `f` panics.
            ///
            /// # Blocking
            /// As [`upgrade`](Self::upgrade).
            ///
            /// # Panics
            /// If `f` panics. The guard still reads upgradably then.
            ///
            /// # Example
            /// ```
            #[doc = concat!("let lock = ", $make, ";")]
            #[doc = concat!("let mut guard = lock.", $get, "();")]
            /// guard.with_upgraded(|count| *count += 1);
            /// assert_eq!((*guard, *lock.read()), (2, 2));
            /// # use ondeck::RwLock;
            /// ```
            #[inline]
            pub fn with_upgraded<Ret, F: FnOnce(&mut T) -> Ret>(&mut self, f: F) -> Ret {
                let upgrade = |raw: &RawRwLock| {
                    // SAFETY: the guard has the lock upgradably.
                    unsafe { raw.upgrade() };
                    true
                };
                // SAFETY: as above.
                unsafe { self.upgraded(upgrade, f) }.expect("upgraded")
            }

            /// As [`with_upgraded`](Self::with_upgraded) if there is no other reader. Else returns `None`, and never waits.
            ///
            /// # Panics, example
            /// As [`with_upgraded`](Self::with_upgraded).
            #[inline]
            pub fn try_with_upgraded<Ret, F: FnOnce(&mut T) -> Ret>(&mut self, f: F) -> Option<Ret> {
                // SAFETY: the guard has the lock upgradably.
                let upgrade = |raw: &RawRwLock| unsafe { raw.try_upgrade() };
                // SAFETY: as above.
                unsafe { self.upgraded(upgrade, f) }
            }

            /// As [`with_upgraded`](Self::with_upgraded), and waits for at most `timeout` for the other readers to leave.
            /// Returns `None` if the timeout passed first.
            ///
            /// # Panics, example
            /// As [`with_upgraded`](Self::with_upgraded).
            #[inline]
            pub fn try_with_upgraded_for<Ret, F>(&mut self, timeout: Duration, f: F) -> Option<Ret>
            where
                F: FnOnce(&mut T) -> Ret,
            {
                // SAFETY: the guard has the lock upgradably.
                let upgrade = |raw: &RawRwLock| unsafe { raw.try_upgrade_for(timeout) };
                // SAFETY: as above.
                unsafe { self.upgraded(upgrade, f) }
            }

            /// As [`with_upgraded`](Self::with_upgraded), and waits at most until `deadline` for the other readers to leave.
            /// Returns `None` if the deadline passed first.
            ///
            /// # Panics, example
            /// As [`with_upgraded`](Self::with_upgraded).
            #[inline]
            pub fn try_with_upgraded_until<Ret, F>(&mut self, deadline: Instant, f: F) -> Option<Ret>
            where
                F: FnOnce(&mut T) -> Ret,
            {
                // SAFETY: the guard has the lock upgradably.
                let upgrade = |raw: &RawRwLock| unsafe { raw.try_upgrade_until(deadline) };
                // SAFETY: as above.
                unsafe { self.upgraded(upgrade, f) }
            }

            /// Calls `f` with the data, if `upgrade` has made the caller the writer.
            ///
            /// # Safety
            /// `upgrade` returns whether the calling thread has the lock for writing, and not upgradably any more.
            #[inline]
            unsafe fn upgraded<Ret>(
                &mut self,
                upgrade: impl FnOnce(&RawRwLock) -> bool,
                f: impl FnOnce(&mut T) -> Ret,
            ) -> Option<Ret> {
                let data = self.lock.data_ptr();
                // SAFETY: called for the writer, and the guard is borrowed alone, so nothing else is borrowed from the data.
                let f = || f(unsafe { &mut *data });
                // SAFETY: the guard has the lock upgradably; and the caller's.
                unsafe { self.lock.raw.upgraded(upgrade, f) }
            }
        }
    };
}
pub(super) use writes_meanwhile;
