//! The simulator beside the published tables of `docs/published/`: each table is simulated as nearly as it was.
//!
//! How near that is, each table says below. `docs/validation.md` shows it, and what it means. All tables, in some minutes, with
//! each row: `cargo test --release -p ondeck-workloads --test published -- --include-ignored --nocapture`.

use ondeck_kit::stats::median;
use ondeck_workloads::plan::{Pin, Plan, Point};
use ondeck_workloads::simulate::{self, MachinePlan};
use ondeck_workloads::workload::WorkloadSpec;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// A published table, and what it is simulated on.
struct Table {
    /// Its file.
    file: &'static str,
    machine: &'static str,
    /// How many CPUs of the machine there are, if not all.
    cpus: Option<u32>,
    load: Load,
    /// The rows, of the lines of the file.
    rows: fn(&Line) -> Vec<Row>,
    /// The lines of the file in which these columns say this, if not all.
    only: &'static [(&'static str, &'static str)],
    /// By which factor the median of the rows may be off, and each row.
    limits: [f64; 2],
}

/// How long each row is simulated, with how many seeds, and what its unit is.
#[derive(Clone, Copy)]
struct Load {
    seconds: f64,
    seeds: u32,
    unit: &'static str,
    /// From nanoseconds per operation, and threads, to the unit.
    convert: fn(f64, f64) -> f64,
}

/// One figure of a table.
struct Row {
    workload: String,
    lock: String,
    threads: u32,
    published: f64,
}

/// A line of a file: cells by the names of their columns.
struct Line(BTreeMap<String, String>);

impl Line {
    fn text(&self, column: &str) -> &str {
        self.0.get(column).unwrap_or_else(|| panic!("no column {column}"))
    }

    fn number(&self, column: &str) -> f64 {
        self.text(column).parse().unwrap_or_else(|_| panic!("{column}: {} is no number", self.text(column)))
    }

    fn row(&self, workload: &str, lock: &str, threads: &str, published: &str) -> Row {
        let (workload, lock) = (workload.to_owned(), lock.to_owned());
        Row { workload, lock, threads: self.number(threads) as u32, published: self.number(published) }
    }
}

const MS_OF_10_000: fn(f64, f64) -> f64 = |ns, threads| ns * threads * 10_000.0 / 1e6;
const US_OF_50_000: fn(f64, f64) -> f64 = |ns, _| ns * 50_000.0 / 1e3;

/// For workloads in which 20 ms hold thousands of operations.
const fn short(unit: &'static str, convert: fn(f64, f64) -> f64) -> Load {
    Load { seconds: 0.02, seeds: 3, unit, convert }
}

/// On these rows parameters were fitted.
const CHAN: Table = Table {
    file: "chan_contended",
    machine: "i7-13700h",
    cpus: None,
    load: short("us", |ns, _| ns / 1e3),
    rows: |line| vec![line.row("chan-contended", line.text("lock"), "threads", "us_per_op")],
    only: &[],
    limits: [0.0; 2],
};
/// Nothing was ever fitted on those of such tables.
const PLAIN: Table = Table {
    file: "",
    rows: |line| vec![line.row(line.text("workload"), line.text("lock"), "threads", "published")],
    ..CHAN
};
/// Some of each kind, as many as take seconds without optimisation.
const QUICK: [Table; 3] = [
    Table { only: &[("machine", "i7-13700h"), ("lock", "go-tristate-futex")], limits: [1.08, 1.2], ..CHAN },
    Table {
        file: "parking_lot_i7_10750h",
        machine: "i7-6700-linux",
        load: short("kHz", |ns, threads| 1e6 / (ns * threads)),
        limits: [1.4, 1.5],
        ..PLAIN
    },
    Table { file: "contention_scaling_i5_12500", load: short("us", US_OF_50_000), limits: [1.35, 1.7], ..PLAIN },
];
const SLOW: [Table; 5] = [
    Table { only: &[("machine", "i7-13700h"), ("lock", "go-spinbit-futex")], limits: [1.2, 1.6], ..CHAN },
    Table { machine: "m1", only: &[("machine", "m1")], limits: [1.03, 1.06], ..CHAN },
    Table {
        file: "lock_bench_i7_7820hq",
        machine: "i7-6700-linux",
        load: short("ms", MS_OF_10_000),
        limits: [6.0, 7.0],
        ..PLAIN
    },
    Table {
        file: "lock_bench_i5_6200u",
        machine: "i7-6700-linux",
        cpus: Some(4),
        load: short("ms", MS_OF_10_000),
        limits: [7.2, 8.5],
        ..PLAIN
    },
    Table {
        file: "contention_scaling_xeon_8488c",
        machine: "spr-2x56",
        load: short("us", US_OF_50_000),
        limits: [1.6, 4.1],
        ..PLAIN
    },
];

/// Threads come and go in milliseconds. Some parameters were fitted on these rows.
const MONITOR: Table = Table {
    file: "monitor_throughput",
    load: Load { seconds: 0.3, seeds: 1, unit: "locks/ms", convert: |ns, _| 1e6 / ns },
    rows: |line| {
        let columns = [("coreclr-monitor-before", "before_locks_per_ms"), ("coreclr-monitor", "after_locks_per_ms")];
        let tuning =
            if line.text("tuning") == "default" { String::new() } else { format!("[{}]", line.text("tuning")) };
        let row = |(lock, column)| line.row("monitor-throughput", &format!("{lock}{tuning}"), "threads", column);
        columns.map(row).into()
    },
    ..CHAN
};
/// The same. The workload has two states, and some seeds find from one into the other.
const AIM7: Table = Table {
    file: "aim7",
    load: Load { seconds: 0.3, seeds: 7, unit: "jobs/min", convert: |ns, _| 60e9 / ns },
    rows: |line| {
        [("linux-mutex-base", "without_patch"), ("linux-mutex-patch1", "with_patch")]
            .map(|(lock, column)| line.row("aim7", lock, "users", column))
            .into()
    },
    limits: [1.1, 1.15],
    ..CHAN
};
const LONG: [Table; 5] = [
    Table { machine: "i7-6700-linux", only: &[("machine", "i7-6700-linux")], limits: [1.08, 1.8], ..MONITOR },
    Table { machine: "i7-6700-windows", only: &[("machine", "i7-6700-windows")], limits: [1.08, 2.2], ..MONITOR },
    Table { machine: "westmere-1n", only: &[("machine", "westmere-1n")], ..AIM7 },
    Table { machine: "westmere-2n", only: &[("machine", "westmere-2n")], ..AIM7 },
    Table { machine: "westmere-8n", only: &[("machine", "westmere-8n")], ..AIM7 },
];

impl Table {
    fn published(&self) -> Vec<Row> {
        let path = format!("{}/../../docs/published/{}.csv", env!("CARGO_MANIFEST_DIR"), self.file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
        let lines = reader.into_deserialize().map(|line| Line(line.expect("a line has a cell for each column")));
        let is_meant = |line: &Line| self.only.iter().all(|(column, value)| line.text(column) == *value);
        lines.filter(is_meant).flat_map(|line| (self.rows)(&line)).collect()
    }

    /// What comes out for each row, the median of the seeds.
    fn simulated(&self, rows: &[Row]) -> Vec<f64> {
        let machine = simulate::machine(self.machine, self.cpus).expect("a machine of the program");
        let point = |row: &Row| Point {
            workload: WorkloadSpec::parse_name(&row.workload).expect("a workload of the table"),
            lock: row.lock.parse().expect("a lock of the table"),
            threads: row.threads,
        };
        let Load { seconds, seeds, convert, .. } = self.load;
        let points = rows.iter().map(point).collect();
        let plan = Plan { points, rounds: seeds, seconds: Some(seconds), seed: 1, pin: Pin::None, load: 0 };
        let plan = MachinePlan { plan, machine_words: machine.name.clone(), machine, record: false };
        let found = simulate::run(&plan, &AtomicBool::new(false), &mut |_| ()).expect("no lock fails").rows;
        let of_row = |(row, found): (&Row, &[ondeck_report::row::Row])| {
            let speeds: Vec<f64> = found.iter().filter_map(|row| row.ops_per_s).collect();
            convert(1e9 / median(&speeds).unwrap_or(f64::NAN), f64::from(row.threads))
        };
        rows.iter().zip(found.chunks(seeds as usize)).map(of_row).collect()
    }

    /// Prints the rows, and says by how much they are off: the median, and the worst.
    fn factors(&self) -> [f64; 2] {
        let rows = self.published();
        println!("\n{} on {}: published, simulated, factor", self.file, self.machine);
        let mut factors = Vec::new();
        for (row, simulated) in rows.iter().zip(self.simulated(&rows)) {
            let Row { workload, lock, threads, published } = row;
            let factor = (simulated / published).max(published / simulated);
            println!("{workload}, {lock}, {threads}: {published} {}, {simulated:.4}, {factor:.2}", self.load.unit);
            factors.push(factor);
        }
        [median(&factors).expect("a table has rows"), factors.into_iter().fold(1.0, f64::max)]
    }
}

#[track_caller]
fn judge(tables: &[Table]) {
    let mut lines = Vec::new();
    let mut is_near = true;
    for table in tables {
        let (found, limits) = (table.factors(), table.limits);
        is_near &= found[0] <= limits[0] && found[1] <= limits[1];
        let (Table { file, machine, .. }, [middle, worst]) = (table, found);
        lines.push(format!("| {file} | {machine} | {middle:.2} | {} | {worst:.2} | {} |", limits[0], limits[1]));
    }
    println!("\n{}", lines.join("\n"));
    assert!(is_near, "{}", lines.join("\n"));
}

#[test]
fn some_tables_are_simulated_as_nearly_as_they_were() {
    judge(&QUICK);
}

#[test]
#[ignore = "minutes: cargo test --release -p ondeck-workloads --test published -- --include-ignored"]
fn the_other_tables_are_too() {
    judge(&SLOW);
    judge(&LONG);
}
