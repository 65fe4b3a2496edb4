//! The second pass: what of all that was seen is said, in its order. It has no sentences.

use super::{Finding, Kind};
use crate::rules::{MATTERS_BESIDE, QUIET, WORTH_A_SENTENCE};

/// The most urgent first. Threads that hang come before those that are woken for nothing, these before locks that matter, in which
/// threads wait or try, and these before the rest.
fn place(finding: &Finding<'_>) -> u32 {
    match finding.kind {
        Kind::Deadlock(_) | Kind::HeldUp(_) => 0,
        Kind::Herd(_) => 1,
        Kind::Tries { .. } if finding.share > 1.0 => 2,
        Kind::Cause(_) | Kind::FromKernel | Kind::Spins | Kind::UnknownHolder => 3,
        Kind::Tries { .. } => 4,
        Kind::Order | Kind::NoLock => 5,
        Kind::Idle(_) => 6,
        Kind::Wait(_) => 7,
    }
}

/// What the verdict says: the most urgent. Of locks, the one with most waiting and others with nearly as much. Without any that
/// matters, also the next one.
pub(super) fn ranked(mut seen: Vec<Finding<'_>>) -> Vec<Finding<'_>> {
    seen.sort_by_key(place);
    match seen.first().map(|first| &first.kind) {
        Some(Kind::Deadlock(_) | Kind::HeldUp(_) | Kind::Herd(_)) => seen.truncate(1),
        Some(Kind::Order | Kind::NoLock) => seen.truncate(2),
        _ => return named(seen),
    }
    seen
}

/// The locks that are named, with the first cause of each and a second one if it has nearly as much. The same of tries.
fn named(seen: Vec<Finding<'_>>) -> Vec<Finding<'_>> {
    let mut named: Vec<Finding> = Vec::new();
    let first = seen.iter().find(|finding| finding.is_of_a_lock()).map(|finding| finding.locks[0]);
    let (mut last, mut n_causes) = (usize::MAX, 0);
    for finding in seen {
        if matches!(finding.kind, Kind::Tries { .. }) && (named.is_empty() || finding.share >= MATTERS_BESIDE) {
            named.push(finding);
            continue;
        }
        if !finding.is_of_a_lock() {
            continue;
        }
        let lock = finding.locks[0];
        n_causes = if lock == last { n_causes + 1 } else { 1 };
        last = lock;
        let part = if let Kind::Cause(cause) = &finding.kind { cause.part } else { 1.0 };
        let matters = n_causes == 1 || n_causes == 2 && part >= MATTERS_BESIDE;
        // As the lock that another one's holder waits for.
        let is_told = named.iter().any(|told| told.locks[0] != lock && told.locks.contains(&lock));
        if matters && !is_told && (Some(lock) == first || finding.share >= MATTERS_BESIDE) {
            named.push(finding);
        }
    }
    named
}

/// What is said of one lock where it is explained.
pub(super) fn worth_a_sentence(mut causes: Vec<Finding<'_>>) -> Vec<Finding<'_>> {
    causes.retain(|finding| matches!(&finding.kind, Kind::Cause(cause) if cause.part >= WORTH_A_SENTENCE));
    causes
}

/// Whether nothing holds the program back.
pub(super) fn is_nothing(said: &[Finding<'_>]) -> bool {
    matches!(said, [Finding { kind: Kind::NoLock, share, .. }] if *share < QUIET)
}
