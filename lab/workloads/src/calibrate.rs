//! What the steps of a lock cost on this machine: pauses, reads of clocks, system calls, wakes, moves of cache lines.
//!
//! These are the figures that decide how long a lock should spin before it sleeps. Each is the median of several rounds; the extremes stand beside it, because on a
//! machine with neighbours they differ more than the median.

mod measures;

use crate::execution::Execution;
use crate::noise::{FIRST_LOOKS_NS, Pace, PacedSample, SLOW};
use measures::{LINE_TRANSFER, MEASURES, Measure};
use ondeck_core::Hardware;
use ondeck_kit::stats::median;
use ondeck_kit::{Grid, wording};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Repetitions of each measurement.
const ROUNDS: usize = 15;
/// So many of them, undisturbed, are enough.
const ENOUGH: usize = 5;
/// How long it may wait for busy neighbours in all, and measure again what they disturbed.
const PATIENCE_NS: u64 = 20_000_000_000;
/// Pairs of cores at most: on a machine with 256 cores there are 32640, of a few distances.
const MAX_PAIRS: usize = 64;

/// A measured time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// Median of the rounds.
    pub ns: f64,
    /// Shortest round.
    pub low_ns: f64,
    /// Longest round.
    pub high_ns: f64,
}

impl Time {
    fn of(rounds: &[f64]) -> Option<Time> {
        let low_ns = rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let high_ns = rounds.iter().copied().fold(0.0, f64::max);
        Some(Time { ns: median(rounds)?, low_ns, high_ns })
    }
}

/// What one thing costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Its name.
    pub name: &'static str,
    /// What was measured, in one line.
    pub what: &'static str,
    /// How long it takes.
    pub time: Time,
}

/// What one move of a cache line between two cores costs.
#[derive(Clone, Debug, PartialEq)]
pub struct LineTransfer {
    /// The two cores.
    pub cores: (u32, u32),
    /// From a write on one core until the other has read it.
    pub time: Time,
}

/// What a machine was found to cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    /// Everything that is not about a certain pair of cores.
    pub costs: Vec<Cost>,
    /// Moves of a line, for each pair that was measured.
    pub line_transfers: Vec<LineTransfer>,
    /// How many pairs there are.
    pub pairs: usize,
}

/// Measures this machine, in a few seconds, or up to half a minute beside busy neighbours. Ends early, with what it has, once
/// `stop` is true. `on_progress` is told what comes next, and how many of how many measurements are done.
///
/// # Errors
/// If a thread cannot be started or pinned; what the system said.
pub fn calibrate(stop: &AtomicBool, on_progress: &mut dyn FnMut(&str, usize, usize)) -> Result<Calibration, String> {
    let cores = Hardware::cores();
    let pairs = all_pairs(&cores);
    let chosen = spread_evenly(&pairs, MAX_PAIRS);
    let measures = measures(&cores, &chosen);
    let mut rounds: Vec<Vec<PacedSample<f64>>> = measures.iter().map(|_| Vec::with_capacity(ROUNDS)).collect();
    let total = ROUNDS * measures.len();
    let mut pace = Pace::new(FIRST_LOOKS_NS, PATIENCE_NS, stop);
    // Each round has everything once. A machine that is slow for a moment is so in one round of many measures, and not in
    // all rounds of one.
    for done in 0..total {
        if stop.load(Relaxed) {
            // Fewer rounds would be another figure.
            break;
        }
        let (measure, cores) = measures[done % measures.len()];
        on_progress(measure.name, done, total);
        rounds[done % measures.len()].push(pace.measure(|| measure.run(cores))?);
    }
    let mut calibration = Calibration { pairs: pairs.len(), ..Calibration::default() };
    for ((measure, cores), rounds) in measures.into_iter().zip(rounds).filter(|(_, rounds)| rounds.len() == ROUNDS) {
        let Some(time) = Time::of(&worth_keeping(&rounds)) else { continue };
        if measure.name == LINE_TRANSFER.name {
            calibration.line_transfers.push(LineTransfer { cores, time });
        } else {
            calibration.costs.push(Cost { name: measure.name, what: measure.what, time });
        }
    }
    Ok(calibration)
}

/// The rounds at the machine's pace, if they are enough for a median; else all of them.
fn worth_keeping(rounds: &[PacedSample<f64>]) -> Vec<f64> {
    let right = || rounds.iter().filter(|round| round.is_at_pace);
    let is_enough = right().count() >= ENOUGH;
    rounds.iter().filter(|round| round.is_at_pace || !is_enough).map(|round| round.value).collect()
}

/// All that can be measured on these cores, and the passing of a line between these pairs of them; each with its cores.
fn measures(cores: &[u32], pairs: &[(u32, u32)]) -> Vec<(&'static Measure, (u32, u32))> {
    let on_cores = MEASURES.iter().filter_map(|measure| Some((measure, measure.cores(cores)?)));
    on_cores.chain(pairs.iter().map(|pair| (&LINE_TRANSFER, *pair))).collect()
}

fn all_pairs(cores: &[u32]) -> Vec<(u32, u32)> {
    let later = |index: usize| cores[index + 1..].iter().map(move |second| (cores[index], *second));
    (0..cores.len()).flat_map(later).collect()
}

/// At most `most` of the pairs, from all over the list.
fn spread_evenly(pairs: &[(u32, u32)], most: usize) -> Vec<(u32, u32)> {
    let n = pairs.len().min(most);
    (0..n).map(|i| pairs[i * pairs.len() / n]).collect()
}

impl Calibration {
    /// Why the figures may not be the machine's, in a sentence; `None` if nothing tells.
    pub fn doubt(&self) -> Option<String> {
        // Work takes no memory and no system: what makes it slower makes everything slower.
        let Cost { time, .. } = self.costs.iter().find(|cost| cost.name == "work")?;
        (time.ns > SLOW * time.low_ns).then(|| {
            format!(
                "a unit of work took {:.2} ns in the median of the rounds, and {:.2} ns in the best one. Something else used the \
                 processor, so the other figures may be too high as well. Close other programs and calibrate again.",
                time.ns, time.low_ns
            )
        })
    }

    /// The figures as a table at most `width` columns wide.
    pub fn table(&self, width: usize) -> String {
        let mut grid = Grid::new(["cost", "what"], ["median", "lowest", "highest"]);
        let cells = |name: &str, what: &str, time: &Time| {
            let [ns, low, high] = [time.ns, time.low_ns, time.high_ns].map(wording::duration_ns);
            [name.to_string(), what.to_string(), ns, low, high]
        };
        for cost in &self.costs {
            grid.row(cells(cost.name, cost.what, &cost.time));
        }
        const SHOWN_PAIRS: usize = 8;
        if self.line_transfers.len() <= SHOWN_PAIRS {
            for transfer in &self.line_transfers {
                let what = format!("a cache line moves between cores {} and {}", transfer.cores.0, transfer.cores.1);
                grid.row(cells("line_transfer", &what, &transfer.time));
            }
        } else if let Some(time) = Time::of(&self.line_transfers.iter().map(|line| line.time.ns).collect::<Vec<f64>>())
        {
            let what = format!("a cache line moves; medians of {} of {} pairs", self.line_transfers.len(), self.pairs);
            grid.row(cells("line_transfer", &what, &time));
        }
        grid.render(width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_spread_over_the_list() {
        let cores: Vec<u32> = (0..20).collect();
        let pairs = all_pairs(&cores);
        assert_eq!(pairs.len(), 190);
        let chosen = spread_evenly(&pairs, 64);
        assert_eq!(chosen.len(), 64);
        assert_eq!((chosen[0], chosen[63]), ((0, 1), pairs[187]));
        assert_eq!(spread_evenly(&all_pairs(&[0]), 64), []);
        assert_eq!(spread_evenly(&all_pairs(&[3, 5]), 64), [(3, 5)]);
    }

    #[test]
    fn a_stopped_calibration_has_no_half_figures() {
        let calibration = calibrate(&AtomicBool::new(true), &mut |_, _, _| ()).unwrap();
        assert!(calibration.costs.is_empty() && calibration.line_transfers.is_empty());
    }

    #[test]
    fn undisturbed_rounds_are_preferred() {
        let rounds = |undisturbed: usize| -> Vec<PacedSample<f64>> {
            (0..ROUNDS).map(|round| PacedSample { value: round as f64, is_at_pace: round < undisturbed }).collect()
        };
        assert_eq!(worth_keeping(&rounds(ENOUGH)), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(worth_keeping(&rounds(ENOUGH - 1)).len(), ROUNDS);
    }

    #[test]
    fn a_pace_that_was_slow_in_most_rounds_is_doubted() {
        let doubt = |ns| {
            let cost = Cost { name: "work", what: "a turn", time: Time { ns, low_ns: 0.25, high_ns: 0.5 } };
            Calibration { costs: vec![cost], ..Calibration::default() }.doubt()
        };
        assert!(doubt(0.5).unwrap().starts_with("a unit of work took 0.50 ns in the median of the rounds, and 0.25"));
        assert_eq!([doubt(0.26), Calibration::default().doubt()], [None, None]);
    }

    #[test]
    fn the_table_names_every_figure() {
        let time = Time { ns: 43.2, low_ns: 43.0, high_ns: 50.0 };
        let transfer = LineTransfer { cores: (0, 1), time };
        let cost = Cost { name: "pause", what: "one PAUSE", time };
        let few = Calibration { costs: vec![cost], line_transfers: vec![transfer.clone()], pairs: 1 };
        let text = few.table(120);
        assert!(text.contains("pause") && text.contains("43.2 ns") && text.contains("cores 0 and 1"), "{text}");
        let many = Calibration { line_transfers: vec![transfer; 64], pairs: 190, ..Calibration::default() };
        assert!(many.table(120).contains("64 of 190 pairs"), "{}", many.table(120));
    }
}
