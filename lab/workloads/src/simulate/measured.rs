//! How a lock is measured in the simulator: erased, so that workloads are compiled once per size of lock, and marked, so that
//! the timeline knows who has it.

use super::erased::with_kind;
use crate::bench_lock::{BenchLock, BenchLockVisitor};
use crate::conditions::{Conditions, End};
use crate::plan::Point;
use crate::points;
use crate::workload::{self, WorkloadSpec};
use ondeck_report::row::Row;
use ondeck_sim::Simulated;
use ondeck_sim::timeline::Mark;

/// The rows of a point, within a run.
pub(super) fn rows(point: &Point, conditions: &Conditions) -> Result<Vec<Row>, End> {
    points::measure::<Simulated>(point, conditions, MeasureVisitor { spec: &point.workload, conditions })
}

/// Measures a lock in the workload.
struct MeasureVisitor<'a> {
    spec: &'a WorkloadSpec,
    conditions: &'a Conditions<'a>,
}

impl BenchLockVisitor for MeasureVisitor<'_> {
    type Output = Result<Vec<Row>, End>;

    fn visit<L: BenchLock>(self) -> Self::Output {
        with_kind::<L, _>(MeasureErasedVisitor(self))
    }
}

struct MeasureErasedVisitor<'a>(MeasureVisitor<'a>);

impl BenchLockVisitor for MeasureErasedVisitor<'_> {
    type Output = Result<Vec<Row>, End>;

    fn visit<E: BenchLock>(self) -> Self::Output {
        workload::run_simulated::<MarkedLock<E>>(self.0.spec, self.0.conditions)
    }
}

/// A lock that tells the simulation who asks for it and who has it. That takes no time, and no room.
#[repr(transparent)]
struct MarkedLock<L>(L);

impl<L: BenchLock> BenchLock for MarkedLock<L> {
    fn new() -> Self {
        MarkedLock(L::new())
    }

    #[inline(always)]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        Simulated::mark(Mark::Asks);
        let result = self.0.with(|| held(section));
        Simulated::mark(Mark::Released);
        result
    }

    #[inline(always)]
    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        let result = self.0.try_with(|| held(section))?;
        Simulated::mark(Mark::Released);
        Some(result)
    }

    const HAS_FAT_FORM: bool = L::HAS_FAT_FORM;

    fn make_fat(&self) {
        self.0.make_fat();
    }

    fn shows_sleeper(&self) -> Option<bool> {
        self.0.shows_sleeper()
    }
}

#[inline(always)]
fn held<R>(section: impl FnOnce() -> R) -> R {
    Simulated::mark(Mark::Holds);
    section()
}
