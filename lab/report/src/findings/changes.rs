//! What is different between two files: only what chance does not explain.

use super::answer::{Finding, SHOWN, close};
use crate::compare::{Change, Comparison, compare};
use crate::inputs::Source;
use crate::row::Metric;
use crate::stats::{ALPHA, rounds_needed};
use crate::wording::{counted, list_some, plain};
use std::collections::BTreeMap;

/// What changed from the first file to the other, and how many figures they have in common.
pub(super) fn changes(first: &Source, other: &Source) -> Option<(usize, Finding)> {
    let comparison = compare(&first.results.rows, &other.results.rows);
    let mut said: Vec<String> = comparison.warnings.iter().map(|warning| sentence(warning)).collect();
    let counts = Counts::of(&comparison);
    said.push(total(&counts));
    let groups = groups(&comparison);
    // Room is kept for what only one file has, which comes last.
    let room = SHOWN.saturating_sub(said.len());
    let n_hidden = groups.len().saturating_sub(room);
    said.extend(groups.iter().take(room).map(Group::text));
    for (label, only) in [(&first.label, &comparison.only_old), (&other.label, &comparison.only_new)] {
        if !only.is_empty() {
            said.push(format!("Only in {label}: {}.", list_some(only, 3)));
        }
    }
    let question = format!("What changed from {} to {}?", first.label, other.label);
    close(&question, said, n_hidden).map(|answer| (counts.n, answer))
}

/// How many figures changed from one file to the other, in one sentence; `None` if they have none in common.
pub(super) fn total_of(first: &Source, other: &Source) -> Option<String> {
    let Counts { n, n_able, n_told, by_chance } = Counts::of(&compare(&first.results.rows, &other.results.rows));
    let from = format!("From {} to {}", first.label, other.label);
    let figures = counted(n, "figure");
    match (n, n_able) {
        (0, _) => None,
        (_, 0) => Some(plain(&format!("{from}, no change can be told from noise: there are too few rounds."))),
        _ => {
            Some(plain(&format!("{from}, {n_told} of {figures} changed; chance alone would change about {by_chance}.")))
        }
    }
}

/// How many figures two files have in common, what could be told of them and what is, and what chance would tell.
struct Counts {
    n: usize,
    n_able: usize,
    n_told: usize,
    by_chance: f64,
}

impl Counts {
    fn of(comparison: &Comparison) -> Counts {
        let count = |is_meant: fn(&Change) -> bool| {
            comparison.tables.iter().flat_map(|table| &table.changes).filter(|change| is_meant(change)).count()
        };
        let n_able = count(Change::has_enough_rounds);
        let by_chance = (n_able as f64 * ALPHA).ceil();
        Counts { n: count(|_| true), n_able, n_told: count(Change::is_significant), by_chance }
    }
}

/// How many figures differ, and how many would if nothing had changed.
fn total(counts: &Counts) -> String {
    let Counts { n, n_able, n_told, by_chance } = counts;
    if *n == 0 {
        return "The two files have no figure in common to compare.".to_string();
    }
    let figures = counted(*n, "figure");
    if *n_able == 0 {
        let needed = rounds_needed(1);
        return format!(
            "No difference can show in {figures}: each file needs {needed} or more rounds (--rounds {needed})."
        );
    }
    let differ = if *n_told == 1 { "differs" } else { "differ" };
    format!(
        "Of {figures} in both files, {n_told} {differ} (p <= {ALPHA}). If nothing had changed, chance alone would make \
         about {by_chance} differ."
    )
}

/// The changes of one lock in one figure that can be told.
struct Group<'a> {
    metric: Metric,
    /// The largest first.
    told: Vec<&'a Change>,
    /// Of so many, with those that cannot be told.
    n: usize,
}

/// All groups in which a change can be told, the largest change first.
fn groups(comparison: &Comparison) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for table in &comparison.tables {
        let mut by_lock: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
        for change in &table.changes {
            by_lock.entry(change.lock()).or_default().push(change);
        }
        for changes in by_lock.into_values() {
            let n = changes.len();
            let mut told: Vec<&Change> = changes.into_iter().filter(|change| change.is_significant()).collect();
            told.sort_by(|a, b| extent(b).total_cmp(&extent(a)));
            if !told.is_empty() {
                groups.push(Group { metric: table.metric, told, n });
            }
        }
    }
    groups.sort_by(|a, b| extent(b.told[0]).total_cmp(&extent(a.told[0])));
    groups
}

/// How far a change is from none, the same for twice and half.
fn extent(change: &Change) -> f64 {
    let extent = change.ratio().ln().abs();
    if extent.is_nan() { 0.0 } else { extent }
}

impl Group<'_> {
    fn text(&self) -> String {
        let largest = self.told[0];
        let better = if self.metric.more_is_better { "more is better" } else { "less is better" };
        let [old, new] = largest.texts(self.metric);
        let largest_text = format!("{} in {} ({old} to {new}, p={:.3})", largest.percent(), largest.place(), largest.p);
        let (lock, name) = (largest.lock(), self.metric.name);
        match self.told.len() {
            1 => format!("{lock}, {name} ({better}): {largest_text}. 1 of {} differs.", self.n),
            told => {
                let smallest = self.told[told - 1];
                let range = format!("from {} in {}", smallest.percent(), smallest.place());
                format!("{lock}, {name} ({better}): {told} of {} differ, {range} to {largest_text}.", self.n)
            }
        }
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}
