//! The header of each algorithm against its code and its model: sections, steps, ordering edges, invariants.
//!
//! A header that nothing keeps goes wrong at the first hurried change. These rules keep the half of it that can be
//! compared by name; whether the sentences are true is for tests and readers.

mod labels;
mod steps;

use super::header::{Header, SECTIONS, labels_in, quoted_after};
use super::source::{Line, all_lines, lines};
use super::{File, fault, spec};
use std::collections::BTreeSet;

/// Where the algorithms live.
const HOMES: [&str; 2] = ["crates/core/src/", "lab/lineage/src/"];
/// What tells an algorithm from the files beside it.
const MARKER: &str = "\n//! # State word";
/// Where the tests are that headers name after the word "conformance".
const TESTS: &str = "proof/conformance/";
/// After this a header names files beside its own that it shares with other algorithms.
const SHARED: &str = "Shared code:";

/// An algorithm: the file with the header, then those of the directory of the same name, then those that the header
/// says it shares.
pub(super) struct Algorithm<'a> {
    /// As the command line spells it.
    pub(super) name: String,
    pub(super) header: Header<'a>,
    parts: Vec<Part<'a>>,
}

/// One file's code, with comments but without tests and without the header.
struct Part<'a> {
    path: &'a str,
    lines: Vec<Line<'a>>,
}

impl<'a> Algorithm<'a> {
    pub(super) fn fault(&self, line: usize, text: &str) -> String {
        fault(self.parts[0].path, line, text)
    }

    /// Whether its entry in the table of locks says that waiters sleep.
    pub(super) fn sleeps(&self) -> bool {
        self.parts.iter().flat_map(|part| &part.lines).any(|line| line.code.contains("sleeps: true"))
    }

    /// Line and name of the rows of the table of its steps.
    pub(super) fn steps(&self) -> Vec<(usize, &'a str)> {
        self.header.section("Life of a word").map(|section| section.rows("step")).unwrap_or_default()
    }
}

/// A path below one of the homes, from there.
fn at_home(path: &str) -> Option<&str> {
    HOMES.iter().find_map(|home| path.strip_prefix(home))
}

pub(super) fn algorithms(files: &[File]) -> Vec<Algorithm<'_>> {
    let mains = files.iter().filter(|file| at_home(&file.path).is_some() && file.text.contains(MARKER));
    mains.map(|main| algorithm(main, files)).collect()
}

fn algorithm<'a>(main: &'a File, files: &'a [File]) -> Algorithm<'a> {
    let stem = main.path.trim_end_matches(".rs");
    let directory = format!("{stem}/");
    let header = Header::parse(&main.text);
    let text = header.text();
    let shared = quoted_after(&text, SHARED);
    let is_part = |file: &&File| file.path.starts_with(&directory) && !file.path.ends_with("/tests.rs");
    let is_shared = |file: &&File| at_home(&file.path).is_some_and(|name| shared.contains(&name));
    let rest = files.iter().filter(|file| is_part(file) || is_shared(file));
    let parts =
        [main].into_iter().chain(rest).map(|file| Part { path: &file.path, lines: lines(&file.text) }).collect();
    let name = at_home(stem).unwrap_or(stem).replace('_', "-");
    Algorithm { name, header, parts }
}

pub(super) fn check(files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    for algorithm in algorithms(files) {
        faults.extend(check_sections(&algorithm));
        faults.extend(check_shared(&algorithm));
        faults.extend(steps::check(&algorithm));
        faults.extend(labels::check_edges(&algorithm));
        faults.extend(labels::check_invariants(&algorithm));
        faults.extend(check_tests(&algorithm, files));
        faults.extend(spec::check(&algorithm, files));
    }
    faults
}

/// Every section is there, in order, and says something. Only the first misplaced one is named.
fn check_sections(algorithm: &Algorithm<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    if !algorithm.header.title.replace('`', "").starts_with(&format!("{}: ", algorithm.name)) {
        let text = format!("the first line begins with the name, as in `{}: one sentence`", algorithm.name);
        faults.push(algorithm.fault(1, &text));
    }
    let found = &algorithm.header.sections;
    let name = |at: usize| found.get(at).map_or("the end", |section| section.name);
    let wanted = |at: usize| SECTIONS.get(at).map_or("the end", |name| *name);
    if let Some(at) = (0..=found.len()).find(|&at| name(at) != wanted(at)) {
        let line = found.get(at).map_or(0, |section| section.line);
        faults.push(algorithm.fault(line, &format!("`{}` expected here, not `{}`", wanted(at), name(at))));
    }
    for section in found.iter().filter(|section| section.text().trim().is_empty()) {
        faults.push(algorithm.fault(section.line, &format!("section `{}` is empty", section.name)));
    }
    faults
}

/// Every file that the header shares is there.
fn check_shared(algorithm: &Algorithm<'_>) -> Vec<String> {
    let text = algorithm.header.text();
    let is_there = |name: &&str| algorithm.parts.iter().any(|part| at_home(part.path) == Some(name));
    let missing = quoted_after(&text, SHARED).into_iter().filter(|name| !is_there(name));
    missing.map(|name| algorithm.fault(0, &format!("there is no file `{name}` to share"))).collect()
}

/// Every conformance test that the header names exists.
fn check_tests(algorithm: &Algorithm<'_>, files: &[File]) -> Vec<String> {
    let tests = files.iter().filter(|file| file.path.starts_with(TESTS));
    let known: BTreeSet<&str> = tests.flat_map(|file| all_lines(&file.text)).flat_map(|line| line.words()).collect();
    let text = algorithm.header.text();
    let named: BTreeSet<&str> = quoted_after(&text, "onformance").into_iter().collect();
    let unknown = named.difference(&known);
    unknown.map(|name| algorithm.fault(0, &format!("there is no conformance test `{name}`"))).collect()
}

#[cfg(test)]
mod tests;
