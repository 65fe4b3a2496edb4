//! `ondeck profile` with a program whose own mutexes record: what it says of a run is what the program has measured itself.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::common::{Scratch, ondeck};
use crate::launch::library;
use ondeck_profile::{Lock, Profile, Site, json};
use std::path::Path;
use std::process::Command;

const ROUNDS: f64 = 10.0;

/// As its users would build it: with optimisation, and with names.
fn program() -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recorded");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--profile", "profiling", "--features", "record"])
        .args(["--example", "recorded", "--target-dir"])
        .arg(&target)
        // More than one package has its name.
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../parking_lot"))
        .status()
        .unwrap();
    assert!(status.success(), "the program cannot be built");
    target.join("profiling/examples/recorded").to_str().unwrap().to_owned()
}

fn lock<'p>(profile: &'p Profile, name: &str) -> &'p Lock {
    let mut found = profile.locks.iter().filter(|lock| lock.name.contains(name));
    found.next().unwrap_or_else(|| panic!("no lock {name} among {:?}", names(profile)))
}

fn names(profile: &Profile) -> Vec<&str> {
    profile.locks.iter().map(|lock| lock.name.as_str()).collect()
}

/// How much of the time is of stacks with that function.
fn ns_in(profile: &Profile, sites: &[Site], function: &str) -> f64 {
    let is_in = |site: &&Site| profile.frames_of(site.stack).any(|frame| frame.function.contains(function));
    sites.iter().filter(is_in).map(|site| site.ns).sum()
}

#[track_caller]
fn is_near(what: &str, found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.1, "{what}: {found} and not {expected}");
}

#[test]
fn a_program_with_ondecks_mutexes_tells_who_waits_for_whom() {
    let scratch = Scratch::new("recorded");
    let out = scratch.path("profile.json");
    let program = program();
    let arguments =
        ["profile", "--library", library(), "--rate", "1", "--format", "json", "--out", &out, "--", &program];
    let run = ondeck(&arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let profile = json::from_json(&std::fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(profile.dropped.samples + profile.dropped.locks + profile.dropped.processes, 0, "{:?}", profile.dropped);
    assert_eq!(profile.processes.len(), 2, "parent and child, from whatever sources: {:?}", profile.processes);
    let lines: Vec<(&str, f64)> = run
        .stdout
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, ns)| (name, ns.parse().unwrap()))
        .collect();
    assert_eq!(lines.len(), 4, "{}", run.stdout);
    for (name, measured) in lines {
        let lock = lock(&profile, name);
        assert_eq!(lock.waits, ROUNDS, "{name}");
        is_near(name, lock.wait_ns, measured);
        assert_eq!(lock.acquisitions, 3.0 * ROUNDS, "{name}");
        is_near(name, lock.hold_ns, measured);
        for function in ["recorded::wait_for", "recorded::measure"] {
            is_near(function, ns_in(&profile, &lock.waiters, function), measured);
        }
        is_near("blamed", ns_in(&profile, &lock.holders, "recorded::hold"), measured);
        assert_eq!(ns_in(&profile, &lock.holders, "recorded::touch"), 0.0, "{name}");
        let process = &profile.processes[lock.process as usize];
        assert_eq!(process.parent == profile.processes[0].pid, name == "IN_CHILD", "{name}: {process:?}");
        for site in lock.waiters.iter().chain(&lock.holders).chain(&lock.takers) {
            let has_ours = profile.frames_of(site.stack).any(|frame| frame.function.starts_with("ondeck_record::"));
            assert!(!has_ours, "{name}: frames of the recorder");
        }
    }
    let memory = lock(&profile, "MEMORY");
    assert!(memory.acquisitions >= ROUNDS, "the allocator's lock: {}", memory.acquisitions);
}
