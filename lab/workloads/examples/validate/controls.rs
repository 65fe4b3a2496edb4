//! Negative controls: what must go away when its cause does.
//!
//! A model that has a knee for any reason but the one that is given for it would keep it.

use super::machine;
use super::tables::{SHORT, simulate};
use ondeck_sim::machine::Machine;

/// What one control has shown.
pub(super) struct Control {
    /// What was changed.
    pub(super) change: &'static str,
    /// What is looked at.
    pub(super) figure: &'static str,
    pub(super) before: f64,
    pub(super) after: f64,
    /// What must be so.
    pub(super) claim: &'static str,
    pub(super) is_so: bool,
    /// Whether it is declared to be so.
    declared: bool,
}

impl Control {
    pub(super) fn fault(&self) -> Option<String> {
        let what = format!("T6 {}: {}", self.change, self.claim);
        match (self.declared, self.is_so) {
            (true, false) => Some(format!("{what}: it is not so")),
            (false, true) => Some(format!("{what}: declared not to be so, but it is")),
            _ => None,
        }
    }
}

pub(super) fn all() -> Result<Vec<Control>, String> {
    let laptop = machine("i7-13700h");
    let old = |machine: &Machine, threads| chan(machine, "go-tristate-futex", threads);
    let control = |change, figure, of: &dyn Fn(&Machine) -> Result<f64, String>, edit: fn(&mut Machine)| {
        let mut changed = laptop.clone();
        edit(&mut changed);
        let (before, after) = (of(&laptop)?, of(&changed)?);
        let (claim, is_so) = ("falls by more than a tenth", after < before * 0.9);
        Ok::<Control, String>(Control { change, figure, before, after, claim, is_so, declared: true })
    };
    let far = control(
        "all distances are 0",
        "go-tristate-futex, chan-contended, time with 20 threads over time with 1",
        &|machine| Ok(old(machine, 20)? / old(machine, 1)?),
        |machine| machine.distance_ps.fill(0),
    )?;
    let slow = control(
        "PAUSE takes on E cores what it takes on P cores",
        "go-tristate-futex, chan-contended, time with 14 threads over time with 8",
        &|machine| Ok(old(machine, 14)? / old(machine, 8)?),
        |machine| {
            let (pause_ps, jitter) = (machine.kinds[0].pause_ps, machine.kinds[0].pause_jitter);
            machine.kinds.iter_mut().for_each(|kind| (kind.pause_ps, kind.pause_jitter) = (pause_ps, jitter));
        },
    )?;
    let moved = control(
        "woken threads stay where they were (move_on_wake is 0)",
        "go-spinbit-futex, chan-contended, time with 8 threads in us",
        &|machine| chan(machine, "go-spinbit-futex", 8),
        |machine| machine.os.move_on_wake = 0,
    )?;
    Ok(vec![
        Control { claim: "falls to less than half", is_so: far.after < far.before / 2.0, ..far },
        slow,
        Control { declared: false, ..moved },
    ])
}

/// Microseconds per operation.
fn chan(machine: &Machine, lock: &str, threads: u32) -> Result<f64, String> {
    Ok(simulate(machine, "chan-contended", &[(lock.to_owned(), threads)], SHORT)?[0] / 1000.0)
}
