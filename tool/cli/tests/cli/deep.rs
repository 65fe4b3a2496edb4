//! How much of a thread's stack the recorder takes: no more than docs/profile.md says.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::programs::{compiled, library, profiled, recorded};
use crate::support::{command, until};
use std::process::Stdio;

/// What the page says before these words, in bytes.
fn promised(words: &str) -> u64 {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/profile.md")).unwrap();
    let page = page.replace('\n', " ");
    let before = page.split_once(words).unwrap_or_else(|| panic!("the page does not say {words:?}")).0;
    before.rsplit(' ').next().unwrap().parse::<u64>().unwrap() << 10
}

/// What `deep.c` has used. It has painted more than that.
#[track_caller]
fn used(text: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_suffix(" used, 0 below"));
    line.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
}

/// The page does not promise far too much either.
#[track_caller]
fn assert_fits(used: u64, promised: u64) {
    assert!(used <= promised && used + (4 << 10) > promised, "{used} of {promised}");
}

#[test]
fn a_walk_takes_as_much_stack_as_the_page_says() {
    let promised = promised(" KB of the running stack");
    for lock in ["glibc", "ondeck"] {
        for flags in [&[][..], &["--order"]] {
            let flags = [&["--rate", "1", "--lock", lock], flags].concat();
            let (profile, run) = recorded(&flags, &[&compiled("deep.c", &[])]);
            assert!(!profile.locks.is_empty(), "{}", run.stderr);
            assert_fits(used(&run.stdout), promised);
        }
    }
}

#[test]
fn so_does_the_thread_that_begins_a_recording() {
    let promised = promised(" KB, once");
    let mut run = command(&["run", "--library", library(), "--lock", "glibc", "--", &compiled("deep.c", &[]), "alone"]);
    let program = run.stdout(Stdio::piped()).spawn().unwrap();
    let pid = program.id().to_string();
    let has_begun = || std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "deep");
    until("it runs", has_begun);
    let (profile, _) = profiled(&["--rate", "1", "--order", "--pid", &pid, "--for", "300ms"]);
    let output = program.wait_with_output().unwrap();
    assert_eq!(profile.notes, [""; 0]);
    assert_fits(used(&String::from_utf8_lossy(&output.stdout)), promised);
}
