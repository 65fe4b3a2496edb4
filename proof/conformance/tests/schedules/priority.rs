//! Threads of different priorities on one core: a thread with real-time priority keeps it from the others until it
//! sleeps, so it must never wait by yielding for one that has lost the core to it.

#[cfg(feature = "models")]
mod modelled {
    use ondeck_conformance::condvar::{timeouts_race_with_notifications, wakes_all_and_loses_none, wakes_all_at_once};
    use ondeck_conformance::monitors::pulses_all;
    use ondeck_conformance::properties::{behind_a_holder, exclusion, freeing_timed, timed, tries};
    use ondeck_conformance::{Schedule, ScheduleHarness, SchedulePlatform};
    use ondeck_lineage::{RawOndeck, RawOndeckMonitor, RawTicket};

    type Lock = RawOndeck<SchedulePlatform>;
    type Monitor = RawOndeckMonitor<SchedulePlatform>;

    const SEARCH: Schedule = Schedule { executions: 4_000 };
    const DEADLINE_NS: u64 = 1 << 20;

    #[test]
    fn plain_under_priorities() {
        let passes = [["pass_on", "detach"].as_slice(), &["detach", "claim", "show_up"]];
        SEARCH.check_under_priorities(&passes, || exclusion::<ScheduleHarness, Lock>(6, 3));
        SEARCH.check_under_priorities(&[], || tries::<ScheduleHarness, Lock>(5, 3));
    }

    #[test]
    fn timed_under_priorities() {
        let cancelled = ["latch", "detach"].as_slice();
        SEARCH.check_under_priorities(&[cancelled], || timed::<ScheduleHarness, Lock>(6, 4, 2, DEADLINE_NS));
        // A canceller seldom finds a latch holder that has lost its core.
        let longer = Schedule { executions: 64_000 };
        longer.check_under_priorities(&[cancelled], || behind_a_holder::<ScheduleHarness, Lock>(5, 5, DEADLINE_NS));
        SEARCH.check_under_priorities(&[], || freeing_timed::<ScheduleHarness, Lock>(6, DEADLINE_NS));
    }

    #[test]
    fn condvar_under_priorities() {
        SEARCH.check_under_priorities(&[], || wakes_all_and_loses_none::<ScheduleHarness>(4, true));
        SEARCH.check_under_priorities(&[], || wakes_all_and_loses_none::<ScheduleHarness>(4, false));
        SEARCH.check_under_priorities(&[], || wakes_all_at_once::<ScheduleHarness>(5));
        SEARCH.check_under_priorities(&[], || timeouts_race_with_notifications::<ScheduleHarness>(3, 2, DEADLINE_NS));
    }

    #[test]
    fn monitor_under_priorities() {
        SEARCH.check_under_priorities(&[], || exclusion::<ScheduleHarness, Monitor>(5, 3));
        SEARCH.check_under_priorities(&[], || timed::<ScheduleHarness, Monitor>(5, 3, 3, DEADLINE_NS));
        SEARCH.check_under_priorities(&[], || pulses_all::<ScheduleHarness>(4));
    }

    /// The check of the check: a thread that has drawn a number yields until it is called, and others are never called.
    #[test]
    #[should_panic(expected = "max_steps")]
    fn is_noticed_where_all_yield() {
        Schedule { executions: 1_000 }.check_under_priorities(&[], || {
            exclusion::<ScheduleHarness, RawTicket<SchedulePlatform>>(4, 2);
        });
    }
}

/// Real threads under SCHED_FIFO, each of which sleeps between its turns, beside others that never do.
///
/// A thread that spins is ended with its process by RLIMIT_RTTIME, which counts what a real-time thread uses of a core
/// without sleeping; so nothing hangs, whatever the kernel leaves to other threads beside a real-time one.
mod hardware {
    use ondeck_conformance::child::{stay_on_one_core, succeed, test_in_child};
    use ondeck_conformance::{Random, within};
    use ondeck_core::{Hardware, Platform};
    use ondeck_lineage::ondeck::{RawCondvar, RawOndeck};
    use ondeck_lineage::{RawLock, RawMonitor, RawOndeckMonitor, RawTimedLock};
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
    use std::thread;
    use std::time::{Duration, Instant};

    /// How long the threads contend.
    const BOX: Duration = Duration::from_secs(1);
    const PATIENCE: Duration = Duration::from_secs(60);
    /// Many times what a turn takes, and as many times less than what a box has.
    const MOST_SPINNING_US: u64 = 200_000;
    const N_FIRST: u64 = 2;
    const N_OTHERS: u64 = 6;

    /// What is contended for.
    struct SharedState {
        lock: RawOndeck<Hardware>,
        changed: RawCondvar<Hardware>,
        monitor: RawOndeckMonitor<Hardware>,
        is_over: AtomicBool,
        turns_of_first: AtomicU64,
        turns_of_others: AtomicU64,
    }

    impl SharedState {
        fn new() -> Self {
            SharedState {
                lock: RawOndeck::new(),
                changed: RawCondvar::new(),
                monitor: RawOndeckMonitor::new(),
                is_over: AtomicBool::new(false),
                turns_of_first: AtomicU64::new(0),
                turns_of_others: AtomicU64::new(0),
            }
        }
    }

    /// One turn of a thread.
    type Turn = fn(&SharedState, &mut Random);

    /// From at once to a quarter of a millisecond, the shorter the more frequent.
    fn soon(random: &mut Random) -> u64 {
        let most = 1 << random.below(19);
        Hardware::now_ns() + random.below(most)
    }

    /// Mostly short; at times off the core, so that the others come and sleep.
    fn section(random: &mut Random) {
        match random.below(16) {
            0 => thread::sleep(Duration::from_micros(20)),
            1 => Hardware::pause_ns(20_000),
            _ => Hardware::pause_ns(100),
        }
    }

    fn plain(arena: &SharedState, random: &mut Random) {
        arena.lock.acquire();
        section(random);
        // SAFETY: acquired above.
        unsafe { arena.lock.release() };
    }

    fn timed(arena: &SharedState, random: &mut Random) {
        if arena.lock.try_acquire_until(soon(random)) {
            section(random);
            // SAFETY: just acquired.
            unsafe { arena.lock.release() };
        }
    }

    fn condvar(arena: &SharedState, random: &mut Random) {
        arena.lock.acquire();
        match random.below(3) {
            0 => _ = arena.changed.notify_one(),
            1 => _ = arena.changed.notify_all(),
            // SAFETY: acquired above.
            _ => _ = unsafe { arena.changed.wait(&arena.lock, Some(soon(random))) },
        }
        // SAFETY: acquired above, and a wait returns with it.
        unsafe { arena.lock.release() };
    }

    fn monitor(arena: &SharedState, random: &mut Random) {
        if !arena.monitor.try_acquire_until(soon(random)) {
            return;
        }
        match random.below(8) {
            0 => _ = arena.monitor.wait(Some(soon(random))),
            1 => _ = arena.monitor.pulse(),
            _ => section(random),
        }
        // SAFETY: entered above, and a wait returns inside.
        unsafe { arena.monitor.release() };
    }

    /// Gives the calling thread the least of the real-time priorities; false, and says so, where that is not allowed.
    fn get_priority() -> bool {
        // SAFETY: all zeros is a value of this plain structure.
        let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
        parameters.sched_priority = 1;
        // SAFETY: reads the parameters.
        let answer = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) };
        if answer != 0 {
            eprintln!("SKIPPED, no real-time priority may be had here: {}", io::Error::last_os_error());
        }
        answer == 0
    }

    fn limit_spinning() {
        let limit = libc::rlimit { rlim_cur: MOST_SPINNING_US, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: reads the limit.
        let answer = unsafe { libc::setrlimit(libc::RLIMIT_RTTIME, &limit) };
        assert_eq!(answer, 0, "a limit can be lowered");
    }

    /// All contenders on one core. `spins`: the process has others, so that contenders think spinning is of use.
    fn contend(turn: Turn, spins: bool) {
        limit_spinning();
        if !thread::spawn(get_priority).join().expect("it asks only") {
            return;
        }
        if !spins {
            stay_on_one_core();
        }
        let arena = Arc::new(SharedState::new());
        let start = |index: u64| {
            let arena = arena.clone();
            thread::spawn(move || {
                stay_on_one_core();
                let has_priority = index < N_FIRST && get_priority();
                let mut random = Random::new(index);
                while !arena.is_over.load(Relaxed) {
                    turn(&arena, &mut random);
                    if has_priority {
                        arena.turns_of_first.fetch_add(1, Relaxed);
                        thread::sleep(Duration::from_micros(random.below(100)));
                    } else {
                        arena.turns_of_others.fetch_add(1, Relaxed);
                    }
                }
            })
        };
        let threads: Vec<_> = (0..N_FIRST + N_OTHERS).map(start).collect();
        let turns = || (arena.turns_of_first.load(Relaxed), arena.turns_of_others.load(Relaxed));
        let begin = Instant::now();
        loop {
            thread::sleep(BOX);
            let (first, others) = turns();
            if first > 10 && others > 10 {
                break;
            }
            // On a busy machine they have less of their core.
            assert!(
                begin.elapsed() < PATIENCE / 2,
                "{first} turns with priority, {others} without; more were expected"
            );
        }
        arena.is_over.store(true, Relaxed);
        threads.into_iter().for_each(|thread| thread.join().expect("a contender panicked"));
        let (first, others) = turns();
        eprintln!("{first} turns with priority, {others} without");
        assert!(arena.lock.is_at_rest() && arena.monitor.is_at_rest(), "somebody is left");
    }

    macro_rules! contest {
        ($name:ident) => {
            mod $name {
                use super::*;

                #[test]
                #[ignore = "the child's half"]
                fn child_spinning() {
                    contend(super::$name, true);
                }

                #[test]
                #[ignore = "the child's half"]
                fn child_not_spinning() {
                    contend(super::$name, false);
                }

                #[test]
                fn with_priority_on_one_core() {
                    for child in ["child_spinning", "child_not_spinning"] {
                        within(PATIENCE, stringify!($name), || {
                            succeed(test_in_child(module_path!(), child).spawn().expect("the child starts"));
                        });
                    }
                }
            }
        };
    }

    contest!(plain);
    contest!(timed);
    contest!(condvar);
    contest!(monitor);
}
