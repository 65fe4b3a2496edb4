//! Every invariant says where it is asserted or by what it is checked; an asserted one is cited in the code, and every
//! `debug_assert!` cites one.

use super::{Algorithm, Fault, Part, cited, comments_of, labels, undefined};
use crate::lexer::Kind;
use std::collections::BTreeSet;

pub(super) fn check(algorithm: &Algorithm<'_>) -> Vec<Fault> {
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
