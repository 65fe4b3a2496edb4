//! docs/parking_lot.md: what programs do with ours in the place of parking_lot, beside what they did before.

use super::programs::{Row, Spread, median_of};
use super::rows::{grouped, read};
use super::table::{or_dash, table};
use std::path::Path;

pub(super) const PATH: &str = "docs/parking_lot.md";
/// What was measured, in turn within each round.
pub(crate) const FILE: &str = "results/epyc-2c-vm/patched.csv";

/// A line of the file.
#[derive(serde::Deserialize)]
struct Line {
    workload: String,
    threads: u32,
    parking_lot: String,
    round: u32,
    ops_per_s: f64,
}

impl Line {
    fn row(self) -> Row {
        let Line { workload, threads, parking_lot, round, ops_per_s } = self;
        Row { program: workload, threads, variant: parking_lot, round, seconds: 1.0, ops: ops_per_s, ..Row::default() }
    }
}

/// What stands between the markers of the page.
pub(super) fn part(root: &Path) -> Result<String, String> {
    let lines: Vec<Line> = read(&root.join(FILE))?;
    Ok(format!("\n{}\n", tabulate(lines)))
}

/// Medians, and the median and range of the ratios within rounds.
fn tabulate(lines: Vec<Line>) -> String {
    let rows: Vec<Row> = lines.into_iter().map(Line::row).collect();
    let per_second = |rows: &[&Row], name: &str| {
        or_dash(median_of(rows, |row| row.variant == name, Row::ops_per_s).map(|median| format!("{median:.0}")))
    };
    let ratios = |rows: &[&Row]| {
        let is_ours = |row: &Row| row.variant == "patched";
        Spread::within_rounds(rows, "original", is_ours, |ours, original| ours.ops_per_s() / original.ops_per_s())
    };
    table(grouped(&rows, |row| row.program.as_str()))
        .column("workload", |group| group.0)
        .column("threads", |group| group.1[0].threads)
        .column("original, per s", |group| per_second(&group.1, "original"))
        .column("ours, per s", |group| per_second(&group.1, "patched"))
        .column("ours / original", |group| or_dash(ratios(&group.1).map(|ratio| format!("{:.2}", ratio.median))))
        .column("range of rounds", |group| {
            or_dash(ratios(&group.1).map(|ratio| format!("{:.2} to {:.2}", ratio.low, ratio.high)))
        })
        .text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_rounds() {
        let line = |name: &str, round, ops_per_s| Line {
            workload: "w".to_owned(),
            threads: 4,
            parking_lot: name.to_owned(),
            round,
            ops_per_s,
        };
        let lines =
            [line("original", 0, 10.0), line("patched", 0, 20.0), line("patched", 1, 30.0), line("original", 1, 10.0)];
        assert_eq!(tabulate(lines.into()).lines().last(), Some("| w | 4 | 10 | 25 | 2.50 | 2.00 to 3.00 |"));
    }
}
