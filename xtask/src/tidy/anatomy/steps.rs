//! Every row of the step table has a mark in the code, every mark has a row, and every read-modify-write stands under a
//! mark.

use super::{Algorithm, Fault, Part};
use crate::lexer::{self, Function, Kind, Token};
use std::collections::{BTreeMap, BTreeSet};

/// Step name of each step constant of an algorithm.
type Constants<'a> = BTreeMap<&'a str, &'a str>;

pub(super) fn check(algorithm: &Algorithm<'_>) -> Vec<Fault> {
    let rows = algorithm.header.section("Life of a word").map(|section| section.rows("step")).unwrap_or_default();
    let constants: Constants<'_> = algorithm.parts.iter().flat_map(|part| step_constants(&part.tokens)).collect();
    let mut faults = Vec::new();
    let mut marked = BTreeSet::new();
    for part in &algorithm.parts {
        faults.extend(unknown_constants(part, &constants));
        for (line, name) in marks(&part.tokens, &constants) {
            marked.insert(name);
            if rows.iter().all(|row| row.label != name) {
                faults.push(Fault::new(part.path, line, format!("step `{name}` has no row in the table")));
            }
        }
    }
    if rows.is_empty() {
        faults.push(algorithm.fault(0, "no table with a column `step` under `# Life of a word`"));
    }
    for row in rows.iter().filter(|row| !marked.contains(row.label.as_str())) {
        faults.push(algorithm.fault(row.line, format!("step `{}` is marked nowhere in the code", row.label)));
    }
    faults.extend(unmarked_operations(algorithm, &constants));
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

/// Line and step name of every use of a step constant: as `P::step(GRAB)`, or handed to a function that marks it.
fn marks<'a>(tokens: &[Token<'a>], constants: &Constants<'a>) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(name) = token.word().and_then(|word| constants.get(word)) else { continue };
        let is_definition = at > 0 && tokens[at - 1].is_word("const");
        if !is_definition && !in_import(tokens, at) {
            found.push((token.line, *name));
        }
    }
    found
}

/// Whether the statement that the token at `at` is in begins with `use`.
fn in_import(tokens: &[Token<'_>], at: usize) -> bool {
    let statement = tokens[..at].iter().rev().take_while(|token| !matches!(token.kind, Kind::Mark(';' | '}')));
    statement.into_iter().any(|token| token.is_word("use"))
}

/// Calls of `step` with a constant that the algorithm does not define. A parameter in lower case is marked elsewhere.
fn unknown_constants(part: &Part<'_>, constants: &Constants<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (at, window) in part.tokens.windows(3).enumerate() {
        if !(window[0].is_mark(':') && window[1].is_word("step") && window[2].is_mark('(')) {
            continue;
        }
        let argument = part.tokens[at + 3..].iter().take_while(|token| !token.is_mark(')'));
        let name = argument.filter_map(Token::word).last().unwrap_or("?");
        let is_parameter = name.starts_with(|c: char| c.is_lowercase());
        if !is_parameter && !constants.contains_key(name) {
            let text = format!("`{name}` is no step constant of this lock");
            faults.push(Fault::new(part.path, window[1].line, text));
        }
    }
    faults
}

/// Read-modify-writes before which their function names no step. A function that is handed the ordering acts for its
/// callers: there its call counts as the operation.
fn unmarked_operations(algorithm: &Algorithm<'_>, constants: &Constants<'_>) -> Vec<Fault> {
    let helpers: BTreeSet<&str> = algorithm.parts.iter().flat_map(functions_for_others).map(|f| f.name).collect();
    let mut faults = Vec::new();
    for part in &algorithm.parts {
        let functions = lexer::functions(&part.tokens);
        for at in operations(&part.tokens, &helpers) {
            let Some(function) = functions.iter().rfind(|function| function.contains(at)) else { continue };
            if !helpers.contains(function.name) && !is_marked(&part.tokens, function.start, at, constants) {
                let name = part.tokens[at].word().unwrap_or("?");
                faults.push(Fault::new(part.path, part.tokens[at].line, format!("`{name}` stands under no step")));
            }
        }
    }
    faults
}

/// The functions that take an `Ordering`.
fn functions_for_others<'a>(part: &Part<'a>) -> Vec<Function<'a>> {
    let mut functions = lexer::functions(&part.tokens);
    functions.retain(|function| part.tokens[function.start..function.body].iter().any(|t| t.is_word("Ordering")));
    functions
}

/// Whether a step is named between the function's start and the operation at `at`, its arguments included.
fn is_marked(tokens: &[Token<'_>], start: usize, at: usize, constants: &Constants<'_>) -> bool {
    let arguments = tokens[at..].iter().take_while(|token| !matches!(token.kind, Kind::Mark(';' | '{' | '}')));
    let mut words = tokens[start..at].iter().chain(arguments).filter_map(Token::word);
    words.any(|word| word == "step" || constants.contains_key(word))
}

/// Indices of the method names of read-modify-writes, and of calls of `helpers`.
fn operations(tokens: &[Token<'_>], helpers: &BTreeSet<&str>) -> Vec<usize> {
    let is_operation = |word: &str| {
        ["swap", "compare_exchange", "compare_exchange_weak"].contains(&word)
            || word.starts_with("fetch_")
            || helpers.contains(word)
    };
    let is_call = |at: usize| {
        (tokens[at - 1].is_mark('.') || tokens[at - 1].is_mark(':'))
            && tokens.get(at + 1).is_some_and(|t| t.is_mark('('))
    };
    (1..tokens.len()).filter(|&at| tokens[at].word().is_some_and(is_operation) && is_call(at)).collect()
}
