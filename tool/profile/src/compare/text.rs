//! A comparison as text.

use super::{Comparison, Estimate, Figures, NOTABLE, Row, Spread, Top};
use crate::summary::{Summary, short};
use ondeck_report::wording::{
    change, count, counted, duration_ns, in_lines, list, run_time, typed, whole_percent, wrap,
};
use ondeck_report::{Grid, wording};

/// Locks in a table. Those with less waiting are counted only.
const MOST_ROWS: usize = 20;
/// Locks that only one run has and that are named.
const MOST_ALONE: usize = 10;
/// Longer names are broken, so that a table fits a terminal.
const NAME_WIDTH: usize = 36;
/// The same of the files' names.
const FILE_WIDTH: usize = 20;

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

impl Summary {
    /// What the run was, in one line.
    pub(super) fn head(&self) -> String {
        let (time, command) = (run_time(self.seconds), short(&typed(&self.command)));
        let rate =
            if self.rate > 1 { format!("1 acquisition in {}", self.rate) } else { "each acquisition".to_string() };
        format!("{time}, lock {}, {rate} recorded: {command}", self.lock)
    }
}

impl Comparison {
    /// The comparison as text at most `width` columns wide. The names stand for the two files.
    pub fn text(&self, old_name: &str, new_name: &str, width: usize) -> String {
        let names = [old_name, new_name];
        let heads = names.iter().zip(&self.heads).map(|(name, head)| wrap("", &format!("{name}: {head}"), width));
        let mut parts = vec![heads.collect::<String>()];
        let rows = self.rows();
        let mut marks = Marks::default();
        if rows.iter().all(|row| row.figures.iter().all(|figures| figures.waits == 0.0)) {
            parts.push("no thread waited for a lock, in either run\n".to_string());
        } else {
            parts.extend(TABLES.iter().map(|table| table.grid(&rows, names, &mut marks).render(width)));
            parts.push(longest(&rows, names).render(width));
        }
        let mut notes = marks.notes();
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

/// Which marks stand in the tables and must be explained.
#[derive(Default)]
struct Marks {
    same: bool,
    few_samples: bool,
    few_events: bool,
}

impl Marks {
    fn notes(&self) -> Vec<String> {
        let same = "~    the difference may be chance (p > 0.05)";
        let few_samples = "?    fewer than 5 samples: too few for an interval";
        let few_events = "few  a few long waits, or few events, make this figure up: another run may differ much";
        [(self.same, same), (self.few_samples, few_samples), (self.few_events, few_events)]
            .iter()
            .filter(|note| note.0)
            .map(|note| note.1.to_string())
            .collect()
    }
}

impl Table {
    fn grid(&self, rows: &[&Row], names: [&str; 2], marks: &mut Marks) -> Grid {
        let [old_name, new_name] = names.map(|name| in_lines(name, FILE_WIDTH));
        let mut grid = Grid::new([self.title], [&*old_name, &*new_name, "change"]);
        for row in rows {
            let estimates = row.estimates(self.of);
            let [old, new] = estimates.map(|estimate| self.figure(estimate, marks));
            let change = match estimates {
                [Some(old), Some(new)] if !old.differs_from(&new) => {
                    marks.same = true;
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
                marks.few_samples = true;
                "±   ?".to_string()
            }
            Spread::FewEvents => {
                marks.few_events = true;
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
        let [old, new] = row.figures.map(|figures| match figures.waits {
            0.0 => "-".to_string(),
            _ => figure(figures.longest_ns),
        });
        grid.row([in_lines(&row.name, NAME_WIDTH), old, new]);
    }
    grid
}

impl Row {
    /// Whether others than before have the most of its waiting.
    fn who(&self) -> Vec<String> {
        let said = |what: &str, tops: &[Option<Top>; 2]| {
            let [Some(old), Some(new)] = tops else { return None };
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
        let said = [said("at", &self.waiters), said("charged to", &self.holders)];
        said.into_iter().flatten().collect()
    }

    /// The same of a lock that one run has alone.
    fn alone(&self, side: usize) -> String {
        let figures = &self.figures[side];
        let waiting = duration_ns(figures.wait_ns / figures.seconds);
        let at = self.waiters[side].as_ref().map(|top| format!("most at {}", top.name));
        let charged = self.holders[side].as_ref().map(|top| format!("most charged to {}", top.name));
        let where_: Vec<String> = [at, charged].into_iter().flatten().collect();
        let where_ = if where_.is_empty() { String::new() } else { format!(", {}", list(&where_)) };
        format!("{}, {waiting} of waiting in each second{where_}", wording::plain(&self.name))
    }
}
