//! Short real runs, of the locks that every machine has: what is printed, what is written, what is kept.

use crate::support::{Scratch, command, done, interrupted, ondeck, until, words};
use std::io::Read;
use std::process::Stdio;

const HEADER: &str = "platform,machine,workload,lock,threads,round,seconds,ops,ops_per_s,ns_per_op,cpus,\
    ctx_switches_per_s,jain,min_share,wait_p50_ns,wait_p99_ns,wait_p999_ns,wait_max_ns,streak_p90_ns,starve_p90_ns,\
    starve_max_ns,at_least";

/// A run of a fraction of a second.
const SHORT: [&str; 10] =
    ["bench", "--lock", "std,pthread", "--threads", "1,2", "--seconds", "0.02", "--rounds", "1", "--workload"];

fn short(more: &[&str]) -> Vec<&'static str> {
    let leak = |text: &&str| -> &'static str { String::from(*text).leak() };
    SHORT.iter().chain(&["mutex-contention"]).chain(more).map(leak).collect()
}

/// Rows of a CSV text as pairs of name and value.
fn rows_of(csv: &str) -> Vec<Vec<(String, String)>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().unwrap().clone();
    let pairs = |record: csv::StringRecord| {
        header.iter().zip(record.iter()).map(|(name, value)| (name.to_string(), value.to_string())).collect()
    };
    reader.records().map(|record| pairs(record.unwrap())).collect()
}

#[test]
fn csv_on_standard_output_has_the_published_header() {
    let run = ondeck(&short(&["--format", "csv"]));
    assert_eq!(run.stdout.lines().next(), Some(HEADER));
    let rows = rows_of(&run.stdout);
    assert_eq!(rows.len(), 4);
    for row in rows {
        let value = |name: &str| row.iter().find(|(column, _)| column == name).unwrap().1.clone();
        assert_eq!((value("platform").as_str(), value("round").as_str()), ("hardware", "0"));
        // On a busy machine so short a window may have no operation.
        let figure = |name: &str| value(name).parse::<f64>().unwrap();
        let expected = figure("ops") / figure("seconds");
        assert!((figure("ops_per_s") - expected).abs() <= 1e-6 * expected, "{row:?}");
    }
}

#[test]
fn files_follow_their_extension_and_leave_nothing_else() {
    let scratch = Scratch::new();
    let (csv, json) = (scratch.path("a.csv"), scratch.path("b.json"));
    for file in [&csv, &json] {
        let run = done(&short(&["--out", file]));
        assert!(run.stdout.contains("mutex-contention"), "the table is shown too: {}", run.stdout);
    }
    assert_eq!(scratch.names(), ["a.csv", "a.csv.fingerprint.json", "b.json"]);
    assert_eq!(rows_of(&std::fs::read_to_string(&csv).unwrap()).len(), 4);
    let beside = std::fs::read_to_string(scratch.path("a.csv.fingerprint.json")).unwrap();
    let beside: serde_json::Value = serde_json::from_str(&beside).unwrap();
    assert!(beside["fingerprint"]["cpu"].is_string() && beside["command"].is_string());

    let compared = done(&["compare", &csv, &json]);
    for word in ["ops_per_s", "mutex-contention", "~", "fewer than 4 rounds", "geomean"] {
        assert!(compared.stdout.contains(word), "no {word:?} in {}", compared.stdout);
    }
}

#[test]
fn a_workload_about_waits_has_their_tail_in_the_table() {
    let arguments = ["bench", "--workload", "gc-wait", "--threads", "2", "--yield-after-us", "1,200", "--rounds", "1"];
    let run = done(&[&arguments[..], &["--seconds", "0.05", "--lock", "std"]].concat());
    for word in ["gc-wait/status", "gc-wait/scan", "nanoseconds that 99 of 100 waits did not exceed", "spin-wait"] {
        assert!(run.stdout.contains(word), "no {word:?} in {}", run.stdout);
    }
    assert!(run.stderr.contains("--lock has no effect on it"), "{}", run.stderr);
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 120), "{}", run.stdout);
}

/// Numbers of the processes whose parent is this one and that run still.
#[cfg(target_os = "linux")]
fn children(parent: u32) -> Vec<String> {
    let is_child = |id: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().take(2).collect();
        fields.len() == 2 && fields[0] != "Z" && fields[1] == parent.to_string()
    };
    let names = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    names.filter(is_child).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn loops_beside_are_in_the_rows_and_gone_after_a_kill() {
    let run = done(&short(&["--load", "2", "--format", "csv"]));
    for row in rows_of(&run.stdout) {
        assert!(row[1].1.ends_with("-load-2"), "{row:?}");
    }
    assert!(run.stderr.contains("2 busy loops ran beside"), "{}", run.stderr);

    let long = "bench --lock std --workload solo --seconds 0.02 --rounds 5000 --load 3";
    let mut child = command(&words(long)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut loops = Vec::new();
    until("three loops", || {
        loops = children(child.id());
        loops.len() == 3
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let is_gone = |id: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        !stat.contains("(ondeck)") || stat.contains(") Z ")
    };
    until("the end of the loops", || loops.iter().all(is_gone));
}

/// All of it takes a quarter of a minute, and what it prints then, tests of `ondeck-workloads` say.
#[test]
#[cfg(target_os = "linux")]
fn an_interrupted_calibration_has_a_table() {
    let run = interrupted(&["calibrate"], libc::SIGTERM, 20);
    assert!(run.code == Some(143) && run.stdout.contains("median"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = command(&["list", "locks"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

/// A run that cannot start its threads: there is room for one, but not for the stacks of a thousand.
#[test]
#[cfg(target_os = "linux")]
fn a_failed_run_keeps_its_finished_rows() {
    let scratch = Scratch::new();
    let file = scratch.path("kept.csv");
    let bench = "bench --lock std --workload mutex-contention --threads 1,1024 --seconds 0.02 --rounds 1 --out";
    let shell = format!("ulimit -v 600000 && exec {} {bench} {file}", env!("CARGO_BIN_EXE_ondeck"));
    let attempt = || {
        scratch.names().iter().for_each(|left| std::fs::remove_file(scratch.path(left)).unwrap());
        std::process::Command::new("sh").args(["-c", &shell]).output().unwrap()
    };
    // A thread that was just started may find no memory for its first words, which aborts the process at any point. That
    // says nothing about the program, so it is tried again, without what the attempt has left.
    let outputs = std::iter::repeat_with(attempt).take(30);
    let output = outputs.into_iter().find(|output| output.status.code().is_some()).expect("each attempt was aborted");
    let (table, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: mutex-contention with std: only") && said.contains("of 1024 threads"), "{said}");
    assert!(table.contains("the run failed, and what should follow is missing"), "{table}");
    assert_eq!(scratch.names(), ["kept.csv.partial", "kept.csv.partial.fingerprint.json"]);
    assert_eq!(rows_of(&std::fs::read_to_string(format!("{file}.partial")).unwrap()).len(), 1);
    let beside = std::fs::read_to_string(format!("{file}.partial.fingerprint.json")).unwrap();
    assert!(beside.contains("the run failed") && beside.contains("rows_hash"), "{beside}");
    assert!(said.contains("1 row written to ") && !table.contains("\nNext, "), "{said}{table}");
}
