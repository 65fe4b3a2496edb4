//! The header of each algorithm against its code and its model: sections, steps, ordering edges, invariants.
//!
//! A header that nothing keeps goes wrong at the first hurried change. These rules keep the half of it that can be
//! compared by name; whether the sentences are true is for tests and readers.

mod edges;
mod invariants;
mod spec;
mod steps;

pub(super) use self::spec::defined_operator;
use super::header::{Header, Item, SECTIONS, labels, quoted_after};
use super::{Fault, File};
use crate::lexer::{self, Kind, Token};
use std::collections::BTreeSet;

/// Where the algorithms live.
const HOME: &str = "crates/locks/src/";
/// What tells an algorithm from the files beside it.
const MARKER: &str = "\n//! # State word";
/// Where the tests are that headers name after the word "conformance".
const TESTS: &str = "crates/conformance/";
/// After this a header names files below `HOME` that it shares with other algorithms.
const SHARED: &str = "Shared code:";

/// An algorithm: the file with the header, then those of the directory of the same name, then those that the header
/// says it shares.
pub(super) struct Algorithm<'a> {
    /// As the command line spells it.
    name: String,
    header: Header<'a>,
    parts: Vec<Part<'a>>,
    /// Shared files that the header names and nobody has.
    missing: Vec<String>,
}

/// One file's code, with comments but without tests and without the header.
struct Part<'a> {
    path: &'a str,
    tokens: Vec<Token<'a>>,
}

impl Algorithm<'_> {
    fn main_path(&self) -> &str {
        self.parts[0].path
    }

    fn fault(&self, line: usize, text: impl Into<String>) -> Fault {
        Fault::new(self.main_path(), line, text)
    }

    fn items(&self, section: &str, letter: char, column: &str) -> Vec<Item> {
        self.header.section(section).map(|section| section.numbered(letter, column)).unwrap_or_default()
    }
}

pub(super) fn algorithms(files: &[File]) -> Vec<Algorithm<'_>> {
    let mains = files.iter().filter(|file| file.path.starts_with(HOME) && file.text.contains(MARKER));
    mains.map(|main| algorithm(main, files)).collect()
}

fn algorithm<'a>(main: &'a File, files: &'a [File]) -> Algorithm<'a> {
    let stem = main.path.trim_end_matches("/mod.rs").trim_end_matches(".rs");
    let directory = format!("{stem}/");
    let is_part = |file: &&File| file.path.starts_with(&directory) && !file.path.ends_with("/tests.rs");
    let rest = files.iter().filter(is_part).filter(|file| file.path != main.path);
    let mut parts: Vec<Part<'_>> = [main].into_iter().chain(rest).map(part).collect();
    let header = Header::parse(&main.text);
    let mut missing = Vec::new();
    for name in quoted_after(&header.text(), SHARED) {
        match files.iter().find(|file| file.path.strip_prefix(HOME) == Some(name)) {
            Some(file) => parts.push(part(file)),
            None => missing.push(name.to_owned()),
        }
    }
    Algorithm { name: stem[HOME.len()..].replace('_', "-"), header, parts, missing }
}

fn part(file: &File) -> Part<'_> {
    let mut tokens = lexer::without_tests(&lexer::tokens(&file.text));
    tokens.retain(|token| !token.comment().is_some_and(|comment| comment.starts_with("//!")));
    Part { path: &file.path, tokens }
}

pub(super) fn check(files: &[File]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for algorithm in algorithms(files) {
        let missing = algorithm.missing.iter();
        faults.extend(missing.map(|name| algorithm.fault(0, format!("there is no file `{name}` to share"))));
        faults.extend(check_sections(&algorithm));
        faults.extend(steps::check(&algorithm));
        faults.extend(edges::check(&algorithm));
        faults.extend(invariants::check(&algorithm));
        faults.extend(check_tests(&algorithm, files));
        faults.extend(spec::check(&algorithm, files));
    }
    faults
}

/// Every section is there, in order, and says something.
fn check_sections(algorithm: &Algorithm<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    if !algorithm.header.title.replace('`', "").starts_with(&format!("{}: ", algorithm.name)) {
        let text = format!("the first line begins with the name, as in `{}: one sentence`", algorithm.name);
        faults.push(algorithm.fault(1, text));
    }
    faults.extend(misplaced_section(algorithm));
    for section in algorithm.header.sections.iter().filter(|section| section.is_empty()) {
        faults.push(algorithm.fault(section.line, format!("section `{}` is empty", section.name)));
    }
    faults
}

/// The first place where the headings are not those that are wanted; what follows it says little.
fn misplaced_section(algorithm: &Algorithm<'_>) -> Option<Fault> {
    let found = &algorithm.header.sections;
    let at =
        (0..found.len().max(SECTIONS.len())).find(|&at| found.get(at).map(|s| s.name) != SECTIONS.get(at).copied())?;
    let line = found.get(at).map_or(0, |section| section.line);
    let quoted = |name: Option<&str>| name.map_or("the end".to_owned(), |name| format!("`{name}`"));
    let (wanted, here) = (quoted(SECTIONS.get(at).copied()), quoted(found.get(at).map(|section| section.name)));
    Some(algorithm.fault(line, format!("{wanted} expected here, not {here}")))
}

/// The comments that belong to the token at `at`: those of its statement so far and directly above it, and the one at
/// the end of its line. A comment at the end of the statement before does not count.
fn comments_of<'t, 'a>(tokens: &'t [Token<'a>], at: usize) -> impl Iterator<Item = &'a str> + use<'t, 'a> {
    let is_boundary = |token: &Token<'_>| matches!(token.kind, Kind::Mark(';' | '{' | '}'));
    let start = tokens[..at].iter().rposition(is_boundary);
    let line_before = start.map_or(0, |start| tokens[start].line);
    let line = tokens[at].line;
    let so_far = tokens[start.unwrap_or(0)..at].iter().filter(move |token| token.line != line_before);
    let behind = tokens[at..].iter().take_while(move |token| token.line == line);
    so_far.chain(behind).filter_map(Token::comment)
}

/// Labels in comments and texts of the code that the header does not define.
fn undefined(part: &Part<'_>, letter: char, defined: &[Item]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (line, label) in cited(part, letter) {
        if defined.iter().all(|item| item.label != label) {
            faults.push(Fault::new(part.path, line, format!("{label} is not defined in the header")));
        }
    }
    faults
}

/// Line and label of every citation in comments and texts of the code.
fn cited<'a>(part: &Part<'a>, letter: char) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for token in &part.tokens {
        if let Kind::Comment(text) | Kind::Text(text) = token.kind {
            found.extend(labels(text, letter).into_iter().map(|label| (token.line, label)));
        }
    }
    found
}

/// Every conformance test that the header names exists.
fn check_tests(algorithm: &Algorithm<'_>, files: &[File]) -> Vec<Fault> {
    let tests = files.iter().filter(|file| file.is_rust() && file.path.starts_with(TESTS));
    let known: BTreeSet<&str> =
        tests.flat_map(|file| lexer::tokens(&file.text)).filter_map(|token| token.word()).collect();
    let text = algorithm.header.text();
    let unknown: BTreeSet<&str> =
        quoted_after(&text, "onformance").into_iter().filter(|name| !known.contains(name)).collect();
    unknown.iter().map(|name| algorithm.fault(0, format!("there is no conformance test `{name}`"))).collect()
}

#[cfg(test)]
mod tests;
