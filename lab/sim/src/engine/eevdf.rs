//! The scheduler of Linux since 6.6: earliest eligible virtual deadline first (Stoica and Abdel-Wahab 1995;
//! `kernel/sched/fair.c`, with the features that are on by default).
//!
//! What a thread has had is compared with the average of those on its CPU. A thread that has had no more than that is
//! *eligible*; of the eligible the one with the earliest *deadline* runs: what it had when it got its present slice,
//! and the slice. So:
//!
//! - The thread that has got the CPU keeps it until its deadline, unless it has had more than the average before, or
//!   has yielded (RUN_TO_PARITY). Only in these cases a woken thread takes the CPU at once, if its deadline is the
//!   earliest.
//! - Sleep gives no lead: a thread comes back with the *lag* that it went with, what the average had beyond it, or it beyond
//!   the average, two slices or a tick at most (PLACE_LAG).
//! - A yield moves one's own deadline back by a slice. Who alone is eligible goes on. Since 6.18 a yield gives up what is left
//!   of the slice as well, so that a thread that was level is not eligible any more.
//! - A slice that is over ends when the clock ticks, or when somebody is woken on that CPU: the system looks at no other time.
//!   Without a tick, it ends at once.
//! - Since 6.12 a thread that goes to sleep after it has had more than the average is *in debt*, and counts as before. It
//!   leaves once it would be the next to run, and owes nothing then. If it is woken before, it waits for the same CPU.
//!
//! All threads weigh the same. The first slice of a thread is half as long, which the kernel meant from the beginning and does
//! since 6.12; and of two threads with one deadline the one that waits is next, as since 6.8. Left out: slices of different
//! lengths, buddies, and that a thread which moves keeps what is left of its slice (PLACE_REL_DEADLINE).

use super::Engine;
use super::cpu::FIRST_VRUNTIME;
use super::thread::Phase;
use crate::machine::{Eevdf, Policy};

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
            Policy::Eevdf(Eevdf { slice_ps, .. }) => Some(slice_ps),
            Policy::Fair { .. } | Policy::Quantum { .. } => None,
        }
    }

    fn load(&self, cpu: u32) -> Load {
        let state = &self.cpus[cpu as usize];
        let queue = state.queue.iter().chain(&state.in_debt).map(|&thread| self.threads[thread as usize].vruntime);
        queue.chain(self.running_vruntime(cpu)).fold(Load { sum: 0, n: 0 }, Load::with)
    }

    /// Who is to have the CPU: the one that has it, one that waits, or `more`, which is about to wait. One that sleeps in
    /// debt is among them.
    pub(super) fn earliest(&self, cpu: u32, more: Option<u32>) -> Option<u32> {
        let state = &self.cpus[cpu as usize];
        let vruntime = |thread: u32| self.threads[thread as usize].vruntime;
        let load = more.into_iter().fold(self.load(cpu), |load, thread| load.with(vruntime(thread)));
        let running = state.running.zip(self.running_vruntime(cpu));
        let running = running.filter(|&(_, had)| load.is_eligible(had)).map(|(thread, _)| thread);
        if let Some(thread) = running.filter(|&thread| self.threads[thread as usize].is_protected) {
            return Some(thread);
        }
        let others = state
            .queue
            .iter()
            .chain(&state.in_debt)
            .copied()
            .chain(more)
            .filter(|&thread| load.is_eligible(vruntime(thread)));
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

    /// The slice of the thread that has the CPU is over: it gets a new one, and the thread that is to have the CPU is
    /// another matter. True if it goes on.
    pub(super) fn renew_slice(&mut self, cpu: u32, slice_ps: u64) -> bool {
        let Some(running) = self.cpus[cpu as usize].running else { return true };
        let had = self.running_vruntime(cpu).unwrap_or(0);
        let this = &mut self.threads[running as usize];
        (this.slice_until, this.is_protected) = (had + slice_ps, false);
        self.earliest_awake(cpu) == Some(running)
    }

    /// The running thread yields; true if another one is to have the CPU for it.
    pub(super) fn puts_off(&mut self, thread: u32, cpu: u32, eevdf: Eevdf) -> bool {
        let had = self.running_vruntime(cpu).unwrap_or(0);
        let forfeits = eevdf.yield_forfeits && self.load(cpu).is_eligible(had);
        let this = &mut self.threads[thread as usize];
        if forfeits {
            this.vruntime += this.slice_until.saturating_sub(had);
        }
        if forfeits || !eevdf.yield_forfeits {
            this.slice_until += eevdf.slice_ps;
        }
        this.is_protected = false;
        self.earliest_awake(cpu) != Some(thread)
    }

    /// The running thread is about to leave its CPU for longer: it takes along by how much it is behind the average. If it
    /// is before it, and the system is one that delays this, it counts until the others have caught up.
    pub(super) fn keep_lag(&mut self, thread: u32, cpu: u32) {
        let (Policy::Eevdf(eevdf), Some(had)) = (self.machine.os.policy, self.running_vruntime(cpu)) else { return };
        let lag = bounded(self.load(cpu).average() - since_first(had), eevdf);
        let this = &mut self.threads[thread as usize];
        this.lag = lag;
        if eevdf.delays_dequeue && lag < 0 && this.phase == Phase::Asleep {
            self.cpus[cpu as usize].in_debt.push(thread);
        }
    }

    /// Who is to have the CPU, once those that sleep, and would have it now, have left for good.
    pub(super) fn earliest_awake(&mut self, cpu: u32) -> Option<u32> {
        loop {
            let next = self.earliest(cpu, None)?;
            if !self.is_in_debt(next, cpu) {
                return Some(next);
            }
            self.cpus[cpu as usize].in_debt.retain(|&thread| thread != next);
            self.threads[next as usize].lag = 0;
        }
    }

    pub(super) fn is_in_debt(&self, thread: u32, cpu: u32) -> bool {
        self.cpus.get(cpu as usize).is_some_and(|state| state.in_debt.contains(&thread))
    }

    /// A thread that sleeps in debt is woken: it waits for the CPU that it was on, whatever else is idle.
    pub(super) fn wake_in_debt(&mut self, thread: u32, cpu: u32) {
        let load = self.load(cpu);
        self.cpus[cpu as usize].in_debt.retain(|&other| other != thread);
        let had = self.threads[thread as usize].vruntime;
        if let Some(slice_ps) = self.eevdf_slice().filter(|_| load.average() > since_first(had)) {
            // What it owed is paid, and it has nothing to its credit.
            self.threads[thread as usize].lag = 0;
            self.place_by_lag(thread, cpu, slice_ps);
        }
        self.queue_woken(thread, cpu);
    }

    /// Where the clock ticks: whether the slice of the thread that has the CPU, for which others wait, is over. Then it has
    /// a new one.
    pub(super) fn is_slice_over(&mut self, cpu: u32) -> bool {
        let Policy::Eevdf(eevdf) = self.machine.os.policy else { return false };
        let state = &self.cpus[cpu as usize];
        let (Some(running), false) = (state.running, state.queue.is_empty()) else { return false };
        let is_over = eevdf.tick_ps > 0 && self.slice_left(cpu).is_none();
        if is_over {
            let had = self.running_vruntime(cpu).unwrap_or(0);
            let this = &mut self.threads[running as usize];
            (this.slice_until, this.is_protected) = (had + eevdf.slice_ps, false);
        }
        is_over
    }

    /// A thread that waits for `from`, and is in its queue no more, takes its lag to another CPU. One that sleeps has it.
    pub(super) fn take_lag_along(&mut self, thread: u32, from: u32, to: u32, eevdf: Eevdf) {
        let (phase, had) = (self.threads[thread as usize].phase, self.threads[thread as usize].vruntime);
        if matches!(phase, Phase::Asleep | Phase::Called) {
            return;
        }
        let average = self.load(from).with(had).average();
        self.threads[thread as usize].lag = bounded(average - since_first(had), eevdf);
        self.place_by_lag(thread, to, eevdf.slice_ps);
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

/// A lag is two slices at most, or a tick if that is more; or minus as much.
fn bounded(lag: i128, eevdf: Eevdf) -> i128 {
    let most = i128::from(eevdf.tick_ps.max(2 * eevdf.slice_ps));
    lag.clamp(-most, most)
}

impl Eevdf {
    /// When the system looks whether a slice is over that is over at this time.
    pub(super) fn at_tick(self, time: u64) -> u64 {
        if self.tick_ps == 0 { time } else { time.next_multiple_of(self.tick_ps) }
    }
}
