//! `sections`: some work inside, some outside, and a counter that would show a second thread inside.

use super::Conditions;
use crate::conditions::End;
use crate::crew::Alone;
use crate::lock::BenchLock;
use crate::measure::{Job, Meter, measure};
use crate::world::World;
use ondeck_platform::Atomic;
use ondeck_report::row::Row;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The lock and the data that it guards, on lines of their own, and how much work there is.
pub(crate) struct Sections<L, W: World> {
    lock: Alone<L>,
    count: Alone<W::U64>,
    cs: u32,
    out: u32,
}

impl<L: BenchLock, W: World> Sections<L, W> {
    pub(crate) fn new(cs: u32, out: u32) -> Self {
        Sections { lock: Alone(L::new()), count: Alone(W::U64::new(0)), cs, out }
    }
}

impl<L: BenchLock, W: World> Job for Sections<L, W> {
    type Local = ();

    fn local(&self, _me: u32) {}

    #[inline(always)]
    fn turn<M: Meter>(&self, _local: &mut (), meter: &mut M) {
        meter.around(|| {
            self.lock.0.with(|| {
                // Read at the beginning and written at the end: whoever else is inside in between is found out.
                let count = self.count.0.load(Relaxed);
                W::spend(self.cs);
                self.count.0.store(count + 1, Relaxed);
            })
        });
        W::spend(self.out);
    }

    fn updates(&self) -> u64 {
        self.count.0.load(Relaxed)
    }
}

pub(crate) fn run<L: BenchLock, W: World>(conditions: &Conditions, cs: u32, out: u32) -> Result<Row, End> {
    measure::<W, _>(conditions, Arc::new(Sections::<L, W>::new(cs, out)), true)
}
