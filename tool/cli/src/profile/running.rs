//! `ondeck profile --pid` and `--cgroup`: processes that run already. In those that have the recorder it is switched on and off
//! again.

use super::kernel::{self, Life, command_of};
use super::outputs::Outputs;
use super::place::Place;
use super::run::{begun, now_ns};
use super::signals::{Orders, end_at_once};
use crate::args::ProfileArgs;
use crate::exit::Exit;
use crate::terminal::say;
use ondeck_launch::running::{NotRecorded, RunningProcess};
use ondeck_profile::Collector;
use std::time::{Duration, Instant};

/// Records a process, or watches it from the kernel if that cannot be.
pub(super) fn attach(args: &ProfileArgs, pid: u32) -> Result<(), Exit> {
    let mut outputs = Outputs::check(args)?;
    if args.kernel.futex {
        return kernel::attach(args, pid, outputs);
    }
    let mut recorded = RecordedProcesses::new(&command_of(pid))?;
    match recorded.begin(args, pid)? {
        Ok(()) => recorded.watch(args, outputs),
        Err(NotRecorded::Observed) => Err(Exit::Failed(format!("process {pid}: {}", NotRecorded::Observed))),
        Err(why) if args.recorder.order => {
            let what =
                format!("--order: process {pid} cannot be recorded, and the kernel sees no order of locks: {why}");
            Err(Exit::Failed(what + for_more(&why)))
        }
        Err(why) => {
            let why = format!("process {pid} is watched from the kernel: {why}{}", for_more(&why));
            say(&format!("note: {why}"));
            outputs.note(why);
            kernel::attach(args, pid, outputs)
        }
    }
}

/// Records all processes of a cgroup that have the recorder.
pub(super) fn attach_to_cgroup(args: &ProfileArgs, name: &str) -> Result<(), Exit> {
    let mut outputs = Outputs::check(args)?;
    let pids = of_cgroup(name);
    let Some(first) = pids.first() else {
        let what = "no process is in such a control group; accepted: a path as /proc/PID/cgroup has it, or one of its parts, \
            such as a container's id";
        return Err(Exit::Usage(format!("--cgroup {name}: {what}")));
    };
    let mut recorded = RecordedProcesses::new(&command_of(*first))?;
    let mut others = Vec::new();
    for pid in pids {
        if let Err(why) = recorded.begin(args, pid)? {
            others.push(format!("process {pid} is not recorded: {why}{}", for_more(&why)));
        }
    }
    if recorded.processes.is_empty() {
        return Err(Exit::Failed(format!("--cgroup {name}: {}", others.join("; "))));
    }
    others.into_iter().for_each(|why| outputs.note(why));
    recorded.watch(args, outputs)
}

/// What to do for a recording.
fn for_more(why: &NotRecorded) -> &'static str {
    match why {
        NotRecorded::NoRecorder => {
            ". Start it with `ondeck run --lock glibc -- PROGRAM` to see next time who holds the locks, for how long, and \
             waits that do not sleep"
        }
        NotRecorded::NotAllowed(_) => {
            ". Root may, or who has the capabilities CAP_SYS_PTRACE, CAP_DAC_OVERRIDE and CAP_CHOWN"
        }
        _ => "",
    }
}

/// The processes of a control group: its path, or a part of that between two slashes, of which the beginning of an id of
/// twelve digits or more is enough.
fn of_cgroup(name: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let groups = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let mut pids: Vec<u32> = pids.filter(|pid| groups(*pid).lines().any(|line| is_within(line, name))).collect();
    pids.sort_unstable();
    pids
}

/// Whether a line of `/proc/PID/cgroup` is of a group of that name, or of one below it.
fn is_within(line: &str, name: &str) -> bool {
    const ID: usize = 12;
    let path = line.splitn(3, ':').nth(2).unwrap_or_default();
    if name.contains('/') {
        let name = name.trim_start_matches("/sys/fs/cgroup").trim_end_matches('/');
        return path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    }
    // As `docker-ID.scope`, `cri-containerd-ID.scope`, `libpod-ID.scope`, and ID.
    let is_id = name.len() >= ID && name.bytes().all(|digit| digit.is_ascii_hexdigit());
    path.split('/').any(|part| {
        let part = part.trim_end_matches(".scope").trim_end_matches(".service");
        part == name || is_id && part.rsplit(['-', '.']).any(|id| id.starts_with(name))
    })
}

/// Processes that record, and what they have recorded.
struct RecordedProcesses {
    processes: Vec<(u32, RunningProcess, Place)>,
    collector: Collector,
    orders: Orders,
}

impl RecordedProcesses {
    fn new(command: &[String]) -> Result<Self, Exit> {
        let orders = Orders::of_ours()?;
        Ok(RecordedProcesses { processes: Vec::new(), collector: Collector::of_running(begun(command)), orders })
    }

    /// Switches the recorder of a process on. The inner error says why that cannot be.
    fn begin(&mut self, args: &ProfileArgs, pid: u32) -> Result<Result<(), NotRecorded>, Exit> {
        let mut process = match RunningProcess::find(pid) {
            Ok(process) => process,
            Err(why) => return Ok(Err(why)),
        };
        let place = Place::for_process(pid, args.recorder.max_mb)?;
        let Some(options) = args.recorder.options(&place.inside) else {
            return Err(Exit::Failed(format!("{}: the path is too long", place.inside.display())));
        };
        self.collector.looks_at(pid, place.path());
        let begun = process.begin(&options);
        if begun.is_ok() {
            self.processes.push((pid, process, place));
        }
        Ok(begun)
    }

    /// Reads what is recorded until the time is over, the processes end, or somebody wants us to.
    fn watch(mut self, args: &ProfileArgs, mut outputs: Outputs) -> Result<(), Exit> {
        const GAP: Duration = Duration::from_millis(50);
        say(&self.what_is_done(args.kernel.length.is_some()));
        let until = args.kernel.length.map(|length| Instant::now() + length);
        let mut next = args.every.map(|every| Instant::now() + every);
        let mut lives: Vec<Life> = self.processes.iter().map(|(pid, ..)| Life::of(*pid)).collect();
        loop {
            self.collector.take(now_ns());
            let (is_wanted, is_over) = self.orders.snapshot_and_end();
            lives.retain_mut(Life::goes_on);
            if is_over || until.is_some_and(|until| Instant::now() >= until) || lives.is_empty() {
                break;
            }
            if is_wanted || next.is_some_and(|next| Instant::now() >= next) {
                outputs.write_snapshot(self.collector.snapshot(now_ns()));
                next = args.every.map(|every| Instant::now() + every);
            }
            let left = until.map_or(GAP, |until| until.saturating_duration_since(Instant::now()));
            self.collector.watch(GAP.min(left), now_ns);
        }
        self.processes.iter_mut().for_each(|(_, process, _)| process.end());
        let ended = now_ns();
        self.collector.take(ended);
        // Names take a while. From here on nothing needs the directories, so nothing is left if a signal ends us.
        let _contents: Vec<_> = self.processes.into_iter().map(|(.., place)| place.remove()).collect();
        end_at_once()?;
        outputs.write_all(self.collector.profile(ended))
    }

    fn what_is_done(&self, has_end: bool) -> String {
        let pids: Vec<String> = self.processes.iter().map(|(pid, ..)| pid.to_string()).collect();
        let processes = if pids.len() == 1 { "process" } else { "processes" };
        let how_to_end = if has_end { "" } else { "; Ctrl-C stops recording and prints the list" };
        format!("recording {processes} {}{how_to_end}", pids.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::is_within;

    #[test]
    fn a_control_group_is_named_by_its_path_or_a_part() {
        let id = "4f1c2a9d8e7b6a5c4d3e2f1a0b9c8d7e";
        for (path, name, is) in [
            ("/system.slice/web.service", "/system.slice/web.service", true),
            ("/system.slice/web.service/worker", "/sys/fs/cgroup/system.slice/web.service/", true),
            ("/system.slice/web.service", "/system.slice/we", false),
            ("/system.slice/web.service", "web", true),
            ("/system.slice/web.service", "we", false),
            ("/system.slice/docker-4f1c2a9d8e7b6a5c4d3e2f1a0b9c8d7e.scope", id, true),
            ("/system.slice/docker-4f1c2a9d8e7b6a5c4d3e2f1a0b9c8d7e.scope", &id[..12], true),
            ("/system.slice/docker-4f1c2a9d8e7b6a5c4d3e2f1a0b9c8d7e.scope", &id[..11], false),
            ("/kubepods/besteffort/pod1/4f1c2a9d8e7b6a5c4d3e2f1a0b9c8d7e", &id[..12], true),
            ("/", id, false),
        ] {
            assert_eq!(is_within(&format!("0::{path}"), name), is, "{path} {name}");
            assert_eq!(is_within(&format!("4:cpu,cpuacct:{path}"), name), is, "{path} {name}");
        }
    }
}
