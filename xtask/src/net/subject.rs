//! What the net is spread under: the files that are broken, and the copy of the workspace in which all of that is woven.

use super::generate::{self, Kind, Mutant};
use super::schemata;
use crate::files::{mirror, read, write};
use crate::table;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A part of the workspace that is broken, with tests of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Subject {
    /// The flagship, its condition variable and the monitor.
    Lock,
    /// What other people's programs load: the interposer and the recorder.
    Preloaded,
}

/// A crate with files that are broken.
struct Part {
    sources: &'static str,
    /// What the names of its files begin with.
    prefix: &'static str,
    /// Files and directories; all of the crate if there are none.
    only: &'static [&'static str],
    /// How the crate comes by the module that mutants ask. One crate has it; there is one such module in a process.
    module: &'static str,
}

const HOME: &str = "pub mod mutant;";

impl Subject {
    pub(super) const ALL: [Subject; 2] = [Subject::Lock, Subject::Preloaded];

    pub(super) fn name(self) -> &'static str {
        match self {
            Subject::Lock => "lock",
            Subject::Preloaded => "preloaded",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Subject::Lock => "the flagship, its condition variable and the monitor",
            Subject::Preloaded => "the preloaded library and the recorder",
        }
    }

    /// What can be changed so that a test may notice it. A weaker ordering shows under loom only, which programs in C are not.
    pub(super) fn kinds(self) -> &'static [Kind] {
        match self {
            Subject::Lock => &[Kind::Ordering, Kind::Decision],
            Subject::Preloaded => &[Kind::Decision],
        }
    }

    fn parts(self) -> &'static [Part] {
        const LOCK: &[Part] = &[Part {
            sources: "crates/locks/src",
            prefix: "",
            only: &["ondeck.rs", "ondeck", "monitor.rs", "monitor"],
            module: HOME,
        }];
        const PRELOADED: &[Part] = &[
            Part { sources: "crates/record/src", prefix: "record/", only: &[], module: HOME },
            Part { sources: "crates/pthread/src", prefix: "pthread/", only: &[], module: "use ondeck_record::mutant;" },
        ];
        match self {
            Subject::Lock => LOCK,
            Subject::Preloaded => PRELOADED,
        }
    }

    /// Whether functions stay constant, as statics are made by them.
    fn keeps_const(self) -> bool {
        self == Subject::Preloaded
    }

    /// All mutants, with the texts of all files that have some, by their paths below the root.
    fn woven(self, root: &Path) -> Result<(Vec<Mutant>, BTreeMap<String, String>), String> {
        let (mut mutants, mut texts) = (Vec::new(), BTreeMap::new());
        for part in self.parts() {
            for file in files(&root.join(part.sources), part.only)? {
                let text = read(&root.join(part.sources).join(&file))?;
                let mut found = generate::find(&format!("{}{file}", part.prefix), &text, self.keeps_const())?;
                found.mutants.retain(|mutant| self.kinds().contains(&mutant.kind));
                texts.insert(format!("{}/{file}", part.sources), schemata::weave(&text, &found, mutants.len()));
                mutants.extend(found.mutants);
            }
        }
        if mutants.len() > schemata::MOST {
            return Err(format!("{} mutants are more than there is room for, {}", mutants.len(), schemata::MOST));
        }
        Ok((mutants, texts))
    }

    pub(super) fn mutants(self, root: &Path) -> Result<Vec<Mutant>, String> {
        Ok(self.woven(root)?.0)
    }

    /// Makes `work` a copy of the workspace with all mutants; gives these.
    pub(super) fn copy(self, root: &Path, work: &Path) -> Result<Vec<Mutant>, String> {
        std::fs::create_dir_all(work).map_err(|error| format!("{}: {error}", work.display()))?;
        let (mutants, mut texts) = self.woven(root)?;
        for part in self.parts() {
            let path = format!("{}/lib.rs", part.sources);
            let lib = texts.remove(&path).map_or_else(|| read(&root.join(&path)), Ok)?;
            texts.insert(path, with_module(&lib, part.module));
            if part.module == HOME {
                texts.insert(format!("{}/mutant.rs", part.sources), schemata::MODULE.to_owned());
            }
        }
        if self == Subject::Lock {
            // Only the flagship's tests.
            let table = table::with_only(&read(&root.join(table::PATH))?, |file| file == "ondeck");
            texts.insert(table::PATH.to_owned(), table);
        }
        let ours: Vec<PathBuf> = texts.keys().map(|path| work.join(path)).collect();
        for part in ["Cargo.toml", "Cargo.lock", "crates", "testprograms", "xtask"] {
            mirror(&root.join(part), &work.join(part), &ours)?;
        }
        for (path, text) in &texts {
            write_if_new(&work.join(path), text)?;
        }
        Ok(mutants)
    }
}

/// The text of a crate's root with one more item, and with all that the compiler would say of mutants allowed.
fn with_module(lib: &str, module: &str) -> String {
    const ALLOWING: &str = "#![allow(warnings, arithmetic_overflow)]\n";
    let head: usize = lib.split_inclusive('\n').take_while(|line| line.starts_with("//!")).map(str::len).sum();
    // Behind the attributes of the crate.
    let is_in_front = |line: &&str| line.starts_with("#![") || line.starts_with("//") || line.trim().is_empty();
    let attributes: usize = lib[head..].split_inclusive('\n').take_while(is_in_front).map(str::len).sum();
    let (head, rest) = lib.split_at(head);
    let (attributes, rest) = rest.split_at(attributes);
    format!("{head}{ALLOWING}{attributes}{module}\n{rest}")
}

/// The files of a directory that `only` names, by themselves or by their directory, or all of them.
fn files(directory: &Path, only: &[&str]) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(inside) = open.pop() {
        let path = directory.join(&inside);
        let entries = std::fs::read_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        for entry in entries.filter_map(Result::ok) {
            let name = format!("{inside}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                open.push(format!("{name}/"));
            } else if name.ends_with(".rs") {
                found.push(name);
            }
        }
    }
    // Below a directory that is named are the tests of a file.
    let is_named = |file: &String| match file.rsplit_once('/') {
        Some((directory, _)) => only.contains(&directory),
        None => only.contains(&file.as_str()),
    };
    found.retain(|file| only.is_empty() || is_named(file));
    found.sort();
    Ok(found)
}

/// Leaves a file alone that is right, so that cargo does not build it again.
fn write_if_new(file: &Path, text: &str) -> Result<(), String> {
    if read(file).is_ok_and(|old| old == text) { Ok(()) } else { write(file, text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is woven parses, so that a mutant that cannot be is known before an hour of work.
    #[test]
    fn the_subjects_can_be_woven() {
        for subject in Subject::ALL {
            let (mutants, texts) = subject.woven(&crate::root()).expect("can be woven");
            assert!(mutants.len() > 500, "{subject:?}: {}", mutants.len());
            for (path, text) in texts {
                assert!(syn::parse_file(&text).is_ok(), "{path}");
            }
        }
    }

    #[test]
    fn names_are_unique_and_of_both_crates() {
        let mutants = Subject::Preloaded.mutants(&crate::root()).expect("can be found");
        let mut names: Vec<&str> = mutants.iter().map(|mutant| mutant.name.as_str()).collect();
        for part in ["record/ring.rs ", "record/account.rs ", "pthread/mutex.rs ", "pthread/bytes/theirs.rs "] {
            assert!(names.iter().any(|name| name.starts_with(part)), "{part}");
        }
        let n = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), n);
        assert!(mutants.iter().all(|mutant| !mutant.function.is_empty()));
    }

    #[test]
    fn a_module_goes_behind_what_is_said_of_the_crate() {
        let lib = "//! What.\n\n#![no_std]\n// Why.\n#![cfg(unix)]\n\nmod a;\n";
        let expected = "//! What.\n#![allow(warnings, arithmetic_overflow)]\n\n#![no_std]\n// Why.\n#![cfg(unix)]\n\npub mod mutant;\nmod a;\n";
        assert_eq!(with_module(lib, HOME), expected);
    }
}
