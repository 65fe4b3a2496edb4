//! Fair releases of the flagship, which the trait of all locks does not have: they keep the promises, and they do what they
//! are for.

use crate::{DEADLINE_NS, MODEL, SEARCH, SOON_NS, SPINNING};
use ondeck_conformance::properties::{exclusion, freeing, freeing_timed, timed, tries};
use ondeck_conformance::{CheckedCell, Harness, Job, LoomHarness, LoomPlatform, ScheduleHarness, SchedulePlatform};
use ondeck_core::Platform;
use ondeck_lineage::{Entry, RawLock, RawOndeck, RawTimedLock};
use std::sync::Arc;

/// Who releases fairly: everybody, or every second thread.
const ALL: u32 = 1;
const SOME: u32 = 2;

/// The flagship, released fairly by every `N`-th thread.
struct Fair<P: Platform, const N: u32>(RawOndeck<P>);

impl<P: Platform, const N: u32> RawLock for Fair<P, N> {
    type Platform = P;
    const ENTRY: Entry = <RawOndeck<P> as RawLock>::ENTRY;

    fn new() -> Self {
        Fair(RawOndeck::new())
    }

    fn try_acquire(&self) -> bool {
        self.0.try_acquire()
    }

    fn acquire(&self) {
        self.0.acquire();
    }

    unsafe fn release(&self) {
        let is_fair = P::thread_index().is_some_and(|index| index.get().is_multiple_of(N));
        if is_fair {
            // SAFETY: as the caller says.
            unsafe { self.0.release_fair() };
        } else {
            // SAFETY: as above.
            unsafe { self.0.release() };
        }
    }

    fn shows_sleeper(&self) -> Option<bool> {
        self.0.shows_sleeper()
    }

    fn is_at_rest(&self) -> bool {
        self.0.is_at_rest()
    }
}

impl<P: Platform, const N: u32> RawTimedLock for Fair<P, N> {
    fn try_acquire_until(&self, deadline_ns: u64) -> bool {
        self.0.try_acquire_until(deadline_ns)
    }
}

/// A lock that is released fairly while somebody waits is had by somebody else first.
fn is_given_away<H: Harness>(waiters: usize) {
    let shared = Arc::new((RawOndeck::<H::Platform>::new(), <H::Cell as CheckedCell>::new(0)));
    let count = |shared: &(RawOndeck<H::Platform>, H::Cell)| {
        let mut count = 0;
        // SAFETY: acquired by the caller.
        unsafe {
            shared.1.update(|before| {
                count = before;
                before + 1
            });
        }
        count
    };
    shared.0.acquire();
    let mine = shared.clone();
    let holder = move || {
        while !mine.0.is_contended() {
            H::Platform::yield_now();
        }
        // SAFETY: acquired before the threads were started.
        unsafe { mine.0.release_fair() };
        if mine.0.try_acquire() {
            assert!(count(&mine) > 0, "the thread that gave the lock away is the first to have it again");
            // SAFETY: acquired above.
            unsafe { mine.0.release() };
        }
    };
    let wait = |_| {
        let shared = shared.clone();
        Box::new(move || {
            shared.0.acquire();
            count(&shared);
            // SAFETY: acquired above.
            unsafe { shared.0.release() };
        }) as Job
    };
    let mut jobs: Vec<Job> = vec![Box::new(holder)];
    jobs.extend((0..waiters).map(wait));
    H::run(jobs);
    assert!(shared.0.is_at_rest());
}

mod small {
    use super::*;

    type Lock<const N: u32> = Fair<LoomPlatform, N>;

    #[test]
    fn mutual_exclusion() {
        MODEL.reaching(&["nap", "pass"]).check(|| exclusion::<LoomHarness, Lock<ALL>>(2, 2));
        SPINNING.reaching(&["pass"]).check(|| exclusion::<LoomHarness, Lock<ALL>>(2, 2));
    }

    #[test]
    fn every_waiter_finishes() {
        let model = MODEL.preemptions(1).reaching(&["pass_on", "show_up"]);
        model.check(|| exclusion::<LoomHarness, Lock<ALL>>(3, 1));
        model.check(|| exclusion::<LoomHarness, Lock<SOME>>(3, 1));
        SPINNING.reaching(&["pass_on", "accept"]).check(|| exclusion::<LoomHarness, Lock<SOME>>(3, 1));
    }

    #[test]
    fn tries_disturb_nobody() {
        MODEL.preemptions(2).reaching(&["pass"]).check(|| tries::<LoomHarness, Lock<ALL>>(3, 1));
    }

    #[test]
    fn deadlines() {
        let model = MODEL.expiring().preemptions(1).reaching(&["pass", "leave"]);
        model.check(|| timed::<LoomHarness, Lock<ALL>>(3, 2, 1, DEADLINE_NS));
        model.check(|| timed::<LoomHarness, Lock<SOME>>(3, 2, 1, DEADLINE_NS));
    }

    #[test]
    fn free_after_release() {
        MODEL.preemptions(1).reaching(&["pass"]).check(|| freeing::<LoomHarness, Lock<ALL>>(3));
        MODEL.expiring().preemptions(1).check(|| freeing_timed::<LoomHarness, Lock<ALL>>(3, DEADLINE_NS));
    }

    #[test]
    fn the_lock_is_given_away() {
        MODEL.preemptions(1).reaching(&["pass"]).check(|| is_given_away::<LoomHarness>(1));
    }
}

mod broad {
    use super::*;

    type Lock<const N: u32> = Fair<SchedulePlatform, N>;

    fn keeps_its_promises<const N: u32>() {
        SEARCH.check(|| exclusion::<ScheduleHarness, Lock<N>>(5, 3));
        SEARCH.check(|| timed::<ScheduleHarness, Lock<N>>(6, 4, 2, SOON_NS));
        SEARCH.check(|| freeing_timed::<ScheduleHarness, Lock<N>>(6, SOON_NS));
    }

    #[test]
    fn with_fair_releases() {
        keeps_its_promises::<ALL>();
    }

    #[test]
    fn with_some_fair_releases() {
        keeps_its_promises::<SOME>();
    }

    #[test]
    fn the_lock_is_given_away() {
        SEARCH.check(|| is_given_away::<ScheduleHarness>(5));
    }
}
