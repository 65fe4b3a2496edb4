//! `ondeck run --stats` under a service manager, which knows the process that it has started by its number: that one is the program.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::support::programs::{compiled, library};
use crate::support::{Scratch, command, until};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// What a shell has said before it became the program: its number, its children, who it was told to be, where it is recorded.
const SAYS: &str =
    r#"read -r all </proc/$$/task/$$/children; echo "$$ [$all] $1"; echo "$ONDECK_RECORD"; shift; exec "$@""#;

/// Processes that were started with this word, and are not that one.
fn others(word: &str, pid: u32) -> Vec<i32> {
    let pids =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has_word = |pid: &i32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|one| one == word.as_bytes())
    };
    pids.filter(|other| *other != pid.cast_signed()).filter(has_word).collect()
}

#[test]
fn the_program_has_the_number_that_the_manager_knows_and_all_is_written_after_its_end() {
    let program = compiled("counted.c", &[]);
    // As systemd says it, and as those before version 248 do.
    for tells in
        ["SYSTEMD_EXEC_PID=$$", "NOTIFY_SOCKET=/run/none LISTEN_PID=$$ LISTEN_FDS=1", "NOTIFY_SOCKET=/run/none"]
    {
        let scratch = Scratch::new();
        let file = scratch.path("locks.prom");
        let flags = ["run", "--library", library(), "--stats", &file, "--every", "1h", "--lock", "glibc", "--"];
        let ondeck = command(&flags);
        let mut manager = Command::new("sh");
        manager.args(["-c", &format!("unset SYSTEMD_EXEC_PID; export {tells}; exec 3</dev/null; exec \"$@\""), "sh"]);
        manager.arg(ondeck.get_program()).args(ondeck.get_args());
        manager.args(["sh", "-c", SAYS, "sh", tells, &program, "10", "3"]);
        let mut child = manager.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert_eq!(said.next(), Some(format!("{} [] {tells}", child.id())));
        let recordings = said.next().unwrap();
        // What a manager sends to all processes of the service is for the program.
        let observers = others(&file, child.id());
        assert_eq!((observers.len(), Path::new(&recordings).exists()), (1, true), "{observers:?}");
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGRTMIN()] {
            // SAFETY: takes numbers only.
            assert_eq!(unsafe { libc::kill(observers[0], signal) }, 0);
        }
        // It steps aside at its own pace.
        let kept = format!("/proc/{}/fd/3", observers[0]);
        let keeps = || std::fs::read_link(&kept).is_ok_and(|target| target == Path::new("/dev/null"));
        until("it keeps what is its own", || keeps() != tells.contains("LISTEN"));
        // The program's own.
        assert_eq!(child.wait().unwrap().code(), Some(7));
        until("the observer's end", || others(&file, child.id()).is_empty());
        let text = std::fs::read_to_string(&file).unwrap();
        let n_waits = text.lines().find(|line| line.starts_with("ondeck_lock_waits_total{lock=\"cache\""));
        assert!(n_waits.is_some_and(|line| line.ends_with(" 33")), "{text}");
        assert!(!Path::new(&recordings).exists(), "{recordings}");
    }
}
