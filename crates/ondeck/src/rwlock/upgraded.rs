//! What guards become: a writer a reader, who reads upgradably the writer, also for a moment.

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

/// What the guards `$write` and `$upgradable` become. In the examples, `$make` makes a lock, and the guards come from functions that end
/// in `$suffix`.
macro_rules! become_others {
    (<$($of:tt),*> $read:ident $write:ident $upgradable:ident, $make:literal, $suffix:literal) => {
        impl<$($of),*> $write<$($of),*>
        where
            T: ?Sized,
        {
            /// Goes on reading. No other thread writes in between. Readers that wait come in.
            ///
            /// # Example
            #[doc = concat!("See [`", stringify!($write), "`].")]
            #[inline]
            pub fn downgrade(s: Self) -> $read<$($of),*> {
                let lock = Self::into_held(s);
                // SAFETY: the guard had the lock for writing, and is gone.
                unsafe { lock.raw.downgrade() };
                // SAFETY: the lock is had for reading now.
                unsafe { $read::new(lock) }
            }

            /// Goes on reading upgradably. No other thread writes in between. Readers that wait come in.
            ///
            /// # Example
            /// ```
            /// use ondeck::*;
            ///
            #[doc = concat!("let lock = ", $make, ";")]
            #[doc = concat!("let guard = ", stringify!($write), "::downgrade_to_upgradable(lock.write", $suffix, "());")]
            /// assert_eq!((*guard, *lock.read()), (1, 1));
            /// assert!(lock.try_upgradable_read().is_none());
            /// ```
            #[inline]
            pub fn downgrade_to_upgradable(s: Self) -> $upgradable<$($of),*> {
                let lock = Self::into_held(s);
                // SAFETY: as in `downgrade`.
                unsafe { lock.raw.downgrade_to_upgradable() };
                // SAFETY: the lock is had for reading upgradably now.
                unsafe { $upgradable::new(lock) }
            }
        }

        impl<$($of),*> DerefMut for $write<$($of),*>
        where
            T: ?Sized,
        {
            #[inline]
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: the guard has the lock for writing, and is borrowed alone.
                unsafe { &mut *self.lock.data_ptr() }
            }
        }

        impl<$($of),*> $upgradable<$($of),*>
        where
            T: ?Sized,
        {
            /// Becomes the writer. Waits until the other readers have left. No other thread writes in between.
            ///
            /// # Blocking
            /// May spin and sleep. New readers wait meanwhile. A thread that has another read guard of this lock waits for
            /// ever.
            ///
            /// # Example
            #[doc = concat!("See [`", stringify!($upgradable), "`].")]
            #[inline]
            pub fn upgrade(s: Self) -> $write<$($of),*> {
                // SAFETY: the guard has the lock upgradably. If this panics, it has that still, and its drop releases it.
                unsafe { s.lock.raw.upgrade() };
                // SAFETY: the lock is had for writing now. Borrows through the guard ended when it was passed.
                unsafe { $write::new(Self::into_held(s)) }
            }

            /// Becomes the writer if there is no other reader. Waits for no thread; if readers count themselves by core, a system
            /// call has to tell, and the answer is no while another thread is at that.
            ///
            /// # Errors
            /// If there is another reader. The error is the guard, which still reads upgradably.
            ///
            /// # Example
            /// ```
            /// use ondeck::*;
            ///
            #[doc = concat!("let lock = ", $make, ";")]
            /// let other = lock.read();
            #[doc = concat!("let guard = lock.upgradable_read", $suffix, "();")]
            #[doc = concat!("let guard = ", stringify!($upgradable), "::try_upgrade(guard).unwrap_err();")]
            /// drop(other);
            #[doc = concat!("*", stringify!($upgradable), "::try_upgrade(guard).unwrap() += 1;")]
            /// assert_eq!(*lock.read(), 2);
            /// ```
            #[inline]
            pub fn try_upgrade(s: Self) -> Result<$write<$($of),*>, Self> {
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
            /// As [`upgrade`](Self::upgrade), until the timeout.
            ///
            /// # Example
            /// ```
            /// use ondeck::*;
            /// use std::time::Duration;
            ///
            #[doc = concat!("let lock = ", $make, ";")]
            /// let _other = lock.read();
            #[doc = concat!("let guard = lock.upgradable_read", $suffix, "();")]
            #[doc = concat!("assert!(", stringify!($upgradable), "::try_upgrade_for(guard, Duration::from_millis(1)).is_err());")]
            /// ```
            #[inline]
            pub fn try_upgrade_for(s: Self, timeout: Duration) -> Result<$write<$($of),*>, Self> {
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
            /// As [`upgrade`](Self::upgrade), until the deadline.
            ///
            /// # Example
            /// As for [`try_upgrade_for`](Self::try_upgrade_for).
            #[inline]
            pub fn try_upgrade_until(s: Self, deadline: Instant) -> Result<$write<$($of),*>, Self> {
                // SAFETY: the guard has the lock upgradably.
                let is_writer = unsafe { s.lock.raw.try_upgrade_until(deadline) };
                // SAFETY: as the lock has answered.
                unsafe { Self::upgraded_if(is_writer, s) }
            }

            /// Goes on reading like any other reader. Another thread may read upgradably then.
            ///
            /// # Example
            /// ```
            /// use ondeck::*;
            ///
            #[doc = concat!("let lock = ", $make, ";")]
            #[doc = concat!("let guard = ", stringify!($upgradable), "::downgrade(lock.upgradable_read", $suffix, "());")]
            /// assert_eq!(*lock.upgradable_read(), *guard);
            /// ```
            #[inline]
            pub fn downgrade(s: Self) -> $read<$($of),*> {
                let lock = Self::into_held(s);
                // SAFETY: the guard had the lock upgradably, and is gone.
                unsafe { lock.raw.downgrade_upgradable() };
                // SAFETY: the lock is had for reading now.
                unsafe { $read::new(lock) }
            }

            /// The guard after an attempt.
            ///
            /// # Safety
            /// The calling thread has the lock for writing if `is_writer`, and else as the guard says.
            #[inline]
            unsafe fn upgraded_if(is_writer: bool, s: Self) -> Result<$write<$($of),*>, Self> {
                if !is_writer {
                    return Err(s);
                }
                // SAFETY: the caller's; and the guard before is not dropped.
                Ok(unsafe { $write::new(Self::into_held(s)) })
            }
        }
    };
}
pub(super) use become_others;
