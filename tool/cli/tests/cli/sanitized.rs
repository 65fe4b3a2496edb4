//! Programs that a compiler has built with a sanitizer: refused where they would not work with the library, and run where they
//! do.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::programs::{library, try_compiled};
use crate::support::{Run, command, refused, run};

/// Runs it by this command of `ondeck`.
fn by(ondeck: &str, program: &str, options: &str) -> Run {
    run(command(&[ondeck, "--library", library(), "--", program]).env("ASAN_OPTIONS", options))
}

#[test]
fn a_program_that_a_sanitizer_would_end_is_not_started() {
    for (flags, name) in [
        (&["-fsanitize=address"][..], "AddressSanitizer"),
        (&["-fsanitize=thread"], "ThreadSanitizer"),
        (&["-fsanitize=thread", "-static-libtsan"], "ThreadSanitizer"),
        (&["-fsanitize=thread", "-static-libtsan", "-s"], "ThreadSanitizer"),
    ] {
        let Some(program) = try_compiled("handed.c", flags) else { continue };
        refused(&by("run", &program, ""), 126, &[&program, name, "accepted: ", "a build without it"]);
        for recording in ["profile", "top"] {
            refused(&by(recording, &program, ""), 126, &[&program, name, "ondeck profile --futex -- ", "kernel"]);
        }
    }
}

#[test]
fn a_program_that_a_sanitizer_leaves_alone_works() {
    for (flags, options) in [
        (&["-fsanitize=address"][..], "verify_asan_link_order=0"),
        (&["-fsanitize=address", "-static-libasan"], ""),
        (&["-fsanitize=undefined"], ""),
    ] {
        let Some(program) = try_compiled("handed.c", flags) else { continue };
        for ondeck in ["run", "profile"] {
            let run = by(ondeck, &program, options);
            assert_eq!((run.code, run.stdout.as_str()), (Some(0), "5000\n"), "{ondeck} {flags:?}: {}", run.stderr);
        }
    }
}
