//! Idle CPUs: who finds one, and what one finds.
//!
//! Without [`newidle`](crate::machine::Os::newidle), a woken thread finds any idle CPU of its node, and an idle CPU any thread
//! that waits. With it, the rules are those of Linux (`kernel/sched/fair.c` of 6.18):
//!
//! - A thread that is woken stays on the CPU that it was on, if that is idle. Otherwise the system looks for another idle
//!   one, at the fewer CPUs the busier those around are, and at none beyond some 60 % for two of them (`SIS_UTIL`).
//! - A CPU that falls idle seldom looks for threads that wait elsewhere: as often as that helped before, which
//!   `newidle` stands for (`NI_RANDOM`). It takes none that ran just before.
//! - At the tick an idle CPU looks as well, and from the third look on takes any thread (`cache_nice_tries`).
//! - Busy CPUs are evened out at each sixteenth look only (`busy_factor`).
//!
//! Left out: the CPU that a thread was on before its last one (`recent_used_cpu`), the weight of what idles shortly
//! (`avg_idle`), that intervals between looks grow, and groups of CPUs: all of a node count as one.

use super::Engine;
use super::recent_share::ALL;
use super::thread::{Phase, Thread};

/// How much of the queues' capacity counts as full, in thousandths: `imbalance_pct`.
const FULL: u64 = 1170;
/// How much of that is beyond all, and half of it.
const HALF_OF_SPARE: u64 = (FULL - ALL) / 2;
/// Looks at which an idle CPU leaves threads alone that ran just before.
const MOST_LOOKS_IN_VAIN: u32 = 2;
/// Busy CPUs look so much less often than idle ones.
const BUSY_FACTOR: u64 = 16;

impl Engine {
    /// The idle CPU that a woken thread gets: its own, mostly; else one near it, or near its waker.
    pub(super) fn choose_idle(&mut self, thread: u32, prev: u32, waker: Option<u32>) -> Option<u32> {
        if let Some(pin) = self.threads[thread as usize].pin {
            return self.cpus[pin as usize].is_idle().then_some(pin);
        }
        if let Some(faster) = self.idle_and_faster(prev) {
            return Some(faster);
        }
        let prev_is_idle = self.cpus[prev as usize].is_idle();
        let stays = prev_is_idle && self.placement.below(1000) >= self.machine.os.move_on_wake;
        if stays || self.n_busy as usize >= self.cpus.len() || !self.searches_idle(prev) {
            return prev_is_idle.then_some(prev);
        }
        let nodes = [Some(prev), waker].map(|cpu| cpu.map(|cpu| self.cpus[cpu as usize].node));
        for node in nodes.into_iter().flatten() {
            let found = self.idle_in(node, prev);
            if found.is_some() {
                return found;
            }
        }
        prev_is_idle.then_some(prev)
    }

    /// An idle CPU of a faster kind, for systems that give these away first.
    fn idle_and_faster(&self, than: u32) -> Option<u32> {
        if !self.machine.os.wake_fastest {
            return None;
        }
        let kind = self.cpus[than as usize].kind;
        let is_faster = |&cpu: &u32| self.cpus[cpu as usize].kind < kind && self.cpus[cpu as usize].is_idle();
        (0..self.cpus.len() as u32).find(is_faster)
    }

    /// One of the idle CPUs of a node that the system would fill first, and not `but`.
    fn idle_in(&mut self, node: u32, but: u32) -> Option<u32> {
        let idle = |cpu: &u32| {
            let state = &self.cpus[*cpu as usize];
            *cpu != but && state.node == node && state.is_idle()
        };
        // A core's second hardware thread is the last resort; P and E cores are alike to a waker that looks for an idle one.
        let has_idle_core = |cpu: &u32| {
            let sibling = self.cpus[*cpu as usize].sibling;
            sibling.is_none_or(|sibling| self.cpus[sibling as usize].is_idle())
        };
        let all: Vec<u32> = (0..self.cpus.len() as u32).filter(idle).collect();
        let whole: Vec<u32> = all.iter().copied().filter(has_idle_core).collect();
        let from = if whole.is_empty() { all } else { whole };
        let drawn = (!from.is_empty()).then(|| self.placement.below(from.len() as u32));
        drawn.map(|drawn| from[drawn as usize])
    }

    /// Whether the system looks for an idle CPU around `near`, which is busy.
    fn searches_idle(&self, near: u32) -> bool {
        if self.machine.os.newidle.is_none() {
            return true;
        }
        let node = self.cpus[near as usize].node;
        let around = self.cpus.iter().filter(|state| state.node == node);
        let now = around.map(|state| state.busy.now(state.running.is_some(), self.now));
        let (sum, n) = now.fold((0, 0), |(sum, n), each| (sum + each, n + 1));
        let used = (sum / n) * FULL / ALL;
        let spare = (ALL * ALL).saturating_sub(used * used);
        spare * n >= ALL * ALL
    }

    /// Whether a woken thread, for which no CPU is idle, queues on that of its waker: if that one had less to do of late,
    /// the thread's own part on either side (`wake_affine_weight`).
    pub(super) fn is_drawn_to(&self, waker: u32, thread: u32, prev: u32) -> bool {
        if self.machine.os.newidle.is_none() {
            let length =
                |cpu: u32| self.cpus[cpu as usize].queue.len() + usize::from(self.cpus[cpu as usize].is_expected);
            return length(waker) < length(prev);
        }
        let load_of = |this: &Thread| this.load.now(!matches!(this.phase, Phase::Asleep | Phase::Called), self.now);
        let load = |cpu: u32| self.threads.iter().filter(|this| this.cpu == cpu).map(load_of).sum::<u64>();
        let own = load_of(&self.threads[thread as usize]);
        (load(waker) + own) * ALL < load(prev).saturating_sub(own) * (ALL + HALF_OF_SPARE)
    }

    /// The CPU falls idle: it may take a thread that waits elsewhere.
    pub(super) fn look_for_work(&mut self, cpu: u32) -> Option<u32> {
        if let Some(share) = self.machine.os.newidle
            && (self.n_ready == 0 || self.placement.below(ALL as u32) >= share)
        {
            return None;
        }
        self.pull(cpu, self.machine.os.cache_hot_ps)
    }

    /// The clock ticks, and the CPU is idle.
    pub(super) fn pull_at_tick(&mut self, cpu: u32) -> Option<u32> {
        let state = &mut self.cpus[cpu as usize];
        let takes_any = self.machine.os.newidle.is_none() || state.n_looks_in_vain >= MOST_LOOKS_IN_VAIN;
        state.n_looks_in_vain = if takes_any || self.n_ready == 0 { 0 } else { state.n_looks_in_vain + 1 };
        let found = self.pull(cpu, if takes_any { 0 } else { self.machine.os.cache_hot_ps });
        if found.is_some() {
            self.cpus[cpu as usize].n_looks_in_vain = 0;
        }
        found
    }

    /// Whether it is time to even out the queues of busy CPUs.
    pub(super) fn evens_out_now(&self) -> bool {
        let n_looks = self.now / self.machine.os.balance_ps;
        self.machine.os.newidle.is_none() || n_looks.is_multiple_of(BUSY_FACTOR)
    }
}
