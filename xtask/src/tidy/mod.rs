//! Rules of STYLE.md that a program can check, each a pure function from files to faults.
//!
//! Run as `cargo xtask tidy` and by `cargo test`, so that a fault of style shows before any reviewer sees it.

mod absences;
mod anatomy;
mod dependencies;
mod forbidden;
mod header;
mod modelled;
mod size;
mod words;

use crate::files::{At, below};
use std::fmt;
use std::path::Path;

/// A file of the tree: path from the root with forward slashes, and its text.
#[derive(Clone, Debug)]
struct File {
    path: String,
    text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    path: String,
    /// From 1; 0 if the fault is not in one line.
    line: usize,
    text: String,
}

impl Fault {
    fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, text: text.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(out, "{}: {}", self.path, self.text),
            line => write!(out, "{}:{line}: {}", self.path, self.text),
        }
    }
}

/// Checks the tree and prints what was looked at; the error lists every fault.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let files = read_tree(root)?;
    let faults = check(root, &files)?;
    if faults.is_empty() {
        println!("tidy: {} files, {} algorithms, no fault", files.len(), anatomy::algorithms(&files).len());
        return Ok(());
    }
    let list: String = faults.iter().map(|fault| format!("{fault}\n")).collect();
    Err(format!("{list}tidy: {} faults; STYLE.md has the reason of each rule", faults.len()))
}

fn check(root: &Path, files: &[File]) -> Result<Vec<Fault>, String> {
    let mut faults = dependencies::check(root)?;
    faults.extend(absences::check(files));
    faults.extend(anatomy::check(files));
    faults.extend(forbidden::check(files));
    faults.extend(modelled::check(files));
    faults.extend(size::check(files));
    faults.extend(words::check(files));
    Ok(faults)
}

/// Every text file of the tree, in order of path.
fn read_tree(root: &Path) -> Result<Vec<File>, String> {
    // Version control, which is a file in a worktree of its own, and build output, also that of a nested package.
    let paths = below(root, "", &|name| [".git", "target"].contains(&name))?;
    let file = |path: String| {
        let bytes = std::fs::read(root.join(&path)).at(&path)?;
        Ok(String::from_utf8(bytes).ok().map(|text| File { path, text }))
    };
    paths.into_iter().filter_map(|path| file(path).transpose()).collect()
}

#[cfg(test)]
fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tree_is_tidy() {
        if let Err(faults) = super::run(&crate::root()) {
            panic!("\n{faults}");
        }
    }
}
