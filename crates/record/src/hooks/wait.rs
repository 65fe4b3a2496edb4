//! A wait for a lock that has marks, from its beginning to its end.

use crate::charging::budget::WAITS;
use crate::charging::instants::Count;
use crate::charging::{Marks, SLEEP_NS, Tag, is_exact, still, tells};
use crate::counts;
use crate::layout::{Lock, NONE, event, waiting};
use crate::store::ring::{Sample, push};
use crate::store::waiters::{self, WaitTarget};
use crate::store::{Recording, current, locks};
use crate::thread::{Threshold, now_ns, own};
use crate::walk;
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

/// A wait in progress.
#[derive(Debug)]
pub struct Wait<'a> {
    marks: &'a Marks,
    pub(super) lock: &'a Lock,
    pub(super) number: u32,
    /// The number of the recording that it began in.
    recording: u32,
    from: u64,
    /// It is recorded if it takes as long as that.
    threshold: Threshold,
    /// Of an `Access`.
    pub(super) flag: u32,
    pub(super) stack: Cell<u32>,
    /// Among those that are seen to wait, from its first sleep on.
    slot: Cell<u32>,
    /// What the thread was doing before, which is to be found again: a signal's handler may wait inside a wait.
    outer: Cell<*const ()>,
}

impl Marks {
    /// The calling thread begins to wait for the mutex at that address. `None` if that cannot be recorded.
    #[cold]
    pub fn wait(&self, address: u64) -> Option<Wait<'_>> {
        let recording = current()?;
        self.begin_to_wait(recording, address, !tells())
    }

    /// As [`wait`](Self::wait), by a thread that sleeps now or will tell if it does.
    pub(crate) fn begin_to_wait(
        &self,
        recording: &'static Recording,
        address: u64,
        sleeps_now: bool,
    ) -> Option<Wait<'_>> {
        let (number, lock, before, from, count) = self.count_in(recording, address)?;
        let (stack, slot, outer) = (Cell::new(NONE), Cell::new(waiters::NOWHERE), Cell::new(ptr::null()));
        let threshold = Threshold::draw(WAITS.at(from));
        let wait = Wait {
            marks: self,
            lock,
            number,
            recording: recording.number,
            from,
            threshold,
            flag: 0,
            stack,
            slot,
            outer,
        };
        lock.most_waiting.fetch_max(waiting::number(before) as u32 + 1, Relaxed);
        self.ask(lock, from, count, waiting::number(before) == 0);
        if sleeps_now {
            wait.prepare_to_sleep(recording);
        }
        Some(wait)
    }

    /// Counts the calling thread among those that wait for the lock, whose entry stays from then on: the lock's number, its entry,
    /// what that said before, and when this was.
    fn count_in<'r>(&self, recording: &'r Recording, address: u64) -> Option<(u32, &'r Lock, u64, u64, Count)> {
        /// An entry goes that was not used for long, or was used just now by a thread that had lost its core.
        const TRIES: u32 = 3;
        for _ in 0..TRIES {
            let (number, lock) = self.lock(recording, address)?;
            let (from, count) = (now_ns(), Count::now());
            self.settle(lock, from, count);
            if let Some(before) = locks::count_in(recording, (number, lock), from) {
                return Some((number, lock, before, from, count));
            }
        }
        recording.count_dropped(&recording.dropped_locks);
        None
    }
}

impl Wait<'_> {
    /// Waits by `act`, which tells what it does by [`slept`], [`spun`] and [`rotated`].
    pub fn told<T>(&self, act: impl FnOnce() -> T) -> T {
        self.outer.set(own().wait.get());
        own().wait.set((&raw const *self).cast());
        let result = act();
        own().wait.set(self.outer.get());
        result
    }

    /// It is over: the calling thread has the lock, or has given up. Gives how long it took, in ns.
    pub fn end(self, has_it: bool, address: u64) -> u64 {
        let Some(recording) = self.recording() else { return 0 };
        let waited_ns = self.write_down(recording, has_it);
        if has_it {
            self.marks.taken_with_a_look(address, true);
            self.tell_stack();
        }
        waited_ns
    }

    /// The calling thread does not come back from it: it ends, or jumps out of a signal handler.
    #[cold]
    pub fn leave(&self) {
        if ptr::eq(own().wait.get(), (&raw const *self).cast()) {
            own().wait.set(self.outer.get());
        }
        own().ready.set((0, 0));
        own().held.gives_up.set(0);
        own().held.after_writers.set(0);
        if let Some(recording) = self.recording() {
            self.write_down(recording, false);
        }
    }

    /// The one that it began in, if that goes on.
    pub(super) fn recording(&self) -> Option<&'static Recording> {
        still(self.recording)
    }

    pub(crate) fn write_down(&self, recording: &Recording, has_it: bool) -> u64 {
        waiters::leave(recording, self.slot.get());
        let now = now_ns();
        let ns = now.saturating_sub(self.from);
        // As long as it is counted among those that wait, the entry is this lock's, and some time longer after a use.
        locks::keep(recording, self.lock, self.number);
        if ns > self.lock.longest.load(Relaxed) {
            self.lock.longest.fetch_max(ns, Relaxed);
        }
        counts::waited(recording, self.number, ns, has_it);
        if has_it {
            self.enter(recording, now);
        } else {
            self.give_up(now);
        }
        let event = self.flag | if has_it { event::WAIT } else { event::GAVE_UP };
        if let Some(weight) = self.threshold.weight(ns) {
            let stack = self.stack(recording);
            push(recording, Sample { event, lock: self.number, stack, at: now, ns, weight, lengths: [0; 2] });
            WAITS.spent(now);
        }
        ns
    }

    /// Walks the stack before the wait, so that the thread need not when it has the lock. A thread that waits alone does not:
    /// the lock may be free before the walk is over. Then the waits that are walked for, which are those that are recorded,
    /// would be shorter than the others. Where all are walked for, there are no others.
    fn prepare_to_sleep(&self, recording: &Recording) {
        self.show(recording);
        let is_alone = waiting::number(self.lock.waiting.load(Relaxed)) <= 1;
        let is_one_of_some = is_alone && !self.threshold.takes_all(SLEEP_NS);
        if !is_one_of_some && self.threshold.is_below(SLEEP_NS) {
            let from = now_ns();
            self.stack(recording);
            WAITS.spent(from);
        }
    }

    /// Lets others see the wait. One that does not sleep is over before they look.
    fn show(&self, recording: &Recording) {
        if self.slot.get() != waiters::NOWHERE {
            return;
        }
        let (address, kind) = (self.lock.address.load(Relaxed), self.lock.kind());
        self.slot.set(waiters::enter(recording, WaitTarget { address, lock: self.number, kind }, self.from));
        waiters::tell_stack(recording, self.slot.get(), self.stack.get());
    }

    /// The thread that releases it will be known by the stack that has waited, if that was walked.
    fn tell_stack(&self) {
        if self.stack.get() != NONE {
            self.lock.taken_by.store(self.stack.get(), Relaxed);
            self.marks.tag.fetch_or(Tag::KNOWN, Relaxed);
        }
    }

    fn enter(&self, recording: &Recording, now: u64) {
        let is_charged = self.marks.charge_nobody(recording, self.number, self.lock, now);
        // Only who has the lock writes it.
        let victims = self.lock.victims.load(Relaxed);
        if victims > 0 {
            self.lock.victims.store(victims - 1, Relaxed);
        }
        let is_exact = is_exact(self.lock);
        locks::count_out(self.lock, if is_charged { now } else { self.uncharged_since() });
        if is_exact {
            self.marks.cool(self.lock);
        }
    }

    /// Leaves what it has waited for the next to be charged; if charges are sampled, what it has since the last instant.
    fn give_up(&self, now: u64) {
        let is_exact = is_exact(self.lock);
        let is_left = is_exact || self.marks.settle(self.lock, now, Count::now());
        let from = self.uncharged_since();
        // Before: see `locks`. Who charges in between charges both, and less later.
        if is_left {
            self.lock.left_over.fetch_add(now.saturating_sub(from), Relaxed);
        }
        locks::count_out(self.lock, from);
    }

    fn uncharged_since(&self) -> u64 {
        self.from.max(self.lock.charged_until.load(Relaxed))
    }

    fn stack(&self, recording: &Recording) -> u32 {
        if self.stack.get() == NONE {
            self.stack.set(walk::stack(recording));
            waiters::tell_stack(recording, self.slot.get(), self.stack.get());
        }
        self.stack.get()
    }
}

/// Looks at what the calling thread waits for, if it does and tells.
#[inline]
fn now_waiting(act: impl FnOnce(&Recording, &Wait<'_>)) {
    if current().is_none() {
        return;
    }
    // SAFETY: null, or in a frame of this thread that `told` has not left.
    if let Some(wait) = unsafe { own().wait.get().cast::<Wait<'static>>().as_ref() } {
        if let Some(recording) = wait.recording() {
            act(recording, wait);
        }
    }
}

/// The calling thread goes to sleep.
pub fn slept() {
    now_waiting(|recording, wait| {
        wait.lock.parks.fetch_add(1, Relaxed);
        wait.prepare_to_sleep(recording);
    });
}

/// The calling thread's loop has made a turn.
pub fn spun() {
    now_waiting(|_, wait| {
        wait.lock.spins.fetch_add(1, Relaxed);
    });
}

/// The calling thread has woken so many. `u32::MAX` is all that sleep there, whose number is not known: they count as one.
#[inline]
pub fn woke(n: u32) {
    if current().is_some() {
        let n = if n == u32::MAX { 1 } else { n };
        own().woken.set(own().woken.get().wrapping_add(n.into()));
    }
}

/// Another thread than before is on deck.
pub fn rotated() {
    now_waiting(|_, wait| {
        wait.lock.rotations.fetch_add(1, Relaxed);
    });
}
