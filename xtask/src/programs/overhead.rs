//! `cargo xtask programs --overhead`: what it costs to be recorded at the default rate, with glibc's locks and with ours.
//!
//! Each program runs in four ways, in an order that is drawn anew in each round: with glibc's locks, with these recorded, with
//! ours as `ondeck run` gives them, and with these recorded. Figures are compared within rounds.

use super::preload::{self, Variant};
use super::table::{PROGRAMS, Program, Setting};
use super::wish::Wish;
use super::{Dice, Ground, needs, one_line, record, title};
use crate::docs;
use crate::docs::overhead::{FILE, line_of};
use crate::docs::programs::Row;
use std::path::{Path, PathBuf};

/// What is measured, with which settings: what one call costs, a program that is nothing but its lock, and some that do
/// something else too, one of which hardly waits.
const MEASURED: &[(&str, &[&str])] = &[
    ("uncontended", &["1", "1 + 1 asleep"]),
    ("sysbench-mutex", &["2", "16"]),
    ("rocksdb", &["16"]),
    ("node", &["16"]),
    ("memcached", &["8"]),
];
const ROUNDS: u32 = 5;

/// All of them, or those that are named.
pub(super) fn run(root: &Path, words: &[String], wish: &Wish) -> Result<(), String> {
    if let Some(name) = wish.only.iter().find(|name| MEASURED.iter().all(|(measured, _)| measured != name)) {
        let names: Vec<&str> = MEASURED.iter().map(|(name, _)| *name).collect();
        return Err(format!("{name} is not measured recorded; these are: {}", names.join(", ")));
    }
    let (ondeck, library) = preload::with_command(root)?;
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for (name, labels) in MEASURED.iter().filter(|(name, _)| wish.wants(name)) {
        let program = PROGRAMS.iter().find(|program| program.name == *name).ok_or("no such program")?;
        let ground = match prepared(root, program) {
            Ok(ground) => ground,
            Err(reason) => {
                skipped.push(format!("{name}: {}", one_line(&reason)));
                continue;
            }
        };
        let settings: Vec<&Setting> = program.settings.iter().filter(|it| labels.contains(&it.label)).collect();
        let new = measure(&ground, program, &settings, (&ondeck, &library), wish.rounds.unwrap_or(ROUNDS))?;
        for setting in settings {
            println!("{}", line_of(name, setting.label, &new).join(" | "));
        }
        rows.extend(new);
    }
    for line in &skipped {
        println!("skipped {line}");
    }
    record::write(root, wish.is_whole(), FILE, rows, &record::command(words), &skipped)?;
    if wish.is_whole() { docs::run(root, &[]) } else { Ok(()) }
}

fn prepared(root: &Path, program: &Program) -> Result<Ground, String> {
    needs::provide(program.needs)?;
    let ground = Ground::new(root, program.name, false)?;
    (program.prepare)(&ground)?;
    Ok(ground)
}

/// All rounds of a program.
fn measure(
    ground: &Ground,
    program: &Program,
    settings: &[&Setting],
    (ondeck, library): (&PathBuf, &PathBuf),
    n_rounds: u32,
) -> Result<Vec<Row>, String> {
    let out = ground.file("profile.json");
    let mut variants = [
        Variant::plain(),
        Variant::profiled(ondeck, "glibc", &out),
        Variant::preloaded(library, None),
        Variant::profiled(ondeck, "ondeck", &out),
    ];
    let (mut rows, mut dice) = (Vec::new(), Dice::new());
    for round in 0..n_rounds {
        for setting in settings {
            dice.shuffle(&mut variants);
            for variant in &variants {
                let failed = |what| format!("{}: {}{}: {what}", program.name, title(setting), variant.name);
                let sample = (program.run)(ground, setting, variant).map_err(failed)?;
                let row = Row::new(program.name, (setting.label, setting.threads), &variant.name, round);
                let usage = (sample.usage.cpu_s, sample.usage.voluntary, sample.usage.involuntary);
                rows.push(row.with((sample.seconds, sample.ops), usage));
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_its_settings() {
        for (name, labels) in MEASURED {
            let program = PROGRAMS.iter().find(|program| program.name == *name).expect(name);
            for label in *labels {
                assert!(program.settings.iter().any(|setting| setting.label == *label), "{name} {label}");
            }
        }
    }
}
