//! docs/scaling.md: throughput and CPUs used against threads, for every lock on a few simulated machines.

use super::picture::Charts;
use super::rows::grouped;
use super::table::{code, or_dash, table};
use ondeck_report::FLAGSHIP;
use ondeck_report::fingerprint::Fingerprint;
use ondeck_report::output;
use ondeck_report::row::{Metric, Row, WAIT_MAX_NS, WAIT_P99_NS};
use ondeck_report::stats::median;
use ondeck_report::wording::{count, duration_ns, list_some, threads, three_digits, times};
use std::path::Path;

pub(super) const PATH: &str = "docs/scaling.md";

pub(crate) const MACHINES: [&str; 4] = ["i7-13700h", "graviton3", "epyc-2x48", "spr-2x56"];

/// Nothing outside the lock, where who keeps it to himself is fastest; and work outside, where he is not.
pub(crate) const WORKLOADS: [&str; 2] = ["mutex-contention", "sections/cs100-out400"];

/// Where the rows of a machine are.
pub(crate) fn file(machine: &str) -> String {
    format!("results/sim/locks-{machine}.csv")
}

/// Where the rows are that are long enough for their waits.
pub(crate) fn waits_file(machine: &str) -> String {
    format!("results/sim/waits-{machine}.csv")
}

/// The charts of each workload: the end of their names, and what they show.
const CHARTS: [(&str, &str); 2] = [("throughput", "throughput"), ("cpus", "CPUs used")];
/// Locks that a cell of the table names.
const MOST_NAMED: usize = 3;
/// By so much a figure must be larger to be called so.
const CLEARLY: f64 = 1.01;

/// What is in a file: where the rows come from, and those of all seeds of a lock in a setting as one.
#[derive(Default)]
pub(super) struct Sweep {
    pub(super) fingerprint: Fingerprint,
    command: String,
    pub(super) rows: Vec<Row>,
}

impl Sweep {
    pub(super) fn read(root: &Path, file: &str) -> Result<Sweep, String> {
        let (results, _) = output::read(&root.join(file)).map_err(|error| error.to_string())?;
        let fingerprint = results.fingerprint.ok_or_else(|| format!("{file} has no fingerprint beside it"))?;
        Ok(Sweep { fingerprint, command: results.command, rows: over_seeds(&results.rows) })
    }

    /// The command as it stands on a page, with a line break before each of these flags.
    pub(super) fn shown(&self, broken_before: &[&str]) -> String {
        let broken = |command: String, flag: &&str| command.replace(&format!(" {flag}"), &format!(" \\\n    {flag}"));
        format!("\n```sh\n{}\n```\n", broken_before.iter().fold(self.command.clone(), broken))
    }
}

/// What was run on one machine.
struct Run {
    machine: &'static str,
    all: Sweep,
    /// The run that is long enough for waits.
    waits: Sweep,
}

/// Path and text of the pictures, and what the page says of them.
pub(super) fn parts(root: &Path) -> Result<(Vec<(String, String)>, String), String> {
    let mut pictures = Vec::new();
    let mut runs = Vec::new();
    for machine in MACHINES {
        let path = file(machine);
        let drawn = Charts::read(root, &path)?;
        for Chart { name, .. } in charts() {
            pictures.push((picture(&name, machine), drawn.draw(&name)?));
        }
        let (all, waits) = (Sweep::read(root, &path)?, Sweep::read(root, &waits_file(machine))?);
        runs.push(Run { machine, all, waits });
    }
    let sections: String = runs.iter().map(|run| section(run) + &waits(&run.waits)).collect();
    Ok((pictures, format!("\n{}{sections}\n", summary(&runs))))
}

/// A chart of each machine.
struct Chart {
    name: String,
    title: String,
}

fn charts() -> impl Iterator<Item = Chart> {
    let chart = |workload: &str, (end, shows)| Chart {
        name: format!("{}-{end}", workload.replace('/', "-")),
        title: format!("{shows}, {workload}"),
    };
    WORKLOADS.iter().flat_map(move |workload| CHARTS.map(|of| chart(workload, of)))
}

fn picture(name: &str, machine: &str) -> String {
    format!("docs/pictures/{name}-{machine}.svg")
}

/// What holds on all machines.
fn summary(runs: &[Run]) -> String {
    let mut said = Vec::new();
    for workload in WORKLOADS {
        let mut least: Option<(f64, String)> = None;
        let (mut n, mut behind, mut behind_with_less, mut behind_with_shares) = (0, 0, 0, 0);
        for run in runs {
            for own in of(run, workload).filter(|row| row.lock == FLAGSHIP && row.threads > 1) {
                let kept = kept(run, own);
                if least.as_ref().is_none_or(|(least, _)| kept < *least) {
                    least = Some((kept, format!("{} on {}", threads(own.threads), run.machine)));
                }
                let ahead = ahead(run, own);
                n += 1;
                behind += usize::from(!ahead.is_empty());
                behind_with_less += usize::from(ahead.iter().any(|row| cpus(row) <= cpus(own) * CLEARLY));
                behind_with_shares += usize::from(ahead.iter().any(|row| share(row) >= share(own)));
            }
        }
        let Some((kept, place)) = least else { continue };
        said.push(format!(
            "In `{workload}` ondeck keeps at least {} of one thread's throughput (worst: {place}).\nWith more than one thread, \
             another lock is faster in {behind} of {n} settings. In {behind_with_less} of these it needs no more\nCPUs. In \
             {behind_with_shares} it shares at least as evenly.\n",
            times(kept)
        ));
    }
    said.join("\n")
}

/// Pictures and table of one machine.
fn section(run: &Run) -> String {
    let Run { machine, all, .. } = run;
    let Fingerprint { cpu, cpus_online, .. } = &all.fingerprint;
    let mut text = format!("\n## {machine}\n\n{}. It has {cpus_online} CPUs.\n", cpu.replace("; ", ", "));
    for Chart { name, title } in charts() {
        let path = picture(&name, machine);
        let path = path.trim_start_matches("docs/");
        text += &format!("\n![Line chart: {title}, of every lock on a simulated {machine}]({path})\n");
    }
    let mut shown = Vec::new();
    for workload in WORKLOADS {
        let most = of(run, workload).map(|row| row.threads).max().unwrap_or(1);
        let numbers = [1, 2, *cpus_online, most];
        shown.extend(of(run, workload).filter(|row| row.lock == FLAGSHIP && numbers.contains(&row.threads)));
    }
    text + "\n" + &flagship(run, &shown) + &all.shown(&["--threads"])
}

/// The flagship in these rows, and the locks that are faster there.
fn flagship(run: &Run, rows: &[&Row]) -> String {
    table(rows)
        .column("workload", |own| code(&own.workload))
        .column("threads", |own| own.threads)
        .column("ondeck, ops/s", |own| count(throughput(own)))
        .column("of one thread", |own| times(kept(run, own)))
        .column("CPUs", |own| three_digits(cpus(own)))
        .column("least share", |own| times(share(own)))
        .column("faster locks (CPUs, least share)", |own| named(&ahead(run, own), own))
        .text()
}

/// What the locks that programs use make their threads wait, in windows that are long enough for it.
fn waits(sweep: &Sweep) -> String {
    let table = table(&sweep.rows)
        .column("workload", |row| code(&row.workload))
        .column("threads", |row| row.threads)
        .column("lock", |row| &row.lock)
        .column("ops/s", |row| count(throughput(row)))
        .column("CPUs", |row| three_digits(cpus(row)))
        .column("least share", |row| times(share(row)))
        .column("99 of 100 waits up to", |row| wait(row, WAIT_P99_NS))
        .column("longest wait", |row| wait(row, WAIT_MAX_NS));
    format!("\nLongest waits of some locks, in longer runs:\n\n{}{}", table.text(), sweep.shown(&["--threads"]))
}

/// A wait, or that it is longer than so much.
pub(super) fn wait(row: &Row, metric: Metric) -> String {
    let ns = or_dash((metric.of)(row).map(duration_ns));
    if row.is_at_least(metric) { format!("> {ns}") } else { ns }
}

/// The rows of the seeds of each lock in each setting as one: medians, the least share and the longest wait. In the order of
/// the settings.
fn over_seeds(rows: &[Row]) -> Vec<Row> {
    let groups = grouped(rows, |row| (&row.workload, row.threads, &row.lock));
    groups.iter().map(|(_, seeds)| merged(seeds)).collect()
}

fn merged(seeds: &[&Row]) -> Row {
    let values = |of: fn(&Row) -> Option<f64>| seeds.iter().filter_map(|row| of(row)).collect::<Vec<f64>>();
    let middle = |of| median(&values(of));
    let longest = seeds.iter().max_by(|a, b| a.wait_max_ns.unwrap_or(0.0).total_cmp(&b.wait_max_ns.unwrap_or(0.0)));
    Row {
        ops_per_s: middle(|row| row.ops_per_s),
        cpus: middle(|row| row.cpus),
        min_share: values(|row| row.min_share).into_iter().reduce(f64::min),
        wait_p99_ns: middle(|row| row.wait_p99_ns),
        wait_max_ns: longest.and_then(|row| row.wait_max_ns),
        at_least: longest.map_or(String::new(), |row| row.at_least.clone()),
        ..seeds[0].clone()
    }
}

/// Locks that are ahead of `own`, in words.
fn named(ahead: &[&Row], own: &Row) -> String {
    let name = |row: &&Row| {
        let (ratio, used) = (times(throughput(row) / throughput(own)), three_digits(cpus(row)));
        format!("{} {ratio} times ({used}, {})", row.lock, times(share(row)))
    };
    let names: Vec<String> = ahead.iter().map(name).collect();
    if names.is_empty() { "none".to_owned() } else { list_some(&names, MOST_NAMED) }
}

fn of<'a>(run: &'a Run, workload: &str) -> impl Iterator<Item = &'a Row> {
    run.all.rows.iter().filter(move |row| row.workload == workload)
}

/// The locks that do more than `own` in the same setting, the fastest first.
fn ahead<'a>(run: &'a Run, own: &Row) -> Vec<&'a Row> {
    let is_ahead = |row: &&Row| row.threads == own.threads && throughput(row) > CLEARLY * throughput(own);
    let mut rows: Vec<&Row> = of(run, &own.workload).filter(is_ahead).collect();
    rows.sort_by(|a, b| throughput(b).total_cmp(&throughput(a)));
    rows
}

/// Throughput as a part of what the same lock has with one thread.
fn kept(run: &Run, own: &Row) -> f64 {
    let alone = of(run, &own.workload).find(|row| row.lock == own.lock && row.threads == 1);
    alone.map_or(f64::NAN, |alone| throughput(own) / throughput(alone))
}

pub(super) fn throughput(row: &Row) -> f64 {
    row.ops_per_s.unwrap_or(f64::NAN)
}

fn share(row: &Row) -> f64 {
    row.min_share.unwrap_or(f64::NAN)
}

pub(super) fn cpus(row: &Row) -> f64 {
    row.cpus.unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(lock: &str, threads: u32, ops_per_s: f64, cpus: f64) -> Row {
        let row = Row { workload: WORKLOADS[0].to_owned(), lock: lock.into(), threads, ..Row::default() };
        Row { ops_per_s: Some(ops_per_s), cpus: Some(cpus), min_share: Some(1.0 / f64::from(threads)), ..row }
    }

    #[test]
    fn who_is_ahead_is_named_and_counted() {
        let rows = vec![
            row(FLAGSHIP, 1, 10e6, 1.0),
            row(FLAGSHIP, 2, 8e6, 2.0),
            row(FLAGSHIP, 4, 9e6, 2.0),
            row("a", 2, 16e6, 2.0),
            row("b", 2, 8.01e6, 1.0),
            Row { min_share: Some(0.0), ..row("b", 4, 18e6, 4.0) },
        ];
        let run = Run { machine: "m", all: Sweep { rows, ..Sweep::default() }, waits: Sweep::default() };
        let line = |row: &Row| flagship(&run, &[row]);
        let (alone, two) = (line(&run.all.rows[0]), line(&run.all.rows[1]));
        assert!(two.ends_with("| 2 | 8.00 M | 0.80 | 2.00 | 0.50 | a 2.00 times (2.00, 0.50) |\n"), "{two}");
        assert!(alone.ends_with("| none |\n"), "{alone}");
        let waits = waits(&run.all);
        assert!(waits.contains("| 4 | b | 18.0 M | 4.00 | 0.00 | - | - |"), "{waits}");
        let said = summary(&[run]);
        assert!(said.contains("keeps at least 0.80 of one thread's throughput (worst: 2 threads on m)."), "{said}");
        let counted = "another lock is faster in 2 of 2 settings. In 1 of these";
        assert!(said.replace('\n', " ").contains(counted), "{said}");
        assert!(said.contains("In 1 it shares"), "{said}");
    }

    #[test]
    fn seeds_are_one_row() {
        let seed = |round, mega: f64, ms: f64, at_least: &str| {
            let row = Row { round, wait_max_ns: Some(ms * 1e6), at_least: at_least.into(), ..row("a", 2, mega, 1.0) };
            Row { min_share: Some(ms / 10.0), ..row }
        };
        let all = over_seeds(&[seed(0, 1.0, 2.0, ""), row("b", 2, 9.0, 1.0), seed(1, 3.0, 4.0, "wait_max_ns")]);
        assert_eq!(all.iter().map(|row| row.lock.as_str()).collect::<Vec<&str>>(), ["a", "b"]);
        let one = &all[0];
        assert_eq!((one.ops_per_s, one.min_share, one.wait_max_ns), (Some(2.0), Some(0.2), Some(4e6)));
        assert!(one.is_at_least(WAIT_MAX_NS));
    }
}
