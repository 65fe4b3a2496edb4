//! `ondeck compare` of profiles, whichever form they have.

use crate::support::{Scratch, command, done};
use crate::usage::refused;
use insta::assert_snapshot;
use ondeck_profile::{Profile, json, pprof};
use serde_json::json;

/// A run of two seconds with a lock that was waited for so often, 2 us each time, for whom `holder` had it.
fn profile(waits: f64, holder: &str) -> Profile {
    let frame = |function: &str| {
        json!({
            "function": function, "module": "server", "file": "", "line": 0, "address": 4096, "build_id": "",
            "is_inlined": false, "is_named": true
        })
    };
    let site = |stack, count, ns| json!([{ "stack": stack, "count": count, "ns": ns }]);
    let ns = 2000.0 * waits;
    let lock = json!({
        "name": "queue", "process": 0, "address": 1, "origin": null, "acquisitions": 1e6, "waits": waits, "wait_ns": ns,
        "longest_ns": 9000, "wait_histogram": [{ "from": 2000, "to": 2000, "count": waits }], "hold_histogram": [],
        "hold_ns": 1e9, "handing_on_ns": 0.0, "most_waiting": 2, "threads": 3, "spins": null, "parks": null,
        "wakes": null, "rotations": null, "waiters": site(0, waits, ns), "holders": site(1, waits, ns),
        "takers": site(1, 1e6, 1e9), "timeline": { "slice": 1.0, "amounts": [ns] }
    });
    let process = json!({ "pid": 7, "parent": 1, "program": "/bin/server", "from": 0.0, "to": 2.0, "ended": "exit" });
    let profile = json!({
        "version": 1, "command": ["./server"], "started_at": 1.7e9, "seconds": 2.0, "cores": 4, "lock": "glibc",
        "rate": 10, "processes": [process], "frames": [frame("push"), frame(holder)], "stacks": [[0], [1]],
        "locks": [lock], "conditions": [],
        "dropped": { "samples": 0, "stacks": 0, "locks": 0, "processes": 0 }, "notes": []
    });
    json::from_json(&profile.to_string()).unwrap()
}

/// The two forms of a profile, in files.
fn files(scratch: &Scratch, name: &str, profile: &Profile) -> [String; 2] {
    let packed = scratch.path(&format!("{name}.pb.gz"));
    std::fs::write(&packed, pprof::write(profile)).unwrap();
    [packed, scratch.write(&format!("{name}.json"), &json::to_json(profile))]
}

#[test]
fn two_profiles() {
    let scratch = Scratch::new();
    let before = files(&scratch, "before", &profile(50_000.0, "flush"));
    let after = files(&scratch, "after", &profile(10_000.0, "rotate"));
    let text = |old: &str, new: &str| {
        let output = command(&["compare", old, new]).env("COLUMNS", "100").output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
        String::from_utf8(output.stdout).unwrap()
    };
    let mixed = text(&before[0], &after[1]);
    let figures = |text: &str| text.split_once("\n\n").map(|(_, rest)| rest.replace("after.pb.gz", "after.json "));
    assert_eq!(
        figures(&mixed).map(squeezed),
        figures(&text(&before[0], &after[0])).map(squeezed),
        "the form is no matter"
    );
    assert_snapshot!(mixed);
}

/// One file is for pprof, the other is JSON.
#[test]
fn a_page_has_the_difference_in_colours() {
    let scratch = Scratch::new();
    let [before, _] = files(&scratch, "before", &profile(50_000.0, "flush"));
    let [_, after] = files(&scratch, "after", &profile(10_000.0, "rotate"));
    let page = scratch.path("page.html");
    let run = done(&["compare", &before, &after, "--report", &page]);
    assert!(run.stdout.contains("waiting in each second"), "{}", run.stdout);
    let text = std::fs::read_to_string(&page).unwrap();
    for frame in [
        "<svg class=\"f less4\" x=\"0.0000%\" width=\"100.0000%\" y=\"36\" height=\"17\"><title>push: before 50.0 ms, after \
         10.0 ms in each second, -80.0%</title>",
        "<title>flush: before 50.0 ms, after 0 ns in each second, gone</title>",
        "<title>rotate: before 0 ns, after 10.0 ms in each second, new</title>",
    ] {
        assert!(text.contains(frame), "{frame} is missing in: {text}");
    }
    let run = done(&["compare", &before, &after, "--report", "-"]);
    assert_eq!(run.stdout, text);
    refused(&["compare", &before, &after, "--report", "/no/such/page.html"], &["--report: ", "/no/such"]);
}

fn squeezed(text: String) -> String {
    text.replace('-', "").split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[test]
fn a_profile_is_not_compared_with_something_else() {
    let scratch = Scratch::new();
    let [packed, json] = files(&scratch, "profile", &profile(1000.0, "flush"));
    let results = scratch.write(
        "bench.csv",
        "platform,machine,workload,lock,threads,round,seconds,ops\nhardware,m,solo,std,1,0,0.1,5\n",
    );
    let text = scratch.write("notes.txt", "hello\n");
    let cut = scratch.path("cut.pb.gz");
    let whole = std::fs::read(&packed).unwrap();
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let newer =
        scratch.write("newer.json", &std::fs::read_to_string(&json).unwrap().replace("\"version\":1", "\"version\":9"));
    refused(&["compare", &results, &results, "--report", "a.html"], &["--report: ", "accepted: two profiles"]);
    for (old, new, words) in [
        (
            &packed,
            &results,
            &["profile.pb.gz is a profile, ", "bench.csv has results", "two profiles or two result files"][..],
        ),
        (&results, &json, &["profile.json is a profile, ", "bench.csv has results"]),
        (&packed, &text, &["notes.txt: is neither compressed nor JSON; accepted: what `ondeck profile` wrote"]),
        (&packed, &"/no/such".to_string(), &["/no/such: cannot be read"]),
        (&packed, &cut, &["cut.pb.gz: ends in the middle; is the file cut off?"]),
        (&newer, &packed, &["newer.json: is a profile of a newer form, version 9; accepted: version 1"]),
    ] {
        refused(&["compare", old, new], words);
    }
}
