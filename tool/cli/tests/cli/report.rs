//! `ondeck report`: what it makes of result files, and what it refuses.

use crate::support::{Scratch, command, done, ondeck};
use crate::usage::refused;

/// Two runs of a machine that does not exist.
const BEFORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/report/testdata/toy-before.csv");
const AFTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/report/testdata/toy-after.csv");
/// A profile of a program that does not exist.
const PROFILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../profile/testdata/server.json");

fn read(path: &str) -> String {
    std::fs::read_to_string(path).expect("it was written")
}

#[test]
fn a_page_is_one_file_beside_nothing_else() {
    let scratch = Scratch::new();
    let page = scratch.path("page.html");
    let run = ondeck(&["report", BEFORE, AFTER, "-o", &page]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(scratch.names(), ["page.html"]);
    let text = read(&page);
    assert!(text.starts_with("<!DOCTYPE html>") && text.trim_end().ends_with("</html>"));
    for word in ["toy-before.csv", "toy-after.csv", "6.0.0-toy", "other programs used 0.3 CPUs for 2 s"] {
        assert!(text.contains(word), "no {word:?} in the page");
    }
    assert_eq!(ondeck(&["report", BEFORE, AFTER, "-o", &page]).code, Some(0));
    assert_eq!(read(&page), text, "the same files give the same page");
}

#[test]
fn all_forms_at_once() {
    let scratch = Scratch::new();
    let (page, pictures) = (scratch.path("page.html"), scratch.path("new/pictures"));
    let run = done(&["report", AFTER, "-o", &page, "--svg", &pictures, "--markdown"]);
    assert!(run.stdout.contains("mutex-contention"), "{}", run.stdout);
    let names = Scratch::names_in(&pictures);
    assert!(names.len() > 1 && names.iter().all(|name| name.ends_with(".svg")), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("mutex-contention")), "{names:?}");
}

#[test]
fn pictures_replace_those_of_the_same_name_only() {
    let scratch = Scratch::new();
    let (mine, old) = (scratch.write("notes.svg", "mine"), scratch.write("mutex-contention-throughput.svg", "old"));
    let run = ondeck(&["report", AFTER, "--svg", &scratch.path("")]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{}", run.stderr);
    assert_eq!(read(&mine), "mine");
    let pictures: Vec<String> = scratch.names().into_iter().filter(|name| name != "notes.svg").collect();
    for name in &pictures {
        let text = read(&scratch.path(name));
        assert!(text.contains("<svg") && text.trim_end().ends_with("</svg>"), "{name}: {text}");
    }
    assert!(read(&old).contains("mutex-contention"));
    let said: Vec<&str> = run.stderr.lines().filter_map(|line| line.split_once(": ")).map(|line| line.0).collect();
    assert!(pictures.iter().all(|name| said.contains(&name.as_str())), "{said:?} of {pictures:?}");
}

#[test]
fn where_pictures_cannot_be_written_nothing_is() {
    let scratch = Scratch::new();
    let page = scratch.write("page.html", "an old page");
    let into = |directory: &str, words: &[&str]| refused(&["report", AFTER, "-o", &page, "--svg", directory], words);
    into(&page, &["--svg", "page.html", "File exists"]);
    into("/proc", &["--svg", "/proc/", ".svg", "No such file"]);
    let taken = "taken/mutex-contention-throughput.svg";
    std::fs::create_dir_all(scratch.path(taken)).expect("the temporary directory can be written");
    into(&scratch.path("taken"), &["--svg", taken, "is a directory"]);
    assert_eq!(Scratch::names_in(&scratch.path("taken")), ["mutex-contention-throughput.svg"]);
    assert_eq!(read(&page), "an old page");
}

#[test]
fn what_is_no_result_file_is_refused_and_an_old_page_stays() {
    let scratch = Scratch::new();
    let page = scratch.write("page.html", "an old page");
    let good = read(AFTER);
    let cut = scratch.write("cut.csv", &good[..good.len() / 2]);
    let empty = scratch.write("empty.csv", "");
    let foreign = scratch.write("foreign.csv", "a,b\n1,2\n");
    let word = scratch.write("word.csv", &good.replacen(",256,", ",many,", 1));
    let json = scratch.write("cut.json", "{\"rows\": [\n{\"platform\": \"hard");
    let beside = scratch.write("odd.csv", &good);
    scratch.write("odd.csv.fingerprint.json", "{}\n{");
    for (file, words) in [
        (&cut, &["cut.csv", "line", "is the file cut off?"][..]),
        (&empty, &["empty.csv", "is empty", "ondeck bench --out"]),
        (&foreign, &["foreign.csv", "line 1", "column platform is missing", "ondeck bench --out"]),
        (&word, &["word.csv", "line", "threads"]),
        (&json, &["cut.json", "line 2", "cut off"]),
        (&beside, &["odd.csv.fingerprint.json", "line", "ondeck bench --out FILE.csv"]),
        (&scratch.path("missing.csv"), &["missing.csv", "No such file"]),
        (&scratch.path(""), &["cannot be read"]),
    ] {
        refused(&["report", AFTER, file, "-o", &page], words);
        refused(&["report", file, "--markdown"], words);
    }
    assert_eq!(read(&page), "an old page");
}

#[test]
fn unknown_columns_are_named_and_their_rows_kept() {
    let scratch = Scratch::new();
    let more: String = read(AFTER)
        .lines()
        .enumerate()
        .fold(String::new(), |text, (number, line)| text + line + if number == 0 { ",mood\n" } else { ",7\n" });
    let file = scratch.write("mood.csv", &more);
    let run = ondeck(&["report", &file, "--markdown"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(run.stdout.contains("\"mood\""), "the report says so itself: {}", run.stdout);
    let run = ondeck(&["report", &file, "-o", &scratch.path("page.html")]);
    assert!(run.stderr.contains("mood.csv: unknown column \"mood\""), "{}", run.stderr);
}

#[test]
fn a_dash_is_standard_output() {
    let scratch = Scratch::new();
    let in_scratch = |arguments: &[&str]| {
        let output = command(arguments).current_dir(scratch.path("")).output().expect("it can be started");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("all output is text")
    };
    let page = in_scratch(&["report", AFTER, "-o", "-"]);
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"), "{page}");
    let short = ["bench", "--workload", "solo", "--lock", "std", "--seconds", "0.01", "--rounds", "1"];
    let csv = in_scratch(&[&short[..], &["--out", "-"]].concat());
    assert!(csv.starts_with("platform,machine,") && csv.lines().count() == 2, "{csv}");
    let json = in_scratch(&[&short[..], &["--out", "-", "--format", "json"]].concat());
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
    let page = in_scratch(&[&short[..], &["--report", "-"]].concat());
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"), "{page}");
    assert_eq!(scratch.names(), Vec::<String>::new(), "no file is called -");
    refused(&["report", AFTER, "-o", "-", "--markdown"], &["--output -", "--markdown"]);
}

#[test]
fn what_is_read_is_not_overwritten() {
    let scratch = Scratch::new();
    let file = scratch.write("a.csv", &read(AFTER));
    let beside = scratch.write("a.csv.fingerprint.json", &read(&format!("{AFTER}.fingerprint.json")));
    refused(&["report", &file, "-o", &file], &["--output", "a.csv", "would be lost"]);
    refused(&["report", &file, "-o", &beside], &["--output", "a.csv.fingerprint.json", "would be lost"]);
    assert_eq!(read(&file), read(AFTER));
}

#[test]
fn a_profile_has_a_page_and_a_picture_of_its_own() {
    let scratch = Scratch::new();
    let page = scratch.path("page.html");
    let run = ondeck(&["report", PROFILE, "-o", &page, "--svg", &scratch.path("")]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{}", run.stderr);
    assert_eq!(scratch.names(), ["flame-graph.svg", "page.html"]);
    assert!(run.stderr.starts_with("flame-graph.svg: "), "{}", run.stderr);
    let text = read(&page);
    assert!(text.contains("<h1>Waiting for locks in mariadbd</h1>") && text.trim_end().ends_with("</html>"));
    assert!(read(&scratch.path("flame-graph.svg")).contains("Query_cache::try_lock"));
    for files in [&[PROFILE, AFTER][..], &[AFTER, PROFILE], &[PROFILE, PROFILE]] {
        let arguments = [&["report"], files, &["-o", &page]].concat();
        refused(&arguments, &["server.json is a profile", "accepted: this file alone"]);
    }
    refused(&["report", PROFILE, "--markdown"], &["server.json is a profile", "--output PAGE.html and --svg DIR"]);
    let whole = read(PROFILE);
    let cut = scratch.write("cut.json", &whole[..whole.len() / 2]);
    refused(&["report", &cut, "-o", &page], &["cut.json", "line 1", "is the file cut off?"]);
    let newer = scratch.write("newer.json", &whole.replacen("\"version\":1", "\"version\":2", 1));
    refused(&["report", &newer, "-o", &page], &["newer.json", "version 2", "accepted: version 1"]);
    assert_eq!(read(&page), text, "the old page stays");
}

#[test]
fn a_form_and_a_file_are_needed() {
    refused(&["report", AFTER], &["--output", "--svg", "--markdown"]);
    refused(&["report", AFTER, "-o", "/no/such/page.html"], &["--output", "page.html", "No such file"]);
    refused(&["report", AFTER, "--svg", "/proc/pictures"], &["--svg", "/proc/pictures"]);
}

#[test]
fn bench_writes_a_page_too() {
    let scratch = Scratch::new();
    let (page, out) = (scratch.path("page.html"), scratch.path("a.csv"));
    let short = ["bench", "--workload", "solo", "--lock", "ondeck,std", "--seconds", "0.01", "--rounds", "2"];
    let run = done(&[&short[..], &["--report", &page, "--out", &out]].concat());
    assert!(run.stderr.contains("page.html"), "{}", run.stderr);
    assert_eq!(scratch.names(), ["a.csv", "a.csv.fingerprint.json", "page.html"]);
    assert!(read(&page).contains("--rounds 2"), "the command is in the page");
    refused(&[&short[..], &["--report", &out, "--out", &out]].concat(), &["--report", "--out", "a.csv"]);
    refused(&[&short[..], &["--report", "/no/such/page.html"]].concat(), &["--report", "No such file"]);
}
