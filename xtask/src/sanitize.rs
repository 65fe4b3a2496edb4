//! `cargo xtask sanitize`: the hardware tests under AddressSanitizer and ThreadSanitizer, with the stable toolchain.
//!
//! The sanitizers are an unstable option of the compiler, which `RUSTC_BOOTSTRAP=1` lets a stable one accept. The
//! standard library is not instrumented. For ThreadSanitizer that means `-Cunsafe-allow-abi-mismatch=sanitizer`, and
//! tests that share nothing through locks or channels of the standard library. Each sanitizer has its own target
//! directory, as its objects do not mix with others.

use crate::command::{cargo, output};
use crate::files::At;
use std::path::Path;
use std::process::Command;

/// One run: a sanitizer and the conformance crate's tests on hardware that it is good for.
struct Run {
    sanitizer: &'static str,
    flags: &'static str,
    /// The files of these tests.
    files: &'static [&'static str],
    /// Other crates' tests, as `cargo test` takes them.
    others: &'static [&'static str],
    /// Locks per freeing test: a sanitized one takes some ten times as long.
    frees: &'static str,
    /// An ignored test of a lock that is broken in the way the sanitizer is for. It must be noticed.
    sick: &'static str,
}

const RUNS: [Run; 2] = [
    // Use after free: the lock's memory (freeing tests) and the heap at large.
    Run {
        sanitizer: "address",
        flags: "-Zsanitizer=address",
        files: &["hardware::", "free_after_release::"],
        others: &[
            "--package ondeck --lib --test condvar --test monitor --test mutex --test poison",
            // Those that are left out know their own stack, which the sanitizer changes.
            "--package ondeck-record --lib --test truth -- --skip a_stack_that_is_ready --skip a_deep_stack_is_cut \
             --skip the_frame_that_begins --skip joins_are_told_apart --skip a_stack_without_room",
        ],
        frees: "20000",
        sick: "free_after_release::selftest::late_touch_on_heap",
    },
    // Data races: the declared orderings are used, fences are not understood. Pages that vanish are of no use to it.
    Run {
        sanitizer: "thread",
        flags: "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer",
        files: &["hardware::"],
        others: &[],
        frees: "5000",
        sick: "hardware::selftest::relaxed_release",
    },
];

/// Runs both sanitizers, or the one that is named.
pub(crate) fn run(root: &Path, only: Option<&str>) -> Result<(), String> {
    let host = host()?;
    let chosen = RUNS.iter().filter(|run| only.is_none_or(|only| only == run.sanitizer));
    chosen.into_iter().try_for_each(|run| sanitize(root, run, &host))
}

fn sanitize(root: &Path, run: &Run, host: &str) -> Result<(), String> {
    println!("{} sanitizer on {host}", run.sanitizer);
    let succeeds = |words: &[&str]| {
        let threads = ["--package", "ondeck-conformance", "--no-default-features", "--test", "threads"];
        cargo_test(root, run, host, threads.iter().chain(words).copied())
    };
    if !succeeds(&["--no-run"])? {
        return Err(format!("this toolchain cannot build with `{}` for {host}; its message is above", run.flags));
    }
    println!("first a lock that is broken on purpose; its report is expected");
    let is_missed = || succeeds(&["--quiet", "--", "--ignored", "--exact", run.sick]);
    // It takes two threads that meet, which on a busy machine they may fail to do once.
    if is_missed()? && is_missed()? && is_missed()? {
        return Err(format!("the {} sanitizer does not notice {}", run.sanitizer, run.sick));
    }
    println!("now the real locks");
    let mut is_fine = succeeds(&[&["--", "--test-threads=1"], run.files].concat())?;
    for other in run.others {
        is_fine &= cargo_test(root, run, host, other.split(' '))?;
    }
    if is_fine { Ok(()) } else { Err(format!("the {} sanitizer found a fault; its report is above", run.sanitizer)) }
}

fn cargo_test<'a>(
    root: &Path,
    run: &Run,
    host: &str,
    words: impl IntoIterator<Item = &'a str>,
) -> Result<bool, String> {
    let mut cargo = cargo(root);
    cargo.args(["test", "--target", host]).args(words);
    cargo.env("CARGO_TARGET_DIR", root.join("target/sanitize").join(run.sanitizer));
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", run.flags).env("ONDECK_FREES", run.frees);
    // Some tests end their process, and with it what others still hold.
    cargo.env("ASAN_OPTIONS", "detect_leaks=0");
    let suppressions = root.join("crates/conformance/tsan-suppressions.txt");
    cargo.env("TSAN_OPTIONS", format!("suppressions={}", suppressions.display()));
    cargo.status().map(|status| status.success()).at("cargo")
}

/// The target that this machine's compiler builds for. Named so that build scripts stay uninstrumented.
fn host() -> Result<String, String> {
    let text = output(Command::new("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "`rustc -vV` names no host".into())
}
