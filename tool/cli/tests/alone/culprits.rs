//! Programs with a known culprit: the first paragraph of the list names cause, lock and function.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use crate::alone;
use crate::support::programs::{compiled, library, may_trace, recording_example, source};
use crate::support::{Run, ondeck, until};
use ondeck_launch::ChildProcess;
use std::process::{Command, Stdio};

/// The program, its case, and what is said of it, in this order.
const CULPRITS: [(Program, &str, &[&str]); 28] = [
    (Cpp, "rare", &["`rebuild`", "holds `cache` for ", "ms at a time", "Make it shorter"]),
    (Cpp, "grow", &["`insert`", "holds `queue` for ", "ms at a time", "Make it shorter"]),
    (Cpp, "always", &["`render`", "holds `cache` for ", "Make it shorter"]),
    (Cpp, "sleeper", &["`flush`", "holds `journal` for ", "blocked in clock_nanosleep"]),
    (Cpp, "reply", &["`ask`", "holds `registry` for ", "blocked in read"]),
    (
        Cpp,
        "chain",
        &["`serve`", "holds `queue` while it waits for `index_lock`, which `compact`", "Begin with `compact`"],
    ),
    (Cpp, "deep", &["holds `queue` while it waits for ", "`config`, which `reload`", "blocked in clock_nanosleep"]),
    (Cpp, "hot", &["`stats`", " of the waiting"]),
    (Cpp, "crowd", &["`cache`", " share ", "Use fewer threads, or more cores"]),
    (Cpp, "twins", &["holds `", "Make it shorter."]),
    (Cpp, "kinds", &["locks first used in `transfer"]),
    (Cpp, "readers", &["`rewrite`", "holds `table` for ", "Make it shorter"]),
    (Cpp, "once", &["`load`", "holds `config` once, for ", "blocked in clock_nanosleep"]),
    (Cpp, "calm", &["No lock holds this program back"]),
    (Cpp, "circle", &["Deadlock: ", "holds `", "and waits for `"]),
    (Cpp, "join", &["`collect`", "holds `results` for ", "blocked in pthread_join"]),
    (Cpp, "shard", &["`put`", "holds `shards[3].lock` for ", "Make it shorter"]),
    (Cpp, "again", &["Deadlock: `add`", " locks `totals`, which it holds already"]),
    (
        Cpp,
        "lost",
        &["2 threads wait for the condition variable `ready_now`", "`wait_for_it`", "not seen to be notified"],
    ),
    (Cpp, "herd", &["threads are woken for each `notify_all`", "in `produce`", "Use `notify_one`"]),
    (Cpp, "tries", &["threads tried to lock `registry`", "in vain in `ask_again`"]),
    (Cpp, "stuck", &["3 threads wait for `registry`", "is blocked in poll, in `listen_for_ever`"]),
    (C, "outbox", &["`reply`", "holds `outbox` for ", "blocked in write"]),
    (C, "table", &["`dump`", "holds `table` for ", "Make it shorter"]),
    (C, "accounts", &["`book`", "holds ", "made in `main", "Make it shorter"]),
    (Rust, "sweep", &["sweep`", "holds `culprits::SESSIONS` for ", "Make it shorter"]),
    (Rust, "settings", &["reload`", "holds `culprits::SETTINGS` for ", "blocked in clock_nanosleep"]),
    (Python, "threads", &["Threads wait for `GIL`"]),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Cpp,
    C,
    Rust,
    Python,
}
use Program::{C, Cpp, Python, Rust};

/// Cases that hang until they are killed.
const HANGING: [&str; 4] = ["circle", "again", "lost", "stuck"];

#[test]
fn the_first_paragraph_names_cause_lock_and_function() {
    let _cores = alone();
    let programs = [Cpp, C, Rust, Python].map(|program| (program, program.made()));
    let (mut wrong, mut accounts) = (String::new(), Vec::new());
    for (program, case, expected) in CULPRITS {
        let (_, Some(made)) = programs.iter().find(|(which, _)| *which == program).unwrap() else {
            eprintln!("SKIPPED: {case}, as this machine has no {program:?}");
            continue;
        };
        let hanging: Vec<&str> =
            ["timeout", "-s", "KILL", "2"].into_iter().chain(made.iter().map(String::as_str)).chain([case]).collect();
        let words = if HANGING.contains(&case) { &hanging[..] } else { &hanging[4..] };
        // What else runs on the machine may be what matters most, for once. `crowd` is right in three of four runs.
        let run = profiled(words);
        accounts.extend(account(&run).filter(|_| case != "join"));
        let said = first_of(&run.stderr);
        if !says(&said, expected) && !(0..2).any(|_| says(&first_paragraph(words), expected)) {
            wrong += &format!("{program:?}, {case}: not {expected:?} in {said}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    // The kernel tells in ticks of 10 ms when a thread began. Threads that end sooner, as those of `join`, may not be met.
    let [told, lived] = [0, 1].map(|which| accounts.iter().map(|account: &[f64; 2]| account[which]).sum::<f64>());
    assert!((told - lived).abs() <= 0.01 * lived, "{told} s of {lived} s are told: {accounts:?}");
}

/// What all parts of its threads' time add up to, and how long they have lived as the program says, in seconds.
fn account(run: &Run) -> Option<[f64; 2]> {
    let number = |text: &str, before: &str, units: &[(&str, f64)]| {
        let text = text.split_whitespace().collect::<Vec<&str>>().join(" ");
        let (number, rest) = text.split_once(before)?.1.split_once(' ')?;
        let (_, seconds) = units.iter().find(|(unit, _)| rest.starts_with(unit))?;
        Some(number.parse::<f64>().ok()? * seconds)
    };
    let told = number(&run.stderr, "The time of all threads, ", &[("s:", 1.0), ("ms:", 1e-3)]);
    Some([told?, number(&run.stdout, "its threads lived ", &[("s", 1.0)])?])
}

/// A process that hung before anybody looked.
#[test]
fn a_process_that_hangs_already_is_told_of() {
    if !may_trace() {
        return;
    }
    let _cores = alone();
    let program = Cpp.made().unwrap().remove(0);
    let circle = ["Deadlock: ", "holds `", "and waits for `"];
    let stuck = ["3 threads wait for `registry`", "is blocked in poll, in `listen_for_ever`"];
    let lost = ["2 threads wait for the condition variable `ready_now`", "since"];
    // With the main thread, which waits for the end of the others.
    let cases = [("circle", 4, &circle[..]), ("stuck", 4, &stuck), ("lost", 3, &lost)];
    // With the C library's locks, and with ondeck's, whose threads sleep on words of their own.
    for (preloaded, (case, n_waiting, expected)) in
        ["", library()].into_iter().flat_map(|library| cases.map(|it| (library, it)))
    {
        let mut hangs = Command::new(&program);
        hangs.arg(case).env("LD_PRELOAD", preloaded).stdout(Stdio::null());
        let hangs = ChildProcess::start(&mut hangs, libc::SIGKILL).unwrap();
        until("all of its threads that will wait do", || n_in_futex(hangs.pid()) >= n_waiting);
        let run = ondeck(&["profile", "--pid", &hangs.pid().to_string(), "--for", "1200ms"]);
        let after = run.stderr.split_once('\n').map_or("", |(_, after)| after);
        let said = first_of(after);
        assert!(says(&said, expected), "{case} {preloaded}: not {expected:?} in {said}");
    }
}

/// Threads of a process that sleep for a lock or the like.
fn n_in_futex(process: impl std::fmt::Display) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("it runs, on Linux");
    let calls = tasks.flatten().map(|task| std::fs::read_to_string(task.path().join("syscall")).unwrap_or_default());
    let futex = format!("{} ", libc::SYS_futex);
    calls.filter(|call| call.starts_with(&futex)).count()
}

impl Program {
    /// How it is started; `None` if there is no interpreter for it.
    fn made(self) -> Option<Vec<String>> {
        match self {
            Cpp => Some(vec![compiled("culprits.cpp", &["-std=c++17", "-O2"])]),
            C => Some(vec![compiled("culprits.c", &["-O2"])]),
            Rust => Some(vec![recording_example("ondeck", "culprits")]),
            Python => {
                let has_python = Command::new("/usr/bin/python3").arg("-V").output().is_ok();
                has_python.then(|| vec!["/usr/bin/python3".to_owned(), source("culprits.py")])
            }
        }
    }
}

/// Whether these words are in a text in their order.
pub(crate) fn says(text: &str, words: &[&str]) -> bool {
    let mut rest = text;
    words.iter().all(|words| {
        let after = rest.split_once(words).map(|(_, after)| after);
        rest = after.unwrap_or_default();
        after.is_some()
    })
}

fn profiled(words: &[&str]) -> Run {
    ondeck(&[&["profile", "--library", library(), "--"], words].concat())
}

pub(crate) fn first_paragraph(words: &[&str]) -> String {
    first_of(&profiled(words).stderr)
}

fn first_of(text: &str) -> String {
    text.split("\n\n").next().unwrap_or_default().replace('\n', " ")
}
