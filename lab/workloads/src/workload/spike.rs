//! `spike`: a few threads, then many more for a while, then the few again. Does the lock recover?
//!
//! Three rows: `spike/before`, `spike/during` and `spike/after`. The third window begins as soon as the visitors are
//! gone, without a warm-up: what they leave behind is what is being asked for.

use super::sections::Sections;
use super::spec::Data;
use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::execution::Execution;
use crate::measure::{AnyJob, Report, Snapshot, work};
use crate::thread_group::{GroupState, ThreadGroup, watch};
use ondeck_report::row::Row;
use std::sync::Arc;

/// Threads that come for a while.
const VISITORS: u32 = 64;
/// Units of work inside and outside.
const CS: u32 = 20;
const OUT: u32 = 60;

type Gang<'a, E> = ThreadGroup<'a, E, Report<()>>;

pub(crate) fn run<L: BenchLock, E: Execution>(conditions: &Conditions) -> Result<Vec<Row>, End> {
    measure::<E>(conditions, Arc::new(Sections::<L, E>::new(CS, OUT, Data::Counter)))
}

fn measure<E: Execution>(conditions: &Conditions, job: Arc<AnyJob<E, ()>>) -> Result<Vec<Row>, End> {
    let theirs = job.clone();
    let body = Arc::new(move |state: &GroupState<E>, me| work(&*theirs, state, me));
    let gang = |n| Gang::<E>::start(conditions, n, body.clone());
    let (few, visitors) = (gang(conditions.threads)?, gang(VISITORS)?);
    few.begin();
    watch(&[&few], conditions.warm_up_ns())?;
    let before = phase("before", &[&few], conditions)?;
    visitors.begin();
    watch(&[&few, &visitors], conditions.warm_up_ns())?;
    let during = phase("during", &[&few, &visitors], conditions)?;
    let mut reports = visitors.dismiss()?;
    let after = phase("after", &[&few], conditions)?;
    reports.extend(few.dismiss()?);
    conditions.check_updates(reports.iter().map(|report| report.turns).sum(), job.updates())?;
    Ok(vec![before, during, after])
}

/// One window with the groups that are at work, as a row of its own.
fn phase<E: Execution>(name: &str, groups: &[&Gang<E>], conditions: &Conditions) -> Result<Row, End> {
    let before = Snapshot::take(groups);
    watch(groups, conditions.window_ns)?;
    let mut row = conditions.row();
    Snapshot::take(groups).fill(&before, 1, &mut row);
    row.workload = format!("{}/{name}", conditions.workload);
    row.threads = groups.iter().map(|group| group.size()).sum();
    Ok(row)
}
