//! `ONDECK_SPIN` is read once per process, so each value gets a process of its own: this program, started again.

use ondeck_core::{Hardware, Platform};
use std::process::Command;

/// Set in the process started again, to what it is to find.
const EXPECTED: &str = "ONDECK_TEST_EXPECTS_SPINNING";

/// Whether a process in which `ONDECK_SPIN` is `value` finds what is expected.
fn finds(value: &str, expected: bool) -> bool {
    let mut again = Command::new(std::env::current_exe().expect("a test knows its program"));
    again.args(["--exact", "the_process_started_again"]);
    again.env("ONDECK_SPIN", value).env(EXPECTED, if expected { "yes" } else { "no" });
    again.output().expect("the test program can be started again").status.success()
}

#[test]
fn the_process_started_again() {
    if let Some(expected) = std::env::var_os(EXPECTED) {
        assert_eq!(Hardware::may_spin(), expected == "yes");
    }
}

#[test]
fn zero_switches_spinning_off() {
    assert!(finds("0", false));
}

#[test]
fn other_values_switch_nothing() {
    let has_cores = Hardware::parallelism() > 1;
    for value in ["1", "", "00", "no"] {
        assert!(finds(value, has_cores), "ONDECK_SPIN={value}");
    }
}
