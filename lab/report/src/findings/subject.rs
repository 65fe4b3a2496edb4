//! What a report is about: in a title, and in one line.

use crate::catalogue::Catalogue;
use crate::inputs::Source;
use crate::row::{is_simulated, machine};
use ondeck_kit::wording::{counted, list_some, plain};
use std::collections::BTreeMap;

/// So many names stand in a title.
const NAMED: usize = 4;

/// The title: at most eight words, of which each name of a lock or workload is one.
pub fn title(sources: &[Source], catalogue: &Catalogue) -> String {
    let boards: Vec<_> = sources.iter().map(|source| source.board(catalogue)).collect();
    let locks = few(&distinct(boards.iter().flat_map(|board| &board.locks)), "lock");
    let settings = boards.iter().flat_map(|board| &board.settings);
    let workloads = workloads(settings.map(|setting| setting.workload.as_str()));
    let what = match workloads.as_slice() {
        [] => String::new(),
        [only] => format!(": {only}"),
        [first, others @ ..] => format!(": {first} and {} more", others.len()),
    };
    let n_simulated = sources.iter().filter(|source| source.results.rows.iter().all(is_simulated)).count();
    plain(&match sources.len() {
        1 if n_simulated == 1 => format!("{locks}{what}, simulated"),
        1 => format!("{locks}{what}"),
        n => format!("{n} files, {locks}{what}"),
    })
}

/// One name or two; of more, their number.
fn few(names: &[String], what: &str) -> String {
    match names {
        [one] => one.clone(),
        [one, other] => format!("{one}, {other}"),
        _ => counted(names.len(), what),
    }
}

/// What the report is about, in one line: locks, workloads, machines, number of files.
pub fn subject(sources: &[Source], catalogue: &Catalogue) -> String {
    let boards: Vec<_> = sources.iter().map(|source| source.board(catalogue)).collect();
    let locks = distinct(boards.iter().flat_map(|board| &board.locks));
    let machines: Vec<String> = sources.iter().flat_map(|source| &source.results.rows).map(machine).collect();
    let machines = distinct(machines.iter());
    let settings = boards.iter().flat_map(|board| &board.settings);
    let workloads = workloads(settings.map(|setting| setting.workload.as_str()));
    let named = |names: &[String]| list_some(names, NAMED);
    let workloads = match workloads.as_slice() {
        [first, _, _, ..] => format!("{first} and {} more workloads", workloads.len() - 1),
        few => named(few),
    };
    let files = if sources.len() > 1 { format!(" ({})", counted(sources.len(), "file")) } else { String::new() };
    plain(&format!("{}: {workloads} on {}{files}", named(&locks), named(&machines)))
}

/// The names, each once, in the order in which they come.
fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    names.filter(|name| seen.insert(name.as_str())).cloned().collect()
}

/// The workloads, the one with most settings first. Those that differ in their parameters or phases only are one.
fn workloads<'a>(settings: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut order: Vec<&str> = Vec::new();
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for workload in settings {
        let base = workload.split('/').next().unwrap_or(workload);
        let names = found.entry(base).or_default();
        if names.is_empty() {
            order.push(base);
        }
        names.push(workload);
    }
    // Stable: of those with as many, the first stays first.
    order.sort_by_key(|base| std::cmp::Reverse(found[base].len()));
    let name = |base: &&str| {
        let names = &found[base];
        let is_alike = names.iter().all(|name| name == &names[0]);
        if is_alike { names[0].to_string() } else { base.to_string() }
    };
    order.iter().map(name).collect()
}
