//! `ondeck profile --pid` and `--cgroup` of programs with the recorder in them: it is switched on in a program that runs, and off.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::programs::{built, compiled, library, profile_of, profiled, recording_example, skipped};
use crate::support::{Scratch, command, failed, ondeck, run as finished, until, with_both_locks};
use ondeck_profile::{Profile, State};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// `server.c`, or the like, as it runs.
pub(crate) struct Server(Child);

impl Server {
    pub(crate) fn start(command: &mut Command) -> Server {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
        Server(child)
    }

    /// With that lock.
    fn with(lock: &str, arguments: &[&str]) -> Server {
        let mut run = command(&["run", "--library", library(), "--lock", lock, "--", &compiled("server.c", &[])]);
        Server::start(run.args(arguments))
    }

    pub(crate) fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// Ends it, as it would have without us.
    pub(crate) fn end(mut self) {
        self.0.stdin.take().unwrap().write_all(b"\n").unwrap();
        let output = self.0.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"ended\n".as_slice()));
    }
}

/// The table is what is waited for, and who holds it sleeps, or is to wake on a CPU that others use.
#[track_caller]
fn assert_named(profile: &Profile, holder: &str) {
    let lock = profile.locks.first().unwrap_or_else(|| panic!("no lock: {:?}", profile.notes));
    assert_eq!(lock.name, "table");
    let held = lock.holders.first().unwrap();
    let frames: Vec<&str> = profile.frames_of(held.stack).map(|frame| frame.function.as_str()).collect();
    assert!(frames.iter().any(|function| function.contains(holder)), "{frames:?}");
    let in_state = |state| lock.causes.iter().filter(|cause| cause.state == state).map(|cause| cause.ns).sum::<f64>();
    let asleep = in_state(State::Blocked);
    assert!(asleep > 0.1 * lock.wait_ns && asleep + in_state(State::NoCore) > 0.5 * lock.wait_ns, "{:?}", lock.causes);
    // Of some 700 ms, two threads wait for most.
    assert!(lock.wait_ns > 100e6 && lock.wait_ns < 3e9, "{}", lock.wait_ns);
}

/// The table is what is waited for, whoever else uses the machine.
#[track_caller]
fn assert_waited(profile: &Profile) {
    let is_table = |lock: &&ondeck_profile::Lock| lock.name.starts_with("table");
    let lock = profile.locks.iter().find(is_table).unwrap_or_else(|| panic!("no table: {:?}", profile.notes));
    assert!(lock.wait_ns > 20e6, "{}", lock.wait_ns);
}

/// The kernel takes the loader for the program.
#[test]
fn a_program_that_the_loader_runs_has_its_names() {
    let program = compiled("server.c", &[]);
    let words = ["run", "--library", library(), "--lock", "glibc", "--", "/lib64/ld-linux-x86-64.so.2", &program];
    let server = Server::start(&mut command(&words));
    let profile = profile_of(&["--pid", &server.pid(), "--for", "700ms", "--rate", "1"]);
    assert_named(&profile, "rebuild");
    assert_eq!((profile.processes[0].program.as_str(), profile.notes.len()), (&*program, 0), "{:?}", profile.notes);
    server.end();
}

#[test]
fn a_program_that_runs_is_recorded_again_and_again() {
    with_both_locks(|lock| {
        let server = Server::with(lock, &[]);
        for flags in [&[][..], &["--exact"], &["--rate", "1"]] {
            let profile = profile_of(&[&["--pid", &server.pid(), "--for", "700ms"], flags].concat());
            assert_named(&profile, "rebuild");
            assert_eq!((profile.lock.as_str(), profile.notes.len()), (lock, 0), "{:?}", profile.notes);
            assert_eq!(profile.processes.iter().map(|one| one.pid).collect::<Vec<_>>(), [server.0.id()]);
        }
        server.end();
    });
}

/// Whoever waits for long is told of while that lasts, with who holds it up.
#[test]
fn long_waits_are_told_of_while_they_last() {
    with_both_locks(|lock| {
        let server = Server::with(lock, &["long"]);
        let flags = ["profile", "--pid", &server.pid(), "--for", "2s", "--warn-after", "150ms"];
        let told = ondeck(&flags).stderr;
        let told = told.split("Threads waited").next().unwrap();
        // Once for each hold at most: there are five in that time, and a part of one.
        assert!((1..=6).contains(&told.matches("warning: ").count()), "{told}");
        let parts =
            ["is blocked in clock_nanosleep, in", "has it, and is here", "rebuild (", "waits here", "look_up ("];
        // Of a thread that moves while its stack is read, a part is told.
        let is_whole = |warning: &str| {
            let after = |rest: &str, part: &str| Some(rest.split_once(part)?.1.to_owned());
            parts.iter().try_fold(warning.to_owned(), |rest, part| after(&rest, part)).is_some()
        };
        assert!(told.split("warning: ").skip(1).any(is_whole), "no warning has {parts:?} in this order: {told}");
        server.end();
    });
}

#[test]
fn a_program_that_forks_meanwhile_is_recorded_by_itself() {
    let server = Server::with("glibc", &["forks"]);
    let (profile, run) = profiled(&["--pid", &server.pid(), "--for", "700ms"]);
    assert_eq!((run.code, profile.processes.len()), (Some(0), 1), "{}", run.stderr);
    assert_named(&profile, "rebuild");
    server.end();
}

#[test]
fn a_program_with_locks_of_rust_that_record_is_recorded() {
    let server = Server::start(&mut Command::new(recording_example("ondeck", "server")));
    for _ in 0..2 {
        let profile = profile_of(&["--pid", &server.pid(), "--for", "700ms"]);
        assert_named(&profile, "rebuild");
    }
    server.end();
}

/// Its own statistics make room for the recording, count on in it, and go on after it.
#[test]
fn a_program_that_counts_for_itself_is_recorded_and_counts_on() {
    let program =
        built("../../crates/ondeck", &["--features", "stats", "--example", "metrics"]).join("examples/metrics");
    let mut server = Command::new(program).arg("0").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").and_then(|url| url.strip_suffix("/metrics")).unwrap();
    let n_waits = || {
        let mut connection = TcpStream::connect(address).unwrap();
        connection.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let answer = std::io::read_to_string(connection).unwrap();
        let line = answer.lines().find_map(|line| line.strip_prefix("ondeck_lock_waits_total{lock=\"sessions\"} "));
        line.map_or(0, |n| n.parse::<u64>().unwrap())
    };
    for _ in 0..2 {
        let before = n_waits();
        let profile = profile_of(&["--pid", &server.id().to_string(), "--for", "700ms"]);
        assert_eq!(profile.locks.first().map(|lock| lock.name.as_str()), Some("sessions"), "{:?}", profile.notes);
        let meanwhile = n_waits();
        // A few at each of some hundred holds.
        assert!(meanwhile > before + 50, "{before} {meanwhile}");
        until("it counts on", || n_waits() > meanwhile);
    }
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn there_is_one_observer_at_a_time_and_one_that_is_killed_leaves_nothing() {
    let server = Server::with("glibc", &[]);
    let mapped = || std::fs::read_to_string(format!("/proc/{}/maps", server.pid())).unwrap();
    let mut first = command(&["profile", "--pid", &server.pid()]).stderr(Stdio::null()).spawn().unwrap();
    until("it records", || mapped().contains(".ondeck"));
    failed(&ondeck(&["profile", "--pid", &server.pid(), "--for", "100ms"]), 1, &["another ondeck", &server.pid()]);
    first.kill().unwrap();
    first.wait().unwrap();
    until("the file is gone", || mapped().lines().all(|line| !line.contains(".ondeck") || line.contains("(deleted)")));
    let directories: Vec<String> = Scratch::names_in("/dev/shm");
    let own = format!("{}-0.ondeck", server.pid());
    let has_file = |name: &String| std::path::Path::new("/dev/shm").join(name).join(&own).exists();
    assert!(!directories.iter().any(has_file), "{directories:?}");
    // Another one finds it as the first did.
    let (profile, _) = profiled(&["--pid", &server.pid(), "--for", "700ms"]);
    assert_named(&profile, "rebuild");
    server.end();
}

/// In whichever order they look and write.
#[test]
fn of_two_observers_that_come_at_once_one_records() {
    let server = Server::with("glibc", &[]);
    for _ in 0..3 {
        let observe =
            || command(&["profile", "--pid", &server.pid(), "--for", "1s"]).stderr(Stdio::null()).spawn().unwrap();
        let both = [observe(), observe()];
        let mut codes = both.map(|mut observer| observer.wait().unwrap().code());
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(1)]);
    }
    server.end();
}

#[test]
fn what_cannot_be_recorded_is_said_with_what_to_do() {
    let note = |server: &Server| {
        let run = ondeck(&["profile", "--pid", &server.pid(), "--for", "100ms", "--rate", "10", "--exact"]);
        // Who may not trace gets no list.
        if run.code == Some(0) { run.stderr.split_whitespace().collect::<Vec<_>>().join(" ") } else { String::new() }
    };
    for (server, words) in [
        (Server::with("glibc", &["sleeps"]), "no thread of it has used a lock for 3 s"),
        (
            Server::with("std-port", &[]),
            "it runs with a lock that cannot be recorded; accepted: ondeck run with --lock",
        ),
        (Server::start(&mut Command::new(compiled("server.c", &[]))), "ondeck run --lock glibc -- PROGRAM"),
    ] {
        let said = note(&server);
        if said.is_empty() {
            skipped("the right to trace system calls");
        } else {
            for words in [words, "--rate and --exact had no effect"] {
                assert!(said.contains(words), "no {words:?} in: {said}");
            }
        }
        server.end();
    }
}

/// Then the kernel shows what the process has under the numbers of the other threads only.
#[test]
fn a_program_whose_first_thread_has_ended_is_recorded() {
    let server = Server::with("glibc", &["leaves"]);
    until("the thread has ended", || {
        std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap().contains("State:\tZ")
    });
    let profile = profile_of(&["--pid", &server.pid(), "--for", "700ms"]);
    assert_waited(&profile);
    assert_eq!(profile.notes.len(), 0, "{:?}", profile.notes);
    assert!(profile.command.iter().any(|word| word.ends_with("leaves")), "{:?}", profile.command);
    server.end();
}

#[test]
fn a_program_that_becomes_another_one_is_listed_as_far_as_it_went() {
    let mut server = Server::with("glibc", &["becomes"]);
    let json = Scratch::new();
    let json = json.path("profile.json");
    let flags = ["profile", "-o", &json, "--pid", &server.pid(), "--for", "60s"];
    let mut observer = command(&flags).stderr(Stdio::null()).spawn().unwrap();
    let maps = || std::fs::read_to_string(format!("/proc/{}/maps", server.pid())).unwrap();
    until("it records", || maps().contains(".ondeck"));
    std::thread::sleep(std::time::Duration::from_millis(700));
    server.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    // Nothing more is recorded, so it does not take until the end of that time.
    assert_eq!(observer.wait().unwrap().code(), Some(0));
    let profile = ondeck_profile::json::from_json(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_waited(&profile);
    let note = format!("process {} became another program", server.pid());
    assert!(profile.notes.iter().any(|text| text.starts_with(&note)), "{:?}", profile.notes);
    assert!(profile.notes.iter().all(|text| !text.contains("cut short")), "{:?}", profile.notes);
    let mut line = String::new();
    BufReader::new(server.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    server.end();
}

/// The parent of workers uses no lock itself.
#[test]
fn the_workers_of_a_server_are_named_with_a_command_that_records_them() {
    let server = Server::with("glibc", &["workers"]);
    let run = ondeck(&["profile", "--pid", &server.pid(), "--for", "100ms"]);
    let note = run.stderr.lines().find_map(|line| line.split_once("--pid ")).map(|(_, numbers)| numbers.to_owned());
    let numbers = note.unwrap_or_else(|| panic!("{}", run.stderr));
    let workers: Vec<&str> = numbers.split(',').skip(1).collect();
    assert!(numbers.starts_with(&server.pid()) && workers.len() == 2, "{numbers}");
    let profile = profile_of(&["--pid", &numbers, "--for", "700ms"]);
    let recorded = |worker: &&str| profile.processes.iter().any(|process| process.pid.to_string() == **worker);
    assert!(workers.iter().all(recorded), "{:?}", profile.notes);
    assert_waited(&profile);
    server.end();
}

/// Whoever may not look into a process hears that, and not what else would be missing to watch it.
#[test]
fn another_users_process_is_refused_for_want_of_rights() {
    // SAFETY: always may be called.
    if unsafe { libc::geteuid() } != 0 {
        return skipped("root");
    }
    let server = Server::with("glibc", &[]);
    let scratch = Scratch::new();
    let program = scratch.path("ondeck");
    std::fs::copy(env!("CARGO_BIN_EXE_ondeck"), &program).unwrap();
    for word in ["profile", "top"] {
        let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups", &program, word, "--pid", &server.pid()];
        let run = finished(Command::new("setpriv").args(nobody));
        failed(&run, 1, &[&server.pid(), "belongs to another user", "CAP_SYS_PTRACE", "sudo", word]);
        assert!(!run.stderr.contains("tracepoints"), "{}", run.stderr);
    }
    server.end();
}

#[test]
fn the_processes_of_a_control_group_are_recorded() {
    let group = std::path::Path::new("/sys/fs/cgroup/pids/ondeck-test-of-groups");
    let unified = std::path::Path::new("/sys/fs/cgroup/ondeck-test-of-groups");
    let group = if group.parent().unwrap().exists() { group } else { unified };
    let servers = [Server::with("glibc", &[]), Server::with("ondeck", &[])];
    let enter = |server: &Server| std::fs::write(group.join("cgroup.procs"), server.pid()).is_ok();
    if std::fs::create_dir(group).is_err() || !servers.iter().all(enter) {
        skipped("the right to make control groups");
        let _ = std::fs::remove_dir(group);
        return servers.into_iter().for_each(Server::end);
    }
    let (profile, run) = profiled(&["--cgroup", "ondeck-test-of-groups", "--for", "700ms"]);
    assert_eq!((run.code, profile.processes.len()), (Some(0), 2), "{}", run.stderr);
    let n_tables = profile.locks.iter().filter(|lock| lock.name.starts_with("table")).count();
    assert_eq!(n_tables, 2, "{:?}", profile.locks);
    servers.into_iter().for_each(Server::end);
    until("the group is empty", || std::fs::remove_dir(group).is_ok());
    failed(&ondeck(&["profile", "--cgroup", "ondeck-test-of-groups"]), 2, &["no process", "accepted"]);
}

#[test]
fn top_shows_a_program_that_runs_with_its_holders() {
    let server = Server::with("glibc", &[]);
    let mut top = command(&["top", "--pid", &server.pid()]);
    let mut top = top.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It stays open: who cannot print ends.
    let mut lines = BufReader::new(top.stdout.take().unwrap()).lines().map(Result::unwrap);
    // Who holds it, and why it takes long.
    let mut seen = String::new();
    while ["`rebuild`", "`table`", "blocked"].iter().any(|word| !seen.contains(word)) {
        seen += &lines.next().unwrap();
    }
    crate::support::signal(&top, libc::SIGTERM);
    let output = top.wait_with_output().unwrap();
    let list = String::from_utf8(output.stderr).unwrap();
    assert!(list.contains("`rebuild` (server.c:") && list.contains("holds `table`"), "{list}");
    server.end();
}

/// It is told to end while it uses no lock, and does at the next one.
#[test]
fn a_program_that_locks_seldom_goes_on_after_its_recording() {
    with_both_locks(|lock| {
        let server = Server::with(lock, &["seldom"]);
        for _ in 0..2 {
            let (profile, run) = profiled(&["--pid", &server.pid(), "--for", "100ms", "--rate", "1"]);
            assert_eq!((run.code, profile.locks.len()), (Some(0), 1), "{}", run.stderr);
        }
        let maps = || std::fs::read_to_string(format!("/proc/{}/maps", server.pid())).unwrap();
        assert!(maps().lines().filter(|line| line.contains(".ondeck")).all(|line| line.ends_with("(deleted)")));
        std::thread::sleep(std::time::Duration::from_millis(2500));
        server.end();
    });
}

/// Its state is its parent's until it locks, and the order comes before that.
#[test]
fn a_child_that_has_not_locked_yet_obeys_when_it_does() {
    with_both_locks(|lock| {
        let server = Server::with(lock, &["child"]);
        let children = format!("/proc/{0}/task/{0}/children", server.pid());
        let child = std::fs::read_to_string(children).unwrap().trim().to_owned();
        let mut observer = command(&["profile", "--pid", &child, "--for", "100ms"]);
        let mut observer = observer.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(500));
        server.end();
        observer.wait().unwrap();
    });
}
