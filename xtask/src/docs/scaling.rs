//! docs/scaling.md: throughput and CPUs used against threads, for every lock on a few simulated machines.

use super::table;
use ondeck_report::FLAGSHIP;
use ondeck_report::drawing::svg;
use ondeck_report::inputs::Inputs;
use ondeck_report::output::{self, Results};
use ondeck_report::plotting::figures;
use ondeck_report::row::{Metric, Row, WAIT_MAX_NS, WAIT_P99_NS};
use ondeck_report::stats::median;
use ondeck_report::wording::{count, duration_ns, list_some, threads, three_digits, times};
use std::collections::BTreeSet;
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

/// What was run on one machine.
struct Run {
    machine: &'static str,
    results: Results,
    /// The rows of all seeds of a lock in a setting as one.
    rows: Vec<Row>,
    /// The same of the run that is long enough for waits, with its command.
    waits: (Vec<Row>, String),
}

/// Path and text of the pictures, and what the page says of them.
pub(super) fn parts(root: &Path) -> Result<(Vec<(String, String)>, String), String> {
    let mut pictures = Vec::new();
    let mut runs = Vec::new();
    for machine in MACHINES {
        let path = file(machine);
        let Inputs { sources, .. } = Inputs::read(&[root.join(&path)]).map_err(|error| error.to_string())?;
        let drawn = figures(&sources, &super::catalogue()).figures;
        for Chart { name, .. } in charts() {
            let figure = drawn.iter().find(|figure| figure.id == name);
            let figure = figure.ok_or_else(|| format!("{path}: has no chart {name}"))?;
            pictures.push((picture(&name, machine), svg(figure)));
        }
        let (waits, _) = output::read(&root.join(waits_file(machine))).map_err(|error| error.to_string())?;
        for source in sources {
            let (rows, waits) = (over_seeds(&source.results.rows), (over_seeds(&waits.rows), waits.command.clone()));
            runs.push(Run { machine, results: source.results, rows, waits });
        }
    }
    let mut text = format!("\n{}", summary(&runs));
    for run in &runs {
        text += &section(run)?;
    }
    Ok((pictures, text + "\n"))
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
fn section(run: &Run) -> Result<String, String> {
    let Run { machine, results, .. } = run;
    let fingerprint = results.fingerprint.as_ref();
    let fingerprint = fingerprint.ok_or_else(|| format!("{} has no fingerprint beside it", file(machine)))?;
    let mut text = format!(
        "\n## {machine}\n\n{}. It has {} CPUs.\n",
        fingerprint.cpu.replace("; ", ", "),
        fingerprint.cpus_online
    );
    for Chart { name, title } in charts() {
        let path = picture(&name, machine);
        let path = path.trim_start_matches("docs/");
        text += &format!("\n![Line chart: {title}, of every lock on a simulated {machine}]({path})\n");
    }
    let head = [
        "workload",
        "threads",
        "ondeck, ops/s",
        "of one thread",
        "CPUs",
        "least share",
        "faster locks (CPUs, least share)",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for workload in WORKLOADS {
        let most = of(run, workload).map(|row| row.threads).max().unwrap_or(1);
        let shown = BTreeSet::from([1, 2, fingerprint.cpus_online, most]);
        let own = of(run, workload).filter(|row| row.lock == FLAGSHIP && shown.contains(&row.threads));
        rows.extend(own.map(|own| line(run, own)));
    }
    text += &format!("\n{}\n```sh\n{}\n```\n", table(&rows), broken(&results.command));
    Ok(text + &waits(run))
}

/// What the locks that programs use make their threads wait, in windows that are long enough for it.
fn waits(run: &Run) -> String {
    let (waits, command) = &run.waits;
    let head = ["workload", "threads", "lock", "ops/s", "CPUs", "least share", "99 of 100 waits up to", "longest wait"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for row in waits {
        let wait = |metric: Metric| {
            let ns = (metric.of)(row).map_or("-".to_owned(), duration_ns);
            if row.is_at_least(metric) { format!("> {ns}") } else { ns }
        };
        rows.push(vec![
            format!("`{}`", row.workload),
            row.threads.to_string(),
            row.lock.clone(),
            count(throughput(row)),
            three_digits(cpus(row)),
            times(share(row)),
            wait(WAIT_P99_NS),
            wait(WAIT_MAX_NS),
        ]);
    }
    format!("\nLongest waits of some locks, in longer runs:\n\n{}\n```sh\n{}\n```\n", table(&rows), broken(command))
}

/// The rows of the seeds of each lock in each setting as one: medians, the least share and the longest wait. In the order of
/// the settings.
pub(super) fn over_seeds(rows: &[Row]) -> Vec<Row> {
    let mut found: Vec<Vec<&Row>> = Vec::new();
    let key = |row: &Row| (row.workload.clone(), row.threads, row.lock.clone());
    for row in rows {
        match found.iter_mut().find(|seeds| key(seeds[0]) == key(row)) {
            Some(seeds) => seeds.push(row),
            None => found.push(vec![row]),
        }
    }
    found.iter().map(|seeds| merged(seeds)).collect()
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

fn line(run: &Run, own: &Row) -> Vec<String> {
    let ahead = ahead(run, own);
    let named = ahead.iter().map(|row| {
        let (ratio, used) = (times(throughput(row) / throughput(own)), three_digits(cpus(row)));
        format!("{} {ratio} times ({used}, {})", row.lock, times(share(row)))
    });
    vec![
        format!("`{}`", own.workload),
        own.threads.to_string(),
        count(throughput(own)),
        times(kept(run, own)),
        three_digits(cpus(own)),
        times(share(own)),
        if ahead.is_empty() { "none".to_owned() } else { list_some(&named.collect::<Vec<_>>(), MOST_NAMED) },
    ]
}

fn of<'a>(run: &'a Run, workload: &str) -> impl Iterator<Item = &'a Row> {
    run.rows.iter().filter(move |row| row.workload == workload)
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

/// A command in lines of at most 120 characters.
fn broken(command: &str) -> String {
    command.replace(" --threads", " \\\n    --threads")
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
        let results = Results { rows: rows.clone(), ..Results::default() };
        let run = Run { machine: "m", results, rows: over_seeds(&rows), waits: (rows, String::new()) };
        let cells = line(&run, &run.rows[1]);
        assert_eq!(cells[1..], ["2", "8.00 M", "0.80", "2.00", "0.50", "a 2.00 times (2.00, 0.50)"]);
        assert_eq!(line(&run, &run.rows[0])[6], "none");
        assert!(waits(&run).contains("| 4 | b | 18.0 M | 4.00 | 0.00 | - | - |"), "{}", waits(&run));
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
