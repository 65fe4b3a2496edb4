//! Published figures: the tables of `docs/published/`, which are part of this program.

use std::collections::BTreeMap;

macro_rules! table {
    ($name:literal) => {
        include_str!(concat!("../../../docs/published/", $name, ".csv"))
    };
}

pub(super) const CORE_TO_CORE: &str = table!("core_to_core");
pub(super) const CONTENDED_ATOMICS: &str = table!("contended_atomics");
pub(super) const PROCYIELD_OSYIELD: &str = table!("procyield_osyield");
pub(super) const CHAN_CONTENDED: &str = table!("chan_contended");
pub(super) const MONITOR_THROUGHPUT: &str = table!("monitor_throughput");
pub(super) const AIM7: &str = table!("aim7");
pub(super) const LOCK_BENCH_I7_7820HQ: &str = table!("lock_bench_i7_7820hq");
pub(super) const LOCK_BENCH_I5_6200U: &str = table!("lock_bench_i5_6200u");
pub(super) const PARKING_LOT_I7_10750H: &str = table!("parking_lot_i7_10750h");
pub(super) const CONTENTION_SCALING_XEON_8488C: &str = table!("contention_scaling_xeon_8488c");
pub(super) const CONTENTION_SCALING_I5_12500: &str = table!("contention_scaling_i5_12500");

/// A line of a table: cells by the names of their columns.
pub(super) struct Line(BTreeMap<String, String>);

/// What the first line tells.
pub(super) fn source(table: &'static str) -> &'static str {
    table.lines().next().and_then(|line| line.strip_prefix("# ")).expect("the first line tells the source")
}

/// The lines in which these columns say this.
pub(super) fn lines(table: &str, wanted: &[(&str, &str)]) -> Vec<Line> {
    // The first line tells the source.
    let reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(table.as_bytes());
    let lines = reader.into_deserialize().map(|line| Line(line.expect("a line has a cell for each column")));
    lines.filter(|line| wanted.iter().all(|(column, value)| line.text(column) == *value)).collect()
}

/// The only such line.
pub(super) fn line(table: &str, wanted: &[(&str, &str)]) -> Line {
    let mut lines = lines(table, wanted);
    assert!(lines.len() == 1, "{} lines with {wanted:?}", lines.len());
    lines.remove(0)
}

impl Line {
    pub(super) fn text(&self, column: &str) -> &str {
        self.0.get(column).unwrap_or_else(|| panic!("no column {column}"))
    }

    pub(super) fn number(&self, column: &str) -> f64 {
        self.text(column).parse().unwrap_or_else(|_| panic!("{column}: {} is no number", self.text(column)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_can_be_read() {
        let old = [CORE_TO_CORE, CONTENDED_ATOMICS, PROCYIELD_OSYIELD, CHAN_CONTENDED, MONITOR_THROUGHPUT, AIM7];
        let unfitted = [LOCK_BENCH_I7_7820HQ, LOCK_BENCH_I5_6200U, PARKING_LOT_I7_10750H];
        let scaling = [CONTENTION_SCALING_XEON_8488C, CONTENTION_SCALING_I5_12500];
        for table in old.into_iter().chain(unfitted).chain(scaling) {
            assert!(!lines(table, &[]).is_empty());
            assert!(!source(table).is_empty());
        }
        let line = line(CORE_TO_CORE, &[("pair_class", "same socket 0, other CCX")]);
        assert_eq!(line.number("median_ns"), 107.6);
    }
}
