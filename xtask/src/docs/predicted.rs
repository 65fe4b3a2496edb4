//! docs/programs.md, its second table: what a simulated machine of many cores says of the programs' hottest mutexes.

use super::programs::{files, short};
use super::table;
use serde::{Deserialize, Serialize};
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
    let mut text = String::new();
    for file in files(root, FILE)? {
        let failed = |error: csv::Error| format!("{}: {error}", file.display());
        let rows: Result<Vec<Row>, _> = csv::Reader::from_path(&file).map_err(failed)?.deserialize().collect();
        let measured_on = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        text += &of_machine(&measured_on, &rows.map_err(failed)?);
    }
    if text.is_empty() {
        text = "\nNothing is on record yet; `cargo xtask programs --predict` makes the record.\n".into();
    }
    Ok(text + "\n")
}

fn of_machine(measured_on: &str, rows: &[Row]) -> String {
    let mut threads: Vec<u32> = rows.iter().map(|row| row.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let machine = rows.first().map_or("", |row| &row.machine);
    let mut head = ["program", "section, ns", "outside, ns", "full at"].map(str::to_owned).to_vec();
    for n in &threads {
        head.extend([format!("{n} threads, predicted: glibc/s"), "ours/s".into(), "ratio".into()]);
    }
    let mut lines = vec![head];
    let mut programs: Vec<&str> = rows.iter().map(|row| row.program.as_str()).collect();
    programs.dedup();
    for program in programs {
        let of_program: Vec<&Row> = rows.iter().filter(|row| row.program == program).collect();
        lines.extend(line(program, &of_program, &threads));
    }
    format!(
        "\nSections were measured on {measured_on}. Everything else is simulated on {machine}.\n\n{}",
        table(&lines)
    )
}

fn line(program: &str, rows: &[&Row], threads: &[u32]) -> Option<Vec<String>> {
    let first = rows.first()?;
    let (section, outside) = (first.section_ns, first.outside_ns);
    let mut cells = vec![format!("`{program}`"), short(section), short(outside)];
    cells.push(short(1.0 + outside / section.max(0.1)));
    for n in threads {
        match rows.iter().find(|row| row.threads == *n) {
            Some(row) => {
                let ratio = format!("{:.2}", row.ratio);
                cells.extend([short(row.pthread_ops_per_s), short(row.ondeck_ops_per_s), ratio]);
            }
            None => cells.extend(["-"; 3].map(str::to_owned)),
        }
    }
    Some(cells)
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
