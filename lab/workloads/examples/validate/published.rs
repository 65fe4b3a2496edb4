//! Published figures: the tables of `docs/published/`.

use std::collections::BTreeMap;

/// A line of a table: cells by the names of their columns.
pub(super) struct Line(BTreeMap<String, String>);

fn text(table: &str) -> String {
    let path = format!("{}/../../docs/published/{table}.csv", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Where a table is from, and how it was taken: its first line.
pub(super) fn source(table: &str) -> String {
    let text = text(table);
    text.lines().next().and_then(|line| line.strip_prefix("# ")).expect("the first line tells the source").to_owned()
}

/// The lines in which these columns say this.
pub(super) fn lines(table: &str, wanted: &[(&str, &str)]) -> Vec<Line> {
    let text = text(table);
    let reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
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

    pub(super) fn threads(&self) -> u32 {
        self.number("threads") as u32
    }
}
