//! `cargo xtask programs --predict`: what programs would gain on many cores, from how long they hold their hottest mutex.
//!
//! Each program runs with glibc's locks and two threads on one CPU, so that no section is stretched by those who wait, under a
//! library that measures sections (`measure_sections.c`). A simulated machine then runs glibc's mutex and ours with such sections.

use super::preload::{self, Variant};
use super::table::{PROGRAMS, Program, Setting};
use super::{Ground, needs, one_line, record};
use crate::docs::predicted::{FILE, Row};
use crate::docs::programs::to_csv;
use crate::{docs, scaling};
use ondeck_lab::predict::{LOCKS, Sections, rates};
use ondeck_lab::simulate;
use ondeck_report::stats;
use serde::Deserialize;
use std::path::Path;

/// What is measured. Of the others, memcached has no hot mutex; rsyslog's and Python's threads spend their time at condition
/// variables, of which nothing is known outside; and who yields inside the section is not described by its length.
const MEASURED: &[&str] = &["sysbench-mutex", "leveldb", "sqlite", "rocksdb", "kyotocabinet", "node", "mariadb"];
/// Threads, or clients: two, as a mutex that only one thread takes is of no interest.
const FEW: u32 = 2;
const RUNS: usize = 3;
/// The simulated machine: one socket of 64 cores that have one thread each, so that only the lock can keep them waiting.
const MACHINE: &str = "graviton3";
const THREADS: &str = "4,16,64";
const SEEDS: u32 = 3;
/// Where the rows of the simulator are until they are read.
const FRESH: &str = "target/predictions.csv";
const MEASURE: &str = "measure_sections.c";

/// A line that `measure_sections.c` writes.
#[derive(Debug, PartialEq, Deserialize)]
struct Hot {
    acquisitions: u64,
    contended: u64,
    section_ps: u64,
    outside_ps: u64,
    user: String,
}

/// Measures, simulates and writes; all programs, or those that are named.
pub(super) fn run(root: &Path, only: &[String]) -> Result<(), String> {
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    for name in MEASURED.iter().filter(|name| only.is_empty() || only.iter().any(|n| n == **name)) {
        let program = PROGRAMS.iter().find(|program| program.name == *name).ok_or("no such program")?;
        match measure(root, program) {
            Ok(sections) => found.push((*name, sections)),
            Err(reason) => skipped.push(format!("{name}: {}", one_line(&reason))),
        }
    }
    for line in &skipped {
        println!("skipped {line}");
    }
    if found.is_empty() {
        return Err("no program could be measured".into());
    }
    let text = to_csv(&predictions(root, &found)?)?;
    record::keep(root, only.is_empty(), FILE, &text, "cargo xtask programs --predict", &skipped)?;
    if only.is_empty() { docs::run(root, &[]) } else { Ok(()) }
}

/// Inside and outside of the program's hottest mutex: medians of its runs.
fn measure(root: &Path, program: &Program) -> Result<Sections, String> {
    needs::provide(program.needs)?;
    let ground = Ground::new(root, program.name, false)?;
    needs::compile(&ground, MEASURE, &["-shared", "-fPIC"])?;
    let library = preload::loadable(&needs::compiled(&ground, MEASURE), None)?;
    (program.prepare)(&ground)?;
    let (mut sections, mut outsides) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let setting = Setting { label: "", threads: FEW, is_busy: false };
        let files = format!("sections-{run}");
        (program.run)(&ground, &setting, &Variant::measured(&library, &ground.file(&files)))?;
        let hot = hottest(&ground.place, &files)?;
        sections.push(hot.section_ps as f64 / 1e3);
        outsides.push(hot.outside_ps as f64 / 1e3);
        println!(
            "{} {run}: {} acquisitions, {} contended, section {:.1} ns, outside {:.1} ns, first by {}",
            program.name, hot.acquisitions, hot.contended, sections[run], outsides[run], hot.user
        );
    }
    let medians = stats::median(&sections).zip(stats::median(&outsides));
    medians.map(|(section_ns, outside_ns)| Sections { section_ns, outside_ns }).ok_or_else(|| "no runs".into())
}

/// The mutex whose sections make up most of the time, by the files of one run: a program may start others.
fn hottest(place: &Path, files: &str) -> Result<Hot, String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(place).map_err(|error| error.to_string())?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(&format!("{files}.")) {
            let failed = |error: csv::Error| format!("{}: {error}", entry.path().display());
            let lines: Result<Vec<Hot>, _> =
                csv::Reader::from_path(entry.path()).map_err(failed)?.deserialize().collect();
            all.extend(lines.map_err(failed)?);
        }
    }
    let none = || "no mutex is taken by several threads, or nothing was written".to_owned();
    all.into_iter().max_by_key(|hot| hot.section_ps * hot.acquisitions).ok_or_else(none)
}

fn predictions(root: &Path, found: &[(&str, Sections)]) -> Result<Vec<Row>, String> {
    let machine = simulate::machine(MACHINE, None)?;
    let workloads: Vec<String> = found.iter().map(|(_, sections)| sections.workload(&machine).to_string()).collect();
    let (words, locks) = (workloads.join(","), LOCKS.join(","));
    let flags = format!("--workload {words} --lock {locks} --threads {THREADS} --seeds {SEEDS}");
    std::fs::create_dir_all(root.join("target")).map_err(|error| format!("target: {error}"))?;
    scaling::sweep(root, MACHINE, &flags, Path::new(FRESH))?;
    let simulated = scaling::rows_of(&root.join(FRESH))?;
    let mut rows = Vec::new();
    for ((program, Sections { section_ns, outside_ns }), workload) in found.iter().zip(&workloads) {
        for threads in THREADS.split(',').filter_map(|n| n.parse().ok()) {
            let no_row = || format!("no row of a lock in {workload}, {threads} threads");
            let rates = rates(&simulated, workload, threads).ok_or_else(no_row)?;
            rows.push(Row {
                program: (*program).to_owned(),
                section_ns: *section_ns,
                outside_ns: *outside_ns,
                machine: MACHINE.to_owned(),
                threads,
                pthread_ops_per_s: rates.pthread,
                ondeck_ops_per_s: rates.ondeck,
                ratio: rates.ratio(),
            });
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_there() {
        for name in MEASURED {
            assert!(PROGRAMS.iter().any(|program| program.name == *name), "{name}");
        }
    }
}
