//! Races at the end of a wait: the condition variable may be freed when everybody has been notified, its lock by the last
//! waiter, while the notifier and the other waiters are still on their way out; and a notified waiter is one contender
//! among others.

use ondeck_conformance::{CheckedCell, Harness, Job, LoomHarness, Model, Schedule, ScheduleHarness};
use ondeck_lineage::ondeck::RawCondvar;
use ondeck_lineage::{RawLock, RawOndeck};
use std::sync::Arc;

const SEARCH: Schedule = Schedule { executions: 20_000 };
const MODEL: Model = Model::new();

/// A condition variable with its lock, each to be freed by itself.
struct LockAndCondvar<H: Harness>(*mut RawOndeck<H::Platform>, *mut RawCondvar<H::Platform>, H::Cell);

// SAFETY: the property says who may use which part when.
unsafe impl<H: Harness> Send for LockAndCondvar<H> {}
// SAFETY: as above.
unsafe impl<H: Harness> Sync for LockAndCondvar<H> {}

/// Who ends the life of a condition variable whose waiters have all been notified.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Destroyer {
    Notifier,
    LastWaiter,
}

/// The condition variable is freed as soon as everybody has been notified, the lock by the last waiter, while the notifier
/// and the others are on their way out.
fn freeing<H: Harness>(waiters: usize, undertaker: Destroyer, is_under_mutex: bool) {
    let new = (Box::into_raw(Box::new(RawOndeck::new())), Box::into_raw(Box::new(RawCondvar::new())));
    let parts = Arc::new(LockAndCondvar::<H>(new.0, new.1, H::Cell::new(0)));
    let jobs = (0..=waiters).map(|_| {
        let parts = parts.clone();
        Box::new(move || leave(&parts, waiters as u64, undertaker, is_under_mutex)) as Job
    });
    H::run(jobs.collect());
}

/// The last to come notifies the others. The data counts arrivals, and then returns.
fn leave<H: Harness>(parts: &LockAndCondvar<H>, waiters: u64, undertaker: Destroyer, is_under_mutex: bool) {
    // SAFETY: freed by the last waiter below, when all others have released it.
    let mutex = unsafe { &*parts.0 };
    // SAFETY: freed when everybody has been notified, and not used after that.
    let changed = unsafe { &*parts.1 };
    mutex.acquire();
    // SAFETY: acquired.
    let arrived = unsafe { parts.2.update(|count| count + 1) };
    if arrived <= waiters {
        // SAFETY: acquired.
        assert!(unsafe { changed.wait(mutex, None) });
        // SAFETY: acquired by the wait.
        let is_last = unsafe { parts.2.update(|count| count + 1) } == 2 * waiters + 1;
        // SAFETY: acquired by the wait.
        unsafe { mutex.release() };
        if is_last {
            // SAFETY: the notifier has released it before the first waiter came back, the other waiters before this.
            unsafe { H::free(parts.0) };
            if undertaker == Destroyer::LastWaiter {
                // SAFETY: all waiters have been notified, and they and the notifier are done with it.
                unsafe { H::free(parts.1) };
            }
        }
        return;
    }
    if !is_under_mutex {
        // SAFETY: acquired above.
        unsafe { mutex.release() };
    }
    assert_eq!(changed.notify_all() as u64, waiters);
    if undertaker == Destroyer::Notifier {
        // SAFETY: everybody has been notified.
        unsafe { H::free(parts.1) };
    }
    if is_under_mutex {
        // SAFETY: acquired above.
        unsafe { mutex.release() };
    }
}

/// A waiter with a deadline is notified first, and the notifier frees the condition variable: it is not touched by a waiter
/// that finds out only then that its time is up. The data counts the notifier, and the waiter that it has notified.
fn freed_before_the_deadline<H: Harness>(deadline_ns: u64) {
    let new = (Box::into_raw(Box::new(RawOndeck::new())), Box::into_raw(Box::new(RawCondvar::new())));
    let parts = Arc::new(LockAndCondvar::<H>(new.0, new.1, H::Cell::new(0)));
    let (waiter, notifier) = (parts.clone(), parts.clone());
    let wait = move || {
        // SAFETY: freed at the end.
        let mutex = unsafe { &*waiter.0 };
        mutex.acquire();
        // SAFETY: acquired.
        if unsafe { waiter.2.update(|n| n) } == 0 {
            // SAFETY: the notifier comes later, and keeps it until somebody has been notified.
            let changed = unsafe { &*waiter.1 };
            // SAFETY: acquired.
            let is_notified = unsafe { changed.wait(mutex, Some(deadline_ns)) };
            // SAFETY: acquired by the wait.
            assert_eq!(is_notified, unsafe { waiter.2.update(|n| n) } == 2);
        }
        // SAFETY: acquired.
        unsafe { mutex.release() };
    };
    let notify = move || {
        // SAFETY: as above.
        let mutex = unsafe { &*notifier.0 };
        mutex.acquire();
        // SAFETY: freed below only.
        let n_notified = unsafe { &*notifier.1 }.notify_all() as u64;
        if n_notified == 1 {
            // SAFETY: the only waiter has been notified.
            unsafe { H::free(notifier.1) };
        }
        // SAFETY: acquired.
        unsafe { notifier.2.update(|_| 1 + n_notified) };
        // SAFETY: acquired.
        unsafe { mutex.release() };
    };
    H::run(vec![Box::new(wait), Box::new(notify)]);
    // SAFETY: both threads are done.
    if unsafe { parts.2.update(|n| n) } == 1 {
        // SAFETY: as above.
        unsafe { H::free(parts.1) };
    }
    // SAFETY: as above.
    unsafe { H::free(parts.0) };
}

/// Waiters, a notifier, and threads that only want the lock.
fn beside_others<H: Harness>(waiters: usize, others: usize, rounds: usize) {
    let shared = Arc::new((RawOndeck::<H::Platform>::new(), RawCondvar::<H::Platform>::new(), H::Cell::new(0)));
    let section = |shared: &(RawOndeck<H::Platform>, RawCondvar<H::Platform>, H::Cell), is_waiter: bool| {
        let (mutex, changed, things) = shared;
        mutex.acquire();
        // SAFETY: acquired, here and after each wait.
        while is_waiter && unsafe { things.update(|things| things) } == 0 {
            // SAFETY: acquired.
            assert!(unsafe { changed.wait(mutex, None) });
        }
        // SAFETY: acquired.
        unsafe { things.update(|things| if is_waiter { things - 1 } else { things }) };
        // SAFETY: acquired.
        unsafe { mutex.release() };
    };
    let play = |is_waiter: bool| {
        let shared = shared.clone();
        Box::new(move || (0..rounds).for_each(|_| section(&shared, is_waiter))) as Job
    };
    let mut jobs: Vec<Job> = (0..waiters + others).map(|index| play(index < waiters)).collect();
    let giver = shared.clone();
    jobs.push(Box::new(move || {
        for _ in 0..waiters * rounds {
            giver.0.acquire();
            // SAFETY: acquired.
            unsafe { giver.2.update(|things| things + 1) };
            // SAFETY: acquired.
            unsafe { giver.0.release() };
            giver.1.notify_one();
        }
    }));
    H::run(jobs);
    assert!(shared.0.is_at_rest());
}

mod loom {
    use super::*;

    fn freed_by(undertaker: Destroyer) {
        for is_under_mutex in [true, false] {
            let one = MODEL.reaching(if is_under_mutex { &["enlist", "show_up"] } else { &["invite", "show_up"] });
            one.check(move || freeing::<LoomHarness>(1, undertaker, is_under_mutex));
            let preemptions = if is_under_mutex { 1 } else { 2 };
            let two = MODEL.preemptions(preemptions).reaching(&["enlist", "call_up"]);
            two.check(move || freeing::<LoomHarness>(2, undertaker, is_under_mutex));
        }
    }

    #[test]
    fn freed_by_the_notifier() {
        freed_by(Destroyer::Notifier);
    }

    #[test]
    fn freed_by_the_last_waiter() {
        freed_by(Destroyer::LastWaiter);
    }

    #[test]
    fn freed_by_the_notifier_before_the_deadline() {
        let model = Model { spurious_wakes: 0, ..MODEL.expiring() };
        model.check_containing(&[&["enlist", "withdraw", "show_up"]], || {
            freed_before_the_deadline::<LoomHarness>(Model::deadline_ns());
        });
    }
}

mod schedule {
    use super::*;

    fn freed_by(undertaker: Destroyer) {
        for is_under_mutex in [true, false] {
            SEARCH.check(move || freeing::<ScheduleHarness>(4, undertaker, is_under_mutex));
        }
    }

    #[test]
    fn freed_by_the_notifier() {
        freed_by(Destroyer::Notifier);
    }

    #[test]
    fn freed_by_the_last_waiter() {
        freed_by(Destroyer::LastWaiter);
    }

    #[test]
    fn a_notified_waiter_is_one_contender_of_many() {
        let all = [["summon", "invite", "show_up"].as_slice(), &["summon", "enlist", "detach", "show_up"]];
        SEARCH.check_containing(&all, || beside_others::<ScheduleHarness>(3, 3, 2));
    }
}
