//! The points of a plan on the platform that they are to be run on: whether they can be, how many rows they give, and the
//! measurement of one. What hardware and simulated machines have in common.

use crate::bench_lock::{BenchLock, BenchLockVisitor};
use crate::conditions::{Conditions, End};
use crate::execution::Execution;
use crate::lock::BenchPlatform;
use crate::plan::{Failure, Point, Progress};
use crate::wait_policy;
use crate::workload::{self, Kind};
use ondeck_core::Hardware;
use ondeck_report::row::Row;

/// Refuses points that cannot be run on `G`.
pub(crate) fn check<G: BenchPlatform>(points: &[Point]) -> Result<(), Failure> {
    let fault = |point: &Point| what_is_wrong_with::<G>(point).or_else(|| point.workload.fault(point.threads));
    points.iter().find_map(fault).map_or(Ok(()), |text| Err(Failure::Plan(text)))
}

/// Of the lock, or of what stands in its place.
fn what_is_wrong_with<G: BenchPlatform>(point: &Point) -> Option<String> {
    if point.workload.info().simulated_only && G::NAME == Hardware::NAME {
        return Some(format!("{} runs on simulated machines only: use `ondeck sim`", point.workload));
    }
    if point.workload.info().hardware_only && G::NAME != Hardware::NAME {
        let name = point.workload.info().name;
        return Some(format!(
            "{name} runs on real machines only, as simulated locks do not have what it needs: use `ondeck bench`"
        ));
    }
    if workload::own_locks(point.workload.kind).is_some() {
        return workload::own_fault(&point.workload, point.lock.as_str());
    }
    match (point.workload.compares_waits(), point.lock.policy()) {
        (true, None) => {
            let accepted = wait_policy::name(5);
            Some(format!("{} cannot run with {}; accepted: a policy like {accepted}", point.workload, point.lock))
        }
        (true, Some(_)) => None,
        (false, _) => point.lock.fault::<G>(),
    }
}

/// Tells what a reader of the figures should know beforehand.
pub(crate) fn explain<G: BenchPlatform>(points: &[Point], on_progress: &mut dyn FnMut(Progress)) {
    let mut told: Vec<&str> = Vec::new();
    for point in points.iter().filter(|point| point.workload.kind == Kind::HandoffSlow) {
        let blind = point.lock.visit::<G, _>(BlindnessVisitor) == Some(true);
        if blind && !told.contains(&point.lock.as_str()) {
            told.push(point.lock.as_str());
        }
    }
    if !told.is_empty() {
        let text = format!(
            "handoff-slow: {} cannot tell whether a thread sleeps; the holder waits 100 us instead",
            told.join(", ")
        );
        on_progress(Progress::Warning(text));
    }
}

/// How many rows one measurement of the point gives.
pub(crate) fn n_rows<G: BenchPlatform>(point: &Point) -> usize {
    point.workload.rows(point.lock.visit::<G, _>(FatFormVisitor) == Some(true))
}

/// Whether a lock has a larger form.
struct FatFormVisitor;

impl BenchLockVisitor for FatFormVisitor {
    type Output = bool;

    fn visit<L: BenchLock>(self) -> bool {
        L::HAS_FAT_FORM
    }
}

/// Whether a lock cannot tell that a thread sleeps in it.
struct BlindnessVisitor;

impl BenchLockVisitor for BlindnessVisitor {
    type Output = bool;

    fn visit<L: BenchLock>(self) -> bool {
        L::new().shows_sleeper().is_none()
    }
}

/// Measures a point that [`check`] has found no fault in; with a lock by `with_lock`.
pub(crate) fn measure<G: BenchPlatform>(
    point: &Point,
    conditions: &Conditions,
    with_lock: impl BenchLockVisitor<Output = Result<Vec<Row>, End>>,
) -> Result<Vec<Row>, End> {
    if workload::own_locks(point.workload.kind).is_some() {
        return workload::run_own(&point.workload, point.lock.as_str(), conditions);
    }
    match point.lock.policy() {
        Some(policy) => workload::run_wait::<G>(policy, conditions),
        None => point.lock.visit::<G, _>(with_lock).expect("`check` has found no fault in the locks"),
    }
}
