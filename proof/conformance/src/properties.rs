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
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// A free lock, a quiet one where the harness wants that.
pub(crate) fn free_lock<H: Harness, L: RawLock>() -> L {
    let lock = L::new();
    if H::STARTS_QUIET {
        for _ in 0..2 {
            lock.acquire();
            // SAFETY: just acquired.
            unsafe { lock.release() };
        }
    }
    lock
}

/// A lock, the data that it guards, and a count of acquisitions that does not rely on the lock.
struct Shared<H: Harness, L> {
    lock: L,
    data: H::Cell,
    entered: AtomicU64,
}

impl<H: Harness, L: RawLock<Platform = H::Platform>> Shared<H, L> {
    fn new() -> Arc<Self> {
        Arc::new(Shared { lock: free_lock::<H, L>(), data: H::Cell::new(0), entered: AtomicU64::new(0) })
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

/// What one thread does with what all share.
type Role<H, L> = Box<dyn FnOnce(&Shared<H, L>) + Send>;

/// Runs one job for each role and then asserts that the lock rests; how often somebody was inside.
fn play<H, L>(shared: &Arc<Shared<H, L>>, roles: impl IntoIterator<Item = Role<H, L>>) -> u64
where
    H: Harness,
    L: RawLock<Platform = H::Platform>,
{
    let jobs = roles.into_iter().map(|role| {
        let shared = shared.clone();
        Box::new(move || role(&shared)) as Job
    });
    H::run(jobs.collect());
    shared.assert_rests();
    shared.entered.load(Relaxed)
}

/// As [`play`], behind a holder that has the lock before the others come and only has to release it.
fn play_behind_a_holder<H, L>(roles: impl IntoIterator<Item = Role<H, L>>)
where
    H: Harness,
    L: RawLock<Platform = H::Platform>,
{
    let shared = Shared::<H, L>::new();
    shared.lock.acquire();
    let holder: Role<H, L> = Box::new(Shared::<H, L>::section);
    // First, since the last is run by a model's first thread: a holder that need not be preempted to be waited for.
    play(&shared, iter::once(holder).chain(roles));
}

/// Acquires the lock so many times.
fn acquirer<H: Harness, L: RawLock<Platform = H::Platform>>(rounds: usize) -> Role<H, L> {
    Box::new(move |shared| {
        for _ in 0..rounds {
            shared.lock.acquire();
            shared.section();
        }
    })
}

/// Tries to acquire it so many times.
fn tryer<H: Harness, L: RawLock<Platform = H::Platform>>(rounds: usize) -> Role<H, L> {
    Box::new(move |shared| {
        for _ in 0..rounds {
            if shared.lock.try_acquire() {
                shared.section();
            }
        }
    })
}

/// Mutual exclusion, visibility of the data, no lost wake-up, rest at the end.
pub fn exclusion<H: Harness, L: RawLock<Platform = H::Platform>>(threads: usize, rounds: usize) {
    let entered = play(&Shared::<H, L>::new(), (0..threads).map(|_| acquirer(rounds)));
    assert_eq!(entered, (threads * rounds) as u64);
}

/// As [`exclusion`], of a monitor that has its large form from the beginning.
pub fn exclusion_inflated<H: Harness, L: RawLock<Platform = H::Platform>>(threads: usize, rounds: usize) {
    let shared = Shared::<H, L>::new();
    shared.lock.inflate();
    play(&shared, (0..threads).map(|_| acquirer(rounds)));
}

/// A try beside waiting threads disturbs nobody; alone it succeeds.
pub fn tries<H: Harness, L: RawLock<Platform = H::Platform>>(threads: usize, rounds: usize) {
    let acquirers = (1..threads).map(|_| acquirer(rounds));
    let entered = play(&Shared::<H, L>::new(), acquirers.chain([tryer(rounds)]));
    assert!(entered >= ((threads - 1) * rounds) as u64);
}

/// A thread that gives up does so after its deadline.
fn assert_over<H: Harness>(deadline_ns: u64) {
    assert!(H::Platform::now_ns() >= deadline_ns, "given up before the deadline");
}

/// Acquires the lock so many times, or gives up when the deadline has passed.
fn timed_acquirer<H, L>(rounds: usize, deadline_ns: u64) -> Role<H, L>
where
    H: Harness,
    L: RawTimedLock<Platform = H::Platform>,
{
    Box::new(move |shared| {
        for _ in 0..rounds {
            if shared.lock.try_acquire_until(deadline_ns) {
                shared.section();
            } else {
                assert_over::<H>(deadline_ns);
            }
        }
    })
}

/// Of `threads` the first `timed` with a deadline, the others without.
fn timed_roles<H, L>(threads: usize, timed: usize, rounds: usize, ns: u64) -> impl Iterator<Item = Role<H, L>>
where
    H: Harness,
    L: RawTimedLock<Platform = H::Platform>,
{
    (0..threads).map(move |index| if index < timed { timed_acquirer(rounds, ns) } else { acquirer(rounds) })
}

/// Acquisitions with a deadline: `timed` of the threads give up whenever the harness lets `deadline_ns` pass.
pub fn timed<H, L>(threads: usize, timed: usize, rounds: usize, deadline_ns: u64)
where
    H: Harness,
    L: RawTimedLock<Platform = H::Platform>,
{
    let entered = play(&Shared::<H, L>::new(), timed_roles(threads, timed, rounds, deadline_ns));
    assert!(entered >= ((threads - timed) * rounds) as u64);
}

/// As [`timed`], with one round, behind a holder that has the lock before the others come and only has to release it.
pub fn behind_a_holder<H, L>(waiters: usize, timed: usize, deadline_ns: u64)
where
    H: Harness,
    L: RawTimedLock<Platform = H::Platform>,
{
    play_behind_a_holder::<H, L>(timed_roles(waiters, timed, 1, deadline_ns));
}

/// As [`behind_a_holder`], without deadlines, in a harness where any waiter may end in its sleep: the others get in all the same.
pub fn outlived<H: Harness, L: RawLock<Platform = H::Platform>>(waiters: usize) {
    let wait = |_| -> Role<H, L> {
        Box::new(|shared| match catch_unwind(AssertUnwindSafe(|| shared.lock.acquire())) {
            Ok(()) => shared.section(),
            Err(end) if end.is::<EndInSleep>() => {}
            Err(panic) => resume_unwind(panic),
        })
    };
    play_behind_a_holder((0..waiters).map(wait));
}

/// Others wait when the holder releases, and somebody tries once, into whatever goes on meanwhile.
pub fn tried_meanwhile<H: Harness, L: RawLock<Platform = H::Platform>>(waiters: usize) {
    play_behind_a_holder::<H, L>(iter::once(tryer(1)).chain((0..waiters).map(|_| acquirer(1))));
}

/// A reentrant lock: its holder gets in `depth` times, by acquiring and by trying, and others only when it has left as
/// often.
pub fn nesting<H: Harness, L: RawLock<Platform = H::Platform>>(threads: usize, rounds: usize, depth: usize) {
    let nester = |_| -> Role<H, L> {
        Box::new(move |shared| {
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
        })
    };
    let entered = play(&Shared::new(), (0..threads).map(nester));
    assert_eq!(entered, (threads * rounds * depth) as u64);
}

/// A monitor: `waiters` threads wait, entered twice, until there is something for each of them; one thread provides it
/// and pulses, all at once or one by one.
pub fn pulses<H: Harness, L: RawMonitor<Platform = H::Platform>>(waiters: usize, all_at_once: bool) {
    // SAFETY: callers have acquired the lock.
    let change = |shared: &Shared<H, L>, by: i64| unsafe { shared.data.update(|count| count.wrapping_add_signed(by)) };
    let take = |_| -> Role<H, L> {
        Box::new(move |shared| {
            shared.lock.acquire();
            shared.lock.acquire();
            // Ended by the provider, who pulses each of those that have come before it; the others find their share.
            while change(shared, 0) == 0 {
                assert_eq!(shared.lock.wait(None), Ok(true), "{}: a wait ended by nobody", L::ENTRY.name);
            }
            change(shared, -1);
            for _ in 0..2 {
                // SAFETY: acquired twice above, and a wait gives back what it took.
                unsafe { shared.lock.release() };
            }
        })
    };
    let provider: Role<H, L> = Box::new(move |shared| {
        shared.lock.acquire();
        change(shared, waiters as i64);
        if all_at_once {
            assert!(shared.lock.pulse_all().expect("held") <= waiters);
        } else {
            // Ended by an empty queue.
            while shared.lock.pulse().expect("held") {}
        }
        // SAFETY: acquired above.
        unsafe { shared.lock.release() };
    });
    play(&Shared::new(), (0..waiters).map(take).chain([provider]));
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
