//! Runs a plan on a simulated machine.
//!
//! A point with a seed is one run, and depends on nothing else: not on the runs beside it, the machine that computes it,
//! or the order in which runs end. So they are computed in parallel, one on each core, and their rows stand in the
//! order of the plan.

mod erased;
mod jobs;
mod machine_plan;
mod measured;
mod origin;
#[cfg(test)]
mod tests;
pub mod trace;

pub use machine_plan::MachinePlan;
pub use ondeck_sim::machine::Machine;
pub use ondeck_sim::timeline::{self, Timeline};
pub use origin::{fingerprint, origin_line};

use crate::plan::{Failure, Outcome, PartialRun, Plan, Progress};
use crate::points;
use ondeck_sim::{Simulated, machine};
use std::sync::atomic::AtomicBool;

/// Shortest window. A simulated clock means something however short it is; what is shorter than this is over before the
/// threads have met.
pub const MIN_SECONDS: f64 = 0.000_01;

/// Most seeds of a plan.
pub const MAX_SEEDS: u32 = 10_000;

/// Most cores that a machine can be asked to have.
pub const MAX_CORES: u32 = ondeck_sim::machine::MAX_CORES;

/// What [`machine()`] accepts.
pub fn accepted_machines() -> String {
    format!("{}, or a machine file (FILE.toml)", machine::builtin_names().join(", "))
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
    let mut machine = machine::find(name, cores)?;
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
    points::check::<Simulated>(points)
}

/// Runs `of`. Setting `stop` ends it early with the rows that are ready.
///
/// # Errors
/// The first failure in the order of the plan, whichever was seen first, with the rows before it.
pub fn run(of: &MachinePlan, stop: &AtomicBool, on_progress: &mut dyn FnMut(Progress)) -> Result<Outcome, PartialRun> {
    let plan = &of.plan;
    check(plan)?;
    points::explain::<Simulated>(&plan.points, on_progress);
    let total = plan.points.iter().map(points::n_rows::<Simulated>).sum::<usize>() * plan.rounds as usize;
    let mut done = 0;
    jobs::run(of, stop, &mut |rows| {
        for row in rows {
            done += 1;
            on_progress(Progress::Row { row, done, total });
        }
    })
}
