//! docs/parking_lot.md: what programs do with ours in the place of parking_lot, beside what they did before.

use super::table;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) const PATH: &str = "docs/parking_lot.md";
/// What was measured, in turn within each round.
pub(crate) const FILE: &str = "results/epyc-2c-vm/patched.csv";

#[derive(serde::Deserialize)]
struct Row {
    workload: String,
    threads: usize,
    parking_lot: String,
    round: usize,
    ops_per_s: f64,
}

/// What stands between the markers of the page.
pub(super) fn part(root: &Path) -> Result<String, String> {
    let mut file = csv::Reader::from_path(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    let rows: Vec<Row> = file.deserialize().collect::<Result<_, _>>().map_err(|error| format!("{FILE}: {error}"))?;
    Ok(format!("\n{}\n", tabulate(&rows)))
}

/// Medians, and the median and range of the ratios within rounds.
fn tabulate(rows: &[Row]) -> String {
    let head = ["workload", "threads", "original, per s", "ours, per s", "ours / original", "range of rounds"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    let mut workloads: Vec<&str> = Vec::new();
    for row in rows {
        if !workloads.contains(&row.workload.as_str()) {
            workloads.push(&row.workload);
        }
    }
    for workload in workloads {
        let of = |name: &str| -> BTreeMap<usize, f64> {
            let found = rows.iter().filter(|row| row.workload == workload && row.parking_lot == name);
            found.map(|row| (row.round, row.ops_per_s)).collect()
        };
        let (original, ours) = (of("original"), of("patched"));
        let ratios = sorted(ours.iter().filter_map(|(round, ours)| Some(ours / original.get(round)?)));
        let threads = rows.iter().find(|row| row.workload == workload).map_or(0, |row| row.threads);
        let per_second = |figures: &BTreeMap<usize, f64>| format!("{:.0}", median(&sorted(figures.values().copied())));
        let range = ratios.first().zip(ratios.last()).map(|(low, high)| format!("{low:.2} to {high:.2}"));
        lines.push(vec![
            workload.to_owned(),
            threads.to_string(),
            per_second(&original),
            per_second(&ours),
            format!("{:.2}", median(&ratios)),
            range.unwrap_or_default(),
        ]);
    }
    table(&lines)
}

fn sorted(figures: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures
}

/// Of what is sorted; the mean of the two in the middle, if two are.
fn median(figures: &[f64]) -> f64 {
    let n = figures.len();
    if n == 0 { f64::NAN } else { (figures[(n - 1) / 2] + figures[n / 2]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_rounds() {
        let row = |name: &str, round, ops_per_s| Row {
            workload: "w".to_owned(),
            threads: 4,
            parking_lot: name.to_owned(),
            round,
            ops_per_s,
        };
        let rows =
            [row("original", 0, 10.0), row("patched", 0, 20.0), row("patched", 1, 30.0), row("original", 1, 10.0)];
        let text = tabulate(&rows);
        assert_eq!(text.lines().last(), Some("| w | 4 | 10 | 25 | 2.50 | 2.00 to 3.00 |"));
    }
}
