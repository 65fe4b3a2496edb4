//! Sleeping on an address, as the kernel does it (futex): a table of buckets, each with a lock that is a cache line too.
//!
//! A wait takes the bucket of its address, looks at the word, and queues in the bucket if the word has not changed. A wake
//! takes the bucket, unless nobody is in it, takes the first sleepers of its address out, and then makes each of them
//! run. The thread that takes a bucket brings its line to its core, and keeps it for a while.

use super::lines::{Access, RequestCost};
use super::thread::{GrantedAction, Phase, Place, Request, Sleeper};
use super::times::NEVER;
use super::{Engine, OBSERVER, value};
use crate::timeline;

/// Where the lines of buckets lie: at addresses that no word has.
const BUCKETS_AT: u64 = 1 << 60;
/// The place of a thread that sleeps for its deadline only.
pub(super) const NO_BUCKET: u32 = u32::MAX;

/// How a wait has ended.
const CHANGED: u64 = 0;
const SLEPT: u64 = 1;
const LATE: u64 = 2;

impl Engine {
    /// The bucket of an address.
    fn bucket_of(&mut self, address: u64) -> u32 {
        let core = self.threads[self.current as usize].core;
        (super::random::mix(self.lines.name_of(address, core)) % self.buckets.len() as u64) as u32
    }

    fn line_of_bucket(&mut self, bucket: u32, core: u32) -> u32 {
        self.lines.find(BUCKETS_AT + u64::from(bucket) * u64::from(self.machine.line_bytes), core)
    }

    /// The running thread, which is in the kernel and whose stores are granted, begins to wait. False if it need not, as it
    /// is the observer and the word has changed.
    pub(crate) fn begin_wait(&mut self, address: u64, is_wide: bool, expected: u64, deadline: Option<u64>) -> bool {
        let (me, bucket) = (self.current, self.bucket_of(address));
        let (place, deadline) = (Place { bucket, address, is_wide, expected }, deadline.unwrap_or(NEVER));
        if me == OBSERVER {
            // SAFETY: a reference to the word is what the wait was called with.
            if unsafe { value::read(address, is_wide) } != expected {
                return false;
            }
            self.buckets[bucket as usize].sleepers.push_back(Sleeper { thread: me, address });
            self.observer_sleeps(place, deadline);
            return true;
        }
        let core = self.threads[me as usize].core;
        let line = self.line_of_bucket(bucket, core);
        let clock = self.threads[me as usize].clock;
        self.threads[me as usize].phase = Phase::Asks;
        self.ask(2 * me, GrantedAction::Wait { place, deadline }, line, clock);
        true
    }

    fn observer_sleeps(&mut self, place: Place, deadline: u64) {
        let observer = &mut self.threads[OBSERVER as usize];
        (observer.phase, observer.place, observer.result) = (Phase::Asleep, Some(place), SLEPT);
        observer.off_since = self.now;
        if deadline != NEVER {
            self.set_thread(OBSERVER, deadline.max(self.now));
        }
    }

    /// Whether the wait of the running thread ended by its deadline. Returning from the kernel takes time.
    pub(crate) fn end_wait(&mut self) -> bool {
        let this = &self.threads[self.current as usize];
        let (result, was_woken) = (this.result, this.was_woken);
        if result == SLEPT && self.current != OBSERVER {
            self.spend_kernel(self.machine.os.resume_ps.into());
        }
        result == LATE || (result == SLEPT && !was_woken)
    }

    /// A wait has got its bucket.
    pub(super) fn wait_in_bucket(&mut self, thread: u32, request: &Request, place: Place, deadline: u64) -> u64 {
        let place = Place { bucket: self.bucket_of(place.address), ..place };
        let bucket_ps = self.about_in_kernel(thread, self.machine.os.bucket_ps.into());
        let held = bucket_ps + self.read_in_kernel(request.core, place.address);
        self.keep_bucket(request, held);
        // SAFETY: a reference to the word is what the wait was called with, and its thread waits here.
        let has_changed = unsafe { value::read(place.address, place.is_wide) } != place.expected;
        if has_changed || deadline <= self.now {
            self.threads[thread as usize].result = if has_changed { CHANGED } else { LATE };
            return held;
        }
        self.buckets[place.bucket as usize].sleepers.push_back(Sleeper { thread, address: place.address });
        self.fall_asleep(thread, place, deadline);
        let sleep_ps = u64::from(self.machine.os.sleep_ps);
        held + sleep_ps
    }

    fn fall_asleep(&mut self, thread: u32, place: Place, deadline: u64) {
        let this = &mut self.threads[thread as usize];
        (this.phase, this.place, this.deadline) = (Phase::FallsAsleep, Some(place), deadline);
        (this.result, this.was_woken, this.is_nap) = (SLEPT, false, false);
    }

    /// Nobody else gets the bucket while it is held.
    fn keep_bucket(&mut self, request: &Request, held: u64) {
        let until = self.now + request.way.half_ps + held;
        let line = self.lines.get(request.line);
        line.busy_until = line.busy_until.max(until);
    }

    /// The kernel reads the word; gives how long that takes. It brings the line to the core, but does not wait in line.
    fn read_in_kernel(&mut self, core: u32, address: u64) -> u64 {
        let line = self.lines.find(address, core);
        if self.lines.get(line).hits(core, Access::Load) {
            return 0;
        }
        let way: RequestCost = self.lines.get(line).way(&self.machine, core, Access::Load, 0);
        let now = self.now;
        let line = self.lines.get(line);
        line.grant(core, Access::Load, &way, self.now);
        line.busy_until = line.busy_until.max(now + way.busy_ps);
        2 * way.half_ps
    }

    /// The thread is done with going to sleep: it leaves its CPU, unless it was woken meanwhile.
    pub(crate) fn fell_asleep(&mut self, thread: u32) {
        let this = &mut self.threads[thread as usize];
        if this.place.is_none() {
            this.phase = Phase::Resume;
            return self.thread_event(thread);
        }
        this.phase = Phase::Asleep;
        this.load.was(true, self.now);
        let deadline = this.deadline;
        self.record_at(thread, self.now, timeline::ThreadEvent::Sleeps);
        self.leave_cpu(thread, self.now);
        if deadline != NEVER {
            self.set_thread(thread, deadline.max(self.now));
        }
    }

    /// The deadline of a sleeper has come.
    pub(crate) fn wake_by_deadline(&mut self, thread: u32) {
        if let Some(place) = self.threads[thread as usize].place.take()
            && place.bucket != NO_BUCKET
        {
            self.buckets[place.bucket as usize].sleepers.retain(|sleeper| sleeper.thread != thread);
        }
        self.threads[thread as usize].was_woken = false;
        self.wake_thread(thread, None, self.now);
    }

    /// The running thread, whose stores are granted, begins to wake; false if there is nothing more to it.
    pub(crate) fn begin_wake(&mut self, address: u64, n: u32) -> bool {
        let (me, bucket) = (self.current, self.bucket_of(address));
        let is_empty = self.buckets[bucket as usize].sleepers.is_empty();
        if me == OBSERVER {
            for sleeper in self.take_sleepers(bucket, address, n) {
                self.rouse(sleeper, me, self.now);
            }
            return false;
        }
        if is_empty {
            self.spend_kernel(self.machine.os.wake_none_ps.into());
            return false;
        }
        self.spend_kernel(self.machine.os.syscall_ps.into());
        true
    }

    /// The rest of a wake, once everybody has caught up.
    pub(crate) fn ask_to_wake(&mut self, address: u64, n: u32) {
        let (me, bucket) = (self.current, self.bucket_of(address));
        let (core, clock) = (self.threads[me as usize].core, self.threads[me as usize].clock);
        let line = self.line_of_bucket(bucket, core);
        self.threads[me as usize].phase = Phase::Asks;
        self.ask(2 * me, GrantedAction::Wake { address, n }, line, clock);
    }

    /// A wake has got its bucket.
    pub(super) fn wake_from_bucket(&mut self, thread: u32, request: &Request, address: u64, n: u32) -> u64 {
        let bucket = self.bucket_of(address);
        let (held, call_ps) = (u64::from(self.machine.os.bucket_ps), u64::from(self.machine.os.wake_call_ps));
        self.keep_bucket(request, held);
        let mut at = self.now + request.way.half_ps + held;
        let sleepers = self.take_sleepers(bucket, address, n);
        for sleeper in &sleepers {
            at += call_ps;
            self.rouse(*sleeper, thread, at);
        }
        held + call_ps * sleepers.len() as u64
    }

    /// Takes at most `n` sleepers of an address out of their bucket.
    fn take_sleepers(&mut self, bucket: u32, address: u64, n: u32) -> Vec<u32> {
        let mut taken = Vec::new();
        self.buckets[bucket as usize].sleepers.retain(|sleeper| {
            let is_meant = sleeper.address == address && taken.len() < n as usize;
            if is_meant {
                taken.push(sleeper.thread);
            }
            !is_meant
        });
        taken
    }

    /// Somebody wakes a thread that was taken out of its bucket.
    pub(super) fn rouse(&mut self, thread: u32, by: u32, at: u64) {
        let this = &mut self.threads[thread as usize];
        (this.place, this.was_woken) = (None, true);
        if this.phase == Phase::FallsAsleep {
            // It is still on its CPU, and finds out by itself.
            return;
        }
        if thread == OBSERVER || at == self.now {
            self.clear_thread(thread);
            return self.wake_thread(thread, Some(by), at);
        }
        // Which CPU it gets, and whom it takes it from, is decided when the waker comes to that.
        (this.phase, this.caller) = (Phase::Called, by);
        self.set_thread(thread, at);
    }

    /// The running thread sleeps for `ps`; or naps: it is off its CPU for so long, all in all where a CPU is idle then.
    pub(crate) fn begin_sleep(&mut self, ps: u64, is_nap: bool) {
        self.sleep_without_bucket(self.clock() + ps, is_nap);
    }

    fn sleep_without_bucket(&mut self, deadline: u64, is_nap: bool) {
        let me = self.current;
        let place = Place { bucket: NO_BUCKET, address: 0, is_wide: false, expected: 0 };
        if me == OBSERVER {
            return self.observer_sleeps(place, deadline);
        }
        self.fall_asleep(me, place, deadline);
        self.threads[me as usize].is_nap = is_nap;
        if !is_nap {
            self.spend_kernel(self.machine.os.sleep_ps.into());
        }
        self.set_thread(me, self.clock());
    }

    /// The running thread waits until another one is gone; false if it is already.
    pub(crate) fn begin_join(&mut self, thread: u32) -> bool {
        if self.threads[thread as usize].phase == Phase::Gone {
            return false;
        }
        self.threads[thread as usize].joiners.push(self.current);
        self.sleep_without_bucket(NEVER, false);
        true
    }
}
