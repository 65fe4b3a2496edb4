//! A file that is replaced in one step, so that a half-written one never takes the place of a good one.

use super::reason;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A place where a result may be written; that it can be is known beforehand.
#[derive(Debug)]
pub struct OutFile {
    /// Where, symbolic links followed: replacing a link would leave what it points to as it was.
    path: PathBuf,
    /// Pipes and devices are written to as they are: they cannot be replaced.
    is_special: bool,
}

impl OutFile {
    /// Makes sure that the file can be written, without touching what is there. The error is one line.
    pub fn check(path: &Path) -> Result<OutFile, String> {
        let cannot = |what: String| format!("cannot write {}: {what}", path.display());
        let resolved = resolve(path);
        let metadata = fs::metadata(&resolved).ok();
        if metadata.as_ref().is_some_and(fs::Metadata::is_dir) || resolved.file_name().is_none() {
            return Err(cannot("it is a directory".to_string()));
        }
        let is_special = metadata.as_ref().is_some_and(|metadata| !metadata.is_file());
        let file = OutFile { path: resolved, is_special };
        if is_special {
            return Ok(file);
        }
        if metadata.is_some() {
            OpenOptions::new().append(true).open(&file.path).map_err(|error| cannot(reason(&error)))?;
        }
        // The directory must let us make the temporary file too.
        let temporary = temporary_path(&file.path);
        fs::write(&temporary, b"").map_err(|error| cannot(reason(&error)))?;
        let _ = fs::remove_file(&temporary);
        Ok(file)
    }

    /// Whether `path` leads to the same file.
    pub fn is(&self, path: &Path) -> bool {
        resolve(path) == self.path
    }

    /// Puts the bytes in the place of what is there.
    pub fn replace(&self, bytes: &[u8]) -> Result<(), String> {
        let written = if self.is_special { write_special(&self.path, bytes) } else { replace(&self.path, bytes) };
        written.map_err(|error| format!("cannot write {}: {}", self.path.display(), reason(&error)))
    }

    /// Puts the bytes into the file of the fingerprint beside. Pipes and devices have none.
    pub(super) fn replace_beside(&self, bytes: &[u8]) -> Result<(), String> {
        if self.is_special {
            return Ok(());
        }
        let path = fingerprint_path(&self.path);
        replace(&path, bytes).map_err(|error| format!("cannot write {}: {}", path.display(), reason(&error)))
    }
}

/// The path without links and detours; of a file that does not exist yet, that of its directory.
fn resolve(path: &Path) -> PathBuf {
    let in_directory = || {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(directory.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(in_directory).unwrap_or_else(|| path.to_path_buf())
}

/// The file that holds the fingerprint of a CSV file: `a/b.csv` has `a/b.fingerprint.json`.
pub fn fingerprint_path(path: &Path) -> PathBuf {
    path.with_extension("fingerprint.json")
}

/// Hidden and in the same directory, hence on the same file system, which the rename needs.
fn temporary_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

fn write_special(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(bytes)
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = temporary_path(path);
    let written = write_and_rename(&temporary, path, bytes);
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_and_rename(temporary: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = fs::File::create(temporary)?;
    file.write_all(bytes)?;
    // Without this the rename can reach the disk before the data: after a power cut the good file would be an empty one.
    file.sync_all()?;
    if let Ok(metadata) = fs::metadata(path) {
        fs::set_permissions(temporary, metadata.permissions())?;
    }
    fs::rename(temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty directory of its own for the test.
    fn directory(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("ondeck-file-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn checking_leaves_nothing_and_replacing_leaves_one_file() {
        let directory = directory("one");
        let file = OutFile::check(&directory.join("a.csv")).unwrap();
        assert_eq!(names(&directory), Vec::<String>::new());
        file.replace(b"one").unwrap();
        file.replace(b"two").unwrap();
        file.replace_beside(b"{}").unwrap();
        assert_eq!(names(&directory), ["a.csv", "a.fingerprint.json"]);
        assert_eq!(fs::read(directory.join("a.csv")).unwrap(), b"two");
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn what_cannot_be_written_is_known_beforehand() {
        let directory = directory("bad");
        let missing = OutFile::check(&directory.join("no/such/a.csv")).unwrap_err();
        assert!(missing.contains("a.csv: No such file or directory"), "{missing}");
        assert!(OutFile::check(&directory).unwrap_err().contains("is a directory"));
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn one_file_by_several_names() {
        let directory = directory("same");
        let file = OutFile::check(&directory.join("a.csv")).unwrap();
        let detour = directory.join("..").join(directory.file_name().unwrap()).join("a.csv");
        assert!(file.is(&detour) && !file.is(&directory.join("b.csv")));
        file.replace(b"here now").unwrap();
        assert!(file.is(&detour));
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn links_are_followed_and_devices_written_to() {
        let directory = directory("link");
        fs::write(directory.join("real"), b"old").unwrap();
        std::os::unix::fs::symlink(directory.join("real"), directory.join("link")).unwrap();
        OutFile::check(&directory.join("link")).unwrap().replace(b"new").unwrap();
        assert_eq!(fs::read(directory.join("real")).unwrap(), b"new");
        OutFile::check(Path::new("/dev/null")).unwrap().replace(b"away").unwrap();
        fs::remove_dir_all(&directory).unwrap();
    }
}
