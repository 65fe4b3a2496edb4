//! What a simulated result depends on: for its files, and for whoever reads it.

use super::Plan;
use crate::fingerprint::{Fingerprint, Simulation, hash};
use crate::row::Row;

/// The simulated machine, described as a real one is. Nothing of the machine that computes: it changes nothing.
pub fn fingerprint(plan: &Plan) -> Fingerprint {
    let machine = &plan.machine;
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
            machine: plan.machine_words.clone(),
            machine_hash: format!("{:016x}", machine.hash),
            seed: plan.seed,
            seeds: plan.seeds,
        }),
        ..Fingerprint::default()
    }
}

/// [`provenance`] of the plan.
pub fn origin_line(plan: &Plan, rows: &[Row]) -> String {
    fingerprint(plan).simulation.map_or(String::new(), |simulation| provenance(&simulation, rows))
}

/// What the rows were computed from and what came out, in one line: machine, seeds, and the hash of their traces. Two
/// results with the same line are the same.
pub fn provenance(simulation: &Simulation, rows: &[Row]) -> String {
    let Simulation { machine, machine_hash, seed, seeds } = simulation;
    let seeds = match seeds {
        1 => format!("seed {seed}"),
        _ => format!("seeds {seed} to {}", seed + u64::from(*seeds) - 1),
    };
    let traces = traces(rows).map_or(String::new(), |hash| format!(", trace hash {hash}"));
    format!("simulated: {machine} (machine hash {machine_hash}), {seeds}{traces}")
}

/// The hash of the one run that the rows are from, or one of the hashes of all runs. `None` if a row has none, as those
/// that come from CSV: that of the others would not be the hash of the result.
fn traces(rows: &[Row]) -> Option<String> {
    let hashes: Vec<&str> = rows.iter().map(|row| row.trace_hash.as_deref()).collect::<Option<_>>()?;
    let first = *hashes.first()?;
    let is_one = hashes.iter().all(|hash| *hash == first);
    Some(if is_one { first.to_string() } else { hash(&hashes.concat()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_results_apart() {
        let row = |hash: &str| Row { trace_hash: Some(hash.into()), ..Row::default() };
        let simulation = Simulation { machine: "m1".into(), machine_hash: "00ff".into(), seed: 3, seeds: 1 };
        assert_eq!(
            provenance(&simulation, &[row("0a"), row("0a")]),
            "simulated: m1 (machine hash 00ff), seed 3, trace hash 0a"
        );
        let two = Simulation { seeds: 2, ..simulation.clone() };
        let line = provenance(&two, &[row("0a"), row("0b")]);
        assert!(line.starts_with("simulated: m1 (machine hash 00ff), seeds 3 to 4, trace hash "), "{line}");
        assert_ne!(line, provenance(&two, &[row("0b"), row("0a")]));
        assert_eq!(provenance(&simulation, &[]), "simulated: m1 (machine hash 00ff), seed 3");
        let part = provenance(&simulation, &[row("0a"), Row::default()]);
        assert_eq!(part, "simulated: m1 (machine hash 00ff), seed 3", "the hash of some rows is not that of all");
    }
}
