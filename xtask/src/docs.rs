//! `cargo xtask docs [--check]`: writes what of `docs/` follows from the table of locks, the conformance tests and the
//! models, and the picture of README.md. With `--check` it only says whether these are up to date.

mod lineage;
mod names;
mod picture;
mod promises;
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

/// Path and text of every page and picture as it should be.
fn pages(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let tests = names::read(&root.join("proof/conformance"))?;
    let configs = models::load(&root.join("proof/spec"))?;
    Ok(BTreeMap::from([
        (lineage::PATH.to_owned(), lineage::page(root)?),
        (promises::PATH.to_owned(), promises::page(&tests, &configs)?),
        (picture::PATH.to_owned(), picture::picture(root)?),
    ]))
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
