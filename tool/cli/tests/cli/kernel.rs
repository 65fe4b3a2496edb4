//! `ondeck profile --futex` and `--pid`: programs whose waits are known, of several languages, started and attached to.
//!
//! They need the rights to trace system calls. Who has none is told which test was skipped.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::running::Server;
use crate::support::programs::{compiled, library, may_trace, profile_of, profiled, skipped, source};
use crate::support::{
    Scratch, command, failed, full_pipe, ondeck, refused, run, signal, takes, until, until_it_writes,
};
use ondeck_launch::ChildProcess;
use ondeck_profile::{LockKind, Profile, WaitKind};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether a compiler is there.
pub(crate) fn has(tool: &str) -> bool {
    let is_there = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !is_there {
        skipped(tool);
    }
    is_there
}

pub(crate) fn built(tool: &str, arguments: &[&str]) {
    let output = Command::new(tool).args(arguments).output().unwrap();
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Whether a stack has a function whose name contains a word.
pub(crate) fn leads_to(profile: &Profile, stack: u32, word: &str) -> bool {
    profile.frames_of(stack).any(|frame| frame.function.contains(word))
}

/// Rust's own locks: two threads sleep in turn for a mutex, others for a lock of readers, a condition variable, a channel.
const RUST: &str = r#"
use std::sync::{mpsc, Condvar, Mutex, RwLock};
use std::{thread, time::Duration};
static BEGUN: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
static HELD: Mutex<u64> = Mutex::new(0);
static SHARED: RwLock<u64> = RwLock::new(0);
static READY: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
fn begin() { BEGUN.fetch_add(1, std::sync::atomic::Ordering::Relaxed); }
#[inline(never)]
fn lock_it() { for _ in 0..40 { let mut held = HELD.lock().unwrap(); thread::sleep(Duration::from_millis(2)); *held += 1; } }
#[inline(never)]
fn write_it() { for _ in 0..20 { let mut shared = SHARED.write().unwrap(); thread::sleep(Duration::from_millis(2)); *shared += 1; } }
#[inline(never)]
fn wait_for_it() { begin(); let mut ready = READY.0.lock().unwrap(); while !*ready { ready = READY.1.wait(ready).unwrap(); } }
#[inline(never)]
fn receive_it(from: mpsc::Receiver<u32>) -> u32 { begin(); from.iter().sum() }
fn main() {
    let (to, from) = mpsc::channel();
    let mut threads: Vec<_> = [lock_it, lock_it, write_it, write_it, wait_for_it].map(thread::spawn).into();
    let receiver = thread::spawn(move || receive_it(from));
    while BEGUN.load(std::sync::atomic::Ordering::Relaxed) < 2 { thread::yield_now(); }
    for n in 0..10 { thread::sleep(Duration::from_millis(10)); to.send(n).unwrap(); }
    drop(to);
    *READY.0.lock().unwrap() = true;
    READY.1.notify_all();
    for thread in threads.drain(..) { thread.join().unwrap(); }
    println!("{} {} {}", HELD.lock().unwrap(), SHARED.read().unwrap(), receiver.join().unwrap());
}
"#;

#[test]
fn rusts_own_locks_are_named_with_who_waits_and_who_wakes() {
    if !may_trace() || !has("rustc") {
        return;
    }
    let scratch = Scratch::new();
    let (source, program) = (scratch.write("locks.rs", RUST), scratch.path("locks"));
    built("rustc", &["--edition", "2024", "-O", "-g", "-o", &program, &source]);
    let (profile, run) = profiled(&["--futex", "--", &program]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "80 40 45\n"), "{}", run.stderr);
    for (name, kind, function) in [("HELD", LockKind::Mutex, "lock_it"), ("SHARED", LockKind::RwLock, "write_it")] {
        let lock = profile.locks.iter().find(|lock| lock.name.contains(name)).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(lock.kind, kind, "{name}");
        // Each waits while the other sleeps with the lock; one that is quick may have it again and again.
        assert!(lock.waits >= 1.0 && lock.wait_ns > 2e6 && lock.wait_ns < 400e6, "{name}: {}", lock.wait_ns);
        assert!(lock.waiters.iter().all(|site| leads_to(&profile, site.stack, function)), "{name}");
        assert!(lock.wakers.iter().all(|site| leads_to(&profile, site.stack, function)), "{name}");
        let woken: f64 = lock.wakers.iter().map(|site| site.count).sum();
        assert!(woken >= lock.waits * 0.9 && woken <= lock.waits, "{name}: {woken} of {}", lock.waits);
        assert_eq!((lock.acquisitions, lock.holders.len(), lock.takers.len()), (0.0, 0, 0));
    }
    for (kind, function, least_ns) in [
        (WaitKind::Condition, "wait_for_it", 80e6),
        (WaitKind::Channel, "receive_it", 60e6),
        (WaitKind::Join, "main", 0.0),
    ] {
        let is_it = |one: &&ondeck_profile::Condition| {
            one.kind == kind && one.waiters.iter().any(|site| leads_to(&profile, site.stack, function))
        };
        let ns: f64 = profile.conditions.iter().filter(is_it).map(|one| one.wait_ns).sum();
        let is_there = profile.conditions.iter().any(|one| is_it(&one));
        assert!(is_there && ns >= least_ns, "{kind:?}: {ns} ns");
    }
    assert!(profile.notes.iter().any(|note| note.contains("--futex")), "{:?}", profile.notes);
    assert_eq!((profile.lock.as_str(), profile.dropped.samples), ("futex", 0));
}

/// One thread sleeps with the lock, and wakes one of four that wait. These wake each other.
const SAVES: &str = r#"
use std::{sync::Mutex, thread::{sleep, spawn}, time::{Duration, Instant}};
static STATE: Mutex<u64> = Mutex::new(0);
#[inline(never)] fn bump() { *STATE.lock().unwrap() += 1; }
#[inline(never)] fn save() {
    let state = STATE.lock().unwrap();
    sleep(Duration::from_millis(3));
    drop(state);
}
fn main() {
    let end = Instant::now() + Duration::from_millis(900);
    let goes_on = move || Instant::now() < end;
    let mut threads = vec![spawn(move || while goes_on() { save(); sleep(Duration::from_millis(1)) })];
    for _ in 0..4 {
        threads.push(spawn(move || while goes_on() { bump(); sleep(Duration::from_micros(100)) }));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
"#;

#[test]
fn who_holds_a_lock_for_long_ends_most_of_the_waiting() {
    if !may_trace() || !has("rustc") {
        return;
    }
    let scratch = Scratch::new();
    let (source, program) = (scratch.write("saves.rs", SAVES), scratch.path("saves"));
    built("rustc", &["--edition", "2024", "-O", "-o", &program, &source]);
    let (profile, run) = profiled(&["--futex", "--", &program]);
    let lock = profile.locks.iter().find(|lock| lock.name.contains("STATE")).expect("it was waited for");
    let ns = |function: &str| -> f64 {
        lock.wakers.iter().filter(|site| leads_to(&profile, site.stack, function)).map(|site| site.ns).sum()
    };
    assert!(ns("save") > 4.0 * ns("bump"), "{} and {} ns: {}", ns("save"), ns("bump"), run.stderr);
    let said = run.stderr.replace('\n', " ");
    assert!(said.contains("save` ends most of the waiting for `saves::STATE`"), "{said}");
    assert!(!said.contains("`ondeck profile -- COMMAND`"), "it cannot record this lock");
}

/// Of glibc's mutexes, looks see who has them: not only who woke the others.
#[test]
fn who_holds_a_mutex_of_glibc_is_seen_beside_the_kernels_waits() {
    if !may_trace() {
        return;
    }
    let program = compiled("computes.c", &["-O2"]);
    let is_named = || {
        let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let profile = profile_of(&["--futex", "--pid", &child.id().to_string(), "--for", "2s"]);
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert!(child.wait().unwrap().success());
        let table = profile.locks.iter().find(|lock| lock.name == "table").expect("it was waited for");
        let holder = ondeck_profile::busiest(&profile, &table.holders).map(|(name, _)| name);
        assert!(holder.as_ref().is_none_or(|name| name == "rebuild"), "{table:?}");
        let verdict = ondeck_profile::findings(&profile).verdict;
        let is_told = verdict.contains("`rebuild` (computes.c:") && verdict.contains(" holds `table`");
        holder.is_some() && table.wakers.is_empty() && is_told
    };
    // On a busy machine the holder may have no core for once.
    assert!((0..5).any(|_| is_named()));
}

#[test]
fn a_static_program_is_refused_with_the_command_that_sees_it() {
    let program = compiled("waits.c", &["-static"]);
    let command = format!("ondeck profile --futex -- {program} 60");
    failed(&ondeck(&["profile", "--library", library(), "--", &program, "60"]), 126, &[&command]);
    if !may_trace() {
        return;
    }
    let (profile, run) = profiled(&["--futex", "--", &program]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(7), "all is done\n"), "{}", run.stderr);
    for name in ["held", "later"] {
        let lock = profile.locks.iter().find(|lock| lock.name == name).unwrap_or_else(|| panic!("no {name}"));
        assert!(lock.wait_ns > 2e6 && leads_to(&profile, lock.waiters[0].stack, "hold"), "{lock:?}");
    }
}

#[test]
fn goroutines_are_not_seen_and_the_runtimes_threads_are_idle() {
    if !may_trace() || !has("go") {
        return;
    }
    let scratch = Scratch::new();
    let (source, program) = (source("locks.go"), scratch.path("locks"));
    built("go", &["build", "-o", &program, &source]);
    let (profile, run) = profiled(&["--futex", "--", &program]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "done\n"), "{}", run.stderr);
    assert!(profile.conditions.iter().any(|one| one.kind == WaitKind::Park), "{:?}", profile.conditions);
    assert!(!profile.locks.iter().any(|lock| lock.name.contains("held")));
    let verdict = ondeck_profile::findings(&profile).verdict;
    assert!(verdict.starts_with("Only what whole threads wait for was seen"), "{verdict}");
    assert!(profile.notes.iter().any(|note| note.contains("/debug/pprof/mutex")), "{:?}", profile.notes);
    // Without names its threads without work are no locks either.
    built("go", &["build", "-ldflags", "-s -w", "-o", &program, &source]);
    let (profile, run) = profiled(&["--futex", "--", &program]);
    assert_eq!((run.code, profile.locks.len()), (Some(0), 0), "{:?}", profile.locks);
    assert!(ondeck_profile::findings(&profile).verdict.contains("goroutines"));
}

/// Of musl there are no tables for walking stacks, so only the lock's name and the innermost function are known.
#[test]
fn a_static_program_with_musl_names_its_locks() {
    if !may_trace() || !has("musl-gcc") {
        return;
    }
    let scratch = Scratch::new();
    let (source, program) = (source("waits.c"), scratch.path("waits"));
    built("musl-gcc", &["-static", "-g", "-O1", "-fno-omit-frame-pointer", "-o", &program, &source]);
    let (profile, run) = profiled(&["--futex", "--", &program]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(7), "all is done\n"), "{}", run.stderr);
    for name in ["held", "later"] {
        let lock = profile.locks.iter().find(|lock| lock.name.starts_with(name));
        assert!(lock.is_some_and(|lock| lock.wait_ns > 2e6), "{name}: {:?}", profile.locks);
    }
}

/// The words that threads sleep on lie inside of these. Each has its own name nevertheless.
#[test]
fn what_is_waited_for_has_the_name_of_the_whole_object() {
    if !may_trace() {
        return;
    }
    let program = compiled("objects.c", &[]);
    let profile = profile_of(&["--futex", "--", &program]);
    assert!(
        profile.locks.iter().any(|lock| lock.kind == LockKind::RwLock && lock.name == "shared"),
        "{:?}",
        profile.locks
    );
    let is_barrier = |one: &ondeck_profile::Condition| one.kind == WaitKind::Barrier && one.name == "both";
    assert!(profile.conditions.iter().any(is_barrier), "{:?}", profile.conditions);
}

#[test]
fn who_waits_for_an_atomic_waits_for_no_lock() {
    if !may_trace() {
        return;
    }
    let program = compiled("atomic.cpp", &["-std=c++20"]);
    let profile = profile_of(&["--futex", "--", &program]);
    for (name, kind) in [("changed", WaitKind::Other), ("permits", WaitKind::Semaphore)] {
        let is_it =
            |one: &ondeck_profile::Condition| one.name.starts_with(name) && one.kind == kind && one.wait_ns > 10e6;
        assert!(profile.conditions.iter().any(is_it), "{name}: {:?}", profile.conditions);
        assert!(!profile.locks.iter().any(|lock| lock.name.starts_with(name)), "{name}");
    }
}

#[test]
fn javas_monitors_are_locks_and_its_own_threads_are_idle() {
    if !may_trace() || !has("javac") {
        return;
    }
    let scratch = Scratch::new();
    let (source, classes) = (source("Locks.java"), scratch.path(""));
    built("javac", &["-d", &classes, &source]);
    let (profile, run) = profiled(&["--futex", "--", "java", "-cp", &classes, "Locks"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "80\n"), "{}", run.stderr);
    // Three threads wait while one sleeps 80 times for 2 ms with the monitor.
    let is_monitor = |stack: u32| leads_to(&profile, stack, "ObjectMonitor::");
    let monitors = profile.locks.iter().filter(|lock| lock.waiters.iter().any(|site| is_monitor(site.stack)));
    let waited_ns: f64 = monitors.map(|lock| lock.wait_ns).sum();
    assert!(waited_ns > 100e6 && waited_ns < 2e9, "{waited_ns}: {:?}", profile.locks);
    assert!(profile.conditions.iter().any(|one| one.kind != WaitKind::Other && one.wait_ns > 0.0));
}

/// ondeck's own benchmark has this lock among those that it compares with.
#[test]
fn parking_lots_mutex_is_told_apart_by_the_place_that_waits() {
    if !may_trace() {
        return;
    }
    let bench = ["bench", "--lock", "parking-lot-012", "--workload", "sections/cs2000-out60", "--threads", "4"];
    let short = ["--seconds", "0.2", "--rounds", "1", "--out", "/dev/null"];
    let program = env!("CARGO_BIN_EXE_ondeck");
    let profile = profile_of(&[&["--futex", "--", program][..], &bench, &short].concat());
    let waits_there = |lock: &&ondeck_profile::Lock| {
        lock.waiters.iter().any(|site| leads_to(&profile, site.stack, "parking_lot::raw_mutex::RawMutex::lock"))
    };
    let lock = profile.locks.iter().find(waits_there).unwrap_or_else(|| panic!("{:?}", profile.locks));
    assert_eq!(lock.kind, LockKind::Mutex);
    assert!(lock.name.starts_with("in ") && !lock.name.contains("parking_lot"), "{}", lock.name);
}

#[test]
fn a_process_that_runs_is_watched_and_left_as_it_was() {
    if !may_trace() {
        return;
    }
    let scratch = Scratch::new();
    let program = compiled("waits.c", &[]);
    let begin = || Command::new(&program).arg("5000").stdout(Stdio::piped()).spawn().unwrap();
    // A second or so of a process that goes on; threads that start meanwhile belong to it.
    let child = begin();
    let pid = child.id().to_string();
    let profile = profile_of(&["--pid", &pid, "--for", "1200ms"]);
    for name in ["held", "later"] {
        assert!(profile.locks.iter().any(|lock| lock.name == name && lock.wait_ns > 2e6), "{name}");
    }
    assert!(profile.seconds >= 1.2 && profile.command[0] == program, "{:?}", profile.command);
    // Until a signal.
    let json = scratch.path("stopped.json");
    let mut watching = command(&["profile", "-o", &json, "--pid", &pid]).stderr(Stdio::null()).spawn().unwrap();
    until("its handlers", || takes(&watching, &[libc::SIGINT]));
    std::thread::sleep(std::time::Duration::from_millis(200));
    signal(&watching, libc::SIGINT);
    assert_eq!(watching.wait().unwrap().code(), Some(0));
    assert!(Path::new(&json).is_file());
    // Until its end. A child that nobody has waited for yet has ended too.
    let (profile, run) = profiled(&["--pid", &pid]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(profile.locks.iter().any(|lock| lock.name == "later"), "{:?}", run.stderr);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(7), &b"all is done\n"[..]));
}

/// Some hundred thousand times a second: each wait is counted, from where most wait, and the list says how that is known.
/// Two processes at once, of which one has no first thread any more, and is meant by another one's number.
#[test]
fn several_processes_that_run_are_watched() {
    if !may_trace() {
        return;
    }
    let program = compiled("server.c", &[]);
    let servers = ["usual", "leaves"].map(|argument| Server::start(Command::new(&program).arg(argument)));
    let [first, second] = servers.each_ref().map(Server::pid);
    let threads = std::fs::read_dir(format!("/proc/{second}/task")).unwrap();
    let threads = threads.map(|thread| thread.unwrap().file_name().into_string().unwrap());
    let thread = threads.into_iter().find(|thread| *thread != second).unwrap();
    let profile = profile_of(&["--futex", "--pid", &first, &thread, "--for", "700ms"]);
    assert!(
        profile.notes.iter().any(|note| note.contains(&format!("a thread of process {second}"))),
        "{:?}",
        profile.notes
    );
    for pid in [&first, &second] {
        let at = profile.processes.iter().position(|process| process.pid.to_string() == **pid);
        let at = at.unwrap_or_else(|| panic!("{pid}: {:?}", profile.processes));
        let is_its = |lock: &&ondeck_profile::Lock| lock.process as usize == at && lock.name.starts_with("table");
        let lock = profile.locks.iter().find(is_its);
        assert!(lock.is_some_and(|lock| lock.wait_ns > 50e6), "{pid}: {:?}", profile.locks);
    }
    servers.into_iter().for_each(Server::end);
}

#[test]
fn of_a_process_that_calls_very_often_no_wait_is_lost() {
    if !may_trace() {
        return;
    }
    let program = compiled("passes.c", &["-g"]);
    let mut child = Command::new(&program).stdin(Stdio::piped()).spawn().unwrap();
    let (profile, run) = profiled(&["--pid", &child.id().to_string(), "--for", "1s"]);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(profile.dropped.samples, 0, "{}", run.stderr);
    let said = |text: &str| profile.notes.iter().any(|note| note.contains(text));
    assert!(said("calls the kernel very often") && !said("left out"), "{:?}", profile.notes);
    let waits: f64 = profile.locks.iter().map(|lock| lock.waits).sum();
    assert!(waits > 5_000.0, "{waits}");
    // Two threads of each pair wait in turn, all the time.
    let two = profile.locks.iter().filter(|lock| lock.wait_ns > 0.5 * profile.seconds * 1e9).collect::<Vec<_>>();
    assert_eq!(two.len(), 2, "{:?}", profile.locks);
    for lock in two {
        let [ping, pong] = ["ping", "pong"].map(|function| -> f64 {
            let waiters = lock.waiters.iter().filter(|site| leads_to(&profile, site.stack, function));
            waiters.map(|site| site.count).sum()
        });
        assert!(ping > 0.0 && pong > 0.0 && ping + pong > 0.9 * lock.waits, "{ping}, {pong}: {lock:?}");
    }
}

#[test]
fn a_second_signal_ends_what_is_still_to_be_written() {
    if !may_trace() {
        return;
    }
    let mut guest = Command::new(compiled("waits.c", &[]));
    let guest = ChildProcess::start(guest.arg("600000").stdout(Stdio::null()), libc::SIGKILL).unwrap();
    let pid = guest.pid().to_string();
    for (arguments, number) in [(&["profile", "--format", "json"][..], libc::SIGINT), (&["top"], libc::SIGTERM)] {
        // Nobody reads what is written at the end.
        let (_reader, writer) = full_pipe();
        let full = || Stdio::from(writer.try_clone().unwrap());
        let is_top = arguments[0] == "top";
        let (out, err) = if is_top { (Stdio::null(), full()) } else { (full(), Stdio::null()) };
        let mut child = command(&[arguments, &["--pid", &pid]].concat()).stdout(out).stderr(err).spawn().unwrap();
        until("its handlers", || takes(&child, &[number]));
        signal(&child, number);
        until_it_writes(&child, if is_top { 2 } else { 1 });
        signal(&child, number);
        assert_eq!(child.wait().unwrap().signal(), Some(number), "{arguments:?}");
    }
}

#[test]
fn what_cannot_be_watched_is_refused_in_one_line() {
    refused(&ondeck(&["profile", "--futex", "--", "no-such-program"]), 127, &["no-such-program"]);
    if !may_trace() {
        return;
    }
    // As a user without rights, from a place that this user may read.
    let scratch = Scratch::new();
    let program = scratch.path("ondeck");
    std::fs::copy(env!("CARGO_BIN_EXE_ondeck"), &program).unwrap();
    for wish in [&["--futex", "--", "true"][..], &["--pid", "1"]] {
        let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups", &program, "profile"];
        let run = run(Command::new("setpriv").args(nobody).args(wish));
        refused(&run, 1, &["root", "sudo", "profile", wish[0]]);
    }
}
