//! Mutexes that stay the C library's: what a look at them tells, and the writes by which plain ones are locked and unlocked
//! there.
//!
//! These writes are glibc's since its first mutexes of this form: the lock word is 0, 1, or 2 if somebody may wait; the owner
//! and the number of users are written by whoever has it. [`are_known`] asks the C library at hand whether it is so.

use super::mutex::{ERRORCHECK, Mutex, NORMAL, RECURSIVE, Raw, WHOSE};
use crate::{real, thread};
use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use libc::{EBUSY, pthread_mutex_t};
use ondeck_locks::RawLock as _;
use ondeck_record::Marks;

/// What the C library writes into the lock's word. A third number says that somebody may wait.
const THEIRS_FREE: u32 = 0;
const THEIRS_TAKEN: u32 = 1;
/// Beside the kind of one whose type was said to be normal. Locking and unlocking do not look at it.
const WITHOUT_ELISION: u32 = 0x200;

impl Mutex {
    /// The same of one of the most frequent kind, in a process where those are known.
    #[inline(always)]
    pub(crate) fn marks_of_plain_theirs(&self) -> Option<&Marks> {
        (self.shape.load(Relaxed) as u32 & !WITHOUT_ELISION == NORMAL).then_some(&self.marks)
    }

    /// Locks such a one as the C library does, if it is free.
    #[inline(always)]
    pub(crate) fn grab_theirs(&self, id: u32) -> bool {
        let is_in = if thread::is_alone() {
            let is_free = self.theirs.load(Relaxed) == THEIRS_FREE;
            if is_free {
                self.theirs.store(THEIRS_TAKEN, Relaxed);
            }
            is_free
        } else {
            self.theirs.compare_exchange(THEIRS_FREE, THEIRS_TAKEN, Acquire, Relaxed).is_ok()
        };
        if is_in {
            self.owner.store(id, Relaxed);
            self.n_waiting.store(self.n_waiting.load(Relaxed).wrapping_add(1), Relaxed);
        }
        is_in
    }

    /// Unlocks such a one as the C library does, if nobody waits; else nothing is done. The write that frees it is the last
    /// touch.
    #[inline(always)]
    pub(crate) fn free_theirs(&self) -> bool {
        let (owner, n_users) = (self.owner.load(Relaxed), self.n_waiting.load(Relaxed));
        self.owner.store(0, Relaxed);
        self.n_waiting.store(n_users.wrapping_sub(1), Relaxed);
        let is_freed = if thread::is_alone() {
            let is_taken = self.theirs.load(Relaxed) == THEIRS_TAKEN;
            if is_taken {
                self.theirs.store(THEIRS_FREE, Relaxed);
            }
            is_taken
        } else {
            // Not looked at before: a load between two locked instructions takes longer than what it may save.
            self.theirs.compare_exchange(THEIRS_TAKEN, THEIRS_FREE, Release, Relaxed).is_ok()
        };
        if !is_freed {
            // Somebody waits: the mutex is still ours.
            self.owner.store(owner, Relaxed);
            self.n_waiting.store(n_users, Relaxed);
        }
        is_freed
    }

    /// A free mutex of the most frequent kind.
    pub(crate) fn new_theirs() -> Self {
        let [theirs, count, owner, n_waiting] = [0; 4].map(AtomicU32::new);
        let shape = AtomicU64::new(0);
        Mutex { theirs, count, owner, n_waiting, shape, raw: Raw::new(), marks: Marks::default() }
    }

    /// The words that [`grab_theirs`](Self::grab_theirs) writes, and those that it relies on: lock, count, owner, users and
    /// kind.
    pub(crate) fn words_of_theirs(&self) -> [u32; 5] {
        let words = [&self.theirs, &self.count, &self.owner, &self.n_waiting].map(|word| word.load(Relaxed));
        let [lock, count, owner, users] = words;
        [lock, count, owner, users, self.shape.load(Relaxed) as u32]
    }

    /// Whether one of the C library's is free, as far as a look can tell.
    pub(crate) fn looks_free(&self) -> bool {
        /// The state of one that protects a priority is below that priority; that of all others is a thread's number.
        const PROTECTS: u32 = 64;
        const BELOW_PRIORITY: u32 = 3;
        const THREAD: u32 = 0x3fff_ffff;
        let protects = self.shape.load(Relaxed) as u32 & PROTECTS != 0;
        self.theirs.load(Relaxed) & if protects { BELOW_PRIORITY } else { THREAD } == 0
    }

    /// Whether one of the C library's is locked by its owner more than once.
    pub(crate) fn is_locked_again(&self) -> bool {
        self.shape.load(Relaxed) as u32 & WHOSE == RECURSIVE && self.count.load(Relaxed) > 1
    }

    /// Whether one of the C library's refuses what its owner may do.
    pub(crate) fn refuses_others(&self) -> bool {
        matches!(self.shape.load(Relaxed) as u32 & WHOSE, RECURSIVE | ERRORCHECK) && !self.is_mine()
    }
}

pub(crate) fn raw(mutex: *const Mutex) -> *mut pthread_mutex_t {
    mutex.cast_mut().cast()
}

/// Whether the C library's plain mutexes are locked and unlocked by the writes that are known here: it is asked to lock
/// what we unlock, and the other way round. If not, each is left to it.
pub(crate) fn are_known() -> bool {
    const NOBODY: [u32; 5] = [0; 5];
    let mutex = Mutex::new_theirs();
    // SAFETY: always may be called.
    let id = unsafe { libc::gettid() } as u32;
    let is_taken = || mutex.words_of_theirs() == [1, 0, id, 1, 0];
    let is_free = || mutex.words_of_theirs() == NOBODY;
    // SAFETY: it is free.
    let lock = || unsafe { real::pthread_mutex_lock(raw(&raw const mutex)) } == 0;
    // SAFETY: it is taken by this thread.
    let unlock = || unsafe { real::pthread_mutex_unlock(raw(&raw const mutex)) } == 0;
    // SAFETY: it exists.
    let refuses = || unsafe { real::pthread_mutex_trylock(raw(&raw const mutex)) } == EBUSY;
    lock()
        && is_taken()
        && mutex.free_theirs()
        && is_free()
        && mutex.grab_theirs(id)
        && is_taken()
        && refuses()
        && is_taken()
        && unlock()
        && is_free()
}
