//! What a thread remembers of its own holds that are looked at: of locks that have no room for marks, and of those that
//! many may have at once.

use crate::file::Recording;
use crate::layout::NONE;
use crate::memory::now_ns;
use crate::{Wait, account, chance, walk};
use core::cell::Cell;

/// A hold in progress. Zeros are none.
#[derive(Clone, Copy)]
pub(crate) struct Hold {
    /// Of the lock; 0 if there is none.
    pub(crate) address: u64,
    /// A number that the lock changes with each release; 0 where it does not know.
    pub(crate) turn: u64,
    /// When it began; 0 if it is not timed.
    pub(crate) from: u64,
    /// The stack that acquired the lock.
    pub(crate) stack: u32,
    /// The recording that the stack is of.
    generation: u32,
}

impl Hold {
    /// That begins now; timed or not.
    pub(crate) fn new(address: u64, turn: u64, stack: u32, is_timed: bool) -> Self {
        let from = if is_timed { now_ns() } else { 0 };
        Hold { address, turn, from, stack, generation: account::generation() }
    }

    /// Whether it is of that turn, as far as that is known.
    pub(crate) fn is_of(&self, turn: u64) -> bool {
        self.turn == turn || self.turn == 0 || turn == 0
    }
}

const N_HOLDS: usize = 8;

/// The holds of a thread, and its count of acquisitions.
#[repr(C)]
pub(crate) struct Holds {
    /// Acquisitions until the next that is looked at, and that one; 0 before the first.
    left: Cell<u32>,
    /// How many holds it remembers, in the first places.
    n: Cell<u32>,
    list: [Cell<Hold>; N_HOLDS],
}

impl Holds {
    pub(crate) const fn new() -> Self {
        let list = [const { Cell::new(Hold { address: 0, turn: 0, from: 0, stack: NONE, generation: 0 }) }; N_HOLDS];
        Holds { left: Cell::new(0), n: Cell::new(0), list }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.n.get() == 0
    }

    /// Acquisitions until the next that is looked at, and that one; 0 before the first.
    #[inline(always)]
    pub(crate) fn left(&self) -> u32 {
        self.left.get()
    }

    /// So many are left.
    #[inline(always)]
    pub(crate) fn leave(&self, left: u32) {
        self.left.set(left);
    }

    /// Counts an acquisition: whether it is looked at.
    pub(crate) fn count(&self, recording: &Recording) -> bool {
        let (is_looked_at, next) = chance::count(self.left.get(), recording.rate);
        self.left.set(next);
        is_looked_at
    }

    /// Whether it remembers a hold of that lock.
    pub(crate) fn has(&self, address: u64) -> bool {
        self.list[..self.n.get() as usize].iter().any(|hold| hold.get().address == address)
    }

    /// Forgets the newest hold of that lock, and gives it. Who reads a lock twice ends the inner reading first.
    pub(crate) fn take(&self, address: u64) -> Option<Hold> {
        let n = self.n.get() as usize;
        let at = self.list[..n].iter().rposition(|hold| hold.get().address == address)?;
        let hold = self.list[at].get();
        for next in at + 1..n {
            self.list[next - 1].set(self.list[next].get());
        }
        self.n.set(n as u32 - 1);
        // What a parent's thread held is nobody's here.
        if hold.generation == account::generation() { Some(hold) } else { self.take(address) }
    }

    pub(crate) fn remember(&self, hold: Hold) {
        let n = self.n.get() as usize;
        if n < N_HOLDS {
            self.list[n].set(hold);
            self.n.set(n as u32 + 1);
        } else {
            // The oldest may be one that another thread has ended. If not, its release is as one that nobody looks at.
            for at in 1..N_HOLDS {
                self.list[at - 1].set(self.list[at].get());
            }
            self.list[N_HOLDS - 1].set(hold);
        }
    }

    /// The thread has got the lock at that address, after a wait: counts that, and remembers the hold if it is looked at or
    /// the stack is known.
    pub(crate) fn got(&self, recording: &Recording, wait: &Wait<'_>, address: u64, turn: u64) {
        let is_timed = self.count(recording);
        let stack = match wait.known_stack() {
            NONE if is_timed => walk::stack(recording),
            known => known,
        };
        // One inside another is remembered too, so that its end is not taken for the end of the outer one.
        if is_timed || stack != NONE || self.has(address) {
            self.remember(Hold::new(address, turn, stack, is_timed));
        }
    }
}
