//! Measured and simulated figures of the same points, side by side: how far a simulation is to be believed on the machine
//! in front of us.
//!
//! A figure is a median over rounds, or over seeds. A measurement is worth no more than its rounds agree: where they
//! differ by more than the simulation is off, the point is *noisy* and counts neither for the simulation nor against it.
//! Nor does one of a machine that ran at another pace than when it was calibrated.

mod text;
mod verdict;

use crate::noise::TOO_LOW;
use crate::output::{Format, Results};
use crate::row::{Metric, Row, is_simulated, main_metric};
use crate::stats::{median, median_interval};
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::HashMap;

/// A simulated figure this near to the measured one is right.
const WITHIN: f64 = 0.15;
/// Locks whose figures differ by less are as good as each other, whatever their rounds say.
const LEVEL: f64 = 0.05;
/// Confidence of the interval around a measured median, where there are enough rounds for one.
const CONFIDENCE: f64 = 0.95;

/// One lock in one setting, measured and simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    workload: String,
    threads: u32,
    lock: String,
    /// Median of the measured rounds, in the workload's main figure.
    measured: f64,
    /// Where that median lies: with few rounds, between the lowest and the highest.
    low: f64,
    high: f64,
    /// Median of the simulated seeds.
    simulated: f64,
    /// Whether the machine ran at another pace than the simulated one.
    is_off_pace: bool,
}

/// What can be said of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    /// The simulation is near enough.
    Near,
    /// It is not.
    Off,
    /// The rounds of the measurement differ too much to say.
    Noisy,
    /// What was measured is not the machine that is simulated.
    OffPace,
}

impl Point {
    fn metric(&self) -> Metric {
        main_metric(&self.workload)
    }

    /// By which part of the measured figure the simulated one is higher, or lower if below zero.
    fn error(&self) -> f64 {
        self.simulated / self.measured - 1.0
    }

    fn judgement(&self) -> Judgement {
        let (error, noise) = (self.error().abs(), (self.high - self.low) / self.measured);
        match () {
            _ if self.is_off_pace => Judgement::OffPace,
            _ if noise > error.max(WITHIN) => Judgement::Noisy,
            _ if error <= WITHIN => Judgement::Near,
            _ => Judgement::Off,
        }
    }

    /// How one figure compares with another of the same setting: greater is better.
    fn rank(&self, mine: f64, other: f64) -> Ordering {
        let order = mine.total_cmp(&other);
        if self.metric().more_is_better { order } else { order.reverse() }
    }

    /// Which of two locks is measured to be better; `None` if their rounds cannot tell, or they are level.
    fn measured_rank(&self, other: &Point) -> Option<Ordering> {
        let are_apart = self.low > other.high || self.high < other.low;
        let is_told = are_apart && !self.is_off_pace && !other.is_off_pace;
        (is_told && !is_level(self.measured, other.measured)).then(|| self.rank(self.measured, other.measured))
    }
}

fn is_level(one: f64, other: f64) -> bool {
    one.max(other) <= one.min(other) * (1.0 + LEVEL)
}

/// All points that were both measured and simulated.
#[derive(Clone, Debug, Default)]
pub struct Check {
    /// Those of one setting stand together.
    points: Vec<Point>,
    /// How many threads can run at once.
    cpus: u32,
    /// How often other programs were seen to run meanwhile.
    disturbances: usize,
}

/// A setting in which the lock that is best by one is worst by the other.
#[derive(Debug, PartialEq)]
struct RankReversal<'a> {
    lock: &'a str,
    workload: &'a str,
    threads: u32,
    /// Whether it is the measurement that has it best.
    is_best_measured: bool,
}

/// How the locks of one setting are ranked.
#[derive(Debug, PartialEq)]
struct Ranking<'a> {
    workload: &'a str,
    threads: u32,
    /// Kendall's tau over the pairs of locks that the measurement can tell apart: 1 if the simulation ranks all of them
    /// alike, -1 if all of them the other way.
    tau: f64,
    pairs: usize,
}

impl Check {
    /// Of rows on a machine with so many CPUs, in the order of the simulated ones: those are in the order of the plan, and
    /// measured ones in an order that was drawn. What was only measured, or only simulated, is left out.
    pub fn new(rows: &[Row], cpus: u32) -> Check {
        let mut places: HashMap<(&str, u32, &str), usize> = HashMap::new();
        let mut found: Vec<PointFigures> = Vec::new();
        for row in rows.iter().filter(|row| is_simulated(row)).chain(rows.iter().filter(|row| !is_simulated(row))) {
            let value = (main_metric(&row.workload).of)(row).filter(|value| value.is_finite() && *value > 0.0);
            let Some(value) = value else { continue };
            let place = *places.entry((&row.workload, row.threads, &row.lock)).or_insert(found.len());
            if place == found.len() {
                found.push(PointFigures { row, values: Default::default(), is_off_pace: false });
            }
            found[place].values[usize::from(is_simulated(row))].push(value);
            found[place].is_off_pace |= row.is_off_pace;
        }
        let mut points: Vec<Point> = found.iter().filter_map(PointFigures::point).collect();
        // Rows of one setting may be apart; the order is otherwise that of their appearance.
        let mut settings: Vec<(String, u32)> = Vec::new();
        for point in &points {
            let setting = (point.workload.clone(), point.threads);
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
        points.sort_by_key(|point| {
            settings.iter().position(|(workload, threads)| (workload, *threads) == (&point.workload, point.threads))
        });
        Check { points, cpus, disturbances: 0 }
    }

    /// The same, knowing what the run has warned of.
    pub fn with_warnings(self, warnings: &[String]) -> Check {
        Check { disturbances: warnings.iter().filter(|warning| warning.contains(TOO_LOW)).count(), ..self }
    }

    /// The points of each setting.
    fn settings(&self) -> impl Iterator<Item = &[Point]> {
        self.points.chunk_by(|one, other| (&one.workload, one.threads) == (&other.workload, other.threads))
    }

    fn count(&self, judgement: Judgement) -> usize {
        self.points.iter().filter(|point| point.judgement() == judgement).count()
    }

    /// The points of which something can be said.
    fn judged(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|point| matches!(point.judgement(), Judgement::Near | Judgement::Off))
    }

    /// Median over the points of the errors without their signs.
    fn median_error<'a>(points: impl Iterator<Item = &'a Point>) -> Option<f64> {
        median(&points.map(|point| point.error().abs()).collect::<Vec<f64>>())
    }

    /// Of each setting in which the measurement can tell some locks apart.
    fn rankings(&self) -> Vec<Ranking<'_>> {
        self.settings().filter_map(ranking).collect()
    }

    fn upsets(&self) -> Vec<RankReversal<'_>> {
        self.settings().flat_map(upsets).collect()
    }
}

/// The figures of a point.
struct PointFigures<'a> {
    /// One of its rows.
    row: &'a Row,
    /// Of its rounds, and of its seeds.
    values: [Vec<f64>; 2],
    is_off_pace: bool,
}

impl PointFigures<'_> {
    fn point(&self) -> Option<Point> {
        let PointFigures { row, values: [measured, seeds], is_off_pace } = self;
        let (middle, simulated) = (median(measured)?, median(seeds)?);
        let whole =
            || (measured.iter().copied().fold(middle, f64::min), measured.iter().copied().fold(middle, f64::max));
        let (low, high) =
            median_interval(measured, CONFIDENCE).map_or_else(whole, |interval| (interval.low, interval.high));
        let (workload, lock) = (row.workload.clone(), row.lock.clone());
        let is_off_pace = *is_off_pace;
        Some(Point { workload, threads: row.threads, lock, measured: middle, low, high, simulated, is_off_pace })
    }
}

/// Pairs that the simulation has level count as pairs that it ranks neither way.
fn ranking(points: &[Point]) -> Option<Ranking<'_>> {
    let (mut sum, mut pairs) = (0.0, 0);
    for (place, one) in points.iter().enumerate() {
        for other in &points[place + 1..] {
            let Some(measured) = one.measured_rank(other) else { continue };
            pairs += 1;
            let simulated = one.rank(one.simulated, other.simulated);
            sum += if simulated == measured {
                1.0
            } else if simulated == measured.reverse() {
                -1.0
            } else {
                0.0
            };
        }
    }
    let Point { workload, threads, .. } = points.first()?;
    (pairs > 0).then(|| Ranking { workload, threads: *threads, tau: sum / pairs as f64, pairs })
}

/// None where all locks are level by one of the two, or where the rounds cannot tell the best from the worst.
fn upsets<'a>(points: &'a [Point]) -> Vec<RankReversal<'a>> {
    let by = |figure: fn(&Point) -> f64| {
        let order = |one: &&Point, other: &&Point| one.rank(figure(one), figure(other));
        let points = || points.iter().filter(|point| !point.is_off_pace);
        Some((points().max_by(order)?, points().min_by(order)?))
    };
    let (Some((best, worst)), Some((best_simulated, worst_simulated))) =
        (by(|point| point.measured), by(|point| point.simulated))
    else {
        return Vec::new();
    };
    if best.measured_rank(worst).is_none() || is_level(best_simulated.simulated, worst_simulated.simulated) {
        return Vec::new();
    }
    let found = [(best, worst_simulated, true), (worst, best_simulated, false)];
    let are_one = found.into_iter().filter(|(one, other, _)| one.lock == other.lock);
    let upset = |(Point { lock, workload, threads, .. }, _, is_best_measured): (&'a Point, _, _)| RankReversal {
        lock,
        workload,
        threads: *threads,
        is_best_measured,
    };
    are_one.map(upset).collect()
}

/// A file for others to look at: the results, what was simulated, and what came of it. Nothing else is in it, so what is to
/// be left out has to be left out of these.
pub fn contribution(results: &Results, calibration: &str, verdict: &str) -> String {
    let text = results.to_text(Format::Json);
    let mut value: Value = serde_json::from_str(&text).expect("it was written by us");
    value["calibration"] = calibration.into();
    value["verdict"] = verdict.into();
    let text = serde_json::to_string_pretty(&value).expect("strings and numbers always have a JSON form");
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a point: what was measured in each round, and simulated with each seed.
    pub(super) fn rows((workload, threads, lock): (&str, u32, &str), measured: &[f64], simulated: &[f64]) -> Vec<Row> {
        let row = |platform: &str, round: usize, value: f64| {
            let (workload, lock) = (workload.to_owned(), lock.to_owned());
            let row = Row { platform: platform.into(), workload, lock, threads, round: round as u32, ..Row::default() };
            Row { ops_per_s: Some(value), ns_per_op: Some(value), ..row }
        };
        let of = |platform: &'static str, values: &[f64]| {
            values.iter().enumerate().map(|(round, value)| row(platform, round, *value)).collect::<Vec<Row>>()
        };
        [of("hardware", measured), of("sim", simulated)].concat()
    }

    fn judgement(measured: &[f64], simulated: f64) -> Judgement {
        Check::new(&rows(("w", 2, "x"), measured, &[simulated]), 2).points[0].judgement()
    }

    #[test]
    fn a_point_is_near_or_off_unless_its_rounds_differ_by_more() {
        assert_eq!(judgement(&[100.0, 101.0, 99.0], 115.0), Judgement::Near);
        assert_eq!(judgement(&[100.0, 101.0, 99.0], 116.0), Judgement::Off);
        assert_eq!(judgement(&[100.0, 130.0, 90.0], 150.0), Judgement::Off, "off by more than the rounds differ");
        assert_eq!(judgement(&[100.0, 130.0, 90.0], 130.0), Judgement::Noisy);
        assert_eq!(judgement(&[100.0, 130.0, 90.0], 100.0), Judgement::Noisy, "chance is no merit either");
        assert_eq!(judgement(&[100.0, 107.0, 95.0], 101.0), Judgement::Near, "all rounds are near");
    }

    #[test]
    fn a_machine_of_another_pace_is_not_judged() {
        let mut rows = [rows(("w", 2, "x"), &[1.0], &[1.0]), rows(("w", 2, "y"), &[9.0], &[9.0])].concat();
        let judge = |rows: &[Row]| Check::new(rows, 2).points.iter().map(Point::judgement).collect::<Vec<Judgement>>();
        assert_eq!((judge(&rows), Check::new(&rows, 2).rankings().len()), (vec![Judgement::Near, Judgement::Near], 1));
        rows[0].is_off_pace = true;
        assert_eq!(judge(&rows), [Judgement::OffPace, Judgement::Near]);
        let check = Check::new(&rows, 2);
        assert_eq!((check.rankings(), check.judged().count()), (vec![], 1));
    }

    #[test]
    fn a_lock_measured_at_another_pace_is_neither_best_nor_worst() {
        let of = |lock, measured, simulated| rows(("w", 2, lock), &[measured], &[simulated]);
        let mut rows = [of("slow", 1.0, 9.0), of("a", 8.0, 1.0), of("b", 4.0, 2.0)].concat();
        let upsets =
            |rows: &[Row]| Check::new(rows, 2).upsets().into_iter().map(|u| u.lock.to_owned()).collect::<Vec<_>>();
        assert_eq!(upsets(&rows), ["a", "slow"]);
        rows[0].is_off_pace = true;
        assert_eq!(upsets(&rows), ["a", "b"]);
    }

    #[test]
    fn an_outlier_among_many_rounds_is_no_noise() {
        let rounds: Vec<f64> = (0..9).map(|round| if round == 4 { 500.0 } else { 100.0 }).collect();
        assert_eq!(judgement(&rounds, 101.0), Judgement::Near);
    }

    #[test]
    fn errors_are_parts_of_what_was_measured_and_only_pairs_count() {
        let all = [
            rows(("w", 2, "x"), &[100.0], &[90.0, 10.0, 120.0]),
            rows(("w", 2, "y"), &[100.0], &[120.0]),
            rows(("w", 2, "z"), &[100.0], &[]),
            rows(("w", 4, "x"), &[], &[100.0]),
            rows(("v", 2, "x"), &[100.0], &[150.0]),
            rows(("w", 2, "u"), &[100.0], &[f64::NAN]),
        ];
        let check = Check::new(&all.concat(), 2);
        let errors: Vec<i32> = check.points.iter().map(|point| (point.error() * 100.0).round() as i32).collect();
        assert_eq!(errors, [-10, 20, 50], "of medians");
        assert_eq!(Check::median_error(check.points.iter()), Some(0.19999999999999996));
    }

    #[test]
    fn tau_counts_pairs_that_can_be_told_apart() {
        let tau = |workload: &str, points: &[(&[f64], f64)]| {
            let names = ["a", "b", "c", "d"];
            let all =
                names.iter().zip(points).map(|(lock, (measured, it))| rows((workload, 2, lock), measured, &[*it]));
            let check = Check::new(&all.flatten().collect::<Vec<Row>>(), 2);
            check.rankings().first().map(|ranking| (ranking.tau, ranking.pairs))
        };
        let alike: [(&[f64], f64); 3] = [(&[10.0], 1.0), (&[20.0], 2.0), (&[30.0], 3.0)];
        assert_eq!((tau("w", &alike), tau("solo", &alike)), (Some((1.0, 3)), Some((1.0, 3))));
        assert_eq!(tau("w", &[(&[10.0], 3.0), (&[20.0], 2.0), (&[30.0], 1.0)]), Some((-1.0, 3)));
        assert_eq!(tau("w", &[(&[10.0], 2.0), (&[20.0], 1.0), (&[30.0], 3.0)]), Some((1.0 / 3.0, 3)));
        assert_eq!(tau("w", &[(&[10.0], 2.0), (&[20.0], 2.0)]), Some((0.0, 1)), "the simulation says nothing");
        assert_eq!(tau("w", &[(&[10.0, 22.0], 2.0), (&[20.0, 21.0], 1.0)]), None, "their rounds overlap");
        assert_eq!(tau("w", &[(&[10.0], 2.0), (&[10.4], 1.0)]), None, "they are level");
    }

    #[test]
    fn the_best_that_is_worst_is_found_either_way() {
        let check = |workload: &str, points: [(f64, f64); 3]| {
            let all =
                ["a", "b", "c"].iter().zip(points).map(|(lock, (it, sim))| rows((workload, 8, lock), &[it], &[sim]));
            Check::new(&all.flatten().collect::<Vec<Row>>(), 2)
        };
        let upset = |lock, workload, is_best_measured| RankReversal { lock, workload, threads: 8, is_best_measured };
        let up = check("w", [(30.0, 1.0), (20.0, 3.0), (10.0, 2.0)]);
        assert_eq!(up.upsets(), [upset("a", "w", true)]);
        let times = check("solo", [(30.0, 1.0), (20.0, 3.0), (10.0, 2.0)]);
        assert_eq!(times.upsets(), [upset("a", "solo", false)], "the longest time is worst");
        assert_eq!(check("w", [(30.0, 1.0), (20.0, 2.0), (10.0, 3.0)]).upsets().len(), 2);
        assert_eq!(check("w", [(30.0, 2.0), (20.0, 1.0), (10.0, 3.0)]).upsets(), [upset("c", "w", false)]);
        assert_eq!(check("w", [(30.0, 1.0), (30.5, 1.0), (31.0, 1.01)]).upsets(), [], "all are level");
        assert_eq!(check("w", [(30.0, 1.0), (20.0, 1.02), (10.0, 1.04)]).upsets(), [], "all are simulated level");
    }

    #[test]
    fn a_contribution_is_a_result_file_with_more() {
        let results = Results { rows: rows(("w", 2, "x"), &[1.0], &[2.0]), ..Results::default() };
        let text = contribution(&results, "a = 1\n", "It is off.");
        let back: Results = serde_json::from_str(&text).unwrap();
        assert_eq!(back, results);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((value["calibration"].as_str(), value["verdict"].as_str()), (Some("a = 1\n"), Some("It is off.")));
    }
}
