//! Rows and files that tests are about.

use crate::inputs::Source;
use crate::output::Results;
use crate::row::Row;

/// A row of one round in which the lock did so many million operations a second.
pub(crate) fn row(workload: &str, lock: &str, threads: u32, round: u32, mega: f64) -> Row {
    let row = Row { platform: "hardware".into(), machine: "toy-4c".into(), seconds: 0.1, ..Row::default() };
    let row = Row { workload: workload.into(), lock: lock.into(), threads, round, ..row };
    Row { ops_per_s: Some(mega * 1e6), ns_per_op: Some(1e3 / mega), ..row }
}

/// A row for each figure, of the rounds 0 and up.
pub(crate) fn rounds(workload: &str, lock: &str, threads: u32, megas: &[f64]) -> Vec<Row> {
    (0..).zip(megas).map(|(round, mega)| row(workload, lock, threads, round, *mega)).collect()
}

/// A file with nothing but rows.
pub(crate) fn source(label: &str, rows: Vec<Row>) -> Source {
    Source { label: label.into(), results: Results { rows, ..Results::default() }, notes: Vec::new() }
}
