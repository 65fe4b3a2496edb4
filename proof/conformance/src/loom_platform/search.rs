//! What a check has seen so far.

use crate::steps;
use core::fmt;
use std::collections::BTreeMap;

/// What the executions of a check have shown.
#[derive(Default)]
pub(super) struct Search {
    pub(super) executions: u64,
    pub(super) missing: Vec<&'static [&'static str]>,
    /// In how many executions each step was taken.
    pub(super) steps: BTreeMap<&'static str, u64>,
    pub(super) most_threads: usize,
    pub(super) is_cut: bool,
}

impl Search {
    /// Steps that no execution has taken, of those in patterns that are missing and of `reach`.
    pub(super) fn missed(&self, reach: &'static [&'static str]) -> Vec<&'static str> {
        let steps = self.missing.iter().flat_map(|pattern| *pattern).chain(reach).copied();
        steps.filter(|step| !self.steps.contains_key(step)).collect()
    }

    /// `threads` have taken part.
    pub(super) fn note_execution(&mut self, threads: usize) {
        self.executions += 1;
        self.missing.retain(|pattern| !steps::contain(pattern));
        for step in steps::present() {
            *self.steps.entry(step).or_default() += 1;
        }
        self.most_threads = self.most_threads.max(threads);
    }
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} executions, {} threads, with", self.executions, self.most_threads)?;
        self.steps.iter().try_for_each(|(step, executions)| write!(f, " {step}:{executions}"))
    }
}
