//! Mutexes that stay the C library's: what a look at them tells, and the writes by which plain ones are locked and unlocked
//! there.
//!
//! These writes are glibc's since its first mutexes of this form: the lock word is 0, 1, or 2 if somebody may wait; the owner
//! and the number of users are written by the owner. [`are_known`] asks the C library at hand whether it is so.

use super::mutex::{ADAPTIVE, ERRORCHECK, Mutex, NORMAL, RECURSIVE, Raw, TYPE, WHOSE};
use crate::{real, thread};
use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use libc::{EBUSY, pthread_mutex_t};
use ondeck_core::RawLock as _;
use ondeck_core::{Hardware, Platform as _};
use ondeck_record::Marks;

/// What the C library writes into the lock's word. A third number says that somebody may wait.
const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Beside the kind of one whose type was said to be normal. Locking and unlocking do not look at it.
const WITHOUT_ELISION: u32 = 0x200;

impl Mutex {
    /// The same of one of the most frequent kind, in a process where those are known.
    #[inline(always)]
    pub(crate) fn plain_glibc_marks(&self) -> Option<&Marks> {
        (self.shape.load(Relaxed) as u32 & !WITHOUT_ELISION == NORMAL).then_some(&self.marks)
    }

    /// Locks such a one as the C library does, if it is free.
    #[inline(always)]
    pub(crate) fn grab_as_glibc(&self, id: u32) -> bool {
        let is_in = if thread::is_alone() {
            let is_free = self.glibc_word.load(Relaxed) == FREE;
            if is_free {
                self.glibc_word.store(TAKEN, Relaxed);
            }
            is_free
        } else {
            self.glibc_word.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_ok()
        };
        if is_in {
            self.owner.store(id, Relaxed);
            self.n_waiting.store(self.n_waiting.load(Relaxed).wrapping_add(1), Relaxed);
        }
        is_in
    }

    /// Where one that has marks keeps the address to which the call returned that locked it; 0 if that is not known. Only the
    /// thread that has it looks.
    pub(crate) fn from(&self) -> &AtomicU64 {
        // SAFETY: eight bytes of the lock, which is not there, that may hold any number.
        unsafe { &*self.place().cast::<AtomicU64>() }
    }

    #[inline(always)]
    pub(crate) fn note_from(&self, from: u64) {
        self.from().store(from, Relaxed);
    }

    /// Unlocks such a one as the C library does: whether somebody sleeps, who is [to be woken](wake_as_glibc). The write that
    /// frees it is the last touch.
    #[inline(always)]
    pub(crate) fn free_as_glibc(&self) -> bool {
        self.owner.store(0, Relaxed);
        self.n_waiting.store(self.n_waiting.load(Relaxed).wrapping_sub(1), Relaxed);
        if thread::is_alone() {
            self.glibc_word.store(FREE, Relaxed);
            return false;
        }
        self.glibc_word.swap(FREE, Release) > TAKEN
    }

    /// A free mutex of the most frequent kind.
    pub(crate) fn new_glibc() -> Self {
        let [glibc_word, count, owner, n_waiting] = [0; 4].map(AtomicU32::new);
        let shape = AtomicU64::new(0);
        Mutex { glibc_word, count, owner, n_waiting, shape, raw: Raw::new(), marks: Marks::default() }
    }

    /// The words that [`grab_as_glibc`](Self::grab_as_glibc) writes, and those that it relies on: lock, count, owner, users and
    /// kind.
    pub(crate) fn glibc_words(&self) -> [u32; 5] {
        let words = [&self.glibc_word, &self.count, &self.owner, &self.n_waiting].map(|word| word.load(Relaxed));
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
        self.glibc_word.load(Relaxed) & if protects { BELOW_PRIORITY } else { THREAD } == 0
    }

    /// Whether one of the C library's is locked by its owner more than once.
    pub(crate) fn is_locked_again(&self) -> bool {
        self.may_be_locked_again() && self.count.load(Relaxed) > 1
    }

    /// Whether the owner of one of the C library's may lock it again.
    pub(crate) fn may_be_locked_again(&self) -> bool {
        self.shape.load(Relaxed) as u32 & TYPE == RECURSIVE
    }

    /// Whether one of the C library's refuses to be locked again by its owner. Others let it wait for ever.
    pub(crate) fn refuses_its_owner(&self) -> bool {
        self.shape.load(Relaxed) as u32 & TYPE == ERRORCHECK
    }

    /// Whether one of the C library's refuses what its owner may do.
    pub(crate) fn refuses_others(&self) -> bool {
        let kind = self.shape.load(Relaxed) as u32 & WHOSE;
        (matches!(kind & TYPE, RECURSIVE | ERRORCHECK) || kind > ADAPTIVE) && !self.is_mine()
    }
}

/// Wakes one that sleeps for a mutex that has been freed, and may be gone.
pub(crate) fn wake_as_glibc(mutex: *const Mutex) {
    // What is recorded of wakes is of our own lock.
    Hardware::wake(mutex.cast::<AtomicU32>(), 1);
}

pub(crate) fn raw(mutex: *const Mutex) -> *mut pthread_mutex_t {
    mutex.cast_mut().cast()
}

/// Whether the C library's plain mutexes are locked and unlocked by the writes that are known here: it is asked to lock
/// what we unlock, and the other way round. If not, each is left to it.
pub(crate) fn are_known() -> bool {
    const NOBODY: [u32; 5] = [0; 5];
    let mutex = Mutex::new_glibc();
    let id = thread::number();
    let is_taken = || mutex.glibc_words() == [1, 0, id, 1, 0];
    let is_free = || mutex.glibc_words() == NOBODY;
    // SAFETY: it is free.
    let lock = || unsafe { real::pthread_mutex_lock(raw(&raw const mutex)) } == 0;
    // SAFETY: it is taken by this thread.
    let unlock = || unsafe { real::pthread_mutex_unlock(raw(&raw const mutex)) } == 0;
    // SAFETY: it exists.
    let refuses = || unsafe { real::pthread_mutex_trylock(raw(&raw const mutex)) } == EBUSY;
    lock()
        && is_taken()
        && !mutex.free_as_glibc()
        && is_free()
        && mutex.grab_as_glibc(id)
        && is_taken()
        && refuses()
        && is_taken()
        && unlock()
        && is_free()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number() -> u32 {
        // SAFETY: always may be called.
        unsafe { libc::gettid() as u32 }
    }

    unsafe extern "C" {
        /// As in `thread`; some versions of the C library do not set it again in a child.
        static mut __libc_single_threaded: core::ffi::c_char;
    }

    /// In a child, which has one thread.
    fn alone(test: impl FnOnce()) {
        // SAFETY: the child ends without running anything of the parent's.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: it is true, and there is nobody else to see it.
                unsafe { __libc_single_threaded = 1 };
                let is_ok = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test)).is_ok();
                // SAFETY: as above.
                unsafe { libc::_exit(i32::from(!is_ok)) };
            }
            child => {
                let mut status = 0;
                // SAFETY: the child is this thread's to wait for.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(status, 0);
            }
        }
    }

    /// Beside a thread that does nothing.
    fn in_company(test: impl FnOnce()) {
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv().unwrap_err());
        test();
        drop(end);
        other.join().unwrap();
    }

    fn glibc_lock(mutex: &Mutex) {
        // SAFETY: it exists.
        assert_eq!(unsafe { real::pthread_mutex_lock(raw(mutex)) }, 0);
    }

    fn glibc_unlock(mutex: &Mutex) {
        // SAFETY: as above.
        assert_eq!(unsafe { real::pthread_mutex_unlock(raw(mutex)) }, 0);
    }

    fn writes_what_the_c_library_does() {
        let (ours, theirs) = (Mutex::new_glibc(), Mutex::new_glibc());
        assert!(ours.grab_as_glibc(number()));
        glibc_lock(&theirs);
        assert_eq!(ours.glibc_words(), theirs.glibc_words());
        assert!(!ours.grab_as_glibc(1), "it is taken");
        assert_eq!(ours.glibc_words(), theirs.glibc_words());
        assert!(!ours.free_as_glibc());
        glibc_unlock(&theirs);
        assert_eq!(ours.glibc_words(), theirs.glibc_words());
        // Each unlocks what the other has locked.
        assert!(ours.grab_as_glibc(number()));
        glibc_unlock(&ours);
        glibc_lock(&ours);
        assert!(!ours.free_as_glibc());
        assert_eq!(ours.glibc_words(), theirs.glibc_words());
    }

    fn says_that_somebody_is_to_be_woken() {
        let mutex = Mutex::new_glibc();
        assert!(mutex.grab_as_glibc(number()));
        mutex.glibc_word.store(2, Relaxed);
        assert!(!mutex.grab_as_glibc(1));
        // Alone there is nobody.
        assert_eq!(mutex.free_as_glibc(), !thread::is_alone());
        assert_eq!(mutex.glibc_words(), [0; 5]);
    }

    /// If this fails plain mutexes are left to the C library wherever they are recorded, which is slower.
    #[test]
    fn the_c_library_is_known() {
        assert!(are_known());
        alone(|| assert!(are_known()));
    }

    #[test]
    fn one_thread_writes_what_the_c_library_does() {
        alone(|| {
            assert!(thread::is_alone());
            writes_what_the_c_library_does();
        });
    }

    #[test]
    fn one_of_several_threads_writes_what_the_c_library_does() {
        in_company(|| {
            assert!(!thread::is_alone());
            writes_what_the_c_library_does();
        });
    }

    #[test]
    fn whoever_sleeps_is_to_be_woken() {
        alone(says_that_somebody_is_to_be_woken);
        in_company(says_that_somebody_is_to_be_woken);
    }

    /// A thread that sleeps by the C library's own lock.
    #[test]
    fn who_sleeps_in_the_c_library_is_woken() {
        let mutex = Mutex::new_glibc();
        std::thread::scope(|scope| {
            assert!(mutex.grab_as_glibc(number()));
            let sleeper = scope.spawn(|| {
                glibc_lock(&mutex);
                glibc_unlock(&mutex);
            });
            while mutex.glibc_words()[0] != 2 {
                std::thread::yield_now();
            }
            assert!(mutex.free_as_glibc());
            wake_as_glibc(&raw const mutex);
            sleeper.join().unwrap();
        });
        assert_eq!(mutex.glibc_words(), [0; 5]);
    }

    /// On one core this shows little.
    #[test]
    fn threads_exclude_each_other() {
        const TURNS: u64 = 300_000;
        let (mutex, count) = (Mutex::new_glibc(), AtomicU64::new(0));
        let count_up = || {
            for _ in 0..TURNS {
                while !mutex.grab_as_glibc(number_of_this_thread()) {
                    core::hint::spin_loop();
                }
                count.store(count.load(Relaxed) + 1, Relaxed);
                assert!(!mutex.free_as_glibc(), "nobody sleeps");
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(count_up);
            scope.spawn(count_up);
        });
        assert_eq!(count.into_inner(), 2 * TURNS);
    }

    /// As above. Another thread says again and again that it goes to sleep: each time the next unlock says so.
    #[test]
    fn nobody_who_begins_to_wait_is_overlooked() {
        const SOMEBODY_WAITS: u32 = 2;
        let (mutex, is_over) = (Mutex::new_glibc(), core::sync::atomic::AtomicBool::new(false));
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut n_waits = 0;
                while !is_over.load(Relaxed) {
                    let answer = mutex.glibc_word.compare_exchange(TAKEN, SOMEBODY_WAITS, Relaxed, Relaxed);
                    n_waits += u32::from(answer.is_ok());
                }
                n_waits
            });
            let mut n_to_be_woken = 0;
            for _ in 0..300_000 {
                assert!(mutex.grab_as_glibc(number_of_this_thread()));
                n_to_be_woken += u32::from(mutex.free_as_glibc());
            }
            is_over.store(true, Relaxed);
            assert_eq!(waiter.join().unwrap(), n_to_be_woken);
        });
    }

    fn number_of_this_thread() -> u32 {
        std::thread_local!(static NUMBER: u32 = number());
        NUMBER.with(|number| *number)
    }

    fn of_kind(kind: u32) -> Mutex {
        let mutex = Mutex::new_glibc();
        mutex.shape.store(u64::from(kind), Relaxed);
        mutex
    }

    #[test]
    fn a_look_tells_whether_one_is_free() {
        const ROBUST: u32 = 16;
        const PROTECTS: u32 = 64;
        for (kind, word, is_free) in [
            (ROBUST, 0, true),
            // A thread's number, also one that four divides; or only that somebody waits, or that the owner has died.
            (ROBUST, 1000, false),
            (ROBUST, 1001, false),
            (ROBUST, 1 << 31, true),
            (ROBUST, 1 << 30, true),
            // A priority, and below it 1 or 2 if it is locked.
            (PROTECTS, 10 << 19, true),
            (PROTECTS, 10 << 19 | 1, false),
            (PROTECTS, 10 << 19 | 2, false),
        ] {
            let mutex = of_kind(kind);
            mutex.glibc_word.store(word, Relaxed);
            assert_eq!(mutex.looks_free(), is_free, "{kind} {word:#x}");
        }
    }

    #[test]
    fn only_a_recursive_one_is_locked_again() {
        for (kind, count, is_again) in
            [(RECURSIVE, 1, false), (RECURSIVE, 2, true), (ERRORCHECK, 2, false), (NORMAL, 2, false)]
        {
            let mutex = of_kind(kind);
            mutex.count.store(count, Relaxed);
            assert_eq!(mutex.is_locked_again(), is_again, "{kind} {count}");
        }
    }

    #[test]
    fn a_normal_one_refuses_nobody() {
        for (kind, owner, is_refused) in [
            (NORMAL, 1, false),
            (RECURSIVE, 1, true),
            (RECURSIVE, number(), false),
            (ERRORCHECK, 1, true),
            (ERRORCHECK, number(), false),
        ] {
            let mutex = of_kind(kind);
            mutex.owner.store(owner, Relaxed);
            assert_eq!(mutex.refuses_others(), is_refused, "{kind} {owner}");
        }
    }
}
