//! `cargo xtask net`: breaks the flagship, its condition variable and the monitor in every way that an operator can, one at
//! a time, and says what no test notices.
//!
//! `net/generate.rs` finds what can be broken: each ordering weakened by one step, each decision changed. All of that is
//! woven into one copy of the workspace under `target/net` (`schemata.rs`), whose tests are built once; the environment says
//! which mutant runs. Each test is first run whole, to learn which mutants it reaches and how long it takes; then each
//! mutant is tried with the tests that reach it, the shortest first (`trial.rs`).
//!
//! `crates/conformance/survivors.toml` names those that are known to survive, each with the reason. A run
//! fails on a survivor that is not named there, and on a name that is none any more.

mod generate;
mod schemata;
mod survivors;
mod trial;

use crate::mutants::{mirror, read, write};
use crate::table;
use generate::{Found, Kind};
use std::path::{Path, PathBuf};
use std::time::Duration;
use survivors::Survivors;
use trial::{Fate, Tests};

/// What is broken: the directory of each, and the crate's own unit tests see all of them.
const SUBJECTS: [&str; 4] = ["ondeck.rs", "ondeck", "monitor.rs", "monitor"];

const USAGE: &str = "usage: cargo xtask net [--kind orderings|decisions] [--file NAME] [--only TEXT] [--budget SECONDS] [--minutes N] [--survivors] [--long] [--write]";

struct Options {
    kind: Option<Kind>,
    file: Option<String>,
    only: Option<String>,
    /// How long a survivor is tried.
    budget: Duration,
    /// How long the trials of all may take; who is left then is not tried.
    most: Duration,
    /// Only those that survived when they were tried last.
    are_survivors: bool,
    /// With the models of minutes.
    is_long: bool,
    is_written: bool,
}

pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let options = options(words).ok_or(USAGE)?;
    let work = root.join("target/net/work");
    let mutants = copy(root, &work)?;
    let tests = Tests::build(&work, &root.join("target/net/target"), options.is_long)?;
    let survivors = Survivors::read(root)?;
    let survived = if options.are_survivors { Some(survivors::survived(root)?) } else { None };
    let is_wanted = |mutant: &&(usize, generate::Mutant)| {
        let mutant = &mutant.1;
        options.kind.is_none_or(|kind| mutant.kind == kind)
            && options.file.as_ref().is_none_or(|file| mutant.name.starts_with(&format!("{file} ")))
            && options.only.as_ref().is_none_or(|only| mutant.name.contains(only.as_str()))
            && survived.as_ref().is_none_or(|survived| survived.contains(&mutant.name))
    };
    let wanted: Vec<_> = mutants.iter().filter(is_wanted).collect();
    println!("{} mutants, {} of them are tried", mutants.len(), wanted.len());
    let fates = trial::run(&tests, &wanted, options.budget, options.most);
    let verdict = survivors.compare(&wanted, &fates);
    if options.is_written {
        survivors::write_pages(root, &mutants, &wanted, &fates, &survivors)?;
    }
    let n_untried = fates.iter().filter(|fate| matches!(fate, Fate::Untried)).count();
    let n_killed = fates.iter().filter(|fate| matches!(fate, Fate::Killed { .. })).count();
    println!("{} mutants, {} survived, {n_untried} not tried", wanted.len(), wanted.len() - n_killed - n_untried);
    verdict
}

fn options(words: &[String]) -> Option<Options> {
    let mut options = Options {
        kind: None,
        file: None,
        only: None,
        budget: Duration::from_secs(60),
        most: Duration::MAX,
        are_survivors: false,
        is_long: false,
        is_written: false,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--survivors" => options.are_survivors = true,
            "--long" => options.is_long = true,
            "--write" => options.is_written = true,
            "--file" => options.file = Some(words.next()?.clone()),
            "--only" => options.only = Some(words.next()?.clone()),
            "--budget" => options.budget = Duration::from_secs(words.next()?.parse().ok()?),
            "--minutes" => options.most = Duration::from_secs(60 * words.next()?.parse::<u64>().ok()?),
            "--kind" => {
                options.kind = Some(match words.next()?.as_str() {
                    "orderings" => Kind::Ordering,
                    "decisions" => Kind::Decision,
                    _ => return None,
                });
            }
            _ => return None,
        }
    }
    Some(options)
}

/// Makes `work` a copy of the workspace with all mutants; gives these with their numbers.
fn copy(root: &Path, work: &Path) -> Result<Vec<(usize, generate::Mutant)>, String> {
    const LOCKS: &str = "crates/locks/src";
    std::fs::create_dir_all(work).map_err(|error| format!("{}: {error}", work.display()))?;
    let subjects = subjects(&root.join(LOCKS))?;
    let mut ours: Vec<PathBuf> = subjects.iter().map(|(name, _)| work.join(LOCKS).join(name)).collect();
    ours.extend(["lib.rs", "mutant.rs"].map(|name| work.join(LOCKS).join(name)));
    ours.push(work.join(table::PATH));
    for part in ["Cargo.toml", "Cargo.lock", "crates", "xtask"] {
        mirror(&root.join(part), &work.join(part), &ours)?;
    }
    // Only the flagship's tests.
    let table = table::with_only(&read(&root.join(table::PATH))?, |file| file == "ondeck");
    write_if_new(&work.join(table::PATH), &table)?;
    weave(&root.join(LOCKS), &work.join(LOCKS))
}

/// Writes the subjects with their mutants; gives these with their numbers.
fn weave(from: &Path, to: &Path) -> Result<Vec<(usize, generate::Mutant)>, String> {
    let mut all = Vec::new();
    for (name, file) in subjects(from)? {
        let text = read(&file)?;
        let Found { mutants, consts } = generate::find(&name, &text)?;
        let found = Found { mutants, consts };
        write_if_new(&to.join(&name), &schemata::weave(&text, &found, all.len()))?;
        all.extend(found.mutants);
    }
    if all.len() > schemata::MOST {
        return Err(format!("{} mutants are more than there is room for, {}", all.len(), schemata::MOST));
    }
    write_if_new(&to.join("mutant.rs"), schemata::MODULE)?;
    let lib = read(&from.join("lib.rs"))?;
    let allowing = "#![allow(warnings, arithmetic_overflow)]\n";
    let head: usize = lib.split_inclusive('\n').take_while(|line| line.starts_with("//!")).map(str::len).sum();
    let lib = format!("{}{allowing}pub mod mutant;\n{}", &lib[..head], &lib[head..]);
    write_if_new(&to.join("lib.rs"), &lib)?;
    Ok(all.into_iter().enumerate().collect())
}

/// The files that are broken, as names relative to the directory and as paths.
fn subjects(directory: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let mut files = Vec::new();
    for subject in SUBJECTS {
        let path = directory.join(subject);
        if path.is_file() {
            files.push((subject.to_owned(), path));
            continue;
        }
        let entries = std::fs::read_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut inside: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        // A directory below holds the tests of a file.
        inside.retain(|path| path.is_file());
        inside.sort();
        for file in inside {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            files.push((format!("{subject}/{name}"), file.clone()));
        }
    }
    Ok(files)
}

/// Leaves a file alone that is right, so that cargo does not build it again.
fn write_if_new(file: &Path, text: &str) -> Result<(), String> {
    if read(file).is_ok_and(|old| old == text) { Ok(()) } else { write(file, text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_or_refused() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
        let all = options(&words("--kind orderings --file ondeck/deck.rs --budget 5 --long --write")).expect("right");
        assert_eq!((all.kind, all.file.as_deref()), (Some(Kind::Ordering), Some("ondeck/deck.rs")));
        assert_eq!((all.budget, all.is_long, all.is_written), (Duration::from_secs(5), true, true));
        for wrong in ["--kind", "--kind both", "--budget x", "ondeck"] {
            assert!(options(&words(wrong)).is_none(), "{wrong}");
        }
    }

    /// What is woven parses, so that a mutant that cannot be is known before an hour of work.
    #[test]
    fn the_subjects_can_be_woven() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/locks/src");
        for (name, file) in subjects(&directory).expect("there") {
            let text = read(&file).expect("readable");
            let woven = schemata::weave(&text, &generate::find(&name, &text).expect("parses"), 0);
            assert!(syn::parse_file(&woven).is_ok(), "{name}");
        }
    }
}
