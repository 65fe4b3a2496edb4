//! A lock in both runs.

use super::figures::{Estimate, Figures};
use crate::rows::is_function;
use crate::summary::{LockSummary, Path, Sites, Summary};

/// A lock, or several that cannot be told apart, in both runs.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    /// How it is known, where not by its name.
    pub(super) known: Option<String>,
    pub(super) figures: [Figures; 2],
}

/// The place with the most of something.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Top {
    pub(super) name: String,
    /// Its part of the whole.
    pub(super) part: f64,
    /// The part of the same place in the other run.
    pub(super) elsewhere: f64,
}

impl Row {
    pub(super) fn new(name: String, known: Option<String>, runs: [&Summary; 2], locks: &[Vec<&LockSummary>; 2]) -> Row {
        Row { name, known, figures: [0, 1].map(|side| Figures::of(runs[side], &locks[side])) }
    }

    /// The same figure of both.
    pub(super) fn estimates(&self, of: fn(&Figures, f64) -> Option<Estimate>) -> [Option<Estimate>; 2] {
        let [old, new] = &self.figures;
        let waits = old.sum.waits + new.sum.waits;
        let mean = if waits > 0.0 { (old.sum.wait_ns + new.sum.wait_ns) / waits } else { 0.0 };
        [of(old, mean), of(new, mean)]
    }

    /// The place with the most of `sites` in each run.
    pub(super) fn tops(&self, sites: fn(&LockSummary) -> &Sites) -> [Option<Top>; 2] {
        let [old, new] = self.figures.each_ref().map(|figures| sites(&figures.sum));
        [Top::of(old, new), Top::of(new, old)]
    }
}

impl Top {
    /// The place with the most of `sites`, if it is in the program and not a word for what is unknown.
    fn of(sites: &Sites, others: &Sites) -> Option<Top> {
        let is_place = |path: &Path| path.first().is_some_and(|name| is_function(name));
        let (path, ns) = sites.iter().filter(|site| is_place(site.0)).max_by(|a, b| a.1.total_cmp(b.1))?;
        let [total, other_total] = [sites, others].map(|sites| sites.values().sum::<f64>());
        let same = others.get(path).copied().unwrap_or_default();
        let elsewhere = if other_total > 0.0 { same / other_total } else { 0.0 };
        (*ns > 0.0).then(|| Top { name: path.join(" < "), part: ns / total, elsewhere })
    }
}
