//! `ondeck list`: what there is, one line each.

use crate::args::What;
use crate::exit::Exit;
use crate::terminal::print;
use ondeck_lab::fingerprint::Fingerprint;
use ondeck_lab::lock::locks;
use ondeck_lab::workload::WORKLOADS;

pub(crate) fn run(what: What) -> Result<(), Exit> {
    let lines = match what {
        What::Locks => aligned(locks().iter().map(|lock| (lock.name, lock.idea))),
        What::Workloads => aligned(WORKLOADS.iter().map(|workload| (workload.name, workload.about))),
        What::Machines => Fingerprint::of_this_machine().line() + "\n",
    };
    print(&lines)
}

fn aligned<'a>(lines: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> String {
    let width = lines.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    lines.map(|(name, about)| format!("{name:width$}  {about}\n")).collect()
}
