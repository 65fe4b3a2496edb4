//! `ondeck profile`.

mod collector;
pub(crate) mod kernel;
mod outputs;
mod place;
mod run;
pub(crate) mod running;
mod signals;
mod trial;

use crate::args::ProfileArgs;
use crate::exit::Exit;
use crate::terminal::say;
use ondeck_launch::{Refusal, prepare};
use ondeck_profile::Collector;
use outputs::Outputs;
pub(crate) use outputs::{show, shown};
use run::refused;
pub(crate) use run::{begun, exit_code, now_ns};
use signals::{Orders, ignore_faults_beside};
pub(crate) use signals::{end_at_once, listen};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

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
    let directory = directory(args.recorder.max_mb)?;
    let launch = args.recorder.launch(&args.command, directory.path());
    let command = prepare(&launch).map_err(|refusal| not_recorded(refusal, &args.command))?;
    let mut watched = RecordedProgram::start(command, args, directory.path())?;
    if args.usdt {
        say(&outputs::probes(watched.child.id(), &launch).map_err(refused)?);
    }
    let status = watched.watch(args.every, &mut outputs);
    watched.collector.take(now_ns());
    // Names take a while. From here on nothing needs the directory, so nothing is left if a signal ends us.
    drop(directory);
    end_at_once()?;
    if watched.collector.is_empty() {
        say(
            "warning: nothing was recorded. The program ended before its libraries were loaded, or it cannot write to the \
             directory of recordings.",
        );
    }
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
/// by the way, and a program that faults on such a page waits for that.
pub(crate) fn directory(max_mb: u32) -> Result<tempfile::TempDir, Exit> {
    const PROCESSES: u64 = 4;
    let places = [PathBuf::from("/dev/shm"), std::env::temp_dir()];
    let [memory, other] = places.each_ref().map(|place| free_bytes(place) >> 20);
    let is_in_memory = memory >= u64::from(max_mb) * PROCESSES || memory >= other;
    let (place, free) = if is_in_memory { (&places[0], memory) } else { (&places[1], other) };
    if free < max_mb.into() {
        return Err(Exit::Usage(no_room(max_mb, &places[1], memory, other)));
    }
    let failed =
        |error| Exit::Failed(format!("cannot make a directory for recordings in {}: {error}", place.display()));
    tempfile::Builder::new().prefix("ondeck-").tempdir_in(place).map_err(failed)
}

/// Says where room was looked for, and what would do.
fn no_room(max_mb: u32, temporary: &Path, memory_mb: u64, temporary_mb: u64) -> String {
    let most = memory_mb.max(temporary_mb);
    let smaller = if most > 0 { format!("--max-mb up to {most}, or ") } else { String::new() };
    format!(
        "--max-mb {max_mb}: no room for the recording of one process. /dev/shm has {memory_mb} MB free, and {}, the \
         directory for temporary files, has {temporary_mb} MB; accepted: {smaller}TMPDIR=DIRECTORY with {max_mb} MB free",
        temporary.display()
    )
}

fn free_bytes(directory: &Path) -> u64 {
    rustix::fs::statvfs(directory).map_or(0, |room| room.f_bavail * room.f_frsize)
}

/// A program that runs, and what it records.
struct RecordedProgram {
    child: Child,
    collector: Collector,
    orders: Orders,
}

impl RecordedProgram {
    fn start(mut command: Command, args: &ProfileArgs, directory: &Path) -> Result<Self, Exit> {
        let orders = Orders::of_program()?;
        let run = begun(&args.command);
        let name = PathBuf::from(command.get_program());
        let cannot = |error| Exit::OfProgram(format!("{}: {error}", name.display()), 126);
        ignore_faults_beside(&mut command);
        let child = command.spawn().map_err(cannot)?;
        let mut collector = Collector::new(directory, run);
        collector.begins_with(child.id());
        Ok(RecordedProgram { child, collector, orders })
    }

    /// Reads what is recorded until the program ends. Signals to us are the program's, but for the one for snapshots.
    fn watch(&mut self, every: Option<Duration>, outputs: &mut Outputs) -> ExitStatus {
        const GAP: Duration = Duration::from_millis(50);
        let mut next = every.map(|every| Instant::now() + every);
        loop {
            self.collector.take(now_ns());
            let (is_wanted, ended) = self.orders.snapshot_and_end_of(&mut self.child);
            if let Some(status) = ended {
                return status;
            }
            let is_due = is_wanted || next.is_some_and(|next| Instant::now() >= next);
            if is_due {
                let now = now_ns();
                self.collector.take(now);
                outputs.write_snapshot(self.collector.snapshot(now));
                next = every.map(|every| Instant::now() + every);
            }
            self.collector.watch(GAP, now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::no_room;
    use std::path::Path;

    #[test]
    fn who_has_no_room_learns_where_to_make_some() {
        let text = no_room(64, Path::new("/tmp"), 3, 10);
        for words in ["--max-mb 64", "/dev/shm has 3 MB", "/tmp", "has 10 MB", "--max-mb up to 10", "TMPDIR=DIRECTORY"]
        {
            assert!(text.contains(words), "{words:?} is missing in: {text}");
        }
        assert!(no_room(64, Path::new("/tmp"), 0, 0).contains("accepted: TMPDIR=DIRECTORY with 64 MB"));
    }
}
