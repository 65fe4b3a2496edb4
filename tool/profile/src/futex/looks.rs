//! Waits and holders as looks from outside show them.
//!
//! A look finds the threads that sleep in a futex call. What it finds stands for the time since the look before it, and a thread
//! that has not been given a core since then sleeps on in the same wait. So sums of waiting are estimates without bias. How often threads
//! waited, and how long each time, is not known: looks may be further apart than that.

use super::holds::{Holds, Waiters};
use crate::collect::thread_times::{FutexSleep, ThreadTimes};
use ondeck_futex::process::{syscall, threads};
use ondeck_futex::{End, Image, Wait, now_ns};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Between two times that it is asked whether a look is due.
pub(super) const GAP: Duration = Duration::from_millis(3);

/// A process that is looked at.
pub(super) struct Looked {
    pid: u32,
    pub(super) times: ThreadTimes,
    /// The waits that go on, by thread, with how often it had been given a core.
    open: HashMap<u32, (u64, Wait)>,
    pub(super) holds: Holds,
}

impl Looked {
    pub(super) fn new(pid: u32) -> Self {
        Looked { pid, times: ThreadTimes::new(pid), open: HashMap::new(), holds: Holds::of(pid) }
    }

    /// Whether it may be looked at. If so, what is loaded is read.
    pub(super) fn is_open(&mut self) -> bool {
        let is_open = threads(self.pid).into_iter().any(|thread| syscall(self.pid, thread).is_some());
        if is_open {
            self.times.sleepers();
        }
        is_open
    }

    /// The process, with what is loaded.
    pub(super) fn image(&self) -> Option<&Image> {
        self.times.image()
    }

    /// Looks at all threads, if it is time to; each wait that is over is told.
    pub(super) fn look(&mut self, image: usize, each: &mut dyn FnMut(Wait)) {
        // To look at more is within what looks may cost.
        let mut times = std::mem::replace(&mut self.times, ThreadTimes::new(self.pid));
        times.look(Vec::new, |times| {
            let mut waiters = Waiters::new();
            times.in_futex().for_each(|sleep| waiters.entry(sleep.address).or_default().push(sleep));
            self.note_waits(image, &waiters, each);
            self.holds.look(times, &waiters);
        });
        self.times = times;
    }

    /// The process is gone.
    pub(super) fn close(&mut self) {
        self.times.close();
        self.holds.end_all_but(&mut self.times, &Waiters::new());
    }

    fn note_waits(&mut self, image: usize, waiters: &Waiters, each: &mut dyn FnMut(Wait)) {
        let now_ns = now_ns();
        let ns = |at: Instant| now_ns.saturating_sub(at.elapsed().as_nanos() as u64);
        let mut still = HashMap::new();
        for sleep in waiters.values().flatten() {
            let FutexSleep { thread, address, stack, turns, .. } = *sleep;
            let (waiting, end) = (waiters[&address].len() as u32, End::Waiting);
            let known = open_wait(&mut self.open, sleep);
            let from_ns = known.map_or(ns(sleep.from), |wait| wait.from_ns);
            let wait = Wait { image, thread, address, stack, from_ns, to_ns: ns(sleep.to), waiting, end, joins: false };
            still.insert(thread, (turns, wait));
        }
        self.open.drain().for_each(|(_, (_, wait))| each(Wait { end: End::Woken(None), ..wait }));
        self.open = still;
    }

    /// The waits that go on.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Wait> {
        self.open.values().map(|(_, wait)| *wait)
    }

    /// The next snapshot begins here.
    pub(super) fn begin_snapshot(&mut self) {
        self.holds.begin_snapshot();
        self.times.recent.clear();
    }
}

/// The wait that was under way before, if the thread sleeps on in it.
fn open_wait(open: &mut HashMap<u32, (u64, Wait)>, sleep: &FutexSleep) -> Option<Wait> {
    open.get(&sleep.thread).filter(|(turns, wait)| (*turns, wait.address) == (sleep.turns, sleep.address))?;
    open.remove(&sleep.thread).map(|(_, wait)| wait)
}
