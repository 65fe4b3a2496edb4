//! `--explain`: where the time of an operation goes.
//!
//! The simulated machine books every picosecond of every thread under what it was spent on. What is shown is the time of
//! all threads, asleep or awake, added up over the measured window and divided by the operations in it. So it is not how
//! long an operation takes: of ten threads, of which nine sleep, the sleeping is nine tenths.

use crate::row::{Row, TimeBreakdown};
use ondeck_kit::Grid;
use ondeck_kit::wording::{broken, duration_ns, wrap};

/// Reads one part of the time.
type Part = fn(&TimeBreakdown) -> f64;

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
const NOTES: [&str; 6] = [
    "The table adds up the time of all threads, awake and asleep. So it is not how long one operation takes.",
    "work: code, and loads that find their cache line. line transfer: cache lines on their way between cores.",
    "queueing for lines: a cache line serves the requests of other cores first.",
    "kernel: system calls, and switches from one thread to another.",
    "waiting for a CPU: the thread could run, but others do. waking: from the wake-up until it runs on a free CPU.",
    "from one operation to the next: the length of the window divided by the operations of all threads.",
];

/// The rounds of one lock in one setting, added up.
struct Column<'a> {
    lock: &'a str,
    ops: u64,
    wall_ns: f64,
    rounds: Vec<&'a Row>,
}

impl<'a> Column<'a> {
    fn new(lock: &'a str, rounds: Vec<&'a Row>) -> Self {
        let ops = rounds.iter().filter_map(|round| round.ops).sum();
        let wall_ns = rounds.iter().map(|round| round.seconds * 1e9).sum();
        Column { lock, ops, wall_ns, rounds }
    }

    fn of(&self, part: Part) -> f64 {
        self.rounds.iter().map(|round| round.spent.as_ref().map_or(0.0, part)).sum()
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
pub fn tables(rows: &[Row], width: usize) -> String {
    let mut text = String::new();
    let mut settings: Vec<(&str, u32)> = Vec::new();
    for row in rows.iter().filter(|row| row.spent.is_some()) {
        let setting = (row.workload.as_str(), row.threads);
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    for (workload, threads) in &settings {
        let of_setting = rows.iter().filter(|row| (row.workload.as_str(), row.threads) == (*workload, *threads));
        text += &format!("Where the time goes: {workload}, {}\n", ondeck_kit::wording::threads(*threads));
        text += &format!("{}\n", table(&columns(of_setting)).render(width));
    }
    if !settings.is_empty() {
        text.extend(NOTES.iter().map(|note| wrap("- ", note, width)));
    }
    text
}

fn columns<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<Column<'a>> {
    let mut locks: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows {
        match locks.iter_mut().find(|(lock, _)| *lock == row.lock) {
            Some((_, rounds)) => rounds.push(row),
            None => locks.push((&row.lock, vec![row])),
        }
    }
    locks.into_iter().map(|(lock, rounds)| Column::new(lock, rounds)).collect()
}

fn table(columns: &[Column]) -> Grid {
    let mut grid = Grid::new(["for each operation"], columns.iter().map(|column| broken(column.lock, 20)));
    let mut row = |name: &str, cell: &dyn Fn(&Column) -> String| {
        grid.row([name.to_string()].into_iter().chain(columns.iter().map(cell)));
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
    fn row(lock: &str, round: u32) -> Row {
        let row = Row { workload: "w".into(), lock: lock.into(), threads: 2, round, ..Row::default() };
        let spent = TimeBreakdown {
            work_ns: 500.0,
            transfer_ns: 300.0,
            queue_ns: 10.0,
            pause_ns: 20.0,
            kernel_ns: 30.0,
            ready_ns: 40.0,
            waking_ns: 100.0,
            asleep_ns: 1_000.0,
        };
        Row { ops: Some(10), seconds: 1e-6, spent: Some(spent), ..row }
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
        let text = tables(&[row("ondeck", 0)], 100);
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
        assert!(text.contains("- The table adds up the time of all threads, awake and asleep."), "{text}");
    }

    #[test]
    fn rounds_are_added_up_and_locks_stand_side_by_side() {
        let slow = Row { ops: Some(5), ..row("tas", 0) };
        let text = tables(&[row("ondeck", 0), slow, row("ondeck", 1)], 100);
        has(&text, "for each operation ondeck tas");
        has(&text, "work 50.0 ns 25.0% 100 ns 25.0%");
        assert_eq!(text.matches("Where the time goes").count(), 1, "{text}");
    }

    #[test]
    fn settings_have_a_table_each_and_nothing_has_none() {
        let other = Row { threads: 1, ops: None, ..row("ondeck", 0) };
        let text = tables(&[row("ondeck", 0), other], 100);
        assert!(text.contains("Where the time goes: w, 1 thread\n"), "{text}");
        has(&text, "work - 25.0%");
        assert_eq!(tables(&[], 100), "");
    }

    #[test]
    fn no_time_is_left_out() {
        let spent = row("ondeck", 0).spent.unwrap();
        let sum: f64 = PARTS.iter().map(|(_, part)| part(&spent)).sum();
        assert_eq!(sum, 2000.0);
    }
}
