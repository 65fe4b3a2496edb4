//! Tables in Markdown, described by their columns.

use std::fmt::Display;

/// Rows, and the columns that were made of them so far.
pub(crate) struct Table<R> {
    rows: Vec<R>,
    head: Vec<String>,
    /// The cells of each row.
    lines: Vec<Vec<String>>,
}

/// A table of these rows, without columns.
pub(crate) fn table<R>(rows: impl IntoIterator<Item = R>) -> Table<R> {
    let rows: Vec<R> = rows.into_iter().collect();
    Table { head: Vec::new(), lines: vec![Vec::new(); rows.len()], rows }
}

impl<R> Table<R> {
    /// The table with one column more: its heading, and what makes its cell of a row.
    pub(crate) fn column<C: Display>(mut self, head: impl Display, cell: impl Fn(&R) -> C) -> Self {
        self.head.push(head.to_string());
        for (row, line) in self.rows.iter().zip(&mut self.lines) {
            line.push(cell(row).to_string());
        }
        self
    }

    /// The table with these columns more, each of which is made of a key.
    #[cfg(any(test, feature = "lab"))]
    pub(crate) fn columns<K: Display, C: Display>(
        self,
        keys: impl IntoIterator<Item = K>,
        cell: impl Fn(&R, &K) -> C,
    ) -> Self {
        keys.into_iter().fold(self, |table, key| table.column(&key, |row| cell(row, &key)))
    }

    /// One line per row, below the headings and a rule.
    pub(crate) fn text(&self) -> String {
        let line = |cells: &Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rule = format!("|{}\n", "---|".repeat(self.head.len()));
        line(&self.head) + &rule + &self.lines.iter().map(line).collect::<String>()
    }
}

/// As code.
pub(crate) fn code(text: impl Display) -> String {
    format!("`{text}`")
}

/// What stands for nothing, if there is nothing.
#[cfg(feature = "lab")]
pub(crate) fn or_dash(value: Option<impl Display>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

pub(crate) fn yes_or_no(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_a_rule_below_their_head() {
        let table = table([1, 2]).column("a", |n| code(n)).columns(["b", "c"], |n, key| format!("{key}{n}"));
        assert_eq!(table.text(), "| a | b | c |\n|---|---|---|\n| `1` | b1 | c1 |\n| `2` | b2 | c2 |\n");
    }
}
