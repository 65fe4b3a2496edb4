//! `cargo xtask mutants`: breaks what is published and the recorder, one edit at a time, and demands that a named test notices.
//!
//! `proof/conformance/mutants/NAME.toml` lists the edits: what to find (it must occur exactly once), what to put in
//! its place, and the rung (test target, or `lib`, and filter) that must fail: of the conformance tests, if the list names no
//! other package. Failing is anything but success: a panic, the
//! abort of a deadlocked model, or no end within [`PATIENCE`]. The workspace is copied to `target/mutants`, so that nothing is broken
//! here: one copy for each core, with its own target directory, in which only the edited crate is built again.

use crate::command::{cargo, output, within};
use crate::files::{ErrorContext, mirror, names, read, write};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// How long a rung may run. The slowest takes a fifth of it when nothing is broken.
const PATIENCE: Duration = Duration::from_secs(100);
/// How long all rungs of a test target together may run while nothing is broken.
const PATIENCE_WITH_ALL: Duration = Duration::from_secs(600);
/// The table of locks.
const TABLE: &str = "lab/lineage/src/table.rs";
/// A file for each lock or protocol.
const LISTS: &str = "proof/conformance/mutants";

/// A file of edits.
#[derive(Deserialize)]
struct List {
    file: PathBuf,
    #[serde(default = "conformance")]
    package: String,
    #[serde(flatten)]
    mutants: BTreeMap<String, Mutant>,
}

fn conformance() -> String {
    "ondeck-conformance".to_owned()
}

/// One deliberate breakage.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    /// The file that lists it, and under which name.
    #[serde(skip)]
    lock: String,
    #[serde(skip)]
    name: String,
    #[serde(skip)]
    package: String,
    /// Another file than the list's, or nothing.
    #[serde(default)]
    file: PathBuf,
    find: String,
    replace: String,
    rung: String,
}

/// What a copy of the workspace is for next.
enum Job<'a> {
    /// Rungs of a package, which must succeed while nothing is broken.
    Healthy(&'a str, String),
    Mutant(&'a Mutant),
}

/// Runs the mutants of the lists in `only`, or all if it is empty.
pub(crate) fn run(root: &Path, only: &[String]) -> Result<(), String> {
    let mut mutants = load(&root.join(LISTS))?;
    let has_mutants = |lock: &&String| mutants.iter().any(|mutant| mutant.lock == **lock);
    if let Some(lock) = only.iter().find(|lock| !has_mutants(lock)) {
        return Err(format!("`{lock}` has no mutants; --lock takes the name of a file in {LISTS}"));
    }
    mutants.retain(|mutant| only.is_empty() || only.contains(&mutant.lock));
    let n_copies = thread::available_parallelism().map_or(1, |n| n.get().min(mutants.len()));
    let workspaces = (0..n_copies).map(|n| MutantWorkspace::prepare(root, n)).collect::<Result<Vec<_>, _>>()?;
    for mutant in &mutants {
        mutant.edited(root)?;
    }
    let packages: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.package.as_str()).collect();
    let healthy = packages.into_iter().flat_map(|package| {
        let rungs = mutants.iter().filter(|mutant| mutant.package == package).map(|mutant| mutant.rung.as_str());
        together(rungs).into_iter().map(move |rung| Job::Healthy(package, rung))
    });
    let next = Mutex::new(healthy.collect::<Vec<_>>().into_iter().chain(mutants.iter().map(Job::Mutant)));
    let survivors = thread::scope(|scope| {
        let lane = |workspace: &MutantWorkspace| {
            // After an error there is nothing more to do.
            workspace.try_all(&next).inspect_err(|_| next.lock().expect("no lane panics").by_ref().for_each(drop))
        };
        let lanes: Vec<_> = workspaces.iter().map(|workspace| scope.spawn(move || lane(workspace))).collect();
        lanes.into_iter().map(|lane| lane.join().expect("no lane panics")).collect::<Result<Vec<_>, _>>()
    })?;
    let survivors = survivors.concat();
    println!("{} mutants, {} survived", mutants.len(), survivors.len());
    if survivors.is_empty() { Ok(()) } else { Err(survivors.join("\n")) }
}

/// All rungs of a test target as one, which takes less time than one after the other; those with flags by themselves.
fn together<'a>(rungs: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut filters: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for rung in rungs {
        let (target, filter) = rung.split_once(' ').unwrap_or((rung, ""));
        let alone = if filter.contains("--") { filter } else { "" };
        filters.entry((target, alone)).or_default().insert(filter);
    }
    let joined = |filters: BTreeSet<&str>| filters.into_iter().collect::<Vec<&str>>().join(" ");
    filters.into_iter().map(|((target, _), filters)| format!("{target} {}", joined(filters))).collect()
}

/// All mutants of a directory of lists.
fn load(directory: &Path) -> Result<Vec<Mutant>, String> {
    let mut mutants = Vec::new();
    for name in names(directory)? {
        let Some(lock) = name.strip_suffix(".toml") else { continue };
        let list: List = toml::from_str(&read(&directory.join(&name))?).at(directory.join(&name))?;
        mutants.extend(list.mutants.into_iter().map(|(name, mutant)| {
            let file = if mutant.file == Path::new("") { list.file.clone() } else { mutant.file };
            Mutant { lock: lock.to_owned(), name, file, package: list.package.clone(), ..mutant }
        }));
    }
    Ok(mutants)
}

impl Mutant {
    /// The text of its file in the workspace at `root`, with the edit.
    fn edited(&self, root: &Path) -> Result<String, String> {
        let text = read(&root.join(&self.file))?;
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            n => Err(format!("{}: {}: `find` occurs {n} times in {}", self.lock, self.name, self.file.display())),
        }
    }

    /// The table of locks without those that the rung does not name: each that is left in costs seconds of compiling.
    fn shortened(&self, table: &str) -> String {
        let named: BTreeSet<&str> = self.rung.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        table.split_inclusive('\n').filter(|line| row(line).is_none_or(|file| named.contains(file))).collect()
    }
}

/// The file of the lock of which a line of the table, or of one of its shorter lists, is the row.
fn row(line: &str) -> Option<&str> {
    Some(line.trim_start().strip_prefix("$each!(")?.split_once(", ")?.0)
}

/// The copy of the workspace in which mutants live.
struct MutantWorkspace {
    work: PathBuf,
    target: PathBuf,
}

impl MutantWorkspace {
    fn prepare(root: &Path, n: usize) -> Result<Self, String> {
        let home = root.join(format!("target/mutants/{n}"));
        let workspace = MutantWorkspace { work: home.join("work"), target: home.join("target") };
        std::fs::create_dir_all(&workspace.work).at(&workspace.work)?;
        for part in ["Cargo.toml", "Cargo.lock", "crates", "kit", "tool", "lab", "proof", "xtask"] {
            mirror(&root.join(part), &workspace.work.join(part), &[])?;
        }
        Ok(workspace)
    }

    /// Does one job after the other, and tells the mutants that survive.
    fn try_all<'a>(&self, next: &Mutex<impl Iterator<Item = Job<'a>>>) -> Result<Vec<String>, String> {
        let mut survivors = Vec::new();
        loop {
            let Some(job) = next.lock().expect("no lane panics").next() else { return Ok(survivors) };
            match job {
                Job::Healthy(package, rung) => {
                    if let Some(by) = self.try_rung(package, &rung, PATIENCE_WITH_ALL)? {
                        return Err(format!("`{rung}` fails before anything is broken: {by}"));
                    }
                }
                Job::Mutant(mutant) => survivors.extend(self.survivor(mutant)?),
            }
        }
    }

    /// Tries a mutant, and names it if it survives.
    fn survivor(&self, mutant: &Mutant) -> Result<Option<String>, String> {
        let start = Instant::now();
        let killed_by = self.with_edit(mutant, || self.try_rung(&mutant.package, &mutant.rung, PATIENCE))?;
        let fate = killed_by.as_ref().map_or("SURVIVED".to_owned(), |by| format!("killed by {by}"));
        let Mutant { lock, name, rung, .. } = mutant;
        println!("{lock}: {name}: {fate}  [{rung}, {:.1} s]", start.elapsed().as_secs_f64());
        Ok(killed_by.is_none().then(|| format!("{lock}: {name} survived")))
    }

    /// Runs `body` while the mutant's file is edited, with tests for no more locks than its rung speaks of.
    fn with_edit<R>(&self, mutant: &Mutant, body: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
        let (file, table) = (self.work.join(&mutant.file), self.work.join(TABLE));
        let (healthy, whole) = (read(&file)?, read(&table)?);
        write(&file, mutant.edited(&self.work)?)?;
        write(&table, mutant.shortened(&whole))?;
        let result = body().map_err(|error| format!("{}: {}: {error}", mutant.lock, mutant.name));
        write(&file, &healthy)?;
        write(&table, &whole)?;
        result
    }

    /// Builds and runs a rung: the name of a test target, then words for the test binary. Gives the test that fails, or in
    /// which other way it does not succeed; nothing if it does.
    fn try_rung(&self, package: &str, rung: &str, patience: Duration) -> Result<Option<String>, String> {
        let mut words = rung.split_whitespace();
        let target = words.next().ok_or("an empty rung")?;
        let mut test = Command::new(self.build(package, target)?);
        test.args(words).arg("--nocapture").current_dir(self.work.join("proof/conformance"));
        test.env("RUST_BACKTRACE", "0").env("ONDECK_LONG", "1");
        let (text, status) = within(&mut test, patience)?;
        let Some(status) = status else { return Ok(Some(format!("no end within {patience:?}"))) };
        match status.success() {
            false => Ok(Some(culprit(&text).unwrap_or_else(|| status.to_string()))),
            true if text.contains("running 0 tests") => Err(format!("the rung `{rung}` selects no test")),
            true => Ok(None),
        }
    }

    fn build(&self, package: &str, target: &str) -> Result<PathBuf, String> {
        let mut cargo = cargo(&self.work);
        cargo.args(["test", "--quiet", "--package", package, "--no-run"]);
        match target {
            "lib" => cargo.arg("--lib"),
            _ => cargo.args(["--test", target]),
        };
        let text = output(cargo.arg("--message-format=json-render-diagnostics").env("CARGO_TARGET_DIR", &self.target))?;
        let messages = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let mut executables = messages.filter_map(|message| Some(PathBuf::from(message["executable"].as_str()?)));
        executables.next_back().ok_or_else(|| format!("cargo names no executable for `{target}`"))
    }
}

/// The name of the thread that panicked first, which is that of its test.
fn culprit(text: &str) -> Option<String> {
    let name = text.split_once("thread '")?.1.split_once('\'')?.0;
    let reason = text.split_once("panicked at ")?.1.lines().nth(1)?;
    Some(format!("{name}: {}", reason.chars().take(60).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Here, so that an edit that has lost its place or its test is known before the mutants are run.
    #[test]
    fn every_edit_finds_its_place_and_its_test() {
        let root = &crate::root();
        let mutants = load(&root.join(LISTS)).unwrap();
        assert!(mutants.len() > 90, "{}", mutants.len());
        for mutant in &mutants {
            mutant.edited(root).unwrap();
            let names = mutant.rung.split(' ').skip(1).filter(|word| !word.starts_with("--"));
            let missing: Vec<&str> = names.filter(|name| !has_test(root, &mutant.package, name)).collect();
            assert!(missing.is_empty(), "{}: {}: no test {missing:?}", mutant.lock, mutant.name);
        }
    }

    /// Whether a package has a module or a function that begins so; of a path, where its first module is.
    fn has_test(root: &Path, package: &str, name: &str) -> bool {
        let directory = match package.strip_prefix("ondeck-") {
            Some(published) if package != conformance() => &format!("crates/{published}"),
            _ => "proof/conformance",
        };
        let (module, last) = name
            .split_once("::")
            .map_or(("", name), |(module, rest)| (module, rest.rsplit("::").next().unwrap_or_default()));
        let is_said = |path: &String| {
            let text = read(&root.join(path)).unwrap();
            ["fn ", "mod "].iter().any(|kind| text.contains(&format!("{kind}{last}")))
        };
        let files = crate::files::below(root, directory, &|_| false).unwrap();
        files.iter().filter(|path| path.ends_with(".rs") && path.contains(&format!("/{module}"))).any(is_said)
    }

    #[test]
    fn the_rows_are_those_of_the_table() {
        let table = read(&crate::root().join(TABLE)).unwrap();
        // Shorter lists follow.
        let whole = table.lines().take_while(|line| !line.contains("($each:ident, "));
        let names = whole.filter_map(row).map(|file| file.replace('_', "-"));
        assert!(names.eq(ondeck_lineage::LOCKS.iter().map(|entry| entry.name)));
    }

    #[test]
    fn a_lock_without_mutants_is_refused() {
        let refused = run(&crate::root(), &["ondeck".to_owned(), "ondekc".to_owned()]).unwrap_err();
        assert!(refused.starts_with("`ondekc` has no mutants"), "{refused}");
    }

    #[test]
    fn rungs_of_a_target_are_tried_together() {
        let rungs = ["loom b", "loom a", "loom b", "loom c --exact", "hardware a"];
        assert_eq!(together(rungs.into_iter()), ["hardware a", "loom a b", "loom c --exact"]);
    }
}
