//! docs/programs.md, its second table: what a simulated machine of many cores says of the programs' hottest mutexes.

use super::programs::{parts, short};
use super::rows::grouped;
use super::table::{code, or_dash, table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// The rows of a machine on which programs were measured, in its directory of `results/`.
pub(crate) const FILE: &str = "predictions.csv";

/// One program's mutex with one number of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) program: String,
    /// Measured: means of all but the longest hundredth.
    pub(crate) section_ns: f64,
    pub(crate) outside_ns: f64,
    /// The simulated machine.
    pub(crate) machine: String,
    pub(crate) threads: u32,
    /// Acquisitions of the mutex, simulated.
    pub(crate) pthread_ops_per_s: f64,
    pub(crate) ondeck_ops_per_s: f64,
    pub(crate) ratio: f64,
}

/// What stands between the markers of the page: a table for each machine on which something was measured.
pub(super) fn part(root: &Path) -> Result<String, String> {
    parts(root, FILE, "--predict", |file, rows| {
        let measured_on = file.parent().and_then(Path::file_name).unwrap_or_default();
        Ok(of_machine(&measured_on.to_string_lossy(), rows))
    })
}

fn of_machine(measured_on: &str, rows: &[Row]) -> String {
    let machine = rows.first().map_or("", |row| &row.machine);
    let mut table = table(grouped(rows, |row| row.program.as_str()))
        .column("program", |of| code(of.0))
        .column("section, ns", |of| short(of.1[0].section_ns))
        .column("outside, ns", |of| short(of.1[0].outside_ns))
        .column("full at", |of| short(1.0 + of.1[0].outside_ns / of.1[0].section_ns.max(0.1)));
    for n in rows.iter().map(|row| row.threads).collect::<BTreeSet<u32>>() {
        let row = |rows: &[&Row]| rows.iter().find(|row| row.threads == n).map(|row| (*row).clone());
        table = table
            .column(format!("{n} threads, predicted: glibc/s"), |of| {
                or_dash(row(&of.1).map(|row| short(row.pthread_ops_per_s)))
            })
            .column("ours/s", |of| or_dash(row(&of.1).map(|row| short(row.ondeck_ops_per_s))))
            .column("ratio", |of| or_dash(row(&of.1).map(|row| format!("{:.2}", row.ratio))));
    }
    let text = table.text();
    format!("\nSections were measured on {measured_on}. Everything else is simulated on {machine}.\n\n{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_one_line() {
        let row = |threads, ondeck_ops_per_s| Row {
            program: "x".into(),
            section_ns: 100.0,
            outside_ns: 300.0,
            machine: "m".into(),
            threads,
            pthread_ops_per_s: 1e6,
            ondeck_ops_per_s,
            ratio: ondeck_ops_per_s / 1e6,
        };
        let text = of_machine("here", &[row(4, 1e6), row(64, 3e6)]);
        let line = "| `x` | 100 | 300 | 4.00 | 1.00 M | 1.00 M | 1.00 | 1.00 M | 3.00 M | 3.00 |\n";
        assert!(text.contains("on here. Everything else is simulated on m.") && text.ends_with(line), "{text}");
    }
}
