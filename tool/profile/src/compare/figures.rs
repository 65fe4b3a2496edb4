//! What is known of a lock in one run, and how sure that is.

use crate::profile::Noise;
use crate::summary::{LockSummary, Summary, weight};

/// So many standard deviations to either side hold 95 % of a normal distribution.
const DEVIATIONS: f64 = 1.96;
/// With fewer samples, or events, their spread says little of their distribution.
const ENOUGH: f64 = 5.0;

/// A lock, or several as one, in one run.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) seconds: f64,
    pub(super) rate: u32,
    pub(super) sum: LockSummary,
}

/// A figure, and its standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
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
pub(super) enum Spread {
    /// Half the width of the interval that holds the true value of this run in 95 of 100 cases, as a part of the value.
    Part(f64),
    /// There are too few samples for an interval.
    FewSamples,
    /// A few events make it up, so that another run may differ much.
    FewEvents,
}

impl Figures {
    pub(super) fn of(run: &Summary, locks: &[&LockSummary]) -> Figures {
        Figures { seconds: run.seconds, rate: run.rate.max(1), sum: LockSummary::sum(locks) }
    }

    /// Waiting in each second, in ns. `mean` is the mean wait of both runs.
    pub(super) fn waiting(&self, mean: f64) -> Estimate {
        let weight = self.weight(mean);
        let variance = |noise: Noise, of_one: f64| noise.squares + of_one * mean * mean;
        let variances =
            [variance(self.sum.sampling, weight * (weight - 1.0)), variance(self.sum.noise, weight * weight)];
        self.estimate(self.sum.wait_ns, variances, self.samples(), self.equal_waits())
    }

    /// Waits in each second.
    pub(super) fn waits(&self, mean: f64) -> Estimate {
        let weight = self.weight(mean);
        let variances = [self.sum.sampling.counts + weight * (weight - 1.0), self.sum.noise.counts + weight * weight];
        self.estimate(self.sum.waits, variances, self.samples(), self.sum.waits)
    }

    /// Acquisitions in each second.
    pub(super) fn acquisitions(&self) -> Estimate {
        let rate = f64::from(self.rate);
        let variances = [rate - 1.0, rate].map(|times| times * (self.sum.acquisitions + rate));
        self.estimate(self.sum.acquisitions, variances, self.sum.acquisitions / rate, self.sum.acquisitions)
    }

    /// For how many waits a sample of one of that length may stand.
    fn weight(&self, mean: f64) -> f64 {
        let usual = if self.sum.waits > 0.0 { 1.0 + self.sum.sampling.counts / self.sum.waits } else { 1.0 };
        weight(mean, self.rate).max(usual)
    }

    /// As many samples of one weight would be as uncertain.
    fn samples(&self) -> f64 {
        if self.sum.noise.counts > 0.0 { self.sum.waits * self.sum.waits / self.sum.noise.counts } else { 0.0 }
    }

    /// So many waits of one length differ as much from run to run as these do.
    fn equal_waits(&self) -> f64 {
        let squares = self.sum.noise.squares - self.sum.sampling.squares;
        // Of a file of an earlier version that is not known.
        if squares > 0.0 { self.sum.wait_ns * self.sum.wait_ns / squares } else { f64::INFINITY }
    }

    /// The mean wait, in ns.
    pub(super) fn mean(&self) -> Option<Estimate> {
        let (waits, mean) = (self.sum.waits, self.sum.wait_ns / self.sum.waits);
        let variances = [self.sum.sampling, self.sum.noise].map(|Noise { counts, lengths, squares }| {
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
    pub(super) fn spread(&self) -> Spread {
        let part = if self.sampling > 0.0 { DEVIATIONS * self.sampling / self.value } else { 0.0 };
        match () {
            () if self.sampling > 0.0 && self.samples < ENOUGH || !part.is_finite() => Spread::FewSamples,
            () if self.value > 0.0 && self.events < ENOUGH => Spread::FewEvents,
            () => Spread::Part(part),
        }
    }

    /// Whether the difference is more than noise.
    pub(super) fn differs_from(&self, other: &Estimate) -> bool {
        (self.value - other.value).abs() > DEVIATIONS * self.deviation.hypot(other.deviation)
    }
}
