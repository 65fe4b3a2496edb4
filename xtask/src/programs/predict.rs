//! `cargo xtask programs --predict`: what programs would gain on many cores, from how long they hold their hottest mutex.
//!
//! Each program runs with glibc's locks and two threads on one CPU, so that no section is stretched by those who wait, under a
//! library that measures sections (`measure_sections.c`). A simulated machine then runs glibc's mutex and ours with such sections.

use super::ground::{Ground, Run};
use super::preload::{self, Variant};
use super::rows::Predicted;
use super::table::{List, Setting};
use super::wish::Wish;
use super::{Fault, each, record};
use crate::scaling;
use ondeck_lab::predict::{LOCKS, Sections, rates};
use ondeck_lab::simulate;
use ondeck_report::stats;
use serde::Deserialize;
use std::path::Path;

/// What is measured. Of the others, memcached has no hot mutex; rsyslog's and Python's threads spend their time at condition
/// variables, of which nothing is known outside; and who yields inside the section is not described by its length.
pub(super) const MEASURED: &List = &[
    ("sysbench-mutex", &[]),
    ("leveldb", &[]),
    ("sqlite", &[]),
    ("rocksdb", &[]),
    ("kyotocabinet", &[]),
    ("node", &[]),
    ("mariadb", &[]),
];
/// Of threads, or clients, there are two, as a mutex that only one thread takes is of no interest.
const FEW: &Setting = &Setting { label: "", threads: 2, is_busy: false };
const RUNS: usize = 3;
/// The simulated machine: one socket of 64 cores that have one thread each, so that only the lock can keep them waiting.
const MACHINE: &str = "graviton3";
const THREADS: &str = "4,16,64";
const SEEDS: u32 = 3;
/// Where the rows of the simulator are until they are read.
const FRESH: &str = "target/predictions.csv";

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
pub(super) fn run(root: &Path, wish: &Wish) -> Result<(), String> {
    let mut found = Vec::new();
    each(root, wish, MEASURED, |ground, _| {
        found.push((ground.program.name, sections(ground).map_err(Fault::Skipped)?));
        Ok(())
    })?;
    if found.is_empty() {
        return Err("no program could be measured".into());
    }
    record::keep(root, "predictions.csv", &predictions(root, &found)?)
}

/// Inside and outside of the program's hottest mutex: medians of its runs.
fn sections(ground: &Ground) -> Result<Sections, String> {
    ground.compile("measure_sections.c", "-shared -fPIC")?;
    let library = preload::loadable(&ground.file("measure_sections"), None)?;
    let (mut sections, mut outsides) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let files = format!("sections-{run}");
        let variant = Variant::measured(&library, &ground.file(&files));
        (ground.program.run)(&Run { ground, setting: FEW, variant: &variant })?;
        let hot = hottest(&ground.place, &files)?;
        sections.push(hot.section_ps as f64 / 1e3);
        outsides.push(hot.outside_ps as f64 / 1e3);
        println!(
            "{} {run}: {} acquisitions, {} contended, section {:.1} ns, outside {:.1} ns, first by {}",
            ground.program.name, hot.acquisitions, hot.contended, sections[run], outsides[run], hot.user
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

fn predictions(root: &Path, found: &[(&str, Sections)]) -> Result<Vec<Predicted>, String> {
    let machine = simulate::machine(MACHINE, None)?;
    let workloads: Vec<String> = found.iter().map(|(_, sections)| sections.workload(&machine).to_string()).collect();
    let (words, locks) = (workloads.join(","), LOCKS.join(","));
    let flags = format!("--workload {words} --lock {locks} --threads {THREADS} --seeds {SEEDS}");
    let simulated = scaling::sweep(root, MACHINE, &flags, Path::new(FRESH))?;
    let mut rows = Vec::new();
    for ((program, Sections { section_ns, outside_ns }), workload) in found.iter().zip(&workloads) {
        for threads in THREADS.split(',').filter_map(|n| n.parse().ok()) {
            let no_row = || format!("no row of a lock in {workload}, {threads} threads");
            let rates = rates(&simulated, workload, threads).ok_or_else(no_row)?;
            rows.push(Predicted {
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
