//! A program that runs, with its own locks or ours: watched until it ends, and what it has used.

use crate::files::ErrorContext;
use ondeck_launch::Launch;
pub(super) use ondeck_rounds::Usage;
use ondeck_rounds::{RunFailure, RunningProcess};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a program may take that takes seconds alone: it may have a slow machine, and others beside it.
const LIMIT: Duration = Duration::from_secs(120);
/// How long a server gets to end after it was asked to. MariaDB writes its pages then.
const ENDING: Duration = Duration::from_secs(20);
/// How many bytes of what a program wrote stand in an error.
const TAIL: usize = 600;

/// With which locks a program runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Locks {
    /// glibc's own.
    Glibc,
    /// Those of the library, which is preloaded: the lock of that name, or the flagship.
    Ours { library: PathBuf, lock: Option<String> },
    /// glibc's own, recorded by the command `ondeck`; the profile is written to a file, as JSON.
    Recorded { ondeck: PathBuf, profile: PathBuf },
}

impl Locks {
    /// As in messages.
    pub(super) fn name(&self) -> &str {
        match self {
            Locks::Glibc => "glibc",
            Locks::Ours { lock, .. } => lock.as_deref().unwrap_or("ondeck"),
            Locks::Recorded { .. } => "recorded",
        }
    }

    /// The command that runs the program with these locks; its words are still to be added.
    pub(super) fn command(&self, program: &Path) -> Result<Command, String> {
        match self {
            Locks::Glibc => {
                let mut command = Command::new(program);
                // Or whoever has exported it would compare a library with itself.
                command.env_remove("LD_PRELOAD");
                Ok(command)
            }
            Locks::Ours { library, lock } => {
                let (command, library) = (vec![program.into()], Some(library.clone()));
                let launch = Launch { command, library, lock: lock.clone(), verbose: true, ..Launch::default() };
                ondeck_launch::prepare(&launch).map_err(|refusal| refusal.to_string())
            }
            Locks::Recorded { ondeck, profile } => {
                let mut command = Command::new(ondeck);
                command.args(["profile", "--each-lock", "-o"]).arg(profile).arg("--").arg(program);
                Ok(command)
            }
        }
    }
}

/// What is left of a process that has ended well.
pub(super) struct FinishedProcess {
    pub(super) seconds: f64,
    pub(super) usage: Usage,
    /// Its standard output.
    pub(super) text: String,
}

impl FinishedProcess {
    /// The number after `name` in what it has printed.
    pub(super) fn number(&self, name: &str) -> Result<f64, String> {
        let rest = self.text.split_once(name).map(|(_, rest)| rest.trim_start());
        let digits = rest.map(|rest| rest.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default());
        let number = digits.and_then(|digits| digits.trim_end_matches('.').parse().ok());
        number.ok_or_else(|| format!("no number after `{name}` in: {}", self.text))
    }
}

/// A running process. Dropped, it is killed, with all that it has started.
pub(super) struct Process {
    running: RunningProcess,
    traces: Traces,
}

/// What a process leaves, also when it has ended.
struct Traces {
    name: String,
    log: PathBuf,
    /// What the library has said as the program began, if there is one.
    greeting: Option<String>,
}

impl Process {
    /// Starts a command that `locks` has made; what it writes goes to `log`, and to a file beside it.
    pub(super) fn start(mut command: Command, locks: &Locks, log: PathBuf) -> Result<Process, String> {
        let errors = errors_of(&log);
        command.stdin(Stdio::null()).stdout(File::create(&log).at(&log)?).stderr(File::create(&errors).at(&errors)?);
        // Nobody's settings are read, and none are left: memcaslap writes some where it finds none.
        command.env("HOME", log.parent().unwrap_or(&log));
        let name = log.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // A profiler passes it on to the program: killed, it would leave it behind.
        let running = RunningProcess::start(&mut command, libc::SIGTERM).at(&name)?;
        let is_ours = matches!(locks, Locks::Ours { .. });
        let greeting = is_ours.then(|| format!("ondeck: process {} (", running.pid()));
        Ok(Process { running, traces: Traces { name, log, greeting } })
    }

    /// Waits until that is so, as long as it runs. Looks often, as a clock may stop then.
    pub(super) fn until(&self, mut is_so: impl FnMut() -> bool) -> Result<(), String> {
        while !is_so() {
            let fault = match self.running.is_over(Duration::from_millis(2)) {
                true => "has ended too soon",
                false if self.running.elapsed() > LIMIT => "is not where it should be by now",
                false => continue,
            };
            return Err(self.traces.fault(fault));
        }
        Ok(())
    }

    /// Waits until it ends by itself. Everything but success is an error, and so is an end without the library.
    pub(super) fn finish(self) -> Result<FinishedProcess, String> {
        let (ended, traces) = self.end(LIMIT)?;
        if !ended.status.success() {
            return Err(traces.fault(&format!("failed with {}", ended.status)));
        }
        Ok(FinishedProcess { seconds: ended.seconds, usage: ended.usage, text: text_of(&traces.log) })
    }

    /// Asks a server to end, and waits until it has.
    pub(super) fn stop(self) -> Result<(), String> {
        if self.running.is_over(Duration::ZERO) {
            return Err(self.traces.fault("has ended by itself"));
        }
        // SAFETY: takes numbers only; our child has not been waited for, so the number is its own.
        unsafe { libc::kill(self.running.pid(), libc::SIGTERM) };
        let limit = self.running.elapsed() + ENDING;
        let (ended, traces) = self.end(limit)?;
        // A program without a handler ends by the signal, which is as good; a profiler says it as a shell does.
        let by_signal =
            ended.status.signal() == Some(libc::SIGTERM) || ended.status.code() == Some(128 + libc::SIGTERM);
        if ended.status.success() || by_signal {
            return Ok(());
        }
        Err(traces.fault(&format!("failed with {} after SIGTERM", ended.status)))
    }

    fn end(self, limit: Duration) -> Result<(ondeck_rounds::FinishedProcess, Traces), String> {
        let Process { running, traces } = self;
        match running.finish(Some(limit), || None) {
            Ok(ended) if traces.has_library() => Ok((ended, traces)),
            Ok(_) => Err(traces.fault("has run without the library")),
            Err(RunFailure::TooLong(_)) => Err(traces.fault(&format!("had not ended after {} s", limit.as_secs()))),
            Err(other) => Err(traces.fault(&format!("has not ended: {other:?}"))),
        }
    }

    /// What it has used until now, by the kernel's books.
    pub(super) fn usage(&self) -> Result<Usage, String> {
        let path = PathBuf::from(format!("/proc/{}", self.running.pid()));
        let stat = text_of(&path.join("stat"));
        let mut usage = Usage { cpu_s: cpu_seconds(&stat).ok_or(format!("no times in `{stat}`"))?, ..Usage::default() };
        for task in fs::read_dir(path.join("task")).at(&path)?.flatten() {
            // A thread may end between the two.
            let status = text_of(&task.path().join("status"));
            usage.voluntary += switches(&status, "voluntary_ctxt_switches:");
            usage.involuntary += switches(&status, "nonvoluntary_ctxt_switches:");
        }
        Ok(usage)
    }

    /// All that it has written to its standard error so far.
    pub(super) fn errors(&self) -> String {
        text_of(&errors_of(&self.traces.log))
    }
}

impl Traces {
    /// Whether the library is where it should be. The loader only warns about one that it cannot load, and runs the program
    /// without it, which would then be compared with itself.
    fn has_library(&self) -> bool {
        let said = text_of(&errors_of(&self.log));
        self.greeting.as_ref().is_none_or(|greeting| said.lines().any(|line| line.starts_with(greeting)))
    }

    /// What went wrong, and the end of what it has written.
    fn fault(&self, what: &str) -> String {
        let all = text_of(&self.log) + &text_of(&errors_of(&self.log));
        let text = all.trim();
        let from = text.char_indices().rev().nth(TAIL).map_or(0, |(at, _)| at);
        format!("{} {what}: {}", self.name, if text.is_empty() { "it has written nothing" } else { &text[from..] })
    }
}

fn errors_of(log: &Path) -> PathBuf {
    log.with_extension("err")
}

/// As text whatever it is: some programs write bytes.
fn text_of(file: &Path) -> String {
    String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned()
}

/// User and system time in the text of a `/proc/PID/stat`, in ticks of 10 ms.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: Option<u64> = fields.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().ok()).sum();
    Some(ticks? as f64 / 100.0)
}

fn switches(status: &str, name: &str) -> u64 {
    let count = status.lines().find_map(|line| line.strip_prefix(name));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a shell's line.
    fn run(locks: &Locks, script: &str) -> Result<FinishedProcess, String> {
        let place = tempfile::tempdir().unwrap();
        let mut command = locks.command(Path::new("/bin/sh")).unwrap();
        command.args(["-c", script]);
        Process::start(command, locks, place.path().join("sh.out")).and_then(Process::finish)
    }

    #[test]
    fn an_end_has_its_output_and_its_cost() {
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo $i";
        let ended = run(&Locks::Glibc, script).unwrap();
        assert_eq!(ended.text, "100000\n");
        assert!(ended.usage.cpu_s > 0.0 && ended.seconds > 0.0);
        let fault = run(&Locks::Glibc, "echo why >&2; exit 3").err().unwrap();
        assert!(fault.starts_with("sh failed with exit status: 3") && fault.contains("why"), "{fault}");
    }

    #[test]
    fn a_library_that_the_loader_does_not_load_is_missed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let locks = Locks::Ours { library: file.path().to_owned(), lock: None };
        let fault = run(&locks, "true").err().unwrap();
        assert!(fault.starts_with("sh has run without the library") && fault.contains("LD_PRELOAD"), "{fault}");
        // What stands in for the library says what the library says.
        run(&locks, "echo \"ondeck: process $$ (/bin/sh) has the lock ondeck\" >&2").unwrap();
    }

    #[test]
    fn outputs_are_read() {
        let text = "    total time:                          2.0006s\n    total number of events:              63809\n";
        let ended = FinishedProcess { seconds: 0.0, usage: Usage::default(), text: text.to_owned() };
        assert_eq!(ended.number("total time:"), Ok(2.0006));
        assert_eq!(ended.number("total number of events:"), Ok(63809.0));
        assert!(ended.number("queries:").unwrap_err().starts_with("no number after `queries:`"));
    }

    #[test]
    fn books_are_read() {
        assert_eq!(cpu_seconds("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0"), Some(2.0));
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(switches(status, "voluntary_ctxt_switches:"), 12);
        assert_eq!(switches(status, "nonvoluntary_ctxt_switches:"), 3);
    }
}
