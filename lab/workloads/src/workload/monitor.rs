//! `monitor-throughput` and `monitor-latency`, after the program that dotnet/coreclr PR 14216 was measured with: short
//! work inside the lock and about as much outside, of random length.
//!
//! The work is the original's: a full barrier, a Fibonacci number computed naively, and its addition to one word that all
//! threads share and nobody guards. The second workload counts an acquisition only if another thread made the one
//! before; the original's source is not public, and this is what its authors say that it is about.

use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::execution::{CachePadded, Execution};
use crate::measure::{Job, Meter, measure};
use ondeck_core::Atomic;
use ondeck_report::row::Row;
use ondeck_sim::Random;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The least number that is computed, and how many there are from it on: 4 to 9, that is 9 to 109 calls.
const LEAST: u32 = 4;
const CHOICES: u32 = 6;

struct Monitor<L, E: Execution> {
    lock: CachePadded<L>,
    data: CachePadded<Data<E>>,
    counted: CountedOps,
}

/// Which acquisitions are operations.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum CountedOps {
    /// All of them.
    All,
    /// Those that follow another thread's.
    Passes,
}

/// One line, which the original writes too, inside and outside.
struct Data<E: Execution> {
    /// What the original adds its numbers to. Written by all threads at once, so it means nothing.
    sum: E::U64,
    /// Acquisitions, and the number of the thread that made the last one, from 1; guarded.
    count: E::U64,
    last: E::U64,
}

struct ThreadTally {
    me: u64,
    random: Random,
    /// Acquisitions that followed another thread's.
    passes: u64,
}

impl<L: BenchLock, E: Execution> Monitor<L, E> {
    #[inline(always)]
    fn work(&self, number: u32) {
        E::barrier();
        let sum = &self.data.0.sum;
        sum.store(sum.load(Relaxed).wrapping_add(u64::from(E::fib(number))), Relaxed);
    }

    /// Everything inside; gives whether another thread was inside before.
    #[inline(always)]
    fn section(&self, me: u64, number: u32) -> bool {
        let data = &self.data.0;
        let count = data.count.load(Relaxed);
        self.work(number);
        data.count.store(count + 1, Relaxed);
        let is_pass = data.last.load(Relaxed) != me;
        data.last.store(me, Relaxed);
        is_pass
    }
}

impl<L: BenchLock, E: Execution> Job for Monitor<L, E> {
    type Local = ThreadTally;

    fn local(&self, me: u32) -> ThreadTally {
        ThreadTally { me: u64::from(me) + 1, random: E::random(me), passes: 0 }
    }

    #[inline(always)]
    fn turn<M: Meter>(&self, mine: &mut ThreadTally, meter: &mut M) {
        let mut draw = || LEAST + mine.random.below(CHOICES);
        let (inside, outside) = (draw(), draw());
        let is_pass = meter.around(|| self.lock.0.with(|| self.section(mine.me, inside)));
        mine.passes += u64::from(is_pass);
        self.work(outside);
    }

    #[inline(always)]
    fn counted(&self, mine: &ThreadTally, turns: u64) -> u64 {
        if self.counted == CountedOps::All { turns } else { mine.passes }
    }

    fn updates(&self) -> u64 {
        self.data.0.count.load(Relaxed)
    }
}

pub(crate) fn run<L: BenchLock, E: Execution>(conditions: &Conditions, counted: CountedOps) -> Result<Row, End> {
    let data = Data { sum: E::U64::new(0), count: E::U64::new(0), last: E::U64::new(0) };
    let job = Monitor::<L, E> { lock: CachePadded(L::new()), data: CachePadded(data), counted };
    measure::<E, _>(conditions, Arc::new(job), true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::NoClock;
    use crate::peers::Std;
    use ondeck_core::Hardware;

    #[test]
    fn a_pass_is_an_acquisition_after_another_threads() {
        let data = Data::<Hardware> { sum: Atomic::new(0), count: Atomic::new(0), last: Atomic::new(0) };
        let mut job = Monitor::<Std, Hardware> {
            lock: CachePadded(Std::new()),
            data: CachePadded(data),
            counted: CountedOps::Passes,
        };
        let (mut one, mut two) = (job.local(0), job.local(1));
        for turns in [3, 2, 1] {
            (0..turns).for_each(|_| job.turn(&mut one, &mut NoClock));
            job.turn(&mut two, &mut NoClock);
        }
        assert_eq!((one.passes, two.passes, job.updates()), (3, 3, 9));
        assert_eq!(job.counted(&one, 6), 3);
        job.counted = CountedOps::All;
        assert_eq!(job.counted(&one, 6), 6);
    }
}
