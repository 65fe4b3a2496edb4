//! Names that programs give their locks: thousands of one name are one row, in a child too.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::support::programs::{compiled, recorded, recording_example, recording_of};
use ondeck_profile::{Dropped, Lock, Profile};
use std::process::Command;

/// The locks of a profile: which process they are of, how they are called without what tells processes apart, and how many
/// they are.
fn rows<'p>(profile: &'p Profile) -> Vec<(u32, &'p str, u32)> {
    assert_eq!(profile.dropped, Dropped::default());
    assert_eq!(profile.processes.len(), 2, "{:?}", profile.processes);
    let name = |lock: &'p Lock| lock.name.split(" of process ").next().unwrap_or_default();
    let mut rows: Vec<(u32, &str, u32)> =
        profile.locks.iter().map(|lock| (lock.process, name(lock), lock.members)).collect();
    rows.sort_unstable();
    rows
}

/// The header needs no library, and the program none.
#[test]
fn a_class_of_locks_in_c_is_one_row() {
    let expected = [
        (0, "3000 locks of shard", 3000),
        (0, "cache", 1),
        (0, "initialised in main (named.c:54)", 1),
        (0, "session", 1),
        (0, "table", 1),
        (1, "3000 locks of shard", 3000),
        (1, "journal", 1),
    ];
    for (flags, lock) in [(&[][..], "glibc"), (&["-fPIE", "-pie"], "ondeck")] {
        let program = compiled("named.c", flags);
        assert!(Command::new(&program).status().unwrap().success(), "without anything that records");
        assert_eq!(rows(&recording_of(&["--rate", "1", "--lock", lock], &[&program])), expected, "{lock}");
    }
    let (each, _) = recorded(&["--rate", "1", "--each-lock"], &[&compiled("named.c", &[])]);
    let shards = each.locks.iter().filter(|lock| lock.name.starts_with("shard at 0x") && lock.is_named);
    assert_eq!(shards.count(), 6000);
}

#[test]
fn a_class_of_locks_in_cpp_is_one_row() {
    let program = compiled("named.cpp", &["-std=c++17"]);
    assert!(Command::new(&program).status().unwrap().success(), "without anything that records");
    for lock in ["glibc", "ondeck"] {
        let profile = recording_of(&["--rate", "1", "--lock", lock], &[&program]);
        let expected = [
            (0, "3000 locks of shard", 3000),
            (0, "cache", 1),
            (0, "table", 1),
            (1, "3000 locks of shard", 3000),
            (1, "journal", 1),
        ];
        assert_eq!(rows(&profile), expected, "{lock}");
        let conditions: Vec<&str> = profile.conditions.iter().map(|condition| condition.name.as_str()).collect();
        assert!(conditions.contains(&"2 condition variables of filled"), "{conditions:?}");
    }
}

#[test]
fn a_class_of_locks_in_rust_is_one_row() {
    let program = recording_example("ondeck", "named");
    let profile = recording_of(&["--rate", "1"], &[&program]);
    let expected = [
        (0, "1000 locks of session", 1000),
        (0, "3000 locks of shard", 3000),
        (1, "3000 locks of shard", 3000),
        (1, "journal", 1),
    ];
    assert_eq!(rows(&profile), expected);
}
