//! What the threads do with the lock. Each workload is written once, over a lock and a platform.
//!
//! Every workload with a lock counts, with plain loads and stores under it, what its threads count for themselves; at the
//! end the two must agree, or the lock let two threads in at once. `gc-wait` compares policies of waiting without one.

mod aim7;
mod chan_contended;
mod gc_wait;
mod handoff;
mod lock_bench;
mod monitor;
mod monitor_try_enter;
mod mutex_capture;
mod mutex_contention;
mod pool;
mod readers;
mod sections;
mod solo;
mod spec;
mod spike;
#[cfg(test)]
pub(crate) mod tests;

pub use spec::{Data, Kind, MAX_UNITS, Notify, WORKLOADS, WorkloadInfo, WorkloadSpec, workload_names};

use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::execution::{Execution, Simulated};
use monitor::CountedOps;
use ondeck_lineage::SpinPolicy;
use ondeck_report::row::Row;

/// Measures lock `L` in the workload `spec`.
pub(crate) fn run<L: BenchLock, E: Execution>(spec: &WorkloadSpec, conditions: &Conditions) -> Result<Vec<Row>, End> {
    let one = |row: Result<Row, End>| row.map(|row| vec![row]);
    match spec.kind {
        Kind::Solo => one(solo::run::<L, E>(conditions)),
        Kind::MutexContention => one(mutex_contention::run::<L, E>(conditions)),
        Kind::MutexCapture => one(mutex_capture::run::<L, E>(conditions)),
        Kind::HandoffFast => one(handoff::run::<L, E>(conditions, handoff::Hold::Short)),
        Kind::HandoffSlow => one(handoff::run::<L, E>(conditions, handoff::Hold::UntilAsleep)),
        Kind::ChanContended => one(chan_contended::run::<L, E>(conditions)),
        Kind::Sections => one(sections::run::<L, E>(conditions, spec.cs, spec.out, spec.data)),
        Kind::Spike => spike::run::<L, E>(conditions),
        Kind::LockBench => one(lock_bench::run::<L, E>(conditions, spec.locks)),
        Kind::MonitorThroughput => one(monitor::run::<L, E>(conditions, CountedOps::All)),
        Kind::MonitorLatency => one(monitor::run::<L, E>(conditions, CountedOps::Passes)),
        Kind::MonitorTryEnter => monitor_try_enter::run::<L, E>(conditions),
        Kind::Aim7 => unreachable!("it is for the simulator, which runs it by `run_simulated`"),
        Kind::Pool | Kind::Readers => unreachable!("it has locks of its own, for `run_own`"),
        Kind::GcWait => unreachable!("it is measured with a policy, by `run_wait`"),
    }
}

/// What a workload asks of a lock beyond a lock, and the names of those that have it; `None` if any lock will do.
pub fn own_locks(kind: Kind) -> Option<(&'static str, Vec<&'static str>)> {
    match kind {
        Kind::Pool => Some(("a lock with a condition variable", pool::names())),
        Kind::Readers => Some(("a library with a reader-writer lock", readers::names())),
        _ => None,
    }
}

/// What is wrong with the lock, if the workload has locks of its own and this is none.
pub(crate) fn own_fault(spec: &WorkloadSpec, lock: &str) -> Option<String> {
    let (need, names) = own_locks(spec.kind).filter(|(_, names)| !names.contains(&lock))?;
    let (workload, accepted) = (spec.info().name, names.join(", "));
    Some(format!("{workload} needs {need}, and {lock} has none; accepted: {accepted}"))
}

/// Measures a workload with locks of its own with the one of that name, in which [`own_fault`] has found none.
pub(crate) fn run_own(spec: &WorkloadSpec, lock: &str, conditions: &Conditions) -> Result<Vec<Row>, End> {
    match spec.kind {
        Kind::Readers => readers::run(spec, lock, conditions).map(|row| vec![row]),
        _ => pool::run(spec, lock, conditions),
    }
}

/// As [`run`], with what is not for hardware.
pub(crate) fn run_simulated<L: BenchLock>(spec: &WorkloadSpec, conditions: &Conditions) -> Result<Vec<Row>, End> {
    match spec.kind {
        Kind::Aim7 => aim7::run::<L, Simulated>(conditions).map(|row| vec![row]),
        _ => run::<L, Simulated>(spec, conditions),
    }
}

/// Measures a policy of waiting in the workload without a lock.
pub(crate) fn run_wait<E: Execution>(policy: SpinPolicy, conditions: &Conditions) -> Result<Vec<Row>, End> {
    gc_wait::run::<E>(conditions, policy)
}
