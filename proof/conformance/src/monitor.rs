//! Checkers that watch every access of an execution: who polls, and who is bypassed.
//!
//! **Polling.** A thread polls a word from its [`PATIENT_LOOKS`]th look at it on, a look being a load or a
//! compare-exchange that fails, until it writes any word, sleeps, or ends. A few looks are no polling: every contender
//! looks before it decides what to be. The bound that a lock promises is on threads that poll the same word at once.
//!
//! **Bypass.** From a thread's first change of a word in an acquisition (its doorway: from here on the lock can know of it) to the
//! end of that acquisition, entries of other threads are counted.

use crate::witnessed_atomic::Access;
use std::collections::BTreeMap;

/// Looks in a row that are still a first look. The flagship's first look polls six times at most with its default
/// tuning, and one load goes before and one after it.
const PATIENT_LOOKS: u32 = 8;

/// The worst that the monitors saw, over all executions of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Most threads that polled one word at once.
    pub pollers: usize,
    /// The same without those who wait for a queue latch: without looks in a step of that name.
    pub pollers_past_latch: usize,
    /// Over all looks of polling threads, how many threads polled that word just then: sum and number.
    pub polled_by: (u64, u64),
    /// Most entries of other threads between a thread's doorway and its own entry.
    pub bypasses: u64,
}

impl Report {
    pub(crate) fn merge(&mut self, other: Report) {
        self.pollers = self.pollers.max(other.pollers);
        self.pollers_past_latch = self.pollers_past_latch.max(other.pollers_past_latch);
        self.bypasses = self.bypasses.max(other.bypasses);
        self.polled_by.0 += other.polled_by.0;
        self.polled_by.1 += other.polled_by.1;
    }

    /// How many threads poll a word, on average while anybody does.
    pub fn mean_pollers(self) -> f64 {
        self.polled_by.0 as f64 / self.polled_by.1.max(1) as f64
    }
}

/// Watches one execution.
#[derive(Debug, Default)]
pub(crate) struct ExecutionObserver {
    threads: BTreeMap<usize, ThreadObservation>,
    entries: u64,
    pub(crate) report: Report,
}

#[derive(Debug, Default)]
struct ThreadObservation {
    /// The last step.
    step: &'static str,
    /// Looks in a row, by address.
    looks: BTreeMap<usize, u32>,
    /// Whether the thread is inside an acquisition, and what `entries` was at its doorway.
    arriving: bool,
    doorway: Option<u64>,
}

impl ExecutionObserver {
    pub(crate) fn access(&mut self, thread: usize, address: usize, access: Access) {
        let entries = self.entries;
        let watch = self.threads.entry(thread).or_default();
        if access == Access::Change {
            watch.looks.clear();
            if watch.arriving && watch.doorway.is_none() {
                watch.doorway = Some(entries);
            }
            return;
        }
        let at_latch = watch.step == "latch";
        let looks = watch.looks.entry(address).or_default();
        *looks += 1;
        if *looks >= PATIENT_LOOKS {
            let polls =
                |watch: &ThreadObservation| watch.looks.get(&address).is_some_and(|&looks| looks >= PATIENT_LOOKS);
            let pollers = self.threads.values().filter(|watch| polls(watch)).count();
            self.report.pollers = self.report.pollers.max(pollers);
            if !at_latch {
                self.report.pollers_past_latch = self.report.pollers_past_latch.max(pollers);
            }
            self.report.polled_by.0 += pollers as u64;
            self.report.polled_by.1 += 1;
        }
    }

    pub(crate) fn steps(&mut self, thread: usize, step: &'static str) {
        self.threads.entry(thread).or_default().step = step;
    }

    pub(crate) fn sleeps(&mut self, thread: usize) {
        self.threads.entry(thread).or_default().looks.clear();
    }

    pub(crate) fn arrives(&mut self, thread: usize) {
        let watch = self.threads.entry(thread).or_default();
        watch.arriving = true;
        watch.doorway = None;
    }

    pub(crate) fn enters(&mut self, thread: usize) {
        let watch = self.threads.entry(thread).or_default();
        watch.arriving = false;
        let bypasses = watch.doorway.take().map_or(0, |doorway| self.entries - doorway);
        self.entries += 1;
        self.report.bypasses = self.report.bypasses.max(bypasses);
    }
}
