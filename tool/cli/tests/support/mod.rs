//! What tests of the program share: running it as its users do, and programs in C for it to watch.

#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
#[path = "../../../../proof/testprograms/library.rs"]
mod library;
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
pub(crate) mod programs;

use std::fs::Permissions;
use std::io::{PipeReader, PipeWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What a run left.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    fn of(Output { status, stdout, stderr }: Output) -> Run {
        let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).expect("all output is text"));
        Run { code: status.code(), stdout, stderr }
    }
}

/// The program with its arguments, in an environment without surprises.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ondeck"));
    // As from PATH: what it prints does not depend on where it is.
    command.arg0("ondeck").args(arguments).env_remove("COLUMNS").stdin(Stdio::null());
    // Beside other tests no moment is quiet.
    command.env("ONDECK_PATIENCE_S", "0");
    command
}

/// The words of a command line.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Runs the program to its end.
pub(crate) fn ondeck(arguments: &[&str]) -> Run {
    run(&mut command(arguments))
}

/// The same, which must be a success.
#[track_caller]
pub(crate) fn done(arguments: &[&str]) -> Run {
    let run = ondeck(arguments);
    assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.stderr);
    run
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Run {
    Run::of(command.output().expect("the program can be started"))
}

/// The run has failed with this code, and its one line has all the words.
#[track_caller]
pub(crate) fn failed(run: &Run, code: i32, words: &[&str]) {
    assert_eq!((run.code, run.stderr.lines().count()), (Some(code), 1), "{}", run.stderr);
    for word in words {
        assert!(run.stderr.contains(word), "no {word:?} in: {}", run.stderr);
    }
}

/// The same, and nothing was printed.
#[track_caller]
pub(crate) fn refused(run: &Run, code: i32, words: &[&str]) {
    failed(run, code, words);
    assert_eq!(run.stdout, "");
}

/// Sends a signal to a program that was not waited for.
#[track_caller]
pub(crate) fn signal(child: &Child, signal: i32) {
    // SAFETY: takes numbers only; it is our child, which was not waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

/// A run that is told to end once it has worked for so many hundredths of a second.
pub(crate) fn interrupted(arguments: &[&str], number: i32, ticks: u64) -> Run {
    let mut command = command(arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("so much work", || takes(&child, &[libc::SIGINT, libc::SIGTERM]) && worked(&child) >= ticks);
    signal(&child, number);
    Run::of(child.wait_with_output().unwrap())
}

/// Has the program ignore a signal from its start, as its parent may have.
pub(crate) fn ignoring(command: &mut Command, number: i32) -> &mut Command {
    let ignore = move || {
        // SAFETY: takes numbers only.
        unsafe { libc::signal(number, libc::SIG_IGN) };
        Ok(())
    };
    // SAFETY: it only makes a call that a forked child may make.
    unsafe { command.pre_exec(ignore) }
}

/// A pipe that nobody reads, and that has no room.
pub(crate) fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    // SAFETY: a pipe that is open.
    assert_eq!(unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, 4096) }, 4096);
    writer.write_all(&[0; 4096]).unwrap();
    (reader, writer)
}

/// Waits until the program writes to this file of its own, and cannot.
pub(crate) fn until_it_writes(child: &Child, fd: u32) {
    let (path, writes) = (format!("/proc/{}/syscall", child.id()), format!("1 {fd:#x} "));
    until("it writes", || std::fs::read_to_string(&path).is_ok_and(|text| text.starts_with(&writes)));
}

/// Does this with glibc's locks and with ondeck's, both at once: most of it is waiting.
pub(crate) fn with_both_locks(test: impl Fn(&'static str) + Sync) {
    std::thread::scope(|scope| {
        for lock in ["glibc", "ondeck"] {
            let test = &test;
            scope.spawn(move || test(lock));
        }
    });
}

/// Waits for what comes sooner or later, whatever else runs on the machine.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    const LONGEST: Duration = Duration::from_secs(120);
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < LONGEST, "waited {LONGEST:?} for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the program takes these signals itself by now: before, they would end it.
pub(crate) fn takes(child: &Child, signals: &[i32]) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs, on Linux");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("has a line for it");
    let mask = u64::from_str_radix(mask.trim(), 16).expect("a mask");
    signals.iter().all(|signal| mask >> (signal - 1) & 1 == 1)
}

/// Hundredths of a second that the program has computed.
pub(crate) fn worked(child: &Child) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it runs, on Linux");
    let (_, rest) = stat.rsplit_once(')').expect("the name is in brackets");
    rest.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("a number")).sum()
}

/// A directory of its own for one test, removed afterwards.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn new() -> Self {
        let mut builder = tempfile::Builder::new();
        // Other users may read what is in it.
        builder.prefix("ondeck-cli-").permissions(Permissions::from_mode(0o755));
        Scratch(builder.tempdir().expect("there is room for temporary files"))
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("a path of plain characters").to_owned()
    }

    /// Writes a file and gives its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).expect("the temporary directory can be written");
        path
    }

    /// Names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        Scratch::names_in(&self.path(""))
    }

    /// Names of all files of a directory, sorted.
    pub(crate) fn names_in(directory: &str) -> Vec<String> {
        let entries = std::fs::read_dir(directory).expect("the directory exists");
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("it can be listed").file_name();
        let mut names: Vec<String> = entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}
