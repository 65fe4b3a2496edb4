//! `cargo xtask docs [--check]`: writes what of `docs/` follows from the table of locks, the conformance tests and the
//! models, and the picture of README.md. With `--check` it only says whether these are up to date. In both cases, it fails if a
//! copied figure is not that of its home.

mod figures;
mod lineage;
mod picture;
mod promises;

use std::fs;
use std::path::Path;

/// Writes the pages and the picture, or compares them.
pub(crate) fn run(root: &Path, is_check: bool) -> Result<(), String> {
    figures::check(root)?;
    let mut stale = Vec::new();
    for (path, text) in [
        (lineage::PATH, lineage::page(root)?),
        (promises::PATH, promises::page(root)?),
        (picture::PATH, picture::picture(root)?),
    ] {
        if fs::read_to_string(root.join(path)).is_ok_and(|old| old == text) {
            continue;
        }
        if is_check {
            stale.push(path);
        } else {
            fs::write(root.join(path), text).map_err(|error| format!("{path}: {error}"))?;
            println!("{path} is written");
        }
    }
    if stale.is_empty() { Ok(()) } else { Err(format!("stale: {}; `cargo xtask docs` writes them", stale.join(", "))) }
}
