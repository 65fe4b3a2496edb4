//! The reader-writer lock: ondeck's raw one beside the data that it guards.

#[cfg(feature = "arc_lock")]
mod arc_guards;
mod guards;
mod mapped;
mod raw;
mod unlocked;
mod upgraded;

#[cfg(feature = "arc_lock")]
pub use arc_guards::{ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard, ArcRwLockWriteGuard};
pub use guards::{RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};
pub use mapped::{MappedRwLockReadGuard, MappedRwLockWriteGuard};
pub use raw::RawRwLock;
use std::cell::UnsafeCell;
use std::fmt;
use std::time::{Duration, Instant};
#[cfg(feature = "lock_api-04")]
pub(crate) use unlocked::or_abort;

/// A lock around data that many threads may read at once, or one thread may write. It has the methods of
/// `parking_lot::RwLock` but `raw`, `from_raw` and `const_new`, and 16 bytes beside its data.
///
/// One of the readers may be *upgradable*: it reads beside the others, and can become the writer without a gap in which
/// another thread writes. [`upgradable_read`](RwLock::upgradable_read) makes it.
///
/// The threads that want to write queue as for a [`Mutex`](crate::Mutex).
///
/// A lock that is mostly read has its readers count themselves by core, on Linux on x86-64. They then write nothing that
/// others read, and two read twice as often as one. A writer ends that, which takes some microseconds; so it is done
/// only where some hundred reads follow on each other. Such a lock has 8 bytes more on each core.
///
/// # Blocking
/// The waiting methods may spin and sleep. A reader waits awake for about 2.5 microseconds before it sleeps. The `try_`
/// methods without a timeout and plain releases never wait.
///
/// A thread deadlocks if it asks for a lock that it has already, with one exception:
/// [`read_recursive`](RwLock::read_recursive) is safe for a thread that already reads. A plain [`read`](RwLock::read)
/// is not. It returns as long as no writer waits, and waits for ever if one does.
///
/// # Fairness
/// Readers and writers take turns, so neither side starves the other:
///
/// - Readers that come while a writer waits for the readers inside wait behind that writer.
/// - When a writer leaves, all readers that wait at that moment go before the next writer.
///
/// So a reader waits for at most one writer, once the readers that are inside have left. Writers among themselves get
/// the lock in the order of a [`Mutex`](crate::Mutex), which is not first come, first served.
///
/// A thread that writes and soon writes again may have the lock twice before a writer that waits. With a fair release it
/// does not: [`unlock_fair`](RwLockWriteGuard::unlock_fair) and [`bump`](RwLockWriteGuard::bump) of the guards. It takes a
/// microsecond or so if a thread waits, and a millisecond at most.
///
/// # Panics
/// A lock can have 524,288 readers at once. The next one panics, and the lock stays as it was. If readers count themselves by
/// core, the next writer does that instead, from 655,361 on. The drop of a read guard may panic then, too, and that guard stays
/// counted, or end the process. Guards that you forget count too. Also, 131,071 readers may wait at once. A panic while a guard
/// is alive releases the lock and does not poison it.
///
/// # Example
/// ```
/// use ondeck::RwLock;
///
/// static NAMES: RwLock<Vec<String>> = RwLock::new(Vec::new());
///
/// NAMES.write().push("ondeck".to_owned());
/// let (one, other) = (NAMES.read(), NAMES.read());
/// assert_eq!(one.len(), other.len());
/// assert!(NAMES.try_write().is_none());
/// ```
pub struct RwLock<T: ?Sized> {
    /// Released only by guards, and by the caller of an unsafe method.
    raw: RawRwLock,
    data: UnsafeCell<T>,
}

// SAFETY: a shared lock gives `&mut T` to one thread at a time, each of which sees what those before did: `T: Send`. It
// also gives `&T` to several threads at once: `T: Sync`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    /// Makes a free lock around `data`.
    ///
    /// # Example
    /// ```
    /// static TOTAL: ondeck::RwLock<u64> = ondeck::RwLock::new(0);
    /// ```
    #[inline]
    pub const fn new(data: T) -> Self {
        RwLock { raw: RawRwLock::new(), data: UnsafeCell::new(data) }
    }

    /// Consumes the lock and returns the data.
    ///
    /// # Example
    /// ```
    /// assert_eq!(ondeck::RwLock::new(7).into_inner(), 7);
    /// ```
    #[inline]
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

/// Reading.
impl<T: ?Sized> RwLock<T> {
    /// Locks for reading. Waits while a thread writes or waits to write.
    ///
    /// # Blocking
    /// May spin and sleep. A thread that already reads must not call this: it waits for ever if a writer waits for it.
    /// Use [`read_recursive`](RwLock::read_recursive) there.
    ///
    /// # Panics
    /// If the lock has 524,288 readers, or 131,071 wait for it.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RwLock::new(1);
    /// assert_eq!(*lock.read(), 1);
    /// ```
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        let is_in_word = self.raw.lock_shared_by_word();
        // SAFETY: locked just now.
        unsafe { RwLockReadGuard::with_way(self, is_in_word) }
    }

    /// Locks for reading if no thread writes or waits to write. Never waits.
    ///
    /// # Panics
    /// As [`read`](RwLock::read).
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RwLock::new(1);
    /// assert!(lock.try_read().is_some());
    /// let _writes = lock.write();
    /// assert!(lock.try_read().is_none());
    /// ```
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        // SAFETY: locked just now.
        self.raw.try_lock_shared().then(|| unsafe { RwLockReadGuard::new(self) })
    }

    /// Locks for reading, and waits for at most `timeout`. Returns `None` if the timeout passed first.
    ///
    /// # Blocking, panics
    /// As [`read`](RwLock::read), until the timeout.
    ///
    /// # Example
    /// ```
    /// use std::time::Duration;
    ///
    /// let lock = ondeck::RwLock::new(1);
    /// let _writes = lock.write();
    /// assert!(lock.try_read_for(Duration::from_millis(1)).is_none());
    /// ```
    #[inline]
    pub fn try_read_for(&self, timeout: Duration) -> Option<RwLockReadGuard<'_, T>> {
        // SAFETY: locked just now.
        self.raw.try_lock_shared_for(timeout).then(|| unsafe { RwLockReadGuard::new(self) })
    }

    /// Locks for reading, and waits at most until `deadline`. Returns `None` if the deadline passed first.
    ///
    /// # Blocking, panics
    /// As [`try_read_for`](RwLock::try_read_for).
    ///
    /// # Example
    /// ```
    /// assert!(ondeck::RwLock::new(1).try_read_until(std::time::Instant::now()).is_some());
    /// ```
    #[inline]
    pub fn try_read_until(&self, deadline: Instant) -> Option<RwLockReadGuard<'_, T>> {
        // SAFETY: locked just now.
        self.raw.try_lock_shared_until(deadline).then(|| unsafe { RwLockReadGuard::new(self) })
    }

    /// Locks for reading, also if the calling thread reads already. Waits while a thread writes, and for no writer that
    /// only waits.
    ///
    /// # Blocking
    /// May spin and sleep.
    ///
    /// # Fairness
    /// It goes before the writers that wait. So threads that always read this way can keep writers out for ever.
    ///
    /// # Panics
    /// As [`read`](RwLock::read).
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RwLock::new(1);
    /// let outer = lock.read();
    /// // Returns at once, even if a writer waits for `outer` to be dropped.
    /// assert_eq!(*lock.read_recursive(), *outer);
    /// ```
    #[inline]
    pub fn read_recursive(&self) -> RwLockReadGuard<'_, T> {
        self.raw.lock_shared_recursive();
        // SAFETY: locked just now.
        unsafe { RwLockReadGuard::new(self) }
    }

    /// Locks for reading if no thread writes, also if one waits to write. Never waits.
    ///
    /// # Panics
    /// As [`read`](RwLock::read).
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RwLock::new(1);
    /// let _outer = lock.read();
    /// assert!(lock.try_read_recursive().is_some());
    /// ```
    #[inline]
    pub fn try_read_recursive(&self) -> Option<RwLockReadGuard<'_, T>> {
        // SAFETY: locked just now.
        self.raw.try_lock_shared_recursive().then(|| unsafe { RwLockReadGuard::new(self) })
    }

    /// As [`read_recursive`](RwLock::read_recursive), and waits for at most `timeout`. Returns `None` if the timeout
    /// passed first.
    ///
    /// # Example
    /// As for [`try_read_for`](RwLock::try_read_for).
    #[inline]
    pub fn try_read_recursive_for(&self, timeout: Duration) -> Option<RwLockReadGuard<'_, T>> {
        // SAFETY: locked just now.
        self.raw.try_lock_shared_recursive_for(timeout).then(|| unsafe { RwLockReadGuard::new(self) })
    }

    /// As [`read_recursive`](RwLock::read_recursive), and waits at most until `deadline`. Returns `None` if the
    /// deadline passed first.
    ///
    /// # Example
    /// As for [`try_read_until`](RwLock::try_read_until).
    #[inline]
    pub fn try_read_recursive_until(&self, deadline: Instant) -> Option<RwLockReadGuard<'_, T>> {
        // SAFETY: locked just now.
        self.raw.try_lock_shared_recursive_until(deadline).then(|| unsafe { RwLockReadGuard::new(self) })
    }
}

/// Writing.
impl<T: ?Sized> RwLock<T> {
    /// Locks for writing. Waits while any other thread has the lock.
    ///
    /// # Blocking
    /// May spin and sleep. A thread that has the lock already waits for ever. If readers count themselves by core, the call ends that,
    /// by a system call that takes some microseconds and interrupts the threads of the process.
    ///
    /// # Panics
    /// If the lock has more than 655,360 readers, which count themselves by core.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RwLock::new(0);
    /// *lock.write() = 10;
    /// assert_eq!(*lock.read(), 10);
    /// ```
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.raw.lock_exclusive();
        // SAFETY: locked just now.
        unsafe { RwLockWriteGuard::new(self) }
    }

    /// Locks for writing if no thread has the lock, and none waits for its readers to leave. Waits for no thread. If readers count
    /// themselves by core, the call ends that as [`write`](RwLock::write) does.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RwLock::new(0);
    /// let _reads = lock.read();
    /// assert!(lock.try_write().is_none());
    /// ```
    #[inline]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        // SAFETY: locked just now.
        self.raw.try_lock_exclusive().then(|| unsafe { RwLockWriteGuard::new(self) })
    }

    /// Locks for writing, and waits for at most `timeout`. Returns `None` if the timeout passed first.
    ///
    /// # Blocking
    /// As [`write`](RwLock::write), until the timeout.
    ///
    /// # Example
    /// ```
    /// use std::time::Duration;
    ///
    /// let lock = ondeck::RwLock::new(0);
    /// let _reads = lock.read();
    /// assert!(lock.try_write_for(Duration::from_millis(1)).is_none());
    /// ```
    #[inline]
    pub fn try_write_for(&self, timeout: Duration) -> Option<RwLockWriteGuard<'_, T>> {
        // SAFETY: locked just now.
        self.raw.try_lock_exclusive_for(timeout).then(|| unsafe { RwLockWriteGuard::new(self) })
    }

    /// Locks for writing, and waits at most until `deadline`. Returns `None` if the deadline passed first.
    ///
    /// # Blocking
    /// As [`try_write_for`](RwLock::try_write_for).
    ///
    /// # Example
    /// ```
    /// assert!(ondeck::RwLock::new(0).try_write_until(std::time::Instant::now()).is_some());
    /// ```
    #[inline]
    pub fn try_write_until(&self, deadline: Instant) -> Option<RwLockWriteGuard<'_, T>> {
        // SAFETY: locked just now.
        self.raw.try_lock_exclusive_until(deadline).then(|| unsafe { RwLockWriteGuard::new(self) })
    }
}

/// Reading upgradably.
impl<T: ?Sized> RwLock<T> {
    /// Locks for reading, as the one reader that can become the writer. Waits while another thread writes or reads
    /// upgradably, or waits to do so.
    ///
    /// # Blocking
    /// May spin and sleep. A thread that has the lock already may wait for ever.
    ///
    /// # Panics
    /// As [`read`](RwLock::read) and [`write`](RwLock::write).
    ///
    /// # Example
    /// See [`RwLockUpgradableReadGuard`].
    #[inline]
    pub fn upgradable_read(&self) -> RwLockUpgradableReadGuard<'_, T> {
        self.raw.lock_upgradable();
        // SAFETY: locked just now.
        unsafe { RwLockUpgradableReadGuard::new(self) }
    }

    /// Locks for reading upgradably if no thread writes, waits to write, or reads upgradably. Never waits.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RwLock::new(1);
    /// let _reads = lock.try_upgradable_read().unwrap();
    /// assert!(lock.try_upgradable_read().is_none());
    /// assert!(lock.try_read().is_some());
    /// ```
    #[inline]
    pub fn try_upgradable_read(&self) -> Option<RwLockUpgradableReadGuard<'_, T>> {
        // SAFETY: locked just now.
        self.raw.try_lock_upgradable().then(|| unsafe { RwLockUpgradableReadGuard::new(self) })
    }

    /// Locks for reading upgradably, and waits for at most `timeout`. Returns `None` if the timeout passed first.
    ///
    /// # Blocking
    /// As [`upgradable_read`](RwLock::upgradable_read), until the timeout.
    ///
    /// # Example
    /// ```
    /// use std::time::Duration;
    ///
    /// let lock = ondeck::RwLock::new(1);
    /// let _reads = lock.upgradable_read();
    /// assert!(lock.try_upgradable_read_for(Duration::from_millis(1)).is_none());
    /// ```
    #[inline]
    pub fn try_upgradable_read_for(&self, timeout: Duration) -> Option<RwLockUpgradableReadGuard<'_, T>> {
        // SAFETY: locked just now.
        self.raw.try_lock_upgradable_for(timeout).then(|| unsafe { RwLockUpgradableReadGuard::new(self) })
    }

    /// Locks for reading upgradably, and waits at most until `deadline`. Returns `None` if the deadline passed first.
    ///
    /// # Blocking
    /// As [`try_upgradable_read_for`](RwLock::try_upgradable_read_for).
    ///
    /// # Example
    /// ```
    /// assert!(ondeck::RwLock::new(1).try_upgradable_read_until(std::time::Instant::now()).is_some());
    /// ```
    #[inline]
    pub fn try_upgradable_read_until(&self, deadline: Instant) -> Option<RwLockUpgradableReadGuard<'_, T>> {
        // SAFETY: locked just now.
        self.raw.try_lock_upgradable_until(deadline).then(|| unsafe { RwLockUpgradableReadGuard::new(self) })
    }
}

/// Without a guard.
impl<T: ?Sized> RwLock<T> {
    /// Returns the data without locking. Nobody else can have a reference, so there is nothing to wait for.
    ///
    /// # Example
    /// ```
    /// let mut lock = ondeck::RwLock::new(0);
    /// *lock.get_mut() = 10;
    /// assert_eq!(*lock.read(), 10);
    /// ```
    #[inline]
    pub const fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// Returns whether a thread reads or writes. Other threads may change that at any time.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RwLock::new(0);
    /// let _reads = lock.read();
    /// assert!(lock.is_locked() && !lock.is_locked_exclusive());
    /// ```
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// Returns whether a thread writes. Other threads may change that at any time.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RwLock::new(0);
    /// let _writes = lock.write();
    /// assert!(lock.is_locked_exclusive());
    /// ```
    #[inline]
    pub fn is_locked_exclusive(&self) -> bool {
        self.raw.is_locked_exclusive()
    }

    /// Returns the address of the data. Code that dereferences it must make sure that nobody else writes the data
    /// meanwhile, that nobody reads it if it writes itself, and that the lock still exists.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RwLock::new(1);
    /// let guard = lock.read();
    /// assert_eq!(lock.data_ptr().cast_const(), std::ptr::from_ref(&*guard));
    /// ```
    #[inline]
    pub const fn data_ptr(&self) -> *mut T {
        self.data.get()
    }

    /// Releases the lock for a reader whose guard has been forgotten.
    ///
    /// # Safety
    /// The calling thread reads, not upgradably. No guard of this acquisition is used or dropped afterwards, and
    /// nothing is used that was borrowed through one.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RwLock::new(1);
    /// std::mem::forget(lock.read());
    /// // SAFETY: locked above by this thread, and the guard is forgotten.
    /// unsafe { lock.force_unlock_read() };
    /// assert!(!lock.is_locked());
    /// ```
    #[inline]
    pub unsafe fn force_unlock_read(&self) {
        // SAFETY: the caller has the lock for reading.
        unsafe { self.raw.unlock_shared() };
    }

    /// Releases the lock for a writer whose guard has been forgotten.
    ///
    /// # Safety
    /// The calling thread writes. No guard of this acquisition is used or dropped afterwards, and nothing is used that
    /// was borrowed through one.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RwLock::new(1);
    /// std::mem::forget(lock.write());
    /// // SAFETY: locked above by this thread, and the guard is forgotten.
    /// unsafe { lock.force_unlock_write() };
    /// assert!(!lock.is_locked());
    /// ```
    #[inline]
    pub unsafe fn force_unlock_write(&self) {
        // SAFETY: the caller has the lock for writing.
        unsafe { self.raw.unlock_exclusive() };
    }

    /// As [`force_unlock_read`](RwLock::force_unlock_read), and a thread that waits to write goes before those that come.
    ///
    /// # Safety
    /// As [`force_unlock_read`](RwLock::force_unlock_read).
    ///
    /// # Example
    /// As for [`force_unlock_read`](RwLock::force_unlock_read).
    #[inline]
    pub unsafe fn force_unlock_read_fair(&self) {
        // SAFETY: the caller has the lock for reading.
        unsafe { self.raw.unlock_shared_fair() };
    }

    /// As [`force_unlock_write`](RwLock::force_unlock_write), and threads that wait go before those that come.
    ///
    /// # Safety
    /// As [`force_unlock_write`](RwLock::force_unlock_write).
    ///
    /// # Example
    /// As for [`force_unlock_write`](RwLock::force_unlock_write).
    #[inline]
    pub unsafe fn force_unlock_write_fair(&self) {
        // SAFETY: the caller has the lock for writing.
        unsafe { self.raw.unlock_exclusive_fair() };
    }

    /// Makes a guard for a reader whose guard has been forgotten.
    ///
    /// # Safety
    /// The calling thread reads, not upgradably, and no guard of this acquisition is used or dropped afterwards.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RwLock::new(1);
    /// std::mem::forget(lock.read());
    /// // SAFETY: locked above by this thread, and the guard is forgotten.
    /// drop(unsafe { lock.make_read_guard_unchecked() });
    /// assert!(!lock.is_locked());
    /// ```
    #[inline]
    pub unsafe fn make_read_guard_unchecked(&self) -> RwLockReadGuard<'_, T> {
        // SAFETY: the caller's.
        unsafe { RwLockReadGuard::new(self) }
    }

    /// As [`make_read_guard_unchecked`](RwLock::make_read_guard_unchecked), for the writer.
    ///
    /// # Safety
    /// The calling thread writes. No guard of this acquisition is used or dropped afterwards, and nothing is used that
    /// was borrowed through one.
    ///
    /// # Example
    /// As for [`make_read_guard_unchecked`](RwLock::make_read_guard_unchecked).
    #[inline]
    pub unsafe fn make_write_guard_unchecked(&self) -> RwLockWriteGuard<'_, T> {
        // SAFETY: the caller's.
        unsafe { RwLockWriteGuard::new(self) }
    }

    /// As [`make_read_guard_unchecked`](RwLock::make_read_guard_unchecked), for the upgradable reader.
    ///
    /// # Safety
    /// The calling thread reads upgradably, and no guard of this acquisition is used or dropped afterwards.
    ///
    /// # Example
    /// As for [`make_read_guard_unchecked`](RwLock::make_read_guard_unchecked).
    #[inline]
    pub unsafe fn make_upgradable_guard_unchecked(&self) -> RwLockUpgradableReadGuard<'_, T> {
        // SAFETY: the caller's.
        unsafe { RwLockUpgradableReadGuard::new(self) }
    }
}

impl<T> From<T> for RwLock<T> {
    #[inline]
    fn from(data: T) -> Self {
        RwLock::new(data)
    }
}

impl<T: Default> Default for RwLock<T> {
    #[inline]
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

/// Shows the data, or `<locked>` if a thread writes. Never waits.
impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("RwLock");
        match self.try_read_recursive() {
            Some(guard) => text.field("data", &&*guard).finish(),
            None => text.field("data", &format_args!("<locked>")).finish(),
        }
    }
}
