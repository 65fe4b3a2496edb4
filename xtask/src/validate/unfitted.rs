//! Published tables of locks on which nothing was ever fitted. They have no limit: the page shows what came out.

use super::published::{self, Line};
use super::tables::{SHORT, simulate};
use super::{Row, errors, machine, page};
use crate::docs::table::table;

/// A published table, and what it is simulated on.
struct Source {
    title: &'static str,
    table: &'static str,
    machine: &'static str,
    /// How many CPUs of the machine there are, if not all.
    cpus: Option<u32>,
    unit: &'static str,
    /// From nanoseconds per operation, and threads, to the unit.
    convert: fn(f64, f64) -> f64,
}

const SOURCES: [Source; 5] = [
    Source {
        title: "lock-bench on a Core i7-7820HQ, simulated on its sibling i7-6700-linux",
        table: published::LOCK_BENCH_I7_7820HQ,
        machine: "i7-6700-linux",
        cpus: None,
        unit: "ms",
        convert: ms_per_round,
    },
    Source {
        title: "lock-bench on a Core i5-6200U, simulated on 4 CPUs of its sibling i7-6700-linux",
        table: published::LOCK_BENCH_I5_6200U,
        machine: "i7-6700-linux",
        cpus: Some(4),
        unit: "ms",
        convert: ms_per_round,
    },
    Source {
        title: "parking_lot's benchmark on a Core i7-10750H, simulated on its sibling i7-6700-linux",
        table: published::PARKING_LOT_I7_10750H,
        machine: "i7-6700-linux",
        cpus: None,
        unit: "kHz",
        convert: |ns, threads| 1e6 / (ns * threads),
    },
    Source {
        title: "ContentionScaling on two Xeon 8488C, simulated on their sibling spr-2x56",
        table: published::CONTENTION_SCALING_XEON_8488C,
        machine: "spr-2x56",
        cpus: None,
        unit: "us",
        convert: us_per_50_000,
    },
    Source {
        title: "ContentionScaling on a Core i5-12500, simulated on its sibling i7-13700h",
        table: published::CONTENTION_SCALING_I5_12500,
        machine: "i7-13700h",
        cpus: None,
        unit: "us",
        convert: us_per_50_000,
    },
];

/// A round of lock-bench is 10,000 operations of each thread.
fn ms_per_round(ns: f64, threads: f64) -> f64 {
    ns * threads * 10_000.0 / 1e6
}

fn us_per_50_000(ns: f64, _threads: f64) -> f64 {
    ns * 50_000.0 / 1e3
}

/// A table beside what was simulated.
pub(super) struct Unfitted {
    title: &'static str,
    /// Where it is from, and how it was taken.
    source: &'static str,
    rows: Vec<Row>,
    order: Order,
}

/// Pairs of locks under the same load with as many threads: how many are in the published order, and how many there are.
#[derive(Clone, Copy, Default)]
struct Order {
    right: usize,
    pairs: usize,
}

impl Order {
    fn text(self) -> String {
        if self.pairs == 0 { "one lock only".into() } else { format!("{} of {}", self.right, self.pairs) }
    }
}

pub(super) fn all() -> Result<Vec<Unfitted>, String> {
    SOURCES.iter().map(unfitted).collect()
}

fn unfitted(source: &Source) -> Result<Unfitted, String> {
    let mut machine = machine(source.machine);
    if let Some(cpus) = source.cpus {
        machine = machine.with_cores(cpus)?;
    }
    let row = |line: &Line| {
        let (workload, lock, threads) = (line.text("workload"), line.text("lock"), line.number("threads"));
        let ns = simulate(&machine, workload, &[(lock.to_owned(), threads as u32)], SHORT)?[0];
        Ok(Row {
            what: format!("{workload}, {lock}, {threads} threads"),
            unit: source.unit,
            expected: line.number("published"),
            simulated: (source.convert)(ns, threads),
            limit: None,
        })
    };
    let lines = published::lines(source.table, &[]);
    let rows: Vec<Row> = lines.iter().map(row).collect::<Result<_, String>>()?;
    let load = |line: &Line| [line.text("workload").to_owned(), line.text("threads").to_owned()];
    let loads: Vec<_> = lines.iter().map(load).collect();
    let order = order(&loads, &rows);
    Ok(Unfitted { title: source.title, source: published::source(source.table), rows, order })
}

fn order<T: PartialEq>(loads: &[T], rows: &[Row]) -> Order {
    let mut order = Order::default();
    for (i, a) in rows.iter().enumerate() {
        for (_, b) in rows.iter().enumerate().skip(i + 1).filter(|&(j, _)| loads[i] == loads[j]) {
            order.pairs += 1;
            order.right += usize::from((a.expected < b.expected) == (a.simulated < b.simulated));
        }
    }
    order
}

/// What the page says: everything in two sentences, a summary, and each table.
pub(super) fn section(all: &[Unfitted]) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let (median, most) = errors(all.iter().flat_map(|one| &one.rows));
    let rows: usize = all.iter().map(|one| one.rows.len()).sum();
    let right: usize = all.iter().map(|one| one.order.right).sum();
    let pairs: usize = all.iter().map(|one| one.order.pairs).sum();
    let summary = table(all)
        .column("table", |one| one.title)
        .column("rows", |one| one.rows.len())
        .column("median error", |one| percent(errors(&one.rows).0))
        .column("largest", |one| percent(errors(&one.rows).1))
        .column("pairs of locks in the right order", |one| one.order.text())
        .text();
    let one = |one: &Unfitted| page::rows(&format!("{}\n\n{}", one.title, one.source), "published", &one.rows);
    let tables: String = all.iter().map(one).collect();
    format!(
        "\n**The median error of these {rows} rows is {}, and the largest is {}.** Two locks under the same load are in the \
         published order in {right} of {pairs} pairs.\n\n{summary}{tables}\n",
        percent(median),
        percent(most),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_locks_under_the_same_load_are_put_in_order() {
        let row = |(expected, simulated): (f64, f64)| Row {
            what: String::new(),
            unit: "ns",
            expected,
            simulated,
            limit: None,
        };
        let rows: Vec<Row> = [(1.0, 5.0), (2.0, 6.0), (3.0, 4.0), (9.0, 0.0)].map(row).into();
        let order = order(&["a", "a", "a", "b"], &rows);
        assert_eq!((order.right, order.pairs), (1, 3));
    }
}
