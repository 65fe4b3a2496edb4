//! The promises of the flagship's condition variable, generic over the harness.

use crate::harness::{CheckedCell, Harness, Job};
use crate::properties::free_lock;
#[cfg(feature = "models")]
use crate::steps::contain;
use core::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use ondeck_core::{Atomic, Platform};
use ondeck_lineage::RawLock;
use ondeck_lineage::ondeck::{RawCondvar, RawOndeck, Waiter};
use std::sync::Arc;

/// A count of things to take, and the threads' own account of what happened.
struct ItemCount<H: Harness> {
    lock: RawOndeck<H::Platform>,
    filled: RawCondvar<H::Platform>,
    things: H::Cell,
    /// Outsiders that have joined, and the one who puts for all.
    arrived: <H::Platform as Platform>::U64,
    /// Takers that have joined, and takers but one that have taken.
    joined: <H::Platform as Platform>::U32,
    taken: <H::Platform as Platform>::U32,
    notified: AtomicU64,
    returned: AtomicU64,
}

impl<H: Harness> ItemCount<H> {
    fn new() -> Arc<Self> {
        Arc::new(ItemCount {
            lock: free_lock::<H, _>(),
            filled: RawCondvar::new(),
            things: H::Cell::new(0),
            arrived: Atomic::new(0),
            joined: Atomic::new(0),
            taken: Atomic::new(0),
            notified: AtomicU64::new(0),
            returned: AtomicU64::new(0),
        })
    }

    /// Waits for a thing and takes it; gives up when the deadline has come.
    fn take(&self, deadline_ns: Option<u64>) {
        self.lock.acquire();
        // SAFETY: just acquired.
        while unsafe { self.things.update(|things| things) } == 0 {
            // SAFETY: held; `wait` returns with it held.
            if !unsafe { self.filled.wait(&self.lock, deadline_ns) } {
                break;
            }
            self.returned.fetch_add(1, Relaxed);
        }
        // SAFETY: held.
        unsafe { self.things.update(|things| things.saturating_sub(1)) };
        // SAFETY: held.
        unsafe { self.lock.release() };
    }

    /// Joins as one of `takers`, waits for a thing and takes it. Whenever it has slept, `after` follows.
    fn wait_and_take(&self, takers: u64, after: impl Fn()) {
        self.lock.acquire();
        let waiter = Waiter::new(Some(&self.lock));
        // SAFETY: fresh, the lock is held, and `sleep` returns below.
        unsafe { self.filled.join(&waiter) };
        self.count(&self.joined, takers);
        // SAFETY: held.
        unsafe { self.lock.release() };
        let is_notified = self.filled.sleep(&waiter, |word, waiting| {
            let end = H::Platform::wait_on(word, waiting, None);
            after();
            end
        });
        assert!(is_notified, "a wait without a deadline has ended");
        self.returned.fetch_add(1, Relaxed);
        waiter.reacquire(&self.lock, is_notified);
        // SAFETY: just acquired.
        unsafe { self.things.update(|things| things.checked_sub(1).expect("put before it was notified")) };
        // SAFETY: held.
        unsafe { self.lock.release() };
    }

    /// Gets no core until all other takers have taken a thing.
    fn stand_still(&self, takers: u64) {
        self.wait_for(&self.taken, takers - 1);
    }

    /// Counts one more; the last of `all` wakes who waits for that.
    fn count(&self, counter: &<H::Platform as Platform>::U32, all: u64) {
        if u64::from(counter.fetch_add(1, AcqRel)) + 1 == all {
            H::Platform::wake(counter, u32::MAX);
        }
    }

    fn wait_for(&self, counter: &<H::Platform as Platform>::U32, all: u64) {
        loop {
            let counted = counter.load(Acquire);
            if u64::from(counted) == all {
                return;
            }
            H::Platform::wait_on(counter, counted, None);
        }
    }

    /// Acquires without sleeping: who sleeps for the lock alone may depend on one that has been called.
    fn acquire_awake(&self) {
        while !self.lock.try_acquire() {
            H::Platform::yield_now();
        }
    }

    /// Puts one thing and notifies, with the lock held or just released.
    fn put(&self, holds_while_notifying: bool) {
        self.lock.acquire();
        // SAFETY: just acquired.
        unsafe { self.things.update(|things| things + 1) };
        if holds_while_notifying {
            self.notified.fetch_add(u64::from(self.filled.notify_one()), Relaxed);
        }
        // SAFETY: held.
        unsafe { self.lock.release() };
        if !holds_while_notifying {
            self.notified.fetch_add(u64::from(self.filled.notify_one()), Relaxed);
        }
    }

    /// Puts as many as all could want, and notifies all.
    fn flood(&self, things: u64) {
        self.lock.acquire();
        self.fill_in(things, true);
    }

    /// The same by the holder of the lock, who notifies before its release or after it.
    fn fill_in(&self, things: u64, holds_while_notifying: bool) {
        // SAFETY: the caller holds the lock.
        unsafe { self.things.update(|had| had + things) };
        if holds_while_notifying {
            self.tell_all();
        }
        // SAFETY: held.
        unsafe { self.lock.release() };
        if !holds_while_notifying {
            self.tell_all();
        }
    }

    fn tell_all(&self) {
        self.notified.fetch_add(self.filled.notify_all() as u64, Relaxed);
    }

    /// Waits for the last of `all` to arrive without holding the lock, and takes a thing.
    fn take_from_outside(&self, all: u64) {
        let waiter = Waiter::new(None);
        // SAFETY: fresh, made without a mutex, and `sleep` returns below.
        unsafe { self.filled.join(&waiter) };
        self.arrive(all);
        let is_notified = self.filled.sleep(&waiter, |word, waiting| H::Platform::wait_on(word, waiting, None));
        assert!(is_notified, "a wait without a deadline has ended");
        self.returned.fetch_add(1, Relaxed);
        waiter.reacquire(&self.lock, is_notified);
        // SAFETY: just acquired.
        unsafe { self.things.update(|things| things.checked_sub(1).expect("put before the last has arrived")) };
        // SAFETY: held.
        unsafe { self.lock.release() };
    }

    /// Puts `things`, and arrives as one of `all`, with the lock held or just released.
    fn fill(&self, things: u64, all: u64, holds_while_notifying: bool) {
        self.lock.acquire();
        // SAFETY: just acquired.
        unsafe { self.things.update(|had| had + things) };
        if holds_while_notifying {
            self.arrive(all);
        }
        // SAFETY: held.
        unsafe { self.lock.release() };
        if !holds_while_notifying {
            self.arrive(all);
        }
    }

    /// The last of `all` notifies everybody: who checks nothing under the lock must not be notified before it has joined.
    fn arrive(&self, all: u64) {
        if self.arrived.fetch_add(1, AcqRel) + 1 == all {
            self.tell_all();
        }
    }

    fn assert_rests(&self) {
        let (notified, returned) = (self.notified.load(Relaxed), self.returned.load(Relaxed));
        assert_eq!(notified, returned, "notifications sent and notifications that ended a wait");
        assert!(self.lock.is_at_rest(), "a flag is left in the lock");
        assert_eq!(self.filled.notify_all(), 0, "somebody is left in the list");
    }
}

/// One of the takers gets no core after it has been woken, until all others have taken theirs. They do, although it has been
/// notified first, and mostly has a seat that is kept for it. All are told at once, with the lock held or just released.
pub fn waits_for_no_thread_without_a_core<H: Harness>(others: usize, holds_while_notifying: bool) {
    let takers = others as u64 + 1;
    let take = move |shelf: &ItemCount<H>, index| {
        shelf.wait_and_take(takers, || {
            if index == 0 {
                shelf.stand_still(takers)
            }
        });
        if index != 0 {
            shelf.count(&shelf.taken, takers - 1);
        }
    };
    let put = move |shelf: &ItemCount<H>| {
        shelf.wait_for(&shelf.joined, takers);
        shelf.acquire_awake();
        shelf.fill_in(takers, holds_while_notifying);
    };
    play::<H>(others + 1, take, put);
}

/// Runs `takers` threads that take, each with its number, and one thread more.
fn play<H: Harness>(
    takers: usize,
    take: impl Fn(&ItemCount<H>, usize) + Copy + Send + 'static,
    beside: impl FnOnce(&ItemCount<H>) + Send + 'static,
) {
    let shelf = ItemCount::<H>::new();
    let taker = |index| {
        let shelf = shelf.clone();
        Box::new(move || take(&shelf, index)) as Job
    };
    let mut jobs: Vec<Job> = (0..takers).map(taker).collect();
    let other = shelf.clone();
    jobs.push(Box::new(move || beside(&other)));
    H::run(jobs);
    shelf.assert_rests();
}

/// As many takers as things, put one by one: every taker gets one, so no notification is lost, and each ends one wait.
pub fn wakes_all_and_loses_none<H: Harness>(takers: usize, holds_while_notifying: bool) {
    let put = move |shelf: &ItemCount<H>| (0..takers).for_each(|_| shelf.put(holds_while_notifying));
    play::<H>(takers, |shelf, _| shelf.take(None), put);
}

/// The same, and nobody is woken while the notifier holds the lock, as any of the steps `wakes` would: a waiter that is notified
/// then is pushed. Which steps were taken is known in the modelled harnesses alone.
#[cfg(feature = "models")]
pub fn wakes_nobody_into_the_lock<H: Harness>(takers: usize, wakes: &[&'static str]) {
    wakes_all_and_loses_none::<H>(takers, true);
    for wake in wakes {
        assert!(!contain(&[wake]), "a waiter is woken that can only wait for its notifier");
    }
}

/// The same with one notification for all.
pub fn wakes_all_at_once<H: Harness>(takers: usize) {
    play::<H>(takers, |shelf, _| shelf.take(None), move |shelf: &ItemCount<H>| shelf.flood(takers as u64));
}

/// Takers with a deadline beside takers without: a notification is never spent on a wait that reports a timeout.
pub fn timeouts_race_with_notifications<H: Harness>(timed: usize, patient: usize, deadline_ns: u64) {
    let takers = timed + patient;
    let take = move |shelf: &ItemCount<H>, index| shelf.take((index < timed).then_some(deadline_ns));
    play::<H>(takers, take, move |shelf| (0..takers).for_each(|_| shelf.put(true)));
}

/// Outsiders, which do not hold the lock when they begin to wait, beside takers. All are notified at once, perhaps while
/// somebody releases the lock who has not heard of the outsiders. They acquire the lock by themselves.
pub fn outsiders_acquire_by_themselves<H: Harness>(takers: usize, outsiders: usize, holds_while_notifying: bool) {
    let (waiters, all) = (takers + outsiders, outsiders as u64 + 1);
    let wait = move |shelf: &ItemCount<H>, index| {
        if index < takers { shelf.take(None) } else { shelf.take_from_outside(all) }
    };
    play::<H>(waiters, wait, move |shelf| shelf.fill(waiters as u64, all, holds_while_notifying));
}
