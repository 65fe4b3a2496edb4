//! Children of a program that is recorded live, wherever its thread was as they were made.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::support::programs::{compiled, library, profiled};

/// At this rate most copies are made inside of the recorder.
#[test]
fn copies_that_a_signal_handler_makes_inside_of_the_recorder_live_and_count_nothing() {
    let program = compiled("forks.c", &[]);
    for (lock, arguments) in [("glibc", &[][..]), ("ondeck", &["threads"])] {
        let flags = ["--rate", "1", "--library", library(), "--lock", lock, "--", &program];
        let (profile, run) = profiled(&[&flags[..], arguments].concat());
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "100 of 100\n"), "{lock}: {}", run.stderr);
        assert_eq!(profile.notes, [""; 0], "{lock}");
    }
}
