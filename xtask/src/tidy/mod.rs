//! The headers of algorithms against their code and their models, as STYLE.md has them: each rule is a pure function from
//! files to faults.
//!
//! Run as `cargo xtask tidy` and by `cargo test`, so that a fault shows before any reviewer sees it.

mod anatomy;
mod header;
mod modelled;
mod source;
mod spec;

use crate::files::{below, read};
use std::path::Path;

/// A file may be so long: one that does not grow without end stays about one thing.
const MOST_LINES: usize = 600;

/// A file of the tree: path from the root with forward slashes, and its text.
struct File {
    path: String,
    text: String,
}

/// What is said of one thing that is wrong. Lines count from 1; 0 if the fault is not in one line.
fn fault(path: &str, line: usize, text: &str) -> String {
    if line == 0 { format!("{path}: {text}") } else { format!("{path}:{line}: {text}") }
}

/// Checks the tree and prints what was looked at; the error lists every fault.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let files = read_tree(root)?;
    let faults = [too_long(&files), anatomy::check(&files), modelled::check(&files)].concat();
    if faults.is_empty() {
        println!("tidy: {} files, {} algorithms, no fault", files.len(), anatomy::algorithms(&files).len());
        return Ok(());
    }
    Err(format!("{}\ntidy: {} faults; STYLE.md has the reason of each rule", faults.join("\n"), faults.len()))
}

/// The Rust files and the modules of `proof/spec/`, in order of path.
fn read_tree(root: &Path) -> Result<Vec<File>, String> {
    let mut files = Vec::new();
    for directory in ["crates", "tool", "lab", "proof", "xtask"] {
        for path in below(root, directory, &|name| name == "target")? {
            if path.ends_with(".rs") || path.ends_with(".tla") {
                files.push(File { text: read(&root.join(&path))?, path });
            }
        }
    }
    Ok(files)
}

fn too_long(files: &[File]) -> Vec<String> {
    let rust = files.iter().filter(|file| file.path.ends_with(".rs"));
    let too_long = rust.filter(|file| file.text.lines().count() > MOST_LINES);
    too_long.map(|file| fault(&file.path, 0, &format!("more than {MOST_LINES} lines"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn the_tree_is_tidy() {
        if let Err(faults) = run(&crate::root()) {
            panic!("\n{faults}");
        }
    }
}
