//! Every ordering names its edge, every edge is defined, and every definition has both ends in the code.

use super::{Algorithm, Fault, comments_of, labels, undefined};
use crate::lexer::{self, Token};
use std::collections::BTreeSet;

/// A use of an ordering other than `Relaxed`.
struct OrderingSite<'a> {
    line: usize,
    acquires: bool,
    releases: bool,
    labels: Vec<&'a str>,
}

pub(super) fn check(algorithm: &Algorithm<'_>) -> Vec<Fault> {
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
