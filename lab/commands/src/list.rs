//! `ondeck list`: what there is, one line each; in a terminal, more where one is too narrow.

use crate::args::{ListArgs, Listing};
use ondeck_kit::Grid;
use ondeck_kit::exit::Exit;
use ondeck_kit::terminal::{known_width, print};
use ondeck_kit::wording::wrap;
use ondeck_workloads::lock::locks;
use ondeck_workloads::simulate::{Machine, built_in_machines, origins};
use ondeck_workloads::workload::WORKLOADS;

/// Prints what there is.
pub fn run(&ListArgs { what, sources }: &ListArgs) -> Result<(), Exit> {
    if sources && !matches!(what, Listing::Machines) {
        return Err(Exit::Usage(
            "--sources works with `ondeck list machines` only: locks and workloads have no figures".into(),
        ));
    }
    let lines = match what {
        Listing::Machines if sources => machine_sources(),
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

/// How much of each machine of the program is known from where.
fn machine_sources() -> String {
    let origins = |machine: &Machine| origins(&machine.name).unwrap_or_default();
    let machines = built_in_machines();
    let kinds: Vec<&str> = machines.first().map(origins).into_iter().flatten().map(|(origin, _)| origin).collect();
    let mut grid = Grid::new(["machine"], kinds.into_iter().chain(["figures"]));
    for machine in &machines {
        let counts: Vec<usize> = origins(machine).into_iter().map(|(_, n)| n).collect();
        let all: usize = counts.iter().sum();
        let cells = counts.into_iter().chain([all]).map(|n| n.to_string());
        grid.row([machine.name.clone()].into_iter().chain(cells));
    }
    let width = known_width().unwrap_or(usize::MAX);
    grid.render(width) + &wrap("", "docs/machines.md says what each kind of source means.", width)
}

fn aligned<'a>(lines: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> String {
    let most = known_width().unwrap_or(usize::MAX);
    let width = lines.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    lines.map(|(name, about)| wrap(&format!("{name:width$}  "), about, most)).collect()
}
