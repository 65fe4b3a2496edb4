//! The command that says more than a run did.

use crate::wording::{quoted, typed};

/// Where the results of a run are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Storage<'a> {
    /// On the screen, or where no program reads them again.
    Nowhere,
    /// In this file, which `ondeck compare` reads.
    File(&'a str),
    /// In a file beside the one that was asked for: the run is not whole.
    Partial,
}

/// As many as show a change of a few percent on a quiet machine, and the interval of a median.
const ROUNDS: usize = 10;

/// What helps where others have used the machine.
const QUIETER: &str = "measure again while nothing else runs here";

/// What to do, and a command that can be typed as it stands. `command` made the run, of so many rounds. `None` of a
/// run that is not whole.
pub(super) fn next(command: &str, rounds: usize, kept: Storage, is_disturbed: bool) -> Option<(&'static str, String)> {
    let words = words(command);
    let with_rounds = |words: &[String]| format!("{} --rounds {}", line(words), ROUNDS.max(rounds));
    // A timeline is of one run.
    let again = ["--rounds", "--trace"].iter().fold(words.clone(), |words, flag| without(words, flag));
    Some(match kept {
        Storage::Partial => return None,
        Storage::File(file) if rounds >= ROUNDS && !is_disturbed => {
            ("measure again after your change, and compare", comparison(words, file))
        }
        Storage::File(_) => {
            (if is_disturbed { QUIETER } else { "run more rounds to see small differences" }, with_rounds(&again))
        }
        Storage::Nowhere => {
            let reason = if is_disturbed { QUIETER } else { "run more rounds, and keep them for `ondeck compare`" };
            (reason, with_rounds(&without(without_file(again), "--format")) + " --out FILE.csv")
        }
    })
}

/// The same run into another file, then both side by side.
fn comparison(words: Vec<String>, file: &str) -> String {
    // The page is of the run before.
    let words = without(without_file(words), "--report");
    let after = match file.rsplit_once('.') {
        Some((stem, extension)) if !extension.contains('/') => format!("{stem}-after.{extension}"),
        _ => format!("{file}-after"),
    };
    let [file, after] = [file, &after].map(quoted);
    format!("{} --out {after} && ondeck compare {file} {after}", line(&words))
}

/// The words of a command line that [`line`] has made; a flag and its value are two.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => word.extend(chars.next()),
            ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
            _ => word.push(c),
        }
    }
    words.push(word);
    let split = |word: String| match word.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => vec![flag.to_string(), value.to_string()],
        _ => vec![word],
    };
    words.into_iter().flat_map(split).collect()
}

/// The command line of these words.
fn line(words: &[String]) -> String {
    typed(words)
}

/// The words without a flag and its value.
fn without(words: Vec<String>, flag: &str) -> Vec<String> {
    without_values(words, flag, |_| true)
}

/// The words without the file of `--out`; with the units of work that it may have too.
fn without_file(words: Vec<String>) -> Vec<String> {
    without_values(words, "--out", |value| !value.bytes().all(|byte| byte.is_ascii_digit()))
}

fn without_values(words: Vec<String>, flag: &str, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
    let mut left = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if word == flag && words.peek().is_some_and(|value| is_meant(value)) {
            words.next();
        } else {
            left.push(word);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command that is said to be the next after one of so many rounds on a quiet machine.
    fn after(command: &str, rounds: usize, kept: Storage) -> String {
        next(command, rounds, kept, false).map_or(String::new(), |(_, command)| command)
    }

    #[test]
    fn more_rounds_are_next_and_a_file_to_keep_them() {
        for (command, expected) in [
            ("ondeck bench --rounds 2 --lock std", "ondeck bench --lock std --rounds 10 --out FILE.csv"),
            ("ondeck bench --rounds=2 --out - --format table", "ondeck bench --rounds 10 --out FILE.csv"),
            ("ondeck bench --out 60 --out /dev/fd/3", "ondeck bench --out 60 --rounds 10 --out FILE.csv"),
            ("ondeck sim --machine m1 --trace t.json", "ondeck sim --machine m1 --rounds 10 --out FILE.csv"),
            (
                "ondeck bench '--lock=ondeck[look_ns=0],std' --report 'my page.html'",
                "ondeck bench --lock 'ondeck[look_ns=0],std' --report 'my page.html' --rounds 10 --out FILE.csv",
            ),
        ] {
            assert_eq!(after(command, 2, Storage::Nowhere), expected);
        }
        let kept = Storage::File("a b.csv");
        let expected = "ondeck sim --lock mcs --out 'a b.csv' --rounds 10";
        assert_eq!(after("ondeck sim --rounds 2 --lock mcs --out 'a b.csv'", 2, kept), expected);
    }

    #[test]
    fn enough_rounds_are_compared_with_those_after_a_change() {
        let command = "ondeck bench --rounds 12 --out 7 --out './a b.csv' --report p.html";
        let expected = "ondeck bench --rounds 12 --out 7 --out './a b-after.csv' && \
            ondeck compare './a b.csv' './a b-after.csv'";
        assert_eq!(after(command, 12, Storage::File("./a b.csv")), expected);
        assert!(after("ondeck bench --out x.d/res", 12, Storage::File("x.d/res")).ends_with("x.d/res x.d/res-after"));
        let (reason, again) = next(command, 12, Storage::File("./a b.csv"), true).unwrap();
        assert!(reason.contains("nothing else runs") && again.ends_with("--report p.html --rounds 12"), "{again}");
    }

    #[test]
    fn words_are_read_as_a_shell_does() {
        let line = r"a '' 'it'\''s' '--x=y z' --cores 2";
        assert_eq!(words(line), ["a", "", "it's", "--x", "y z", "--cores", "2"]);
        assert_eq!(super::line(&words(line)), r"a '' 'it'\''s' --x 'y z' --cores 2");
    }
}
