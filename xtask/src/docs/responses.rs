//! docs/programs.md, its table of response times.

use super::programs::{PLAIN, introduction, parts, read};
use super::table;
use ondeck_report::stats;
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
    parts(root, FILE, "--responses", machine)
}

fn machine(file: &Path) -> Result<String, String> {
    let rows: Vec<Row> = read(file)?;
    let n_rounds = rows.iter().map(|row| row.round + 1).max().unwrap_or_default();
    Ok(introduction(file, &format!("{n_rounds} rounds in turn"))? + &table_of(&rows))
}

/// The table of all rows.
pub(crate) fn table_of(rows: &[Row]) -> String {
    let head = ["program", "threads", "half, glibc", "ondeck", "99 %, glibc", "ondeck", "99.9 %, glibc", "ondeck"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    let mut settings: Vec<(&str, &str)> = rows.iter().map(|row| (&*row.program, &*row.setting)).collect();
    settings.dedup();
    let mut seen = Vec::new();
    for setting in settings {
        if seen.contains(&setting) {
            continue;
        }
        seen.push(setting);
        let mut line = vec![format!("`{}`", setting.0), setting.1.to_owned()];
        for figure in [|row: &Row| row.p50_us, |row: &Row| row.p99_us, |row: &Row| row.p999_us] {
            for is_plain in [true, false] {
                let of_setting = rows.iter().filter(|row| (&*row.program, &*row.setting) == setting);
                let of_variant = of_setting.filter(|row| (row.variant == PLAIN) == is_plain);
                line.push(milliseconds(&of_variant.map(figure).collect::<Vec<_>>()));
            }
        }
        lines.push(line);
    }
    table(&lines)
}

/// The median, and the lowest and the highest.
fn milliseconds(values_us: &[f64]) -> String {
    let Some(median) = stats::median(values_us) else { return "-".into() };
    let low = values_us.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values_us.iter().copied().fold(0.0, f64::max);
    let [median, low, high] = [median, low, high].map(|us| digits(us / 1e3));
    format!("{median} ({low} to {high})")
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
