//! Where a result comes from: enough to judge whether two results may be compared.

use crate::row::Row;
use ondeck_kit::hash::hash;
use ondeck_kit::wording;
use serde::{Deserialize, Serialize};

/// The machine, the program and the moment of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fingerprint {
    /// Short name made from the processor's, the cores and "vm", as in the `machine` column: `xeon-2c-vm`.
    pub machine: String,
    /// The processor's name for itself.
    pub cpu: String,
    /// Instruction set: `x86_64`, `aarch64`.
    pub arch: String,
    /// Logical CPUs that are switched on.
    pub cpus_online: u32,
    /// Logical CPUs that this process may use: affinity and CPU quota honoured.
    pub cpus_allowed: u32,
    /// Physical cores.
    pub cores: Option<u32>,
    /// Sockets.
    pub sockets: Option<u32>,
    /// NUMA nodes.
    pub numa_nodes: Option<u32>,
    /// Whether two or more hardware threads share a core.
    pub smt: Option<bool>,
    /// Whether a hypervisor lies between us and the machine: there a wake of another CPU costs ten times as much.
    pub virtual_machine: bool,
    /// Frequency governor of CPU 0.
    pub governor: Option<String>,
    /// Operating system.
    pub os: String,
    /// Release of its kernel.
    pub kernel: String,
    /// Threads that wanted a CPU over the last minute, before the measurement.
    pub load_average: Option<f64>,
    /// Version of ondeck.
    pub ondeck: String,
    /// Commit that it was built from, if the build said so in `ONDECK_COMMIT`.
    pub commit: Option<String>,
    /// When it began, in UTC; empty of a simulation, which is the same at any time.
    pub date: String,
    /// Busy loops that were to run beside the measurement.
    #[serde(skip_serializing_if = "is_zero")]
    pub busy_loops: u32,
    /// What a simulation depends on besides; `None` of a real machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Simulation>,
}

/// What a simulated result depends on, besides the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// The simulated machine, as the command line spells it.
    pub machine: String,
    /// Hash of everything that was read to make it, in hexadecimal.
    pub machine_hash: String,
    /// The first seed.
    pub seed: u64,
    /// How many there are, one after the other.
    pub seeds: u32,
    /// How many figures of the machine are guesses. Results of earlier versions do not say.
    #[serde(default)]
    pub guesses: u32,
    /// How many figures it has; 0 if that is not known.
    #[serde(default)]
    pub figures: u32,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Fingerprint {
    /// Of a measurement beside so many busy loops: results that differ in nothing else are told apart by the machine.
    pub fn beside(mut self, busy_loops: u32) -> Self {
        if busy_loops > 0 {
            self.machine += &format!("-load-{busy_loops}");
        }
        Fingerprint { busy_loops, ..self }
    }

    /// The machine in one line, for the head of a table.
    pub fn line(&self) -> String {
        let mut parts = vec![self.cpu.clone(), format!("{} CPUs", self.cpus_online)];
        if self.cpus_allowed != self.cpus_online {
            parts.push(format!("{} of them usable", self.cpus_allowed));
        }
        let counted = |n: Option<u32>, what: &str| n.filter(|n| *n > 1).map(|n| format!("{n} {what}"));
        parts.extend(counted(self.sockets, "sockets"));
        parts.extend(counted(self.numa_nodes, "NUMA nodes"));
        if self.smt == Some(true) {
            parts.push("SMT".to_string());
        }
        if self.virtual_machine {
            parts.push("virtual machine".to_string());
        }
        parts.extend(self.governor.as_ref().map(|governor| format!("governor {governor}")));
        parts.push(format!("{} {}", self.os, self.kernel).trim().to_string());
        if self.busy_loops > 0 {
            parts.push(format!("with {} beside", wording::counted(self.busy_loops as usize, "busy loop")));
        }
        format!("{}: {}", self.machine, parts.join(", "))
    }
}

impl Simulation {
    /// What the rows were computed from and what came out, in one line: machine, seeds, and the hash of their traces. Two
    /// results with the same line are the same.
    pub fn line(&self, rows: &[Row]) -> String {
        let Simulation { machine, machine_hash, seed, seeds, guesses, figures } = self;
        let seeds = match seeds {
            1 => format!("seed {seed}"),
            _ => format!("seeds {seed} to {}", seed + u64::from(*seeds) - 1),
        };
        let traces = traces(rows).map_or(String::new(), |hash| format!(", trace hash {hash}"));
        let guesses = match figures {
            0 => String::new(),
            _ => format!("; {guesses} of the {figures} figures of the machine are guesses"),
        };
        format!("simulated: {machine} (machine hash {machine_hash}), {seeds}{traces}{guesses}")
    }
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
        let simulation = Simulation {
            machine: "m1".into(),
            machine_hash: "00ff".into(),
            seed: 3,
            seeds: 1,
            ..Simulation::default()
        };
        assert_eq!(
            simulation.line(&[row("0a"), row("0a")]),
            "simulated: m1 (machine hash 00ff), seed 3, trace hash 0a"
        );
        let two = Simulation { seeds: 2, ..simulation.clone() };
        let line = two.line(&[row("0a"), row("0b")]);
        assert!(line.starts_with("simulated: m1 (machine hash 00ff), seeds 3 to 4, trace hash "), "{line}");
        assert_ne!(line, two.line(&[row("0b"), row("0a")]));
        assert_eq!(simulation.line(&[]), "simulated: m1 (machine hash 00ff), seed 3");
        let guessed = Simulation { guesses: 7, figures: 40, ..simulation.clone() }.line(&[]);
        assert!(guessed.ends_with("seed 3; 7 of the 40 figures of the machine are guesses"), "{guessed}");
        let part = simulation.line(&[row("0a"), Row::default()]);
        assert_eq!(part, "simulated: m1 (machine hash 00ff), seed 3", "the hash of some rows is not that of all");
    }
}
