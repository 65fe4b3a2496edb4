//! `ondeck profile --order`: locks that are taken in both orders are found, and no others.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::programs::{compiled, library, profile_in, profiled, recorded, recording_example, recording_of};
use crate::support::{Scratch, ondeck};
use crate::usage::refused;
use ondeck_launch::ChildProcess;
use ondeck_profile::{LockOrder, Profile};
use std::process::Command;

/// The locks of each circle, in order, and whether they were the same ones.
fn told<'p>(profile: &'p Profile) -> Vec<(Vec<&'p str>, bool)> {
    let told = |order: &'p LockOrder| (order.steps.iter().map(|step| step.held.as_str()).collect(), order.same_objects);
    profile.order.iter().map(told).collect()
}

fn has_function(profile: &Profile, stack: Option<u32>, function: &str) -> bool {
    stack.is_some_and(|stack| profile.frames_of(stack).any(|frame| frame.function == function))
}

fn in_order(lock: &str, program: &str, case: &str) -> Profile {
    let profile = recording_of(&["--order", "--lock", lock], &[program, case]);
    assert_eq!(profile.dropped.nestings, 0, "{case}: {:?}", profile.dropped);
    profile
}

#[test]
fn both_orders_of_two_locks_are_found_and_nothing_else() {
    let program = compiled("lock_order.c", &[]);
    for lock in ["glibc", "ondeck"] {
        for (case, expected) in [
            ("one_order", &[][..]),
            ("pair", &["a", "b"]),
            ("circle", &["a", "b", "c"]),
            ("outer", &[]),
            ("half_outer", &["a", "b"]),
            ("try", &[]),
            ("tried", &["a", "b"]),
            ("addresses", &[]),
            ("again", &[]),
            // To lock again what it has is no order.
            ("recursive", &[]),
            ("condition", &[]),
            ("condition_inverted", &["a", "b"]),
            ("elsewhere", &[]),
            ("readers", &[]),
            ("readers_inverted", &["a", "table"]),
            ("reading_outer", &["a", "b"]),
            ("deep", &["a", "b"]),
            ("read_again", &[]),
            ("read_turns_again", &["turns"]),
            ("read_turns_again_below", &[]),
            ("readers_after_writers", &["a", "turns"]),
        ] {
            let profile = in_order(lock, &program, case);
            let found = told(&profile);
            let mut names = found.first().map_or(Vec::new(), |(names, _)| names.clone());
            names.sort_unstable();
            assert_eq!(names, expected, "{lock} {case}: {:?}", profile.order);
            assert!(found.len() <= 1 && found.iter().all(|(_, same)| *same), "{lock} {case}: {found:?}");
        }
    }
}

#[test]
fn the_stacks_of_both_orders_are_told() {
    let profile = in_order("glibc", &compiled("lock_order.c", &[]), "pair");
    let order = &profile.order[0];
    assert_eq!((order.first.as_str(), order.second.as_str(), order.count), ("a", "b", 1));
    for (step, function) in order.steps.iter().zip(["a_then_b", "b_then_a"]) {
        for stack in [step.held_stack, step.taken_stack] {
            assert!(has_function(&profile, stack, "both") && has_function(&profile, stack, function), "{order:?}");
        }
    }
    let program = compiled("lock_order.c", &[]);
    let run = ondeck(&["profile", "--library", library(), "--order", "--", &program, "pair"]);
    let text = run.stderr.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(text.contains("order: `b` is taken while `a` is held, in `both` (lock_order.c:"), "{text}");
}

#[test]
fn orders_that_are_meant_are_left_out() {
    let (program, scratch) = (compiled("lock_order.c", &[]), Scratch::new());
    let file = scratch.path("known");
    std::fs::write(&file, "# a is taken first at the start only\na -> b\n").unwrap();
    let with =
        |flags: &[&str], words: &[&str]| recorded(&[&["--order", "--known-orders", &file], flags].concat(), words);
    let (profile, _) = with(&[], &[&program, "pair"]);
    assert!(profile.order.is_empty(), "{:?}", profile.order);
    let note = "left out, as --known-orders has one of their orders: 1 of 1 findings";
    assert!(profile.notes.iter().any(|other| other == note), "{:?}", profile.notes);
    std::fs::write(&file, "a > b\n").unwrap();
    let words = ["profile", "--order", "--known-orders", &file, "--", "true"];
    refused(&words, &["known:1: \"a > b\" is no order; accepted: HELD -> TAKEN"]);
    refused(&["profile", "--known-orders", &file, "--", "true"], &["--known-orders needs --order; accepted: "]);
}

#[test]
fn locks_of_one_kind_and_different_objects_are_told_as_such() {
    let program = compiled("lock_order.c", &[]);
    let profile = in_order("glibc", &program, "kinds");
    let [order] = &profile.order[..] else { panic!("{:?}", profile.order) };
    assert!(!order.same_objects && order.first.contains("made in new_file"), "{order:?}");
    assert!(order.second.contains("made in new_user"), "{order:?}");
    let profile = in_order("ondeck", &program, "philosophers");
    let [order] = &profile.order[..] else { panic!("{:?}", profile.order) };
    assert!(order.same_objects && order.steps.len() == 5, "{order:?}");
    assert!(order.first.starts_with("5 locks made in philosophers"), "{order:?}");
}

#[test]
fn scoped_locks_of_cpp_try_and_guards_do_not() {
    let program = compiled("lock_order.cpp", &["-std=c++17"]);
    assert_eq!(told(&in_order("glibc", &program, "scoped")), []);
    for lock in ["glibc", "ondeck"] {
        assert_eq!(told(&in_order(lock, &program, "again")), []);
    }
    let profile = in_order("glibc", &program, "guards");
    let [(names, true)] = &told(&profile)[..] else { panic!("{:?}", profile.order) };
    assert!(names.contains(&"cache") && names.contains(&"table"), "{names:?}");
}

/// `std::lock` waits for any of its locks while those are held that the thread had before, but not for one with another.
#[test]
fn scoped_locks_below_another_lock_have_an_order_with_that_one() {
    for flags in [&["-std=c++17"][..], &["-std=c++17", "-O0"], &["-std=c++17", "-O2", "-g1"]] {
        let program = compiled("lock_order.cpp", flags);
        for lock in ["glibc", "ondeck"] {
            let profile = in_order(lock, &program, "below");
            let [(names, true)] = &told(&profile)[..] else { panic!("{lock} {flags:?}: {:?}", profile.order) };
            let mut names = names.clone();
            names.sort_unstable();
            assert_eq!(names, ["outer", "table"], "{lock} {flags:?}");
            for case in ["within", "trying", "scoped"] {
                assert_eq!(told(&in_order(lock, &program, case)), [], "{lock} {flags:?} {case}");
            }
        }
    }
}

#[test]
fn a_rust_programs_own_mutexes_tell_their_order() {
    let program = recording_example("ondeck", "lock_order");
    for (case, n_locks) in [("pair", 2), ("circle", 3), ("outer", 0), ("try", 0), ("condition", 0), ("sorted", 0)] {
        let profile = in_order("glibc", &program, case);
        let found: Vec<usize> = profile.order.iter().map(|order| order.steps.len()).collect();
        assert_eq!(found, if n_locks == 0 { vec![] } else { vec![n_locks] }, "{case}: {:?}", profile.order);
        let names: String = told(&profile).into_iter().flat_map(|(names, _)| names).collect();
        assert!(n_locks == 0 || names.contains("CACHE") && names.contains("TABLE"), "{case}: {names}");
    }
}

/// Who reads waits for a writer that waits, and so for other readers, unless it reads recursively.
#[test]
fn a_rust_programs_own_reader_writer_locks_tell_their_order() {
    let program = recording_example("ondeck", "lock_order");
    for (case, expected) in [
        ("read_and_write", &["CACHE", "ROUTES"][..]),
        ("try_write", &[]),
        ("reads", &["HOSTS", "ROUTES"]),
        ("reads_recursively", &[]),
        ("read_again", &["ROUTES"]),
        ("read_again_recursively", &[]),
        ("upgradable", &["CACHE", "ROUTES"]),
        ("upgradable_recursively", &[]),
        ("upgraded", &["CACHE", "ROUTES"]),
        ("downgraded", &[]),
        ("changes", &[]),
    ] {
        let profile = in_order("glibc", &program, case);
        let found = told(&profile);
        let mut names = found.first().map_or(Vec::new(), |(names, _)| names.clone());
        names.sort_unstable();
        let is_expected = |(name, end): (&&str, &&str)| name.ends_with(end);
        let are_expected = names.len() == expected.len() && names.iter().zip(expected).all(is_expected);
        assert!(are_expected && found.len() <= 1, "{case}: {expected:?} and not {:?}", profile.order);
    }
}

/// A mutex of Rust does not tell when it is gone.
#[test]
fn a_later_lock_at_the_same_address_is_not_told_as_the_same_one() {
    let program = recording_example("ondeck", "lock_order");
    for (case, same_objects) in [("pair", true), ("again", false)] {
        let profile = in_order("glibc", &program, case);
        let [order] = &profile.order[..] else { panic!("{case}: {:?}", profile.order) };
        assert_eq!((order.same_objects, order.same_addresses), (same_objects, true), "{case}: {order:?}");
    }
}

/// There is room for 1023 locks, and for 1365 pairs. The program makes 1800 of each, and waits until they were looked at.
#[test]
fn pairs_that_are_gone_give_their_places_to_others() {
    let (program, scratch) = (compiled("lock_order.c", &[]), Scratch::new());
    let (json, snapshots) = (scratch.path("profile.json"), scratch.path("profile"));
    let flags = ["--order", "--max-mb", "1", "-o", &json, "--library", library()];
    let run = ondeck(&[&["profile"], &flags[..], &["--", &program, "short_lived", &snapshots]].concat());
    let profile = profile_in(&json);
    let [order] = &profile.order[..] else { panic!("{:?}", profile.order) };
    let mut names = [order.first.as_str(), &order.second];
    names.sort_unstable();
    assert_eq!((names, order.same_objects), (["a", "b"], true), "{}", run.stderr);
    let ondeck_profile::Dropped { locks, nestings, .. } = profile.dropped;
    assert_eq!((locks, nestings), (0, 0), "{}", run.stderr);
}

#[test]
fn nothing_is_told_unless_it_is_asked_for() {
    let (profile, _) = recorded(&[], &[&compiled("lock_order.c", &[]), "pair"]);
    assert_eq!(profile.order, []);
}

#[test]
fn the_order_of_a_running_process_is_told() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ondeck"));
    command.args(["run", "--library", library(), "--", &compiled("lock_order.c", &[]), "pair", "20000"]);
    let guest = ChildProcess::start(&mut command, libc::SIGKILL).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let pid = guest.pid().to_string();
    // The first recording leaves threads that count.
    let (profile, run) = profiled(&["--pid", &pid, "--for", "300ms"]);
    assert_eq!(profile.order, [], "{}", run.stderr);
    let (profile, run) = profiled(&["--order", "--pid", &pid, "--for", "500ms"]);
    assert_eq!(told(&profile).len(), 1, "{}", run.stderr);
}
