//! `ondeck check`.

mod output;

use crate::args::{CheckArgs, RunArgs};
use crate::calibrate::calibration;
use crate::choice::{Locks, Threads, Workloads};
use crate::exit::Exit;
use crate::plan::{Stage, points};
use crate::terminal::{displayed, end_of_run, say, stop_on_signal};
use ondeck_report::FLAGSHIP;
use ondeck_report::fingerprint::Fingerprint;
use ondeck_report::output::text_of;
use ondeck_report::wording::{counted, run_time};
use ondeck_workloads::calibrate::machine_file;
use ondeck_workloads::check::{self, CheckPlan};
use ondeck_workloads::driver::planned_seconds;
use ondeck_workloads::lock::LockSpec;
use ondeck_workloads::plan::{Outcome, Pin, Plan, Point};
use ondeck_workloads::simulate::{self, Machine, MachinePlan};
use ondeck_workloads::this_machine;
use ondeck_workloads::workload::WorkloadSpec;
use output::{CheckResults, Outputs};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What is compared if nothing else is asked for. The shortest and the longest sections, and with `near` and `far` two of
/// the same length that differ in how many cache lines move.
const WORKLOADS: [&str; 8] = [
    "solo",
    "handoff-fast",
    "mutex-contention",
    "sections/cs20-out60",
    "sections/cs200-out2000-near",
    "sections/cs200-out2000-far",
    "sections/cs2000-out6000",
    "sections/cs20000-out60000",
];
/// With more time, lengths between these, and more work outside.
const MORE_WORKLOADS: [&str; 4] =
    ["sections/cs20-out600", "sections/cs200-out600", "sections/cs2000-out2000-far", "sections/cs20000-out200000"];
/// Beside these, for each CPU so many threads.
const THREADS: [u32; 2] = [1, 2];
const THREADS_PER_CPU: [f64; 3] = [1.0, 2.0, 4.0];

/// How often and how long.
struct Effort {
    seconds: f64,
    rounds: u32,
    seeds: u32,
}

/// About two and a half minutes on 2 CPUs, most of them of measuring.
const QUICK: Effort = Effort { seconds: 0.08, rounds: 5, seeds: 3 };
/// From 6 rounds on, the median has an interval that an outlier does not widen.
const FULL: Effort = Effort { seconds: 0.15, rounds: 9, seeds: 5 };

pub(crate) fn run(args: &CheckArgs) -> Result<(), Exit> {
    let outputs = Outputs::new(args)?;
    let fingerprint = this_machine::fingerprint();
    // What is wrong with the words or with a file is said before anything is measured.
    let (measured, simulated) = plans(args).map_err(Exit::Usage)?;
    let named = args.machine.as_deref().filter(|words| *words != HERE);
    let named = named.map(machine_of).transpose().map_err(|what| Exit::Usage(format!("--machine: {what}")))?;
    let stop = stop_on_signal();
    let Subject { machine, words, text } = named.map_or_else(|| this_one(&fingerprint, stop), Ok)?;
    let simulated = MachinePlan { plan: simulated, machine, machine_words: words, record: false };
    let plan = CheckPlan { measured, simulated };
    say(&opening(&plan));
    let (Outcome { rows, .. }, warnings, end) = displayed(stop, None, |stop, show| check::run(&plan, stop, show));
    outputs.deliver(CheckResults {
        plan: &plan,
        calibration: &text,
        fingerprint,
        rows,
        warnings,
        is_whole: end.is_ok(),
    })?;
    end
}

/// How the command line spells this machine.
const HERE: &str = "here";

/// The machine to simulate.
struct Subject {
    machine: Machine,
    /// As the command line spells it.
    words: String,
    /// Its machine file; empty of a machine that the program has.
    text: String,
}

/// The one that the command line names. As another machine is not the one that is measured, it should be this one.
fn machine_of(words: &str) -> Result<Subject, String> {
    let machine = simulate::machine(words, None)?;
    let (there, here) = (machine.cpus.len() as u32, Stage::hardware().cpus);
    if there != here {
        return Err(format!(
            "{words} has {}, and here are {here} to measure on; accepted: a file of `ondeck calibrate --out FILE.toml` from \
             this machine",
            counted(there as usize, "CPU")
        ));
    }
    let is_file = words.ends_with(".toml") || words.contains('/');
    let text = if is_file { text_of(Path::new(words)).map_err(|error| error.to_string())? } else { String::new() };
    Ok(Subject { machine, words: words.to_owned(), text })
}

/// The machine that we run on, measured now.
fn this_one(fingerprint: &Fingerprint, stop: &AtomicBool) -> Result<Subject, Exit> {
    let calibration = calibration(stop)?;
    if let Err(end) = end_of_run(None) {
        say("interrupted before anything was compared");
        return Err(end);
    }
    let text = machine_file::text(&calibration, fingerprint);
    let machine = simulate::machine_of_text(&text).map_err(Exit::Failed)?;
    Ok(Subject { machine, words: HERE.to_owned(), text })
}

fn effort(args: &CheckArgs) -> Effort {
    let Effort { seconds, rounds, seeds } = if args.full { FULL } else { QUICK };
    Effort {
        seconds: args.seconds.unwrap_or(seconds),
        rounds: args.rounds.unwrap_or(rounds),
        seeds: args.seeds.unwrap_or(seeds),
    }
}

/// What is measured, and how that is simulated; or one line that names the flag that is wrong.
fn plans(args: &CheckArgs) -> Result<(Plan, Plan), String> {
    let Effort { seconds, rounds, seeds } = effort(args);
    let points = points(&run_args(args), &Stage::hardware())?;
    let measured = Plan { points, rounds, seconds: Some(seconds), seed: 1, pin: Pin::None, load: 0 };
    let simulated = Plan { points: Vec::new(), rounds: seeds, seconds: None, ..measured.clone() };
    check::check(&measured, &simulated).map_err(|failure| failure.to_string())?;
    Ok((measured, simulated))
}

/// The flags as `bench` has them, with our defaults.
fn run_args(args: &CheckArgs) -> RunArgs {
    let or = |asked: &[Workloads], default: Vec<Workloads>| if asked.is_empty() { default } else { asked.to_vec() };
    let more = if args.full { &MORE_WORKLOADS[..] } else { &[] };
    let known = |name: &&str| WorkloadSpec::parse_name(name).map(Workloads::One).expect("it is a workload");
    let flagship = Locks::One(LockSpec::parse(FLAGSHIP).expect("it is a lock"));
    let threads = THREADS.map(|n| Threads::Range(n, n)).into_iter().chain(THREADS_PER_CPU.map(Threads::PerCpu));
    RunArgs {
        workload: or(&args.workload, WORKLOADS.iter().chain(more).map(known).collect()),
        lock: if args.lock.is_empty() { vec![flagship, Locks::Peers] } else { args.lock.clone() },
        threads: if args.threads.is_empty() { threads.collect() } else { args.threads.clone() },
        tuning: "default".to_owned(),
        ..RunArgs::default()
    }
}

/// What is about to happen, and how long the part takes of which that is known.
fn opening(CheckPlan { measured, simulated }: &CheckPlan) -> String {
    let mut settings: Vec<(WorkloadSpec, u32)> =
        measured.points.iter().map(|Point { workload, threads, .. }| (*workload, *threads)).collect();
    settings.dedup();
    format!(
        "{} in {}, measured and simulated in turn: {} of measuring with {}, and the simulation of {}",
        counted(measured.points.len(), "point"),
        counted(settings.len(), "setting"),
        run_time(planned_seconds(measured)),
        counted(measured.rounds as usize, "round"),
        counted(simulated.plan.rounds as usize, "seed")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn measured_of(line: &str) -> Plan {
        let words = ["ondeck", "check"].into_iter().chain(line.split_whitespace());
        match Cli::try_parse_from(words).unwrap().command {
            Command::Check(args) => plans(&args).unwrap().0,
            _ => unreachable!("the line says check"),
        }
    }

    #[test]
    fn the_default_has_peoples_locks_and_measures_for_two_minutes() {
        let plan = measured_of("");
        let locks: Vec<&str> = plan.points[..6].iter().map(|point| point.lock.as_str()).collect();
        assert_eq!(locks, ["ondeck", "std", "parking-lot", "parking-lot-012", "pthread", "pthread-adaptive"]);
        // On many CPUs there are five numbers of threads.
        assert!(planned_seconds(&plan) < 150.0, "{}", planned_seconds(&plan));
        let cpus = Stage::hardware().cpus;
        assert!(plan.points.iter().any(|point| point.threads == 4 * cpus));
        assert!(measured_of("--full").points.len() > plan.points.len());
    }

    #[test]
    fn settings_stand_together_and_each_point_once() {
        let plan = measured_of("--threads 1,2,2,1x --lock ondeck,peers,std --workload sections/cs20-out60,solo");
        for (place, point) in plan.points.iter().enumerate() {
            assert!(!plan.points[..place].contains(point), "{point:?} is there twice");
        }
        let settings =
            plan.points.chunk_by(|one, other| (one.workload, one.threads) == (other.workload, other.threads));
        assert!(settings.into_iter().all(|points| points.len() == 6));
    }
}
