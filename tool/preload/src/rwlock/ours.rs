//! The lock of `ondeck_core`, in the place of the C library's.
//!
//! # Whom it prefers
//! A lock of the C library's default kind lets a reader in while writers wait, so writers may starve; and a thread that reads may
//! read again. The second is kept, and the first is not: a thread that has any lock to read waits for no writer that only
//! waits, and all others take turns. Of the kind that prefers writers, a thread that reads again may wait for ever, as there.
//!
//! # Fork
//! Who waits in the parent does not exist in the child: see `process`. Who has it, has it there too, if that thread has forked;
//! else nobody ever releases it, as with the C library.

use super::{Rwlock, WRITERS_FIRST};
use crate::bytes::mutex::PreloadPolicy;
use crate::platform::PreloadPlatform;
use crate::time::Deadline;
use crate::{Answer, process, thread};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use libc::{EBUSY, EDEADLK, ETIMEDOUT};
use ondeck_core::RawOndeckRwLock;

pub(crate) type Raw = RawOndeckRwLock<PreloadPlatform, PreloadPolicy>;

impl Rwlock {
    /// The lock, if it is ours, and ready in this process.
    #[inline(always)]
    pub(super) fn ours(&self) -> Option<&Raw> {
        let is_shared = self.is_shared.load(Relaxed) != 0;
        if !is_shared && self.generation.load(Acquire) == process::usual_generation(process::state()) {
            return Some(&self.raw);
        }
        if is_shared { None } else { self.prepared() }
    }

    /// The same of one that is recorded, or not touched yet in this process, or of one whose lock is not chosen yet.
    #[cold]
    #[inline(never)]
    fn prepared(&self) -> Option<&Raw> {
        if process::is_glibc() || !process::is_ondeck() {
            return None;
        }
        if self.generation.load(Acquire) != process::generation_of(process::state()) {
            process::revive(
                || self.generation.load(Acquire),
                |from, to| self.generation.compare_exchange(from, to, AcqRel, Relaxed).is_ok(),
                // SAFETY: of the threads of this process, none uses it before this is over.
                || unsafe { self.raw.forget_who_waits() }, // pthread_process: clear
            );
        }
        Some(&self.raw)
    }

    /// Nobody uses it any more.
    ///
    /// # Safety
    /// So it is.
    pub(super) unsafe fn retire(&self) {
        if let Some(raw) = self.ours() {
            // SAFETY: the caller's.
            unsafe { raw.retire() };
        }
    }

    /// Whether the calling thread is let in while writers wait.
    #[inline(always)]
    fn goes_first(&self) -> bool {
        thread::reads() > 0 && self.prefers.load(Relaxed) != WRITERS_FIRST
    }

    #[inline(always)]
    pub(super) fn read(&self) -> Answer {
        if self.is_mine() {
            return EDEADLK;
        }
        if self.goes_first() {
            self.raw.read_recursive()
        } else {
            self.raw.read()
        }
        thread::reads_one_more();
        0
    }

    #[inline(always)]
    pub(super) fn try_read(&self) -> Answer {
        let is_in = if self.goes_first() { self.raw.try_read_recursive() } else { self.raw.try_read() };
        if !is_in {
            return EBUSY;
        }
        thread::reads_one_more();
        0
    }

    pub(super) fn read_until(&self, deadline: Deadline) -> Answer {
        if self.is_mine() {
            return EDEADLK;
        }
        let goes_first = self.goes_first();
        let is_in = deadline.keep(|until_ns| {
            if goes_first { self.raw.read_recursive_until(until_ns) } else { self.raw.read_until(until_ns) }
        });
        if !is_in {
            return ETIMEDOUT;
        }
        thread::reads_one_more();
        0
    }

    #[inline(always)]
    pub(super) fn write(&self) -> Answer {
        if self.is_mine() {
            return EDEADLK;
        }
        self.raw.write();
        self.writer.store(thread::id(), Relaxed);
        0
    }

    #[inline(always)]
    pub(super) fn try_write(&self) -> Answer {
        if !self.raw.try_write() {
            return EBUSY;
        }
        self.writer.store(thread::id(), Relaxed);
        0
    }

    pub(super) fn write_until(&self, deadline: Deadline) -> Answer {
        if self.is_mine() {
            return EDEADLK;
        }
        if !deadline.keep(|until_ns| self.raw.write_until(until_ns)) {
            return ETIMEDOUT;
        }
        self.writer.store(thread::id(), Relaxed);
        0
    }

    /// What nobody has stays as it is, as with the C library.
    #[inline(always)]
    pub(super) fn unlock(&self) -> Answer {
        if self.raw.is_taken_for_writing() {
            self.writer.store(0, Relaxed);
            // SAFETY: the caller has it, to write, as nobody reads beside a writer.
            unsafe { self.raw.release_write() };
        } else if !self.raw.is_surely_unread() {
            thread::reads_one_less();
            // SAFETY: the caller has it, to read.
            unsafe { self.raw.release_read() };
        }
        0
    }
}
