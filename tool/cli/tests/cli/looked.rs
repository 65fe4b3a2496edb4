//! `ondeck profile --pid` of a program without the recorder, by a user who may not trace: it is looked at from outside.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::kernel::{built, has};
use crate::support::programs::{compiled, skipped};
use crate::support::{Scratch, until};
use ondeck_profile::{Lock, Profile, Site, State, WaitObject, findings};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

/// A command of a user without rights.
fn by_a_user(program: &str, arguments: &[&str]) -> Command {
    // SAFETY: always may be called.
    let is_root = unsafe { libc::geteuid() } == 0;
    let mut command = Command::new(if is_root { "setpriv" } else { program });
    if is_root {
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", program]);
    }
    command.args(arguments);
    command
}

/// By another process: a child of another test could inherit what this one has open to write, and then nobody can run it.
fn copied(from: &str, to: &str) {
    assert!(Command::new("cp").args([from, to]).status().unwrap().success());
}

/// What is seen of `looked.c`, if this user may not trace.
fn looked(what: &str) -> Option<Profile> {
    looked_at(&compiled("looked.c", &[]), &[what])
}

/// The same of a program that says when it has begun, and ends when it is told to.
fn looked_at(built: &str, arguments: &[&str]) -> Option<Profile> {
    let scratch = Scratch::new();
    let [program, tool] = ["looked", "ondeck"].map(|name| scratch.path(name));
    copied(built, &program);
    copied(env!("CARGO_BIN_EXE_ondeck"), &tool);
    let mut child = by_a_user(&program, arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    let arguments = ["profile", "--pid", &child.id().to_string(), "--for", "2s", "--format", "json"];
    let output = by_a_user(&tool, &arguments).output().unwrap();
    end(child);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let profile = ondeck_profile::json::from_json(&String::from_utf8(output.stdout).unwrap()).unwrap();
    match profile.lock.as_str() {
        "looks" => Some(profile),
        other => {
            skipped(&format!("a user who may not trace: {other}"));
            None
        }
    }
}

fn end(mut child: Child) {
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
}

/// The part of a lock's waiting for which one thing is true of its holder.
fn part(lock: &Lock, is_it: impl Fn(&ondeck_profile::Cause) -> bool) -> f64 {
    lock.causes.iter().filter(|cause| is_it(cause)).map(|cause| cause.ns).sum::<f64>() / lock.wait_ns
}

#[track_caller]
fn lock<'a>(profile: &'a Profile, name: &str) -> &'a Lock {
    let lock = profile.locks.iter().find(|lock| lock.name == name);
    lock.unwrap_or_else(|| panic!("no {name}: {:?} {:?}", profile.locks, profile.notes))
}

#[test]
fn a_program_without_the_recorder_is_looked_at() {
    let Some(profile) = looked("sleeps") else { return };
    let cache = lock(&profile, "cache");
    let asleep = |cause: &ondeck_profile::Cause| {
        let mut frames = cause.stack.into_iter().flat_map(|stack| profile.frames_of(stack));
        cause.state == State::Blocked && frames.next().is_some_and(|frame| frame.function == "refresh")
    };
    assert!(part(cache, asleep) > 0.8, "{:?}", cache.causes);
    // Three threads wait for nearly all of the time.
    assert!(cache.wait_ns > 3e9 && cache.wait_ns < 6.5e9, "{}", cache.wait_ns);
    let verdict = findings(&profile).verdict;
    assert!(verdict.starts_with("`refresh` (looked.c:"), "{verdict}");
    assert!(verdict.contains("holds `cache`") && verdict.contains("blocked in clock_nanosleep"), "{verdict}");
    let all: f64 = profile.times.iter().map(|time| time.ns).sum();
    assert!((all / (5e9 * profile.seconds) - 1.0).abs() < 0.1, "five threads: {all} in {}", profile.seconds);
    assert!(profile.notes.iter().any(|note| note.contains("estimates")), "{:?}", profile.notes);
}

#[test]
fn a_holder_that_runs_is_seen_where_it_does() {
    let cause = |cause: &ondeck_profile::Cause| matches!(cause.state, State::Computing | State::NoCore);
    // The kernel's own code is where threads are that look at a clock.
    for what in ["computes", "looks_at_clock"] {
        is_named("cache", "refresh", || {
            looked(what).inspect(|profile| {
                let cache = lock(profile, "cache");
                assert!(cache.causes.iter().any(cause), "{:?}", cache.causes);
            })
        });
    }
}

/// Asserts that nobody else is ever named as a lock's holder, and that the function is, unless the machine has no core for it
/// again and again.
#[track_caller]
fn is_named(name: &str, function: &str, look: impl Fn() -> Option<Profile>) {
    let expected = BTreeSet::from([function.to_owned()]);
    let mut said = String::new();
    for _ in 0..5 {
        let Some(profile) = look() else { return };
        let lock = lock(&profile, name);
        let known = holders(&profile, lock);
        assert!(known.is_subset(&expected), "{known:?} {:?}", lock.causes);
        said = findings(&profile).verdict;
        if known == expected && said.starts_with(&format!("`{function}` (")) {
            return;
        }
    }
    panic!("not {function}: {said}");
}

/// The functions that hold a lock for a tenth of its waiting or more, as far as they are known.
fn holders(profile: &Profile, lock: &Lock) -> BTreeSet<String> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for cause in &lock.causes {
        let Some(stack) = cause.stack else { continue };
        let (name, _) = ondeck_profile::busiest(profile, &[Site { stack, count: 1.0, ns: cause.ns }]).unwrap();
        *sums.entry(name).or_default() += cause.ns / lock.wait_ns;
    }
    sums.into_iter().filter(|(_, part)| *part > 0.1).map(|(name, _)| name).collect()
}

/// Both functions compute alike in one thread, and are called alike.
#[test]
fn of_functions_that_run_the_one_is_named_that_has_the_lock() {
    // Without frame pointers: the unlock is its last act, a jump, or a call.
    for flags in [&["-O2"][..], &["-O2", "-fno-optimize-sibling-calls"]] {
        is_named("table", "rebuild", || looked_at(&compiled("computes.c", flags), &[]));
    }
    // Stacks cannot be walked.
    let flags = ["-O2", "-fno-asynchronous-unwind-tables", "-fno-exceptions"];
    let Some(profile) = looked_at(&compiled("computes.c", &flags), &[]) else { return };
    let holders = holders(&profile, lock(&profile, "table"));
    assert!(holders.is_subset(&["rebuild".to_owned(), "computed".to_owned()].into()), "{holders:?}");
}

/// Rust's mutex does not say who has it. Its data lies where others say it, and here it is the number of a thread.
const RUST: &str = r#"
use std::{hint::black_box, sync::Mutex, thread::{sleep, spawn}, time::{Duration, Instant}};
unsafe extern "C" { safe fn gettid() -> i32; }
static HELD: Mutex<[i32; 4]> = Mutex::new([0; 4]);
#[inline(never)] fn rebuild() {
    let mut held = HELD.lock().unwrap();
    let end = Instant::now() + Duration::from_millis(20);
    while Instant::now() < end { (0..10_000).for_each(|n| _ = black_box(n)); }
    *held = [gettid(); 4];
}
#[inline(never)] fn look_up() -> i32 { HELD.lock().unwrap()[0] }
fn main() {
    spawn(|| loop { rebuild(); sleep(Duration::from_millis(1)) });
    (0..3).for_each(|_| _ = spawn(|| loop { look_up(); sleep(Duration::from_micros(500)) }));
    println!("begun");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    println!("ended");
}
"#;

#[test]
fn who_has_a_lock_that_does_not_say_so_is_not_guessed() {
    if !has("rustc") {
        return;
    }
    let scratch = Scratch::new();
    let (source, program) = (scratch.write("held.rs", RUST), scratch.path("held"));
    built("rustc", &["--edition", "2024", "-O", "-g", "-o", &program, &source]);
    let Some(profile) = looked_at(&program, &[]) else { return };
    let held = lock(&profile, "held::HELD");
    assert!(held.wait_ns > 1e9 && held.causes.is_empty() && held.holders.is_empty(), "{held:?}");
    let verdict = findings(&profile).verdict;
    assert!(!verdict.contains("rebuild"), "{verdict}");
}

#[test]
fn what_a_holder_waits_for_is_followed() {
    let Some(profile) = looked("chain") else { return };
    let disk = profile.locks.iter().position(|lock| lock.name == "disk");
    let other = disk.map(|at| WaitObject::Lock(at as u32));
    let waits = |cause: &ondeck_profile::Cause| cause.state == State::OtherLock && cause.other == other;
    let cache = lock(&profile, "cache");
    assert!(other.is_some() && part(cache, waits) > 0.8, "{:?}", cache.causes);
    let verdict = findings(&profile).verdict;
    assert!(verdict.contains("Begin with `compact`"), "{verdict}");
}

#[test]
fn a_writer_of_a_lock_for_readers_and_writers_is_seen() {
    let Some(profile) = looked("writes") else { return };
    let table = lock(&profile, "table");
    assert!(part(table, |cause| cause.state == State::Blocked && cause.stack.is_some()) > 0.8, "{:?}", table.causes);
}

/// A stack that ends before it tells what it waits for is no other lock's.
#[test]
fn a_wait_of_which_nothing_is_known_is_for_the_lock_at_its_address() {
    let Some(profile) = looked("by_hand") else { return };
    let cache = lock(&profile, "cache");
    let by_hand =
        |site: &&ondeck_profile::Site| profile.frames_of(site.stack).any(|frame| frame.function == "await_by_hand");
    assert!(cache.waiters.iter().find(by_hand).is_some_and(|site| site.ns > 1e9), "{:?}", cache.waiters);
}

/// `ondeck top` of the same.
#[test]
fn top_looks_at_it_too() {
    let scratch = Scratch::new();
    let [program, tool] = ["looked", "ondeck"].map(|name| scratch.path(name));
    copied(&compiled("looked.c", &[]), &program);
    copied(env!("CARGO_BIN_EXE_ondeck"), &tool);
    let child = by_a_user(&program, &["sleeps"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut top = by_a_user(&tool, &["top", "--pid", &child.id().to_string()]);
    let shown = scratch.path("lists");
    let top = top.stdin(Stdio::null()).stdout(File::create(&shown).unwrap()).stderr(Stdio::piped()).spawn().unwrap();
    let lists = || std::fs::read_to_string(&shown).unwrap();
    until("two lists", || lists().matches("look_up").count() >= 2);
    // SAFETY: takes numbers only, of a child of ours.
    assert_eq!(unsafe { libc::kill(top.id() as libc::pid_t, libc::SIGINT) }, 0);
    let output = top.wait_with_output().unwrap();
    end(child);
    let (lists, last) = (lists(), String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(output.status.success(), "{lists}{last}");
    if !last.contains("seen by looks") {
        return skipped("a user who may not trace: the kernel tells");
    }
    // On a machine that stood still it is a program that does, which is told in other words.
    assert!(lists.contains("cache") && last.contains("`refresh`"), "{lists}{last}");
}

/// What is not for the want of rights is refused as ever.
#[test]
fn the_view_from_the_kernel_that_was_asked_for_is_no_look() {
    let scratch = Scratch::new();
    let [program, tool] = ["looked", "ondeck"].map(|name| scratch.path(name));
    copied(&compiled("looked.c", &[]), &program);
    copied(env!("CARGO_BIN_EXE_ondeck"), &tool);
    let child = by_a_user(&program, &[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let arguments = ["profile", "--futex", "--pid", &child.id().to_string(), "--for", "100ms", "--format", "json"];
    let output = by_a_user(&tool, &arguments).output().unwrap();
    end(child);
    let is_looked_at = String::from_utf8_lossy(&output.stdout).contains("\"looks\"");
    assert!(!is_looked_at, "{}", String::from_utf8_lossy(&output.stderr));
}
