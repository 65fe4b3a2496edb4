//! `pool`: threads that wait for jobs at a queue, with a mutex and a condition variable: what most programs use them for.
//!
//! A poster puts a burst of jobs into the queue, one acquisition and one notification each, and starts the next burst a gap
//! later. A worker that has got a job spends its work outside the lock. If the poster is late, it makes up for it, so that
//! there is as much to do whatever the lock is; what the workers cannot do in time stays in the queue.
//!
//! Two rows: `dispatch`, with the times from the start of a burst until a worker has the job, for each job; and `burst`, with
//! those until the last job of a burst is done. With one job in a burst, a dispatch is the price of a wake-up.
//!
//! It runs on hardware only, with locks that have a condition variable.

use super::spec::{Notify, WorkloadSpec};
use crate::conditions::{Conditions, End};
use crate::condvars::{CondvarLock, PthreadLock};
use crate::execution::{CachePadded, Execution, Hardware};
use crate::measure::{Timings, measure_counting, units_per_ns};
use crate::thread_group::{COUNT, GroupState, STOP};
use ondeck_core::Platform;
use ondeck_report::row::Row;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// So many jobs wait at most when a burst begins: there is no end to them where workers cannot keep up.
const MOST_WAITING: usize = 65_536;
/// Until the poster looks again.
const FULL_NS: u64 = 1_000_000;

type Measure = fn(&WorkloadSpec, &Conditions) -> Result<Vec<Row>, End>;

/// The locks that have a condition variable, by the names that the command line has for them.
static LOCKS: [(&str, Measure); 6] = [
    ("ondeck", measure::<ondeck::Mutex<Queue>>),
    ("std", measure::<std::sync::Mutex<Queue>>),
    ("parking-lot", measure::<parking_lot::Mutex<Queue>>),
    ("parking-lot-012", measure::<parking_lot_012::Mutex<Queue>>),
    ("pthread", measure::<PthreadLock<Queue, false>>),
    ("pthread-adaptive", measure::<PthreadLock<Queue, true>>),
];

/// The names of those.
pub(super) fn names() -> Vec<&'static str> {
    LOCKS.iter().map(|(name, _)| *name).collect()
}

/// A job is the moment at which its burst began, in nanoseconds; whoever drops it last ends the burst.
type Job = Arc<u64>;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    is_over: bool,
}

struct Pool<L: CondvarLock<Queue>> {
    queue: CachePadded<L>,
    has_job: CachePadded<L::Condvar>,
    burst: u32,
    work_units: u32,
    gap_ns: u64,
    notify: Notify,
}

/// What a thread brings home.
#[derive(Default)]
struct PoolReport {
    /// Jobs posted, or done.
    n_jobs: u64,
    /// In the counting window, in nanoseconds.
    dispatches: Timings,
    bursts: Timings,
}

impl<L: CondvarLock<Queue>> Pool<L> {
    fn post(&self, state: &GroupState<Hardware>) -> PoolReport {
        let mut report = PoolReport::default();
        let mut next_ns = Hardware::now_ns();
        while state.phase() != STOP {
            if self.queue.0.lock().jobs.len() > MOST_WAITING {
                Hardware::sleep_ns(FULL_NS);
                continue;
            }
            // The last job is the original, so that no reference is left here.
            std::iter::repeat_n(Arc::new(Hardware::now_ns()), self.burst as usize).for_each(|job| self.post_one(job));
            report.n_jobs += u64::from(self.burst);
            next_ns += self.gap_ns;
            let left_ns = next_ns.saturating_sub(Hardware::now_ns());
            if left_ns > 0 {
                Hardware::sleep_ns(left_ns);
            }
        }
        self.queue.0.lock().is_over = true;
        L::notify_all(&self.has_job.0);
        report
    }

    #[inline(always)]
    fn post_one(&self, job: Job) {
        let mut queue = self.queue.0.lock();
        queue.jobs.push_back(job);
        if self.notify == Notify::Under {
            L::notify_one(&self.has_job.0);
            return;
        }
        drop(queue);
        L::notify_one(&self.has_job.0);
    }

    #[inline(always)]
    fn next_job(&self) -> Option<Job> {
        let mut queue = self.queue.0.lock();
        while queue.jobs.is_empty() && !queue.is_over {
            queue = L::wait(&self.has_job.0, queue);
        }
        if queue.is_over { None } else { queue.jobs.pop_front() }
    }

    fn work(&self, state: &GroupState<Hardware>, me: u32) -> PoolReport {
        let mut report = PoolReport::default();
        while let Some(job) = self.next_job() {
            let came = Hardware::now_ns();
            if state.phase() == COUNT {
                report.dispatches.record(came.saturating_sub(*job));
            }
            Hardware::spend(self.work_units);
            if let Some(began) = Arc::into_inner(job)
                && state.phase() == COUNT
            {
                report.bursts.record(Hardware::now_ns().saturating_sub(began));
            }
            report.n_jobs += 1;
            state.counter(me).store(report.n_jobs, Relaxed);
        }
        report
    }
}

/// Measures the lock of that name, which is one of [`names`].
pub(super) fn run(spec: &WorkloadSpec, lock: &str, conditions: &Conditions) -> Result<Vec<Row>, End> {
    let measure = LOCKS.iter().find(|(name, _)| *name == lock).expect("a lock with a condition variable").1;
    measure(spec, conditions)
}

fn measure<L: CondvarLock<Queue>>(spec: &WorkloadSpec, conditions: &Conditions) -> Result<Vec<Row>, End> {
    let work_ns = f64::from(spec.work_us) * 1e3;
    let pool = Arc::new(Pool::<L> {
        queue: CachePadded(L::new(Queue::default())),
        has_job: CachePadded(L::Condvar::default()),
        burst: spec.burst,
        work_units: (work_ns * units_per_ns::<Hardware>(conditions)?) as u32,
        gap_ns: u64::from(spec.gap_us) * 1_000,
        notify: spec.notify,
    });
    let (theirs, poster) = (pool.clone(), conditions.threads);
    let body = move |state: &GroupState<Hardware>, me| match me == poster {
        true => theirs.post(state),
        false => theirs.work(state, me),
    };
    let (row, mut reports) = measure_counting(conditions, poster + 1, Arc::new(body))?;
    let posted = reports.pop().map_or(0, |report| report.n_jobs);
    let done: u64 = reports.iter().map(|report| report.n_jobs).sum();
    conditions.check_updates(posted, done + pool.queue.0.lock().jobs.len() as u64)?;
    let row_of = |name: &str, timings: fn(&PoolReport) -> &Timings| {
        let mut all = Timings::default();
        reports.iter().for_each(|report| all.merge(timings(report)));
        let mut row = Row { workload: format!("{}/{name}", conditions.workload), ..row.clone() };
        all.fill(1.0, &mut row);
        row.ops_per_s = row.ops.map(|n| n as f64 / row.seconds);
        row.waits = Some(all.spread);
        row
    };
    Ok(vec![row_of("dispatch", |report| &report.dispatches), row_of("burst", |report| &report.bursts)])
}
