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

mod figures;
mod graph;
mod page;
mod pairs;
mod row;
#[cfg(test)]
mod tests;
mod text;

use crate::summary::{LockSummary, Summary};
pub use page::page;
use pairs::pairs;
use row::Row;

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

/// Compares two profiles.
pub fn compare(old: &Summary, new: &Summary) -> Comparison {
    let pairs = pairs(old, new);
    let both = [old, new];
    let cores = format!("the numbers of cores differ: {} and {}", old.cores, new.cores);
    let rows: Vec<Row> =
        pairs.both.into_iter().map(|pair| Row::new(pair.name, pair.known, both, &pair.locks)).collect();
    let only = [0, 1].map(|side| {
        let alone = pairs.alone[side].iter().map(|lock| {
            let mut locks = [vec![], vec![]];
            locks[side].push(*lock);
            Row::new(lock.name.clone(), None, both, &locks)
        });
        sorted(alone.collect())
    });
    let all = [old, new].map(|summary| summary.locks.iter().collect::<Vec<&LockSummary>>());
    Comparison {
        heads: both.map(Summary::head),
        total: Row::new("all locks".to_string(), None, both, &all),
        rows: sorted(rows),
        only,
        warnings: if old.cores == new.cores { Vec::new() } else { vec![cores] },
    }
}

/// Those that were waited for, most waiting first.
fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.retain(|row| row.figures.iter().any(|figures| figures.sum.waits > 0.0));
    let most = |row: &Row| row.figures.iter().map(|figures| figures.sum.wait_ns / figures.seconds).fold(0.0, f64::max);
    rows.sort_by(|a, b| most(b).total_cmp(&most(a)));
    rows
}
