//! Samples, on their way to the reader: a ring that many write and one reads. If it is full a sample is counted as
//! dropped, and nobody waits.
//!
//! # Steps
//! `proof/spec/record_ring.tla` is a model of this and of `Reader::take`: each sample that is taken is what one thread
//! wrote, none is taken twice, and none that is finished is lost, wherever the process ends. Comments in the code name the steps.
//!
//! | step | what it does |
//! |---|---|
//! | `look` | a writer reads the number of the next sample |
//! | `gauge` | and whether the ring is full: then it drops the sample |
//! | `claim` | takes the number, if nobody else has |
//! | `fill` | writes the words of the slot, in any order |
//! | `tell` | and then the ticket |
//! | `ask` | the reader asks for the number of the next sample to be begun |
//! | `copy_ticket` | copies the tickets of slots |
//! | `copy_words` | and then the words |
//! | `examine` | takes those whose ticket is the right one, up to the first that has not been told |
//! | `free` | gives what it has taken to the writers again |
//!
//! Orderings: `tell` releases what `fill` has written. The reader copies by system calls: first all slots for their tickets
//! and, behind a fence that acquires, once more for their words, which stay until the reader frees them. `gauge` acquires the
//! tail, which the reader writes after its copies, by another system call.

use super::Recording;
use crate::layout::{LENGTHS_AT, Slot, encoded};
use crate::{control, thread};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// What a sample tells; see [`crate::layout::event`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) event: u32,
    pub(crate) lock: u32,
    pub(crate) stack: u32,
    pub(crate) at: u64,
    pub(crate) ns: u64,
    pub(crate) weight: f64,
    /// Of a charge: how long the hold lasted, as far as that is known. Of a handing on: how long nobody had the lock, and what
    /// of the charge a long hold before has caused. Else 0.
    pub(crate) lengths: [u64; 2],
}

pub(crate) fn push(recording: &Recording, sample: Sample) {
    if !recording.has_file() {
        return;
    }
    control::look_for_observer(sample.at);
    let room = recording.ring.room;
    let mut head = recording.head.load(Relaxed); // record_ring: look
    // Ended by success, or by a full ring: each failure is another thread's success.
    let slot = loop {
        // record_ring: gauge
        if head.wrapping_sub(recording.tail.load(Acquire)) >= room {
            recording.count_dropped(&recording.dropped_samples);
            return;
        }
        // Before the number is taken: the reader waits for each slot that has been begun.
        let Some(slot) = recording.entry::<Slot>(recording.ring, head % room) else {
            recording.count_dropped(&recording.dropped_samples);
            return;
        };
        // record_ring: claim
        match recording.head.compare_exchange_weak(head, head + 1, Relaxed, Relaxed) {
            Ok(_) => break slot,
            Err(now) => head = now,
        }
    };
    // record_ring: fill
    let [first, second] = sample.lengths.map(encoded);
    let what = sample.event | first << LENGTHS_AT[0] | second << LENGTHS_AT[1];
    slot.what.store(u64::from(thread::id(recording.pid)) << 32 | u64::from(what), Relaxed);
    slot.place.store(u64::from(sample.stack) << 32 | u64::from(sample.lock), Relaxed);
    slot.at.store(sample.at, Relaxed);
    slot.ns.store(sample.ns, Relaxed);
    slot.weight.store(sample.weight.to_bits(), Relaxed);
    slot.ticket.store(head + 1, Release); // record_ring: tell
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{alone, with_room_for_samples};
    use core::sync::atomic::AtomicU64;
    use std::sync::Barrier;

    /// Who loses the race for the last slot looks once more whether there is one.
    #[test]
    fn a_full_ring_drops_what_several_threads_push_at_once() {
        const ROOM: u64 = 4;
        const ROUNDS: u64 = 20_000;
        const THREADS: u64 = 3;
        let _alone = alone();
        let recording = with_room_for_samples(1, ROOM);
        let sample = Sample { event: 1, lock: 2, stack: 3, at: 4, ns: 5, weight: 1.0, lengths: [0; 2] };
        (1..ROOM).for_each(|_| push(recording, sample));
        let (barrier, most) = (Barrier::new(THREADS as usize), AtomicU64::new(0));
        let push_again_and_again = || {
            for _ in 0..ROUNDS {
                barrier.wait();
                push(recording, sample);
                if barrier.wait().is_leader() {
                    // As if the reader had taken one.
                    let tail = recording.tail.fetch_add(1, Release);
                    most.fetch_max(recording.head.load(Relaxed) - tail, Relaxed);
                }
            }
        };
        std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(push_again_and_again))));
        assert_eq!((most.into_inner(), recording.head.load(Relaxed)), (ROOM, ROOM - 1 + ROUNDS));
        assert_eq!(recording.dropped_samples.load(Relaxed), ROUNDS * (THREADS - 1));
    }
}
