//! Upgradable readers: of them there is one at a time, which may become the writer.

use super::state::{CLOSED, MOST_ACTIVE, State, UPGRADABLE, WANTED};
use super::wants::Want;
use super::{PAST, RESERVE, RawOndeckRwLock, SEIZE, UNRESERVE};
use crate::ondeck::Policy;
use crate::{CoreCounters, RawLock};
use core::sync::atomic::Ordering::{Acquire, Release};

impl<P: CoreCounters, T: Policy> RawOndeckRwLock<P, T> {
    /// Acquires the lock for reading, as the one reader that may become a writer. Waits while a writer or another such
    /// reader has it.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    pub fn read_upgradable(&self) {
        self.assert_room();
        self.write_slow(Want::Reserve, None);
    }

    /// As [`read_upgradable`](Self::read_upgradable), with a deadline.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    pub fn read_upgradable_until(&self, deadline_ns: u64) -> bool {
        self.assert_room();
        self.write_slow(Want::Reserve, Some(deadline_ns))
    }

    /// Acquires the lock for reading upgradably if no writer has it or waits for it, and no other such reader. Never waits. The answer
    /// is no, too, while a thread that waited is on its way.
    pub fn try_read_upgradable(&self) -> bool {
        if self.load().has(CLOSED | UPGRADABLE) || !self.turn.try_acquire() {
            return false;
        }
        let is_in = self.reserve_at_once();
        // SAFETY: acquired above.
        unsafe { self.turn.release() };
        is_in
    }

    /// With the turn, so that nobody who waits there is passed by.
    fn reserve_at_once(&self) -> bool {
        loop {
            let state = self.load();
            if state.has(CLOSED | UPGRADABLE) || state.n_active() >= MOST_ACTIVE {
                return false;
            }
            P::step(RESERVE);
            // E1
            if self.cas(state, state.one_reader_more().with(UPGRADABLE), Acquire) {
                return true;
            }
        }
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread has it for reading upgradably.
    pub unsafe fn release_upgradable(&self) {
        self.unreserve(State::one_reader_less);
    }

    /// Goes on as a reader like others.
    ///
    /// # Safety
    /// The calling thread has the lock for reading upgradably.
    pub unsafe fn downgrade_upgradable(&self) {
        self.unreserve(|state| state);
    }

    /// Becomes the writer. Waits until the other readers are gone.
    ///
    /// # Safety
    /// The calling thread has the lock for reading upgradably.
    pub unsafe fn upgrade(&self) {
        self.wait_for(Want::Upgrade, None);
    }

    /// As [`upgrade`](Self::upgrade), until the platform's clock has reached `deadline_ns`. If false, the caller is the upgradable
    /// reader still.
    ///
    /// # Safety
    /// The calling thread has the lock for reading upgradably.
    pub unsafe fn upgrade_until(&self, deadline_ns: u64) -> bool {
        self.wait_for(Want::Upgrade, Some(deadline_ns))
    }

    /// Becomes the writer if there is no other reader. Never waits. If false, the caller is the upgradable reader still.
    ///
    /// # Safety
    /// The calling thread has the lock for reading upgradably.
    pub unsafe fn try_upgrade(&self) -> bool {
        loop {
            let state = self.load();
            if state.is_spread() {
                return self.wait_for(Want::Upgrade, Some(PAST));
            }
            let Some(next) = Want::Upgrade.taken(state) else { return false };
            P::step(SEIZE);
            // E1, E2
            if self.cas(state, next, Acquire) {
                return true;
            }
        }
    }

    /// Before the turn is taken: who comes in meanwhile finds room in the other half of the field.
    fn assert_room(&self) {
        loop {
            match self.load() {
                state if state.n_active() < MOST_ACTIVE => return,
                state => self.has_room_or_refuses(state),
            }
        }
    }

    fn unreserve(&self, go_on: impl Fn(State) -> State) {
        loop {
            let state = self.load();
            debug_assert!(state.has(UPGRADABLE), "I4: released by the upgradable reader");
            P::step(UNRESERVE);
            let next = go_on(state).without(UPGRADABLE);
            // E2. Readers that a writer holds up go on waiting for that one.
            if self.change_and_wake(state, next, Release, |to| !to.has(WANTED) || to.lets_a_writer_in()) {
                return;
            }
        }
    }
}
