//! The quiet hold: one of a writer that leaves without a locked instruction, as nobody has asked anything of it.
//!
//! # Idea
//! A writer that leaves has to free the lock and to learn who waits. What the flagship's quiet.rs says of that goes here, too:
//! a holder may *look, then store* ([`Platform::store_unless_expelled`](crate::Platform)), at half the price, if whoever wants
//! to be heard first puts an end to the releases under way. The bit QUIET says that the next hold, or this one, is so. While
//! no writer is in, it is only a hint.
//!
//! A release sets it (`hush`) that finds nothing asked, and nobody who has the turn. Whoever waits for something else takes it
//! away by the write with which it announces that. So only two ever meet a quiet hold:
//! - *Who has the turn.* It looks now and then, as beside any writer. Once it would close the lock, it *knocks* by WANTED, waits
//!   5 us for a release, puts an end to those under way, and makes the hold a loud one that is closed (`settle`).
//! - *A reader that comes.* It has counted itself active before it saw QUIET; that, too, is a knock. It looks for 2.5 us
//!   whether the hold is over. Then it takes the turn, if nobody has it, and settles the hold itself.
//!
//! # Argument
//! - I6 *In a quiet hold nothing counts but WRITER, the phase and the heat*, and a write promises nothing: a slip under way may undo
//!   it. As it begins the word is idle. So nobody sleeps or waits in the word, or has counted itself and not looked yet.
//!   From then on a reader's answer shows QUIET, and it then has done nothing. All others compare.
//! - *Mutual exclusion*: only the holder slips. What that may undo is a reader that has done nothing, a knock, or a settle;
//!   and a settle does not meet one:
//! - *Settle*: WANTED of a quiet hold is written by who has the turn only. It is there at a look before the expulsion, and at the
//!   comparison after it, and was so all the time, as nobody else writes it. Slips that looked before it was there
//!   are over. Later ones have found more than they compare with.
//! - *No lost wake-up*: nobody sleeps, or relies on a release, before the hold is loud. Who has the turn goes on closing the lock,
//!   and a reader starts anew.
//! - *It ends*: who knocks comes now and then between two slips, and then the release leaves nothing of a quiet hold behind, nor
//!   QUIET. A reader that looks too seldom to find it so, and finds it quiet again, settles a hold. No lock becomes quiet for a
//!   millisecond after that, in which it looks again, if it has a core. So this is likely each time, and not certain.
//! - *The count of readers does not run over*: one that finds another's there adds nothing, unless both come at the same moment.
//! - *After release*: the store of a slip is its last access.
//!
//! # Bound
//! A reader waits for 2.5 us, 5 us and an expulsion more, and one beside a writer that has the turn for as long as that one takes to
//! close the lock, 75 us. A quiet hold causes one expulsion at most, and no lock becomes quiet for a millisecond after one
//! ([`Platform::can_expel`](crate::Platform)). Where the platform does not help any more, who waits naps until the next release.

use super::pace::Pace;
use super::state::{QUIET, State, WANTED};
use super::{EXPEL, HUSH, KNOCK, READER_AWAKE_NS, RawOndeckRwLock, SETTLE, SLIP, Turn, is_past};
use crate::ondeck::Policy;
use crate::yields::Yields;
use crate::{CoreCounters, RawLock};
use core::sync::atomic::Ordering::Relaxed;

/// How long who knocks waits for a release before it expels: about what that costs.
const PATIENCE_NS: u32 = 5_000;
/// Where nobody is expelled any more, between two looks.
const NAP_NS: u32 = 50_000;

impl<P: CoreCounters, T: Policy> RawOndeckRwLock<P, T> {
    /// Ends a quiet hold of the caller. False if it is not one, or something else is in the word, or comes between.
    #[inline(always)]
    pub(super) fn slips(&self) -> bool {
        if !P::has_sequences() {
            return false;
        }
        let state = self.load();
        if !state.is_asked_nothing() {
            return false;
        }
        P::step(SLIP);
        // SAFETY: the hold is quiet, so `can_expel` was true.
        unsafe { P::store_unless_expelled(&self.word, state.0, state.admitting().0) } // E1
    }

    /// Whether the next hold may be a quiet one, of a writer that leaves a lock in that state.
    #[inline(always)]
    pub(super) fn hushes(&self, state: State) -> bool {
        P::has_sequences() && state.may_hush() && self.turn.is_at_rest() && P::can_expel()
    }

    /// Has the next writer leave without a locked instruction, without waiting for the lock to find that it pays. Returns whether it
    /// will; not while anybody has the lock or waits for it, and not where that is not to be had.
    pub fn hush(&self) -> bool {
        let state = self.load();
        if P::has_sequences() && state.is_idle_and_loud() && P::can_expel() {
            P::step(HUSH);
            return self.cas(state, state.with(QUIET), Relaxed);
        }
        false
    }

    /// A reader has counted itself beside a quiet hold, and so has not, or has not begun to. It does so until there is none. Tells the
    /// lock as it found it. `None` if the deadline has passed.
    #[cold]
    pub(super) fn enter_past_quiet(&self, deadline: Option<u64>) -> Option<State> {
        let mut pace = Pace::<P>::new(READER_AWAKE_NS);
        let mut yields = Yields::default();
        loop {
            let state = self.load();
            if state.is_quiet_hold() && is_past::<P>(deadline) {
                return None;
            }
            // Also if a slip has undone it. One that counts is enough for all, or those that come and give up would fill the field.
            if !state.is_quiet_hold() || state.n_active() == 0 {
                let before = self.add_one();
                if !before.is_quiet_hold() {
                    return Some(before);
                }
            } else if !pace.is_over(false) {
                pace.pause(false);
            } else if self.turn.try_acquire() {
                let _turn = Turn(&self.turn);
                self.settle(false);
            } else {
                yields.make_way::<P>();
            }
        }
    }

    /// With the turn: makes a quiet hold loud, and if it `closes` the lock that, too. False if the hold is over; or where the
    /// platform does not help, and then the next release makes it loud.
    #[cold]
    pub(super) fn settle(&self, closes: bool) -> bool {
        let mut pace = Pace::<P>::new(PATIENCE_NS);
        loop {
            let state = self.load();
            if !state.is_quiet_hold() {
                return false;
            }
            if !state.has(WANTED) {
                P::step(KNOCK);
                self.cas(state, state.with(WANTED), Relaxed);
            } else if pace.is_over(false) {
                break;
            } else {
                pace.pause(false);
            }
        }
        P::step(EXPEL);
        if !P::expel() {
            P::nap_ns(NAP_NS);
            return false;
        }
        loop {
            let state = self.load();
            if !(state.is_quiet_hold() && state.has(WANTED)) {
                return false;
            }
            let loud = state.loud();
            P::step(SETTLE);
            if self.cas(state, if closes { loud.with(WANTED) } else { loud }, Relaxed) {
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::{UPGRADABLE, WRITER};
    use super::*;
    use crate::{Hardware, Platform};
    use std::time::{Duration, Instant};

    type Lock = RawOndeckRwLock<Hardware>;

    /// A quiet lock; none where there are no sequences.
    fn quiet() -> Option<Lock> {
        let lock = Lock::new();
        let began = Instant::now();
        while Hardware::has_sequences() && began.elapsed() < Duration::from_secs(10) {
            // Other tests expel, too, and for a moment after that no lock becomes quiet.
            if lock.hush() {
                return Some(lock);
            }
        }
        None
    }

    fn leave(lock: &Lock) {
        // SAFETY: the caller has it for writing.
        unsafe { lock.release_write() };
    }

    #[test]
    fn a_lock_that_is_asked_nothing_becomes_quiet() {
        if quiet().is_none() {
            return;
        }
        let lock = Lock::new();
        let began = Instant::now();
        while !lock.load().has(QUIET) {
            lock.write();
            leave(&lock);
            assert!(began.elapsed() < Duration::from_secs(10));
        }
        // The loss of the core in a slip leaves it as it is, too.
        for _ in 0..1_000 {
            lock.write();
            assert!(lock.load().is_asked_nothing() && lock.is_taken_for_writing());
            leave(&lock);
            assert!(lock.load().has(QUIET) && lock.is_at_rest());
        }
        lock.read();
        // SAFETY: acquired above.
        unsafe { lock.release_read() };
        assert!(lock.load().has(QUIET), "only who comes beside a writer asks something");
    }

    /// What comes beside a quiet hold is not heard by it, until it is settled.
    fn settles(come: impl FnOnce(&Lock) + Send) {
        let Some(lock) = quiet() else { return };
        lock.write();
        assert!(lock.load().is_quiet_hold());
        std::thread::scope(|scope| {
            let comes = scope.spawn(|| come(&lock));
            while lock.load().is_quiet_hold() {
                std::thread::yield_now();
            }
            assert!(lock.load().has(WRITER), "no release has been made");
            leave(&lock);
            comes.join().unwrap();
        });
        assert!(lock.is_at_rest() && !lock.load().has(QUIET));
    }

    #[test]
    fn who_waits_beside_a_quiet_hold_makes_it_loud() {
        settles(|lock| {
            lock.write();
            leave(lock);
        });
        settles(|lock| {
            lock.read();
            // SAFETY: acquired above.
            unsafe { lock.release_read() };
        });
        settles(|lock| {
            lock.read_upgradable();
            assert!(lock.load().has(UPGRADABLE));
            // SAFETY: acquired above.
            unsafe { lock.release_upgradable() };
        });
    }

    #[test]
    fn who_gives_up_leaves_nothing_behind() {
        let Some(lock) = quiet() else { return };
        lock.write();
        assert!(!lock.try_read() && !lock.try_write() && !lock.read_until(1) && lock.load().is_asked_nothing());
        let soon = || Hardware::now_ns() + 1_000;
        assert!(!lock.read_until(soon()) && !lock.write_until(soon()));
        assert_eq!(lock.n_readers(), 0);
        leave(&lock);
        assert!(lock.is_at_rest() && lock.try_write());
        leave(&lock);
    }

    #[test]
    fn who_comes_and_gives_up_again_and_again_counts_once() {
        let Some(lock) = quiet() else { return };
        lock.write();
        for _ in 0..100 {
            if lock.read_until(Hardware::now_ns() + 1_000) || !lock.load().is_quiet_hold() {
                break; // It had no core for as long as that.
            }
            assert!(lock.load().n_active() <= 1 && lock.n_readers() == 0);
        }
        leave(&lock);
        assert!(lock.is_at_rest());
    }

    #[test]
    fn a_child_that_forgets_who_waits_has_a_loud_hold() {
        let Some(lock) = quiet() else { return };
        lock.write();
        assert!(!lock.read_until(Hardware::now_ns() + 100));
        // SAFETY: no other thread has it.
        unsafe { lock.forget_who_waits() };
        assert_eq!(lock.load(), State(WRITER));
        leave(&lock);
        assert!(lock.is_at_rest());
        // SAFETY: nobody uses it.
        unsafe { lock.retire() };
    }

    #[test]
    fn who_goes_on_as_a_reader_is_one() {
        let Some(lock) = quiet() else { return };
        lock.write();
        // SAFETY: acquired above.
        unsafe { lock.downgrade() };
        assert!(lock.n_readers() == 1 && lock.try_read() && !lock.try_write());
        for _ in 0..2 {
            // SAFETY: acquired above.
            unsafe { lock.release_read() };
        }
        assert!(lock.is_at_rest() && lock.try_write());
        leave(&lock);
    }
}
