//! Which locks a thread has while it takes another one.
//!
//! Who takes B while having A has told an order. If another thread takes A while having B, both may wait for each other for
//! ever one day, even if they never did. The reader looks for such circles; here each pair is noted once (`store::nestings`).
//!
//! # What is told
//! All acquisitions and releases, not samples. So each acquisition is [looked at](tell_all), and each release is as that of a
//! hold whose stack is known. Each acquisition walks the stack: which one will matter shows later.
//!
//! # What a thread has
//! A list of its own. A release takes the lock out of it, wherever it is. If another thread releases the lock, this one is not
//! told: so each entry of a lock has the thread that has it alone, which is looked at before the list is used. Locks
//! that the thread had before the recording began are not known.
//!
//! # What is no order
//! Who only tries to take a lock, or waits for a limited time, does not wait for ever: nothing is noted then. But it has the
//! lock if that succeeds.

use crate::charging::recording_number;
use crate::layout::{Lock, NONE};
use crate::store::nestings::{Taken, note};
use crate::store::{Recording, locks};
use crate::thread::{self, Held, HeldLock, N_HELD, own};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether orders are recorded.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// A recording begins.
pub(super) fn begin(is_wanted: bool) {
    IS_ON.store(is_wanted, Relaxed);
}

/// Whether all acquisitions and releases are to be told, which is known once a recording has begun.
#[inline(always)]
pub fn tells_order() -> bool {
    IS_ON.load(Relaxed)
}

/// Has the calling thread's next acquisition looked at. To be called before each, where
/// [all are told](tells_order): it may count down what an earlier recording has left.
pub fn tell_all() {
    let here = own();
    if here.holds.left() > 1 {
        here.held.left.set(here.holds.left());
        here.holds.leave(1);
    }
}

/// Takes a lock by `act`, and does not wait for it for ever.
#[inline]
pub fn gives_up<T>(act: impl FnOnce() -> T) -> T {
    let before = own().held.gives_up.replace(1);
    let result = act();
    own().held.gives_up.set(before);
    result
}

/// The calling thread has acquired the lock of that number.
pub(super) fn taken(recording: &Recording, lock: (u32, &Lock), stack: u32, is_shared: bool) {
    let (held, (number, lock)) = (&own().held, lock);
    let here = thread::id(recording.pid);
    held.forget_others(recording, here);
    let address = lock.address.load(Relaxed);
    // One that is had alone is not had twice: that one was at this address before.
    while !is_shared && held.take(|one| one.address == address).is_some() {}
    if held.gives_up.get() == 0 {
        held.note_all(recording, number, stack);
    }
    if !is_shared {
        lock.held_by.store(here, Relaxed);
    }
    held.push(recording, HeldLock { address, number, stack, recording: recording_number(), is_shared });
}

/// The calling thread is about to release the lock at that address, which has that number, if it has one. Another thread may
/// have acquired it.
pub(super) fn released(recording: &Recording, address: u64, number: Option<u32>) {
    let number = own().held.take(|one| one.address == address).map(|one| one.number).or(number);
    if let Some(lock) = number.and_then(|number| locks::lock(recording, number)) {
        lock.held_by.store(0, Relaxed);
    }
}

impl Held {
    fn all(&self) -> impl Iterator<Item = HeldLock> {
        self.list[..self.n.get() as usize].iter().map(Cell::get)
    }

    /// Forgets those of an earlier recording, or of a parent, and those that another thread has released.
    fn forget_others(&self, recording: &Recording, here: u32) {
        let is_here = |one: &HeldLock| {
            let is_mine = || locks::lock(recording, one.number).is_some_and(|lock| lock.held_by.load(Relaxed) == here);
            one.recording == recording_number() && (one.is_shared || is_mine())
        };
        while self.take(|one| !is_here(one)).is_some() {}
    }

    /// Takes out the newest of those.
    fn take(&self, is_it: impl Fn(&HeldLock) -> bool) -> Option<HeldLock> {
        let n = self.n.get() as usize;
        (0..n).rfind(|at| is_it(&self.list[*at].get())).map(|at| self.take_at(at))
    }

    fn take_at(&self, at: usize) -> HeldLock {
        let n = self.n.get() as usize;
        let found = self.list[at].get();
        for next in at + 1..n {
            self.list[next - 1].set(self.list[next].get());
        }
        self.n.set(n as u32 - 1);
        found
    }

    fn push(&self, recording: &Recording, one: HeldLock) {
        if self.n.get() as usize == N_HELD {
            // What follows on the oldest is missing.
            recording.dropped_nestings.fetch_add(1, Relaxed);
            self.take_at(0);
        }
        let n = self.n.get();
        self.list[n as usize].set(one);
        self.n.set(n + 1);
    }

    /// Notes a lock that is taken now with each that the thread has.
    fn note_all(&self, recording: &Recording, number: u32, stack: u32) {
        for one in self.all().filter(|one| one.number != number) {
            let is_gate = |gate: &HeldLock| !gate.is_shared && gate.number != one.number && gate.number != number;
            let mut gates = self.all().filter(is_gate).map(|gate| gate.number);
            let gates = [gates.next().unwrap_or(NONE), gates.next().unwrap_or(NONE)];
            note(recording, Taken { locks: [one.number, number], stacks: [one.stack, stack], gates });
        }
    }
}
