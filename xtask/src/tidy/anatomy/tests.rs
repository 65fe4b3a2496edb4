//! A small algorithm that passes, and one wrong line at a time.

use super::super::file;
use super::*;

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

fn the_tests() -> File {
    file("crates/conformance/tests/a.rs", "fn the_matrix() {}")
}

/// The faults after replacing `from` by `to` in the good file.
fn faults(from: &str, to: &str) -> Vec<String> {
    assert!(GOOD.contains(from), "{from}");
    let files = [file("crates/locks/src/flip.rs", &GOOD.replace(from, to)), the_tests()];
    check(&files).iter().map(Fault::to_string).collect()
}

/// Asserts that the change gives exactly one fault, and that it says so.
fn one_fault(from: &str, to: &str, says: &str) {
    let faults = faults(from, to);
    assert!(faults.len() == 1 && faults[0].contains(says), "{faults:#?}");
}

#[test]
fn the_good_file_passes() {
    assert_eq!(faults("flip", "flip"), [""; 0]);
}

#[test]
fn files_beside_the_algorithms_are_left_alone() {
    assert!(check(&[file("crates/locks/src/raw.rs", "//! Raw.\nx.load(Acquire);\n")]).is_empty());
}

#[test]
fn sections_are_complete_in_order_and_filled() {
    one_fault("//! # Lineage\n//! None.\n", "", "`Lineage` expected here, not `State word`");
    one_fault("//! # Limits\n//! None.\n", "", "`Limits` expected here, not the end");
    one_fault(
        "//! # Cost\n//! 2 RMWs.\n//! # After release\n//! No.\n",
        "//! # After release\n//! No.\n//! # Cost\n//! 2 RMWs.\n",
        "`Cost` expected here, not `After release`",
    );
    one_fault("//! 2 RMWs.\n", "", "`Cost` is empty");
    one_fault("//! `flip`: ", "//! `flop`: ", "begins with the name");
}

#[test]
fn steps_have_rows_and_marks() {
    let unmarked = faults("    P::step(GRAB);\n", "");
    assert_eq!(unmarked.len(), 2, "{unmarked:#?}");
    assert!(unmarked[0].contains("step `grab` is marked nowhere"), "{unmarked:#?}");
    assert!(unmarked[1].contains("`swap` stands under no step"), "{unmarked:#?}");
    one_fault("//! | grab | FREE -> HELD |\n", "", "step `grab` has no row");
    one_fault("P::step(VACATE);", "P::step(VACATE); P::step(OTHER);", "`OTHER` is no step constant");
    one_fault("//! | vacate | HELD", "//! | never | x |\n//! | vacate | HELD", "step `never` is marked nowhere");
}

#[test]
fn a_function_that_is_handed_its_ordering_acts_for_its_callers() {
    let from = "fn release(&self) {\n    P::step(VACATE);\n    // E1: the section is published here.\n    let old = self.word.swap(0, Release);";
    let helper = "fn set(&self, to: u32, order: Ordering) -> u32 { self.word.swap(to, order) }\nfn release(&self) {\n";
    let marked = format!("{helper}P::step(VACATE);\nlet old = self.set(0, Release); // E1\n");
    assert_eq!(faults(from, &marked), [""; 0]);
    let unmarked = format!("{helper}let old = self.set(0, Release); // E1\n");
    let found = faults(from, &unmarked);
    assert!(found.len() == 2 && found[1].contains("`set` stands under no step"), "{found:#?}");
    let handed_over = format!("{helper}let old = self.set(VACATE, Release); // E1\n");
    assert_eq!(faults(from, &handed_over), [""; 0]);
}

#[test]
fn a_file_of_the_directory_counts_as_the_algorithm() {
    let files = [
        file(
            "crates/locks/src/flip.rs",
            &GOOD.replace("const GRAB: Step = Step { lock: \"flip\", name: \"grab\" };\n", ""),
        ),
        file("crates/locks/src/flip/more.rs", "const GRAB: Step = (\"grab\"); x.load(Acquire);"),
        the_tests(),
    ];
    let faults: Vec<String> = check(&files).iter().map(Fault::to_string).collect();
    assert_eq!(faults, ["crates/locks/src/flip/more.rs:1: this ordering names no edge (E1...) on its line or above"]);
}

/// `flip` with its step constants, and the code of `acquire`, in a file that it shares.
fn sharing(acquire: &str) -> Vec<String> {
    let constants = "const GRAB: Step = Step { lock: \"flip\", name: \"grab\" };\n";
    let here = "    P::step(GRAB);\n    self.word.swap(1, Acquire) == 0 // E1\n";
    assert!(GOOD.contains(constants) && GOOD.contains(here));
    let main = GOOD.replace(constants, "").replace(here, "").replace("//! None.\n//! # State", SHARES);
    let files = [file("crates/locks/src/flip.rs", &main), file("crates/locks/src/base/a.rs", acquire), the_tests()];
    check(&files).iter().map(Fault::to_string).collect()
}

const SHARES: &str = "//! Shared code: `base/a.rs`.\n//! # State";

#[test]
fn a_file_that_is_shared_counts_as_the_algorithm() {
    let shared = "trait Variant { const GRAB: Step = Step { lock: Self::NAME, name: \"grab\" }; }\n\
                  fn acquire(&self) { P::step(V::GRAB); self.word.swap(1, Acquire); } // E1";
    assert_eq!(sharing(shared), [""; 0]);
    let unlabelled = sharing(&shared.replace(" // E1", ""));
    assert!(unlabelled.iter().any(|fault| fault.starts_with("crates/locks/src/base/a.rs:2:")), "{unlabelled:#?}");
    let unmarked = sharing(&shared.replace("P::step(V::GRAB);", ""));
    assert!(unmarked.iter().any(|fault| fault.contains("`grab` is marked nowhere")), "{unmarked:#?}");
    one_fault("//! None.\n//! # State", SHARES, "there is no file `base/a.rs` to share");
}

#[test]
fn orderings_name_edges_and_edges_have_two_ends() {
    let unlabelled = faults(" // E1\n", "\n");
    assert_eq!(unlabelled.len(), 2, "{unlabelled:#?}");
    assert!(unlabelled[0].contains("names no edge"), "{unlabelled:#?}");
    assert!(unlabelled[1].contains("E1 has no acquiring end"), "{unlabelled:#?}");
    one_fault("swap(0, Release)", "swap(0, Relaxed)", "E1 has no releasing end");
    one_fault("// E1: the", "// E1, E2: the", "E2 is not defined");
    let twice = faults("//! # Promises", "//! - E2 to nowhere.\n//! # Promises");
    assert_eq!(twice.len(), 2, "{twice:#?}");
}

#[test]
fn the_comment_of_the_statement_before_does_not_count() {
    let moved =
        faults("let old = self.word.swap(0, Release);", "let a = b; // E1\n    let old = self.word.swap(0, Release);");
    assert_eq!(moved.len(), 2, "{moved:#?}");
}

#[test]
fn a_statement_over_several_lines_carries_its_label_at_its_beginning() {
    let from = "let old = self.word.swap(0, Release);";
    assert_eq!(faults(from, "let old = self\n.word\n.swap(0, Release);"), [""; 0]);
}

#[test]
fn invariants_are_asserted_or_checked() {
    one_fault("; checked by: `the_matrix`", "", "I2 does not say");
    one_fault("asserted: cannot be;", "asserted at: acquire;", "I2 says it is asserted");
    one_fault("// E1: the", "// I7 and E1: the", "I7 is not defined");
    let bare = faults(", \"I1\"", "");
    assert_eq!(bare.len(), 2, "{bare:#?}");
}

#[test]
fn tests_that_are_named_exist() {
    one_fault("conformance\n//! `the_matrix`", "conformance\n//! `the_metrics`", "no conformance test `the_metrics`");
}

/// The faults of the good file beside a module with this text, when the header calls on a property.
fn faults_with_model(name: &str, model: &str) -> Vec<String> {
    let source = GOOD.replace("checked by: `the_matrix`", "checked by: TLA+ `Exclusion`");
    let files = [file("crates/locks/src/flip.rs", &source), the_tests(), file(name, model)];
    check(&files).iter().map(Fault::to_string).collect()
}

const MODEL: &str = "---- MODULE flip ----\ngrab(t) == x' = 1\nvacate(t) ==\n  x' = 0\nExclusion == TRUE\n====\n";

#[test]
fn steps_are_actions_of_the_model_or_left_out_with_a_reason() {
    let faults = |model: &str| faults_with_model("spec/flip.tla", model);
    assert_eq!(faults(MODEL), [""; 0]);
    let without = MODEL.replace("vacate", "leave");
    assert_eq!(faults(&without).len(), 1);
    assert_eq!(faults(&format!("{without}\\* not modelled: vacate: it is a store\n")), [""; 0]);
    assert_eq!(faults(&format!("{without}\\* not modelled: vacate:\n")).len(), 1);
    assert!(faults(&format!("{MODEL}\\* not modelled: vacate: it is a store\n"))[0].contains("after all"));
    assert!(faults(&format!("{MODEL}\\* not modelled: sing: it is no bird\n"))[0].contains("no step"));
}

#[test]
fn a_model_may_extend_another() {
    let source = GOOD.replace("checked by: `the_matrix`", "checked by: TLA+ `Exclusion`");
    let variant = "---- MODULE flip ----\nEXTENDS Naturals, base\n====\n";
    let models = [file("spec/flip.tla", variant), file("spec/base.tla", MODEL)];
    let files: Vec<File> = [file("crates/locks/src/flip.rs", &source), the_tests()].into_iter().chain(models).collect();
    assert_eq!(check(&files), []);
}

#[test]
fn properties_that_are_named_exist() {
    let faults = faults_with_model("spec/flip.tla", &MODEL.replace("Exclusion", "Inclusion"));
    assert!(faults.len() == 1 && faults[0].contains("no TLA+ `Exclusion`"), "{faults:#?}");
    assert_eq!(faults_with_model("spec/flop.tla", MODEL).len(), 1);
}

#[test]
fn locks_that_sleep_have_a_model() {
    let promise = "const ENTRY: Entry = Entry { sleeps: true };\nconst GRAB";
    one_fault("const GRAB", promise, "spec/flip.tla is missing");
    assert_eq!(faults("const GRAB", &promise.replace("true", "false")), [""; 0]);
}
