//! Every workload with good locks, and with locks that fail in each of the ways that must be found out.

use super::*;
use crate::failure::{Failure, Fault};
use crate::peers::Std;
use ondeck_core::Hardware;
use std::hint::spin_loop;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

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
        (!self.0.load(Relaxed)).then(|| self.with(section))
    }
}

/// Lets everybody in.
pub(crate) struct BrokenLock;

impl BenchLock for BrokenLock {
    fn new() -> Self {
        BrokenLock
    }

    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        section()
    }

    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        Some(section())
    }
}

/// Grants so many acquisitions, and then makes one thread sleep for good and serves all others; or makes everybody sleep.
struct SleepyLock<const FOR_ALL: bool>(Std, AtomicU64);

const GRANTED: u64 = 50;

impl<const FOR_ALL: bool> BenchLock for SleepyLock<FOR_ALL> {
    fn new() -> Self {
        SleepyLock(Std::new(), AtomicU64::new(0))
    }

    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        let before = self.1.fetch_add(1, Relaxed);
        if before == GRANTED || FOR_ALL && before > GRANTED {
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

/// How long a test waits for what must come sooner or later, whatever else runs on the machine.
const LONGEST: Duration = Duration::from_secs(120);

/// Measures with windows that grow until every row has counted something: on a busy machine the threads may not run at all in
/// a short one.
fn measure<L: BenchLock>(spec: WorkloadSpec, threads: u32) -> Result<Vec<Row>, End> {
    let begin = Instant::now();
    let mut ms = 20;
    loop {
        let rows = measure_for::<L>(spec, threads, ms, 60_000)?;
        if rows.iter().all(|row| row.ops > Some(0) || row.ops.is_none()) {
            return Ok(rows);
        }
        assert!(begin.elapsed() < LONGEST, "{spec}: waited {LONGEST:?} for a window with operations: {rows:?}");
        ms *= 2;
    }
}

/// Measures with a window that is too long to be waited for: the lock must fail, and must be given up for it.
fn measure_until_stuck<L: BenchLock>(spec: WorkloadSpec, threads: u32) -> Failure {
    match measure_for::<L>(spec, threads, 60_000, 200) {
        Err(End::Failed(failure @ Failure::Point { fault: Fault::Stuck { .. }, .. })) => failure,
        other => panic!("{spec}: {other:?}"),
    }
}

fn measure_for<L: BenchLock>(spec: WorkloadSpec, threads: u32, ms: u64, patience_ms: u64) -> Result<Vec<Row>, End> {
    under_conditions(&spec.to_string(), threads, ms, patience_ms, |conditions| match spec.compares_waits() {
        true => run_wait::<Hardware>(SpinPolicy::STATUS_WAIT, conditions),
        false => run::<L, Hardware>(&spec, conditions),
    })
}

fn under_conditions<R>(
    workload: &str,
    threads: u32,
    ms: u64,
    patience_ms: u64,
    measure: impl FnOnce(&Conditions) -> R,
) -> R {
    let _alone = CORES.lock().unwrap_or_else(PoisonError::into_inner);
    let conditions = Conditions {
        platform: Hardware::NAME,
        machine: "test",
        workload,
        lock: "lock-under-test",
        threads,
        round: 3,
        window_ns: ms * 1_000_000,
        most_warm_ups: 1,
        cores: &Hardware::cores(),
        patience_ns: patience_ms * 1_000_000,
        stop: &NEVER,
    };
    measure(&conditions)
}

/// All workloads with a lock, small, at a number of threads that makes them contended where they can be; `sections` with all
/// that they can work on. Not `pool`: its locks are those that have a condition variable.
fn all() -> impl Iterator<Item = (WorkloadSpec, u32)> {
    let is_here = |info: &&WorkloadInfo| info.kind != Kind::GcWait && !info.simulated_only && !info.hardware_only;
    let small = |info: &WorkloadInfo| {
        let spec = WorkloadSpec { cs: 200, out: 50, ..WorkloadSpec::new(info.kind) };
        (spec, 4.clamp(info.min_threads, info.max_threads))
    };
    let sections = WorkloadSpec { cs: 200, out: 50, ..WorkloadSpec::new(Kind::Sections) };
    let with_data = [Data::None, Data::Near, Data::Far].map(|data| (WorkloadSpec { data, ..sections }, 4));
    WORKLOADS.iter().filter(is_here).map(small).chain(with_data)
}

fn runs_every_workload<L: BenchLock>() {
    for (spec, threads) in all() {
        let rows = measure::<L>(spec, threads);
        let rows = rows.unwrap_or_else(|end| panic!("{spec} with {}: {end:?}", std::any::type_name::<L>()));
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
fn every_workload_runs_with_good_locks() {
    runs_every_workload::<Std>();
    runs_every_workload::<Tas>();
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
        // On one core it takes a preemption at the right moment, so it may take many attempts.
        let begin = Instant::now();
        let found = loop {
            match measure::<BrokenLock>(spec, threads) {
                Ok(_) => assert!(begin.elapsed() < LONGEST, "{spec}: waited {LONGEST:?} for a lost update"),
                Err(end) => break end,
            }
        };
        let End::Failed(failure @ Failure::Point { fault: Fault::LostUpdate { .. }, .. }) = found else {
            panic!("{spec}: {found:?}")
        };
        let text = failure.to_string();
        assert!(text.contains("lock-under-test") && text.contains(&spec.to_string()), "{text}");
    }
}

#[test]
fn a_dead_lock_does_not_hang_the_run() {
    for (spec, threads) in all() {
        let text = measure_until_stuck::<SleepyLock<true>>(spec, threads).to_string();
        assert!(text.contains("lock-under-test is stuck") && text.contains("operations done"), "{text}");
    }
}

#[test]
fn a_forgotten_waiter_is_missed_at_the_end() {
    let (spec, begin) = (WorkloadSpec::new(Kind::Sections), Instant::now());
    // On a busy machine others may take longer to come back, or the lock may not come to forget anybody.
    for turn in 0.. {
        let end = measure_for::<SleepyLock<false>>(spec, 4, 20 << turn, 200 << turn);
        let text = match end {
            Err(End::Failed(failure @ Failure::Point { fault: Fault::Stuck { .. }, .. })) => failure.to_string(),
            Ok(_) => "nobody is missed".to_owned(),
            other => panic!("{other:?}"),
        };
        if text.contains("1 of 4 threads did not come back") {
            break;
        }
        assert!(begin.elapsed() < LONGEST, "waited {LONGEST:?} for the three others to come back: {text}");
    }
}

#[test]
fn a_lock_with_a_larger_form_is_tried_in_it_too() {
    /// Counts how often it was made fat, which the workload asks for before its second row.
    struct InflationCounter(Std);

    static INFLATIONS: AtomicU64 = AtomicU64::new(0);

    impl BenchLock for InflationCounter {
        const HAS_FAT_FORM: bool = true;

        fn new() -> Self {
            InflationCounter(Std::new())
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

    let rows = measure_for::<InflationCounter>(WorkloadSpec::new(Kind::MonitorTryEnter), 1, 20, 60_000).unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
    assert_eq!(names, ["monitor-try-enter/thin", "monitor-try-enter/fat", "monitor-try-enter/locked"]);
    assert_eq!(INFLATIONS.load(Relaxed), 1);
}

#[test]
fn waits_without_a_lock_have_their_percentiles() {
    for threads in [2, 5] {
        let rows = measure::<Std>(WorkloadSpec::new(Kind::GcWait), threads).unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
        assert_eq!(names, ["gc-wait/status", "gc-wait/scan"]);
        for row in rows {
            assert!(row.ops.unwrap() > 0 && row.ns_per_op > Some(0.0), "{row:?}");
            assert!(row.wait_p50_ns <= row.wait_p99_ns && row.wait_p99_ns <= row.wait_max_ns, "{row:?}");
            assert!(row.cpus.is_some() && row.jain.is_none() && row.ops_per_s.is_none());
        }
    }
}

/// Rows of `pool` with the lock, with windows that grow until there are eight bursts in one: on a busy machine the poster may
/// not run at all in a short one.
fn pool_rows(spec: WorkloadSpec, lock: &str, threads: u32) -> Vec<Row> {
    let (workload, begin) = (spec.to_string(), Instant::now());
    let measure = |turn| {
        under_conditions(&workload, threads, 100u64 << turn, 60_000, |conditions| run_own(&spec, lock, conditions))
            .unwrap()
    };
    let has_bursts = |rows: &Vec<Row>| {
        assert!(begin.elapsed() < LONGEST, "{spec}: waited {LONGEST:?} for eight bursts with {lock}");
        rows[1].ops >= Some(8)
    };
    (0..).map(measure).find(has_bursts).expect("there is no end to the windows")
}

#[test]
fn each_lock_with_a_condition_variable_serves_a_pool() {
    for lock in ["ondeck", "std", "parking-lot", "parking-lot-012", "pthread", "pthread-adaptive"] {
        assert_eq!(own_fault(&WorkloadSpec::new(Kind::Pool), lock), None);
        for notify in [Notify::Under, Notify::After] {
            let spec = WorkloadSpec { notify, ..WorkloadSpec::new(Kind::Pool) };
            let rows = pool_rows(spec, lock, 3);
            let names: Vec<&str> = rows.iter().filter_map(|row| row.workload.rsplit('/').next()).collect();
            assert_eq!(names, ["dispatch", "burst"]);
            for row in rows {
                assert!(row.ops > Some(0) && row.ops_per_s > Some(0.0) && row.cpus.is_some(), "{row:?}");
                assert!(row.wait_p50_ns <= row.wait_p99_ns && row.wait_p999_ns <= row.wait_max_ns, "{row:?}");
            }
        }
    }
    for lock in ["tas", "ondeck-monitor", "ondeck[low-latency]", "parking-lot-reentrant"] {
        let text = own_fault(&WorkloadSpec::new(Kind::Pool), lock).unwrap();
        assert!(text.contains(lock) && text.contains("accepted: ondeck, std, parking-lot,"), "{text}");
    }
}

#[test]
fn each_library_has_readers() {
    for lock in ["ondeck", "std", "parking-lot", "parking-lot-012", "pthread"] {
        for write_every in [0, 1, 10] {
            let spec = WorkloadSpec { write_every, locks: 1 + write_every, ..WorkloadSpec::new(Kind::Readers) };
            let rows =
                under_conditions("readers", 3, 50, 60_000, |conditions| run_own(&spec, lock, conditions)).unwrap();
            assert!(rows.len() == 1 && rows[0].ops > Some(0), "{lock} {rows:?}");
        }
    }
    let text = own_fault(&WorkloadSpec::new(Kind::Readers), "tas").unwrap();
    assert!(text.contains("readers needs a library with a reader-writer lock, and tas has none"), "{text}");
}

/// Lets everybody in.
struct OpenToAll(AtomicU64);

impl readers::ReadWriteLock for OpenToAll {
    fn new() -> Self {
        OpenToAll(AtomicU64::new(0))
    }

    fn read<R>(&self, section: impl FnOnce(&AtomicU64) -> R) -> R {
        section(&self.0)
    }

    fn write<R>(&self, section: impl FnOnce(&AtomicU64) -> R) -> R {
        section(&self.0)
    }
}

/// Either an update is lost, or a reader sees one in its midst.
#[test]
fn a_writer_beside_a_reader_is_found_out() {
    let spec = WorkloadSpec { write_every: 2, cs: 2_000, ..WorkloadSpec::new(Kind::Readers) };
    let begin = Instant::now();
    let is_found_out = |turn| {
        assert!(begin.elapsed() < LONGEST, "nobody was found out");
        let run = |conditions: &Conditions| readers::run_with::<OpenToAll>(&spec, conditions);
        matches!(under_conditions("readers", 4, 100u64 << turn, 60_000, run), Err(End::Failed(_)))
    };
    assert!((0..).any(is_found_out));
}

#[test]
fn one_worker_gets_each_job_after_the_work_of_those_before_it() {
    let spec = WorkloadSpec { burst: 8, work_us: 200, gap_us: 5_000, ..WorkloadSpec::new(Kind::Pool) };
    let [dispatch, burst] = &pool_rows(spec, "std", 1)[..] else { panic!("two rows") };
    // The clock frequency may be higher than when the work was measured out.
    let works = |n: f64| Some(0.8 * n * 200_000.0);
    assert!(dispatch.wait_p50_ns > works(3.0), "the fourth of eight jobs: {dispatch:?}");
    assert!(dispatch.wait_max_ns > works(7.0), "the last: {dispatch:?}");
    assert!(burst.wait_p50_ns > works(8.0), "all: {burst:?}");
    assert!(burst.ops.unwrap() * 6 < dispatch.ops.unwrap(), "eight jobs are a burst: {dispatch:?} {burst:?}");
}
