//! `ondeck profile --pid` and `--cgroup`: processes that run already. In those that have the recorder it is switched on and off
//! again.

use super::kernel::{self, Life, command_of};
use super::outputs::Outputs;
use super::place::{Content, Place};
use super::run::{begun, now_ns};
use super::signals::{Orders, end_at_once};
use crate::args::{ProfileArgs, RecorderArgs};
use crate::exit::Exit;
use crate::terminal::say;
use ondeck_launch::running::{NotRecorded, RunningProcess};
use ondeck_profile::Collector;
use std::time::{Duration, Instant};

/// Records a process, or watches it from the kernel if that cannot be.
pub(super) fn attach(args: &ProfileArgs, pid: u32) -> Result<(), Exit> {
    let mut outputs = Outputs::check(args)?;
    let orders = Orders::of_ours()?;
    if args.kernel.futex {
        return kernel::attach(args, pid, outputs, orders);
    }
    match RecordedProcesses::of_process(&args.recorder, pid)? {
        Ok(recorded) => recorded.watch(args, &orders, outputs),
        Err(why) if args.recorder.order => {
            Err(Exit::Failed(format!("--order: the kernel sees no order of locks, and {why}")))
        }
        Err(why) => {
            outputs.note(why);
            let given = args.recorder.given();
            if !given.is_empty() {
                outputs.note(format!("{} had no effect: the recorder was not used", given.join(" and ")));
            }
            // Somebody may have wanted an end while the recorder was looked for.
            kernel::attach(args, pid, outputs, orders)
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
    let orders = Orders::of_ours()?;
    let mut recorded = RecordedProcesses::new(&command_of(*first));
    let mut others = Vec::new();
    for (pid, begun) in begin_all(&args.recorder, &pids) {
        match begun? {
            Ok((process, place)) => recorded.add(pid, process, place),
            Err(why) => others.push(format!("process {pid} is not recorded: {why}")),
        }
    }
    if recorded.processes.is_empty() {
        return Err(Exit::Failed(format!("--cgroup {name}: {}", others.join("; "))));
    }
    others.into_iter().for_each(|why| outputs.note(why));
    recorded.watch(args, &orders, outputs)
}

/// A process that records, or why it does not.
type Begun = Result<Result<(RunningProcess, Place), String>, Exit>;

/// Switches the recorder of a process on. The inner error says why that cannot be.
fn begin(args: &RecorderArgs, pid: u32) -> Begun {
    let told = |why: NotRecorded| format!("{why}{}", for_more(&why));
    let mut process = match RunningProcess::find(pid) {
        Ok(process) => process,
        Err(why) => return Ok(Err(told(why))),
    };
    let place = match Place::for_process(pid, args.max_mb) {
        Ok(place) => place,
        Err(why) => return Ok(Err(why)),
    };
    let Some(options) = args.options(&place.inside) else {
        return Err(Exit::Failed(format!("{}: the path is too long", place.inside.display())));
    };
    if let Err(why) = process.begin(&options) {
        return Ok(Err(told(why)));
    }
    Ok(Ok((process, place)))
}

/// The same of some at once: one that uses no lock is waited for as long as all of them.
fn begin_all(args: &RecorderArgs, pids: &[u32]) -> Vec<(u32, Begun)> {
    const AT_ONCE: usize = 32;
    let begin_some = |pids: &[u32]| -> Vec<(u32, Begun)> {
        std::thread::scope(|scope| {
            let begins: Vec<_> = pids.iter().map(|pid| (*pid, scope.spawn(|| begin(args, *pid)))).collect();
            let died = |_| Err(Exit::Failed("a thread has panicked".to_owned()));
            begins.into_iter().map(|(pid, begun)| (pid, begun.join().unwrap_or_else(died))).collect()
        })
    };
    pids.chunks(AT_ONCE).flat_map(begin_some).collect()
}

/// What to do for a recording.
fn for_more(why: &NotRecorded) -> &'static str {
    match why {
        NotRecorded::NoRecorder => {
            ". Started by `ondeck run --lock glibc -- PROGRAM` it can be recorded, and this list would tell who holds the locks, \
             for how long, and waits that do not sleep"
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
    let ours = std::process::id();
    let mut pids: Vec<u32> =
        pids.filter(|pid| *pid != ours && groups(*pid).lines().any(|line| is_within(line, name))).collect();
    pids.sort_unstable();
    pids
}

/// Whether a line of `/proc/PID/cgroup` is of a group of that name, or of one below it.
fn is_within(line: &str, name: &str) -> bool {
    const ID: usize = 12;
    let path = line.splitn(3, ':').nth(2).unwrap_or_default();
    if name.contains('/') {
        let mounted = name.strip_prefix("/sys/fs/cgroup").filter(|rest| rest.starts_with('/'));
        let name = mounted.unwrap_or(name).trim_end_matches('/');
        return path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    }
    // As `docker-ID.scope`, `cri-containerd-ID.scope`, `libpod-ID.scope`, and ID.
    let is_id = name.len() >= ID && name.bytes().all(|digit| digit.is_ascii_hexdigit());
    path.split('/').any(|whole| {
        let part = whole.trim_end_matches(".scope").trim_end_matches(".service");
        whole == name || part == name || is_id && part.rsplit(['-', '.']).any(|id| id.starts_with(name))
    })
}

const CUT_SHORT: &str =
    "the recording was cut short: ondeck stood still for some seconds, or another one has begun to record";

/// A process that was recorded, with what its recording needs until the profile is made: then its memory is given back. One that
/// uses no lock just now gives it back itself.
pub(crate) struct Ended {
    _process: Option<RunningProcess>,
    _content: Option<Content>,
}

/// Processes that record, and what they have recorded.
pub(crate) struct RecordedProcesses {
    processes: Vec<(u32, RunningProcess, Place)>,
    pub(crate) collector: Collector,
}

impl RecordedProcesses {
    fn new(command: &[String]) -> Self {
        RecordedProcesses { processes: Vec::new(), collector: Collector::of_running(begun(command)) }
    }

    /// Switches the recorder of one process on. The inner error says why it must be watched from the kernel.
    pub(crate) fn of_process(args: &RecorderArgs, pid: u32) -> Result<Result<Self, String>, Exit> {
        let mut recorded = Self::new(&command_of(pid));
        match begin(args, pid)? {
            Ok((process, place)) => {
                recorded.add(pid, process, place);
                Ok(Ok(recorded))
            }
            Err(why) if why == NotRecorded::Observed.to_string() => Err(Exit::Failed(format!("process {pid}: {why}"))),
            Err(why) => Ok(Err(format!("process {pid} was watched from the kernel: {why}"))),
        }
    }

    fn add(&mut self, pid: u32, process: RunningProcess, place: Place) {
        self.collector.looks_at(pid, &place.path());
        self.collector.take(now_ns());
        self.processes.push((pid, process, place));
    }

    /// Reads what is recorded until the time is over, the processes end, or somebody wants us to.
    fn watch(mut self, args: &ProfileArgs, orders: &Orders, mut outputs: Outputs) -> Result<(), Exit> {
        const GAP: Duration = Duration::from_millis(50);
        say(&self.what_is_done(args.kernel.length.is_some()));
        let until = args.kernel.length.map(|length| Instant::now() + length);
        let mut next = args.every.map(|every| Instant::now() + every);
        let mut lives: Vec<(u32, Life)> = self.processes.iter().map(|(pid, ..)| (*pid, Life::of(*pid))).collect();
        loop {
            self.collector.take(now_ns());
            let (is_wanted, is_over) = orders.snapshot_and_end();
            lives.retain_mut(|(_, life)| life.goes_on());
            if self.is_cut_short(&mut lives) {
                outputs.note(CUT_SHORT.to_owned());
                break;
            }
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
        let (ended, _contents) = self.end();
        end_at_once()?;
        outputs.write_all(self.collector.profile(ended))
    }

    /// Whether one of the processes that go on does not record any more.
    fn is_cut_short(&self, lives: &mut Vec<(u32, Life)>) -> bool {
        let mut ended = self.processes.iter().filter(|(_, process, _)| !process.goes_on()).peekable();
        if ended.peek().is_none() {
            return false;
        }
        // One that has ended just now records no more either.
        lives.retain_mut(|(_, life)| life.goes_on());
        ended.any(|(pid, ..)| lives.iter().any(|(living, _)| living == pid))
    }

    /// Switches the recorders off, and says when that was. Names take a while: from here on nothing needs the directories, so
    /// nothing is left if a signal ends us. What is in the files is there until the rest of the answer is dropped.
    pub(crate) fn end(&mut self) -> (u64, Vec<Ended>) {
        let have_ended: Vec<bool> = self.processes.iter_mut().map(|(_, process, _)| process.end()).collect();
        let ended = now_ns();
        self.collector.take(ended);
        let left = self.processes.drain(..).zip(have_ended).map(|((_, process, place), has_ended)| {
            let content = place.remove();
            if has_ended {
                return Ended { _process: None, _content: Some(content) };
            }
            content.leave();
            Ended { _process: Some(process), _content: None }
        });
        (ended, left.collect())
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
            ("/system.slice/web.service", "web.service", true),
            ("/foo/web", "/sys/fs/cgroupfoo", false),
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
