//! Every lock under random schedules: more threads than loom can search, hostile clocks, wakes and timeouts, and
//! monitors that count who polls and who is bypassed.
//!
//! `ONDECK_EXECUTIONS=1000000` searches further than the defaults, which take a few seconds per lock.

use ondeck_conformance::condvar::wakes_all_at_once;
use ondeck_conformance::properties::{behind_a_holder, exclusion, freeing, freeing_timed};
use ondeck_conformance::properties::{nesting, pulses, timed, tries};
use ondeck_conformance::short_spin::{
    RawCoreclrMonitor, RawCoreclrMonitorBefore, RawParkingLot012Port, RawParkingLotPort,
};
use ondeck_conformance::short_spin::{RawPthreadAdaptivePort, RawStdPort};
use ondeck_conformance::{
    CheckedCell, Harness, Job, NarrowCounterHarness, ONE_BIT, Schedule, ScheduleHarness, SchedulePlatform, depth, steps,
};
use ondeck_lineage::coreclr_monitor::Tuning as MonitorTuning;
use ondeck_lineage::*;
use std::collections::BTreeSet;
use std::sync::Arc;

const SEARCH: Schedule = Schedule { executions: 10_000 };
/// A deadline in the middle of what the random clock passes through in one execution.
const DEADLINE_NS: u64 = 1 << 20;

macro_rules! any_lock {
    ($name:ident, $lock:ident) => {
        mod $name {
            use super::*;

            type Lock = $lock<SchedulePlatform>;

            #[test]
            fn no_lost_wakeup() {
                SEARCH.check(|| exclusion::<ScheduleHarness, Lock>(5, 3));
            }

            #[test]
            fn crowd_of_eight() {
                SEARCH.check(|| exclusion::<ScheduleHarness, Lock>(8, 1));
            }

            #[test]
            fn tries_disturb_nobody() {
                SEARCH.check(|| tries::<ScheduleHarness, Lock>(4, 3));
            }

            /// Every row of the step table happens here. Where some rows need a deadline, `given_up` checks that.
            #[test]
            fn every_step_is_taken() {
                SEARCH.check(|| exclusion::<ScheduleHarness, Lock>(5, 3));
                if !Lock::ENTRY.promises.timed {
                    assert_all_taken(Lock::ENTRY.name, stringify!($name));
                }
            }
        }
    };
}

for_each_lock!(any_lock);

/// The steps that the file of a lock declares, one constant of type `Step` each, have all been taken; likewise those of
/// the files that its header says it shares with others. That takes a whole search.
fn assert_all_taken(lock: &str, file: &str) {
    if !depth::is_whole() {
        return;
    }
    let read = |name: &str| {
        let homes = ["crates/core", "lab/lineage"]
            .map(|home| format!("{}/../../{home}/src/{name}", env!("CARGO_MANIFEST_DIR")));
        homes.iter().find_map(|path| std::fs::read_to_string(path).ok()).unwrap_or_else(|| panic!("none of {homes:?}"))
    };
    let main = read(&format!("{file}.rs"));
    let paragraph = main.split_once("//! Shared code:").and_then(|(_, rest)| rest.split("\n//!\n").next());
    let shared = paragraph.unwrap_or_default().split('`').filter(|name| name.ends_with(".rs"));
    let others: String = shared.map(read).collect();
    let declares = |line: &&str| line.trim_start().starts_with("const ") && line.contains(": Step = ");
    let declared = main.lines().chain(others.lines()).filter(declares);
    let names: BTreeSet<&str> = declared.filter_map(|line| line.split('"').rev().nth(1)).collect();
    let taken = steps::taken(lock);
    let missed: Vec<_> = names.difference(&taken).collect();
    assert!(!names.is_empty() && missed.is_empty(), "{lock}: steps never taken: {missed:?}");
}

mod given_up {
    use super::*;

    /// With sequences: each lock that has any use for them is quiet after two releases.
    type Quiet = NarrowCounterHarness<ScheduleHarness, ONE_BIT, true>;

    macro_rules! timed_lock {
        ($name:ident, $lock:ident) => {
            #[test]
            fn $name() {
                SEARCH.check(|| timed::<ScheduleHarness, $lock<SchedulePlatform>>(6, 4, 2, DEADLINE_NS));
                if $lock::<SchedulePlatform>::ENTRY.promises.reentrant {
                    SEARCH.check(|| nesting::<ScheduleHarness, $lock<SchedulePlatform>>(3, 2, 2));
                }
                if stringify!($name) == "ondeck" {
                    SEARCH.check(|| timed::<Quiet, RawOndeck<<Quiet as Harness>::Platform>>(6, 4, 3, DEADLINE_NS));
                    // Only a notification hurries.
                    SEARCH.check(|| wakes_all_at_once::<ScheduleHarness>(4));
                }
                assert_all_taken($lock::<SchedulePlatform>::ENTRY.name, stringify!($name));
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

                type Lock = $lock<SchedulePlatform>;

                #[test]
                fn nesting_excludes_until_the_last_release() {
                    SEARCH.check(|| nesting::<ScheduleHarness, Lock>(4, 2, 3));
                }

                /// Deeper than any few bits of a word can count.
                #[test]
                fn deep_nesting() {
                    Schedule { executions: 1_000 }.check(|| nesting::<ScheduleHarness, Lock>(3, 1, 70));
                }

                #[test]
                fn a_pulse_ends_each_wait() {
                    SEARCH.check(|| pulses::<ScheduleHarness, Lock>(4, true));
                    SEARCH.check(|| pulses::<ScheduleHarness, Lock>(4, false));
                }
            }
        };
    }

    for_each_lock!(reentrant_lock, reentrant);
}

mod free_after_release {
    use super::*;

    macro_rules! freeable_lock {
        ($name:ident, $lock:ident) => {
            #[test]
            fn $name() {
                if $lock::<SchedulePlatform>::ENTRY.promises.free_after_release {
                    SEARCH.check(|| freeing::<ScheduleHarness, $lock<SchedulePlatform>>(6));
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
                if $lock::<SchedulePlatform>::ENTRY.promises.free_after_release {
                    SEARCH.check(|| freeing_timed::<ScheduleHarness, $lock<SchedulePlatform>>(6, DEADLINE_NS));
                }
            }
        };
    }

    for_each_lock!(timed_freeable_lock, timed);
}

/// Acquisitions whose beginning and end the monitor knows.
fn observed<L: RawLock<Platform = SchedulePlatform>>(threads: usize, rounds: usize) {
    let shared = Arc::new((L::new(), <ScheduleHarness as Harness>::Cell::new(0)));
    let jobs = (0..threads).map(|_| {
        let shared = shared.clone();
        Box::new(move || {
            for _ in 0..rounds {
                ScheduleHarness::arrives();
                shared.0.acquire();
                ScheduleHarness::enters();
                // SAFETY: acquired above.
                unsafe { shared.1.update(|count| count + 1) };
                // SAFETY: acquired above.
                unsafe { shared.0.release() };
            }
        }) as Job
    });
    ScheduleHarness::run(jobs.collect());
}

/// At most so many threads poll the lock's word at once, whatever the number of contenders.
mod few_poll {
    use super::*;
    use ondeck_conformance::NoYields;

    /// The waiter on deck: the others look, announce and sleep. One that finds the lock free and loses it to another
    /// several times in a row counts too; hence the average.
    #[test]
    fn go_spinbit_futex() {
        let report = SEARCH.check(|| exclusion::<ScheduleHarness, RawGoSpinbitFutex<SchedulePlatform>>(8, 2));
        assert!(report.mean_pollers() < 1.1, "{:.2} threads poll on average", report.mean_pollers());
    }

    /// The waiter on deck, and one that had been the oldest sleeper.
    #[test]
    fn go_spinbit() {
        let report = SEARCH.check(|| exclusion::<ScheduleHarness, RawGoSpinbit<SchedulePlatform>>(8, 2));
        assert!(report.pollers <= 2, "{} threads poll at once", report.pollers);
    }

    /// The one on deck. Arrivals are awake between their yields too, so these are left out. While a pass is in flight,
    /// contenders that are awake wait for its end looking, so there are moments with more; hence the average.
    #[test]
    fn ondeck() {
        let report = SEARCH.check(|| exclusion::<ScheduleHarness, RawOndeck<SchedulePlatform, NoYields>>(8, 2));
        assert!(report.mean_pollers() < 1.2, "{:.2} threads poll on average", report.mean_pollers());
    }

    /// One spinner.
    #[test]
    fn linux_mutex_patch2() {
        let report = SEARCH.check(|| exclusion::<ScheduleHarness, RawLinuxMutexPatch2<SchedulePlatform>>(8, 2));
        assert!(report.pollers_past_latch <= 1, "{} threads poll at once", report.pollers_past_latch);
    }

    /// One spinner, as the modelled machine has two cores.
    #[test]
    fn linux_mutex_patch3() {
        let report = SEARCH.check(|| exclusion::<ScheduleHarness, RawLinuxMutexPatch3<SchedulePlatform>>(8, 2));
        assert!(report.pollers_past_latch <= 1, "{} threads poll at once", report.pollers_past_latch);
    }

    /// The first of the spinners' queue.
    #[test]
    fn linux_mutex_mcs() {
        let report = SEARCH.check(|| exclusion::<ScheduleHarness, RawLinuxMutexMcs<SchedulePlatform>>(8, 2));
        assert!(report.pollers_past_latch <= 1, "{} threads poll at once", report.pollers_past_latch);
    }

    /// The check of the three before: all spinners are seen where all may spin.
    #[test]
    fn is_noticed_past_a_latch() {
        let report = SEARCH.check(|| exclusion::<ScheduleHarness, RawLinuxMutexPatch1<SchedulePlatform>>(8, 2));
        assert!(report.pollers_past_latch > 2, "the monitor sees no crowd polling");
    }

    /// Turns enough to be seen polling.
    struct EagerPolling;

    impl TuningSource<MonitorTuning> for EagerPolling {
        const TUNING: MonitorTuning = MonitorTuning { spins: 20, ..<Defaults as TuningSource<MonitorTuning>>::TUNING };
    }

    /// The seven spinners that its word can count and one waiter that was woken, in the fat form; the monitor may count
    /// two more, who have retired a moment ago and look a last time before they sleep.
    #[test]
    fn coreclr_monitor() {
        let report = Schedule { executions: 5_000 }.check(|| {
            let lock = Arc::new(ondeck_lineage::RawCoreclrMonitor::<SchedulePlatform, EagerPolling>::new());
            lock.inflate();
            let pass = || {
                let lock = lock.clone();
                Box::new(move || {
                    for _ in 0..2 {
                        lock.acquire();
                        // The section is long, so that all others come to spin.
                        (0..40).for_each(|_| SchedulePlatform::pause_ns(100));
                        // SAFETY: acquired above.
                        unsafe { lock.release() };
                    }
                }) as Job
            };
            ScheduleHarness::run((0..12).map(|_| pass()).collect());
            assert!(lock.is_at_rest());
        });
        assert!((4..=10).contains(&report.pollers), "{} threads poll at once", report.pollers);
    }

    /// The check of the check: where everybody polls, the monitor sees it.
    #[test]
    fn is_noticed_where_all_poll() {
        let report = SEARCH.check(|| exclusion::<ScheduleHarness, RawTtas<SchedulePlatform>>(8, 2));
        assert!(report.pollers > 2 && report.mean_pollers() > 2.0, "the monitor sees no crowd polling");
    }
}

/// Nobody who came later gets in earlier: at most the others who are in the queue already.
mod bypass_is_bounded {
    use super::*;

    fn is_bounded<L: RawLock<Platform = SchedulePlatform>>() {
        let report = SEARCH.check(|| observed::<L>(5, 3));
        assert!(report.bypasses <= 4, "{} threads went past a waiter", report.bypasses);
    }

    #[test]
    fn ticket() {
        is_bounded::<RawTicket<SchedulePlatform>>();
    }

    #[test]
    fn mcs() {
        is_bounded::<RawMcs<SchedulePlatform>>();
    }

    /// The check of the check: a lock that promises nothing is seen to bypass.
    #[test]
    fn is_noticed_in_an_unordered_lock() {
        let report = SEARCH.check(|| observed::<RawGoSpinbit<SchedulePlatform>>(5, 3));
        assert!(report.bypasses > 4, "the monitor sees no bypass in a lock without order");
    }
}

/// Races of the flagship that need more threads than loom can search; the numbers are those of `src/races.rs`. The steps
/// are given in the order in which some execution must take them.
mod races_of_ondeck {
    use super::*;

    type Lock = RawOndeck<SchedulePlatform>;

    #[test]
    fn r07_push_between_call_and_detach() {
        let all = [["call_up", "enqueue", "detach"].as_slice(), &["pass_on", "enqueue", "detach"]];
        SEARCH.check_containing(&all, || exclusion::<ScheduleHarness, Lock>(6, 2));
    }

    /// With somebody else asleep and nobody on deck, the canceller must call before it drops the latch.
    #[test]
    fn r09_canceller_holds_the_latch_while_the_lock_is_released() {
        let rescued = ["latch", "vacate", "detach", "detach", "show_up"].as_slice();
        SEARCH.check_containing(&[rescued], || behind_a_holder::<ScheduleHarness, Lock>(4, 2, DEADLINE_NS));
    }

    #[test]
    fn r11_two_cancel_while_the_lock_is_released() {
        let both = ["latch", "latch", "vacate", "detach", "detach"].as_slice();
        // Ten thousand executions may miss it.
        let search = Schedule { executions: 50_000 };
        search.check_containing(&[both], || timed::<ScheduleHarness, Lock>(6, 4, 2, DEADLINE_NS));
    }

    #[test]
    fn r15_called_after_the_deadline() {
        let late = ["show_up", "leave"].as_slice();
        SEARCH.check_containing(&[late], || timed::<ScheduleHarness, Lock>(6, 4, 2, DEADLINE_NS));
    }

    /// A thread that sleeps twice does so at the same address.
    #[test]
    fn r18_address_of_a_sleeper_returns() {
        let again = ["enqueue", "show_up", "enqueue", "show_up", "enqueue"].as_slice();
        SEARCH.check_containing(&[again], || exclusion::<ScheduleHarness, Lock>(6, 6));
    }

    /// Sleepers, and threads that cannot be among them.
    #[test]
    fn far_threads_look_in() {
        let all = [["doze", "grab", "vacate"].as_slice(), &["doze", "enqueue", "doze", "detach"], &["doze", "claim"]];
        SEARCH.check_containing(&all, || exclusion::<ScheduleHarness, Lock>(6, 3));
    }

    /// One flag stands for both: the thread that clears it wakes the other.
    #[test]
    fn r06_both_seats_nap() {
        let both = ["call_up", "claim", "nap", "show_up", "nap"].as_slice();
        let search = Schedule { executions: 50_000 };
        search.check_containing(&[both, &["nap", "nap", "rise"]], || exclusion::<ScheduleHarness, Lock>(6, 3));
    }

    /// An arrival sits beside a call: it acquires before or after the called one, or goes to the dugout.
    #[test]
    fn an_arrival_sits_beside_a_call() {
        let all = [
            ["detach", "claim", "take", "show_up"].as_slice(),
            &["detach", "claim", "show_up", "accept", "take"],
            &["detach", "claim", "show_up", "leave", "enqueue"],
        ];
        SEARCH.check_containing(&all, || exclusion::<ScheduleHarness, Lock>(6, 3));
    }
}
