//! A program that runs: with or without the library, watched until it ends, and what it has used.

use super::Variant;
use ondeck_rounds::Running;
pub(super) use ondeck_rounds::Usage;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Tells the C library's loader to write down what it loads and begins, and where.
const LOADER: [&str; 2] = ["LD_DEBUG", "LD_DEBUG_OUTPUT"];
/// The beginning of the names of the files that it writes; their ends are numbers of processes.
const LOADED: &str = "loaded";
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

/// A running process. Dropped, it is killed, with all that it has started.
pub(super) struct Process {
    name: String,
    running: Running,
    log: PathBuf,
    /// Where the loader writes, in this process and in those that it starts.
    loader: PathBuf,
    started: Instant,
    /// The library that it must have loaded.
    library: Option<PathBuf>,
    /// Whether the program is its child.
    is_wrapped: bool,
}

impl Process {
    /// Starts `command` with the locks that `variant` says; what it writes goes to `log` and `log.err`.
    pub(super) fn start(command: &mut Command, variant: &Variant, log: &Path) -> Result<Process, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut wrapped = variant.wrapped(command);
        let command = wrapped.as_mut().unwrap_or(command);
        let file = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
        command.stdin(Stdio::null()).stdout(file(log)?).stderr(file(&errors_of(log))?);
        variant.apply(command);
        // Nobody's settings are read, and none are left: memcaslap writes some where it finds none.
        command.env("HOME", log.parent().unwrap_or(log));
        // With every lock, so that it costs all of them the same.
        let loader = fresh_place_beside(log)?;
        command.env(LOADER[0], "files").env(LOADER[1], loader.join(LOADED));
        let (log, library, is_wrapped) = (log.to_owned(), variant.library.clone(), variant.is_wrapped());
        // A profiler is asked to end, as it passes that on to the program: killed, it would leave it behind.
        let last_signal = if is_wrapped { libc::SIGTERM } else { libc::SIGKILL };
        let started = Instant::now();
        let running = Running::start(command, last_signal).map_err(|error| format!("cannot run {name}: {error}"))?;
        Ok(Process { name, running, log, loader, started, library, is_wrapped })
    }

    /// The loader must have begun with the library that the program was started with. A look at what is mapped comes too
    /// late for a short program on a busy machine.
    fn must_have_library(&self) -> Result<(), String> {
        let Some(library) = &self.library else { return Ok(()) };
        let said = text_of(&self.loader.join(format!("{LOADED}.{}", self.running.pid())));
        if has_begun_with(&said, library) {
            return Ok(());
        }
        Err(format!("{} has run without {}: it was never loaded", self.name, library.display()))
    }

    /// The library must be mapped now, by a program that may have been run in the place of the one that was started.
    pub(super) fn must_have_mapped(&self) -> Result<(), String> {
        let Some(library) = &self.library else { return Ok(()) };
        if maps_name(&text_of(Path::new(&format!("/proc/{}/maps", self.running.pid()))), library) {
            return Ok(());
        }
        Err(format!("{} runs without {}: it is not mapped", self.name, library.display()))
    }

    /// Whether it runs still.
    pub(super) fn must_run(&self) -> Result<(), String> {
        if self.running.is_over(Duration::ZERO) {
            Err(format!("{} has ended: {}", self.name, self.tail()))
        } else {
            Ok(())
        }
    }

    /// Waits until it ends by itself. Everything but success is an error, and so is an end without the library.
    pub(super) fn finish(mut self, limit: Duration) -> Result<Ended, String> {
        if !self.running.is_over(limit) {
            return Err(format!("{} had not ended after {} s: {}", self.name, limit.as_secs(), self.tail()));
        }
        let seconds = self.started.elapsed().as_secs_f64();
        let (status, usage) = self.reap()?;
        if !status.success() {
            return Err(format!("{} failed with {status}: {}", self.name, self.tail()));
        }
        self.must_have_library()?;
        Ok(Ended { seconds, usage, text: text_of(&self.log) })
    }

    /// Asks a server to end, and waits until it has.
    pub(super) fn stop(mut self) -> Result<(), String> {
        self.must_have_library()?;
        self.must_run()?;
        // SAFETY: takes numbers only; our child has not been waited for, so the number is its own.
        unsafe { libc::kill(self.running.pid(), libc::SIGTERM) };
        if !self.running.is_over(ENDING) {
            return Err(format!("{} had not ended {} s after SIGTERM: {}", self.name, ENDING.as_secs(), self.tail()));
        }
        let (status, _) = self.reap()?;
        // Who has no handler ends by the signal, which is as good; a profiler says it as a shell does.
        let by_signal =
            status.signal() == Some(libc::SIGTERM) || self.is_wrapped && status.code() == Some(128 + libc::SIGTERM);
        if status.success() || by_signal {
            Ok(())
        } else {
            Err(format!("{} failed with {status} after SIGTERM: {}", self.name, self.tail()))
        }
    }

    /// Takes the status of the ended process.
    fn reap(&mut self) -> Result<(ExitStatus, Usage), String> {
        self.running.reap().map_err(|error| format!("{}: {error}", self.name))
    }

    /// What it has used until now, by the kernel's books; of a program under the profiler, what the program has used.
    pub(super) fn usage(&self) -> Result<Usage, String> {
        let mut path = format!("/proc/{}", self.running.pid());
        if self.is_wrapped {
            let children =
                fs::read_to_string(format!("{path}/task/{}/children", self.running.pid())).unwrap_or_default();
            let child = children.split_whitespace().next().ok_or(format!("{} has no child", self.name))?;
            path = format!("/proc/{child}");
        }
        let stat = fs::read_to_string(format!("{path}/stat")).map_err(|error| format!("{path}/stat: {error}"))?;
        let mut usage = Usage { cpu_s: cpu_seconds(&stat).ok_or(format!("{path}/stat: {stat}"))?, ..Usage::default() };
        for task in fs::read_dir(format!("{path}/task")).map_err(|error| format!("{path}/task: {error}"))?.flatten() {
            // A thread may end between the two.
            let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
            usage.voluntary += switches(&status, "voluntary_ctxt_switches:");
            usage.involuntary += switches(&status, "nonvoluntary_ctxt_switches:");
        }
        Ok(usage)
    }

    /// The end of what it has written.
    fn tail(&self) -> String {
        let all = text_of(&self.log) + &text_of(&errors_of(&self.log));
        let text = all.trim();
        let from = text.char_indices().rev().nth(TAIL).map_or(0, |(at, _)| at);
        if text.is_empty() { "it has written nothing".to_owned() } else { text[from..].to_owned() }
    }

    /// All that it has written to its standard error so far.
    pub(super) fn errors(&self) -> String {
        text_of(&errors_of(&self.log))
    }

    /// All that it has written to its standard output so far.
    pub(super) fn text(&self) -> String {
        text_of(&self.log)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.running.has_ended() {
            self.running.signal(libc::SIGKILL);
            let _ = self.reap();
        }
        let _ = fs::remove_dir_all(&self.loader);
    }
}

/// Runs a program without the library and without taking its figures: what prepares, or loads a server.
pub(super) fn run_plain(command: &mut Command, log: &Path, limit: Duration) -> Result<Ended, String> {
    Process::start(command, &Variant::plain(), log)?.finish(limit)
}

/// An empty directory for one process. A number is given to another process one day, and must not find what that one wrote.
fn fresh_place_beside(log: &Path) -> Result<PathBuf, String> {
    static N_STARTED: AtomicU64 = AtomicU64::new(0);
    let place = log.with_extension(format!("loader-{}", N_STARTED.fetch_add(1, Relaxed)));
    let _ = fs::remove_dir_all(&place);
    fs::create_dir(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    Ok(place)
}

fn errors_of(log: &Path) -> PathBuf {
    log.with_extension("err")
}

/// As text whatever it is: some programs write bytes.
fn text_of(file: &Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(file) {
        let _ = file.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
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

    const MINUTE: Duration = Duration::from_secs(60);

    fn log(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("ondeck-process-{name}-{}", std::process::id()))
    }

    fn sh(text: &str, log: &Path) -> Process {
        Process::start(Command::new("sh").args(["-c", text]), &Variant::plain(), log).unwrap()
    }

    #[test]
    fn an_end_has_its_output_and_its_cost() {
        let log = log("end");
        let ended = sh("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo $i", &log).finish(MINUTE * 2).unwrap();
        assert_eq!(ended.text, "100000\n");
        assert!(ended.usage.cpu_s > 0.0 && ended.seconds > 0.0);
        let fault = sh("echo why >&2; exit 3", &log).finish(MINUTE).err().unwrap();
        assert!(fault.contains("exit status: 3") && fault.contains("why"), "{fault}");
        fs::remove_file(errors_of(&log)).and(fs::remove_file(log)).unwrap();
    }

    #[test]
    fn who_hangs_is_killed_with_its_children() {
        let log = log("hang");
        let process = sh("sleep 60 & echo $!; wait", &log);
        let started = Instant::now();
        while process.text().is_empty() {
            assert!(started.elapsed() < MINUTE, "waited a minute for the shell's first line");
            std::thread::sleep(Duration::from_millis(1));
        }
        let child = process.text().trim().to_owned();
        let fault = process.finish(Duration::from_millis(10)).err().unwrap();
        assert!(fault.starts_with("sh had not ended"), "{fault}");
        // Both are killed at once, and only the other is waited for.
        let stat = || fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        let is_dead = || stat().is_empty() || stat().contains(") Z ") || stat().contains(") X ");
        let killed = Instant::now();
        while !is_dead() && killed.elapsed() < MINUTE {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(is_dead(), "{}", stat());
        fs::remove_file(errors_of(&log)).and(fs::remove_file(log)).unwrap();
    }

    #[test]
    fn a_program_that_is_over_at_once_has_had_its_library_or_fails() {
        let log = log("short");
        let maps = text_of(Path::new("/proc/self/maps"));
        let libc =
            maps.lines().find_map(|line| line.find('/').filter(|_| line.ends_with("/libc.so.6")).map(|at| &line[at..]));
        // Another library that is always there, and that `true` does not ask for.
        let library = Path::new(libc.unwrap()).with_file_name("libm.so.6");
        let run = |library: &Path| {
            Process::start(&mut Command::new("true"), &Variant::preloaded(library, None), &log).unwrap().finish(MINUTE)
        };
        run(&library).unwrap();
        let fault = run(Path::new("/nowhere/libm.so.6")).err().unwrap();
        assert!(fault.contains("was never loaded"), "{fault}");
        fs::remove_file(errors_of(&log)).and(fs::remove_file(log)).unwrap();
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
