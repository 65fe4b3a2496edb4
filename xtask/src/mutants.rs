//! `cargo xtask mutants`: breaks each lock one edit at a time and demands that a named test notices.
//!
//! `crates/conformance/mutants/<lock>.toml` lists the edits: what to find (it must occur exactly once), what to put in
//! its place, and the rung (test target and filter) that must fail. Failing is anything but success: a panic, the
//! abort of a deadlocked model, or no end within [`PATIENCE`]. The workspace is copied to `target/mutants/work`, so that
//! nothing is broken here; its builds share one target directory, so that only the edited crate is built again.
//!
//! What became of a mutant is kept (`verdicts.rs`) with the hash of its edit, of all crates that its test is built from but
//! for the files of locks that have nothing to do with it, and of the compiler.

use crate::command::{cargo, output, text, within};
use crate::files::{At, mirror, names, read, write};
use crate::table;
use crate::verdicts::{Built, Input, Verdicts, identifiers, named_from};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a rung may run. The slowest takes a fifth of it when nothing is broken.
const PATIENCE: Duration = Duration::from_secs(100);
/// How long all rungs of a test target together may run while nothing is broken.
const PATIENCE_WITH_ALL: Duration = Duration::from_secs(600);
/// A file for each lock.
const LISTS: &str = "crates/conformance/mutants";

/// A file of edits.
#[derive(Deserialize)]
struct List {
    file: PathBuf,
    #[serde(rename = "mutant")]
    mutants: Vec<Mutant>,
}

/// One deliberate breakage.
#[derive(Deserialize)]
struct Mutant {
    /// The file that lists it.
    #[serde(skip)]
    lock: String,
    name: String,
    /// Another file than the list's, or nothing.
    #[serde(default)]
    file: PathBuf,
    find: String,
    replace: String,
    rung: String,
}

/// What becomes of a mutant that is not noticed.
const SURVIVED: &str = "SURVIVED";
/// And of one that is.
const KILLED: &str = "killed";

/// Runs the mutants of the locks in `only`, or all if it is empty; with `is_all` also those whose verdict is kept.
pub(crate) fn run(root: &Path, only: &[String], is_all: bool) -> Result<(), String> {
    let all = load(&root.join(LISTS))?;
    let has_mutants = |lock: &&String| all.iter().any(|mutant| mutant.lock == **lock);
    if let Some(lock) = only.iter().find(|lock| !has_mutants(lock)) {
        return Err(format!("`{lock}` has no mutants; --lock takes the name of a file in {LISTS}"));
    }
    let mut verdicts = Verdicts::read(root, "mutants", is_all)?;
    let built = Built::of(root, "ondeck-conformance")?;
    let mut to_try = Vec::new();
    let mut faults = Vec::new();
    for mutant in all.iter().filter(|mutant| only.is_empty() || only.contains(&mutant.lock)) {
        mutant.edited(root)?;
        let input = mutant.input(root, &built, &all)?;
        match verdicts.take(&mutant.title(), &input) {
            Some(verdict) if verdict == KILLED => {}
            Some(verdict) => faults.push(format!("{}: {verdict}", mutant.title())),
            None => to_try.push((mutant, input)),
        }
    }
    faults.extend(try_all(root, &to_try, &mut verdicts)?);
    verdicts.write(|title| all.iter().any(|mutant| mutant.title() == title))?;
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Tries the mutants, and keeps what becomes of them; what is returned tells of those that survived.
fn try_all(root: &Path, mutants: &[(&Mutant, Input)], verdicts: &mut Verdicts) -> Result<Vec<String>, String> {
    let nursery = Nursery::prepare(root)?;
    for rung in together(mutants.iter().map(|(mutant, _)| mutant.rung.as_str())) {
        if let Some(by) = nursery.try_rung(&rung, PATIENCE_WITH_ALL)? {
            return Err(format!("`{rung}` fails before anything is broken: {by}"));
        }
    }
    let width = |of: fn(&Mutant) -> &str| mutants.iter().map(|(mutant, _)| of(mutant).len()).max().unwrap_or(0);
    let (locks, names) = (width(|mutant| &mutant.lock), width(|mutant| &mutant.name));
    let mut faults = Vec::new();
    for (mutant, input) in mutants {
        let start = Instant::now();
        let killed_by = nursery.with_edit(mutant, || nursery.try_rung(&mutant.rung, PATIENCE))?;
        let (verdict, how) = killed_by.map_or((SURVIVED, String::new()), |by| (KILLED, format!(" by {by}")));
        faults.extend(verdicts.keep(&mutant.title(), input, verdict).err());
        faults.extend((verdict == SURVIVED).then(|| format!("{}: {SURVIVED}", mutant.title())));
        let seconds = start.elapsed().as_secs_f64();
        println!("{:locks$}  {:names$}  {seconds:5.1} s  {verdict}{how}  [{}]", mutant.lock, mutant.name, mutant.rung);
    }
    println!("{} mutants, {} survived", mutants.len(), faults.len());
    Ok(faults)
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
        mutants.extend(list.mutants.into_iter().map(|mutant| Mutant {
            lock: lock.to_owned(),
            file: if mutant.file == Path::new("") { list.file.clone() } else { mutant.file },
            ..mutant
        }));
    }
    Ok(mutants)
}

impl Mutant {
    /// What tells it from all others.
    fn title(&self) -> String {
        format!("{}: {}", self.lock, self.name)
    }

    /// What its fate depends on: the edit, how long its test may take, and everything that the test is built from. Of `all` the
    /// locks with mutants, those whose names its own files do not mention have nothing to do with it.
    fn input(&self, root: &Path, built: &Built, all: &[Mutant]) -> Result<Input, String> {
        const LOCKS: &str = "crates/locks/src";
        let module = |file: &Path| {
            let inside = file.strip_prefix(LOCKS).ok()?.iter().next()?.to_str()?;
            Some(inside.trim_end_matches(".rs").to_owned())
        };
        let others: BTreeSet<String> = all.iter().filter_map(|mutant| module(&mutant.file)).collect();
        let text = |name: &str| texts(&root.join(LOCKS), name);
        let ours = named_from(Vec::from_iter(module(&self.file)), text, |word| others.contains(word))?;
        let Mutant { find, replace, rung, .. } = self;
        let input = Input::new("mutants").and("edit", format!("{find}\0{replace}\0{rung}").as_bytes());
        let input = input.and("patience", format!("{PATIENCE:?}").as_bytes());
        let is_foreign =
            |file: &str| module(Path::new(file)).is_some_and(|of| others.contains(&of) && !ours.contains(&of));
        let target = rung.split(' ').next().unwrap_or_default();
        let input = input.and_files(root, &format!("crates/conformance/tests/{target}"))?;
        input.and_built(root, built, is_foreign)
    }

    /// The text of its file in the workspace at `root`, with the edit.
    fn edited(&self, root: &Path) -> Result<String, String> {
        let text = read(&root.join(&self.file))?;
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            n => Err(format!("{} / {}: `find` occurs {n} times in {}", self.lock, self.name, self.file.display())),
        }
    }

    /// The table of locks without those that the rung does not name.
    fn shortened(&self, table: &str) -> String {
        let named: BTreeSet<&str> = identifiers(&self.rung).collect();
        table::with_only(table, |file| named.contains(file))
    }
}

/// The copy of the workspace in which mutants live.
struct Nursery {
    work: PathBuf,
    target: PathBuf,
}

impl Nursery {
    fn prepare(root: &Path) -> Result<Self, String> {
        let home = root.join("target/mutants");
        let nursery = Nursery { work: home.join("work"), target: home.join("target") };
        std::fs::create_dir_all(&nursery.work).at(&nursery.work)?;
        for part in ["Cargo.toml", "Cargo.lock", "crates", "xtask"] {
            mirror(&root.join(part), &nursery.work.join(part), &[])?;
        }
        Ok(nursery)
    }

    /// Runs `body` while the mutant's file is edited, with tests for no more locks than its rung speaks of.
    fn with_edit<R>(&self, mutant: &Mutant, body: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
        let (file, table) = (self.work.join(&mutant.file), self.work.join(table::PATH));
        let (healthy, whole) = (read(&file)?, read(&table)?);
        write(&file, &mutant.edited(&self.work)?)?;
        write(&table, mutant.shortened(&whole))?;
        let result = body().map_err(|error| format!("{} / {}: {error}", mutant.lock, mutant.name));
        write(&file, &healthy)?;
        write(&table, &whole)?;
        result
    }

    /// Builds and runs a rung: the name of a test target, then words for the test binary. Gives the test that fails, or in
    /// which other way it does not succeed; nothing if it does.
    fn try_rung(&self, rung: &str, patience: Duration) -> Result<Option<String>, String> {
        let mut words = rung.split_whitespace();
        let target = words.next().ok_or("an empty rung")?;
        let mut test = Command::new(self.build(target)?);
        test.args(words).arg("--nocapture").current_dir(self.work.join("crates/conformance"));
        test.env("RUST_BACKTRACE", "0").env("ONDECK_LONG", "1");
        let (output, in_time) = within(&mut test, patience)?;
        let text = text(&output);
        match output.status.success() {
            _ if !in_time => Ok(Some(format!("no end within {patience:?}"))),
            false => Ok(Some(culprit(&text).unwrap_or_else(|| output.status.to_string()))),
            true if text.contains("running 0 tests") => Err(format!("the rung `{rung}` selects no test")),
            true => Ok(None),
        }
    }

    fn build(&self, target: &str) -> Result<PathBuf, String> {
        let mut cargo = cargo(&self.work);
        cargo.args(["test", "--quiet", "--package", "ondeck-conformance", "--no-run", "--test", target]);
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

/// The module `name` of a directory: its file, and those of the directory of that name. A directory below that holds the tests
/// of a file.
fn texts(directory: &Path, name: &str) -> Result<String, String> {
    let inside = directory.join(name);
    let mut text = read(&directory.join(format!("{name}.rs")))?;
    if inside.is_dir() {
        for file in names(&inside)?.into_iter().map(|name| inside.join(name)).filter(|file| file.is_file()) {
            text += &read(&file)?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Here, so that an edit that has lost its place is known before the mutants are run.
    #[test]
    fn every_edit_finds_its_place() {
        let root = &crate::root();
        let mutants = load(&root.join(LISTS)).unwrap();
        assert!(mutants.len() > 100, "{}", mutants.len());
        let lost: Vec<String> = mutants.iter().filter_map(|mutant| mutant.edited(root).err()).collect();
        assert!(lost.is_empty(), "{}", lost.join("\n"));
    }

    #[test]
    fn a_lock_without_mutants_is_refused() {
        let refused = run(&crate::root(), &["mcs".to_owned(), "msc".to_owned()], false).unwrap_err();
        assert!(refused.starts_with("`msc` has no mutants"), "{refused}");
    }

    #[test]
    fn rungs_of_a_target_are_tried_together() {
        let rungs = ["loom b", "loom a", "loom b", "loom c --exact", "hardware a"];
        assert_eq!(together(rungs.into_iter()), ["hardware a", "loom a b", "loom c --exact"]);
    }
}
