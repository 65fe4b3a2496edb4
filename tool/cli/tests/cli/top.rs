//! `ondeck top`: lists without a terminal, the whole of one and keys in it, and an end that leaves nothing behind.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::support::programs::{compiled, library, own_copy};
use crate::support::{self, Scratch, command, failed, ondeck, takes, until};
use ondeck_launch::ChildProcess;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

fn words<'a>(more: &[&'a str], program: &[&'a str]) -> Vec<&'a str> {
    [&["top", "--library", library()], more, &["--"], program].concat()
}

/// Whether the program at this path runs.
fn runs(program: &str) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| line.starts_with(program.as_bytes()))
}

#[test]
fn without_a_terminal_there_is_a_list_each_second() {
    let program = compiled("waiters.c", &[]);
    let run = ondeck(&words(&[], &[&program, "3000"]));
    assert_eq!(run.code, Some(7), "{}", run.stderr);
    let lists: Vec<&str> = run.stdout.matches("waiters (process ").collect();
    assert!(lists.len() >= 2, "{}", run.stdout);
    assert!(run.stdout.contains("  held") && run.stdout.contains("hold 100 %"), "{}", run.stdout);
    // Without looks at the holders, it would not be known what they do.
    assert!(run.stdout.contains(" blocked in clock_nanosleep"), "{}", run.stdout);
    assert!(run.stderr.contains("holds `held` for ") && run.stderr.contains("Threads waited "), "{}", run.stderr);
    assert!(
        run.stderr.ends_with(&format!(" exit code 7. To see what it printed:\n{program} 3000\n")),
        "{}",
        run.stderr
    );
}

#[test]
fn a_signal_is_the_programs_too() {
    let scratch = Scratch::new();
    let program = own_copy(&scratch, &compiled("waiters.c", &[]));
    for (signal, code) in [(libc::SIGTERM, 143), (libc::SIGINT, 130)] {
        let mut child =
            command(&words(&[], &[&program, "600000"])).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        until("its handlers", || takes(&child, &[signal]));
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        assert!(runs(&program));
        support::signal(&child, signal);
        output.read_to_string(&mut String::new()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert!(!runs(&program));
    }
}

#[test]
fn what_cannot_be_watched_is_refused_and_what_the_program_prints_is_thrown_away() {
    for (flags, program, code, word) in
        [(&["--lock", "std-port"][..], "true", 2, "--lock std-port"), (&[], "no-such-program", 127, "no-such-program")]
    {
        failed(&ondeck(&words(flags, &[program])), code, &[word]);
    }
    let run = ondeck(&words(&[], &["sh", "-c", r#"echo one; echo t"w"o >&2"#]));
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.contains("two")), (Some(0), "", false), "{}", run.stderr);
}

/// `ondeck` in a pseudo-terminal.
struct Terminal {
    script: Child,
    output: ChildStdout,
    /// What was shown until now.
    seen: String,
    /// The number of `ondeck`.
    pid: i32,
}

impl Terminal {
    /// With the program `script`, which most systems have. After `ondeck` has ended, it shows how the terminal is.
    fn open(words: &[&str]) -> Option<Terminal> {
        let scratch = Scratch::new();
        let (ondeck, pid) = (env!("CARGO_BIN_EXE_ondeck"), scratch.path("pid"));
        let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let line = format!(
            r#"stty cols 120 rows 20; sh -c 'echo $$ >{pid}; exec "$0" "$@"' '{ondeck}' {}; code=$?; stty -a; exit $code"#,
            words.join(" ")
        );
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env_remove("COLUMNS");
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut script = script.spawn().ok()?;
        let output = script.stdout.take().unwrap();
        let mut terminal = Terminal { script, output, seen: String::new(), pid: 0 };
        terminal.until("SIGTERM");
        terminal.pid = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
        Some(terminal)
    }

    /// Until that is shown, from now on.
    fn until(&mut self, word: &str) {
        let (begin, mut bytes, from) = (Instant::now(), [0; 4096], self.seen.len());
        while !self.seen[from..].contains(word) {
            assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", self.seen);
            let n = self.output.read(&mut bytes).unwrap();
            assert!(n > 0, "{:?}", self.seen);
            self.seen += &String::from_utf8_lossy(&bytes[..n]);
        }
    }

    fn press(&mut self, keys: &str) {
        self.script.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// What is shown until the end, and the exit code.
    fn end(mut self) -> (String, Option<i32>) {
        let mut rest = Vec::new();
        self.output.read_to_end(&mut rest).unwrap();
        (String::from_utf8_lossy(&rest).into_owned(), self.script.wait().unwrap().code())
    }
}

#[test]
fn a_terminal_is_as_it_was_after_a_key_or_a_signal() {
    let scratch = Scratch::new();
    let program = own_copy(&scratch, &compiled("waiters.c", &[]));
    for (key, expected) in [("q", 0), ("\x03", 130), ("", 143)] {
        let Some(mut terminal) = Terminal::open(&words(&[], &[&program, "600000"])) else { return };
        terminal.until("`held`");
        // Another screen, without a cursor.
        assert!(terminal.seen.contains("\x1b[?1049h\x1b[?25l"), "{:?}", terminal.seen);
        if key.is_empty() {
            // SAFETY: takes numbers only; the shell that waits for it does not end before it.
            assert_eq!(unsafe { libc::kill(terminal.pid, libc::SIGTERM) }, 0);
        }
        terminal.press(key);
        let (rest, code) = terminal.end();
        let (_, after) = rest.split_once("\x1b[?25h\x1b[?1049l").unwrap_or_else(|| panic!("{rest:?}"));
        assert!(after.contains("waiters: `hold` (waiters.c:"), "{rest:?}");
        assert!(after.contains(" icanon ") && after.contains(" echo "), "{rest:?}");
        assert_eq!(code, Some(expected), "{rest:?}");
        assert!(!runs(&program));
    }
}

#[test]
fn a_terminal_may_become_smaller_and_its_program_may_end() {
    let program = compiled("waiters.c", &[]);
    let Some(mut terminal) = Terminal::open(&words(&[], &[&program, "600000"])) else { return };
    terminal.until("`held`");
    let device = std::fs::read_link(format!("/proc/{}/fd/1", terminal.pid)).unwrap();
    let resized = Command::new("stty").arg("-F").arg(device).args(["cols", "20", "rows", "6"]).status();
    assert!(resized.unwrap().success());
    // The last line is cut off there, and the next picture begins.
    terminal.until("q: end the program (\x1b[H");
    let picture = terminal.seen.rsplit("\x1b[H").nth(1).unwrap();
    assert_eq!(picture.matches("\x1b[2K").count(), 6, "{picture:?}");
    let number = terminal.seen.split("waiters (process ").nth(1).and_then(|rest| rest.split(')').next()).unwrap();
    // SAFETY: takes numbers only.
    assert_eq!(unsafe { libc::kill(number.parse().unwrap(), libc::SIGKILL) }, 0);
    let (rest, code) = terminal.end();
    let (_, after) = rest.split_once("\x1b[?25h\x1b[?1049l").unwrap_or_else(|| panic!("{rest:?}"));
    assert!(after.contains("The program ended with exit code 137."), "{rest:?}");
    assert_eq!(code, Some(137), "{rest:?}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_process_that_runs_already_is_seen_and_runs_on() {
    if !crate::support::programs::may_trace() {
        return;
    }
    let scratch = Scratch::new();
    let program = own_copy(&scratch, &compiled("waits.c", &[]));
    let guest = ChildProcess::start(Command::new(&program).arg("600000").stdout(Stdio::null()), libc::SIGKILL).unwrap();
    let top = ["top", "--pid", &guest.pid().to_string()];
    let mut child = command(&top).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut seen = String::new();
    while ["  held", "held meanwhile by", "hold 100 %"].iter().any(|word| !seen.contains(word)) {
        assert!(output.read_line(&mut seen).unwrap() > 0, "{seen}");
    }
    support::signal(&child, libc::SIGINT);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("`held`"), "{seen}");
    assert!(runs(&program));
}

#[test]
fn who_waits_for_whom_is_said_while_a_program_hangs() {
    let program = compiled("circle.c", &[]);
    let run = command(&words(&[], &[&program])).env("COLUMNS", "80").output().unwrap();
    let lists = String::from_utf8(run.stdout).unwrap();
    let plain = lists.replace('\n', " ");
    assert!(plain.contains("Deadlock: ") && plain.contains("holds `accounts` and waits for `totals` since"), "{lists}");
    assert!(lists.lines().all(|line| line.chars().count() <= 80), "{lists}");
}
