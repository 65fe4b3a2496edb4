//! Waits on what has no marks: condition variables, and mutexes whose holders cannot be told.

use crate::account::record;
use crate::file::current;
use crate::layout::{NONE, event, kind};
use crate::memory::now_ns;
use crate::{locks, walk};
use core::cell::Cell;

/// A wait on a condition variable, or for a mutex whose holders cannot be told.
#[derive(Debug)]
pub struct Opaque {
    address: u64,
    kind: u32,
    from: u64,
    /// The lock's and the stack's, once they were looked for.
    number: Cell<u32>,
    stack: Cell<u32>,
}

impl Opaque {
    /// The calling thread begins to wait. `None` if nothing is recorded. [`look`](Self::look) is to follow as soon as the
    /// thread holds nothing that others wait for.
    #[cold]
    pub fn begin(address: u64, is_condition: bool) -> Option<Self> {
        current()?;
        let kind = if is_condition { kind::CONDITION } else { kind::OPAQUE };
        Some(Opaque { address, kind, from: now_ns(), number: Cell::new(NONE), stack: Cell::new(NONE) })
    }

    /// Walks the stack, which takes some microseconds.
    #[cold]
    pub fn look(&self) {
        let Some(recording) = current().filter(|_| self.number.get() == NONE) else { return };
        let stack = walk::stack(recording);
        self.stack.set(stack);
        self.number.set(locks::at(recording, self.address, self.kind, || stack));
    }

    /// It is over.
    #[cold]
    pub fn end(self) {
        let Some(recording) = current() else { return };
        let now = now_ns();
        self.look();
        let event = if self.kind == kind::CONDITION { event::CONDITION } else { event::WAIT };
        if self.number.get() != NONE {
            record(recording, event, self.number.get(), now, now - self.from, || self.stack.get());
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
