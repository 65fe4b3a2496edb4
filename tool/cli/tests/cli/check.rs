//! `ondeck check`, with a budget in which figures mean little and files mean all that they should.

use crate::support::{Run, Scratch, calibration, command, done, interrupted};
use crate::usage::refused;
use ondeck_report::inputs::Inputs;

/// One lock of ours and one of others, in two settings.
const TINY: [&str; 11] = [
    "check",
    "--workload",
    "solo,mutex-contention",
    "--lock",
    "ondeck,std",
    "--threads",
    "2",
    "--seconds",
    "0.01",
    "--rounds",
    "2",
];

/// A name that nothing in a file can have by chance.
const USER: &str = "zaphodbeeblebrox";

#[test]
fn a_check_tells_prints_and_writes_what_it_found() {
    let scratch = Scratch::new();
    let [rows, page, given] =
        ["rows.csv", "page.html", "given.json"].map(|name| scratch.path(&format!("{USER}-{name}")));
    let files = ["--out", &rows, "--report", &page, "--contribute", &given];
    let output = command(&[&TINY[..], &["--seeds", "1"], &files].concat())
        .envs([("USER", USER), ("LOGNAME", USER), ("HOME", USER), ("COLUMNS", "100")])
        .output()
        .unwrap();
    let [shown, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(output.status.code(), Some(0), "{said}");
    let first = shown.lines().next().unwrap();
    let possible =
        ["Simulated within 15 % of measured in ", "The rounds of all ", "This machine ran at another speed "];
    assert!(possible.iter().any(|words| first.starts_with(words)), "{shown}");
    for words in ["mutex-contention", "ondeck", "farthest off", "Ranking of the locks"] {
        assert!(shown.contains(words), "no {words:?} in {shown}");
    }
    assert!(said.contains("4 points in 2 settings"), "{said}");

    let counts = [&rows, &given].map(|path| {
        let inputs = Inputs::read(&[path.as_str().into()]).unwrap();
        let rows = inputs.sources.iter().flat_map(|source| &source.results.rows);
        let (simulated, measured): (Vec<_>, Vec<_>) = rows.partition(|row| row.platform == "sim");
        (measured.len(), simulated.len())
    });
    // Rounds in which the machine ran at another speed are not in the files.
    let is_whole = !shown.contains("the machine ran at another speed than");
    assert!(counts[0].0 == 8 || !is_whole && counts[0].0 < 8, "{counts:?} {shown}");
    assert_eq!(counts, [(counts[0].0, 4); 2]);
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("measured and simulated") && page.contains("How far is the simulation to be believed here?"));
    what_is_given_away(&std::fs::read_to_string(&given).unwrap());
    // A file of a check is one of results.
    done(&["compare", &rows, &given]);
}

/// The calibration and the verdict are in it, and nothing that tells whose machine it is.
#[track_caller]
fn what_is_given_away(text: &str) {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    let names: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert_eq!(names, ["calibration", "command", "fingerprint", "rows", "verdict", "warnings"]);
    assert_eq!(value["command"].as_str(), Some("ondeck check"));
    let calibration = value["calibration"].as_str().unwrap();
    assert!(calibration.parse::<toml::Table>().unwrap().contains_key("calibration"), "{calibration}");
    assert!(!text.contains(USER), "the user's name, from the environment or a path");
    assert!(!text.contains(std::env::temp_dir().to_str().unwrap()), "a path");
    // What the fingerprint says of the kind of machine may by chance be what its owner has called it.
    let kind = value["fingerprint"].to_string();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let is_by_chance = ["machine", "cpu", "os", "kernel", "arch"].iter().any(|field| {
        value["fingerprint"][field].as_str().is_some_and(|words| words.to_lowercase().contains(&host.to_lowercase()))
    });
    assert!(host.is_empty() || is_by_chance || !text.contains(host), "the host's name {host:?}: {kind}");
}

#[test]
fn a_calibration_may_be_given() {
    let scratch = Scratch::new();
    let file = scratch.path("here.toml");
    std::fs::copy(&calibration().1, &file).unwrap();
    let given = scratch.path("given.json");
    done(&[&TINY[..], &["--machine", &file, "--contribute", &given]].concat());
    let value: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&given).unwrap()).unwrap();
    assert_eq!(value["calibration"].as_str().unwrap(), std::fs::read_to_string(&file).unwrap());
    let simulate = |arguments: &[&str]| {
        let mut sim =
            command(&[&["sim", "--workload", "solo", "--lock", "ondeck", "--seeds", "1"], arguments].concat());
        String::from_utf8(sim.current_dir(scratch.path("")).output().unwrap().stderr).unwrap()
    };
    assert!(simulate(&[]).contains("simulating this machine, as here.toml describes it"));
    assert!(!simulate(&["--machine", "m1"]).contains("here.toml"));
    let other = std::fs::read_to_string(&file).unwrap().replace("\nname = ", "\nname = \"another\" # ");
    scratch.write("here.toml", &other);
    assert!(simulate(&[]).contains("--machine is missing"), "it is of another machine");
}

#[test]
fn an_interrupted_check_prints_what_it_has() {
    let is_part = |shown: &str| shown.contains("\nBy how much the simulated figure is") && shown.contains("\n solo ");
    // On a busy machine more of the time goes into what comes before.
    assert!([200, 400, 800].into_iter().any(|ticks| is_part(&interrupted_check(ticks))));
}

/// What a check prints that is interrupted after so much work.
fn interrupted_check(ticks: u64) -> String {
    let scratch = Scratch::new();
    let (rows, given) = (scratch.path("rows.csv"), scratch.path("given.json"));
    let machine = calibration().1.to_str().unwrap();
    // The simulation of the first setting takes long, or that of the second.
    let words =
        ["check", "--workload", "solo,mutex-contention", "--lock", "std", "--threads", "2", "--seconds", "0.01"];
    let more = ["--rounds", "1", "--seeds", "10000", "--machine", machine, "--out", &rows, "--contribute", &given];
    let Run { code, stdout: shown, stderr: said } = interrupted(&[&words[..], &more].concat(), libc::SIGINT, ticks);
    assert_eq!(code, Some(130), "{said}");
    assert!(shown.starts_with("The run ended early, so this is a part of it.\n"), "{shown}");
    assert_eq!(scratch.names(), ["rows.csv.partial", "rows.csv.partial.fingerprint.json"]);
    shown
}

#[test]
fn wrong_words_are_refused_before_anything_is_measured() {
    let with = |more: &[&'static str]| [&["check"], more].concat();
    refused(&with(&["--machine", "/no/such.toml"]), &["--machine", "/no/such.toml"]);
    refused(&with(&["--machine", "spr-2x56"]), &["--machine", "spr-2x56 has 224 CPUs", "ondeck calibrate --out"]);
    refused(&with(&["--lock", "parking-lot-reentrant"]), &["parking-lot-reentrant", "compiled for hardware"]);
    refused(&with(&["--workload", "aim7"]), &["aim7", "simulated machines only"]);
    refused(&with(&["--rounds", "0"]), &["--rounds", "from 1 to 10000"]);
    refused(&with(&["--contribute", "/no/such/directory/a.json"]), &["--contribute", "a.json", "No such file"]);
    refused(&with(&["--out", "-"]), &["--out", "--report", "--contribute", "need files"]);
    let scratch = Scratch::new();
    let file = scratch.path("one");
    refused(&["check", "--out", &file, "--report", &file], &["two flags name", "its own file"]);
}
