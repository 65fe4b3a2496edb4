//! Tries in vain to lock a mutex. Who tries in a loop waits, and no wait is recorded.
//!
//! Some tries are looked at. How long such a one has lasted is known when its thread tries again, or has the mutex by a try.
//! That is time lost if the thread has locked nothing else meanwhile, and if it slept, or tried again at once: else it did
//! something else instead. The thread that has the mutex says at its unlock that it had it.

use crate::charging::{Marks, Tag};
use crate::layout::{Lock, event};
use crate::store::ring::{Sample, push};
use crate::store::{Recording, current};
use crate::thread::{Try, count_down, now_ns, own};
use crate::walk;
use core::sync::atomic::Ordering::Relaxed;
use ondeck_core::kernel;

/// In the place of the stack that has locked a mutex, which is not known: a thread has tried in vain since `taken_at`.
pub(super) const REFUSES: u32 = u32::MAX;

/// ns. Who tries again sooner has done nothing else.
const AT_ONCE_NS: u64 = crate::LONG_NS;

impl Marks {
    /// The calling thread has tried in vain to lock the mutex at that address.
    #[inline]
    pub fn tried(&self, address: u64) {
        let Some(recording) = current() else { return };
        match own().tries.get() {
            left @ 2.. => own().tries.set(left - 1),
            _ => self.tried_with_a_look(recording, address),
        }
    }

    #[cold]
    #[inline(never)]
    fn tried_with_a_look(&self, recording: &Recording, address: u64) {
        ends(recording, address);
        if !count_down(&own().tries, rate(recording)) {
            return;
        }
        let Some((lock, entry)) = self.lock(recording, address) else { return };
        let stack = walk::stack(recording);
        self.ask_holder(entry);
        // The next one ends this one.
        let (next, left) = (own().tries.replace(1), own().holds.left());
        let (at, ran) = (now_ns(), ran_ns());
        own().tried.set(Try { address, lock, stack, recording: recording.number, next, left, at, ran });
    }

    /// Has the thread that has the mutex tell of itself, unless that is looked at anyway.
    fn ask_holder(&self, lock: &Lock) {
        if !self.has(Tag::TIMED | Tag::KNOWN) {
            lock.taken_by.store(REFUSES, Relaxed);
            lock.taken_at.store(now_ns(), Relaxed);
            self.tag.fetch_or(Tag::TIMED | Tag::KNOWN, Relaxed);
        }
    }
}

/// The calling thread has the mutex at that address by a try.
#[inline]
pub fn has_by_try(address: u64) {
    if own().tried.get().address != 0 {
        if let Some(recording) = current() {
            ends(recording, address);
        }
    }
}

/// The calling thread has acquired a lock, and its count may not show it.
pub(super) fn has_another() {
    let last = own().tried.get();
    own().tried.set(Try { left: u32::MAX, ..last });
}

/// The try that was looked at last is over, as the calling thread tries to lock that mutex again, or has it.
fn ends(recording: &Recording, address: u64) {
    let last = own().tried.replace(Try::NONE);
    if last.address == 0 || last.recording != recording.number {
        return;
    }
    own().tries.set(last.next);
    let at = now_ns();
    let lasted = at.saturating_sub(last.at);
    let ns = match () {
        () if last.address != address || last.left != own().holds.left() => 0,
        () if lasted < AT_ONCE_NS => lasted,
        () => lasted.saturating_sub(ran_ns().saturating_sub(last.ran)),
    };
    let Try { lock, stack, .. } = last;
    push(
        recording,
        Sample { event: event::TRIED, lock, stack, at, ns, weight: rate(recording) as f64, lengths: [0; 2] },
    );
}

/// A mutex is released that has refused a try for so long.
pub(super) fn refused(recording: &Recording, lock: u32, at: u64, ns: u64) {
    let (event, stack, weight) = (event::REFUSED, walk::stack(recording), rate(recording) as f64);
    push(recording, Sample { event, lock, stack, at, ns, weight, lengths: [0; 2] });
}

/// One try in so many is looked at.
fn rate(recording: &Recording) -> u64 {
    /// A thread that sleeps between two tries makes few of them.
    const MOST: u64 = 100;
    recording.rate.min(MOST)
}

/// How long the calling thread has run.
fn ran_ns() -> u64 {
    let ran = kernel::clock(libc::CLOCK_THREAD_CPUTIME_ID);
    ran.tv_sec as u64 * 1_000_000_000 + ran.tv_nsec as u64
}
