//! Every wrong command line ends with exit code 2 and one line that names the flag and what is accepted.

use crate::support::{self, Scratch, ondeck, words};

/// Runs the command; it must fail with 2, and its one line must have all the words.
#[track_caller]
pub(crate) fn refused(arguments: &[&str], words: &[&str]) {
    eprintln!("{arguments:?}");
    support::refused(&ondeck(arguments), 2, words);
}

#[test]
fn what_is_wrong_is_refused() {
    let rows = include_str!("refusals.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for (line, said) in rows.map(|row| row.split_once(" => ").expect("each row has both")) {
        refused(&words(line), &said.split(" | ").collect::<Vec<&str>>());
    }
}

/// Measuring takes more than two seconds of computing, after which this one is killed.
#[test]
fn files_that_cannot_be_written_are_refused_before_anything_runs() {
    let limited = std::process::Command::new("sh")
        .args(["-c", "ulimit -t 2; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_ondeck")])
        .args(["bench", "--out", "/no/such/directory/a.csv"])
        .output();
    assert_eq!(limited.unwrap().status.code(), Some(2), "something was measured");
    refused(&["bench", "--out", &Scratch::new().path("")], &["--out", "is a directory"]);
}

/// What is wrong with one of them, tests of `report` say, which reads them as `compare` does.
#[test]
fn files_that_cannot_be_compared() {
    let scratch = Scratch::new();
    let file = |name: &str, row: &str| {
        let header = "platform,machine,workload,lock,threads,round,seconds,ops\nhardware,";
        scratch.write(name, &format!("{header}{row},0,0.1,5\n"))
    };
    let (good, other) = (file("good.csv", "m,solo,std,1"), file("other.csv", "n,handoff-fast,std,2"));
    let odd = file("odd.csv", "m,solo,std,few");
    refused(&["compare", &good, "/no/such.csv"], &["/no/such.csv", "cannot be read"]);
    refused(&["compare", &odd, &good], &["odd.csv, line 2", "threads"]);
    let nothing = "good.csv and other.csv have nothing in common";
    refused(&["compare", &good, &other], &[nothing, "solo, 1 thread, std", "handoff-fast, 2 threads, std"]);
}

#[test]
fn a_bare_ondeck_shows_help_and_fails() {
    assert_eq!([&["--version"][..], &[]].map(|words| ondeck(words).code), [Some(0), Some(2)]);
}
