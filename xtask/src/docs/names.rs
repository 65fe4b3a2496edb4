//! The names of the conformance tests, without building them: their macros are expanded here, as far as names go.
//!
//! The tests of a lock come from macros that `for_each_lock!` calls once per row of the table. What is understood of Rust
//! is what those files use: modules, functions under `#[test]`, `macro_rules!` whose parameters are separated by commas,
//! and calls of such macros.

use crate::lexer::{self, Kind};
use crate::table::{self, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

type Tokens<'a> = Vec<Kind<'a>>;

/// One `(pattern) => { body };` of a macro.
#[derive(Clone)]
struct Arm<'a> {
    pattern: Tokens<'a>,
    body: Tokens<'a>,
}

type Macros<'a> = BTreeMap<&'a str, Vec<Arm<'a>>>;

/// Every test that runs by itself, as "target path::of::the_test".
pub(super) fn read(conformance: &Path) -> Result<BTreeSet<String>, String> {
    let read = |path: &Path| fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
    let text = read(&conformance.join("../..").join(table::PATH))?;
    let rows = table::rows(&text);
    let directory = conformance.join("tests");
    let entries = fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut found = BTreeSet::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_some_and(|extension| extension == "rs") {
            let target = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            found.extend(names(&rows, &read(&path)?).into_iter().map(|name| format!("{target} {name}")));
        }
    }
    Ok(found)
}

/// The tests in one file.
fn names(rows: &[Row], source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk(rows, &kinds(source), "", &mut Macros::new(), &mut found);
    found
}

fn kinds(source: &str) -> Tokens<'_> {
    let kinds = lexer::tokens(source).into_iter().map(|token| token.kind);
    kinds.filter(|kind| !matches!(kind, Kind::Comment(_))).collect()
}

/// Collects the tests among items; `path` is empty or ends with the colons.
fn walk<'a>(rows: &[Row<'a>], tokens: &[Kind<'a>], path: &str, macros: &mut Macros<'a>, found: &mut BTreeSet<String>) {
    let mut at = 0;
    let mut attributes = BTreeSet::new();
    while at < tokens.len() {
        let start = at;
        match tokens[at..] {
            [Kind::Mark('#'), Kind::Mark('['), Kind::Word(name), ..] => {
                attributes.insert(name);
                at = group_end(tokens, at + 1);
                continue;
            }
            [Kind::Word("macro_rules"), Kind::Mark('!'), Kind::Word(name), ..] => {
                at = group_end(tokens, at + 3);
                macros.insert(name, arms(&tokens[start + 4..at - 1]));
            }
            [Kind::Word("mod"), Kind::Word(name), Kind::Mark('{'), ..] => {
                at = group_end(tokens, at + 2);
                // What a module defines ends with it.
                walk(rows, &tokens[start + 3..at - 1], &format!("{path}{name}::"), &mut macros.clone(), found);
            }
            [Kind::Word("fn"), Kind::Word(name), ..] => {
                if attributes.contains("test") && !attributes.contains("ignore") {
                    found.insert(format!("{path}{name}"));
                }
                at = body_end(tokens, at);
            }
            [Kind::Word("for_each_lock"), Kind::Mark('!'), ..] => {
                at = group_end(tokens, at + 2);
                for call in calls(rows, &tokens[start + 3..at - 1]) {
                    walk(rows, &call, path, macros, found);
                }
            }
            [Kind::Word(name), Kind::Mark('!'), Kind::Mark('(' | '{'), ..] => {
                at = group_end(tokens, at + 2);
                let body = macros.get(name).and_then(|arms| expand(arms, &tokens[start + 3..at - 1]));
                walk(rows, &body.unwrap_or_default(), path, macros, found);
            }
            _ => at += 1,
        }
        attributes.clear();
    }
}

/// What `for_each_lock!(each, words)` calls: `each!(file, Type)` of the rows that have the words, or lack the rest of one
/// that begins with `not_`.
fn calls<'a>(rows: &[Row<'a>], arguments: &[Kind<'a>]) -> Vec<Tokens<'a>> {
    let words: Vec<&str> =
        arguments.iter().filter_map(|kind| if let Kind::Word(word) = kind { Some(*word) } else { None }).collect();
    let Some((each, wanted)) = words.split_first() else { return Vec::new() };
    let fits = |row: &Row<'_>, word: &str| match word.strip_prefix("not_") {
        Some(lacked) => !row.words.contains(&lacked),
        None => row.words.contains(&word),
    };
    let rows = rows.iter().filter(|row| wanted.iter().all(|word| fits(row, word)));
    let call = |row: &Row<'a>| {
        [
            Kind::Word(each),
            Kind::Mark('!'),
            Kind::Mark('('),
            Kind::Word(row.file),
            Kind::Mark(','),
            Kind::Word(row.lock),
            Kind::Mark(')'),
        ]
        .to_vec()
    };
    rows.map(call).collect()
}

/// Index after the bracket that closes the one at `open`.
fn group_end(tokens: &[Kind<'_>], open: usize) -> usize {
    let mut depth = 0;
    for (at, kind) in tokens.iter().enumerate().skip(open) {
        match kind {
            Kind::Mark('(' | '[' | '{') => depth += 1,
            Kind::Mark(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Index after the body, or the semicolon, of the function at `start`.
fn body_end(tokens: &[Kind<'_>], start: usize) -> usize {
    let mut at = start;
    while at < tokens.len() {
        match tokens[at] {
            Kind::Mark('{') => return group_end(tokens, at),
            Kind::Mark(';') => return at + 1,
            Kind::Mark('(' | '[') => at = group_end(tokens, at),
            _ => at += 1,
        }
    }
    at
}

fn arms<'a>(tokens: &[Kind<'a>]) -> Vec<Arm<'a>> {
    let mut found = Vec::new();
    let mut at = 0;
    // A pattern, the two marks of the arrow, a body, and mostly a semicolon.
    while at < tokens.len() {
        let pattern = group_end(tokens, at);
        let body = group_end(tokens, pattern + 2);
        if body > tokens.len() || pattern + 3 > body {
            break;
        }
        found.push(Arm { pattern: tokens[at + 1..pattern - 1].to_vec(), body: tokens[pattern + 3..body - 1].to_vec() });
        at = if tokens.get(body) == Some(&Kind::Mark(';')) { body + 1 } else { body };
    }
    found
}

/// The body of the first arm that the arguments fit, with the arguments in it.
fn expand<'a>(arms: &[Arm<'a>], arguments: &[Kind<'a>]) -> Option<Tokens<'a>> {
    arms.iter().find_map(|arm| Some(substitute(&arm.body, &bind(&arm.pattern, arguments)?)))
}

fn bind<'a>(pattern: &[Kind<'a>], arguments: &[Kind<'a>]) -> Option<BTreeMap<&'a str, Tokens<'a>>> {
    let (pattern, arguments) = (split(pattern), split(arguments));
    let mut bound = BTreeMap::new();
    for (wanted, given) in pattern.iter().zip(&arguments) {
        if let [Kind::Mark('$'), Kind::Word(name), Kind::Mark(':'), Kind::Word(_)] = wanted[..] {
            bound.insert(name, given.clone());
        } else if wanted != given {
            return None;
        }
    }
    (pattern.len() == arguments.len()).then_some(bound)
}

/// The parts between the outermost commas.
fn split<'a>(tokens: &[Kind<'a>]) -> Vec<Tokens<'a>> {
    let mut parts = vec![Vec::new()];
    let mut at = 0;
    while at < tokens.len() {
        let end = if let Kind::Mark('(' | '[' | '{') = tokens[at] { group_end(tokens, at) } else { at + 1 };
        match (tokens[at], parts.last_mut()) {
            (Kind::Mark(','), _) => parts.push(Vec::new()),
            (_, Some(part)) => part.extend(&tokens[at..end]),
            (_, None) => {}
        }
        at = end;
    }
    parts
}

fn substitute<'a>(body: &[Kind<'a>], bound: &BTreeMap<&'a str, Tokens<'a>>) -> Tokens<'a> {
    let mut text = Vec::new();
    let mut at = 0;
    while at < body.len() {
        match body[at..] {
            [Kind::Mark('$'), Kind::Word(name), ..] if bound.contains_key(name) => {
                text.extend(&bound[name]);
                at += 2;
            }
            [kind, ..] => {
                text.push(kind);
                at += 1;
            }
            [] => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<String> {
        let rows = [("tas", "RawTas", vec!["timed"]), ("ondeck", "RawOndeck", vec!["timed", "sleeps"])];
        names(&rows.map(|(file, lock, words)| Row { file, lock, words }), source).into_iter().collect()
    }

    #[test]
    fn tests_are_found_by_path_and_the_ignored_are_not() {
        let source = "mod a { #[test] fn b() { if x { y } } mod c { #[test] #[cfg(x)] fn d() {} } fn e() {} }
            #[test] #[ignore = \"x\"] fn f() {} #[test] fn g(x: [u8; 2]) {}";
        assert_eq!(found(source), ["a::b", "a::c::d", "g"]);
    }

    #[test]
    fn a_macro_is_called_once_per_lock_that_has_the_words() {
        let source = "macro_rules! any { (ondeck, $l:ident) => {}; ($n:ident, $l:ident) => {
            mod $n { #[test] fn x() { $l::new(); } } }; } for_each_lock!(any);";
        assert_eq!(found(source), ["tas::x"]);
        let sleeping =
            "macro_rules! any { ($n:ident, $l:ident) => { #[test] fn $n() {} }; } for_each_lock!(any, timed, sleeps);";
        assert_eq!(found(sleeping), ["ondeck"]);
        assert_eq!(found(&sleeping.replace("timed, sleeps", "timed, not_sleeps")), ["tas"]);
    }

    #[test]
    fn macros_call_macros_and_end_with_their_module() {
        let source = "macro_rules! deep { ($n:ident, $x:expr) => { #[test] fn $n() { $x } }; }
            macro_rules! any { ($n:ident, $l:ident) => { deep!($n, f(1, 2)); }; }
            mod m { macro_rules! any { ($n:ident, $l:ident) => {}; } for_each_lock!(any); }
            for_each_lock!(any);";
        assert_eq!(found(source), ["ondeck", "tas"]);
    }
}
