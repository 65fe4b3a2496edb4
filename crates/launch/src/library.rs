//! Where the library is that stands in for the C library's locks.

use crate::Refusal;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const NAME: &str = "libondeck_pthread.so";

/// The library: the given one, or the one beside this program, as cargo builds it, or as it is installed.
pub(crate) fn find(given: Option<&Path>) -> Result<PathBuf, Refusal> {
    let candidates = match given {
        Some(given) => vec![given.to_owned()],
        None => places()?,
    };
    let found = candidates.iter().find(|path| path.is_file());
    let Some(found) = found else {
        let places: Vec<_> = candidates.iter().map(|path| path.display().to_string()).collect();
        return Err(Refusal::Wish(format!(
            "cannot find {NAME}: there is no {}. Build it with `cargo build --release --package ondeck-pthread`, or use \
             --library PATH",
            places.join(", no ")
        )));
    };
    // The program may start in another directory, and its children in others again.
    let path = found.canonicalize().map_err(|error| Refusal::Wish(format!("{}: {error}", found.display())))?;
    if path.as_os_str().as_encoded_bytes().iter().any(|byte| b": \t\n".contains(byte)) {
        return Err(Refusal::Wish(format!(
            "{}: LD_PRELOAD cannot have spaces or colons in a path; put the library into another directory",
            path.display()
        )));
    }
    Ok(path)
}

fn places() -> Result<Vec<PathBuf>, Refusal> {
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let program = program.map_err(|error| Refusal::Wish(format!("cannot find out where `ondeck` is: {error}")))?;
    let directory = program.parent().unwrap_or(Path::new("/"));
    Ok(vec![directory.join(NAME), directory.join("../lib/ondeck").join(NAME)])
}

/// The value of LD_PRELOAD with the library in front of what is there already.
pub(crate) fn before_others(library: &Path) -> OsString {
    join(library.as_os_str(), std::env::var_os("LD_PRELOAD").as_deref())
}

fn join(library: &OsStr, others: Option<&OsStr>) -> OsString {
    let mut value = library.to_owned();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_to_be_preloaded_before_still_is() {
        let joined = |others: Option<&str>| join(OsStr::new("/a/b.so"), others.map(OsStr::new));
        assert_eq!(joined(None), "/a/b.so");
        assert_eq!(joined(Some("")), "/a/b.so");
        assert_eq!(joined(Some("/c.so /d.so")), "/a/b.so:/c.so /d.so");
    }

    #[test]
    fn a_library_that_is_not_there_or_cannot_be_named_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let missing = find(Some(&directory.path().join("none.so"))).unwrap_err().to_string();
        assert!(missing.contains("none.so") && missing.contains("--library"), "{missing}");
        let with_space = directory.path().join("a b.so");
        std::fs::write(&with_space, "").unwrap();
        let refused = find(Some(&with_space)).unwrap_err().to_string();
        assert!(refused.contains("spaces or colons"), "{refused}");
    }
}
