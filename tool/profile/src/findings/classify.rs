//! The first pass: what was seen, as values. It has no sentences, and decides nothing about what is said.

mod awake;
mod causes;
mod hangs;
mod hidden;
pub(super) mod measures;

use super::{Finding, Kind};
use crate::profile::{Condition, Lock, LockKind, Profile, Site, WaitKind};
use crate::rules::{
    AT_A_BARRIER, HERD, OF_CORES, OF_LOCKS, OFTEN_NS, ONE_EVENT, ONE_IS_BUSY, QUIET, SEVERAL, WOKEN_NS,
    WORTH_A_SENTENCE,
};
use crate::runtimes;
use crate::thread_time::{busy_ns, cores_ns, is_much_unexplained};
use crate::words::{FROM_KERNEL, FROM_LOOKS, GIL, Known, known, share, waited};
use crate::wrappers::Tops;
pub(super) use awake::AwakeTime;
pub(crate) use causes::parts;
pub(super) use causes::{CauseKind, CauseShare, Chain, ChainEnd};
pub(super) use hangs::{StuckTogether, long_waits};
pub(super) use hidden::HiddenWait;
use std::collections::BTreeMap;

/// All that was seen in a profile.
pub(super) fn seen<'p>(profile: &'p Profile, tops: &Tops) -> Vec<Finding<'p>> {
    let mut waited = waited(profile);
    waited.sort_by_key(|(_, lock)| is_one_from_nowhere(profile, lock));
    let busy_ns = busy_ns(profile, tops);
    let matters = |(_, lock): &&(usize, &Lock)| measures::matters(lock, profile, busy_ns);
    let mut seen: Vec<Finding> =
        waited.iter().filter(matters).flat_map(|(index, lock)| of_lock(profile, tops, *index, lock)).collect();
    let hidden = hidden::hidden(profile, tops);
    let share = measures::share_of_all(profile);
    // What has not happened yet comes before what holds nothing back.
    let has_order = waited.is_empty() && !profile.order.is_empty();
    let no_lock = no_lock(profile, tops);
    // What is no lock may be used as one.
    let may_be_lock = no_lock.is_some_and(|(index, waiters)| {
        matches!(waiters, Waiters::ByHand(_)) || profile.conditions[index].kind == WaitKind::Semaphore
    });
    let is_sure = !may_be_lock && !is_much_unexplained(profile, tops);
    let others = [
        hangs::deadlock(profile).map(Kind::Deadlock),
        hangs::held_up(profile, tops).map(Kind::HeldUp),
        herd(profile).map(Kind::Herd),
        Some(if has_order { Kind::Order } else { Kind::NoLock { is_sure } }),
        hangs::idle(profile, tops).map(Kind::Idle),
    ];
    seen.extend(others.into_iter().flatten().map(|kind| Finding { kind, locks: Vec::new(), share, ns: 0.0 }));
    let of_hidden =
        |wait: HiddenWait| Finding { locks: Vec::new(), share: wait.share, ns: wait.ns, kind: Kind::Hidden(wait) };
    seen.extend(hidden.into_iter().map(of_hidden));
    let of_awake = |time: AwakeTime| {
        let locks = time.lock.into_iter().collect();
        Finding { locks, share: time.share, ns: time.ns, kind: Kind::Awake(time) }
    };
    seen.extend(awake::awake(profile, tops).map(of_awake));
    seen.extend(tries(profile));
    seen.extend(no_lock.map(|(index, waiters)| {
        let ns = profile.conditions[index].wait_ns;
        Finding { kind: Kind::Wait(index, waiters), locks: Vec::new(), share, ns }
    }));
    seen
}

/// Whether a single wait is all that is known of a lock, and not even where it was: it may be something else.
fn is_one_from_nowhere(profile: &Profile, lock: &Lock) -> bool {
    let is_nowhere = |site: &Site| profile.stacks[site.stack as usize].is_empty();
    profile.lock == FROM_KERNEL && lock.waits < ONE_EVENT && lock.waiters.iter().all(is_nowhere)
}

fn of_lock<'p>(profile: &Profile, tops: &Tops, index: usize, lock: &Lock) -> Vec<Finding<'p>> {
    let (share, ns) = (share(profile, lock.wait_ns), lock.wait_ns);
    let alone = |kind| vec![Finding { kind, locks: vec![index], share, ns }];
    match lock.kind {
        _ if known(profile, lock) == Known::Wakers => alone(Kind::FromKernel),
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

/// The condition variable where most is lost as its threads are woken and go back to sleep, if that matters.
fn herd(profile: &Profile) -> Option<&Condition> {
    let conditions = profile.conditions.iter().filter(|one| one.kind == WaitKind::Condition);
    let worst = conditions.max_by(|one, other| one.again.total_cmp(&other.again))?;
    let lost_ns = worst.again * WOKEN_NS;
    let notified = worst.notifications();
    let is_for_all = worst.notifications_of_all >= HERD * notified && notified > 0.0;
    let is_worth_it = lost_ns >= OF_CORES * cores_ns(profile) && lost_ns >= OF_LOCKS * profile.wait_ns();
    let is_herd = is_for_all && worst.waits >= SEVERAL * notified && worst.again >= HERD * worst.waits;
    (is_worth_it && is_herd).then_some(worst)
}

/// What is known of threads that wait for what is no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiters {
    /// They keep each other from their work.
    ForEachOther,
    /// Those that notify are in the function with that frame, as those that wait: it may be a lock that the program has made.
    ByHand(u32),
    /// Often, and each time for less than who has no work, while others are busy.
    Often,
    /// They may have no work.
    Seldom,
}

/// What threads waited for longest that is no lock, if that matters. An initialisation is as good as one, but which thread is at it
/// is not recorded. Of most threads that wait for others, nobody knows whether they should; one that waits once, as in a pool
/// that has nothing to do, should.
fn no_lock(profile: &Profile, tops: &Tops) -> Option<(usize, Waiters)> {
    let kinds = [WaitKind::Once, WaitKind::Barrier, WaitKind::Semaphore, WaitKind::Condition];
    let is_idle = |one: &Condition| one.waits < ONE_EVENT && one.kind != WaitKind::Once;
    let ones = profile.conditions.iter().enumerate().filter(|(_, one)| kinds.contains(&one.kind) && !is_idle(one));
    let (index, most) = ones.max_by(|one, other| one.1.wait_ns.total_cmp(&other.1.wait_ns))?;
    let by_hand = || tops.calls_both(&most.waiters, &most.notifiers, AT_A_BARRIER);
    let waiters = match most.kind {
        _ if most.wait_ns < WORTH_A_SENTENCE * cores_ns(profile) || runtimes::of(profile).is_some() => Waiters::Seldom,
        WaitKind::Barrier | WaitKind::Once => Waiters::ForEachOther,
        _ if notifies_itself(profile, tops, most) => Waiters::ForEachOther,
        _ => by_hand().map_or_else(|| of_work(profile, tops, most), Waiters::ByHand),
    };
    (most.wait_ns >= OF_CORES * cores_ns(profile)).then_some((index, waiters))
}

fn of_work(profile: &Profile, tops: &Tops, condition: &Condition) -> Waiters {
    let is_often = condition.wait_ns < OFTEN_NS * condition.waits && is_busy(profile, tops);
    if is_often { Waiters::Often } else { Waiters::Seldom }
}

/// Whether some thread is busy most of the time: others may wait for it.
fn is_busy(profile: &Profile, tops: &Tops) -> bool {
    busy_ns(profile, tops) >= ONE_IS_BUSY * profile.seconds * 1e9
}

/// Whether the functions that wait are those that notify, as that of a barrier: whoever waits lets others wait.
fn notifies_itself(profile: &Profile, tops: &Tops, condition: &Condition) -> bool {
    let parts = |sites: &[Site]| {
        let whole: f64 = sites.iter().map(|site| site.count).sum();
        let mut parts: BTreeMap<&str, f64> = BTreeMap::new();
        for site in sites {
            let Some(frame) = tops.top(site.stack) else { continue };
            *parts.entry(&profile.frames[frame as usize].function).or_default() += site.count / whole;
        }
        parts
    };
    let (waiters, notifiers) = (parts(&condition.waiters), parts(&condition.notifiers));
    let both = |(function, part): (&&str, &f64)| part.min(notifiers.get(function).copied().unwrap_or_default());
    waiters.iter().map(both).sum::<f64>() >= AT_A_BARRIER
}

/// The lock for which most is lost by trying until a thread has it, if that matters. No wait is recorded then, as none of these
/// calls waits.
fn tries<'p>(profile: &Profile) -> Option<Finding<'p>> {
    let lost = |lock: &Lock| lock.tries.iter().map(|site| site.ns).sum::<f64>();
    let all = profile.locks.iter().map(lost).enumerate();
    let (index, ns) = all.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let lock = &profile.locks[index];
    let kind = Kind::Tries { part: measures::part_of_triers(ns, lock, profile) };
    let is_told = measures::part_of_cores(ns, lock, profile) >= QUIET;
    is_told.then(|| Finding { kind, locks: vec![index], share: ns / profile.wait_ns().max(1.0), ns })
}
