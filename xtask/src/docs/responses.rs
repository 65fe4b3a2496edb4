//! docs/programs.md, its table of response times.

use super::programs::{PLAIN, introduction, parts};
use super::rows::{Spread, grouped};
use super::table::{code, or_dash, table};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The rows of a machine, in its directory of `results/`.
pub(crate) const FILE: &str = "responses.csv";

/// One run: what a part of the answers took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) machine: String,
    pub(crate) program: String,
    pub(crate) setting: String,
    pub(crate) variant: String,
    pub(crate) round: u32,
    pub(crate) ops_per_s: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) p999_us: f64,
}

/// What stands between the markers of the page.
pub(super) fn part(root: &Path) -> Result<String, String> {
    parts(root, FILE, "--responses", |file, rows: &[Row]| {
        let n_rounds = rows.iter().map(|row| row.round + 1).max().unwrap_or_default();
        Ok(introduction(file, &format!("{n_rounds} rounds in turn"))? + &table_of(rows))
    })
}

type Figure = fn(&Row) -> f64;

/// The table of all rows.
pub(crate) fn table_of(rows: &[Row]) -> String {
    let figures: [(&str, Figure); 3] =
        [("half", |row| row.p50_us), ("99 %", |row| row.p99_us), ("99.9 %", |row| row.p999_us)];
    let mut table = table(grouped(rows, |row| (row.program.as_str(), row.setting.as_str())))
        .column("program", |of| code(of.0.0))
        .column("threads", |of| of.0.1);
    for (part, figure) in figures {
        let cell = |rows: &[&Row], is_plain: bool| {
            let rows = rows.iter().filter(|row| (row.variant == PLAIN) == is_plain);
            or_dash(Spread::of(rows.map(|row| figure(row) / 1e3)).map(|ms| ms.with(digits)))
        };
        table =
            table.column(format!("{part}, glibc"), |of| cell(&of.1, true)).column("ondeck", |of| cell(&of.1, false));
    }
    table.text()
}

fn digits(ms: f64) -> String {
    match ms {
        ms if ms >= 10.0 => format!("{ms:.0}"),
        ms if ms >= 1.0 => format!("{ms:.1}"),
        ms => format!("{ms:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_the_median_and_the_range_in_milliseconds() {
        let row = |variant: &str, round, p50_us| Row {
            machine: "m".into(),
            program: "node".into(),
            setting: "4".into(),
            variant: variant.into(),
            round,
            ops_per_s: 1.0,
            p50_us,
            p99_us: 2000.0,
            p999_us: 30000.0,
        };
        let rows = [row("plain", 0, 100.0), row("ondeck", 0, 50.0), row("plain", 1, 300.0), row("plain", 2, 200.0)];
        let line = "| `node` | 4 | 0.20 (0.10 to 0.30) | 0.05 (0.05 to 0.05) | 2.0 (2.0 to 2.0) | 2.0 (2.0 to 2.0) \
                    | 30 (30 to 30) | 30 (30 to 30) |\n";
        assert!(table_of(&rows).ends_with(line), "{}", table_of(&rows));
    }
}
