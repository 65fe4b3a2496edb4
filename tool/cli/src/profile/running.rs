//! `ondeck profile --pid` and `--cgroup`: processes that run already. In those that have the recorder it is switched on and off
//! again.

use super::kernel::{self, Life, command_of};
use super::long_waits::LongWaits;
use super::meant::{MeantProcesses, meant};
use super::outputs::Outputs;
use super::place::{Content, Place};
use super::run::{begun, now_ns};
use super::signals::{Orders, end_at_once};
use crate::args::{ProfileArgs, RecorderArgs};
use ondeck_futex::Refusal;
use ondeck_kit::exit::Exit;
use ondeck_kit::terminal::{is_root, say};
use ondeck_launch::running::{Files, NotRecorded, RunningProcess};
use ondeck_profile::{Collector, Profile};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Records processes, or watches them from the kernel if none can be recorded.
pub(super) fn attach(args: &ProfileArgs, numbers: &[u32]) -> Result<(), Exit> {
    let mut outputs = Outputs::check(args)?;
    let MeantProcesses { pids, notes } = meant(numbers, "profile");
    for note in notes {
        say(&format!("note: {note}"));
        outputs.note(note);
    }
    let orders = Orders::of_ours()?;
    if args.kernel.futex {
        return kernel::attach(args, &pids, outputs, orders, &[]);
    }
    match RecordedProcesses::of(&args.recorder, &pids)? {
        Ok((recorded, others)) => {
            others.iter().for_each(|other| outputs.note(other.left_out()));
            recorded.watch(args, &orders, outputs)
        }
        Err(why) if args.recorder.order => {
            let why: Vec<String> = why.iter().map(|why| why.instead("watched from the kernel")).collect();
            Err(Exit::Failed(format!("--order: the kernel sees no order of locks, and {}", why.join("; "))))
        }
        Err(why) => {
            let mut given = args.recorder.given();
            given.extend(args.warn_after.map(|_| "--warn-after"));
            if !given.is_empty() {
                outputs.note(format!("{} had no effect: the recorder was not used", given.join(" and ")));
            }
            // Somebody may have wanted an end while the recorder was looked for.
            kernel::attach(args, &pids, outputs, orders, &why)
        }
    }
}

/// Records all processes of a cgroup that have the recorder.
pub(super) fn attach_to_cgroup(args: &ProfileArgs, name: &str) -> Result<(), Exit> {
    let mut outputs = Outputs::check(args)?;
    let pids = of_cgroup(name);
    if pids.is_empty() {
        let what = "no process is in such a control group; accepted: a path as /proc/PID/cgroup has it, or one of its parts, \
            such as a container's id";
        return Err(Exit::Usage(format!("--cgroup {name}: {what}")));
    }
    let orders = Orders::of_ours()?;
    let (recorded, others) = RecordedProcesses::begin(&args.recorder, &pids)?;
    if recorded.processes.is_empty() {
        let others: Vec<String> = others.iter().map(NotBegun::left_out).collect();
        return Err(Exit::Failed(format!("--cgroup {name}: {}", others.join("; "))));
    }
    others.iter().for_each(|other| outputs.note(other.left_out()));
    recorded.watch(args, &orders, outputs)
}

/// A process that records, or why it does not.
type Begun = Result<Result<(RunningProcess, Place), NotBegun>, Exit>;

/// Those of some processes that record, and the others; or of each why none does.
type BegunProcesses = Result<(RecordedProcesses, Vec<NotBegun>), Vec<NotBegun>>;

/// A process that does not record, and why.
pub(crate) struct NotBegun {
    pub(crate) pid: u32,
    pub(crate) why: String,
    /// Whether it is for want of a right.
    pub(crate) is_forbidden: bool,
    /// Whether another `ondeck` records it.
    pub(crate) is_observed: bool,
}

impl NotBegun {
    fn of(pid: u32, why: &NotRecorded) -> Self {
        let is_forbidden = matches!(why, NotRecorded::NotAllowed(error) if error.kind() == ErrorKind::PermissionDenied);
        let more = if is_forbidden { for_the_right(pid) } else { for_more(why).to_owned() };
        let is_observed = matches!(why, NotRecorded::Observed);
        NotBegun { pid, why: format!("{why}{more}"), is_forbidden, is_observed }
    }

    pub(crate) fn left_out(&self) -> String {
        format!("process {} is not recorded: {}", self.pid, self.why)
    }

    /// With what was done instead of recording it.
    pub(crate) fn instead(&self, how: &str) -> String {
        format!("process {} was {how}: {}", self.pid, self.why)
    }
}

/// Switches the recorder of a process on. The inner error says why that cannot be.
fn begin(args: &RecorderArgs, pid: u32) -> Begun {
    let told = |why: NotRecorded| NotBegun::of(pid, &why);
    let mut process = match RunningProcess::find(pid) {
        Ok(process) => process,
        Err(why) => return Ok(Err(told(why))),
    };
    let place = match Place::for_process(pid, args.max_mb, process.n_recorders()) {
        Ok(place) => place,
        Err(why) => return Ok(Err(NotBegun { pid, why, is_forbidden: false, is_observed: false })),
    };
    let Some(options) = args.options(&place.inside) else {
        return Err(Exit::Failed(format!("{}: the path is too long", place.inside.display())));
    };
    if let Err(why) = process.begin(&options, Files::AreMade) {
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
        NotRecorded::Filtered(_) => {
            ". To record it from its start, use `ondeck profile -- PROGRAM`, and have its filter allow the system calls of a \
             recorded thread (docs/pthread.md)"
        }
        _ => "",
    }
}

/// What gives the right to look into a process, as far as we know what is missing.
fn for_the_right(pid: u32) -> String {
    const RIGHTS: &str =
        "Root may, or who has the capabilities CAP_SYS_PTRACE, CAP_DAC_OVERRIDE, CAP_SETUID and CAP_SETGID";
    let owner = std::fs::metadata(format!("/proc/{pid}")).map(|about| about.uid()).ok();
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    if is_root() || owner != Some(rustix::process::geteuid().as_raw()) {
        let whose = if is_root() { "" } else { ". It belongs to another user" };
        return format!("{whose}. {RIGHTS}");
    }
    match scope.trim() {
        "" | "0" => format!(". It is yours, but has forbidden that or has other rights than you. {RIGHTS}"),
        scope => format!(". It is yours, but kernel.yama.ptrace_scope is {scope}. {RIGHTS}"),
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

/// Why a recording was cut short; `stood_still` is the longest time between two looks at it. Whether it `is_emptied`: where the
/// process could not leave it as it was, it has given back its memory.
fn cut_short(has_another: bool, stood_still: Duration, is_emptied: bool) -> String {
    /// A recorder takes its observer for gone after five seconds, and both clocks may be late.
    const STOPPED: Duration = Duration::from_secs(4);
    let left = match is_emptied {
        true => "What was recorded is lost, as the process could only give it back",
        false => "The figures are those of the time before",
    };
    let why = match (has_another, stood_still >= STOPPED) {
        (true, _) => {
            format!("another ondeck has begun to record. {left}. Let one of them end before you start the next")
        }
        (false, true) => format!(
            "ondeck was stopped for {:.0} s, so the process took ondeck for gone. {left}. To record the rest, run the \
             command again",
            stood_still.as_secs_f64()
        ),
        (false, false) => format!("the process has ended it by itself. {left}"),
    };
    format!("the recording was cut short: {why}")
}

/// A process that was recorded, with what its recording needs until the profile is made: then its memory is given back. One that
/// uses no lock just now gives it back itself.
pub(crate) struct Ended {
    _process: Option<RunningProcess>,
    _content: Option<Content>,
}

/// Processes that record, and what they have recorded.
pub(crate) struct RecordedProcesses {
    processes: Vec<(u32, RunningProcess, Place)>,
    /// Those that go on.
    lives: Vec<(u32, Life)>,
    last_look: Instant,
    /// The longest time between two looks.
    stood_still: Duration,
    /// Up to when something is known, if the recording was cut short.
    recorded_until: Option<u64>,
    pub(crate) collector: Collector,
}

impl RecordedProcesses {
    fn new(command: &[String]) -> Self {
        let collector = Collector::of_running(begun(command));
        RecordedProcesses {
            processes: Vec::new(),
            lives: Vec::new(),
            last_look: Instant::now(),
            stood_still: Duration::ZERO,
            recorded_until: None,
            collector,
        }
    }

    /// Switches the recorders of processes on, and gives those that do not record, too. The inner error says of each why all must
    /// be watched from the kernel.
    pub(crate) fn of(args: &RecorderArgs, pids: &[u32]) -> Result<BegunProcesses, Exit> {
        if let Some(pid) = pids.iter().find(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            return Err(kernel::explain(Refusal::NoProcess(*pid)));
        }
        let (recorded, others) = Self::begin(args, pids)?;
        if !recorded.processes.is_empty() {
            return Ok(Ok((recorded, others)));
        }
        match others.iter().find(|other| other.is_observed) {
            Some(NotBegun { pid, why, .. }) => Err(Exit::Failed(format!("process {pid}: {why}"))),
            None => Ok(Err(others)),
        }
    }

    /// Those that record, and the others.
    fn begin(args: &RecorderArgs, pids: &[u32]) -> Result<(Self, Vec<NotBegun>), Exit> {
        let mut recorded = Self::new(&pids.first().map(|pid| command_of(*pid)).unwrap_or_default());
        let mut others = Vec::new();
        for (pid, begun) in begin_all(args, pids) {
            match begun? {
                Ok((process, place)) => recorded.add(pid, process, place),
                Err(why) => others.push(why),
            }
        }
        Ok((recorded, others))
    }

    fn add(&mut self, pid: u32, process: RunningProcess, place: Place) {
        self.collector.looks_at(pid, &place.path(), place.files.clone());
        self.collector.take(now_ns());
        self.processes.push((pid, process, place));
        self.lives.push((pid, Life::of(pid)));
    }

    /// Reads what is recorded until the time is over, the processes end, or somebody wants us to.
    fn watch(mut self, args: &ProfileArgs, orders: &Orders, mut outputs: Outputs) -> Result<(), Exit> {
        const GAP: Duration = Duration::from_millis(50);
        say(&self.what_is_done(args.kernel.length.is_some()));
        let until = args.kernel.length.map(|length| Instant::now() + length);
        let mut next = args.every.map(|every| Instant::now() + every);
        let mut long_waits = LongWaits::new(args.warn_after);
        loop {
            self.collector.take(now_ns());
            long_waits.tell(&mut self.collector);
            let (is_wanted, is_over) = orders.snapshot_and_end();
            let is_over = is_over || until.is_some_and(|until| Instant::now() >= until);
            if self.have_ended(|note| outputs.note(note)) || is_over {
                break;
            }
            if is_wanted || next.is_some_and(|next| Instant::now() >= next) {
                outputs.write_snapshot(Profile { is_stopped: true, ..self.collector.snapshot(now_ns()) });
                next = args.every.map(|every| Instant::now() + every);
            }
            let left = until.map_or(GAP, |until| until.saturating_duration_since(Instant::now()));
            self.collector.watch(GAP.min(left), now_ns);
        }
        let (ended, _contents) = self.end();
        end_at_once()?;
        let ended = self.recorded_until.unwrap_or(ended);
        outputs.write_all(Profile { is_stopped: true, ..self.collector.profile(ended) })
    }

    /// Whether there is no more to record, which may need a note.
    pub(crate) fn have_ended(&mut self, mut note: impl FnMut(String)) -> bool {
        let stood_still = self.stood_still.max(self.last_look.elapsed());
        (self.stood_still, self.last_look) = (stood_still, Instant::now());
        let RecordedProcesses { processes, lives, collector, .. } = self;
        lives.retain_mut(|(_, life)| life.goes_on());
        for (pid, process, _) in processes.iter().filter(|(_, process, _)| !process.goes_on()) {
            if !lives.iter().any(|(living, _)| living == pid) {
                continue;
            }
            if process.has_become_another_program() {
                note(replaced(*pid));
                lives.retain(|(living, _)| living != pid);
            } else if !process.is_gone() {
                note(cut_short(process.has_another_observer(), stood_still, collector.is_emptied()));
                self.recorded_until = Some(collector.recorded_until());
                return true;
            }
        }
        lives.is_empty()
    }

    /// Switches the recorders off, and says when that was. Names take a while: from here on nothing needs the directories, so
    /// nothing is left if a signal ends us. What is in the files is there until the rest of the answer is dropped.
    pub(crate) fn end(&mut self) -> (u64, Vec<Ended>) {
        /// One that does nothing takes its time.
        const AT_ONCE: usize = 32;
        let mut have_ended: Vec<bool> = Vec::new();
        for some in self.processes.chunks_mut(AT_ONCE) {
            std::thread::scope(|scope| {
                let ends = some.iter_mut().map(|(_, process, _)| scope.spawn(|| process.end()));
                let ends: Vec<_> = ends.collect();
                have_ended.extend(ends.into_iter().map(|end| end.join().unwrap_or(false)));
            });
        }
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
        let pids: Vec<u32> = self.processes.iter().map(|(pid, ..)| *pid).collect();
        let how_to_end = if has_end { "" } else { "; Ctrl-C stops recording and prints the list" };
        format!("recording {}{how_to_end}", kernel::processes(&pids))
    }
}

/// What is said of a process that is another program now.
fn replaced(pid: u32) -> String {
    let program = command_of(pid).into_iter().next().unwrap_or_default();
    let program = if program.is_empty() { String::new() } else { format!(", {program}") };
    format!(
        "process {pid} became another program{program}, while it was recorded. The list has what it did before. To record \
         the other program, give the same number again"
    )
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
