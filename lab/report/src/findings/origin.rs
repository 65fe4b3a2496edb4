//! Where the figures of a file come from.

use crate::fingerprint::Fingerprint;
use crate::inputs::Source;
use crate::row::{Row, is_simulated, machine};
use ondeck_kit::wording::{list_some, plain};
use std::collections::BTreeSet;

/// Where a file's figures come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// The file, as [`Source::label`].
    pub label: String,
    /// What is known of it, by name: processor, kernel, load, date.
    pub facts: Vec<(String, String)>,
    /// The command that measures it again; empty if unknown.
    pub command: String,
    /// What the run warned of, and what is odd about the file.
    pub warnings: Vec<String>,
}

/// Where the figures of a file come from, and what casts doubt on them.
pub fn origin(source: &Source) -> Origin {
    let results = &source.results;
    let mut facts = match &results.fingerprint {
        Some(fingerprint) => of_machine(fingerprint),
        None if results.rows.iter().all(is_simulated) => {
            vec![("Machine", list_some(&distinct(&results.rows, machine), 4))]
        }
        None => vec![
            ("Machine", list_some(&distinct(&results.rows, |row| row.machine.clone()), 4)),
            ("Fingerprint", "none came with the file: processor, kernel and load are unknown".to_string()),
        ],
    };
    let simulation = results.fingerprint.as_ref().and_then(|fingerprint| fingerprint.simulation.as_ref());
    facts.extend(simulation.map(|simulation| ("Simulation", simulation.line(&results.rows))));
    facts.extend(of_rows(&results.rows));
    let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
    Origin {
        label: plain(&source.label),
        facts: facts.map(|(name, value)| (name.to_string(), plain(&value))).collect(),
        command: plain(&results.command),
        warnings: results
            .warnings
            .iter()
            .chain(&source.notes)
            .chain(&results.doubt_about_queues())
            .map(|warning| plain(warning))
            .collect(),
    }
}

/// What is known of the machine and the moment; what is not has no value.
fn of_machine(fingerprint: &Fingerprint) -> Vec<(&'static str, String)> {
    let known = |n: u32| if n == 0 { String::new() } else { n.to_string() };
    let counted = |n: Option<u32>| n.map_or(String::new(), known);
    let yes_or_no = |is: bool| if is { "yes" } else { "no" }.to_string();
    let commit = fingerprint.commit.as_ref().map_or(String::new(), |commit| format!(", commit {commit}"));
    vec![
        ("Machine", fingerprint.machine.clone()),
        ("CPU", fingerprint.cpu.clone()),
        ("Architecture", fingerprint.arch.clone()),
        ("CPUs online", known(fingerprint.cpus_online)),
        ("CPUs usable", known(fingerprint.cpus_allowed)),
        ("Cores", counted(fingerprint.cores)),
        ("Sockets", counted(fingerprint.sockets)),
        ("NUMA nodes", counted(fingerprint.numa_nodes)),
        ("SMT", fingerprint.smt.map_or(String::new(), yes_or_no)),
        ("Virtual machine", yes_or_no(fingerprint.virtual_machine)),
        ("Governor", fingerprint.governor.clone().unwrap_or_default()),
        ("System", format!("{} {}", fingerprint.os, fingerprint.kernel).trim().to_string()),
        ("Load average before", fingerprint.load_average.map_or(String::new(), |load| load.to_string())),
        ("ondeck", format!("{}{commit}", fingerprint.ondeck)),
        ("Date", fingerprint.date.clone()),
    ]
}

/// What the rows say of the run.
fn of_rows(rows: &[Row]) -> Vec<(&'static str, String)> {
    let rounds: BTreeSet<u32> = rows.iter().map(|row| row.round).collect();
    let platforms = distinct(rows, |row| row.platform.clone());
    let is_hardware = platforms.iter().all(|platform| platform == "hardware");
    let seconds = rows.iter().map(|row| row.seconds).filter(|seconds| seconds.is_finite());
    let (least, most) = seconds.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), s| (a.min(s), b.max(s)));
    let seconds = match () {
        _ if least > most => String::new(),
        _ if least == most => least.to_string(),
        _ => format!("{least} to {most}"),
    };
    vec![
        ("Platform", if is_hardware { String::new() } else { list_some(&platforms, 4) }),
        ("Rounds", rounds.len().to_string()),
        ("Rows", rows.len().to_string()),
        ("Seconds per measurement", seconds),
    ]
}

/// The values of a column, each once.
fn distinct(rows: &[Row], column: fn(&Row) -> String) -> Vec<String> {
    let values: BTreeSet<String> = rows.iter().map(column).collect();
    values.into_iter().collect()
}
