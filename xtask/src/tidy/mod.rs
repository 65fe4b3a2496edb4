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
    let mut files = Vec::new();
    read_directory(root, "", &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Names without a line of ours below: version control, which is a file in a worktree of its own, and build output, also
/// that of a nested package.
const SKIPPED: [&str; 2] = [".git", "target"];

fn read_directory(directory: &Path, prefix: &str, files: &mut Vec<File>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().map_err(failed)?;
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            read_directory(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file()
            && let Ok(text) = String::from_utf8(std::fs::read(entry.path()).map_err(failed)?)
        {
            files.push(File { path, text });
        }
    }
    Ok(())
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
