//! CPU time that goes into locks while nobody sleeps: in loops that only wait, and in the calls that lock and unlock.

use crate::profile::{Profile, ThreadTime};
use crate::rules::{LOCK_CALLS, SEVERAL, UNKNOWN_LOCK_CALLS, WORTH_A_SENTENCE};
use crate::thread_time::{self, TimeKind};
use crate::wrappers::Tops;
use std::collections::BTreeMap;

/// Such time.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::findings) struct AwakeTime {
    /// Where threads wait in a loop, the frame of its function, by its index in [`Profile::frames`].
    pub(in crate::findings) spins_in: Option<u32>,
    /// Otherwise, the lock that threads share most, by its index in [`Profile::locks`].
    pub(in crate::findings) lock: Option<usize>,
    pub(in crate::findings) ns: f64,
    /// Of the time that threads ran.
    pub(in crate::findings) share: f64,
    /// How long it takes to lock and unlock, in ns.
    pub(in crate::findings) each_ns: f64,
}

/// What matters of that.
pub(super) fn awake(profile: &Profile, tops: &Tops) -> impl Iterator<Item = AwakeTime> {
    spinning(profile, tops).into_iter().chain(lock_calls(profile, tops))
}

/// The function with most waiting in loops.
fn spinning(profile: &Profile, tops: &Tops) -> Option<AwakeTime> {
    let mut sums: BTreeMap<&str, (f64, u32)> = BTreeMap::new();
    for time in of_kind(profile, tops, TimeKind::Spinning) {
        let Some(frame) = time.stack.and_then(|stack| tops.top(stack)) else { continue };
        sums.entry(tops.brief(frame)).or_insert((0.0, frame)).0 += time.ns;
    }
    let (ns, frame) = sums.into_values().max_by(|one, other| one.0.total_cmp(&other.0))?;
    let share = ns / thread_time::ran_ns(profile);
    (share >= WORTH_A_SENTENCE).then_some(AwakeTime { spins_in: Some(frame), lock: None, ns, share, each_ns: 0.0 })
}

/// The calls that lock and unlock, if threads that could run at once share locks, as far as that is known, and spend more time there
/// than they wait.
fn lock_calls(profile: &Profile, tops: &Tops) -> Option<AwakeTime> {
    let sum = |kind| of_kind(profile, tops, kind).map(|time| time.ns).sum::<f64>();
    let (ns, ran_ns) = (sum(TimeKind::LockCalls), thread_time::ran_ns(profile));
    let (share, are_several) = (ns / ran_ns, ran_ns + sum(TimeKind::NoCore) > SEVERAL * profile.seconds * 1e9);
    let all: f64 = profile.locks.iter().map(|lock| lock.acquisitions).sum();
    // One that a single thread takes stays in its core's cache. Of one that two take by turns, each has half.
    let shared = 2.0 * profile.locks.iter().map(|lock| lock.by_others).sum::<f64>() / all;
    let is_much = if all > 0.0 { share * shared.min(1.0) >= LOCK_CALLS } else { share >= UNKNOWN_LOCK_CALLS };
    let locks = profile.locks.iter().enumerate().filter(|(_, lock)| lock.by_others > 0.0);
    let lock = locks.max_by(|one, other| one.1.by_others.total_cmp(&other.1.by_others)).map(|(index, _)| index);
    let matters = ran_ns > 0.0 && is_much && are_several && ns > profile.wait_ns();
    matters.then_some(AwakeTime { spins_in: None, lock, ns, share, each_ns: ns / all })
}

fn of_kind<'p>(profile: &'p Profile, tops: &Tops, kind: TimeKind) -> impl Iterator<Item = &'p ThreadTime> {
    profile.times.iter().filter(move |time| thread_time::kind(profile, tops, time) == kind)
}
