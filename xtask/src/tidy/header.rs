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
pub(super) struct Header<'a> {
    /// What stands before the first heading.
    pub(super) title: &'a str,
    pub(super) sections: Vec<Section<'a>>,
}

pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) line: usize,
    /// Number and text of its lines, without `//!`.
    lines: Vec<(usize, &'a str)>,
}

/// An invariant or an edge: a paragraph of a list, which begins with its label.
pub(super) struct Item<'a> {
    pub(super) label: &'a str,
    pub(super) line: usize,
    /// All of it.
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
    /// All its lines, as one line.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|(_, line)| format!("{} ", line.trim())).collect()
    }

    /// Line and first cell of the rows of the tables whose first column is called `column`.
    pub(super) fn rows(&self, column: &str) -> Vec<(usize, &'a str)> {
        let mut rows = Vec::new();
        let mut title = None;
        for (number, line) in &self.lines {
            let first = line.trim().strip_prefix('|').and_then(|cells| cells.split('|').next()).map(str::trim);
            let is_rule = first.is_some_and(|cell| cell.trim_matches(['-', ':', ' ']).is_empty());
            if title.is_none() || first.is_none() {
                title = first;
            } else if title == Some(column) && !is_rule {
                rows.extend(first.map(|cell| (*number, cell.trim_matches('`'))));
            }
        }
        rows
    }

    /// The items labelled by `letter` and a number, as `I1` or `E2`.
    pub(super) fn numbered(&self, letter: char) -> Vec<Item<'a>> {
        let mut items: Vec<Item<'_>> = Vec::new();
        for (number, line) in &self.lines {
            if let Some(label) = leading_label(line, letter) {
                items.push(Item { label, line: *number, text: (*line).to_owned() });
            } else if let Some(item) = items.last_mut() {
                item.text += " ";
                item.text += line.trim();
            }
        }
        items
    }
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
pub(super) fn labels_in(text: &str, letter: char) -> Vec<&str> {
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
        let names: Vec<&str> = header.sections.iter().map(|section| section.name).collect();
        assert_eq!((header.title, names), ("a: b.", vec!["Idea", "Cost"]));
    }

    #[test]
    fn rows_come_from_the_table_with_the_right_first_column() {
        let table = "//! # S\n//! | bits | x |\n//! |---|---|\n//! | a | b |\n//!\n//! | step | to |\n//! |--|--|\n//! | `c` | - |\n//! | d | e |\n";
        assert_eq!(Header::parse(table).sections[0].rows("step"), [(8, "c"), (9, "d")]);
    }

    #[test]
    fn numbered_items_run_to_the_next() {
        let list = "//! # S\n//! - **I1** one\n//!   more\n//! - I2: two\n//! In short.\n";
        let items = Header::parse(list).sections[0].numbered('I');
        let items: Vec<_> = items.iter().map(|item| (item.label, item.line, item.text.as_str())).collect();
        assert_eq!(items, [("I1", 2, "- **I1** one more"), ("I2", 4, "- I2: two In short.")]);
    }

    #[test]
    fn labels_are_whole_words_and_quoted_names_follow_theirs() {
        assert_eq!(labels_in("E1, (E12) and SE3, E, E4x", 'E'), ["E1", "E12"]);
        let text = "x `y`. Conformance `a`, `b` and `c`; checked by conformance `d` in `e`.";
        assert_eq!(quoted_after(text, "onformance"), ["a", "b", "c", "d"]);
    }
}
