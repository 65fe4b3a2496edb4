//! Programs that a compiler has built with a sanitizer: refused where they would not work with the library, and run where they
//! do.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::common::{Run, Scratch, command, refused};
use crate::library::library;
use std::process::{Command, Stdio};

/// One thread makes what another one waits for, with a condition variable.
const HANDED: &str = r#"
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t made = PTHREAD_COND_INITIALIZER;
static long n, taken;
static void *make(void *unused)
{
    for (int i = 0; i < 5000; i++) {
        pthread_mutex_lock(&held);
        n++;
        pthread_cond_signal(&made);
        pthread_mutex_unlock(&held);
    }
    return unused;
}
int main(void)
{
    pthread_t maker;
    pthread_create(&maker, NULL, make, NULL);
    for (; taken < 5000; taken++) {
        pthread_mutex_lock(&held);
        while (n == 0)
            pthread_cond_wait(&made, &held);
        n--;
        pthread_mutex_unlock(&held);
    }
    pthread_join(maker, NULL);
    printf("%ld\n", taken);
    return 0;
}
"#;

/// The program built with these flags. Who has no such runtime is told what was skipped.
fn built(scratch: &Scratch, flags: &[&str]) -> Option<String> {
    let (source, program) = (scratch.write("handed.c", HANDED), scratch.path(&flags.join("")));
    let mut how = Command::new("gcc");
    how.args(["-g", "-O1", "-pthread", "-o", &program, &source]).args(flags).stderr(Stdio::null());
    if how.status().is_ok_and(|status| status.success()) {
        return Some(program);
    }
    eprintln!("SKIPPED: gcc {flags:?} cannot be built here");
    None
}

/// Runs it by this command of `ondeck`.
fn by(ondeck: &str, program: &str, options: &str) -> Run {
    let mut command = command(&[ondeck, "--library", library(), "--", program]);
    let output = command.env("ASAN_OPTIONS", options).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn a_program_that_a_sanitizer_would_end_is_not_started() {
    let scratch = Scratch::new("sanitized-refused");
    for (flags, name) in [
        (&["-fsanitize=address"][..], "AddressSanitizer"),
        (&["-fsanitize=thread"], "ThreadSanitizer"),
        (&["-fsanitize=thread", "-static-libtsan"], "ThreadSanitizer"),
        (&["-fsanitize=thread", "-static-libtsan", "-s"], "ThreadSanitizer"),
    ] {
        let Some(program) = built(&scratch, flags) else { continue };
        refused(&by("run", &program, ""), 126, &[&program, name, "accepted: ", "a build without it"]);
        for recording in ["profile", "top"] {
            refused(&by(recording, &program, ""), 126, &[&program, name, "ondeck profile --futex -- ", "kernel"]);
        }
    }
}

#[test]
fn a_program_that_a_sanitizer_leaves_alone_works() {
    let scratch = Scratch::new("sanitized-works");
    for (flags, options) in [
        (&["-fsanitize=address"][..], "verify_asan_link_order=0"),
        (&["-fsanitize=address", "-static-libasan"], ""),
        (&["-fsanitize=undefined"], ""),
    ] {
        let Some(program) = built(&scratch, flags) else { continue };
        for ondeck in ["run", "profile"] {
            let run = by(ondeck, &program, options);
            assert_eq!((run.code, run.stdout.as_str()), (Some(0), "5000\n"), "{ondeck} {flags:?}: {}", run.stderr);
        }
    }
}
