//! Edges and invariants, which header and code cite by their labels.

use crate::tidy::algorithm::{Algorithm, Part};
use crate::tidy::header::{Item, labels_in};
use crate::tidy::source::Line;
use crate::tidy::tree::fault;
use std::collections::BTreeSet;

/// Every ordering names its edge, every edge is defined, and every definition has both ends in the code.
pub(super) fn check_edges(algorithm: &Algorithm<'_>) -> Vec<String> {
    let edges = items(algorithm, "Orderings", 'E');
    let mut faults = undefined(algorithm, 'E', &edges);
    let (mut acquired, mut released): (BTreeSet<&str>, BTreeSet<&str>) = Default::default();
    for part in &algorithm.parts {
        for (at, line) in part.lines.iter().enumerate() {
            let named: Vec<&str> = comments_of(&part.lines, at).flat_map(|comment| labels_in(comment, 'E')).collect();
            for ordering in line.words().filter(|word| ["Acquire", "Release", "AcqRel", "SeqCst"].contains(word)) {
                if ordering == "SeqCst" {
                    let text = "a protocol that needs SeqCst is one word short: one word for each decision";
                    faults.push(fault(part.path, line.number, text));
                } else if named.is_empty() {
                    let text = "this ordering names no edge (E1...) on its line or above";
                    faults.push(fault(part.path, line.number, text));
                }
                acquired.extend(named.iter().filter(|_| ordering != "Release"));
                released.extend(named.iter().filter(|_| ordering != "Acquire"));
            }
        }
    }
    for edge in &edges {
        for (ends, end) in [(&released, "releasing"), (&acquired, "acquiring")] {
            if !ends.contains(edge.label) {
                faults.push(algorithm.fault(edge.line, &format!("edge {} has no {end} end in the code", edge.label)));
            }
        }
    }
    faults
}

/// Every invariant says where it is asserted or by what it is checked; an asserted one is cited in the code, and every
/// `debug_assert!` cites one.
pub(super) fn check_invariants(algorithm: &Algorithm<'_>) -> Vec<String> {
    let invariants = items(algorithm, "Invariants", 'I');
    let mut faults = undefined(algorithm, 'I', &invariants);
    let cited: BTreeSet<&str> =
        algorithm.parts.iter().flat_map(|part| cited(part, 'I')).map(|(_, label)| label).collect();
    for Item { label, line, text } in &invariants {
        let asserted = is_asserted(text);
        if !asserted && !text.contains("checked") {
            let text = format!("{label} does not say where it is asserted or by what it is checked");
            faults.push(algorithm.fault(*line, &text));
        }
        if asserted && !cited.contains(label) {
            faults.push(algorithm.fault(*line, &format!("{label} says it is asserted, but no code cites it")));
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
fn bare_assertions(part: &Part<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, line) in part.lines.iter().enumerate() {
        if line.words().any(|word| word.starts_with("debug_assert")) {
            let texts = Line::until(&part.lines[at..], |line| line.code.ends_with(';')).iter().flat_map(Line::texts);
            if comments_of(&part.lines, at).chain(texts).all(|text| labels_in(text, 'I').is_empty()) {
                faults.push(fault(part.path, line.number, "this assertion cites no invariant (I1...)"));
            }
        }
    }
    faults
}

fn items<'a>(algorithm: &Algorithm<'a>, section: &str, letter: char) -> Vec<Item<'a>> {
    algorithm.header.section(section).map(|section| section.numbered(letter)).unwrap_or_default()
}

/// The comments that belong to a line: those of its statement so far and directly above it, and its own. A comment at the
/// end of the statement before does not count.
fn comments_of<'a>(lines: &[Line<'a>], at: usize) -> impl Iterator<Item = &'a str> {
    let first = lines[..at].iter().rposition(Line::ends_statement).map_or(0, |before| before + 1);
    lines[first..=at].iter().map(|line| line.comment)
}

/// Line and label of every citation in comments and texts of the code.
fn cited<'a>(part: &Part<'a>, letter: char) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for line in &part.lines {
        let labels = line.texts().chain([line.comment]).flat_map(|text| labels_in(text, letter));
        found.extend(labels.map(|label| (line.number, label)));
    }
    found
}

/// Citations of what the header does not define.
fn undefined(algorithm: &Algorithm<'_>, letter: char, defined: &[Item<'_>]) -> Vec<String> {
    let mut faults = Vec::new();
    for part in &algorithm.parts {
        for (line, label) in cited(part, letter) {
            if defined.iter().all(|item| item.label != label) {
                faults.push(fault(part.path, line, &format!("{label} is not defined in the header")));
            }
        }
    }
    faults
}
