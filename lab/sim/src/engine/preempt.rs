//! How a thread loses its CPU to another one, and how it keeps it for a while.

use super::Engine;
use super::cpu::PreemptionCause;
use super::thread::{NO_CPU, Phase};
use super::times::NEVER;

impl Engine {
    /// The running thread goes into the CPU's queue: now, or as soon as its request is answered and it can be
    /// preempted.
    pub(super) fn preempt(&mut self, cpu: u32, loss: PreemptionCause) {
        let Some(thread) = self.cpus[cpu as usize].running else { return };
        match self.threads[thread as usize].phase {
            Phase::Resume if !self.threads[thread as usize].keeps_cpu => (),
            // One that falls asleep leaves by itself, unless it is woken before.
            _ => return self.cpus[cpu as usize].must_switch = Some(loss),
        }
        let at = self.times.of(self.first_thread_slot + 2 * thread as usize);
        let this = &mut self.threads[thread as usize];
        this.rest = if at == NEVER { 0 } else { at - self.now.max(this.on_since).min(at) };
        this.is_boosted = false;
        self.clear_thread(thread);
        self.give_up(thread, loss);
    }

    /// Why the thread that has the CPU is to lose it now, if it is. The thread that waited may be gone: then it keeps
    /// it.
    pub(super) fn must_switch(&mut self, thread: u32, cpu: u32) -> Option<PreemptionCause> {
        if cpu == NO_CPU || self.threads[thread as usize].keeps_cpu {
            return None;
        }
        let state = &mut self.cpus[cpu as usize];
        state.must_switch.take().filter(|_| !state.queue.is_empty())
    }

    /// Says whether the running thread keeps its CPU from now on, until it sleeps; gives how that was before.
    pub(crate) fn keep_cpu(&mut self, keeps: bool) -> bool {
        std::mem::replace(&mut self.threads[self.current as usize].keeps_cpu, keeps)
    }

    /// Whether the running thread keeps its CPU.
    pub(crate) fn keeps_cpu(&self) -> bool {
        self.threads[self.current as usize].keeps_cpu
    }

    /// Whether the running thread is to lose its CPU as soon as it can be preempted.
    pub(crate) fn is_cpu_wanted(&self) -> bool {
        let state = self.cpus.get(self.threads[self.current as usize].cpu as usize);
        state.is_some_and(|state| state.must_switch.is_some() && !state.queue.is_empty())
    }

    /// Preempts the running thread if that was to be while it kept its CPU; true if it was.
    pub(crate) fn make_up_for_keeping(&mut self) -> bool {
        let (me, cpu) = (self.current, self.threads[self.current as usize].cpu);
        let loss = self.must_switch(me, cpu);
        if let Some(loss) = loss {
            self.preempt(cpu, loss);
        }
        loss.is_some()
    }
}
