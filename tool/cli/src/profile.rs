//! `ondeck profile`.

mod collector;
pub(crate) mod kernel;
mod outputs;
mod place;
mod recorded;
mod run;
pub(crate) mod running;
mod signals;
mod trial;

use crate::args::ProfileArgs;
use crate::exit::Exit;
use crate::terminal::say;
use ondeck_launch::{Refusal, prepare};
use outputs::Outputs;
pub(crate) use outputs::{show, shown};
pub(crate) use recorded::{Purpose, RecordedProgram};
pub(crate) use run::{begun, exit_code, now_ns, refused};
pub(crate) use signals::{end_at_once, listen};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &ProfileArgs) -> Result<(), Exit> {
    if args.trial.is_wanted {
        return trial::run(args);
    }
    if let Some(name) = &args.kernel.cgroup {
        return running::attach_to_cgroup(args, name);
    }
    if args.kernel.length.is_some() && args.kernel.pid.is_none() {
        let what = "--for needs a process that runs already; accepted: ondeck profile --pid PID --for 30s";
        return Err(Exit::Usage(what.to_owned()));
    }
    match args.kernel.pid {
        Some(pid) => running::attach(args, pid),
        None if args.kernel.futex => kernel::start(args),
        None => record(args),
    }
}

/// With the recorder in the program.
fn record(args: &ProfileArgs) -> Result<(), Exit> {
    let mut outputs = Outputs::check(args)?;
    let directory = directory(args.recorder.max_mb, "--max-mb")?;
    let launch = args.recorder.launch(&args.command, directory.path());
    let command = prepare(&launch).map_err(|refusal| not_recorded(refusal, &args.command))?;
    let mut watched = RecordedProgram::start(command, &args.command, directory.path(), Purpose::Profile)?;
    if args.usdt {
        say(&outputs::probes(watched.child.id(), &launch).map_err(refused)?);
    }
    let status = watched.watch(args.every, |collector, now| outputs.write_snapshot(collector.snapshot(now)));
    watched.collector.take(now_ns());
    // Names take a while. From here on nothing needs the directory, so nothing is left if a signal ends us.
    drop(directory);
    end_at_once()?;
    watched.warn_if_nothing();
    let profile = watched.collector.profile(now_ns());
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

/// Where processes put their recordings: in memory, if there is room for some of them. A disk would be written to
/// by the way, and a program that faults on such a page waits for that. `flag` is what asks for them.
pub(crate) fn directory(max_mb: u32, flag: &str) -> Result<tempfile::TempDir, Exit> {
    const PROCESSES: u64 = 4;
    let places = [PathBuf::from("/dev/shm"), std::env::temp_dir()];
    let [memory, other] = places.each_ref().map(|place| free_bytes(place) >> 20);
    let is_in_memory = memory >= u64::from(max_mb) * PROCESSES || memory >= other;
    let (place, free) = if is_in_memory { (&places[0], memory) } else { (&places[1], other) };
    if free < max_mb.into() {
        return Err(Exit::Usage(no_room(flag, max_mb, &places[1], memory, other)));
    }
    let failed =
        |error| Exit::Failed(format!("cannot make a directory for recordings in {}: {error}", place.display()));
    tempfile::Builder::new().prefix("ondeck-").tempdir_in(place).map_err(failed)
}

/// Says where room was looked for, and what would do.
fn no_room(flag: &str, max_mb: u32, temporary: &Path, memory_mb: u64, temporary_mb: u64) -> String {
    let most = memory_mb.max(temporary_mb);
    let can_be_smaller = flag == "--max-mb" && most > 0;
    let smaller = if can_be_smaller { format!("--max-mb up to {most}, or ") } else { String::new() };
    format!(
        "{flag}: no room for the recording of one process, {max_mb} MB. /dev/shm has {memory_mb} MB free, and {}, the \
         directory for temporary files, has {temporary_mb} MB; accepted: {smaller}TMPDIR=DIRECTORY with {max_mb} MB free",
        temporary.display()
    )
}

fn free_bytes(directory: &Path) -> u64 {
    rustix::fs::statvfs(directory).map_or(0, |room| room.f_bavail * room.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::no_room;
    use std::path::Path;

    #[test]
    fn who_has_no_room_learns_where_to_make_some() {
        let text = no_room("--max-mb", 64, Path::new("/tmp"), 3, 10);
        for words in
            ["--max-mb: ", "64 MB", "/dev/shm has 3 MB", "/tmp", "has 10 MB", "--max-mb up to 10", "TMPDIR=DIRECTORY"]
        {
            assert!(text.contains(words), "{words:?} is missing in: {text}");
        }
        for (flag, free) in [("--max-mb", 0), ("--stats", 10)] {
            let text = no_room(flag, 64, Path::new("/tmp"), 0, free);
            assert!(text.starts_with(flag) && text.contains("accepted: TMPDIR=DIRECTORY with 64 MB"), "{text}");
        }
    }
}
