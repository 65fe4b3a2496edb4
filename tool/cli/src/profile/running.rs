//! `ondeck profile --pid` of a process with the recorder in it, which is switched on and off again.

use super::kernel::{self, Life, command_of};
use super::outputs::Outputs;
use super::run::{begun, now_ns};
use super::signals::{Orders, end_at_once};
use crate::args::ProfileArgs;
use crate::exit::Exit;
use crate::terminal::say;
use ondeck_launch::running::{NotRecorded, RunningProcess};
use ondeck_profile::Collector;
use rustix::fs::{CWD, FallocateFlags, Mode, OFlags, fallocate, openat};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Records it, or watches it from the kernel if that cannot be.
pub(super) fn attach(args: &ProfileArgs, pid: u32) -> Result<(), Exit> {
    let mut outputs = Outputs::check(args)?;
    if args.kernel.futex {
        return kernel::attach(args, pid, outputs);
    }
    match RecordedProcess::begin(args, pid) {
        Ok(recorded) => recorded?.watch(args, outputs),
        Err(NotRecorded::Observed) => Err(Exit::Failed(format!("process {pid}: {}", NotRecorded::Observed))),
        Err(why) => {
            let why = instead(pid, &why);
            say(&format!("note: {why}"));
            outputs.note(why);
            kernel::attach(args, pid, outputs)
        }
    }
}

/// Why the kernel is asked, and what to do for more.
fn instead(pid: u32, why: &NotRecorded) -> String {
    let otherwise = match why {
        NotRecorded::NoRecorder => {
            ". Start it with `ondeck run --lock glibc -- PROGRAM` to see next time who holds the locks, for how long, and \
             waits that do not sleep"
        }
        NotRecorded::NotAllowed(_) => ". Root may, or who has the capability CAP_SYS_PTRACE",
        _ => "",
    };
    format!("process {pid} is watched from the kernel: {why}{otherwise}")
}

/// A process that records, and what it has recorded.
struct RecordedProcess {
    pid: u32,
    process: RunningProcess,
    collector: Collector,
    orders: Orders,
    place: Place,
}

impl RecordedProcess {
    /// The outer error is a reason to ask the kernel, the inner one to do nothing.
    fn begin(args: &ProfileArgs, pid: u32) -> Result<Result<Self, Exit>, NotRecorded> {
        let mut process = RunningProcess::find(pid)?;
        let inner = |error| Ok(Err(error));
        let orders = match Orders::of_ours() {
            Ok(orders) => orders,
            Err(error) => return inner(error),
        };
        let place = match Place::for_process(pid, args.recorder.max_mb) {
            Ok(place) => place,
            Err(error) => return inner(error),
        };
        let Some(options) = args.recorder.options(&place.inside) else {
            return inner(Exit::Failed(format!("{}: the path is too long", place.inside.display())));
        };
        let run = begun(&command_of(pid));
        let mut collector = Collector::new(place.directory.path(), run);
        collector.looks_at(pid);
        process.begin(&options)?;
        Ok(Ok(RecordedProcess { pid, process, collector, orders, place }))
    }

    /// Reads what is recorded until the time is over, the process ends, or somebody wants us to.
    fn watch(mut self, args: &ProfileArgs, mut outputs: Outputs) -> Result<(), Exit> {
        const GAP: Duration = Duration::from_millis(50);
        say(&match args.kernel.length {
            Some(_) => format!("recording process {}", self.pid),
            None => format!("recording process {}; Ctrl-C stops recording and prints the list", self.pid),
        });
        let until = args.kernel.length.map(|length| Instant::now() + length);
        let mut next = args.every.map(|every| Instant::now() + every);
        let mut life = Life::of(self.pid);
        loop {
            self.collector.take(now_ns());
            let (is_wanted, is_over) = self.orders.snapshot_and_end();
            if is_over || until.is_some_and(|until| Instant::now() >= until) || !life.goes_on() {
                break;
            }
            if is_wanted || next.is_some_and(|next| Instant::now() >= next) {
                outputs.write_snapshot(self.collector.snapshot(now_ns()));
                next = args.every.map(|every| Instant::now() + every);
            }
            let left = until.map_or(GAP, |until| until.saturating_duration_since(Instant::now()));
            self.collector.watch(GAP.min(left), now_ns);
        }
        self.process.end();
        let ended = now_ns();
        self.collector.take(ended);
        // Names take a while. From here on nothing needs the directory, so nothing is left if a signal ends us.
        let _content = self.place.remove();
        end_at_once()?;
        outputs.write_all(self.collector.profile(ended))
    }
}

/// Where the process puts its recording.
struct Place {
    directory: tempfile::TempDir,
    /// The same, as the process sees it.
    inside: PathBuf,
    /// Keeps the directory around it, also if the process ends and its own root with it.
    _around: OwnedFd,
}

impl Place {
    /// A directory that belongs to the user of the process, where there is room.
    fn for_process(pid: u32, max_mb: u32) -> Result<Self, Exit> {
        const PLACES: [&str; 3] = ["dev/shm", "tmp", "var/tmp"];
        let root = PathBuf::from(format!("/proc/{pid}/root"));
        let mut why = String::new();
        for name in PLACES {
            match Self::within(&root, name, pid, max_mb) {
                Ok(place) => return Ok(place),
                Err(error) => why = format!("{why}; /{name}: {error}"),
            }
        }
        Err(Exit::Failed(format!("process {pid}: there is no directory for its recording{why}")))
    }

    fn within(root: &Path, name: &str, pid: u32, max_mb: u32) -> Result<Self, String> {
        let told = |error: rustix::io::Errno| error.to_string();
        let around = openat(CWD, root.join(name), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let around = around.map_err(told)?;
        let here = PathBuf::from(format!("/proc/self/fd/{}", around.as_raw_fd()));
        let free = super::free_bytes(&here) >> 20;
        if free < max_mb.into() {
            return Err(format!("{free} MB are free, and --max-mb is {max_mb}"));
        }
        let directory =
            tempfile::Builder::new().prefix("ondeck-").tempdir_in(&here).map_err(|error| error.to_string())?;
        if let Some((user, group)) = user_of(pid) {
            // Where we may not, it is ours already, or the process cannot write there and says so.
            let _ = std::os::unix::fs::chown(directory.path(), Some(user), Some(group));
        }
        let inside = Path::new("/").join(name).join(directory.path().file_name().unwrap_or_default());
        Ok(Place { directory, inside, _around: around })
    }
}

impl Place {
    /// Removes the directory. The content of the files is there until the answer is dropped.
    fn remove(self) -> Content {
        let files = std::fs::read_dir(self.directory.path()).into_iter().flatten().flatten();
        Content(files.filter_map(|file| File::options().write(true).open(file.path()).ok()).collect())
    }
}

/// What is in files that are removed, and that the process has mapped to its end: the memory is given back at the end of this.
struct Content(Vec<File>);

impl Drop for Content {
    fn drop(&mut self) {
        for file in &self.0 {
            let length = file.metadata().map_or(0, |about| about.len());
            // A file system that cannot do it keeps the content until the process ends.
            let _ = fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, length);
        }
    }
}

/// As which user and group a process makes files.
fn user_of(pid: u32) -> Option<(u32, u32)> {
    /// Real, effective, saved, and of file systems.
    const OF_FILES: usize = 3;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().nth(OF_FILES)?.parse().ok()
    };
    Some((number("Uid:")?, number("Gid:")?))
}
