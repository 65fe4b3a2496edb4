//! Programs with a known culprit: the first paragraph of the list names cause, lock and function.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::common::{Scratch, ondeck};
use crate::library::library;
use std::process::Command;

/// The case of `culprits.cpp`, and what is said of it, in this order.
const CULPRITS: [(&str, &[&str]); 15] = [
    ("rare", &["`rebuild`", "holds `cache` for ", "ms at a time", "Make it shorter"]),
    ("always", &["`render`", "holds `cache` for ", "Make it shorter"]),
    ("sleeper", &["`flush`", "holds `journal` for ", "blocked in clock_nanosleep"]),
    ("reply", &["`ask`", "holds `registry` for ", "blocked in read"]),
    ("chain", &["`serve`", "holds `queue` while it waits for `index_lock`, which `compact`", "Begin with `compact`"]),
    ("deep", &["holds `queue` while it waits for ", "`config`, which `reload`", "blocked in clock_nanosleep"]),
    ("hot", &["`stats`", " of the waiting"]),
    ("crowd", &["`cache`", " share ", "Use fewer threads, or more cores"]),
    ("twins", &["holds `", "Make it shorter."]),
    ("kinds", &["locks first used in transfer"]),
    ("readers", &["`rewrite`", "holds `table` for ", "Make it shorter"]),
    ("once", &["`load`", "holds `config` once, for ", "blocked in clock_nanosleep"]),
    ("calm", &["No lock holds this program back"]),
    ("circle", &["Deadlock: ", "holds `", "and waits for `"]),
    ("stuck", &["3 threads wait for `registry`", "is blocked in poll, in `listen_for_ever`"]),
];

/// Cases that hang until they are killed.
const HANGING: [&str; 2] = ["circle", "stuck"];

#[test]
fn the_first_paragraph_names_cause_lock_and_function() {
    let scratch = Scratch::new("culprits");
    let program = scratch.path("culprits");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/culprits.cpp");
    let flags = ["-std=c++17", "-g", "-O2", "-pthread", "-o", &program, source];
    assert!(Command::new("c++").args(flags).status().unwrap().success());
    let mut wrong = String::new();
    for (case, expected) in CULPRITS {
        let hanging = ["timeout", "-s", "KILL", "2", &program, case];
        let words = if HANGING.contains(&case) { &hanging[..] } else { &hanging[4..] };
        // What else runs on the machine may be what matters most, for once.
        let after = |rest: Option<String>, words: &&str| Some(rest?.split_once(words)?.1.to_owned());
        let is_right = |said: &String| expected.iter().fold(Some(said.clone()), after).is_some();
        let said = first_paragraph(words);
        if !is_right(&said) && !is_right(&first_paragraph(words)) {
            wrong += &format!("{case}: not {expected:?} in {said}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn first_paragraph(words: &[&str]) -> String {
    let run = ondeck(&[&["profile", "--library", library(), "--"], words].concat());
    run.stderr.split("\n\n").next().unwrap_or_default().replace('\n', " ")
}
