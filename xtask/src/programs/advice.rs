//! `cargo xtask programs --advice`: what `ondeck profile` advises beside what `ondeck run` then does.
//!
//! Each program runs once under `ondeck profile`, whose advice is taken as users see it, and then in turn with glibc's locks and
//! with ours.

use super::ground::{Ground, Run};
use super::preload::{self, Variant};
use super::rows::{Advised, Spread};
use super::table::{List, Setting};
use super::wish::Wish;
use super::{Fault, attempt, each, measure, profiles, record};
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
pub(super) fn run(root: &Path, wish: &Wish) -> Result<(), String> {
    let (ondeck, library) = preload::with_command(root)?;
    let mut rows = Vec::new();
    each(root, wish, ADVISED, |ground, settings| {
        let recorded = Variant::profiled(&ondeck, "glibc", &ground.file(profiles::OUT));
        let variants = [Variant::plain(), Variant::preloaded(&library, None)];
        for setting in settings {
            attempt(&Run { ground, setting, variant: &recorded })?;
            rows.push(advised(ground, setting, &variants, wish.rounds.unwrap_or(ROUNDS))?);
        }
        Ok(())
    })?;
    record::keep(root, "advice.csv", &rows)
}

/// What the last profile advises, and what is so.
fn advised(ground: &Ground, setting: &'static Setting, variants: &[Variant], n_rounds: u32) -> Result<Advised, Fault> {
    let (finding, predicted) = said(&profiles::read(ground)?);
    let rows = measure(ground, &[setting], variants, n_rounds)?;
    let measured = Spread::of_ratios(&rows.iter().collect::<Vec<_>>(), |row| row.ops_per_s());
    let Spread { median: measured, low, high } = measured.ok_or_else(|| "no round has both".to_owned())?;
    let (program, setting) = (ground.program.name.to_owned(), setting.label.to_owned());
    Ok(Advised { program, setting, finding, predicted, measured, low, high })
}

/// Which verdict it is, and how much faster the lock that is meant would be here; without that if the simulation is not like
/// the run.
fn said(profile: &Profile) -> (String, Option<f64>) {
    let predictions = predictions(profile, PREDICTED, None);
    let verdict = verdict(profile, &advice(profile, &predictions));
    let first = verdict.locks.first().and_then(|index| predictions.get(*index)?.as_ref());
    let predicted = first.filter(|prediction| prediction.is_like_the_run());
    (format!("{:?}", verdict.kind), predicted.map(|prediction| prediction.here().ratio()))
}
