//! Locks that many threads may have at once to read, or one to write, with marks like a mutex.
//!
//! A writer is charged as who has a mutex. Of several readers an instant is charged to the one that gives the lock back
//! next, of those that have had it for at least half of the time since the last charge, or since somebody waits. The last of
//! them is charged what is left. So all that is waited is charged once, and a reader that comes and goes while another one
//! stays is charged nothing, or at most twice its own time. Half, and not all: when two give it back at once, each may
//! take the other for the last, and who has come meanwhile is to go on. What each reader has is remembered by its thread,
//! since the marks have room for one hold.
//!
//! A reader that comes from a wait beside others who read already counts the rest of its wait, and of what writers wait
//! meanwhile, as handing on: it was woken, and did not run yet.

use super::lock_order;
use super::mutex::PendingRelease;
use super::wait::Wait;
use crate::charging::{Marks, still};
use crate::layout::{Lock, NONE, event, kind};
use crate::store::{Recording, current, locks};
use crate::thread::{Hold, between, own};
use crate::walk;
use core::sync::atomic::Ordering::Relaxed;

/// What a thread has, or wants, a lock for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Alone.
    Writing,
    /// With others.
    Reading,
}

impl Access {
    /// What is added to an event.
    pub const fn flag(self) -> u32 {
        match self {
            Access::Writing => 0,
            Access::Reading => event::READING,
        }
    }
}

/// Whether the calling thread's next acquisition will be looked at.
#[inline(always)]
pub fn is_due() -> bool {
    own().holds.left() == 1
}

/// Walks the stack of a thread that is about to acquire a lock to read, if that acquisition will be looked at: others would
/// have to wait for it afterwards. Its number is for [`Marks::read`].
#[inline(always)]
pub fn prepare_to_read() -> u32 {
    if is_due() { ready() } else { NONE }
}

#[cold]
#[inline(never)]
fn ready() -> u32 {
    current().map_or(NONE, walk::stack)
}

/// Whether who reads that lock has had it for at least half of the time that is to be charged.
pub(super) fn stayed(hold: Option<Hold>, lock: &Lock, now: u64) -> bool {
    let since = lock.lasts_since.load(Relaxed);
    // One that is not remembered began before anybody waited.
    hold.is_none_or(|hold| 2 * between(hold.from, now) >= between(since, now))
}

/// Notes that many may have that lock.
pub(super) fn note(recording: &Recording, number: u32) {
    let Some(lock) = locks::lock(recording, number) else { return };
    if lock.kind() & kind::SEVERAL == 0 {
        lock.kind.fetch_or(kind::SEVERAL as u16, Relaxed);
    }
}

impl Marks {
    /// The calling thread begins to wait for the lock at that address, which many may have. It sleeps now. `None` if that
    /// cannot be recorded.
    #[cold]
    pub fn wait_for_one_of_several(&self, address: u64, access: Access) -> Option<Wait<'_>> {
        self.begin_to_wait_for_one_of_several(current()?, address, access, true)
    }

    /// The same, by a thread that sleeps now or will tell if it does.
    pub(super) fn begin_to_wait_for_one_of_several(
        &self,
        recording: &'static Recording,
        address: u64,
        access: Access,
        sleeps_now: bool,
    ) -> Option<Wait<'_>> {
        // Before anybody looks whether its charges are exact.
        note(recording, self.number(recording, address)?);
        let mut wait = self.begin_to_wait(recording, address, sleeps_now)?;
        wait.flag = access.flag();
        Some(wait)
    }

    /// The calling thread has acquired the lock at that address to read, without waiting; `stack` is what
    /// [`prepare_to_read`] gave. `was_free` if nobody had it.
    #[inline(always)]
    pub fn read(&self, address: u64, stack: u32, was_free: bool) {
        let holds = &own().holds;
        let left = holds.left();
        if left > 1 && !self.asks() && holds.is_empty() {
            holds.leave(left - 1);
        } else {
            self.read_with_a_look(address, stack, was_free);
        }
    }

    #[cold]
    #[inline(never)]
    fn read_with_a_look(&self, address: u64, stack: u32, was_free: bool) {
        let Some(recording) = current() else { return };
        recording.note_lock();
        let holds = &own().holds;
        // Before what was not its own is charged: of what follows, it may be charged all.
        let hold = Hold::new(recording, address, 0, NONE, false);
        if was_free {
            self.found_bare(recording, address);
            // Nobody had it, so what is remembered was ended by another thread.
            while holds.take(Some(recording), address).is_some() {}
        }
        let is_timed = holds.count(recording);
        let is_looked_at = is_timed || lock_order::tells_order();
        let looked_at = if is_looked_at { self.lock(recording, address) } else { None };
        if let Some((number, lock)) = looked_at {
            note(recording, number);
            let stack = if stack == NONE { walk::stack(recording) } else { stack };
            holds.remember(Hold { stack, is_timed, ..hold });
            if lock_order::tells_order() {
                lock_order::taken(recording, (number, lock), stack, true);
            }
        } else if self.asks() || holds.has(address) {
            // So that it is not charged for what was before it, and its end is not taken for the end of an outer one.
            holds.remember(hold);
        }
    }

    /// The calling thread, which has it to read, is about to release the lock at that address; `is_alone` if no other has
    /// it. What is to be done after that is in the answer; the lock may be gone by then.
    #[inline(always)]
    pub fn release_read(&self, address: u64, is_alone: impl Fn() -> bool) -> Option<PendingRelease> {
        let is_idle = own().holds.is_empty() && !self.asks() && !lock_order::tells_order();
        if is_idle { None } else { self.release_read_with_a_look(address, is_alone()) }
    }

    #[cold]
    #[inline(never)]
    fn release_read_with_a_look(&self, address: u64, is_alone: bool) -> Option<PendingRelease> {
        let recording = current()?;
        let hold = own().holds.take(Some(recording), address);
        if lock_order::tells_order() {
            lock_order::released(recording, address, NONE);
        }
        let is_charged = |lock: &Lock, now: u64| is_alone || stayed(hold, lock, now);
        let pending = self.release_bare(recording, address, hold, is_charged)?;
        Some(pending.with(Access::Reading))
    }

    /// As [`release`](Self::release), by a thread that has it to write.
    pub fn release_written(&self, address: u64) -> Option<PendingRelease> {
        self.release(address).map(|pending| pending.with(Access::Writing))
    }
}

impl Wait<'_> {
    /// As [`end`](Self::end), of a lock that many may have.
    pub fn end_of_several(self, has_it: bool, address: u64, access: Access) {
        if access == Access::Writing {
            self.end(has_it, address);
            return;
        }
        let Some(recording) = self.recording() else { return };
        let hold = Hold::new(recording, address, 0, NONE, false);
        self.write_down(recording, has_it);
        if has_it {
            recording.note_lock();
            let stack = own().holds.got(recording, self.stack.get(), hold);
            if lock_order::tells_order() {
                lock_order::taken(recording, (self.number, self.lock), stack, true);
            }
        }
    }
}

impl PendingRelease {
    /// Of a lock that many may have, held in that way.
    pub(super) fn with(mut self, access: Access) -> Self {
        if let Some(recording) = still(self.recording) {
            note(recording, self.number);
        }
        self.flag = access.flag();
        self
    }
}
