//! Where the figures come from.

use crate::args::TopArgs;
use crate::profile::kernel::{self, Life, command_of};
use crate::profile::running::{NotBegun, RecordedProcesses};
use crate::profile::{Directory, begun, directory, exit_code, not_recorded, now_ns};
use ondeck_kit::exit::Exit;
use ondeck_launch::{ChildProcess, give_own_number, prepare};
use ondeck_profile::{Collector, FutexCollector, Namer, Note, Profile};
use std::io::IsTerminal;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What can be watched.
pub(super) trait Source {
    /// What is watched, for a headline.
    fn title(&self) -> String;
    /// Takes in what is new; called some times a second. What is watched may have ended, with an exit code.
    fn poll(&mut self) -> Option<i32>;
    /// Lets time pass until there is something new, and looks meanwhile at who holds locks, where that can be seen.
    fn watch(&mut self);
    /// What happened since the last snapshot.
    fn snapshot(&mut self) -> Profile;
    /// What happened since the start.
    fn whole(&mut self) -> Profile;
    /// What it means to quit, for the line at the bottom.
    fn quitting(&self) -> &'static str;
    /// Somebody wants to quit, and means this signal.
    fn stop(&mut self, signal: i32);
}

/// A program that was started here, and records.
pub(super) struct Program {
    name: String,
    running: ChildProcess,
    collector: Collector,
    is_stopped: bool,
    /// Removed when all is over.
    _directory: Directory,
}

impl Program {
    pub(super) fn start(args: &TopArgs) -> Result<Program, Exit> {
        let directory = directory(args.recorder.max_mb, "--max-mb")?;
        let launch = args.recorder.launch(&args.command, directory.path());
        let mut command = prepare(&launch).map_err(|refusal| not_recorded(refusal, &args.command))?;
        // The program must not write into the picture, nor read the keys that are meant for us.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if std::io::stdin().is_terminal() {
            command.stdin(Stdio::null());
        }
        let run = begun(&args.command);
        let name = run.command.first().cloned().unwrap_or_default();
        let own_number = |command: &mut Command| give_own_number(command, &args.command[0]);
        let running = ChildProcess::start_with(&mut command, libc::SIGKILL, own_number);
        let running = running.map_err(|error| Exit::OfProgram(format!("{name}: {error}"), 126))?;
        let mut collector = Collector::new(directory.path(), run);
        collector.begins_with(running.pid().unsigned_abs(), false);
        Ok(Program { name, running, collector, is_stopped: false, _directory: directory })
    }
}

impl Source for Program {
    fn title(&self) -> String {
        titled(&self.name, &[self.running.pid().unsigned_abs()])
    }

    fn poll(&mut self) -> Option<i32> {
        self.collector.take(now_ns());
        if !self.running.is_over(Duration::ZERO) {
            return None;
        }
        Some(self.running.reap().map_or(1, |(status, _)| exit_code(status)))
    }

    fn watch(&mut self) {
        /// How often samples are taken, and signals seen. There is room for some seconds of samples.
        const GAP: Duration = Duration::from_millis(50);
        self.collector.watch(GAP, now_ns);
    }

    fn snapshot(&mut self) -> Profile {
        let now = now_ns();
        self.collector.take(now);
        self.collector.snapshot(now)
    }

    fn whole(&mut self) -> Profile {
        let now = now_ns();
        self.collector.take(now);
        Profile { is_stopped: self.is_stopped, ..self.collector.profile(now) }
    }

    fn quitting(&self) -> &'static str {
        "q: end the program (SIGTERM) and quit"
    }

    fn stop(&mut self, signal: i32) {
        self.is_stopped = true;
        self.running.signal(signal);
    }
}

/// A program's name, without its directories, and its processes.
fn titled(name: &str, pids: &[u32]) -> String {
    let name = name.rsplit('/').next().unwrap_or_default();
    format!("{} ({})", ondeck_kit::wording::plain(name), kernel::processes(pids))
}

impl Drop for Program {
    /// If we fail, the program ends as it would have at a user's wish; it is killed if it does not.
    fn drop(&mut self) {
        const GRACE: Duration = Duration::from_secs(3);
        self.running.signal(libc::SIGTERM);
        if !self.running.has_ended() {
            self.running.is_over(GRACE);
        }
    }
}

/// Processes that run already, whose recorders we have switched on. They run on when we go.
pub(super) struct RecordedProcess {
    name: String,
    pids: Vec<u32>,
    recorded: RecordedProcesses,
    /// What is to be said at the end.
    notes: Vec<String>,
    is_left: bool,
}

impl RecordedProcess {
    /// The inner error says why they can be watched from the kernel only.
    pub(super) fn attach(args: &TopArgs, pids: &[u32]) -> Result<Result<RecordedProcess, Vec<NotBegun>>, Exit> {
        let name = name_of(pids);
        let of = |(recorded, others): (RecordedProcesses, Vec<NotBegun>)| {
            let is_recorded = |pid: &u32| others.iter().all(|other| other.pid != *pid);
            let pids = pids.iter().copied().filter(is_recorded).collect();
            let notes = others.iter().map(NotBegun::left_out).collect();
            RecordedProcess { name, pids, recorded, notes, is_left: false }
        };
        Ok(RecordedProcesses::of(&args.recorder, pids)?.map(of))
    }
}

impl Source for RecordedProcess {
    fn title(&self) -> String {
        titled(&self.name, &self.pids)
    }

    fn poll(&mut self) -> Option<i32> {
        self.recorded.collector.take(now_ns());
        let have_ended = self.recorded.have_ended(|note| self.notes.push(note));
        (self.is_left || have_ended).then_some(0)
    }

    fn watch(&mut self) {
        const GAP: Duration = Duration::from_millis(50);
        self.recorded.collector.watch(GAP, now_ns);
    }

    fn snapshot(&mut self) -> Profile {
        let now = now_ns();
        self.recorded.collector.take(now);
        self.recorded.collector.snapshot(now)
    }

    fn whole(&mut self) -> Profile {
        let (ended, _contents) = self.recorded.end();
        let mut profile = Profile { is_stopped: true, ..self.recorded.collector.profile(ended) };
        profile.notes.extend(self.notes.drain(..).map(Note::from));
        profile
    }

    fn quitting(&self) -> &'static str {
        "q: quit, the process runs on"
    }

    fn stop(&mut self, _signal: i32) {
        self.is_left = true;
    }
}

/// What was typed to start the first of these processes.
fn name_of(pids: &[u32]) -> String {
    pids.first().and_then(|pid| command_of(*pid).into_iter().next()).unwrap_or_default()
}

/// Processes that run already, seen from the kernel or looked at from outside. They run on when we go.
pub(super) struct TracedProcess {
    name: String,
    pids: Vec<u32>,
    collector: FutexCollector,
    namer: Namer,
    pub(super) how: &'static str,
    /// What is to be said at the end.
    note: Option<String>,
    lives: Vec<Life>,
    is_left: bool,
}

impl TracedProcess {
    /// `why` says why their recorders are not used.
    pub(super) fn attach(args: &TopArgs, pids: &[u32], why: &[NotBegun]) -> Result<TracedProcess, Exit> {
        let (collector, how, note) = kernel::running(pids, args.recorder.max_mb, why, true)?;
        let (namer, lives) = (Namer::default(), pids.iter().map(|pid| Life::of(*pid)).collect());
        Ok(TracedProcess {
            name: name_of(pids),
            pids: pids.to_vec(),
            how,
            collector,
            namer,
            note,
            lives,
            is_left: false,
        })
    }
}

impl Source for TracedProcess {
    fn title(&self) -> String {
        titled(&self.name, &self.pids)
    }

    fn poll(&mut self) -> Option<i32> {
        self.collector.take();
        self.lives.retain_mut(Life::goes_on);
        (self.is_left || self.lives.is_empty()).then_some(0)
    }

    fn watch(&mut self) {
        std::thread::sleep(self.collector.gap());
    }

    fn snapshot(&mut self) -> Profile {
        self.collector.take();
        let told = self.collector.snapshot(now_ns());
        let TracedProcess { collector, namer, .. } = self;
        // Names take a while the first time, and the kernel's memory would be full.
        std::thread::scope(|scope| {
            let naming = scope.spawn(|| namer.profile(&told));
            while !naming.is_finished() {
                collector.take();
                std::thread::sleep(collector.gap());
            }
            naming.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn whole(&mut self) -> Profile {
        self.collector.take_last(None);
        let mut profile = self.namer.profile(&self.collector.told(now_ns()));
        profile.notes.extend(self.note.take().map(Note::from));
        profile
    }

    fn quitting(&self) -> &'static str {
        "q: quit, the process runs on"
    }

    fn stop(&mut self, _signal: i32) {
        self.is_left = true;
    }
}
