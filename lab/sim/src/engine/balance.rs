//! Evening out: from time to time threads move to CPUs that have less to do, or that are better.

use super::Engine;
use super::thread::{Phase, Thread};

impl Engine {
    /// Idle CPUs take what waits elsewhere, and better CPUs that are idle what runs on worse ones.
    pub(crate) fn balance(&mut self) {
        debug_assert_eq!(self.inconsistency(), None);
        for cpu in 0..self.cpus.len() as u32 {
            if !self.cpus[cpu as usize].is_idle() {
                continue;
            }
            if let Some(thread) = self.pull_at_tick(cpu) {
                self.switch_to(thread, cpu, self.now);
            } else {
                self.pull_running(cpu);
            }
        }
        self.even_out();
    }

    /// Moves a running thread from a worse CPU to this one, which is idle.
    fn pull_running(&mut self, to: u32) {
        let rank = self.cpus[to as usize].rank;
        let is_worse = |&from: &u32| {
            let state = &self.cpus[from as usize];
            let running = state.running.map(|thread| &self.threads[thread as usize]);
            let may_move = |this: &Thread| this.pin.is_none() && this.phase == Phase::Resume && !this.keeps_cpu;
            state.rank > rank && running.is_some_and(may_move)
        };
        let worst = (0..self.cpus.len() as u32).filter(is_worse).max_by_key(|&from| self.cpus[from as usize].rank);
        let Some(from) = worst else { return };
        let thread = self.cpus[from as usize].running.expect("it was chosen for the thread that it runs");
        let slot = self.first_thread_slot + 2 * thread as usize;
        let on_since = self.threads[thread as usize].on_since;
        if on_since > self.now {
            return;
        }
        self.threads[thread as usize].rest = self.times.of(slot) - self.now;
        self.clear_thread(thread);
        self.get_off(thread, self.now);
        self.rebase(thread, from, to);
        self.next_thread(from, self.now);
        self.switch_to(thread, to, self.now);
    }

    /// Moves one thread from the longest queue to the shortest, if they differ by two or more.
    fn even_out(&mut self) {
        if self.n_ready < 2 || !self.evens_out_now() {
            return;
        }
        let length = |&cpu: &u32| self.cpus[cpu as usize].queue.len();
        let all = 0..self.cpus.len() as u32;
        let movable = |&cpu: &u32| {
            self.cpus[cpu as usize].queue.iter().position(|&thread| self.threads[thread as usize].pin.is_none())
        };
        let longest = all.clone().filter(|cpu| movable(cpu).is_some()).max_by_key(length);
        let (Some(longest), Some(shortest)) = (longest, all.min_by_key(length)) else { return };
        let Some(place) = movable(&longest).filter(|_| length(&longest) >= length(&shortest) + 2) else { return };
        let thread = self.cpus[longest as usize].queue.remove(place);
        self.n_ready -= 1;
        self.rebase(thread, longest, shortest);
        let off_since = self.threads[thread as usize].off_since;
        self.queue_up(thread, shortest);
        self.threads[thread as usize].off_since = off_since;
    }
}
