//! Runs a plan: every lock at every point, in every round, in an order that is fair to all.
//!
//! All locks of one workload and thread count are measured right after each other, in an order drawn anew for each
//! round, so that whatever else happens to the machine happens to all of them. Nothing is averaged here.

use crate::bench_lock::{BenchLock, BenchLockVisitor};
use crate::busy_loops::{self, BusyLoops};
use crate::conditions::{Conditions, End};
use crate::execution::Execution;
use crate::noise::{FIRST_LOOKS_NS, LAST_SPAN_NS, Load, Pace, SPAN_NS};
use crate::plan::{Failure, Outcome, PartialRun, Pin, Plan, Point, Progress};
use crate::points;
use crate::this_machine;
use crate::workload::{self, WorkloadSpec};
use ondeck_core::Hardware;
use ondeck_report::row::Row;
use ondeck_sim::Random;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How long nothing may move before a lock is said to be stuck.
const PATIENCE_NS: u64 = 10_000_000_000;
/// Shortest window: enough for a clock to mean something.
pub const MIN_SECONDS: f64 = 0.001;
/// Length of a window where none is asked for.
pub const DEFAULT_SECONDS: f64 = 0.15;

/// Runs `plan` on this machine. Setting `stop` ends it early with the rows that are ready. After a
/// [`Fault::Stuck`](crate::plan::Fault::Stuck), threads are left behind that cannot be ended.
pub fn run(plan: &Plan, stop: &AtomicBool, on_progress: &mut dyn FnMut(Progress)) -> Result<Outcome, PartialRun> {
    check(plan)?;
    let loops = BusyLoops::start(plan.load).map_err(Failure::Plan)?;
    let mut pace = if plan.load > 0 {
        on_progress(Progress::Warning(busy_loops::told(plan.load)));
        Pace::unasked(stop)
    } else {
        let planned_ns = (planned_seconds(plan) * 1e9) as u64;
        // Beside busy neighbours it takes half as long again at most.
        Pace::new(FIRST_LOOKS_NS.min(planned_ns / 4), planned_ns / 2, stop)
    };
    points::explain::<Hardware>(&plan.points, on_progress);
    let cores = if plan.pin == Pin::Alternate { Hardware::cores() } else { Vec::new() };
    let machine = this_machine::fingerprint().beside(plan.load).machine;
    let setting = Setting { plan, machine: &machine, cores: &cores, stop };
    let total = plan.points.iter().map(points::n_rows::<Hardware>).sum::<usize>() * plan.rounds as usize;
    let mut load = Load::new(&loops);
    let measure = |round, point: &Point| Ok(pace.measure(|| setting.measure(round, point))?.value);
    let rows = collect(plan, measure, &mut |rows, done| {
        for (row, done) in rows.iter().zip(done + 1..) {
            on_progress(Progress::Row { row, done, total });
        }
        load.judge(SPAN_NS).into_iter().for_each(|warning| on_progress(Progress::Warning(warning)));
    });
    load.judge(LAST_SPAN_NS).into_iter().for_each(|warning| on_progress(Progress::Warning(warning)));
    pace.changed().into_iter().for_each(|warning| on_progress(Progress::Warning(warning)));
    rows.map(|rows| Outcome { rows, timeline: None })
}

/// Measures each point in each round and tells of its rows, and how many there were before.
fn collect(
    plan: &Plan,
    mut measure: impl FnMut(u32, &Point) -> Result<Vec<Row>, End>,
    on_point: &mut dyn FnMut(&[Row], usize),
) -> Result<Vec<Row>, PartialRun> {
    let mut rows = Vec::new();
    for (round, point) in order(plan) {
        let measured = match measure(round, point) {
            Ok(measured) => measured,
            Err(End::Interrupted) => break,
            Err(End::Failed(failure)) => return Err(PartialRun { failure: Box::new(failure), replay: None, rows }),
        };
        on_point(&measured, rows.len());
        rows.extend(measured);
    }
    Ok(rows)
}

/// What all points of a run have in common.
struct Setting<'a> {
    plan: &'a Plan,
    machine: &'a str,
    cores: &'a [u32],
    stop: &'a AtomicBool,
}

impl Setting<'_> {
    fn measure(&self, round: u32, point: &Point) -> Result<Vec<Row>, End> {
        if self.stop.load(Relaxed) {
            return Err(End::Interrupted);
        }
        let workload = point.workload.to_string();
        let conditions = Conditions {
            platform: Hardware::NAME,
            machine: self.machine,
            workload: &workload,
            lock: point.lock.as_str(),
            threads: point.threads,
            round,
            window_ns: (seconds(self.plan) * 1e9) as u64,
            most_warm_ups: 1,
            cores: self.cores,
            patience_ns: PATIENCE_NS,
            stop: self.stop,
        };
        points::measure::<Hardware>(
            point,
            &conditions,
            MeasureVisitor { spec: &point.workload, conditions: &conditions },
        )
    }
}

/// Measures a lock in the workload.
struct MeasureVisitor<'a> {
    spec: &'a WorkloadSpec,
    conditions: &'a Conditions<'a>,
}

impl BenchLockVisitor for MeasureVisitor<'_> {
    type Output = Result<Vec<Row>, End>;

    fn visit<L: BenchLock>(self) -> Self::Output {
        workload::run::<L, Hardware>(self.spec, self.conditions)
    }
}

/// Which point is measured when, with its round: groups of points that differ in the lock only, each group in random
/// order, in the order of the plan otherwise.
fn order(plan: &Plan) -> Vec<(u32, &Point)> {
    let mut groups: Vec<Vec<&Point>> = Vec::new();
    for point in &plan.points {
        let alike = |group: &&mut Vec<&Point>| group[0].workload == point.workload && group[0].threads == point.threads;
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(point),
            None => groups.push(vec![point]),
        }
    }
    let mut random = Random::new(plan.seed);
    let mut order = Vec::with_capacity(plan.points.len() * plan.rounds as usize);
    for round in 0..plan.rounds {
        for group in &mut groups {
            random.shuffle(group);
            order.extend(group.iter().map(|&point| (round, point)));
        }
    }
    order
}

/// Refuses a plan that cannot be run. [`run`] begins with this.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    plan.check_seconds(MIN_SECONDS)?;
    points::check::<Hardware>(&plan.points)
}

/// Length of the windows.
pub fn seconds(plan: &Plan) -> f64 {
    plan.seconds.unwrap_or(DEFAULT_SECONDS)
}

/// How long the plan takes: an upper estimate from what [`Plan::seconds`] says of warm-up and timing.
pub fn planned_seconds(plan: &Plan) -> f64 {
    let windows = plan.points.iter().map(|point| point.workload.windows()).sum::<f64>();
    windows * seconds(plan) * f64::from(plan.rounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Kind;

    fn plan(points: &[(&str, &str, u32)]) -> Plan {
        Plan { points: Point::all(points), rounds: 2, seconds: Some(0.02), seed: 1, pin: Pin::Alternate, load: 0 }
    }

    #[test]
    fn every_round_has_every_point_and_locks_stay_together() {
        let locks = ["std", "pthread", "parking-lot", "parking-lot-012"];
        let points: Vec<_> = locks.iter().flat_map(|&lock| [("solo", lock, 1), ("spike", lock, 2)]).collect();
        let plan = Plan { rounds: 6, ..plan(&points) };
        let order = order(&plan);
        let mut orders = std::collections::HashSet::new();
        for (round, points) in order.chunks(8).enumerate() {
            assert!(points.iter().all(|(of, _)| *of as usize == round));
            assert!(points[..4].iter().all(|(_, point)| point.workload.kind == Kind::Solo));
            assert!(plan.points.iter().all(|point| points.iter().filter(|(_, other)| *other == point).count() == 1));
            orders.insert(points[..4].iter().map(|(_, point)| point.lock.to_string()).collect::<Vec<_>>());
        }
        assert!(orders.len() > 1, "the order is drawn anew in each round");
    }

    #[test]
    fn a_plan_gives_its_rows() {
        let plan = plan(&[
            ("solo", "tas", 1),
            ("spike", "pthread", 2),
            ("handoff-slow", "std", 2),
            ("solo", "ondeck[look_ns=9]", 1),
            ("gc-wait", "spin-wait[yield_after_ns=5000]", 2),
            ("monitor-try-enter", "std", 1),
        ]);
        let mut told = (0, 0, Vec::new());
        let rows = run(&plan, &AtomicBool::new(false), &mut |progress| match progress {
            Progress::Row { done, total, .. } => (told.0, told.1) = (done, total),
            Progress::Warning(text) => told.2.push(text),
        });
        let rows = rows.unwrap().rows;
        assert_eq!((rows.len(), told.0, told.1), (20, 20, 20));
        assert!(
            told.2.iter().any(|text| text.contains("handoff-slow: std cannot tell whether a thread sleeps")),
            "{:?}",
            told.2
        );
        let phases: Vec<_> = rows.iter().filter(|row| row.lock == "pthread").map(|row| row.threads).collect();
        assert_eq!(phases, [2, 66, 2, 2, 66, 2]);
        assert!(rows.iter().any(|row| row.lock == "ondeck[look_ns=9]"), "rows tell the tuning");
    }

    #[test]
    fn rows_beside_a_load_are_of_another_machine() {
        let stop = AtomicBool::new(false);
        let machine_of = |load| {
            let plan = Plan { load, ..plan(&[("solo", "std", 1)]) };
            let mut warnings = Vec::new();
            let outcome = run(&plan, &stop, &mut |progress| match progress {
                Progress::Row { .. } => (),
                Progress::Warning(text) => warnings.push(text),
            });
            assert_eq!(warnings.iter().any(|text| text.contains("busy loops ran beside")), load > 0, "{warnings:?}");
            outcome.unwrap().rows[0].machine.clone()
        };
        assert_eq!(machine_of(2), format!("{}-load-2", machine_of(0)));
    }

    #[test]
    fn an_interrupted_run_keeps_its_rows() {
        let stop = AtomicBool::new(false);
        let plan = plan(&[("solo", "std", 1), ("solo", "pthread", 1)]);
        let rows = run(&plan, &stop, &mut |progress| stop.store(matches!(progress, Progress::Row { .. }), Relaxed));
        assert_eq!(rows.unwrap().rows.len(), 1);
    }

    #[test]
    fn a_failure_leaves_the_rows_before_it() {
        let plan = Plan { rounds: 3, ..plan(&[("solo", "std", 1), ("spike", "std", 2)]) };
        let failure = Failure::Plan("anything".into());
        let measure = |round, point: &Point| match (round, point.workload.kind) {
            (1, Kind::Spike) => Err(End::Failed(failure.clone())),
            _ => Ok(vec![Row { round, ..Row::default() }]),
        };
        let mut told = Vec::new();
        let on_point = &mut |rows: &[Row], before| told.push((rows[0].round, before));
        let cut = collect(&plan, measure, on_point).unwrap_err();
        assert_eq!((cut.rows.len(), told), (3, vec![(0, 0), (0, 1), (1, 2)]));
        assert_eq!(*cut.failure, failure);
    }

    #[test]
    fn impossible_plans_are_refused_with_what_is_accepted() {
        let refused = |plan: Plan, word: &str| {
            let cut = run(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap_err();
            assert!(cut.failure.to_string().contains(word) && cut.rows.is_empty(), "{cut:?}");
        };
        refused(plan(&[("solo", "std", 2)]), "exactly 1");
        refused(plan(&[("sections", "std", 1_000_000_000)]), "1 to 1024");
        refused(Plan { seconds: Some(-1.0), ..plan(&[]) }, "0.001 to 3600");
        refused(Plan { seconds: Some(f64::NAN), ..plan(&[]) }, "0.001 to 3600");
        refused(plan(&[("gc-wait", "std", 2)]), "a policy like spin-wait[yield_after_ns=5000]");
        refused(plan(&[("solo", "spin-wait[yield_after_ns=5000]", 1)]), "is not a lock");
    }
}
