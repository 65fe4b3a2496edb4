//! The scheduler of Linux from 6.6 to 6.11: earliest eligible virtual deadline first (Stoica and Abdel-Wahab 1995;
//! `kernel/sched/fair.c` of 6.6, with the features that are on by default).
//!
//! What a thread has had is compared with the average of those on its CPU. Whoever has had no more than that is *eligible*;
//! of the eligible the one with the earliest *deadline* runs: what it had when it got its present slice, and the slice. So:
//!
//! - Whoever has got the CPU keeps it until its deadline, unless it has had more than the average before, or has yielded
//!   (RUN_TO_PARITY). Only in these cases a woken thread takes the CPU at once, if its deadline is the earliest.
//! - Sleep gives no lead: a thread comes back with the *lag* that it went with, what the average had beyond it, or it beyond
//!   the average, two slices at most (PLACE_LAG).
//! - A yield moves one's own deadline back by a slice. Who alone is eligible goes on.
//!
//! All threads weigh the same. The kernel looks when its clock ticks; here slices end when they are over. The first slice of
//! a thread is half as long, which the kernel meant from the beginning and does since 6.12; and of two threads with one
//! deadline the one that waits is next, as since 6.8. Not here is what came later: a thread that sleeps with debts stays in
//! the queue until they are paid (6.12), and a yield gives up what is left of the slice (6.18 and some stable kernels).

use super::Engine;
use super::schedule::FIRST_VRUNTIME;
use super::thread::Phase;
use crate::machine::Policy;

/// What the threads on a CPU have had, all together, and how many they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Load {
    sum: i128,
    n: i128,
}

impl Load {
    fn with(self, vruntime: u64) -> Load {
        Load { sum: self.sum + since_first(vruntime), n: self.n + 1 }
    }

    fn is_eligible(self, vruntime: u64) -> bool {
        since_first(vruntime) * self.n <= self.sum
    }

    fn average(self) -> i128 {
        self.sum.div_euclid(self.n.max(1))
    }
}

fn since_first(vruntime: u64) -> i128 {
    i128::from(vruntime) - i128::from(FIRST_VRUNTIME)
}

impl Engine {
    /// The slice, if this is the policy.
    pub(super) fn eevdf_slice(&self) -> Option<u64> {
        match self.machine.os.policy {
            Policy::Eevdf { slice_ps } => Some(slice_ps),
            Policy::Fair { .. } | Policy::Quantum { .. } => None,
        }
    }

    fn load(&self, cpu: u32) -> Load {
        let queue = self.cpus[cpu as usize].queue.iter().map(|&thread| self.threads[thread as usize].vruntime);
        queue.chain(self.running_vruntime(cpu)).fold(Load { sum: 0, n: 0 }, Load::with)
    }

    /// Who is to have the CPU: the one that has it, one that waits, or `more`, which is about to wait.
    pub(super) fn earliest(&self, cpu: u32, more: Option<u32>) -> Option<u32> {
        let state = &self.cpus[cpu as usize];
        let vruntime = |thread: u32| self.threads[thread as usize].vruntime;
        let load = more.into_iter().fold(self.load(cpu), |load, thread| load.with(vruntime(thread)));
        let running = state.running.zip(self.running_vruntime(cpu));
        let running = running.filter(|&(_, had)| load.is_eligible(had)).map(|(thread, _)| thread);
        if let Some(thread) = running.filter(|&thread| self.threads[thread as usize].is_protected) {
            return Some(thread);
        }
        let others = state.queue.iter().copied().chain(more).filter(|&thread| load.is_eligible(vruntime(thread)));
        // Of two with the same deadline, the one that waits.
        others.chain(running).min_by_key(|&thread| self.threads[thread as usize].slice_until)
    }

    /// When the slice of the thread that has the CPU is over. One that had it alone has begun new ones meanwhile.
    pub(super) fn slice_end(&mut self, running: u32, cpu: u32, slice_ps: u64) -> u64 {
        let had = self.running_vruntime(cpu).unwrap_or(0);
        let this = &mut self.threads[running as usize];
        if had >= this.slice_until {
            this.slice_until += ((had - this.slice_until) / slice_ps + 1) * slice_ps;
            this.is_protected = false;
        }
        this.on_since + (this.slice_until - this.vruntime)
    }

    /// How much is left of the slice of the thread that has the CPU, if the timer has come too early: a yield has made it
    /// longer.
    pub(super) fn slice_left(&self, cpu: u32) -> Option<u64> {
        let running = self.cpus[cpu as usize].running?;
        let until = self.threads[running as usize].slice_until;
        until.checked_sub(self.running_vruntime(cpu)?).filter(|&left| left > 0)
    }

    /// The slice of the thread that has the CPU is over: it gets a new one, and whoever is to have the CPU is another
    /// matter. True if it goes on.
    pub(super) fn renew_slice(&mut self, cpu: u32, slice_ps: u64) -> bool {
        let Some(running) = self.cpus[cpu as usize].running else { return true };
        let had = self.running_vruntime(cpu).unwrap_or(0);
        let this = &mut self.threads[running as usize];
        (this.slice_until, this.is_protected) = (had + slice_ps, false);
        self.earliest(cpu, None) == Some(running)
    }

    /// The running thread yields; true if another one is to have the CPU for it.
    pub(super) fn puts_off(&mut self, thread: u32, cpu: u32, slice_ps: u64) -> bool {
        let this = &mut self.threads[thread as usize];
        (this.slice_until, this.is_protected) = (this.slice_until + slice_ps, false);
        self.earliest(cpu, None) != Some(thread)
    }

    /// The running thread is about to leave its CPU for longer: it takes along by how much it is behind the average.
    pub(super) fn keep_lag(&mut self, thread: u32, cpu: u32) {
        if let (Some(slice_ps), Some(had)) = (self.eevdf_slice(), self.running_vruntime(cpu)) {
            self.threads[thread as usize].lag = bounded(self.load(cpu).average() - since_first(had), slice_ps);
        }
    }

    /// A thread that waits for `from`, and is in its queue no more, takes its lag to another CPU. One that sleeps has it.
    pub(super) fn take_lag_along(&mut self, thread: u32, from: u32, to: u32, slice_ps: u64) {
        let (phase, had) = (self.threads[thread as usize].phase, self.threads[thread as usize].vruntime);
        if matches!(phase, Phase::Asleep | Phase::Called) {
            return;
        }
        let average = self.load(from).with(had).average();
        self.threads[thread as usize].lag = bounded(average - since_first(had), slice_ps);
        self.place_by_lag(thread, to, slice_ps);
    }

    /// The thread comes to the CPU, whose average it changes by coming: so its lag counts for more before.
    pub(super) fn place_by_lag(&mut self, thread: u32, cpu: u32, slice_ps: u64) {
        let load = self.load(cpu);
        let least = self.least_vruntime(cpu);
        let this = &mut self.threads[thread as usize];
        this.vruntime = match load.n {
            0 => least,
            n => (i128::from(FIRST_VRUNTIME) + load.average() - this.lag * (n + 1) / n) as u64,
        };
        this.slice_until = this.vruntime + slice_ps;
    }
}

/// A lag is two slices at most, or minus as much.
fn bounded(lag: i128, slice_ps: u64) -> i128 {
    let most = 2 * i128::from(slice_ps);
    lag.clamp(-most, most)
}
