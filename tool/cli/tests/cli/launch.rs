//! `ondeck run`: the program is started as it would be without us, with the library in it, or there is one line that says why
//! not.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::support::programs::{library, may_trace, skipped, try_compiled};
use crate::support::{Run, Scratch, command, failed, ondeck, run as finished};
use crate::usage::refused;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// `ondeck run` with the library, and what it is to run.
fn run(arguments: &[&str]) -> Run {
    ondeck(&[&["run", "--library", library()], arguments].concat())
}

#[track_caller]
fn not_started(arguments: &[&str], code: i32, words: &[&str]) {
    failed(&run(arguments), code, words);
}

#[test]
fn the_library_is_in_the_program_and_in_its_children() {
    for arguments in [&["cat", "/proc/self/maps"][..], &["--", "sh", "-c", "cat /proc/self/maps; true"]] {
        let run = run(arguments);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stdout.contains("libondeck_pthread.so"), "{}", run.stdout);
    }
}

/// musl's loader ends a program for which it finds a library that it cannot use.
#[test]
fn a_child_with_another_c_library_runs_with_its_own_locks() {
    let scratch = Scratch::new();
    let source = scratch.write("a.c", "#include <stdio.h>\nint main(void) { puts(\"it runs\"); return 7; }\n");
    let program = scratch.path("a");
    let built = Command::new("musl-gcc").args(["-o", &program, &source]).status();
    if !built.is_ok_and(|status| status.success()) {
        return skipped("musl-gcc");
    }
    let child = run(&["-v", "--", "sh", "-c", &format!("{program}; echo $?; cat /proc/self/maps")]);
    assert!(child.stdout.starts_with("it runs\n7\n"), "{} {}", child.stdout, child.stderr);
    assert!(child.stdout.contains("libondeck_pthread.so"), "{}", child.stdout);
    let about_us = child.stderr.lines().filter(|line| line.starts_with("ondeck: process "));
    assert_eq!(about_us.count(), child.stderr.lines().count(), "{}", child.stderr);
    // By itself it is refused before its start.
    not_started(&[&program], 126, &["ld-musl", "not glibc"]);
}

/// The lines of a run in which each process tells of itself.
fn told(run: &Run) -> Vec<&str> {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stderr.lines().filter(|line| line.starts_with("ondeck: process ")).collect()
}

#[test]
fn each_process_tells_of_itself_if_asked() {
    let script = "cat /dev/null; echo $$";
    let verbose = run(&["-v", "--lock", "std-port", "--", "sh", "-c", script]);
    let lines = told(&verbose);
    let [shell, cat] = lines[..] else { panic!("not two lines: {}", verbose.stderr) };
    let number = verbose.stdout.trim();
    assert!(shell.starts_with(&format!("ondeck: process {number} (/")), "{shell}");
    for line in [shell, cat] {
        let place = line.split_once(" has the lock std-port, from ").unwrap_or_else(|| panic!("{line}")).1;
        assert!(place.ends_with("/libondeck_pthread.so") && !place.contains("/../"), "{line}");
    }
    assert!(cat.contains("cat) "), "{cat}");
    assert_eq!(told(&run(&["--", "sh", "-c", script])), [""; 0]);
}

#[test]
fn children_are_left_alone_if_asked() {
    let maps = "cat /proc/$$/maps; echo CHILD; cat /proc/self/maps; env; true";
    let alone = run(&["--no-children", "--verbose", "--", "sh", "-c", maps]);
    let (own, child) = alone.stdout.split_once("CHILD").unwrap();
    assert!(own.contains("libondeck_pthread.so"), "{own}");
    for ours in ["ondeck_pthread", "ONDECK_LOCK", "ONDECK_VERBOSE", "ONDECK_LATER", "LD_PRELOAD"] {
        assert!(!child.contains(ours), "{ours}: {child}");
    }
    assert_eq!(told(&alone).len(), 1, "{}", alone.stderr);
}

#[test]
fn children_that_are_left_alone_have_the_libraries_of_others() {
    let others = "/no/such.so:/nor/this.so";
    let run = command(&["run", "--library", library(), "--no-children", "--", "sh", "-c", "env"])
        .env("LD_PRELOAD", others)
        .output()
        .unwrap();
    let variables = String::from_utf8(run.stdout).unwrap();
    assert!(variables.lines().any(|line| line == format!("LD_PRELOAD={others}")), "{variables}");
}

#[test]
fn status_signals_and_input_are_the_programs_own() {
    assert_eq!(run(&["--", "sh", "-c", "exit 42"]).code, Some(42));
    let killed = command(&["run", "--library", library(), "--", "sh", "-c", "kill -TERM $$"]).status().unwrap();
    assert_eq!(killed.signal(), Some(15));
    let mut cat =
        command(&["run", "--library", library(), "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    cat.stdin.take().unwrap().write_all(b"through").unwrap();
    assert_eq!(cat.wait_with_output().unwrap().stdout, b"through");
}

/// A service manager names the process that it has started, which is `ondeck`. The program is that process, or our child.
#[test]
fn a_program_that_was_meant_by_our_number_finds_its_own() {
    let scratch = Scratch::new();
    let (stats, list, output) = (scratch.path("live.prom"), scratch.path("list.txt"), scratch.path("output.txt"));
    let mut ways: Vec<Vec<&str>> = vec![
        vec!["run", "--library", library()],
        vec!["run", "--library", library(), "--stats", &stats],
        vec!["profile", "--library", library(), "--out", &list],
        vec!["top", "--library", library()],
    ];
    if may_trace() {
        ways.push(vec!["profile", "--futex", "--out", &list]);
    }
    let says = format!("echo told $LISTEN_PID $WATCHDOG_PID $$ $LISTEN_FDS >{output}");
    let said = || std::fs::read_to_string(&output).unwrap();
    for way in ways {
        // As long as it takes to replace the shell, our number is the shell's.
        let mut shell = Command::new("sh");
        shell.args([
            "-c",
            "LISTEN_PID=$$ WATCHDOG_PID=$$ LISTEN_FDS=1 exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_ondeck"),
        ]);
        finished(shell.args(&way).args(["--", "sh", "-c", &says]));
        let said_first = said();
        let words: Vec<&str> = said_first.trim_end().strip_prefix("told ").unwrap().split(' ').collect();
        assert_eq!(words, [words[2], words[2], words[2], "1"], "{way:?}");
        // A number that is somebody else's stays so.
        let mut other = Command::new(env!("CARGO_BIN_EXE_ondeck"));
        finished(other.args(&way).args(["--", "sh", "-c", &says]).env("LISTEN_PID", "1"));
        assert!(said().contains("told 1 "), "{way:?}: {}", said());
    }
}

#[test]
fn arguments_after_the_program_are_its_own() {
    let run = run(&["--", "sh", "-c", "echo \"$0 $@\"", "--lock", "--help", "-x"]);
    assert_eq!(run.stdout.trim(), "--lock --help -x");
}

#[test]
fn a_program_that_cannot_be_run_with_our_locks_is_refused() {
    let scratch = Scratch::new();
    not_started(&["no-such-program-at-all"], 127, &["no-such-program-at-all", "PATH"]);
    not_started(&["./no/such/file"], 127, &["./no/such/file"]);
    let text = scratch.write("text", "hello");
    not_started(&[&text], 126, &["not executable"]);
    std::fs::set_permissions(&text, std::fs::Permissions::from_mode(0o755)).unwrap();
    not_started(&[&text], 126, &["neither a program"]);
    if let Some(program) = try_compiled("waiters.c", &["-static"]) {
        not_started(&[&program], 126, &["static program"]);
    }
}

/// Its recordings could not be read after the run.
#[test]
fn a_library_of_another_version_does_not_record() {
    const THIS: &[u8] = env!("CARGO_PKG_VERSION").as_bytes();
    let scratch = Scratch::new();
    let mut content = std::fs::read(library()).unwrap();
    // What begins a recording is in its code, too; but beside the version in one place only.
    let begins = |at: &usize| content[*at..].starts_with(b"ondeckR") && content[*at + 8..].starts_with(THIS);
    let note = (0..content.len() - 16).find(begins).expect("the library says what it records");
    let form = content[note + 7];
    content[note + 7] = form - 1;
    content[note + 8..][..5].copy_from_slice(b"0.0.9");
    let other = scratch.path("libother.so");
    std::fs::write(&other, content).unwrap();
    let [this, forms] = [format!("ondeck {}", env!("CARGO_PKG_VERSION")), format!("version {form} only")];
    let theirs = format!("with recordings of version {}", form - 1);
    for command in ["profile", "top"] {
        let versions = [&other, "ondeck 0.0.9", &theirs, &this, &forms, "--library"];
        refused(&[command, "--library", &other, "--", "echo", "started"], &versions);
    }
    // Without a recording, there is nothing that would have to fit.
    let run = ondeck(&["run", "--library", &other, "--", "echo", "started"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "started\n"), "{}", run.stderr);
}
