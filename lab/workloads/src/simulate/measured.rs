//! How a lock is measured in the simulator: erased, so that workloads are compiled once per size of lock, and marked, so that
//! the timeline knows who has it.

use super::erased::with_kind;
use crate::bench_lock::{BenchLock, VisitLock};
use crate::conditions::{Conditions, End};
use crate::plan::Point;
use crate::points;
use crate::workload::{self, WorkloadSpec};
use ondeck_report::row::Row;
use ondeck_sim::Simulated;
use ondeck_sim::timeline::Mark;

/// The rows of a point, within a run.
pub(super) fn rows(point: &Point, conditions: &Conditions) -> Result<Vec<Row>, End> {
    points::measure::<Simulated>(point, conditions, Measure { spec: &point.workload, conditions })
}

/// Measures a lock in the workload.
struct Measure<'a> {
    spec: &'a WorkloadSpec,
    conditions: &'a Conditions<'a>,
}

impl VisitLock for Measure<'_> {
    type Out = Result<Vec<Row>, End>;

    fn visit<L: BenchLock>(self) -> Self::Out {
        with_kind::<L, _>(MeasureErased(self))
    }
}

struct MeasureErased<'a>(Measure<'a>);

impl VisitLock for MeasureErased<'_> {
    type Out = Result<Vec<Row>, End>;

    fn visit<E: BenchLock>(self) -> Self::Out {
        workload::run_simulated::<Marked<E>>(self.0.spec, self.0.conditions)
    }
}

/// A lock that tells the simulation who asks for it and who has it. That takes no time, and no room.
#[repr(transparent)]
struct Marked<L>(L);

impl<L: BenchLock> BenchLock for Marked<L> {
    fn new() -> Self {
        Marked(L::new())
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
