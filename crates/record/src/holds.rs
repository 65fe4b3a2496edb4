//! What a thread remembers of its own holds that are looked at: of locks that have no room for marks, and of those that
//! many may have at once.

use crate::account::{self, Wait};
use crate::layout::NONE;
use crate::memory::now_ns;
use crate::recording::Recording;
use crate::thread::{Hold, Holds, N_HOLDS};
use crate::{chance, walk};

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

impl Holds {
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
