//! Runs of good locks and of locks that fail, and what is said of them.

use super::*;
use crate::bench_lock::BenchLock;
use crate::conditions::{Conditions, End};
use crate::execution::simulated;
use crate::plan::{Fault, Pin, Point};
use crate::workload::tests::BrokenLock;
use crate::workload::{self, WorkloadSpec};
use ondeck_core::{Atomic, Platform};
use ondeck_report::row::{COLUMNS, Row};
use ondeck_sim::{Options, SimU32};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

fn plan(points: Vec<Point>) -> Plan {
    Plan { points, rounds: 1, seconds: Some(0.001), seed: 1, pin: Pin::None, load: 0 }
}

fn on_rpi5(plan: Plan) -> MachinePlan {
    MachinePlan { plan, machine: machine("rpi5", None).unwrap(), machine_words: "rpi5".into(), record: false }
}

fn rows_of(plan: &Plan) -> Vec<Row> {
    run(&on_rpi5(plan.clone()), &AtomicBool::new(false), &mut |_| ()).unwrap().rows
}

#[test]
fn what_workloads_draw_follows_the_seed() {
    // One thread alone, in a system that takes equally long each time: nothing else is left to chance.
    let hashes = |workload| {
        let mut plan = on_rpi5(Plan { rounds: 2, ..plan(vec![Point::of(workload, "mcs", 1)]) });
        let os = &mut plan.machine.os;
        (os.wake_jitter, os.kernel_jitter) = (0, 0);
        let rows = run(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap().rows;
        rows.into_iter().filter_map(|row| row.trace_hash).collect::<Vec<String>>()
    };
    for workload in ["monitor-throughput", "aim7"] {
        let [one, two] = &hashes(workload)[..] else { panic!("two seeds") };
        assert_ne!(one, two, "{workload}");
        assert_eq!(hashes(workload), [one.as_str(), two.as_str()], "{workload}");
    }
    let nothing_drawn = hashes("mutex-contention");
    assert_eq!(nothing_drawn[0], nothing_drawn[1]);
}

#[test]
fn a_machine_with_fewer_cores_has_a_name_of_its_own() {
    let name = |cores| machine("m1", cores).unwrap().name;
    assert_eq!([name(None), name(Some(4)), name(Some(8))], ["m1", "m1-cores-4", "m1-cores-8"]);
}

/// Forgets to wake after a while: the next waiter sleeps for good.
struct SleepyLock(SimU32);

impl BenchLock for SleepyLock {
    fn new() -> Self {
        SleepyLock(Atomic::new(0))
    }

    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        if self.0.fetch_add(1, AcqRel) >= 20 {
            while self.0.load(Acquire) != 0 {
                Simulated::wait_on(&self.0, self.0.load(Acquire), None);
            }
        }
        section()
    }

    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        Some(self.with(section))
    }
}

/// Length of the window that a lock below is measured in.
const WINDOW_NS: u64 = 1_000_000;

/// What `measure` gives for two threads of a workload.
fn measured(workload: &str, measure: impl FnOnce(&Conditions) -> Result<Vec<Row>, End>) -> Result<Vec<Row>, End> {
    let stop = AtomicBool::new(false);
    let conditions = Conditions {
        platform: "sim",
        machine: "rpi5",
        workload,
        lock: "a lock",
        threads: 2,
        round: 0,
        window_ns: WINDOW_NS,
        most_warm_ups: 1,
        cores: &[],
        patience_ns: 1_000_000_000,
        stop: &stop,
    };
    let options = Options { seed: 1, record: false };
    simulated::run(&machine("rpi5", None).unwrap(), &options, || measure(&conditions)).unwrap().value
}

/// What a lock that only the tests know does in it.
fn measured_with<L: BenchLock>(workload: &str) -> Result<Vec<Row>, End> {
    let spec = WorkloadSpec { cs: 20, out: 60, ..WorkloadSpec::parse_name(workload).unwrap() };
    measured(workload, |conditions| workload::run_simulated::<L>(&spec, conditions))
}

/// How a lock that is broken fails.
fn end_of<L: BenchLock>(workload: &str) -> Failure {
    match measured_with::<L>(workload) {
        Err(End::Failed(failure)) => failure,
        other => panic!("it has not failed: {other:?}"),
    }
}

#[test]
fn two_threads_inside_are_found_out() {
    for workload in ["sections", "sections/none", "sections/near", "sections/far", "aim7"] {
        let failure = end_of::<BrokenLock>(workload);
        assert!(matches!(failure, Failure::Point { fault: Fault::LostUpdate { .. }, .. }), "{workload}: {failure}");
    }
}

#[test]
fn threads_that_sleep_for_good_are_told_with_where_they_sleep() {
    let failure = end_of::<SleepyLock>("sections");
    let text = failure.to_string();
    assert!(matches!(failure, Failure::Point { fault: Fault::Stuck { .. }, .. }), "{text}");
    assert!(text.lines().next().unwrap().contains("no progress for 1.0 s"), "{text}");
    let rest: Vec<&str> = text.lines().skip(1).collect();
    assert!(rest.iter().filter(|line| line.contains("asleep on")).count() >= 2, "{text}");
}

/// Lets nobody in who once comes while it is held, until long after the window.
struct CapturedLock(SimU32);

impl BenchLock for CapturedLock {
    fn new() -> Self {
        CapturedLock(Atomic::new(0))
    }

    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        while self.0.swap(1, AcqRel) == 1 {
            Simulated::sleep_ns(100 * WINDOW_NS);
        }
        let result = section();
        self.0.store(0, Release);
        result
    }

    fn try_with<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        Some(self.with(section))
    }
}

#[test]
fn a_thread_that_gets_nothing_has_waited_all_the_time() {
    let row = measured_with::<CapturedLock>("mutex-contention").unwrap().remove(0);
    assert_eq!(row.min_share, Some(0.0), "{row:?}");
    // The timed window is half of the counting window.
    let timed_ns = WINDOW_NS as f64 / 2.0;
    for waited in [row.wait_max_ns, row.starve_max_ns] {
        assert!((waited.unwrap() / timed_ns - 1.0).abs() < 0.01, "{row:?}");
    }
    assert!(row.wait_p99_ns.unwrap() < 0.01 * timed_ns, "{row:?}");
    assert!(row.at_least.contains("wait_max_ns"), "its wait had begun before: {row:?}");
}

#[test]
fn passes_are_fewer_than_sections() {
    let [sections, passes] = ["monitor-throughput", "monitor-latency"].map(|workload| {
        let point = Point::of(workload, "ondeck", 2);
        measured(workload, |conditions| measured::rows(&point, conditions)).unwrap().remove(0)
    });
    let run = |row: &Row| (row.wait_p50_ns, row.wait_max_ns);
    assert!(sections.wait_max_ns.is_some() && run(&sections) == run(&passes), "one run, counted in two ways");
    let (sections, passes) = (sections.ops.unwrap(), passes.ops.unwrap());
    assert!(0 < passes && passes < sections, "{passes} of {sections}");
}

#[test]
fn a_replay_is_a_command_for_one_point_and_seed() {
    let plan = Plan { seed: 7, seconds: None, pin: Pin::Alternate, ..plan(Vec::new()) };
    assert_eq!(
        on_rpi5(plan).replay(&Point::of("sections/cs20-out60", "ondeck[look_ns=0]", 3), 2),
        "ondeck sim --machine rpi5 --seed 9 --workload sections/cs20-out60 --lock 'ondeck[look_ns=0]' --threads 3 \
         --seconds 0.02 --pin alternate"
    );
    assert_eq!(
        on_rpi5(super::tests::plan(Vec::new())).replay(&Point::of("gc-wait", "spin-wait[yield_after_ns=5000]", 2), 0),
        "ondeck sim --machine rpi5 --seed 1 --workload gc-wait --yield-after-us 5 --threads 2 --seconds 0.001"
    );
}

#[test]
fn every_workload_runs_and_gives_the_same_rows_again() {
    let points: Vec<Point> = crate::workload::WORKLOADS
        .iter()
        // Its visitors alone are 64 threads, and tests of some ms are many of a shorter workload's windows.
        .filter(|info| !["spike", "aim7"].contains(&info.name) && !info.hardware_only)
        .map(|info| {
            let lock = if info.name == "gc-wait" { "spin-wait[yield_after_ns=5000]" } else { "ondeck-monitor" };
            Point::of(info.name, lock, info.min_threads.max(info.max_threads.min(3)))
        })
        .collect();
    let plan = plan(points);
    let rows = rows_of(&plan);
    let total = plan.points.iter().map(points::n_rows::<Simulated>).sum::<usize>();
    assert_eq!(rows.len(), total);
    assert!(rows.iter().all(|row| row.ops.is_some() && row.trace_hash.is_some()));
    assert_eq!(rows_of(&plan), rows);
    assert_eq!(COLUMNS.len(), 22);
}

#[test]
fn what_simulated_locks_do_not_have_is_refused() {
    for workload in ["pool", "readers"] {
        let text = check(&plan(vec![Point::of(workload, "ondeck", 2)])).unwrap_err().to_string();
        assert!(text.contains("simulated locks do not have what it needs: use `ondeck bench`"), "{text}");
    }
}

/// On 4 CPUs with slices of 2.25 ms, a thread of 16 has its fifth after 45 ms.
#[test]
fn windows_are_longer_where_threads_share_cpus() {
    let of = on_rpi5(Plan { seconds: None, ..plan(Vec::new()) });
    let seconds = |workload, threads| of.seconds_of(&Point::of(workload, "ondeck", threads));
    assert_eq!([4, 5, 16, 64].map(|threads| seconds("mutex-contention", threads)), [0.01, 0.0225, 0.045, 0.18]);
    assert_eq!([seconds("mutex-contention", 1024), seconds("monitor-throughput", 5)], [0.5, 0.5]);
    assert_eq!(["lock-bench", "lock-bench/locks64"].map(|workload| seconds(workload, 4)), [0.02, 0.002]);
    assert_eq!(["lock-bench", "lock-bench/locks64"].map(|workload| seconds(workload, 16)), [0.045, 0.004]);
    let asked = on_rpi5(plan(Vec::new()));
    assert_eq!(asked.seconds_of(&Point::of("mutex-contention", "ondeck", 64)), 0.001);
}

/// A ticket lock passes at every release, so each section fetches all lines that it needs.
#[test]
fn data_beside_the_lock_come_with_it() {
    let names = ["sections/cs5-out0-none", "sections/cs5-out0", "sections/cs5-out0-near", "sections/cs5-out0-far"];
    let rows = rows_of(&plan(names.map(|name| Point::of(name, "ticket", 2)).to_vec()));
    let [none, counter, near, far] = &rows[..] else { panic!("{rows:?}") };
    assert!(near.ops > far.ops && none.ops > counter.ops, "{rows:?}");
}

#[test]
fn every_lock_runs() {
    let points =
        crate::lock::lock_names_on::<Simulated>().into_iter().map(|lock| Point::of("mutex-contention", lock, 3));
    let rows = rows_of(&plan(points.collect()));
    assert!(rows.iter().all(|row| row.ops > Some(0)), "{rows:?}");
}

#[test]
fn tasks_of_aim7_do_as_many_tests_as_their_cpus_have_time_for() {
    let plan = Plan { seconds: Some(0.2), ..plan(vec![Point::of("aim7", "linux-mutex-patch1", 4)]) };
    let ops = rows_of(&plan)[0].ops.unwrap();
    // Four CPUs for 200 ms, 4.76 ms for each: 168, and few enough for chance to play a part.
    assert!((140..=196).contains(&ops), "{ops}");
}
