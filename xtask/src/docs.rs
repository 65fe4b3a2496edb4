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
mod rows;
pub(crate) mod scaling;
pub(crate) mod small;
pub(crate) mod table;

use crate::models;
use std::collections::BTreeMap;
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

type Part = fn(&Path) -> Result<String, String>;

/// The parts of pages that are otherwise written by hand: the page, the name of the markers, and what makes the part.
const PARTS: [(&str, &str, Part); 11] = [
    (lineage::PATH, "locks", lineage::part),
    (policies::PATH, "policies", policies::part),
    (ports::PATH, "ports", ports::part),
    (programs::PATH, "programs", programs::part),
    (programs::PATH, "predicted", predicted::part),
    (programs::PATH, "responses", responses::part),
    (programs::PATH, "small", small::part),
    (profiles::PATH, "programs", profiles::part),
    (profiles::PATH, "overhead", overhead::part),
    (profiles::PATH, "advice", advice::part),
    (patched::PATH, "patched", patched::part),
];

/// Path and text of every page and picture as it should be.
fn pages(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let tests = names::read(&root.join("crates/conformance"))?;
    let configs = models::load(&root.join("spec"))?;
    let mut pages = BTreeMap::from([
        (promises::PATH.to_owned(), promises::page(&tests, &configs)?),
        (picture::PATH.to_owned(), picture::picture(root)?),
    ]);
    for (path, name, part) in PARTS {
        fill(root, &mut pages, path, name, &part(root)?)?;
    }
    for (path, name, parts) in
        [(scaling::PATH, "figures", scaling::parts(root)?), (matrix::PATH, "matrix", matrix::parts(root)?)]
    {
        let (pictures, text) = parts;
        pages.extend(pictures);
        fill(root, &mut pages, path, name, &text)?;
    }
    Ok(pages)
}

/// Puts a part into its page, which has the markers for it.
fn fill(root: &Path, pages: &mut BTreeMap<String, String>, path: &str, name: &str, text: &str) -> Result<(), String> {
    let read = || fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"));
    let page = pages.remove(path).map_or_else(read, Ok)?;
    let page = between_markers(&page, name, text);
    let page = page.ok_or_else(|| format!("{path}: no `<!-- {name} -->` and `<!-- /{name} -->`"))?;
    pages.insert(path.to_owned(), page);
    Ok(())
}

/// `page` with `text` between the markers called `name`.
pub(crate) fn between_markers(page: &str, name: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once(&format!("<!-- {name} -->\n"))?;
    let (_, after) = rest.split_once(&format!("<!-- /{name} -->"))?;
    Some(format!("{before}<!-- {name} -->\n{text}<!-- /{name} -->{after}"))
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
}
