//! Verdicts that are kept: what a model, a mutant or a simulated run gave, with the hash of everything that it depends on.
//!
//! What is deterministic need not be computed twice for the same input. `results/verdicts/TOOL.csv` has a line per verdict:
//! what it is about, the hash of its input, and what was found. A tool takes those whose hash is that of today's input, but
//! for a random tenth. These it computes again, and fails if they come out otherwise: so a verdict that was edited by
//! hand is found out sooner or later, and so is one whose hash leaves out something that it depends on.

use crate::{models, mutants};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
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
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    if !words.is_empty() && words != [ALL] {
        return Err(format!("usage: cargo xtask verdicts [{ALL}]"));
    }
    models::run(root, words)?;
    let ours: Vec<String> = OURS.iter().flat_map(|lock| ["--lock".to_owned(), (*lock).to_owned()]).collect();
    mutants::run(root, if words.is_empty() { &ours } else { words })?;
    let scaling: Vec<String> = std::iter::once("scaling".to_owned()).chain(words.to_vec()).collect();
    crate::with_lab(root, &scaling)
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
    pub(crate) fn and_files(mut self, root: &Path, path: &str) -> Result<Self, String> {
        let full = root.join(path);
        let fail = |error: std::io::Error| format!("{}: {error}", full.display());
        if full.is_file() {
            return Ok(self.and(path, &fs::read(&full).map_err(fail)?));
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(&full).map_err(fail)? {
            names.push(entry.map_err(fail)?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        for name in names {
            self = self.and_files(root, &format!("{path}/{name}"))?;
        }
        Ok(self)
    }

    /// The same with the compiler that makes the programs.
    pub(crate) fn and_compiler(self) -> Result<Self, String> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let output = Command::new(rustc).arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
        Ok(self.and("rustc", &output.stdout))
    }

    fn hex(&self) -> String {
        self.0.clone().finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
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
            let fail = |error: csv::Error| format!("{}: {error}", file.display());
            for line in csv::Reader::from_path(&file).map_err(fail)?.deserialize() {
                let line: Line = line.map_err(fail)?;
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
        let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", self.file.display());
        fs::create_dir_all(self.file.parent().unwrap_or(Path::new("."))).map_err(|error| fail(&error))?;
        let mut writer = csv::Writer::from_path(&self.file).map_err(|error| fail(&error))?;
        for line in self.lines.values() {
            writer.serialize(line).map_err(|error| fail(&error))?;
        }
        writer.flush().map_err(|error| fail(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty directory of its own for the test.
    fn directory(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("ondeck-verdicts-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).expect("the temporary directory can be written");
        directory
    }

    #[test]
    fn an_input_is_all_of_its_parts() {
        let root = directory("input");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/c"), "text").unwrap();
        let input = || Input::new("tool").and_files(&root, "a").unwrap().hex();
        let before = input();
        assert_eq!(input(), before);
        fs::write(root.join("a/b/c"), "other").unwrap();
        assert_ne!(input(), before, "a file has changed");
        fs::rename(root.join("a/b/c"), root.join("a/b/d")).unwrap();
        fs::write(root.join("a/b/d"), "text").unwrap();
        assert_ne!(input(), before, "a file has another name");
        assert_ne!(Input::new("a").and("b", b"c").hex(), Input::new("a").and("bc", b"").hex());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_verdict_is_believed_for_its_own_input_but_for_a_sample() {
        let root = directory("kept");
        let (old, new) = (Input::new("old"), Input::new("new"));
        let names: Vec<String> = (0..1000).map(|n| format!("model {n}, \"quoted\"")).collect();
        let mut verdicts = Verdicts::read(&root, "toy", false).unwrap();
        assert!(names.iter().all(|name| verdicts.take(name, &old).is_none()));
        names.iter().for_each(|name| verdicts.keep(name, &old, "holds").unwrap());
        verdicts.write(|_| true).unwrap();

        let mut verdicts = Verdicts::read(&root, "toy", false).unwrap();
        let taken = names.iter().filter(|name| verdicts.take(name, &old).as_deref() == Some("holds")).count();
        assert!((800..=980).contains(&taken), "{taken} of 1000, nine tenths expected");
        assert!(names.iter().all(|name| verdicts.take(name, &new).is_none()), "another input");
        let mut all = Verdicts::read(&root, "toy", true).unwrap();
        assert!(names.iter().all(|name| all.take(name, &old).is_none()), "none is believed");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_kept_verdict_that_was_wrong_is_an_error() {
        let root = directory("wrong");
        let input = Input::new("tool");
        let mut verdicts = Verdicts::read(&root, "toy", true).unwrap();
        verdicts.keep("a", &input, "killed").unwrap();
        verdicts.keep("a", &input, "killed").unwrap();
        let error = verdicts.keep("a", &input, "survived").unwrap_err();
        assert!(error.starts_with("a: survived") && error.ends_with("for the same input: killed"), "{error}");
        verdicts.keep("a", &Input::new("changed"), "holds").unwrap();
        verdicts.write(|what| what != "a").unwrap();
        assert!(Verdicts::read(&root, "toy", false).unwrap().lines.is_empty(), "what is no more is forgotten");
        fs::remove_dir_all(root).unwrap();
    }
}
