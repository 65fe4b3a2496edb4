//! From what the kernel tells of futex calls, or looks from outside show of them, to a profile: locks of any language, by who
//! sleeps for them.
//!
//! Waits are added up by futex and stack as they come. What they are is found out when a profile is wanted: to name a
//! stack can take longer than the kernel's memory for samples lasts.

mod asleep;
mod build;
mod cells;
#[cfg(all(test, target_arch = "x86_64"))]
mod damage;
mod held;
mod looks;
mod names;
mod snapshot;
mod stuck;
mod tail_calls;

use crate::collect::Run;
use crate::collect::thread_times::ThreadTimes;
use crate::runtimes::Programs;
use crate::symbols::Symbols;
use cells::Cells;
use looks::Looked;
use ondeck_futex::{Image, Release, Tracer, Wait};
pub use snapshot::FutexSnapshot;
use std::time::Duration;

/// Makes a profile of a [`FutexSnapshot`]: finds the names for it, and keeps what it has read of each file. That may
/// take seconds for the first time.
#[derive(Default)]
pub struct Namer {
    symbols: Symbols,
    programs: Programs,
}

/// What a tracer tells, or looks, added up.
pub struct FutexCollector {
    source: WaitSource,
    /// Of what the kernel tells, what the threads of each image spend their time with. Nothing once there were too many processes.
    looks: Option<Vec<ThreadTimes>>,
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

/// Where waits are known from.
enum WaitSource {
    Kernel(Box<Tracer>),
    Looks(Vec<Looked>),
}

impl FutexCollector {
    /// For what the tracer will tell.
    pub fn new(tracer: Tracer, run: Run) -> Self {
        Self::of(WaitSource::Kernel(Box::new(tracer)), run)
    }

    /// For what looks at the threads of these processes show; `None` if one of them may not be looked at.
    pub fn by_looks(pids: &[u32], run: Run) -> Option<Self> {
        let looked = pids.iter().map(|pid| Looked::new(*pid)).collect::<Option<_>>()?;
        Some(Self::of(WaitSource::Looks(looked), run))
    }

    fn of(source: WaitSource, run: Run) -> Self {
        FutexCollector {
            source,
            looks: Some(Vec::new()),
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
        self.add_with(|source, each| match source {
            WaitSource::Kernel(tracer) => tracer.take(each),
            WaitSource::Looks(processes) => {
                let mut each = |wait| each(wait, &[]);
                processes.iter_mut().enumerate().for_each(|(image, process)| process.look(image, &mut each));
            }
        });
        self.look_at_threads();
    }

    /// Looks at the threads of processes of which the kernel tells.
    fn look_at_threads(&mut self) {
        /// Looks at one take a hundredth of a core.
        const MOST: usize = 16;
        let WaitSource::Kernel(tracer) = &self.source else { return };
        let go_on = |image: &&Image| image.to_ns.is_none();
        self.looks.take_if(|_| tracer.images().iter().filter(go_on).count() > MOST);
        let Some(looks) = &mut self.looks else { return };
        for (number, image) in tracer.images().iter().enumerate() {
            if number == looks.len() {
                looks.push(ThreadTimes::new(image.pid));
            }
            match image.to_ns {
                None => looks[number].look(Vec::new, |_| ()),
                Some(_) => looks[number].close(),
            }
        }
    }

    /// How long to sleep until the next call of [`take`](Self::take).
    pub fn gap(&self) -> Duration {
        match &self.source {
            WaitSource::Kernel(tracer) => tracer.gap(),
            WaitSource::Looks(_) => looks::GAP,
        }
    }

    /// Takes what is left: nothing comes any more. `killed` is the process that was started, if a signal has ended it.
    pub fn take_last(&mut self, killed: Option<u32>) {
        self.add_with(|source, each| {
            if let WaitSource::Kernel(tracer) = source {
                tracer.take_last(each);
                // Names take a while, and the process may run on.
                tracer.stop();
            }
        });
        (self.killed, self.has_ended) = (killed, true);
    }

    /// Adds the waits that a call of the source shows.
    fn add_with(&mut self, call: impl FnOnce(&mut WaitSource, &mut dyn FnMut(Wait, &[Release]))) {
        let FutexCollector { source, run, cells, recent, last_snapshot_ns, .. } = self;
        call(source, &mut |wait, parts| {
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
        self.images().next().is_none()
    }

    /// All processes that were seen, by their numbers in waits.
    fn images(&self) -> impl Iterator<Item = &Image> {
        let (of_kernel, of_looks) = match &self.source {
            WaitSource::Kernel(tracer) => (tracer.images(), &[][..]),
            WaitSource::Looks(processes) => (&[][..], processes.as_slice()),
        };
        of_kernel.iter().chain(of_looks.iter().filter_map(Looked::image))
    }

    /// Adds what is only known now.
    fn settle(&mut self) {
        self.add_with(|source, each| match source {
            WaitSource::Kernel(tracer) => tracer.settle(each),
            WaitSource::Looks(processes) => processes.iter_mut().for_each(|process| process.times.settle()),
        });
        self.looks.iter_mut().flatten().for_each(ThreadTimes::settle);
    }

    /// What was told until `now_ns`, with waits that go on.
    pub fn told(&mut self, now_ns: u64) -> FutexSnapshot {
        self.settle();
        FutexSnapshot::of(self, now_ns, None)
    }

    /// What was told since the last snapshot, or since the start: the next snapshot begins here.
    pub fn snapshot(&mut self, now_ns: u64) -> FutexSnapshot {
        self.settle();
        let from = self.last_snapshot_ns.unwrap_or(self.run.started_ns);
        let told = FutexSnapshot::of(self, now_ns, Some(from));
        self.last_snapshot_ns = Some(now_ns);
        self.recent = Some(Cells::default());
        if let WaitSource::Looks(processes) = &mut self.source {
            processes.iter_mut().for_each(Looked::begin_snapshot);
        }
        self.looks.iter_mut().flatten().for_each(|times| times.recent.clear());
        told
    }
}
