//! Every workload with good locks, and with locks that fail in each of the ways that must be found out.

use super::*;
use crate::failure::Failure;
use crate::peers::Std;
use ondeck_platform::Hardware;
use std::hint::spin_loop;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// A test-and-set lock that yields now and then, so that tests end on one core too.
struct Tas(AtomicBool);

impl BenchLock for Tas {
    fn new() -> Self {
        Tas(AtomicBool::new(false))
    }

    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        let mut tries = 0u32;
        while self.0.swap(true, Acquire) {
            tries += 1;
            if tries.is_multiple_of(100) { thread::yield_now() } else { spin_loop() }
        }
        let result = section();
        self.0.store(false, Release);
        result
    }

    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        if self.0.swap(true, Acquire) {
            return None;
        }
        let result = section();
        self.0.store(false, Release);
        Some(result)
    }
}

/// Lets everybody in.
pub(crate) struct Broken;

impl BenchLock for Broken {
    fn new() -> Self {
        Broken
    }

    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        section()
    }

    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        Some(section())
    }
}

/// How many acquisitions the two locks below grant before they fail.
const GRANTED: u64 = 50;

/// Stops granting: everybody sleeps for good.
struct Dead(Std, AtomicU64);

impl BenchLock for Dead {
    fn new() -> Self {
        Dead(Std::new(), AtomicU64::new(0))
    }

    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        while self.1.fetch_add(1, Relaxed) >= GRANTED {
            thread::park();
        }
        self.0.with(section)
    }

    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        Some(self.with(section))
    }
}

/// Forgets one waiter and serves all others.
struct Forgetful(Std, AtomicU64);

impl BenchLock for Forgetful {
    fn new() -> Self {
        Forgetful(Std::new(), AtomicU64::new(0))
    }

    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        if self.1.fetch_add(1, Relaxed) == GRANTED {
            loop {
                thread::park();
            }
        }
        self.0.with(section)
    }

    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        Some(self.with(section))
    }
}

/// Held by whoever measures: tests that share the cores would have each other's threads fail to move.
static CORES: Mutex<()> = Mutex::new(());
static NEVER: AtomicBool = AtomicBool::new(false);

/// Measures with a window that is long enough for something to happen.
fn measure<L: BenchLock>(spec: WorkloadSpec, threads: u32) -> Result<Vec<Row>, End> {
    measure_for::<L>(spec, threads, 20, 10_000)
}

/// Measures with a window that is too long to be waited for: the lock must fail, and must be given up for it.
fn measure_until_stuck<L: BenchLock>(spec: WorkloadSpec, threads: u32) -> Failure {
    match measure_for::<L>(spec, threads, 60_000, 200) {
        Err(End::Failed(failure @ Failure::Stuck { .. })) => failure,
        other => panic!("{spec}: {other:?}"),
    }
}

fn measure_for<L: BenchLock>(spec: WorkloadSpec, threads: u32, ms: u64, patience_ms: u64) -> Result<Vec<Row>, End> {
    let _alone = CORES.lock().unwrap_or_else(PoisonError::into_inner);
    let workload = spec.to_string();
    let conditions = Conditions {
        platform: Hardware::NAME,
        machine: "test",
        workload: &workload,
        lock: "lock-under-test",
        threads,
        round: 3,
        window_ns: ms * 1_000_000,
        most_warm_ups: 1,
        cores: &Hardware::cores(),
        patience_ns: patience_ms * 1_000_000,
        stop: &NEVER,
    };
    if spec.compares_waits() {
        return run_wait::<Hardware>(SpinPolicy::STATUS_WAIT, &conditions);
    }
    run::<L, Hardware>(&spec, &conditions)
}

/// All workloads with a lock, small, at a number of threads that makes them contended where they can be.
fn all() -> impl Iterator<Item = (WorkloadSpec, u32)> {
    let is_here = |info: &&WorkloadInfo| info.kind != Kind::GcWait && !info.simulated_only;
    WORKLOADS.iter().filter(is_here).map(|info| {
        let spec = WorkloadSpec { cs: 200, out: 50, ..WorkloadSpec::new(info.kind) };
        (spec, 4.clamp(info.min_threads, info.max_threads))
    })
}

fn good_lock<L: BenchLock>() {
    for (spec, threads) in all() {
        let rows = measure::<L>(spec, threads).unwrap_or_else(|end| panic!("{spec}: {end:?}"));
        assert_eq!(rows.len(), spec.rows(L::HAS_FAT_FORM), "{spec}");
        for row in rows {
            assert!(row.workload.starts_with(&spec.to_string()), "{row:?}");
            assert_eq!((row.round, row.lock.as_str(), row.platform.as_str()), (3, "lock-under-test", "hardware"));
            assert!(row.ops.unwrap() > 0 && row.ns_per_op.unwrap() > 0.0, "{row:?}");
            assert!(row.seconds >= 0.02 && row.cpus.is_some() && row.ctx_switches_per_s.is_some(), "{row:?}");
        }
    }
}

#[test]
fn every_workload_runs_with_std() {
    good_lock::<Std>();
}

#[test]
fn every_workload_runs_with_test_and_set() {
    good_lock::<Tas>();
}

#[test]
fn waits_and_shares_are_where_they_belong() {
    for (spec, threads) in all() {
        for row in measure::<Std>(spec, threads).unwrap() {
            let handoff = matches!(spec.kind, Kind::HandoffFast | Kind::HandoffSlow);
            let timed = !matches!(spec.kind, Kind::Solo | Kind::Spike | Kind::MonitorTryEnter);
            assert_eq!(row.wait_max_ns.is_some() && row.wait_p50_ns <= row.wait_max_ns, timed, "{row:?}");
            assert_eq!(row.starve_max_ns.is_some(), timed && !handoff, "{row:?}");
            assert_eq!(row.jain.is_some(), !handoff, "{row:?}");
            assert_eq!(row.ops_per_s.is_some(), !handoff, "{row:?}");
        }
    }
}

#[test]
fn a_lock_that_lets_everybody_in_is_found_out() {
    // Nothing can overlap in `solo`, and in `handoff-fast` the giver is as good as gone when the taker comes.
    let blind = |spec: &WorkloadSpec| matches!(spec.kind, Kind::Solo | Kind::HandoffFast);
    for (spec, threads) in all().filter(|(spec, _)| !blind(spec)) {
        // On one core it takes a preemption at the right moment, so it may take a few attempts.
        let found = (0..100).find_map(|_| measure::<Broken>(spec, threads).err());
        let Some(End::Failed(failure @ Failure::LostUpdate { .. })) = found else { panic!("{spec}: {found:?}") };
        let text = failure.to_string();
        assert!(text.contains("lock-under-test") && text.contains(&spec.to_string()), "{text}");
    }
}

#[test]
fn a_dead_lock_does_not_hang_the_run() {
    for (spec, threads) in all() {
        let text = measure_until_stuck::<Dead>(spec, threads).to_string();
        assert!(text.contains("lock-under-test is stuck") && text.contains("operations done"), "{text}");
    }
}

#[test]
fn a_forgotten_waiter_is_missed_at_the_end() {
    let spec = WorkloadSpec::new(Kind::Sections);
    let end = measure_for::<Forgetful>(spec, 4, 20, 200).unwrap_err();
    let End::Failed(failure @ Failure::Stuck { .. }) = end else { panic!("{end:?}") };
    assert!(failure.to_string().contains("1 of 4 threads did not come back"), "{failure}");
}

#[test]
fn a_lock_with_a_larger_form_is_tried_in_it_too() {
    /// Counts how often it was made fat, which the workload asks for before its second row.
    struct Inflated(Std);

    static INFLATIONS: AtomicU64 = AtomicU64::new(0);

    impl BenchLock for Inflated {
        const HAS_FAT_FORM: bool = true;

        fn new() -> Self {
            Inflated(Std::new())
        }

        fn with<R>(&self, section: impl FnOnce() -> R) -> R {
            self.0.with(section)
        }

        fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
            self.0.try_with(section)
        }

        fn make_fat(&self) {
            INFLATIONS.fetch_add(1, Relaxed);
        }
    }

    let rows = measure::<Inflated>(WorkloadSpec::new(Kind::MonitorTryEnter), 1).unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
    assert_eq!(names, ["monitor-try-enter/thin", "monitor-try-enter/fat", "monitor-try-enter/locked"]);
    assert_eq!(INFLATIONS.load(Relaxed), 1);
}

#[test]
fn passes_are_fewer_than_sections() {
    let row = measure::<Std>(WorkloadSpec::new(Kind::MonitorLatency), 2).unwrap().remove(0);
    assert!(row.wait_max_ns.is_some() && row.ops.unwrap() > 0, "{row:?}");
}

#[test]
fn waits_without_a_lock_have_their_percentiles_and_their_histogram() {
    for threads in [2, 5] {
        let rows = measure_for::<Std>(WorkloadSpec::new(Kind::GcWait), threads, 50, 10_000).unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
        assert_eq!(names, ["gc-wait/status", "gc-wait/scan"]);
        for row in rows {
            assert!(row.ops.unwrap() > 0 && row.ns_per_op > Some(0.0), "{row:?}");
            assert!(row.wait_p50_ns <= row.wait_p99_ns && row.wait_p99_ns <= row.wait_max_ns, "{row:?}");
            assert_eq!(row.waits.unwrap().by_powers().iter().sum::<u64>(), row.ops.unwrap());
            assert!(row.cpus.is_some() && row.jain.is_none() && row.ops_per_s.is_none());
        }
    }
}

#[test]
fn a_thread_that_gets_nothing_has_waited_all_the_time() {
    /// Gives the lock to whoever asks first, for good; the others get it when that thread is gone.
    struct Captured(Std, std::sync::OnceLock<thread::ThreadId>, AtomicU64);

    impl BenchLock for Captured {
        fn new() -> Self {
            Captured(Std::new(), std::sync::OnceLock::new(), AtomicU64::new(0))
        }

        fn with<R>(&self, section: impl FnOnce() -> R) -> R {
            if *self.1.get_or_init(|| thread::current().id()) == thread::current().id() {
                self.2.fetch_add(1, Relaxed);
            } else {
                // Until the holder has not come for 100 ms, which is long after the window.
                let mut seen = u64::MAX;
                while self.2.load(Relaxed) != seen {
                    seen = self.2.load(Relaxed);
                    thread::sleep(std::time::Duration::from_millis(100));
                }
            }
            self.0.with(section)
        }

        fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
            self.0.try_with(section)
        }
    }

    let row = measure::<Captured>(WorkloadSpec::new(Kind::MutexContention), 2).unwrap().remove(0);
    assert_eq!(row.min_share, Some(0.0), "{row:?}");
    // The timed window is half of the counting window.
    assert!(row.wait_max_ns.unwrap() >= 9.9e6 && row.wait_max_ns.unwrap() < 90e6, "{row:?}");
    assert!(row.starve_max_ns.unwrap() >= 9.9e6, "{row:?}");
    assert!(row.wait_p99_ns.unwrap() < 1e6, "{row:?}");
}
