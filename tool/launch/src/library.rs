//! Where the library is that stands in for the C library's locks.

use crate::Refusal;
use object::{Object, ObjectSection};
use ondeck_futex::elf::{parse, read};
use ondeck_record::layout::MAGIC;
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
        return Err(Refusal::RecordOptions(format!(
            "cannot find {NAME}: there is no {}. Build it with `cargo build --release --package ondeck-preload`, or use \
             --library PATH",
            places.join(", no ")
        )));
    };
    // The program may start in another directory, and its children in others again.
    let path = found.canonicalize().map_err(|error| Refusal::RecordOptions(format!("{}: {error}", found.display())))?;
    if path.as_os_str().as_encoded_bytes().iter().any(|byte| b": \t\n".contains(byte)) {
        return Err(Refusal::RecordOptions(format!(
            "{}: LD_PRELOAD cannot have spaces or colons in a path; put the library into another directory",
            path.display()
        )));
    }
    Ok(path)
}

/// Refuses a library whose recordings `ondeck` could not read.
pub(crate) fn check_recordings(library: &Path) -> Result<(), Refusal> {
    let ours = (MAGIC, env!("CARGO_PKG_VERSION"));
    let said = note(library).unwrap_or_default();
    if said.first_chunk() == Some(&MAGIC.to_le_bytes()) {
        return Ok(());
    }
    Err(Refusal::RecordOptions(format!("{}: {}", library.display(), unreadable(&said, ours))))
}

/// What the library says of its recordings: the first bytes of each, and its version.
fn note(library: &Path) -> Option<Vec<u8>> {
    /// Of a note, what stands before its content.
    const HEAD: usize = 20;
    let content = read(library).ok()?;
    let note = parse(&content).ok()?.section_by_name(".note.ondeck")?.data().ok()?;
    Some(note.get(HEAD..)?.to_vec())
}

/// Says which versions do not fit, and what to do.
fn unreadable(said: &[u8], (magic, ours): (u64, &str)) -> String {
    let form = |magic: u64| magic.to_le_bytes()[7];
    let theirs = match said.split_first_chunk() {
        Some((theirs, version)) => format!(
            "is of ondeck {}, with recordings of version {}",
            String::from_utf8_lossy(version).trim_end_matches('\0'),
            form(u64::from_le_bytes(*theirs)),
        ),
        None => "does not say which recordings it makes, as those of older versions".to_owned(),
    };
    format!(
        "this library {theirs}. This is ondeck {ours}, which reads recordings of version {} only; accepted: --library PATH \
         with the library that was built or installed with this ondeck",
        form(magic)
    )
}

fn places() -> Result<Vec<PathBuf>, Refusal> {
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let program =
        program.map_err(|error| Refusal::RecordOptions(format!("cannot find out where `ondeck` is: {error}")))?;
    let directory = program.parent().unwrap_or(Path::new("/"));
    Ok(vec![directory.join(NAME), directory.join("../lib/ondeck").join(NAME)])
}

/// The value of LD_PRELOAD with the library in front of what is there already.
pub(crate) fn before_others(library: &Path) -> OsString {
    let library = if has_directories_of_glibc() { for_glibc(library) } else { library.as_os_str().to_owned() };
    join(&library, std::env::var_os("LD_PRELOAD").as_deref())
}

/// The library's path, as glibc's loader alone understands it. musl's would end each program that it cannot load the library into,
/// and so helpers that the program starts; but a file that it does not find it leaves out.
///
/// glibc puts the name of a directory in the place of `$LIB`. From there the path goes up as far as the root, and more.
fn for_glibc(library: &Path) -> OsString {
    /// `/lib` may be a link, and that of some systems leads far down.
    const UP: &str = "/$LIB/../../../../../../../..";
    let mut path = OsString::from(UP);
    path.push(library);
    path
}

/// Whether the directory is there that glibc puts in the place of `$LIB`: it may be any of these.
fn has_directories_of_glibc() -> bool {
    let debians = format!("/lib/{}-linux-gnu", std::env::consts::ARCH);
    let is_there = |path: &str| Path::new(path).is_dir();
    is_there(&debians) || is_there("/lib") && is_there("/lib64")
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
    fn the_path_for_glibc_is_the_librarys_wherever_its_directories_are() {
        let path = for_glibc(Path::new("/usr/bin"));
        for directory in ["lib", "proc/self/task", "usr/lib"] {
            let expanded = path.to_str().unwrap().replace("$LIB", directory);
            assert_eq!(Path::new(&expanded).canonicalize().unwrap(), Path::new("/usr/bin"), "{expanded}");
        }
    }

    #[test]
    fn a_library_with_other_recordings_is_told_with_both_versions() {
        let magic = |form: u8| u64::from_le_bytes([b'o', b'n', b'd', b'e', b'c', b'k', b'R', form]);
        let other = unreadable(&[&magic(4).to_le_bytes()[..], b"0.9.1\0\0\0"].concat(), (magic(5), "1.0.0"));
        assert!(
            other.starts_with("this library is of ondeck 0.9.1, with recordings of version 4. This is ondeck 1.0.0")
        );
        assert!(other.contains("reads recordings of version 5 only; accepted: --library PATH"), "{other}");
        let silent = unreadable(&[], (magic(5), "1.0.0"));
        assert!(silent.contains("older versions. This is ondeck 1.0.0"), "{silent}");
        // No library of ours, and none at all.
        for path in ["/proc/self/exe", "/dev/null"] {
            let refused = check_recordings(Path::new(path)).unwrap_err();
            assert!(matches!(&refused, Refusal::RecordOptions(text) if text.starts_with(path)), "{refused}");
        }
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
