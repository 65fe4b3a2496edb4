//! Waits on what has no marks: condition variables, semaphores, barriers, ends of threads, and locks whose holders cannot be
//! told.

use super::rwlock::Access;
use crate::charging::budget::{Adaptive, OTHER_WAITS, WAITS};
use crate::charging::{SLEEP_NS, still};
use crate::layout::{NONE, event, kind};
use crate::store::ring::{Sample, push};
use crate::store::waiters::{self, NOWHERE, WaitTarget};
use crate::store::{Recording, current, locks, stacks};
use crate::thread::{self, Threshold, now_ns, own};
use crate::walk;
use core::cell::Cell;

/// Such a wait.
#[derive(Debug)]
pub struct OpaqueWait {
    address: u64,
    kind: u32,
    event: u32,
    /// The number of the recording that it began in.
    recording: u32,
    from: u64,
    /// What it may cost to record it.
    of: &'static Adaptive,
    /// It is recorded if it takes as long as that.
    threshold: Threshold,
    /// Once it was walked.
    stack: Cell<u32>,
    /// Among those that wait, until it is seen no more.
    slot: Cell<u32>,
}

impl OpaqueWait {
    /// The calling thread begins to wait for what is at that address, of that [`kind`]. Joins have the places in the program
    /// for addresses, whatever is said. `None` if nothing is recorded. [`look`](Self::look) is to follow as soon as the
    /// thread holds nothing that others wait for.
    #[cold]
    pub fn begin(address: u64, kind: u32) -> Option<Self> {
        let recording = current()?;
        let is_lock = matches!(kind & !kind::SEVERAL, kind::OPAQUE | kind::SPIN);
        let of = if is_lock { &WAITS } else { &OTHER_WAITS };
        let is_again = kind == kind::CONDITION && own().again.get() == (address, own().holds.left());
        let event = match is_lock {
            true => event::WAIT,
            false if is_again => event::CONDITION | event::AGAIN,
            false => event::CONDITION,
        };
        let from = now_ns();
        let threshold = Threshold::draw(of.at(from));
        // Statistics tell only of threads that wait for mutexes.
        let enter = || waiters::enter(recording, WaitTarget { address, lock: NONE, kind }, from);
        let slot = Cell::new(if recording.has_file() { enter() } else { NOWHERE });
        let (recording, stack) = (recording.number, Cell::new(NONE));
        Some(OpaqueWait { address, kind, event, recording, from, of, threshold, stack, slot })
    }

    /// As [`begin`](Self::begin), for a lock that many may have.
    #[cold]
    pub fn begin_for_one_of_several(address: u64, access: Access) -> Option<Self> {
        let wait = Self::begin(address, kind::OPAQUE | kind::SEVERAL)?;
        Some(OpaqueWait { event: wait.event | access.flag(), ..wait })
    }

    /// Walks the stack, which takes some microseconds, if the wait is likely to be recorded.
    #[cold]
    pub fn look(&self) {
        if let Some(recording) = still(self.recording).filter(|_| self.threshold.is_below(SLEEP_NS)) {
            let from = now_ns();
            self.stack.set(walk::stack(recording));
            waiters::tell_stack(recording, self.slot.get(), self.stack.get());
            self.of.spent(from);
        }
    }

    /// The calling thread does not come back from it: it ends, or jumps out of a signal handler. Or it never began.
    #[cold]
    pub fn leave(&self) {
        if let Some(recording) = still(self.recording) {
            waiters::leave(recording, self.slot.get());
        }
    }

    /// The thread waits no more, and is seen to wait no more. [`end`](Self::end) follows.
    #[cold]
    pub fn arrive(&self) {
        if let Some(recording) = still(self.recording) {
            waiters::leave(recording, self.slot.replace(NOWHERE));
        }
    }

    /// It is over.
    #[cold]
    pub fn end(self) {
        let Some(recording) = still(self.recording) else { return };
        waiters::leave(recording, self.slot.get());
        if self.kind == kind::CONDITION {
            own().again.set((self.address, own().holds.left()));
        }
        let now = now_ns();
        let ns = now.saturating_sub(self.from);
        let Some(weight) = self.threshold.weight(ns) else { return };
        let stack = if self.stack.get() == NONE { walk::stack(recording) } else { self.stack.get() };
        let address = if self.kind == kind::JOIN { stacks::innermost(recording, stack).max(1) } else { self.address };
        let lock = locks::at(recording, address, self.kind, || walk::origin(address, stack));
        let event = self.event;
        if lock != NONE {
            push(recording, Sample { event, lock, stack, at: now, ns, weight, lengths: [0; 2] });
        }
        self.of.spent(now);
    }
}

/// The calling thread is about to notify the condition variable at that address: all that wait there, or one.
#[inline]
pub fn notifies(address: u64, is_all: bool) {
    let Some(recording) = current().filter(|recording| recording.has_file()) else { return };
    let notices = &own().notices;
    match notices.get() {
        left @ 2.. => notices.set(left - 1),
        _ => notify_with_a_look(recording, address, is_all),
    }
}

#[cold]
#[inline(never)]
fn notify_with_a_look(recording: &Recording, address: u64, is_all: bool) {
    /// Those are seldom, and a few tell enough.
    const MOST: u64 = 100;
    let rate = recording.rate.min(MOST);
    if !thread::count_down(&own().notices, rate) {
        return;
    }
    let stack = walk::stack(recording);
    let lock = locks::at(recording, address, kind::CONDITION, || walk::origin(address, stack));
    if lock != NONE {
        let event = if is_all { event::NOTIFY | event::ALL } else { event::NOTIFY };
        let (at, weight) = (now_ns(), rate as f64);
        push(recording, Sample { event, lock, stack, at, ns: 0, weight, lengths: [0; 2] });
    }
}

/// What comes to be at this address is another one.
#[cold]
pub fn forget(address: u64) {
    if current().is_some() {
        locks::forget(address);
    }
}
