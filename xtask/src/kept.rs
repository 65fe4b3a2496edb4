//! `cargo xtask kept STEP...`: steps of the gate that need not be done again while all that they depend on is as it was.
//!
//! Each is a command whose outcome follows from its input: searches in a fixed order, or programs whose results are
//! compared. What it depends on is hashed (`verdicts.rs`): the packages that it builds, the files that it reads, and the
//! C library where programs run on it. If it has succeeded with the same hash, it is left out, but for one time in ten.
//! What depends on how threads meet is no such step, and is done each time.

use crate::command::{cargo, succeed};
use crate::verdicts::{ALL, Built, Input, Verdicts};
use std::path::Path;
use std::process::Command;

/// A step that is kept.
struct Step {
    name: &'static str,
    about: &'static str,
    /// The words for cargo.
    command: &'static str,
    /// Set to 1 for the command.
    variable: Option<&'static str>,
    /// The packages that it builds. Of each, everything that cargo compiles for it counts.
    packages: &'static str,
    /// Files and directories that it reads besides.
    files: &'static str,
}

const LONG: Option<&str> = Some("ONDECK_LONG");
const SUCCEEDED: &str = "succeeded";

const STEPS: [Step; 8] = [
    Step {
        name: "searches",
        about: "every loom model and every random schedule, to the end",
        command: "test --locked --package ondeck-conformance --test loom --test loom_narrow --test loom_ondeck --test \
            schedule --test condvar --test condvar_races --test fair --test monitor --test priority -- --skip \
            hardware::",
        variable: LONG,
        packages: "ondeck-conformance",
        files: "crates/conformance/tests/loom.rs crates/conformance/tests/loom_narrow.rs \
            crates/conformance/tests/loom_ondeck.rs crates/conformance/tests/schedule.rs \
            crates/conformance/tests/condvar.rs crates/conformance/tests/condvar_races.rs \
            crates/conformance/tests/fair.rs crates/conformance/tests/monitor.rs \
            crates/conformance/tests/priority.rs",
    },
    Step {
        name: "wrong",
        about: "wrong stand-ins for the C library's locks, each of which some program must notice",
        command: "test --locked --package ondeck-pthread wrong_libraries_are_noticed",
        variable: LONG,
        packages: "",
        files: "testprograms crates/pthread/tests",
    },
    Step {
        name: "capi",
        about: "the C and C++ interface, as it is installed",
        command: "xtask capi",
        variable: None,
        packages: "ondeck-capi",
        files: "crates/capi xtask/src/capi.rs xtask/src/capi xtask/src/install.rs xtask/src/command.rs",
    },
    Step {
        name: "programs",
        about: "real programs come to the same results with the preloaded library",
        command: "xtask programs --check",
        variable: None,
        packages: "ondeck-pthread ondeck-launch",
        files: "xtask/src/programs crates/rounds/src testprograms/programs",
    },
    Step {
        name: "profiles",
        about: "profiles of real programs show what is known of them",
        command: "xtask programs --profiles --check",
        variable: None,
        packages: "ondeck-pthread ondeck-cli",
        files: "xtask/src/programs crates/rounds/src testprograms/programs",
    },
    Step {
        name: "patched",
        about: "parking_lot's own tests with ours in its place",
        command: "xtask patched parking_lot",
        variable: None,
        packages: "ondeck",
        files: "crates/parking_lot crates/record/src xtask/src/patched.rs xtask/src/patched",
    },
    Step {
        name: "page",
        about: "the page, used as a reader would",
        command: "xtask browser",
        variable: None,
        packages: "ondeck-cli",
        files: "crates/cli/tests/browser xtask/src/browser.rs xtask/src/command.rs",
    },
    Step {
        name: "book",
        about: "docs/ as a book",
        command: "xtask book",
        variable: None,
        packages: "",
        files: "docs GLOSSARY.md xtask/src/book.rs xtask/src/command.rs",
    },
];

/// Does the steps that are named, in that order, but for those that are kept; with `is_all` these too.
pub(crate) fn run(root: &Path, names: &[String], is_all: bool) -> Result<(), String> {
    let step = |name: &String| STEPS.iter().find(|step| step.name == name);
    let steps: Option<Vec<&Step>> = names.iter().map(step).collect();
    let steps = steps.filter(|steps| !steps.is_empty()).ok_or_else(usage)?;
    steps.into_iter().try_for_each(|step| do_or_keep(root, step, is_all))
}

fn usage() -> String {
    let lines = STEPS.iter().map(|step| format!("\n  {:8}  {}", step.name, step.about));
    format!("usage: cargo xtask kept STEP... [{ALL}]\n\nSteps:{}", lines.collect::<String>())
}

fn do_or_keep(root: &Path, step: &Step, is_all: bool) -> Result<(), String> {
    let input = input(root, step)?;
    let mut verdicts = Verdicts::read(root, "steps", is_all)?;
    if verdicts.take(step.name, &input).is_some() {
        println!("{}: as kept, with the same input ({})", step.name, step.about);
        return Ok(());
    }
    succeed(cargo(root).args(step.command.split(' ')).envs(step.variable.map(|name| (name, "1"))))?;
    verdicts.keep(step.name, &input, SUCCEEDED)?;
    verdicts.write(|name| STEPS.iter().any(|step| step.name == name))
}

/// Everything that the outcome of a step depends on.
fn input(root: &Path, step: &Step) -> Result<Input, String> {
    let libc = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let libc = libc.map_or_else(|_| b"unknown".to_vec(), |output| output.stdout);
    let command = [step.command, step.variable.unwrap_or_default()].join("\0");
    let mut input = Input::new("kept").and("command", command.as_bytes()).and("libc", &libc);
    for package in step.packages.split_whitespace() {
        input = input.and_built(root, &Built::of(root, package)?, |_| false)?;
    }
    step.files.split(' ').try_fold(input, |input, file| input.and_files(root, file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_a_step_reads_is_there() {
        let root = crate::root();
        for step in &STEPS {
            input(&root, step).unwrap_or_else(|error| panic!("{}: {error}", step.name));
            assert!(!step.files.is_empty(), "{}", step.name);
        }
        let names: BTreeSet<&str> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), STEPS.len());
    }

    #[test]
    fn words_name_steps() {
        let root = crate::root();
        for wrong in [&[][..], &["nothing"], &["page", "nothing"]] {
            let words: Vec<String> = wrong.iter().map(|word| (*word).to_owned()).collect();
            let error = run(&root, &words, false).unwrap_err();
            assert!(error.contains("cargo xtask kept STEP") && error.contains("\n  searches  every loom"), "{error}");
        }
    }

    /// The gate does them all, and no step by a name that it does not have.
    #[test]
    fn the_gate_does_each() {
        let root = crate::root();
        let gate = ["run", "long-tests"].map(|file| std::fs::read_to_string(root.join(".ci").join(file)).unwrap());
        for step in &STEPS {
            assert!(gate.concat().contains(&format!("cargo xtask kept {}\n", step.name)), "{}", step.name);
        }
    }
}
