//! `cargo xtask docs [--check]`: writes what of `docs/` follows from the table of locks, the conformance tests, the
//! models and the result files; with `--check` it only says whether that is up to date.
//!
//! A page that is written by hand has its generated part between two markers, as README.md has.

pub(crate) mod advice;
mod lineage;
pub(crate) mod matrix;
mod names;
pub(crate) mod overhead;
pub(crate) mod patched;
mod picture;
pub(crate) mod policies;
pub(crate) mod ports;
pub(crate) mod predicted;
pub(crate) mod profiles;
pub(crate) mod programs;
mod promises;
pub(crate) mod responses;
pub(crate) mod scaling;
pub(crate) mod small;

use crate::models;
use ondeck_report::catalogue::Catalogue;
use std::fs;
use std::path::Path;

/// Writes the pages, or compares them.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let is_check = match words {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => return Err("usage: cargo xtask docs [--check]".into()),
    };
    let mut stale = Vec::new();
    for (path, text) in pages(root)? {
        if fs::read_to_string(root.join(&path)).is_ok_and(|old| old == text) {
            continue;
        }
        if is_check {
            stale.push(path);
        } else {
            fs::write(root.join(&path), text).map_err(|error| format!("{path}: {error}"))?;
            println!("{path} is written");
        }
    }
    if stale.is_empty() { Ok(()) } else { Err(format!("stale: {}; `cargo xtask docs` writes them", stale.join(", "))) }
}

/// Path and text of every page as it should be.
fn pages(root: &Path) -> Result<Vec<(String, String)>, String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"));
    let tests = names::read(&root.join("crates/conformance"))?;
    let configs = models::load(&root.join("spec"))?;
    let page = read(lineage::PATH)?;
    lineage::check_story(&page)?;
    let lineage = filled(lineage::PATH, &page, "locks", &lineage::table())?;
    let (mut pages, figures) = scaling::parts(root)?;
    let (heat_maps, cells) = matrix::parts(root)?;
    pages.extend(heat_maps);
    let with_predictions = filled(programs::PATH, &read(programs::PATH)?, "predicted", &predicted::part(root)?)?;
    let with_responses = filled(programs::PATH, &with_predictions, "responses", &responses::part(root)?)?;
    let with_small = filled(programs::PATH, &with_responses, "small", &small::part(root)?)?;
    let with_overhead = filled(profiles::PATH, &read(profiles::PATH)?, "overhead", &overhead::part(root)?)?;
    let with_advice = filled(profiles::PATH, &with_overhead, "advice", &advice::part(root)?)?;
    pages.extend([
        (promises::PATH.into(), promises::page(&tests, &configs)?),
        (lineage::PATH.into(), lineage),
        (picture::PATH.into(), picture::picture(root)?),
        (scaling::PATH.into(), filled(scaling::PATH, &read(scaling::PATH)?, "figures", &figures)?),
        (policies::PATH.into(), filled(policies::PATH, &read(policies::PATH)?, "policies", &policies::part(root)?)?),
        (ports::PATH.into(), filled(ports::PATH, &read(ports::PATH)?, "ports", &ports::part(root)?)?),
        (programs::PATH.into(), filled(programs::PATH, &with_small, "programs", &programs::part(root)?)?),
        (profiles::PATH.into(), filled(profiles::PATH, &with_advice, "programs", &profiles::part(root)?)?),
        (patched::PATH.into(), filled(patched::PATH, &read(patched::PATH)?, "patched", &patched::part(root)?)?),
        (matrix::PATH.into(), filled(matrix::PATH, &read(matrix::PATH)?, "matrix", &cells)?),
    ]);
    Ok(pages)
}

/// The page with `text` between the markers called `name`, which it has.
fn filled(path: &str, page: &str, name: &str, text: &str) -> Result<String, String> {
    between_markers(page, name, text).ok_or_else(|| format!("{path}: no `<!-- {name} -->` and `<!-- /{name} -->`"))
}

/// `page` with `text` between the markers called `name`.
pub(crate) fn between_markers(page: &str, name: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once(&format!("<!-- {name} -->\n"))?;
    let (_, after) = rest.split_once(&format!("<!-- /{name} -->"))?;
    Some(format!("{before}<!-- {name} -->\n{text}<!-- /{name} -->{after}"))
}

/// The order of locks in pictures: that of the table, then other projects'.
fn catalogue() -> Catalogue {
    let locks = ondeck_locks::LOCKS.iter().map(|entry| entry.name.to_string()).collect();
    Catalogue { locks, ..Catalogue::default() }
}

/// A table, one line per row, the first being its head.
fn table(rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let Some((head, body)) = rows.split_first() else { return String::new() };
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    line(head) + &rule + &body.iter().map(|row| line(row)).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_are_up_to_date() {
        if let Err(fault) = run(&crate::root(), &["--check".to_owned()]) {
            panic!("{fault}");
        }
    }

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let page = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n";
        assert_eq!(between_markers(page, "x", "new\n").unwrap(), "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n");
        assert_eq!(between_markers(page, "y", "new\n"), None);
    }

    #[test]
    fn tables_have_a_rule_below_their_head() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        assert_eq!(table(&[row(["a", "b"]), row(["1", "2"])]), "| a | b |\n|---|---|\n| 1 | 2 |\n");
    }
}
