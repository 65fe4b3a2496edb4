//! `cargo xtask programs --small`: short sections in many settings, with glibc's locks and with ours.
//!
//! One program of ours (`small_sections.c`), by two names. Each round has each setting three times: twice with glibc's locks, so
//! that it is seen how far these differ from themselves, and once with ours.

use super::preload::{self, Variant};
use super::table::{List, Setting};
use super::wish::Wish;
use super::{each, measure, record};
use std::path::Path;

const MEASURED: &List = &[("small-sections", &[]), ("random-of-many", &[])];
const ROUNDS: u32 = 7;

/// Increments, inside and outside.
const LENGTHS: [u32; 4] = [5, 50, 200, 1000];
/// A section that is longer than so many times what is outside is left out: it is hardly another setting than its neighbour.
const MOST: u32 = 20;
const CROWDS: [u32; 3] = [2, 8, 32];
const FEW_MUTEXES: [u32; 2] = [1, 2];
const PLACES: [&str; 3] = ["beside", "apart", "own"];

const RANDOM_CROWDS: [u32; 4] = [1, 2, 8, 32];
const MANY_MUTEXES: [u32; 4] = [1, 16, 64, 1024];

/// Both of them, or the one that is named.
pub(super) fn run(root: &Path, wish: &Wish) -> Result<(), String> {
    let library = preload::library(root, wish)?;
    let ours = Variant::preloaded(&library, wish.lock.as_deref());
    let variants = [Variant::plain(), Variant::plain_again(), ours];
    let mut rows = Vec::new();
    each(root, wish, MEASURED, |ground, _| {
        let settings = settings_of(ground.program.name);
        let settings: Vec<&Setting> = settings.iter().collect();
        rows.extend(measure(ground, &settings, &variants, wish.rounds.unwrap_or(ROUNDS))?);
        Ok(())
    })?;
    record::keep(root, "small-sections.csv", &rows)
}

/// Many more than in the table.
fn settings_of(name: &str) -> Vec<Setting> {
    if name == "small-sections" { small_sections() } else { random_of_many() }
}

/// All lengths inside with all outside, but for those that `MOST` leaves out; with each number of threads and of mutexes. Where
/// the data are changes from each setting to the next in any of the four, so that a third of all settings has each place.
fn small_sections() -> Vec<Setting> {
    let mut settings = Vec::new();
    for (nth_inside, inside) in LENGTHS.into_iter().enumerate() {
        for (nth_outside, outside) in LENGTHS.into_iter().enumerate().filter(|(_, outside)| inside <= outside * MOST) {
            for (nth_crowd, threads) in CROWDS.into_iter().enumerate() {
                for (nth_mutexes, mutexes) in FEW_MUTEXES.into_iter().enumerate() {
                    let place = PLACES[(nth_inside + nth_outside + nth_crowd + nth_mutexes) % PLACES.len()];
                    settings.push(setting(threads, &format!("{mutexes} turn {inside} {outside} {place}")));
                }
            }
        }
    }
    settings
}

/// One increment beside the mutex, and nothing outside.
fn random_of_many() -> Vec<Setting> {
    let of_crowd = |threads| MANY_MUTEXES.map(|mutexes| setting(threads, &format!("{mutexes} random 1 0 beside")));
    RANDOM_CROWDS.into_iter().flat_map(of_crowd).collect()
}

/// Labels live as long as the process, as those of other programs do.
fn setting(threads: u32, words: &str) -> Setting {
    Setting { label: format!("{threads} {words}").leak(), threads, is_busy: false }
}

#[cfg(test)]
mod tests {
    use super::super::table::program;
    use super::*;
    use std::collections::BTreeSet;

    fn labels(settings: &[Setting]) -> BTreeSet<&'static str> {
        settings.iter().map(|setting| setting.label).collect()
    }

    #[test]
    fn every_setting_is_there_once_and_every_place_equally_often() {
        let settings = small_sections();
        assert_eq!((settings.len(), labels(&settings).len()), (84, 84));
        for place in PLACES {
            assert_eq!(settings.iter().filter(|setting| setting.label.ends_with(place)).count(), 28, "{place}");
        }
        assert_eq!(labels(&random_of_many()).len(), 16);
    }

    #[test]
    fn what_is_checked_is_also_measured() {
        for (name, _) in MEASURED {
            let checked = labels(program(name).expect(name).settings);
            let measured = labels(&settings_of(name));
            assert_eq!(checked.difference(&measured).next(), None, "{name}");
        }
    }
}
