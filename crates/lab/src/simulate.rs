//! Runs a plan on a simulated machine.
//!
//! A point with a seed is one run, and depends on nothing else: not on the runs beside it, the machine that computes it,
//! or the order in which runs end. So they are computed in parallel, one on each core, and their rows stand in the
//! order of the plan.

mod jobs;
mod origin;
#[cfg(test)]
mod tests;
pub mod trace;

pub use ondeck_sim::machine::{Machine, origins};
pub use ondeck_sim::timeline::{self, Timeline};
pub use origin::{fingerprint, origin_line};

use crate::calibrate::machine_here;
use crate::driver;
use crate::earlier;
use crate::plan::{Cut, Failure, Outcome, Pin, Plan, Point, Progress};
use crate::wait_policy;
use ondeck_sim::{Simulated, machine};
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// A plan, and the machine to simulate.
#[derive(Clone, Debug)]
pub struct MachinePlan {
    /// What is to be run.
    pub plan: Plan,
    /// The machine.
    pub machine: Machine,
    /// How the command line spells it, with what changes it: `m1 --cores 4`.
    pub machine_words: String,
    /// Whether the timeline of the first run is kept.
    pub record: bool,
}

/// Shortest window. A simulated clock means something however short it is; what is shorter than this is over before the
/// threads have met.
pub const MIN_SECONDS: f64 = 0.000_01;

/// Most seeds of a plan.
pub const MAX_SEEDS: u32 = 10_000;

/// Most cores that a machine can be asked to have.
pub const MAX_CORES: u32 = ondeck_sim::machine::MAX_CORES;

/// What [`machine()`] accepts.
pub fn accepted_machines() -> String {
    format!("{}, a machine file (FILE.toml), or here", machine::builtin_names().join(", "))
}

/// The machines that the program has, whole.
pub fn built_in_machines() -> Vec<Machine> {
    machine::builtin_names().into_iter().filter_map(machine::builtin).collect()
}

/// The machine that the command line calls `name`: one of those that the program has, or a machine file; with so many of
/// its cores, if it is not to be whole; then its name says so, because results that differ in nothing else are told apart
/// by the names of their machines.
///
/// # Errors
/// In one line with what is accepted.
pub fn machine(name: &str, cores: Option<u32>) -> Result<Machine, String> {
    let mut machine = match name {
        "here" => machine_here(&AtomicBool::new(false), &mut |_, _, _| (), cores)?,
        _ => machine::find(name, cores)?,
    };
    if let Some(cores) = cores {
        machine.name += &format!("-cores-{cores}");
    }
    Ok(machine)
}

/// Refuses a plan that cannot be run. [`run`] begins with this.
///
/// # Errors
/// In one line with what is accepted.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    let Plan { points, rounds, seed, .. } = plan;
    let refuse = |text: String| Err(Failure::Plan(text));
    if !(1..=MAX_SEEDS).contains(rounds) {
        return refuse(format!("{rounds} seeds are not possible; accepted: 1 to {MAX_SEEDS}"));
    }
    if seed.checked_add(u64::from(*rounds) - 1).is_none() {
        return refuse(format!("there are no {rounds} seeds from {seed} on; the last is {}", u64::MAX));
    }
    plan.check_seconds(MIN_SECONDS)?;
    driver::check_points::<Simulated>(points)?;
    jobs::finished(plan).map(|_| ())
}

/// Runs `of`. Setting `stop` ends it early with the rows that are ready.
///
/// # Errors
/// The first failure in the order of the plan, whichever was seen first, with the rows before it and those that an earlier
/// run has finished.
pub fn run(of: &MachinePlan, stop: &AtomicBool, on_progress: &mut dyn FnMut(Progress)) -> Result<Outcome, Cut> {
    let plan = &of.plan;
    check(plan)?;
    let finished = jobs::finished(plan)?;
    earlier::tell(&finished, on_progress);
    driver::explain::<Simulated>(&plan.points, on_progress);
    let total = plan.points.iter().map(driver::n_rows::<Simulated>).sum::<usize>() * plan.rounds as usize;
    let mut done = plan.earlier.len();
    jobs::run(of, finished, stop, &mut |rows| {
        for row in rows {
            done += 1;
            on_progress(Progress::Row { row, done, total });
        }
    })
}

/// So often each thread has a CPU in a window, where they share them, unless that takes more than the longest of
/// [`simulated_seconds`](crate::workload::WorkloadInfo::simulated_seconds): a lock's cost when a holder or the next one
/// in line has lost its CPU shows only in a window of many slices.
const ROTATIONS: f64 = 5.0;
const LONGEST_SECONDS: f64 = 0.5;

/// Which of `n_points` belong to shard `shard` of `n_shards`, counted from 1.
///
/// Blocks, because the rows of a block stand together in the whole file: so the files of all shards, one after the other,
/// are the file of the whole. Every n-th point would spread the dear points better, but its rows would have to be woven.
pub fn block(n_points: usize, shard: usize, n_shards: usize) -> Range<usize> {
    let begin = |shard: usize| n_points * shard / n_shards;
    begin(shard - 1)..begin(shard)
}

impl MachinePlan {
    /// Length of a point's window: what the plan says, else what the workload takes, or the scheduler with more threads
    /// than CPUs.
    pub fn seconds_of(&self, point: &Point) -> f64 {
        let (enough, most) = point.workload.simulated_seconds();
        let sharers = point.threads.div_ceil(self.machine.cpus.len() as u32);
        let shared = ROTATIONS * self.machine.os.policy.rotation_ps(sharers) as f64 / 1e12;
        let least = if sharers > 1 { shared.min(LONGEST_SECONDS).min(most).max(enough) } else { enough };
        self.plan.seconds.unwrap_or(least)
    }

    /// The command that runs one point with the seed of one round again.
    pub fn replay(&self, point: &Point, round: u32) -> String {
        let what = match wait_policy::microseconds(point.lock.as_str()) {
            Some(us) => format!("--yield-after-us {us}"),
            None if point.lock.is_tuned() => format!("--lock '{}'", point.lock),
            None => format!("--lock {}", point.lock),
        };
        let pin = if self.plan.pin == Pin::Alternate { " --pin alternate" } else { "" };
        format!(
            "ondeck sim --machine {} --seed {} --workload {} {what} --threads {} --seconds {}{pin}",
            self.machine_words,
            self.plan.seed_of(round),
            point.workload,
            point.threads,
            self.seconds_of(point)
        )
    }
}

impl Plan {
    /// The seed of a round.
    fn seed_of(&self, round: u32) -> u64 {
        self.seed + u64::from(round)
    }
}
