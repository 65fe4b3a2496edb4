//! `spike`: a few threads, then many more for a while, then the few again. Does the lock recover?
//!
//! Three rows: `spike/before`, `spike/during` and `spike/after`. The third window begins as soon as the visitors are
//! gone, without a warm-up: what they leave behind is what is being asked for.

use super::Conditions;
use super::sections::Sections;
use crate::conditions::End;
use crate::crew::{Crew, watch};
use crate::lock::BenchLock;
use crate::measure::{Job, Report, Snapshot, work};
use crate::row::Row;
use crate::world::World;
use std::sync::Arc;

/// Threads that come for a while.
const VISITORS: u32 = 64;
/// Units of work inside and outside.
const CS: u32 = 20;
const OUT: u32 = 60;

type Gang<'a, L, W> = Crew<'a, W, Report<Sections<L, W>>>;

pub(crate) fn run<L: BenchLock, W: World>(conditions: &Conditions) -> Result<Vec<Row>, End> {
    let job = Arc::new(Sections::<L, W>::new(CS, OUT));
    let gang = |n| {
        let job = job.clone();
        Gang::<L, W>::start(conditions, n, move |stage, me| work::<W, _>(&*job, stage, me))
    };
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
fn phase<L: BenchLock, W: World>(name: &str, crews: &[&Gang<L, W>], conditions: &Conditions) -> Result<Row, End> {
    let before = Snapshot::take(crews);
    watch(crews, conditions.window_ns)?;
    let mut row = conditions.row();
    Snapshot::take(crews).fill(&before, 1, &mut row);
    row.workload = format!("{}/{name}", conditions.workload);
    row.threads = crews.iter().map(|crew| crew.size()).sum();
    Ok(row)
}
