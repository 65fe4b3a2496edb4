//! How much waiting matters.

use crate::rules::{QUIET, WAITED_WHILE_BUSY_NS, WORTH_A_SENTENCE};
use crate::{Lock, Profile};
use std::collections::BTreeMap;

/// How much of the time that its threads could run was spent waiting.
pub(super) fn share(lock: &Lock, profile: &Profile) -> f64 {
    part_of_cores(lock.wait_ns, lock, profile)
}

/// Whether waiting for a lock matters: of the time that its threads could run, or of that in which threads had something to do,
/// which is 0 if that is not known.
pub(super) fn matters(lock: &Lock, profile: &Profile, busy_ns: f64) -> bool {
    let is_much = lock.wait_ns >= WAITED_WHILE_BUSY_NS && busy_ns > 0.0;
    share(lock, profile) >= QUIET || is_much && lock.wait_ns >= WORTH_A_SENTENCE * busy_ns
}

/// The part of the time that a lock's threads could run: more of them than cores cannot run, so that many idle threads do not
/// make the waiting of a few look small. Above 1 where threads wait that could not have run.
pub(super) fn part_of_cores(ns: f64, lock: &Lock, profile: &Profile) -> f64 {
    if ns > 0.0 { ns / runnable_ns(lock, profile) } else { 0.0 }
}

/// The time that a lock's threads could run.
pub(in crate::findings) fn runnable_ns(lock: &Lock, profile: &Profile) -> f64 {
    f64::from(threads(lock).min(profile.cores.max(1))) * life_ns(profile, lock.process)
}

/// The part of all time of the threads that tried a lock in vain.
pub(super) fn part_of_triers(ns: f64, lock: &Lock, profile: &Profile) -> f64 {
    (ns / (f64::from(lock.triers.max(1)) * life_ns(profile, lock.process))).min(1.0)
}

/// Threads that use a lock at once. Threads that no sample has shown may have been seen waiting. While the lock is free,
/// all of them may be.
pub(super) fn threads(lock: &Lock) -> u32 {
    lock.threads.max(lock.most_waiting).max(1)
}

/// As [`share`], of all locks. Processes without a lock count for nothing: a shell that waits for its child would make the child's
/// waiting look small.
pub(super) fn share_of_all(profile: &Profile) -> f64 {
    let mut most_threads: BTreeMap<u32, u32> = BTreeMap::new();
    for lock in &profile.locks {
        let most = most_threads.entry(lock.process).or_default();
        *most = threads(lock).max(*most);
    }
    let cores = profile.cores.max(1);
    let of_process = |(process, threads): (u32, u32)| f64::from(threads.min(cores)) * life_ns(profile, process);
    let runnable_ns: f64 = most_threads.into_iter().map(of_process).sum();
    if profile.wait_ns() > 0.0 { profile.wait_ns() / runnable_ns } else { 0.0 }
}

/// How long a process was seen, in ns. A snapshot is shorter than that.
pub(in crate::findings) fn life_ns(profile: &Profile, process: u32) -> f64 {
    let process = profile.processes.get(process as usize);
    let seconds = process.map(|process| process.to - process.from).filter(|seconds| *seconds > 0.0);
    seconds.map_or(profile.seconds, |seconds| seconds.min(profile.seconds)) * 1e9
}
