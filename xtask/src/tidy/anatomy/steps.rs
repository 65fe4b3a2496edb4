//! Every row of the step table has a mark in the code, every mark has a row, and every read-modify-write stands under a
//! mark.

use crate::tidy::algorithm::Algorithm;
use crate::tidy::source::{Line, functions};
use crate::tidy::tree::fault;
use std::collections::{BTreeMap, BTreeSet};

/// Step name of each step constant of an algorithm.
type Constants<'a> = BTreeMap<&'a str, &'a str>;

pub(super) fn check(algorithm: &Algorithm<'_>) -> Vec<String> {
    let rows = algorithm.steps();
    let constants: Constants<'_> = algorithm.parts.iter().flat_map(|part| step_constants(&part.lines)).collect();
    let mut faults = Vec::new();
    let mut marked = BTreeSet::new();
    for part in &algorithm.parts {
        for line in &part.lines {
            let fault = |text: String| fault(part.path, line.number, &text);
            let unknown = unknown_constants(line, &constants);
            faults.extend(unknown.map(|name| fault(format!("`{name}` is no step constant of this lock"))));
            // A constant marks its step as `P::step(GRAB)`, or handed to a function that does.
            let uses = line.words().filter(|word| !is_definition(line, word));
            for name in uses.filter_map(|word| constants.get(word)) {
                marked.insert(*name);
                if rows.iter().all(|(_, row)| row != name) {
                    faults.push(fault(format!("step `{name}` has no row in the table")));
                }
            }
        }
    }
    if rows.is_empty() {
        faults.push(algorithm.fault(0, "no table with a column `step` under `# Life of a word`"));
    }
    for (line, name) in rows.iter().filter(|(_, name)| !marked.contains(name)) {
        faults.push(algorithm.fault(*line, &format!("step `{name}` is marked nowhere in the code")));
    }
    faults.extend(unmarked_operations(algorithm, &constants));
    faults
}

fn is_definition(line: &Line<'_>, word: &str) -> bool {
    line.code.contains(&format!("const {word}: Step"))
}

/// Identifier and step name of every `const X: Step = ...;`: the last text before the semicolon is the name.
fn step_constants<'a>(lines: &[Line<'a>]) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        for constant in line.words().filter(|word| is_definition(line, word)) {
            let definition = Line::until(&lines[at..], |line| line.code.ends_with(';'));
            found.extend(definition.iter().flat_map(Line::texts).last().map(|name| (constant, name)));
        }
    }
    found
}

/// What `step` is called with and the algorithm does not define. A parameter in lower case is marked elsewhere.
fn unknown_constants<'a>(line: &Line<'a>, constants: &Constants<'a>) -> impl Iterator<Item = &'a str> {
    let arguments = line.code.split(":step(").skip(1).filter_map(|rest| rest.split(')').next());
    let names = arguments.filter_map(|argument| argument.rsplit(':').next());
    names.filter(|name| !name.starts_with(char::is_lowercase) && !constants.contains_key(name))
}

/// Read-modify-writes before which their function names no step. A function that is handed the ordering acts for its
/// callers: there its call counts as the operation.
fn unmarked_operations(algorithm: &Algorithm<'_>, constants: &Constants<'_>) -> Vec<String> {
    let helpers: BTreeSet<&str> = algorithm.parts.iter().flat_map(|part| functions_for_others(&part.lines)).collect();
    let is_operation = |name: &&str| {
        ["swap", "compare_exchange", "compare_exchange_weak"].contains(name)
            || name.starts_with("fetch_")
            || helpers.contains(name)
    };
    let mut faults = Vec::new();
    for part in &algorithm.parts {
        let functions = functions(&part.lines);
        for (at, line) in part.lines.iter().enumerate() {
            let around = functions.iter().rfind(|function| function.lines.contains(&at));
            let Some(function) = around.filter(|function| !helpers.contains(function.name)) else { continue };
            // The step may be an argument of the operation.
            let statement = Line::until(&part.lines[at..], Line::ends_statement);
            let mut words = part.lines[function.lines.start..at].iter().chain(statement).flat_map(Line::words);
            let is_marked = words.any(|word| word == "step" || constants.contains_key(word));
            for name in line.calls().filter(is_operation).filter(|_| !is_marked) {
                faults.push(fault(part.path, line.number, &format!("`{name}` stands under no step")));
            }
        }
    }
    faults
}

/// The functions that take an `Ordering`.
fn functions_for_others<'a>(lines: &[Line<'a>]) -> Vec<&'a str> {
    let mut functions = functions(lines);
    functions.retain(|function| {
        let signature = Line::until(&lines[function.lines.clone()], |line| line.code.contains('{'));
        signature.iter().filter_map(|line| line.code.split('{').next()).any(|code| code.contains("Ordering"))
    });
    functions.into_iter().map(|function| function.name).collect()
}
