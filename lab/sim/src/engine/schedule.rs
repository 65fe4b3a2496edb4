//! Who is on which CPU: queues, slices, placement of woken threads.

use super::cpu::PreemptionCause;
use super::thread::{NO_CPU, Phase};
use super::times::NEVER;
use super::{Engine, OBSERVER};
use crate::machine::{CoreKind, Policy};
use crate::timeline::ThreadEvent;

impl Engine {
    pub(crate) fn kind_of_current(&self) -> &CoreKind {
        let cpu = self.threads[self.current as usize].cpu;
        // The observer has no CPU; where it needs one for a figure, it is the first.
        let cpu = if cpu == NO_CPU { 0 } else { cpu };
        &self.machine.kinds[self.cpus[cpu as usize].kind as usize]
    }

    /// The running thread does something that only it can see, which takes this long on an idle machine.
    #[inline]
    pub(crate) fn spend_work(&mut self, ps: u64) {
        let ps = self.slowed(ps);
        self.threads[self.current as usize].clock += ps;
    }

    /// The same by the sibling's doings (M1) and by how many CPUs are busy.
    #[inline]
    fn slowed(&self, ps: u64) -> u64 {
        let thread = &self.threads[self.current as usize];
        if thread.cpu == NO_CPU {
            return ps;
        }
        let cpu = &self.cpus[thread.cpu as usize];
        let kind = &self.machine.kinds[cpu.kind as usize];
        let mut ps = ps;
        if kind.derate > 0 && self.cpus.len() > 1 {
            let busy = u64::from(self.n_busy.max(1) - 1);
            ps += ps * u64::from(kind.derate) * busy / (1000 * (self.cpus.len() as u64 - 1));
        }
        if let Some(sibling) = cpu.sibling {
            let other = &self.cpus[sibling as usize];
            if other.running.is_some() {
                let is_pausing = other.pausing_until > thread.clock;
                ps = ps * u64::from(if is_pausing { kind.smt_pausing } else { kind.smt_slowdown }) / 1000;
            }
        }
        ps
    }

    /// The hardware thread that the running thread is on; the first for the observer.
    pub(crate) fn cpu_of_current(&self) -> u32 {
        let cpu = self.threads[self.current as usize].cpu;
        if cpu == NO_CPU { 0 } else { cpu }
    }

    /// Whether a thread has a CPU. One that there is not has none.
    pub(crate) fn is_on_cpu(&self, thread: u32) -> bool {
        let cpu = self.threads.get(thread as usize).map_or(NO_CPU, |this| this.cpu);
        self.cpus.get(cpu as usize).is_some_and(|state| state.running == Some(thread))
    }

    /// CPU time up to now.
    pub(crate) fn cpu_ps_so_far(&self) -> u64 {
        let running = self.cpus.iter().filter_map(|state| state.running);
        let since = |thread: u32| self.now.saturating_sub(self.threads[thread as usize].on_since);
        self.cpu_ps + running.map(since).sum::<u64>()
    }

    /// Whether what the sibling does may change how long the running thread's work takes.
    pub(crate) fn has_sibling(&self) -> bool {
        let cpu = self.threads[self.current as usize].cpu;
        cpu != NO_CPU && self.cpus[cpu as usize].sibling.is_some()
    }

    /// The running thread pauses so many times (P1).
    #[inline]
    pub(crate) fn pause(&mut self, times: u64) {
        let kind = self.kind_of_current();
        let (pause_ps, jitter) = (u64::from(kind.pause_ps), kind.pause_jitter);
        let thread = &mut self.threads[self.current as usize];
        let ps = thread.pauses.about_in_all(times, pause_ps, jitter);
        self.pause_for(ps);
    }

    /// The running thread pauses for so long.
    #[inline]
    pub(crate) fn pause_for(&mut self, ps: u64) {
        let thread = &mut self.threads[self.current as usize];
        thread.clock += ps;
        let (clock, cpu) = (thread.clock, thread.cpu);
        if cpu != NO_CPU {
            self.cpus[cpu as usize].pausing_until = clock;
        }
        if self.timeline.is_some() {
            self.record_at(self.current, clock, ThreadEvent::Paused { for_ps: ps });
        }
    }

    /// The time of a thread has come.
    pub(crate) fn thread_event(&mut self, thread: u32) {
        let (phase, cpu) = (self.threads[thread as usize].phase, self.threads[thread as usize].cpu);
        match phase {
            Phase::Resume => match self.must_switch(thread, cpu) {
                Some(loss) => self.preempt(cpu, loss),
                None => self.turn = Some(thread),
            },
            Phase::FallsAsleep => self.fell_asleep(thread),
            Phase::Asleep => self.wake_by_deadline(thread),
            Phase::Called => self.wake_thread(thread, Some(self.threads[thread as usize].caller), self.now),
            Phase::Wakes => {
                self.cpus[cpu as usize].is_expected = false;
                self.take_cpu(thread, cpu, self.now);
            }
            Phase::Asks | Phase::Drains | Phase::NeedsRoom | Phase::Ready | Phase::Gone => {
                unreachable!("a thread that {phase:?} has no time of its own")
            }
        }
    }

    /// A thread that was just started gets the best idle CPU, or the shortest queue.
    pub(crate) fn place_new(&mut self, thread: u32) {
        let now = self.now;
        let idle = |cpu: &&u32| self.cpus[**cpu as usize].is_idle();
        let all: Vec<u32> = match self.threads[thread as usize].pin {
            Some(pin) => vec![pin],
            None => (0..self.cpus.len() as u32).collect(),
        };
        let best = all.iter().filter(idle).min_by_key(|&&cpu| (self.cpus[cpu as usize].rank, cpu));
        let shortest = || all.iter().min_by_key(|&&cpu| (self.cpus[cpu as usize].queue.len(), cpu));
        let is_idle = best.is_some();
        let cpu = *best.or_else(shortest).expect("there is at least one CPU");
        self.threads[thread as usize].vruntime = self.least_vruntime(cpu);
        if let Some(slice_ps) = self.eevdf_slice() {
            self.place_by_lag(thread, cpu, slice_ps);
            // The first one is half as long, so that it gets to run soon.
            self.threads[thread as usize].slice_until -= slice_ps / 2;
        }
        if is_idle {
            self.take_cpu(thread, cpu, now);
        } else {
            self.threads[thread as usize].cpu = cpu;
            self.queue_up(thread, cpu);
        }
    }

    /// The thread is on the CPU from `at` on, and goes on with what is left of what it was doing.
    pub(crate) fn take_cpu(&mut self, thread: u32, cpu: u32, at: u64) {
        self.n_busy += 1;
        let state = &mut self.cpus[cpu as usize];
        debug_assert!(state.running.is_none(), "two threads on one CPU");
        state.busy.was(false, at);
        (state.running, state.must_switch, state.pausing_until) = (Some(thread), None, 0);
        let core = state.core;
        let is_queued = state.has_others();
        let this = &mut self.threads[thread as usize];
        (this.cpu, this.core, this.on_since, this.is_protected) = (cpu, core, at, true);
        this.phase = Phase::Resume;
        let rest = std::mem::take(&mut this.rest);
        self.set_thread(thread, at + rest);
        if is_queued {
            self.start_slice(cpu);
        }
        self.note(at ^ u64::from(cpu) << 52);
        self.record_at(thread, at, ThreadEvent::Runs { cpu });
    }

    /// The thread is off its CPU from `at` on, which goes to the next.
    pub(crate) fn leave_cpu(&mut self, thread: u32, at: u64) {
        self.keep_lag(thread, self.threads[thread as usize].cpu);
        let cpu = self.get_off(thread, at);
        self.next_thread(cpu, at);
    }

    /// The thread is off its CPU, which it tells, and which nobody has yet.
    pub(super) fn get_off(&mut self, thread: u32, at: u64) -> u32 {
        let this = &mut self.threads[thread as usize];
        let (cpu, had) = (this.cpu, at - this.on_since);
        this.vruntime += had;
        this.slice_left = None;
        // What it has had is counted: nothing since.
        (this.last_ran, this.off_since, this.on_since) = (at, at, at);
        self.cpu_ps += had;
        self.n_switches += 1;
        self.n_busy -= 1;
        self.least_vruntime(cpu);
        let state = &mut self.cpus[cpu as usize];
        state.busy.was(true, at);
        (state.running, state.must_switch, state.idle_since) = (None, None, at);
        self.times.clear(cpu as usize);
        cpu
    }

    /// The CPU is free: the next thread in its queue gets it, or one of another CPU's queue.
    pub(super) fn next_thread(&mut self, cpu: u32, at: u64) {
        let next = self.pick(cpu, None).or_else(|| self.look_for_work(cpu));
        if let Some(thread) = next {
            self.switch_to(thread, cpu, at);
        }
    }

    /// The CPU switches to the thread.
    pub(super) fn switch_to(&mut self, thread: u32, cpu: u32, at: u64) {
        let switch_ps = u64::from(self.machine.os.switch_ps);
        // The switch is the CPU's time, but not yet the thread's.
        self.cpu_ps += switch_ps;
        self.take_cpu(thread, cpu, at + switch_ps);
    }

    /// Takes the next thread out of the queue, which is not `but`.
    fn pick(&mut self, cpu: u32, but: Option<u32>) -> Option<u32> {
        self.least_vruntime(cpu);
        let next = self.eevdf_slice().and_then(|_| self.earliest_awake(cpu));
        let queue = &self.cpus[cpu as usize].queue;
        let threads = &self.threads;
        let mut places = (0..queue.len()).filter(|&place| Some(queue[place]) != but);
        let place = match self.machine.os.policy {
            Policy::Fair { .. } => places.min_by_key(|&place| (threads[queue[place] as usize].vruntime, place)),
            Policy::Eevdf(_) => places.find(|&place| Some(queue[place]) == next),
            Policy::Quantum { starved_ps, .. } => {
                let next = self.next_in_turn(cpu, but, starved_ps);
                places.find(|&place| Some(queue[place]) == next)
            }
        }?;
        let thread = self.cpus[cpu as usize].queue.remove(place);
        self.n_ready -= 1;
        self.boost_starved(thread);
        Some(thread)
    }

    /// Takes a thread out of the longest queue of another CPU, one that has not run for `cold_ps`.
    pub(super) fn pull(&mut self, to: u32, cold_ps: u64) -> Option<u32> {
        if self.n_ready == 0 {
            return None;
        }
        let node = self.cpus[to as usize].node;
        let now = self.now;
        let may_move = |thread: &u32| {
            let this = &self.threads[*thread as usize];
            this.pin.is_none() && now.saturating_sub(this.last_ran) >= cold_ps
        };
        let longest = (0..self.cpus.len() as u32)
            .filter(|&cpu| cpu != to && self.cpus[cpu as usize].queue.iter().any(may_move))
            .max_by_key(|&cpu| {
                let state = &self.cpus[cpu as usize];
                (state.queue.len(), state.node == node, std::cmp::Reverse(cpu))
            })?;
        let place = self.cpus[longest as usize].queue.iter().position(may_move)?;
        let thread = self.cpus[longest as usize].queue.remove(place);
        self.n_ready -= 1;
        self.rebase(thread, longest, to);
        Some(thread)
    }

    /// Lead and lag are of one CPU's queue: a thread that moves takes its own along.
    pub(super) fn rebase(&mut self, thread: u32, from: u32, to: u32) {
        if let Policy::Eevdf(eevdf) = self.machine.os.policy {
            return self.take_lag_along(thread, from, to, eevdf);
        }
        let (old, new) = (self.least_vruntime(from), self.least_vruntime(to));
        let this = &mut self.threads[thread as usize];
        this.vruntime = (this.vruntime + new).saturating_sub(old);
    }

    /// The thread waits for this CPU.
    pub(super) fn queue_up(&mut self, thread: u32, cpu: u32) {
        let at = self.now;
        let this = &mut self.threads[thread as usize];
        (this.phase, this.cpu, this.off_since) = (Phase::Ready, cpu, at);
        self.clear_thread(thread);
        self.record_at(thread, at, ThreadEvent::Waits);
        let state = &mut self.cpus[cpu as usize];
        state.queue.push(thread);
        self.n_ready += 1;
        if state.running.is_some() {
            self.start_slice(cpu);
        } else if !state.is_expected {
            self.next_thread(cpu, at);
        }
    }

    /// Somebody waits for the CPU: the running thread keeps it for a slice at most.
    fn start_slice(&mut self, cpu: u32) {
        if self.times.of(cpu as usize) != NEVER {
            return;
        }
        let state = &self.cpus[cpu as usize];
        let Some(running) = state.running else { return };
        let n = state.queue.len() as u64 + 1;
        let on_since = self.threads[running as usize].on_since;
        let end = match self.machine.os.policy {
            Policy::Fair { latency_ps, slice_ps, .. } => on_since + (latency_ps / n).max(slice_ps),
            Policy::Quantum { quantum_ps, .. } => {
                on_since + self.threads[running as usize].slice_left.unwrap_or(quantum_ps)
            }
            Policy::Eevdf(eevdf) => eevdf.at_tick(self.slice_end(running, cpu, eevdf.slice_ps)),
        };
        self.times.set(cpu as usize, end.max(self.now));
    }

    /// The slice of the running thread is over.
    pub(crate) fn slice_is_over(&mut self, cpu: u32) {
        let state = &self.cpus[cpu as usize];
        let Some(mine) = self.running_vruntime(cpu).filter(|_| state.has_others()) else { return };
        if let Policy::Eevdf(eevdf) = self.machine.os.policy {
            if let Some(left) = self.slice_left(cpu) {
                return self.times.set(cpu as usize, eevdf.at_tick(self.now + left));
            }
            if self.renew_slice(cpu, eevdf.slice_ps) {
                return self.times.set(cpu as usize, eevdf.at_tick(self.now + eevdf.slice_ps));
            }
            return self.preempt(cpu, PreemptionCause::SliceOver);
        }
        let is_fair = matches!(self.machine.os.policy, Policy::Fair { .. });
        let theirs = state.queue.iter().map(|&thread| self.threads[thread as usize].vruntime).min();
        if is_fair && theirs.is_some_and(|theirs| theirs > mine) {
            let Policy::Fair { slice_ps, .. } = self.machine.os.policy else { return };
            return self.times.set(cpu as usize, self.now + slice_ps);
        }
        self.preempt(cpu, PreemptionCause::SliceOver);
    }

    /// The thread that has the CPU goes into its queue, and the next one gets it.
    pub(super) fn give_up(&mut self, thread: u32, loss: PreemptionCause) {
        let at = self.now.max(self.threads[thread as usize].on_since);
        let slice_ends = self.times.of(self.threads[thread as usize].cpu as usize);
        let cpu = self.get_off(thread, at);
        let is_quantum = matches!(self.machine.os.policy, Policy::Quantum { .. });
        if is_quantum && loss == PreemptionCause::Preempted {
            let left = (slice_ends != NEVER).then(|| slice_ends.saturating_sub(at));
            self.threads[thread as usize].slice_left = left.filter(|&left| left > 0);
            self.line_up(thread, cpu, at, 0);
        } else {
            self.line_up(thread, cpu, at, self.cpus[cpu as usize].queue.len());
        }
        self.next_thread(cpu, at);
    }

    /// The thread, which is off its CPU, goes to this place of the queue.
    fn line_up(&mut self, thread: u32, cpu: u32, at: u64, place: usize) {
        self.threads[thread as usize].phase = Phase::Ready;
        self.cpus[cpu as usize].queue.insert(place, thread);
        self.n_ready += 1;
        self.record_at(thread, at, ThreadEvent::Waits);
    }

    /// `sched_yield`: the next thread gets the CPU. True if somebody did.
    ///
    /// CFS passes the thread over this once, and changes nothing in what it has had; and it does not pass over one that has
    /// had less than the next by more than what would let a woken thread take the CPU (`pick_next_entity`). EEVDF moves its
    /// deadline ([`puts_off`](Engine::puts_off)), and where each has its turn, it goes behind all.
    pub(crate) fn yield_cpu(&mut self) -> bool {
        let me = self.current;
        let cpu = self.threads[me as usize].cpu;
        if me == OBSERVER || self.cpus[cpu as usize].queue.is_empty() || self.is_far_behind(cpu) {
            return false;
        }
        if let Policy::Eevdf(eevdf) = self.machine.os.policy
            && !self.puts_off(me, cpu, eevdf)
        {
            return false;
        }
        let at = self.now.max(self.threads[me as usize].on_since);
        self.threads[me as usize].is_boosted = false;
        self.get_off(me, at);
        // First into the queue: it is passed over, but what it has had may be the least.
        self.line_up(me, cpu, at, self.cpus[cpu as usize].queue.len());
        if let Some(next) = self.pick(cpu, Some(me)) {
            self.switch_to(next, cpu, at);
        }
        true
    }

    /// Whether the thread that has the CPU is so far behind all that wait for it that a fair system lets it go on.
    fn is_far_behind(&self, cpu: u32) -> bool {
        let Policy::Fair { wakeup_granularity_ps, .. } = self.machine.os.policy else { return false };
        let theirs = self.cpus[cpu as usize].queue.iter().map(|&thread| self.threads[thread as usize].vruntime).min();
        let mine = self.running_vruntime(cpu);
        theirs.zip(mine).is_some_and(|(theirs, mine)| theirs > mine + wakeup_granularity_ps)
    }

    /// Makes a sleeping thread run: on an idle CPU after the latency of a wake, or in a queue. The waker is `by`, and is
    /// done with the call at `at`.
    pub(crate) fn wake_thread(&mut self, thread: u32, by: Option<u32>, at: u64) {
        if thread == OBSERVER {
            self.threads[thread as usize].phase = Phase::Resume;
            return self.set_thread(thread, at);
        }
        let this = &mut self.threads[thread as usize];
        this.off_since = at;
        this.load.was(false, at);
        self.record_at(thread, at, ThreadEvent::Woken { by: by.and_then(|by| by.checked_sub(1)) });
        self.threads[thread as usize].is_boosted = true;
        let waker_cpu = by.filter(|&by| by != OBSERVER).map(|by| self.threads[by as usize].cpu);
        let prev = self.threads[thread as usize].cpu;
        if self.is_in_debt(thread, prev) {
            return self.wake_in_debt(thread, prev);
        }
        match self.choose_idle(thread, prev, waker_cpu) {
            Some(cpu) => {
                if cpu != prev {
                    self.rebase(thread, prev, cpu);
                }
                self.place_woken(thread, cpu);
                self.cpus[cpu as usize].is_expected = true;
                let is_nap = self.threads[thread as usize].is_nap;
                let latency = if is_nap { 0 } else { self.wake_latency(thread, cpu, at) };
                let this = &mut self.threads[thread as usize];
                (this.phase, this.cpu) = (Phase::Wakes, cpu);
                self.set_thread(thread, at + latency);
            }
            None => self.wake_into_queue(thread, prev, waker_cpu),
        }
    }

    /// No CPU is idle: the thread queues on its own, or on its waker's; and takes it at once if the rules say so.
    fn wake_into_queue(&mut self, thread: u32, prev: u32, waker: Option<u32>) {
        let pin = self.threads[thread as usize].pin;
        let affine = waker.filter(|&waker| self.machine.os.wake_affine && self.is_drawn_to(waker, thread, prev));
        let cpu = pin.or(affine).unwrap_or(prev);
        if cpu != prev {
            self.rebase(thread, prev, cpu);
        }
        self.place_woken(thread, cpu);
        self.queue_woken(thread, cpu);
    }

    /// The woken thread, which has its place, goes into the queue, or takes the CPU at once if the rules say so.
    pub(super) fn queue_woken(&mut self, thread: u32, cpu: u32) {
        let is_over = self.is_slice_over(cpu);
        let takes_it = match self.machine.os.policy {
            Policy::Fair { wakeup_granularity_ps, .. } => {
                let mine = self.threads[thread as usize].vruntime;
                self.running_vruntime(cpu).is_some_and(|theirs| theirs > mine + wakeup_granularity_ps)
            }
            Policy::Eevdf(_) => self.earliest(cpu, Some(thread)) == Some(thread),
            Policy::Quantum { boost, .. } => {
                boost && self.cpus[cpu as usize].running.is_some_and(|other| !self.threads[other as usize].is_boosted)
            }
        };
        self.queue_up(thread, cpu);
        let takes_it = takes_it || is_over && self.earliest_awake(cpu) != self.cpus[cpu as usize].running;
        if takes_it && self.threads[thread as usize].phase == Phase::Ready {
            self.preempt(cpu, PreemptionCause::Preempted);
        }
    }

    /// A thread that slept may be behind by half a latency, not by all that it has missed (`place_entity`).
    fn place_woken(&mut self, thread: u32, cpu: u32) {
        if let Some(slice_ps) = self.eevdf_slice() {
            return self.place_by_lag(thread, cpu, slice_ps);
        }
        let Policy::Fair { latency_ps, .. } = self.machine.os.policy else { return };
        let least = self.least_vruntime(cpu).saturating_sub(latency_ps / 2);
        let this = &mut self.threads[thread as usize];
        this.vruntime = this.vruntime.max(least);
    }

    /// The least that anybody on the CPU has had; it never goes back.
    pub(super) fn least_vruntime(&mut self, cpu: u32) -> u64 {
        let queue = self.cpus[cpu as usize].queue.iter().map(|&thread| self.threads[thread as usize].vruntime);
        let now = queue.chain(self.running_vruntime(cpu)).min();
        let least = &mut self.cpus[cpu as usize].least_vruntime;
        *least = (*least).max(now.unwrap_or(0));
        *least
    }

    pub(super) fn running_vruntime(&self, cpu: u32) -> Option<u64> {
        let this = &self.threads[self.cpus[cpu as usize].running? as usize];
        Some(this.vruntime + self.now.saturating_sub(this.on_since))
    }
}
