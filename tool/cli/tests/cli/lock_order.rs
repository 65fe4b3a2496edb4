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

/// The locks of each circle, sorted, in the order of the circles.
fn circles(profile: &Profile) -> Vec<String> {
    assert!(profile.order.iter().all(|order| order.same_objects), "{:?}", profile.order);
    let mut circles: Vec<String> = told(profile)
        .into_iter()
        .map(|(mut names, _)| {
            names.sort_unstable();
            names.join(" ")
        })
        .collect();
    circles.sort_unstable();
    circles
}

/// Of all the program's cases, each with its own locks.
#[test]
fn both_orders_of_two_locks_are_found_and_nothing_else() {
    let program = compiled("lock_order.c", &[]);
    for lock in ["glibc", "ondeck"] {
        let expected = [
            "of_circle.a of_circle.b of_circle.c",
            "of_condition_inverted.a of_condition_inverted.b",
            "of_half_outer.a of_half_outer.b",
            "of_pair.a of_pair.b",
            "of_read_turns_again.turns",
            "of_readers_after_writers.a of_readers_after_writers.turns",
            "of_readers_inverted.a of_readers_inverted.table",
            "of_tried.a of_tried.b",
        ];
        assert_eq!(circles(&in_order(lock, &program, "all")), expected, "{lock}");
    }
}

#[test]
fn the_stacks_of_both_orders_are_told() {
    let profile = in_order("glibc", &compiled("lock_order.c", &[]), "pair");
    let order = &profile.order[0];
    assert_eq!((order.first.as_str(), order.second.as_str(), order.count), ("of_pair.a", "of_pair.b", 1));
    for (step, function) in order.steps.iter().zip(["a_then_b", "b_then_a"]) {
        for stack in [step.held_stack, step.taken_stack] {
            assert!(has_function(&profile, stack, "both") && has_function(&profile, stack, function), "{order:?}");
        }
    }
    let program = compiled("lock_order.c", &[]);
    let run = ondeck(&["profile", "--library", library(), "--order", "--", &program, "pair"]);
    let text = run.stderr.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(text.contains("order: `of_pair.b` is taken while `of_pair.a` is held, in `both` (lock_order.c:"), "{text}");
}

#[test]
fn orders_that_are_meant_are_left_out() {
    let (program, scratch) = (compiled("lock_order.c", &[]), Scratch::new());
    let file = scratch.path("known");
    std::fs::write(&file, "# a is taken first at the start only\nof_pair.a -> of_pair.b\n").unwrap();
    let with =
        |flags: &[&str], words: &[&str]| recorded(&[&["--order", "--known-orders", &file], flags].concat(), words);
    let (profile, _) = with(&[], &[&program, "pair"]);
    assert!(profile.order.is_empty(), "{:?}", profile.order);
    let note = "left out, as --known-orders has one of their orders: 1 of 1 findings";
    assert!(profile.notes.iter().any(|other| *other == note), "{:?}", profile.notes);
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

/// Guards of C++ wait, and scoped locks try: `std::lock` waits for any of its locks while those are held that the thread had
/// before, but not for one with another.
#[test]
fn scoped_locks_of_cpp_have_an_order_with_those_above_them_only() {
    let named = ["below.outer below.table", "guards.cache guards.table"];
    // Without types, members have no names.
    let unnamed = ["2 locks of below[] below+0x58", "guards+0x30 guards+0x8"];
    for (flags, expected) in [(&[][..], named), (&["-O0"], named), (&["-O2", "-g1"], unnamed)] {
        let program = compiled("lock_order.cpp", &[&["-std=c++17"], flags].concat());
        for lock in ["glibc", "ondeck"] {
            assert_eq!(circles(&in_order(lock, &program, "")), expected, "{lock} {flags:?}");
        }
    }
}

/// A mutex of Rust does not tell when it is gone: a later one at the same address is not told as the same one.
#[test]
fn a_rust_programs_own_mutexes_tell_their_order() {
    let program = recording_example("ondeck", "lock_order");
    for (case, n_locks, same_objects) in [
        ("pair", 2, true),
        ("circle", 3, true),
        ("again", 2, false),
        ("outer", 0, true),
        ("try", 0, true),
        ("condition", 0, true),
        ("sorted", 0, true),
    ] {
        let profile = in_order("glibc", &program, case);
        let found: Vec<usize> = profile.order.iter().map(|order| order.steps.len()).collect();
        assert_eq!(found, if n_locks == 0 { vec![] } else { vec![n_locks] }, "{case}: {:?}", profile.order);
        for order in &profile.order {
            assert_eq!((order.same_objects, order.same_addresses), (same_objects, true), "{case}: {order:?}");
            let names: String = order.steps.iter().map(|step| step.held.as_str()).collect();
            assert!(!same_objects || names.contains("CACHE") && names.contains("TABLE"), "{case}: {names}");
        }
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
    assert_eq!((names, order.same_objects), (["of_short_lived.a", "of_short_lived.b"], true), "{}", run.stderr);
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
