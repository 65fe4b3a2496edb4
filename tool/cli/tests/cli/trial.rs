//! `ondeck try`: both kinds of locks in turn, what is said of them, and that nothing is left behind.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::support::programs::{compiled, library};
use crate::support::{self, Run, Scratch, command, failed, ondeck, takes, until};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::process::Stdio;

fn flags(more: &[&'static str]) -> Vec<&'static str> {
    [&["try", "--library", library()], more].concat()
}

fn with(more: &[&'static str], program: &[&str]) -> Run {
    ondeck(&[&flags(more)[..], &["--"], program].concat())
}

fn sh(script: &str) -> Run {
    with(&[], &["sh", "-c", script])
}

/// Whether the library is in a shell's environment.
const WITH_ONDECK: &str = "case $LD_PRELOAD in *ondeck*)";

#[test]
fn the_faster_locks_are_named_first() {
    let program = compiled("sleeper.c", &[]);
    // Apart by so much that a busy machine does not matter.
    for (times, verdict, next) in [
        (["600", "50"], "Faster: ondeck's locks made ", "\nondeck run --library "),
        (["50", "600"], "Slower: with ondeck's locks ", "\nondeck profile --library "),
    ] {
        let run = with(&[], &[&program, times[0], times[1]]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
        assert!(run.stdout.starts_with(verdict), "{}", run.stdout);
        let [glibc, ondeck] = ["\n glibc ", "\n ondeck "].map(|row| run.stdout.find(row));
        assert!(glibc.is_some() && glibc < ondeck, "{}", run.stdout);
        assert!(run.stdout.contains("were the same in all 9 runs") && run.stdout.contains(next), "{}", run.stdout);
        assert!(run.stdout.ends_with(&format!("-- {program} {} {}\n", times[0], times[1])), "{}", run.stdout);
    }
}

/// A program that runs for a fixed time. With the library it does twice as much in this time.
fn fixed_time(line: &str) -> String {
    format!("n=1000; {WITH_ONDECK} n=2000;; esac; echo progress: 1; sleep 0.15; {line}")
}

#[test]
fn a_printed_number_is_compared_as_run_times_are() {
    let script = fixed_time("echo \"ops/s: $n\"");
    for (flag, verdict, next) in [
        ("--metric", "Better: with ondeck's locks the metric of sh rises by a factor of 2.00", "\nondeck run "),
        ("--metric-less", "Worse: with ondeck's locks the metric of sh rises by a factor of 2.00", "\nondeck profile "),
    ] {
        let run = with(&[flag, "ops/s: [0-9]+"], &["sh", "-c", &script]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
        assert!(run.stdout.starts_with(verdict) && run.stdout.contains(next), "{}", run.stdout);
        assert!(run.stdout.contains("The metric is the number 1000 in `ops/s: 1000`"), "{}", run.stdout);
    }
    let run = with(&["--metric", "ops.*"], &["sh", "-c", &fixed_time("echo ops: $n >&2")]);
    assert!(run.stdout.starts_with("Better: "), "{} {}", run.stdout, run.stderr);
    // The command that is shown for such programs works as it is.
    let scratch = Scratch::new();
    let count = scratch.path("count");
    let script = format!("sleep 0.15; echo x >>{count}; echo \"ops/s: $(wc -l <{count})\"");
    // On a busy machine the two may seem to differ in time.
    let run = (0..5).map(|_| sh(&script)).find(|run| run.stdout.contains("If the program runs for a fixed time"));
    let run = run.expect("five trials of what takes the same time find a difference");
    assert!(run.stdout.contains("\nondeck try --metric 'ops/s:\\s+([0-9.,]+)' --library "), "{}", run.stdout);
    let next = std::fs::read_to_string(&count).unwrap().lines().count() + 1;
    let run = with(&["--metric", r"ops/s:\s+([0-9.,]+)"], &["sh", "-c", &script]);
    let metric = format!("The metric is the number {next} in `ops/s: {next}`");
    assert!(run.stdout.contains(&metric), "{} {}", run.stdout, run.stderr);
}

#[test]
fn a_number_that_is_not_there_ends_the_trial() {
    let metric = |pattern: &'static str, line: &str| with(&["--metric", pattern], &["sh", "-c", line]);
    failed(
        &metric("ops", "echo done"),
        2,
        &["--metric ops: ", "no line printed by sh with glibc's", "`done`", "Accepted"],
    );
    let only_glibc = format!("{WITH_ONDECK} ;; *) echo ops 1;; esac");
    failed(&metric("ops .*", &only_glibc), 1, &["no line printed by sh with ondeck's locks"]);
    let units = format!("{WITH_ONDECK} echo ops 1M;; *) echo ops 999k;; esac");
    failed(&metric("ops .*", &units), 1, &["the first run printed 999k", "printed 1M", "same unit"]);
}

#[test]
fn rounds_are_as_many_as_asked_for_and_too_few_say_nothing() {
    let scratch = Scratch::new();
    let log = scratch.path("log");
    let script = format!("{WITH_ONDECK} echo ondeck;; *) echo glibc;; esac >>{log}");
    let run = with(&["--rounds", "2"], &["sh", "-c", &script]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.starts_with("Too few rounds to tell: sh took "), "{}", run.stdout);
    assert!(run.stdout.contains("\nondeck try --rounds 3 --library "), "{}", run.stdout);
    let order = std::fs::read_to_string(log).unwrap();
    assert_eq!(order.split_whitespace().collect::<Vec<_>>(), ["glibc", "ondeck", "glibc", "ondeck", "glibc", "glibc"]);
}

#[test]
fn another_output_with_ondecks_locks_is_a_fault() {
    let run = sh(&format!("echo same; {WITH_ONDECK} echo two;; *) echo one;; esac"));
    failed(&run, 1, &["line 2 of standard output: `one` with glibc's locks, `two` with ondeck's."]);
    assert!(run.stdout.contains("\n ondeck ") && !run.stdout.contains("ondeck run"), "{}", run.stdout);
    let run = sh(&format!("{WITH_ONDECK} echo odd >&2;; esac"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("line 1 of standard error: nothing with glibc's locks, `odd`"), "{}", run.stdout);
}

#[test]
fn a_program_that_fails_ends_the_trial() {
    failed(&sh("echo why >&2; exit 3"), 3, &["sh ended with exit code 3", "glibc's own locks", "`why`", "; true"]);
    failed(&sh("kill -TERM $$"), 128 + 15, &["sh was killed by SIGTERM", "glibc's own locks"]);
    failed(&sh(&format!("{WITH_ONDECK} kill -SEGV $$;; esac")), 1, &["with ondeck's locks sh was killed by SIGSEGV"]);
    let scratch = Scratch::new();
    let once = scratch.path("once");
    failed(
        &sh(&format!("test ! -e {once}.two || exit 5; test ! -e {once} || touch {once}.two; touch {once}")),
        5,
        &["exit code 5", "not in its first run"],
    );
}

#[test]
fn a_file_is_read_by_each_run_from_the_same_place() {
    let scratch = Scratch::new();
    let (file, log) = (scratch.write("input", "skipped\nread\n"), scratch.path("log"));
    let script = format!("cat >>{log}");
    let mut input = File::open(file).unwrap();
    input.seek(SeekFrom::Start(8)).unwrap();
    let arguments = [&flags(&["--rounds", "1"])[..], &["--", "sh", "-c", &script]].concat();
    let output = command(&arguments).stdin(input).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "read\n".repeat(3));
    assert!(!String::from_utf8_lossy(&output.stdout).contains("standard input"));
    // A pipe that nobody closes: whoever reads it waits for ever.
    let (reader, writer) = std::io::pipe().unwrap();
    let output = command(&arguments).stdin(reader).output().unwrap();
    drop(writer);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "read\n".repeat(3));
    assert!(String::from_utf8_lossy(&output.stdout).contains("empty standard input"));
}

#[test]
fn an_interrupt_ends_the_program_and_its_children() {
    let scratch = Scratch::new();
    let pid = scratch.path("pid");
    let script = format!("sleep 600 & echo $! >{pid}.new; mv {pid}.new {pid}; wait");
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let arguments = [&flags(&[])[..], &["--", "sh", "-c", &script]].concat();
        let child = command(&arguments).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        until("its handlers", || takes(&child, &[signal]));
        until("the program's child", || Path::new(&pid).is_file());
        support::signal(&child, signal);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.lines().count()), (Some(128 + signal), 1), "{stderr}");
        assert!(stderr.contains("stopped") && output.stdout.is_empty(), "{stderr}");
        let sleeper = std::fs::read_to_string(&pid).unwrap();
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", sleeper.trim())).unwrap_or_default();
        until("the end of the program's child", || stat().is_empty() || stat().contains(") Z "));
        std::fs::remove_file(&pid).unwrap();
    }
}

#[test]
fn what_cannot_be_started_is_refused() {
    failed(&with(&[], &["no-such-program"]), 127, &["no-such-program"]);
    failed(&with(&[], &["/dev/null"]), 126, &["/dev/null"]);
}
