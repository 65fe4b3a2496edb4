//! Programs in C that tests make, and what is told of their runs.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::common::{Run, Scratch, ondeck};
use ondeck_profile::Profile;
use std::process::{Command, Stdio};

/// Says which test is left out for want of something.
pub(crate) fn skipped(what: &str) {
    let this = std::thread::current();
    eprintln!("SKIPPED: {} needs {what}", this.name().unwrap_or("a test"));
}

/// Whether system calls can be traced. Mounts what is missing, if this user may.
pub(crate) fn may_trace() -> bool {
    let place = "/sys/kernel/tracing";
    let format = format!("{place}/events/syscalls/sys_enter_futex/format");
    if std::fs::read(&format).is_err() {
        let _ = Command::new("mount").args(["-t", "tracefs", "nodev", place]).stderr(Stdio::null()).status();
    }
    // SAFETY: always may be called.
    let is_root = unsafe { libc::geteuid() } == 0;
    let may = is_root && std::fs::read(&format).is_ok();
    if !may {
        skipped(&format!("root and tracefs (sudo mount -t tracefs nodev {place})"));
    }
    may
}

/// The profile of a program, and its run.
pub(crate) fn profiled(scratch: &Scratch, arguments: &[&str]) -> (Profile, Run) {
    let json = scratch.path("profile.json");
    let run = ondeck(&[&["profile", "--format", "json", "--out", &json], arguments].concat());
    let text = std::fs::read_to_string(&json).unwrap_or_else(|error| panic!("{error}: {}", run.stderr));
    (ondeck_profile::json::from_json(&text).unwrap(), run)
}

/// Where `sleepers.h` is.
pub(crate) const HEADERS: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/tests/cli");

/// A program of this name from its source in C.
#[track_caller]
pub(crate) fn compiled(scratch: &Scratch, name: &str, source: &str, flags: &[&str]) -> String {
    let (source, program) = (scratch.write(&format!("{name}.c"), source), scratch.path(name));
    let usual = ["-g", "-O1", "-pthread", HEADERS, "-o", &program, &source];
    assert!(Command::new("cc").args(usual).args(flags).status().unwrap().success());
    program
}
