//! A file that is replaced in one step, so that a half-written one never takes the place of a good one.

use super::reason;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A place where a result may be written; that it can be is known beforehand.
#[derive(Debug)]
pub struct OutFile {
    /// Where, symbolic links followed: replacing a link would leave what it points to as it was.
    pub(super) path: PathBuf,
    kind: Kind,
}

/// How bytes get there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// In the place of what is there.
    Regular,
    /// Pipes and devices are written to as they are: they cannot be replaced.
    Special,
    /// Standard output, by the name that it has on command lines.
    Stdout,
}

/// The name of standard output.
const STDOUT: &str = "-";

impl OutFile {
    /// Makes sure that the file can be written, without touching what is there. The error is one line.
    pub fn check(path: &Path) -> Result<OutFile, String> {
        let cannot = |what: String| format!("cannot write {}: {what}", path.display());
        if path == Path::new(STDOUT) {
            return Ok(OutFile { path: path.to_path_buf(), kind: Kind::Stdout });
        }
        let resolved = resolve(path);
        let metadata = fs::metadata(&resolved).ok();
        if metadata.as_ref().is_some_and(fs::Metadata::is_dir) || resolved.file_name().is_none() {
            return Err(cannot("it is a directory".to_string()));
        }
        let is_special = metadata.as_ref().is_some_and(|metadata| !metadata.is_file());
        let file = OutFile { path: resolved, kind: if is_special { Kind::Special } else { Kind::Regular } };
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
        self.kind != Kind::Stdout && path != Path::new(STDOUT) && resolve(path) == self.path
    }

    /// Whether it is standard output, where nothing else should be written then.
    pub fn is_stdout(&self) -> bool {
        self.kind == Kind::Stdout
    }

    /// Whether it is a file that stays, and not a pipe, a device or standard output.
    pub fn is_regular(&self) -> bool {
        self.kind == Kind::Regular
    }

    /// Puts the bytes in the place of what is there.
    pub fn replace(&self, bytes: &[u8]) -> Result<(), String> {
        let written = match self.kind {
            Kind::Regular => replace(&self.path, bytes),
            Kind::Special => write_special(&self.path, bytes),
            Kind::Stdout => write_stdout(bytes),
        };
        written.map_err(|error| format!("cannot write {}: {}", self.path.display(), reason(&error)))
    }

    /// Puts the bytes into the file of the fingerprint beside. Only regular files have one.
    pub(super) fn replace_beside(&self, bytes: &[u8]) -> Result<(), String> {
        if !self.is_regular() {
            return Ok(());
        }
        let path = fingerprint_path(&self.path);
        replace(&path, bytes).map_err(|error| format!("cannot write {}: {}", path.display(), reason(&error)))
    }

    /// The file beside that is called the same and `more`. None of what is not regular.
    pub(super) fn beside(&self, more: &str) -> Option<OutFile> {
        self.is_regular().then(|| OutFile { path: with_more(&self.path, more), kind: Kind::Regular })
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

/// The file that holds the fingerprint of a CSV file: `a/b.csv` has `a/b.csv.fingerprint.json`. The whole name, because
/// `a/b.txt` has one too.
pub fn fingerprint_path(path: &Path) -> PathBuf {
    with_more(path, ".fingerprint.json")
}

fn with_more(path: &Path, more: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(more);
    PathBuf::from(name)
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

/// A reader that has gone (`| head`) is no failure of ours.
fn write_stdout(bytes: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
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
        assert_eq!(names(&directory), ["a.csv", "a.csv.fingerprint.json"]);
        assert_eq!(fs::read(directory.join("a.csv")).unwrap(), b"two");
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn no_two_files_share_a_fingerprint() {
        let files = ["run.1", "run.2", "run", "run.csv", "run.csv.partial"];
        let beside = files.map(|file| fingerprint_path(Path::new(file)).display().to_string());
        assert_eq!(beside, files.map(|file| format!("{file}.fingerprint.json")));
    }

    #[test]
    fn a_dash_is_standard_output() {
        let file = OutFile::check(Path::new("-")).unwrap();
        assert!(file.is_stdout() && !file.is_regular() && !file.is(Path::new("-")));
        assert!(OutFile::check(Path::new("./-")).unwrap().is_regular());
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
