//! Measures points on this machine and simulates the same ones, in turn.
//!
//! In turn, so that a run that is ended early has both figures of all settings that it has come to. The locks of a setting
//! are measured right after each other in each round, as `driver` does it.
//!
//! The simulated machine has the pace that this one had when it was calibrated. So a measurement counts if it found this
//! one at that pace (`noise.rs`).

use crate::busy_loops::BusyLoops;
use crate::calibrate::line_ns_now;
use crate::driver::{self, planned_ns};
use crate::execution::{Hardware, Simulated};
use crate::noise::{FIRST_LOOKS_NS, Pace};
use crate::plan::{Failure, Outcome, PartialRun, Plan, Point, Progress};
use crate::points::n_rows;
use crate::simulate::{self, MachinePlan};
use ondeck_report::row::Row;
use std::collections::{HashMap, HashSet};
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
pub fn run(plan: &CheckPlan, stop: &AtomicBool, on_progress: &mut dyn FnMut(Progress)) -> Result<Outcome, PartialRun> {
    check(&plan.measured, &plan.simulated.plan)?;
    let mut told = WholeProgress { done: 0, total: plan.total(), on_progress };
    let mut rows: Vec<Row> = Vec::new();
    let mut lines_ns = Vec::from_iter(line_ns_now());
    let wanted_ns = f64::from(plan.simulated.machine.kinds[0].work_ps) / 1e3;
    let mut pace = Pace::new(Some(wanted_ns), FIRST_LOOKS_NS, planned_ns(&plan.measured) / 2 + ADVANCE_NS, stop);
    let mismatch = pace.mismatch().map(|here_ns| of_another_pace(wanted_ns, here_ns));
    for (place, points) in plan.settings().enumerate() {
        let (measured, simulated) = plan.of(place, points);
        pace.add_time(planned_ns(&measured));
        let found =
            told.part(&mut rows, |tell| driver::run_at(&mut pace, &BusyLoops::default(), &measured, stop, tell))?;
        rows.extend(worth_keeping(found, measured.rounds));
        lines_ns.extend(line_ns_now());
        if stop.load(Relaxed) {
            break;
        }
        let found = told.part(&mut rows, |tell| simulate::run(&simulated, stop, tell))?;
        rows.extend(found);
    }
    let warnings = [mismatch, pace.missed(wanted_ns), moved(&lines_ns)];
    warnings.into_iter().flatten().for_each(|warning| (told.on_progress)(Progress::Warning(warning)));
    Ok(Outcome { rows, timeline: None })
}

/// As long as the measurements of a setting take, its waiting for the pace and its repeats may take too. Unused time is left
/// for later settings. The first ones have half of what the whole takes in advance, and so much.
const ADVANCE_NS: u64 = 5_000_000_000;

fn of_another_pace(wanted_ns: f64, here_ns: f64) -> String {
    format!(
        "a unit of work takes {here_ns:.2} ns here, and {wanted_ns:.2} ns on the machine that is simulated. So longer sections \
         are off by as much. If that machine is to be this one, calibrate it again."
    )
}

/// Of the rows of one setting those at the right pace, if a lock has enough of them; else all, each knowing what it is.
fn worth_keeping(mut rows: Vec<Row>, rounds: u32) -> Vec<Row> {
    /// Fewer rounds hardly tell how far they differ.
    const FEWEST: usize = 3;
    let enough = (rounds as usize).div_ceil(2).max(FEWEST.min(rounds as usize));
    let mut right: HashMap<String, HashSet<u32>> = HashMap::new();
    for row in rows.iter().filter(|row| !row.is_off_pace) {
        right.entry(row.lock.clone()).or_default().insert(row.round);
    }
    let is_enough = |lock: &str| right.get(lock).is_some_and(|found| found.len() >= enough);
    rows.retain(|row| !row.is_off_pace || !is_enough(&row.lock));
    rows
}

/// Tells of the rows of all parts as of one whole.
struct WholeProgress<'a> {
    done: usize,
    total: usize,
    on_progress: &'a mut dyn FnMut(Progress),
}

impl WholeProgress<'_> {
    /// The rows of a part. If it fails, those `before` it are given with its own.
    fn part(
        &mut self,
        before: &mut Vec<Row>,
        run: impl FnOnce(&mut dyn FnMut(Progress)) -> Result<Outcome, PartialRun>,
    ) -> Result<Vec<Row>, PartialRun> {
        let end = run(&mut |progress| match progress {
            Progress::Row { row, .. } => {
                self.done += 1;
                (self.on_progress)(Progress::Row { row, done: self.done, total: self.total });
            }
            warning @ Progress::Warning(_) => (self.on_progress)(warning),
        });
        end.map(|outcome| outcome.rows).map_err(|cut| {
            let rows = std::mem::take(before).into_iter().chain(cut.rows).collect();
            PartialRun { rows, ..cut }
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Pin;

    fn plan(points: &[(&str, &str, u32)]) -> CheckPlan {
        let measured = Plan {
            points: Point::all(points),
            rounds: 2,
            seconds: Some(0.01),
            seed: 1,
            pin: Pin::None,
            load: 0,
        };
        let plan = Plan { points: Vec::new(), rounds: 1, seconds: Some(0.001), ..measured.clone() };
        let mut machine = simulate::machine("m1", None).unwrap();
        // So that the pace of whatever these tests run on decides nothing.
        machine.kinds[0].work_ps *= 1000;
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
    fn what_was_measured_at_another_pace_is_left_out_if_enough_is_left() {
        let row = |lock: &str, round, is_off_pace| Row { lock: lock.into(), round, is_off_pace, ..Row::default() };
        let all: Vec<Row> =
            (0..5).flat_map(|round| [row("enough", round, round < 2), row("too-few", round, round < 3)]).collect();
        let kept = worth_keeping(all.clone(), 5);
        assert_eq!(
            kept,
            all.iter().filter(|row| row.lock == "too-few" || row.round >= 2).cloned().collect::<Vec<Row>>()
        );
        // All of two rounds are wanted, as one alone would seem certain.
        let two = [row("a", 0, false), row("a", 1, true)];
        assert_eq!(worth_keeping(two.to_vec(), 2), two);
        assert_eq!(worth_keeping(all[..2].to_vec(), 1), all[..2]);
    }

    #[test]
    fn a_machine_of_another_pace_is_told_and_compared_as_it_is() {
        let mut warnings = Vec::new();
        let outcome = run(&plan(&[("solo", "std", 1)]), &AtomicBool::new(false), &mut |progress| {
            if let Progress::Warning(text) = progress {
                warnings.push(text);
            }
        });
        assert_eq!(outcome.unwrap().rows.len(), 3, "two rounds, and a seed");
        assert!(warnings.iter().any(|text| text.contains(" ns here, and 313.00 ns on the machine")), "{warnings:?}");
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
