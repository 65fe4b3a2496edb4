//! The waits of a workload that is about them: their percentiles, and how many of them took how long.

use crate::board::{Board, Setting};
use ondeck_kit::Grid;
use ondeck_kit::histogram::Histogram;
use ondeck_kit::wording::duration_ns;

/// The tables, each with its title; none if no row has its waits with it.
pub(super) fn tables(board: &Board, width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let percentiles = percentiles(board);
    if !percentiles.is_empty() {
        parts.push(format!("Waits of all rounds, by percentile\n{}", percentiles.render(width)));
    }
    for setting in &board.settings {
        let columns: Vec<(&str, Histogram)> = with_waits(board, setting).collect();
        if !columns.is_empty() {
            let title = format!("{}, {} threads: how many waits took how long", setting.workload, setting.threads);
            parts.push(format!("{title}\n{}", histogram(&columns).render(width)));
        }
    }
    parts
}

/// What stands in the place of a lock, with its waits in all rounds.
fn with_waits<'a>(board: &'a Board, setting: &'a Setting) -> impl Iterator<Item = (&'a str, Histogram)> {
    board.locks.iter().filter_map(|lock| Some((lock.as_str(), board.waits(setting, lock)?)))
}

fn percentiles(board: &Board) -> Grid {
    let figures = ["waits", "p50", "p90", "p95", "p99", "p99.9", "max"];
    let has_locks = board.settings.iter().any(|setting| setting.workload.starts_with("pool"));
    let compared = if has_locks { "lock" } else { "policy" };
    let mut grid = Grid::new(["workload", "threads", compared], figures);
    for setting in &board.settings {
        for (lock, waits) in with_waits(board, setting) {
            let n: u64 = waits.by_powers().iter().sum();
            let names = [setting.workload.clone(), board.threads_cell(setting), lock.to_string(), n.to_string()];
            let quantiles = [0.5, 0.9, 0.95, 0.99, 0.999].map(|p| waits.quantile(p));
            let quantiles = quantiles.map(|ns| ns.map_or("-".to_string(), duration_ns));
            grid.row(names.into_iter().chain(quantiles).chain([duration_ns(waits.max() as f64)]));
        }
    }
    grid
}

/// Characters of the longest bar.
const BAR: u64 = 10;

/// Powers of two down, from the first to the last in which there is a wait; policies across.
fn histogram(columns: &[(&str, Histogram)]) -> Grid {
    let names = columns.iter().map(|(name, _)| name.replace('[', "\n[").replace('=', "=\n"));
    let mut grid = Grid::new(["below"], names);
    let counts: Vec<[u64; 64]> = columns.iter().map(|(_, waits)| waits.by_powers()).collect();
    let is_filled = |power: &usize| counts.iter().any(|counts| counts[*power] > 0);
    let (first, last) = ((0..64).find(is_filled), (0..64).rev().find(is_filled));
    for power in first.unwrap_or(1)..=last.unwrap_or(0) {
        let bars = counts.iter().map(|counts| bar(counts[power], counts.iter().copied().max().unwrap_or(0)));
        grid.row([duration_ns((power as f64 + 1.0).exp2())].into_iter().chain(bars));
    }
    grid
}

/// A count with a bar, as long as its part of the highest count; whatever is there has one.
fn bar(n: u64, most: u64) -> String {
    if n == 0 {
        return " ".repeat(BAR as usize);
    }
    let length = (n * BAR).div_ceil(most) as usize;
    format!("{n} {:<1$}", "#".repeat(length), BAR as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::row::Row;

    fn rows() -> Vec<Row> {
        let mut rows = Vec::new();
        for (policy, waits) in [("one", [700, 900, 5_000]), ("two", [1_500, 1_500, 300_000])] {
            let mut histogram = Histogram::default();
            waits.into_iter().for_each(|ns| histogram.record(ns));
            let row = Row { workload: "gc-wait/status".into(), lock: policy.into(), threads: 3, ..Row::default() };
            rows.extend([Row { waits: Some(histogram.clone()), ..row.clone() }, Row { round: 1, ..row }]);
        }
        rows
    }

    #[test]
    fn percentiles_and_buckets() {
        let rows = rows();
        let text = tables(&Board::new(&rows, &Catalogue::default()), 120).join("\n");
        for line in [
            " gc-wait/status  3        one         3   904 ns ",
            "gc-wait/status, 3 threads: how many waits took how long\n",
            "\n 1.02 us  2 ##########\n",
            "\n 8.19 us  1 #####\n",
        ] {
            assert!(text.contains(line), "no {line:?} in\n{text}");
        }
        assert!(text.contains("300 us"), "{text}");
    }

    #[test]
    fn runs_without_waits_have_no_such_tables() {
        let rows = [Row { workload: "solo".into(), lock: "std".into(), threads: 1, ..Row::default() }];
        assert!(tables(&Board::new(&rows, &Catalogue::default()), 80).is_empty());
    }

    #[test]
    fn bars_are_shares_of_the_highest() {
        assert_eq!(bar(0, 100).trim(), "");
        assert_eq!(bar(100, 100), "100 ##########");
        assert_eq!(bar(1, 100), "1 #         ");
        assert_eq!(bar(55, 100), "55 ######    ");
    }
}
