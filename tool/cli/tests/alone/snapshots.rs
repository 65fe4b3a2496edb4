//! Snapshots of a process that is watched from the kernel.
#![cfg(target_arch = "x86_64")]

use crate::alone;
use crate::support::programs::{compiled, may_trace, profile_in};
use crate::support::{Scratch, ondeck};
use ondeck_launch::ChildProcess;
use std::process::Command;

/// The first time, names take a second, as the files are read.
#[test]
fn nothing_is_missed_while_a_snapshot_gets_its_names() {
    if !may_trace() {
        return;
    }
    let _cores = alone();
    let scratch = Scratch::new();
    let json = scratch.path("profile.json");
    let busy = ChildProcess::start(&mut Command::new(compiled("busy.c", &[])), libc::SIGKILL).unwrap();
    let pid = busy.pid().to_string();
    let flags = ["-o", &json, "--pid", &pid, "--for", "1500ms", "--every", "500ms"];
    let run = ondeck(&[&["profile"], &flags[..]].concat());
    let profile = profile_in(&json);
    let (waits, lost) = (profile.locks.iter().map(|lock| lock.waits).sum::<f64>(), profile.dropped.samples);
    println!("{} s, {waits} waits, {lost} lost", profile.seconds);
    assert!(std::fs::exists(scratch.path("profile.0001.json")).unwrap(), "{}", run.stderr);
    // Other tests run beside, so that not each look is in time. While names were found by the thread that looks, three quarters
    // were lost.
    assert!((lost as f64) < 0.5 * waits && profile.seconds < 2.5, "{} s, {lost} of {waits}", profile.seconds);
}
