//! What is to be simulated: a plan on a machine, how long each of its windows is, and the command for one run of it.

use crate::plan::{Pin, Plan, Point};
use crate::wait_policy;
use ondeck_sim::machine::Machine;

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

/// So often each thread has a CPU in a window, where they share them, unless that takes more than the longest of
/// [`simulated_seconds`](crate::workload::WorkloadInfo::simulated_seconds): a lock's cost when a holder or the next one
/// in line has lost its CPU shows only in a window of many slices.
const ROTATIONS: f64 = 5.0;
const LONGEST_SECONDS: f64 = 0.5;

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
    pub(super) fn seed_of(&self, round: u32) -> u64 {
        self.seed + u64::from(round)
    }
}
