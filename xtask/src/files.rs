//! Files and directories, with errors that say which.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

/// An error with what it is about in front.
pub(crate) trait ErrorContext<T> {
    fn at(self, place: impl AsRef<Path>) -> Result<T, String>;
}

impl<T, E: Display> ErrorContext<T> for Result<T, E> {
    fn at(self, place: impl AsRef<Path>) -> Result<T, String> {
        self.map_err(|error| format!("{}: {error}", place.as_ref().display()))
    }
}

pub(crate) fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).at(file)
}

/// Writes a file, and makes the directory that it is in.
pub(crate) fn write(file: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    fs::create_dir_all(file.parent().unwrap_or(file)).and_then(|()| fs::write(file, content)).at(file)
}

/// Makes sure that a directory is there and has nothing in it.
pub(crate) fn empty(directory: &Path) -> Result<(), String> {
    remove(directory)?;
    fs::create_dir_all(directory).at(directory)
}

/// Removes a directory, if it is there.
pub(crate) fn remove(directory: &Path) -> Result<(), String> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == NotFound => Ok(()),
        result => result.at(directory),
    }
}

/// What is in a directory.
pub(crate) fn names(directory: &Path) -> Result<BTreeSet<String>, String> {
    let entries = fs::read_dir(directory).at(directory)?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
}

/// The file, or all files below the directory, by their names relative to `root` and in their order; but for what has a name
/// that `is_skipped` knows.
pub(crate) fn below(root: &Path, path: &str, is_skipped: &dyn Fn(&str) -> bool) -> Result<Vec<String>, String> {
    let full = root.join(path);
    if full.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for name in names(&full)?.into_iter().filter(|name| !is_skipped(name)) {
        let inside = if path.is_empty() { name } else { format!("{path}/{name}") };
        found.extend(below(root, &inside, is_skipped)?);
    }
    Ok(found)
}

/// Makes `copy` the same as `original`, touching only what differs, so that cargo builds only that again; `but` for those
/// copies, which are somebody else's to write.
pub(crate) fn mirror(original: &Path, copy: &Path, but: &[PathBuf]) -> Result<(), String> {
    if but.iter().any(|excepted| excepted == copy) {
        return Ok(());
    }
    if original.is_file() {
        let text = fs::read(original).at(original)?;
        if fs::read(copy).is_ok_and(|old| old == text) {
            return Ok(());
        }
        // With its rights: some are programs.
        return fs::copy(original, copy).map(|_| ()).at(copy);
    }
    fs::create_dir_all(copy).at(copy)?;
    let originals = names(original)?;
    for stale in names(copy)?.difference(&originals).map(|name| copy.join(name)) {
        if !but.contains(&stale) {
            if stale.is_dir() { fs::remove_dir_all(&stale) } else { fs::remove_file(&stale) }.at(&stale)?;
        }
    }
    originals.iter().try_for_each(|name| mirror(&original.join(name), &copy.join(name), but))
}
