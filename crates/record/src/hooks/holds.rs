//! What a thread remembers of its own holds that are looked at: of locks that have no room for marks, and of those that
//! many may have at once.

use super::lock_order::tells_order;
use crate::layout::NONE;
use crate::store::Recording;
use crate::thread::{Hold, Holds, N_HOLDS, count_down, now_ns, own};
use crate::walk;

impl Hold {
    /// That begins now; timed or not.
    pub(crate) fn new(recording: &Recording, address: u64, turn: u64, stack: u32, is_timed: bool) -> Self {
        Hold { address, turn, from: now_ns(), is_timed, stack, recording: recording.number }
    }

    /// Whether it is of that turn, as far as that is known.
    pub(crate) fn is_of(&self, turn: u64) -> bool {
        self.turn == turn || self.turn == 0 || turn == 0
    }
}

impl Holds {
    /// Counts an acquisition: whether it is looked at.
    pub(crate) fn count(&self, recording: &Recording) -> bool {
        let kept = &own().held.left;
        let rate = recording.rate as u32;
        if ![0, rate].contains(&self.rate.replace(rate)) {
            // What is left was drawn at another rate. If that is the same, it is as good as drawn now.
            self.leave(0);
            kept.set(0);
        }
        if tells_order() {
            // The next is told, too.
            self.leave(1);
            return count_down(kept, recording.rate);
        }
        // Of an earlier recording that was told all.
        match kept.take() {
            0 => {}
            left => self.leave(left),
        }
        count_down(&self.left, recording.rate)
    }

    /// Whether it remembers a hold of that lock.
    pub(crate) fn has(&self, address: u64) -> bool {
        self.list[..self.n.get() as usize].iter().any(|hold| hold.get().address == address)
    }

    /// Forgets the newest hold of that lock, and gives it. A thread that reads a lock twice ends the inner reading
    /// first. Holds of other recordings, or all if there is none, are forgotten too.
    pub(crate) fn take(&self, recording: Option<&Recording>, address: u64) -> Option<Hold> {
        self.forget_others(recording);
        let n = self.n.get() as usize;
        let at = self.list[..n].iter().rposition(|hold| hold.get().address == address)?;
        let hold = self.list[at].get();
        for next in at + 1..n {
            self.list[next - 1].set(self.list[next].get());
        }
        self.n.set(n as u32 - 1);
        Some(hold)
    }

    /// What a parent's thread held is nobody's here, and nobody ends it.
    fn forget_others(&self, recording: Option<&Recording>) {
        let mut kept = 0;
        for at in 0..self.n.get() as usize {
            let hold = self.list[at].get();
            if recording.is_some_and(|recording| hold.recording == recording.number) {
                self.list[kept].set(hold);
                kept += 1;
            }
        }
        self.n.set(kept as u32);
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

    /// The thread has got the lock of that hold, after a wait with that stack: counts that, and remembers the hold if it is
    /// looked at or the stack is known. Gives the stack.
    pub(crate) fn got(&self, recording: &Recording, waited_at: u32, hold: Hold) -> u32 {
        let is_timed = self.count(recording);
        let stack = match waited_at {
            NONE if tells_order() => walk::stack(recording),
            NONE if is_timed => walk::stack_of_sample(recording),
            known => known,
        };
        // One inside another is remembered too, so that its end is not taken for the end of the outer one.
        if is_timed || stack != NONE || self.has(hold.address) {
            self.remember(Hold { stack, is_timed, ..hold });
        }
        stack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Header;

    const LOCK: u64 = 0x5000;

    fn no_holds() -> Holds {
        // SAFETY: its fields are numbers, and zeros are a number or false.
        unsafe { core::mem::zeroed() }
    }

    /// A recording of that number, of one acquisition in 1,000, without room.
    fn with_recording(number: u32, act: impl FnOnce(&Recording)) {
        // SAFETY: its fields are numbers, and zeros are a recording without room.
        let mut header: Header = unsafe { core::mem::zeroed() };
        (header.rate, header.number) = (1000, number);
        // SAFETY: a recording is nothing but its header, as long as no entry is asked for.
        act(unsafe { &*(&raw const header).cast::<Recording>() });
    }

    #[test]
    fn holds_are_known_by_their_locks() {
        let holds = no_holds();
        assert!(!holds.has(LOCK));
        with_recording(3, |recording| {
            holds.remember(Hold::new(recording, LOCK + 64, 0, NONE, false));
            assert!(!holds.has(LOCK) && holds.has(LOCK + 64));
            holds.remember(Hold::new(recording, LOCK, 0, NONE, false));
            assert!(holds.has(LOCK) && holds.has(LOCK + 64));
            assert!(holds.take(Some(recording), LOCK + 64).is_some());
            assert!(holds.has(LOCK) && !holds.has(LOCK + 64));
        });
    }

    #[test]
    fn what_another_recording_has_left_is_nobodys() {
        let holds = no_holds();
        let hold = |recording: &Recording, turn| Hold::new(recording, LOCK, turn, NONE, true);
        with_recording(3, |one| {
            with_recording(4, |other| {
                holds.remember(hold(one, 7));
                holds.remember(hold(other, 8));
                assert_eq!(holds.take(Some(one), LOCK).map(|hold| hold.turn), Some(7));
                assert!(holds.is_empty());
                holds.remember(hold(one, 9));
                assert!(holds.take(None, LOCK).is_none() && holds.is_empty());
            });
        });
    }

    /// What is remembered of a hold that was waited for: its stack, and whether it is timed.
    fn got(is_due: bool, stack: u32, is_inside: bool) -> Option<(u32, bool)> {
        let holds = no_holds();
        let mut known = None;
        with_recording(3, |recording| {
            if is_inside {
                holds.remember(Hold::new(recording, LOCK, 1, NONE, false));
            }
            holds.leave(if is_due { 1 } else { 5 });
            // All frames are the recorder's then, so a walk finds no stack.
            let entry = own().entry.replace(u64::MAX);
            holds.got(recording, stack, Hold::new(recording, LOCK, 2, NONE, false));
            own().entry.set(entry);
            let hold = holds.take(Some(recording), LOCK).filter(|hold| hold.turn == 2);
            known = hold.map(|hold| (hold.stack, hold.is_timed));
        });
        known
    }

    #[test]
    fn a_hold_is_remembered_if_something_is_known_of_it_or_of_an_outer_one() {
        assert_eq!(got(true, NONE, false), Some((NONE, true)));
        assert_eq!(got(true, 7, false), Some((7, true)));
        assert_eq!(got(false, 7, false), Some((7, false)));
        assert_eq!(got(false, NONE, false), None);
        assert_eq!(got(false, NONE, true), Some((NONE, false)));
    }
}
