//! `cargo xtask programs --overhead`: what it costs to be recorded at the default rate, with glibc's locks and with ours.
//!
//! Each program runs in four ways, in an order that is drawn anew in each round: with glibc's locks, with these recorded, with
//! ours as `ondeck run` gives them, and with these recorded. Figures are compared within rounds.

use super::preload::{self, Variant};
use super::wish::Wish;
use super::{List, each_of, measure, record};
use crate::docs;
use crate::docs::overhead::{FILE, line_of};
use std::path::Path;

/// What is measured, with which settings: what one call costs, a program that is nothing but its lock, and some that do
/// something else too, one of which hardly waits.
pub(super) const MEASURED: &List = &[
    ("uncontended", &["1", "1 + 1 asleep"]),
    ("sysbench-mutex", &["2", "16"]),
    ("sqlite", &["16"]),
    ("rocksdb", &["16"]),
    ("node", &["16"]),
    ("memcached", &["8"]),
];
const ROUNDS: u32 = 5;

/// All of them, or those that are named.
pub(super) fn run(root: &Path, words: &[String], wish: &Wish) -> Result<(), String> {
    let (ondeck, library) = preload::with_command(root)?;
    let mut rows = Vec::new();
    let skipped = each_of(root, MEASURED, wish, |ground, program, settings| {
        let out = ground.file("profile.json");
        let mut variants = [
            Variant::plain(),
            Variant::profiled(&ondeck, "glibc", &out),
            Variant::preloaded(&library, None),
            Variant::profiled(&ondeck, "ondeck", &out),
        ];
        let new = measure(ground, program, settings, &mut variants, wish.rounds.unwrap_or(ROUNDS))?;
        for setting in settings {
            println!("{}", line_of(program.name, setting.label, &new).join(" | "));
        }
        rows.extend(new);
        Ok(())
    })?;
    record::write(root, wish.is_whole(), FILE, rows, &record::command(words), &skipped)?;
    if wish.is_whole() { docs::run(root, &[]) } else { Ok(()) }
}
