//! `lock-bench`, after the program of that name: many locks, each with a counter beside it; every operation picks one
//! at random.

use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::measure::{Job, Meter, measure};
use crate::world::{Alone, World};
use ondeck_core::Atomic;
use ondeck_report::row::Row;
use ondeck_sim::Random;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

struct LockBench<L, W: World>(Vec<Alone<Slot<L, W>>>);

/// A lock and what it guards, together on their lines, as in a `Mutex<u32>`.
struct Slot<L, W: World> {
    lock: L,
    count: W::U64,
}

impl<L: BenchLock, W: World> Job for LockBench<L, W> {
    type Local = Random;

    fn local(&self, me: u32) -> Random {
        W::random(me)
    }

    #[inline(always)]
    fn turn<M: Meter>(&self, random: &mut Random, meter: &mut M) {
        let slot = &self.0[random.below(self.0.len() as u32) as usize].0;
        meter.around(|| slot.lock.with(|| W::add_one(&slot.count)));
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
pub(crate) fn run<L: BenchLock, W: World>(conditions: &Conditions, locks: u32) -> Result<Row, End> {
    let mut slots = Vec::with_capacity(locks as usize);
    for _ in 0..locks {
        slots.push(Alone(Slot { lock: L::new(), count: W::U64::new(0) }));
    }
    measure::<W, _>(conditions, Arc::new(LockBench::<L, W>(slots)), true)
}
