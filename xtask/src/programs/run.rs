//! A program, one run of it, and what that has shown.

use super::place::{Need, Place};
use super::process::{FinishedProcess, Locks, Process, Usage};

/// One way to run a program.
pub(super) struct Setting {
    /// As in the tables.
    pub(super) label: &'static str,
    /// Threads of the program, or clients of the server.
    pub(super) threads: u32,
}

/// A program that runs with glibc's locks and with ours.
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) needs: &'static [Need],
    pub(super) settings: &'static [Setting],
    /// Makes what all runs start from.
    pub(super) prepare: fn(&Place) -> Result<(), String>,
    /// Runs it once, and looks at what it has computed.
    pub(super) run: fn(&Run) -> Result<Sample, String>,
    /// What its profile shall say.
    pub(super) known: Option<ExpectedProfile>,
}

/// One run of a program: where, in which setting, with which locks.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) place: &'a Place,
    pub(super) setting: &'a Setting,
    pub(super) locks: &'a Locks,
}

impl Run<'_> {
    /// Starts the line with the locks of this run.
    pub(super) fn start(&self, line: &str) -> Result<Process, String> {
        self.place.start(self.locks, line)
    }

    /// Runs it until it ends.
    pub(super) fn finish(&self, line: &str) -> Result<FinishedProcess, String> {
        self.start(line)?.finish()
    }
}

/// What one run has shown.
#[derive(Debug, Default)]
pub(super) struct Sample {
    pub(super) seconds: f64,
    /// None if it has no figures, but only computes the same: it hardly locks.
    pub(super) ops: f64,
    pub(super) usage: Usage,
    /// What must be the same with every lock.
    pub(super) result: String,
}

impl Sample {
    /// Figures, unless some of the operations are wrong.
    pub(super) fn of(seconds: f64, (ops, wrong): (f64, f64), usage: Usage) -> Result<Sample, String> {
        if wrong != 0.0 || ops == 0.0 {
            return Err(format!("{wrong} of {ops} operations are wrong or missing"));
        }
        Ok(Sample { seconds, ops, usage, result: String::new() })
    }
}

impl Program {
    pub(super) const fn with(self, known: ExpectedProfile) -> Program {
        Program { known: Some(known), ..self }
    }
}

/// Which lock is hot, from the program's sources, and what a profile shall say of it.
pub(super) struct ExpectedProfile {
    /// The setting of the program that is recorded.
    pub(super) setting: &'static str,
    /// The lock, by those who have read the sources.
    pub(super) lock: &'static str,
    /// What its name in the profile begins with.
    pub(super) name: &'static str,
    /// The file that who waits is in, by the beginning of its name.
    pub(super) module: &'static str,
    /// How the functions begin of which one is on the stack of who waits; none if no names are to be had.
    pub(super) waiters: &'static [&'static str],
    /// The least part of all waiting that is for such locks.
    pub(super) share: f64,
}

/// Why a program gave no figures.
#[derive(Debug, PartialEq)]
pub(super) enum Fault {
    /// It cannot run here, with glibc's locks either.
    Skipped(String),
    /// It cannot run with what is ours, or does something else then.
    Failed(String),
}

impl From<String> for Fault {
    fn from(reason: String) -> Fault {
        Fault::Failed(reason)
    }
}

/// Runs a program once. If that fails, a run without anything of ours shows whose fault it is.
pub(super) fn attempt(program: &Program, run: &Run) -> Result<Sample, Fault> {
    (program.run)(run).map_err(|reason| {
        let reason = format!("{} {}: {reason}", run.setting.label, run.locks.name()).trim_start().to_owned();
        let runs_without = || (program.run)(&Run { locks: &Locks::Glibc, ..*run }).is_ok();
        if *run.locks != Locks::Glibc && runs_without() { Fault::Failed(reason) } else { Fault::Skipped(reason) }
    })
}
