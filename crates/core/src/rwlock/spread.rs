//! The spread lock: one whose readers count themselves by core.
//!
//! # Idea
//! A word that each reader writes is taken from core to core, and that is all a short read costs. So a lock that is read often
//! gets a *counter*: a part of it on each core, which only threads of that core write, without a locked instruction
//! ([`CoreCounters::count_unless_expelled`]). How many readers there are is what the word and all parts say *together*. A
//! reader may enter by the one and leave by the other, on this core or that.
//!
//! A reader that finds the lock closed uses the word. A writer closes the lock, puts an end to the counting that is under way
//! ([`CoreCounters::expel_counts`]), and *folds* the lock: it adds the parts to the word. From there on all is as if there had
//! never been a counter.
//!
//! # Argument
//! - *The sum stays while it is read*: who counts has looked at the word in the same sequence and found it open. Sequences that looked
//!   before the lock was closed are over when the expulsion is; later ones find it closed. It stays closed until it is
//!   folded, as only who has closed it opens it.
//! - *Two may fold*, the writer whose turn it is and the upgradable reader, as each has closed it for itself. Both find the same
//!   sum. The comparison of one of them succeeds; it gives the counter back. The other finds another word, or none to fold. No lock is
//!   spread meanwhile, as the flag of the slower one stands.
//! - *The counter is zero at first*: who gives one back clears it while nobody counts there, and tells of that by the bit that says
//!   who has it. Who takes it tells all readers by E3.
//! - *The word does not run over.* Some readers enter by the counter and leave by the word, or the other way round. So a spread lock
//!   has 393,216 more in its word. Where it comes to have 262,144 or 524,288, readers move the difference to the counter (`balance`),
//!   as if so many entered here and left there. Between closing and folding they cannot: then they yield.
//! - *The lock may go* once a reader has left: the last instruction of a sequence writes the table of counters, not the lock.
//!
//! # When
//! One read in 16 is looked at, which the word itself counts. Of these the core picks one in 64, or one in 256 of those
//! that find no other reader. The second one without a writer in between spreads the lock: after some 2,000 reads that
//! disturb each other, or 8,000 that do not. If 512 readers have entered by the counter when the next writer comes, it has saved
//! more than the expulsion costs, and the writer spreads the lock again as it leaves. It does so once more after a
//! counter that was not worth it, as writers often come in pairs.
//!
//! # Bound
//! A writer that finds the lock spread waits for one expulsion more, which takes microseconds, and interrupts the threads of the
//! process that run. Each expulsion follows on 512 reads, or on one that did, or on 2,000 reads.
//!
//! # Lineage
//! A counter for each processor, and a writer that visits all: Hsieh and Weihl 1992, brlock, Linux' percpu-rwsem, Xen's percpu
//! rwlock. A barrier that only the writer pays: passive reader-writer locks, liburcu. Not related: tables of visible readers by
//! hash of lock and thread.

use super::state::{CLOSED, LEAST_ACTIVE, ONE_ACTIVE, ONE_LOOKED_AT_IN, State, WRITER};
use super::wants::Want;
use super::{BALANCE, COUNT, EXPEL, FOLD, RawOndeckRwLock, SPREAD, WARM, refuse_more};
use crate::ondeck::Policy;
use crate::{Atomic, CoreCounters, Counted};
use core::num::NonZeroU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// One read in so many that finds another reader in is looked at, and the second one without a writer in between spreads the lock. So
/// some thousand reads have cost what an expulsion does.
const ONE_IN: u32 = 1024;
/// The same of a read that finds no other reader, and costs less.
const ONE_ALONE_IN: u32 = 4 * ONE_IN;

impl<P: CoreCounters, T: Policy> RawOndeckRwLock<P, T> {
    /// Counts the caller in or out by core, if the lock is spread and not closed.
    #[inline(always)]
    pub(super) fn counts(&self, amount: u64) -> bool {
        P::MAY_COUNT && P::is_noted(&self.word) && self.load().is_spread() && self.counts_if_open(amount)
    }

    /// The same of a lock that was spread just now.
    #[inline(always)]
    fn counts_if_open(&self, amount: u64) -> bool {
        P::step(COUNT);
        // SAFETY: what is in the word as a counter's number is one, taken by who has written it.
        unsafe { P::count_unless_expelled(&self.word, CLOSED, amount) } // E1, E2
    }

    /// As `enter`, of a lock that is most likely spread.
    #[inline(always)]
    pub(super) fn enter_noted(&self, blocked: u64) {
        if !self.load().is_spread() || !self.counts_if_open(Counted::ENTER) {
            self.enter_by_word(blocked);
        }
    }

    /// As `release_read`, the same.
    #[inline(always)]
    pub(super) fn leave_noted(&self) {
        if !self.load().is_spread() || !self.counts_if_open(Counted::LEAVE) && !self.balances_before_it_leaves() {
            self.leave_by_word();
        }
    }

    /// So many may have come in by the counter and left by the word that it has room for no more such.
    #[cold]
    fn balances_before_it_leaves(&self) -> bool {
        loop {
            let state = self.load();
            if !state.is_spread() || state.n_active() >= LEAST_ACTIVE {
                return false;
            }
            self.balance();
        }
    }

    /// The caller, a reader, moves what the word has too many or too few to the counter. Where the lock is closed, it will soon be
    /// folded.
    #[cold]
    pub(super) fn balance(&self) {
        let drift = self.load().drift();
        let readers = drift.unsigned_abs() * ONE_ACTIVE;
        P::step(BALANCE);
        // As if so many entered here and left there, in this order: so nobody sees fewer readers than there are.
        if drift < 0 {
            self.word.fetch_add(readers, Relaxed);
        }
        let is_counted = self.counts(drift as u64);
        if is_counted == (drift > 0) {
            self.word.fetch_sub(readers, Release); // E2
        }
        if !is_counted {
            P::yield_now();
        }
    }

    /// A reader has come, and found the lock so.
    #[inline]
    pub(super) fn heat(&self, before: State) {
        if P::MAY_COUNT && before.is_looked_at() {
            self.heat_up(before);
        }
    }

    #[cold]
    fn heat_up(&self, before: State) {
        let one_in = if before.n_active() > 0 { ONE_IN } else { ONE_ALONE_IN };
        if before.is_spread() {
            P::note(&self.word, true);
        }
        if !P::is_sampled(one_in / ONE_LOOKED_AT_IN) {
            return;
        }
        let state = self.load();
        if state.warmer().is_hot() {
            self.spread();
        } else if !state.has(CLOSED) && !state.is_spread() {
            // What is noted there is of another one, which notes itself again.
            P::note(&self.word, false);
            P::step(WARM);
            self.cas(state, state.warmer(), Relaxed);
        }
    }

    /// Has readers count themselves by core from here on, without waiting for the lock to find that it pays. The next writer ends
    /// that. Returns whether they do; not while a writer has the lock or waits for it, and not where there are no counters.
    pub fn spread(&self) -> bool {
        let state = self.load();
        if !P::MAY_COUNT || state.has(CLOSED) || state.is_spread() {
            return state.is_spread();
        }
        let Some(counter) = P::take_counter() else { return false };
        P::step(SPREAD);
        let is_spread = self.cas(state, state.spread(counter.get()), Release); // E3
        if is_spread {
            P::note(&self.word, true);
        } else {
            give_back::<P>(Some(counter));
        }
        is_spread
    }

    /// For a lock that is to be spread as the writer leaves it.
    #[inline(always)]
    pub(super) fn counter_for(&self, state: State) -> Option<NonZeroU32> {
        if P::MAY_COUNT && state.is_hot() && !state.has(CLOSED & !WRITER) { P::take_counter() } else { None }
    }

    /// Makes a spread lock compact that the caller has closed for what it wants.
    #[cold]
    pub(super) fn fold(&self, state: State, want: Want) {
        let counter = state.counter();
        P::step(EXPEL);
        P::expel_counts();
        loop {
            let state = State(self.word.load(Acquire)); // E3
            if state.counter() != counter {
                // The other one that has closed it was faster.
                return;
            }
            let counted = P::counted(counter);
            let Some(next) = state.folded(counted.readers, P::was_worth_it(counted)) else {
                if self.reopen(state, want) {
                    refuse_more();
                }
                continue;
            };
            P::step(FOLD);
            // E2
            if self.cas(state, next, Acquire) {
                // SAFETY: taken for this lock, which does not name it any more; all counts are over, and it was closed since.
                unsafe { P::give_counter(counter) };
                if !next.is_hot() {
                    P::note(&self.word, false);
                }
                return;
            }
        }
    }

    /// Makes it compact, so that it may be freed without being dropped.
    ///
    /// # Safety
    /// Nobody has the lock, waits for it, or comes meanwhile.
    pub unsafe fn retire(&self) {
        let counter = self.load().counter();
        if counter != 0 {
            // SAFETY: taken for this lock, which nobody uses.
            unsafe { P::give_counter(counter) };
            P::note(&self.word, false);
            self.word.store(0, Relaxed);
        }
    }

    /// Those that have it for reading, or look whether they have; stale at once.
    pub(super) fn n_readers(&self) -> u64 {
        let state = State(self.word.load(Acquire)); // E3
        let counted = if state.is_spread() { P::counted(state.counter()).readers } else { 0 };
        // Who moves meanwhile may be missed.
        (state.n_readers(counted) as i64).max(0) as u64
    }
}

/// Gives a counter back that no lock has come to name.
#[inline(always)]
pub(super) fn give_back<P: CoreCounters>(counter: Option<NonZeroU32>) {
    if let Some(counter) = counter {
        // SAFETY: taken by the caller, and nobody else knows it.
        unsafe { P::give_counter(counter.get()) };
    }
}

impl<P: CoreCounters, T: Policy> Drop for RawOndeckRwLock<P, T> {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        unsafe { self.retire() };
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::MOST_ACTIVE;
    use super::*;
    use crate::Hardware;

    type Lock = RawOndeckRwLock<Hardware>;

    /// A spread lock, which stays where it is noted; none where there are no counters.
    fn spread() -> Option<std::boxed::Box<Lock>> {
        let lock = std::boxed::Box::new(Lock::new());
        lock.spread().then_some(lock)
    }

    fn leave(lock: &Lock) {
        // SAFETY: the caller has it for reading.
        unsafe { lock.release_read() };
    }

    #[test]
    fn a_writer_folds_it_and_finds_all_readers() {
        let Some(lock) = spread() else { return };
        (0..3).for_each(|_| lock.read());
        assert!(lock.load().is_spread() && lock.is_taken() && !lock.is_at_rest());
        assert!(!lock.try_write());
        assert_eq!((lock.load().is_spread(), lock.load().n_active()), (false, 3));
        (0..3).for_each(|_| leave(&lock));
        assert!(lock.is_at_rest() && lock.try_write());
        assert!(!lock.spread(), "a writer has it");
        // SAFETY: acquired above.
        unsafe { lock.release_write() };
        assert!(!lock.load().is_spread() && lock.spread() && lock.is_at_rest());
    }

    #[test]
    fn one_that_was_worth_it_is_spread_again_and_once_more() {
        let Some(lock) = spread() else { return };
        let is_spread_after = |n_reads: u32| {
            (0..n_reads).for_each(|_| lock.read());
            (0..n_reads).for_each(|_| leave(&lock));
            lock.write();
            assert!(!lock.load().is_spread());
            // SAFETY: acquired above.
            unsafe { lock.release_write() };
            lock.load().is_spread()
        };
        // Some may lose their core, and come in by the word.
        assert_eq!([1000, 0, 0].map(is_spread_after), [true, true, false]);
    }

    #[test]
    fn who_reads_alone_spreads_it_after_some_thousand_times() {
        if spread().is_none() {
            return;
        }
        let lock = Lock::new();
        let turn = |_: &u32| {
            lock.read();
            leave(&lock);
            lock.load().is_spread()
        };
        let n_turns = (0..10_000_000_u32).take_while(|n| !turn(n)).count();
        assert!((100..10_000_000).contains(&n_turns), "{n_turns}");
    }

    /// Each comes in by the word, and leaves by the counter.
    #[test]
    fn there_is_room_for_those_who_come_by_the_word() {
        let Some(lock) = spread() else { return };
        for _ in 0..2 * MOST_ACTIVE {
            lock.read_upgradable();
            // SAFETY: acquired above.
            unsafe { lock.downgrade_upgradable() };
            leave(&lock);
        }
        assert!(lock.load().is_spread() && lock.is_at_rest());
    }

    /// As those do who find the lock closed, or lose their core.
    #[test]
    fn there_is_room_for_those_who_leave_by_the_word() {
        let Some(lock) = spread() else { return };
        const N: u64 = 2 * LEAST_ACTIVE;
        (0..N).for_each(|_| lock.read());
        for n_left in 1..=N {
            assert!(!lock.balances_before_it_leaves());
            assert!(lock.load().n_active() >= LEAST_ACTIVE);
            lock.word.fetch_sub(ONE_ACTIVE, Release);
            assert!(n_left % 1000 != 0 || lock.n_readers() == N - n_left);
        }
        assert!(lock.load().is_spread() && lock.is_at_rest());
        assert!(lock.try_write());
    }

    #[test]
    fn too_many_readers_are_told_to_the_writer() {
        let Some(lock) = spread() else { return };
        let n_readers = MOST_ACTIVE + 1;
        (0..n_readers).for_each(|_| lock.read());
        let writes = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lock.write()));
        assert!(writes().is_err() && lock.load().is_spread());
        leave(&lock);
        assert!(!lock.try_write());
        (1..n_readers).for_each(|_| leave(&lock));
        assert!(lock.try_write());
    }

    #[test]
    fn its_counter_is_another_ones_afterwards() {
        if spread().is_none() {
            return;
        }
        for _ in 0..10_000 {
            let lock = spread().expect("some are free again");
            // One is folded, and one goes with a guard that is forgotten.
            lock.read();
            assert!(!lock.try_write());
            assert!(lock.spread());
        }
        let lock = spread().expect("some are free again");
        assert!(lock.is_at_rest());
    }
}
