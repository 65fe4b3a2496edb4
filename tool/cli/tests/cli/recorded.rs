//! `ondeck profile` with a program whose own locks record: what it says of a run is what the program has measured itself.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::support::programs::{library, recorded, recording_example};
use crate::support::{Scratch, done};
use ondeck_profile::{Lock, LockKind, Profile, Site, json};

const ROUNDS: f64 = 10.0;

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

/// A wait is charged to the holds during which it waits, though they follow each other without a pause.
fn judge_crowd(profile: &Profile, [elapsed_ns, held_ns]: [f64; 2], for_each: [[f64; 2]; 2]) {
    let lock = lock(profile, "CROWDED");
    let [long, short] = ["recorded::long", "recorded::short"].map(|name| ns_in(profile, &lock.holders, name));
    for (found, [least, most]) in [long, short].into_iter().zip(for_each) {
        assert!((0.8 * least..1.25 * most).contains(&found), "{long}, {short}: {for_each:?}");
    }
    is_near("charged in all", long + short + lock.handing_on_ns, lock.wait_ns);
    // While it is free three wait at most.
    let most = 3.0 * (elapsed_ns - held_ns) + 0.05 * lock.wait_ns;
    assert!(lock.handing_on_ns < most, "{} and not {most} of {}", lock.handing_on_ns, lock.wait_ns);
}

/// Two clocks of one machine differ by less than a part in a hundred.
#[track_caller]
fn is_within(what: &str, found: f64, [least, most]: [f64; 2]) {
    assert!((0.99 * least..=1.01 * most).contains(&found), "{what}: {found} is not from {least} to {most}");
}

#[test]
fn a_program_with_ondecks_mutexes_tells_who_waits_for_whom() {
    let scratch = Scratch::new();
    let out = scratch.path("profile.json");
    let program = recording_example("parking_lot", "recorded");
    let arguments = ["profile", "--library", library(), "--rate", "1", "-o", &out, "--", &program];
    let run = done(&arguments);
    let profile = json::from_json(&std::fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(profile.dropped.samples + profile.dropped.locks + profile.dropped.processes, 0, "{:?}", profile.dropped);
    assert_eq!(profile.processes.len(), 2, "parent and child, from whatever sources: {:?}", profile.processes);
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<String>>();
    let lines: Vec<Vec<String>> = run.stdout.lines().map(words).collect();
    assert_eq!(lines.len(), 7, "{}", run.stdout);
    let figure = |line: usize, word: usize| lines[line][word].parse::<f64>().unwrap();
    judge_crowd(&profile, [figure(0, 1), figure(0, 2)], [1, 2].map(|line| [figure(line, 1), figure(line, 2)]));
    for (at, line) in lines.iter().enumerate().skip(3) {
        let name = line[0].as_str();
        let (waited, held) = ([figure(at, 1), figure(at, 2)], [figure(at, 3), figure(at, 4)]);
        let lock = lock(&profile, name);
        assert_eq!(lock.waits, ROUNDS, "{name}");
        is_within(name, lock.wait_ns, waited);
        assert_eq!(lock.acquisitions, 3.0 * ROUNDS, "{name}");
        is_within(name, lock.hold_ns, held);
        for function in ["recorded::wait_for", "recorded::measure"] {
            is_within(function, ns_in(&profile, &lock.waiters, function), waited);
        }
        is_within("blamed", ns_in(&profile, &lock.holders, "recorded::hold"), waited);
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

/// A function that has a lock, to read or to write.
fn had_by(profile: &Profile, sites: &[Site], function: &str, access: &str) -> f64 {
    let starts = |site: &&Site| profile.frames_of(site.stack).next().is_some_and(|frame| frame.function == access);
    let sites: Vec<Site> = sites.iter().filter(starts).copied().collect();
    ns_in(profile, &sites, &format!("readers::{function}"))
}

#[test]
fn a_program_with_ondecks_reader_writer_locks_tells_who_reads_and_who_writes() {
    const READS: &str = "(reading)";
    const WRITES: &str = "(writing)";
    // Who waits for what, and which part of that is charged to whom.
    let expected = [
        ("TABLE", READS, &[("rebuild", WRITES, 1.0)][..]),
        ("INDEX", WRITES, &[("scan", READS, 1.0)]),
        ("USERS", WRITES, &[("export", READS, 1.0)]),
        ("SESSIONS", READS, &[("renew", READS, 1.0)]),
        ("CONFIG", WRITES, &[("reload", WRITES, 0.5), ("check", READS, 0.5)]),
        ("JOURNAL", READS, &[("append", WRITES, 1.0)]),
    ];
    let program = recording_example("ondeck", "readers");
    // Where most holds are no samples, it is for those who wait that they are looked at.
    for rate in ["1", "1000"] {
        let (profile, run) = recorded(&["--rate", rate], &[&program]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(run.stdout.lines().count(), expected.len(), "{}", run.stdout);
        for (line, (name, access, holders)) in run.stdout.lines().zip(expected) {
            let words: Vec<&str> = line.split(' ').collect();
            let [n_waits, wait_ns] = [2, 3].map(|word| words[word].parse::<f64>().unwrap());
            let lock = lock(&profile, name);
            assert_eq!((words[0], lock.kind, lock.waits), (name, LockKind::RwLock, n_waits));
            is_near(line, had_by(&profile, &lock.waiters, words[1], access), wait_ns);
            is_near(line, lock.wait_ns, wait_ns);
            let charged = lock.wait_ns - lock.handing_on_ns;
            assert!(charged > 0.6 * wait_ns, "{name}: {}", run.stderr);
            for (function, access, part) in holders {
                let by_it = had_by(&profile, &lock.holders, function, access);
                assert!((by_it / charged - part).abs() < 0.15, "{name}, {function}: {by_it} of {charged}");
            }
        }
    }
}
