//! `ondeck list`: what there is, one line each; in a terminal, more where one is too narrow.

use crate::args::Listing;
use crate::exit::Exit;
use crate::terminal::{known_width, print};
use ondeck_report::wording::wrap;
use ondeck_workloads::lock::locks;
use ondeck_workloads::simulate::built_in_machines;
use ondeck_workloads::workload::WORKLOADS;

pub(crate) fn run(what: Listing) -> Result<(), Exit> {
    let lines = match what {
        Listing::Locks => aligned(locks().iter().map(|lock| (lock.name, lock.idea))),
        Listing::Workloads => aligned(WORKLOADS.iter().map(|workload| (workload.name, workload.about))),
        Listing::Machines => machines(),
    };
    print(&lines)
}

/// Those of the program, then all others.
fn machines() -> String {
    let mut rows: Vec<(String, String)> = built_in_machines()
        .into_iter()
        .map(|machine| (machine.name, format!("{:>4} CPUs  {}", machine.cpus.len(), machine.about)))
        .collect();
    rows.push(("FILE.toml".into(), "           any other; docs/machines.md describes such files".into()));
    aligned(rows.iter().map(|(name, about)| (name.as_str(), about.as_str())))
}

fn aligned<'a>(lines: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> String {
    let most = known_width().unwrap_or(usize::MAX);
    let width = lines.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    lines.map(|(name, about)| wrap(&format!("{name:width$}  "), about, most)).collect()
}
