//! Figures that stand in two pages. Each has a home; what lies between `<!-- from FILE -->` and `<!-- /from -->` in another page
//! is from there: all numbers of a line are those of one line of that file.

use crate::files::{below, read};
use std::collections::BTreeSet;
use std::path::Path;

/// Says which lines have other figures than their home.
pub(super) fn check(root: &Path) -> Result<(), String> {
    let mut stale = Vec::new();
    for page in below(root, "", &|name| ["target", ".git"].contains(&name))? {
        if page.ends_with(".md") {
            let lines = stale_lines(&read(&root.join(&page))?, |home| read(&root.join(home)))?;
            stale.extend(lines.iter().map(|line| format!("\n{page}: {line}")));
        }
    }
    if stale.is_empty() { Ok(()) } else { Err(format!("figures that are not those of their home:{}", stale.concat())) }
}

fn stale_lines(page: &str, text_of: impl Fn(&str) -> Result<String, String>) -> Result<Vec<String>, String> {
    let mut stale = Vec::new();
    for block in page.split("\n<!-- from ").skip(1) {
        let parts = block.split_once("\n<!-- /from -->").and_then(|(block, _)| block.split_once(" -->\n"));
        let (home, lines) = parts.ok_or("a line `<!-- from FILE -->`, and none `<!-- /from -->`")?;
        let text = text_of(home)?;
        let known: Vec<BTreeSet<&str>> = text.lines().map(numbers).collect();
        // The head of a table has none that are measured.
        let is_head = |line: &str| lines.contains(&format!("{line}\n|--"));
        let is_there = |line: &str| known.iter().any(|known| numbers(line).is_subset(known));
        let others = lines.lines().filter(|line| !is_head(line) && !is_there(line));
        stale.extend(others.map(|line| format!("{line} (not in {home})")));
    }
    Ok(stale)
}

fn numbers(line: &str) -> BTreeSet<&str> {
    let words = line.split(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    words.map(|word| word.trim_matches(['.', ','])).filter(|word| !word.is_empty()).collect()
}

#[test]
fn a_line_has_the_figures_of_one_line_of_its_home() {
    let home = "| a | 16 | 3.95 (3.60 to 5.33) | 1,000 |\n| b | 64 | 7.52 |\n";
    let stale = |row: &str| {
        let page =
            format!("text\n\n<!-- from home.md -->\n| lock 0.13 | x |\n|---|---|\n{row}\n<!-- /from -->\n9.99\n");
        stale_lines(&page, |_| Ok(home.to_owned())).unwrap().len()
    };
    assert_eq!(stale("| node, 16 threads | 3.95 times |"), 0);
    assert_eq!(stale("| node | 1,000 | 3.95, |"), 0);
    assert_eq!(stale("| node, 16 threads | 4.46 times |"), 1);
    assert_eq!(stale("| node, 16 threads | 7.52 times |"), 1, "of another row");
    assert!(stale_lines("\n<!-- from home.md -->\n1\n", |_| Ok(home.to_owned())).is_err());
}
