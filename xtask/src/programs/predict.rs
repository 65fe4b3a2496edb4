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
use ondeck_lab::simulate;
use ondeck_lab::workload::MAX_UNITS;
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
            Ok((section, outside)) => found.push((*name, section, outside)),
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

/// Nanoseconds inside and outside of the program's hottest mutex: medians of its runs.
fn measure(root: &Path, program: &Program) -> Result<(f64, f64), String> {
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
    stats::median(&sections).zip(stats::median(&outsides)).ok_or_else(|| "no runs".into())
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

/// A program's workload in the simulator: as many nanoseconds, though its cores may do more or less in one.
fn workload(section_ns: f64, outside_ns: f64, unit_ns: f64) -> String {
    let units = |ns: f64| ((ns / unit_ns).round() as u32).min(MAX_UNITS);
    format!("sections/cs{}-out{}", units(section_ns), units(outside_ns))
}

fn predictions(root: &Path, found: &[(&str, f64, f64)]) -> Result<Vec<Row>, String> {
    let machine = simulate::machine(MACHINE, None)?;
    let unit_ns = f64::from(machine.kinds.first().ok_or("a machine without cores")?.work_ps) / 1e3;
    let workloads: Vec<String> = found.iter().map(|(_, section, out)| workload(*section, *out, unit_ns)).collect();
    let flags = format!("--workload {} --lock pthread,ondeck --threads {THREADS} --seeds {SEEDS}", workloads.join(","));
    std::fs::create_dir_all(root.join("target")).map_err(|error| format!("target: {error}"))?;
    scaling::sweep(root, MACHINE, &flags, Path::new(FRESH))?;
    let simulated = scaling::rows_of(&root.join(FRESH))?;
    let mut rows = Vec::new();
    for ((program, section_ns, outside_ns), workload) in found.iter().zip(&workloads) {
        for threads in THREADS.split(',').filter_map(|n| n.parse().ok()) {
            let of = |lock: &str| {
                let is_it = |row: &&ondeck_report::row::Row| {
                    (&row.workload, row.lock.as_str(), row.threads) == (workload, lock, threads)
                };
                let figures: Vec<f64> = simulated.iter().filter(is_it).filter_map(|row| row.ops_per_s).collect();
                stats::median(&figures).ok_or_else(|| format!("no row of {lock} in {workload}, {threads} threads"))
            };
            let (pthread_ops_per_s, ondeck_ops_per_s) = (of("pthread")?, of("ondeck")?);
            rows.push(Row {
                program: (*program).to_owned(),
                section_ns: *section_ns,
                outside_ns: *outside_ns,
                machine: MACHINE.to_owned(),
                threads,
                pthread_ops_per_s,
                ondeck_ops_per_s,
                ratio: ondeck_ops_per_s / pthread_ops_per_s,
            });
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_become_units() {
        assert_eq!(workload(38.5, 1e12, 0.385), format!("sections/cs100-out{MAX_UNITS}"));
    }

    #[test]
    fn every_program_is_there() {
        for name in MEASURED {
            assert!(PROGRAMS.iter().any(|program| program.name == *name), "{name}");
        }
    }
}
