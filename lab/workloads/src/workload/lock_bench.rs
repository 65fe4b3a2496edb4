//! `lock-bench`, after the program of that name: many locks, each with a counter beside it; every operation picks one
//! at random.

use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::execution::{CachePadded, Execution};
use crate::measure::{Job, Meter, measure};
use ondeck_core::Atomic;
use ondeck_report::row::Row;
use ondeck_sim::Random;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

struct LockBench<L, E: Execution>(Vec<CachePadded<Slot<L, E>>>);

/// A lock and what it guards, together on their lines, as in a `Mutex<u32>`.
struct Slot<L, E: Execution> {
    lock: L,
    count: E::U64,
}

impl<L: BenchLock, E: Execution> Job for LockBench<L, E> {
    type Local = Random;

    fn local(&self, me: u32) -> Random {
        E::random(me)
    }

    #[inline(always)]
    fn turn<M: Meter>(&self, random: &mut Random, meter: &mut M) {
        let slot = &self.0[random.below(self.0.len() as u32) as usize].0;
        meter.around(|| slot.lock.with(|| E::add_one(&slot.count)));
    }

    fn updates(&self) -> u64 {
        let mut sum = 0;
        for slot in &self.0 {
            sum += slot.0.count.load(Relaxed);
        }
        sum
    }
}

// Loops, as iterators would be compiled for each lock.
pub(crate) fn run<L: BenchLock, E: Execution>(conditions: &Conditions, locks: u32) -> Result<Row, End> {
    let mut slots = Vec::with_capacity(locks as usize);
    for _ in 0..locks {
        slots.push(CachePadded(Slot { lock: L::new(), count: E::U64::new(0) }));
    }
    measure::<E, _>(conditions, Arc::new(LockBench::<L, E>(slots)), true)
}
