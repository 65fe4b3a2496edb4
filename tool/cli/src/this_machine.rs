//! This machine, as somebody has calibrated it.

use ondeck_workloads::simulate::{self, Machine};
use ondeck_workloads::this_machine;

/// Where `ondeck calibrate --out` puts it in all our texts.
pub(crate) const FILE: &str = "here.toml";

/// The calibration of this machine, if there is one in this directory; of so many cores, if not of all. One of another
/// machine is not what somebody means who names none. Its name is what `--machine` takes.
pub(crate) fn calibrated(cores: Option<u32>) -> Option<Machine> {
    let whole = simulate::machine(FILE, None).ok()?;
    let is_of_here = whole.name == this_machine::fingerprint().machine;
    let fewer = cores.filter(|&cores| cores as usize != whole.cpus.len());
    let mut machine = if is_of_here { simulate::machine(FILE, fewer).ok()? } else { return None };
    machine.name = fewer.map_or(FILE.to_owned(), |cores| format!("{FILE}-cores-{cores}"));
    Some(machine)
}
