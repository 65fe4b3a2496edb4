//! `mutex-contention`, after Go's `BenchmarkMutexContention`: nothing but an atomic increment inside, nothing outside.

use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::execution::{CachePadded, Execution};
use crate::measure::{Job, Meter, measure};
use ondeck_core::Atomic;
use ondeck_report::row::Row;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// The lock on lines of its own, and the data on theirs.
pub(crate) struct Contention<L, E: Execution> {
    lock: CachePadded<L>,
    data: CachePadded<Data<E>>,
}

struct Data<E: Execution> {
    /// The original's counter. It is atomic, so it cannot show that the lock failed.
    count: E::U64,
    /// This one can. It lies on the line that the other one has just brought here.
    witness: E::U64,
}

impl<L: BenchLock, E: Execution> Contention<L, E> {
    pub(crate) fn new() -> Self {
        let data = Data { count: E::U64::new(0), witness: E::U64::new(0) };
        Contention { lock: CachePadded(L::new()), data: CachePadded(data) }
    }

    /// One acquisition; how many there have been with this one.
    #[inline(always)]
    pub(crate) fn acquire_once<M: Meter>(&self, meter: &mut M) -> u64 {
        meter.around(|| {
            self.lock.0.with(|| {
                let before = self.data.0.count.fetch_add(1, SeqCst);
                E::add_one(&self.data.0.witness);
                before + 1
            })
        })
    }

    pub(crate) fn witnessed(&self) -> u64 {
        self.data.0.witness.load(Relaxed)
    }
}

impl<L: BenchLock, E: Execution> Job for Contention<L, E> {
    type Local = ();

    fn local(&self, _me: u32) {}

    #[inline(always)]
    fn turn<M: Meter>(&self, _local: &mut (), meter: &mut M) {
        self.acquire_once(meter);
    }

    fn updates(&self) -> u64 {
        self.witnessed()
    }
}

pub(crate) fn run<L: BenchLock, E: Execution>(conditions: &Conditions) -> Result<Row, End> {
    measure::<E, _>(conditions, Arc::new(Contention::<L, E>::new()), true)
}
