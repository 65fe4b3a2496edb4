//! Published figures: the tables of `docs/published/`, which are part of this program.

/// A table: the names of its columns, and its lines.
pub(super) struct Table {
    columns: Vec<String>,
    lines: Vec<Vec<String>>,
}

macro_rules! table {
    ($name:literal) => {
        Table::parse(include_str!(concat!("../../../docs/published/", $name, ".csv")))
    };
}

pub(super) fn core_to_core() -> Table {
    table!("core_to_core")
}

pub(super) fn contended_atomics() -> Table {
    table!("contended_atomics")
}

pub(super) fn procyield_osyield() -> Table {
    table!("procyield_osyield")
}

pub(super) fn chan_contended() -> Table {
    table!("chan_contended")
}

pub(super) fn monitor_throughput() -> Table {
    table!("monitor_throughput")
}

pub(super) fn aim7() -> Table {
    table!("aim7")
}

impl Table {
    /// The first line tells the source, the second the columns.
    fn parse(text: &str) -> Table {
        let mut lines = text.lines().filter(|line| !line.starts_with('#')).map(cells);
        let columns = lines.next().expect("a table has a head");
        Table { columns, lines: lines.collect() }
    }

    /// The lines in which these columns say this.
    pub(super) fn lines(&self, wanted: &[(&str, &str)]) -> Vec<Line<'_>> {
        let lines = self.lines.iter().map(|cells| Line { columns: &self.columns, cells });
        lines.filter(|line| wanted.iter().all(|(column, value)| line.text(column) == *value)).collect()
    }

    /// The only such line.
    pub(super) fn line(&self, wanted: &[(&str, &str)]) -> Line<'_> {
        let mut lines = self.lines(wanted);
        assert!(lines.len() == 1, "{} lines with {wanted:?}", lines.len());
        lines.remove(0)
    }
}

/// A line of a table.
pub(super) struct Line<'a> {
    columns: &'a [String],
    cells: &'a [String],
}

impl Line<'_> {
    pub(super) fn text(&self, column: &str) -> &str {
        let index = self.columns.iter().position(|name| name == column);
        &self.cells[index.unwrap_or_else(|| panic!("no column {column}"))]
    }

    pub(super) fn number(&self, column: &str) -> f64 {
        self.text(column).parse().unwrap_or_else(|_| panic!("{column}: {} is no number", self.text(column)))
    }
}

/// The cells of a line; those in quotes may hold commas.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    for character in line.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            _ => cells.last_mut().expect("there is one").push(character),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_can_be_read() {
        for table in
            [core_to_core(), contended_atomics(), procyield_osyield(), chan_contended(), monitor_throughput(), aim7()]
        {
            assert!(table.lines.iter().all(|cells| cells.len() == table.columns.len()) && !table.lines.is_empty());
        }
        let other = core_to_core();
        let line = other.line(&[("pair_class", "same socket 0, other CCX")]);
        assert_eq!(line.number("median_ns"), 107.6);
    }
}
