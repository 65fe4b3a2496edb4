//! The spread lock: one whose readers count themselves by core.
//!
//! # Idea
//! A word that each reader writes is taken from core to core, and that is all a short read costs. So a lock that is read often
//! gets a *counter*: a part of it on each core, which only threads of that core write, without a locked instruction
//! ([`CoreCounters::count_unless_expelled`]). How many readers there are is what the word and all parts say *together*. A
//! reader may enter by the one and leave by the other, on this core or that.
//!
//! To make it compact again is to *fold* it: somebody sets FOLDING, with which nobody counts any more, puts an end to the
//! counting that is under way ([`CoreCounters::expel_counts`]), and adds the parts to the word. Meanwhile readers use the word. A
//! writer sets FOLDING as it closes the lock.
//!
//! # Argument
//! - *The sum stays while it is read*: who counts has looked at the word in the same sequence, and FOLDING was not set. Sequences
//!   that looked before it was are over when the expulsion is; later ones find it set.
//! - *One folds*: FOLDING is set by a comparison with a word without it, and is taken away by who has set it, with the counter. So no
//!   two add the same sum, and the counter is given back once. It is spread anew only after that.
//! - *No writer comes in meanwhile*: with a counter, the word lets none in, whatever it counts. One that finds another at it only
//!   closes the lock, and may fall asleep. Who folds wakes it if no reader is left, as a reader does that leaves.
//! - *A fold is refused* if there are more than 655,360 readers: the lock is spread again. Whoever relied on that fold is woken. A
//!   writer folds the lock itself then, and panics if it is refused, too.
//! - *The counter is zero at first*: who gives one back clears it while nobody counts there, and tells of that by the bit that says
//!   who has it. Who takes it tells all readers by E3.
//! - *The word does not run over.* Some readers enter by the counter and leave by the word, or the other way round. So beside a
//!   counter the word has 393,216 more. Who comes or leaves by the word, and finds fewer than 262,144 or at least 524,288, folds the lock
//!   before, or leaves that to who is at it. Behind 131,072 or 655,360 it waits for that one. If the fold is refused, it
//!   panics: who comes is not in then, and who leaves is in still. Who does not look at the word first, as nothing is noted
//!   of the lock, sees in the answer that it has a counter, and notes that: the next one looks. So only
//!   threads that are at it at the same time go on behind these limits. Who was counted by the word may leave by it without a look, as
//!   that takes away what it has added: then the word is as if it had not come. More than 196,608 readers that came so and leave so
//!   can make the limits of the others no longer hold. The process ends before the word has none left.
//! - *The lock may go* once a reader has left: the last instruction of a sequence writes the table of counters, not the lock, and a
//!   note is of an address.
//!
//! # When
//! One read in 64 is looked at, which the word itself counts. Of these the core picks one in 16, or one in 64 of those
//! that find no other reader. The second one without a writer in between spreads the lock: after some 2,000 reads that
//! disturb each other, or 8,000 that do not. The latter only while few locks of the process are spread: where some of many
//! are, the core cannot foretell which way the next read goes, and that costs more than a reader gains who is alone. On Zen 3, where that
//! one gains nothing, also only while another lock is spread. If 512 readers have entered by the counter when the next writer comes, it has saved
//! more than the expulsion costs, and the writer spreads the lock again as it leaves. (They are counted up to 4,095, so one in eight
//! that has had more is taken for less.) It does so once more after a counter that was not worth it, as writers often come in pairs.
//!
//! # Bound
//! A writer that finds the lock spread waits for one expulsion more, which takes microseconds, and interrupts the threads of the
//! process that run. Each expulsion follows on 512 reads, or on one that did, or on 2,000 reads; or on 131,072 that have come or left
//! by the word.
//!
//! # Lineage
//! A counter for each processor, and a writer that visits all: Hsieh and Weihl 1992, brlock, Linux' percpu-rwsem, Xen's percpu
//! rwlock. A barrier that only the writer pays: passive reader-writer locks, liburcu. Not related: tables of visible readers by
//! hash of lock and thread.

use super::state::{CLOSED, LEAST_ACTIVE, MOST_ACTIVE, ONE_ACTIVE, ONE_LOOKED_AT_IN, State, WRITER};
use super::{COUNT, EXPEL, FOLD, GATHER, RawOndeckRwLock, SPREAD, WARM, refuse_more};
use crate::ondeck::Policy;
use crate::{Atomic, CoreCounters, Counted};
use core::num::NonZeroU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// One read in so many that finds another reader in is looked at, and the second one without a writer in between spreads the lock. So
/// some thousand reads have cost what an expulsion does.
const ONE_IN: u32 = 1024;
/// The same of a read that finds no other reader, and costs less.
const ONE_ALONE_IN: u32 = 4 * ONE_IN;

impl<P: CoreCounters, T: Policy> RawOndeckRwLock<P, T> {
    /// Counts the caller in or out by core, if the lock is spread.
    #[inline(always)]
    pub(super) fn counts(&self, amount: u64) -> bool {
        P::MAY_COUNT && P::is_noted(&self.word) && self.load().is_spread() && self.counts_if_spread(amount)
    }

    /// The same of a lock that was spread just now.
    #[inline(always)]
    fn counts_if_spread(&self, amount: u64) -> bool {
        P::step(COUNT);
        // SAFETY: what is in the word as a counter's number is one, taken by who has written it.
        unsafe { P::count_unless_expelled(&self.word, amount) } // E1, E2
    }

    /// As `enter`, of a lock that is most likely spread.
    #[inline(always)]
    pub(super) fn enter_noted(&self, blocked: u64) -> bool {
        let is_counted = self.load().is_spread() && self.counts_if_spread(Counted::ENTER);
        if !is_counted {
            self.enter_by_word(blocked);
        }
        !is_counted
    }

    /// As `release_read`, the same.
    #[inline(always)]
    pub(super) fn leave_noted(&self) {
        let state = self.load();
        if !state.is_spread() || !self.counts_if_spread(Counted::LEAVE) {
            self.leave_in_range(state);
        }
    }

    /// By the word, for which there has to be room. Panics if there is none, and the caller is in then.
    #[inline(always)]
    fn leave_in_range(&self, state: State) {
        if state.has_counter() && !self.keeps_in_range() && self.load().n_active() < LEAST_ACTIVE {
            refuse_more();
        }
        self.leave_by_word();
    }

    /// Folds the lock if so many have entered by the one and left by the other that the word would run over, or leaves that to
    /// who is at it. False if there are far too many readers.
    #[cold]
    #[inline(never)]
    pub(super) fn keeps_in_range(&self) -> bool {
        loop {
            let state = self.load();
            if !state.is_out_of_range() {
                return true;
            }
            if state.is_spread() {
                if self.gathers(state) {
                    return self.fold();
                }
            } else if state.is_far_out() {
                P::yield_now();
            } else {
                return true;
            }
        }
    }

    fn gathers(&self, state: State) -> bool {
        P::step(GATHER);
        self.cas(state, state.folding(), Relaxed)
    }

    /// Has readers count themselves in the lock again, if they do so by core: an expulsion, without waiting for readers to leave.
    pub fn compact(&self) {
        let state = self.load();
        if state.is_spread() && self.gathers(state) {
            self.fold();
        }
    }

    /// Makes a lock compact for which the caller has set FOLDING. False if there are far too many readers: then it is spread again.
    #[cold]
    pub(super) fn fold(&self) -> bool {
        P::step(EXPEL);
        P::expel_counts();
        let counter = State(self.word.load(Acquire)).counter(); // E3
        let counted = P::counted(counter);
        loop {
            let state = self.load();
            let folded = state.folded(counted.readers, P::was_worth_it(counted));
            let next = folded.unwrap_or(state.spread_again());
            P::step(FOLD);
            // E2. Who relies on it has to fold the lock itself if this is refused.
            if self.change_and_wake(state, next, AcqRel, |to| folded.is_none() || to.lets_a_writer_in()) {
                if folded.is_some() {
                    // SAFETY: taken for this lock, which does not name it any more; all counts are over.
                    unsafe { P::give_counter(counter) };
                }
                if !next.is_hot() {
                    P::note(&self.word, next.has_counter());
                }
                return folded.is_some();
            }
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
        let is_alone = before.n_active() == 0;
        let one_in = if is_alone { ONE_ALONE_IN } else { ONE_IN };
        if before.has_counter() {
            P::note(&self.word, true);
        }
        if !P::is_sampled(one_in / ONE_LOOKED_AT_IN) {
            return;
        }
        let state = self.load();
        let gains_enough = !is_alone || P::pays_alone();
        if gains_enough && state.warmer().is_hot() {
            self.spread();
        } else if !state.has(CLOSED) && !state.has_counter() {
            // What is noted there is of another one, which notes itself again.
            P::note(&self.word, false);
            if gains_enough {
                P::step(WARM);
                self.cas(state, state.warmer(), Relaxed);
            }
        }
    }

    /// Has readers count themselves by core from here on, without waiting for the lock to find that it pays. The next writer ends
    /// that. Returns whether they do; not while a writer has the lock or waits for it, and not where there are no counters.
    pub fn spread(&self) -> bool {
        let state = self.load();
        let may_be = P::MAY_COUNT && !state.has(CLOSED) && !state.has_counter() && state.n_active() < LEAST_ACTIVE;
        let Some(counter) = (if may_be { P::take_counter() } else { None }) else { return state.is_spread() };
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

    /// Forgets who waits, and has it compact. For the child of a fork, which has none of the other threads.
    ///
    /// # Safety
    /// No thread of this process waits for the lock, or comes meanwhile.
    pub unsafe fn forget_who_waits(&self) {
        let (state, n_readers) = (self.load(), self.n_readers());
        let held = if state.has(WRITER) { WRITER } else { n_readers.min(MOST_ACTIVE) * ONE_ACTIVE };
        self.turn.make_free();
        self.word.store(held, Relaxed);
        if state.has_counter() {
            // SAFETY: taken for this lock, which does not name it any more.
            unsafe { P::give_counter(state.counter()) };
        }
    }

    /// Forgets all: what is in memory that another lock was in, or of one that was copied. A counter is left to that one.
    ///
    /// # Safety
    /// Nobody has it, or uses it before this is over.
    pub unsafe fn forget_all(&self) {
        P::note(&self.word, false);
        self.turn.make_free();
        self.word.store(0, Relaxed);
    }

    /// Those that have it for reading, or look whether they have; stale at once.
    pub fn n_readers(&self) -> u64 {
        let state = State(self.word.load(Acquire)); // E3
        if state.is_quiet_hold() {
            return 0;
        }
        let counted = if state.has_counter() { P::counted(state.counter()).readers } else { 0 };
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
    use super::super::state::{ASLEEP, CALLED};
    use super::*;
    use crate::Hardware;
    use std::time::{Duration, Instant};

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

    /// A writer that waits lets those come first that were called; one that does not wait has no such time.
    #[test]
    fn a_try_folds_it_also_if_readers_were_called() {
        let Some(lock) = spread() else { return };
        lock.word.fetch_or(CALLED, Relaxed);
        assert!(lock.try_write());
        // SAFETY: acquired above.
        unsafe { lock.release_write() };
        assert!(lock.spread());
        lock.word.fetch_or(CALLED, Relaxed);
        lock.read();
        assert!(!lock.try_write() && !lock.write_until(1));
        leave(&lock);
        assert!(lock.try_write());
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
        // So that it pays everywhere.
        let Some(_other) = spread() else { return };
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
        let mut n_folded = 0;
        for _ in 0..2 * MOST_ACTIVE {
            // So that whichever core this is has a row.
            Hardware::is_sampled(1);
            lock.read_upgradable();
            // SAFETY: acquired above.
            unsafe { lock.downgrade_upgradable() };
            leave(&lock);
            n_folded += u32::from(!lock.load().has_counter());
            lock.spread();
        }
        assert!(n_folded > 0 && lock.is_at_rest());
    }

    /// As those do who are on a core without a row, or have lost it. At no time is it taken for unread.
    #[test]
    fn there_is_room_for_those_who_leave_by_the_word() {
        const N: u64 = 2 * LEAST_ACTIVE;
        let Some(lock) = spread() else { return };
        Hardware::is_sampled(1);
        (0..N).for_each(|_| lock.read());
        for n_left in 1..N {
            lock.leave_in_range(lock.load());
            assert!(n_left % 1000 != 0 || lock.n_readers() == N - n_left);
        }
        assert!(!lock.load().has_counter() && !lock.try_write());
        leave(&lock);
        assert!(lock.try_write());
    }

    /// As above, of more readers than a fold may find. Who is told stays a reader.
    #[test]
    fn who_has_no_room_to_leave_by_the_word_is_told() {
        const N: usize = 2 * MOST_ACTIVE as usize;
        let Some(lock) = spread() else { return };
        Hardware::is_sampled(1);
        (0..N).for_each(|_| lock.read());
        let is_told = |leaves: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(leaves)).is_err();
        let is_told_by_word = || is_told(&|| lock.leave_in_range(lock.load()));
        let n_left = (0..N).take_while(|_| !is_told_by_word()).count();
        assert!(n_left > (MOST_ACTIVE - LEAST_ACTIVE) as usize / 2 && n_left < LEAST_ACTIVE as usize, "{n_left}");
        assert_eq!(lock.n_readers(), (N - n_left) as u64);
        // By the counter; but for one that loses its core, and tries again.
        (0..N / 2).for_each(|_| while is_told(&|| leave(&lock)) {});
        (N / 2..N - n_left).for_each(|_| assert!(!is_told_by_word()));
        assert!(lock.is_at_rest() && lock.try_write());
    }

    /// It closes the lock while another one folds it, and sleeps. Then it comes in, or is told that there are too many readers.
    #[test]
    fn a_writer_that_sleeps_hears_of_the_end_of_a_fold() {
        for n_readers in [0, 2 * MOST_ACTIVE] {
            let Some(lock) = spread() else { return };
            // If it hears nothing, it is there for ever.
            let lock: &'static Lock = std::boxed::Box::leak(lock);
            (0..n_readers).for_each(|_| lock.read());
            assert!(lock.gathers(lock.load()));
            let writer = std::thread::spawn(|| lock.write());
            while !lock.load().has(ASLEEP) {
                std::thread::yield_now();
            }
            assert_eq!(lock.fold(), n_readers == 0);
            let until = Instant::now() + Duration::from_secs(30);
            while !writer.is_finished() && Instant::now() < until {
                std::thread::yield_now();
            }
            assert!(writer.is_finished(), "it sleeps on");
            assert_eq!((writer.join().is_ok(), lock.load().has(CLOSED)), (n_readers == 0, n_readers == 0));
        }
    }

    /// It is noted at another address, or nowhere, as by another copy of this code.
    #[test]
    fn one_that_was_moved_is_not_taken_for_unread() {
        const N: u64 = LEAST_ACTIVE + 2 * (MOST_ACTIVE - LEAST_ACTIVE) / 3;
        let Some(lock) = spread() else { return };
        Hardware::is_sampled(1);
        (0..N).for_each(|_| lock.read());
        let lock = std::boxed::Box::new(*lock);
        (1..N).for_each(|_| leave(&lock));
        assert!(!lock.try_write());
        leave(&lock);
        assert!(lock.try_write());
    }

    /// It has added to the word what it takes away.
    #[test]
    fn who_came_by_the_word_leaves_by_it_though_the_lock_is_spread_since() {
        let lock = std::boxed::Box::new(Lock::new());
        assert!(lock.read_by_word());
        if !lock.spread() {
            return;
        }
        let active = lock.load().n_active();
        assert!(!lock.read_by_word() || lock.load().n_active() > active, "by the counter, unless it has lost its core");
        // SAFETY: the word counts it since its acquisition.
        unsafe { lock.release_read_by_word() };
        assert_eq!((lock.n_readers(), lock.load().is_spread()), (1, true));
        leave(&lock);
        assert!(lock.is_at_rest() && lock.try_write());
    }

    #[test]
    fn one_that_was_moved_has_room() {
        let Some(lock) = spread() else { return };
        let lock = std::boxed::Box::new(*lock);
        for _ in 0..LEAST_ACTIVE {
            lock.read_upgradable();
            // SAFETY: acquired above.
            unsafe { lock.downgrade_upgradable() };
        }
        (0..LEAST_ACTIVE).for_each(|_| leave(&lock));
        assert!(lock.is_at_rest());
    }

    /// All at once, in all ways.
    #[test]
    fn threads_that_fold_at_once_lose_no_reader() {
        const TIMES: u32 = if cfg!(miri) { 10 } else { 20_000 };
        let Some(lock) = spread() else { return };
        std::thread::scope(|scope| {
            for number in 0..4_u32 {
                let lock = &lock;
                scope.spawn(move || {
                    for at in 0..TIMES {
                        lock.read();
                        if (at + number) % 64 == 0 {
                            lock.compact();
                            lock.spread();
                        }
                        leave(lock);
                    }
                });
            }
        });
        assert!(lock.is_at_rest() && lock.try_write());
    }

    #[test]
    fn the_child_of_a_fork_forgets_who_waits() {
        for is_spread in [false, true] {
            let lock = std::boxed::Box::new(Lock::new());
            (0..3).for_each(|_| lock.read());
            if is_spread && !lock.spread() {
                return;
            }
            (0..2).for_each(|_| lock.read());
            lock.word.fetch_or(CLOSED & !WRITER, Relaxed);
            // SAFETY: nobody waits.
            unsafe { lock.forget_who_waits() };
            assert_eq!((lock.load().n_active(), lock.load().has(CLOSED)), (5, false));
            (0..5).for_each(|_| leave(&lock));
            assert!(lock.try_write());
            // SAFETY: nobody waits.
            unsafe { lock.forget_who_waits() };
            assert!(lock.is_taken_for_writing());
        }
    }

    #[test]
    fn far_too_many_readers_are_told_to_the_writer() {
        let Some(lock) = spread() else { return };
        let n_readers = 2 * MOST_ACTIVE;
        (0..n_readers).for_each(|_| lock.read());
        let writes = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lock.write()));
        assert!(writes().is_err() && lock.load().is_spread() && !lock.load().has(CLOSED));
        assert!(lock.try_read());
        (0..=MOST_ACTIVE).for_each(|_| leave(&lock));
        assert!(!lock.try_write() && !lock.load().has_counter());
        (1..MOST_ACTIVE).for_each(|_| leave(&lock));
        assert!(!lock.try_write());
        leave(&lock);
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
