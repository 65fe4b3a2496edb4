//! The file in the hands of the real pprof, which comes with Go.

use super::write;
use crate::profile::{Lock, Profile};
use crate::rows::{Place, Row, Side, UNKNOWN, of_side, of_takers, with_rest};
use crate::sample::toy;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How to have what is needed, for who starts these tests without it.
const NEEDED: &str = "these tests need Go (Debian: apt-get install golang-go)";

/// `go`, from the path or where its own installer puts it.
fn go() -> PathBuf {
    let installed = Path::new("/usr/local/go/bin/go");
    let works = |go: &Path| Command::new(go).arg("version").output().is_ok_and(|output| output.status.success());
    let found = [Path::new("go"), installed].into_iter().find(|go| works(go));
    found.unwrap_or_else(|| panic!("no `go` in the path or in {}: {NEEDED}", installed.display())).to_path_buf()
}

/// What pprof prints of the toy profile, in a directory of its own with the toy's source. It builds itself when it is asked
/// for the first time, from what came with Go.
#[track_caller]
fn pprof(directory: &Path, flags: &[&str]) -> String {
    std::fs::create_dir_all(directory.join("src")).unwrap();
    let source: Vec<String> = (1..30).map(|line| format!("line_{line}();")).collect();
    std::fs::write(directory.join("src/server.c"), source.join("\n")).unwrap();
    std::fs::write(directory.join("toy.pb.gz"), write(&toy())).unwrap();
    let mut command = Command::new(go());
    command.args(["tool", "pprof", "-symbolize=none"]).args(flags).arg("toy.pb.gz");
    command.current_dir(directory).env("PPROF_TMPDIR", directory).env("TZ", "UTC");
    command.env("GOFLAGS", "-mod=mod").env("GOPROXY", "off").env("GOTOOLCHAIN", "local");
    let output = command.output().unwrap();
    let [text, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "pprof {flags:?} failed; {NEEDED}: {errors}");
    text
}

/// By function, what of the value is its own and what that of all that it called. Of what was inlined, pprof says so.
fn top(directory: &Path, sample_type: &str) -> BTreeMap<String, (i64, i64)> {
    let text = pprof(directory, &["-top", "-unit=ns", "-nodefraction=0", &format!("-sample_index={sample_type}")]);
    assert!(text.contains(&format!("Type: {sample_type}\n")) && text.contains("Duration: 2s"), "{text}");
    let number = |word: &str| word.trim_end_matches("ns").parse().unwrap_or_else(|_| panic!("{word} in {text}"));
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words[5..].join(" ").trim_end_matches(" (inline)").to_string();
        (name, (number(words[0]), number(words[3])))
    };
    text.lines().skip_while(|line| !line.trim().starts_with("flat")).skip(1).map(row).collect()
}

/// The functions of a place, the innermost first; never none.
fn functions(profile: &Profile, place: Place) -> Vec<String> {
    let names: Vec<String> = match place {
        Place::Stack(stack) => profile.frames_of(stack).map(|frame| frame.function.clone()).collect(),
        Place::Without(name) => vec![name.to_owned()],
    };
    if names.is_empty() { vec![UNKNOWN.to_owned()] } else { names }
}

/// The same of the profile itself.
fn expected(rows: &[Row]) -> BTreeMap<String, (i64, i64)> {
    let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for row in rows {
        let functions = functions(&toy(), row.place);
        sums.entry(functions[0].clone()).or_default().0 += row.ns;
        for function in functions {
            sums.entry(function).or_default().1 += row.ns;
        }
    }
    sums.into_iter().map(|(name, (own, all))| (name, (own as i64, all as i64))).collect()
}

#[test]
#[ignore = "needs Go: cargo test -p ondeck-profile --lib pprof::go -- --ignored"]
fn pprof_shows_the_figures_of_the_profile() {
    let scratch = tempfile::tempdir().unwrap();
    let locks = toy().locks;
    let of = |rows: fn(&Lock) -> Vec<Row>| expected(&locks.iter().flat_map(rows).collect::<Vec<Row>>());
    assert_eq!(top(scratch.path(), "delay"), of(|lock| of_side(lock, Side::Waiters)));
    assert_eq!(top(scratch.path(), "held_delay"), of(|lock| of_side(lock, Side::Holders)));
    assert_eq!(top(scratch.path(), "hold_time"), of(of_takers));
    let condition = &toy().conditions[0];
    let rows = with_rest(&condition.waiters, condition.waits, condition.wait_ns);
    assert_eq!(top(scratch.path(), "cond_delay"), expected(&rows));
}

#[test]
#[ignore = "needs Go: cargo test -p ondeck-profile --lib pprof::go -- --ignored"]
fn pprof_knows_callers_lines_and_labels() {
    let scratch = tempfile::tempdir().unwrap();
    let has = |flags: &[&str], words: &[&str]| {
        let text = pprof(scratch.path(), flags);
        let squeezed = text.split_whitespace().collect::<Vec<&str>>().join(" ");
        words.iter().for_each(|word| assert!(squeezed.contains(word), "no {word} for {flags:?} in {text}"));
    };
    // Without a sample type it is the delay of who waited.
    has(&["-peek=push"], &["Type: delay", "2000us 100% | worker", "2000us 100% | queue_lock (inline)"]);
    has(&["-list=push"], &["ROUTINE ======================== push in src/server.c", ". 2ms 4:line_4();"]);
    let counts = ["Total 1118 of 1118", "1100 (98.39%): queue.mutex+8", "1115 (99.73%): server (100)"];
    has(&["-tags", "-sample_index=contentions"], &counts);
    let causes = ["2.10ms (80.69%): other-lock", "2.10ms (80.69%): LOGGER"];
    has(&["-tags", "-sample_index=held_delay"], &causes);
    let focus = ["-top", "-nodefraction=0", "-sample_index=held_delay", "-tagfocus=cause=other-lock"];
    has(&focus, &["80.69% of 2602.50us total"]);
    has(&["-top", "-tagfocus=lock=LOGGER"], &["500us, 19.21% of 2602.50us total", "<log::File as log::Sink>::write"]);
    let mapping = "1: 0x0/0x1051/0x0 /usr/bin/server 00112233445566778899aabbccddeeff00112233 [FN][FL][LN][IN]";
    has(
        &["-raw"],
        &["PeriodType: acquisitions count Period: 16", "contentions/count delay/nanoseconds[dflt]", mapping],
    );
    let comments = ["Command: ./server --port '80 80'", "Rate: 1 of 16", "Not recorded: samples 5, stacks 1"];
    has(&["-top"], &comments);
}
