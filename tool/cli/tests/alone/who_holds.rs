//! Who is named as the holder of a lock where the stack at its unlock does not say it, or says it of a wrapper.

use crate::alone;
use crate::culprits::{first_paragraph, says};
use crate::support::programs::compiled;

/// What the list says first has these words in it in their order, and not the last one.
const CASES: [(&str, &[&str], &str); 3] = [
    ("futures", &["`fetch`", "holds `registry` for ", "waits for a future (`std::future::get`)"], "notification"),
    ("spins", &["Threads spend ", " in a loop that only waits, as for a spin lock, in `merge`"], "totals"),
    ("wrapped", &["`store`", "holds ", "made in `open_database"], "db_mutex"),
];

#[test]
fn who_does_more_than_lock_is_named() {
    let _cores = alone();
    let program = compiled("who_holds.cpp", &["-std=c++17", "-O2"]);
    let mut wrong = String::new();
    for (case, expected, other) in CASES {
        // Where threads run is told to those who may know.
        if case == "spins" && ondeck_futex::Sampler::of(std::process::id()).is_err() {
            continue;
        }
        let said = || first_paragraph(&[program.as_str(), case]);
        let is_right = |said: &String| says(said, expected) && !said.contains(other);
        // As for the culprits: what else runs on the machine may be what matters most, for once.
        if !is_right(&said()) && !is_right(&said()) {
            wrong += &format!("{case}: not {expected:?} in {}\n", said());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
