//! What the simulator makes of a distance: the passing of a line that [`line_transfer`](super::measures::line_transfer)
//! measures, on a simulated machine.
//!
//! A thread that passes the line on writes it, and the other one reads it. For a simulated line these are two requests. On
//! hardware they overlap as the processor likes. So the distance of a calibrated machine is the one with which this program
//! takes as long there as it was measured to take here.

use ondeck_core::{Atomic, Platform};
use ondeck_sim::machine::Machine;
use ondeck_sim::{Options, SimU32, Simulated};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Alone on its line.
#[repr(align(128))]
struct Line(SimU32);

/// What one passing of a line takes on `machine`, as a multiple of the distance; `None` if all its CPUs are of one core.
pub(super) fn per_distance(machine: &Machine) -> Option<f64> {
    let other = machine.cpus.iter().position(|cpu| cpu.core != machine.cpus[0].core)?;
    let distance_ns = machine.distance(machine.cpus[0].core, machine.cpus[other].core) as f64 / 1e3;
    Some(pass_ns(machine, other as u32) / distance_ns)
}

/// Nanoseconds from a write on the first CPU until `other` has read it, or back.
fn pass_ns(machine: &Machine, other: u32) -> f64 {
    const TRIPS: u32 = 300;
    let line = Arc::new(Line(SimU32::new(0)));
    // Each writes its values in turn, and waits for the next one.
    let play = |line: Arc<Line>, first: u32| {
        Box::new(move || {
            for turn in (first..2 * TRIPS).step_by(2) {
                while line.0.load(Acquire) != turn {}
                line.0.store(turn + 1, Release);
            }
        })
    };
    let players = [(0, play(line.clone(), 0)), (other, play(line.clone(), 1))];
    let outcome = ondeck_sim::run(machine, &Options::default(), || {
        let began = Simulated::now_ns();
        players.map(|(cpu, player)| Simulated::start_thread(Some(cpu), player)).into_iter().for_each(Simulated::join);
        Simulated::now_ns() - began
    });
    let outcome = outcome.expect("each waits for a value that the other one writes");
    outcome.value as f64 / f64::from(2 * TRIPS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::machine;

    #[test]
    fn a_passing_takes_about_two_ways_wherever_the_cores_are() {
        for name in ["m1", "epyc-2x48"] {
            let per_distance = per_distance(&machine(name, None).unwrap()).unwrap();
            assert!((1.0..3.0).contains(&per_distance), "{name}: {per_distance}");
        }
    }

    #[test]
    fn one_core_has_no_distance() {
        assert_eq!(per_distance(&machine("mesh", Some(1)).unwrap()), None);
    }
}
