//! Rows arranged for comparison: settings (workload and threads) down, locks across.
//!
//! Two rules of honest measuring live here. A figure is a median over rounds. A ratio is formed within each round,
//! because what disturbs a round disturbs all its locks, and only then is its median taken; if the rounds do not agree
//! on which of two locks is ahead, nothing is said about it.

use crate::catalogue::Catalogue;
use crate::row::{Metric, Row, is_simulated, main_metric};
use ondeck_kit::histogram::Histogram;
use ondeck_kit::stats::{is_bistable, median};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Workload and number of threads: what locks are compared in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name of the workload, with its parameters.
    pub workload: String,
    /// Number of threads.
    pub threads: u32,
}

/// A figure over rounds; or how many times as good one thing is as another in each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Median over rounds.
    pub median: f64,
    /// Smallest of a round.
    pub low: f64,
    /// Largest of a round.
    pub high: f64,
    /// Number of rounds.
    pub rounds: usize,
    /// Whether the median is a lower bound, because the figures of half of the rounds are.
    pub is_at_least: bool,
    /// Whether it is a simulation with several seeds that fall into two groups. Rounds on hardware differ by what else a
    /// machine did, and prove no such thing.
    pub is_bistable: bool,
}

impl Spread {
    /// Of one value for each round; `None` of none, or of values whose median is beyond what a number can hold.
    pub fn of(values: &[f64]) -> Option<Self> {
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        let median = median(values).filter(|median| median.is_finite())?;
        Some(Spread { median, low, high, rounds: values.len(), is_at_least: false, is_bistable: false })
    }

    /// Of a figure in the rows of one lock in one setting.
    pub fn of_rows(rows: &[&Row], metric: Metric) -> Option<Self> {
        let values: Vec<f64> = by_round(rows, metric).into_values().collect();
        let spread = Spread::of(&values)?;
        let n_at_least = rows.iter().filter(|row| row.is_at_least(metric)).count();
        let is_at_least = n_at_least > 0 && 2 * n_at_least >= rows.len();
        let is_bistable = rows.iter().all(|row| is_simulated(row)) && is_bistable(&values);
        Some(Spread { is_at_least, is_bistable, ..spread })
    }

    /// Whether two or more rounds all say the same of a ratio: better, or worse.
    pub fn is_clear(&self) -> bool {
        self.rounds > 1 && (self.low > 1.0 || self.high < 1.0)
    }

    /// Highest / lowest.
    pub fn width(&self) -> f64 {
        if self.low == self.high { 1.0 } else { self.high / self.low }
    }

    /// The median as `format` writes it, marked if it is a lower bound.
    pub fn written(&self, format: impl Fn(f64) -> String) -> String {
        format!("{}{}", if self.is_at_least { ">" } else { "" }, format(self.median))
    }

    /// Of the ratios within rounds: how many times as good the rows are as the others. Of lower bounds there is none.
    pub fn of_ratios(rows: &[&Row], others: &[&Row], metric: Metric) -> Option<Self> {
        let is_exact = |row: &&&Row| !row.is_at_least(metric);
        let rows: Vec<&Row> = rows.iter().filter(is_exact).copied().collect();
        let others: Vec<&Row> = others.iter().filter(is_exact).copied().collect();
        let others = by_round(&others, metric);
        let mut ratios = Vec::new();
        for (round, value) in by_round(&rows, metric) {
            let Some(other) = others.get(&round) else { continue };
            let ratio = if metric.more_is_better { value / other } else { other / value };
            if ratio.is_finite() {
                ratios.push(ratio);
            }
        }
        Spread::of(&ratios)
    }
}

/// The figure in each round.
fn by_round(rows: &[&Row], metric: Metric) -> BTreeMap<u32, f64> {
    let finite = |row: &&Row| (metric.of)(row).filter(|value| value.is_finite()).map(|value| (row.round, value));
    rows.iter().filter_map(finite).collect()
}

/// The phases of a spike, in the order of time.
pub(crate) const PHASES: [&str; 3] = ["spike/before", "spike/during", "spike/after"];

/// What a workload is shown together with, and its place there. Only the phases of a spike have places: the order of
/// time, in whatever order a file has them.
pub(crate) fn group(workload: &str) -> (&str, usize) {
    match PHASES.iter().position(|phase| *phase == workload) {
        Some(place) => ("spike", 1 + place),
        None => (workload, 0),
    }
}

/// The rows of one run.
#[derive(Debug)]
pub struct Board<'a> {
    /// Rows by workload, threads and lock.
    rows: BTreeMap<(&'a str, u32, &'a str), Vec<&'a Row>>,
    /// Where in `locks` each is.
    places: HashMap<&'a str, usize>,
    /// Settings, in the order of display.
    pub settings: Vec<Setting>,
    /// Locks, in the order of display.
    pub locks: Vec<String>,
    /// Number of rounds of which there are rows.
    pub rounds: usize,
    /// Which of the locks are other projects'.
    peers: HashSet<String>,
    /// CPUs of the simulated machine that the rows are of.
    simulated_cpus: Option<u32>,
}

impl<'a> Board<'a> {
    /// Arranges rows, which may come in any order: workloads and locks as in the catalogue (what it does not name comes
    /// last), threads ascending.
    pub fn new(rows: &'a [Row], Catalogue { workloads, locks, peers }: &Catalogue) -> Self {
        let place =
            |list: &[String], name: &str| list.iter().position(|other| is_of(name, other)).unwrap_or(list.len());
        let mut by_cell: BTreeMap<(&str, u32, &str), Vec<&Row>> = BTreeMap::new();
        let mut appeared: HashMap<&str, usize> = HashMap::new();
        let mut seen: HashSet<&str> = HashSet::new();
        let mut found: Vec<&str> = Vec::new();
        for row in rows {
            by_cell.entry((&row.workload, row.threads, &row.lock)).or_default().push(row);
            let next = appeared.len();
            appeared.entry(group(&row.workload).0).or_insert(next);
            if seen.insert(&row.lock) {
                found.push(&row.lock);
            }
        }
        let cells: BTreeSet<(&str, u32)> = by_cell.keys().map(|(workload, threads, _)| (*workload, *threads)).collect();
        let setting = |(workload, threads): (&str, u32)| Setting { workload: workload.to_string(), threads };
        let mut settings: Vec<Setting> = cells.into_iter().map(setting).collect();
        settings.sort_by_cached_key(|setting| {
            let (group, phase) = group(&setting.workload);
            (place(workloads, &setting.workload), appeared[group], phase, setting.threads)
        });
        found.sort_by_cached_key(|lock| place(locks, lock));
        let places = found.iter().enumerate().map(|(place, lock)| (*lock, place)).collect();
        let locks = found.into_iter().map(str::to_string).collect();
        let rounds: HashSet<u32> = rows.iter().map(|row| row.round).collect();
        Board {
            rows: by_cell,
            places,
            settings,
            locks,
            rounds: rounds.len(),
            peers: peers.iter().cloned().collect(),
            simulated_cpus: None,
        }
    }

    /// The same, of rows of a simulated machine with so many CPUs, if there are so many.
    pub fn on_simulated(self, simulated_cpus: Option<u32>) -> Self {
        Board { simulated_cpus, ..self }
    }

    /// Whether more threads than CPUs were simulated: then the queues of a simulated system decide, of which few were compared
    /// with a real one.
    pub fn has_queues(&self, setting: &Setting) -> bool {
        self.simulated_cpus.is_some_and(|cpus| setting.threads > cpus)
    }

    /// The number of threads as tables have it, with the mark of what [`has_queues`](Board::has_queues).
    pub fn threads_cell(&self, setting: &Setting) -> String {
        format!("{}{}", setting.threads, if self.has_queues(setting) { "!" } else { "" })
    }

    /// The settings of each workload, in the order of display.
    pub fn workloads(&self) -> impl DoubleEndedIterator<Item = &[Setting]> {
        self.settings.chunk_by(|a, b| a.workload == b.workload)
    }

    /// Whether the lock is another project's.
    pub fn is_peer(&self, lock: &str) -> bool {
        self.peers.contains(lock)
    }

    /// Number of settings and locks of which there are rows.
    pub fn n_cells(&self) -> usize {
        self.rows.len()
    }

    /// The locks of which there are rows in the setting, in the order of display. Where many settings and many locks are
    /// on the board, they need not have met: going through all locks at each setting would take their product.
    pub fn locks_in(&self, setting: &Setting) -> Vec<&str> {
        self.places_in(setting).into_iter().map(|place| self.locks[place].as_str()).collect()
    }

    fn places_in(&self, Setting { workload, threads }: &Setting) -> Vec<usize> {
        let mut places: Vec<usize> = self.cells(workload, *threads).map(|(lock, _)| self.places[lock]).collect();
        places.sort_unstable();
        places
    }

    /// The locks of which there is such a value in one of the settings, in the order of display, with the values in the
    /// order of the settings.
    pub fn by_lock<'b, T>(
        &'b self,
        settings: impl Iterator<Item = &'b Setting>,
        value: impl Fn(&'b Setting, &'b str) -> Option<T>,
    ) -> Vec<(&'b str, Vec<T>)> {
        let mut found: BTreeMap<usize, Vec<T>> = BTreeMap::new();
        for setting in settings {
            for place in self.places_in(setting) {
                if let Some(value) = value(setting, &self.locks[place]) {
                    found.entry(place).or_default().push(value);
                }
            }
        }
        found.into_iter().map(|(place, values)| (self.locks[place].as_str(), values)).collect()
    }

    /// The rows of a workload with so many threads, by lock.
    pub fn cells<'b>(&'b self, workload: &'b str, threads: u32) -> impl Iterator<Item = (&'b str, &'b [&'b Row])> {
        let cells = self.rows.range((workload, threads, "")..);
        let here = cells.take_while(move |((name, n, _), _)| *name == workload && *n == threads);
        here.map(|((_, _, lock), rows)| (*lock, rows.as_slice()))
    }

    fn rows<'b>(&'b self, setting: &'b Setting, lock: &'b str) -> &'b [&'b Row] {
        self.rows.get(&(setting.workload.as_str(), setting.threads, lock)).map_or(&[], Vec::as_slice)
    }

    /// The figure over rounds.
    pub fn spread(&self, setting: &Setting, lock: &str, metric: Metric) -> Option<Spread> {
        Spread::of_rows(self.rows(setting, lock), metric)
    }

    /// Whether a main figure of some lock in some setting is bistable.
    pub fn has_bistable_cell(&self) -> bool {
        let spread =
            |((workload, _, _), rows): (&(&str, u32, &str), &Vec<&Row>)| Spread::of_rows(rows, main_metric(workload));
        self.rows.iter().filter_map(spread).any(|spread| spread.is_bistable)
    }

    /// The main figure over seeds; `None` if it was measured, or there is one seed.
    pub fn seeds(&self, setting: &Setting, lock: &str) -> Option<Spread> {
        let spread = self.spread(setting, lock, main_metric(&setting.workload))?;
        (spread.rounds > 1 && self.rows(setting, lock).iter().all(|row| is_simulated(row))).then_some(spread)
    }

    /// The waits of all rounds together, where the rows have them.
    pub fn waits(&self, setting: &Setting, lock: &str) -> Option<Histogram> {
        let waits = self.rows(setting, lock).iter().filter_map(|row| row.waits.clone());
        waits.reduce(|mut all, more| {
            all.merge(&more);
            all
        })
    }

    /// Median of the figure over rounds.
    pub fn median(&self, setting: &Setting, lock: &str, metric: Metric) -> Option<f64> {
        self.spread(setting, lock, metric).map(|spread| spread.median)
    }

    /// How many times as good `lock` in `setting` is as `other_lock` in `other_setting`, by the workload's main figure.
    /// Above 1 is better whether the figure is a speed or a time.
    pub fn ratio(
        &self,
        (setting, lock): (&Setting, &str),
        (other_setting, other_lock): (&Setting, &str),
    ) -> Option<Spread> {
        let metric = main_metric(&setting.workload);
        Spread::of_ratios(self.rows(setting, lock), self.rows(other_setting, other_lock), metric)
    }

    /// The lock that has the best median of the workload's main figure, among those for which `may` holds.
    pub fn best(&self, setting: &Setting, may: impl Fn(&str) -> bool) -> Option<&str> {
        let metric = main_metric(&setting.workload);
        let mut best: Option<(&str, f64)> = None;
        for lock in self.locks_in(setting).into_iter().filter(|lock| may(lock)) {
            let Some(value) = self.median(setting, lock, metric) else { continue };
            let is_better = |than: f64| if metric.more_is_better { value > than } else { value < than };
            if best.is_none_or(|(_, than)| is_better(than)) {
                best = Some((lock, value));
            }
        }
        best.map(|(lock, _)| lock)
    }

    /// The lock's main figure relative to what it has with one thread; above 1 is better. `None` without one thread.
    pub fn relative_to_one_thread(&self, setting: &Setting, lock: &str) -> Option<Spread> {
        let one = Setting { workload: setting.workload.clone(), threads: 1 };
        if setting.threads == 1 || !main_metric(&setting.workload).more_is_better {
            return None;
        }
        self.ratio((setting, lock), (&one, lock))
    }
}

/// Whether `name` is the workload or a phase of it: `spike/after` is one of `spike`.
fn is_of(name: &str, workload: &str) -> bool {
    name.strip_prefix(workload).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::row::{OPS_PER_S, WAIT_MAX_NS};

    fn row(workload: &str, lock: &str, threads: u32, round: u32, figure: f64) -> Row {
        let row = Row { workload: workload.into(), lock: lock.into(), threads, round, ..Row::default() };
        Row { ops_per_s: Some(figure), ns_per_op: Some(figure), ..row }
    }

    fn setting(workload: &str, threads: u32) -> Setting {
        Setting { workload: workload.into(), threads }
    }

    #[test]
    fn display_order_does_not_depend_on_the_order_of_rows() {
        let rows = [row("b", "std", 4, 0, 1.0), row("a", "ondeck", 2, 0, 1.0), row("b", "ondeck", 1, 1, 1.0)];
        let board = Board::new(&rows, &Catalogue::new(&["b", "a"], &["ondeck", "std"], &[]));
        assert_eq!(board.settings, [setting("b", 1), setting("b", 4), setting("a", 2)]);
        assert_eq!(board.locks, ["ondeck", "std"]);
        assert_eq!(board.rounds, 2);
    }

    #[test]
    fn phases_are_in_the_order_of_time() {
        let names = ["spike/after", "x", "spike/before", "a", "spike/during"];
        let rows: Vec<Row> =
            names.into_iter().flat_map(|name| [4, 2].map(|threads| row(name, "std", threads, 0, 1.0))).collect();
        let order = |workloads: &[&str]| -> Vec<String> {
            let board = Board::new(&rows, &Catalogue::new(workloads, &[], &[]));
            board.workloads().map(|settings| format!("{} {}", settings[0].workload, settings.len())).collect()
        };
        let phases = ["spike/before 2", "spike/during 2", "spike/after 2"];
        assert_eq!(order(&[]), [&phases[..], &["x 2", "a 2"]].concat());
        assert_eq!(order(&["x", "spike"]), [&["x 2"], &phases[..], &["a 2"]].concat());
    }

    #[test]
    fn locks_are_found_where_they_were_run() {
        let rows =
            [row("a", "y", 2, 0, 1.0), row("a", "x", 2, 0, 2.0), row("a", "y", 4, 0, 3.0), row("b", "x", 2, 0, 4.0)];
        let board = Board::new(&rows, &Catalogue::new(&[], &["x", "y"], &[]));
        let locks: Vec<Vec<&str>> = board.settings.iter().map(|setting| board.locks_in(setting)).collect();
        assert_eq!(locks, [vec!["x", "y"], vec!["y"], vec!["x"]]);
        assert_eq!(board.n_cells(), 4);
        let above_one = board.by_lock(board.settings.iter(), |setting, lock| {
            board.median(setting, lock, OPS_PER_S).filter(|value| *value > 1.0)
        });
        assert_eq!(above_one, [("x", vec![2.0, 4.0]), ("y", vec![3.0])]);
    }

    #[test]
    fn lower_bounds_and_two_states_are_seen_in_several_rounds() {
        let rows = |platform: &str| {
            [(0, 10.0), (1, 11.0), (2, 40.0)].map(|(round, ns)| {
                let row = Row { platform: platform.into(), wait_max_ns: Some(ns), ..row("w", "x", 2, round, 1.0) };
                let at_least = if round > 0 { "wait_max_ns" } else { "" };
                Row { at_least: at_least.into(), ..row }
            })
        };
        let spread = |rows: &[Row], metric| Spread::of_rows(&rows.iter().collect::<Vec<&Row>>(), metric).unwrap();
        let (sim, hardware) = (rows("sim"), rows("hardware"));
        let waits = spread(&sim, WAIT_MAX_NS);
        assert!(waits.is_at_least && waits.is_bistable);
        assert!(!spread(&sim[..1], WAIT_MAX_NS).is_at_least && !spread(&sim, OPS_PER_S).is_at_least);
        assert!(!spread(&hardware, WAIT_MAX_NS).is_bistable);
        let of = |rows: &[Row], others: &[Row]| {
            let [rows, others] = [rows, others].map(|rows| rows.iter().collect::<Vec<&Row>>());
            Spread::of_ratios(&rows, &others, WAIT_MAX_NS).map(|spread| spread.rounds)
        };
        assert_eq!((of(&sim, &sim), of(&sim[1..], &sim)), (Some(1), None), "of lower bounds there is no ratio");
    }

    /// Round 1 ran at half speed for both locks: medians over rounds alone would say 1.0, the ratio within rounds is 2.
    #[test]
    fn ratios_are_formed_within_rounds() {
        let figures = [("x", 0, 20.0), ("y", 0, 10.0), ("x", 1, 10.0), ("y", 1, 5.0), ("x", 2, 30.0), ("y", 2, 10.0)];
        let rows: Vec<Row> = figures.iter().map(|(lock, round, figure)| row("w", lock, 2, *round, *figure)).collect();
        let board = Board::new(&rows, &Catalogue::default());
        let at = setting("w", 2);
        let ratio = board.ratio((&at, "x"), (&at, "y")).unwrap();
        assert_eq!((ratio.median, ratio.low, ratio.high, ratio.rounds), (2.0, 2.0, 3.0, 3));
        assert!(ratio.is_clear());
        assert_eq!(board.median(&at, "x", OPS_PER_S), Some(20.0));
        assert_eq!(board.best(&at, |_| true), Some("x"));
        assert_eq!(board.best(&at, |lock| lock != "x"), Some("y"));
    }

    #[test]
    fn less_time_is_better() {
        let rows = [row("handoff-fast", "x", 2, 0, 100.0), row("handoff-fast", "y", 2, 0, 150.0)];
        let board = Board::new(&rows, &Catalogue::default());
        let at = setting("handoff-fast", 2);
        assert_eq!(board.best(&at, |_| true), Some("x"));
        let ratio = board.ratio((&at, "x"), (&at, "y")).unwrap();
        assert_eq!(ratio.median, 1.5);
        assert!(!ratio.is_clear(), "one round says nothing about spread");
    }

    #[test]
    fn figures_that_are_absent_or_not_finite_do_not_count() {
        let mut rows = vec![row("w", "x", 2, 0, f64::NAN), row("w", "x", 2, 1, 4.0)];
        rows.push(Row { ops_per_s: None, ..row("w", "x", 2, 2, 0.0) });
        let board = Board::new(&rows, &Catalogue::default());
        assert_eq!(board.median(&setting("w", 2), "x", OPS_PER_S), Some(4.0));
        assert_eq!(board.median(&setting("w", 4), "x", OPS_PER_S), None);
        assert_eq!(board.relative_to_one_thread(&setting("w", 2), "x"), None);
    }
}
