//! `solo`: one thread acquires and releases, with nothing inside or outside.
//!
//! A second thread exists and sleeps, because a C library may leave out its atomic operations in a process of one.

use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::crew::{Crew, Stage};
use crate::measure::{AnyJob, Job, Meter, measure};
use crate::world::{Alone, World};
use ondeck_core::Atomic;
use ondeck_report::row::Row;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Acquisitions per turn: reading the phase and counting the turn would otherwise cost a tenth of what is measured.
const PER_TURN: u64 = 100;

struct Solo<L, W: World> {
    lock: Alone<L>,
    count: Alone<W::U64>,
}

impl<L: BenchLock, W: World> Job for Solo<L, W> {
    type Local = ();

    fn local(&self, _me: u32) {}

    #[inline(always)]
    fn turn<M: Meter>(&self, _local: &mut (), _meter: &mut M) {
        for _ in 1..PER_TURN {
            self.lock.0.with(|| ());
        }
        self.lock.0.with(|| W::add_one(&self.count.0));
    }

    fn ops_per_turn(&self) -> u64 {
        PER_TURN
    }

    fn updates(&self) -> u64 {
        self.count.0.load(Relaxed)
    }
}

pub(crate) fn run<L: BenchLock, W: World>(conditions: &Conditions) -> Result<Row, End> {
    let job = Solo::<L, W> { lock: Alone(L::new()), count: Alone(W::U64::new(0)) };
    beside_a_sleeper::<W>(conditions, Arc::new(job))
}

fn beside_a_sleeper<W: World>(conditions: &Conditions, job: Arc<AnyJob<W, ()>>) -> Result<Row, End> {
    // A crew that is not let begin sleeps at its gate.
    let sleeper = Crew::<W, ()>::start(conditions, 1, Arc::new(|_: &Stage<W>, _| ()))?;
    let row = measure(conditions, job, false)?;
    sleeper.dismiss()?;
    Ok(row)
}
