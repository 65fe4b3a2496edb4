//! `spike`: a few threads, then many more for a while, then the few again. Does the lock recover?
//!
//! Three rows: `spike/before`, `spike/during` and `spike/after`. The third window begins as soon as the visitors are
//! gone, without a warm-up: what they leave behind is what is being asked for.

use super::sections::Sections;
use super::spec::Data;
use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::crew::{Crew, Stage, watch};
use crate::measure::{AnyJob, Report, Snapshot, work};
use crate::world::World;
use ondeck_report::row::Row;
use std::sync::Arc;

/// Threads that come for a while.
const VISITORS: u32 = 64;
/// Units of work inside and outside.
const CS: u32 = 20;
const OUT: u32 = 60;

type Gang<'a, W> = Crew<'a, W, Report<()>>;

pub(crate) fn run<L: BenchLock, W: World>(conditions: &Conditions) -> Result<Vec<Row>, End> {
    measure::<W>(conditions, Arc::new(Sections::<L, W>::new(CS, OUT, Data::Counter)))
}

fn measure<W: World>(conditions: &Conditions, job: Arc<AnyJob<W, ()>>) -> Result<Vec<Row>, End> {
    let theirs = job.clone();
    let body = Arc::new(move |stage: &Stage<W>, me| work(&*theirs, stage, me));
    let gang = |n| Gang::<W>::start(conditions, n, body.clone());
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

/// One window with the crews that are at work, as a row of its own.
fn phase<W: World>(name: &str, crews: &[&Gang<W>], conditions: &Conditions) -> Result<Row, End> {
    let before = Snapshot::take(crews);
    watch(crews, conditions.window_ns)?;
    let mut row = conditions.row();
    Snapshot::take(crews).fill(&before, 1, &mut row);
    row.workload = format!("{}/{name}", conditions.workload);
    row.threads = crews.iter().map(|crew| crew.size()).sum();
    Ok(row)
}
