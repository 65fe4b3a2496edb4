//! Atomic operations: hits at once, everything else as a request to the line.

use super::ahead::{LineMiss, RequestStart};
use super::lines::{Access, NONE, RequestCost};
use super::random::mix;
use super::thread::{CompletedOp, GrantedAction, Phase, Request};
use super::value::{Kind, Op, OpStart};
use super::{Engine, OBSERVER};
use crate::machine::Memory;
use crate::timeline;

impl Engine {
    /// Begins an operation of the running thread.
    #[inline]
    pub(crate) fn begin(&mut self, op: Op) -> OpStart {
        let me = self.current;
        let thread = &self.threads[me as usize];
        let (clock, core) = (thread.clock, thread.core);
        if clock > self.times.next() {
            self.wait_for_turn();
            return OpStart::Later;
        }
        if me == OBSERVER {
            // SAFETY: a reference to the word is what the operation was called with.
            return OpStart::Done(unsafe { op.apply() });
        }
        let access = op.access();
        if !thread.stores.is_empty()
            && let Some(begun) = self.past_own_stores(me, &op)
        {
            return begun;
        }
        let line = self.lines.find(op.address, core);
        let is_brought = access != Access::Load && self.is_brought_to_write(me, line);
        let is_wanted = self.lines.get(line).is_wanted();
        let is_lost = access != Access::Load && is_wanted && !is_brought && !self.can_write_again(me);
        let state = self.lines.get(line);
        if is_lost || !state.hits(core, access) {
            return self.miss(op, line);
        }
        if access != Access::Load {
            state.write_hit(core);
        }
        // SAFETY: a reference to the word is what the operation was called with.
        let before = unsafe { op.apply() };
        let cpu = self.threads[me as usize].cpu;
        let kind = &self.machine.kinds[self.cpus[cpu as usize].kind as usize];
        let mut cost = match access {
            Access::Load => kind.hit_ps,
            Access::Store => kind.store_ps,
            Access::Rmw | Access::CompareExchange => kind.rmw_ps,
        };
        if kind.sibling_ps > 0 && self.lines.get(line).used_by(cpu, access, self.cpus[cpu as usize].sibling) {
            cost += kind.sibling_ps;
        }
        self.made(me, clock, op, line, before);
        self.spend_work(cost.into());
        OpStart::Done(before)
    }

    /// The running thread has gone ahead of others: it goes on when its time has come.
    #[cold]
    pub(crate) fn wait_for_turn(&mut self) {
        let me = self.current;
        let thread = &mut self.threads[me as usize];
        thread.phase = Phase::Resume;
        let clock = thread.clock;
        self.set_thread(me, clock);
    }

    /// Whether the thread does not wait for the operation if its line is not there: for a store, and for an addition at the
    /// line's home whose result nobody takes (F2).
    fn is_posted(&self, op: &Op) -> bool {
        op.access() == Access::Store || self.is_count_at_home(op)
    }

    fn is_count_at_home(&self, op: &Op) -> bool {
        op.kind == Kind::Count && self.machine.memory.far_atomics.is_some()
    }

    /// An operation of a thread that has stores under way: a load of one of them is answered from there, another load goes
    /// past them, a store joins them, and everything else waits for them (S1, S2). So does a load of a word that is added
    /// to, as its value is not known.
    fn past_own_stores(&mut self, me: u32, op: &Op) -> Option<OpStart> {
        let hit_ps = u64::from(self.kind_of_current().hit_ps);
        let is_posted = self.is_posted(op);
        let thread = &mut self.threads[me as usize];
        if is_posted {
            if thread.stores.len() >= self.machine.memory.store_buffer as usize {
                thread.phase = Phase::NeedsRoom;
                return Some(OpStart::Later);
            }
            thread.stores.push_back(*op);
            self.spend_store();
            return Some(OpStart::Done(0));
        }
        if op.access() == Access::Load {
            let is_own = |store: &&Op| store.kind != Kind::Nothing && store.address == op.address;
            let own = thread.stores.iter().rev().find(is_own)?;
            if own.kind == Kind::Store {
                let value = own.a;
                self.atomics += 1;
                self.spend_work(hit_ps);
                return Some(OpStart::Done(value));
            }
        }
        self.wait_for_stores();
        Some(OpStart::Later)
    }

    /// The running thread goes on when its stores have been granted.
    pub(crate) fn wait_for_stores(&mut self) {
        self.threads[self.current as usize].phase = Phase::Drains;
    }

    /// The operation does not find its line.
    fn miss(&mut self, op: Op, line: u32) -> OpStart {
        let me = self.current;
        let (clock, start) = (self.threads[me as usize].clock, self.start(me, &op, line));
        if self.is_posted(&op) {
            // There were none: a store that finds some under way joins them.
            self.threads[me as usize].stores.push_back(op);
            self.storing.push(me);
            self.ask_so(start, 2 * me + 1, GrantedAction::Op(op), line, clock);
            self.spend_store();
            return OpStart::Done(0);
        }
        self.threads[me as usize].phase = Phase::Asks;
        self.ask_so(start, 2 * me, GrantedAction::Op(op), line, clock);
        OpStart::Asked
    }

    /// How the request for a line begins that the thread has missed (A1, A2). What is done at the home of the line is not done
    /// before its time.
    fn start(&mut self, me: u32, op: &Op, line: u32) -> RequestStart {
        let Memory { ahead_ps, far_atomics, .. } = self.machine.memory;
        let access = op.access();
        if ahead_ps == 0 || (access == Access::Rmw && far_atomics.is_some()) {
            return RequestStart::default();
        }
        let thread = &mut self.threads[me as usize];
        let is_poll = access == Access::Load && thread.recent.ends_with_load_of(line);
        let (line, clock) = (self.lines.get(line), thread.clock);
        let owned_until = line.owned_until(thread.core);
        let missed = LineMiss { line: line.number, access, is_poll, owned_until, clock };
        thread.ahead.missed(missed, ahead_ps.into())
    }

    /// Whether the thread has just read the line, which was brought for the write that it does now (A2).
    fn is_brought_to_write(&mut self, me: u32, line: u32) -> bool {
        let ahead_ps = u64::from(self.machine.memory.ahead_ps);
        let thread = &mut self.threads[me as usize];
        ahead_ps > 0 && thread.ahead.writes(self.lines.get(line).number, thread.clock, ahead_ps)
    }

    fn spend_store(&mut self) {
        let store_ps = self.kind_of_current().store_ps.into();
        self.spend_work(store_ps);
    }

    /// Sends a request on its way at time `at`. Requests have the numbers of the slots of threads.
    pub(crate) fn ask(&mut self, request: u32, what: GrantedAction, line: u32, at: u64) {
        self.threads[request as usize / 2].ahead.ends();
        self.ask_so(RequestStart::default(), request, what, line, at);
    }

    fn ask_so(&mut self, start: RequestStart, request: u32, what: GrantedAction, line: u32, at: u64) {
        let core = self.threads[request as usize / 2].core;
        let mut asks = Request::new(what, core, line, at);
        if start.is_to_write {
            asks.access = Access::Store;
        }
        asks.way = self.way(line, core, asks.access);
        let half_ps = self.way_of_loser(line, core).unwrap_or(asks.way.half_ps);
        let half_ps = if start.is_there { 0 } else { self.jittered(request, half_ps) };
        asks.ahead_ps = start.ahead_ps.saturating_sub(half_ps);
        self.requests[request as usize] = asks;
        self.times.set(self.first_thread_slot + request as usize, at + half_ps.saturating_sub(start.ahead_ps));
    }

    fn way(&mut self, line: u32, core: u32, access: Access) -> RequestCost {
        let rmw_ps = u64::from(self.rmw_of_core[core as usize]);
        let line = self.lines.get(line);
        if line.hits(core, access) {
            return RequestCost { half_ps: 0, busy_ps: 0, from: None, is_far: false };
        }
        line.way(&self.machine, core, access, rmw_ps)
    }

    /// What half of a request's way takes this time.
    fn jittered(&mut self, request: u32, half_ps: u64) -> u64 {
        let jitter = self.machine.memory.way_jitter;
        self.threads[request as usize / 2].ways.about(half_ps, jitter)
    }

    /// Whether a write comes before the line, which others wait for, is taken away (W4).
    #[cold]
    fn can_write_again(&mut self, thread: u32) -> bool {
        self.threads[thread as usize].ways.below(1000) < self.machine.memory.write_again
    }

    /// Half of the way to the core that takes the line away from `core`, if `core` owns it still.
    fn way_of_loser(&mut self, line: u32, core: u32) -> Option<u64> {
        let line = self.lines.get(line);
        if !line.is_wanted() || !line.hits(core, Access::Store) {
            return None;
        }
        let winner = self.requests[line.first as usize].core;
        Some(self.machine.distance(core, winner) / 2)
    }

    /// The time of a request has come: it reaches the order point, is granted there, or is back.
    pub(crate) fn request_event(&mut self, number: u32) {
        let request = self.requests[number as usize];
        if request.is_granted {
            return self.answered(number);
        }
        let line = self.lines.get(request.line);
        if line.busy_until > self.now && line.first == number {
            // The kernel has read the line meanwhile.
            let free_at = line.busy_until;
            return self.times.set(self.first_thread_slot + number as usize, free_at);
        }
        if line.first == number {
            // It waited at the head, and the line is free now.
            line.first = request.next;
            if line.first == NONE {
                line.last = NONE;
            }
            return self.granted(number);
        }
        if line.first == NONE && line.busy_until <= self.now {
            return self.granted(number);
        }
        // It is granted only when others are done, so that nothing of the way back was made before.
        self.requests[number as usize].ahead_ps = 0;
        if line.first == NONE {
            line.first = number;
            let free_at = line.busy_until;
            self.times.set(self.first_thread_slot + number as usize, free_at);
        } else {
            let last = line.last;
            self.requests[last as usize].next = number;
            self.times.clear(self.first_thread_slot + number as usize);
        }
        self.lines.get(request.line).last = number;
    }

    /// The request is granted: here it takes effect.
    fn granted(&mut self, number: u32) {
        let (now, mut request) = (self.now, self.requests[number as usize]);
        request.way = self.way(request.line, request.core, request.access);
        request.is_granted = true;
        self.requests[number as usize] = request;
        let (access, way) = (request.access, request.way);
        let line = self.lines.get(request.line);
        if line.hits(request.core, access) {
            if access != Access::Load {
                line.write_hit(request.core);
            }
        } else {
            line.grant(request.core, access, &way, now);
        }
        line.used_by(self.threads[number as usize / 2].cpu, request.what.access(), None);
        line.busy_until = line.busy_until.max(now + way.busy_ps);
        let rmw_ps = if access.is_rmw() { u64::from(self.rmw_of_core[request.core as usize]) } else { 0 };
        let is_for_nobody = way.is_far && !number.is_multiple_of(2);
        let way_back = if is_for_nobody { 0 } else { self.jittered(number, way.half_ps) };
        let back = way_back.saturating_sub(request.ahead_ps) + if way.is_far { 0 } else { rmw_ps };
        let extra = self.take_effect(number, &request);
        let line = self.lines.get(request.line);
        if line.first != NONE {
            let (next, free_at) = (line.first, line.busy_until);
            self.times.set(self.first_thread_slot + next as usize, free_at);
        }
        self.times.set(self.first_thread_slot + number as usize, now + back + extra);
        self.record_line(number, &request, back);
    }

    /// Does what the request is about, and gives how much longer than the line's way back it takes.
    fn take_effect(&mut self, number: u32, request: &Request) -> u64 {
        let thread = number / 2;
        match request.what {
            GrantedAction::Op(op) => {
                // SAFETY: the thread that made the operation holds a reference to the word until it is answered; a store
                // that is under way is taken out by `Engine::forget` before its word is gone.
                let before = unsafe { self.apply(thread, op, request.line) };
                // The result of a store is nobody's: its thread may have a load under way, whose result this is.
                if number.is_multiple_of(2) {
                    self.threads[thread as usize].result = before;
                }
                0
            }
            GrantedAction::Wait { place, deadline } => self.wait_in_bucket(thread, request, place, deadline),
            GrantedAction::Wake { address, n } => self.wake_from_bucket(thread, request, address, n),
        }
    }

    /// The request's answer has arrived.
    fn answered(&mut self, number: u32) {
        let thread = number / 2;
        if number.is_multiple_of(2) {
            self.clear_thread(thread);
            let line = self.lines.get(self.requests[number as usize].line).number;
            let thread = &mut self.threads[thread as usize];
            thread.ahead.came(line, self.now);
            if thread.phase == Phase::Asks {
                thread.phase = Phase::Resume;
            }
            return self.thread_event(number / 2);
        }
        self.threads[thread as usize].stores.pop_front();
        if self.threads[thread as usize].phase == Phase::NeedsRoom {
            self.threads[thread as usize].phase = Phase::Resume;
            self.set_thread(thread, self.now);
        }
        self.next_store(thread);
    }

    /// The oldest store that is left: done at once if its line is there, else asked for.
    fn next_store(&mut self, thread: u32) {
        let core = self.threads[thread as usize].core;
        while let Some(&op) = self.threads[thread as usize].stores.front() {
            let line = self.lines.find(op.address, core);
            if !self.lines.get(line).hits(core, Access::Store) {
                let is_there = self.is_count_at_home(&op);
                let start = RequestStart { is_there, ..RequestStart::default() };
                return self.ask_so(start, 2 * thread + 1, GrantedAction::Op(op), line, self.now);
            }
            self.lines.get(line).write_hit(core);
            // SAFETY: as in `take_effect`.
            unsafe { self.apply(thread, op, line) };
            self.threads[thread as usize].stores.pop_front();
        }
        self.storing.retain(|&storing| storing != thread);
        self.times.clear(self.first_thread_slot + 2 * thread as usize + 1);
        if self.threads[thread as usize].phase == Phase::Drains {
            let at = self.now.max(self.threads[thread as usize].clock);
            self.threads[thread as usize].phase = Phase::Resume;
            self.set_thread(thread, at);
        }
    }

    /// Does an operation that was under way, and gives the value from before.
    ///
    /// # Safety
    /// The word is alive, unless the operation is [nothing](Kind::Nothing) any more.
    unsafe fn apply(&mut self, thread: u32, op: Op, line: u32) -> u64 {
        if op.kind == Kind::Nothing {
            return 0;
        }
        // SAFETY: as the caller says.
        let before = unsafe { op.apply() };
        self.made(thread, self.now, op, line, before);
        before
    }

    /// A word is about to be gone: stores to it that are under way still bring its line, for nothing. They may be those of
    /// another thread, as threads can agree on who takes the word away by what is not simulated (a count of references).
    pub(crate) fn forget(&mut self, address: u64) {
        self.lines.forget(address);
        for &thread in &self.storing {
            for store in self.threads[thread as usize].stores.iter_mut().filter(|store| store.address == address) {
                store.kind = Kind::Nothing;
            }
            if let GrantedAction::Op(op) = &mut self.requests[2 * thread as usize + 1].what
                && op.address == address
            {
                op.kind = Kind::Nothing;
            }
        }
    }

    /// Counts an operation.
    #[inline]
    fn made(&mut self, thread: u32, at: u64, op: Op, line: u32, before: u64) {
        debug_assert!(at >= self.last_effect, "operations take effect in the order of their times");
        self.last_effect = at;
        self.atomics += 1;
        self.note(at ^ u64::from(thread) << 48 ^ (op.kind as u64) << 60);
        self.threads[thread as usize].recent.push(CompletedOp { at, op, line, before });
    }

    /// Puts something that happened into the hash of the run. Neither addresses nor values may be in it: they differ from
    /// machine to machine.
    #[inline]
    pub(crate) fn note(&mut self, what: u64) {
        self.hash = mix(self.hash ^ what);
    }

    /// Writes the line that a request brings into the timeline.
    fn record_line(&mut self, number: u32, request: &Request, back: u64) {
        let Some(from_core) = request.way.from.filter(|_| self.timeline.is_some()) else { return };
        let moved = timeline::ThreadEvent::LineMoved {
            line: request.line,
            from_core,
            asked_ps: request.asked - super::START_PS,
            to_write: request.access != Access::Load,
        };
        self.record_at(number / 2, self.now + back, moved);
    }
}
