//! What a thread does at the marks of a lock as it acquires it.

use crate::account::{GENERATION, MOST_LOCKS, Marks, Tag, generation};
use crate::charge::{charge, is_exact, record};
use crate::layout::{Lock, NONE, event, kind};
use crate::memory::now_ns;
use crate::recording::{Recording, current};
use crate::thread::own;
use crate::{locks, waiting, walk};
use core::sync::atomic::{
    AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed},
};

impl Marks {
    /// Of a lock that has not been seen.
    pub(crate) const fn new() -> Self {
        Marks { tag: AtomicU32::new(0), _rest: AtomicU32::new(0) }
    }

    #[inline(always)]
    pub(crate) fn has(&self, flags: u32) -> bool {
        self.tag.load(Relaxed) & flags != 0
    }

    /// The mutex has been initialised, by the calling thread.
    #[cold]
    pub fn initialised(&self) {
        let Some(recording) = current() else { return };
        let origin = walk::stack(recording);
        let tag = if origin < MOST_LOCKS { origin << Tag::NUMBER_AT | Tag::IS_ORIGIN } else { 0 };
        self.tag.store(tag | GENERATION.load(Relaxed), Relaxed);
    }

    /// The number and the entry of the mutex at that address, made if there is none.
    pub(crate) fn lock<'a>(&self, recording: &'a Recording, address: u64) -> Option<(u32, &'a Lock)> {
        let generation = GENERATION.load(Relaxed);
        let tag = self.tag.load(Acquire);
        let number = tag >> Tag::NUMBER_AT;
        let is_ours = tag & Tag::GENERATION == generation;
        if is_ours && tag & Tag::IS_ORIGIN == 0 {
            let found = locks::lock(recording, number).filter(|lock| lock.address.load(Relaxed) == address);
            if let Some(lock) = found {
                return Some((number, lock));
            }
        }
        if !locks::has_room(recording) {
            return None;
        }
        let (kind, origin) = if is_ours && tag & Tag::IS_ORIGIN != 0 {
            (kind::INITIALISED, number)
        } else {
            (kind::SEEN, walk::stack(recording))
        };
        let number = locks::add(recording, address, kind, origin);
        // What a parent's waiters have asked for is nothing here.
        let asked = if is_ours { tag & (Tag::HOT | Tag::NEXT) } else { 0 };
        let next = number << Tag::NUMBER_AT | generation | asked;
        // If another thread has been faster, our entry stays without samples, which readers leave out. It fails if a flag
        // has changed, too: then the other's is the number next time.
        if self.tag.compare_exchange(tag, next, AcqRel, Relaxed).is_err() {
            let tag = self.tag.load(Acquire);
            let is_theirs = tag & Tag::GENERATION == generation && tag & Tag::IS_ORIGIN == 0;
            let theirs = locks::lock(recording, tag >> Tag::NUMBER_AT).filter(|_| is_theirs);
            if let Some(lock) = theirs.filter(|lock| lock.address.load(Relaxed) == address) {
                return Some((tag >> Tag::NUMBER_AT, lock));
            }
        }
        locks::lock(recording, number).map(|lock| (number, lock))
    }

    /// The number of the lock at that address.
    pub(crate) fn number(&self, recording: &Recording, address: u64) -> Option<u32> {
        self.lock(recording, address).map(|(number, _)| number)
    }

    /// Whether whoever acquires or releases is to look.
    #[inline(always)]
    pub(crate) fn asks(&self) -> bool {
        self.has(Tag::HOT | Tag::NEXT)
    }

    /// Whether the next acquisition, by the calling thread, is only to be [`count`]ed, if it does not wait. Who begins to wait
    /// after this look is charged to the hold that follows it.
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        own().holds.left() > 1 && !self.asks()
    }

    /// The calling thread has acquired the mutex at that address, without waiting.
    #[inline(always)]
    pub fn taken(&self, address: u64) {
        let holds = &own().holds;
        let left = holds.left();
        if left > 1 && !self.asks() {
            holds.leave(left - 1);
        } else {
            self.taken_with_a_look(address, false);
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn taken_with_a_look(&self, address: u64, has_waited: bool) {
        let Some(recording) = current() else { return };
        own().again.set((0, 0));
        if self.asks() && !has_waited {
            self.found_free(recording, address);
        }
        recording.has_locked.store(1, Relaxed);
        if own().holds.count(recording) {
            self.look(recording, address);
        }
    }

    /// Acquires the mutex at that address by `act`, after a walk of the stack: a walk takes longer than many a hold, and others
    /// would have to wait for it.
    #[cold]
    #[inline(never)]
    pub fn take_ready<T>(&self, address: u64, act: impl FnOnce() -> T) -> T {
        if let Some(recording) = current() {
            own().ready.set((address, walk::stack(recording).into()));
        }
        let result = act();
        own().ready.set((0, 0));
        result
    }

    /// Times this hold.
    pub(crate) fn look(&self, recording: &Recording, address: u64) {
        let Some((_, lock)) = self.lock(recording, address) else { return };
        let (ready, stack) = own().ready.get();
        let stack = if ready == address { stack as u32 } else { walk::stack(recording) };
        lock.taken_by.store(stack, Relaxed);
        self.tag.fetch_or(Tag::TIMED | Tag::KNOWN, Relaxed);
        // After the mark, which may have to wait for the line.
        lock.taken_at.store(now_ns(), Relaxed);
    }

    /// A waiter asks for a charge of the hold in progress, now.
    pub(crate) fn ask(&self, lock: &Lock, now: u64) {
        if !self.has(Tag::HOT) {
            // Who charges meanwhile may write another instant, as near.
            lock.lasts_since.store(now.max(lock.lasts_since.load(Relaxed)), Relaxed);
        }
        self.tag.fetch_or(Tag::HOT, Relaxed);
    }

    /// Somebody waits, and nobody had the lock until now.
    pub(crate) fn found_free(&self, recording: &Recording, address: u64) {
        let Some((number, lock)) = self.lock(recording, address) else { return };
        let now = now_ns();
        let charged = charge(lock, now, self.has(Tag::HOT));
        self.cool(lock, true);
        record(recording, event::HANDING_ON, number, now, &charged.free(lock), || NONE);
    }

    /// Charged: the next is to charge only if that is to be exact, if it `goes_on` for this step, or if it is asked for.
    pub(crate) fn cool(&self, lock: &Lock, goes_on: bool) {
        let is_exact = is_exact(lock);
        let is_waited_for = waiting::number(lock.waiting.load(Relaxed)) > 0;
        if is_exact && is_waited_for {
            return;
        }
        if goes_on && is_waited_for {
            self.tag.fetch_or(Tag::NEXT, Relaxed);
            self.tag.fetch_and(!Tag::HOT, Relaxed);
            return;
        }
        self.tag.fetch_and(!(Tag::HOT | Tag::NEXT), Relaxed);
        // Who began to wait meanwhile may have set it before it was cleared.
        if is_exact && waiting::number(lock.waiting.load(Relaxed)) > 0 {
            self.tag.fetch_or(Tag::HOT, Relaxed);
        }
    }

    /// Whether somebody waits who asks for a charge, as far as this process has written it.
    pub(crate) fn asks_for_charge(&self) -> bool {
        let tag = self.tag.load(Relaxed);
        tag & (Tag::HOT | Tag::NEXT) != 0 && tag & Tag::GENERATION == generation()
    }

    /// The calling thread has acquired the lock at that address, which others wait for, without waiting.
    pub(crate) fn found_bare(&self, recording: &Recording, address: u64) {
        if self.asks_for_charge() {
            self.found_free(recording, address);
        }
    }

    /// Whether [`release`](Self::release) is to be called before the mutex is released.
    #[inline(always)]
    pub fn is_marked(&self) -> bool {
        self.has(Tag::HOT | Tag::NEXT | Tag::TIMED | Tag::KNOWN)
    }
}

/// Counts an acquisition of a mutex that [is quiet](Marks::is_quiet).
#[inline(always)]
pub fn count() {
    let holds = &own().holds;
    holds.leave(holds.left() - 1);
}
