//! What the program prints, whole: output is documentation. Only what does not depend on the machine is printed by the
//! program here; the rest is in the tests of `ondeck-workloads`, with a made-up machine.

use crate::support::{command, ondeck};
use insta::assert_snapshot;

const BEFORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/report/testdata/toy-before.csv");
const AFTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/report/testdata/toy-after.csv");

/// Standard output in so many columns.
fn text_in(columns: &str, arguments: &[&str]) -> String {
    let output = command(arguments).env("COLUMNS", columns).output().expect("the program can be started");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("all output is text")
}

#[test]
fn everything_fits_a_terminal_of_80_columns() {
    let long =
        "ondeck,ondeck[low-latency+look_ns=100+poll_max_ns=4000],go-tristate-futex,go-spinbit-futex,pthread-adaptive";
    let simulated = "ondeck,ondeck[low-latency+look_ns=100+poll_max_ns=4000],go-tristate-futex,linux-mutex-patch1";
    let bench = ["bench", "--seconds", "0.005", "--rounds", "1", "--workload", "solo,sections/cs20-out60,gc-wait"];
    let sim = ["sim", "--machine", "i7-13700h", "--seconds", "0.0005", "--workload", "sections/cs20-out60"];
    for arguments in [
        &["--help"][..],
        &["bench", "--help"],
        &["bench", "-h"],
        &["sim", "--help"],
        &["sim", "-h"],
        &["list", "--help"],
        &["profile", "--help"],
        &["try", "--help"],
        &["top", "--help"],
        &["calibrate", "--help"],
        &["report", "--help"],
        &["compare", "--help"],
        &["list", "locks"],
        &["list", "workloads"],
        &["list", "machines"],
        &["compare", BEFORE, AFTER],
        &[&bench[..], &["--threads", "1,3", "--lock", long]].concat(),
        &[&sim[..], &["--threads", "1,20", "--lock", simulated]].concat(),
    ] {
        for line in text_in("80", arguments).lines() {
            assert!(line.chars().count() <= 80, "{arguments:?}: {line}");
        }
    }
}

#[test]
fn what_there_is_to_list() {
    for what in ["locks", "workloads", "machines"] {
        assert_snapshot!(format!("list_{what}"), ondeck(&["list", what]).stdout);
    }
}

#[test]
fn what_is_made_of_files() {
    for (name, words) in [
        ("compare", &["compare", BEFORE, AFTER][..]),
        ("report_of_two_files", &["report", BEFORE, AFTER, "--markdown"]),
    ] {
        assert_snapshot!(name, text_in("100", words));
    }
}
