//! The lock of `ondeck_core`, in the place of the C library's.
//!
//! # Whom it prefers
//! A lock of the C library's default kind lets a reader in while writers wait, so writers may starve; and a thread that reads may
//! read again. The second is kept, and the first is not: a thread that has any lock to read waits for no writer that only
//! waits, and all others take turns. But a reader in may wait for one that comes, as for the mutex which that one has. So nobody waits
//! for a writer that only waits for longer than [`PATIENCE_NS`]. A writer may starve beside readers that each read for so long, or
//! have other locks to read. Of the kind that prefers writers, readers wait for writers as long as these do, and one that reads again
//! for ever, as there.
//!
//! # Moved
//! A lock at rest may be copied, moved and overwritten. It knows its place, so whoever touches it first at another one finds it free.
//! What counted its readers by core belongs to the lock that it is a copy of, or is lost. *What is not noticed*: a copy that is put
//! back at the place that it was made of, or 16 GB from there, after the lock was used. It may name a counter that another lock has by then.
//!
//! # Fork
//! Who waits in the parent does not exist in the child: see `process`. Who has it, has it there too, if that thread has forked;
//! else nobody ever releases it, as with the C library.

use super::{Rwlock, WRITERS_FIRST};
use crate::bytes::mutex::PreloadPolicy;
use crate::platform::PreloadPlatform;
use crate::time::Deadline;
use crate::{Answer, process, thread};
use core::cell::Cell;
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
        if !is_shared && is_usual && self.place.load(Acquire) == self.here() {
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
        // Of zeros, say. Readers of a recorded lock share the line.
        if self.place.load(Relaxed) != self.here() {
            self.place.store(self.here(), Relaxed);
        }
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
        self.revive_seen(ours, || ());
    }

    /// The same. `look_is_over` is called after each look: others may do anything meanwhile.
    fn revive_seen(&self, ours: u32, look_is_over: impl Fn()) {
        // One that was moved has our number. It looks like another's until the mark is there.
        let (moved, has_ours) = (!ours, Cell::new(false));
        let look = || {
            let found = self.generation.load(Acquire);
            has_ours.set(found == ours && self.is_moved());
            look_is_over();
            if has_ours.get() { moved } else { found }
        };
        let exchange = |from, to| {
            let from = if from == moved && has_ours.get() { ours } else { from };
            self.generation.compare_exchange(from, to, AcqRel, Relaxed).is_ok()
        };
        process::revive(look, exchange, || {
            // pthread_process: clear
            if self.is_moved() {
                self.writer.store(0, Relaxed);
                // SAFETY: of the threads of this process, none uses it before this is over.
                unsafe { self.raw.forget_all() };
            } else if has_ours.get() {
                // Another thread has done it since the look, and the lock is in use.
                return;
            } else {
                // SAFETY: as above.
                unsafe { self.raw.forget_who_waits() };
            }
            self.place.store(self.here(), Release);
        });
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
            () if until_ns <= patient_until_ns => self.raw.read_until(until_ns),
            () => self.raw.read_until(patient_until_ns) || self.raw.read_recursive_until(until_ns),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody has it.
    fn lock() -> Rwlock {
        // SAFETY: a lock of zeros is a free one, as the C library's initialiser has it.
        unsafe { core::mem::zeroed() }
    }

    /// A deadline before that is a deadline: else those that have short ones keep writers out together.
    #[test]
    fn a_reader_passes_a_writer_after_its_patience_only() {
        let (lock, until_ns) = (lock(), |ns: i64| {
            let (clock, now) = (libc::CLOCK_MONOTONIC, PreloadPlatform::now_ns() as i64 + ns);
            Deadline { clock, at: libc::timespec { tv_sec: now / 1_000_000_000, tv_nsec: now % 1_000_000_000 } }
        });
        lock.raw.read();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let is_in = lock.raw.write_until(PreloadPlatform::now_ns() + 50 * PATIENCE_NS);
                // SAFETY: acquired above.
                is_in.then(|| unsafe { lock.raw.release_write() });
            });
            while lock.try_read() == 0 {
                assert_eq!(lock.unlock(), 0);
                std::thread::yield_now();
            }
            let answers = [-1, 20_000_000, 20 * PATIENCE_NS as i64].map(|ns| lock.read_until(until_ns(ns)));
            // SAFETY: acquired above.
            unsafe { lock.raw.release_read() };
            assert_eq!(answers, [ETIMEDOUT, ETIMEDOUT, 0]);
            assert_eq!(lock.unlock(), 0);
        });
    }

    /// Two threads find a copy. The second one is held up until the first is done and others use the lock.
    #[test]
    fn who_finds_a_copy_late_changes_nothing() {
        let lock = lock();
        let ours = process::generation_of(process::state());
        lock.generation.store(ours, Relaxed);
        lock.place.store(lock.here() ^ 8, Relaxed);
        let is_first = Cell::new(true);
        std::thread::scope(|scope| {
            lock.revive_seen(ours, || {
                if !is_first.replace(false) {
                    return;
                }
                lock.revive(ours);
                lock.raw.read();
                // Does not wait for ever for who forgets it.
                scope.spawn(|| {
                    let is_in = lock.raw.write_until(PreloadPlatform::now_ns() + 100 * PATIENCE_NS);
                    // SAFETY: acquired above.
                    is_in.then(|| unsafe { lock.raw.release_write() });
                });
                while !lock.raw.is_contended() {
                    std::thread::yield_now();
                }
            });
            let is_waited_for = lock.raw.is_contended();
            // SAFETY: acquired above.
            unsafe { lock.raw.release_read() };
            assert!(is_waited_for && lock.generation.load(Relaxed) == ours && !lock.is_moved());
        });
    }
}
