//! Every lock under loom: all schedules up to three preemptions, all outcomes that the declared orderings permit.
//!
//! Two threads with two acquisitions each come back to a lock (and to stack addresses) that somebody has used before;
//! three threads are the least in which one waiter can forget another. Locks that sleep are run with spinning off and
//! on: the yields of a spinner hide schedules from loom, but without them some branches are never taken.
//!
//! The flagship has a file of its own, `loom_ondeck.rs`.

use ondeck_conformance::properties::{exclusion, exclusion_inflated, freeing, freeing_timed};
use ondeck_conformance::properties::{nesting, pulses, timed, tries};
use ondeck_conformance::short_spin::{
    RawCoreclrMonitor, RawCoreclrMonitorBefore, RawParkingLot012Port, RawParkingLotPort,
};
use ondeck_conformance::short_spin::{RawPthreadAdaptivePort, RawStdPort};
use ondeck_conformance::{LoomHarness, LoomPlatform, Model, Time};
use ondeck_lineage::*;

/// A millisecond at each reading of the tick counter, or none: longer than any patience of any lock here.
const LEAP: Time = Time::MayLeap(1_000_000);

/// How deep to look. The Linux mutexes take some thirty steps in an acquisition that sleeps, most of them under a latch,
/// and a search grows with the power of its depth. What the five share is searched in the first of them.
fn model(lock: &str) -> Model {
    let is_copy = lock.starts_with("linux-mutex") && lock != "linux-mutex-base";
    Model::new().preemptions(if is_copy { 2 } else { 3 })
}

/// The same for three threads of a monitor, whose two forms and handed-over event make its paths as long.
fn model_of_three(lock: &str) -> Model {
    if is_monitor(lock) { Model::new().preemptions(2) } else { model(lock) }
}

/// The same for three threads that spin, where the coins of the clock multiply the schedules.
fn model_of_three_spinning(lock: &str) -> Model {
    let is_long = lock.starts_with("linux-mutex") || is_monitor(lock);
    let model = if is_long { Model::new().preemptions(1) } else { model(lock) };
    model.spinning(LEAP)
}

fn is_monitor(lock: &str) -> bool {
    lock.starts_with("coreclr-monitor")
}

macro_rules! any_lock {
    (ondeck, $lock:ident) => {};
    ($name:ident, $lock:ident) => {
        mod $name {
            use super::*;

            type Lock = $lock<LoomPlatform>;

            #[test]
            fn mutual_exclusion() {
                model(Lock::ENTRY.name).check(|| exclusion::<LoomHarness, Lock>(2, 2));
            }

            #[test]
            fn every_waiter_finishes() {
                model_of_three(Lock::ENTRY.name).check(|| exclusion::<LoomHarness, Lock>(3, 1));
            }

            #[test]
            fn tries_disturb_nobody() {
                // Of a monitor's three threads two suffice: the models above have what they have in common.
                let acquirers = if is_monitor(Lock::ENTRY.name) { 1 } else { 2 };
                model(Lock::ENTRY.name).check(move || tries::<LoomHarness, Lock>(acquirers + 1, 1));
            }
        }
    };
}

for_each_lock!(any_lock);

mod sleepers {
    use super::*;

    macro_rules! sleeping_lock {
        (ondeck, $lock:ident) => {};
        ($name:ident, $lock:ident) => {
            mod $name {
                use super::*;

                type Lock = $lock<LoomPlatform>;

                #[test]
                fn every_waiter_finishes_spinning() {
                    if Lock::ENTRY.promises.sleeps {
                        model_of_three_spinning(Lock::ENTRY.name).check(|| exclusion::<LoomHarness, Lock>(3, 1));
                    }
                }

                #[test]
                fn nodes_outlive_their_use() {
                    if Lock::ENTRY.promises.sleeps {
                        model(Lock::ENTRY.name).spinning(LEAP).check(|| exclusion::<LoomHarness, Lock>(2, 2));
                    }
                }
            }
        };
    }

    for_each_lock!(sleeping_lock);
}

/// Waiters that give up the deck: with the default patience this needs more preemptions than loom is allowed.
mod impatient {
    use super::*;
    use ondeck_lineage::{go_spinbit::Tuning as StackTuning, go_spinbit_futex::Tuning as FutexTuning};

    struct OneRound;

    impl TuningSource<FutexTuning> for OneRound {
        const TUNING: FutexTuning = FutexTuning { active_spins: 1, pauses_per_spin: 1 };
    }

    impl TuningSource<StackTuning> for OneRound {
        const TUNING: StackTuning =
            StackTuning { active_spins: 1, pauses_per_spin: 1, passive_spins: 0, tail_wake_period: 16 };
    }

    fn check<L: RawLock<Platform = LoomPlatform>>(give_up: &'static [&'static str]) {
        Model::new().spinning(LEAP).check_containing(&[give_up], || exclusion::<LoomHarness, L>(3, 1));
    }

    #[test]
    fn go_spinbit_futex() {
        check::<RawGoSpinbitFutex<LoomPlatform, OneRound>>(&["claim_spin", "retire", "park"]);
    }

    #[test]
    fn go_spinbit() {
        check::<RawGoSpinbit<LoomPlatform, OneRound>>(&["claim_spin", "push", "park"]);
    }
}

mod given_up {
    use super::*;

    macro_rules! timed_lock {
        (ondeck, $lock:ident) => {};
        ($name:ident, $lock:ident) => {
            #[test]
            fn $name() {
                let body = || timed::<LoomHarness, $lock<LoomPlatform>>(3, 2, 1, Model::deadline_ns());
                let preemptions = if is_monitor($lock::<LoomPlatform>::ENTRY.name) { 1 } else { 2 };
                Model::new().expiring().preemptions(preemptions).check(body);
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

                type Lock = $lock<LoomPlatform>;

                #[test]
                fn nesting_excludes_until_the_last_release() {
                    Model::new().check(|| nesting::<LoomHarness, Lock>(2, 1, 3));
                }

                #[test]
                fn a_pulse_ends_each_wait() {
                    Model::new().check(|| pulses::<LoomHarness, Lock>(1, true));
                }
            }
        };
    }

    for_each_lock!(reentrant_lock, reentrant);

    /// The ways in of a spinner: as one, and when it gives up and finds the lock free.
    #[test]
    fn spinners_of_coreclr_monitor() {
        let both = [["spin_up", "seize_spinning"].as_slice(), &["retire", "late_seize"]];
        let body = || exclusion_inflated::<LoomHarness, RawCoreclrMonitor<LoomPlatform>>(2, 2);
        Model::new().spinning(LEAP).check_containing(&both, body);
    }
}

mod free_after_release {
    use super::*;

    macro_rules! freeable_lock {
        (ondeck, $lock:ident) => {};
        ($name:ident, $lock:ident) => {
            #[test]
            fn $name() {
                if $lock::<LoomPlatform>::ENTRY.promises.free_after_release {
                    Model::new().check(|| freeing::<LoomHarness, $lock<LoomPlatform>>(3));
                }
            }
        };
    }

    for_each_lock!(freeable_lock);
}

mod free_after_giving_up {
    use super::*;

    macro_rules! timed_freeable_lock {
        (ondeck, $lock:ident) => {};
        ($name:ident, $lock:ident) => {
            #[test]
            fn $name() {
                if $lock::<LoomPlatform>::ENTRY.promises.free_after_release {
                    let body = || freeing_timed::<LoomHarness, $lock<LoomPlatform>>(3, Model::deadline_ns());
                    Model::new().expiring().preemptions(2).check(body);
                }
            }
        };
    }

    for_each_lock!(timed_freeable_lock, timed);
}
