//! Under what one point is measured, and how its measurement can end early.

use crate::failure::{Failure, Fault};
use ondeck_report::row::Row;
use std::sync::atomic::AtomicBool;

/// Under what one lock is measured in one workload at one thread count in one round.
pub(crate) struct Conditions<'a> {
    /// Name of the platform.
    pub(crate) platform: &'static str,
    /// Name of the machine.
    pub(crate) machine: &'a str,
    /// Name of the workload, with its parameters.
    pub(crate) workload: &'a str,
    /// Name of the lock.
    pub(crate) lock: &'a str,
    /// Threads that want the lock.
    pub(crate) threads: u32,
    /// Which repetition.
    pub(crate) round: u32,
    /// Length of the window in which operations are counted.
    pub(crate) window_ns: u64,
    /// How often the warm-up is made at most; it ends once the last three have counted the same but for a fiftieth.
    pub(crate) most_warm_ups: u32,
    /// Cores that the threads are pinned to in turn; empty if they are not.
    pub(crate) cores: &'a [u32],
    /// How long nothing may move before the lock is given up.
    pub(crate) patience_ns: u64,
    /// Set when the user wants no more.
    pub(crate) stop: &'a AtomicBool,
}

/// Why a point gave no result.
#[derive(Debug)]
pub(crate) enum End {
    /// The user wants no more.
    Interrupted,
    /// Something is wrong.
    Failed(Failure),
}

impl Conditions<'_> {
    /// Long enough for every thread to have run and for what a lock learns to be learned.
    pub(crate) fn warm_up_ns(&self) -> u64 {
        (self.window_ns / 4).min(100_000_000)
    }

    /// Length of the window in which acquisitions are timed: shorter, as percentiles need less than throughput, but
    /// long enough for the longest waits that were seen (half a second) to show in a window of a second.
    pub(crate) fn timed_ns(&self) -> u64 {
        self.window_ns / 2
    }

    /// The core that thread number `thread` is pinned to.
    pub(crate) fn core_of(&self, thread: u32) -> Option<u32> {
        let turn = (thread as usize).checked_rem(self.cores.len())?;
        self.cores.get(turn).copied()
    }

    /// A row without figures.
    pub(crate) fn row(&self) -> Row {
        Row {
            platform: self.platform.into(),
            machine: self.machine.into(),
            workload: self.workload.into(),
            lock: self.lock.into(),
            threads: self.threads,
            round: self.round,
            ..Row::default()
        }
    }

    /// Compares the updates made with those that are there.
    pub(crate) fn check_updates(&self, expected: u64, seen: u64) -> Result<(), End> {
        if seen == expected { Ok(()) } else { Err(self.failed(Fault::LostUpdate { expected, seen })) }
    }

    pub(crate) fn failed(&self, fault: Fault) -> End {
        let (workload, lock, threads) = (self.workload.into(), self.lock.into(), self.threads);
        End::Failed(Failure::Point { workload, lock, threads, fault })
    }
}

impl End {
    /// Says more about a lock that is stuck.
    pub(crate) fn because(mut self, more: &str) -> End {
        if let End::Failed(Failure::Point { fault: Fault::Stuck { detail, .. }, .. }) = &mut self {
            *detail = format!("{more}; {detail}");
        }
        self
    }
}
