//! The promises, one function each, generic over the harness and the lock.
//!
//! A function returns when all its threads have finished, so each of them also claims that no wake-up is lost. How a
//! violation shows depends on the harness: loom reports a race, a deadlock or a touch after the end of life; on
//! hardware a lost wake-up hangs until the test's watchdog ends it.

use crate::counted::{CountedObject, Reference};
use crate::harness::{CheckedCell, EndInSleep, Harness, Job};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ondeck_core::Platform;
use ondeck_lineage::{RawLock, RawMonitor, RawTimedLock};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// A lock, the data that it guards, and a count of acquisitions that does not rely on the lock.
struct Shared<H: Harness, L> {
    lock: L,
    data: H::Cell,
    entered: AtomicU64,
}

impl<H: Harness, L: RawLock<Platform = H::Platform>> Shared<H, L> {
    fn new() -> Arc<Self> {
        Arc::new(Shared { lock: L::new(), data: H::Cell::new(0), entered: AtomicU64::new(0) })
    }

    fn section(&self) {
        // SAFETY: callers have just acquired the lock; that this is enough is what the property claims.
        unsafe { self.data.update(|count| count + 1) };
        self.entered.fetch_add(1, Relaxed);
        // SAFETY: as above; nobody else releases for this thread.
        unsafe { self.lock.release() };
    }

    /// Called when every thread has finished: nothing may be lost, nothing may be left behind.
    fn assert_rests(&self) {
        assert!(self.lock.is_at_rest(), "{}: a flag is left although nobody is inside", L::ENTRY.name);
        assert!(self.lock.try_acquire(), "{}: taken although everybody has left", L::ENTRY.name);
        assert!(!self.lock.is_at_rest(), "{}: it rests, it says, and somebody is inside", L::ENTRY.name);
        // SAFETY: acquired in the line above; all other threads have finished.
        let count = unsafe { self.data.update(|count| count) };
        assert_eq!(count, self.entered.load(Relaxed), "{}: an update was lost", L::ENTRY.name);
        // SAFETY: acquired above.
        unsafe { self.lock.release() };
        assert!(self.lock.is_at_rest(), "{}: a release without contenders leaves a flag", L::ENTRY.name);
    }
}

/// Runs one job per entry of `roles` and then asserts that the lock rests.
fn play<H: Harness, L: RawLock<Platform = H::Platform>>(roles: Vec<fn(&Shared<H, L>)>, rounds: usize) -> u64 {
    let shared = Shared::<H, L>::new();
    let jobs = roles.into_iter().map(|role| {
        let shared = shared.clone();
        Box::new(move || (0..rounds).for_each(|_| role(&shared))) as Job
    });
    H::run(jobs.collect());
    shared.assert_rests();
    shared.entered.load(Relaxed)
}

fn acquirer<H: Harness, L: RawLock<Platform = H::Platform>>(shared: &Shared<H, L>) {
    shared.lock.acquire();
    shared.section();
}

fn tryer<H: Harness, L: RawLock<Platform = H::Platform>>(shared: &Shared<H, L>) {
    if shared.lock.try_acquire() {
        shared.section();
    }
}

/// Mutual exclusion, visibility of the data, no lost wake-up, rest at the end.
pub fn exclusion<H: Harness, L: RawLock<Platform = H::Platform>>(threads: usize, rounds: usize) {
    let entered = play::<H, L>(vec![acquirer; threads], rounds);
    assert_eq!(entered, (threads * rounds) as u64);
}

/// As [`exclusion`], of a monitor that has its large form from the beginning.
pub fn exclusion_inflated<H: Harness, L: RawMonitor<Platform = H::Platform>>(threads: usize, rounds: usize) {
    let shared = Shared::<H, L>::new();
    shared.lock.inflate();
    let jobs = (0..threads).map(|_| {
        let shared = shared.clone();
        Box::new(move || (0..rounds).for_each(|_| acquirer(&shared))) as Job
    });
    H::run(jobs.collect());
    shared.assert_rests();
}

/// A try beside waiting threads disturbs nobody; alone it succeeds.
pub fn tries<H: Harness, L: RawLock<Platform = H::Platform>>(threads: usize, rounds: usize) {
    let mut roles: Vec<fn(&Shared<H, L>)> = vec![acquirer; threads - 1];
    roles.push(tryer);
    let entered = play::<H, L>(roles, rounds);
    assert!(entered >= ((threads - 1) * rounds) as u64);
}

/// A thread that gives up does so after its deadline.
fn assert_over<H: Harness>(deadline_ns: u64) {
    assert!(H::Platform::now_ns() >= deadline_ns, "given up before the deadline");
}

/// Acquisitions with a deadline: `timed` of the threads give up whenever the harness lets `deadline_ns` pass.
pub fn timed<H, L>(threads: usize, timed: usize, rounds: usize, deadline_ns: u64)
where
    H: Harness,
    L: RawTimedLock<Platform = H::Platform>,
{
    let shared = Shared::<H, L>::new();
    let jobs = (0..threads).map(|index| {
        let shared = shared.clone();
        Box::new(move || {
            for _ in 0..rounds {
                if index >= timed {
                    shared.lock.acquire();
                } else if !shared.lock.try_acquire_until(deadline_ns) {
                    assert_over::<H>(deadline_ns);
                    continue;
                }
                shared.section();
            }
        }) as Job
    });
    H::run(jobs.collect());
    shared.assert_rests();
    assert!(shared.entered.load(Relaxed) >= ((threads - timed) * rounds) as u64);
}

/// As [`timed`], with one round, behind a holder that has the lock before the others come and only has to release it.
pub fn behind_a_holder<H, L>(waiters: usize, timed: usize, deadline_ns: u64)
where
    H: Harness,
    L: RawTimedLock<Platform = H::Platform>,
{
    let shared = Shared::<H, L>::new();
    shared.lock.acquire();
    let wait = |index: usize| {
        let shared = shared.clone();
        Box::new(move || {
            if index >= timed {
                acquirer(&shared);
            } else if shared.lock.try_acquire_until(deadline_ns) {
                shared.section();
            } else {
                assert_over::<H>(deadline_ns);
            }
        }) as Job
    };
    let held = shared.clone();
    // First, since the last is run by a model's first thread: a holder that need not be preempted to be waited for.
    let mut jobs: Vec<Job> = vec![Box::new(move || held.section())];
    jobs.extend((0..waiters).map(wait));
    H::run(jobs);
    shared.assert_rests();
}

/// As [`behind_a_holder`], without deadlines, in a harness where any waiter may end in its sleep: the others get in all the same.
pub fn outlived<H: Harness, L: RawLock<Platform = H::Platform>>(waiters: usize) {
    let shared = Shared::<H, L>::new();
    shared.lock.acquire();
    let wait = |_| {
        let shared = shared.clone();
        Box::new(move || match catch_unwind(AssertUnwindSafe(|| shared.lock.acquire())) {
            Ok(()) => shared.section(),
            Err(end) if end.is::<EndInSleep>() => {}
            Err(panic) => resume_unwind(panic),
        }) as Job
    };
    let held = shared.clone();
    // First, as in `behind_a_holder`.
    let mut jobs: Vec<Job> = vec![Box::new(move || held.section())];
    jobs.extend((0..waiters).map(wait));
    H::run(jobs);
    shared.assert_rests();
}

/// Others wait when the holder releases, and somebody tries once, into whatever goes on meanwhile.
pub fn tried_meanwhile<H: Harness, L: RawLock<Platform = H::Platform>>(waiters: usize) {
    let shared = Shared::<H, L>::new();
    shared.lock.acquire();
    let job = |role: fn(&Shared<H, L>)| {
        let shared = shared.clone();
        Box::new(move || role(&shared)) as Job
    };
    // The holder first, as in `behind_a_holder`.
    let mut jobs = vec![job(Shared::section), job(tryer)];
    jobs.extend((0..waiters).map(|_| job(acquirer)));
    H::run(jobs);
    shared.assert_rests();
}

/// A reentrant lock: its holder gets in `depth` times, by acquiring and by trying, and others only when it has left as
/// often.
pub fn nesting<H: Harness, L: RawLock<Platform = H::Platform>>(threads: usize, rounds: usize, depth: usize) {
    let shared = Shared::<H, L>::new();
    let jobs = (0..threads).map(|_| {
        let shared = shared.clone();
        Box::new(move || {
            for _ in 0..rounds {
                shared.lock.acquire();
                for level in 1..depth {
                    if level % 2 == 0 {
                        shared.lock.acquire();
                    } else {
                        assert!(shared.lock.try_acquire(), "{}: its own holder is kept out", L::ENTRY.name);
                    }
                }
                (0..depth).for_each(|_| shared.section());
            }
        }) as Job
    });
    H::run(jobs.collect());
    shared.assert_rests();
    assert_eq!(shared.entered.load(Relaxed), (threads * rounds * depth) as u64);
}

/// A monitor: `waiters` threads wait, entered twice, until there is something for each of them; one thread provides it
/// and pulses, all at once or one by one.
pub fn pulses<H: Harness, L: RawMonitor<Platform = H::Platform>>(waiters: usize, all_at_once: bool) {
    let shared = Shared::<H, L>::new();
    // SAFETY: callers have acquired the lock.
    let change = |shared: &Shared<H, L>, by: i64| unsafe { shared.data.update(|count| count.wrapping_add_signed(by)) };
    let take = |_| {
        let shared = shared.clone();
        Box::new(move || {
            shared.lock.acquire();
            shared.lock.acquire();
            // Ended by the provider, who pulses each of those that have come before it; the others find their share.
            while change(&shared, 0) == 0 {
                assert_eq!(shared.lock.wait(None), Ok(true), "{}: a wait ended by nobody", L::ENTRY.name);
            }
            change(&shared, -1);
            for _ in 0..2 {
                // SAFETY: acquired twice above, and a wait gives back what it took.
                unsafe { shared.lock.release() };
            }
        }) as Job
    };
    let mut jobs: Vec<Job> = (0..waiters).map(take).collect();
    let provider = shared.clone();
    jobs.push(Box::new(move || {
        provider.lock.acquire();
        change(&provider, waiters as i64);
        if all_at_once {
            assert!(provider.lock.pulse_all().expect("held") <= waiters);
        } else {
            // Ended by an empty queue.
            while provider.lock.pulse().expect("held") {}
        }
        // SAFETY: acquired above.
        unsafe { provider.lock.release() };
    }));
    H::run(jobs);
    shared.assert_rests();
}

/// Nothing touches the lock after the releasing write: the last of `threads` users frees it right after its release,
/// whatever the others are doing on their way out.
///
/// Waiter records are checked by the way: the modelled harnesses notice when one is touched after its owner has left.
pub fn freeing<H: Harness, L: RawLock<Platform = H::Platform>>(threads: usize) {
    freeing_by::<H, L>(threads, |_, lock| lock.acquire());
}

/// As [`freeing`], with the even threads attempting a timed acquisition first: a waiter that has given up and comes
/// back.
pub fn freeing_timed<H, L>(threads: usize, deadline_ns: u64)
where
    H: Harness,
    L: RawTimedLock<Platform = H::Platform>,
{
    freeing_by::<H, L>(threads, move |index, lock| {
        if index % 2 == 1 || !lock.try_acquire_until(deadline_ns) {
            lock.acquire();
        }
    });
}

fn freeing_by<H, L>(threads: usize, acquire: impl Fn(usize, &L) + Copy + Send + 'static)
where
    H: Harness,
    L: RawLock<Platform = H::Platform>,
{
    let object = Box::into_raw(Box::new(CountedObject::<H, L>::new(threads as u64)));
    let jobs = (0..threads).map(|index| {
        let reference = Reference(object);
        Box::new(move || {
            // SAFETY: the object counts one user per job, and this is the only place where this one leaves.
            let left = unsafe { CountedObject::leave(reference.pointer(), |lock| acquire(index, lock)) };
            if left == 0 {
                // SAFETY: this was the last user, and the object came from `Box::into_raw`.
                unsafe { H::free(reference.pointer()) };
            }
        }) as Job
    });
    H::run(jobs.collect());
}
