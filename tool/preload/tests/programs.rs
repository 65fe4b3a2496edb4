//! The programs of `proof/testprograms/`, one for each behaviour that a stand-in for the C library's locks must keep: plain, which
//! shows that they ask for nothing that the C library does not keep, and with the library.
//!
//! They are in C and C++, and need `cc` and `c++`. Without a compiler for C++ those in C++ are left out, and named.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

#[path = "../../../proof/testprograms/library.rs"]
mod library;

use library::library;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn script() -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proof/testprograms/run"))
}

/// The programs, compiled once for all tests.
fn programs() -> &'static Path {
    static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
        let status = script().arg(&built).arg("--build").status().unwrap();
        assert!(status.success(), "the programs cannot be built");
        built
    })
}

fn run(directory: &str, arguments: &[&str], environment: &[(&str, &str)]) -> (bool, String) {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join(directory);
    std::fs::create_dir_all(&built).unwrap();
    // Links, so that each test has its programs, and what they write, to itself.
    let status = Command::new("cp").arg("-alf").arg(programs().join(".")).arg(&built).status().unwrap();
    assert!(status.success(), "the programs cannot be linked");
    let output = script().arg(&built).args(arguments).envs(environment.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    println!("{text}");
    (output.status.success(), text)
}

fn all_pass(directory: &str, arguments: &[&str], environment: &[(&str, &str)]) {
    let (is_ok, text) = run(directory, arguments, environment);
    assert!(is_ok, "{text}");
    let last = text.lines().last().unwrap_or_default();
    let n_programs: u32 = last.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    assert!(n_programs >= 1 && last.ends_with("programs, 0 failed"), "{text}");
}

/// What they ask is the C library's own behaviour: that changes only with them.
#[test]
fn the_programs_pass_with_the_c_librarys_locks() {
    let only: &[(&str, &str)] = if is_long() { &[] } else { &[("ONLY", "kinds cond errno timeouts")] };
    all_pass("plain", &[], only);
}

#[test]
fn the_programs_pass_with_ondecks_locks() {
    all_pass("ondeck", &[library()], &[]);
}

/// Whether everything is to be tried, or what most likely shows a fault.
fn is_long() -> bool {
    std::env::var_os("ONDECK_LONG").is_some()
}

/// What the programs ask of the locks, they ask of the recorder: with each lock, by samples as users record, and all of it.
/// Those that fork for their whole time are left out, as each child has a file.
#[test]
fn the_programs_pass_while_they_are_recorded() {
    let only =
        include_str!("../../../proof/testprograms/recorded.txt").split_whitespace().collect::<Vec<&str>>().join(" ");
    let records = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recordings");
    let directory = records.to_str().unwrap();
    for (lock, rate) in
        [("glibc", "1000"), ("ondeck", "1"), ("glibc", "1")].into_iter().take(if is_long() { 3 } else { 1 })
    {
        let _ = std::fs::remove_dir_all(&records);
        std::fs::create_dir_all(&records).unwrap();
        let environment = [
            ("ONLY", only.as_str()),
            ("ONDECK_LOCK", lock),
            ("ONDECK_RECORD", directory),
            ("ONDECK_RECORD_RATE", rate),
            ("ONDECK_RECORD_MAX_MB", "1"),
        ];
        all_pass("recorded", &[library()], &environment);
        let n_files = records.read_dir().unwrap().count();
        assert!(n_files >= only.split_whitespace().count(), "{lock}: {n_files} recordings");
    }
    let _ = std::fs::remove_dir_all(&records);
}

/// Allocators lock mutexes, are asked for memory by the library's callers, and handle forks. Those that a machine lacks are named.
#[test]
fn allocators_may_be_preloaded_beside() {
    let only =
        "kinds exclusion cond cancel fork fork_free malloc_locks tls_in_malloc early_late loader_lock random_ops";
    for allocator in ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2.0"] {
        let output = Command::new("cc").arg(format!("-print-file-name={allocator}")).output().unwrap();
        let path = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        // The compiler gives the bare name back if it does not find the file.
        if path == allocator {
            println!("left out: this machine has no {allocator}");
            continue;
        }
        let orders = [format!("{path}:{}", library()), format!("{}:{path}", library())];
        for order in orders.iter().take(if is_long() { 2 } else { 1 }) {
            all_pass("allocators", &[order], &[("ONLY", only)]);
        }
    }
}

/// What fakes the clocks of a whole program, and locks mutexes as it does. With a deadline of such a clock the C library itself
/// waits too short, or for ever.
#[test]
fn a_faked_clock_may_be_preloaded_beside() {
    let of = |name: &str| Path::new("/usr/lib/x86_64-linux-gnu/faketime").join(name);
    // The programs measure by these clocks too, so where the time stands, or is before its beginning, there are few.
    for (name, time, keeps_monotonic, only) in [
        ("libfaketimeMT.so.1", "2020-12-24 20:30:00", "0", "kinds destroy_after_unlock"),
        ("libfaketime.so.1", "-10d", "0", "kinds c11 destroy_after_unlock"),
        ("libfaketimeMT.so.1", "-10d", "1", "kinds c11 destroy_after_unlock"),
        ("libfaketimeMT.so.1", "+1d x2", "0", "kinds exclusion c11 timeouts destroy_after_unlock lost_wakeups eintr"),
    ] {
        let Some(path) = of(name).to_str().map(str::to_owned).filter(|path| Path::new(path).exists()) else {
            println!("left out: this machine has no {name}");
            continue;
        };
        let both = format!("{}:{path}", library());
        let environment = [("FAKETIME", time), ("FAKETIME_DONT_FAKE_MONOTONIC", keeps_monotonic), ("ONLY", only)];
        all_pass("faked", &[&both], &environment);
    }
}

/// Whatever else of the family may be a program's mutex keeps what depends on the kinds, the waits and the ends of mutexes.
#[test]
fn other_locks_of_the_family_stand_in_too() {
    for lock in ["std-port", "go-tristate-sema"].into_iter().take(if is_long() { 2 } else { 1 }) {
        let only = "kinds exclusion cond cancel cond_destroy destroy_after_unlock fork moved timeouts";
        all_pass("family", &[library()], &[("ONDECK_LOCK", lock), ("ONLY", only)]);
    }
}

#[test]
fn a_lock_that_cannot_be_ends_the_program_with_the_reason() {
    for (lock, reason) in [("tas", "never sleep"), ("no-such-lock", "no lock of this name")] {
        let (is_ok, text) = run("refused", &[library()], &[("ONDECK_LOCK", lock), ("ONLY", "normal_relock")]);
        assert!(!is_ok && text.contains(reason), "{text}");
    }
}

/// Random calls against a model, with other seeds each time; the message of a failure says the seed. With `ONDECK_LONG=1` for a
/// minute.
#[test]
fn random_calls_get_the_answers_of_a_model() {
    let seconds = if is_long() { "20" } else { "1" };
    for lock in ["ondeck", "go-tristate-sema", "std-port"] {
        let mut program = Command::new(programs().join("random_ops"));
        let output = program
            .args(["--seconds", seconds])
            .env("LD_PRELOAD", library())
            .env("ONDECK_LOCK", lock)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{lock}: {:?} {text}", output.status);
    }
}

/// Each wrong library must fail the programs that are there to notice it: minutes, and only with `ONDECK_LONG=1`.
#[test]
fn wrong_libraries_are_noticed() {
    if !is_long() {
        // Those that fail at once.
        let few = "unlock_nothing forgets_recursion early_timeout eintr touch_after_release not_atomic_alone";
        let (is_ok, text) = run("wrong", &["--wrong"], &[("WRONG", few)]);
        return assert!(is_ok && text.contains("6 wrong interposers, 0 missed"), "{text}");
    }
    let (is_ok, text) = run("wrong", &["--wrong"], &[]);
    assert!(is_ok && text.contains(", 0 missed"), "{text}");
}
