//! Which locks of two runs are the same.

use crate::names::kind_of;
use crate::rows::is_function;
use crate::summary::{LockSummary, Summary};
use std::collections::BTreeMap;

/// Locks of both runs that are the same; several where they cannot be told apart.
pub(super) struct Pair<'a> {
    /// As the new run has it, where that is one lock.
    pub(super) name: String,
    /// How it is known, where not by its name.
    pub(super) known: Option<String>,
    pub(super) locks: [Vec<&'a LockSummary>; 2],
}

/// The locks of both runs, and those of each that the other has not.
pub(super) struct Pairs<'a> {
    pub(super) both: Vec<Pair<'a>>,
    pub(super) alone: [Vec<&'a LockSummary>; 2],
}

pub(super) fn pairs<'a>(old: &'a Summary, new: &'a Summary) -> Pairs<'a> {
    let mut pairs = Pairs { both: Vec::new(), alone: [old, new].map(|summary| summary.locks.iter().collect()) };
    // Of one kind, there may be more this time.
    pairs.pair(None, |lock| vec![kind_of(&lock.name)]);
    pairs.pair(Some("come from"), |lock| lock.origin.clone());
    pairs.pair(Some("have most of their waiting at"), most_waiting);
    pairs
}

impl Pairs<'_> {
    /// Takes those that are still alone and have functions, or a name, in common with those of the other run. `how` they are
    /// known by these is said where it is not by name.
    fn pair(&mut self, how: Option<&str>, key: impl Fn(&LockSummary) -> Vec<String>) {
        let mut groups: BTreeMap<Vec<String>, [Vec<&LockSummary>; 2]> = BTreeMap::new();
        for side in [0, 1] {
            for lock in std::mem::take(&mut self.alone[side]) {
                match key(lock) {
                    key if key.is_empty() => self.alone[side].push(lock),
                    key => groups.entry(key).or_default()[side].push(lock),
                }
            }
        }
        for (key, locks) in groups {
            if locks.iter().any(Vec::is_empty) {
                self.alone.iter_mut().zip(locks).for_each(|(alone, locks)| alone.extend(locks));
                continue;
            }
            let key = key.join(" < ");
            let name = match (&locks[1][..], how) {
                ([one], _) => one.name.clone(),
                (_, None) => key.clone(),
                (all, Some(_)) => format!("{} locks of {key}", all.len()),
            };
            let before = match &locks[0][..] {
                [one] => one.name.clone(),
                all => format!("{} locks", all.len()),
            };
            let known = how.map(|how| format!("{name} was {before} before: both {how} {key}"));
            self.both.push(Pair { name, known, locks });
        }
    }
}

/// The functions where a lock was waited for longest.
fn most_waiting(lock: &LockSummary) -> Vec<String> {
    let longest = lock.waiters.iter().max_by(|a, b| a.1.total_cmp(b.1));
    // What stands for an unknown place is the same for all.
    let place = longest.map(|(place, _)| place).filter(|place| place.first().is_some_and(|name| is_function(name)));
    place.into_iter().flatten().map(|name| name.to_string()).collect()
}
