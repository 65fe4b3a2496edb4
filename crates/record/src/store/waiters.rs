//! Which threads wait now, for whom looks from outside: a thread takes a slot of the recording as it begins to wait, of
//! a mutex as it first goes to sleep for it, and gives it back at the end.
//!
//! A slot is taken by one compare-exchange to [`Waiter::TAKEN`], filled, and shows its thread last, with release. It is given
//! back by writing a thread of 0. `since` is another one for each wait of a thread: a reader that finds the same slot twice knows that
//! this wait was in progress all the time between.
//!
//! A thread goes for the slot that it had before, and one that waits for the first time for one of the first [`NEAR`]: a reader reads
//! all up to the last that was ever taken, again and again. Only if none is free there, it takes one further on. If that fails, too,
//! nobody sees the wait from outside, which is counted; its sample is recorded as ever. A thread that leaves a wait for something that is
//! no lock without an end, as by `pthread_cancel`, keeps its slot: the newest slot of a thread is the one that counts.

use super::Recording;
use crate::layout::{NONE, Waiter};
use crate::thread::{self, own};
use core::ops::Range;
use core::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

/// No slot.
pub(crate) const NOWHERE: u32 = 0;
/// The next thread that waits for the first time begins to look here.
static NEXT: AtomicU32 = AtomicU32::new(0);
/// Room enough for most programs, and soon read.
const NEAR: u64 = 1024;

/// What a thread begins to wait for.
#[derive(Clone, Copy)]
pub(crate) struct WaitTarget {
    pub(crate) address: u64,
    /// Of the lock; [`NONE`] for what has none yet.
    pub(crate) lock: u32,
    pub(crate) kind: u32,
}

/// The calling thread waits since `since`. Its slot, counted from 1; [`NOWHERE`] if none is free near by.
pub(crate) fn enter(recording: &Recording, what: WaitTarget, since: u64) -> u32 {
    let room = recording.waiters.room;
    let near = room.min(NEAR);
    let first = match own().slot.get() {
        NOWHERE => take(recording, 0..near, NEXT.fetch_add(1, Relaxed)),
        slot => take(recording, 0..room, slot - 1),
    };
    let taken = first.or_else(|| take(recording, near..room, NEXT.fetch_add(1, Relaxed)));
    let Some((number, slot)) = taken else {
        recording.count_dropped(&recording.dropped_waiters);
        return NOWHERE;
    };
    slot.lock.store(what.lock, Relaxed);
    slot.kind.store(what.kind, Relaxed);
    slot.stack.store(NONE, Relaxed);
    slot.address.store(what.address, Relaxed);
    slot.since.store(since, Relaxed);
    slot.thread.store(thread::id(recording.pid), Release);
    own().slot.set(number);
    if recording.most_waiters.load(Relaxed) < number {
        recording.most_waiters.fetch_max(number, Relaxed);
    }
    number
}

/// A free slot of that part of the table, from that one of it on, and its number.
fn take(recording: &Recording, part: Range<u64>, first: u32) -> Option<(u32, &Waiter)> {
    /// Further than that, the part is as good as full.
    const FARTHEST: u64 = 32;
    let length = part.end - part.start;
    (0..FARTHEST.min(length)).map(|step| part.start + (u64::from(first) + step) % length).find_map(|index| {
        let slot = recording.entry::<Waiter>(recording.waiters, index)?;
        let is_ours =
            slot.thread.load(Relaxed) == 0 && slot.thread.compare_exchange(0, Waiter::TAKEN, Acquire, Relaxed).is_ok();
        is_ours.then_some((index as u32 + 1, slot))
    })
}

/// The stack of a wait that goes on.
pub(crate) fn tell_stack(recording: &Recording, slot: u32, stack: u32) {
    if let Some(slot) = find(recording, slot) {
        slot.stack.store(stack, Relaxed);
    }
}

/// The wait is over.
pub(crate) fn leave(recording: &Recording, slot: u32) {
    if let Some(slot) = find(recording, slot) {
        slot.thread.store(0, Release);
    }
}

fn find(recording: &Recording, slot: u32) -> Option<&Waiter> {
    let index = u64::from(slot).checked_sub(1)?;
    recording.entry::<Waiter>(recording.waiters, index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{alone, with_room_for_waiters};

    const WHAT: WaitTarget = WaitTarget { address: 64, lock: 7, kind: 1 };

    #[test]
    fn a_thread_has_the_slot_it_had_before_or_the_next_that_is_free() {
        let _alone = alone();
        let recording = with_room_for_waiters(4);
        NEXT.store(2, Relaxed);
        own().slot.set(NOWHERE);
        // Waits of handlers inside waits: all slots, from the third on.
        let slots: [u32; 5] = core::array::from_fn(|at| enter(recording, WHAT, at as u64));
        assert_eq!((slots, recording.most_waiters.load(Relaxed)), ([3, 4, 1, 2, NOWHERE], 4));
        assert_eq!(recording.dropped_waiters.load(Relaxed), 1);
        leave(recording, 4);
        assert_eq!((enter(recording, WHAT, 9), enter(recording, WHAT, 9)), (4, NOWHERE));
        leave(recording, NOWHERE);
        for slot in 1..=4 {
            leave(recording, slot);
        }
        own().slot.set(2);
        assert_eq!(enter(recording, WHAT, 10), 2);
        let slot = find(recording, 2).unwrap();
        assert_eq!((slot.since.load(Relaxed), slot.lock.load(Relaxed), slot.stack.load(Relaxed)), (10, 7, 0));
        tell_stack(recording, 2, 5);
        assert_eq!(slot.stack.load(Relaxed), 5);
    }

    #[test]
    fn threads_that_wait_one_after_another_have_few_slots() {
        let _alone = alone();
        let recording = with_room_for_waiters(2 * NEAR);
        for since in 0..4 * NEAR {
            own().slot.set(NOWHERE);
            leave(recording, enter(recording, WHAT, since));
        }
        let most = recording.most_waiters.load(Relaxed);
        assert_eq!(u64::from(most), NEAR);
        // More than that at once have slots, too.
        let slots: std::collections::HashSet<u32> = (0..NEAR + NEAR / 2)
            .map(|since| {
                own().slot.set(NOWHERE);
                enter(recording, WHAT, since)
            })
            .collect();
        assert!(slots.len() == (NEAR + NEAR / 2) as usize && !slots.contains(&NOWHERE), "{}", slots.len());
        own().slot.set(NOWHERE);
    }

    /// A reader sees a slot filled, whichever thread has it.
    #[test]
    fn a_slot_that_shows_a_thread_is_of_that_thread() {
        const ROUNDS: u64 = 50_000;
        let _alone = alone();
        let recording = with_room_for_waiters(1);
        std::thread::scope(|scope| {
            let waiters: std::vec::Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        own().slot.set(NOWHERE);
                        let id = u64::from(thread::id(recording.pid));
                        for round in 0..ROUNDS {
                            let slot = enter(
                                recording,
                                WaitTarget { address: id, lock: id as u32, kind: 1 },
                                id << 32 | round,
                            );
                            leave(recording, slot);
                        }
                    })
                })
                .collect();
            let slot = find(recording, 1).unwrap();
            let look = || {
                let thread = slot.thread.load(Acquire);
                (thread, slot.lock.load(Relaxed), slot.address.load(Relaxed), slot.since.load(Relaxed))
            };
            while !waiters.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                let first = look();
                let (thread, lock, address, since) = first;
                if thread != 0 && thread != Waiter::TAKEN && look() == first {
                    assert_eq!((lock, address, since >> 32), (thread, thread.into(), thread.into()));
                }
            }
        });
        own().slot.set(NOWHERE);
    }
}
