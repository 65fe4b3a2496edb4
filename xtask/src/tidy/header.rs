//! The header of an algorithm file, as sections, tables and labelled items.

/// The sections of a header, in the order in which they stand.
pub(super) const SECTIONS: [&str; 10] = [
    "Idea",
    "Lineage",
    "State word",
    "Life of a word",
    "Invariants",
    "Orderings",
    "Promises",
    "Cost",
    "After release",
    "Limits",
];

/// The leading `//!` lines of a file, cut at their `# ` headings.
#[derive(Debug)]
pub(super) struct Header<'a> {
    /// What stands before the first heading.
    pub(super) title: &'a str,
    pub(super) sections: Vec<Section<'a>>,
}

#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) line: usize,
    /// Number and text of its lines, without `//!`.
    lines: Vec<(usize, &'a str)>,
}

/// A row of a table or an item of a list that begins with its own label.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) label: String,
    pub(super) line: usize,
    /// All of it; in a table each cell follows the name of its column.
    pub(super) text: String,
}

impl<'a> Header<'a> {
    pub(super) fn parse(source: &'a str) -> Self {
        let mut header = Header { title: "", sections: Vec::new() };
        for (number, line) in (1..).zip(source.lines()) {
            let Some(line) = line.strip_prefix("//!") else { break };
            let line = line.strip_prefix(' ').unwrap_or(line);
            if let Some(name) = line.strip_prefix("# ") {
                header.sections.push(Section { name: name.trim(), line: number, lines: Vec::new() });
            } else if let Some(section) = header.sections.last_mut() {
                section.lines.push((number, line));
            } else if header.title.is_empty() {
                header.title = line;
            }
        }
        header
    }

    /// All lines of all sections, as one line.
    pub(super) fn text(&self) -> String {
        self.sections.iter().map(Section::text).collect()
    }

    pub(super) fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }
}

impl<'a> Section<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(|(_, line)| line.trim().is_empty())
    }

    /// All its lines, as one line.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|(_, line)| format!("{} ", line.trim())).collect()
    }

    /// The rows of the tables whose first column is called `column`, each labelled by its first cell.
    pub(super) fn rows(&self, column: &str) -> Vec<Item> {
        let mut rows = Vec::new();
        let mut columns: Vec<&str> = Vec::new();
        for (number, line) in &self.lines {
            let Some(cells) = cells(line) else {
                columns.clear();
                continue;
            };
            let is_rule = cells.iter().all(|cell| cell.chars().all(|c| "-: ".contains(c)));
            if columns.is_empty() {
                columns = cells;
            } else if columns[0] == column && !is_rule {
                let named = columns.iter().zip(&cells).filter(|(_, cell)| !["", "-"].contains(*cell));
                let text = named.map(|(column, cell)| format!("{column}: {cell}; ")).collect();
                rows.push(Item { label: cells[0].trim_matches('`').to_owned(), line: *number, text });
            }
        }
        rows
    }

    /// The items labelled by `letter` and a number, as `I1` or `E2`, be they rows of a table or paragraphs of a list.
    pub(super) fn numbered(&self, letter: char, column: &str) -> Vec<Item> {
        let rows = self.rows(column);
        if !rows.is_empty() {
            return rows;
        }
        let mut items: Vec<Item> = Vec::new();
        for (number, line) in &self.lines {
            if let Some(label) = leading_label(line, letter) {
                items.push(Item { label: label.to_owned(), line: *number, text: (*line).to_owned() });
            } else if let Some(item) = items.last_mut() {
                item.text.push(' ');
                item.text.push_str(line.trim());
            }
        }
        items
    }
}

/// The cells of a table's line.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

/// The label that a list's line begins with, after its bullet.
fn leading_label(line: &str, letter: char) -> Option<&str> {
    let start = line.trim_start_matches([' ', '-', '*', '`']);
    let end = start.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(start.len());
    is_label(&start[..end], letter).then(|| &start[..end])
}

fn is_label(word: &str, letter: char) -> bool {
    word.strip_prefix(letter).is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// The labels of one letter anywhere in a text.
pub(super) fn labels(text: &str, letter: char) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| is_label(word, letter)).collect()
}

/// The names in backquotes that follow `word` in a text, as in "conformance `a`, `b` and `c`".
pub(super) fn quoted_after<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let mut names = Vec::new();
    for (at, _) in text.match_indices(word) {
        let mut rest = text[at + word.len()..].trim_start();
        while let Some((name, after)) = rest.strip_prefix('`').and_then(|quoted| quoted.split_once('`')) {
            names.push(name);
            let after = after.trim_start_matches([',', ' ']);
            rest = after.strip_prefix("and ").unwrap_or(after);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_ends_with_its_comment() {
        let header = Header::parse("//! a: b.\n//!\n//! # Idea\n//! x\n//! # Cost\ncode\n//! # Limits\n");
        assert_eq!(header.title, "a: b.");
        let names: Vec<&str> = header.sections.iter().map(|section| section.name).collect();
        assert_eq!(names, ["Idea", "Cost"]);
        assert!(header.section("Cost").is_some_and(Section::is_empty));
    }

    #[test]
    fn rows_come_from_the_table_with_the_right_first_column() {
        let source = "//! # S\n//! | bits | x |\n//! |---|---|\n//! | a | b |\n//!\n//! | step | to |\n//! |--|--|\n//! | `c` | - |\n//! | d | e |\n";
        let header = Header::parse(source);
        let rows = header.sections[0].rows("step");
        assert_eq!(
            rows,
            [
                Item { label: "c".to_owned(), line: 8, text: "step: `c`; ".to_owned() },
                Item { label: "d".to_owned(), line: 9, text: "step: d; to: e; ".to_owned() },
            ]
        );
    }

    #[test]
    fn numbered_items_run_to_the_next() {
        let header = Header::parse("//! # S\n//! - **I1** one\n//!   more\n//! - I2: two\n//! In short.\n");
        let texts: Vec<(String, String)> =
            header.sections[0].numbered('I', "invariant").into_iter().map(|item| (item.label, item.text)).collect();
        assert_eq!(
            texts,
            [("I1".to_owned(), "- **I1** one more".to_owned()), ("I2".to_owned(), "- I2: two In short.".to_owned())]
        );
    }

    #[test]
    fn quoted_names_follow_their_word() {
        let text = "x `y`. Conformance `a`, `b` and `c`; checked by conformance `d` in `e`.";
        assert_eq!(quoted_after(text, "onformance"), ["a", "b", "c", "d"]);
    }

    #[test]
    fn labels_are_whole_words() {
        assert_eq!(labels("E1, (E12) and SE3, E, E4x", 'E'), ["E1", "E12"]);
    }
}
