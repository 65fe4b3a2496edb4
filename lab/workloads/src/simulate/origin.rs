//! What a simulated result depends on: for its files, and for whoever reads it.

use super::machine_plan::MachinePlan;
use ondeck_report::fingerprint::{Fingerprint, Simulation};
use ondeck_report::row::Row;

/// The simulated machine, described as a real one is. Nothing of the machine that computes: it changes nothing.
pub fn fingerprint(of: &MachinePlan) -> Fingerprint {
    let machine = &of.machine;
    let cpus = machine.cpus.len() as u32;
    Fingerprint {
        machine: machine.name.clone(),
        cpu: machine.about.clone(),
        arch: "simulated".to_string(),
        cpus_online: cpus,
        cpus_allowed: cpus,
        cores: Some(machine.cores),
        smt: Some(cpus > machine.cores),
        os: "simulated".to_string(),
        ondeck: env!("CARGO_PKG_VERSION").to_string(),
        commit: option_env!("ONDECK_COMMIT").map(str::to_string),
        simulation: Some(Simulation {
            machine: of.machine_words.clone(),
            machine_hash: format!("{:016x}", machine.hash),
            seed: of.plan.seed,
            seeds: of.plan.rounds,
            guesses: machine.guesses,
            figures: machine.figures,
        }),
        ..Fingerprint::default()
    }
}

/// What the rows of the plan were computed from, see [`Simulation::line`].
pub fn origin_line(of: &MachinePlan, rows: &[Row]) -> String {
    fingerprint(of).simulation.map_or(String::new(), |simulation| simulation.line(rows))
}
