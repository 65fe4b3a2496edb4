//! Which locks of two runs are the same.

use crate::names::kind_of;
use crate::rows::is_function;
use crate::summary::{LockSummary, Names, Summary};
use std::collections::BTreeMap;

/// By what locks of the two runs are known to be the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MatchBasis {
    Name(String),
    /// By the functions where they come from; with their names in both runs.
    Origin(Vec<String>, [Vec<String>; 2]),
    /// By the functions where they were waited for longest.
    Waiters(Vec<String>, [Vec<String>; 2]),
}

/// The locks of both runs, and those of each that the other has not.
pub(super) struct Pairs<'a> {
    pub(super) both: Vec<(MatchBasis, [Vec<&'a LockSummary>; 2])>,
    pub(super) alone: [Vec<&'a LockSummary>; 2],
}

pub(super) fn pairs<'a>(old: &'a Summary, new: &'a Summary) -> Pairs<'a> {
    let all = [old, new].map(|summary| summary.locks.iter().collect::<Vec<&LockSummary>>());
    let mut pairs = Pairs { both: Vec::new(), alone: all };
    // Of one kind, there may be more this time.
    let named = |mut key: Vec<String>, names: [Vec<String>; 2]| match &names[1][..] {
        [name] => MatchBasis::Name(name.clone()),
        _ => MatchBasis::Name(key.pop().unwrap_or_default()),
    };
    pairs.pair(|_, lock| vec![kind_of(&lock.name)], named);
    pairs.pair(|_, lock| lock.origin.clone(), MatchBasis::Origin);
    let names = [&old.names, &new.names];
    pairs.pair(|side, lock| most_waiting(names[side], lock), MatchBasis::Waiters);
    pairs
}

impl Pairs<'_> {
    /// Takes those that are still alone and have a key in common with those of the other run.
    fn pair(
        &mut self,
        key: impl Fn(usize, &LockSummary) -> Vec<String>,
        known: impl Fn(Vec<String>, [Vec<String>; 2]) -> MatchBasis,
    ) {
        let mut groups: BTreeMap<Vec<String>, [Vec<&LockSummary>; 2]> = BTreeMap::new();
        for side in [0, 1] {
            for lock in std::mem::take(&mut self.alone[side]) {
                match key(side, lock) {
                    key if key.is_empty() => self.alone[side].push(lock),
                    key => groups.entry(key).or_default()[side].push(lock),
                }
            }
        }
        for (key, group) in groups {
            if group.iter().any(Vec::is_empty) {
                self.alone.iter_mut().zip(group).for_each(|(alone, locks)| alone.extend(locks));
                continue;
            }
            let names = [0, 1].map(|side| group[side].iter().map(|lock| lock.name.clone()).collect());
            self.both.push((known(key, names), group));
        }
    }
}

/// The functions where a lock was waited for longest.
fn most_waiting(names: &Names, lock: &LockSummary) -> Vec<String> {
    let longest = lock.waiters.iter().max_by(|a, b| a.1.total_cmp(b.1));
    let functions = longest.map(|(path, _)| names.of(*path)).unwrap_or_default();
    // What stands for an unknown place is the same for all.
    let is_place = functions.first().is_some_and(|name| is_function(name));
    functions.into_iter().filter(|_| is_place).map(str::to_string).collect()
}

impl MatchBasis {
    /// How the row is called: as the new run has it, where that is one lock.
    pub(super) fn name(&self) -> String {
        match self {
            MatchBasis::Name(name) => name.clone(),
            MatchBasis::Origin(functions, names) | MatchBasis::Waiters(functions, names) => match &names[1][..] {
                [name] => name.clone(),
                names => format!("{} locks of {}", names.len(), functions.join(" < ")),
            },
        }
    }

    /// How it is known, where not by its name.
    pub(super) fn explained(&self) -> Option<String> {
        let (how, functions, [old, _]) = match self {
            MatchBasis::Name(_) => return None,
            MatchBasis::Origin(functions, names) => ("come from", functions, names),
            MatchBasis::Waiters(functions, names) => ("have most of their waiting at", functions, names),
        };
        let before = match &old[..] {
            [name] => name.clone(),
            names => format!("{} locks", names.len()),
        };
        Some(format!("{} was {before} before: both {how} {}", self.name(), functions.join(" < ")))
    }
}
