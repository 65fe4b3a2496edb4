//! A program that runs: with or without the library, watched until it ends, and what it has used.

use super::preload::Variant;
pub(super) use ondeck_rounds::Usage;
use ondeck_rounds::{NotEnded, Running};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How long a program may take that takes seconds alone: it may have a slow machine, and others beside it.
const LIMIT: Duration = Duration::from_secs(120);
/// How long a server gets to end after it was asked to. MariaDB writes its pages then.
const ENDING: Duration = Duration::from_secs(20);
/// How many bytes of what a program wrote stand in an error.
const TAIL: usize = 600;

/// What is left of a process that has ended well.
pub(super) struct Ended {
    pub(super) seconds: f64,
    pub(super) usage: Usage,
    /// Its standard output.
    pub(super) text: String,
}

impl Ended {
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
    running: Running,
    traces: Traces,
    /// Whether the program is its child.
    is_wrapped: bool,
}

/// What a process leaves, also when it has ended.
struct Traces {
    name: String,
    log: PathBuf,
    /// Where the loader has said what it loads and begins.
    loader: PathBuf,
    /// The library that it must have loaded.
    library: Option<PathBuf>,
}

impl Process {
    /// Starts a command that `variant` has made; what it writes goes to `log`, and to files beside it.
    pub(super) fn start(mut command: Command, variant: &Variant, log: PathBuf) -> Result<Process, String> {
        static N_STARTED: AtomicU64 = AtomicU64::new(0);
        let file = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
        command.stdin(Stdio::null()).stdout(file(&log)?).stderr(file(&errors_of(&log))?);
        // Nobody's settings are read, and none are left: memcaslap writes some where it finds none.
        command.env("HOME", log.parent().unwrap_or(&log));
        // With every lock, so that it costs all of them the same. The loader adds the number of the process, which another one
        // may have had before.
        let loader = log.with_extension(format!("loader-{}", N_STARTED.fetch_add(1, Relaxed)));
        command.env("LD_DEBUG", "files").env("LD_DEBUG_OUTPUT", &loader);
        let name = log.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // A profiler is asked to end, as it passes that on to the program: killed, it would leave it behind.
        let last_signal = if variant.is_profiled() { libc::SIGTERM } else { libc::SIGKILL };
        let running =
            Running::start(&mut command, last_signal).map_err(|error| format!("cannot run {name}: {error}"))?;
        let loader = PathBuf::from(format!("{}.{}", loader.display(), running.pid()));
        let traces = Traces { name, log, loader, library: variant.library.clone() };
        Ok(Process { running, traces, is_wrapped: variant.is_profiled() })
    }

    /// The library must be mapped now, by a program that may have been run in the place of the one that was started.
    pub(super) fn must_have_mapped(&self) -> Result<(), String> {
        let Traces { name, library: Some(library), .. } = &self.traces else { return Ok(()) };
        if maps_name(&text_of(Path::new(&format!("/proc/{}/maps", self.running.pid()))), library) {
            return Ok(());
        }
        Err(format!("{name} runs without {}: it is not mapped", library.display()))
    }

    /// Waits until that is so, as long as it runs. Looks often, as a clock may stop then.
    pub(super) fn until(&self, mut is_so: impl FnMut() -> bool) -> Result<(), String> {
        while !is_so() {
            let fault = match self.running.is_over(Duration::from_millis(2)) {
                true => "has ended too soon",
                false if self.running.elapsed() > LIMIT => "is not where it should be by now",
                false => continue,
            };
            return Err(format!("{} {fault}: {}", self.traces.name, self.traces.tail()));
        }
        Ok(())
    }

    /// Waits until it ends by itself. Everything but success is an error, and so is an end without the library.
    pub(super) fn finish(self) -> Result<Ended, String> {
        let (ended, traces) = self.end(LIMIT)?;
        if !ended.status.success() {
            return Err(format!("{} failed with {}: {}", traces.name, ended.status, traces.tail()));
        }
        traces.must_have_library()?;
        Ok(Ended { seconds: ended.seconds, usage: ended.usage, text: text_of(&traces.log) })
    }

    /// Asks a server to end, and waits until it has.
    pub(super) fn stop(self) -> Result<(), String> {
        self.traces.must_have_library()?;
        if self.running.is_over(Duration::ZERO) {
            return Err(format!("{} has ended by itself: {}", self.traces.name, self.traces.tail()));
        }
        // SAFETY: takes numbers only; our child has not been waited for, so the number is its own.
        unsafe { libc::kill(self.running.pid(), libc::SIGTERM) };
        let (limit, is_wrapped) = (self.running.elapsed() + ENDING, self.is_wrapped);
        let (ended, traces) = self.end(limit)?;
        // Who has no handler ends by the signal, which is as good; a profiler says it as a shell does.
        let by_signal = ended.status.signal() == Some(libc::SIGTERM)
            || is_wrapped && ended.status.code() == Some(128 + libc::SIGTERM);
        if ended.status.success() || by_signal {
            return Ok(());
        }
        Err(format!("{} failed with {} after SIGTERM: {}", traces.name, ended.status, traces.tail()))
    }

    fn end(self, limit: Duration) -> Result<(ondeck_rounds::Ended, Traces), String> {
        let Process { running, traces, .. } = self;
        match running.finish(Some(limit), || None) {
            Ok(ended) => Ok((ended, traces)),
            Err(NotEnded::TooLong(_)) => {
                Err(format!("{} had not ended after {} s: {}", traces.name, limit.as_secs(), traces.tail()))
            }
            Err(other) => Err(format!("{}: {other:?}", traces.name)),
        }
    }

    /// What it has used until now, by the kernel's books; of a program under the profiler, what the program has used.
    pub(super) fn usage(&self) -> Result<Usage, String> {
        let mut path = format!("/proc/{}", self.running.pid());
        if self.is_wrapped {
            let children = text_of(Path::new(&format!("{path}/task/{}/children", self.running.pid())));
            let child = children.split_whitespace().next().ok_or(format!("{} has no child", self.traces.name))?;
            path = format!("/proc/{child}");
        }
        let stat = text_of(Path::new(&format!("{path}/stat")));
        let mut usage = Usage { cpu_s: cpu_seconds(&stat).ok_or(format!("{path}/stat: {stat}"))?, ..Usage::default() };
        for task in fs::read_dir(format!("{path}/task")).map_err(|error| format!("{path}/task: {error}"))?.flatten() {
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

    /// All that it has written to its standard output so far.
    pub(super) fn text(&self) -> String {
        text_of(&self.traces.log)
    }
}

impl Traces {
    /// The loader must have begun with the library that the program was started with. A look at what is mapped comes too
    /// late for a short program on a busy machine.
    fn must_have_library(&self) -> Result<(), String> {
        let Some(library) = &self.library else { return Ok(()) };
        if has_begun_with(&text_of(&self.loader), library) {
            return Ok(());
        }
        Err(format!("{} has run without {}: it was never loaded", self.name, library.display()))
    }

    /// The end of what it has written.
    fn tail(&self) -> String {
        let all = text_of(&self.log) + &text_of(&errors_of(&self.log));
        let text = all.trim();
        let from = text.char_indices().rev().nth(TAIL).map_or(0, |(at, _)| at);
        if text.is_empty() { "it has written nothing".to_owned() } else { text[from..].to_owned() }
    }
}

fn errors_of(log: &Path) -> PathBuf {
    log.with_extension("err")
}

/// As text whatever it is: some programs write bytes.
fn text_of(file: &Path) -> String {
    String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned()
}

/// Whether the file is one of those in the text of a `/proc/PID/maps`.
pub(super) fn maps_name(maps: &str, library: &Path) -> bool {
    maps.lines().any(|line| line.split_once('/').is_some_and(|(_, rest)| Path::new(&format!("/{rest}")) == library))
}

/// Whether the loader has said that it ran the library's first functions.
fn has_begun_with(said: &str, library: &Path) -> bool {
    let end = format!("calling init: {}", library.display());
    said.lines().any(|line| line.ends_with(&end))
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

    /// Runs a shell's line, or `true`, and removes what is left of it.
    fn run(name: &str, variant: &Variant, script: &str) -> Result<Ended, String> {
        let place = std::env::temp_dir().join(format!("ondeck-process-{name}-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        let mut command = variant.command(Path::new("sh"));
        command.args(["-c", script]);
        let ended = Process::start(command, variant, place.join("sh.out")).and_then(Process::finish);
        fs::remove_dir_all(place).unwrap();
        ended
    }

    #[test]
    fn an_end_has_its_output_and_its_cost() {
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo $i";
        let ended = run("end", &Variant::plain(), script).unwrap();
        assert_eq!(ended.text, "100000\n");
        assert!(ended.usage.cpu_s > 0.0 && ended.seconds > 0.0);
        let fault = run("fault", &Variant::plain(), "echo why >&2; exit 3").err().unwrap();
        assert!(fault.starts_with("sh failed with exit status: 3") && fault.contains("why"), "{fault}");
    }

    #[test]
    fn a_program_that_is_over_at_once_has_had_its_library_or_fails() {
        let maps = text_of(Path::new("/proc/self/maps"));
        let libc =
            maps.lines().find_map(|line| line.find('/').filter(|_| line.ends_with("/libc.so.6")).map(|at| &line[at..]));
        // Another library that is always there, and that a shell does not ask for.
        let library = Path::new(libc.unwrap()).with_file_name("libm.so.6");
        run("short", &Variant::preloaded(&library, None), "true").unwrap();
        let fault = run("missing", &Variant::preloaded(Path::new("/nowhere/libm.so.6"), None), "true").err().unwrap();
        assert!(fault.contains("was never loaded"), "{fault}");
    }

    #[test]
    fn outputs_are_read() {
        let text = "    total time:                          2.0006s\n    total number of events:              63809\n";
        let ended = Ended { seconds: 0.0, usage: Usage::default(), text: text.to_owned() };
        assert_eq!(ended.number("total time:"), Ok(2.0006));
        assert_eq!(ended.number("total number of events:"), Ok(63809.0));
        assert!(ended.number("queries:").unwrap_err().starts_with("no number after `queries:`"));
    }

    #[test]
    fn books_are_read() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(switches(status, "voluntary_ctxt_switches:"), 12);
        assert_eq!(switches(status, "nonvoluntary_ctxt_switches:"), 3);
        let maps = "7f00-7f01 r-xp 00000000 fd:00 12 /lib/libc.so.6\n7f02-7f03 rw-p 0 00:00 0 \n";
        assert!(maps_name(maps, Path::new("/lib/libc.so.6")));
        assert!(!maps_name(maps, Path::new("/lib/libc.so")));
        let said = "     7:\tcalling init: /lib/libc.so.6\n     7:\t\n     7:\tcalling fini:  [0]\n";
        assert!(has_begun_with(said, Path::new("/lib/libc.so.6")) && !has_begun_with(said, Path::new("/lib/libc.so")));
    }
}
