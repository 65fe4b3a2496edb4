//! The second pass: what of all that was seen is said, in its order. It has no sentences.

use super::classify::Waiters;
use super::{Finding, Kind};
use crate::rules::{MATTERS_BESIDE, QUIET, WORTH_A_SENTENCE};

/// The most urgent first. Threads that hang come before those that are woken for nothing, these before locks that matter, in which
/// threads wait or try, and these before the rest.
const fn place(kind: &Kind<'_>) -> u32 {
    match kind {
        Kind::Deadlock(_) | Kind::HeldUp(_) => 0,
        Kind::Herd(_) => 1,
        Kind::Cause(_) | Kind::FromKernel | Kind::Spins | Kind::UnknownHolder => 2,
        Kind::Hidden(_) | Kind::Awake(_) | Kind::Tries { .. } | Kind::Wait(_, Waiters::ForEachOther) => 2,
        Kind::Wait(_, Waiters::Often | Waiters::ByHand(_)) => 3,
        Kind::Order | Kind::NoLock { .. } => 4,
        Kind::Idle(_) => 5,
        Kind::Wait(_, Waiters::Seldom) => 6,
    }
}

/// What the verdict says: the most urgent. Of locks, the one with most waiting and others with nearly as much. Without any that
/// matters, also the next one.
pub(super) fn ranked(mut seen: Vec<Finding<'_>>) -> Vec<Finding<'_>> {
    seen.sort_by_key(|finding| place(&finding.kind));
    match seen.first().map(|first| &first.kind) {
        Some(Kind::Deadlock(_) | Kind::HeldUp(_) | Kind::Herd(_)) => seen.truncate(1),
        Some(Kind::Order | Kind::NoLock { .. } | Kind::Wait(..)) => seen.truncate(2),
        _ => return waited_for(seen),
    }
    seen
}

/// Recorded locks; and others, and tries. Those come first that take most time.
fn waited_for(seen: Vec<Finding<'_>>) -> Vec<Finding<'_>> {
    let (recorded, mut others): (Vec<_>, Vec<_>) =
        seen.into_iter().filter(Finding::is_waited_for).partition(Finding::is_of_a_lock);
    others.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    let first = |findings: &[Finding]| findings.first().map_or(0.0, |finding| finding.ns);
    let (of_recorded, most) = (first(&recorded), first(&recorded).max(first(&others)));
    others.retain(|finding| finding.ns >= MATTERS_BESIDE * most);
    let n_before = others.iter().take_while(|finding| finding.ns > of_recorded).count();
    let after = others.split_off(n_before);
    let recorded = if of_recorded >= MATTERS_BESIDE * most { named(recorded) } else { Vec::new() };
    others.into_iter().chain(recorded).chain(after).collect()
}

/// The locks that are named, with the first cause of each and a second one if it has nearly as much.
fn named(seen: Vec<Finding<'_>>) -> Vec<Finding<'_>> {
    let mut named: Vec<Finding> = Vec::new();
    let (mut first, mut last, mut n_causes) = (None, usize::MAX, 0);
    for finding in seen {
        let lock = finding.locks[0];
        let first = *first.get_or_insert(lock);
        n_causes = if lock == last { n_causes + 1 } else { 1 };
        last = lock;
        let part = if let Kind::Cause(cause) = &finding.kind { cause.part } else { 1.0 };
        let matters = n_causes == 1 || n_causes == 2 && part >= MATTERS_BESIDE;
        // As the lock that another one's holder waits for.
        let is_told = named.iter().any(|told| told.locks[0] != lock && told.locks.contains(&lock));
        if matters && !is_told && (lock == first || finding.share >= MATTERS_BESIDE) {
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
    matches!(said, [Finding { kind: Kind::NoLock { .. }, share, .. }] if *share < QUIET)
}
