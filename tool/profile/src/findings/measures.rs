//! How much waiting matters.

use crate::{Lock, Profile};
use std::collections::BTreeMap;

/// Part of the time that a lock's threads could run, below which waiting for it does not matter: if all of it went away,
/// the program would gain less than two of its runs differ by.
pub(super) const QUIET: f64 = 0.01;

/// How much of the time that its threads could run was spent waiting: more of them than cores cannot run, so that many idle
/// threads do not make the waiting of a few look small. Above 1 where threads wait that could not have run.
pub(super) fn share(lock: &Lock, profile: &Profile) -> f64 {
    let runnable_ns = f64::from(threads(lock).min(profile.cores.max(1))) * life_ns(profile, lock.process);
    if lock.wait_ns > 0.0 { lock.wait_ns / runnable_ns } else { 0.0 }
}

pub(super) fn is_quiet(lock: &Lock, profile: &Profile) -> bool {
    share(lock, profile) < QUIET
}

/// Threads that use a lock at once. Threads that no sample has shown may have been seen waiting. While the lock is free,
/// all of them may be.
pub(super) fn threads(lock: &Lock) -> u32 {
    lock.threads.max(lock.most_waiting).max(1)
}

/// The waiting for all locks of a program, and the time in which its threads could have run.
pub(super) struct Program {
    wait_ns: f64,
    runnable_ns: f64,
}

impl Program {
    /// Processes without a lock count for nothing: a shell that waits for its child would make the child's waiting look
    /// small.
    pub(super) fn of(profile: &Profile) -> Program {
        let mut of_processes: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
        for lock in &profile.locks {
            let (wait_ns, most) = of_processes.entry(lock.process).or_default();
            *wait_ns += lock.wait_ns;
            *most = threads(lock).max(*most);
        }
        let mut program = Program { wait_ns: 0.0, runnable_ns: 0.0 };
        for (process, (wait_ns, threads)) in of_processes {
            program.wait_ns += wait_ns;
            program.runnable_ns += f64::from(threads.min(profile.cores.max(1))) * life_ns(profile, process);
        }
        program
    }

    /// As [`share`], of all locks.
    pub(super) fn share(&self) -> f64 {
        if self.wait_ns > 0.0 { self.wait_ns / self.runnable_ns } else { 0.0 }
    }
}

/// How long a process was seen, in ns. A snapshot is shorter than that.
fn life_ns(profile: &Profile, process: u32) -> f64 {
    let process = profile.processes.get(process as usize);
    let seconds = process.map(|process| process.to - process.from).filter(|seconds| *seconds > 0.0);
    seconds.map_or(profile.seconds, |seconds| seconds.min(profile.seconds)) * 1e9
}
