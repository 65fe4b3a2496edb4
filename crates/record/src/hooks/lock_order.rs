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
//! that the thread had before the recording began are not known. They may be outer locks, and an order would seem to have none. So
//! where a recording begins while the process runs, nothing is noted for [a while](GRACE_NS).
//!
//! # What is no order
//! Who only tries to take a lock, or waits for a limited time, does not wait for ever. But it has the lock if that succeeds.
//!
//! # Readers
//! Who reads waits for none who reads. But a lock may let no reader in while a writer waits: then a reader waits for who has it to
//! read, by way of the writer. Such an acquisition is noted as one to write, and also where the same thread reads already.
//!
//! # Groups
//! C++'s `std::lock` waits for one lock of several and tries the others. If a try fails, it releases all of them and waits for
//! that one. So locks that the thread had before may be held while it waits for any of the group. Only the names of
//! functions tell such a call from a program's own try. So a lock that was tried is noted as such with those that are older than
//! the last one that was waited for, and the reader decides. Others of the group are no outer locks: they are released before.

use crate::layout::{Lock, NONE, Nesting};
use crate::store::nestings::{Taken, note};
use crate::store::{Recording, locks};
use crate::thread::{self, Held, HeldLock, N_HELD, now_ns, own};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Whether orders are recorded.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// Until then nothing is noted; 0 if that is past.
static UNTIL: AtomicU64 = AtomicU64::new(0);
/// Few threads have a lock for longer.
pub(super) const GRACE_NS: u64 = 200_000_000;

/// A recording begins; nothing is noted until that time.
pub(super) fn begin(is_wanted: bool, until: u64) {
    UNTIL.store(until, Relaxed);
    IS_ON.store(is_wanted, Relaxed);
}

fn is_past() -> bool {
    let until = UNTIL.load(Relaxed);
    let is_past = until == 0 || now_ns() >= until;
    if is_past && until != 0 {
        // Unless another recording has begun.
        let _ = UNTIL.compare_exchange(until, 0, Relaxed, Relaxed);
    }
    is_past
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
    with(|held| &held.gives_up, act)
}

/// Takes a lock to read by `act`, which waits for writers that wait.
#[inline]
pub fn after_writers<T>(act: impl FnOnce() -> T) -> T {
    with(|held| &held.after_writers, act)
}

#[inline]
fn with<T>(flag: impl Fn(&'static Held) -> &'static Cell<u32>, act: impl FnOnce() -> T) -> T {
    if !tells_order() {
        return act();
    }
    struct Restores(&'static Cell<u32>, u32);
    impl Drop for Restores {
        #[inline]
        fn drop(&mut self) {
            self.0.set(self.1);
        }
    }
    let flag = flag(&own().held);
    // Also if there are too many readers, which is told by a panic.
    let _restores = Restores(flag, flag.replace(1));
    act()
}

/// The calling thread has acquired the lock of that number.
pub(super) fn taken(recording: &Recording, lock: (u32, &Lock), stack: u32, is_shared: bool) {
    let (held, (number, lock)) = (&own().held, lock);
    let here = thread::id(recording.pid);
    held.forget_others(recording, here);
    let address = lock.address.load(Relaxed);
    // One that is had alone is not had twice: that one was at this address before.
    while !is_shared && held.take(|one| one.address == address).is_some() {}
    let mode = if is_shared { Nesting::SHARED } else { 0 };
    let is_tried = held.gives_up.get() != 0;
    let tried = if is_tried { Nesting::TRIED } else { 0 };
    let one = HeldLock { address, number: number | mode | tried, stack };
    if is_past() {
        held.note_all(recording, one, if is_tried { held.before_group() } else { N_HELD });
    }
    if !is_shared {
        lock.held_by.store(here, Relaxed);
    }
    held.push(one);
}

/// The calling thread is about to release the lock at that address, which has that number, or [`NONE`]. Another thread may
/// have acquired it.
pub(super) fn released(recording: &Recording, address: u64, number: u32) {
    let held = &own().held;
    held.forget_recordings(recording);
    let number = held.take(|one| one.address == address).map_or(number, |one| one.number());
    if let Some(lock) = locks::lock(recording, number) {
        // What was noted of it is to be read before it goes.
        locks::keep(recording, lock, number);
        lock.held_by.store(0, Relaxed);
    }
}

impl HeldLock {
    fn number(&self) -> u32 {
        self.number & !(Nesting::SHARED | Nesting::TRIED)
    }

    /// With how it is had, however it was taken.
    fn had(&self) -> u32 {
        self.number & !Nesting::TRIED
    }

    fn is_shared(&self) -> bool {
        self.number & Nesting::SHARED != 0
    }
}

impl Held {
    fn all(&self) -> impl Iterator<Item = HeldLock> {
        self.list[..self.n.get() as usize].iter().map(Cell::get)
    }

    /// Forgets those of an earlier recording, or of a parent.
    fn forget_recordings(&self, recording: &Recording) {
        if self.recording.replace(recording.number) != recording.number {
            self.n.set(0);
        }
    }

    /// The same, and those that another thread has released.
    fn forget_others(&self, recording: &Recording, here: u32) {
        self.forget_recordings(recording);
        let is_mine = |one: &HeldLock| {
            locks::lock(recording, one.number()).is_some_and(|lock| lock.held_by.load(Relaxed) == here)
        };
        while self.take(|one| !one.is_shared() && !is_mine(one)).is_some() {}
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

    fn push(&self, one: HeldLock) {
        if self.n.get() as usize == N_HELD {
            // What follows on the oldest is missing.
            self.take_at(0);
        }
        let n = self.n.get();
        self.list[n as usize].set(one);
        self.n.set(n + 1);
    }

    /// How many locks it had before the last one that it has waited for.
    fn before_group(&self) -> usize {
        let n = self.n.get() as usize;
        (0..n).rfind(|at| self.list[*at].get().number & Nesting::TRIED == 0).unwrap_or(0)
    }

    /// Notes a lock that is taken now with each of so many that the thread had first.
    fn note_all(&self, recording: &Recording, mut taken: HeldLock, n_first: usize) {
        let first = || self.all().take(n_first);
        let is_after_writers = taken.is_shared() && self.after_writers.get() != 0;
        taken.number &= if is_after_writers { !Nesting::SHARED } else { !0 };
        for one in first().filter(|one| one.number() != taken.number() || is_after_writers) {
            let is_outer = |outer: &HeldLock| {
                !outer.is_shared() && outer.number() != one.number() && outer.number() != taken.number()
            };
            let mut outer = first().filter(is_outer).map(|outer| outer.number());
            let outer = [outer.next().unwrap_or(NONE), outer.next().unwrap_or(NONE)];
            let has = |number| first().any(|outer| is_outer(&outer) && outer.number() == number);
            note(recording, Taken { locks: [one.had(), taken.number], stacks: [one.stack, taken.stack], outer }, has);
        }
    }
}
