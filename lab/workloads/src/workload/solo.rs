//! `solo`: one thread acquires and releases, with nothing inside or outside.
//!
//! A second thread exists and sleeps, because a C library may leave out its atomic operations in a process of one.

use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::execution::{CachePadded, Execution};
use crate::measure::{AnyJob, Job, Meter, measure};
use crate::thread_group::{GroupState, ThreadGroup};
use ondeck_core::Atomic;
use ondeck_report::row::Row;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Acquisitions per turn: reading the phase and counting the turn would otherwise cost a tenth of what is measured.
const PER_TURN: u64 = 100;

struct Solo<L, E: Execution> {
    lock: CachePadded<L>,
    count: CachePadded<E::U64>,
}

impl<L: BenchLock, E: Execution> Job for Solo<L, E> {
    type Local = ();

    fn local(&self, _me: u32) {}

    #[inline(always)]
    fn turn<M: Meter>(&self, _local: &mut (), _meter: &mut M) {
        for _ in 1..PER_TURN {
            self.lock.0.with(|| ());
        }
        self.lock.0.with(|| E::add_one(&self.count.0));
    }

    fn ops_per_turn(&self) -> u64 {
        PER_TURN
    }

    fn updates(&self) -> u64 {
        self.count.0.load(Relaxed)
    }
}

pub(crate) fn run<L: BenchLock, E: Execution>(conditions: &Conditions) -> Result<Row, End> {
    let job = Solo::<L, E> { lock: CachePadded(L::new()), count: CachePadded(E::U64::new(0)) };
    beside_a_sleeper::<E>(conditions, Arc::new(job))
}

fn beside_a_sleeper<E: Execution>(conditions: &Conditions, job: Arc<AnyJob<E, ()>>) -> Result<Row, End> {
    // A group that is not let begin sleeps at its door.
    let sleeper = ThreadGroup::<E, ()>::start(conditions, 1, Arc::new(|_: &GroupState<E>, _| ()))?;
    let row = measure(conditions, job, false)?;
    sleeper.dismiss()?;
    Ok(row)
}
