//! From counters to figures: windows between two snapshots, and the loops that most workloads are.
//!
//! What is measured is compiled once per lock, and nothing else: a [`Job`] is behind a table of functions ([`Loops`])
//! whose two loops are the only ones that know the lock. All that is around them is compiled once.
//!
//! Throughput and waits come from two windows of one measurement. In the first the loops are bare: reading a clock
//! costs half of an uncontended acquisition. In the second every acquisition is timed, from asking to having given the
//! lock up again, with both readings outside the critical section.

use crate::conditions::{Conditions, End};
use crate::execution::{Execution, Usage};
use crate::thread_group::{Body, COUNT, GroupState, TIME, ThreadGroup, WARM_UP, watch};
use ondeck_kit::histogram::Histogram;
use ondeck_report::row::{Row, STARVE_MAX_NS, STARVE_P90_NS, WAIT_MAX_NS, WAIT_P50_NS, WAIT_P99_NS, WAIT_P999_NS};
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
    fn counted(&self, _local: &Self::Local, turns: u64) -> u64 {
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
pub(crate) trait Loops<E: Execution>: Job {
    /// Makes turns while the group is in `phase`, and no clock is read.
    fn bare(&self, state: &GroupState<E>, me: u32, phase: u32, local: &mut Self::Local, turns: &mut u64);

    /// Makes turns while the group is in [`TIME`], every acquisition timed.
    fn timed(&self, state: &GroupState<E>, me: u32, local: &mut Self::Local, turns: &mut u64, waits: &mut Waits);
}

impl<E: Execution, J: Job> Loops<E> for J {
    fn bare(&self, state: &GroupState<E>, me: u32, phase: u32, local: &mut J::Local, turns: &mut u64) {
        turn_while(self, state, me, phase, local, turns, &mut NoClock);
    }

    fn timed(&self, state: &GroupState<E>, me: u32, local: &mut J::Local, turns: &mut u64, waits: &mut Waits) {
        turn_while(self, state, me, TIME, local, turns, &mut ClockMeter { state, waits });
    }
}

/// A job whose threads each keep a `T`, behind its table of functions.
pub(crate) type AnyJob<E, T> = dyn Loops<E, Local = T>;

/// What stands around each acquisition.
pub(crate) trait Meter {
    /// Does `acquisition`, which acquires, does its section and releases.
    fn around<R>(&mut self, acquisition: impl FnOnce() -> R) -> R;
}

/// No clock at all.
pub(crate) struct NoClock;

impl Meter for NoClock {
    #[inline(always)]
    fn around<R>(&mut self, acquisition: impl FnOnce() -> R) -> R {
        acquisition()
    }
}

/// How long something took, again and again, in ticks; of what an end of the window has cut, the part that was seen.
#[derive(Default)]
struct Spans {
    /// All but those that were cut at the beginning, which take part in the maximum.
    all: Histogram,
    /// Those that were cut, at either end.
    cut: Histogram,
}

impl Spans {
    /// Began before the window.
    fn cut_before(&mut self, span: u64) {
        self.all.record_at_least(span);
        if span > 0 {
            self.cut.record(span);
        }
    }

    /// Would have gone on after the window; or began before it, and counts nevertheless.
    fn cut_after(&mut self, span: u64) {
        self.all.record(span);
        self.cut.record(span);
    }

    fn merge(&mut self, other: &Spans) {
        self.all.merge(&other.all);
        self.cut.merge(&other.cut);
    }

    /// The longest, and whether it was cut.
    fn max(&self) -> (f64, bool) {
        (self.all.max() as f64, self.all.max() > 0 && self.cut.max() == self.all.max())
    }

    /// A quantile, by number or by the part that each has in their sum, and whether it is a lower bound: of those that are
    /// as long, more than half were cut; or with those that were cut at the beginning it would be larger by a tenth.
    fn quantile(&self, p: f64, by_size: bool) -> Option<(f64, bool)> {
        let of = |spans: &Histogram| if by_size { spans.quantile_by_size(p) } else { spans.quantile(p) };
        let quantile = of(&self.all)?;
        let ((n, sum), (n_cut, sum_cut)) = (self.all.from(quantile), self.cut.from(quantile));
        let most_are_cut = if by_size { 2.0 * sum_cut > sum } else { 2 * n_cut > n };
        let mut with_cut = self.all.clone();
        with_cut.merge(&self.cut);
        let is_moved = of(&with_cut).is_some_and(|other| other > 1.1 * quantile);
        Some((quantile, most_are_cut || is_moved))
    }
}

/// How long one thread's acquisitions took, and how far they were apart.
#[derive(Default)]
pub(crate) struct Waits {
    waits: Spans,
    gaps: Spans,
    /// When the window began.
    from: u64,
    /// When the last acquisition was over.
    last: u64,
}

impl Waits {
    /// For a thread that comes, at `now`, out of an operation that it began before the window did.
    fn new(from: u64, now: u64) -> Self {
        let mut waits = Waits { from, last: from, ..Waits::default() };
        // A lower bound of what it waited, and all that is known of a thread that got nothing in the window.
        waits.waits.cut_before(now.saturating_sub(from));
        waits
    }

    #[inline]
    fn record(&mut self, asked: u64, done: u64, until: u64) {
        if asked >= until {
            return;
        }
        // A wait that was in progress at the end of the window counts up to there: what follows it, with everybody
        // leaving, is not what is being measured.
        let (is_cut, done) = (done > until, done.min(until));
        let (wait, gap) = (done.saturating_sub(asked), done.saturating_sub(self.last));
        if is_cut {
            self.waits.cut_after(wait)
        } else {
            self.waits.all.record(wait)
        }
        // What lies before the first acquisition began before the window.
        if is_cut || self.last == self.from {
            self.gaps.cut_after(gap)
        } else {
            self.gaps.all.record(gap)
        }
        self.last = done;
    }

    /// The last gap lasts until the end of the window.
    fn end(&mut self, until: u64) {
        self.gaps.cut_before(until.saturating_sub(self.last));
    }

    fn merge(&mut self, other: &Waits) {
        self.waits.merge(&other.waits);
        self.gaps.merge(&other.gaps);
    }

    /// Writes the figures into `row`.
    pub(crate) fn fill<E: Execution>(&self, row: &mut Row) {
        let ns = E::ns_per_tick();
        let mut figure = |metric, found: Option<(f64, bool)>| {
            let (ticks, is_cut) = found?;
            if is_cut {
                row.set_at_least(metric);
            }
            Some(ticks * ns)
        };
        let p50 = figure(WAIT_P50_NS, self.waits.quantile(0.5, false));
        let p99 = figure(WAIT_P99_NS, self.waits.quantile(0.99, false));
        let p999 = figure(WAIT_P999_NS, self.waits.quantile(0.999, false));
        let max = figure(WAIT_MAX_NS, Some(self.waits.max()));
        let gap_p90 = figure(STARVE_P90_NS, self.gaps.quantile(0.9, true));
        let gap_max = figure(STARVE_MAX_NS, Some(self.gaps.max()));
        [row.wait_p50_ns, row.wait_p99_ns, row.wait_p999_ns, row.wait_max_ns] = [p50, p99, p999, max];
        [row.starve_p90_ns, row.starve_max_ns] = [gap_p90, gap_max];
    }
}

/// How long each pass or wait took, of a workload that counts these and not its turns.
#[derive(Default)]
pub(crate) struct Timings {
    n: u64,
    sum: u64,
    pub(crate) spread: Histogram,
}

impl Timings {
    pub(crate) fn record(&mut self, span: u64) {
        self.n += 1;
        self.sum += span;
        self.spread.record(span);
    }

    pub(crate) fn merge(&mut self, other: &Timings) {
        self.n += other.n;
        self.sum += other.sum;
        self.spread.merge(&other.spread);
    }

    /// Writes the figures into `row`, with spans of `unit_ns`, instead of those of turns: how many turns there are says
    /// nothing.
    pub(crate) fn fill(&self, unit_ns: f64, row: &mut Row) {
        let quantile = |p| self.spread.quantile(p).map(|span| span * unit_ns);
        row.ops = Some(self.n);
        row.ops_per_s = None;
        row.ns_per_op = (self.n > 0).then(|| self.sum as f64 / self.n as f64 * unit_ns);
        row.wait_p50_ns = quantile(0.5);
        row.wait_p99_ns = quantile(0.99);
        row.wait_p999_ns = quantile(0.999);
        row.wait_max_ns = (self.n > 0).then(|| self.spread.max() as f64 * unit_ns);
        (row.jain, row.min_share) = (None, None);
    }
}

/// A clock before and after.
struct ClockMeter<'a, E: Execution> {
    state: &'a GroupState<E>,
    waits: &'a mut Waits,
}

impl<E: Execution> Meter for ClockMeter<'_, E> {
    #[inline(always)]
    fn around<R>(&mut self, acquisition: impl FnOnce() -> R) -> R {
        let asked = E::ticks();
        let result = acquisition();
        self.waits.record(asked, E::ticks(), self.state.timed_until());
        result
    }
}

/// The state of everything that is counted, at one moment.
pub(crate) struct Snapshot {
    at_ns: u64,
    usage: Usage,
    counts: Vec<u64>,
}

impl Snapshot {
    pub(crate) fn take<E: Execution, R: Send + 'static>(groups: &[&ThreadGroup<E, R>]) -> Self {
        let counts = groups.iter().flat_map(|group| group.counts()).collect();
        Snapshot { at_ns: E::now_ns(), usage: E::usage(), counts }
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
pub(crate) fn work<E: Execution, T: Send + 'static>(job: &AnyJob<E, T>, state: &GroupState<E>, me: u32) -> Report<T> {
    let (mut local, mut turns) = (job.local(me), 0);
    job.bare(state, me, WARM_UP, &mut local, &mut turns);
    job.window_begins(&mut local);
    job.bare(state, me, COUNT, &mut local, &mut turns);
    job.window_ends(&mut local);
    let (from, until) = state.timed_bounds();
    let mut waits = Waits::new(from, E::ticks().min(until));
    job.timed(state, me, &mut local, &mut turns, &mut waits);
    waits.end(state.timed_bounds().1);
    Report { turns, local, waits }
}

/// The measured loop. It is kept out of line so that all its instances are compiled alike, whatever is around them.
#[inline(never)]
fn turn_while<E: Execution, J: Job, M: Meter>(
    job: &J,
    state: &GroupState<E>,
    me: u32,
    phase: u32,
    local: &mut J::Local,
    turns: &mut u64,
    meter: &mut M,
) {
    let (counter, mut n) = (state.counter(me), *turns);
    while state.phase() == phase {
        job.turn(local, meter);
        n += 1;
        counter.store(job.counted(local, n), Relaxed);
    }
    *turns = n;
}

/// Measures a job in the ordinary course: warm up, count, time if asked, stop, check.
pub(crate) fn measure<E: Execution, T: Send + 'static>(
    conditions: &Conditions,
    job: Arc<AnyJob<E, T>>,
    timed: bool,
) -> Result<Row, End> {
    let theirs = job.clone();
    let body = Arc::new(move |state: &GroupState<E>, me| work(&*theirs, state, me));
    let group = ThreadGroup::start(conditions, conditions.threads, body)?;
    group.begin();
    warm_up(&group, conditions)?;
    let mut row = conditions.row();
    count_window(&group, conditions, job.ops_per_turn(), &mut row)?;
    if timed {
        group.enter(TIME);
        watch(&[&group], conditions.timed_ns())?;
    }
    let reports = group.dismiss()?;
    let made = reports.iter().map(|report| job.made(&report.local, report.turns)).sum();
    conditions.check_updates(made, job.updates())?;
    if timed {
        let mut waits = Waits::default();
        reports.iter().for_each(|report| waits.merge(&report.waits));
        waits.fill::<E>(&mut row);
    }
    let locals: Vec<T> = reports.into_iter().map(|report| report.local).collect();
    job.add_figures(&locals, &mut row);
    Ok(row)
}

/// Waits until the group is warm: until what three warm-ups in a row count is the same but for a fiftieth, or as many are
/// made as may be.
fn warm_up<E: Execution, R: Send + 'static>(group: &ThreadGroup<E, R>, conditions: &Conditions) -> Result<(), End> {
    let mut counts = vec![group.counts().sum()];
    for _ in 0..conditions.most_warm_ups {
        watch(&[group], conditions.warm_up_ns())?;
        counts.push(group.counts().sum());
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

/// Measures `n` threads that each do `body`, and count by themselves what they do, for one window. Gives the row, and what they
/// report.
pub(crate) fn measure_counting<E: Execution, R: Send + 'static>(
    conditions: &Conditions,
    n: u32,
    body: Arc<Body<E, R>>,
) -> Result<(Row, Vec<R>), End> {
    let group = ThreadGroup::start(conditions, n, body)?;
    group.begin();
    watch(&[&group], conditions.warm_up_ns())?;
    let mut row = conditions.row();
    count_window(&group, conditions, 1, &mut row)?;
    Ok((row, group.dismiss()?))
}

/// Counts for one window.
fn count_window<E: Execution, R: Send + 'static>(
    group: &ThreadGroup<E, R>,
    conditions: &Conditions,
    ops: u64,
    row: &mut Row,
) -> Result<(), End> {
    group.enter(COUNT);
    let before = Snapshot::take(&[group]);
    watch(&[group], conditions.window_ns)?;
    Snapshot::take(&[group]).fill(&before, ops, row);
    Ok(())
}

/// How much work there is in a nanosecond, as a thread finds that has a core to itself; the best of some attempts, since
/// anything that comes between makes it less.
pub(crate) fn units_per_ns<E: Execution>(conditions: &Conditions) -> Result<f64, End> {
    const UNITS: u32 = 50_000;
    let body = |_: &GroupState<E>, _| {
        let ticks = (0..20).map(|_| {
            let began = E::ticks();
            E::spend(UNITS);
            E::ticks().saturating_sub(began).max(1)
        });
        ticks.min().unwrap_or(1)
    };
    let group = ThreadGroup::<E, u64>::start(conditions, 1, Arc::new(body))?;
    let ticks = group.dismiss()?.pop().unwrap_or(1);
    Ok(f64::from(UNITS) / (ticks as f64 * E::ns_per_tick()))
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
        assert_eq!((waits.waits.all.max(), waits.waits.all.quantile(0.1)), (700, Some(10.0)));
        assert_eq!((waits.gaps.all.max(), waits.gaps.all.quantile(0.1)), (790, Some(110.5)));
        // Got nothing at all: waited for the whole window.
        let mut waits = Waits::new(100, 1000);
        waits.end(1000);
        assert_eq!((waits.waits.all.max(), waits.gaps.all.max()), (900, 900));
        assert_eq!(waits.waits.all.quantile(0.5), None);
    }

    /// What is said of the figures of these waits in a window from 100 to 1000.
    fn at_least(threads: &[(u64, &[(u64, u64)])]) -> String {
        let mut all = Waits::default();
        for (came, acquisitions) in threads {
            let mut waits = Waits::new(100, *came);
            acquisitions.iter().for_each(|(asked, done)| waits.record(*asked, *done, 1000));
            waits.end(1000);
            all.merge(&waits);
        }
        let mut row = Row::default();
        all.fill::<ondeck_sim::Simulated>(&mut row);
        row.at_least
    }

    #[test]
    fn what_the_window_has_cut_is_a_lower_bound() {
        let often: Vec<(u64, u64)> = (10..100).map(|i| (i * 10, i * 10 + 5)).collect();
        assert_eq!(at_least(&[(100, &often)]), "", "all waits are whole, and the longest gap too");
        let late = [&often[..88], &[(985, 1200)]].concat();
        let cut = "wait_p99_ns wait_p999_ns wait_max_ns starve_max_ns";
        assert_eq!(at_least(&[(100, &late)]), cut, "15 ticks of the last of 89 waits were seen");
        let long_ago: Vec<(u64, u64)> = [&[(150, 190)], &often[10..]].concat();
        assert_eq!(
            at_least(&[(100, &long_ago)]),
            "starve_p90_ns starve_max_ns",
            "the gap before it began before the window"
        );
        // One thread has it all, two wait from before the window until after it.
        let starved = at_least(&[(100, &often), (1000, &[]), (1000, &[])]);
        assert_eq!(starved, "wait_p99_ns wait_p999_ns wait_max_ns starve_p90_ns starve_max_ns");
    }
}
