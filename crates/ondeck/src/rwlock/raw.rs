//! The reader-writer lock without data.

use super::unlocked::or_abort;
use crate::raw::{deadline_at, deadline_in};
use crate::recorded;
use std::fmt;
use std::time::{Duration, Instant};

/// The lock under [`RwLock`](crate::RwLock), without data. It has 16 bytes.
///
/// Use it if your data is elsewhere. With the features `lock_api-04` and `lock_api-05` it implements the traits of
/// `lock_api`. *Shared* is the access of a reader there, and *exclusive* that of a writer.
///
/// # Blocking, fairness, panics
/// As [`RwLock`](crate::RwLock).
///
/// # Example
/// ```
/// use ondeck::RawRwLock;
///
/// static LOCK: RawRwLock = RawRwLock::new();
///
/// LOCK.lock_shared();
/// assert!(LOCK.try_lock_shared() && !LOCK.try_lock_exclusive());
/// // SAFETY: acquired twice above, by this thread.
/// unsafe { LOCK.unlock_shared() };
/// // SAFETY: as above.
/// unsafe { LOCK.unlock_shared() };
/// assert!(!LOCK.is_locked());
/// ```
#[repr(transparent)]
pub struct RawRwLock(pub(super) recorded::RwLock);

impl RawRwLock {
    /// Makes a free lock.
    ///
    /// # Example
    /// See [`RawRwLock`].
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        RawRwLock(recorded::RwLock::INIT)
    }

    /// Returns whether a thread has the lock. Other threads may change that at any time.
    ///
    /// # Example
    /// See [`RawRwLock`].
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.0.is_taken()
    }

    /// Returns whether a thread has the lock for writing. Other threads may change that at any time.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RawRwLock::new();
    /// assert!(lock.try_lock_exclusive() && lock.is_locked_exclusive());
    /// ```
    #[inline]
    pub fn is_locked_exclusive(&self) -> bool {
        self.0.is_taken_for_writing()
    }
}

/// Reading.
impl RawRwLock {
    /// Acquires the lock for reading. Waits while a thread writes or waits to write.
    ///
    /// # Blocking, panics
    /// As [`RwLock::read`](crate::RwLock::read).
    ///
    /// # Example
    /// See [`RawRwLock`].
    #[inline]
    pub fn lock_shared(&self) {
        self.0.read();
    }

    /// Acquires the lock for reading if no thread writes or waits to write, and returns whether that is so. Never waits.
    ///
    /// # Panics
    /// As [`lock_shared`](RawRwLock::lock_shared).
    ///
    /// # Example
    /// See [`RawRwLock`].
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        self.0.try_read()
    }

    /// Acquires the lock for reading, and waits for at most `timeout`. Returns false if the timeout passed first.
    ///
    /// # Blocking, panics
    /// As [`lock_shared`](RawRwLock::lock_shared), until the timeout.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RawRwLock::new();
    /// lock.lock_exclusive();
    /// assert!(!lock.try_lock_shared_for(std::time::Duration::from_millis(1)));
    /// ```
    #[inline]
    pub fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        self.0.try_read() || self.0.read_until(deadline_in(timeout))
    }

    /// Acquires the lock for reading, and waits at most until `deadline`. Returns false if the deadline passed first.
    ///
    /// # Blocking, panics
    /// As [`lock_shared`](RawRwLock::lock_shared), until the deadline.
    ///
    /// # Example
    /// As for [`try_lock_shared_for`](RawRwLock::try_lock_shared_for).
    #[inline]
    pub fn try_lock_shared_until(&self, deadline: Instant) -> bool {
        self.0.try_read() || self.0.read_until(deadline_at(deadline))
    }

    /// Acquires the lock for reading, also if the calling thread reads already. Waits for no writer that only waits.
    ///
    /// # Blocking, fairness, panics
    /// As [`RwLock::read_recursive`](crate::RwLock::read_recursive).
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RawRwLock::new();
    /// lock.lock_shared();
    /// // Returns at once, even if a writer waits.
    /// lock.lock_shared_recursive();
    /// ```
    #[inline]
    pub fn lock_shared_recursive(&self) {
        self.0.read_recursive();
    }

    /// Acquires the lock for reading if no thread writes, also if one waits to write. Never waits.
    ///
    /// # Panics
    /// As [`lock_shared`](RawRwLock::lock_shared).
    ///
    /// # Example
    /// As for [`lock_shared_recursive`](RawRwLock::lock_shared_recursive).
    #[inline]
    pub fn try_lock_shared_recursive(&self) -> bool {
        self.0.try_read_recursive()
    }

    /// As [`lock_shared_recursive`](RawRwLock::lock_shared_recursive), and waits for at most `timeout`. Returns false if
    /// the timeout passed first.
    ///
    /// # Example
    /// As for [`try_lock_shared_for`](RawRwLock::try_lock_shared_for).
    #[inline]
    pub fn try_lock_shared_recursive_for(&self, timeout: Duration) -> bool {
        self.0.try_read_recursive() || self.0.read_recursive_until(deadline_in(timeout))
    }

    /// As [`lock_shared_recursive`](RawRwLock::lock_shared_recursive), and waits at most until `deadline`. Returns false
    /// if the deadline passed first.
    ///
    /// # Example
    /// As for [`try_lock_shared_for`](RawRwLock::try_lock_shared_for).
    #[inline]
    pub fn try_lock_shared_recursive_until(&self, deadline: Instant) -> bool {
        self.0.try_read_recursive() || self.0.read_recursive_until(deadline_at(deadline))
    }

    /// Releases the lock for a reader.
    ///
    /// # Safety
    /// The calling thread has the lock for reading, and not upgradably.
    ///
    /// # Example
    /// See [`RawRwLock`].
    #[inline]
    pub unsafe fn unlock_shared(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.release_read() };
    }

    /// As [`unlock_shared`](RawRwLock::unlock_shared), and a thread that waits to write goes before those that come.
    ///
    /// # Safety
    /// As [`unlock_shared`](RawRwLock::unlock_shared).
    ///
    /// # Blocking
    /// As [`unlock_exclusive_fair`](RawRwLock::unlock_exclusive_fair).
    ///
    /// # Example
    /// As for [`unlock_exclusive_fair`](RawRwLock::unlock_exclusive_fair).
    #[inline]
    pub unsafe fn unlock_shared_fair(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.release_read_fair() };
    }

    /// Lets a waiting thread in, and acquires the lock for reading again. Does nothing if no thread waits.
    ///
    /// # Safety
    /// As [`unlock_shared`](RawRwLock::unlock_shared).
    ///
    /// # Blocking
    /// As [`lock_shared`](RawRwLock::lock_shared), if a thread waits.
    ///
    /// # Aborts
    /// If other threads have taken the last of the places for readers meanwhile, the process ends.
    ///
    /// # Example
    /// As for [`bump_exclusive`](RawRwLock::bump_exclusive).
    #[inline]
    pub unsafe fn bump_shared(&self) {
        if self.0.is_contended() {
            or_abort(|| {
                // SAFETY: the caller's.
                unsafe { self.unlock_shared_fair() };
                self.lock_shared();
            });
        }
    }
}

/// Writing.
impl RawRwLock {
    /// Acquires the lock for writing. Waits while any other thread has it.
    ///
    /// # Blocking, panics
    /// As [`RwLock::write`](crate::RwLock::write).
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RawRwLock::new();
    /// lock.lock_exclusive();
    /// // SAFETY: acquired above, by this thread.
    /// unsafe { lock.unlock_exclusive() };
    /// ```
    #[inline]
    pub fn lock_exclusive(&self) {
        self.0.write();
    }

    /// Acquires the lock for writing if no thread has it, and returns whether that is so. Waits for no thread.
    ///
    /// # Blocking, panics
    /// As [`RwLock::try_write`](crate::RwLock::try_write).
    ///
    /// # Example
    /// See [`RawRwLock`].
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        self.0.try_write()
    }

    /// Acquires the lock for writing, and waits for at most `timeout`. Returns false if the timeout passed first.
    ///
    /// # Blocking, panics
    /// As [`lock_exclusive`](RawRwLock::lock_exclusive), until the timeout.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RawRwLock::new();
    /// lock.lock_shared();
    /// assert!(!lock.try_lock_exclusive_for(std::time::Duration::from_millis(1)));
    /// ```
    #[inline]
    pub fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        self.0.try_write() || self.0.write_until(deadline_in(timeout))
    }

    /// Acquires the lock for writing, and waits at most until `deadline`. Returns false if the deadline passed first.
    ///
    /// # Blocking, panics
    /// As [`lock_exclusive`](RawRwLock::lock_exclusive), until the deadline.
    ///
    /// # Example
    /// As for [`try_lock_exclusive_for`](RawRwLock::try_lock_exclusive_for).
    #[inline]
    pub fn try_lock_exclusive_until(&self, deadline: Instant) -> bool {
        self.0.try_write() || self.0.write_until(deadline_at(deadline))
    }

    /// Releases the lock for the writer.
    ///
    /// # Safety
    /// The calling thread has the lock for writing.
    ///
    /// # Example
    /// See [`lock_exclusive`](RawRwLock::lock_exclusive).
    #[inline]
    pub unsafe fn unlock_exclusive(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.release_write() };
    }

    /// As [`unlock_exclusive`](RawRwLock::unlock_exclusive), and the threads that wait go before those that come. Readers
    /// that come may still go before a writer that waits, until it notices that it is its turn.
    ///
    /// # Safety
    /// As [`unlock_exclusive`](RawRwLock::unlock_exclusive).
    ///
    /// # Blocking
    /// If a writer waits, spins or yields until it has noticed, and for a millisecond at most.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RawRwLock::new();
    /// lock.lock_exclusive();
    /// // SAFETY: acquired above, by this thread.
    /// unsafe { lock.unlock_exclusive_fair() };
    /// ```
    #[inline]
    pub unsafe fn unlock_exclusive_fair(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.release_write_fair() };
    }

    /// Lets a waiting thread in, and acquires the lock for writing again. Does nothing if no thread waits.
    ///
    /// # Safety
    /// As [`unlock_exclusive`](RawRwLock::unlock_exclusive).
    ///
    /// # Blocking
    /// As [`lock_exclusive`](RawRwLock::lock_exclusive), if a thread waits.
    ///
    /// # Aborts
    /// Where [`lock_exclusive`](RawRwLock::lock_exclusive) panics, the process ends.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RawRwLock::new();
    /// lock.lock_exclusive();
    /// // SAFETY: acquired above, by this thread.
    /// unsafe { lock.bump_exclusive() };
    /// assert!(lock.is_locked_exclusive());
    /// ```
    #[inline]
    pub unsafe fn bump_exclusive(&self) {
        if self.0.is_contended() {
            or_abort(|| {
                // SAFETY: the caller's.
                unsafe { self.unlock_exclusive_fair() };
                self.lock_exclusive();
            });
        }
    }

    /// Goes on reading. No other thread writes in between. Readers that wait come in.
    ///
    /// # Safety
    /// The calling thread has the lock for writing.
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RawRwLock::new();
    /// lock.lock_exclusive();
    /// // SAFETY: acquired above, by this thread.
    /// unsafe { lock.downgrade() };
    /// assert!(lock.try_lock_shared());
    /// ```
    #[inline]
    pub unsafe fn downgrade(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.downgrade() };
    }

    /// Goes on reading upgradably. No other thread writes in between. Readers that wait come in.
    ///
    /// # Safety
    /// The calling thread has the lock for writing.
    ///
    /// # Example
    /// As for [`downgrade`](RawRwLock::downgrade).
    #[inline]
    pub unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.downgrade_to_upgradable() };
    }
}

/// Reading upgradably.
impl RawRwLock {
    /// Acquires the lock for reading, as the one reader that can become the writer.
    ///
    /// # Blocking, panics
    /// As [`RwLock::upgradable_read`](crate::RwLock::upgradable_read).
    ///
    /// # Example
    /// ```
    /// let lock = ondeck::RawRwLock::new();
    /// lock.lock_upgradable();
    /// assert!(lock.try_lock_shared() && !lock.try_lock_upgradable());
    /// // SAFETY: acquired above, by this thread.
    /// unsafe { lock.unlock_shared() };
    /// // SAFETY: acquired above, and the other reader is gone.
    /// unsafe { lock.upgrade() };
    /// assert!(lock.is_locked_exclusive());
    /// ```
    #[inline]
    pub fn lock_upgradable(&self) {
        recorded::read_upgradable(&self.0);
    }

    /// Acquires the lock for reading upgradably if no thread writes, waits to write, or reads upgradably. Never waits.
    ///
    /// # Example
    /// See [`lock_upgradable`](RawRwLock::lock_upgradable).
    #[inline]
    pub fn try_lock_upgradable(&self) -> bool {
        self.0.try_read_upgradable()
    }

    /// Acquires the lock for reading upgradably, and waits for at most `timeout`. Returns false if the timeout passed
    /// first.
    ///
    /// # Blocking, panics
    /// As [`lock_upgradable`](RawRwLock::lock_upgradable), until the timeout.
    ///
    /// # Example
    /// As for [`try_lock_shared_for`](RawRwLock::try_lock_shared_for).
    #[inline]
    pub fn try_lock_upgradable_for(&self, timeout: Duration) -> bool {
        self.0.try_read_upgradable() || self.0.read_upgradable_until(deadline_in(timeout))
    }

    /// Acquires the lock for reading upgradably, and waits at most until `deadline`. Returns false if the deadline passed
    /// first.
    ///
    /// # Blocking, panics
    /// As [`lock_upgradable`](RawRwLock::lock_upgradable), until the deadline.
    ///
    /// # Example
    /// As for [`try_lock_shared_for`](RawRwLock::try_lock_shared_for).
    #[inline]
    pub fn try_lock_upgradable_until(&self, deadline: Instant) -> bool {
        self.0.try_read_upgradable() || self.0.read_upgradable_until(deadline_at(deadline))
    }

    /// Releases the lock for the upgradable reader.
    ///
    /// # Safety
    /// The calling thread has the lock for reading upgradably.
    ///
    /// # Example
    /// As for [`unlock_shared`](RawRwLock::unlock_shared).
    #[inline]
    pub unsafe fn unlock_upgradable(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.release_upgradable() };
    }

    /// As [`unlock_upgradable`](RawRwLock::unlock_upgradable), and a thread that waits to write or to read upgradably
    /// goes before those that come.
    ///
    /// # Safety
    /// As [`unlock_upgradable`](RawRwLock::unlock_upgradable).
    ///
    /// # Blocking
    /// As [`unlock_exclusive_fair`](RawRwLock::unlock_exclusive_fair).
    ///
    /// # Example
    /// As for [`unlock_exclusive_fair`](RawRwLock::unlock_exclusive_fair).
    #[inline]
    pub unsafe fn unlock_upgradable_fair(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.release_upgradable_fair() };
    }

    /// Lets a waiting thread in, and acquires the lock for reading upgradably again. Does nothing if no thread waits.
    ///
    /// # Safety
    /// As [`unlock_upgradable`](RawRwLock::unlock_upgradable).
    ///
    /// # Blocking
    /// As [`lock_upgradable`](RawRwLock::lock_upgradable), if a thread waits.
    ///
    /// # Aborts
    /// Where [`lock_upgradable`](RawRwLock::lock_upgradable) panics, the process ends.
    ///
    /// # Example
    /// As for [`bump_exclusive`](RawRwLock::bump_exclusive).
    #[inline]
    pub unsafe fn bump_upgradable(&self) {
        if self.0.is_contended() {
            or_abort(|| {
                // SAFETY: the caller's.
                unsafe { self.unlock_upgradable_fair() };
                self.lock_upgradable();
            });
        }
    }

    /// Goes on reading like any other reader. Another thread may read upgradably then.
    ///
    /// # Safety
    /// The calling thread has the lock for reading upgradably.
    ///
    /// # Example
    /// As for [`downgrade`](RawRwLock::downgrade).
    #[inline]
    pub unsafe fn downgrade_upgradable(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.downgrade_upgradable() };
    }

    /// Becomes the writer. Waits until the other readers have left. No other thread writes in between.
    ///
    /// # Safety
    /// The calling thread has the lock for reading upgradably. It has that still if this panics.
    ///
    /// # Blocking
    /// As [`RwLockUpgradableReadGuard::upgrade`](crate::RwLockUpgradableReadGuard::upgrade).
    ///
    /// # Panics
    /// As [`lock_exclusive`](RawRwLock::lock_exclusive).
    ///
    /// # Example
    /// See [`lock_upgradable`](RawRwLock::lock_upgradable).
    #[inline]
    pub unsafe fn upgrade(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.upgrade() };
    }

    /// Becomes the writer if there is no other reader, and returns whether that is so. Waits for no thread; if readers count
    /// themselves by core, a system call has to tell, and the answer is no while another thread is at that.
    ///
    /// # Safety
    /// As [`upgrade`](RawRwLock::upgrade), with whose panics too.
    ///
    /// # Example
    /// As for [`upgrade`](RawRwLock::upgrade).
    #[inline]
    pub unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: the caller's.
        unsafe { self.0.try_upgrade() }
    }

    /// Becomes the writer, and waits for at most `timeout` for the other readers to leave. If it returns false, the
    /// calling thread still reads upgradably.
    ///
    /// # Safety
    /// As [`upgrade`](RawRwLock::upgrade), with whose panics too.
    ///
    /// # Example
    /// As for [`upgrade`](RawRwLock::upgrade).
    #[inline]
    pub unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        // SAFETY: the caller's.
        let is_writer = unsafe { self.0.try_upgrade() };
        // SAFETY: the caller's; it reads upgradably still.
        is_writer || unsafe { self.0.upgrade_until(deadline_in(timeout)) }
    }

    /// Becomes the writer, and waits at most until `deadline` for the other readers to leave. If it returns false, the
    /// calling thread still reads upgradably.
    ///
    /// # Safety
    /// As [`upgrade`](RawRwLock::upgrade), with whose panics too.
    ///
    /// # Example
    /// As for [`upgrade`](RawRwLock::upgrade).
    #[inline]
    pub unsafe fn try_upgrade_until(&self, deadline: Instant) -> bool {
        // SAFETY: the caller's.
        let is_writer = unsafe { self.0.try_upgrade() };
        // SAFETY: the caller's; it reads upgradably still.
        is_writer || unsafe { self.0.upgrade_until(deadline_at(deadline)) }
    }
}

impl Default for RawRwLock {
    fn default() -> Self {
        RawRwLock::new()
    }
}

impl fmt::Debug for RawRwLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
