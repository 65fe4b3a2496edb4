//! What `ondeck bench` measures and `ondeck sim` computes: the flags' wishes, and the default where there are none.

use crate::args::{BenchArgs, RunArgs};
use crate::choice::{Locks, OutValue, Workloads};
use ondeck_workloads::driver;
use ondeck_workloads::execution::{Simulated, cpus};
use ondeck_workloads::lock::{LockSpec, lock_names, lock_names_on, peer_names};
use ondeck_workloads::plan::{Plan, Point};
use ondeck_workloads::simulate::Machine;
use ondeck_workloads::wait_policy;
use ondeck_workloads::workload::{Kind, WORKLOADS, WorkloadInfo, WorkloadSpec, own_locks};
use std::path::Path;

/// The flagship, the mutexes in common use, and two ancestors: the one whose collapse started it all, and its successor.
pub(crate) const DEFAULT_LOCKS: [&str; 6] =
    ["ondeck", "std", "parking-lot", "pthread", "go-tristate-futex", "go-spinbit"];

/// A workload and its numbers of threads.
type Choice = (WorkloadSpec, Vec<u32>);

/// With the default locks, seconds and rounds this takes some 45 seconds: the price of one thread alone, a section that
/// is all contention, one with moderate contention, the pass between two running threads, and locks of which there are
/// many, so that each is contended now and then.
fn default_workloads() -> Vec<Choice> {
    let moderate = WorkloadSpec { cs: 20, out: 60, ..WorkloadSpec::new(Kind::Sections) };
    let one_of = |locks| WorkloadSpec { locks, ..WorkloadSpec::new(Kind::LockBench) };
    vec![
        (WorkloadSpec::new(Kind::Solo), vec![1]),
        (WorkloadSpec::new(Kind::MutexContention), vec![1, 2, 4, 16, 64]),
        (moderate, vec![2, 16]),
        (WorkloadSpec::new(Kind::HandoffFast), vec![2]),
        (one_of(64), vec![1, 2, 32]),
        (one_of(1024), vec![1, 2, 32]),
    ]
}

/// What the flags are read for: it decides which locks and workloads there are, and how many threads a machine has.
pub(crate) struct Stage {
    /// The locks that can be run.
    pub(crate) locks: Vec<&'static str>,
    /// Whether the machine is a simulated one.
    pub(crate) is_simulated: bool,
    /// How many threads can run at once.
    pub(crate) cpus: u32,
}

impl Stage {
    /// This machine.
    pub(crate) fn hardware() -> Self {
        Stage { locks: lock_names(), is_simulated: false, cpus: cpus() }
    }

    /// A simulated machine.
    pub(crate) fn simulated(machine: &Machine) -> Self {
        Stage { locks: lock_names_on::<Simulated>(), is_simulated: true, cpus: machine.cpus.len() as u32 }
    }
}

/// The plan of a benchmark, or one line that names the flag that is wrong.
pub(crate) fn plan(args: &BenchArgs) -> Result<Plan, String> {
    let points = points(&args.run, &Stage::hardware())?;
    let BenchArgs { rounds, seconds, seed, load, .. } = *args;
    let (seconds, pin) = (Some(seconds), args.run.pin.into());
    let plan = Plan { points, rounds, seconds, seed, pin, load };
    driver::check(&plan).map_err(|failure| failure.to_string())?;
    Ok(plan)
}

/// The points that the flags ask for, each once.
pub(crate) fn points(args: &RunArgs, stage: &Stage) -> Result<Vec<Point>, String> {
    let locks = locks(args, stage);
    let mut points = Vec::new();
    let policies = policies(args);
    for (workload, threads) in workloads(args, stage)? {
        let own = own_locks(workload.kind).map(|(_, names)| locks_of_its_own(args, &locks, &names));
        let compared = match &own {
            Some(own) => own,
            None if workload.compares_waits() => &policies,
            None => &locks,
        };
        for threads in threads {
            let point = |lock: &LockSpec| Point { workload, lock: lock.clone(), threads };
            points.extend(compared.iter().map(point).filter(|point| !points.contains(point)).collect::<Vec<Point>>());
        }
    }
    Ok(points)
}

/// What `gc-wait` compares, each once.
fn policies(args: &RunArgs) -> Vec<LockSpec> {
    let asked = &args.yield_after_us[..];
    let us = if asked.is_empty() { &wait_policy::YIELDS_AFTER_US } else { asked };
    us.iter().map(|us| known(&wait_policy::name(*us))).collect()
}

/// What a workload with locks of its own is run with. Beside all other workloads, or where no lock was named, those that it
/// can run with; else what was asked for is refused if it cannot be run.
fn locks_of_its_own(args: &RunArgs, locks: &[LockSpec], own: &[&str]) -> Vec<LockSpec> {
    let is_named = args.lock.iter().any(|lock| matches!(lock, Locks::One(_)));
    let must_run = is_named && !args.workload.contains(&Workloads::All);
    locks.iter().filter(|lock| must_run || own.contains(&lock.as_str())).cloned().collect()
}

/// The locks, each once.
fn locks(args: &RunArgs, stage: &Stage) -> Vec<LockSpec> {
    let default = DEFAULT_LOCKS.into_iter().filter(|lock| stage.locks.contains(lock));
    let wanted = args.lock.iter().flat_map(|lock| match lock {
        Locks::All => stage.locks.iter().map(|name| known(name)).collect(),
        Locks::Peers => peer_names().into_iter().map(known).collect(),
        Locks::One(lock) => vec![lock.clone()],
    });
    let wanted: Vec<LockSpec> = if args.lock.is_empty() { default.map(known).collect() } else { wanted.collect() };
    let mut locks: Vec<LockSpec> = Vec::new();
    for lock in wanted {
        if !locks.contains(&lock) {
            locks.push(lock);
        }
    }
    locks
}

/// A lock or policy that there is.
fn known(words: &str) -> LockSpec {
    LockSpec::parse(words).expect("it comes from the table")
}

/// What a user should know before the run: which of the flags' wishes do not apply to everything that is measured.
pub(crate) fn notes(args: &RunArgs, cpus: u32, points: &[Point]) -> Vec<String> {
    let mut notes = Vec::new();
    let has_waits = points.iter().any(|point| point.workload.compares_waits());
    if has_waits && !args.lock.is_empty() {
        notes.push("gc-wait compares policies of waiting, so --lock has no effect on it".to_string());
    }
    let (asked, mut told) = (threads_asked(args, cpus), Vec::new());
    for info in points.iter().map(|point| point.workload.info()) {
        let accepted = info.min_threads..=info.max_threads;
        let impossible = asked.iter().any(|threads| !accepted.contains(threads));
        if impossible && info.min_threads < info.max_threads && !told.contains(&info.name) {
            told.push(info.name);
            let range = format!("{} to {}", info.min_threads, info.max_threads);
            notes.push(format!("{} takes {range} threads; it does not run with other numbers", info.name));
        }
    }
    notes
}

/// The file that `--out` names, if it names one.
pub(crate) fn out_file(args: &RunArgs) -> Result<Option<&Path>, String> {
    let mut files = args.out.iter().filter_map(|out| match out {
        OutValue::File(path) => Some(path.as_path()),
        OutValue::Units(_) => None,
    });
    match (files.next(), files.next()) {
        (file, None) => Ok(file),
        (_, Some(_)) => Err("--out names two files; one is accepted (a number means units of work)".to_string()),
    }
}

/// Units of work outside, if `--out` gives them.
fn out_units(args: &RunArgs) -> Result<Option<u32>, String> {
    let mut numbers = args.out.iter().filter_map(|out| match out {
        OutValue::Units(units) => Some(*units),
        OutValue::File(_) => None,
    });
    match (numbers.next(), numbers.next()) {
        (number, None) => Ok(number),
        (_, Some(_)) => Err("--out gives the units of work outside twice; one number is accepted".to_string()),
    }
}

/// The workloads with the parameters of the flags. Flags that only one workload has choose it if no other is named.
fn workloads(args: &RunArgs, stage: &Stage) -> Result<Vec<Choice>, String> {
    let with_default_threads = |spec: WorkloadSpec| (spec, spec.default_threads_on(stage.cpus));
    let out = out_units(args)?;
    let has_sections_flag = args.cs.is_some() || out.is_some();
    let has_waits_flag = !args.yield_after_us.is_empty();
    let mut chosen: Vec<Choice> = named(&args.workload, stage).map(with_default_threads).collect();
    if chosen.is_empty() {
        let kinds = [(Kind::Sections, has_sections_flag), (Kind::GcWait, has_waits_flag)];
        let implied = kinds.iter().filter(|kind| kind.1).map(|kind| WorkloadSpec::new(kind.0));
        chosen = implied.map(with_default_threads).collect();
    }
    if chosen.is_empty() {
        chosen = default_workloads();
    }
    let has = |kind| chosen.iter().any(|(spec, _)| spec.kind == kind);
    if has_sections_flag && !has(Kind::Sections) {
        return Err("--cs and --out UNITS belong to workload sections, which --workload does not name".to_string());
    }
    if has_waits_flag && !has(Kind::GcWait) {
        return Err("--yield-after-us belongs to workload gc-wait, which --workload does not name".to_string());
    }
    let (is_alone, asked) = (chosen.len() == 1, threads_asked(args, stage.cpus));
    for (spec, threads) in &mut chosen {
        if spec.kind == Kind::Sections {
            spec.cs = args.cs.unwrap_or(spec.cs);
            spec.out = out.unwrap_or(spec.out);
        }
        *threads = threads_for(spec, threads, &asked, is_alone)?;
    }
    Ok(chosen)
}

/// The workloads that the flag names.
fn named(workloads: &[Workloads], stage: &Stage) -> impl Iterator<Item = WorkloadSpec> {
    let is_elsewhere = |info: &WorkloadInfo| if stage.is_simulated { info.hardware_only } else { info.simulated_only };
    let all = move || WORKLOADS.iter().filter(move |info| !is_elsewhere(info));
    workloads.iter().flat_map(move |workloads| match workloads {
        Workloads::All => all().map(|info| WorkloadSpec::new(info.kind)).collect(),
        Workloads::One(spec) => vec![*spec],
    })
}

/// The numbers of threads that the flag names, on a machine of so many CPUs.
fn threads_asked(args: &RunArgs, cpus: u32) -> Vec<u32> {
    args.threads.iter().flat_map(|threads| threads.on(cpus)).collect()
}

/// The numbers of threads that were asked for; a workload that has only one keeps it. Beside other workloads, one runs at
/// those numbers that it can run at.
fn threads_for(spec: &WorkloadSpec, default: &[u32], asked: &[u32], is_alone: bool) -> Result<Vec<u32>, String> {
    let info = spec.info();
    if asked.is_empty() || info.min_threads == info.max_threads {
        return Ok(default.to_vec());
    }
    let accepted = info.min_threads..=info.max_threads;
    let possible: Vec<u32> = asked.iter().copied().filter(|threads| accepted.contains(threads)).collect();
    match asked.iter().find(|threads| !accepted.contains(threads)) {
        Some(threads) if is_alone || possible.is_empty() => Err(format!(
            "--threads {threads}: {} takes {} to {} threads",
            info.name, info.min_threads, info.max_threads
        )),
        _ => Ok(possible),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::SimArgs;
    use clap::Args;

    /// The flags, as a command reads them.
    fn read<T: Args>(line: &str) -> T {
        let words = ["ondeck"].into_iter().chain(line.split_whitespace());
        let matches = T::augment_args(clap::Command::new("ondeck")).try_get_matches_from(words).unwrap();
        T::from_arg_matches(&matches).unwrap()
    }

    fn plan_of(line: &str) -> Result<Plan, String> {
        plan(&read::<BenchArgs>(line))
    }

    /// Workload, lock and threads of each point.
    fn points_of(line: &str) -> Vec<(String, String, u32)> {
        let point = |point: Point| (point.workload.to_string(), point.lock.to_string(), point.threads);
        plan_of(line).unwrap().points.into_iter().map(point).collect()
    }

    #[test]
    fn the_default_takes_less_than_a_minute_and_has_locks_that_exist() {
        let plan = plan_of("").unwrap();
        assert!(driver::planned_seconds(&plan) < 50.0, "{}", driver::planned_seconds(&plan));
        for lock in DEFAULT_LOCKS {
            assert!(lock_names().contains(&lock), "{lock}");
        }
        for (locks, threads) in [(64, 1), (64, 2), (64, 32), (1024, 1), (1024, 2), (1024, 32)] {
            let name = format!("lock-bench/locks{locks}");
            let is_it = |point: &&Point| point.workload.to_string() == name && point.threads == threads;
            assert_eq!(plan.points.iter().filter(is_it).count(), DEFAULT_LOCKS.len(), "{name}, {threads} threads");
        }
    }

    #[test]
    fn both_meanings_of_out() {
        let expected = vec![("sections/cs20-out60".to_string(), "std".to_string(), 2)];
        assert_eq!(points_of("--lock std --threads 2 --workload sections --cs 20 --out 60 --out a.csv"), expected);
        assert_eq!(points_of("--lock std --threads 2 --cs 20 --out 60"), expected);
        assert_eq!(points_of("--lock std --threads 2 --workload sections/cs20-out60"), expected);
        assert!(plan_of("--out 60 --out 60").unwrap_err().contains("--out gives the units of work outside twice"));
    }

    #[test]
    fn flags_of_other_workloads_are_refused() {
        assert!(plan_of("--workload solo --cs 20").unwrap_err().contains("--cs"));
        assert!(plan_of("--workload solo --out 20").unwrap_err().contains("--out"));
    }

    #[test]
    fn a_workload_with_one_number_of_threads_keeps_it() {
        let points = points_of("--lock std --threads 4 --workload handoff-fast,mutex-contention");
        let threads: Vec<u32> = points.iter().map(|point| point.2).collect();
        assert_eq!(threads, [2, 4]);
    }

    #[test]
    fn a_tuning_is_part_of_the_name() {
        let points = points_of("--workload solo --lock ondeck,ondeck[poll_max_ns=4000],ondeck,std");
        let locks: Vec<&str> = points.iter().map(|point| point.1.as_str()).collect();
        assert_eq!(locks, ["ondeck", "ondeck[poll_max_ns=4000]", "std"]);
    }

    #[test]
    fn waits_are_compared_by_policy_whatever_the_locks() {
        let expected = |us: [u32; 2]| us.map(|us| ("gc-wait".to_string(), wait_policy::name(us), 3));
        assert_eq!(points_of("--yield-after-us 5,200 --threads 3"), expected([5, 200]));
        assert_eq!(points_of("--workload gc-wait --lock std --threads 3").len(), wait_policy::YIELDS_AFTER_US.len());
        assert!(plan_of("--workload solo --yield-after-us 5").unwrap_err().contains("--yield-after-us"));
    }

    #[test]
    fn a_pool_has_locks_with_a_condition_variable() {
        let name = "pool/burst9-work0-gap200-under".to_string();
        let expected = ["ondeck", "std"].map(|lock| (name.clone(), lock.to_string(), 3));
        assert_eq!(points_of("--workload pool/burst9-work0-under --lock ondeck,std --threads 3"), expected);
        let locks_of = |line| points_of(line).into_iter().map(|point| point.1).collect::<Vec<String>>();
        assert_eq!(locks_of("--workload pool --threads 3"), ["ondeck", "std", "parking-lot", "pthread"]);
        let all = locks_of("--workload pool --lock all --threads 3");
        assert_eq!(all, ["ondeck", "std", "parking-lot", "parking-lot-012", "pthread", "pthread-adaptive"]);
        assert_eq!(locks_of("--workload readers --lock all --threads 3").len(), 5);
        let text = plan_of("--workload pool --lock std,tas").unwrap_err();
        assert!(text.contains("tas has none; accepted: ondeck, std"), "{text}");
        assert!(points_of("--workload all --lock tas").iter().all(|point| !point.0.starts_with("pool")));
    }

    #[test]
    fn beside_others_a_workload_runs_where_it_can() {
        let points = points_of("--lock std --threads 1,2 --workload monitor-latency,monitor-throughput");
        let threads: Vec<u32> = points.iter().map(|point| point.2).collect();
        assert_eq!(threads, [2, 1, 2]);
        assert!(plan_of("--lock std --threads 1,2 --workload monitor-latency").unwrap_err().contains("2 to 1024"));
        assert!(plan_of("--lock std --threads 1 --workload solo,gc-wait").unwrap_err().contains("gc-wait"));
    }

    #[test]
    fn all_workloads_are_all() {
        let points = points_of("--lock std --workload all,solo");
        for info in &WORKLOADS {
            let is_there = points.iter().any(|point| point.0.starts_with(info.name));
            assert_eq!(is_there, !info.simulated_only, "{}", info.name);
        }
        assert_eq!(points.iter().filter(|point| point.0 == "solo").count(), 1);
    }

    #[test]
    fn a_simulated_machine_has_other_locks_and_workloads() {
        let stage = Stage { locks: lock_names_on::<Simulated>(), is_simulated: true, cpus: 20 };
        let points_of = |line: &str| points(&read::<SimArgs>(line).run, &stage).unwrap();
        let all = points_of("--workload all --lock all");
        for info in &WORKLOADS {
            let is_there = all.iter().any(|point| point.workload.kind == info.kind);
            assert_eq!(is_there, !info.hardware_only, "{}", info.name);
        }
        assert!(all.iter().any(|point| point.lock.as_str() == "ondeck-monitor"));
        let locks_of = |line| points_of(line).iter().map(|point| point.lock.to_string()).collect::<Vec<String>>();
        assert_eq!(locks_of("--lock peers --workload solo"), peer_names());
        assert!(points_of("").iter().all(|point| stage.locks.contains(&point.lock.as_str())));
        let waits: Vec<u32> = points_of("--yield-after-us 5").iter().map(|point| point.threads).collect();
        assert_eq!(waits, [20, 25, 40]);
    }

    #[test]
    fn nothing_is_measured_twice() {
        assert_eq!(points_of("--lock std,all,std --threads 2,2 --workload mutex-contention").len(), lock_names().len());
    }
}
