//! The flagship's condition variable may be freed when everybody has been notified, its lock by the last waiter, while
//! the notifier and the other waiters are still on their way out.
#![cfg(feature = "models")]

use ondeck_conformance::{Guarded, Job, LoomWorld, Model, Schedule, ScheduleWorld, World};
use ondeck_locks::ondeck::RawCondvar;
use ondeck_locks::{RawLock, RawOndeck};
use std::sync::Arc;

const SEARCH: Schedule = Schedule { executions: 20_000 };
const MODEL: Model = Model::new();

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
    fn freed_by_the_notifier() {
        MODEL.check(|| freeing::<LoomWorld>(1, Undertaker::Notifier));
        MODEL.preemptions(2).check(|| freeing::<LoomWorld>(2, Undertaker::Notifier));
    }

    #[test]
    fn freed_by_the_last_waiter() {
        MODEL.check(|| freeing::<LoomWorld>(1, Undertaker::LastWaiter));
        MODEL.preemptions(2).check(|| freeing::<LoomWorld>(2, Undertaker::LastWaiter));
    }
}

mod schedule {
    use super::*;

    #[test]
    fn freed_by_the_notifier() {
        SEARCH.check(|| freeing::<ScheduleWorld>(4, Undertaker::Notifier));
    }

    #[test]
    fn freed_by_the_last_waiter() {
        SEARCH.check(|| freeing::<ScheduleWorld>(4, Undertaker::LastWaiter));
    }
}
