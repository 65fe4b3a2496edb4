//! `cargo xtask matrix [--machine NAME]`: every lock in sections of every length, and as one of many locks, on every simulated
//! machine with 20 CPUs or more, or on one. It prints the tables of docs/matrix.md; the rows are in `target/matrix`.

use crate::scaling;
use ondeck_report::Grid;
use ondeck_report::row::Row;
use ondeck_report::stats::{geometric_mean, median};
use ondeck_workloads::execution::Simulated;
use ondeck_workloads::{lock, simulate};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const ROWS: &str = "target/matrix";
/// Machines are taken from so many CPUs on.
const FEWEST_CPUS: u32 = 20;
/// All waiters of these look again after every pause, which the simulator does one by one: a run takes a hundred times as
/// long as one of another lock, so their windows are an eighth of the others'. That is less than a slice, so with more
/// threads than CPUs nothing could be seen, and they are not run.
const POLLERS: [&str; 3] = ["linux-mutex-base", "linux-mutex-patch1", "linux-mutex-patch3"];
/// A share below this counts as this in a geometric mean, which nothing at all would bring to nothing.
const LEAST_SHARE: f64 = 0.001;

/// The flags of the commands for a machine of `n` CPUs. A window has a thousand of the longest sections, or about a turn of
/// each thread where there are four for each CPU. With many locks all CPUs work at once, so a run takes longer.
fn commands(n: u32) -> Vec<String> {
    let sections = |inside: &[u32], outside: &[u32]| {
        let of = |cs: &u32| outside.iter().map(|out| format!("sections/cs{cs}-out{out}")).collect::<Vec<_>>().join(",");
        inside.iter().map(of).collect::<Vec<_>>().join(",")
    };
    let (outside, few, crowd) = ([0, 1_000, 10_000, 100_000], format!("2,{},{n}", n / 4), (4 * n).to_string());
    let sweeps: [(String, &str, f64); 5] = [
        (sections(&[20, 200], &outside), &few, 3.0),
        (sections(&[2_000, 20_000], &outside), &few, 6.0),
        ("lock-bench/locks64,lock-bench/locks1024".into(), &format!("1,2,{n}"), 2.0),
        (sections(&[200, 20_000], &[0, 10_000]), &crowd, 12.0),
        ("lock-bench/locks64".into(), &crowd, 6.0),
    ];
    let all = lock::lock_names_on::<Simulated>().into_iter();
    let (pollers, others): (Vec<&str>, Vec<&str>) = all.partition(|lock| POLLERS.contains(lock));
    let flags = |locks: &[&str], (workloads, threads, ms): &(String, &str, f64), part: f64| {
        let (locks, seconds) = (locks.join(","), ms * part / 1e3);
        format!("--workload {workloads} --lock {locks} --threads {threads} --seconds {seconds} --seeds 2")
    };
    let of_others = sweeps.iter().map(|sweep| flags(&others, sweep, 1.0));
    of_others.chain(sweeps[..3].iter().map(|sweep| flags(&pollers, sweep, 0.125))).collect()
}

/// Computes the rows and prints the tables.
pub(crate) fn run(root: &Path, machine: Option<&str>) -> Result<(), String> {
    let builtin = ondeck_sim::machine::builtin_names();
    let mut rows = Vec::new();
    for &machine in machine.as_ref().map_or(&*builtin, std::slice::from_ref) {
        let n = simulate::machine(machine, None)?.cpus.len() as u32;
        for (nth, flags) in commands(n).iter().enumerate().filter(|_| n >= FEWEST_CPUS) {
            let out = Path::new(ROWS).join(format!("{machine}-{nth}.csv"));
            rows.extend(scaling::sweep(root, machine, flags, &out)?);
            println!("{} is written", out.display());
        }
    }
    println!("{}", tables(&cells(&rows)));
    Ok(())
}

/// A lock in one setting on one machine, over its seeds.
struct Cell {
    machine: String,
    load: String,
    /// The setting, in words.
    place: String,
    lock: String,
    cpus: f64,
    min_share: f64,
    /// Operations as a part of those of the best lock there.
    share: f64,
}

/// The cells of rows, each with the mean of its seeds.
fn cells(rows: &[Row]) -> Vec<Cell> {
    let mut settings: BTreeMap<_, BTreeMap<&str, Vec<&Row>>> = BTreeMap::new();
    for row in rows {
        let setting = settings.entry((&row.machine, &row.workload, row.threads)).or_default();
        setting.entry(&row.lock).or_default().push(row);
    }
    let mean = |rows: &[&Row], of: fn(&Row) -> Option<f64>| {
        rows.iter().filter_map(|row| of(row)).sum::<f64>() / rows.len() as f64
    };
    let mut cells = Vec::new();
    for ((machine, workload, threads), locks) in settings {
        let best = locks.values().map(|rows| mean(rows, |row| row.ops_per_s)).fold(0.0, f64::max);
        let section = workload.strip_prefix("sections/");
        cells.extend(locks.into_iter().map(|(lock, rows)| Cell {
            machine: machine.clone(),
            load: section.map_or_else(|| format!("`{workload}`"), |_| "sections".into()),
            place: format!("`{}`, {threads} threads, {machine}", section.unwrap_or(workload)),
            lock: lock.to_owned(),
            cpus: mean(&rows, |row| row.cpus),
            min_share: rows.iter().filter_map(|row| row.min_share).fold(f64::INFINITY, f64::min),
            share: mean(&rows, |row| row.ops_per_s) / best,
        }));
    }
    cells
}

/// All cells, then those of each load, then those of each machine; the lock that is best in the mean of all comes first.
fn tables(cells: &[Cell]) -> String {
    let mut by_lock: BTreeMap<&str, Vec<&Cell>> = BTreeMap::new();
    cells.iter().for_each(|cell| by_lock.entry(&cell.lock).or_default().push(cell));
    let mut locks: Vec<(&str, Vec<&Cell>)> = by_lock.into_iter().collect();
    locks.sort_by(|a, b| mean_share(&b.1).total_cmp(&mean_share(&a.1)));
    let below = |cells: &[&Cell], bound: f64| cells.iter().filter(|cell| cell.share < bound).count();
    let middle = |cells: &[&Cell], of: fn(&Cell) -> f64| {
        or_dash(median(&cells.iter().map(|cell| of(cell)).collect::<Vec<f64>>()).map(|middle| format!("{middle:.2}")))
    };
    let columns = ["lock", "geometric mean", "worst", "in", "below 0.9", "below 0.5", "CPUs, median"];
    let mut whole = Grid::new(columns.into_iter().chain(["least share, median"]), [""; 0]);
    for (lock, cells) in &locks {
        whole.row([
            lock.to_string(),
            format!("{:.2}", mean_share(cells)),
            or_dash(worst(cells).map(|cell| format!("{:.2}", cell.share))),
            or_dash(worst(cells).map(|cell| cell.place.clone())),
            format!("{} of {}", below(cells, 0.9), cells.len()),
            below(cells, 0.5).to_string(),
            middle(cells, |cell| cell.cpus),
            middle(cells, |cell| cell.min_share),
        ]);
    }
    let [by_load, by_machine] = [by(&locks, |cell| &cell.load), by(&locks, |cell| &cell.machine)];
    [whole, by_load, by_machine].map(|table| table.markdown_of_markdown()).join("\n")
}

/// The cells of each lock, those of one name together.
fn by(locks: &[(&str, Vec<&Cell>)], name: fn(&Cell) -> &str) -> Grid {
    let names: BTreeSet<&str> = locks.iter().flat_map(|(_, cells)| cells).map(|cell| name(cell)).collect();
    let mut table = Grid::new(["mean / worst"].into_iter().chain(names.iter().copied()), [""; 0]);
    for (lock, cells) in locks {
        let figure = |wanted: &&str| {
            let here: Vec<&Cell> = cells.iter().copied().filter(|cell| name(cell) == *wanted).collect();
            or_dash(worst(&here).map(|worst| format!("{:.2} / {:.2}", mean_share(&here), worst.share)))
        };
        table.row([lock.to_string()].into_iter().chain(names.iter().map(figure)));
    }
    table
}

/// What stands for nothing, if there is nothing.
fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}

/// The geometric mean.
fn mean_share(cells: &[&Cell]) -> f64 {
    let shares: Vec<f64> = cells.iter().map(|cell| cell.share.max(LEAST_SHARE)).collect();
    geometric_mean(&shares).unwrap_or(0.0)
}

fn worst<'a>(cells: &[&'a Cell]) -> Option<&'a Cell> {
    cells.iter().copied().min_by(|a, b| a.share.total_cmp(&b.share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ondeck_workloads::workload::WorkloadSpec;

    fn row(machine: &str, threads: u32, lock: &str, ops_per_s: f64) -> Row {
        let (workload, cpus) = ("sections/cs20-out0".into(), Some(2.0));
        Row {
            machine: machine.into(),
            workload,
            lock: lock.into(),
            threads,
            ops_per_s: Some(ops_per_s),
            cpus,
            ..Row::default()
        }
    }

    #[test]
    fn shares_by_hand() {
        let rows = [
            (row("m", 2, "a", 100.0)),
            (row("m", 2, "a", 300.0)),
            (row("m", 2, "b", 50.0)),
            (row("m", 4, "a", 10.0)),
            (row("m", 4, "b", 20.0)),
            (row("n", 4, "a", 0.0)),
            (row("n", 4, "b", 1.0)),
            Row { workload: "lock-bench/locks64".into(), ..row("m", 2, "b", 1.0) },
        ];
        let text = tables(&cells(&rows));
        // (1/4)^(1/4); (1/2 x 1/1000)^(1/3).
        assert!(text.contains("| b | 0.71 | 0.25 | `cs20-out0`, 2 threads, m | 1 of 4 | 1 | 2.00 |"), "{text}");
        assert!(text.contains("| a | 0.08 | 0.00 | `cs20-out0`, 4 threads, n | 2 of 3 | 1 |"), "{text}");
        assert!(text.contains("| mean / worst | `lock-bench/locks64` | sections |\n"), "{text}");
        assert!(text.contains("| a | - | 0.08 / 0.00 |\n"), "{text}");
        assert!(text.contains("| a | 0.71 / 0.50 | 0.00 / 0.00 |\n"), "{text}");
    }

    #[test]
    fn the_workloads_are_some() {
        let all = commands(64);
        let workloads = all.iter().flat_map(|flags| flags.split(' ').nth(1).unwrap().split(','));
        assert!(workloads.map(WorkloadSpec::parse_name).all(|workload| workload.is_some()));
        assert!(all[0].contains(" --threads 2,16,64 --seconds 0.003 ") && all[5].contains(" --seconds 0.000375 "));
        assert!(all[..5].iter().all(|flags| !flags.contains(POLLERS[0])) && all[5].contains(POLLERS[0]));
    }
}
