//! `cargo xtask sanitize`: the hardware tests under AddressSanitizer and ThreadSanitizer, with the stable toolchain.
//!
//! The sanitizers are an unstable option of the compiler, which `RUSTC_BOOTSTRAP=1` lets a stable one accept. The
//! standard library is not instrumented. For ThreadSanitizer that means `-Cunsafe-allow-abi-mismatch=sanitizer`, and
//! tests that share nothing through locks or channels of the standard library. Each sanitizer has its own target
//! directory, as its objects do not mix with others.

use std::path::Path;
use std::process::Command;

/// One run: a sanitizer and the test targets it is good for.
struct Run {
    sanitizer: &'static str,
    flags: &'static str,
    tests: &'static [&'static str],
    /// Locks per freeing test: a sanitized one takes some ten times as long.
    frees: &'static str,
}

const RUNS: [Run; 2] = [
    // Use after free: the lock's memory (freeing tests) and the heap at large.
    Run {
        sanitizer: "address",
        flags: "-Zsanitizer=address",
        tests: &["hardware", "free_after_release"],
        frees: "20000",
    },
    // Data races: the declared orderings are used, fences are not understood. Pages that vanish are of no use to it.
    Run {
        sanitizer: "thread",
        flags: "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer",
        tests: &["hardware"],
        frees: "5000",
    },
];

/// Runs both sanitizers, or the one that is named.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let chosen: Vec<&Run> = match words {
        [] => RUNS.iter().collect(),
        [name] => RUNS.iter().filter(|run| run.sanitizer == name).collect(),
        _ => Vec::new(),
    };
    if chosen.is_empty() {
        return Err("usage: cargo xtask sanitize [address|thread]".into());
    }
    let host = host()?;
    chosen.into_iter().try_for_each(|run| sanitize(root, run, &host))
}

fn sanitize(root: &Path, run: &Run, host: &str) -> Result<(), String> {
    let target_dir = root.join("target/sanitize").join(run.sanitizer);
    let cargo = |arguments: &[&str]| {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["test", "--package", "ondeck-conformance", "--no-default-features", "--target", host]);
        for test in run.tests {
            cargo.args(["--test", test]);
        }
        cargo.args(arguments).current_dir(root).env("CARGO_TARGET_DIR", &target_dir);
        cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", run.flags).env("ONDECK_FREES", run.frees);
        cargo.status().map_err(|error| format!("cargo: {error}"))
    };
    println!("{} sanitizer on {host}", run.sanitizer);
    if !cargo(&["--no-run"])?.success() {
        return Err(format!("this toolchain cannot build with `{}` for {host}; its message is above", run.flags));
    }
    if !cargo(&["--", "--test-threads=1"])?.success() {
        return Err(format!("the {} sanitizer found a fault; its report is above", run.sanitizer));
    }
    Ok(())
}

/// The target that this machine's compiler builds for. Named so that build scripts stay uninstrumented.
fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "`rustc -vV` names no host".into())
}
