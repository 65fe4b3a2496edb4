//! From counters to figures: windows between two snapshots, and the loops that most workloads are.
//!
//! What is measured is compiled once per lock, and nothing else: a [`Job`] is behind a table of functions ([`Loops`])
//! whose two loops are the only ones that know the lock. All that is around them is compiled once.
//!
//! Throughput and waits come from two windows of one measurement. In the first the loops are bare: reading a clock
//! costs half of an uncontended acquisition. In the second every acquisition is timed, from asking to having given the
//! lock up again, with both readings outside the critical section.

use crate::conditions::{Conditions, End};
use crate::crew::{COUNT, Crew, Stage, TIME, WARM_UP, watch};
use crate::world::{Usage, World};
use ondeck_report::explain::Spent;
use ondeck_report::histogram::Histogram;
use ondeck_report::row::Row;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// What the threads of a workload do, again and again.
pub(crate) trait Job: Send + Sync + 'static {
    /// What each thread keeps for itself.
    type Local: Send + 'static;

    /// What thread number `me` begins with.
    fn local(&self, me: u32) -> Self::Local;

    /// Makes one turn, and every acquisition in it within `meter`.
    fn turn<M: Meter>(&self, local: &mut Self::Local, meter: &mut M)
    where
        Self: Sized;

    /// What is counted of `turns` turns; all of them, unless the workload tells some apart.
    #[inline(always)]
    fn counted(_local: &Self::Local, turns: u64) -> u64
    where
        Self: Sized,
    {
        turns
    }

    /// Operations that one turn that counts makes.
    fn ops_per_turn(&self) -> u64 {
        1
    }

    /// Updates that a thread has made to the data under the lock in `turns` turns.
    fn made(&self, _local: &Self::Local, turns: u64) -> u64 {
        turns
    }

    /// The updates that the data under the lock show, once all threads are gone.
    fn updates(&self) -> u64;

    /// Called by each thread when it sees that the counting window has begun.
    fn window_begins(&self, _local: &mut Self::Local) {}

    /// Called by each thread when it sees that the counting window is over.
    fn window_ends(&self, _local: &mut Self::Local) {}

    /// Adds what only this workload knows. `row` has all common figures already.
    fn add_figures(&self, _locals: &[Self::Local], _row: &mut Row) {}
}

/// A job with its measured loops, whatever its lock is.
pub(crate) trait Loops<W: World>: Job {
    /// Makes turns while the stage is in `phase`, and no clock is read.
    fn bare(&self, stage: &Stage<W>, me: u32, phase: u32, local: &mut Self::Local, turns: &mut u64);

    /// Makes turns while the stage is in [`TIME`], every acquisition timed.
    fn timed(&self, stage: &Stage<W>, me: u32, local: &mut Self::Local, turns: &mut u64, waits: &mut Waits);
}

impl<W: World, J: Job> Loops<W> for J {
    fn bare(&self, stage: &Stage<W>, me: u32, phase: u32, local: &mut J::Local, turns: &mut u64) {
        turn_while(self, stage, me, phase, local, turns, &mut Bare);
    }

    fn timed(&self, stage: &Stage<W>, me: u32, local: &mut J::Local, turns: &mut u64, waits: &mut Waits) {
        turn_while(self, stage, me, TIME, local, turns, &mut Timed { stage, waits });
    }
}

/// A job whose threads each keep a `T`, behind its table of functions.
pub(crate) type AnyJob<W, T> = dyn Loops<W, Local = T>;

/// What stands around each acquisition.
pub(crate) trait Meter {
    /// Does `acquisition`, which acquires, does its section and releases.
    fn around<R>(&mut self, acquisition: impl FnOnce() -> R) -> R;
}

/// No clock at all.
pub(crate) struct Bare;

impl Meter for Bare {
    #[inline(always)]
    fn around<R>(&mut self, acquisition: impl FnOnce() -> R) -> R {
        acquisition()
    }
}

/// How long one thread's acquisitions took, in ticks, and how far they were apart.
pub(crate) struct Waits {
    waits: Histogram,
    gaps: Histogram,
    /// When the last acquisition was over.
    last: u64,
}

impl Waits {
    /// For a thread that comes, at `now`, out of an operation that it began before the window did.
    fn new(from: u64, now: u64) -> Self {
        let mut waits = Waits { waits: Histogram::default(), gaps: Histogram::default(), last: from };
        // A lower bound of what it waited, and all that is known of a thread that got nothing in the window.
        waits.waits.record_at_least(now.saturating_sub(from));
        waits
    }

    #[inline]
    fn record(&mut self, asked: u64, done: u64, until: u64) {
        if asked >= until {
            return;
        }
        // A wait that was in progress at the end of the window counts up to there: what follows it, with everybody
        // leaving, is not what is being measured.
        let done = done.min(until);
        self.waits.record(done.saturating_sub(asked));
        self.gaps.record(done.saturating_sub(self.last));
        self.last = done;
    }

    /// The last gap lasts until the end of the window.
    fn end(&mut self, until: u64) {
        self.gaps.record_at_least(until.saturating_sub(self.last));
    }

    fn merge(&mut self, other: &Waits) {
        self.waits.merge(&other.waits);
        self.gaps.merge(&other.gaps);
    }

    /// Writes the figures into `row`.
    pub(crate) fn fill<W: World>(&self, row: &mut Row) {
        let ns = W::ns_per_tick();
        let quantile = |p| self.waits.quantile(p).map(|ticks| ticks * ns);
        row.wait_p50_ns = quantile(0.5);
        row.wait_p99_ns = quantile(0.99);
        row.wait_p999_ns = quantile(0.999);
        row.wait_max_ns = Some(self.waits.max() as f64 * ns);
        row.starve_p90_ns = self.gaps.quantile_by_size(0.9).map(|ticks| ticks * ns);
        row.starve_max_ns = Some(self.gaps.max() as f64 * ns);
    }
}

/// A clock before and after.
struct Timed<'a, W: World> {
    stage: &'a Stage<W>,
    waits: &'a mut Waits,
}

impl<W: World> Meter for Timed<'_, W> {
    #[inline(always)]
    fn around<R>(&mut self, acquisition: impl FnOnce() -> R) -> R {
        let asked = W::ticks();
        let result = acquisition();
        self.waits.record(asked, W::ticks(), self.stage.timed_until());
        result
    }
}

/// The state of everything that is counted, at one moment.
pub(crate) struct Snapshot {
    at_ns: u64,
    usage: Usage,
    spent: Option<ondeck_sim::Spent>,
    counts: Vec<u64>,
}

impl Snapshot {
    pub(crate) fn take<W: World, R: Send + 'static>(crews: &[&Crew<W, R>]) -> Self {
        let counts = crews.iter().flat_map(|crew| crew.counts()).collect();
        Snapshot { at_ns: W::now_ns(), usage: W::usage(), spent: W::spent(), counts }
    }

    /// Writes what happened since `earlier` into `row`; a count stands for `ops` operations.
    pub(crate) fn fill(&self, earlier: &Snapshot, ops: u64, row: &mut Row) {
        let seconds = (self.at_ns - earlier.at_ns) as f64 / 1e9;
        let counts: Vec<u64> = self.counts.iter().zip(&earlier.counts).map(|(now, then)| (now - then) * ops).collect();
        let total: u64 = counts.iter().sum();
        row.seconds = seconds;
        row.ops = Some(total);
        row.ops_per_s = Some(total as f64 / seconds);
        row.ns_per_op = (total > 0).then(|| seconds * 1e9 / total as f64);
        row.cpus = Some((self.usage.cpu_ns - earlier.usage.cpu_ns) as f64 / 1e9 / seconds);
        row.ctx_switches_per_s = Some((self.usage.ctx_switches - earlier.usage.ctx_switches) as f64 / seconds);
        (row.jain, row.min_share) = fairness(&counts).unzip();
        row.spent = self.spent.zip(earlier.spent).map(|(now, then)| spent_ns(now - then));
    }
}

/// As result files have times.
fn spent_ns(spent: ondeck_sim::Spent) -> Spent {
    let ns = |ps: u64| ps as f64 / 1e3;
    Spent {
        work_ns: ns(spent.work_ps),
        transfer_ns: ns(spent.transfer_ps),
        queue_ns: ns(spent.queue_ps),
        pause_ns: ns(spent.pause_ps),
        kernel_ns: ns(spent.kernel_ps),
        ready_ns: ns(spent.ready_ps),
        waking_ns: ns(spent.waking_ps),
        asleep_ns: ns(spent.asleep_ps),
    }
}

/// Jain's index, and the smallest count as a part of the mean; `None` if nothing was done.
fn fairness(counts: &[u64]) -> Option<(f64, f64)> {
    let (n, sum) = (counts.len() as f64, counts.iter().sum::<u64>() as f64);
    let squares: f64 = counts.iter().map(|&count| (count as f64).powi(2)).sum();
    (sum > 0.0).then(|| (sum * sum / (n * squares), counts.iter().min().map_or(0.0, |&least| least as f64 * n / sum)))
}

/// What one thread of a job brings home: what it kept, a `T`, and what was counted of it.
pub(crate) struct Report<T> {
    pub(crate) turns: u64,
    pub(crate) local: T,
    pub(crate) waits: Waits,
}

/// All that one thread does.
pub(crate) fn work<W: World, T: Send + 'static>(job: &AnyJob<W, T>, stage: &Stage<W>, me: u32) -> Report<T> {
    let (mut local, mut turns) = (job.local(me), 0);
    job.bare(stage, me, WARM_UP, &mut local, &mut turns);
    job.window_begins(&mut local);
    job.bare(stage, me, COUNT, &mut local, &mut turns);
    job.window_ends(&mut local);
    let (from, until) = stage.timed_bounds();
    let mut waits = Waits::new(from, W::ticks().min(until));
    job.timed(stage, me, &mut local, &mut turns, &mut waits);
    waits.end(stage.timed_bounds().1);
    Report { turns, local, waits }
}

/// The measured loop. It is kept out of line so that all its instances are compiled alike, whatever is around them.
#[inline(never)]
fn turn_while<W: World, J: Job, M: Meter>(
    job: &J,
    stage: &Stage<W>,
    me: u32,
    phase: u32,
    local: &mut J::Local,
    turns: &mut u64,
    meter: &mut M,
) {
    let (counter, mut n) = (stage.counter(me), *turns);
    while stage.phase() == phase {
        job.turn(local, meter);
        n += 1;
        counter.store(J::counted(local, n), Relaxed);
    }
    *turns = n;
}

/// Measures a job in the ordinary course: warm up, count, time if asked, stop, check.
pub(crate) fn measure<W: World, T: Send + 'static>(
    conditions: &Conditions,
    job: Arc<AnyJob<W, T>>,
    timed: bool,
) -> Result<Row, End> {
    let theirs = job.clone();
    let body = Arc::new(move |stage: &Stage<W>, me| work(&*theirs, stage, me));
    let crew = Crew::start(conditions, conditions.threads, body)?;
    crew.begin();
    warm_up(&crew, conditions)?;
    let mut row = conditions.row();
    count_window(&crew, conditions, job.ops_per_turn(), &mut row)?;
    if timed {
        crew.enter(TIME);
        watch(&[&crew], conditions.timed_ns())?;
    }
    let reports = crew.dismiss()?;
    let made = reports.iter().map(|report| job.made(&report.local, report.turns)).sum();
    conditions.check_updates(made, job.updates())?;
    if timed {
        let mut waits = Waits::new(0, 0);
        reports.iter().for_each(|report| waits.merge(&report.waits));
        waits.fill::<W>(&mut row);
    }
    let locals: Vec<T> = reports.into_iter().map(|report| report.local).collect();
    job.add_figures(&locals, &mut row);
    Ok(row)
}

/// Waits until the crew is warm: until what three warm-ups in a row count is the same but for a fiftieth, or as many are
/// made as may be.
fn warm_up<W: World, R: Send + 'static>(crew: &Crew<W, R>, conditions: &Conditions) -> Result<(), End> {
    let mut counts = vec![crew.counts().sum()];
    for _ in 0..conditions.most_warm_ups {
        watch(&[crew], conditions.warm_up_ns())?;
        counts.push(crew.counts().sum());
        if has_settled(&counts) {
            break;
        }
    }
    Ok(())
}

/// Whether the last three counts made each more than nothing, and the same but for a fiftieth.
fn has_settled(counts: &[u64]) -> bool {
    let made: Vec<u64> = counts.windows(2).rev().take(3).map(|pair| pair[1] - pair[0]).collect();
    let (least, most) = (made.iter().min().copied().unwrap_or(0), made.iter().max().copied().unwrap_or(0));
    made.len() == 3 && least > 0 && (most - least) * 50 <= most
}

/// Counts for one window.
fn count_window<W: World, R: Send + 'static>(
    crew: &Crew<W, R>,
    conditions: &Conditions,
    ops: u64,
    row: &mut Row,
) -> Result<(), End> {
    crew.enter(COUNT);
    let before = Snapshot::take(&[crew]);
    watch(&[crew], conditions.window_ns)?;
    Snapshot::take(&[crew]).fill(&before, ops, row);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crew_has_settled_when_three_warm_ups_count_the_same() {
        assert!(has_settled(&[0, 7, 107, 205, 304]));
        assert!(!has_settled(&[0, 107, 205, 307]), "98 and 102 differ by more than a fiftieth");
        assert!(!has_settled(&[0, 100, 200]), "two are not three");
        assert!(!has_settled(&[0, 0, 0, 0]), "nothing may move yet");
    }

    #[test]
    fn shares_by_hand() {
        assert_eq!(fairness(&[10, 10]), Some((1.0, 1.0)));
        assert_eq!(fairness(&[20, 0]), Some((0.5, 0.0)));
        assert_eq!(fairness(&[1, 3]), Some((0.8, 0.5)));
        assert_eq!(fairness(&[0, 0]), None);
    }

    #[test]
    fn a_window_is_what_lies_between_two_snapshots() {
        let snapshot = |at_ns, cpu_ns, ctx_switches, counts: &[u64]| Snapshot {
            at_ns,
            usage: Usage { cpu_ns, ctx_switches },
            spent: None,
            counts: counts.to_vec(),
        };
        let mut row = Row::default();
        let before = snapshot(1_000, 500, 10, &[7, 9]);
        snapshot(2_000_001_000, 3_000_000_500, 50, &[107, 309]).fill(&before, 2, &mut row);
        assert_eq!((row.seconds, row.ops, row.ops_per_s, row.ns_per_op), (2.0, Some(800), Some(400.0), Some(2.5e6)));
        assert_eq!((row.cpus, row.ctx_switches_per_s), (Some(1.5), Some(20.0)));
        assert_eq!((row.jain, row.min_share), (Some(0.8), Some(0.5)));
    }

    #[test]
    fn waits_end_with_the_window() {
        // Came out of an old acquisition 30 ticks into the window, which is open from 100 to 1000.
        let mut waits = Waits::new(100, 130);
        waits.record(200, 210, 1000);
        waits.record(300, 5000, 1000);
        waits.record(6000, 7000, 1000);
        waits.end(1000);
        assert_eq!((waits.waits.max(), waits.waits.quantile(0.1)), (700, Some(10.0)));
        assert_eq!((waits.gaps.max(), waits.gaps.quantile(0.1)), (790, Some(110.5)));
        // Got nothing at all: waited for the whole window.
        let mut waits = Waits::new(100, 1000);
        waits.end(1000);
        assert_eq!((waits.waits.max(), waits.gaps.max()), (900, 900));
        assert_eq!(waits.waits.quantile(0.5), None);
    }
}
