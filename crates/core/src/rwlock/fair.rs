//! Fair releases: who waits goes before the writers that come.
//!
//! # Idea
//! A plain release leaves the lock to whoever is first, and the writer that comes next is often the one that has left. So who
//! leaves fairly goes on as a reader for a moment. With a reader in, no writer comes in, and whoever has the turn sees at its next
//! look what it has to do: to close the lock, or to come in itself as the upgradable reader. Then the reader leaves.
//!
//! Readers that wait need none of this: a writer that leaves admits them by the same write. One that only knocks at a quiet hold waits
//! nowhere yet, and may be passed by.
//!
//! # Bound
//! Who leaves so waits for one look of the thread that has the turn. That takes some microseconds if it runs, and longer if it has just
//! been woken, or leaves readers that were CALLED the time to come. After [`NOTICED_NS`] it is given up: then the release is a
//! plain one. So it is beside an upgradable reader, who may have been there before. New readers come in meanwhile.

use super::pace::Pace;
use super::state::{CLOSED, UPGRADABLE};
use super::{READER_AWAKE_NS, RawOndeckRwLock, is_past};
use crate::ondeck::Policy;
use crate::{CoreCounters, RawLock};

/// As long as a thread that was woken may need to get a core, unless the machine has far more to do than it can.
const NOTICED_NS: u64 = 1_000_000;

impl<P: CoreCounters, T: Policy> RawOndeckRwLock<P, T> {
    /// As [`release_read`](Self::release_read), and no writer that comes later goes before one that waits.
    ///
    /// # Safety
    /// As for [`release_read`](Self::release_read).
    pub unsafe fn release_read_fair(&self) {
        self.wait_until_noticed();
        // SAFETY: the caller's.
        unsafe { self.release_read() };
    }

    /// As [`release_write`](Self::release_write), and no writer that comes later goes before one that waits.
    ///
    /// # Safety
    /// As for [`release_write`](Self::release_write).
    pub unsafe fn release_write_fair(&self) {
        if self.turn.is_at_rest() {
            // SAFETY: the caller's.
            return unsafe { self.release_write() };
        }
        // SAFETY: the caller's.
        unsafe { self.downgrade() };
        // SAFETY: it is a reader by that.
        unsafe { self.release_read_fair() };
    }

    /// As [`release_upgradable`](Self::release_upgradable), and no writer that comes later goes before one that waits, or before
    /// one that waits to read upgradably.
    ///
    /// # Safety
    /// As for [`release_upgradable`](Self::release_upgradable).
    pub unsafe fn release_upgradable_fair(&self) {
        if self.turn.is_at_rest() {
            // SAFETY: the caller's.
            return unsafe { self.release_upgradable() };
        }
        // SAFETY: the caller's.
        unsafe { self.downgrade_upgradable() };
        // SAFETY: it is a reader like others by that.
        unsafe { self.release_read_fair() };
    }

    /// Called by a reader: until whoever has the turn has closed the lock, or is in.
    fn wait_until_noticed(&self) {
        let is_noticed = || self.load().has(CLOSED | UPGRADABLE) || self.turn.is_at_rest();
        if is_noticed() {
            return;
        }
        let deadline_ns = P::now_ns().saturating_add(NOTICED_NS);
        let mut pace = Pace::<P>::new(READER_AWAKE_NS);
        while !is_noticed() && !is_past::<P>(Some(deadline_ns)) {
            pace.pause(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hardware;

    type Lock = RawOndeckRwLock<Hardware>;

    /// An acquisition, and its release.
    #[derive(Clone, Copy)]
    struct Hold(fn(&Lock), unsafe fn(&Lock));

    /// Whether a thread with the hold `waits` comes in before one that gives up the hold `first`, and then asks to write.
    fn comes_first(first: Hold, waits: Hold) -> bool {
        let (lock, order) = (Lock::new(), std::sync::Mutex::new(Vec::new()));
        let note = |who| order.lock().unwrap().push(who);
        first.0(&lock);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                waits.0(&lock);
                note("waiter");
                // SAFETY: acquired above.
                unsafe { waits.1(&lock) };
            });
            while !lock.is_contended() {
                std::thread::yield_now();
            }
            // SAFETY: acquired above.
            unsafe { first.1(&lock) };
            lock.write();
            note("first");
            // SAFETY: acquired above.
            unsafe { lock.release_write() };
        });
        *order.lock().unwrap() == ["waiter", "first"]
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes a look of another thread within a millisecond")]
    fn who_waits_goes_before_a_writer_that_comes() {
        let reader = Hold(Lock::read, Lock::release_read_fair);
        let writer = Hold(Lock::write, Lock::release_write_fair);
        let upgradable = Hold(Lock::read_upgradable, Lock::release_upgradable_fair);
        // A reader does not hold up the upgradable one.
        let cases =
            [(reader, writer), (writer, writer), (writer, upgradable), (upgradable, writer), (upgradable, upgradable)];
        for (at, (first, waits)) in cases.into_iter().enumerate() {
            // Who gets no core for a millisecond is passed by. With plain releases, one of 20 comes first at most.
            let n_first = (0..20).filter(|_| comes_first(first, waits)).count();
            assert!(n_first >= 6, "case {at}: {n_first} of 20");
        }
    }

    #[test]
    fn nobody_is_waited_for_if_nobody_waits() {
        let lock = Lock::new();
        lock.write();
        // SAFETY: acquired above.
        unsafe { lock.release_write_fair() };
        lock.read_upgradable();
        // SAFETY: acquired above.
        unsafe { lock.release_upgradable_fair() };
        lock.read();
        assert!(!lock.is_contended());
        // SAFETY: acquired above.
        unsafe { lock.release_read_fair() };
        assert!(lock.is_at_rest());
    }
}
