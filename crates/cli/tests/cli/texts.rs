//! What the program prints, whole: output is documentation. Only what does not depend on the machine is printed by the
//! program here; the rest is in the tests of `ondeck-lab`, with a made-up machine.

use crate::common::command;
use insta::assert_snapshot;

const BEFORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/testdata/toy-before.csv");
const AFTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/testdata/toy-after.csv");

/// Standard output in 100 columns.
fn text(arguments: &[&str]) -> String {
    let output = command(arguments).env("COLUMNS", "100").output().expect("the program can be started");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("all output is text")
}

#[test]
fn list_locks() {
    assert_snapshot!(text(&["list", "locks"]));
}

#[test]
fn list_workloads() {
    assert_snapshot!(text(&["list", "workloads"]));
}

/// What `here` is differs from machine to machine.
#[test]
fn list_machines() {
    let text = text(&["list", "machines"]);
    let (here, others): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("here "));
    assert!(matches!(here[..], [line] if line.contains("this machine, measured anew")), "{here:?}");
    assert_snapshot!(others.join("\n"));
}

#[test]
fn compare() {
    assert_snapshot!(text(&["compare", BEFORE, AFTER]));
}

#[test]
fn report_of_one_file() {
    assert_snapshot!(text(&["report", BEFORE, "--markdown"]));
}

#[test]
fn report_of_two_files() {
    assert_snapshot!(text(&["report", BEFORE, AFTER, "--markdown"]));
}
