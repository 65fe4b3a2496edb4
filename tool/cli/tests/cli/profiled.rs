//! `ondeck profile`: the program is its own, what was asked for is written, and what cannot be is said in one line.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::support::programs::{compiled, library, profile_in, recording_of, try_compiled};
use crate::support::{self, Run, Scratch, command, done, ignoring, ondeck, signal, takes, until};
use std::path::Path;
use std::process::{Command, Stdio};

/// `ondeck profile` with the library, and what it is to run.
fn profile(arguments: &[&str]) -> Run {
    ondeck(&[&["profile", "--library", library()], arguments].concat())
}

/// More processes at once than files may be open: most recordings are read only when others have ended.
#[test]
fn there_may_be_more_processes_at_once_than_open_files() {
    let scratch = Scratch::new();
    let (program, out) = (compiled("waiters.c", &[]), scratch.path("profile.json"));
    let line = format!(
        "ulimit -n 32; exec {} profile --library {} --rate 1 -o {out} -- \
         sh -c 'for i in $(seq 80); do {program} 12 & done; wait'",
        env!("CARGO_BIN_EXE_ondeck"),
        library(),
    );
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let profile = profile_in(&out);
    let n = profile.processes.iter().filter(|process| process.program == program).count();
    assert_eq!((n, profile.dropped.processes), (80, 0), "{:?}", profile.notes);
}

/// More processes, one after the other, than files may be open. Of each what it recorded is there, and none leaves a file.
#[test]
fn there_may_be_more_processes_than_open_files() {
    let scratch = Scratch::new();
    let program = compiled("waiters.c", &[]);
    let out = scratch.path("profile.json");
    let line = format!(
        "ulimit -n 48; exec {} profile --library {} --rate 1 -o {out} -- \
         sh -c 'for i in $(seq 100); do {program} 12; done; ls $ONDECK_RECORD | wc -l'",
        env!("CARGO_BIN_EXE_ondeck"),
        library(),
    );
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let profile = profile_in(&out);
    let of_program = |process: &&ondeck_profile::Process| process.program == program;
    assert_eq!(profile.processes.iter().filter(of_program).count(), 100, "{text}");
    assert_eq!((profile.dropped.processes, profile.locks.len()), (0, 100), "{:?}", profile.notes);
    for lock in &profile.locks {
        assert!(lock.name.starts_with("held") && !lock.takers.is_empty() && lock.origin.is_some(), "{lock:?}");
    }
    let left: u32 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    assert!((1..20).contains(&left), "{left} files while it ran");
}

#[test]
fn status_output_and_input_are_the_programs_own() {
    let run = profile(&["--", "sh", "-c", "echo own; exit 42"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(42), "own\n"), "{}", run.stderr);
    assert_eq!(profile(&["--", "sh", "-c", "kill -TERM $$"]).code, Some(128 + 15));
    let run = profile(&["--format", "json", "true"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.starts_with("{\"version\":1") && run.stdout.contains("no call of the C library"),
        "{}",
        run.stdout
    );
}

#[test]
fn all_that_was_asked_for_is_written() {
    let scratch = Scratch::new();
    let program = compiled("waiters.c", &[]);
    let names = ["a.pb.gz", "a.html", "a.svg", "a.json"];
    let files = names.map(|name| scratch.path(name));
    let [pprof, page, picture, json] = &files;
    let others = ["page", "picture", "json"].map(|name| scratch.path(name));
    let flags = ["-o", pprof, "--output", page, "-o", picture, "-o", json];
    // The other spellings ask for the same.
    let more = [
        "--report",
        &others[0],
        "--flamegraph",
        &others[1],
        "--format",
        "json",
        "--out",
        &others[2],
        "--no-prediction",
    ];
    let run = profile(&[&flags[..], &more, &["--", &program]].concat());
    for (file, other) in files[1..].iter().zip(&others) {
        assert!(std::fs::read(file).unwrap() == std::fs::read(other).unwrap(), "{file}");
    }
    assert_eq!((run.code, run.stdout.as_str()), (Some(7), ""), "{}", run.stderr);
    // Figures in a file are not the list.
    let figures: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    let first = |text: &str| text.split_whitespace().take(4).collect::<Vec<&str>>().join(" ");
    assert!(run.stderr.starts_with("waiters: "), "{}", run.stderr);
    assert_eq!(first(&run.stderr), first(figures["verdict"].as_str().unwrap()));
    assert_eq!(figures["is_stopped"], serde_json::Value::Null, "it ended by itself");
    for (file, words) in files.iter().zip([&[][..], &["held", "hold"], &["<svg", "held"], &["held"]]) {
        let content = std::fs::read(file).unwrap();
        assert!(content.len() > 20, "{file}");
        let text = String::from_utf8_lossy(&content);
        assert!(words.iter().all(|word| text.contains(word)), "{file}");
    }
    let compared = done(&["compare", json, json]);
    assert!(compared.stdout.contains("held"), "{}", compared.stdout);
}

#[test]
fn snapshots_are_written_in_time_and_on_demand() {
    let scratch = Scratch::new();
    let (program, json) = (compiled("waiters.c", &[]), scratch.path("a.json"));
    let flags = ["profile", "--library", library(), "-o", &json];
    for more in [&["--every", "100ms"][..], &[]] {
        let mut child = command(&[&flags, more, &["--", &program, "120000"]].concat()).spawn().unwrap();
        until("its handlers", || takes(&child, &[libc::SIGUSR2, libc::SIGTERM]));
        // The first may be of a program that has not waited yet.
        let (mut number, mut snapshot) = (0, String::new());
        until("a snapshot with a wait", || {
            number += 1;
            if more.is_empty() {
                signal(&child, libc::SIGUSR2);
            }
            let file = scratch.path(&format!("a.{number:04}.json"));
            until("the next snapshot", || Path::new(&file).is_file());
            snapshot = std::fs::read_to_string(&file).unwrap();
            snapshot.contains("\"held\"")
        });
        assert!(snapshot.contains("\"ended\":\"running\"") && snapshot.contains("a snapshot"), "{snapshot}");
        // What is sent to us is meant for the program.
        signal(&child, libc::SIGTERM);
        assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
        let whole = std::fs::read_to_string(&json).unwrap();
        assert!(whole.contains("\"is_stopped\":true"), "{whole}");
        assert!(whole.contains("\"ended\":\"abruptly\"") && whole.contains("\"held\""), "{whole}");
        for number in 1..10_000 {
            let _ = std::fs::remove_file(scratch.path(&format!("a.{number:04}.json")));
        }
    }
}

#[track_caller]
fn refused(arguments: &[&str], code: i32, words: &[&str]) {
    support::refused(&profile(arguments), code, words);
}

#[test]
fn what_cannot_be_is_refused_before_the_program_starts() {
    let scratch = Scratch::new();
    if let Some(fixed) = try_compiled("waiters.c", &["-static"]) {
        refused(&["--", &fixed], 126, &["static"]);
    }
    refused(&["--", "no-such-program"], 127, &["no-such-program"]);
    let one = scratch.path("one.html");
    for (flags, words) in [
        (&["--lock", "std-port", "true"][..], &["--lock std-port", "glibc, ondeck"][..]),
        (&["-o", &one, "--report", &one, "true"], &["one.html", "two outputs"]),
    ] {
        refused(flags, 2, words);
    }
}

#[test]
fn the_library_has_probes() {
    let notes = Command::new("readelf").args(["-n", library()]).stdout(Stdio::piped()).output().unwrap();
    let notes = String::from_utf8_lossy(&notes.stdout).into_owned();
    for name in ["contended", "acquired", "release", "wake"] {
        assert!(notes.contains(&format!("Name: {name}")), "{notes}");
    }
}

/// As a daemon starts us that ignores the ends of its children.
#[test]
fn the_end_of_the_program_is_heard_though_it_is_ignored_by_who_started_us() {
    let mut profile = command(&["profile", "--library", library(), "--", "sh", "-c", "exit 3"]);
    let profile = ignoring(&mut profile, libc::SIGCHLD);
    assert_eq!(profile.output().unwrap().status.code(), Some(3));
}

#[test]
fn a_process_lives_on_without_its_first_thread() {
    let profile = recording_of(&["--rate", "1"], &[&compiled("waiters.c", &[]), "600", "ends"]);
    let waited: f64 = profile.locks.iter().filter(|lock| lock.name == "held").map(|lock| lock.wait_ns).sum();
    // For 0.6 s at least, one holds it and the others wait or wait for a core. Of a recording that
    // ends with the first thread there would be next to nothing.
    assert!(waited > 0.1e9, "{waited} ns");
}

/// Containers often have no `sudo`, and root needs none.
#[test]
fn root_is_told_nothing_of_sudo() {
    let scratch = Scratch::new();
    let (list, page) = (scratch.path("list.txt"), scratch.path("page.html"));
    let run = profile(&["-o", &list, "-o", &page, "--", "true"]);
    assert_eq!(run.stderr, "", "the list is in its file");
    let printed = profile(&["--", "true"]);
    assert_eq!((run.code, printed.code), (Some(0), Some(0)), "{}", run.stderr);
    // SAFETY: always may be called.
    let is_root = unsafe { libc::geteuid() } == 0;
    let texts = [list, page].map(|file| std::fs::read_to_string(file).unwrap());
    for text in [&texts[0], &texts[1], &printed.stderr] {
        assert!(text.contains("ondeck profile --futex -- true"), "{text}");
        assert_eq!(text.contains("sudo"), !is_root, "{text}");
    }
}

#[test]
fn calls_of_which_none_was_recorded_are_told_of() {
    let program = compiled("few.c", &[]);
    let list = |rate: &str, n: &str, kind: &str, lock: &str| {
        let run = profile(&["--lock", lock, "--rate", rate, "--", &program, n, kind]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.stderr
    };
    for (n, kind, lock) in [
        ("1", "mutex", "glibc"),
        ("400", "mutex", "glibc"),
        ("400", "mutex", "ondeck"),
        ("400", "robust", "glibc"),
        ("400", "wrlock", "glibc"),
        ("400", "spin", "glibc"),
    ] {
        let text = list("1000000000", n, kind, lock);
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("few: Lock calls were made in ") && first.contains("1000000000"), "{kind}: {text}");
        let next = format!("--rate 1 -- {program} {n} {kind}");
        assert!(text.contains(&next) && !text.contains("seen"), "{kind}: {text}");
    }
    // One in 1000 of 400 may be among them or not.
    assert!(!list("1000", "400", "mutex", "glibc").contains("No lock calls"));
    assert!(list("1", "400", "mutex", "glibc").contains("no thread waited in 400 acquisitions of 1 lock"));
    assert!(list("1", "0", "mutex", "glibc").starts_with("few: No lock calls were seen in "));
}
