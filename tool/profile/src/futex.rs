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
mod holds;
mod looks;
mod names;
mod snapshot;
mod stuck;
mod tail_calls;

use crate::collect::Run;
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
    /// Tells of waits, if the kernel does. Otherwise looks do.
    tracer: Option<Box<Tracer>>,
    /// At each image. Nothing once the kernel tells of too many processes.
    looks: Option<Vec<Looked>>,
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
        Self::of(Some(Box::new(tracer)), Vec::new(), run)
    }

    /// For what looks at the threads of these processes show; `None` if one of them may not be looked at.
    pub fn by_looks(pids: &[u32], run: Run) -> Option<Self> {
        let mut looks: Vec<Looked> = pids.iter().map(|pid| Looked::new(*pid)).collect();
        let are_open = looks.iter_mut().all(Looked::is_open);
        are_open.then(|| Self::of(None, looks, run))
    }

    fn of(tracer: Option<Box<Tracer>>, looks: Vec<Looked>, run: Run) -> Self {
        FutexCollector {
            tracer,
            looks: Some(looks),
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
        self.look();
    }

    /// Looks at the threads of all processes: for who holds locks, and for waits if the kernel does not tell of these.
    fn look(&mut self) {
        /// Looks at one take a hundredth of a core.
        const MOST: usize = 16;
        let go_on = |image: &&Image| image.to_ns.is_none();
        self.looks.take_if(|_| self.tracer.iter().flat_map(|tracer| tracer.images()).filter(go_on).count() > MOST);
        let Some(mut looks) = self.looks.take() else { return };
        let Some(tracer) = &self.tracer else {
            self.add(|each| {
                looks.iter_mut().enumerate().for_each(|(image, one)| one.look(image, &mut |wait| each(wait, &[])))
            });
            self.looks = Some(looks);
            return;
        };
        for (number, image) in tracer.images().iter().enumerate() {
            if number == looks.len() {
                looks.push(Looked::new(image.pid));
            }
            match image.to_ns {
                None => looks[number].look(number, &mut |_| ()),
                Some(_) => looks[number].close(),
            }
        }
        self.looks = Some(looks);
    }

    /// How long to sleep until the next call of [`take`](Self::take).
    pub fn gap(&self) -> Duration {
        self.tracer.as_ref().map_or(looks::GAP, |tracer| tracer.gap())
    }

    /// Takes what is left: nothing comes any more. `killed` is the process that was started, if a signal has ended it.
    pub fn take_last(&mut self, killed: Option<u32>) {
        self.add_with(|tracer, each| {
            tracer.take_last(each);
            // Names take a while, and the process may run on.
            tracer.stop();
        });
        (self.killed, self.has_ended) = (killed, true);
    }

    /// Adds the waits that a call of the tracer shows, if there is one.
    fn add_with(&mut self, call: impl FnOnce(&mut Tracer, &mut dyn FnMut(Wait, &[Release]))) {
        let Some(mut tracer) = self.tracer.take() else { return };
        self.add(|each| call(&mut tracer, each));
        self.tracer = Some(tracer);
    }

    /// Adds the waits that a call shows.
    fn add(&mut self, call: impl FnOnce(&mut dyn FnMut(Wait, &[Release]))) {
        let FutexCollector { run, cells, recent, last_snapshot_ns, .. } = self;
        call(&mut |wait, parts| {
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
        let of_kernel = self.tracer.iter().flat_map(|tracer| tracer.images());
        let of_looks = self.looks.iter().flatten().filter(|_| self.tracer.is_none()).filter_map(Looked::image);
        of_kernel.chain(of_looks)
    }

    /// Adds what is only known now.
    fn settle(&mut self) {
        self.add_with(|tracer, each| tracer.settle(each));
        self.looks.iter_mut().flatten().for_each(|looked| looked.times.settle());
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
        self.looks.iter_mut().flatten().for_each(Looked::begin_snapshot);
        told
    }
}
