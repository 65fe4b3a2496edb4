//! A small algorithm that passes, and one wrong line at a time.

use super::*;
use crate::tidy::tree::file;

const GOOD: &str = r#"//! `flip`: an example.
//!
//! # Idea
//! One bit.
//! # Lineage
//! None.
//! # State word
//! | bits | name |
//! |---|---|
//! | 0 | HELD |
//! # Life of a word
//! | step | from -> to |
//! |---|---|
//! | grab | FREE -> HELD |
//! | vacate | HELD -> FREE |
//! # Invariants
//! - I1 vacate finds HELD. Asserted at: release.
//! - I2 nobody sleeps. asserted: cannot be; checked by: `the_matrix`.
//! # Orderings
//! - E1 vacate -> grab: all that the last holder wrote.
//! # Promises
//! Mutual exclusion: conformance
//! `the_matrix`.
//! # Cost
//! 2 RMWs.
//! # After release
//! No.
//! # Limits
//! None.

use core::sync::atomic::Ordering::{Acquire, Release};

const GRAB: Step = Step { lock: "flip", name: "grab" };
const VACATE: Step = Step { lock: "flip", name: "vacate" };

fn acquire(&self) -> bool {
    P::step(GRAB);
    self.word.swap(1, Acquire) == 0 // E1
}

fn release(&self) {
    P::step(VACATE);
    // E1: the section is published here.
    let old = self.word.swap(0, Release);
    debug_assert!(old == 1, "I1");
}

#[cfg(test)]
mod tests {
    fn weak() { x.swap(1, SeqCst) }
}
"#;

/// The faults of a file beside the named test and `others`.
fn faults_beside(text: &str, others: &[(&str, &str)]) -> Vec<String> {
    let mut files = vec![file("lab/lineage/src/flip.rs", text)];
    files.push(file("proof/conformance/tests/a.rs", "fn the_matrix() {}"));
    files.extend(others.iter().map(|(path, text)| file(path, text)));
    check(&files)
}

/// The good file with `to` instead of `from`.
fn with(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    GOOD.replace(from, to)
}

/// Asserts that the file has exactly the faults that say this, in order.
fn has_faults(text: &str, others: &[(&str, &str)], say: &[&str]) {
    let faults = faults_beside(text, others);
    let all_said = faults.iter().zip(say).all(|(fault, say)| fault.contains(say));
    assert!(faults.len() == say.len() && all_said, "{faults:#?} instead of {say:#?} in\n{text}");
}

/// Asserts that the change gives exactly these faults.
fn gives(from: &str, to: &str, say: &[&str]) {
    has_faults(&with(from, to), &[], say);
}

#[test]
fn the_good_file_passes_and_files_beside_the_algorithms_are_left_alone() {
    has_faults(GOOD, &[("crates/core/src/raw.rs", "//! Raw.\nx.load(Acquire);\n")], &[]);
}

#[test]
fn sections_are_complete_in_order_and_filled() {
    gives("//! # Lineage\n//! None.\n", "", &["`Lineage` expected here, not `State word`"]);
    gives("//! # Limits\n//! None.\n", "", &["`Limits` expected here, not `the end`"]);
    gives("//! # Limits\n", "//! # Limits\n//! a\n//! # More\n", &["`the end` expected here, not `More`"]);
    gives("//! 2 RMWs.\n", "", &["`Cost` is empty"]);
    gives("//! `flip`: ", "//! `flop`: ", &["begins with the name"]);
}

#[test]
fn steps_have_rows_and_marks() {
    gives("    P::step(GRAB);\n", "", &["step `grab` is marked nowhere", "`swap` stands under no step"]);
    gives("//! | grab | FREE -> HELD |\n", "", &["step `grab` has no row"]);
    gives("P::step(VACATE);", "P::step(VACATE);\n    P::step(OTHER);", &["`OTHER` is no step constant"]);
    gives("//! | vacate | HELD", "//! | never | x |\n//! | vacate | HELD", &["step `never` is marked nowhere"]);
}

#[test]
fn a_function_that_is_handed_its_ordering_acts_for_its_callers() {
    let from = "fn release(&self) {\n    P::step(VACATE);\n    // E1: the section is published here.\n    let old = self.word.swap(0, Release);";
    let set =
        "fn set(&self, to: u32, order: Ordering) -> u32 {\n    self.word.swap(to, order)\n}\nfn release(&self) {\n";
    gives(from, &format!("{set}    P::step(VACATE);\n    let old = self.set(0, Release); // E1"), &[]);
    gives(from, &format!("{set}    let old = self.set(VACATE, Release); // E1"), &[]);
    let unmarked = format!("{set}    let old = self.set(0, Release); // E1");
    gives(from, &unmarked, &["step `vacate` is marked nowhere", "`set` stands under no step"]);
}

#[test]
fn a_file_of_the_directory_counts_as_the_algorithm() {
    let without = with("const GRAB: Step = Step { lock: \"flip\", name: \"grab\" };\n", "");
    let more = "const GRAB: Step =\n    Step { lock: \"flip\", name: \"grab\" };\nx.load(Acquire);\n";
    has_faults(&without, &[("lab/lineage/src/flip/more.rs", more)], &["flip/more.rs:3: this ordering names no edge"]);
}

#[test]
fn a_file_that_is_shared_counts_as_the_algorithm() {
    let shares = with("//! None.\n//! # State", "//! Shared code: `base/a.rs`.\n//! # State");
    has_faults(&shares, &[], &["there is no file `base/a.rs` to share"]);
    let without = shares.replace("    P::step(GRAB);\n    self.word.swap(1, Acquire) == 0 // E1\n", "");
    let shared = "fn acquire(&self) {\n    P::step(V::GRAB);\n    self.word.swap(1, Acquire); // E1\n}\n";
    has_faults(&without, &[("lab/lineage/src/base/a.rs", shared)], &[]);
    let unlabelled = ["base/a.rs:3: this ordering names no edge", "E1 has no acquiring end"];
    has_faults(&without, &[("lab/lineage/src/base/a.rs", &shared.replace(" // E1", ""))], &unlabelled);
}

#[test]
fn orderings_name_edges_and_edges_have_two_ends() {
    gives(" // E1\n", "\n", &["names no edge", "E1 has no acquiring end"]);
    gives("swap(0, Release)", "swap(0, Relaxed)", &["E1 has no releasing end"]);
    gives("swap(0, Release)", "swap(0, SeqCst)", &["one word for each decision"]);
    gives("// E1: the", "// E1, E2: the", &["E2 is not defined"]);
    gives("//! # Promises", "//! - E2 to nowhere.\n//! # Promises", &["E2 has no releasing", "E2 has no acquiring"]);
}

#[test]
fn a_label_stands_above_its_statement_and_not_behind_the_one_before() {
    let from = "let old = self.word.swap(0, Release);";
    gives(from, "let old = self\n        .word\n        .swap(0, Release);", &[]);
    gives(from, &format!("let a = b; // E1\n    {from}"), &["names no edge", "E1 has no releasing end"]);
}

#[test]
fn invariants_are_asserted_or_checked() {
    gives("; checked by: `the_matrix`", "", &["I2 does not say"]);
    gives("asserted: cannot be;", "asserted at: acquire;", &["I2 says it is asserted"]);
    gives("// E1: the", "// I7 and E1: the", &["I7 is not defined"]);
    gives(", \"I1\"", "", &["I1 says it is asserted", "this assertion cites no invariant"]);
}

#[test]
fn tests_that_are_named_exist() {
    gives("conformance\n//! `the_matrix`", "conformance\n//! `the_metrics`", &["no conformance test `the_metrics`"]);
}

const MODEL: &str = "---- MODULE flip ----\ngrab(t) == x' = 1\nvacate(t) ==\n  x' = 0\nExclusion == TRUE\n====\n";

/// Asserts that the good file, with a property for a witness, has these faults beside a module with this text.
fn modelled(path: &str, model: &str, say: &[&str]) {
    has_faults(&with("checked by: `the_matrix`", "checked by: TLA+ `Exclusion`"), &[(path, model)], say);
}

#[test]
fn steps_are_actions_of_the_model_or_left_out_with_a_reason() {
    let path = "proof/spec/flip.tla";
    modelled(path, MODEL, &[]);
    modelled("proof/spec/ondeck_flip.tla", MODEL, &[]);
    let without = MODEL.replace("vacate", "leave");
    modelled(path, &without, &["step `vacate` has neither"]);
    modelled(path, &format!("{without}\\* not modelled: vacate: it is a store\n"), &[]);
    modelled(path, &format!("{without}\\* not modelled: vacate:\n"), &["step `vacate` has neither"]);
    modelled(path, &format!("{MODEL}\\* not modelled: vacate: it is a store\n"), &["has an action after all"]);
    modelled(path, &format!("{MODEL}\\* not modelled: sing: it is no bird\n"), &["is no step"]);
    modelled(path, &MODEL.replace("Exclusion", "Inclusion"), &["no TLA+ `Exclusion`"]);
    modelled("proof/spec/flop.tla", MODEL, &["no proof/spec/flip.tla with TLA+ `Exclusion`"]);
}

#[test]
fn a_model_may_extend_another() {
    let variant = "---- MODULE flip ----\nEXTENDS Naturals, base\n====\n";
    has_faults(GOOD, &[("proof/spec/flip.tla", variant), ("proof/spec/base.tla", MODEL)], &[]);
}

#[test]
fn locks_that_sleep_have_a_model() {
    gives(
        "const GRAB",
        "const ENTRY: Entry = Entry { sleeps: true };\nconst GRAB",
        &["proof/spec/flip.tla is missing"],
    );
}

#[test]
fn ports_that_sleep_need_none() {
    let sleeps = with("const GRAB", "const ENTRY: Entry = Entry { sleeps: true };\nconst GRAB");
    let port = file("lab/lineage/src/flip_port.rs", &sleeps.replace("flip", "flip-port"));
    assert_eq!(check(&[port, file("proof/conformance/tests/a.rs", "fn the_matrix() {}")]), [""; 0]);
}
