//! Programs whose files are gone, replaced or out of sight when their names are read.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::common::{Scratch, ondeck};
use crate::kernel::{has, leads_to};
use crate::programs::{compiled, may_trace, profiled};
use ondeck_profile::{Profile, WaitKind};
use ondeck_rounds::RunningProcess;
use std::process::Command;

/// Two threads sleep in turn with a mutex, as often as the argument says. With a second one, the first thread ends at once; a
/// third one is the file that takes the program's place.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;
static int n;
#ifdef OTHER
__attribute__((used)) static void innocent(void) { __asm__ volatile(".skip 65536, 0x90"); }
#endif
__attribute__((noinline)) static void hold(void)
{
    pthread_mutex_lock(&held);
    usleep(2000);
    pthread_mutex_unlock(&held);
}
static void *work(void *unused)
{
    for (int i = 0; i < n; i++)
        hold();
    sem_post(&done);
    return unused;
}
int main(int argc, char **argv)
{
    pthread_t threads[2];
    n = atoi(argv[1]);
    if (argc > 3 && rename(argv[3], argv[0]) != 0)
        return 1;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    if (argc == 3)
        pthread_exit(NULL);
    sem_wait(&done);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"#;

const LIBRARY: &str = r#"
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
void hold(void)
{
    pthread_mutex_lock(&held);
    usleep(2000);
    pthread_mutex_unlock(&held);
}
"#;

const USER: &str = r#"
#include <pthread.h>
void hold(void);
static void *work(void *unused)
{
    for (int i = 0; i < 1000000; i++)
        hold();
    return unused;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    return 0;
}
"#;

fn assert_named(profile: &Profile) {
    assert_eq!(profile.locks.len(), 1, "{:?}", profile.locks);
    let lock = &profile.locks[0];
    assert_eq!(lock.name, "held");
    assert!(lock.waiters.iter().all(|site| leads_to(profile, site.stack, "hold")), "{:?}", profile.frames);
}

/// A process that ends with the test.
fn guest(program: &str, arguments: &[&str]) -> RunningProcess {
    let guest = RunningProcess::start(Command::new(program).args(arguments), libc::SIGKILL).unwrap();
    // Both of its threads run by then.
    std::thread::sleep(std::time::Duration::from_millis(100));
    guest
}

#[test]
fn a_container_that_has_ended_leaves_its_names() {
    if !may_trace() || !has("unshare") {
        return;
    }
    let scratch = Scratch::new("gone-container");
    let program = compiled(&scratch, "waits", PROGRAM, &[]);
    let (profile, run) = profiled(&scratch, &["--futex", "--", "unshare", "--mount", &program, "40"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
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
    let scratch = Scratch::new("gone-debug");
    let (json, ondeck) = (scratch.path("profile.json"), env!("CARGO_BIN_EXE_ondeck"));
    for flags in [&["-O1"][..], &["-O1", "-fno-plt"], &["-O1", "-fcf-protection=none", "-Wl,-z,lazy"]] {
        let program = compiled(&scratch, "waits", PROGRAM, flags);
        let script = "mkdir -p /usr/lib/debug; mount -t tmpfs none /usr/lib/debug; HOME=/none exec \"$@\"";
        let words = ["sh", ondeck, "profile", "--futex", "--format", "json", "--out", &json, "--", &program, "40"];
        let status = Command::new("unshare").args(["--mount", "sh", "-c", script]).args(words).status().unwrap();
        assert!(status.success());
        let profile = ondeck_profile::json::from_json(&std::fs::read_to_string(&json).unwrap()).unwrap();
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
    let scratch = Scratch::new("gone-program");
    let program = compiled(&scratch, "waits", PROGRAM, &[]);
    let guest = guest(&program, &["100000"]);
    std::fs::remove_file(&program).unwrap();
    for _ in ["deleted", "replaced"] {
        let (profile, run) = profiled(&scratch, &["--pid", &guest.pid().to_string(), "--for", "300ms"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_named(&profile);
        assert_eq!((profile.processes[0].program.as_str(), profile.notes.len()), (&*program, 1), "{:?}", profile.notes);
        compiled(&scratch, "waits", PROGRAM, &["-DOTHER"]);
    }
}

/// Who may not follow the kernel's links to mapped files reads the program nevertheless, and is told which library is gone.
#[test]
fn a_library_that_was_replaced_has_its_own_names_or_a_note() {
    if !may_trace() || !has("setpriv") {
        return;
    }
    let scratch = Scratch::new("gone-library");
    let library = compiled(&scratch, "libhold.so", LIBRARY, &["-shared", "-fPIC", "-fno-omit-frame-pointer"]);
    let program = compiled(&scratch, "waits", USER, &[&library]);
    let guest = guest(&program, &[]);
    compiled(&scratch, "other", LIBRARY, &["-shared", "-fPIC", "-DOTHER"]);
    std::fs::rename(scratch.path("other"), &library).unwrap();
    let (profile, _) = profiled(&scratch, &["--pid", &guest.pid().to_string(), "--for", "300ms"]);
    assert_named(&profile);
    let (json, ondeck, pid) = (scratch.path("few.json"), env!("CARGO_BIN_EXE_ondeck"), guest.pid().to_string());
    let less =
        ["--bounding-set", "-sys_admin,-checkpoint_restore", "--inh-caps", "-sys_admin,-checkpoint_restore", ondeck];
    let words = ["profile", "--pid", &pid, "--for", "300ms", "--format", "json", "--out", &json];
    assert!(Command::new("setpriv").args(less).args(words).status().unwrap().success());
    let profile = ondeck_profile::json::from_json(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert!(profile.locks[0].name.starts_with("in libhold.so+0x"), "{:?}", profile.locks);
    assert!(leads_to(&profile, profile.locks[0].waiters[0].stack, "work"), "{:?}", profile.frames);
    let notes: Vec<_> = profile.notes.iter().filter(|note| note.contains("libhold.so: was gone or replaced")).collect();
    assert!(notes.len() == 1 && notes[0].contains("run ondeck as root"), "{:?}", profile.notes);
}

#[test]
fn a_process_whose_first_thread_has_ended_has_names() {
    if !may_trace() {
        return;
    }
    let scratch = Scratch::new("gone-first");
    let program = compiled(&scratch, "waits", PROGRAM, &[]);
    let guest = guest(&program, &["100000", "ends"]);
    let (profile, run) = profiled(&scratch, &["--pid", &guest.pid().to_string(), "--for", "300ms"]);
    assert_eq!((run.code, profile.processes[0].program.as_str()), (Some(0), &*program), "{}", run.stderr);
    assert_named(&profile);
    // As `top` reads it.
    let run = ondeck(&["profile", "--every", "100ms", "--pid", &guest.pid().to_string(), "--for", "300ms"]);
    assert!(run.stderr.contains("ends most of the waiting for `held`."), "{}", run.stderr);
}

#[test]
fn a_recorded_program_without_a_build_id_that_was_replaced_has_no_names_of_the_new_one() {
    let scratch = Scratch::new("gone-recorded");
    let json = scratch.path("profile.json");
    for id in ["none", "sha1"] {
        let id = format!("-Wl,--build-id={id}");
        let other = compiled(&scratch, "other", PROGRAM, &[&id, "-DOTHER"]);
        let program = compiled(&scratch, "waits", PROGRAM, &[&id]);
        let arguments =
            ["profile", "--rate", "1", "--format", "json", "--out", &json, "--library", crate::library::library()];
        let run = ondeck(&[&arguments[..], &["--", &program, "40", "is replaced by", &other]].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let profile = ondeck_profile::json::from_json(&std::fs::read_to_string(&json).unwrap()).unwrap();
        let own = profile.frames.iter().filter(|frame| frame.module == "waits");
        assert!(own.clone().count() > 0 && own.clone().all(|frame| !frame.is_named), "{:?}", profile.frames);
        let is_it = |note: &&String| note.starts_with(&program) && note.contains("is another file now");
        assert_eq!(profile.notes.iter().filter(is_it).count(), 1, "{:?}", profile.notes);
    }
}

/// Opens the library that the first argument names, and uses it before and after the second takes its place.
const OPENER: &str = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *work(void *hold)
{
    for (int i = 0; i < 40; i++)
        ((void (*)(void))hold)();
    return hold;
}
static void both(void *hold)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, hold);
    work(hold);
    pthread_join(thread, NULL);
}
int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW);
    if (library == NULL)
        return 1;
    both(dlsym(library, "hold"));
    sleep(1);
    if (argc > 2 && rename(argv[2], argv[1]) != 0)
        return 1;
    both(dlsym(library, "hold"));
    return 0;
}
"#;

#[test]
fn a_library_without_a_build_id_that_is_opened_and_replaced_has_no_names_of_the_new_one() {
    let scratch = Scratch::new("gone-opened");
    let json = scratch.path("profile.json");
    let program = compiled(&scratch, "opener", OPENER, &[]);
    for is_replaced in [true, false] {
        let flags = ["-shared", "-fPIC", "-Wl,--build-id=none"];
        let other = compiled(&scratch, "other", LIBRARY, &[&flags[..], &["-DOTHER"]].concat());
        let library = compiled(&scratch, "libhold.so", LIBRARY, &flags);
        let arguments =
            ["profile", "--rate", "1", "--format", "json", "--out", &json, "--library", crate::library::library()];
        let files = &[library.as_str(), &other][..1 + usize::from(is_replaced)];
        let run = ondeck(&[&arguments[..], &["--", &program], files].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let profile = ondeck_profile::json::from_json(&std::fs::read_to_string(&json).unwrap()).unwrap();
        let own = profile.frames.iter().filter(|frame| frame.module == "libhold.so");
        assert!(
            own.clone().count() > 0 && own.clone().all(|frame| frame.is_named != is_replaced),
            "{:?}",
            profile.frames
        );
        let is_it = |note: &&String| note.starts_with(&library) && note.contains("is another file now");
        assert_eq!(profile.notes.iter().filter(is_it).count(), usize::from(is_replaced), "{:?}", profile.notes);
    }
}
