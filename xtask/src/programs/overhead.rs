//! `cargo xtask programs --overhead`: what it costs to be recorded at the default rate, with glibc's locks and with ours.
//!
//! Each program runs in four ways, in an order that is drawn anew in each round: with glibc's locks, with these recorded, with
//! ours as `ondeck run` gives them, and with these recorded. Figures are compared within rounds.

use super::preload::{self, Variant};
use super::table::{PROGRAMS, Setting};
use super::wish::Wish;
use super::{measure, one_line, prepared, record};
use crate::docs;
use crate::docs::overhead::{FILE, line_of};
use std::path::Path;

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
        let out = ground.file("profile.json");
        let mut variants = [
            Variant::plain(),
            Variant::profiled(&ondeck, "glibc", &out),
            Variant::preloaded(&library, None),
            Variant::profiled(&ondeck, "ondeck", &out),
        ];
        let new = measure(&ground, program, &settings, &mut variants, wish.rounds.unwrap_or(ROUNDS))?;
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
