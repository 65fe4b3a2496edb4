//! Starts unmodified programs with ondeck's locks in place of the C library's: finds the library, judges the program, and
//! becomes it. Finds the library in processes that [run](running) already.
//!
//! The program `ondeck` uses it for `run` and `profile`. Begin with [`Launch`], what is to be started; [`Recording`], what is
//! written down of it; [`Refusal`], why it is not.
//!
//! The program takes the place of the caller, so signals, exit status, standard input and terminal are its own. One that is
//! started beside the caller, to be measured or watched, is a [`ChildProcess`].
#![cfg(target_os = "linux")]

mod child;
mod library;
mod numbers;
mod program;
pub mod running;

pub use child::{ChildProcess, FinishedProcess, RunFailure};
pub use numbers::{are_known_by_number, give_own_number};
use std::ffi::OsString;
use std::fmt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is to be started, and how.
#[derive(Debug, Default)]
pub struct Launch {
    /// The program, by path or by name, and its arguments.
    pub command: Vec<OsString>,
    /// The lock; the flagship if `None`.
    pub lock: Option<String>,
    /// The library, if it is not where it is looked for.
    pub library: Option<PathBuf>,
    /// What is recorded of its locks, and where.
    pub recording: Option<Recording>,
    /// Each process that loads the library says so on its standard error.
    pub verbose: bool,
    /// The programs that this one starts keep their own locks.
    pub no_children: bool,
}

/// What a program, and those that it starts, write down of their locks.
#[derive(Clone, Debug)]
pub struct Recording {
    /// A directory for their files.
    pub directory: PathBuf,
    /// One of so many acquisitions is looked at.
    pub rate: u64,
    /// The length of a file of one process, in MB.
    pub max_mb: u64,
    /// What it may cost to find who held the locks that were waited for, in millionths of the time of a core. With 0 each hold
    /// is looked at, else a sample of them.
    pub budget: u64,
    /// Whether it is noted in which order threads take locks.
    pub order: bool,
}

/// Why a program has not been started.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// What was asked for makes no sense: a lock that cannot be, a library that is not there.
    RecordOptions(String),
    /// The program is there, and cannot be started, or not with other locks than its own.
    Program(String),
    /// The program can be started, but not with a library beside it: it has no glibc, or refuses that.
    OutOfReach(String),
    /// There is no such program.
    NotFound(String),
}

impl Refusal {
    /// The exit status that shells, `env` and `timeout` give for it; 2 for a wrong command line, as elsewhere.
    pub fn exit_code(&self) -> i32 {
        match self {
            Refusal::RecordOptions(_) => 2,
            Refusal::Program(_) | Refusal::OutOfReach(_) => 126,
            Refusal::NotFound(_) => 127,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Refusal::RecordOptions(what)
        | Refusal::Program(what)
        | Refusal::OutOfReach(what)
        | Refusal::NotFound(what)) = self;
        f.write_str(what)
    }
}

impl std::error::Error for Refusal {}

/// The variable that names the lock to the library.
const LOCK: &str = "ONDECK_LOCK";
/// The C library's own lock.
const GLIBC: &str = "glibc";

/// Becomes the program. Returns only if that has failed.
pub fn become_it(launch: &Launch) -> Refusal {
    let prepared = prepare(launch);
    match prepared {
        Ok(mut command) => {
            let error = command.exec();
            Refusal::Program(format!("{}: {error}", command.get_program().to_string_lossy()))
        }
        Err(refusal) => refusal,
    }
}

/// Everything but the start.
pub fn prepare(launch: &Launch) -> Result<Command, Refusal> {
    let name = launch.lock.as_deref().unwrap_or("ondeck");
    match &launch.recording {
        Some(_) => check_recorded(name)?,
        // The C library's own, so that it can be recorded later.
        None if name == GLIBC => {}
        None => check_lock(name)?,
    }
    let library = library::find(launch.library.as_deref())?;
    if launch.recording.is_some() {
        library::check_recordings(&library)?;
    }
    let mut command = plain(launch)?;
    command.env(LOCK, name).env("LD_PRELOAD", library::before_others(&library));
    if launch.verbose {
        command.env("ONDECK_VERBOSE", "1");
    }
    if launch.no_children {
        // The library puts it back, once it is in the program.
        command.env("ONDECK_LATER_PRELOAD", std::env::var_os("LD_PRELOAD").unwrap_or_default());
    }
    if let Some(Recording { directory, rate, max_mb, budget, order }) = &launch.recording {
        command.env("ONDECK_RECORD", directory);
        command.env("ONDECK_RECORD_RATE", rate.to_string()).env("ONDECK_RECORD_MAX_MB", max_mb.to_string());
        command.env("ONDECK_RECORD_BUDGET", budget.to_string());
        command.env("ONDECK_RECORD_ORDER", u32::from(*order).to_string());
    }
    Ok(command)
}

/// The program with its own locks, after the same checks: what [`prepare`] gives is compared with it.
pub fn plain(launch: &Launch) -> Result<Command, Refusal> {
    let command = unchanged(&launch.command)?;
    let only_recorded = launch.recording.is_some() && launch.lock.as_deref() == Some("glibc");
    let program = Path::new(command.get_program());
    program::judge(program, only_recorded)?;
    if ondeck_futex::loader::is_loader(program) {
        program::judge_loaded(&launch.command, only_recorded)?;
    }
    Ok(command)
}

/// A program as it is, of whatever kind.
pub fn unchanged(words: &[OsString]) -> Result<Command, Refusal> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Refusal::RecordOptions(
            "no program is named; accepted: `ondeck run -- PROGRAM ARGUMENTS`".to_owned(),
        ));
    };
    let mut command = Command::new(program::find(program)?);
    // A program may look at the name that it was called by.
    command.arg0(program).args(arguments);
    Ok(command)
}

/// The library that a program is given.
pub fn library(launch: &Launch) -> Result<PathBuf, Refusal> {
    library::find(launch.library.as_deref())
}

/// Whether the lock called `name` can be recorded.
pub fn check_recorded(name: &str) -> Result<(), Refusal> {
    match name {
        "glibc" | "ondeck" => Ok(()),
        _ => Err(Refusal::RecordOptions(format!("--lock {name} cannot be recorded; accepted: glibc, ondeck"))),
    }
}

/// Whether the lock called `name` can be a program's mutex.
pub fn check_lock(name: &str) -> Result<(), Refusal> {
    let possible = || {
        let names = ondeck_lineage::LOCKS.iter().filter(|entry| entry.refusal_as_posix_mutex().is_none());
        names.map(|entry| entry.name).collect::<Vec<_>>().join(", ")
    };
    let reason = match ondeck_lineage::LOCKS.iter().find(|entry| entry.name == name) {
        Some(entry) => entry.refusal_as_posix_mutex(),
        None => Some("no lock of that name can replace a program's mutexes"),
    };
    match reason {
        Some(reason) => Err(Refusal::RecordOptions(format!("--lock {name}: {reason}; accepted: {}", possible()))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_cannot_be_a_mutex_is_refused_with_the_reason_and_the_others() {
        for (name, reason) in [
            ("tas", "never sleep"),
            ("coreclr-monitor", "side objects"),
            ("go-spinbit", "freed by then"),
            ("parking-lot", "no lock of that name"),
        ] {
            let refusal = check_lock(name).unwrap_err();
            let text = refusal.to_string();
            assert!(text.contains(name) && text.contains(reason) && text.contains("go-spinbit-futex"), "{text}");
            assert_eq!(refusal.exit_code(), 2);
        }
        for name in ["ondeck", "go-tristate-futex", "std-port"] {
            assert_eq!(check_lock(name), Ok(()));
        }
    }
}
