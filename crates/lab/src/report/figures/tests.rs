//! Charts of small tables of rows, each value checked by hand.

use super::*;
use crate::output::Results;
use crate::report::figure::{Form, Point, Scale};
use crate::row::Row;

/// A row of one round in which the lock did so many million operations a second.
fn row(workload: &str, lock: &str, threads: u32, round: u32, mega: f64) -> Row {
    let row =
        Row { platform: "hardware".into(), machine: "toy-4c".into(), workload: workload.into(), ..Row::default() };
    let row = Row { lock: lock.into(), threads, round, ..row };
    Row { ops_per_s: Some(mega * 1e6), ns_per_op: Some(1e3 / mega), ..row }
}

fn source(label: &str, rows: Vec<Row>) -> Source {
    Source { label: label.into(), results: Results { rows, ..Results::default() }, notes: Vec::new() }
}

fn charts(rows: Vec<Row>) -> Charts {
    figures(&[source("a.csv", rows)])
}

#[track_caller]
fn figure<'a>(charts: &'a Charts, id: &str) -> &'a Figure {
    let ids: Vec<&str> = charts.figures.iter().map(|figure| figure.id.as_str()).collect();
    charts.figures.iter().find(|figure| figure.id == id).unwrap_or_else(|| panic!("no {id} in {ids:?}"))
}

fn ids(charts: &Charts) -> Vec<&str> {
    charts.figures.iter().map(|figure| figure.id.as_str()).collect()
}

fn spread(x: f64, y: f64, low: f64, high: f64) -> Point {
    Point { x, y, spread: Some((low, high)) }
}

/// Two locks, 1, 2 and 4 threads, three rounds, the second at half speed for all: the ratios do not show it.
fn three_rounds() -> Vec<Row> {
    let mut rows = Vec::new();
    for (round, speed) in [(0, 1.0), (1, 0.5), (2, 1.0)] {
        for (lock, threads, mega) in
            [("std", 1, 60.0), ("std", 2, 6.0), ("std", 4, 12.0), ("ondeck", 1, 40.0), ("ondeck", 4, 36.0)]
        {
            rows.push(row("mutex-contention", lock, threads, round, mega * speed));
        }
    }
    // One round more of one cell: 48 of 60 million, a ratio of 0.8 where the others have 0.2.
    rows.push(row("mutex-contention", "std", 4, 3, 48.0));
    rows.push(row("mutex-contention", "std", 1, 3, 60.0));
    rows
}

#[test]
fn throughput_relative_to_one_thread_is_formed_within_rounds() {
    let charts = charts(three_rounds());
    let figure = figure(&charts, "mutex-contention-relative");
    let names: Vec<(&str, usize)> = figure.series.iter().map(|series| (series.name.as_str(), series.style)).collect();
    assert_eq!(names, [("ondeck", 0), ("std", 1)], "the flagship comes first, whatever the order of rows");
    assert_eq!(figure.series[0].points, [spread(1.0, 1.0, 1.0, 1.0), spread(4.0, 0.9, 0.9, 0.9)]);
    assert_eq!(
        figure.series[1].points,
        [spread(1.0, 1.0, 1.0, 1.0), spread(2.0, 0.1, 0.1, 0.1), spread(4.0, 0.2, 0.2, 0.8)]
    );
    assert_eq!((figure.form, &figure.x.scale, &figure.y.scale), (Form::Lines, &Scale::Log, &Scale::Linear));
    assert_eq!(figure.x.ticks, [1.0, 2.0, 4.0]);
    assert_eq!(figure.mark, Some((1.0, "one thread".to_string())));
    assert!(figure.caption.ends_with("A point is the median of 3 to 4 rounds; the band spans them."), "{figure:?}");
    assert_eq!(
        figure.text,
        "Throughput relative to one thread. ondeck: 1.00 at 1 thread, 0.90 at 4 threads. std: 1.00 at 1 thread, lowest \
         0.10 at 2 threads, 0.20 at 4 threads."
    );
}

#[test]
fn throughput_is_absolute_too() {
    let charts = charts(three_rounds());
    let figure = figure(&charts, "mutex-contention-throughput");
    assert_eq!(figure.y.label, "operations a second");
    assert_eq!(figure.series[0].points[1], spread(4.0, 36e6, 18e6, 36e6));
    // 12, 6, 12 and 48 million.
    assert_eq!(figure.series[1].points[2], spread(4.0, 12e6, 6e6, 48e6));
    assert!(
        figure.text.contains("std: 60.0 M at 1 thread, lowest 6.00 M at 2 threads, 12.0 M at 4"),
        "{}",
        figure.text
    );
    assert_eq!(ids(&charts), ["mutex-contention-relative", "mutex-contention-throughput"], "nothing else was measured");
    assert_eq!(charts.left_out, None);
}

#[test]
fn monitors_are_shown_in_the_unit_of_their_original() {
    let charts = charts(vec![row("monitor-throughput", "std", 2, 0, 5.0)]);
    let figure = figure(&charts, "monitor-throughput-throughput");
    assert_eq!((figure.y.label.as_str(), figure.series[0].points[0].y), ("operations a millisecond", 5e3));
}

#[test]
fn one_number_of_threads_makes_bars_and_one_round_no_spread() {
    let charts = charts(vec![row("sections/cs1-out2", "std", 8, 0, 3.0), row("sections/cs1-out2", "x", 8, 0, 4.0)]);
    assert_eq!(ids(&charts), ["sections-cs1-out2-throughput"]);
    let figure = &charts.figures[0];
    assert_eq!(figure.form, Form::Bars);
    assert_eq!(figure.x.scale, Scale::Names { names: vec!["8 threads".into()] });
    assert_eq!(figure.series[0].points, [Point { x: 0.0, y: 3e6, spread: None }]);
    assert_eq!(figure.caption, "A bar is one round: no spread.");
    assert_eq!(figure.text, "Operations a second. 8 threads: std 3.00 M, x 4.00 M.");
}

#[test]
fn costs_shares_and_waits_are_shown_where_threads_contend() {
    let cost = |row: Row| {
        let row = Row { cpus: Some(f64::from(row.threads)), ctx_switches_per_s: Some(0.0), ..row };
        Row { jain: Some(0.9), min_share: Some(0.5), wait_max_ns: Some(2e6), wait_p99_ns: Some(1e3), ..row }
    };
    let at = |workload: &str, threads| cost(row(workload, "std", threads, 0, 1.0));
    let charts = charts(vec![at("solo", 1), at("mutex-capture", 1), at("mutex-capture", 4)]);
    assert_eq!(
        ids(&charts),
        [
            "solo-time",
            "solo-quantiles",
            "mutex-capture-relative",
            "mutex-capture-throughput",
            "mutex-capture-cpus",
            "mutex-capture-switches",
            "mutex-capture-4-threads-quantiles",
            "mutex-capture-longest-wait",
            "mutex-capture-smallest-share",
            "mutex-capture-jain",
        ]
    );
}

#[test]
fn axes_are_logarithmic_only_where_every_number_can_be_drawn() {
    let switches = |figures: [f64; 2]| {
        let at = |(round, figure): (u32, f64)| {
            let row = row("mutex-contention", "std", 2 + 2 * round, 0, 1.0);
            Row { ctx_switches_per_s: Some(figure), ..row }
        };
        let charts = charts((0..).zip(figures).map(at).collect());
        figure(&charts, "mutex-contention-switches").y.scale.clone()
    };
    assert_eq!(switches([20.0, 400_000.0]), Scale::Log);
    assert_eq!(switches([20.0, 400.0]), Scale::Linear);
    assert_eq!(switches([0.0, 400_000.0]), Scale::Linear, "zero has no logarithm");
    assert_eq!(switches([-1.0, 400_000.0]), Scale::Linear, "nor has what is below");
    let charts = charts(vec![row("w", "std", 0, 0, 1.0), row("w", "std", 2, 0, 1.0)]);
    assert_eq!(figure(&charts, "w-throughput").x.scale, Scale::Linear, "no threads have no logarithm");
}

#[test]
fn a_low_end_of_zero_makes_an_axis_linear() {
    let at = |threads, round, ns| Row { wait_max_ns: Some(ns), ..row("w", "std", threads, round, 1.0) };
    let charts = charts(vec![at(2, 0, 1e3), at(2, 1, 0.0), at(2, 2, 2e3), at(4, 0, 1e9)]);
    let figure = figure(&charts, "w-longest-wait");
    assert_eq!(figure.series[0].points[0], spread(2.0, 1e3, 0.0, 2e3));
    assert_eq!(figure.y.scale, Scale::Linear);
}

#[test]
fn quantiles_are_those_with_most_threads() {
    let waits = |row: Row, ns: f64| {
        let row = Row { wait_p50_ns: Some(ns), wait_p99_ns: Some(ns * 10.0), ..row };
        Row { wait_p999_ns: Some(ns * 50.0), wait_max_ns: Some(ns * 1e3), ..row }
    };
    let mut rows = vec![waits(row("w", "std", 2, 0, 1.0), 7.0), row("w", "std", 64, 0, 1.0)];
    rows.extend((0..3).map(|round| waits(row("w", "std", 16, round, 1.0), f64::from(round + 1) * 100.0)));
    let charts = charts(rows);
    let figure = figure(&charts, "w-16-threads-quantiles");
    assert_eq!(figure.title, "w, 16 threads: waiting time");
    let names = ["p50", "p99", "p99.9", "longest"].map(String::from).to_vec();
    assert_eq!((&figure.x.scale, &figure.y.scale), (&Scale::Names { names }, &Scale::Log));
    assert_eq!(figure.series[0].points[1], spread(1.0, 2e3, 1e3, 3e3));
    assert!(figure.text.ends_with("std: p50 200 ns, p99 2.00 us, p99.9 10.0 us, longest 200 us."), "{}", figure.text);
}

#[test]
fn hand_offs_stand_side_by_side() {
    let rows = vec![row("handoff-slow", "std", 2, 0, 0.1), row("handoff-fast", "std", 2, 0, 4.0)];
    let charts = charts(rows);
    assert_eq!(ids(&charts), ["handoff-time"]);
    let figure = &charts.figures[0];
    assert_eq!(figure.form, Form::Bars);
    let mut bars: Vec<(String, f64)> = Vec::new();
    let Scale::Names { names } = &figure.x.scale else { panic!("{:?}", figure.x.scale) };
    for point in &figure.series[0].points {
        bars.push((names[point.x as usize].clone(), point.y));
    }
    bars.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(bars, [("handoff-fast".to_string(), 250.0), ("handoff-slow".to_string(), 1e4)]);
}

#[test]
fn a_spike_is_one_chart_in_the_order_of_time() {
    let mut rows = Vec::new();
    for (round, speed) in [(0, 1.0), (1, 2.0)] {
        for (phase, threads, mega) in [("during", 66, 5.0), ("after", 2, 9.0), ("before", 2, 10.0)] {
            rows.push(row(&format!("spike/{phase}"), "std", threads, round, mega * speed));
        }
    }
    let charts = charts(rows);
    assert_eq!(ids(&charts), ["spike-on-2-threads-relative", "spike-on-2-threads-throughput"]);
    let (relative, absolute) = (&charts.figures[0], &charts.figures[1]);
    let names = ["before (2 threads)", "during (66 threads)", "after (2 threads)"].map(String::from).to_vec();
    assert_eq!(relative.x.scale, Scale::Names { names });
    let expected = [spread(0.0, 1.0, 1.0, 1.0), spread(1.0, 0.5, 0.5, 0.5), spread(2.0, 0.9, 0.9, 0.9)];
    assert_eq!(relative.series[0].points, expected);
    assert_eq!(absolute.series[0].points[1], spread(1.0, 7.5e6, 5e6, 10e6));
}

#[test]
fn what_has_no_such_figure_is_named() {
    let rows = vec![row("w", "std", 1, 0, 1.0), row("w", "std", 2, 0, 1.0), row("w", "late", 2, 0, 1.0)];
    let charts = charts(rows);
    let text = &figure(&charts, "w-relative").text;
    assert!(text.ends_with("Without such a figure: late."), "{text}");
    assert_eq!(figure(&charts, "w-throughput").series.len(), 2);
}

#[test]
fn no_rows_no_charts() {
    assert_eq!(charts(Vec::new()), Charts { figures: Vec::new(), left_out: None });
    assert_eq!(figures(&[]), Charts { figures: Vec::new(), left_out: None });
    let empty = Row { workload: "w".into(), lock: "std".into(), threads: 2, ..Row::default() };
    assert_eq!(ids(&charts(vec![empty])), Vec::<&str>::new());
}

#[test]
fn figures_that_are_not_numbers_are_no_points() {
    let row = |round, figure| Row { ops_per_s: Some(figure), ..row("w", "std", 2, round, 1.0) };
    let charts = charts(vec![row(0, f64::NAN), row(1, f64::INFINITY), row(2, 1e300)]);
    assert_eq!(charts.figures[0].series[0].points, [Point { x: 0.0, y: 1e300, spread: None }]);
    assert!(charts.figures[0].text.contains("std 1.00e300"), "{}", charts.figures[0].text);
}
