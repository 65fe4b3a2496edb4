//! `ondeck run --stats`: what is in the file is true and can be read, at any time, and the program runs as without it.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

mod exposition;

use crate::support::programs::{compiled, library};
use crate::support::{Run, Scratch, command, failed, signal, takes, until};
use crate::usage::refused;
use exposition::Exposition;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// `ondeck run --stats` with the library.
fn run(file: &str, flags: &[&str], words: &[&str]) -> Command {
    command(&[&["run", "--library", library(), "--stats", file], flags, &["--"], words].concat())
}

/// Runs it to its end. What it says of programs without locks is left out.
fn finished(command: &mut Command) -> Run {
    let mut run = crate::support::run(command);
    let is_told = |line: &&str| !line.starts_with("note: --stats: no call of the C library's locks was seen.");
    run.stderr = run.stderr.lines().filter(is_told).map(|line| format!("{line}\n")).collect();
    run
}

/// What is in the file.
#[track_caller]
fn read(file: &str) -> Exposition {
    Exposition::read(&std::fs::read_to_string(file).unwrap())
}

/// Starts it and reads the file until it ends. The last text, and how many texts differed from the one before.
#[track_caller]
fn watched(file: &str, command: &mut Command, code: i32) -> (Exposition, usize) {
    let mut child = command.spawn().unwrap();
    let (mut last, mut n) = (Exposition::default(), 0);
    let mut look = || {
        if !Path::new(file).exists() {
            return;
        }
        let now = read(file);
        assert_eq!(now.lost_since(&last), [""; 0]);
        n += usize::from(now.samples != last.samples);
        last = now;
    };
    let status = loop {
        look();
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    look();
    assert_eq!(status.code(), Some(code));
    (last, n)
}

#[test]
fn long_waits_are_told_of() {
    let scratch = Scratch::new();
    let [file, said] = ["locks.prom", "said"].map(|name| scratch.path(name));
    let program = compiled("server.c", &[]);
    for lock in ["glibc", "ondeck"] {
        let flags = ["--warn-after", "150ms", "--lock", lock];
        let mut server = run(&file, &flags, &[&program, "long"]);
        let mut server = server.stdin(Stdio::piped()).stderr(File::create(&said).unwrap()).spawn().unwrap();
        let told = || std::fs::read_to_string(&said).unwrap();
        until("a wait is told of", || told().contains("    look_up ("));
        drop(server.stdin.take());
        server.wait().unwrap();
        assert!(told().contains(" for `table` since ") && told().contains("    rebuild ("), "{lock}: {}", told());
    }
}

#[test]
fn waits_are_counted_in_all_processes_while_they_run() {
    const ROUNDS: u32 = 10;
    const PROCESSES: u32 = 3;
    let program = compiled("counted.c", &[]);
    let [rounds, processes] = [ROUNDS, PROCESSES].map(|n| n.to_string());
    for flags in [&[][..], &["--lock", "glibc"]] {
        let scratch = Scratch::new();
        let file = scratch.path("locks.prom");
        let mut command = run(&file, &[&["--every", "100ms"], flags].concat(), &[&program, &rounds, &processes]);
        let (last, n_texts) = watched(&file, &mut command, 7);
        // The first, one while it ran, and the last.
        assert!(n_texts > 2, "{n_texts}");
        assert_eq!((last.locks(), scratch.names()), (vec!["cache"], vec!["locks.prom".to_owned()]));
        let cache = ("lock", "cache");
        let value = |name: &str| last.value(&format!("ondeck_lock_{name}"), &[cache]);
        let until = |limit| last.value("ondeck_lock_wait_seconds_bucket", &[cache, ("le", limit)]);
        let waits = f64::from(PROCESSES * (ROUNDS + 1));
        assert_eq!((value("waits_total"), value("gave_up_total")), (waits, f64::from(PROCESSES)));
        // Only who gives up waits for less than 50 ms, and that is 10 ms.
        assert_eq!((until("0.003"), until("+Inf")), (0.0, waits));
        assert!(until("0.03") <= f64::from(PROCESSES), "{last:?}");
        let least_s = 0.03 * f64::from(PROCESSES * ROUNDS);
        assert!((least_s..100.0 * least_s).contains(&value("wait_seconds_sum")), "{last:?}");
        assert!((0.03..value("wait_seconds_sum")).contains(&value("longest_wait_seconds")), "{last:?}");
        assert!(value("longest_hold_seconds") >= 0.03, "{last:?}");
        let now = ["waiting_threads", "oldest_wait_seconds"].map(value);
        assert_eq!((now, last.value("ondeck_lock_missed_total", &[])), ([0.0; 2], 0.0));
    }
}

/// Its counts would be gone from where they were.
#[test]
fn a_lock_that_is_named_later_keeps_its_label() {
    let scratch = Scratch::new();
    let file = scratch.path("locks.prom");
    let mut command = run(&file, &["--every", "100ms", "--lock", "glibc"], &[&compiled("late.c", &[])]);
    let (last, _) = watched(&file, &mut command, 0);
    assert_eq!((last.locks(), last.value("ondeck_lock_waits_total", &[("lock", "lock")])), (vec!["lock"], 10.0));
}

#[test]
fn a_thread_that_waits_for_ever_is_told() {
    let scratch = Scratch::new();
    let file = scratch.path("locks.prom");
    let program = compiled("circle.c", &[]);
    let mut child = run(&file, &["--every", "100ms"], &[&program]).stderr(Stdio::null()).spawn().unwrap();
    let waits = |read: &Exposition| {
        let oldest = |lock: &&str| read.value("ondeck_lock_oldest_wait_seconds", &[("lock", lock)]) > 0.5;
        read.locks().iter().filter(|lock| oldest(lock)).count()
    };
    until("both", || Path::new(&file).exists() && waits(&read(&file)) == 2);
    let stuck = read(&file);
    for lock in stuck.locks() {
        assert_eq!(stuck.value("ondeck_lock_waiting_threads", &[("lock", lock)]), 1.0);
        // That wait is not over.
        assert_eq!(stuck.value("ondeck_lock_waits_total", &[("lock", lock)]), 0.0);
    }
    signal(&child, libc::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(128 + libc::SIGTERM));
}

#[test]
fn the_file_is_there_before_the_program_and_says_what_there_will_be() {
    let scratch = Scratch::new();
    let file = scratch.path("locks.prom");
    let run = finished(&mut run(&file, &[], &["sh", "-c", &format!("cat {file}; echo $ONDECK_RECORD >&2; exit 42")]));
    let first = Exposition::read(&run.stdout);
    let told = first.samples.values().filter(|value| **value != 0.0).count();
    assert_eq!((run.code, first.locks().len(), told), (Some(42), 0, 0), "{}", run.stderr);
    assert_eq!(first.kinds["ondeck_lock_wait_seconds"], "histogram");
    assert_eq!(first.value("ondeck_lock_missed_total", &[]), 0.0);
    assert_eq!(read(&file).kinds, first.kinds);
    let recordings = run.stderr.trim();
    assert!(recordings.contains("ondeck-") && !Path::new(recordings).exists(), "{recordings}");
}

#[test]
fn signals_are_the_programs_own() {
    let scratch = Scratch::new();
    let file = scratch.path("locks.prom");
    let group = finished(run(&file, &["--lock", "glibc"], &[&compiled("group.c", &[])]).process_group(0));
    assert_eq!((group.code, group.stdout.as_str(), group.stderr.as_str()), (Some(7), "", ""));
    // Also the one that asks others for a snapshot, and one that ends nobody and has a meaning for some servers.
    let ready = scratch.path("ready");
    let script = format!("trap 'exit 9' WINCH; touch {ready}; while :; do sleep 0.02; done");
    for (sent, code) in [(libc::SIGUSR2, 128 + libc::SIGUSR2), (libc::SIGWINCH, 9)] {
        let _ = std::fs::remove_file(&ready);
        let mut child = run(&file, &[], &["sh", "-c", &script]).process_group(0).spawn().unwrap();
        until("the program", || takes(&child, &[sent]) && Path::new(&ready).exists());
        signal(&child, sent);
        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
}

#[test]
fn a_file_that_can_no_longer_be_written_is_one_warning() {
    let scratch = Scratch::new();
    let directory = scratch.path("metrics");
    std::fs::create_dir(&directory).unwrap();
    let file = format!("{directory}/locks.prom");
    let script = format!("rm -r {directory}; sleep 0.6; exit 3");
    let gone = finished(&mut run(&file, &["--every", "100ms"], &["sh", "-c", &script]));
    failed(&gone, 3, &["warning: --stats: cannot write ", "metrics/locks.prom", "The program goes on"]);
    // It is written again once that is possible.
    std::fs::create_dir(&directory).unwrap();
    let script = format!("rm -r {directory}; sleep 0.4; mkdir {directory}; sleep 0.4");
    let back = finished(&mut run(&file, &["--every", "100ms"], &["sh", "-c", &script]));
    failed(&back, 0, &["warning: "]);
    assert_eq!(read(&file).value("ondeck_lock_missed_total", &[]), 0.0);
}

/// node_exporter puts the files of a directory together, and refuses lines that come twice.
#[test]
fn the_lines_of_two_programs_are_told_apart() {
    let scratch = Scratch::new();
    let program = compiled("counted.c", &[]);
    let files = ["one.prom", "other.prom"].map(|name| scratch.path(name));
    let read = files.each_ref().map(|file| {
        assert_eq!(finished(&mut run(file, &[], &[&program, "1", "1"])).code, Some(7));
        read(file)
    });
    let [one, other] = &read;
    assert_eq!((one.locks(), other.locks()), (vec!["cache"], vec!["cache"]));
    assert!(one.samples.keys().all(|line| !other.samples.contains_key(line)), "{one:?} {other:?}");
    let program_name = Path::new(&program).file_name().unwrap().to_str().unwrap();
    assert_eq!(
        [one.all("program"), one.all("file"), other.all("file")].map(Vec::from_iter),
        [[program_name], ["one"], ["other"]]
    );
    let flags = ["--label", "shop=a \"b\\", "--label", "program=other", "--label", "file="];
    finished(&mut run(&files[0], &flags, &[&program, "1", "1"]));
    let given = Exposition::read(&std::fs::read_to_string(&files[0]).unwrap());
    assert_eq!([given.all("program"), given.all("shop")].map(Vec::from_iter), [["other"], ["a \"b\\"]]);
    assert!(given.samples.keys().flat_map(|(_, labels)| labels).all(|(name, _)| name != "file"));
}

/// It has no environment, so no library of ours.
#[test]
fn a_process_that_is_not_recorded_is_counted_and_said_once() {
    let scratch = Scratch::new();
    let file = scratch.path("locks.prom");
    let script = "env -i sleep 4 & env -i sleep 4 & wait";
    let run = finished(&mut run(&file, &["--every", "100ms"], &["sh", "-c", script]));
    let note = "note: --stats: processes without a recording: sleep: they have not loaded ondeck's library.";
    assert_eq!((run.code, run.stderr.matches(note).count()), (Some(0), 1), "{}", run.stderr);
    let count = |reason| read(&file).value("ondeck_not_recorded_total", &[("what", "process"), ("reason", reason)]);
    assert_eq!(["no_library", "no_directory", "other_user"].map(count), [2.0, 0.0, 0.0]);
}

#[test]
fn processes_that_outlive_the_first_one_are_told() {
    let scratch = Scratch::new();
    let file = scratch.path("locks.prom");
    let script = format!("{} 200 1 >/dev/null 2>&1 & sleep 1; exit 3", compiled("counted.c", &[]));
    let run = finished(&mut run(&file, &[], &["sh", "-c", &script]));
    failed(
        &run,
        3,
        &["note: --stats: the program's first process has ended, and what others of it do ", ": counted\n"],
    );
}

/// Workers that give up their rights cannot, either. Children of a fork have their parent's recording, or what is left of it.
#[test]
fn a_worker_that_cannot_begin_a_recording_is_counted_and_one_without_locks_is_not() {
    let scratch = Scratch::new();
    let file = scratch.path("locks.prom");
    let program = compiled("workers.c", &[]);
    for words in [&[program.as_str()][..], &[&program, "between"]] {
        let run = finished(&mut run(&file, &["--every", "100ms"], words));
        let said =
            "note: --stats: processes without a recording: workers: they cannot write to the directory of recordings.";
        assert_eq!((run.code, run.stderr.matches(said).count()), (Some(0), 1), "{words:?}: {}", run.stderr);
        let count = |reason| read(&file).value("ondeck_not_recorded_total", &[("what", "process"), ("reason", reason)]);
        assert_eq!(["no_library", "no_directory", "other_user"].map(count), [0.0, 1.0, 0.0], "{words:?}");
    }
}

#[test]
fn what_cannot_be_is_refused_before_the_program_starts() {
    let scratch = Scratch::new();
    let file = scratch.path("locks.prom");
    let stats = |file: &str, lock: &str, words: &[&str]| {
        let flags = ["run", "--library", library(), "--stats", file, "--lock", lock, "--", "echo", "started"];
        refused(&flags, words);
    };
    stats(&scratch.path(""), "glibc", &["--stats: cannot write ", "it is a directory"]);
    stats(&file, "std-port", &["--lock std-port cannot be recorded", "accepted: glibc, ondeck"]);
    let none = finished(&mut run(&file, &[], &["no-such-program-at-all"]));
    failed(&none, 127, &["no-such-program-at-all", "PATH"]);
    assert!(!Path::new(&file).exists());
}
