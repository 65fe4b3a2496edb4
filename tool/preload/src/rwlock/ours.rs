//! The lock of `ondeck_core`, in the place of the C library's.
//!
//! # Whom it prefers
//! A lock of the C library's default kind lets a reader in while writers wait, so writers may starve; and a thread that reads may
//! read again. The second is kept, and the first is not: a thread that has any lock to read waits for no writer that only
//! waits, and all others take turns. But a reader in may wait for one that comes, as for the mutex which that one has. So nobody waits
//! for a writer that only waits for longer than [`PATIENCE_NS`]; a writer may starve beside readers that each read for so long. Of the
//! kind that prefers writers, a thread that reads again may wait for ever, as there.
//!
//! # Moved
//! A lock at rest may be copied, moved and overwritten. It knows its place, so whoever touches it first at another one finds it free.
//! What counted its readers by core belongs to the lock that it is a copy of, or is lost.
//!
//! # Fork
//! Who waits in the parent does not exist in the child: see `process`. Who has it, has it there too, if that thread has forked;
//! else nobody ever releases it, as with the C library.

use super::{Rwlock, WRITERS_FIRST};
use crate::bytes::mutex::PreloadPolicy;
use crate::platform::PreloadPlatform;
use crate::time::Deadline;
use crate::{Answer, process, thread};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use libc::{EBUSY, EDEADLK, ETIMEDOUT};
use ondeck_core::{Platform as _, RawOndeckRwLock};

/// How long a reader waits for a writer that only waits.
const PATIENCE_NS: u64 = 100_000_000;

pub(crate) type Raw = RawOndeckRwLock<PreloadPlatform, PreloadPolicy>;

impl Rwlock {
    /// The lock, if it is ours, and ready in this process.
    #[inline(always)]
    pub(super) fn ours(&self) -> Option<&Raw> {
        let is_shared = self.is_shared.load(Relaxed) != 0;
        let is_usual = self.generation.load(Acquire) == process::usual_generation(process::state());
        if !is_shared && is_usual && self.place.load(Relaxed) == self.here() {
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
        let ours = process::generation_of(process::state());
        if self.generation.load(Acquire) != ours || self.is_moved() {
            self.revive(ours);
        }
        self.place.store(self.here(), Relaxed);
        Some(&self.raw)
    }

    /// Where it is: another number for each lock in 16 GB, and never 0.
    #[inline(always)]
    fn here(&self) -> u32 {
        ((&raw const *self).addr() >> 2) as u32 | 1
    }

    /// Whether it was last used at another place.
    fn is_moved(&self) -> bool {
        ![0, self.here()].contains(&self.place.load(Acquire))
    }

    /// The first touch in this process, or at this place.
    fn revive(&self, ours: u32) {
        // One that was moved looks like that of another process.
        let seen = |found: u32| if found == ours && self.is_moved() { !ours } else { found };
        process::revive(
            || seen(self.generation.load(Acquire)),
            |from, to| {
                let from = if from == !ours { ours } else { from };
                self.generation.compare_exchange(from, to, AcqRel, Relaxed).is_ok()
            },
            || {
                // pthread_process: clear
                if self.is_moved() {
                    // SAFETY: of the threads of this process, none uses it before this is over.
                    unsafe { self.raw.forget_all() };
                } else {
                    // SAFETY: as above.
                    unsafe { self.raw.forget_who_waits() };
                }
                self.place.store(self.here(), Release);
            },
        );
    }

    /// Made just now, of zeros: nothing has to be forgotten.
    pub(super) fn is_touched(&self) {
        if self.is_shared.load(Relaxed) == 0 && process::is_ondeck() {
            self.place.store(self.here(), Relaxed);
            self.generation.store(process::generation_of(process::state()), Release);
        }
    }

    /// It is to be used no more. But threads may go on using a static object of C++ after its destructor.
    pub(super) fn retire(&self) {
        let is_known = self.generation.load(Acquire) == process::generation_of(process::state());
        let is_here = self.place.load(Relaxed) == self.here();
        if self.is_shared.load(Relaxed) == 0 && process::is_ondeck() && is_known && is_here {
            self.raw.compact();
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
        if thread::reads() == 0 {
            self.read_in_turn();
        } else if self.prefers.load(Relaxed) == WRITERS_FIRST {
            self.raw.read();
        } else {
            self.raw.read_recursive();
        }
        thread::reads_one_more();
        0
    }

    /// Of a thread that reads nothing else.
    #[inline(always)]
    fn read_in_turn(&self) {
        if self.prefers.load(Relaxed) == WRITERS_FIRST {
            self.raw.read();
        } else {
            self.raw.read_patiently(PATIENCE_NS);
        }
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
        let (goes_first, is_in_turn) = (self.goes_first(), self.prefers.load(Relaxed) == WRITERS_FIRST);
        let patient_until_ns = PreloadPlatform::now_ns().saturating_add(PATIENCE_NS);
        let is_in = deadline.keep(|until_ns| match () {
            () if goes_first => self.raw.read_recursive_until(until_ns),
            () if is_in_turn => self.raw.read_until(until_ns),
            () => self.raw.read_until(until_ns.min(patient_until_ns)) || self.raw.read_recursive_until(until_ns),
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
