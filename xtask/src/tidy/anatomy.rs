//! The header of each algorithm against its code and its model: sections, steps, ordering edges, invariants.
//!
//! A header that nothing keeps goes wrong at the first hurried change. These rules keep the half of it that can be
//! compared by name; whether the sentences are true is for tests and readers.

mod labels;
mod steps;

use super::algorithm::{Algorithm, SHARED, algorithms, at_home};
use super::header::{SECTIONS, quoted_after};
use super::source::all_lines;
use super::spec;
use super::tree::File;
use std::collections::BTreeSet;

/// Where the tests are that headers name after the word "conformance".
const TESTS: &str = "proof/conformance/";

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
