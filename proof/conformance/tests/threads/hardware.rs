//! The same properties on real threads: few threads, many rounds. Also what ThreadSanitizer runs (`cargo xtask
//! sanitize`), since here all sharing goes through the lock, atomics, and the start and end of threads.

use ondeck_conformance::properties::{exclusion, freeing, freeing_timed, nesting, pulses, timed, tries};
use ondeck_conformance::{HardwareHarness, within};
use ondeck_core::{Hardware, Platform};
use ondeck_lineage::coreclr_monitor::Tuning as MonitorTuning;
use ondeck_lineage::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// More threads than the cores of a small machine, so that some sleep or are preempted.
const THREADS: usize = 3;
const ROUNDS: usize = 30_000;
const PATIENCE: Duration = Duration::from_secs(60);

macro_rules! any_lock {
    ($name:ident, $lock:ident) => {
        mod $name {
            use super::*;

            type Lock = $lock<Hardware>;

            #[test]
            fn mutual_exclusion() {
                within(PATIENCE, "exclusion", || exclusion::<HardwareHarness, Lock>(THREADS, ROUNDS));
            }

            #[test]
            fn tries_disturb_nobody() {
                within(PATIENCE, "tries", || tries::<HardwareHarness, Lock>(THREADS, ROUNDS));
            }
        }
    };
}

for_each_lock!(any_lock);

mod given_up {
    use super::*;

    macro_rules! timed_lock {
        ($name:ident, $lock:ident) => {
            /// The deadline passes in the middle: first nobody gives up, then everybody at once.
            #[test]
            fn $name() {
                let deadline_ns = Hardware::now_ns() + 2_000_000;
                let body = || timed::<HardwareHarness, $lock<Hardware>>(THREADS, 2, ROUNDS, deadline_ns);
                within(PATIENCE, "timed", body);
            }
        };
    }

    for_each_lock!(timed_lock, timed);
}

mod reentrant {
    use super::*;

    macro_rules! reentrant_lock {
        ($name:ident, $lock:ident) => {
            mod $name {
                use super::*;

                type Lock = $lock<Hardware>;

                /// From one level to more than any few bits of a word can count.
                #[test]
                fn nesting_excludes_until_the_last_release() {
                    for (rounds, depth) in [(3_000, 1), (3_000, 3), (300, 64), (300, 65), (300, 200)] {
                        within(PATIENCE, "nesting", || nesting::<HardwareHarness, Lock>(THREADS, rounds, depth));
                    }
                }

                #[test]
                fn a_pulse_ends_each_wait() {
                    let all = |_| pulses::<HardwareHarness, Lock>(THREADS, true);
                    within(PATIENCE, "pulse_all", || (0..200).for_each(all));
                    let one_by_one = |_| pulses::<HardwareHarness, Lock>(THREADS, false);
                    within(PATIENCE, "pulse", || (0..200).for_each(one_by_one));
                }
            }
        };
    }

    for_each_lock!(reentrant_lock, reentrant);
}

/// Relief as soon as somebody waits.
struct AlwaysDue;

impl TuningSource<MonitorTuning> for AlwaysDue {
    const TUNING: MonitorTuning =
        MonitorTuning { starved_after_ms: 0, ..<NoSpin as TuningSource<MonitorTuning>>::TUNING };
}

/// When the clock of `coreclr-monitor` has come due, a release bars arrivals until a waiter is inside. Without that the
/// thread that has just released would be back long before the waiter is up.
#[test]
fn relief_bars_arrivals() {
    /// What the two share: on the heap and until a join, which ThreadSanitizer sees, as it does not see a scope's end.
    struct Shared {
        lock: RawCoreclrMonitor<Hardware, AlwaysDue>,
        is_inside: AtomicBool,
        may_leave: AtomicBool,
    }

    fn starve(shared: &Shared) {
        shared.lock.acquire();
        shared.is_inside.store(true, Relaxed);
        while !shared.may_leave.load(Relaxed) {
            Hardware::yield_now();
        }
        // SAFETY: acquired above.
        unsafe { shared.lock.release() };
    }

    fn is_barred() -> bool {
        let (lock, is_inside, may_leave) = (RawLock::new(), AtomicBool::new(false), AtomicBool::new(false));
        let shared = Arc::new(Shared { lock, is_inside, may_leave });
        shared.lock.acquire();
        let waiter = std::thread::spawn({
            let shared = shared.clone();
            move || starve(&shared)
        });
        while !format!("{:?}", shared.lock).contains("clock runs") {
            Hardware::yield_now();
        }
        // SAFETY: acquired above.
        unsafe { shared.lock.release() };
        let mut has_barged = false;
        while !has_barged && !shared.is_inside.load(Relaxed) {
            has_barged = shared.lock.try_acquire();
        }
        if has_barged {
            // SAFETY: acquired in the loop above.
            unsafe { shared.lock.release() };
        }
        shared.may_leave.store(true, Relaxed);
        waiter.join().expect("the waiter does not panic");
        !has_barged
    }

    within(PATIENCE, "relief", || assert!((0..100).all(|_| is_barred()), "an arrival went past a starving waiter"));
}

mod free_after_release {
    use super::*;

    macro_rules! freeable_lock {
        ($name:ident, $lock:ident) => {
            #[test]
            fn $name() {
                if $lock::<Hardware>::ENTRY.promises.free_after_release {
                    let body = || (0..100).for_each(|_| freeing::<HardwareHarness, $lock<Hardware>>(THREADS));
                    within(PATIENCE, "freeing", body);
                }
            }
        };
    }

    for_each_lock!(freeable_lock);
}

mod free_after_giving_up {
    use super::*;

    macro_rules! timed_freeable_lock {
        ($name:ident, $lock:ident) => {
            #[test]
            fn $name() {
                let once = |_| freeing_timed::<HardwareHarness, $lock<Hardware>>(THREADS, Hardware::now_ns() + 5_000);
                if $lock::<Hardware>::ENTRY.promises.free_after_release {
                    within(PATIENCE, "freeing", || (0..100).for_each(once));
                }
            }
        };
    }

    for_each_lock!(timed_freeable_lock, timed);
}

/// The check of the check, for ThreadSanitizer: a lock whose release publishes nothing.
mod selftest {
    use super::*;
    use ondeck_conformance::faulty_lock::{Fault, FaultChoice, FaultyLock};

    struct Faulty;

    impl FaultChoice for Faulty {
        const FAULT: Fault = Fault::RelaxedRelease;
    }

    #[test]
    #[ignore = "must be noticed by ThreadSanitizer; run by `.ci/sanitize thread`"]
    fn relaxed_release() {
        exclusion::<HardwareHarness, FaultyLock<Hardware, Faulty>>(THREADS, ROUNDS);
    }
}
