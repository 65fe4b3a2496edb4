//! What an interrupted run leaves.

use crate::support::{Run, Scratch, command, done, interrupted, signal, takes, until, words};
use crate::usage::refused;
use ondeck_report::output::read;
use std::path::Path;
use std::process::Stdio;

/// A run that would take minutes.
const BENCH: &str = "bench --lock std --workload solo --seconds 0.02 --rounds 5000";
const SIM: &str =
    "sim --machine m1 --lock mcs,ondeck --workload mutex-contention --threads 2 --seconds 0.001 --rounds 5000";

/// A second of work.
const SECOND: u64 = 100;

#[test]
fn an_interrupted_run_leaves_the_old_file_and_its_rows_beside() {
    let signals = [(libc::SIGINT, 130), (libc::SIGTERM, 143)];
    for (run, (signal, code)) in [words(BENCH), words(SIM)].into_iter().zip(signals) {
        let scratch = Scratch::new();
        let (file, page) = (scratch.write("kept.csv", "an old file\n"), scratch.write("page.html", "an old page"));
        let arguments = [&run[..], &["--out", &file, "--report", &page]].concat();
        let Run { code: ended, stdout: table, stderr: said } = interrupted(&arguments, signal, SECOND);
        assert_eq!(ended, Some(code), "{said}");
        assert!(table.contains(" threads ") && !table.contains("\nNext, "), "{table}");
        assert!(said.contains("kept.csv.partial; ") && said.contains("kept.csv is unchanged"), "{said}");
        let names = ["kept.csv", "kept.csv.partial", "kept.csv.partial.fingerprint.json", "page.html"];
        assert_eq!(scratch.names(), names);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "an old file\n");
        assert_eq!(std::fs::read_to_string(&page).unwrap(), "an old page");
        let (before, doubts) = read(Path::new(&format!("{file}.partial"))).unwrap();
        assert!(!before.rows.is_empty() && before.fingerprint.is_some() && doubts.is_empty());
        // Its rows are not lost by a run that begins anew.
        refused(&arguments, &["kept.csv.partial", "would be lost", "remove"]);
        assert_eq!(scratch.names(), names);
    }
}

#[test]
fn without_a_file_what_is_finished_is_printed() {
    let Run { code, stdout: table, stderr: said } = interrupted(&words(BENCH), libc::SIGTERM, SECOND);
    assert_eq!(code, Some(143), "{said}");
    assert!(table.contains("solo") && table.contains("--out FILE.csv"), "{table}");
}

#[test]
fn a_killed_run_leaves_the_rows_that_it_had() {
    let scratch = Scratch::new();
    for (run, file) in [(BENCH, "bench.csv"), (SIM, "sim.json")] {
        let file = scratch.path(file);
        let partial = format!("{file}.partial");
        let mut child = command(&[&words(run)[..], &["--out", &file]].concat());
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let lines = || std::fs::read_to_string(&partial).map_or(0, |text| text.lines().count());
        until("three rows", || lines() > 3);
        child.kill().unwrap();
        child.wait().unwrap();
        let (left, doubts) = read(Path::new(&partial)).unwrap();
        assert!(left.rows.len() >= 3 && left.fingerprint.is_none() && doubts.is_empty(), "{doubts:?}");
    }
    assert_eq!(scratch.names(), ["bench.csv.partial", "sim.json.partial"]);
}

#[test]
fn a_second_signal_ends_at_once() {
    let scratch = Scratch::new();
    let pipe = scratch.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // It waits for a reader of the pipe, whom there never is.
    let arguments = ["bench", "--lock", "std", "--workload", "solo", "--seconds", "0.01", "--rounds", "1"];
    let mut child = command(&[&arguments[..], &["--out", &pipe]].concat());
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("its handlers", || takes(&child, &[libc::SIGINT, libc::SIGTERM]));
    signal(&child, libc::SIGTERM);
    // What comes soon after the first one counts as one with it, and how soon that is noticed depends on the machine.
    let mut ended = None;
    until("the end of a run that was told twice", || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        ended = child.try_wait().unwrap();
        if ended.is_none() {
            signal(&child, libc::SIGINT);
        }
        ended.is_some()
    });
    // If neither was noticed before both had come, either may count as the second.
    assert!([Some(130), Some(143)].contains(&ended.unwrap().code()), "{ended:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_pipe_gets_the_rows_as_they_are() {
    let run = done(&words("bench --lock std --workload solo --seconds 0.01 --rounds 1 --out /dev/stderr"));
    assert!(run.stderr.contains("platform,machine,workload,lock"), "{}", run.stderr);
    assert!(run.stdout.contains("--rounds 10 --out FILE.csv"), "nothing can be read from there again: {}", run.stdout);
}
