//! The promises of monitors, generic over the harness and the constants.

use crate::harness::{CheckedCell, Job};
use crate::side_objects::{MonitorHarness, MonitorUnderTest};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Platform};
use ondeck_lineage::NotHeld;
use ondeck_lineage::monitor::Tuning;
use ondeck_lineage::{RawLock, TuningSource};
use std::sync::{Arc, Mutex};

/// A monitor, the data that it guards, and an account that does not rely on it.
struct GuardedMonitor<H: MonitorHarness, C: TuningSource<Tuning>> {
    monitor: H::Monitor<C>,
    data: H::Cell,
    count: AtomicU64,
}

impl<H: MonitorHarness, C: TuningSource<Tuning>> GuardedMonitor<H, C> {
    fn new() -> Arc<Self> {
        Arc::new(GuardedMonitor { monitor: H::Monitor::<C>::new(), data: H::Cell::new(0), count: AtomicU64::new(0) })
    }

    /// The data, changed. The caller is inside.
    fn change(&self, change: impl FnOnce(u64) -> u64) -> u64 {
        // SAFETY: that being inside is enough is what the property claims.
        unsafe { self.data.update(change) }
    }

    fn data(&self) -> u64 {
        self.change(|data| data)
    }

    /// The caller is inside.
    fn exit(&self) {
        // SAFETY: callers have entered and not left.
        unsafe { self.monitor.release() };
    }

    fn visit(&self) {
        self.monitor.acquire();
        self.change(|data| data + 1);
        self.count.fetch_add(1, Relaxed);
        self.exit();
    }

    fn assert_rests(&self) {
        assert!(self.monitor.is_at_rest(), "somebody is left in the monitor");
        self.monitor.acquire();
        assert_eq!(self.data(), self.count.load(Relaxed), "an update was lost");
        self.exit();
    }
}

fn job<H: MonitorHarness, C: TuningSource<Tuning>>(
    ward: &Arc<GuardedMonitor<H, C>>,
    body: fn(&GuardedMonitor<H, C>),
) -> Job {
    let ward = ward.clone();
    Box::new(move || body(&ward))
}

/// Each thread enters `levels` times, one in the other, by acquiring and by trying, and changes the data on each level, on the way in and out.
pub fn nests<H: MonitorHarness, C: TuningSource<Tuning>>(threads: usize, levels: usize) {
    H::begin(3);
    let ward = GuardedMonitor::<H, C>::new();
    let nest = |_| {
        let ward = ward.clone();
        let entering = move || {
            assert!(!ward.monitor.is_entered());
            for level in 0..levels {
                if level % 2 == 0 {
                    ward.monitor.acquire();
                } else {
                    assert!(ward.monitor.try_acquire(), "its own thread is kept out");
                }
                assert!(ward.monitor.is_entered() && !ward.monitor.is_at_rest());
                ward.change(|data| data + 1);
                ward.count.fetch_add(2, Relaxed);
            }
            for _ in 0..levels {
                assert!(ward.monitor.is_entered());
                ward.change(|data| data + 1);
                ward.exit();
            }
            assert!(!ward.monitor.is_entered());
        };
        Box::new(entering) as Job
    };
    H::run((0..threads).map(nest).collect());
    ward.assert_rests();
}

/// A thread two levels deep waits for a thing, which another one puts; afterwards it is two levels deep again.
pub fn wait_restores_levels<H: MonitorHarness, C: TuningSource<Tuning>>() {
    H::begin(2);
    let ward = GuardedMonitor::<H, C>::new();
    let taking = job(&ward, |ward| {
        ward.monitor.acquire();
        ward.monitor.acquire();
        while ward.data() == 0 {
            assert_eq!(ward.monitor.wait(None), Ok(true));
        }
        ward.change(|things| things - 1);
        ward.exit();
        assert!(ward.monitor.is_entered(), "one level is left");
        ward.change(|things| things + 1);
        ward.exit();
        assert!(!ward.monitor.is_entered());
    });
    let putting = job(&ward, |ward| {
        ward.monitor.acquire();
        ward.change(|things| things + 1);
        ward.count.fetch_add(1, Relaxed);
        assert!(ward.monitor.pulse().is_ok());
        ward.exit();
    });
    H::run(vec![taking, putting]);
    ward.assert_rests();
}

/// Takers, of which some give up at the deadline, and as many things, each announced by a pulse. A pulse ends one wait,
/// and none that reports a timeout.
pub fn pulse_meets_timeout<H: MonitorHarness, C: TuningSource<Tuning>>(timed: usize, patient: usize, deadline_ns: u64) {
    H::begin(2);
    let ward = GuardedMonitor::<H, C>::new();
    let (pulsed, returned) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let taking = |index: usize| {
        let (ward, returned) = (ward.clone(), returned.clone());
        let deadline_ns = (index < timed).then_some(deadline_ns);
        let take = move || {
            ward.monitor.acquire();
            while ward.data() == 0 && ward.monitor.wait(deadline_ns) == Ok(true) {
                returned.fetch_add(1, Relaxed);
            }
            ward.change(|things| things.saturating_sub(1));
            ward.exit();
        };
        Box::new(take) as Job
    };
    let mut jobs: Vec<Job> = (0..timed + patient).map(taking).collect();
    let (putting, pulses) = (ward.clone(), pulsed.clone());
    let put = move || {
        for _ in 0..timed + patient {
            putting.monitor.acquire();
            putting.change(|things| things + 1);
            pulses.fetch_add(u64::from(putting.monitor.pulse() == Ok(true)), Relaxed);
            putting.exit();
        }
    };
    jobs.push(Box::new(put));
    H::run(jobs);
    assert!(ward.monitor.is_at_rest());
    assert_eq!(pulsed.load(Relaxed), returned.load(Relaxed), "pulses that found somebody, and waits that they ended");
}

/// Waiters note their places; one pulse after the other lets out the waiter that has the least.
pub fn pulses_in_order<H: MonitorHarness, C: TuningSource<Tuning>>(waiters: u64) {
    H::begin(2);
    let ward = GuardedMonitor::<H, C>::new();
    // The data counts those that wait, and from 1000 on those that are back.
    let wait = |_| {
        job(&ward, |ward| {
            ward.monitor.acquire();
            let place = ward.change(|data| data + 1);
            assert_eq!(ward.monitor.wait(None), Ok(true));
            assert_eq!(ward.change(|data| data + 1000) / 1000, place, "the oldest comes back first");
            ward.exit();
        })
    };
    let mut jobs: Vec<Job> = (0..waiters).map(wait).collect();
    let pulsing = ward.clone();
    jobs.push(Box::new(move || {
        let mut n_pulses = 0;
        while n_pulses < waiters {
            pulsing.monitor.acquire();
            let data = pulsing.data();
            if data % 1000 == waiters && data / 1000 == n_pulses {
                assert_eq!(pulsing.monitor.pulse(), Ok(true));
                n_pulses += 1;
            }
            pulsing.exit();
            H::Platform::yield_now();
        }
    }));
    H::run(jobs);
    assert!(ward.monitor.is_at_rest());
}

/// One pulse for all that wait; those that come later find the thing that they wait for.
pub fn pulses_all<H: MonitorHarness, C: TuningSource<Tuning>>(waiters: usize) {
    H::begin(2);
    let ward = GuardedMonitor::<H, C>::new();
    let wait = |_| {
        job(&ward, |ward| {
            ward.monitor.acquire();
            while ward.data() == 0 {
                assert_eq!(ward.monitor.wait(None), Ok(true));
            }
            ward.exit();
        })
    };
    let mut jobs: Vec<Job> = (0..waiters).map(wait).collect();
    jobs.push(job(&ward, |ward| {
        ward.monitor.acquire();
        ward.change(|_| 1);
        assert!(ward.monitor.pulse_all().is_ok());
        ward.exit();
    }));
    H::run(jobs);
    assert!(ward.monitor.is_at_rest());
}

/// Monitors that lend each other their side objects: each thread visits each monitor, in an order of its own.
pub fn share_side_objects<H: MonitorHarness, C: TuningSource<Tuning>>(threads: usize, objects: usize) {
    H::begin(objects);
    let wards = [GuardedMonitor::<H, C>::new(), GuardedMonitor::new()];
    let visit = |index: usize| {
        let wards = wards.clone();
        Box::new(move || (0..wards.len()).for_each(|at| wards[(index + at) % wards.len()].visit())) as Job
    };
    H::run((0..threads).map(visit).collect());
    wards.iter().for_each(|ward| ward.assert_rests());
}

/// A latecomer to the first monitor must not wait in the second, which has got its side object: it holds a third lock
/// for which the thread in the second waits.
pub fn latecomer_does_not_wait<H: MonitorHarness, C: TuningSource<Tuning>>() {
    H::begin(3);
    let (first, second) = (GuardedMonitor::<H, C>::new(), GuardedMonitor::<H, C>::new());
    let third = Arc::new(ondeck_lineage::RawTas::<H::Platform>::new());
    let (late, early) = ((first.clone(), third.clone()), (first.clone(), second.clone(), third.clone()));
    let latecomer = move || {
        late.1.acquire();
        late.0.visit();
        // SAFETY: acquired above.
        unsafe { late.1.release() };
    };
    let user = move || {
        early.0.visit();
        early.1.monitor.acquire();
        early.2.acquire();
        // SAFETY: acquired above.
        unsafe { early.2.release() };
        early.1.exit();
    };
    H::run(vec![Box::new(latecomer), Box::new(user)]);
    first.assert_rests();
    second.assert_rests();
}

/// A thread leaks its levels of a fat monitor, which another thread drops. The side object must not come to a second
/// monitor with the number of that thread in it, or the thread takes itself to be inside there.
pub fn leaked_levels_are_not_found_again<H: MonitorHarness, C: TuningSource<Tuning>>() {
    H::begin(4);
    let second = GuardedMonitor::<H, C>::new();
    let first = Arc::new((Mutex::new(None), <H::Platform as Platform>::U32::new(0)));
    fn inflate(monitor: &impl MonitorUnderTest) {
        monitor.acquire();
        while !monitor.is_inflated() {
            monitor.acquire();
        }
    }
    let (leaked, dropped, beside) = (first.clone(), first.clone(), second.clone());
    let leak = move || {
        let monitor = H::Monitor::<C>::new();
        inflate(&monitor);
        *leaked.0.lock().expect("nobody panics") = Some(monitor);
        leaked.1.store(1, Release);
        assert!(!beside.monitor.is_entered(), "entered by nobody");
        if beside.monitor.try_acquire() {
            beside.change(|data| data + 1);
            beside.exit();
        }
    };
    let ward = second.clone();
    let drop_and_enter = move || {
        if dropped.1.load(Acquire) == 1 {
            drop(dropped.0.lock().expect("nobody panics").take());
            // And stays inside, so that a second thread inside is noticed.
            inflate(&ward.monitor);
            ward.change(|data| data + 1);
        }
    };
    H::run(vec![Box::new(leak), Box::new(drop_and_enter)]);
    // Not before, as nothing orders their ends after the other thread's use.
    drop((first, second));
}

/// Without memory for side objects a monitor is a slow lock, but one.
pub fn manages_without_side_objects<H: MonitorHarness, C: TuningSource<Tuning>>(threads: usize) {
    H::begin(0);
    let ward = GuardedMonitor::<H, C>::new();
    H::run((0..threads).map(|_| job(&ward, GuardedMonitor::visit)).collect());
    ward.assert_rests();
}

/// A thread that is not inside can neither wait nor pulse, thin or fat, whoever is inside.
pub fn misuse_is_refused<H: MonitorHarness, C: TuningSource<Tuning>>() {
    H::begin(2);
    let ward = GuardedMonitor::<H, C>::new();
    let refuses = |ward: &GuardedMonitor<H, C>| {
        let answers = (ward.monitor.wait(None), ward.monitor.pulse(), ward.monitor.pulse_all());
        assert_eq!(answers, (Err(NotHeld), Err(NotHeld), Err(NotHeld)));
    };
    refuses(&ward);
    ward.monitor.acquire();
    H::run(vec![job(&ward, refuses), job(&ward, refuses)]);
    // Not by a wait: where time is modelled, a deadline need not come while nobody else runs.
    let more = (0..).take_while(|_| !ward.monitor.is_inflated()).map(|_| ward.monitor.acquire()).count();
    H::run(vec![job(&ward, refuses), job(&ward, refuses)]);
    (0..=more).for_each(|_| ward.exit());
    refuses(&ward);
}

/// A monitor that has become fat stays so for the first calm exits, at least `at_least` of them, and not for ever.
pub fn deflates_when_calm<H: MonitorHarness, C: TuningSource<Tuning>>(at_least: usize) {
    H::begin(1);
    let ward = GuardedMonitor::<H, C>::new();
    // The second time with the object that the first has given back.
    for _ in 0..2 {
        let entered = (0..).take_while(|_| !ward.monitor.is_inflated()).map(|_| ward.monitor.acquire()).count();
        (1..entered).for_each(|_| ward.exit());
        let mut exits = 0;
        while ward.monitor.is_inflated() {
            assert!(exits < 100_000, "fat for ever");
            ward.exit();
            exits += 1;
            ward.monitor.acquire();
        }
        ward.exit();
        assert!(exits >= at_least, "thin again after {exits} calm exits");
    }
}
