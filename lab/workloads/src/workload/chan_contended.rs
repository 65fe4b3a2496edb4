//! `chan-contended`, after Go's `BenchmarkChanContended`: sends and receives on a buffered channel that is never full
//! and never empty, so that nobody ever waits for anything but its lock.
//!
//! What makes it more than a counter under a lock is the layout, which is that of Go's `hchan`: a pass to another core
//! moves the line with the lock, the line with the positions, and a line of the buffer.

use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::execution::{CachePadded, Execution};
use crate::measure::{Job, Meter, measure};
use ondeck_core::{Atomic, Platform};
use ondeck_report::row::Row;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Sends, and then receives, per operation; also the room in the buffer per thread.
const BURST: u64 = 100;

/// The channel. The order of the fields and the offset of the lock in its line are those of `hchan`.
#[repr(C, align(128))]
struct Channel<L, E: Execution> {
    // First line of 64 bytes.
    queued: E::U64,
    capacity: E::U64,
    /// Stands for the pointer to the buffer, which is read with the rest.
    buffer_at: E::U64,
    closed: E::U64,
    send_at: E::U64,
    receive_at: E::U64,
    /// Not in the original: sends and receives that were done, to be compared with what the threads think.
    done: E::U64,
    _fill: E::U64,
    // Second line: who waits to receive and to send (first and last), then the lock.
    receivers: [E::U64; 2],
    senders: [E::U64; 2],
    lock: L,
    // Lines of their own.
    slots: Slots<E>,
}

/// The buffer, in chunks.
type Slots<E> = Box<[CachePadded<[<E as Platform>::U64; SLOTS]>]>;

/// Room for so many.
fn slots<E: Execution>(capacity: u64) -> Slots<E> {
    let chunks = capacity.div_ceil(SLOTS as u64);
    (0..chunks).map(|_| CachePadded(std::array::from_fn(|_| E::U64::new(0)))).collect()
}

/// Calling and leaving the channel, outside its lock. Chosen so that with one thread a channel operation takes about what was
/// measured (golang/go issue 68578): 15.7 ns on an i7-13700H, 13.2 on an M1.
const CALL_CYCLES: u32 = 16;

/// Slots of 8 bytes per chunk of the buffer.
const SLOTS: usize = 16;

impl<L: BenchLock, E: Execution> Channel<L, E> {
    fn new(threads: u32) -> Self {
        let word = || E::U64::new(0);
        let capacity = BURST * u64::from(threads);
        Channel {
            queued: word(),
            capacity: E::U64::new(capacity),
            buffer_at: word(),
            closed: word(),
            send_at: word(),
            receive_at: word(),
            done: word(),
            _fill: word(),
            receivers: [word(), word()],
            senders: [word(), word()],
            lock: L::new(),
            slots: slots::<E>(capacity),
        }
    }

    #[inline(always)]
    fn slot(&self, at: u64) -> &E::U64 {
        &self.slots[at as usize / SLOTS].0[at as usize % SLOTS]
    }

    /// Moves a position on by one, around the buffer.
    #[inline(always)]
    fn advance(&self, position: &E::U64) -> u64 {
        let at = position.load(Relaxed);
        let next = at + 1;
        position.store(if next == self.capacity.load(Relaxed) { 0 } else { next }, Relaxed);
        at
    }

    /// Puts a value in. That there is room is the workload's doing; a channel without room has lost an update, and is
    /// left alone so that the threads' counts will not match.
    #[inline(always)]
    fn send(&self, value: u64) {
        E::instructions(CALL_CYCLES);
        self.lock.with(|| {
            let must_wait = self.closed.load(Relaxed) != 0 || self.receivers[0].load(Relaxed) != 0;
            let queued = self.queued.load(Relaxed);
            if must_wait || queued >= self.capacity.load(Relaxed) {
                return;
            }
            self.slot(self.advance(&self.send_at)).store(value, Relaxed);
            self.queued.store(queued + 1, Relaxed);
            E::add_one(&self.done);
        });
    }

    /// Takes a value out. As in [`send`](Channel::send), there is one.
    #[inline(always)]
    fn receive(&self) -> u64 {
        E::instructions(CALL_CYCLES);
        self.lock.with(|| {
            let must_wait = self.closed.load(Relaxed) != 0 || self.senders[0].load(Relaxed) != 0;
            let queued = self.queued.load(Relaxed);
            if must_wait || queued == 0 {
                return 0;
            }
            let slot = self.slot(self.advance(&self.receive_at));
            let value = slot.load(Relaxed);
            slot.store(0, Relaxed);
            self.queued.store(queued - 1, Relaxed);
            E::add_one(&self.done);
            value
        })
    }
}

impl<L: BenchLock, E: Execution> Job for Channel<L, E> {
    type Local = ();

    fn local(&self, _me: u32) {}

    #[inline(always)]
    fn turn<M: Meter>(&self, _local: &mut (), meter: &mut M) {
        for _ in 0..BURST {
            meter.around(|| self.send(0));
        }
        for _ in 0..BURST {
            meter.around(|| self.receive());
        }
    }

    fn made(&self, _local: &(), turns: u64) -> u64 {
        turns * 2 * BURST
    }

    fn updates(&self) -> u64 {
        // Values left in the channel are updates lost: every thread takes out as many as it puts in.
        self.done.load(Relaxed).saturating_sub(self.queued.load(Relaxed))
    }
}

pub(crate) fn run<L: BenchLock, E: Execution>(conditions: &Conditions) -> Result<Row, End> {
    measure::<E, _>(conditions, Arc::new(Channel::<L, E>::new(conditions.threads)), true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::Std;
    use ondeck_core::Hardware;
    use std::mem::offset_of;

    #[test]
    fn the_lock_lies_where_the_original_has_it() {
        assert_eq!(offset_of!(Channel<Std, Hardware>, lock), 96);
    }

    #[test]
    fn values_come_out_in_order_around_the_end_of_the_buffer() {
        let channel = Channel::<Std, Hardware>::new(1);
        for value in 1..=250 {
            channel.send(value);
            channel.send(value + 1000);
            assert_eq!(channel.receive(), value);
            assert_eq!(channel.receive(), value + 1000);
        }
        assert_eq!(channel.receive(), 0);
        assert_eq!(channel.updates(), 1000);
    }
}
