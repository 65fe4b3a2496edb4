//! Locks whose behaviour theory gives.

use super::programs::{self, Tickets};
use super::tables::{SHORT, simulate};
use super::{Declared, Group, Limit, Row, machine};
use ondeck_sim::machine::Machine;

/// Numbers of threads at which the models are asked.
const THREADS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// The critical section, in units of work, and the mean time outside.
const INSIDE: u32 = 300;
const OUTSIDE: u32 = 3000;

pub(super) fn groups() -> Result<Vec<Group>, String> {
    Ok(vec![ticket()?, mcs()?])
}

/// The mesh, without what the models do not know: cores that slow down together or are nearer than others, and sharers that
/// cost anything but their turn to read.
fn bare_mesh() -> Machine {
    let mut machine = machine("mesh").with_cores(64).expect("the mesh has as many cores as one likes");
    machine.kinds.iter_mut().for_each(|kind| kind.derate = 0);
    machine.memory.per_sharer_ps = 0;
    let near_ps = machine.distance_ps[1];
    machine.distance_ps.iter_mut().filter(|ps| **ps > 0).for_each(|ps| *ps = near_ps);
    machine
}

/// A ticket lock beside the model of Boyd-Wickizer, Kaashoek, Morris and Zeldovich. It is told the time outside, the time
/// that a pass between two threads takes, and what each further reader of the line costs.
fn ticket() -> Result<Group, String> {
    let machine = bare_mesh();
    let work_ns = f64::from(machine.kinds[0].work_ps) / 1000.0;
    let alone = programs::tickets(&machine, Tickets { n: 1, outside: OUTSIDE, inside: INSIDE })?;
    let pass = programs::tickets(&machine, Tickets { n: 2, outside: 0, inside: INSIDE })?;
    let outside = f64::from(OUTSIDE) * work_ns;
    let reader = f64::from(machine.memory.read_shared_ps) / 1000.0;
    let mut rows = Vec::new();
    for n in THREADS.into_iter().filter(|&n| n > 1) {
        rows.push(Row {
            what: format!("ticket lock on mesh, {n} threads: time per acquisition"),
            unit: "ns",
            expected: birth_death(n, outside, [alone - outside, pass, reader]),
            simulated: programs::tickets(&machine, Tickets { n, outside: OUTSIDE, inside: INSIDE })?,
            limit: None,
        });
    }
    let title = "T2 a ticket lock and the model of OLS 2012".to_owned();
    Ok(Group { title, expected: "model", limit: Limit::Each(0.1), declared: Declared::Missed, rows })
}

/// Time per acquisition of a closed queue of `n` threads: each is outside for `outside` on average, and one that passes the
/// lock on while k threads hold it or want it takes `pass` and half of `reader` for each further one; one that is alone,
/// `alone`.
fn birth_death(n: u32, outside: f64, [alone, pass, reader]: [f64; 3]) -> f64 {
    let service = |k: u32| if k == 1 { alone } else { pass + reader * f64::from(k - 2) / 2.0 };
    // How much more likely than nobody it is that k threads hold it or want it.
    let mut weight = 1.0;
    let (mut sum, mut rate) = (1.0, 0.0);
    for k in 1..=n {
        weight *= f64::from(n - (k - 1)) / outside * service(k);
        sum += weight;
        rate += weight / service(k);
    }
    sum / rate
}

/// A queue lock: however many wait, a pass takes the same. Up to 16: those who wait for longer yield now and then.
fn mcs() -> Result<Group, String> {
    let machine = bare_mesh();
    let pairs = [4, 8, 16].map(|n| ("mcs".to_owned(), n));
    let ns = simulate(&machine, "sections/cs20-out0", &pairs, SHORT)?;
    let row = |(&(_, n), &simulated): (&(String, u32), &f64)| {
        let what = format!("mcs on mesh, {n} threads, beside 4: time per acquisition");
        Row { what, unit: "ns", expected: ns[0], simulated, limit: None }
    };
    let rows = pairs.iter().zip(&ns).skip(1).map(row).collect();
    let title = "T2 a queue lock passes as fast among many".to_owned();
    Ok(Group { title, expected: "4 threads", limit: Limit::Each(0.1), declared: Declared::Held, rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_right_where_it_is_known() {
        // One thread: outside, then inside.
        assert!((birth_death(1, 900.0, [100.0, 500.0, 7.0]) - 1000.0).abs() < 1e-9);
        // Hardly ever outside: the pass alone, with half of the readers' time for each who waits beyond the next.
        assert!((birth_death(10, 1e-6, [100.0, 100.0, 20.0]) - 180.0).abs() < 0.1);
    }
}
