//! Two profiles side by side: what changed, and whether that can be told from chance.
//!
//! # Which locks are the same
//! Those of the same name; of the others, those that come from the same place; of the others, those that were waited for at
//! the same place for the longest part. Where several locks of a run have a place in common, they are one row together.
//!
//! # What is noise
//! A profile is one run, so what another run of the same program would give is unknown. Two kinds of noise are known.
//!
//! - *Sampling*, which `±` has: how far off an estimate may be that was made of samples. One acquisition in `rate` is taken,
//!   so that n of them are estimated with a variance of `(rate - 1) * n`. A wait stands for as many as its length says
//!   (`weight`), and its variance is one less. What is recorded for itself has none.
//! - *Chance*, which comes to it: how much a number of events differs that happen independently of each other. With it, the
//!   variance of the number of waits is the sum of their weights, and with the squares of the lengths it is that of the sum
//!   of the lengths.
//!
//! To each variance comes that of one more sample: without it, none in one run and four in the other would count as a
//! difference. A change is stated only where it is beyond 1.96 standard deviations of the difference, of both kinds, which
//! chance alone exceeds once in twenty times; else `~` stands in its place. A figure that a few events make up, as one long
//! wait does, is marked as such: no interval can be given for it.

mod causes;
mod pairs;
#[cfg(test)]
mod tests;
mod text;

use crate::rows::is_function;
use crate::summary::{LockSummary, Names, Noise, Path, Sites, Summary, weight};
use pairs::{MatchBasis, pairs};
use std::collections::BTreeMap;

/// So many standard deviations to either side hold 95 % of a normal distribution.
const DEVIATIONS: f64 = 1.96;
/// With fewer samples, or events, their spread says little of their distribution.
const ENOUGH: f64 = 5.0;
/// The function that waits or holds longest is said to be another if its part has grown by more than this: two of
/// nearly the same length change places by chance.
const NOTABLE: f64 = 0.1;

/// Two profiles side by side.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What the runs were, the old one and the new one.
    heads: [String; 2],
    total: Row,
    /// The locks of both that were waited for, those with the most waiting first.
    rows: Vec<Row>,
    /// Locks that were waited for and that the other does not have, those with the most waiting first.
    only: [Vec<Row>; 2],
    /// Reasons to doubt the comparison.
    pub warnings: Vec<String>,
}

/// A lock, or several that cannot be told apart, in both runs.
#[derive(Clone, Debug)]
struct Row {
    name: String,
    /// How it is known, where not by its name.
    known: Option<String>,
    figures: [Figures; 2],
    /// The places with the most waiting, and the most charged waiting, by the same order.
    waiters: [Option<Top>; 2],
    holders: [Option<Top>; 2],
    /// Waiting in each second by its cause, in ns; empty where that is not known.
    causes: [BTreeMap<String, f64>; 2],
}

/// The place with the most of something.
#[derive(Clone, Debug, PartialEq)]
struct Top {
    name: String,
    /// Its part of the whole.
    part: f64,
    /// The part of the same place in the other run.
    elsewhere: f64,
}

/// What is known of a lock in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Figures {
    seconds: f64,
    rate: u32,
    acquisitions: f64,
    waits: f64,
    wait_ns: f64,
    noise: Noise,
    /// The part of `noise` that comes from sampling.
    sampling: Noise,
    longest_ns: Option<u64>,
}

/// A figure, and its standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Estimate {
    value: f64,
    /// Of sampling alone.
    sampling: f64,
    /// Of sampling and chance.
    deviation: f64,
    /// As many samples of one weight would be as uncertain.
    samples: f64,
    /// As many events of one size would differ as much from run to run.
    events: f64,
}

/// How much a figure may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spread {
    /// Half the width of the interval that holds the true value of this run in 95 of 100 cases, as a part of the value.
    Part(f64),
    /// There are too few samples for an interval.
    FewSamples,
    /// A few events make it up, so that another run may differ much.
    FewEvents,
}

/// Compares two profiles.
pub fn compare(old: &Summary, new: &Summary) -> Comparison {
    let pairs = pairs(old, new);
    let both = [old, new];
    let mut rows: Vec<Row> = pairs.both.iter().map(|(known, locks)| Row::new(known, both, locks)).collect();
    let only = [0, 1].map(|side| {
        let alone = pairs.alone[side].iter().map(|lock| {
            let mut locks = [vec![], vec![]];
            locks[side].push(*lock);
            Row::new(&MatchBasis::Name(lock.name.clone()), both, &locks)
        });
        sorted(alone.collect())
    });
    rows = sorted(rows);
    let all = [old, new].map(|summary| summary.locks.iter().collect::<Vec<&LockSummary>>());
    Comparison {
        heads: both.map(Summary::head),
        total: Row::new(&MatchBasis::Name("all locks".to_string()), both, &all),
        rows,
        only,
        warnings: cores_warning(old, new).into_iter().collect(),
    }
}

/// Those that were waited for, most waiting first.
fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.retain(|row| row.figures.iter().any(|figures| figures.waits > 0.0));
    let most = |row: &Row| row.figures.iter().map(|figures| figures.wait_ns / figures.seconds).fold(0.0, f64::max);
    rows.sort_by(|a, b| most(b).total_cmp(&most(a)));
    rows
}

fn cores_warning(old: &Summary, new: &Summary) -> Option<String> {
    (old.cores != new.cores).then(|| format!("the numbers of cores differ: {} and {}", old.cores, new.cores))
}

impl Row {
    fn new(known: &MatchBasis, runs: [&Summary; 2], locks: &[Vec<&LockSummary>; 2]) -> Row {
        let side = |side: usize| Figures::of(runs[side], &locks[side]);
        let sites = |of: fn(&LockSummary) -> &Sites| {
            let [old, new] = [0, 1].map(|side| sum(locks[side].iter().map(|lock| of(lock))));
            let (old, new) = ((&runs[0].names, &old), (&runs[1].names, &new));
            [Top::of(old, new), Top::of(new, old)]
        };
        Row {
            name: known.name(),
            known: known.explained(),
            figures: [side(0), side(1)],
            waiters: sites(|lock| &lock.waiters),
            holders: sites(|lock| &lock.holders),
            causes: [0, 1].map(|side| causes::in_a_second(runs[side], &locks[side])),
        }
    }

    /// The same figure of both.
    fn estimates(&self, of: fn(&Figures, f64) -> Option<Estimate>) -> [Option<Estimate>; 2] {
        let [old, new] = self.figures;
        let waits = old.waits + new.waits;
        let mean = if waits > 0.0 { (old.wait_ns + new.wait_ns) / waits } else { 0.0 };
        [of(&old, mean), of(&new, mean)]
    }
}

fn sum<'a>(all: impl Iterator<Item = &'a Sites>) -> Sites {
    let mut sum = Sites::new();
    for (path, ns) in all.flatten() {
        *sum.entry(*path).or_default() += ns;
    }
    sum
}

/// The sum, which of no figures is 0: that of the library is -0.
fn add(figures: impl Iterator<Item = f64>) -> f64 {
    figures.fold(0.0, |sum, figure| sum + figure)
}

impl Top {
    /// The place with the most of `sites`, if it is in the program and not a word for what is unknown.
    fn of((names, sites): (&Names, &Sites), (other_names, others): (&Names, &Sites)) -> Option<Top> {
        let is_place = |path: &Path| names.of(*path).first().is_some_and(|name| is_function(name));
        let (path, ns) = sites.iter().filter(|site| is_place(site.0)).max_by(|a, b| a.1.total_cmp(b.1))?;
        let [total, other_total] = [sites, others].map(|sites| add(sites.values().copied()));
        let functions = names.of(*path);
        let same = others.iter().filter(|site| other_names.of(*site.0) == functions).map(|site| site.1);
        let elsewhere = if other_total > 0.0 { add(same.copied()) / other_total } else { 0.0 };
        (*ns > 0.0).then(|| Top { name: functions.join(" < "), part: ns / total, elsewhere })
    }
}

impl Figures {
    fn of(run: &Summary, locks: &[&LockSummary]) -> Figures {
        let sum = |of: fn(&LockSummary) -> f64| add(locks.iter().map(|lock| of(lock)));
        let (mut noise, mut sampling) = (Noise::default(), Noise::default());
        locks.iter().for_each(|lock| noise.add(lock.noise));
        locks.iter().for_each(|lock| sampling.add(lock.sampling));
        Figures {
            seconds: run.seconds,
            rate: run.rate.max(1),
            acquisitions: sum(|lock| lock.acquisitions),
            waits: sum(|lock| lock.waits),
            wait_ns: sum(|lock| lock.wait_ns),
            noise,
            sampling,
            longest_ns: locks.iter().filter_map(|lock| lock.longest_ns).max(),
        }
    }

    /// Waiting in each second, in ns. `mean` is the mean wait of both runs.
    fn waiting(&self, mean: f64) -> Estimate {
        let weight = weight(mean, self.rate);
        let variance = |noise: Noise, of_one: f64| noise.squares + of_one * mean * mean;
        let variances = [variance(self.sampling, weight * (weight - 1.0)), variance(self.noise, weight * weight)];
        self.estimate(self.wait_ns, variances, self.samples(), self.equal_waits())
    }

    /// Waits in each second.
    fn waits(&self, mean: f64) -> Estimate {
        let weight = weight(mean, self.rate);
        let variances = [self.sampling.counts + weight * (weight - 1.0), self.noise.counts + weight * weight];
        self.estimate(self.waits, variances, self.samples(), self.waits)
    }

    /// Acquisitions in each second.
    fn acquisitions(&self) -> Estimate {
        let rate = f64::from(self.rate);
        let variances = [rate - 1.0, rate].map(|times| times * (self.acquisitions + rate));
        self.estimate(self.acquisitions, variances, self.acquisitions / rate, self.acquisitions)
    }

    /// As many samples of one weight would be as uncertain.
    fn samples(&self) -> f64 {
        if self.noise.counts > 0.0 { self.waits * self.waits / self.noise.counts } else { 0.0 }
    }

    /// So many waits of one length differ as much from run to run as these do.
    fn equal_waits(&self) -> f64 {
        let squares = self.noise.squares - self.sampling.squares;
        // Of a file of an earlier version that is not known.
        if squares > 0.0 { self.wait_ns * self.wait_ns / squares } else { f64::INFINITY }
    }

    /// The mean wait, in ns.
    fn mean(&self) -> Option<Estimate> {
        let (waits, mean) = (self.waits, self.wait_ns / self.waits);
        let variances = [self.sampling, self.noise].map(|Noise { counts, lengths, squares }| {
            ((squares - 2.0 * mean * lengths + mean * mean * counts) / (waits * waits)).max(0.0)
        });
        let [sampling, deviation] = variances.map(f64::sqrt);
        let (samples, events) = (self.samples(), self.equal_waits());
        // A few waits of nearly one length do not say how much others would differ.
        let deviation = if samples.min(events) < ENOUGH { f64::INFINITY } else { deviation };
        (waits > 0.0).then_some(Estimate { value: mean, sampling, deviation, samples, events })
    }

    /// In each second, of a sum over the run.
    fn estimate(&self, sum: f64, variances: [f64; 2], samples: f64, events: f64) -> Estimate {
        let [sampling, deviation] = variances.map(|variance| variance.max(0.0).sqrt() / self.seconds);
        Estimate { value: sum / self.seconds, sampling, deviation, samples, events }
    }
}

impl Estimate {
    fn spread(&self) -> Spread {
        let part = if self.sampling > 0.0 { DEVIATIONS * self.sampling / self.value } else { 0.0 };
        match () {
            () if self.sampling > 0.0 && self.samples < ENOUGH || !part.is_finite() => Spread::FewSamples,
            () if self.value > 0.0 && self.events < ENOUGH => Spread::FewEvents,
            () => Spread::Part(part),
        }
    }

    /// Whether the difference is more than noise.
    fn differs_from(&self, other: &Estimate) -> bool {
        (self.value - other.value).abs() > DEVIATIONS * self.deviation.hypot(other.deviation)
    }
}
