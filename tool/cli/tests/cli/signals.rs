//! Signals to `ondeck` while it has a program run: whom they reach, and that they end nothing that is still to be written.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::programs::{compiled, library, may_trace};
use crate::support::{Scratch, command, full_pipe, ignoring, signal, takes, until, until_it_writes};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};

/// A profile of the program, in a process group of its own.
fn profiled(flags: &[&str], words: &[&str]) -> Command {
    let mut command = command(&[&["profile"], flags, &["--"], words].concat());
    command.process_group(0);
    command
}

fn recorded(flags: &[&str], words: &[&str]) -> Command {
    profiled(&[&["--library", library()], flags].concat(), words)
}

#[test]
fn what_the_program_sends_to_its_group_reaches_it_once_and_ends_nobody() {
    let program = compiled("group.c", &[]);
    let recorded = recorded(&[], &[&program]);
    let traced = may_trace().then(|| profiled(&["--futex"], &[&program]));
    for mut command in [Some(recorded), traced].into_iter().flatten() {
        let output = command.output().unwrap();
        let texts = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!((output.status.code(), &*texts.0), (Some(7), ""), "{command:?}: {}", texts.1);
        let has_list = texts.1.contains("No lock") || texts.1.contains("No thread slept for a lock");
        assert!(has_list, "{command:?}: {}", texts.1);
    }
}

#[test]
fn what_others_send_to_us_is_passed_on() {
    for number in [libc::SIGALRM, libc::SIGUSR1, libc::SIGRTMIN()] {
        let mut child = recorded(&[], &["sleep", "600"]).stderr(Stdio::null()).spawn().unwrap();
        until("its handlers", || takes(&child, &[number]));
        // Before the program is there, nobody is meant.
        until("the program", || !children(child.id()).is_empty());
        signal(&child, number);
        assert_eq!(child.wait().unwrap().code(), Some(128 + number));
    }
}

fn children(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default()
}

#[test]
fn what_was_ignored_before_stays_ignored() {
    let mut profile = recorded(&[], &["sh", "-c", "kill -HUP $$; kill -HUP $PPID; sleep 0.1; exit 3"]);
    // As `nohup` does.
    let profile = ignoring(&mut profile, libc::SIGHUP);
    assert_eq!(profile.output().unwrap().status.code(), Some(3));
}

#[test]
fn once_the_program_has_ended_a_signal_ends_what_is_still_to_be_written() {
    let scratch = Scratch::new();
    let place = scratch.path("place");
    // Nobody reads what is written at the end.
    let (_reader, writer) = full_pipe();
    let program = format!("echo \"$ONDECK_RECORD\" >{place}");
    let mut profile = recorded(&["--format", "json"], &["sh", "-c", &program]);
    let mut child = profile.stdout(writer).stderr(Stdio::null()).spawn().unwrap();
    until_it_writes(&child, 1);
    signal(&child, libc::SIGTERM);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    let place = std::fs::read_to_string(place).unwrap();
    assert!(place.contains("ondeck-") && !Path::new(place.trim()).exists(), "{place}");
}
