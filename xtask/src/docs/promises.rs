//! docs/promises.md: which lock promises what, and by which test or property each promise is held.

use crate::command::{cargo, output};
use crate::models::{self, config::Config};
use ondeck_kit::Grid;
use ondeck_lineage::{Entry, LOCKS};
use std::collections::BTreeSet;
use std::path::Path;

pub(super) const PATH: &str = "docs/promises.md";

/// What a lock may promise, and what would hold it to that. In the names of tests `{lock}` is the lock's module.
struct Promise {
    title: &'static str,
    meaning: &'static str,
    is_made: fn(&Entry) -> bool,
    hardware: &'static [&'static str],
    models: &'static [&'static str],
    /// Invariants and properties of the TLA+ modules; which a module has depends on its algorithm.
    properties: &'static [&'static str],
    /// The configuration with the expected counterexample where the promise is not made.
    counterexample: &'static str,
}

const PROMISES: [Promise; 6] = [
    Promise {
        title: "Mutual exclusion",
        meaning: "At most one thread is inside.",
        is_made: |_| true,
        hardware: &["hardware::{lock}::mutual_exclusion", "stress::{lock}::crowd"],
        models: &[
            "loom::{lock}::mutual_exclusion",
            "loom_{lock}::mutual_exclusion",
            "schedule::{lock}::crowd_of_eight",
        ],
        properties: &["MutualExclusion"],
        counterexample: "",
    },
    Promise {
        title: "No lost wake-up",
        meaning: "While the lock is free and a thread sleeps, some thread is awake or being woken, and takes care of it.",
        is_made: |entry| entry.promises.sleeps,
        hardware: &["stress::{lock}::frozen_threads", "stress::{lock}::one_core"],
        models: &[
            "loom::{lock}::every_waiter_finishes",
            "loom_{lock}::every_waiter_finishes",
            "schedule::{lock}::no_lost_wakeup",
        ],
        properties: &["NoSleeperForgotten", "NoLostWakeup", "Termination"],
        counterexample: "",
    },
    Promise {
        title: "Nobody starves",
        meaning: "There is a bound on how often or how long others may get the lock before a waiting thread. With `ondeck` it\n\
                  holds once the thread has a place: on deck or in the dugout. An arriving thread gets one unless it\n\
                  loses every race for it.",
        is_made: |entry| ["nobody", "nobody who has a place"].contains(&entry.promises.starves),
        hardware: &["stress::waits_are_bounded", "stress::waits_are_bounded_with_long_sections"],
        models: &["schedule::bypass_is_bounded::{lock}"],
        properties: &["Served", "WaitersGetIn", "SleepersGetIn", "SleepersAreWoken"],
        counterexample: "starvation",
    },
    Promise {
        title: "Deadlines",
        meaning: "A thread may give up an acquisition, and nothing is left behind.",
        is_made: |entry| entry.promises.timed,
        hardware: &["hardware::given_up::{lock}", "stress::with_deadlines::{lock}::crowd"],
        models: &["loom::given_up::{lock}", "loom_{lock}::r15_called_after_the_deadline", "schedule::given_up::{lock}"],
        properties: &["NoLostWakeup", "DugoutIsDescribed"],
        counterexample: "",
    },
    Promise {
        title: "Reentrancy",
        meaning: "The holder may acquire the lock again. The lock is free after as many releases.",
        is_made: |entry| entry.promises.reentrant,
        hardware: &["hardware::reentrant::{lock}::nesting_excludes_until_the_last_release"],
        models: &[
            "loom::reentrant::{lock}::nesting_excludes_until_the_last_release",
            "schedule::reentrant::{lock}::nesting_excludes_until_the_last_release",
        ],
        properties: &[],
        counterexample: "",
    },
    Promise {
        title: "Free after release",
        meaning: "The thread that acquires the lock last may free it as soon as its own release returns.",
        is_made: |entry| entry.promises.free_after_release,
        hardware: &["free_after_release::{lock}::pages", "hardware::free_after_release::{lock}"],
        models: &[
            "loom::free_after_release::{lock}",
            "loom_{lock}::r17_free_after_release",
            "schedule::free_after_release::{lock}",
        ],
        properties: &["NobodyTouchesFreed", "FreedIsLeftAlone"],
        counterexample: "destroy",
    },
];

/// Tests whose name says nothing of the one lock that they are about.
const OF_ONE_LOCK: [(&str, &str); 2] =
    [("stress::waits_are_bounded", "ondeck"), ("stress::waits_are_bounded_with_long_sections", "ondeck")];

const HEAD: &str = "\
# Which lock promises what, and which test checks it

`cargo xtask docs` writes this page from the table of locks, the tests of `proof/conformance` and the models of `proof/spec/`.
Each section is one promise, and each row one lock. [How the tests are tested](../proof/conformance/mutants/README.md) shows whether such a test would
notice a fault.

- **hardware** and **loom, random schedules** name tests. Run one with `cargo test -p ondeck-conformance -- --exact NAME`.
- **TLA+** names invariants and properties of the lock's module. Check them with `cargo xtask models --module NAME`. Locks
  that never sleep have no module, and neither have the ports of other libraries' locks.
- *not promised*: the lock does not promise this. If a property is named, it fails in the model.
- *no test*, *no property*: the lock makes the promise, but this column cannot check it, or nobody has written the check yet.
";

const NOT_PROMISED: &str = "not promised";

pub(super) fn page(root: &Path) -> Result<String, String> {
    let (tests, configs) = (tests(root)?, models::load(&root.join("proof/spec"))?);
    let mut text = HEAD.to_owned();
    let mut faults = Vec::new();
    for promise in &PROMISES {
        let rows: Vec<(&Entry, [String; 3])> =
            LOCKS.iter().map(|entry| (entry, cells(promise, entry, &tests, &configs))).collect();
        let is_held = |cells: &[String; 3]| cells.iter().any(|cell| cell.contains('`'));
        let alone = rows.iter().filter(|(entry, cells)| (promise.is_made)(entry) && !is_held(cells));
        faults.extend(
            alone.map(|(entry, _)| {
                format!("{} promises \"{}\", and nothing holds it to that", entry.name, promise.title)
            }),
        );
        let mut table = Grid::new(["lock", "hardware", "loom, random schedules", "TLA+"], [""; 0]);
        let (none, some): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|(_, cells)| cells.iter().all(|cell| cell == NOT_PROMISED));
        for (entry, [hardware, models, properties]) in some {
            table.row([code(entry.name), hardware, models, properties]);
        }
        text += &format!("\n## {}\n\n{}\n\n{}", promise.title, promise.meaning, table.markdown_of_markdown());
        if !none.is_empty() {
            let names: Vec<String> = none.iter().map(|(entry, _)| code(entry.name)).collect();
            text += &format!("\nNot promised: {}.\n", names.join(", "));
        }
    }
    if faults.is_empty() { Ok(text) } else { Err(faults.join("\n")) }
}

/// The names of the conformance tests, by those who know them: the test programs, which cargo builds. As `cargo test --workspace`
/// does, so that it builds nothing anew after that.
fn tests(root: &Path) -> Result<BTreeSet<String>, String> {
    let mut cargo = cargo(root);
    cargo.args(["test", "--quiet", "--locked", "--workspace"]);
    cargo.args(["--test", "models", "--test", "schedules", "--test", "threads", "--", "--list"]);
    let listed = output(&mut cargo)?;
    Ok(listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

fn cells(promise: &Promise, entry: &Entry, tests: &BTreeSet<String>, configs: &[Config]) -> [String; 3] {
    let module = entry.name.replace('-', "_");
    let own: Vec<&Config> = configs.iter().filter(|config| config.module == module).collect();
    if (promise.is_made)(entry) {
        let named = |patterns: &[&str]| list(patterns.iter().filter_map(|p| existing(p, &module, tests)), "no test");
        [named(promise.hardware), named(promise.models), model(promise, entry, &own)]
    } else {
        let not = NOT_PROMISED.to_owned();
        [not.clone(), not.clone(), refuted(promise, &own).map_or(not, |name| format!("not promised: `{name}` fails"))]
    }
}

/// The test that the pattern stands for, if there is one for this lock.
fn existing(pattern: &str, module: &str, tests: &BTreeSet<String>) -> Option<String> {
    let is_of_another = OF_ONE_LOCK.iter().any(|(test, lock)| *test == pattern && *lock != module);
    let name = pattern.replace("{lock}", module);
    (!is_of_another && tests.contains(&name)).then_some(name)
}

/// The properties that hold in the lock's model.
fn model(promise: &Promise, entry: &Entry, own: &[&Config]) -> String {
    if !entry.promises.sleeps {
        return "never sleeps".to_owned();
    }
    if own.is_empty() {
        return "no model".to_owned();
    }
    let green = own.iter().filter(|config| config.expected == "holds");
    let held: BTreeSet<&str> =
        green.flat_map(|config| config.invariants.iter().chain(&config.properties)).map(String::as_str).collect();
    let names = promise.properties.iter().filter(|name| held.contains(**name));
    list(names.map(|name| (*name).to_owned()), "no property")
}

/// The property for which the model has a counterexample.
fn refuted<'a>(promise: &Promise, own: &[&'a Config]) -> Option<&'a str> {
    let config = own.iter().find(|config| config.purpose == promise.counterexample)?;
    Some(config.expected.split_once(' ')?.1)
}

fn list(names: impl Iterator<Item = String>, none: &str) -> String {
    let quoted: Vec<String> = names.map(|name| code(&name)).collect();
    if quoted.is_empty() { none.to_owned() } else { quoted.join(", ") }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}
