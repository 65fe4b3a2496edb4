//! The promises of `ondeck`'s monitor, generic over the harness.

use crate::harness::{CheckedCell, Harness, Job};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use ondeck_core::{NotHeld, Platform, RawLock, RawMonitor, RawOndeckMonitor};
use std::sync::Arc;

/// A monitor, the data that it guards, and an account that does not rely on it.
struct GuardedMonitor<H: Harness> {
    monitor: RawOndeckMonitor<H::Platform>,
    data: H::Cell,
    count: AtomicU64,
}

impl<H: Harness> GuardedMonitor<H> {
    fn new() -> Arc<Self> {
        Arc::new(GuardedMonitor { monitor: RawOndeckMonitor::new(), data: H::Cell::new(0), count: AtomicU64::new(0) })
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

    fn assert_rests(&self) {
        assert!(self.monitor.is_at_rest(), "somebody is left in the monitor");
        self.monitor.acquire();
        assert_eq!(self.data(), self.count.load(Relaxed), "an update was lost");
        self.exit();
    }
}

fn job<H: Harness>(ward: &Arc<GuardedMonitor<H>>, body: fn(&GuardedMonitor<H>)) -> Job {
    let ward = ward.clone();
    Box::new(move || body(&ward))
}

/// Each thread enters `levels` times, one in the other, by acquiring and by trying, and changes the data on each level, on the way in and out.
pub fn nests<H: Harness>(threads: usize, levels: usize) {
    let ward = GuardedMonitor::<H>::new();
    let nest = |_| {
        let ward = ward.clone();
        let entering = move || {
            assert!(!ward.monitor.is_held());
            for level in 0..levels {
                if level % 2 == 0 {
                    ward.monitor.acquire();
                } else {
                    assert!(ward.monitor.try_acquire(), "its own thread is kept out");
                }
                assert!(ward.monitor.is_held() && !ward.monitor.is_at_rest());
                ward.change(|data| data + 1);
                ward.count.fetch_add(2, Relaxed);
            }
            for _ in 0..levels {
                assert!(ward.monitor.is_held());
                ward.change(|data| data + 1);
                ward.exit();
            }
            assert!(!ward.monitor.is_held());
        };
        Box::new(entering) as Job
    };
    H::run((0..threads).map(nest).collect());
    ward.assert_rests();
}

/// A thread two levels deep waits for a thing, which another one puts; afterwards it is two levels deep again.
pub fn wait_restores_levels<H: Harness>() {
    let ward = GuardedMonitor::<H>::new();
    let taking = job(&ward, |ward| {
        ward.monitor.acquire();
        ward.monitor.acquire();
        while ward.data() == 0 {
            assert_eq!(ward.monitor.wait(None), Ok(true));
        }
        ward.change(|things| things - 1);
        ward.exit();
        assert!(ward.monitor.is_held(), "one level is left");
        ward.change(|things| things + 1);
        ward.exit();
        assert!(!ward.monitor.is_held());
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
pub fn pulse_meets_timeout<H: Harness>(timed: usize, patient: usize, deadline_ns: u64) {
    let ward = GuardedMonitor::<H>::new();
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
pub fn pulses_in_order<H: Harness>(waiters: u64) {
    let ward = GuardedMonitor::<H>::new();
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
pub fn pulses_all<H: Harness>(waiters: usize) {
    let ward = GuardedMonitor::<H>::new();
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

/// A thread that is not inside can neither wait nor pulse, whoever is inside.
pub fn misuse_is_refused<H: Harness>() {
    let ward = GuardedMonitor::<H>::new();
    let refuses = |ward: &GuardedMonitor<H>| {
        let answers = (ward.monitor.wait(None), ward.monitor.pulse(), ward.monitor.pulse_all());
        assert_eq!(answers, (Err(NotHeld), Err(NotHeld), Err(NotHeld)));
    };
    refuses(&ward);
    ward.monitor.acquire();
    H::run(vec![job(&ward, refuses), job(&ward, refuses)]);
    ward.exit();
    refuses(&ward);
}
