//! Verdicts that are kept: what a model, a mutant or a simulated run gave, with the hash of everything that it depends on.
//!
//! What is deterministic need not be computed twice for the same input. `results/verdicts/TOOL.csv` has a line per verdict:
//! what it is about, the hash of its input, and what was found. A tool takes those whose hash is that of today's input, but
//! for a random tenth. These it computes again, and fails if they come out otherwise: so a verdict that was edited by
//! hand is found out sooner or later, and so is one whose hash leaves out something that it depends on.

use crate::command::{cargo, output};
use crate::files::{At, below, read, write};
use crate::{lexer, models, mutants};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One in so many of the kept verdicts is computed again.
const SAMPLE: u64 = 10;

/// Of these the mutants are tried in the gate: the library is made of them. The others are for a change of theirs.
const OURS: [&str; 3] = ["ondeck", "condvar", "monitor"];

/// Makes the tools compute everything anew.
pub(crate) const ALL: &str = "--all";

/// `cargo xtask verdicts [--all]`: the tools that keep what they find, one after the other.
pub(crate) fn run(root: &Path, is_all: bool) -> Result<(), String> {
    models::run(root, None, is_all)?;
    let ours = OURS.map(str::to_owned);
    mutants::run(root, if is_all { &[] } else { &ours }, is_all)?;
    crate::with_lab(root, "scaling", &[])
}

/// Everything that a verdict depends on, as a hash.
#[derive(Clone)]
pub(crate) struct Input(Sha256);

impl Input {
    /// Begins with the text of the tool that comes to the verdict.
    pub(crate) fn new(tool: &str) -> Self {
        Input(Sha256::new()).and("tool", tool.as_bytes())
    }

    /// The same with something more that is called `name`.
    pub(crate) fn and(mut self, name: &str, content: &[u8]) -> Self {
        for part in [name.as_bytes(), content] {
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
        self
    }

    /// The same with a file, or with all files of a directory, by their names relative to `root`.
    pub(crate) fn and_files(self, root: &Path, path: &str) -> Result<Self, String> {
        below(root, path, &|_| false)?.iter().try_fold(self, |input, file| {
            let content = fs::read(root.join(file)).at(root.join(file))?;
            // No comment changes what a program does.
            Ok(match std::str::from_utf8(&content) {
                Ok(text) if file.ends_with(".rs") => input.and(file, lexer::without_comments(text).as_bytes()),
                _ => input.and(file, &content),
            })
        })
    }

    /// The same with everything that a member is built from, but for the files of members that `is_foreign` knows.
    pub(crate) fn and_built(
        self,
        root: &Path,
        built: &Built,
        is_foreign: impl Fn(&str) -> bool,
    ) -> Result<Self, String> {
        let mut files = built.files.iter().filter(|file| !is_foreign(file));
        files.try_fold(self.and("built", built.with.as_bytes()), |input, file| input.and_files(root, file))
    }

    fn hex(&self) -> String {
        hex(&self.0.clone().finalize()[..16])
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a member is built from, as cargo resolves it for this machine. There is nothing of a place in it, so that whoever clones
/// the tree finds kept what was found elsewhere.
pub(crate) struct Built {
    /// The compiler, its options, and all packages with their features; those of others with the sums of their contents.
    with: String,
    /// The files of the members among them, by names relative to the root.
    files: Vec<String>,
}

impl Built {
    pub(crate) fn of(root: &Path, package: &str) -> Result<Self, String> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let compiler = output(Command::new(rustc).arg("-vV").current_dir(root))?;
        let words = ["tree", "--locked", "--package", package, "--edges", "normal,build,dev", "--no-dedupe"];
        let tree = output(cargo(root).args(words).args(["--prefix", "none", "--format", "{p}|{f}"]))?;
        let lock = read(&root.join("Cargo.lock"))?;
        let lines: BTreeSet<&str> = tree.lines().filter(|line| !line.is_empty()).collect();
        let (mut names, mut with, mut files) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
        let place = format!("({}/", root.display());
        for line in lines {
            let (what, features) = line.split_once('|').unwrap_or((line, ""));
            let mut words = what.split(' ');
            let (name, version) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            names.insert(name);
            if let Some((directory, _)) = what.split_once(&place).and_then(|(_, rest)| rest.split_once(')')) {
                files.extend(below(root, directory, &is_of_no_build)?);
                with.push(format!("{name} {features}"));
            } else {
                let head = format!("name = \"{name}\"\nversion = \"{}\"\n", version.trim_start_matches('v'));
                let entry = lock.split("[[package]]\n").find(|entry| entry.starts_with(&head));
                let sum = entry.and_then(|entry| entry.lines().find(|line| line.starts_with("checksum")));
                with.push(format!("{name} {version} {features} {}", sum.unwrap_or("without a sum")));
            }
        }
        let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
        let profiles = profiles(&read(&root.join("Cargo.toml"))?, &names)?;
        let with = format!("{compiler}\n{flags}\n{profiles}\n{}", with.join("\n"));
        Ok(Built { with, files: files.into_iter().collect() })
    }
}

/// The options of all profiles of a manifest, but for those of packages that are not among `names`.
fn profiles(manifest: &str, names: &BTreeSet<&str>) -> Result<String, String> {
    let manifest: toml::Table = manifest.parse().at("Cargo.toml")?;
    let mut profiles = manifest.get("profile").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    for (_, profile) in &mut profiles {
        if let Some(packages) = profile.get_mut("package").and_then(toml::Value::as_table_mut) {
            packages.retain(|name, _| name == "*" || names.contains(name));
        }
    }
    Ok(format!("{profiles:?}"))
}

/// Whether no build of another package sees what has this name in a member's directory.
fn is_of_no_build(name: &str) -> bool {
    let others = ["benches", "examples", "mutants", "tests"];
    others.contains(&name) || name.ends_with(".md") || name.starts_with("LICENSE")
}

/// The words that can be names in a text.
pub(crate) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// Those that are `open`, and all that their texts name and `is_one` knows, and that theirs name.
pub(crate) fn named_from(
    mut open: Vec<String>,
    text: impl Fn(&str) -> Result<String, String>,
    is_one: impl Fn(&str) -> bool,
) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !found.contains(&name) {
            open.extend(identifiers(&text(&name)?).filter(|word| is_one(word)).map(str::to_owned));
            found.insert(name);
        }
    }
    Ok(found)
}

/// A line of a file of verdicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    what: String,
    input: String,
    verdict: String,
}

/// The verdicts of one tool.
pub(crate) struct Verdicts {
    file: PathBuf,
    /// By what they are about.
    lines: BTreeMap<String, Line>,
    /// Whether none is believed.
    is_all: bool,
    /// Draws the sample, anew in each run.
    chance: RandomState,
    n_taken: usize,
    n_sampled: usize,
}

impl Verdicts {
    /// Reads those of `tool`; with `is_all` they are only compared with what is computed.
    pub(crate) fn read(root: &Path, tool: &str, is_all: bool) -> Result<Self, String> {
        let file = root.join("results/verdicts").join(format!("{tool}.csv"));
        let mut lines = BTreeMap::new();
        if file.exists() {
            for line in csv::Reader::from_path(&file).at(&file)?.deserialize() {
                let line: Line = line.at(&file)?;
                lines.insert(line.what.clone(), line);
            }
        }
        Ok(Verdicts { file, lines, is_all, chance: RandomState::new(), n_taken: 0, n_sampled: 0 })
    }

    /// What was found of `what`, if that was with the same input and is not drawn to be computed again.
    pub(crate) fn take(&mut self, what: &str, input: &Input) -> Option<String> {
        let line = self.lines.get(what).filter(|line| line.input == input.hex())?;
        if self.is_all || self.chance.hash_one(what).is_multiple_of(SAMPLE) {
            self.n_sampled += 1;
            return None;
        }
        self.n_taken += 1;
        Some(line.verdict.clone())
    }

    /// Keeps what was computed.
    ///
    /// # Errors
    /// If with the same input something else was kept.
    pub(crate) fn keep(&mut self, what: &str, input: &Input, verdict: &str) -> Result<(), String> {
        let line = Line { what: what.to_owned(), input: input.hex(), verdict: verdict.to_owned() };
        let file = self.file.display();
        match self.lines.insert(what.to_owned(), line) {
            Some(old) if old.input == input.hex() && old.verdict != verdict => {
                Err(format!("{what}: {verdict}\n  kept in {file} for the same input: {}", old.verdict))
            }
            _ => Ok(()),
        }
    }

    /// Writes the file, without what `is_there` knows nothing of.
    pub(crate) fn write(mut self, is_there: impl Fn(&str) -> bool) -> Result<(), String> {
        self.lines.retain(|what, _| is_there(what));
        let (taken, sampled) = (self.n_taken, self.n_sampled);
        println!("verdicts: {taken} as kept, {sampled} kept ones computed again, {} in all", self.lines.len());
        let mut writer = csv::Writer::from_writer(Vec::new());
        self.lines.values().try_for_each(|line| writer.serialize(line)).at(&self.file)?;
        write(&self.file, writer.into_inner().at(&self.file)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_all_of_its_parts() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/c"), "text").unwrap();
        let input = || Input::new("tool").and_files(root, "a").unwrap().hex();
        let before = input();
        assert_eq!(input(), before);
        fs::write(root.join("a/b/c"), "other").unwrap();
        assert_ne!(input(), before, "a file has changed");
        fs::rename(root.join("a/b/c"), root.join("a/b/d")).unwrap();
        fs::write(root.join("a/b/d"), "text").unwrap();
        assert_ne!(input(), before, "a file has another name");
        assert_ne!(Input::new("a").and("b", b"c").hex(), Input::new("a").and("bc", b"").hex());
    }

    #[test]
    fn a_package_is_what_it_is_built_from() {
        let root = crate::root();
        let Built { with, files } = Built::of(&root, "ondeck-conformance").unwrap();
        for part in ["\nloom v", "checksum = ", "\nondeck-locks yardsticks\n", "opt-level"] {
            assert!(with.contains(part), "no {part:?} in {with}");
        }
        for part in ["without a sum", "ondeck-record", &root.display().to_string()] {
            assert!(!with.contains(part), "{part:?} in {with}");
        }
        let has = |file: &str| files.iter().any(|found| found == file);
        assert!(has("crates/conformance/Cargo.toml") && has("crates/locks/src/lib.rs"), "{files:?}");
        assert!(has("crates/sim/machines/m1.toml") && !has("crates/conformance/README.md"), "{files:?}");
        assert!(files.iter().all(|file| !file.contains("/tests/") || file.contains("/src/")), "{files:?}");
    }

    #[test]
    fn options_of_other_packages_play_no_part() {
        let of = |manifest: &str| profiles(manifest, &BTreeSet::from(["a"])).unwrap();
        let manifest = "[profile.dev.package]\na.opt-level = 1\n";
        assert_eq!(of(manifest), of(&format!("{manifest}b.opt-level = 2\n")));
        assert_ne!(of(manifest), of("[profile.dev.package]\na.opt-level = 2\n"));
        assert_ne!(of(manifest), of(&format!("{manifest}[profile.release]\nlto = true\n")));
    }

    #[test]
    fn a_comment_changes_no_input_and_code_does() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        let input = |text: &str| {
            fs::write(root.join("a.rs"), text).unwrap();
            Input::new("tool").and_files(root, "a.rs").unwrap().hex()
        };
        assert_eq!(input("// One.\nfn f() {}\n"), input("// Two.\nfn f() {}\n"));
        assert_ne!(input("fn f() {}\n"), input("fn g() {}\n"));
    }

    #[test]
    fn a_verdict_is_believed_for_its_own_input_but_for_a_sample() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        let (old, new) = (Input::new("old"), Input::new("new"));
        let names: Vec<String> = (0..1000).map(|n| format!("model {n}, \"quoted\"")).collect();
        let mut verdicts = Verdicts::read(root, "toy", false).unwrap();
        assert!(names.iter().all(|name| verdicts.take(name, &old).is_none()));
        names.iter().for_each(|name| verdicts.keep(name, &old, "holds").unwrap());
        verdicts.write(|_| true).unwrap();

        let mut verdicts = Verdicts::read(root, "toy", false).unwrap();
        let taken = names.iter().filter(|name| verdicts.take(name, &old).as_deref() == Some("holds")).count();
        assert!((800..=980).contains(&taken), "{taken} of 1000, nine tenths expected");
        assert!(names.iter().all(|name| verdicts.take(name, &new).is_none()), "another input");
        let mut all = Verdicts::read(root, "toy", true).unwrap();
        assert!(names.iter().all(|name| all.take(name, &old).is_none()), "none is believed");
    }

    #[test]
    fn a_kept_verdict_that_was_wrong_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        let input = Input::new("tool");
        let mut verdicts = Verdicts::read(root, "toy", true).unwrap();
        verdicts.keep("a", &input, "killed").unwrap();
        verdicts.keep("a", &input, "killed").unwrap();
        let error = verdicts.keep("a", &input, "survived").unwrap_err();
        assert!(error.starts_with("a: survived") && error.ends_with("for the same input: killed"), "{error}");
        verdicts.keep("a", &Input::new("changed"), "holds").unwrap();
        verdicts.write(|what| what != "a").unwrap();
        assert!(Verdicts::read(root, "toy", false).unwrap().lines.is_empty(), "what is no more is forgotten");
    }
}
