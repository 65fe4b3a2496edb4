//! Measures points on this machine and simulates the same ones, in turn.
//!
//! In turn, so that a run that is ended early has both figures of all settings that it has come to. The locks of a setting
//! are measured right after each other in each round, as `driver` does it.

use crate::calibrate::line_ns_now;
use crate::driver;
use crate::plan::{Cut, Failure, Outcome, Plan, Point, Progress};
use crate::points::n_rows;
use crate::simulate::{self, MachinePlan};
use crate::world::{Hardware, Simulated};
use ondeck_report::row::Row;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What is measured, and what is simulated of it.
#[derive(Clone, Debug)]
pub struct CheckPlan {
    /// The points, those of one setting after each other, and how they are measured.
    pub measured: Plan,
    /// The machine, and how the points are simulated on it. Its own points are left aside.
    pub simulated: MachinePlan,
}

impl CheckPlan {
    /// The same for the points of one setting. Each setting draws orders of its own.
    fn of(&self, place: usize, points: &[Point]) -> (Plan, MachinePlan) {
        let mut simulated = self.simulated.clone();
        simulated.plan.points = points.to_vec();
        let seed = self.measured.seed.wrapping_add(place as u64);
        (Plan { points: points.to_vec(), seed, ..self.measured.clone() }, simulated)
    }

    fn settings(&self) -> impl Iterator<Item = &[Point]> {
        self.measured.points.chunk_by(|one, other| (one.workload, one.threads) == (other.workload, other.threads))
    }

    /// How many rows there will be.
    fn total(&self) -> usize {
        let rows = |of: fn(&Point) -> usize| self.measured.points.iter().map(of).sum::<usize>();
        let (rounds, seeds) = (self.measured.rounds as usize, self.simulated.plan.rounds as usize);
        rows(n_rows::<Hardware>) * rounds + rows(n_rows::<Simulated>) * seeds
    }
}

/// Refuses a plan that cannot be run; the points are those of the first. It takes no machine, so that nobody has to measure
/// one for nothing.
///
/// # Errors
/// In one line with what is accepted.
pub fn check(measured: &Plan, simulated: &Plan) -> Result<(), Failure> {
    driver::check(measured)?;
    simulate::check(&Plan { points: measured.points.clone(), ..simulated.clone() })
}

/// Runs `plan`. Setting `stop` ends it early with the rows that are ready.
///
/// # Errors
/// The first failure, with the rows before it.
pub fn run(plan: &CheckPlan, stop: &AtomicBool, on_progress: &mut dyn FnMut(Progress)) -> Result<Outcome, Cut> {
    check(&plan.measured, &plan.simulated.plan)?;
    let total = plan.total();
    let mut rows: Vec<Row> = Vec::new();
    let mut lines_ns = Vec::from_iter(line_ns_now());
    for (place, points) in plan.settings().enumerate() {
        let (measured, simulated) = plan.of(place, points);
        add(&mut rows, total, on_progress, |tell| driver::run(&measured, stop, tell))?;
        lines_ns.extend(line_ns_now());
        if stop.load(Relaxed) {
            break;
        }
        add(&mut rows, total, on_progress, |tell| simulate::run(&simulated, stop, tell))?;
    }
    if let Some(warning) = moved(&lines_ns) {
        on_progress(Progress::Warning(warning));
    }
    Ok(Outcome { rows, timeline: None })
}

/// A complaint if cache lines were much slower at one time than at another.
fn moved(lines_ns: &[f64]) -> Option<String> {
    /// More than a busy neighbour makes of it.
    const MUCH: f64 = 1.6;
    let least = lines_ns.iter().copied().fold(f64::INFINITY, f64::min);
    let most = lines_ns.iter().copied().fold(0.0, f64::max);
    (most > MUCH * least).then(|| {
        format!(
            "a cache line took {least:.0} to {most:.0} ns from the first CPU to the second. A hypervisor may have moved the \
             CPUs to other cores. The machine that is simulated stays as it was calibrated, so where several threads want \
             short sections, the errors tell more about the move than about the simulation."
        )
    })
}

/// Adds the rows of a part of the whole, and tells of them as such.
fn add(
    rows: &mut Vec<Row>,
    total: usize,
    on_progress: &mut dyn FnMut(Progress),
    run: impl FnOnce(&mut dyn FnMut(Progress)) -> Result<Outcome, Cut>,
) -> Result<(), Cut> {
    let before = rows.len();
    let end = run(&mut |progress| {
        on_progress(match progress {
            Progress::Row { row, done, .. } => Progress::Row { row, done: before + done, total },
            warning @ Progress::Warning(_) => warning,
        });
    });
    match end {
        Ok(outcome) => {
            rows.extend(outcome.rows);
            Ok(())
        }
        Err(cut) => {
            rows.extend(cut.rows);
            Err(Cut { rows: std::mem::take(rows), ..cut })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Pin;
    use crate::workload::WorkloadSpec;

    fn plan(points: &[(&str, &str, u32)]) -> CheckPlan {
        let point = |&(workload, lock, threads): &(&str, &str, u32)| Point {
            workload: WorkloadSpec::parse_name(workload).unwrap(),
            lock: lock.parse().unwrap(),
            threads,
        };
        let points = points.iter().map(point).collect();
        let measured = Plan { points, rounds: 2, seconds: Some(0.01), seed: 1, pin: Pin::None, earlier: Vec::new() };
        let plan = Plan { points: Vec::new(), rounds: 1, seconds: Some(0.001), ..measured.clone() };
        let machine = simulate::machine("m1", None).unwrap();
        CheckPlan { measured, simulated: MachinePlan { plan, machine, machine_words: "m1".into(), record: false } }
    }

    #[test]
    fn each_setting_is_measured_and_then_simulated() {
        let plan = plan(&[("solo", "std", 1), ("solo", "ondeck", 1), ("mutex-contention", "std", 2)]);
        let mut told = Vec::new();
        let outcome = run(&plan, &AtomicBool::new(false), &mut |progress| {
            if let Progress::Row { done, total, .. } = progress {
                told.push((done, total));
            }
        });
        let rows = outcome.unwrap().rows;
        assert_eq!(told, (1..=9).map(|done| (done, 9)).collect::<Vec<_>>());
        let places: Vec<(&str, &str)> = rows.iter().map(|row| (row.workload.as_str(), row.platform.as_str())).collect();
        let (solo, contention) = ("solo", "mutex-contention");
        let of = |workload, platform, n| vec![(workload, platform); n];
        let expected =
            [of(solo, "hardware", 4), of(solo, "sim", 2), of(contention, "hardware", 2), of(contention, "sim", 1)];
        assert_eq!(places, expected.concat());
    }

    #[test]
    fn a_run_that_is_stopped_keeps_its_rows() {
        let plan = plan(&[("solo", "std", 1), ("mutex-contention", "std", 2)]);
        let stop = AtomicBool::new(false);
        let outcome = run(&plan, &stop, &mut |progress| {
            stop.store(matches!(progress, Progress::Row { row, .. } if row.platform == "sim"), Relaxed);
        });
        let rows = outcome.unwrap().rows;
        assert_eq!(rows.len(), 3, "two rounds, a seed, and nothing of the next setting");
    }

    #[test]
    fn lines_that_became_slower_are_told() {
        assert_eq!(moved(&[]), None);
        assert_eq!(moved(&[40.0, 42.0, 60.0]), None);
        let warning = moved(&[42.0, 118.4, 40.0]).unwrap();
        assert!(warning.starts_with("a cache line took 40 to 118 ns "), "{warning}");
    }

    #[test]
    fn what_cannot_be_measured_or_simulated_is_refused() {
        let refused = |point| {
            let plan = plan(&[point]);
            check(&plan.measured, &plan.simulated.plan).unwrap_err().to_string()
        };
        assert!(refused(("solo", "parking-lot-reentrant", 1)).contains("compiled for hardware"));
        assert!(refused(("aim7", "std", 2)).contains("simulated machines only"));
        assert!(refused(("solo", "std", 2)).contains("exactly 1"));
    }
}
