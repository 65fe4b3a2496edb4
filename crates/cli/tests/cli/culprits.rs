//! Programs with a known culprit: the first paragraph of the list names cause, lock and function.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::common::{Scratch, ondeck};
use crate::library::library;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The case of `culprits.cpp`, and what is said of it, in this order.
const CULPRITS: [(&str, &[&str]); 21] = [
    ("rare", &["`rebuild`", "holds `cache` for ", "ms at a time", "Make it shorter"]),
    ("always", &["`render`", "holds `cache` for ", "Make it shorter"]),
    ("sleeper", &["`flush`", "holds `journal` for ", "blocked in clock_nanosleep"]),
    ("reply", &["`ask`", "holds `registry` for ", "blocked in read"]),
    ("chain", &["`serve`", "holds `queue` while it waits for `index_lock`, which `compact`", "Begin with `compact`"]),
    ("deep", &["holds `queue` while it waits for ", "`config`, which `reload`", "blocked in clock_nanosleep"]),
    ("hot", &["`stats`", " of the waiting"]),
    ("crowd", &["`cache`", " share ", "Use fewer threads, or more cores"]),
    ("twins", &["holds `", "Make it shorter."]),
    ("kinds", &["locks first used in `transfer"]),
    ("readers", &["`rewrite`", "holds `table` for ", "Make it shorter"]),
    ("once", &["`load`", "holds `config` once, for ", "blocked in clock_nanosleep"]),
    ("calm", &["No lock holds this program back"]),
    ("circle", &["Deadlock: ", "holds `", "and waits for `"]),
    ("join", &["`collect`", "holds `results` for ", "blocked in pthread_join"]),
    ("shard", &["`put`", "holds `shards[3].lock` for ", "Make it shorter"]),
    ("again", &["Deadlock: `add`", " locks `totals`, which it holds already"]),
    ("lost", &["2 threads wait for the condition variable `ready_now`", "in `wait_for_it`", "not seen to be notified"]),
    ("herd", &["threads are woken for each `notify_all`", "in `produce`", "Use `notify_one`"]),
    ("tries", &["threads tried to lock `registry`", "in vain in `ask_again`"]),
    ("stuck", &["3 threads wait for `registry`", "is blocked in poll, in `listen_for_ever`"]),
];

/// Cases that hang until they are killed.
const HANGING: [&str; 4] = ["circle", "again", "lost", "stuck"];

#[test]
fn the_first_paragraph_names_cause_lock_and_function() {
    let scratch = Scratch::new("culprits");
    let program = compiled(&scratch);
    let mut wrong = String::new();
    for (case, expected) in CULPRITS {
        let hanging = ["timeout", "-s", "KILL", "2", &program, case];
        let words = if HANGING.contains(&case) { &hanging[..] } else { &hanging[4..] };
        // What else runs on the machine may be what matters most, for once.
        let said = first_paragraph(words);
        if !says(&said, expected) && !says(&first_paragraph(words), expected) {
            wrong += &format!("{case}: not {expected:?} in {said}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A process that hung before anybody looked.
#[test]
fn a_process_that_hangs_already_is_told_of() {
    if !crate::kernel::may_trace() {
        return;
    }
    let scratch = Scratch::new("culprits-attached");
    let program = compiled(&scratch);
    let circle = ["Deadlock: ", "holds `", "and waits for `"];
    let stuck = ["3 threads wait for `registry`", "is blocked in poll, in `listen_for_ever`"];
    let lost = ["2 threads wait for the condition variable `ready_now`", "since"];
    let cases = [("circle", &circle[..]), ("stuck", &stuck), ("lost", &lost)];
    // With the C library's locks, and with ondeck's, whose threads sleep on words of their own.
    for (preloaded, (case, expected)) in ["", library()].into_iter().flat_map(|library| cases.map(|it| (library, it))) {
        let mut hangs = Command::new(&program);
        let mut hangs = hangs.arg(case).env("LD_PRELOAD", preloaded).stdout(Stdio::null()).spawn().unwrap();
        let pid = hangs.id().to_string();
        // All of its threads that will wait do.
        std::thread::sleep(Duration::from_secs(1));
        let run = ondeck(&["profile", "--pid", &pid, "--for", "1200ms"]);
        hangs.kill().unwrap();
        hangs.wait().unwrap();
        let after = run.stderr.split_once('\n').map_or("", |(_, after)| after);
        let said = first_of(after);
        assert!(says(&said, expected), "{case} {preloaded}: not {expected:?} in {said}");
    }
}

fn compiled(scratch: &Scratch) -> String {
    let program = scratch.path("culprits");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/culprits.cpp");
    let flags = ["-std=c++17", "-g", "-O2", "-pthread", "-o", &program, source];
    assert!(Command::new("c++").args(flags).status().unwrap().success());
    program
}

/// Whether these words are in a text in their order.
fn says(text: &str, words: &[&str]) -> bool {
    let mut rest = text;
    words.iter().all(|words| {
        let after = rest.split_once(words).map(|(_, after)| after);
        rest = after.unwrap_or_default();
        after.is_some()
    })
}

fn first_paragraph(words: &[&str]) -> String {
    first_of(&ondeck(&[&["profile", "--library", library(), "--"], words].concat()).stderr)
}

fn first_of(text: &str) -> String {
    text.split("\n\n").next().unwrap_or_default().replace('\n', " ")
}
