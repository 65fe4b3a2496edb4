//! `cargo xtask programs --overhead`: what it costs to be recorded at the default rate, with glibc's locks and with ours.
//!
//! Each program runs in four ways in each round: with glibc's locks, with these recorded, with ours as `ondeck run` gives them,
//! and with these recorded. Figures are compared within rounds.

use super::preload::{self, Variant};
use super::table::List;
use super::wish::Wish;
use super::{each, measure, record};
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
pub(super) fn run(root: &Path, wish: &Wish) -> Result<(), String> {
    let (ondeck, library) = preload::with_command(root)?;
    let mut rows = Vec::new();
    each(root, wish, MEASURED, |ground, settings| {
        let out = ground.file("profile.json");
        let variants = [
            Variant::plain(),
            Variant::profiled(&ondeck, "glibc", &out),
            Variant::preloaded(&library, None),
            Variant::profiled(&ondeck, "ondeck", &out),
        ];
        rows.extend(measure(ground, settings, &variants, wish.rounds.unwrap_or(ROUNDS))?);
        Ok(())
    })?;
    record::keep(root, "profile-overhead.csv", &rows)
}
