//! Two result files side by side: what changed, and whether that can be told from noise.
//!
//! Each round of each file is one value. Medians stand with the half width of their 95 % interval; a change is stated
//! only where the Mann-Whitney test gives p <= 0.05, else `~` stands in its place. That is how benchstat does it, and
//! for its reasons: benchmark figures are not normally distributed, and an outlier must not decide.

use crate::board::group;
use crate::row::{CPUS, Metric, NS_PER_OP, OPS_PER_S, Row, WAIT_P99_NS, main_metric};
use crate::stats::{ALPHA, geometric_mean, least_p, mann_whitney, median, median_interval, rounds_needed};
use crate::{Grid, wording};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// So many names of what only one file has stand in an issue.
const NAMED: usize = 20;
/// Longer names of files and locks are broken, so that a table fits a terminal.
const NAME_WIDTH: usize = 20;
/// A change for the worse by less is no regression, even if it can be told from noise: among many figures some always can.
const SMALL: f64 = 0.05;
/// Confidence of the interval around a median.
const CONFIDENCE: f64 = 0.95;

/// What is compared: platform, workload, threads, lock.
type Key = (String, String, u32, String);
/// The same, of rows.
pub(crate) type KeyOf<'a> = (&'a str, &'a str, u32, &'a str);

/// The rounds of one file in one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Median of the rounds.
    pub median: f64,
    /// Larger distance of the ends of the median's interval from it, as a part of it; `None` of too few rounds.
    pub spread: Option<f64>,
    /// Number of rounds.
    pub n: usize,
}

impl Sample {
    fn of(values: &[f64]) -> Option<Self> {
        let median = median(values)?;
        let interval = median_interval(values, CONFIDENCE);
        let spread = interval.map(|interval| (interval.high - median).max(median - interval.low) / median.abs());
        Some(Sample { median, spread: spread.filter(|spread| spread.is_finite()), n: values.len() })
    }

    fn text(&self, metric: Metric) -> String {
        let spread = self.spread.map_or("   ?".to_string(), |spread| format!("{:>3.0}%", spread * 100.0));
        format!("{} ±{spread}", figure(metric, self.median))
    }
}

/// One figure of one key in both files.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    key: Key,
    /// In the old file.
    pub old: Sample,
    /// In the new file.
    pub new: Sample,
    /// Probability that chance alone made a difference as large.
    pub p: f64,
}

impl Change {
    /// New median / old median.
    pub fn ratio(&self) -> f64 {
        self.new.median / self.old.median
    }

    /// Whether the difference can be told from noise.
    pub fn is_significant(&self) -> bool {
        self.p <= ALPHA
    }

    /// Whether it can be told from noise that there is less now of what is better, and it is not little.
    fn is_regression(&self, metric: Metric) -> bool {
        let better = if metric.more_is_better { self.ratio() } else { 1.0 / self.ratio() };
        self.is_significant() && better < 1.0 - SMALL
    }

    /// Whether the rounds could have shown a difference at all.
    pub fn has_enough_rounds(&self) -> bool {
        least_p(self.old.n, self.new.n) <= ALPHA
    }

    /// The lock.
    pub(crate) fn lock(&self) -> &str {
        &self.key.3
    }

    /// The setting, in words.
    pub(crate) fn place(&self) -> String {
        format!("{}, {}", self.workload(), wording::threads(self.key.2))
    }

    /// How much more of it there is now: `+12.3%`.
    pub(crate) fn percent(&self) -> String {
        wording::change(self.ratio())
    }

    /// The medians, with their units.
    pub(crate) fn texts(&self, metric: Metric) -> [String; 2] {
        [self.old.median, self.new.median].map(|median| figure(metric, median))
    }

    fn workload(&self) -> String {
        workload(&self.key.0, &self.key.1)
    }

    fn text(&self) -> String {
        if self.is_significant() { self.percent() } else { "~".to_string() }
    }
}

/// All changes of one figure.
#[derive(Clone, Debug)]
pub struct Table {
    /// The figure.
    pub metric: Metric,
    /// Its changes, in the order of the old file.
    pub changes: Vec<Change>,
}

/// Two files side by side.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// One table per figure that both files have.
    pub tables: Vec<Table>,
    /// What only the old file has.
    pub only_old: Vec<String>,
    /// What only the new file has.
    pub only_new: Vec<String>,
    /// Reasons to doubt the comparison.
    pub warnings: Vec<String>,
}

/// Compares the rows of two files.
pub fn compare(old: &[Row], new: &[Row]) -> Comparison {
    let (old_keys, new_keys) = (keys(old), keys(new));
    let (in_old, in_new): (BTreeSet<KeyOf>, BTreeSet<KeyOf>) =
        (old_keys.iter().copied().collect(), new_keys.iter().copied().collect());
    let missing_in = |other: &BTreeSet<KeyOf>, keys: &[KeyOf]| {
        keys.iter().filter(|key| !other.contains(*key)).map(|key| name(*key)).collect::<Vec<String>>()
    };
    let both: Vec<KeyOf> = old_keys.iter().filter(|key| in_new.contains(*key)).copied().collect();
    let mut tables = Vec::new();
    for metric in [OPS_PER_S, NS_PER_OP, WAIT_P99_NS, CPUS] {
        let (old_values, new_values) = (values(old, metric), values(new, metric));
        let change = |key: &KeyOf| change(*key, old_values.get(key)?, new_values.get(key)?);
        let changes: Vec<Change> = both.iter().filter_map(change).collect();
        if !changes.is_empty() {
            tables.push(Table { metric, changes });
        }
    }
    Comparison {
        tables,
        only_old: missing_in(&in_new, &old_keys),
        only_new: missing_in(&in_old, &new_keys),
        warnings: machine_warning(old, new).into_iter().collect(),
    }
}

impl Comparison {
    /// The comparison as text at most `width` columns wide. The names stand for the two files.
    pub fn text(&self, old_name: &str, new_name: &str, width: usize) -> String {
        let mut parts: Vec<String> =
            self.tables.iter().map(|table| table.text(old_name, new_name, NAME_WIDTH).render(width)).collect();
        let notes = self.notes([old_name, new_name], usize::MAX);
        if !notes.is_empty() {
            parts.push(notes.iter().map(|note| wording::wrap("", note, width)).collect());
        }
        parts.join("\n")
    }

    /// Why there is no comparison, in one line, if there is none. The names stand for the two files.
    pub fn nothing_in_common(&self, old_name: &str, new_name: &str) -> Option<String> {
        /// As many as show what kind of files they are.
        const NAMED: usize = 2;
        let [old, new] = [&self.only_old, &self.only_new].map(|names| match &names[..] {
            [] => "no figure that the other has".to_string(),
            names => wording::list_some(names, NAMED),
        });
        self.tables.is_empty().then(|| {
            format!(
                "{old_name} and {new_name} have nothing in common to compare. {old_name} has {old}; {new_name} has {new}. \
                 Accepted: two files with the same lock in the same workload at the same number of threads"
            )
        })
    }

    /// The comparison as tables that GitHub reads. Of what only one file has, a few names: its figures stand elsewhere.
    pub fn markdown(&self, old_name: &str, new_name: &str) -> String {
        let tables = self.tables.iter().map(|table| table.text(old_name, new_name, usize::MAX).markdown() + "\n");
        let notes = self.notes([old_name, new_name], NAMED).into_iter().chain(self.warnings.iter().cloned());
        tables.chain(notes.map(|note| format!("- {}\n", wording::escape(&note)))).collect()
    }

    /// What is worse in the new file: each figure, with its change, that differs by more than noise and by more than 5 %.
    pub fn regressions(&self) -> Vec<String> {
        let of_table = |table: &Table| {
            let worse = table.changes.iter().filter(|change| change.is_regression(table.metric));
            let metric = table.metric.name;
            worse
                .map(|change| format!("{metric} of {} in {}: {}", change.lock(), change.place(), change.percent()))
                .collect()
        };
        self.tables.iter().flat_map::<Vec<String>, _>(of_table).collect()
    }

    /// What the marks mean, and what only one file has, of which at most so many are named.
    fn notes(&self, files: [&str; 2], most: usize) -> Vec<String> {
        let changes = || self.tables.iter().flat_map(|table| &table.changes);
        let mut notes = Vec::new();
        if changes().any(|change| !change.is_significant()) {
            notes.push("~  the difference may be noise (p > 0.05)".to_string());
        }
        if changes().any(|change| !change.has_enough_rounds()) {
            let needed = rounds_needed(1);
            notes.push(format!(
                "where a file has fewer than {needed} rounds, no difference can show (--rounds {needed})"
            ));
        }
        if changes().any(|change| change.old.spread.is_none() || change.new.spread.is_none()) {
            notes.push("?  the interval of a median needs 6 or more rounds (--rounds 6)".to_string());
        }
        for (file, names) in files.into_iter().zip([&self.only_old, &self.only_new]) {
            notes.extend(names.iter().take(most).map(|name| format!("only in {file}: {name}")));
            let more = names.len().saturating_sub(most);
            notes.extend((more > 0).then(|| format!("only in {file}: {more} more")));
        }
        notes
    }
}

impl Table {
    /// New over old, geometric mean of all changes.
    pub fn geometric_mean(&self) -> Option<f64> {
        geometric_mean(&self.changes.iter().map(Change::ratio).collect::<Vec<f64>>())
    }

    fn text(&self, old_name: &str, new_name: &str, name_width: usize) -> Grid {
        let better = if self.metric.more_is_better { "more is better" } else { "less is better" };
        let title = format!("{}\n({better})", self.metric.name);
        let [old_name, new_name] = [old_name, new_name].map(|name| wording::in_lines(name, name_width));
        let figures = [&*old_name, &*new_name, "change", "p, rounds"];
        let mut grid = Grid::new([&*title, "threads", "lock"], figures);
        for change in &self.changes {
            let (_, _, threads, lock) = &change.key;
            let rounds = if change.old.n == change.new.n {
                format!("n={}", change.old.n)
            } else {
                format!("n={}+{}", change.old.n, change.new.n)
            };
            grid.row([
                change.workload(),
                threads.to_string(),
                wording::broken(lock, name_width),
                change.old.text(self.metric),
                change.new.text(self.metric),
                change.text(),
                format!("p={:.3} {rounds}", change.p),
            ]);
        }
        if let Some(mean) = self.geometric_mean() {
            let change = wording::change(mean);
            grid.row(["geomean", "", "", "", "", &change, ""].map(String::from));
        }
        grid
    }
}

fn keys(rows: &[Row]) -> Vec<KeyOf<'_>> {
    let mut seen = BTreeSet::new();
    let mut keys: Vec<KeyOf> = rows.iter().map(key).filter(|key| seen.insert(*key)).collect();
    // Rows come in the random order of measuring; workloads keep the order in which they first appear.
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (place, key) in keys.iter().enumerate() {
        first.entry(group(key.1).0).or_insert(place);
    }
    keys.sort_by_cached_key(|(platform, workload, threads, lock)| {
        let (group, phase) = group(workload);
        (*platform, first[group], phase, *threads, *lock)
    });
    keys
}

fn key(row: &Row) -> KeyOf<'_> {
    (&row.platform, &row.workload, row.threads, &row.lock)
}

/// The figure of every round, by key. Throughput is left out where a workload is about time: it says the same twice.
fn values(rows: &[Row], metric: Metric) -> BTreeMap<KeyOf<'_>, Vec<f64>> {
    let is_speed = |name: &str| name == OPS_PER_S.name || name == NS_PER_OP.name;
    let mut values: BTreeMap<KeyOf, Vec<f64>> = BTreeMap::new();
    for row in rows {
        if is_speed(metric.name) && main_metric(&row.workload).name != metric.name {
            continue;
        }
        if let Some(value) = (metric.of)(row).filter(|value| value.is_finite()) {
            values.entry(key(row)).or_default().push(value);
        }
    }
    values
}

/// What became of one figure, from one value for each round of each file. `None` if either has none.
pub(crate) fn change(key: KeyOf, old: &[f64], new: &[f64]) -> Option<Change> {
    let p = mann_whitney(old, new)?;
    let (platform, workload, threads, lock) = key;
    let key = (platform.to_string(), workload.to_string(), threads, lock.to_string());
    Some(Change { key, old: Sample::of(old)?, new: Sample::of(new)?, p })
}

fn machine_warning(old: &[Row], new: &[Row]) -> Option<String> {
    let machines = |rows: &[Row]| rows.iter().map(|row| row.machine.clone()).collect::<BTreeSet<String>>();
    let (old, new) = (machines(old), machines(new));
    let names = |machines: BTreeSet<String>| wording::list(&machines.into_iter().collect::<Vec<String>>());
    (old != new).then(|| format!("the machines differ: {} and {}", names(old), names(new)))
}

fn figure(metric: Metric, value: f64) -> String {
    if metric.name.ends_with("_ns") || metric.name.starts_with("ns_") {
        wording::duration_ns(value)
    } else {
        wording::count(value)
    }
}

/// The workload, with the platform before it where that is not this kind of machine.
fn workload(platform: &str, workload: &str) -> String {
    if platform == "hardware" { workload.to_string() } else { format!("{platform}: {workload}") }
}

fn name((platform, name, threads, lock): KeyOf) -> String {
    format!("{}, {}, {lock}", workload(platform, name), wording::threads(threads))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(lock: &str, figures: &[f64]) -> Vec<Row> {
        let row = Row { platform: "hardware".into(), workload: "sections".into(), threads: 2, ..Row::default() };
        let row = Row { lock: lock.into(), machine: "toy-2c".into(), ..row };
        let round =
            |(round, figure): (usize, &f64)| Row { round: round as u32, ops_per_s: Some(*figure), ..row.clone() };
        figures.iter().enumerate().map(round).collect()
    }

    #[test]
    fn a_clear_change_is_stated() {
        let old = rows("ondeck", &[100.0, 101.0, 102.0, 103.0, 104.0, 105.0]);
        let new = rows("ondeck", &[110.0, 111.0, 112.0, 113.0, 114.0, 115.0]);
        let comparison = compare(&old, &new);
        let change = &comparison.tables[0].changes[0];
        assert!(change.is_significant() && change.has_enough_rounds());
        assert!((change.ratio() - 112.5 / 102.5).abs() < 1e-12);
        assert_eq!(change.old, Sample { median: 102.5, spread: Some(2.5 / 102.5), n: 6 });
        let text = comparison.text("old.csv", "new.csv", 120);
        // 2 of the C(12,6) = 924 orders are as extreme.
        assert!(text.contains("102 ±  2%") && text.contains("+9.8%") && text.contains("p=0.002 n=6"), "{text}");
        assert!(text.contains("geomean") && !text.contains('~'), "{text}");
    }

    #[test]
    fn a_regression_is_worse_by_more_than_noise_and_by_more_than_little() {
        let times = |factor: f64| [100.0, 101.0, 102.0, 103.0, 104.0, 105.0].map(|figure| figure * factor);
        let worse = |old: &[f64], new: &[f64]| compare(&rows("ondeck", old), &rows("ondeck", new)).regressions();
        assert_eq!(worse(&times(1.0), &times(0.9)), ["ops_per_s of ondeck in sections, 2 threads: -10.0%"]);
        assert!(worse(&times(1.0), &times(1.1)).is_empty(), "more is better");
        assert!(worse(&times(1.0)[..3], &times(0.5)[..3]).is_empty(), "three rounds tell nothing");
        assert!(worse(&times(1.0), &times(0.951)).is_empty(), "it is clear, but little");
    }

    #[test]
    fn long_names_do_not_widen_a_table() {
        let long = "a/long/path/to/results/without/a/place/to/break/it/at/results.csv";
        let lock = "ondeck[audit_every_ns=0+hot_most_ns=150]";
        let comparison = compare(&rows(lock, &[1.0; 4]), &rows(lock, &[2.0; 4]));
        let text = comparison.text(long, "new.csv", 80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(comparison.markdown(long, "new.csv").contains(long), "Markdown has no width");
    }

    #[test]
    fn noise_is_not_stated() {
        let old = rows("ondeck", &[100.0, 110.0, 105.0, 95.0, 101.0]);
        let new = rows("ondeck", &[101.0, 108.0, 106.0, 96.0, 99.0]);
        let text = compare(&old, &new).text("old.csv", "new.csv", 120);
        assert!(text.contains(" ~ ") && text.contains("the difference may be noise"), "{text}");
        assert!(text.contains("the interval of a median needs 6 or more rounds"), "{text}");
    }

    #[test]
    fn too_few_rounds_say_how_many_are_needed() {
        let comparison = compare(&rows("ondeck", &[1.0, 2.0, 3.0]), &rows("ondeck", &[11.0, 12.0, 13.0]));
        let change = &comparison.tables[0].changes[0];
        assert!(!change.is_significant() && !change.has_enough_rounds());
        assert!(comparison.text("a", "b", 120).contains("fewer than 4 rounds"), "{}", comparison.text("a", "b", 120));
    }

    #[test]
    fn what_only_one_file_has_is_named() {
        let comparison = compare(&rows("std", &[1.0; 4]), &rows("ondeck", &[1.0; 4]));
        assert!(comparison.tables.is_empty());
        let text = comparison.text("a.csv", "b.csv", 120);
        assert!(text.contains("only in a.csv: sections, 2 threads, std"), "{text}");
        assert!(text.contains("only in b.csv: sections, 2 threads, ondeck"), "{text}");
        let why = comparison.nothing_in_common("a.csv", "b.csv").unwrap();
        assert!(why.contains("a.csv has sections, 2 threads, std; b.csv has sections, 2 threads, ondeck."), "{why}");
        assert_eq!(compare(&rows("std", &[1.0]), &rows("std", &[2.0])).nothing_in_common("a", "b"), None);
    }

    #[test]
    fn time_is_compared_where_a_workload_is_about_time() {
        let handoff = |ns: f64| {
            let row = Row { workload: "handoff-fast".into(), threads: 2, ops_per_s: Some(1e9 / ns), ..Row::default() };
            vec![Row { ns_per_op: Some(ns), cpus: Some(2.0), ..row }]
        };
        let comparison = compare(&handoff(100.0), &handoff(200.0));
        let names: Vec<&str> = comparison.tables.iter().map(|table| table.metric.name).collect();
        assert_eq!(names, ["ns_per_op", "cpus"]);
        assert_eq!(comparison.tables[0].geometric_mean(), Some(2.0));
    }

    #[test]
    fn different_machines_are_warned_about() {
        let new: Vec<Row> = rows("std", &[1.0]).into_iter().map(|row| Row { machine: "other".into(), ..row }).collect();
        assert_eq!(compare(&rows("std", &[1.0]), &new).warnings, ["the machines differ: toy-2c and other"]);
    }
}
