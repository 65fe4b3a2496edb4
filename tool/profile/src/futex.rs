//! From what the kernel tells of futex calls to a profile: locks of any language, by who sleeps for them.
//!
//! Waits are added up by futex and stack as they come. What they are is found out when a profile is wanted: to name a
//! stack can take longer than the kernel's memory for samples lasts.

mod asleep;
mod build;
mod cells;
#[cfg(all(test, target_arch = "x86_64"))]
mod damage;
mod names;
mod snapshot;
mod stuck;
mod tail_calls;

use crate::collect::Run;
use crate::runtimes::Programs;
use crate::symbols::Symbols;
use cells::Cells;
use ondeck_futex::{Release, Tracer, Wait};
pub use snapshot::FutexSnapshot;
use std::time::Duration;

/// Makes a profile of a [`FutexSnapshot`]: finds the names for it, and keeps what it has read of each file. That may
/// take seconds for the first time.
#[derive(Default)]
pub struct Namer {
    symbols: Symbols,
    programs: Programs,
}

/// What a tracer tells, added up.
pub struct FutexCollector {
    tracer: Tracer,
    run: Run,
    /// From the start.
    cells: Cells,
    /// Since the last snapshot, if there was one.
    recent: Option<Cells>,
    last_snapshot_ns: Option<u64>,
    /// Whether the process that was started, with its number, was ended by a signal.
    killed: Option<u32>,
    has_ended: bool,
}

impl FutexCollector {
    /// For what the tracer will tell.
    pub fn new(tracer: Tracer, run: Run) -> Self {
        FutexCollector {
            tracer,
            run,
            cells: Cells::default(),
            recent: None,
            last_snapshot_ns: None,
            killed: None,
            has_ended: false,
        }
    }

    /// Takes what is new. To be called after each [`gap`](Self::gap).
    pub fn take(&mut self) {
        self.add_with(|tracer, each| tracer.take(each));
    }

    /// How long to sleep until the next call of [`take`](Self::take).
    pub fn gap(&self) -> Duration {
        self.tracer.gap()
    }

    /// Takes what is left: nothing comes any more. `killed` is the process that was started, if a signal has ended it.
    pub fn take_last(&mut self, killed: Option<u32>) {
        self.add_with(|tracer, each| tracer.take_last(each));
        // Names take a while, and the process may run on.
        self.tracer.stop();
        (self.killed, self.has_ended) = (killed, true);
    }

    /// Adds the waits that a call of the tracer shows.
    fn add_with(&mut self, call: impl FnOnce(&mut Tracer, &mut dyn FnMut(Wait, &[Release]))) {
        let FutexCollector { tracer, run, cells, recent, last_snapshot_ns, .. } = self;
        call(tracer, &mut |wait, parts| {
            let since = |ns: u64| Wait { from_ns: wait.from_ns.max(ns).min(wait.to_ns), ..wait };
            // One that was over before the start may be told later.
            if wait.to_ns <= run.started_ns {
                return;
            }
            // One that began before is only counted from the start on.
            cells.add(&since(run.started_ns), parts, run.started_ns);
            // What was before the last snapshot, it has shown as a wait that goes on.
            if let Some(recent) = recent {
                recent.add(&since(last_snapshot_ns.unwrap_or(run.started_ns)), parts, run.started_ns);
            }
        });
    }

    /// Whether any process was seen.
    pub fn is_empty(&self) -> bool {
        self.tracer.images().is_empty()
    }

    /// What was told until `now_ns`, with waits that go on.
    pub fn told(&mut self, now_ns: u64) -> FutexSnapshot {
        self.add_with(|tracer, each| tracer.settle(each));
        FutexSnapshot::of(self, now_ns, None)
    }

    /// What was told since the last snapshot, or since the start: the next snapshot begins here.
    pub fn snapshot(&mut self, now_ns: u64) -> FutexSnapshot {
        self.add_with(|tracer, each| tracer.settle(each));
        let from = self.last_snapshot_ns.unwrap_or(self.run.started_ns);
        let told = FutexSnapshot::of(self, now_ns, Some(from));
        self.last_snapshot_ns = Some(now_ns);
        self.recent = Some(Cells::default());
        told
    }
}
