//! Waits on what has no marks: condition variables, and mutexes whose holders cannot be told.

use crate::account::{SLEEP_NS, whole_ns};
use crate::file::current;
use crate::layout::{NONE, event, kind};
use crate::memory::now_ns;
use crate::ring::{Sample, push};
use crate::{chance, locks, walk};
use core::cell::Cell;

/// A wait on a condition variable, or for a mutex whose holders cannot be told.
#[derive(Debug)]
pub struct Opaque {
    address: u64,
    kind: u32,
    from: u64,
    /// It is recorded if it takes as long as that.
    threshold: u64,
    /// Once it was walked.
    stack: Cell<u32>,
}

impl Opaque {
    /// The calling thread begins to wait. `None` if nothing is recorded. [`look`](Self::look) is to follow as soon as the
    /// thread holds nothing that others wait for.
    #[cold]
    pub fn begin(address: u64, is_condition: bool) -> Option<Self> {
        let threshold = chance::threshold(whole_ns(current()?));
        let kind = if is_condition { kind::CONDITION } else { kind::OPAQUE };
        Some(Opaque { address, kind, from: now_ns(), threshold, stack: Cell::new(NONE) })
    }

    /// Walks the stack, which takes some microseconds, if the wait is likely to be recorded.
    #[cold]
    pub fn look(&self) {
        if let Some(recording) = current().filter(|_| self.threshold <= SLEEP_NS) {
            self.stack.set(walk::stack(recording));
        }
    }

    /// It is over.
    #[cold]
    pub fn end(self) {
        let Some(recording) = current() else { return };
        let now = now_ns();
        let ns = now - self.from;
        if ns < self.threshold {
            return;
        }
        let stack = if self.stack.get() == NONE { walk::stack(recording) } else { self.stack.get() };
        let lock = locks::at(recording, self.address, self.kind, || stack);
        let event = if self.kind == kind::CONDITION { event::CONDITION } else { event::WAIT };
        if lock != NONE {
            let weight = chance::weight(ns, whole_ns(recording));
            push(recording, Sample { event, lock, stack, at: now, ns, weight });
        }
    }
}

/// What comes to be at this address is another lock or condition variable.
#[cold]
pub fn forget(address: u64) {
    if current().is_some() {
        locks::forget(address);
    }
}
