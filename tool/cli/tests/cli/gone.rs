//! Programs whose files are gone, replaced or out of sight when their names are read.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::kernel::{has, leads_to};
use crate::support::Scratch;
use crate::support::programs::{compiled, may_trace, own_copy, profile_in, profile_of, profiled, recorded};
use ondeck_launch::ChildProcess;
use ondeck_profile::{Profile, WaitKind};
use std::process::Command;

fn assert_named(profile: &Profile) {
    assert_eq!(profile.locks.len(), 1, "{:?}", profile.locks);
    let lock = &profile.locks[0];
    assert_eq!(lock.name, "held");
    assert!(lock.waiters.iter().all(|site| leads_to(profile, site.stack, "hold")), "{:?}", profile.frames);
}

/// A process that ends with the test.
fn guest(program: &str, arguments: &[&str]) -> ChildProcess {
    let guest = ChildProcess::start(Command::new(program).args(arguments), libc::SIGKILL).unwrap();
    // All of its threads run by then.
    std::thread::sleep(std::time::Duration::from_millis(100));
    guest
}

#[test]
fn a_container_that_has_ended_leaves_its_names() {
    if !may_trace() || !has("unshare") {
        return;
    }
    let (profile, run) = profiled(&["--futex", "--", "unshare", "--mount", &compiled("waiters.c", &[]), "240"]);
    assert_eq!(run.code, Some(7), "{}", run.stderr);
    assert_named(&profile);
    assert!(profile.conditions.iter().any(|one| one.kind == WaitKind::Semaphore), "{:?}", profile.conditions);
    assert_eq!(profile.notes.len(), 1, "{:?}", profile.notes);
}

/// As in containers, whose C library has no debug symbols: its inner functions have no names, and some have jumped there.
#[test]
fn waits_in_a_stripped_c_library_are_no_locks() {
    if !may_trace() || !has("unshare") {
        return;
    }
    let scratch = Scratch::new();
    let (json, ondeck) = (scratch.path("profile.json"), env!("CARGO_BIN_EXE_ondeck"));
    for flags in [&["-O1"][..], &["-O1", "-fno-plt"], &["-O1", "-fcf-protection=none", "-Wl,-z,lazy"]] {
        let program = compiled("waiters.c", flags);
        let script = "mkdir -p /usr/lib/debug; mount -t tmpfs none /usr/lib/debug; HOME=/none exec \"$@\"";
        let words = ["sh", ondeck, "profile", "--futex", "-o", &json, "--", &program, "240"];
        let status = Command::new("unshare").args(["--mount", "sh", "-c", script]).args(words).status().unwrap();
        assert_eq!(status.code(), Some(7));
        let profile = profile_in(&json);
        assert_named(&profile);
        let kinds: Vec<_> = profile.conditions.iter().map(|one| (one.kind, one.name.as_str())).collect();
        assert!(kinds.contains(&(WaitKind::Semaphore, "done")), "{flags:?}: {kinds:?}");
    }
}

#[test]
fn a_program_that_was_replaced_while_it_runs_has_its_own_names() {
    if !may_trace() {
        return;
    }
    let scratch = Scratch::new();
    let program = own_copy(&scratch, &compiled("waiters.c", &[]));
    let guest = guest(&program, &["600000"]);
    std::fs::remove_file(&program).unwrap();
    for _ in ["deleted", "replaced"] {
        let profile = profile_of(&["--pid", &guest.pid().to_string(), "--for", "300ms"]);
        assert_named(&profile);
        assert_eq!((profile.processes[0].program.as_str(), profile.notes.len()), (&*program, 2), "{:?}", profile.notes);
        own_copy(&scratch, &compiled("waiters.c", &["-DOTHER"]));
    }
}

/// Who may not follow the kernel's links to mapped files reads the program nevertheless, and is told which library is gone.
#[test]
fn a_library_that_was_replaced_has_its_own_names_or_a_note() {
    if !may_trace() || !has("setpriv") {
        return;
    }
    let scratch = Scratch::new();
    let flags = ["-shared", "-fPIC", "-fno-omit-frame-pointer"];
    let library = own_copy(&scratch, &compiled("libhold.c", &flags));
    let guest = guest(&compiled("opener.c", &[]), &["1000000", &library]);
    std::fs::remove_file(&library).unwrap();
    own_copy(&scratch, &compiled("libhold.c", &["-shared", "-fPIC", "-DOTHER"]));
    let (profile, _) = profiled(&["--pid", &guest.pid().to_string(), "--for", "300ms"]);
    assert_named(&profile);
    let (json, ondeck, pid) = (scratch.path("few.json"), env!("CARGO_BIN_EXE_ondeck"), guest.pid().to_string());
    let less =
        ["--bounding-set", "-sys_admin,-checkpoint_restore", "--inh-caps", "-sys_admin,-checkpoint_restore", ondeck];
    let words = ["profile", "--pid", &pid, "--for", "300ms", "-o", &json];
    assert!(Command::new("setpriv").args(less).args(words).status().unwrap().success());
    let profile = profile_in(&json);
    assert!(profile.locks[0].name.starts_with("in libhold.so+0x"), "{:?}", profile.locks);
    assert!(leads_to(&profile, profile.locks[0].waiters[0].stack, "work"), "{:?}", profile.frames);
    let notes: Vec<_> = profile.notes.iter().filter(|note| note.contains("libhold.so: was gone or replaced")).collect();
    assert!(notes.len() == 1 && notes[0].contains("run ondeck as root"), "{:?}", profile.notes);
}

/// Whether a recording of the program that the words name has names of one of its files, or else a note that it is another now.
#[track_caller]
fn has_names(module: &str, file: &str, are_known: bool, words: &[&str]) {
    let (profile, _) = recorded(&["--rate", "1"], words);
    let mut own = profile.frames.iter().filter(|frame| frame.module == module).peekable();
    assert!(own.peek().is_some() && own.all(|frame| frame.is_named == are_known), "{:?}", profile.frames);
    let is_it = |note: &&ondeck_profile::Note| note.starts_with(file) && note.contains("is another file now");
    assert_eq!(profile.notes.iter().filter(is_it).count(), usize::from(!are_known), "{:?}", profile.notes);
}

#[test]
fn a_recorded_program_without_a_build_id_that_was_replaced_has_no_names_of_the_new_one() {
    let scratch = Scratch::new();
    for id in ["none", "sha1"] {
        let id = format!("-Wl,--build-id={id}");
        let program = own_copy(&scratch, &compiled("waiters.c", &[&id]));
        let other = scratch.path("other");
        std::fs::copy(compiled("waiters.c", &[&id, "-DOTHER"]), &other).unwrap();
        has_names("waiters", &program, false, &[&program, "240", "is replaced by", &other]);
    }
}

#[test]
fn a_library_without_a_build_id_that_is_opened_and_replaced_has_no_names_of_the_new_one() {
    let scratch = Scratch::new();
    let program = compiled("opener.c", &[]);
    for is_replaced in [true, false] {
        let flags = ["-shared", "-fPIC", "-Wl,--build-id=none"];
        let library = own_copy(&scratch, &compiled("libhold.c", &flags));
        let other = scratch.path("other");
        std::fs::copy(compiled("libhold.c", &[&flags[..], &["-DOTHER"]].concat()), &other).unwrap();
        let files = &[program.as_str(), "40", &library, &other][..3 + usize::from(is_replaced)];
        has_names("libhold.so", &library, !is_replaced, files);
    }
}
