//! The condition variable of the flagship: nobody is left waiting, no notification is spent on a thread that reports a
//! timeout, and both it and its lock may be freed as soon as its header says.
//!
//! Each property is written once and run under loom with two or three threads, and under random schedules with more.
#![cfg(feature = "models")]

use ondeck_conformance::{Guarded, Job, LoomWorld, Model, Schedule, ScheduleWorld, World};
use ondeck_locks::ondeck::RawCondvar;
use ondeck_locks::{RawLock, RawOndeck};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const SEARCH: Schedule = Schedule { executions: 20_000 };
/// In the middle of what the random clock passes through in one execution.
const SCHEDULE_DEADLINE_NS: u64 = 1 << 20;
const MODEL: Model = Model::new();
const LOOM_DEADLINE_NS: u64 = Model::deadline_ns();

struct Shared<W: World> {
    mutex: RawOndeck<W::Platform>,
    changed: RawCondvar<W::Platform>,
    /// Guarded by `mutex`.
    data: W::Cell,
}

impl<W: World> Shared<W> {
    fn new() -> Arc<Self> {
        Arc::new(Shared { mutex: RawOndeck::new(), changed: RawCondvar::new(), data: W::Cell::new(0) })
    }

    /// Runs `section` with the mutex; it gets the data to change it.
    fn with<R>(&self, section: impl FnOnce(&dyn Fn(u64) -> u64) -> R) -> R {
        self.mutex.acquire();
        let result = section(&|add| {
            // SAFETY: called between acquire and release, or after a wait, which has acquired again.
            unsafe { self.data.update(|value| value.wrapping_add(add)) }
        });
        // SAFETY: acquired above, or by the last wait.
        unsafe { self.mutex.release() };
        result
    }

    /// True if notified. The caller holds the mutex.
    fn wait(&self, deadline_ns: Option<u64>) -> bool {
        // SAFETY: as the caller says.
        unsafe { self.changed.wait(&self.mutex, deadline_ns) }
    }

    fn assert_rests(&self) {
        assert!(self.mutex.is_at_rest());
        assert_eq!(self.changed.notify_all(), 0, "somebody is left in the list");
    }
}

fn play<W: World>(shared: &Arc<Shared<W>>, roles: Vec<Arc<dyn Fn(&Shared<W>) + Send + Sync>>) {
    let jobs = roles.into_iter().map(|role| {
        let shared = shared.clone();
        Box::new(move || role(&shared)) as Job
    });
    W::run(jobs.collect());
    shared.assert_rests();
}

type Role<W> = Arc<dyn Fn(&Shared<W>) + Send + Sync>;

fn role<W: World>(role: impl Fn(&Shared<W>) + Send + Sync + 'static) -> Role<W> {
    Arc::new(role)
}

/// Waiters wait for the data to be set; one thread sets it and notifies all, with or without the mutex.
fn all_come_back<W: World>(waiters: usize, is_under_mutex: bool) {
    let waiter = role::<W>(|shared| {
        shared.with(|data| {
            while data(0) == 0 {
                shared.wait(None);
            }
        });
    });
    let notifier = role::<W>(move |shared| {
        shared.with(|data| {
            data(1);
            if is_under_mutex {
                shared.changed.notify_all();
            }
        });
        if !is_under_mutex {
            shared.changed.notify_all();
        }
    });
    let mut roles = vec![waiter; waiters];
    roles.push(notifier);
    play(&Shared::<W>::new(), roles);
}

/// Each waiter takes one permit; each permit comes with one notification.
fn one_permit_each<W: World>(waiters: usize, notifiers: usize) {
    assert_eq!(waiters % notifiers, 0);
    let permits_each = waiters / notifiers;
    let waiter = role::<W>(|shared| {
        shared.with(|data| {
            while data(0) == 0 {
                shared.wait(None);
            }
            data(u64::MAX);
        });
    });
    let notifier = role::<W>(move |shared| {
        for _ in 0..permits_each {
            shared.with(|data| data(1));
            shared.changed.notify_one();
        }
    });
    let mut roles = vec![waiter; waiters];
    roles.extend(vec![notifier; notifiers]);
    let shared = Shared::<W>::new();
    play(&shared, roles);
    assert_eq!(shared.with(|data| data(0)), 0, "every permit has been taken");
}

/// Waiters with deadlines, and as many notifications as waiters: what the notifier was told it had woken is what woke.
fn timeouts_race_with_notifications<W: World>(waiters: usize, deadline_ns: u64) {
    let (woken, told) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (wakes, tells) = (woken.clone(), told.clone());
    let waiter = role::<W>(move |shared| {
        shared.with(|data| {
            data(1);
            // The last to come does not wait, so that somebody notifies even where no deadline passes.
            if data(0) < waiters as u64 {
                wakes.fetch_add(u64::from(shared.wait(Some(deadline_ns))), Relaxed);
            } else {
                let n = u64::from(shared.changed.notify_one()) + shared.changed.notify_all() as u64;
                tells.fetch_add(n, Relaxed);
            }
        });
    });
    play(&Shared::<W>::new(), vec![waiter; waiters]);
    assert_eq!(woken.load(Relaxed), told.load(Relaxed), "a notification was lost or spent on a timeout");
}

/// A condition variable with its lock, each to be freed by itself.
struct Parts<W: World>(*mut RawOndeck<W::Platform>, *mut RawCondvar<W::Platform>, W::Cell);

// SAFETY: the property says who may use which part when.
unsafe impl<W: World> Send for Parts<W> {}
// SAFETY: as above.
unsafe impl<W: World> Sync for Parts<W> {}

/// Who ends the life of a condition variable whose waiters have all been notified.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Undertaker {
    Notifier,
    LastWaiter,
}

/// The condition variable is freed as soon as everybody has been notified, the lock by the last waiter, while the notifier
/// and the others are on their way out.
fn freeing<W: World>(waiters: usize, undertaker: Undertaker) {
    let new = (Box::into_raw(Box::new(RawOndeck::new())), Box::into_raw(Box::new(RawCondvar::new())));
    let parts = Arc::new(Parts::<W>(new.0, new.1, W::Cell::new(0)));
    let jobs = (0..=waiters).map(|_| {
        let parts = parts.clone();
        Box::new(move || leave(&parts, waiters as u64, undertaker)) as Job
    });
    W::run(jobs.collect());
}

/// The last to come notifies the others. The data counts arrivals, and then returns.
fn leave<W: World>(parts: &Parts<W>, waiters: u64, undertaker: Undertaker) {
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
            unsafe { W::free(parts.0) };
            if undertaker == Undertaker::LastWaiter {
                // SAFETY: all waiters have been notified, and they and the notifier are done with it.
                unsafe { W::free(parts.1) };
            }
        }
    } else {
        assert_eq!(changed.notify_all() as u64, waiters);
        if undertaker == Undertaker::Notifier {
            // SAFETY: everybody has been notified.
            unsafe { W::free(parts.1) };
        }
        // SAFETY: acquired above.
        unsafe { mutex.release() };
    }
}

mod loom {
    use super::*;

    #[test]
    fn a_waiter_comes_back() {
        MODEL.check(|| all_come_back::<LoomWorld>(1, true));
        MODEL.check(|| all_come_back::<LoomWorld>(1, false));
    }

    #[test]
    fn two_waiters_come_back() {
        let all = [["summon", "summon", "invite", "enlist", "show_up", "show_up"].as_slice()];
        MODEL.preemptions(1).check_containing(&all, || all_come_back::<LoomWorld>(2, true));
    }

    #[test]
    fn one_permit_for_each_of_two() {
        MODEL.preemptions(1).check(|| one_permit_each::<LoomWorld>(2, 1));
    }

    #[test]
    fn a_timeout_races_with_a_notification() {
        let both = [["withdraw", "summon"].as_slice(), &["summon", "withdraw", "show_up"], &["summon", "invite"]];
        MODEL.expiring().check_containing(&both, || timeouts_race_with_notifications::<LoomWorld>(2, LOOM_DEADLINE_NS));
    }

    #[test]
    fn timeouts_race_with_each_other() {
        let model = MODEL.expiring().preemptions(1);
        model.check(|| timeouts_race_with_notifications::<LoomWorld>(3, LOOM_DEADLINE_NS));
    }

    #[test]
    fn freed_by_the_notifier() {
        MODEL.check(|| freeing::<LoomWorld>(1, Undertaker::Notifier));
        MODEL.preemptions(1).check(|| freeing::<LoomWorld>(2, Undertaker::Notifier));
    }

    #[test]
    fn freed_by_the_last_waiter() {
        MODEL.check(|| freeing::<LoomWorld>(1, Undertaker::LastWaiter));
        MODEL.preemptions(1).check(|| freeing::<LoomWorld>(2, Undertaker::LastWaiter));
    }
}

mod schedule {
    use super::*;

    #[test]
    fn nobody_is_left_waiting() {
        SEARCH.check(|| all_come_back::<ScheduleWorld>(5, true));
        SEARCH.check(|| all_come_back::<ScheduleWorld>(5, false));
    }

    #[test]
    fn one_permit_for_each() {
        SEARCH.check(|| one_permit_each::<ScheduleWorld>(4, 2));
    }

    #[test]
    fn timeouts_race() {
        SEARCH.check(|| timeouts_race_with_notifications::<ScheduleWorld>(5, SCHEDULE_DEADLINE_NS));
    }

    #[test]
    fn freed_by_either() {
        SEARCH.check(|| freeing::<ScheduleWorld>(4, Undertaker::Notifier));
        SEARCH.check(|| freeing::<ScheduleWorld>(4, Undertaker::LastWaiter));
    }
}
