//! `ondeck sim`: what comes out does not depend on where or when, so it is compared to the last digit.

use crate::support::{Run, Scratch, done, ondeck, words};
use crate::usage::refused;
use insta::assert_snapshot;

/// Two locks, two numbers of threads: quick even without optimisation.
const TINY: &str =
    "sim --machine m1 --workload mutex-contention --lock go-tristate-sema,ondeck --threads 1,3 --seconds 0.001";

fn sim(more: &[&str]) -> Run {
    done(&[&words(TINY), more].concat())
}

#[test]
fn the_files_tell_the_machine_and_the_seeds() {
    let scratch = Scratch::new();
    let (csv, json) = (scratch.path("a.csv"), scratch.path("a.json"));
    sim(&["--out", &csv, "--rounds", "2"]);
    sim(&["--out", &json, "--rounds", "2"]);
    let read = |path: &str| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).expect("it is JSON")
    };
    let (beside, whole) = (read(&scratch.path("a.csv.fingerprint.json")), read(&json));
    for fingerprint in [&beside["fingerprint"], &whole["fingerprint"]] {
        let simulation = &fingerprint["simulation"];
        assert_eq!((simulation["machine"].as_str(), simulation["seeds"].as_u64()), (Some("m1"), Some(2)));
        assert_eq!(simulation["machine_hash"].as_str().map(str::len), Some(16));
        assert_eq!((fingerprint["cpus_online"].as_u64(), fingerprint["date"].as_str()), (Some(8), Some("")));
        assert_eq!(fingerprint["load_average"], serde_json::Value::Null);
    }
    let rows = whole["rows"].as_array().unwrap();
    let seeds: Vec<u64> = rows.iter().map(|row| row["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [1, 2, 1, 2, 1, 2, 1, 2]);
    let hashes: std::collections::BTreeSet<&str> = rows.iter().map(|row| row["trace_hash"].as_str().unwrap()).collect();
    assert_eq!(hashes.len(), 6, "two locks with two numbers of threads; one thread alone leaves nothing to chance");
    // The readers know both.
    let compared = ondeck(&["compare", &csv, &json]);
    assert_eq!((compared.code, compared.stderr.as_str()), (Some(0), ""), "{}", compared.stdout);
    let report = ondeck(&["report", &json, "--markdown"]);
    assert!(report.stdout.contains("machine hash"), "{}", report.stdout);
}

#[test]
fn a_trace_is_of_one_run() {
    let scratch = Scratch::new();
    let file = scratch.path("trace.json");
    let one = ["sim", "--machine", "m1", "--workload", "handoff-slow", "--lock", "ondeck", "--seconds", "0.001"];
    done(&[&one[..], &["--trace", &file]].concat());
    let trace: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert!(trace["traceEvents"].as_array().is_some_and(|events| events.len() > 10));
    refused(&["report", &file, "--markdown"], &["trace.json", "missing field `rows`", "ondeck bench --out"]);
}

#[test]
fn what_is_said_of_a_trace_that_is_cut_makes_it_whole() {
    let scratch = Scratch::new();
    let file = scratch.path("trace.json");
    let one = ["sim", "--machine", "m1", "--workload", "mutex-contention", "--lock", "ondeck", "--threads", "8"];
    let traced = |seconds: &str| ondeck(&[&one[..], &["--trace", &file, "--seconds", seconds]].concat());
    let run = traced("0.002");
    let (_, advice) = run.stderr.split_once("the timeline is written as far as ").expect("it is too long");
    let seconds = advice.split("(with --seconds ").nth(1).and_then(|rest| rest.split(' ').next()).expect(advice);
    let run = traced(seconds);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("the timeline is written; "), "{}", run.stderr);
    assert!(std::fs::read_to_string(&file).unwrap().contains("\"is_cut\":false"));
}

#[test]
fn table() {
    let run = sim(&["--rounds", "2"]);
    assert_snapshot!(run.stdout);
}

#[test]
fn csv() {
    assert_snapshot!(sim(&["--format", "csv", "--rounds", "1"]).stdout);
}
