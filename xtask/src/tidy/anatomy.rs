//! The header of each algorithm against its code: sections, steps, ordering edges, invariants.
//!
//! A header that nothing keeps goes wrong at the first hurried change. These rules keep the half of it that can be
//! compared by name; whether the sentences are true is for tests and readers.

use super::header::{Header, Item, SECTIONS, labels, quoted_after};
use super::{Fault, File};
use crate::lexer::{self, Kind, Token};
use std::collections::{BTreeMap, BTreeSet};

/// Where the algorithms live.
const HOME: &str = "crates/locks/src/";
/// What tells an algorithm from the files beside it.
const MARKER: &str = "\n//! # State word";
/// Where the tests are that headers name after the word "conformance".
const TESTS: &str = "crates/conformance/";

/// An algorithm: the file with the header, then those of the directory of the same name.
pub(super) struct Algorithm<'a> {
    /// As the command line spells it.
    name: String,
    header: Header<'a>,
    parts: Vec<Part<'a>>,
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
    let rest = files.iter().filter(|file| file.path.starts_with(&directory) && file.path != main.path);
    let parts = [main].into_iter().chain(rest).map(part).collect();
    Algorithm { name: stem[HOME.len()..].replace('_', "-"), header: Header::parse(&main.text), parts }
}

fn part(file: &File) -> Part<'_> {
    let mut tokens = lexer::without_tests(&lexer::tokens(&file.text));
    tokens.retain(|token| !token.comment().is_some_and(|comment| comment.starts_with("//!")));
    Part { path: &file.path, tokens }
}

pub(super) fn check(files: &[File]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for algorithm in algorithms(files) {
        faults.extend(check_sections(&algorithm));
        faults.extend(check_steps(&algorithm));
        faults.extend(check_edges(&algorithm));
        faults.extend(check_invariants(&algorithm));
        faults.extend(check_tests(&algorithm, files));
    }
    faults
}

/// Every section is there, in order, and says something.
fn check_sections(algorithm: &Algorithm<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    if !algorithm.header.title.replace('`', "").starts_with(&format!("{}: ", algorithm.name)) {
        faults.push(
            algorithm
                .fault(1, format!("the first line begins with the name, as in `{}: one sentence`", algorithm.name)),
        );
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

/// Every row of the step table has a mark in the code, and every mark has a row.
fn check_steps(algorithm: &Algorithm<'_>) -> Vec<Fault> {
    let rows = algorithm.header.section("Life of a word").map(|section| section.rows("step")).unwrap_or_default();
    let constants: BTreeMap<&str, &str> =
        algorithm.parts.iter().flat_map(|part| step_constants(&part.tokens)).collect();
    let mut faults = Vec::new();
    let mut marked = BTreeSet::new();
    for part in &algorithm.parts {
        for (line, constant) in step_marks(&part.tokens) {
            match constants.get(constant) {
                None => {
                    faults.push(Fault::new(part.path, line, format!("`{constant}` is no step constant of this lock")))
                }
                Some(name) if rows.iter().any(|row| row.label == *name) => _ = marked.insert(*name),
                Some(name) => {
                    faults.push(Fault::new(part.path, line, format!("step `{name}` has no row in the table")))
                }
            }
        }
    }
    if rows.is_empty() {
        faults.push(algorithm.fault(0, "no table with a column `step` under `# Life of a word`"));
    }
    for row in rows.iter().filter(|row| !marked.contains(row.label.as_str())) {
        faults.push(algorithm.fault(row.line, format!("step `{}` is marked nowhere in the code", row.label)));
    }
    faults
}

/// Identifier and step name of every `const X: Step = ...;`: the last text before the semicolon is the name.
fn step_constants<'a>(tokens: &[Token<'a>]) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    for (at, window) in tokens.windows(4).enumerate() {
        let (true, Some(constant), true, true) =
            (window[0].is_word("const"), window[1].word(), window[2].is_mark(':'), window[3].is_word("Step"))
        else {
            continue;
        };
        let rest = tokens[at..].iter().take_while(|token| !token.is_mark(';'));
        let texts = rest.filter_map(|token| if let Kind::Text(text) = token.kind { Some(text) } else { None });
        found.extend(texts.last().map(|name| (constant, name)));
    }
    found
}

/// Line and constant of every `P::step(CONSTANT)`.
fn step_marks<'a>(tokens: &[Token<'a>]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for (at, window) in tokens.windows(3).enumerate() {
        if window[0].is_mark(':') && window[1].is_word("step") && window[2].is_mark('(') {
            let arguments = tokens[at + 3..].iter().take_while(|token| !token.is_mark(')'));
            found.push((window[1].line, arguments.filter_map(Token::word).last().unwrap_or("?")));
        }
    }
    found
}

/// A use of an ordering other than `Relaxed`.
struct OrderingSite<'a> {
    line: usize,
    acquires: bool,
    releases: bool,
    labels: Vec<&'a str>,
}

/// Every ordering names its edge, every edge is defined, and every definition has both ends.
fn check_edges(algorithm: &Algorithm<'_>) -> Vec<Fault> {
    let edges = algorithm.items("Orderings", 'E', "edge");
    let mut faults = Vec::new();
    let (mut acquired, mut released): (BTreeSet<&str>, BTreeSet<&str>) = Default::default();
    for part in &algorithm.parts {
        for site in ordering_sites(&part.tokens) {
            if site.labels.is_empty() {
                faults.push(Fault::new(
                    part.path,
                    site.line,
                    "this ordering names no edge (E1...) on its line or above",
                ));
            }
            acquired.extend(site.labels.iter().filter(|_| site.acquires));
            released.extend(site.labels.iter().filter(|_| site.releases));
        }
        faults.extend(undefined(part, 'E', &edges));
    }
    for edge in &edges {
        for (ends, end) in [(&released, "releasing"), (&acquired, "acquiring")] {
            if !ends.contains(edge.label.as_str()) {
                faults.push(algorithm.fault(edge.line, format!("edge {} has no {end} end in the code", edge.label)));
            }
        }
    }
    faults
}

fn ordering_sites<'a>(tokens: &[Token<'a>]) -> Vec<OrderingSite<'a>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].is_word("use") {
            at = lexer::end_of_item(tokens, at);
            continue;
        }
        if let Some(ordering @ ("Acquire" | "Release" | "AcqRel" | "SeqCst")) = tokens[at].word() {
            found.push(OrderingSite {
                line: tokens[at].line,
                acquires: ordering != "Release",
                releases: ordering != "Acquire",
                labels: comments_of(tokens, at).flat_map(|comment| labels(comment, 'E')).collect(),
            });
        }
        at += 1;
    }
    found
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

/// Every invariant says where it is asserted or by what it is checked; an asserted one is cited in the code, and
/// every `debug_assert!` cites one.
fn check_invariants(algorithm: &Algorithm<'_>) -> Vec<Fault> {
    let invariants = algorithm.items("Invariants", 'I', "invariant");
    let mut faults: Vec<Fault> = algorithm.parts.iter().flat_map(|part| undefined(part, 'I', &invariants)).collect();
    let cited: BTreeSet<&str> =
        algorithm.parts.iter().flat_map(|part| cited(part, 'I')).map(|(_, label)| label).collect();
    for invariant in &invariants {
        let asserted = is_asserted(&invariant.text);
        if !asserted && !invariant.text.contains("checked") {
            let text = format!("{} does not say where it is asserted or by what it is checked", invariant.label);
            faults.push(algorithm.fault(invariant.line, text));
        }
        if asserted && !cited.contains(invariant.label.as_str()) {
            let text = format!("{} says it is asserted, but no code cites it", invariant.label);
            faults.push(algorithm.fault(invariant.line, text));
        }
    }
    faults.extend(algorithm.parts.iter().flat_map(bare_assertions));
    faults
}

/// Whether an invariant's text claims an assertion: "asserted: cannot be" does not.
fn is_asserted(text: &str) -> bool {
    text.to_lowercase().split_once("asserted").is_some_and(|(_, rest)| {
        let clause = rest.split([';', '.']).next().unwrap_or_default();
        !["cannot", "nowhere"].iter().any(|denial| clause.contains(denial))
    })
}

/// Assertions that do not say which invariant they look after.
fn bare_assertions(part: &Part<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (at, token) in part.tokens.iter().enumerate() {
        if token.word().is_some_and(|word| word.starts_with("debug_assert")) {
            let rest = part.tokens[at..].iter().take_while(|token| !token.is_mark(';'));
            let texts = rest.filter_map(|token| if let Kind::Text(text) = token.kind { Some(text) } else { None });
            if comments_of(&part.tokens, at).chain(texts).all(|text| labels(text, 'I').is_empty()) {
                faults.push(Fault::new(part.path, token.line, "this assertion cites no invariant (I1...)"));
            }
        }
    }
    faults
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
