//! What is looked at, and what is said of it.

use crate::files::{below, read};
use std::path::Path;

/// A file of the tree: path from the root with forward slashes, and its text.
pub(super) struct File {
    pub(super) path: String,
    pub(super) text: String,
}

/// What is said of one thing that is wrong. Lines count from 1; 0 if the fault is not in one line.
pub(super) fn fault(path: &str, line: usize, text: &str) -> String {
    if line == 0 { format!("{path}: {text}") } else { format!("{path}:{line}: {text}") }
}

/// The Rust files and the modules of `proof/spec/`, in order of path.
pub(super) fn read_tree(root: &Path) -> Result<Vec<File>, String> {
    let mut files = Vec::new();
    for directory in ["crates", "kit", "tool", "lab", "proof", "xtask"] {
        for path in below(root, directory, &|name| name == "target")? {
            if path.ends_with(".rs") || path.ends_with(".tla") {
                files.push(File { text: read(&root.join(&path))?, path });
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
pub(super) fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}
