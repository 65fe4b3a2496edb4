//! CPU time that goes into locks while nobody sleeps: in loops that only wait, and in the calls that lock and unlock.

use crate::profile::{Profile, ThreadTime};
use crate::rules::{LOCK_CALLS, SEVERAL, WORTH_A_SENTENCE};
use crate::thread_time::{self, TimeKind};
use crate::wrappers::Tops;
use std::collections::BTreeMap;

/// Such time.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::findings) struct AwakeTime {
    /// Where threads wait in a loop, the frame of its function, by its index in [`Profile::frames`].
    pub(in crate::findings) spins_in: Option<u32>,
    /// Otherwise, the lock that is taken most, by its index in [`Profile::locks`].
    pub(in crate::findings) lock: Option<usize>,
    pub(in crate::findings) ns: f64,
    /// Of the time that threads ran.
    pub(in crate::findings) share: f64,
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
    (share >= WORTH_A_SENTENCE).then_some(AwakeTime { spins_in: Some(frame), lock: None, ns, share })
}

/// The calls that lock and unlock, if threads that could run at once spend more time there than they wait.
fn lock_calls(profile: &Profile, tops: &Tops) -> Option<AwakeTime> {
    let sum = |kind| of_kind(profile, tops, kind).map(|time| time.ns).sum::<f64>();
    let (ns, ran_ns) = (sum(TimeKind::LockCalls), thread_time::ran_ns(profile));
    let (share, are_several) = (ns / ran_ns, ran_ns + sum(TimeKind::NoCore) > SEVERAL * profile.seconds * 1e9);
    let locks = profile.locks.iter().enumerate();
    let lock = locks.max_by(|one, other| one.1.acquisitions.total_cmp(&other.1.acquisitions)).map(|(index, _)| index);
    let matters = ran_ns > 0.0 && share >= LOCK_CALLS && are_several && ns > profile.wait_ns();
    matters.then_some(AwakeTime { spins_in: None, lock, ns, share })
}

fn of_kind<'p>(profile: &'p Profile, tops: &Tops, kind: TimeKind) -> impl Iterator<Item = &'p ThreadTime> {
    profile.times.iter().filter(move |time| thread_time::kind(profile, tops, time) == kind)
}
