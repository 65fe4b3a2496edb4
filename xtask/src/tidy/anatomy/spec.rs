//! Header and model say the same by name: every step is an action of the module in `spec/`, and every property that the
//! header calls as a witness is there.

use super::{Algorithm, Fault, File, quoted_after};
use std::collections::BTreeSet;

/// Where the modules are.
const HOME: &str = "spec/";

pub(super) fn check(algorithm: &Algorithm<'_>, files: &[File]) -> Vec<Fault> {
    let module = algorithm.name.replace('-', "_");
    let path = format!("{HOME}{module}.tla");
    let mut faults = Vec::new();
    let text = algorithm.header.text();
    let witnesses = quoted_after(&text, "TLA+");
    let Some(operators) = operators(&module, files) else {
        if sleeps(algorithm) {
            faults.push(algorithm.fault(0, format!("its waiters sleep, so it has a model, but {path} is missing")));
        }
        faults.extend(witnesses.iter().map(|name| algorithm.fault(0, format!("no {path} with TLA+ `{name}`"))));
        return faults;
    };
    let left_out = left_out(&module, files);
    let rows = algorithm.header.section("Life of a word").map(|section| section.rows("step")).unwrap_or_default();
    for row in rows.iter().filter(|row| !operators.contains(row.label.as_str())) {
        if left_out.iter().all(|(step, _)| *step != row.label) {
            let text = format!("step `{0}` has neither an action nor a line `\\* not modelled: {0}: why`", row.label);
            faults.push(Fault::new(&path, 0, text));
        }
    }
    let is_step = |name: &str| rows.iter().any(|row| row.label == name);
    for (step, line) in own_left_out(module_text(&module, files).unwrap_or_default()) {
        if operators.contains(step) || !is_step(step) {
            let text = if is_step(step) { "has an action after all" } else { "is no step of the lock" };
            faults.push(Fault::new(&path, line, format!("`{step}` {text}")));
        }
    }
    let unknown = witnesses.iter().filter(|name| !operators.contains(**name));
    faults.extend(unknown.map(|name| algorithm.fault(0, format!("there is no TLA+ `{name}` in {path}"))));
    faults
}

fn sleeps(algorithm: &Algorithm<'_>) -> bool {
    let tokens = algorithm.parts.iter().flat_map(|part| part.tokens.windows(3));
    tokens.into_iter().any(|window| window[0].is_word("sleeps") && window[1].is_mark(':') && window[2].is_word("true"))
}

fn module_text<'a>(name: &str, files: &'a [File]) -> Option<&'a str> {
    let path = format!("{HOME}{name}.tla");
    files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
}

/// Every operator that a module defines, itself or in the modules of `spec/` that it extends; none without the module.
fn operators<'a>(name: &str, files: &'a [File]) -> Option<BTreeSet<&'a str>> {
    let text = module_text(name, files)?;
    let mut found: BTreeSet<&str> = text.lines().filter_map(defined_operator).collect();
    // A module cannot extend itself, not even by a detour: the walk ends.
    found.extend(extended(text).filter_map(|base| operators(base, files)).flatten());
    Some(found)
}

/// The name before `==` in a line that begins a definition.
pub(in crate::tidy) fn defined_operator(line: &str) -> Option<&str> {
    let (before, _) = line.split_once("==")?;
    let name = before.split('(').next()?.trim_end();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some(name)
}

/// The modules that are named after EXTENDS or INSTANCE.
fn extended(text: &str) -> impl Iterator<Item = &str> {
    let lists = text.lines().filter_map(|line| line.split_once("EXTENDS ").or_else(|| line.split_once("INSTANCE ")));
    lists.flat_map(|(_, names)| names.split(" WITH ").next().unwrap_or_default().split(',').map(str::trim))
}

/// The steps that are left out of a module or of those that it extends.
fn left_out<'a>(name: &str, files: &'a [File]) -> Vec<(&'a str, usize)> {
    let text = module_text(name, files).unwrap_or_default();
    let mut found = own_left_out(text);
    found.extend(extended(text).flat_map(|base| left_out(base, files)));
    found
}

/// Step and line of every `\* not modelled: step: reason`.
fn own_left_out(text: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let rest = line.trim_start().strip_prefix("\\* not modelled: ");
        if let Some((step, reason)) = rest.and_then(|rest| rest.split_once(": "))
            && !reason.trim().is_empty()
        {
            found.push((step, number));
        }
    }
    found
}
