//! `cargo xtask programs --advice`: what `ondeck profile` advises beside what `ondeck run` then does.
//!
//! Each program runs once under `ondeck profile`, whose advice is taken as users see it, and then in turn with glibc's locks and
//! with ours.

use super::preload::{self, Variant};
use super::table::{Program, Setting};
use super::wish::Wish;
use super::{Ground, List, each_of, measure, record};
use crate::docs;
use crate::docs::advice::{FILE, Row};
use crate::docs::programs::{Spread, to_csv};
use ondeck_profile::{Profile, advice, predictions, verdict};
use std::path::Path;

/// Which programs, in which of their settings.
pub(super) const ADVISED: &List = &[
    ("uncontended", &["1 + 1 asleep"]),
    ("sysbench-mutex", &["2", "16"]),
    ("sysbench-threads", &["16"]),
    ("leveldb", &["16"]),
    ("sqlite", &["16"]),
    ("rocksdb", &["16"]),
    ("kyotocabinet", &["8"]),
    ("node", &["4", "16"]),
    ("python-queue", &["4 + 4"]),
    ("mariadb", &["64"]),
    ("memcached", &["8"]),
    ("rsyslog", &["8"]),
];
/// So many locks get a prediction, as in `ondeck profile`.
const PREDICTED: usize = 3;
const ROUNDS: u32 = 5;

/// All of them, or those that are named.
pub(super) fn run(root: &Path, words: &[String], wish: &Wish) -> Result<(), String> {
    let (ondeck, library) = preload::with_command(root)?;
    let mut rows = Vec::new();
    let skipped = each_of(root, ADVISED, wish, |ground, program, settings| {
        for setting in settings {
            let row = advised(ground, &ondeck, &library, program, setting, wish.rounds.unwrap_or(ROUNDS))?;
            println!("{}", row.cells().join(" | "));
            rows.push(row);
        }
        Ok(())
    })?;
    record::keep(root, wish.is_whole(), FILE, &to_csv(&rows)?, &record::command(words), &skipped)?;
    if wish.is_whole() { docs::run(root, &[]) } else { Ok(()) }
}

fn advised(
    ground: &Ground,
    ondeck: &Path,
    library: &Path,
    program: &Program,
    setting: &Setting,
    rounds: u32,
) -> Result<Row, String> {
    let out = ground.file("profile.json");
    (program.run)(ground, setting, &Variant::profiled(ondeck, "glibc", &out))?;
    let text = std::fs::read_to_string(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let profile = ondeck_profile::json::from_json(&text).map_err(|what| format!("the profile {what}"))?;
    let mut variants = [Variant::plain(), Variant::preloaded(library, None)];
    let measured = measure(ground, program, &[setting], &mut variants, rounds)?;
    let measured = Spread::of_ratios(&measured.iter().collect::<Vec<_>>(), |row| row.ops_per_s());
    let measured = measured.ok_or_else(|| format!("{}: no round has both", program.name))?;
    let (finding, predicted) = said(&profile);
    Ok(Row {
        program: program.name.to_owned(),
        setting: setting.label.to_owned(),
        finding,
        predicted,
        measured: measured.median,
        low: measured.low,
        high: measured.high,
    })
}

/// Which verdict it is, and how much faster the lock that is meant would be here; without that if the simulation is not like
/// the run.
fn said(profile: &Profile) -> (String, Option<f64>) {
    let predictions = predictions(profile, PREDICTED);
    let verdict = verdict(profile, &advice(profile, &predictions));
    let first = verdict.locks.first().and_then(|index| predictions.get(*index)?.as_ref());
    let predicted = first.filter(|prediction| prediction.is_like_the_run());
    (format!("{:?}", verdict.kind), predicted.map(|prediction| prediction.here().ratio()))
}
