//! The runs of a plan, computed in parallel.

use super::machine_plan::MachinePlan;
use super::measured;
use crate::conditions::{Conditions, End};
use crate::execution::{Execution, simulated};
use crate::failure::Fault;
use crate::plan::{Outcome, PartialRun, Pin, Plan, Point};
use ondeck_report::row::Row;
use ondeck_sim::timeline::Timeline;
use ondeck_sim::{Options, Simulated};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::{iter, thread};

/// How long nothing may move, in simulated time, before a lock is said to be stuck.
const PATIENCE_NS: u64 = 1_000_000_000;

/// Warm-ups, at most, of a workload that may settle late: 1.5 s. The latest convoy that was seen to begin did so after
/// 1.3 s.
const MOST_WARM_UPS: u32 = 15;

/// One point with one seed.
#[derive(Clone, Copy)]
struct Job<'a> {
    point: &'a Point,
    round: u32,
}

/// What a job has given.
struct JobResult {
    rows: Vec<Row>,
    timeline: Option<Timeline>,
}

/// All jobs of the plan, in the order of their rows.
fn jobs(plan: &Plan) -> Vec<Job<'_>> {
    plan.points.iter().flat_map(|point| (0..plan.rounds).map(move |round| Job { point, round })).collect()
}

/// Runs the jobs of the plan; tells of rows as they come, in any order.
pub(super) fn run(of: &MachinePlan, stop: &AtomicBool, on_rows: &mut dyn FnMut(&[Row])) -> Result<Outcome, PartialRun> {
    let jobs = jobs(&of.plan);
    let on_done = &mut |done: &JobResult| on_rows(&done.rows);
    let ends = in_parallel(jobs.len(), |index| measure(of, &jobs[index], stop), on_done);
    let mut computed = Outcome::default();
    let mut failed = None;
    for (job, end) in jobs.iter().zip(ends) {
        match end {
            Some(Ok(done)) if failed.is_none() => {
                computed.rows.extend(done.rows);
                computed.timeline = computed.timeline.or(done.timeline);
            }
            Some(Err(End::Failed(failure))) if failed.is_none() => {
                failed = Some((Box::new(failure), Some(of.replay(job.point, job.round))));
            }
            // What was finished after a failure depends on which core was faster.
            Some(_) | None => {}
        }
    }
    match failed {
        Some((failure, replay)) => Err(PartialRun { failure, replay, rows: computed.rows }),
        None => Ok(computed),
    }
}

/// Does jobs 0 to `n`, each as soon as a core is free for it, and begins no more once one has ended badly. As they begin
/// in their order, all before that one are done too. `None` is a job that was not begun.
fn in_parallel<R: Send>(
    n: usize,
    job: impl Fn(usize) -> Result<R, End> + Sync,
    on_done: &mut dyn FnMut(&R),
) -> Vec<Option<Result<R, End>>> {
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(1, usize::from).min(n);
    let mut ends: Vec<Option<Result<R, End>>> = (0..n).map(|_| None).collect();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let (next, job) = (&next, &job);
        for _ in 0..workers {
            let sender = sender.clone();
            scope.spawn(move || {
                for index in iter::repeat_with(|| next.fetch_add(1, Relaxed)).take_while(|index| *index < n) {
                    let end = job(index);
                    if end.is_err() {
                        next.store(n, Relaxed);
                    }
                    // The receiver is there until all senders are gone.
                    let _ = sender.send((index, end));
                }
            });
        }
        drop(sender);
        for (index, end) in receiver {
            end.iter().for_each(&mut *on_done);
            ends[index] = Some(end);
        }
    });
    ends
}

/// One run.
fn measure(of: &MachinePlan, job: &Job, stop: &AtomicBool) -> Result<JobResult, End> {
    if stop.load(Relaxed) {
        return Err(End::Interrupted);
    }
    let (plan, Job { point, round }) = (&of.plan, *job);
    let (workload, seed) = (point.workload.to_string(), plan.seed_of(round));
    let cores: Vec<u32> = match plan.pin {
        Pin::None => Vec::new(),
        Pin::Alternate => (0..of.machine.cpus.len() as u32).collect(),
    };
    let conditions = Conditions {
        platform: Simulated::NAME,
        machine: &of.machine.name,
        workload: &workload,
        lock: point.lock.as_str(),
        threads: point.threads,
        round,
        window_ns: (of.seconds_of(point) * 1e9) as u64,
        most_warm_ups: if point.workload.info().settles_late { MOST_WARM_UPS } else { 1 },
        cores: &cores,
        patience_ns: PATIENCE_NS,
        stop,
    };
    let options = Options { seed, record: of.record };
    let outcome = simulated::run(&of.machine, &options, || measured::rows(point, &conditions));
    let outcome = outcome.map_err(|failure| conditions.failed(Fault::Simulation(failure)))?;
    let mut rows = outcome.value?;
    for row in &mut rows {
        row.seed = Some(seed);
        row.trace_hash = Some(format!("{:016x}", outcome.trace_hash));
    }
    Ok(JobResult { rows, timeline: outcome.timeline })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Failure;

    fn failed(text: &str) -> End {
        End::Failed(Failure::Plan(text.into()))
    }

    #[test]
    fn every_job_is_done_once_and_put_in_its_place() {
        let mut told = 0;
        let ends = in_parallel(100, |index| Ok(index * 2), &mut |_| told += 1);
        let values: Vec<usize> = ends.into_iter().map(|end| end.unwrap().unwrap()).collect();
        assert_eq!((values, told), ((0..100).map(|index| index * 2).collect(), 100));
        assert!(in_parallel(0, |_| Ok(()), &mut |()| ()).is_empty());
    }

    #[test]
    fn after_a_failure_no_job_begins_and_those_before_are_done() {
        for bad in [0, 1, 7, 50] {
            let ends = in_parallel(1000, |index| if index == bad { Err(failed("no")) } else { Ok(()) }, &mut |()| ());
            assert!(ends[..bad].iter().all(|end| matches!(end, Some(Ok(())))), "{bad}");
            assert!(matches!(ends[bad], Some(Err(_))));
        }
        let begun = AtomicUsize::new(0);
        let job = |_| -> Result<(), End> {
            begun.fetch_add(1, Relaxed);
            Err(failed("no"))
        };
        in_parallel(1000, job, &mut |()| ());
        assert!(begun.load(Relaxed) <= thread::available_parallelism().map_or(1, usize::from));
    }
}
