//! Reports of many rows, however they are spread over workloads, locks, numbers of threads and rounds, take a time in
//! proportion to the rows. Something that goes through all pairs of 10,000 takes half a minute here, or all of the memory.

use ondeck_report::catalogue::Catalogue;
use ondeck_report::document::Document;
use ondeck_report::drawing::svg;
use ondeck_report::html::page;
use ondeck_report::inputs::Source;
use ondeck_report::markdown::markdown;
use ondeck_report::output::Results;
use ondeck_report::row::Row;
use std::time::Duration;

const ROWS: u32 = 10_000;
const HALF: usize = ROWS as usize / 2;
/// What each report took on a slow machine without optimization was below 4 s; the rest is for worse machines.
const LIMIT: Duration = Duration::from_secs(15);

/// What this thread has computed, whatever else runs on the machine.
fn worked() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes a time that is ours.
    let answer = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(answer, 0, "the clock is there");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn row(workload: &str, lock: &str, threads: u32, round: u32) -> Row {
    let row =
        Row { platform: "hardware".into(), machine: "toy-4c".into(), workload: workload.into(), ..Row::default() };
    let row = Row { lock: lock.into(), threads, round, seconds: 0.1, ..row };
    let figure = Some(f64::from(threads % 7 + round % 5 + 1) * 1e6);
    let row = Row { ops_per_s: figure, ns_per_op: figure, cpus: figure, ctx_switches_per_s: figure, ..row };
    Row { jain: figure, min_share: figure, wait_p99_ns: figure, wait_max_ns: figure, ..row }
}

/// Makes every form of the report; gives the tables.
fn report(files: &[&[Row]]) -> String {
    let begin = worked();
    let source = |(n, rows): (usize, &&[Row])| Source {
        label: format!("{n}.csv"),
        results: Results { rows: rows.to_vec(), ..Results::default() },
        notes: Vec::new(),
    };
    let sources: Vec<Source> = files.iter().enumerate().map(source).collect();
    let catalogue = Catalogue::new(&[], &[], &["std"]);
    let document = Document::new(&sources, &catalogue);
    let text = markdown(&sources, &document, &catalogue);
    let size = page(&document).len() + document.figures.iter().map(|figure| svg(figure).len()).sum::<usize>();
    assert!(size > 10_000);
    let took = worked() - begin;
    assert!(took < LIMIT, "{took:?}");
    text
}

fn rows(of: impl Fn(u32) -> Row) -> Vec<Row> {
    (0..ROWS).map(of).collect()
}

#[test]
fn many_workloads() {
    let text =
        report(&[&rows(|n| row(&format!("sections/cs{}-out1", n / 2), ["ondeck", "std"][n as usize % 2], 2, 0))]);
    assert_eq!(text.matches("| M/s |").count(), HALF);
}

#[test]
fn many_locks() {
    let text = report(&[&rows(|n| row("w", &format!("lock{}", n / 2), 1 + n % 2, 0))]);
    assert_eq!(text.lines().find(|line| line.starts_with("| w | 1 | M/s |")).unwrap().matches('|').count(), HALF + 4);
}

#[test]
fn many_numbers_of_threads() {
    let text = report(&[&rows(|n| row("w", ["ondeck", "std"][n as usize % 2], 1 + n / 2, 0))]);
    assert_eq!(text.matches("| M/s |").count(), HALF);
}

#[test]
fn many_rounds() {
    let text = report(&[&rows(|n| row("w", ["ondeck", "std"][n as usize % 2], 2, n / 2))]);
    assert!(text.contains(&format!("median of {HALF} rounds")));
}

#[test]
fn many_workloads_and_locks_that_never_meet() {
    let text = report(&[&rows(|n| row(&format!("w{n}"), &format!("lock{n}"), 2, 0))]);
    assert_eq!(text.matches("| M/s |").count(), 2 * HALF);
}

#[test]
fn many_numbers_of_threads_and_locks_that_never_meet() {
    let text = report(&[&rows(|n| row("w", &format!("lock{n}"), n + 1, 0))]);
    assert_eq!(text.matches("| M/s |").count(), 2 * HALF);
}

#[test]
fn many_phases() {
    let text = report(&[&rows(|n| row(["spike/during", "spike/before"][n as usize % 2], "std", 2 + n / 2, 0))]);
    assert_eq!(text.matches("| spike/before |").count(), 4 * HALF);
    let phase = |n| ["spike/after", "spike/before", "spike/during"][n as usize % 3];
    let text = report(&[&rows(|n| row(phase(n), "std", 2 + n / 3, 0))]);
    assert!(text.find("| spike/during |") < text.find("| spike/after |"));
}

#[test]
fn many_changes() {
    let old = rows(|n| row("w", &format!("lock{}", n / 8), 2, n % 8));
    let text = report(&[&old, &old]);
    assert_eq!(text.matches("p=1.000 n=8").count(), 3 * HALF / 4);
    let other = rows(|n| row(&format!("w{n}"), "std", 2, 0));
    let text = report(&[&old, &other]);
    assert!(text.contains(&format!("- only in 1.csv: {} more\n", ROWS - 20)), "no end of what only one file has");
}
