//! docs/matrix.md: each lock's share of the best one in every cell of the matrix, as tables and heat maps.

#[cfg(feature = "lab")]
use super::rows::to_csv;
use super::table::{code, or_dash, table};
use ondeck_report::FLAGSHIP;
use ondeck_report::stats::{geometric_mean, median};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

mod heat;

pub(super) const PATH: &str = "docs/matrix.md";
/// What is computed.
pub(crate) const FILE: &str = "results/sim/matrix.csv";
/// A share below this counts as this in a geometric mean, which nothing at all would bring to nothing.
const LEAST_SHARE: f64 = 0.001;
/// Shares below this are counted.
const GOOD: f64 = 0.9;
/// Seeds that are farther apart than this disagree.
const APART: f64 = 1.5;

/// One lock in one setting on one machine, over its seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) machine: String,
    pub(crate) workload: String,
    pub(crate) threads: u32,
    pub(crate) lock: String,
    /// Least operations per second of a seed.
    low: f64,
    /// Most.
    high: f64,
    /// Mean of the CPUs used.
    cpus: f64,
    /// Least share of a thread, as a part of an even one, of any seed.
    min_share: f64,
    /// Longest wait of any seed.
    wait_max_ns: f64,
}

/// What the threads of a cell do, in the order of file and pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Load {
    /// One lock, with so many units of work inside and outside.
    Sections {
        /// While the lock is held.
        inside: u32,
        /// Between two sections.
        outside: u32,
    },
    /// A random one of so many locks.
    LockBench {
        /// How many.
        locks: u32,
    },
    /// None of the matrix.
    Other,
}

impl Load {
    /// Of the column `workload`.
    pub(crate) fn of(workload: &str) -> Load {
        let sections = || {
            let (inside, outside) = workload.strip_prefix("sections/cs")?.split_once("-out")?;
            Some(Load::Sections { inside: inside.parse().ok()?, outside: outside.parse().ok()? })
        };
        let lock_bench = || Some(Load::LockBench { locks: workload.strip_prefix("lock-bench/locks")?.parse().ok()? });
        sections().or_else(lock_bench).unwrap_or(Load::Other)
    }
}

/// What tells a line of the file from the others, in the order of the file.
#[cfg(feature = "lab")]
pub(crate) type Key = (String, u32, Load, String);

impl Cell {
    fn load(&self) -> Load {
        Load::of(&self.workload)
    }

    pub(crate) fn middle(&self) -> f64 {
        f64::midpoint(self.low, self.high)
    }
}

/// What whoever computes the file needs.
#[cfg(feature = "lab")]
impl Cell {
    /// Of the rows of the seeds; `None` of none.
    pub(crate) fn of(rows: &[&ondeck_report::row::Row]) -> Option<Cell> {
        let first = rows.first()?;
        let all = |of: fn(&ondeck_report::row::Row) -> Option<f64>| rows.iter().map(move |row| of(row).unwrap_or(0.0));
        let least = |of| all(of).fold(f64::INFINITY, f64::min);
        let most = |of| all(of).fold(0.0, f64::max);
        Some(Cell {
            machine: first.machine.clone(),
            workload: first.workload.clone(),
            threads: first.threads,
            lock: first.lock.clone(),
            low: rounded(least(|row| row.ops_per_s)),
            high: rounded(most(|row| row.ops_per_s)),
            cpus: rounded(all(|row| row.cpus).sum::<f64>() / rows.len() as f64),
            min_share: rounded(least(|row| row.min_share)),
            wait_max_ns: rounded(most(|row| row.wait_max_ns)),
        })
    }

    pub(crate) fn key(&self) -> Key {
        (self.machine.clone(), self.threads, self.load(), self.lock.clone())
    }

    /// What a message calls it.
    pub(crate) fn name(&self) -> String {
        format!("{}, {}, {} threads, {}", self.lock, self.workload, self.threads, self.machine)
    }
}

/// Four digits: the file is read by people, and compared to a fiftieth.
#[cfg(feature = "lab")]
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// The lines of the file; none if there is no file.
pub(crate) fn read(root: &Path) -> Result<Vec<Cell>, String> {
    let path = root.join(FILE);
    if path.exists() { super::rows::read(&path) } else { Ok(Vec::new()) }
}

/// Writes the file.
#[cfg(feature = "lab")]
pub(crate) fn write(root: &Path, cells: &[Cell]) -> Result<(), String> {
    std::fs::write(root.join(FILE), to_csv(cells)?).map_err(|error| format!("{FILE}: {error}"))
}

/// A cell with its share of what the best lock does there.
struct Share<'a> {
    cell: &'a Cell,
    share: f64,
}

/// The shares of all cells.
fn shares(cells: &[Cell]) -> Vec<Share<'_>> {
    let setting = |cell: &Cell| (cell.machine.clone(), cell.workload.clone(), cell.threads);
    let mut best: BTreeMap<_, f64> = BTreeMap::new();
    for cell in cells {
        let best = best.entry(setting(cell)).or_insert(0.0);
        *best = best.max(cell.middle());
    }
    cells.iter().map(|cell| Share { cell, share: cell.middle() / best[&setting(cell)] }).collect()
}

/// Path and text of the pictures, and what the page says of them.
pub(super) fn parts(root: &Path) -> Result<(Vec<(String, String)>, String), String> {
    let cells = read(root)?;
    let shares = shares(&cells);
    let locks = by_mean(&shares);
    let machines: BTreeSet<&str> = cells.iter().map(|cell| cell.machine.as_str()).collect();
    let tables =
        [summary(&shares, &locks), overall(&shares, &locks), per_load(&shares, &locks), per_machine(&shares, &locks)];
    let mut text = format!("\n{}", tables.join("\n"));
    let mut pictures = Vec::new();
    for machine in machines {
        let of: Vec<&Share> = shares.iter().filter(|share| share.cell.machine == machine).collect();
        let path = format!("docs/pictures/matrix-{machine}.svg");
        text +=
            &format!("\n![Heat map: share of the best lock in every cell, on a simulated {machine}]({})\n", &path[5..]);
        pictures.push((path, heat::map(machine, &of, &locks)));
    }
    Ok((pictures, text + "\n"))
}

/// The geometric mean of the shares.
fn mean<'a>(shares: impl Iterator<Item = &'a Share<'a>>) -> f64 {
    let shares: Vec<f64> = shares.map(|share| share.share.max(LEAST_SHARE)).collect();
    geometric_mean(&shares).unwrap_or(0.0)
}

/// The locks, the best in the mean of all cells first.
fn by_mean<'a>(shares: &'a [Share]) -> Vec<&'a str> {
    let locks: BTreeSet<&str> = shares.iter().map(|share| share.cell.lock.as_str()).collect();
    let mut locks: Vec<(&str, f64)> = locks.into_iter().map(|lock| (lock, mean(of(shares, lock)))).collect();
    locks.sort_by(|a, b| b.1.total_cmp(&a.1));
    locks.into_iter().map(|(lock, _)| lock).collect()
}

fn of<'a>(shares: &'a [Share<'a>], lock: &'a str) -> impl Iterator<Item = &'a Share<'a>> {
    shares.iter().filter(move |share| share.cell.lock == lock)
}

fn worst<'a>(shares: impl Iterator<Item = &'a Share<'a>>) -> Option<&'a Share<'a>> {
    shares.min_by(|a, b| a.share.total_cmp(&b.share))
}

fn summary(shares: &[Share], locks: &[&str]) -> String {
    let settings = shares.iter().filter(|share| share.cell.lock == FLAGSHIP).count();
    let apart = shares.iter().filter(|share| share.cell.high > APART * share.cell.low).count();
    let (n, n_locks) = (shares.len(), locks.len());
    format!(
        "{n_locks} locks in {settings} cells give {n} figures, each from two seeds. In {apart} of them one seed does more than\n\
         {APART} times as much as the other.\n"
    )
}

fn overall(shares: &[Share], locks: &[&str]) -> String {
    let below = |lock, bound: f64| of(shares, lock).filter(|share| share.share < bound).count();
    let middle = |lock, figure: fn(&Cell) -> f64| {
        median(&of(shares, lock).map(|share| figure(share.cell)).collect::<Vec<f64>>()).unwrap_or(0.0)
    };
    let place = |cell: &Cell| {
        let Cell { workload, threads, machine, .. } = cell;
        format!("`{}`, {threads} threads, {machine}", workload.trim_start_matches("sections/"))
    };
    table(locks)
        .column("lock", |lock| **lock)
        .column("geometric mean", |lock| format!("{:.2}", mean(of(shares, lock))))
        .column("worst", |lock| or_dash(worst(of(shares, lock)).map(|worst| format!("{:.2}", worst.share))))
        .column("in", |lock| or_dash(worst(of(shares, lock)).map(|worst| place(worst.cell))))
        .column("below 0.9", |lock| format!("{} of {}", below(lock, GOOD), of(shares, lock).count()))
        .column("below 0.5", |lock| below(lock, 0.5))
        .column("CPUs, median", |lock| format!("{:.1}", middle(lock, |cell| cell.cpus)))
        .column("least share, median", |lock| format!("{:.2}", middle(lock, |cell| cell.min_share)))
        .text()
}

/// One lock that all want, beside many of which each is wanted now and then.
fn per_load(shares: &[Share], locks: &[&str]) -> String {
    let column = |cell: &Cell| match cell.load() {
        Load::Sections { .. } => "sections".to_owned(),
        _ => code(&cell.workload),
    };
    // In the order of the loads, each name once.
    let mut loads: Vec<(Load, String)> = shares.iter().map(|share| (share.cell.load(), column(share.cell))).collect();
    loads.sort();
    loads.dedup_by(|a, b| a.1 == b.1);
    mean_and_worst(shares, locks, loads.into_iter().map(|load| load.1), column)
}

fn per_machine(shares: &[Share], locks: &[&str]) -> String {
    let machines: BTreeSet<String> = shares.iter().map(|share| share.cell.machine.clone()).collect();
    mean_and_worst(shares, locks, machines, |cell| cell.machine.clone())
}

/// A line for each lock, and a column of each name for the cells that it is the name of.
fn mean_and_worst(
    shares: &[Share],
    locks: &[&str],
    names: impl IntoIterator<Item = String>,
    name_of: impl Fn(&Cell) -> String,
) -> String {
    let figure = |lock: &&&str, name: &String| {
        let here = || of(shares, lock).filter(|share| name_of(share.cell) == *name);
        or_dash(worst(here()).map(|worst| format!("{:.2} / {:.2}", mean(here()), worst.share)))
    };
    table(locks).column("mean / worst", |lock| **lock).columns(names, figure).text()
}

#[cfg(all(test, feature = "lab"))]
mod tests {
    use super::*;
    use ondeck_report::row::Row;

    fn cell(machine: &str, threads: u32, lock: &str, seeds: [f64; 2]) -> Cell {
        cell_in("sections/cs20-out0", machine, threads, lock, seeds)
    }

    fn cell_in(workload: &str, machine: &str, threads: u32, lock: &str, seeds: [f64; 2]) -> Cell {
        let rows = seeds.map(|ops_per_s| Row {
            machine: machine.into(),
            workload: workload.into(),
            lock: lock.into(),
            threads,
            ops_per_s: Some(ops_per_s),
            cpus: Some(2.0),
            ..Row::default()
        });
        Cell::of(&rows.iter().collect::<Vec<&Row>>()).unwrap()
    }

    #[test]
    fn shares_by_hand() {
        let cells = [
            cell("m", 2, "a", [100.0, 300.0]),
            cell("m", 2, "b", [50.0, 50.0]),
            cell("m", 4, "a", [10.0, 10.0]),
            cell("m", 4, "b", [10.0, 30.0]),
            cell("n", 4, "a", [0.0, 0.0]),
            cell("n", 4, "b", [1.0, 1.0]),
        ];
        let shares = shares(&cells);
        let figures: Vec<f64> = shares.iter().map(|share| share.share).collect();
        assert_eq!(figures, [1.0, 0.25, 0.5, 1.0, 0.0, 1.0]);
        let locks = by_mean(&shares);
        assert_eq!(locks, ["b", "a"]);
        assert_eq!(summary(&shares, &locks).matches("2 locks in 0 cells give 6 figures").count(), 1);
        assert!(summary(&shares, &locks).contains("In 2 of them"));
        let table = overall(&shares, &locks);
        // (1/4)^(1/3); (1/2 x 1/1000)^(1/3).
        assert!(table.contains("| b | 0.63 | 0.25 | `cs20-out0`, 2 threads, m | 1 of 3 | 1 | 2.0 |"), "{table}");
        assert!(table.contains("| a | 0.08 | 0.00 | `cs20-out0`, 4 threads, n | 2 of 3 | 1 |"), "{table}");
        assert!(per_machine(&shares, &locks).contains("| b | 0.50 / 0.25 | 1.00 / 1.00 |"));
    }

    #[test]
    fn many_locks_have_columns_of_their_own() {
        let cells = [
            cell_in("lock-bench/locks1024", "m", 2, "a", [4.0, 4.0]),
            cell_in("lock-bench/locks64", "m", 2, "a", [1.0, 1.0]),
            cell_in("lock-bench/locks64", "m", 2, "b", [4.0, 4.0]),
            cell_in("sections/cs200-out0", "m", 2, "b", [1.0, 1.0]),
            cell_in("sections/cs20-out0", "m", 2, "a", [3.0, 3.0]),
        ];
        let shares = shares(&cells);
        let locks = by_mean(&shares);
        let table = per_load(&shares, &locks);
        assert!(
            table.starts_with("| mean / worst | sections | `lock-bench/locks64` | `lock-bench/locks1024` |"),
            "{table}"
        );
        assert!(table.contains("| a | 1.00 / 1.00 | 0.25 / 0.25 | 1.00 / 1.00 |"), "{table}");
        assert!(table.contains("| b | 1.00 / 1.00 | 1.00 / 1.00 | - |"), "{table}");
        assert!(overall(&shares, &locks).contains("| a | 0.63 | 0.25 | `lock-bench/locks64`, 2 threads, m |"));
        let mut sorted = cells.each_ref().map(|cell| (cell.key(), cell.workload.as_str()));
        sorted.sort();
        let order = [
            "sections/cs20-out0",
            "sections/cs200-out0",
            "lock-bench/locks64",
            "lock-bench/locks64",
            "lock-bench/locks1024",
        ];
        assert_eq!(sorted.map(|cell| cell.1), order);
        let of: Vec<&Share> = shares.iter().collect();
        let picture = heat::map("m", &of, &locks);
        assert!(picture.contains(">20</text>") && picture.contains(">locks</text>"), "{picture}");
    }
}
