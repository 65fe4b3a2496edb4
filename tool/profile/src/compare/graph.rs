//! Flame graphs of two runs, each with the other's figures: the same stacks, as wide as they are in one of the runs.

use super::pairs::Pairs;
use crate::flamegraph::tree::{Amounts, Block, Detail, Kind, Labels, Tree};
use crate::rows::Side;
use crate::summary::{LockSummary, Summary};
use std::collections::HashMap;
use std::iter::once;
use std::sync::Arc;

/// As much as a page of one run shows.
const DETAIL: Detail = Detail { least: 0.001, most_frames: 800 };

/// The graphs of one side, in ns of waiting in each second: as wide as in the old run, and as in the new one.
pub(super) struct Graphs {
    pub(super) blocks: [Vec<Block>; 2],
    /// How much the frame has changed that has changed most.
    pub(super) largest: f64,
}

impl Graphs {
    pub(super) fn new(pairs: &Pairs, runs: [&Summary; 2], side: Side, labels: &mut Labels) -> Graphs {
        let [old, new] = [0, 1].map(|run| tree(pairs, runs, side, run, labels));
        let largest = new.largest_difference();
        Graphs { blocks: [old, new].map(|tree| tree.blocks(labels, DETAIL)), largest }
    }
}

/// All stacks of both runs, as wide as they are in the run `wide`.
fn tree(pairs: &Pairs, runs: [&Summary; 2], side: Side, wide: usize, labels: &mut Labels) -> Tree {
    let mut tree = Tree::new(labels.plain("all waiting for locks", Kind::Root));
    // A name is in many stacks.
    let mut known: HashMap<Arc<str>, usize> = HashMap::new();
    for (name, run, lock) in locks(pairs) {
        let name = labels.plain(name, Kind::Lock);
        for (stack, ns) in lock.stacks[side as usize].iter().filter(|(_, ns)| *ns > 0.0) {
            let path = stack.iter().rev().map(|function| match known.get(function) {
                Some(label) => *label,
                None => *known.entry(function.clone()).or_insert(labels.named(function)),
            });
            let path: Vec<usize> = once(name).chain(path).collect();
            let ns = ns / runs[run].seconds;
            let (ns, other) = if run == wide { (ns, 0.0) } else { (0.0, ns) };
            tree.add(path.into_iter(), &Amounts { ns, other, ..Amounts::default() });
        }
    }
    tree
}

/// Each lock with its run and its name: locks that are the same have the same one.
fn locks<'a>(pairs: &'a Pairs) -> impl Iterator<Item = (&'a str, usize, &'a LockSummary)> {
    let both = pairs.both.iter().flat_map(|pair| [0, 1].map(|run| (pair.name.as_str(), run, &pair.locks[run])));
    let both = both.flat_map(|(name, run, locks)| locks.iter().map(move |lock| (name, run, *lock)));
    let alone = [0, 1].into_iter().flat_map(|run| pairs.alone[run].iter().map(move |lock| (&*lock.name, run, *lock)));
    both.chain(alone)
}
