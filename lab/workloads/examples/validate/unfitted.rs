//! Published tables of locks on which nothing was ever fitted. They have no limit: the page shows what came out.

use super::page::{percent, rows, table};
use super::published::{self, Line};
use super::tables::{SHORT, simulate};
use super::{Row, errors, machine};

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
        table: "lock_bench_i7_7820hq",
        machine: "i7-6700-linux",
        cpus: None,
        unit: "ms",
        convert: ms_per_round,
    },
    Source {
        title: "lock-bench on a Core i5-6200U, simulated on 4 CPUs of its sibling i7-6700-linux",
        table: "lock_bench_i5_6200u",
        machine: "i7-6700-linux",
        cpus: Some(4),
        unit: "ms",
        convert: ms_per_round,
    },
    Source {
        title: "parking_lot's benchmark on a Core i7-10750H, simulated on its sibling i7-6700-linux",
        table: "parking_lot_i7_10750h",
        machine: "i7-6700-linux",
        cpus: None,
        unit: "kHz",
        convert: |ns, threads| 1e6 / (ns * threads),
    },
    Source {
        title: "ContentionScaling on two Xeon 8488C, simulated on their sibling spr-2x56",
        table: "contention_scaling_xeon_8488c",
        machine: "spr-2x56",
        cpus: None,
        unit: "us",
        convert: us_per_50_000,
    },
    Source {
        title: "ContentionScaling on a Core i5-12500, simulated on its sibling i7-13700h",
        table: "contention_scaling_i5_12500",
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

/// Of the pairs of locks under the same load with as many threads, how many are in the published order; and all pairs.
type Order = [usize; 2];

fn order<T: PartialEq>(loads: &[T], rows: &[Row]) -> Order {
    let [mut right, mut pairs] = [0; 2];
    for (i, a) in rows.iter().enumerate() {
        for (_, b) in rows.iter().enumerate().skip(i + 1).filter(|&(j, _)| loads[i] == loads[j]) {
            pairs += 1;
            right += usize::from((a.expected < b.expected) == (a.simulated < b.simulated));
        }
    }
    [right, pairs]
}

fn simulated(source: &Source) -> Result<(Vec<Row>, Order), String> {
    let mut machine = machine(source.machine);
    if let Some(cpus) = source.cpus {
        machine = machine.with_cores(cpus)?;
    }
    let row = |line: &Line| {
        let (workload, lock, threads) = (line.text("workload"), line.text("lock"), line.threads());
        let ns = simulate(&machine, workload, &[(lock.to_owned(), threads)], SHORT)?[0];
        Ok(Row {
            what: format!("{workload}, {lock}, {threads} threads"),
            unit: source.unit,
            expected: line.number("published"),
            simulated: (source.convert)(ns, f64::from(threads)),
            limit: None,
        })
    };
    let lines = published::lines(source.table, &[]);
    let rows: Vec<Row> = lines.iter().map(row).collect::<Result<_, String>>()?;
    let loads: Vec<_> = lines.iter().map(|line| (line.text("workload"), line.threads())).collect();
    let order = order(&loads, &rows);
    Ok((rows, order))
}

/// What the page says: everything in two sentences, a summary, and each table.
pub(super) fn section() -> Result<String, String> {
    let all: Vec<_> = SOURCES.iter().map(simulated).collect::<Result<_, _>>()?;
    let (median, most) = errors(all.iter().flat_map(|(rows, _)| rows));
    let n_rows: usize = all.iter().map(|(rows, _)| rows.len()).sum();
    let [right, pairs] = [0, 1].map(|n| all.iter().map(|(_, order)| order[n]).sum::<usize>());
    let line = |(source, (rows, [right, pairs])): (&Source, &(Vec<Row>, Order))| {
        let (median, most) = errors(rows);
        let order = if *pairs == 0 { "one lock only".to_owned() } else { format!("{right} of {pairs}") };
        [source.title.to_owned(), rows.len().to_string(), percent(median), percent(most), order]
    };
    let head = ["table", "rows", "median error", "largest", "pairs of locks in the right order"];
    let summary = table(head, SOURCES.iter().zip(&all).map(line));
    let one = |(source, (of, _)): (&Source, &(Vec<Row>, Order))| {
        rows(&format!("{}\n\n{}", source.title, published::source(source.table)), "published", of)
    };
    let tables: String = SOURCES.iter().zip(&all).map(one).collect();
    Ok(format!(
        "**The median error of these {n_rows} rows is {}, and the largest is {}.** Two locks under the same load are in the \
         published order in {right} of {pairs} pairs.\n\n{summary}{tables}",
        percent(median),
        percent(most),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_locks_under_the_same_load_are_put_in_order() {
        let row = |(expected, simulated)| Row { what: String::new(), unit: "ns", expected, simulated, limit: None };
        let rows: Vec<Row> = [(1.0, 5.0), (2.0, 6.0), (3.0, 4.0), (9.0, 0.0)].map(row).into();
        assert_eq!(order(&["a", "a", "a", "b"], &rows), [1, 3]);
    }
}
