//! The names of the conformance tests, without building them: their macros are expanded here, as far as names go.
//!
//! The tests of a lock come from macros that `for_each_lock!` calls once per row of the table. What is understood of macros
//! is what those files use: parameters that are separated by commas, and calls of macros by macros.

use crate::files;
use crate::table::{self, Row};
use proc_macro2::{Group, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use syn::{Attribute, Item, ItemMod};

/// What stands between each pair of brackets of a macro: a pattern, its body, and so on.
type Macros = BTreeMap<String, Vec<TokenStream>>;

/// Every test that runs by itself, as "file path::of::the_test".
pub(super) fn read(conformance: &Path) -> Result<BTreeSet<String>, String> {
    let read = |path: &Path| fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
    let text = read(&conformance.join("../..").join(table::PATH))?;
    let rows = table::rows(&text);
    let mut found = BTreeSet::new();
    for file in files::below(conformance, "tests", &|_| false)?.iter().filter(|file| file.ends_with(".rs")) {
        let path = conformance.join(file);
        let names = names(&rows, &read(&path)?).map_err(|error| format!("{}: {error}", path.display()))?;
        let file = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        found.extend(names.into_iter().map(|name| format!("{file} {name}")));
    }
    Ok(found)
}

/// The tests in one file.
fn names(rows: &[Row], source: &str) -> syn::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    walk(rows, &syn::parse_file(source)?.items, "", &mut Macros::new(), &mut found)?;
    Ok(found)
}

/// Collects the tests among items; `path` is empty or ends with the colons.
fn walk(
    rows: &[Row],
    items: &[Item],
    path: &str,
    macros: &mut Macros,
    found: &mut BTreeSet<String>,
) -> syn::Result<()> {
    let has = |attributes: &[Attribute], name: &str| attributes.iter().any(|it| it.path().is_ident(name));
    for item in items {
        match item {
            Item::Fn(item) if has(&item.attrs, "test") && !has(&item.attrs, "ignore") => {
                found.insert(format!("{path}{}", item.sig.ident));
            }
            // What a module defines ends with it.
            Item::Mod(ItemMod { ident, content: Some((_, items)), .. }) => {
                walk(rows, items, &format!("{path}{ident}::"), &mut macros.clone(), found)?;
            }
            Item::Macro(item) => {
                let tokens = item.mac.tokens.clone();
                let expanded = if let Some(name) = &item.ident {
                    let groups = tokens.into_iter().filter_map(|tree| Some(group(&tree)?.stream()));
                    macros.insert(name.to_string(), groups.collect());
                    TokenStream::new()
                } else if item.mac.path.is_ident("for_each_lock") {
                    calls(rows, &tokens).parse()?
                } else {
                    let parts = item.mac.path.get_ident().and_then(|name| macros.get(&name.to_string()));
                    parts.and_then(|parts| expand(parts, &tokens)).unwrap_or_default()
                };
                walk(rows, &syn::parse2::<syn::File>(expanded)?.items, path, macros, found)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn group(tree: &TokenTree) -> Option<&Group> {
    if let TokenTree::Group(group) = tree { Some(group) } else { None }
}

/// What `for_each_lock!(each, words)` calls: `each!(file, Type)` of the rows that have the words, or lack the rest of one
/// that begins with `not_`.
fn calls(rows: &[Row], arguments: &TokenStream) -> String {
    let words = split(arguments);
    let Some((each, wanted)) = words.split_first() else { return String::new() };
    let fits = |row: &Row, word: &str| match word.strip_prefix("not_") {
        Some(lacked) => !row.words.contains(&lacked),
        None => row.words.contains(&word),
    };
    let rows = rows.iter().filter(|row| wanted.iter().all(|word| fits(row, &word.to_string())));
    rows.map(|row| format!("{each}!({}, {});", row.file, row.lock)).collect()
}

/// The body of the first arm that the arguments fit, with the arguments in it.
fn expand(parts: &[TokenStream], arguments: &TokenStream) -> Option<TokenStream> {
    parts.chunks_exact(2).find_map(|arm| Some(substitute(&arm[1], &bind(&arm[0], arguments)?)))
}

/// The arguments by the names that a pattern gives them.
fn bind(pattern: &TokenStream, arguments: &TokenStream) -> Option<BTreeMap<String, TokenStream>> {
    let (pattern, arguments) = (split(pattern), split(arguments));
    let plain = |tokens: &TokenStream| tokens.to_string().replace(' ', "");
    let mut bound = BTreeMap::new();
    for (wanted, given) in pattern.iter().zip(&arguments) {
        let wanted = plain(wanted);
        if let Some((name, _)) = wanted.strip_prefix('$').and_then(|wanted| wanted.split_once(':')) {
            bound.insert(name.to_owned(), given.clone());
        } else if wanted != plain(given) {
            return None;
        }
    }
    (pattern.len() == arguments.len()).then_some(bound)
}

/// The parts between the outermost commas.
fn split(tokens: &TokenStream) -> Vec<TokenStream> {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let parts = trees.split(|tree| matches!(tree, TokenTree::Punct(mark) if mark.as_char() == ','));
    parts.map(|part| part.iter().cloned().collect()).collect()
}

/// A body with what is bound in the place of its names.
fn substitute(body: &TokenStream, bound: &BTreeMap<String, TokenStream>) -> TokenStream {
    let mut text = TokenStream::new();
    let mut trees = body.clone().into_iter().peekable();
    while let Some(tree) = trees.next() {
        let is_dollar = matches!(&tree, TokenTree::Punct(mark) if mark.as_char() == '$');
        let name = trees.peek().filter(|_| is_dollar).map(ToString::to_string);
        if let Some(given) = name.and_then(|name| bound.get(&name)) {
            trees.next();
            text.extend(given.clone());
        } else if let Some(group) = group(&tree) {
            text.extend([TokenTree::from(Group::new(group.delimiter(), substitute(&group.stream(), bound)))]);
        } else {
            text.extend([tree]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<String> {
        let rows = [("tas", "RawTas", vec!["timed"]), ("ondeck", "RawOndeck", vec!["timed", "sleeps"])];
        let rows = rows.map(|(file, lock, words)| Row { file, lock, words });
        names(&rows, source).unwrap().into_iter().collect()
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
