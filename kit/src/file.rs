//! A file that is replaced in one step, so that a half-written one never takes the place of a good one; and why a file
//! cannot be read.

mod place;

use crate::exit::Exit;
use place::Place;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A place where a result may be written; that it can be is known beforehand.
#[derive(Debug)]
pub struct OutFile {
    /// Where, symbolic links followed: replacing a link would leave what it points to as it was.
    path: PathBuf,
    kind: Kind,
}

/// How bytes get there.
#[derive(Clone, Debug)]
enum Kind {
    /// In the place of what is there.
    Regular(Place),
    /// Pipes and devices are written to as they are: they cannot be replaced.
    Special(Place),
    /// Standard output, by the name that it has on command lines.
    Stdout,
}

/// The name of standard output.
const STDOUT: &str = "-";

/// The file that a flag names, known to be writable.
pub fn file_of<'a>(flag: &str, path: Option<&'a Path>) -> Result<Option<(&'a Path, OutFile)>, Exit> {
    let check = |path: &'a Path| OutFile::check(path).map(|file| (path, file));
    path.map(check).transpose().map_err(|what| Exit::Usage(format!("{flag}: {what}")))
}

impl OutFile {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes sure that the file can be written, without touching what is there. The error is one line.
    pub fn check(path: &Path) -> Result<OutFile, String> {
        if path == Path::new(STDOUT) {
            return Ok(OutFile { path: path.to_path_buf(), kind: Kind::Stdout });
        }
        let kind = kind_of(path).map_err(|error| format!("cannot write {}: {}", path.display(), reason(&error)))?;
        Ok(OutFile { path: resolve(path), kind })
    }

    /// Whether `path` leads to the same file.
    pub fn is(&self, path: &Path) -> bool {
        !self.is_stdout() && path != Path::new(STDOUT) && resolve(path) == self.path
    }

    /// Whether it is standard output, where nothing else should be written then.
    pub fn is_stdout(&self) -> bool {
        matches!(self.kind, Kind::Stdout)
    }

    /// Whether it is a file that stays, and not a pipe, a device or standard output.
    pub fn is_regular(&self) -> bool {
        matches!(self.kind, Kind::Regular(_))
    }

    /// Puts the bytes in the place of what is there.
    pub fn replace(&self, bytes: &[u8]) -> Result<(), String> {
        let written = match &self.kind {
            Kind::Regular(place) => match replace(place, bytes) {
                // The directory is gone. There may be another one of that name.
                Err(error) if error.kind() == ErrorKind::NotFound => self.replace_anew(bytes),
                written => written,
            },
            Kind::Special(place) => place.open_special().and_then(|mut file| file.write_all(bytes)),
            Kind::Stdout => write_stdout(bytes),
        };
        written.map_err(|error| self.cannot(&error))
    }

    /// Walks there once more.
    fn replace_anew(&self, bytes: &[u8]) -> io::Result<()> {
        match kind_of(&self.path)? {
            Kind::Regular(place) => replace(&place, bytes),
            _ => Err(io::Error::other("it was a file, and now is none")),
        }
    }

    /// An empty file in the place of what is there, to be written little by little. The error is one line.
    pub fn begin(&self) -> Result<File, String> {
        let begun = match &self.kind {
            Kind::Regular(place) => begin(place),
            Kind::Special(place) => place.open_special(),
            Kind::Stdout => Err(io::Error::other("standard output is used otherwise; accepted: a file")),
        };
        begun.map_err(|error| self.cannot(&error))
    }

    /// Why it cannot be written, in one line.
    pub fn cannot(&self, error: &io::Error) -> String {
        format!("cannot write {}: {}", self.path.display(), reason(error))
    }

    /// The file beside that is called the same and `more`. None of what is not regular.
    pub fn beside(&self, more: &str) -> Option<OutFile> {
        let Kind::Regular(place) = &self.kind else { return None };
        Some(OutFile { path: with_more(&self.path, more), kind: Kind::Regular(place.beside(more)) })
    }
}

/// How bytes get to `path`, if they can.
fn kind_of(path: &Path) -> io::Result<Kind> {
    let place = Place::find(path)?.ok_or_else(|| io::Error::other("it is a directory"))?;
    if place.is_special() {
        return Ok(Kind::Special(place));
    }
    if place.what().is_some() {
        place.try_open()?;
    }
    // The directory must let us make the new file too, which is removed at once.
    place.create()?;
    Ok(Kind::Regular(place))
}

/// The path without links and detours; of a file that does not exist yet, that of its directory.
fn resolve(path: &Path) -> PathBuf {
    let in_directory = || {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(directory.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(in_directory).unwrap_or_else(|| path.to_path_buf())
}

/// The path that is called the same and `more`.
pub fn with_more(path: &Path, more: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(more);
    PathBuf::from(name)
}

/// A reader that has gone (`| head`) is no failure of ours.
fn write_stdout(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

fn replace(place: &Place, bytes: &[u8]) -> io::Result<()> {
    let mut new = place.create()?;
    new.file.write_all(bytes)?;
    // Without this the rename can reach the disk before the data: after a power cut the good file would be an empty one.
    new.file.sync_all()?;
    new.rename()
}

fn begin(place: &Place) -> io::Result<File> {
    let new = place.create()?;
    let file = new.file.try_clone()?;
    new.rename()?;
    Ok(file)
}

/// The text of a file that is `expected` to be something.
///
/// # Errors
/// If it cannot be read, is not text, or is empty.
pub fn text_of(file: &Path, expected: &str) -> Result<String, ReadError> {
    let fail = |what: String| ReadError::new(file, what);
    let bytes = std::fs::read(file).map_err(|error| fail(format!("cannot be read: {}", reason(&error))))?;
    let text = String::from_utf8(bytes).map_err(|_| fail(format!("is not text; {expected}")))?;
    if text.trim().is_empty() { Err(fail(format!("is empty; {expected}"))) } else { Ok(text) }
}

/// What the operating system says, without the error number that Rust appends.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

/// Why a file is not what was asked for, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// Which file.
    pub file: PathBuf,
    /// Where in it, if that is known.
    pub line: Option<u64>,
    /// What is wrong, and what is accepted.
    pub what: String,
}

impl ReadError {
    /// About the file as a whole.
    pub fn new(file: &Path, what: String) -> Self {
        ReadError { file: file.to_path_buf(), line: None, what }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for ReadError {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

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
        file.beside(".more").unwrap().replace(b"{}").unwrap();
        assert_eq!(names(&directory), ["a.csv", "a.csv.more"]);
        assert_eq!(fs::read(directory.join("a.csv")).unwrap(), b"two");
        fs::remove_dir_all(&directory).unwrap();
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
    fn links_are_followed_and_devices_written_to() {
        let directory = directory("link");
        fs::write(directory.join("real"), b"old").unwrap();
        symlink(directory.join("real"), directory.join("link")).unwrap();
        OutFile::check(&directory.join("link")).unwrap().replace(b"new").unwrap();
        assert_eq!(fs::read(directory.join("real")).unwrap(), b"new");
        symlink("later", directory.join("dangling")).unwrap();
        OutFile::check(&directory.join("dangling")).unwrap().replace(b"made").unwrap();
        assert_eq!(fs::read(directory.join("later")).unwrap(), b"made");
        symlink("loop", directory.join("loop")).unwrap();
        assert!(OutFile::check(&directory.join("loop")).unwrap_err().contains("symbolic link"));
        OutFile::check(Path::new("/dev/null")).unwrap().replace(b"away").unwrap();
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_file_keeps_its_mode() {
        let directory = directory("mode");
        let file = directory.join("a");
        fs::write(&file, b"old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o4606)).unwrap();
        OutFile::check(&file).unwrap().replace(b"new").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o606, "and nobody runs it with our rights");
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn what_a_process_has_open_is_appended_to() {
        let directory = directory("opened");
        let mut opened = File::create(directory.join("a")).unwrap();
        opened.write_all(b"before ").unwrap();
        let file = OutFile::check(Path::new(&format!("/dev/fd/{}", opened.as_raw_fd()))).unwrap();
        fs::remove_file(directory.join("a")).unwrap();
        file.replace(b"and after").unwrap();
        assert_eq!(opened.metadata().unwrap().len(), "before and after".len() as u64);
        assert!(!file.is_regular() && names(&directory).is_empty());
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn no_link_is_followed_that_came_after_the_check() {
        let directory = directory("came");
        let at = |name: &str| directory.join(name);
        fs::write(at("precious"), b"precious").unwrap();
        fs::create_dir(at("safe")).unwrap();
        let file = OutFile::check(&at("safe/a")).unwrap();
        // Of the name itself, of the names beside, and of the directory.
        symlink(at("precious"), at("safe/a")).unwrap();
        symlink(at("precious"), at("safe/a.more")).unwrap();
        file.replace(b"one").and_then(|()| file.beside(".more").unwrap().replace(b"two")).unwrap();
        assert_eq!([fs::read(at("safe/a")).unwrap(), fs::read(at("precious")).unwrap()], [&b"one"[..], b"precious"]);
        fs::rename(at("safe"), at("moved")).unwrap();
        fs::create_dir(at("else")).unwrap();
        symlink(at("else"), at("safe")).unwrap();
        file.replace(b"three").unwrap();
        file.begin().unwrap().write_all(b"four").unwrap();
        assert_eq!(fs::read(at("moved/a")).unwrap(), b"four");
        assert_eq!(names(&at("else")), Vec::<String>::new());
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_pipe_that_becomes_a_file_is_not_written_to() {
        let directory = directory("pipe");
        let pipe = directory.join("a");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let file = OutFile::check(&pipe).unwrap();
        fs::remove_file(&pipe).unwrap();
        fs::write(&pipe, b"precious").unwrap();
        assert!(file.replace(b"x").unwrap_err().contains("now is a file"));
        fs::remove_file(&pipe).unwrap();
        symlink("/dev/null", &pipe).unwrap();
        assert!(file.replace(b"x").unwrap_err().contains("symbolic link"), "nor is a link followed");
        fs::remove_dir_all(&directory).unwrap();
    }

    /// Only root can make files of others.
    #[test]
    fn a_link_of_another_user_is_followed_among_the_files_of_that_user_only() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = directory("planted");
        let at = |name: &str| directory.join(name);
        let (other, third) = (Some(54_321), Some(54_322));
        let own = |name: &str, whose| std::os::unix::fs::lchown(at(name), whose, None).unwrap();
        for name in ["ours", "shared", "theirs", "more of theirs"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::set_permissions(at("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
        fs::write(at("ours/precious"), b"precious").unwrap();
        own("theirs", other);
        own("more of theirs", other);
        let links = [
            // Where it is, where it leads, whose it is, what is written to, whether that is right.
            ("shared/file", "../ours/precious", other, "shared/file", false),
            ("shared/dangling", "../ours/new", other, "shared/dangling", false),
            ("shared/directory", "../ours", other, "shared/directory/a", false),
            ("shared/device", "/dev/null", other, "shared/device", false),
            ("shared/theirs", "../theirs", other, "shared/theirs/a", false),
            ("theirs/file", "../ours/precious", other, "theirs/file", false),
            ("theirs/directory", "../ours", other, "theirs/directory/a", false),
            ("theirs/third", "../more of theirs", third, "theirs/third/a", false),
            ("theirs/link", "../more of theirs/a", other, "theirs/link", true),
            ("shared/ours", "../ours/a", None, "shared/ours", true),
        ];
        for (link, to, whose, path, is_right) in links {
            symlink(to, at(link)).unwrap();
            own(link, whose);
            match OutFile::check(&at(path)) {
                Ok(_) => assert!(is_right, "{link} was followed"),
                Err(what) => {
                    assert!(!is_right && what.contains(&format!("of user {}", whose.unwrap())), "{link}: {what}")
                }
            }
        }
        assert_eq!(fs::read(at("ours/precious")).unwrap(), b"precious");
        assert_eq!(names(&at("ours")), ["precious"]);
        fs::remove_dir_all(&directory).unwrap();
    }
}
