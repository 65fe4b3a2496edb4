//! Header and model say the same by name: every step is an action of the module in `proof/spec/`, and every property that the
//! header calls as a witness is there.

use super::algorithm::Algorithm;
use super::header::quoted_after;
use super::tree::{File, fault};
use std::collections::BTreeSet;

pub(super) fn check(algorithm: &Algorithm<'_>, files: &[File]) -> Vec<String> {
    let name = algorithm.name.replace('-', "_");
    // What ondeck has beside its mutex, as `ondeck_condvar`.
    let beside = format!("ondeck_{name}");
    let module = if with_extended(&beside, files).is_empty() { name } else { beside };
    let path = format!("proof/spec/{module}.tla");
    let text = algorithm.header.text();
    let witnesses = quoted_after(&text, "TLA+");
    let modules = with_extended(&module, files);
    let Some(own) = modules.first() else {
        let unmodelled =
            algorithm.needs_model().then(|| format!("its waiters sleep, so it has a model, but {path} is missing"));
        let unknown = witnesses.iter().map(|name| format!("no {path} with TLA+ `{name}`"));
        return unmodelled.into_iter().chain(unknown).map(|text| algorithm.fault(0, &text)).collect();
    };
    let operators: BTreeSet<&str> = modules.iter().flat_map(|text| text.lines()).filter_map(defined_operator).collect();
    let left_out: BTreeSet<&str> = modules.iter().flat_map(|text| left_out(text)).map(|(_, step)| step).collect();
    let steps: BTreeSet<&str> = algorithm.steps().into_iter().map(|(_, step)| step).collect();
    let mut faults = Vec::new();
    for step in steps.iter().filter(|step| !operators.contains(*step) && !left_out.contains(*step)) {
        let text = format!("step `{step}` has neither an action nor a line `\\* not modelled: {step}: why`");
        faults.push(fault(&path, 0, &text));
    }
    for (line, step) in self::left_out(own) {
        if !steps.contains(step) {
            faults.push(fault(&path, line, &format!("`{step}` is no step of the lock")));
        } else if operators.contains(step) {
            faults.push(fault(&path, line, &format!("`{step}` has an action after all")));
        }
    }
    let unknown = witnesses.iter().filter(|name| !operators.contains(**name));
    faults.extend(unknown.map(|name| algorithm.fault(0, &format!("there is no TLA+ `{name}` in {path}"))));
    faults
}

/// The text of a module, then those of the modules of `proof/spec/` that it extends; nothing without the module.
fn with_extended<'a>(module: &str, files: &'a [File]) -> Vec<&'a str> {
    let path = format!("proof/spec/{module}.tla");
    let Some(file) = files.iter().find(|file| file.path == path) else { return Vec::new() };
    let lists =
        file.text.lines().filter_map(|line| line.split_once("EXTENDS ").or_else(|| line.split_once("INSTANCE ")));
    let names = lists.flat_map(|(_, names)| names.split(" WITH ").next().unwrap_or_default().split(',').map(str::trim));
    // A module cannot extend itself, not even by a detour: the walk ends.
    [file.text.as_str()].into_iter().chain(names.flat_map(|name| with_extended(name, files))).collect()
}

/// The name before `==` in a line that begins a definition.
pub(super) fn defined_operator(line: &str) -> Option<&str> {
    let (before, _) = line.split_once("==")?;
    let name = before.split('(').next()?.trim_end();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some(name)
}

/// Line and step of every `\* not modelled: step: reason`.
fn left_out(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter_map(|(number, line)| {
        let (step, reason) = line.trim_start().strip_prefix("\\* not modelled: ")?.split_once(": ")?;
        (!reason.trim().is_empty()).then_some((number, step))
    })
}
