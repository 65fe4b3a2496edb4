//! `ondeck compare` of profiles.

use crate::support::{Scratch, command};
use crate::usage::refused;
use insta::assert_snapshot;
use ondeck_profile::json;
use serde_json::json;

/// A run of two seconds with a lock that was waited for so often, 2 us each time.
fn profile(waits: f64) -> String {
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
        "rate": 10, "processes": [process], "frames": [frame("push"), frame("flush")], "stacks": [[0], [1]],
        "locks": [lock], "conditions": [],
        "dropped": { "samples": 0, "stacks": 0, "locks": 0, "processes": 0 }, "notes": []
    });
    profile.to_string()
}

#[test]
fn two_profiles() {
    let scratch = Scratch::new();
    let [before, after] = [("before", 50_000.0), ("after", 10_000.0)]
        .map(|(name, waits)| scratch.write(&format!("{name}.json"), &profile(waits)));
    let output = command(&["compare", &before, &after]).env("COLUMNS", "100").output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    assert_snapshot!(String::from_utf8(output.stdout).unwrap());
}

#[test]
fn a_profile_is_not_compared_with_something_else() {
    let scratch = Scratch::new();
    let good = scratch.write("profile.json", &profile(1000.0));
    let results = scratch.write(
        "bench.csv",
        "platform,machine,workload,lock,threads,round,seconds,ops\nhardware,m,solo,std,1,0,0.1,5\n",
    );
    let text = scratch.write("notes.txt", "hello\n");
    let packed = scratch.path("profile.pb.gz");
    std::fs::write(&packed, [0x1f, 0x8b, 8, 0, 0xff]).unwrap();
    // As the program writes it: a profile that was cut off is known by its beginning.
    let whole = json::to_json(&json::from_json(&profile(1000.0)).unwrap());
    let cut = scratch.write("cut.json", &whole[..whole.len() / 2]);
    let newer = scratch.write("newer.json", &whole.replace("\"version\":1", "\"version\":9"));
    for (old, new, words) in [
        (
            &good,
            &results,
            &["profile.json is a profile, ", "bench.csv has results", "two profiles or two result files"][..],
        ),
        (&results, &good, &["profile.json is a profile, ", "bench.csv has results"]),
        (&good, &text, &["notes.txt, line 1"]),
        (&good, &packed, &["profile.pb.gz: is not text; expected ", "`ondeck profile --format json`"]),
        (&good, &"/no/such".to_string(), &["/no/such: cannot be read"]),
        (&good, &cut, &["cut.json: line 1, column ", "is the file cut off?"]),
        (&newer, &good, &["newer.json: is a profile of a newer form, version 9; accepted: version 1"]),
    ] {
        refused(&["compare", old, new], words);
    }
}
