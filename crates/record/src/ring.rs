//! Samples, on their way to whoever reads: a ring that many write and one reads. If it is full a sample is counted as
//! dropped, and nobody waits.

use crate::layout::Slot;
use crate::recording::Recording;
use crate::thread;
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
}

pub(crate) fn push(recording: &Recording, sample: Sample) {
    let room = recording.ring.room;
    let mut head = recording.head.load(Relaxed);
    // Ended by success, or by a full ring: each failure is another thread's success.
    loop {
        if head.wrapping_sub(recording.tail.load(Acquire)) >= room {
            recording.dropped_samples.fetch_add(1, Relaxed);
            return;
        }
        // Before the number is taken: who reads waits for each slot that has been begun.
        if recording.entry::<Slot>(recording.ring, head % room).is_none() {
            recording.dropped_samples.fetch_add(1, Relaxed);
            return;
        }
        match recording.head.compare_exchange_weak(head, head + 1, Relaxed, Relaxed) {
            Ok(_) => break,
            Err(now) => head = now,
        }
    }
    let Some(slot) = recording.entry::<Slot>(recording.ring, head % room) else { return };
    slot.what.store(u64::from(thread::id(recording.pid)) << 32 | u64::from(sample.event), Relaxed);
    slot.place.store(u64::from(sample.stack) << 32 | u64::from(sample.lock), Relaxed);
    slot.at.store(sample.at, Relaxed);
    slot.ns.store(sample.ns, Relaxed);
    slot.weight.store(sample.weight.to_bits(), Relaxed);
    slot.ticket.store(head + 1, Release);
}
