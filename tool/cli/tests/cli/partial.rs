//! What an interrupted run leaves, and how another goes on from it.

use crate::support::{Run, Scratch, command, done, interrupted, signal, takes, until, words};
use crate::usage::refused;
use ondeck_report::output::{Format, OutFile, read};
use std::path::Path;
use std::process::Stdio;

/// A run that would take minutes.
const BENCH: &str = "bench --lock std --workload solo --seconds 0.02 --rounds 5000";
const SIM: &str =
    "sim --machine m1 --lock mcs,ondeck --workload mutex-contention --threads 2 --seconds 0.001 --seeds 5000";

/// A second of work.
const SECOND: u64 = 100;

#[test]
fn an_interrupted_run_leaves_the_old_file_and_its_rows_beside() {
    let signals = [(libc::SIGINT, 130), (libc::SIGTERM, 143)];
    for (run, (signal, code)) in [words(BENCH), words(SIM)].into_iter().zip(signals) {
        let scratch = Scratch::new();
        let (file, page) = (scratch.write("kept.csv", "an old file\n"), scratch.write("page.html", "an old page"));
        let arguments = [&run[..], &["--out", &file, "--report", &page]].concat();
        let Run { code: ended, stdout: table, stderr: said } = interrupted(&arguments, signal, SECOND);
        assert_eq!(ended, Some(code), "{said}");
        let again = format!("\nNext, finish the run:\nondeck {} --resume\n", arguments.join(" "));
        assert!(table.ends_with(&again), "{table}");
        assert!(said.contains("kept.csv.partial; ") && said.contains("kept.csv is unchanged"), "{said}");
        let names = ["kept.csv", "kept.csv.partial", "kept.csv.partial.fingerprint.json", "page.html"];
        assert_eq!(scratch.names(), names);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "an old file\n");
        assert_eq!(std::fs::read_to_string(&page).unwrap(), "an old page");
        let (before, doubts) = read(Path::new(&format!("{file}.partial"))).unwrap();
        assert!(!before.rows.is_empty() && before.fingerprint.is_some() && doubts.is_empty());
        // Its rows are not lost by a run that begins anew, nor mixed with those of another.
        refused(&arguments, &["kept.csv.partial", "would be lost", "--resume", "remove"]);
        refused(&[&arguments[..], &["--resume", "--format", "csv"]].concat(), &["another command: ondeck", "remove"]);
        // Going on and being interrupted again loses nothing either.
        let resumed = [&arguments[..], &["--resume"]].concat();
        let Run { code: ended, stdout: table, .. } = interrupted(&resumed, signal, SECOND);
        assert_eq!(ended, Some(code));
        assert!(table.ends_with(&again), "{table}");
        let (after, _) = read(Path::new(&format!("{file}.partial"))).unwrap();
        // On a busy machine it is one of many doubts, of which the table shows a few.
        let is_told = |warning: &String| warning.contains("measurements were made in an earlier run");
        assert!(after.warnings.iter().any(is_told), "{:?}", after.warnings);
        assert!(after.rows.len() > before.rows.len(), "{} and {}", after.rows.len(), before.rows.len());
        assert!(before.rows.iter().all(|row| after.rows.contains(row)), "what was finished is still there");
        assert_eq!(scratch.names(), names);
    }
}

#[test]
fn without_a_file_what_is_finished_is_printed() {
    let Run { code, stdout: table, stderr: said } = interrupted(&words(BENCH), libc::SIGTERM, SECOND);
    assert_eq!(code, Some(143), "{said}");
    assert!(table.contains("solo") && table.contains("--out FILE.csv"), "{table}");
    refused(&["bench", "--resume"], &["--resume", "--out"]);
    refused(&["bench", "--resume", "--out", "-"], &["--resume", "--out"]);
}

#[test]
fn a_second_signal_ends_at_once() {
    let scratch = Scratch::new();
    let pipe = scratch.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // It waits for a reader of the pipe, whom there never is.
    let arguments = ["bench", "--lock", "std", "--workload", "solo", "--seconds", "0.01", "--rounds", "1"];
    let mut child = command(&[&arguments[..], &["--out", &pipe]].concat());
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("its handlers", || takes(&child, &[libc::SIGINT, libc::SIGTERM]));
    signal(&child, libc::SIGTERM);
    // What comes soon after the first one counts as one with it, and how soon that is noticed depends on the machine.
    let mut ended = None;
    until("the end of a run that was told twice", || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        ended = child.try_wait().unwrap();
        if ended.is_none() {
            signal(&child, libc::SIGINT);
        }
        ended.is_some()
    });
    // If neither was noticed before both had come, either may count as the second.
    assert!([Some(130), Some(143)].contains(&ended.unwrap().code()), "{ended:?}");
}

/// What `words` write to a file with this name; then the same from a part of it.
fn is_the_same_when_gone_on_from(words: &[&str], name: &str, format: Format) {
    let scratch = Scratch::new();
    let file = scratch.path(name);
    let arguments = [words, &["--out", &file]].concat();
    let resumed = [&arguments[..], &["--resume"]].concat();
    let run = done(&resumed);
    assert!(run.stderr.contains("begins from the start"), "{}", run.stderr);
    let whole = std::fs::read_to_string(&file).unwrap();
    let (mut results, _) = read(Path::new(&file)).unwrap();
    results.warnings = vec!["a neighbour".into()];
    let n = results.rows.len();
    results.rows.truncate(n / 2);
    OutFile::check(Path::new(&file)).unwrap().keep(&results, format).unwrap();
    let names = scratch.names();
    let run = done(&resumed);
    for words in ["made in an earlier run", "a neighbour"] {
        assert_eq!(run.stdout.matches(words).count(), 1, "{words:?} in {}", run.stdout);
    }
    assert!(!scratch.names().iter().any(|name| name.contains("partial")), "{:?} of {names:?}", scratch.names());
    let (again, doubts) = read(Path::new(&file)).unwrap();
    assert_eq!((again.rows.len(), &again.rows[..n / 2], doubts), (n, &results.rows[..], vec![]));
    assert!(!again.command.contains("--resume"), "{}", again.command);
    if words[0] == "sim" && format == Format::Csv {
        assert_eq!(std::fs::read_to_string(&file).unwrap(), whole, "byte for byte");
    }
}

#[test]
fn a_run_that_is_gone_on_from_is_whole() {
    let bench = ["bench", "--lock", "std,pthread", "--workload", "solo,spike", "--seconds", "0.01", "--rounds", "2"];
    is_the_same_when_gone_on_from(&bench, "bench.csv", Format::Csv);
    let sim = ["sim", "--machine", "m1", "--lock", "mcs,ondeck", "--workload", "mutex-contention", "--threads", "1,3"];
    let sim = [&sim[..], &["--seconds", "0.001", "--seeds", "2"]].concat();
    is_the_same_when_gone_on_from(&sim, "sim.csv", Format::Csv);
    is_the_same_when_gone_on_from(&sim, "sim.json", Format::Json);
}

#[test]
fn rows_of_unknown_origin_are_not_gone_on_from() {
    let scratch = Scratch::new();
    let file = scratch.path("a.csv");
    let old = "platform,machine,workload,lock,threads,round,seconds\nhardware,m,solo,std,1,0,0.1\n";
    scratch.write("a.csv.partial", old);
    let arguments = ["bench", "--lock", "std", "--workload", "solo", "--out", &file, "--resume"];
    refused(&arguments, &["--resume", "a.csv.partial", "does not say which command", "remove"]);
    scratch.write("a.csv.partial", "nonsense");
    refused(&arguments, &["a.csv.partial, line 1", "column platform is missing"]);
    assert_eq!(scratch.names(), ["a.csv.partial"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_pipe_gets_the_rows_as_they_are() {
    let run = done(&words("bench --lock std --workload solo --seconds 0.01 --rounds 1 --out /dev/stderr"));
    assert!(run.stderr.contains("platform,machine,workload,lock"), "{}", run.stderr);
    assert!(run.stdout.contains("--rounds 10 --out FILE.csv"), "nothing can be read from there again: {}", run.stdout);
}
