//! The first pass: what was seen, as values. It has no sentences, and decides nothing about what is said.

mod causes;
mod hangs;
mod hidden;
mod measures;

use super::{Finding, Kind};
use crate::profile::{Condition, Lock, LockKind, Profile, WaitKind};
use crate::rules::{HERD, OF_CORES, OF_LOCKS, QUIET, SEVERAL, TRIES, TRIES_EACH_SECOND, WOKEN_NS};
use crate::words::{FROM_KERNEL, FROM_LOOKS, GIL, share, waited};
use crate::wrappers::Tops;
pub(crate) use causes::parts;
pub(super) use causes::{CauseKind, CauseShare, Chain, ChainEnd};
pub(super) use hangs::StuckTogether;
pub(super) use hidden::HiddenWait;

/// All that was seen in a profile.
pub(super) fn seen<'p>(profile: &'p Profile, tops: &Tops) -> Vec<Finding<'p>> {
    let waited = waited(profile);
    let matters = |(_, lock): &&(usize, &Lock)| measures::share(lock, profile) >= QUIET;
    let mut seen: Vec<Finding> =
        waited.iter().filter(matters).flat_map(|(index, lock)| of_lock(profile, tops, *index, lock)).collect();
    let hidden = hidden::hidden(profile, tops);
    let share = measures::share_of_all(profile);
    // What has not happened yet comes before what holds nothing back.
    let has_order = waited.is_empty() && !profile.order.is_empty();
    let others = [
        hangs::deadlock(profile).map(Kind::Deadlock),
        hangs::held_up(profile, tops).map(Kind::HeldUp),
        herd(profile).map(Kind::Herd),
        Some(if has_order { Kind::Order } else { Kind::NoLock }),
        hangs::idle(profile, tops).map(Kind::Idle),
    ];
    let others = others.into_iter().chain([no_lock(profile).map(Kind::Wait)]).flatten();
    seen.extend(others.map(|kind| Finding { kind, locks: Vec::new(), share, ns: 0.0 }));
    let of_hidden =
        |wait: HiddenWait| Finding { locks: Vec::new(), share: wait.share, ns: wait.ns, kind: Kind::Hidden(wait) };
    seen.extend(hidden.into_iter().map(of_hidden));
    seen.extend(tries(profile).map(|(lock, n)| Finding { kind: Kind::Tries(n), locks: vec![lock], share, ns: 0.0 }));
    seen
}

fn of_lock<'p>(profile: &Profile, tops: &Tops, index: usize, lock: &Lock) -> Vec<Finding<'p>> {
    let (share, ns) = (share(profile, lock.wait_ns), lock.wait_ns);
    let alone = |kind| vec![Finding { kind, locks: vec![index], share, ns }];
    match lock.kind {
        _ if profile.lock == FROM_KERNEL => alone(Kind::FromKernel),
        _ if is_told_by_time(profile, lock) => Vec::new(),
        LockKind::Spin => alone(Kind::Spins),
        _ => Some(of_causes(profile, tops, index))
            .filter(|all| !all.is_empty())
            .unwrap_or_else(|| alone(Kind::UnknownHolder)),
    }
}

/// Whether the time that threads spend in such locks says more of it: of what kind it is, and nobody knows who holds it.
fn is_told_by_time(profile: &Profile, lock: &Lock) -> bool {
    profile.lock == FROM_LOOKS && lock.causes.is_empty() && lock.kind != LockKind::Unknown && lock.name != GIL
}

/// The causes of a lock's waiting, the largest first.
pub(super) fn of_causes<'p>(profile: &Profile, tops: &Tops, index: usize) -> Vec<Finding<'p>> {
    let ns = profile.locks[index].wait_ns;
    let share = share(profile, ns);
    let finding = |cause: CauseShare| {
        let locks = [index].into_iter().chain(cause.chain.links.iter().map(|(lock, _)| *lock)).collect();
        Finding { kind: Kind::Cause(cause), locks, share, ns }
    };
    causes::causes(profile, tops, index).into_iter().map(finding).collect()
}

/// The time of all cores.
fn time_ns(profile: &Profile) -> f64 {
    profile.seconds * 1e9 * f64::from(profile.cores.max(1))
}

/// The condition variable where most is lost as its threads are woken and go back to sleep, if that matters.
fn herd(profile: &Profile) -> Option<&Condition> {
    let conditions = profile.conditions.iter().filter(|one| one.kind == WaitKind::Condition);
    let worst = conditions.max_by(|one, other| one.again.total_cmp(&other.again))?;
    let lost_ns = worst.again * WOKEN_NS;
    let notified = worst.notifications();
    let is_for_all = worst.notifications_of_all >= HERD * notified && notified > 0.0;
    let is_worth_it = lost_ns >= OF_CORES * time_ns(profile) && lost_ns >= OF_LOCKS * profile.wait_ns();
    let is_herd = is_for_all && worst.waits >= SEVERAL * notified && worst.again >= HERD * worst.waits;
    (is_worth_it && is_herd).then_some(worst)
}

/// What threads waited for longest that is no lock, if that matters. An initialisation is as good as one, but which thread is at it
/// is not recorded. Of most threads that wait for the others, nobody knows whether they should.
fn no_lock(profile: &Profile) -> Option<usize> {
    let kinds = [WaitKind::Once, WaitKind::Barrier, WaitKind::Semaphore, WaitKind::Condition];
    let ones = profile.conditions.iter().enumerate().filter(|(_, one)| kinds.contains(&one.kind));
    let (index, most) = ones.max_by(|one, other| one.1.wait_ns.total_cmp(&other.1.wait_ns))?;
    (most.wait_ns >= OF_CORES * time_ns(profile)).then_some(index)
}

/// The lock that was tried in vain most often, and how often, if that looks like a loop. No wait is recorded then, as none of
/// these calls waits.
fn tries(profile: &Profile) -> Option<(usize, f64)> {
    let tries = |lock: &Lock| lock.tries.iter().map(|site| site.count).sum::<f64>();
    let all = profile.locks.iter().map(tries).enumerate();
    let (lock, n) = all.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let times = n / profile.locks[lock].acquisitions.max(1.0);
    (times >= TRIES && n >= TRIES_EACH_SECOND * profile.seconds).then_some((lock, n))
}
