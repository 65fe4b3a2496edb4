//! Where a program runs: an empty directory in memory, with what the program needs.

use super::process::{FinishedProcess, Locks, Process};
use crate::files::{ErrorContext, write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, iter};

/// A Debian package, and a program or a header by which it is known to be there, whoever has installed it.
pub(super) type Need = (&'static str, &'static str);

/// What places are called, before the number of the process that uses one.
const NAME: &str = "ondeck-programs-";
/// The sources of our own programs, as seen from a place.
const SOURCES: &str = "programs";
/// Where Debian puts programs and headers. They come before a user's PATH, which may lack the servers, and begin with scripts
/// that choose among several versions of a program.
const DEBIAN: [&str; 4] = ["/usr/bin", "/usr/sbin", "/usr/include", "/usr/local/include"];

/// A directory for the files of a program; gone afterwards.
pub(super) struct Place {
    pub(super) directory: PathBuf,
    /// Whether only what comes out matters, not the figures.
    pub(super) is_short: bool,
}

impl Place {
    /// An empty one, if what the program needs is there.
    pub(super) fn new(root: &Path, name: &str, needs: &[Need], is_short: bool) -> Result<Place, String> {
        check(needs)?;
        let memory = Path::new("/dev/shm");
        // In memory, so that no disk is measured.
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        sweep(&parent);
        let directory = parent.join(format!("{NAME}{}-{name}", std::process::id()));
        fs::create_dir(&directory).at(&directory)?;
        let place = Place { directory, is_short };
        symlink(root.join("proof/testprograms/programs"), place.file(SOURCES)).at(SOURCES)?;
        Ok(place)
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        write(&self.file(name), text)
    }

    /// The one when figures are wanted, else the other.
    pub(super) fn either<T>(&self, long: T, short: T) -> T {
        if self.is_short { short } else { long }
    }

    /// Starts what the line says. It is a shell's line without quotes: what to set in the environment, a program, and its
    /// words. What begins with `./` has been compiled here.
    pub(super) fn start(&self, locks: &Locks, line: &str) -> Result<Process, String> {
        let mut words = line.split_whitespace().peekable();
        let settings: Vec<_> = iter::from_fn(|| words.next_if(|word| word.contains('='))?.split_once('=')).collect();
        let name = words.next().ok_or("no program")?;
        let (name, program) = match name.strip_prefix("./") {
            Some(own) => (own, self.file(own)),
            None => (name, find(name).unwrap_or_else(|| name.into())),
        };
        let mut command = locks.command(&program)?;
        command.envs(settings).args(words).current_dir(&self.directory);
        Process::start(command, locks, self.file(&format!("{name}.out")))
    }

    /// Runs a line with glibc's locks: what prepares, or loads a server.
    pub(super) fn plain(&self, line: &str) -> Result<FinishedProcess, String> {
        self.start(&Locks::Glibc, line)?.finish()
    }

    /// Compiles one of our own programs, to what is called like its source.
    pub(super) fn compile(&self, source: &str, flags: &str) -> Result<(), String> {
        let compiler = if source.ends_with(".c") { "cc -std=c11" } else { "c++ -std=c++17" };
        let name = source.split('.').next().unwrap_or(source);
        self.plain(&format!("{compiler} -O2 -D_GNU_SOURCE -pthread -o {name} {SOURCES}/{source} {flags}")).map(|_| ())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Removes the places of processes that were killed, and so left theirs behind.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(NAME).and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Where a program or a header is.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = DEBIAN.iter().map(PathBuf::from).chain(std::env::split_paths(&path));
    places.map(|place| place.join(name)).find(|file| file.is_file())
}

/// The error says which packages are missing.
fn check(needs: &[Need]) -> Result<(), String> {
    let missing: Vec<&str> = needs.iter().filter(|(_, file)| find(file).is_none()).map(|(name, _)| *name).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("`apt-get install {}` has what is missing", missing.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_by_its_package() {
        assert_eq!(check(&[("dash", "sh")]), Ok(()));
        let missing = check(&[("dash", "sh"), ("one", "no-such-file"), ("two", "no/such.h")]).unwrap_err();
        assert_eq!(missing, "`apt-get install one two` has what is missing");
    }
}
