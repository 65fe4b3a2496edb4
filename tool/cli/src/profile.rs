//! `ondeck profile`.

mod directory;
pub(crate) mod kernel;
mod known_orders;
mod long_waits;
pub(crate) mod meant;
mod outputs;
mod place;
mod recorded;
#[cfg(feature = "lab")]
mod report;
mod rights;
mod run;
pub(crate) mod running;
mod signals;

use crate::args::ProfileArgs;
pub(crate) use directory::{Directory, directory};
pub(crate) use long_waits::LongWaits;
use ondeck_kit::exit::Exit;
use ondeck_launch::{Refusal, prepare};
use outputs::Outputs;
pub(crate) use outputs::{show, shown};
pub(crate) use recorded::{GAP, Purpose, RecordedProgram, cannot_start, warn_if_nothing};
#[cfg(feature = "lab")]
pub(crate) use report::report;
pub(crate) use run::{begun, exit_code, now_ns, refused};
pub(crate) use signals::{end_at_once, listen};
use std::ffi::OsString;

pub(crate) fn run(args: &ProfileArgs) -> Result<(), Exit> {
    if args.known_orders.is_some() && !args.recorder.order {
        let what = "--known-orders needs --order; accepted: ondeck profile --order --known-orders FILE -- PROGRAM";
        return Err(Exit::Usage(what.to_owned()));
    }
    if let Some(name) = &args.kernel.cgroup {
        return running::attach_to_cgroup(args, name);
    }
    if args.kernel.length.is_some() && args.kernel.pid.is_empty() {
        let what = "--for needs a process that runs already; accepted: ondeck profile --pid PID --for 30s";
        return Err(Exit::Usage(what.to_owned()));
    }
    match args.kernel.pid.as_slice() {
        [] if args.kernel.futex => kernel::start(args),
        [] => record(args),
        numbers => running::attach(args, numbers),
    }
}

/// With the recorder in the program.
fn record(args: &ProfileArgs) -> Result<(), Exit> {
    let mut outputs = Outputs::check(args)?;
    let directory = directory(args.recorder.max_mb, "--max-mb")?;
    let launch = args.recorder.launch(&args.command, directory.path());
    let command = prepare(&launch).map_err(|refusal| not_recorded(refusal, &args.command))?;
    let mut watched = RecordedProgram::start(command, &args.command, directory.path(), Purpose::Profile)?;
    watched.long_waits = LongWaits::new(args.warn_after);
    let status = watched.watch(args.every, |collector, now| outputs.write_snapshot(collector.snapshot(now)));
    watched.collector.take(now_ns());
    // Names take a while. From here on nothing needs the directory, so nothing is left if a signal ends us.
    drop(directory);
    end_at_once()?;
    warn_if_nothing(&watched.collector);
    let mut profile = watched.collector.profile(now_ns());
    profile.is_stopped = watched.is_stopped(status);
    outputs.write_all(profile)?;
    match exit_code(status) {
        0 => Ok(()),
        code => Err(Exit::Program(code)),
    }
}

/// Why a program that was to record was not started, and what shows its locks nevertheless.
pub(crate) fn not_recorded(refusal: Refusal, command: &[OsString]) -> Exit {
    match refusal {
        Refusal::OutOfReach(what) => Exit::OfProgram(format!("{what}. {}", kernel::instead(command)), 126),
        other => refused(other),
    }
}
