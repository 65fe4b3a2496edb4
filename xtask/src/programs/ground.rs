//! Where a program runs: an empty directory in memory, and the command lines that are run there.

use super::needs;
use super::preload::Variant;
use super::process::{Ended, Process};
use super::table::{Program, Setting};
use ondeck_lab::this_machine;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, iter};

/// What places are called, before the number of the process that uses one.
const PLACE: &str = "ondeck-programs-";
/// The sources of our own programs, as seen from a place.
const SOURCES: &str = "programs";

/// Where a program runs.
pub(super) struct Ground {
    pub(super) program: &'static Program,
    /// For its files; empty at first, and gone afterwards.
    pub(super) place: PathBuf,
    /// As in the records.
    pub(super) machine: String,
    /// Whether only what comes out matters, not the figures.
    pub(super) is_short: bool,
    /// Whether clients are to tell how long they waited.
    pub(super) has_times: bool,
}

impl Ground {
    /// A place with all that the program needs.
    pub(super) fn new(root: &Path, program: &'static Program, is_short: bool) -> Result<Ground, String> {
        needs::provide(program.needs)?;
        let memory = Path::new("/dev/shm");
        // In memory, so that no disk is measured.
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        sweep(&parent);
        let place = parent.join(format!("{PLACE}{}-{}", std::process::id(), program.name));
        fs::create_dir(&place)
            .and_then(|()| symlink(root.join("testprograms/programs"), place.join(SOURCES)))
            .map_err(|error| format!("{}: {error}", place.display()))?;
        let machine = this_machine::fingerprint().machine;
        let ground = Ground { program, place, machine, is_short, has_times: false };
        (program.prepare)(&ground)?;
        Ok(ground)
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        fs::write(self.file(name), text).map_err(|error| format!("{name}: {error}"))
    }

    /// The one when figures are wanted, else the other.
    pub(super) fn either<T>(&self, long: T, short: T) -> T {
        if self.is_short { short } else { long }
    }

    /// Starts what the line says, with those locks. It is a shell's line without quotes: what to set in the environment, a
    /// program, and its words. What begins with `./` has been compiled here.
    pub(super) fn start(&self, variant: &Variant, line: &str) -> Result<Process, String> {
        let mut words = line.split_whitespace().peekable();
        let settings: Vec<_> = iter::from_fn(|| words.next_if(|word| word.contains('='))?.split_once('=')).collect();
        let name = words.next().ok_or("no program")?;
        let (name, program) = match name.strip_prefix("./") {
            Some(own) => (own, self.file(own)),
            None => (name, needs::find(name).unwrap_or_else(|| name.into())),
        };
        let mut command = variant.command(&program);
        command.envs(settings).args(words).current_dir(&self.place);
        Process::start(command, variant, self.file(&format!("{name}.out")))
    }

    /// Runs a line with glibc's locks, and without taking its figures: what prepares, or loads a server.
    pub(super) fn plain(&self, line: &str) -> Result<Ended, String> {
        self.start(&Variant::plain(), line)?.finish()
    }

    /// Compiles one of our own programs, to what is called like its source.
    pub(super) fn compile(&self, source: &str, flags: &str) -> Result<(), String> {
        let compiler = if source.ends_with(".c") { "cc -std=c11" } else { "c++ -std=c++17" };
        let name = source.split('.').next().unwrap_or(source);
        self.plain(&format!("{compiler} -O2 -D_GNU_SOURCE -pthread -o {name} {SOURCES}/{source} {flags}")).map(|_| ())
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// Removes the places of processes that were killed, and so left theirs behind.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(PLACE).and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// One run of a program: where, in which setting, with which locks.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) ground: &'a Ground,
    pub(super) setting: &'a Setting,
    pub(super) variant: &'a Variant,
}

impl Run<'_> {
    /// Starts the line with the locks of this run.
    pub(super) fn start(&self, line: &str) -> Result<Process, String> {
        self.ground.start(self.variant, line)
    }

    /// Runs it until it ends.
    pub(super) fn finish(&self, line: &str) -> Result<Ended, String> {
        self.start(line)?.finish()
    }
}
