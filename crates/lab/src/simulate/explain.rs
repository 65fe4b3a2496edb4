//! `--explain`: where the time of an operation goes.
//!
//! The simulated machine books every picosecond of every thread under what it was spent on. What is shown is the time of
//! all threads, asleep or awake, added up over the measured window and divided by the operations in it. So it is not how
//! long an operation takes: of ten threads, of which nine sleep, the sleeping is nine tenths.

use crate::report::Grid;
use crate::report::text::{broken, duration_ns, wrap};
use crate::row::Row;
use ondeck_sim::Spent;

/// What the threads have spent their time on in the measured window of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// As [`Row::workload`].
    pub workload: String,
    /// As [`Row::lock`].
    pub lock: String,
    /// As [`Row::threads`].
    pub threads: u32,
    /// As [`Row::round`].
    pub round: u32,
    /// As [`Row::ops`].
    pub ops: Option<u64>,
    /// As [`Row::seconds`].
    pub seconds: f64,
    /// Time of all threads, by what it was spent on.
    pub spent: SpentNs,
}

/// [`Spent`] in nanoseconds, as result files have times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the fields are those of Spent")]
pub struct SpentNs {
    pub work_ns: f64,
    pub transfer_ns: f64,
    pub queue_ns: f64,
    pub pause_ns: f64,
    pub kernel_ns: f64,
    pub ready_ns: f64,
    pub waking_ns: f64,
    pub asleep_ns: f64,
}

/// Reads one part of the time.
type Part = fn(&SpentNs) -> f64;

/// The parts, in the order of the table, as it calls them.
const PARTS: [(&str, Part); 8] = [
    ("work", |spent| spent.work_ns),
    ("line transfer", |spent| spent.transfer_ns),
    ("queueing for lines", |spent| spent.queue_ns),
    ("pause", |spent| spent.pause_ns),
    ("kernel", |spent| spent.kernel_ns),
    ("waiting for a CPU", |spent| spent.ready_ns),
    ("waking", |spent| spent.waking_ns),
    ("asleep", |spent| spent.asleep_ns),
];

/// What the parts and the last lines mean.
const NOTES: [&str; 4] = [
    "Time of all threads added up, asleep or awake, for each operation of the workload: not how long one takes.",
    "work: code and loads that find their line; line transfer: lines on their way between cores; queueing for lines: \
     until a line is done with the requests of others; kernel: system calls and switching threads.",
    "waiting for a CPU: ready to run, but others do; waking: from the wake until the thread runs, a CPU being free.",
    "from one operation to the next: length of the window divided by the operations of all threads. In that time, the \
     threads spend the sum.",
];

impl Explained {
    /// What `spent`, the time that has passed in the window, is for the row.
    pub fn new(row: &Row, spent: Spent) -> Self {
        let ns = |ps: u64| ps as f64 / 1e3;
        Explained {
            workload: row.workload.clone(),
            lock: row.lock.clone(),
            threads: row.threads,
            round: row.round,
            ops: row.ops,
            seconds: row.seconds,
            spent: SpentNs {
                work_ns: ns(spent.work_ps),
                transfer_ns: ns(spent.transfer_ps),
                queue_ns: ns(spent.queue_ps),
                pause_ns: ns(spent.pause_ps),
                kernel_ns: ns(spent.kernel_ps),
                ready_ns: ns(spent.ready_ps),
                waking_ns: ns(spent.waking_ps),
                asleep_ns: ns(spent.asleep_ps),
            },
        }
    }
}

/// The rounds of one lock in one setting, added up.
struct Column<'a> {
    lock: &'a str,
    ops: u64,
    wall_ns: f64,
    rounds: Vec<&'a Explained>,
}

impl<'a> Column<'a> {
    fn new(lock: &'a str, rounds: Vec<&'a Explained>) -> Self {
        let ops = rounds.iter().filter_map(|round| round.ops).sum();
        let wall_ns = rounds.iter().map(|round| round.seconds * 1e9).sum();
        Column { lock, ops, wall_ns, rounds }
    }

    fn of(&self, part: Part) -> f64 {
        self.rounds.iter().map(|round| part(&round.spent)).sum()
    }

    fn sum(&self) -> f64 {
        PARTS.iter().map(|(_, part)| self.of(*part)).sum()
    }

    /// For each operation, where there were any.
    fn per_op(&self, ns: f64) -> String {
        if self.ops == 0 { "-".to_string() } else { duration_ns(ns / self.ops as f64) }
    }

    /// The same, and as a part of the time of all threads.
    fn with_share(&self, ns: f64) -> String {
        let sum = self.sum();
        let share = if sum > 0.0 { format!("{:.1}%", ns / sum * 100.0) } else { "-".to_string() };
        format!("{} {share:>6}", self.per_op(ns))
    }
}

/// A table for each workload and number of threads, locks across, at most `width` columns wide where that is possible.
/// The rounds of a lock are added up. Empty if there is nothing to explain.
pub fn tables(points: &[Explained], width: usize) -> String {
    let mut text = String::new();
    let mut settings: Vec<(&str, u32)> = Vec::new();
    for point in points {
        let setting = (point.workload.as_str(), point.threads);
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    for (workload, threads) in &settings {
        let of_setting =
            points.iter().filter(|point| (point.workload.as_str(), point.threads) == (*workload, *threads));
        text += &format!("Where the time goes: {workload}, {}\n", crate::report::text::threads(*threads));
        text += &format!("{}\n", table(&columns(of_setting)).render(width));
    }
    if !settings.is_empty() {
        text.extend(NOTES.iter().map(|note| wrap("- ", note, width)));
    }
    text
}

fn columns<'a>(points: impl Iterator<Item = &'a Explained>) -> Vec<Column<'a>> {
    let mut locks: Vec<(&str, Vec<&Explained>)> = Vec::new();
    for point in points {
        match locks.iter_mut().find(|(lock, _)| *lock == point.lock) {
            Some((_, rounds)) => rounds.push(point),
            None => locks.push((&point.lock, vec![point])),
        }
    }
    locks.into_iter().map(|(lock, rounds)| Column::new(lock, rounds)).collect()
}

fn table(columns: &[Column]) -> Grid {
    let names: Vec<String> = columns.iter().map(|column| broken(column.lock, 20)).collect();
    let header: Vec<&str> = ["for each operation"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let mut grid = Grid::new(&header, 1);
    let mut row = |name: &str, cell: &dyn Fn(&Column) -> String| {
        grid.row(std::iter::once(name.to_string()).chain(columns.iter().map(cell)).collect());
    };
    for (name, part) in PARTS {
        row(name, &|column| column.with_share(column.of(part)));
    }
    row("all threads together", &|column| column.with_share(column.sum()));
    // Below the figures above, not below their shares.
    row("from one operation to the next", &|column| column.per_op(column.wall_ns) + &" ".repeat(" 100.0%".len()));
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads for 1 us and 10 operations: 2 us to spend.
    fn point(lock: &str, round: u32) -> Explained {
        let row = Row { workload: "w".into(), lock: lock.into(), threads: 2, round, ..Row::default() };
        let row = Row { ops: Some(10), seconds: 1e-6, ..row };
        let spent = Spent {
            work_ps: 500_000,
            transfer_ps: 300_000,
            queue_ps: 10_000,
            pause_ps: 20_000,
            kernel_ps: 30_000,
            ready_ps: 40_000,
            waking_ps: 100_000,
            asleep_ps: 1_000_000,
        };
        Explained::new(&row, spent)
    }

    /// Lines with one space between the words.
    fn lines(text: &str) -> Vec<String> {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<&str>>().join(" ")).collect()
    }

    #[track_caller]
    fn has(text: &str, line: &str) {
        assert!(lines(text).iter().any(|found| found == line), "no {line:?} in\n{text}");
    }

    #[test]
    fn each_part_is_shown_for_an_operation_and_as_a_share() {
        let text = tables(&[point("ondeck", 0)], 100);
        for line in [
            "Where the time goes: w, 2 threads",
            "work 50.0 ns 25.0%",
            "line transfer 30.0 ns 15.0%",
            "queueing for lines 1.00 ns 0.5%",
            "pause 2.00 ns 1.0%",
            "kernel 3.00 ns 1.5%",
            "waiting for a CPU 4.00 ns 2.0%",
            "waking 10.0 ns 5.0%",
            "asleep 100 ns 50.0%",
            "all threads together 200 ns 100.0%",
            "from one operation to the next 100 ns",
        ] {
            has(&text, line);
        }
        has(&text, "- Time of all threads added up, asleep or awake, for each operation of the workload: not how long");
    }

    #[test]
    fn rounds_are_added_up_and_locks_stand_side_by_side() {
        let slow = Explained { ops: Some(5), ..point("tas", 0) };
        let text = tables(&[point("ondeck", 0), slow, point("ondeck", 1)], 100);
        has(&text, "for each operation ondeck tas");
        has(&text, "work 50.0 ns 25.0% 100 ns 25.0%");
        assert_eq!(text.matches("Where the time goes").count(), 1, "{text}");
    }

    #[test]
    fn settings_have_a_table_each_and_nothing_has_none() {
        let other = Explained { threads: 1, ops: None, ..point("ondeck", 0) };
        let text = tables(&[point("ondeck", 0), other], 100);
        assert!(text.contains("Where the time goes: w, 1 thread\n"), "{text}");
        has(&text, "work - 25.0%");
        assert_eq!(tables(&[], 100), "");
    }

    #[test]
    fn no_time_is_left_out() {
        let spent = point("ondeck", 0).spent;
        let sum: f64 = PARTS.iter().map(|(_, part)| part(&spent)).sum();
        assert_eq!(sum, 2000.0);
    }
}
