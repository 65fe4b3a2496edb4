//! The reader-writer lock in a build that can record: each operation does its work and tells the recorder.
//!
//! An upgradable reader is recorded as one that reads. A change of what is held ends a hold and begins another one. It is told as
//! a try that succeeds, so it is no step of a lock order: a deadlock of an upgrade that waits for a reader is not told of.

use super::{Machine, address, is_told, is_wished};
use core::ops::Deref;
use ondeck_core::RawOndeckRwLock;
use ondeck_record::Access::{self, Reading, Writing};
use ondeck_record::bare::{self, several};
use ondeck_record::{PendingRelease, after_writers, gives_up};

type Raw = RawOndeckRwLock<Machine>;

/// The lock without data. What only looks at it is that of [`RawOndeckRwLock`].
#[repr(transparent)]
pub(crate) struct RwLock(Raw);

impl Deref for RwLock {
    type Target = Raw;

    #[inline(always)]
    fn deref(&self) -> &Raw {
        &self.0
    }
}

/// The manner of who waits for ever, and for no writer that itself only waits: nothing is to be told of it.
fn waits<T>(act: impl FnOnce() -> T) -> T {
    act()
}

/// The operations that wait for ever: what they want, how that is tried without waiting, and how they wait.
macro_rules! waiting {
    ($($name:ident: $access:ident, $attempt:ident, $manner:ident;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name(&self) {
            #[cold]
            #[inline(never)]
            fn tell(lock: &RwLock) {
                let wait = |raw: &Raw| {
                    raw.$name();
                    true
                };
                $manner(|| lock.acquire($access, Raw::$attempt, wait));
            }
            if is_wished() { tell(self) } else { self.0.$name() }
        }
    )*};
}

/// Those that wait until a deadline.
macro_rules! timed {
    ($($name:ident: $access:ident, $attempt:ident;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name(&self, deadline_ns: u64) -> bool {
            #[cold]
            #[inline(never)]
            fn tell(lock: &RwLock, deadline_ns: u64) -> bool {
                gives_up(|| lock.acquire($access, Raw::$attempt, |raw| raw.$name(deadline_ns)))
            }
            if is_wished() { tell(self, deadline_ns) } else { self.0.$name(deadline_ns) }
        }
    )*};
}

/// Those that do not wait.
macro_rules! tried {
    ($($name:ident: $access:ident;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name(&self) -> bool {
            let is_in = self.0.$name();
            if is_in && is_wished() {
                self.has_another($access);
            }
            is_in
        }
    )*};
}

/// Releases of what the calling thread has in that way.
macro_rules! releases {
    ($($name:ident: $access:ident;)*) => {$(
        /// # Safety
        /// As that of [`RawOndeckRwLock`].
        #[inline(always)]
        pub(crate) unsafe fn $name(&self) {
            if is_wished() {
                // SAFETY: the caller's.
                return unsafe { self.release_and_tell($access, Raw::$name) };
            }
            // SAFETY: the caller's.
            unsafe { self.0.$name() };
        }
    )*};
}

impl RwLock {
    #[allow(clippy::declare_interior_mutable_const, reason = "each use is a lock of its own")]
    pub(crate) const INIT: Self = RwLock(Raw::INIT);

    waiting! {
        read: Reading, try_read, after_writers;
        write: Writing, try_write, waits;
    }

    /// Also of a recorded one it says whether the word counts the caller, if it knows.
    #[inline(always)]
    #[allow(dead_code, reason = "C has no guard that could remember it")]
    pub(crate) fn read_by_word(&self) -> bool {
        if is_wished() {
            self.read();
            return false;
        }
        self.0.read_by_word()
    }

    timed! {
        read_until: Reading, try_read;
        write_until: Writing, try_write;
    }

    tried! {
        try_read: Reading;
        try_write: Writing;
    }

    releases! {
        release_read: Reading;
        release_write: Writing;
    }

    /// # Safety
    /// The calling thread has it for writing.
    pub(crate) unsafe fn downgrade(&self) {
        // SAFETY: the caller's.
        unsafe { self.downgrade_by(Raw::downgrade) };
    }
}

/// For Rust.
#[allow(dead_code, reason = "C has none of these")]
impl RwLock {
    waiting! {
        read_recursive: Reading, try_read_recursive, waits;
        read_upgradable: Reading, try_read_upgradable, after_writers;
    }

    timed! {
        read_recursive_until: Reading, try_read_recursive;
        read_upgradable_until: Reading, try_read_upgradable;
    }

    tried! {
        try_read_recursive: Reading;
        try_read_upgradable: Reading;
    }

    releases! {
        release_upgradable: Reading;
        release_read_by_word: Reading;
        release_read_fair: Reading;
        release_write_fair: Writing;
        release_upgradable_fair: Reading;
    }

    /// # Safety
    /// The calling thread has it for writing.
    pub(crate) unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: the caller's.
        unsafe { self.downgrade_by(Raw::downgrade_to_upgradable) };
    }

    /// # Safety
    /// The calling thread has it for reading upgradably.
    pub(crate) unsafe fn upgrade(&self) {
        let wait = |raw: &Raw| {
            // SAFETY: the caller's.
            unsafe { raw.upgrade() };
            true
        };
        if is_wished() {
            // SAFETY: the caller's.
            unsafe { self.upgrade_and_tell(wait) };
        } else {
            wait(&self.0);
        }
    }

    /// # Safety
    /// The calling thread has it for reading upgradably.
    pub(crate) unsafe fn upgrade_until(&self, deadline_ns: u64) -> bool {
        // SAFETY: the caller's.
        let wait = |raw: &Raw| unsafe { raw.upgrade_until(deadline_ns) };
        if is_wished() {
            // SAFETY: the caller's.
            unsafe { self.upgrade_and_tell(wait) }
        } else {
            wait(&self.0)
        }
    }

    /// # Safety
    /// The calling thread has it for reading upgradably.
    pub(crate) unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: the caller's.
        let is_writer = unsafe { self.0.try_upgrade() };
        if is_writer && is_wished() {
            self.is_upgraded();
        }
        is_writer
    }

    /// # Safety
    /// The calling thread has it for reading upgradably.
    #[cold]
    #[inline(never)]
    unsafe fn upgrade_and_tell(&self, wait: impl Fn(&Raw) -> bool) -> bool {
        // SAFETY: the caller's.
        if unsafe { self.0.try_upgrade() } {
            self.is_upgraded();
            return true;
        }
        // What others wait for from here on is those that this thread waits for, too.
        self.end_before(self.end(Reading));
        let is_writer = gives_up(|| self.acquire(Writing, |_| false, wait));
        if !is_writer {
            self.has_another(Reading);
        }
        is_writer
    }

    #[cold]
    #[inline(never)]
    fn is_upgraded(&self) {
        self.end_before(self.end(Reading));
        self.has_another(Writing);
    }
}

/// Where nothing is recorded it is tried first. A recorded one is not to be told as a try.
#[inline(always)]
#[allow(dead_code, reason = "C has none of these")]
pub(crate) fn read_upgradable(lock: &RwLock) {
    if is_wished() || !lock.0.try_read_upgradable() {
        lock.read_upgradable();
    }
}

/// What is told.
impl RwLock {
    /// Acquires it by `attempt`, or if that fails by `wait`, which says whether it has.
    #[inline(always)]
    fn acquire(&self, access: Access, attempt: impl Fn(&Raw) -> bool, wait: impl Fn(&Raw) -> bool) -> bool {
        if attempt(&self.0) {
            self.look(access);
            return true;
        }
        bare::within(|| {
            let Some(told) = several::wait(address(&self.0), access) else { return wait(&self.0) };
            let has_it = told.told(|| wait(&self.0));
            several::waited(told, has_it, address(&self.0), access);
            has_it
        })
    }

    /// It was acquired without waiting.
    #[inline(always)]
    fn look(&self, access: Access) {
        if let Some(is_due) = is_told(|| self.0.is_contended()) {
            bare::within(|| {
                let was_free = access == Reading && self.0.n_readers() == 1;
                several::taken(address(&self.0), access, is_due, self.0.is_contended(), was_free);
            });
        }
    }

    /// The same, by who does not wait for ever, or has had it in another way.
    #[cold]
    #[inline(never)]
    fn has_another(&self, access: Access) {
        gives_up(|| self.look(access));
    }

    /// The calling thread is about to release it, or to have it in another way.
    #[inline(always)]
    fn end(&self, access: Access) -> Option<PendingRelease> {
        let is_told = ondeck_record::is_on() && (bare::remembers() || self.0.is_contended());
        let is_alone = || self.0.n_readers() == 1;
        let tell = || bare::within(|| several::release(address(&self.0), access, self.0.is_contended(), is_alone));
        if is_told { tell() } else { None }
    }

    /// The calling thread has it in another way from here on.
    #[inline(always)]
    fn end_before(&self, pending: Option<PendingRelease>) {
        if let Some(pending) = pending {
            bare::within(|| pending.done_before());
        }
    }

    /// # Safety
    /// The calling thread has it in that way, and `release` owes its callee no more than that.
    #[cold]
    #[inline(never)]
    unsafe fn release_and_tell(&self, access: Access, release: unsafe fn(&Raw)) {
        let pending = self.end(access);
        // SAFETY: the caller's. From here on the lock may be gone.
        unsafe { release(&self.0) };
        if let Some(pending) = pending {
            bare::within(|| pending.done());
        }
    }

    /// # Safety
    /// The calling thread has it for writing. `downgrade` owes its callee no more than that, and lets it read.
    #[inline(always)]
    unsafe fn downgrade_by(&self, downgrade: unsafe fn(&Raw)) {
        if is_wished() {
            // SAFETY: the caller's.
            return unsafe { self.downgrade_and_tell(downgrade) };
        }
        // SAFETY: the caller's.
        unsafe { downgrade(&self.0) };
    }

    /// # Safety
    /// As [`downgrade_by`](Self::downgrade_by).
    #[cold]
    #[inline(never)]
    unsafe fn downgrade_and_tell(&self, downgrade: unsafe fn(&Raw)) {
        let pending = self.end(Writing);
        // SAFETY: the caller's.
        unsafe { downgrade(&self.0) };
        self.end_before(pending);
        self.has_another(Reading);
    }
}
