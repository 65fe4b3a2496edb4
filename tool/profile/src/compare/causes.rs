//! How the causes of a lock's waiting changed.

use super::{Estimate, Row};
use crate::summary::{LockSummary, Summary};
use ondeck_report::wording::duration_ns;
use std::collections::{BTreeMap, BTreeSet};

/// A cause is named if its change is at least this part of the waiting before, or now.
const NOTABLE: f64 = 0.05;
/// So many causes are named.
const MOST: usize = 4;

/// Waiting in each second by its cause, of several locks together. Empty if it is not known of one of them.
pub(super) fn in_a_second(run: &Summary, locks: &[&LockSummary]) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for lock in locks.iter().filter(|lock| lock.wait_ns > 0.0) {
        if lock.causes.is_empty() {
            return BTreeMap::new();
        }
        for (cause, ns) in &lock.causes {
            *sums.entry(cause.clone()).or_default() += ns / run.seconds;
        }
    }
    sums
}

impl Row {
    /// What changed most, where more than noise did and the causes of both are known. Threads that do nothing but wait wait as
    /// long in each second as before, but for shorter.
    pub(super) fn causes(&self) -> Option<String> {
        let waiting = self.estimates(|figures, mean| Some(figures.waiting(mean)));
        let [Some(old), Some(new)] = waiting else { return None };
        let differ =
            |estimates: [Option<Estimate>; 2]| matches!(estimates, [Some(old), Some(new)] if old.differs_from(&new));
        let is_known = |side: usize| self.figures[side].wait_ns <= 0.0 || !self.causes[side].is_empty();
        let has_changed = differ(waiting) || differ(self.estimates(|figures, _| figures.mean()));
        if !is_known(0) || !is_known(1) || !has_changed {
            return None;
        }
        let names: BTreeSet<&String> = self.causes.iter().flat_map(BTreeMap::keys).collect();
        let of = |side: usize, name: &str| self.causes[side].get(name).copied().unwrap_or_default();
        let mut changes: Vec<(&str, f64, f64)> =
            names.into_iter().map(|name| (name.as_str(), of(0, name), of(1, name))).collect();
        let change = |(_, old, new): &(&str, f64, f64)| (new - old).abs();
        changes.retain(|one| change(one) >= NOTABLE * old.value.max(new.value));
        changes.sort_by(|one, other| change(other).total_cmp(&change(one)));
        let said = changes.iter().take(MOST);
        let said = said.map(|(name, old, new)| format!("{name} {} -> {}", duration_ns(*old), duration_ns(*new)));
        let said = said.collect::<Vec<String>>().join(", ");
        (!said.is_empty()).then(|| format!("{}, waiting in each second by cause: {said}", self.name))
    }
}
