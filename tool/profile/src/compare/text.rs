//! A comparison as text.

use super::Comparison;
use super::figures::{Estimate, Figures, Spread};
use super::row::Row;
use crate::summary::{LockSummary, Sites};
use ondeck_kit::wording::{change, count, counted, duration_ns, in_lines, list, whole_percent, wrap};
use ondeck_kit::{Grid, wording};
use std::collections::BTreeSet;

/// Locks in a table. Those with less waiting are counted only.
const MOST_ROWS: usize = 20;
/// Locks that only one run has and that are named.
const MOST_ALONE: usize = 10;
/// Longer names are broken, so that a table fits a terminal.
const NAME_WIDTH: usize = 36;
/// The same of the files' names.
const FILE_WIDTH: usize = 20;

/// The function that waits or holds longest is said to be another if its part has grown by more than this: two of
/// nearly the same length change places by chance.
const NOTABLE: f64 = 0.1;
/// A cause is named if its change is at least this part of the waiting before, or now.
const NOTABLE_CAUSE: f64 = 0.05;
/// So many causes are named.
const MOST_CAUSES: usize = 4;

/// What a table is about.
struct Table {
    title: &'static str,
    of: fn(&Figures, f64) -> Option<Estimate>,
    text: fn(f64) -> String,
}

const TABLES: [Table; 4] = [
    Table {
        title: "waiting in each second\n(less is better)",
        of: |figures, mean| Some(figures.waiting(mean)),
        text: duration_ns,
    },
    Table {
        title: "waits in each second\n(less is better)",
        of: |figures, mean| Some(figures.waits(mean)),
        text: count,
    },
    Table { title: "mean wait\n(less is better)", of: |figures, _| figures.mean(), text: duration_ns },
    Table { title: "acquisitions in each second", of: |figures, _| Some(figures.acquisitions()), text: count },
];

impl Comparison {
    /// The comparison as text at most `width` columns wide. The names stand for the two files.
    pub fn text(&self, old_name: &str, new_name: &str, width: usize) -> String {
        let names = [old_name, new_name];
        let heads = names.iter().zip(&self.heads).map(|(name, head)| wrap("", &format!("{name}: {head}"), width));
        let mut parts = vec![heads.collect::<String>()];
        let rows = self.rows();
        let mut marks = Marks::default();
        if rows.iter().all(|row| row.figures.iter().all(|figures| figures.sum.waits == 0.0)) {
            parts.push("no thread waited for a lock, in either run\n".to_string());
        } else {
            parts.extend(TABLES.iter().map(|table| table.grid(&rows, names, &mut marks).render(width)));
            parts.push(longest(&rows, names).render(width));
        }
        let marked = MARKS.iter().zip(marks).filter(|(_, is_there)| *is_there);
        let mut notes: Vec<String> = marked.map(|(note, _)| note.to_string()).collect();
        notes.extend(self.notes(names));
        parts.push(notes.iter().map(|note| wrap("", note, width)).collect());
        parts.join("\n")
    }

    /// All locks together, and those with the most waiting.
    fn rows(&self) -> Vec<&Row> {
        [&self.total].into_iter().chain(self.rows.iter().take(MOST_ROWS)).collect()
    }

    fn notes(&self, names: [&str; 2]) -> Vec<String> {
        let rows = || self.rows.iter().take(MOST_ROWS);
        let mut notes: Vec<String> = rows().filter_map(Row::causes).collect();
        notes.extend(rows().flat_map(Row::who));
        notes.extend(rows().filter_map(|row| row.known.clone()));
        for (side, name) in names.iter().enumerate() {
            let rows = &self.only[side];
            notes.extend(rows.iter().take(MOST_ALONE).map(|row| format!("only in {name}: {}", row.alone(side))));
            let more = rows.len().saturating_sub(MOST_ALONE);
            notes.extend(
                (more > 0).then(|| format!("only in {name}: {} with less waiting", counted(more, "more lock"))),
            );
        }
        let more = self.rows.len().saturating_sub(MOST_ROWS);
        let hidden = || format!("{} of both runs with less waiting: not shown", counted(more, "more lock"));
        notes.extend((more > 0).then(hidden));
        let one = "one run each: two runs of the same program differ too, and that is not measured here. Record both again, \
                   and trust a change only if it appears both times.";
        notes.push(one.to_string());
        notes
    }
}

/// What marks in the tables mean.
const MARKS: [&str; 3] = [
    "~    the difference may be chance (p > 0.05)",
    "?    fewer than 5 samples: too few for an interval",
    "few  a few long waits, or few events, make this figure up: another run may differ much",
];
/// Places in it.
const SAME: usize = 0;
const FEW_SAMPLES: usize = 1;
const FEW_EVENTS: usize = 2;

/// Which of them stand there.
type Marks = [bool; MARKS.len()];

impl Table {
    fn grid(&self, rows: &[&Row], names: [&str; 2], marks: &mut Marks) -> Grid {
        let [old_name, new_name] = names.map(|name| in_lines(name, FILE_WIDTH));
        let mut grid = Grid::new([self.title], [&*old_name, &*new_name, "change"]);
        for row in rows {
            let estimates = row.estimates(self.of);
            let [old, new] = estimates.map(|estimate| self.figure(estimate, marks));
            let change = match estimates {
                [Some(old), Some(new)] if !old.differs_from(&new) => {
                    marks[SAME] = true;
                    "~".to_string()
                }
                [Some(old), Some(new)] if old.value > 0.0 => change(new.value / old.value),
                [Some(_), Some(_)] => "new".to_string(),
                _ => String::new(),
            };
            grid.row([in_lines(&row.name, NAME_WIDTH), old, new, change]);
        }
        grid
    }

    fn figure(&self, estimate: Option<Estimate>, marks: &mut Marks) -> String {
        let Some(estimate) = estimate else { return "-".to_string() };
        let spread = match estimate.spread() {
            Spread::Part(part) => format!("±{:>3.0}%", part * 100.0),
            Spread::FewSamples => {
                marks[FEW_SAMPLES] = true;
                "±   ?".to_string()
            }
            Spread::FewEvents => {
                marks[FEW_EVENTS] = true;
                "  few".to_string()
            }
        };
        format!("{} {spread}", (self.text)(estimate.value))
    }
}

/// The longest waits. They have no interval: each is one wait, and that of another run may be any.
fn longest(rows: &[&Row], names: [&str; 2]) -> Grid {
    let [old_name, new_name] = names.map(|name| in_lines(name, FILE_WIDTH));
    let mut grid = Grid::new(["longest wait that was seen"], [old_name, new_name]);
    for row in rows {
        let figure = |longest: Option<u64>| longest.map_or("?".to_string(), |ns| duration_ns(ns as f64));
        let [old, new] = row.figures.each_ref().map(|figures| match figures.sum.waits {
            0.0 => "-".to_string(),
            _ => figure(figures.sum.longest_ns),
        });
        grid.row([in_lines(&row.name, NAME_WIDTH), old, new]);
    }
    grid
}

impl Row {
    /// What changed most, where more than noise did and the causes of both are known. Threads that do nothing but wait wait as
    /// long in each second as before, but for shorter.
    fn causes(&self) -> Option<String> {
        let waiting = self.estimates(|figures, mean| Some(figures.waiting(mean)));
        let [Some(old), Some(new)] = waiting else { return None };
        let differ =
            |estimates: [Option<Estimate>; 2]| matches!(estimates, [Some(old), Some(new)] if old.differs_from(&new));
        let has_changed = differ(waiting) || differ(self.estimates(|figures, _| figures.mean()));
        if !self.figures.iter().all(|figures| figures.sum.knows_causes()) || !has_changed {
            return None;
        }
        let names: BTreeSet<&String> = self.figures.iter().flat_map(|figures| figures.sum.causes.keys()).collect();
        let in_a_second = |name: &str| {
            self.figures.each_ref().map(|of| of.sum.causes.get(name).copied().unwrap_or_default() / of.seconds)
        };
        let mut changes: Vec<(&String, [f64; 2])> = names.into_iter().map(|name| (name, in_a_second(name))).collect();
        let change = |(_, [old, new]): &(&String, [f64; 2])| (new - old).abs();
        changes.retain(|one| change(one) >= NOTABLE_CAUSE * old.value.max(new.value));
        changes.sort_by(|one, other| change(other).total_cmp(&change(one)));
        let said = changes.iter().take(MOST_CAUSES);
        let said = said.map(|(name, [old, new])| format!("{name} {} -> {}", duration_ns(*old), duration_ns(*new)));
        let said = said.collect::<Vec<String>>().join(", ");
        (!said.is_empty()).then(|| format!("{}, waiting in each second by cause: {said}", self.name))
    }

    /// Whether others than before have the most of its waiting.
    fn who(&self) -> Vec<String> {
        let said = |what: &str, sites: fn(&LockSummary) -> &Sites| {
            let [Some(old), Some(new)] = self.tops(sites) else { return None };
            let is_notable = old.name != new.name && new.part - new.elsewhere > NOTABLE;
            is_notable.then(|| {
                let (name, [new_part, new_before, old_part, old_now]) =
                    (&self.name, [new.part, new.elsewhere, old.part, old.elsewhere].map(whole_percent));
                let (new, old) = (&new.name, &old.name);
                format!(
                    "{name}: most waiting is now {what} {new} ({new_part}, before {new_before}). Before, it was {what} {old} \
                     ({old_part}, now {old_now})."
                )
            })
        };
        let said = [said("at", |sum| &sum.waiters), said("charged to", |sum| &sum.holders)];
        said.into_iter().flatten().collect()
    }

    /// The same of a lock that one run has alone.
    fn alone(&self, side: usize) -> String {
        let figures = &self.figures[side];
        let waiting = duration_ns(figures.sum.wait_ns / figures.seconds);
        let most = |what: &str, sites| self.tops(sites)[side].as_ref().map(|top| format!("most {what} {}", top.name));
        let most = [most("at", |sum| &sum.waiters), most("charged to", |sum| &sum.holders)];
        let where_: Vec<String> = most.into_iter().flatten().collect();
        let where_ = if where_.is_empty() { String::new() } else { format!(", {}", list(&where_)) };
        format!("{}, {waiting} of waiting in each second{where_}", wording::plain(&self.name))
    }
}
