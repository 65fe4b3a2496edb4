//! The headers of algorithms against their code and their models, as STYLE.md has them: each rule is a pure function from
//! files to faults.
//!
//! Run as `cargo xtask tidy` and by `cargo test`, so that a fault shows before any reviewer sees it.

mod algorithm;
mod anatomy;
mod header;
mod modelled;
mod source;
mod spec;
mod tree;

use algorithm::algorithms;
use std::path::Path;
use tree::{File, fault, read_tree};

/// A file may be so long: one that does not grow without end stays about one thing.
const MOST_LINES: usize = 600;

/// Checks the tree and prints what was looked at; the error lists every fault.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let files = read_tree(root)?;
    let faults = [too_long(&files), anatomy::check(&files), modelled::check(&files)].concat();
    if faults.is_empty() {
        println!("tidy: {} files, {} algorithms, no fault", files.len(), algorithms(&files).len());
        return Ok(());
    }
    Err(format!("{}\ntidy: {} faults; STYLE.md has the reason of each rule", faults.join("\n"), faults.len()))
}

fn too_long(files: &[File]) -> Vec<String> {
    let rust = files.iter().filter(|file| file.path.ends_with(".rs"));
    let too_long = rust.filter(|file| file.text.lines().count() > MOST_LINES);
    too_long.map(|file| fault(&file.path, 0, &format!("more than {MOST_LINES} lines"))).collect()
}

#[test]
fn the_tree_is_tidy() {
    if let Err(faults) = run(&crate::root()) {
        panic!("\n{faults}");
    }
}
