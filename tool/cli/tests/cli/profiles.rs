//! `ondeck compare` of profiles: what it refuses. What it says, tests of `ondeck-profile` show.

use crate::support::{Scratch, done};
use crate::usage::refused;

/// A profile of a program that does not exist.
const PROFILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../profile/testdata/server.json");

#[test]
fn a_profile_is_compared_with_a_profile() {
    let compared = done(&["compare", PROFILE, PROFILE]);
    assert!(compared.stdout.contains("query_cache") && compared.stderr.is_empty(), "{}", compared.stdout);
    let scratch = Scratch::new();
    let whole = std::fs::read_to_string(PROFILE).unwrap();
    let rows = "platform,machine,workload,lock,threads,round,seconds,ops\nhardware,m,solo,std,1,0,0.1,5\n";
    let (results, text) = (scratch.write("bench.csv", rows), scratch.write("notes.txt", "hello\n"));
    let packed = scratch.path("profile.pb.gz");
    std::fs::write(&packed, [0x1f, 0x8b, 8, 0, 0xff]).unwrap();
    // A profile that was cut off is known by its beginning.
    let cut = scratch.write("cut.json", &whole[..whole.len() / 2]);
    let newer = scratch.write("newer.json", &whole.replacen("\"version\":1", "\"version\":9", 1));
    let both = &["server.json is a profile, ", "bench.csv has results", "two profiles or two result files"][..];
    for (old, new, words) in [
        (PROFILE, results.as_str(), both),
        (&results, PROFILE, &both[..2]),
        (PROFILE, &text, &["notes.txt, line 1"]),
        (PROFILE, &packed, &["profile.pb.gz: is not text; expected ", "`ondeck profile --format json`"]),
        (PROFILE, "/no/such", &["/no/such: cannot be read"]),
        (PROFILE, &cut, &["cut.json: line 1, column ", "is the file cut off?"]),
        (&newer, PROFILE, &["newer.json: is a profile of a newer form, version 9; accepted: version 1"]),
    ] {
        refused(&["compare", old, new], words);
    }
}
