//! `ondeck profile` with programs under filters of system calls: they live, with no more allowed than docs/pthread.md lists.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::programs::{compiled, library, may_trace, profile_in, skipped};
use crate::support::{Scratch, command, ondeck, until, with_both_locks};
use ondeck_profile::Profile;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

/// What `sandbox.c` calls for itself, and glibc for its threads and its end.
const ITS_OWN: &str = "rt_sigprocmask read write clock_nanosleep exit exit_group set_robust_list rseq clone3 clone mprotect brk prctl seccomp";
/// What the kernel, the loader and the start of a program call.
const TO_START: &str = "execve mmap munmap openat close read pread64 newfstatat fstat access prlimit64 getrandom arch_prctl \
    set_tid_address gettid readlink sched_getaffinity getdents64 rt_sigaction";
/// Lines of the table in docs/pthread.md.
const WAITS: &str = "threads that wait";
const STARTS: &str = "the start of a program";
const RECORDED: &str = "a thread that is recorded";
const BEGINS: &str = "the thread that begins a recording";

/// What docs/pthread.md lists in the line of its table that begins so.
fn listed(line: &str) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pthread.md");
    let page = std::fs::read_to_string(page).unwrap();
    let line = page.lines().find(|found| found.starts_with(&format!("| {line}")));
    let line = line.unwrap_or_else(|| panic!("no line of the table begins with {line:?}"));
    let calls: Vec<&str> = line.rsplit_once(" | ").unwrap().1.split('`').skip(1).step_by(2).collect();
    calls.join(" ")
}

/// The number of a system call, as compilers for C know it.
fn number(call: &str) -> String {
    let numbers = std::fs::read_to_string("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
        .or_else(|_| std::fs::read_to_string("/usr/include/asm/unistd_64.h"))
        .expect("the C library's headers are there");
    let found = numbers.lines().find_map(|line| line.strip_prefix(&format!("#define __NR_{call} ")));
    found.unwrap_or_else(|| panic!("{call} has no number")).to_owned()
}

/// `sandbox.c`, as it runs.
struct Boxed {
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Boxed {
    fn of(command: &mut Command, [when, how]: [&str; 2], allowed: &[&str]) -> Boxed {
        let numbers = allowed.iter().flat_map(|calls| calls.split_whitespace()).map(number);
        let command = command.arg(compiled("sandbox.c", &[])).args([when, how]).args(numbers);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        let mut boxed = Boxed { child, says };
        boxed.says("begun");
        boxed
    }

    fn with(lock: &str, how: [&str; 2], allowed: &[&str]) -> Boxed {
        Self::of(&mut command(&["run", "--library", library(), "--lock", lock, "--"]), how, allowed)
    }

    #[track_caller]
    fn says(&mut self, what: &str) {
        let mut line = String::new();
        self.says.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), what, "{:?}", self.child.try_wait());
    }

    fn tell(&mut self, what: &str) {
        self.child.stdin.as_mut().unwrap().write_all(what.as_bytes()).unwrap();
    }

    /// Looks at it with these flags.
    #[track_caller]
    fn looked_at(&mut self, flags: &[&str]) -> Profile {
        let scratch = Scratch::new();
        let json = scratch.path("profile.json");
        let pid = self.child.id().to_string();
        let out = ["profile", "--pid", &pid, "-o", &json];
        let run = ondeck(&[&out[..], flags].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        profile_in(&json)
    }

    #[track_caller]
    fn is_recorded(&mut self) {
        let profile = self.looked_at(&["--for", "500ms", "--rate", "1"]);
        assert_eq!(profile.notes, [""; 0]);
        assert_rebuild(&profile);
    }

    /// It lives to its own end.
    #[track_caller]
    fn ends(mut self) {
        self.tell("e");
        self.says("ended");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

#[track_caller]
fn assert_rebuild(profile: &Profile) {
    let lock = profile.locks.first().unwrap_or_else(|| panic!("no lock: {:?}", profile.notes));
    let frames = lock.holders.iter().flat_map(|holder| profile.frames_of(holder.stack));
    let functions: Vec<&str> = frames.map(|frame| frame.function.as_str()).collect();
    assert!(lock.name == "table" && functions.contains(&"rebuild"), "{} {functions:?}", lock.name);
}

/// As in a container: nothing else is called than is listed.
#[test]
fn a_program_that_begins_under_a_filter_is_recorded() {
    let allowed = [ITS_OWN, TO_START, &listed(STARTS), &listed(WAITS), &listed(RECORDED), &listed(BEGINS)];
    with_both_locks(|lock| {
        let mut boxed = Boxed::with(lock, ["before", "kill"], &allowed);
        boxed.is_recorded();
        boxed.is_recorded();
        boxed.ends();
    });
}

/// Its observer is killed, and it ends the recording by itself.
#[test]
fn a_program_under_a_filter_lives_on_without_its_observer() {
    let allowed = [ITS_OWN, TO_START, &listed(STARTS), &listed(WAITS), &listed(RECORDED), &listed(BEGINS)];
    let mut boxed = Boxed::with("glibc", ["before", "kill"], &allowed);
    let pid = boxed.child.id().to_string();
    let maps = || std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let mut observer = command(&["profile", "--pid", &pid]).stderr(Stdio::null()).spawn().unwrap();
    until("it records", || maps().contains(".ondeck"));
    observer.kill().unwrap();
    observer.wait().unwrap();
    let file = maps().lines().find_map(|line| Some(line[line.find("/dev/shm/ondeck-")?..].to_owned()));
    // It takes another one five seconds to be sure that the first one is gone.
    until("the first one is gone", || ondeck(&["profile", "--pid", &pid, "--for", "100ms"]).code == Some(0));
    boxed.is_recorded();
    boxed.ends();
    let file = file.expect("there is room in /dev/shm");
    // The process may not remove it. The second observer has.
    assert!(!std::path::Path::new(&file).parent().unwrap().exists(), "{file}");
}

/// It allows what threads need that wait, and nothing for a recording.
#[test]
fn a_program_that_has_closed_a_sandbox_is_left_alone_and_that_is_said() {
    for how in [["after", "kill"], ["after", "errno"], ["one", "kill"]] {
        let mut boxed = Boxed::with("glibc", how, &[ITS_OWN, &listed(WAITS), "madvise munmap"]);
        let reason = "it has set a system call filter (seccomp) since it was started";
        if may_trace() {
            let profile = boxed.looked_at(&["--for", "300ms"]);
            assert!(profile.notes.iter().any(|note| note.contains(reason)), "{how:?}: {:?}", profile.notes);
        } else {
            skipped("the right to trace system calls");
        }
        // What needs the recorder is refused with the same reason.
        let order = ondeck(&["profile", "--order", "--pid", &boxed.child.id().to_string(), "--for", "300ms"]);
        assert!(order.code == Some(1) && order.stderr.contains(reason), "{}", order.stderr);
        boxed.ends();
    }
}

#[test]
fn a_program_may_close_a_sandbox_while_it_is_recorded() {
    with_both_locks(|lock| {
        let mut boxed = Boxed::with(lock, ["told", "kill"], &[ITS_OWN, &listed(WAITS), &listed(RECORDED)]);
        let pid = boxed.child.id().to_string();
        let maps = || std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let observer = command(&["profile", "--rate", "1", "--pid", &pid, "--for", "2s"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until("it records", || maps().contains(".ondeck"));
        boxed.tell("c");
        boxed.says("closed");
        let output = observer.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("`rebuild`"), "{lock}: {text}");
        boxed.ends();
    });
}

#[test]
fn a_program_that_is_recorded_from_its_start_may_close_a_sandbox() {
    let scratch = Scratch::new();
    let json = scratch.path("profile.json");
    let flags = ["profile", "--rate", "1", "-o", &json, "--library", library(), "--"];
    let mut boxed = Boxed::of(&mut command(&flags), ["after", "kill"], &[ITS_OWN, &listed(WAITS), &listed(RECORDED)]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    boxed.tell("e");
    boxed.says("ended");
    assert_eq!(boxed.child.wait().unwrap().code(), Some(0));
    assert_rebuild(&profile_in(&json));
}

/// By a limit, which fails as a filter's error does.
#[test]
fn a_call_that_is_refused_is_named() {
    let mut boxed = Boxed::with("glibc", ["told", "errno"], &[ITS_OWN, &listed(WAITS)]);
    let limit = libc::rlimit { rlim_cur: 3, rlim_max: 3 };
    let pid = boxed.child.id() as libc::pid_t;
    // SAFETY: `limit` is ours, and no answer is wanted.
    let answer = unsafe { libc::prlimit(pid, libc::RLIMIT_NOFILE, &limit, std::ptr::null_mut()) };
    assert_eq!(answer, 0);
    let order = ondeck(&["profile", "--order", "--pid", &pid.to_string(), "--for", "300ms"]);
    let reason = "it cannot use a file for its recording: openat failed there: Too many open files";
    assert!(order.code == Some(1) && order.stderr.contains(reason), "{}", order.stderr);
    boxed.tell("e");
    boxed.says("ended");
    assert_eq!(boxed.child.wait().unwrap().code(), Some(0));
}
