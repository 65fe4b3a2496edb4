//! The waits of a workload that is about them, by percentile.

use crate::board::Board;
use ondeck_kit::Grid;
use ondeck_kit::wording::duration_ns;

/// The table with its title; `None` if no row has its waits with it.
pub(super) fn table(board: &Board, width: usize) -> Option<String> {
    let mut grid = Grid::new(["workload", "threads", "lock"], ["p50", "p90", "p99", "p99.9", "max"]);
    for setting in &board.settings {
        for lock in &board.locks {
            let Some(waits) = board.waits(setting, lock) else { continue };
            let quantiles = [0.5, 0.9, 0.99, 0.999].map(|p| waits.quantile(p).map_or("-".to_string(), duration_ns));
            let names = [setting.workload.clone(), board.threads_cell(setting), lock.clone()];
            grid.row(names.into_iter().chain(quantiles).chain([duration_ns(waits.max() as f64)]));
        }
    }
    (!grid.is_empty()).then(|| format!("\nWaits of all rounds, by percentile\n{}", grid.render(width)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::row::Row;
    use ondeck_kit::histogram::Histogram;

    #[test]
    fn rounds_are_taken_together() {
        let mut waits = Histogram::default();
        [700, 900, 5_000].into_iter().for_each(|ns| waits.record(ns));
        let row = Row { workload: "gc-wait/status".into(), lock: "one".into(), threads: 3, ..Row::default() };
        let rows = [Row { waits: Some(waits), ..row.clone() }, Row { round: 1, ..row }];
        let text = table(&Board::new(&rows, &Catalogue::default()), 120).expect("there are waits");
        assert!(text.contains(" gc-wait/status  3        one   904 ns "), "{text}");
    }

    #[test]
    fn runs_without_waits_have_no_such_table() {
        let rows = [Row { workload: "solo".into(), lock: "std".into(), threads: 1, ..Row::default() }];
        assert_eq!(table(&Board::new(&rows, &Catalogue::default()), 80), None);
    }
}
