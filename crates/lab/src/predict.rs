//! What glibc's mutex and ours would make of a program's sections on a simulated machine: from how long a mutex is held
//! and how long its users stay away, which somebody has measured.
//!
//! All threads do the same again and again: a section, then work outside. What that leaves out stands in
//! docs/programs.md and docs/profile.md.

mod seen;

pub use seen::{KEPT, Seen};

use crate::lock::LockSpec;
use crate::plan::{Cut, Pin, Plan, Point};
use crate::simulate::{self, Machine, MachinePlan};
use crate::workload::{Kind, MAX_UNITS, WorkloadSpec};
use ondeck_report::row::Row;
use ondeck_report::stats::{is_bistable, median};
use std::sync::atomic::AtomicBool;

/// The locks that are compared: glibc's, by its name among the peers, and ours.
pub const LOCKS: [&str; 2] = ["pthread", "ondeck"];

/// What a thread of a program does with a mutex, on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sections {
    /// How long it holds it, in ns.
    pub section_ns: f64,
    /// How long it stays away then, in ns.
    pub outside_ns: f64,
}

/// Acquisitions a second, with each of [`LOCKS`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// With glibc's mutex.
    pub pthread: f64,
    /// With ours.
    pub ondeck: f64,
    /// Whether the seeds of either fall into two groups, so that its median says little.
    pub is_bistable: bool,
}

impl Rates {
    /// How many times as often ours is acquired.
    pub fn ratio(&self) -> f64 {
        self.ondeck / self.pthread
    }
}

impl Sections {
    /// The sections as a workload of `machine`: as many nanoseconds, though its cores may do more or less in one.
    pub fn workload(&self, machine: &Machine) -> WorkloadSpec {
        // All machines have a core.
        let unit_ns = f64::from(machine.kinds[0].work_ps) / 1e3;
        let units = |ns: f64| ((ns / unit_ns).round() as u32).min(MAX_UNITS);
        WorkloadSpec { cs: units(self.section_ns), out: units(self.outside_ns), ..WorkloadSpec::new(Kind::Sections) }
    }

    /// Simulates both locks with so many threads, in windows of `seconds`, each with `seeds` seeds. What comes out is the
    /// same each time.
    ///
    /// # Errors
    /// The first failure, with what is accepted where something is asked for that cannot be.
    pub fn simulate(&self, machine: &Machine, threads: u32, seconds: f64, seeds: u32) -> Result<Rates, Cut> {
        let workload = self.workload(machine);
        let lock = |name: &str| LockSpec::parse(name).expect("both locks are in the table");
        let points = LOCKS.map(|name| Point { workload, lock: lock(name), threads }).to_vec();
        let plan = Plan { points, rounds: seeds, seconds: Some(seconds), seed: 1, pin: Pin::None, earlier: Vec::new() };
        let machine_words = machine.name.clone();
        let plan = MachinePlan { plan, machine: machine.clone(), machine_words, record: false };
        let rows = simulate::run(&plan, &AtomicBool::new(false), &mut |_| ())?.rows;
        Ok(rates(&rows, &workload.to_string(), threads).expect("every point has a row"))
    }
}

/// Medians of the rows of a workload with so many threads; `None` if a lock has none.
pub fn rates(rows: &[Row], workload: &str, threads: u32) -> Option<Rates> {
    let of = |lock: &str| -> Vec<f64> {
        let is_it = |row: &&Row| (row.workload.as_str(), row.lock.as_str(), row.threads) == (workload, lock, threads);
        rows.iter().filter(is_it).filter_map(|row| row.ops_per_s).collect()
    };
    let all = LOCKS.map(of);
    let [pthread, ondeck] = all.each_ref().map(|rates| median(rates));
    Some(Rates { pthread: pthread?, ondeck: ondeck?, is_bistable: all.iter().any(|rates| is_bistable(rates)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_become_units() {
        let machine = simulate::machine("graviton3", None).unwrap();
        let sections = Sections { section_ns: 38.5, outside_ns: 1e12 };
        assert_eq!(sections.workload(&machine).to_string(), format!("sections/cs100-out{MAX_UNITS}"));
    }

    #[test]
    fn rates_are_medians_of_their_own_rows() {
        let row = |lock: &str, threads, ops| Row {
            workload: "sections/cs1-out2".into(),
            lock: lock.into(),
            threads,
            ops_per_s: Some(ops),
            ..Row::default()
        };
        let rows = [
            row("pthread", 4, 1.0),
            row("pthread", 4, 9.0),
            row("pthread", 4, 2.0),
            row("pthread", 16, 50.0),
            row("ondeck", 4, 4.0),
        ];
        let found = rates(&rows, "sections/cs1-out2", 4).unwrap();
        assert_eq!((found.pthread, found.ondeck, found.ratio()), (2.0, 4.0, 2.0));
        assert!(found.is_bistable, "1 and 2, and 9");
        assert!(!rates(&rows[1..], "sections/cs1-out2", 4).unwrap().is_bistable, "two say nothing");
        assert_eq!(rates(&rows, "sections/cs1-out2", 16), None);
        assert_eq!(rates(&rows, "sections/cs1-out3", 4), None);
    }

    #[test]
    fn a_simulation_gives_the_same_each_time() {
        let machine = simulate::machine("mesh", Some(2)).unwrap();
        let sections = Sections { section_ns: 100.0, outside_ns: 300.0 };
        let simulate = || sections.simulate(&machine, 2, 0.001, 2).unwrap();
        let first = simulate();
        assert!(first.pthread > 0.0 && first.ondeck > 0.0);
        assert_eq!(first, simulate());
    }
}
