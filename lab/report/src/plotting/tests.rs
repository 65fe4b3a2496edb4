//! Charts of small tables of rows, each value checked by hand.

use super::*;
use crate::catalogue::Catalogue;
use crate::made_up::{row, source};
use crate::row::Row;
use ondeck_kit::figure::{Point, Scale};

fn charts_of(sources: &[Source]) -> Charts {
    figures(sources, &Catalogue::default())
}

fn charts(rows: Vec<Row>) -> Charts {
    charts_of(&[source("a.csv", rows)])
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
    Point { x, y, spread: Some((low, high)), ..Point::default() }
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
fn throughput_is_shown_over_threads() {
    let charts = charts(three_rounds());
    assert_eq!(ids(&charts), ["mutex-contention-throughput"], "nothing else was measured");
    let figure = &charts.figures[0];
    let names: Vec<(&str, usize)> = figure.series.iter().map(|series| (series.name.as_str(), series.style)).collect();
    assert_eq!(names, [("ondeck", 0), ("std", 1)], "the flagship comes first, whatever the order of rows");
    assert_eq!(
        (figure.title.as_str(), figure.y.label.as_str()),
        ("mutex-contention: throughput", "operations a second")
    );
    assert_eq!((&figure.x.scale, &figure.y.scale), (&Scale::Log, &Scale::Linear));
    assert_eq!(figure.x.ticks, [1.0, 2.0, 4.0]);
    assert_eq!(figure.series[0].points[1], spread(4.0, 36e6, 18e6, 36e6));
    // 12, 6, 12 and 48 million.
    assert_eq!(figure.series[1].points[2], spread(4.0, 12e6, 6e6, 48e6));
    assert_eq!(figure.caption, "A point is the median of 3 to 4 rounds; the band or whisker spans them.");
    assert_eq!(
        figure.text,
        "Operations a second. ondeck: 40.0 M at 1 thread, 36.0 M at 4 threads. std: 60.0 M at 1 thread, lowest 6.00 M at \
         2 threads, 12.0 M at 4 threads."
    );
    assert_eq!(charts.left_out, None);
}

#[test]
fn waits_are_shown_over_threads() {
    let at = |threads, ns| Row { wait_p99_ns: Some(ns), ..row("gc-wait/scan", "std", threads, 0, 1.0) };
    let charts = charts(vec![at(2, 7e2), at(4, 1e6), at(8, 1e3)]);
    assert_eq!(ids(&charts), ["gc-wait-scan-waits"], "its throughput says nothing");
    let figure = &charts.figures[0];
    assert_eq!((figure.y.unit, &figure.y.scale), (Unit::Ns, &Scale::Log));
    assert_eq!(figure.series[0].points[0], Point { x: 2.0, y: 7e2, spread: None, ..Point::default() });
    assert_eq!(figure.caption, "A point is one round: no spread.");
    assert_eq!(
        figure.text,
        "Wait that 99 of 100 did not exceed. std: 700 ns at 2 threads, highest 1.00 ms at 4 threads, 1.00 us at 8 threads."
    );
}

#[test]
fn one_number_of_threads_makes_no_chart() {
    let rows = vec![row("w", "std", 8, 0, 3.0), row("w", "x", 8, 0, 4.0), row("solo", "x", 1, 0, 4.0)];
    assert_eq!(charts(rows.clone()), Charts { figures: Vec::new(), left_out: None });
    let other = vec![row("w", "std", 4, 0, 3.0)];
    let charts = charts_of(&[source("a.csv", rows), source("b.csv", other)]);
    assert_eq!(ids(&charts), ["w-throughput"], "files are laid over each other");
}

#[test]
fn monitors_are_shown_in_the_unit_of_their_original() {
    let charts = charts([1, 2].map(|threads| row("monitor-throughput", "std", threads, 0, 5.0)).to_vec());
    let figure = figure(&charts, "monitor-throughput-throughput");
    assert_eq!((figure.y.label.as_str(), figure.series[0].points[0].y), ("operations a millisecond", 5e3));
}

#[test]
fn axes_are_logarithmic_only_where_every_number_can_be_drawn() {
    let waits = |figures: [f64; 2]| {
        let at = |(round, figure): (u32, f64)| {
            let row = row("mutex-contention", "std", 2 + 2 * round, 0, 1.0);
            Row { wait_p99_ns: Some(figure), ..row }
        };
        let charts = charts((0..).zip(figures).map(at).collect());
        figure(&charts, "mutex-contention-waits").y.scale.clone()
    };
    assert_eq!(waits([20.0, 400_000.0]), Scale::Log);
    assert_eq!(waits([20.0, 400.0]), Scale::Linear);
    assert_eq!(waits([0.0, 400_000.0]), Scale::Linear, "zero has no logarithm");
    assert_eq!(waits([-1.0, 400_000.0]), Scale::Linear, "nor has what is below");
    let charts = charts(vec![row("w", "std", 0, 0, 1.0), row("w", "std", 2, 0, 1.0)]);
    assert_eq!(figure(&charts, "w-throughput").x.scale, Scale::Linear, "no threads have no logarithm");
}

#[test]
fn a_low_end_of_zero_makes_an_axis_linear() {
    let at = |threads, round, ns| Row { wait_p99_ns: Some(ns), ..row("w", "std", threads, round, 1.0) };
    let charts = charts(vec![at(2, 0, 1e3), at(2, 1, 0.0), at(2, 2, 2e3), at(4, 0, 1e9)]);
    let figure = figure(&charts, "w-waits");
    assert_eq!(figure.series[0].points[0], spread(2.0, 1e3, 0.0, 2e3));
    assert_eq!(figure.y.scale, Scale::Linear);
}

#[test]
fn no_rows_no_charts() {
    assert_eq!(charts(Vec::new()), Charts { figures: Vec::new(), left_out: None });
    assert_eq!(charts_of(&[]), Charts { figures: Vec::new(), left_out: None });
    let empty = Row { workload: "w".into(), lock: "std".into(), threads: 2, ..Row::default() };
    assert_eq!(ids(&charts(vec![empty])), Vec::<&str>::new());
}

#[test]
fn figures_that_are_not_numbers_are_no_points() {
    let row = |threads, round, figure| Row { ops_per_s: Some(figure), ..row("w", "std", threads, round, 1.0) };
    let charts = charts(vec![row(2, 0, f64::NAN), row(2, 1, f64::INFINITY), row(2, 2, 1e300), row(4, 0, f64::NAN)]);
    assert_eq!(charts.figures[0].series[0].points, [Point { x: 2.0, y: 1e300, spread: None, ..Point::default() }]);
    assert!(charts.figures[0].text.contains("std: 1.00e300 at 2 threads."), "{}", charts.figures[0].text);
}

#[test]
fn files_are_laid_over_each_other() {
    let one = [row("w", "b", 2, 0, 1.0), row("w", "a", 2, 0, 1.0)];
    let two = [row("w", "c", 2, 0, 1.0), row("w", "a", 4, 0, 1.0), row("w", "ondeck", 2, 0, 1.0)];
    let charts = charts_of(&[source("one.csv", one.to_vec()), source("two.csv", two.to_vec())]);
    let series = &figure(&charts, "w-throughput").series;
    let legend: Vec<(&str, usize, usize)> =
        series.iter().map(|series| (series.name.as_str(), series.style, series.source)).collect();
    assert_eq!(
        legend,
        [
            ("ondeck (two.csv)", 0, 1),
            ("b (one.csv)", 1, 0),
            ("a (one.csv)", 2, 0),
            ("a (two.csv)", 2, 1),
            ("c (two.csv)", 3, 1),
        ]
    );
}

#[test]
fn a_lock_with_a_tuning_is_a_lock_of_its_own() {
    let charts = charts(vec![row("w", "ondeck[idle_ns=300]", 2, 0, 1.0), row("w", "ondeck", 4, 0, 1.0)]);
    let styles: Vec<(&str, usize)> =
        charts.figures[0].series.iter().map(|series| (series.name.as_str(), series.style)).collect();
    assert_eq!(styles, [("ondeck", 0), ("ondeck[idle_ns=300]", 1)]);
}

#[test]
fn captions_say_what_is_computed() {
    let rows = || [1, 2].map(|threads| row("w", "std", threads, 0, 1.0)).to_vec();
    let simulated = |machine: &str| {
        let simulated = |row: Row| Row { platform: "sim".into(), machine: machine.into(), ..row };
        source(machine, rows().into_iter().map(simulated).collect())
    };
    let hardware = source("here", rows());
    let caption = |sources: &[Source]| charts_of(sources).figures[0].caption.clone();
    let said = caption(&[simulated("m1")]);
    assert!(said.starts_with("Computed for a simulated m1, not measured. A point is"), "{said}");
    let said = caption(&[simulated("rpi5"), simulated("m1")]);
    assert!(said.contains("Computed for a simulated m1 and a simulated rpi5, not measured."), "{said}");
    let said = caption(&[hardware.clone(), simulated("m1")]);
    assert!(said.starts_with("Partly measured, and partly computed for a simulated m1. A point is"), "{said}");
    assert!(!caption(&[hardware]).contains("Computed"));
}

#[test]
fn too_many_locks_are_counted_in_the_caption() {
    let rows: Vec<Row> = (0..300).map(|lock| row("w", &format!("lock-{lock}"), 2 + lock % 2, 0, 1.0)).collect();
    let charts = charts(rows);
    assert_eq!(charts.figures[0].series.len(), MOST_SERIES);
    let caption = &charts.figures[0].caption;
    assert!(caption.ends_with("Not shown: 276 of 300 series; ondeck report --markdown has all."), "{caption}");
}

#[test]
fn too_many_charts_are_counted() {
    let workload = |n: u32| [1, 2].map(|threads| row(&format!("w{n:03}"), "std", threads, 0, 1.0));
    let charts = charts((0..80).flat_map(workload).collect());
    let expected: Vec<String> = (0..MOST_CHARTS).map(|n| format!("w{n:03}-throughput")).collect();
    assert_eq!(ids(&charts), expected);
    assert!(charts.left_out.unwrap().starts_with("20 charts are left out"));
}

#[test]
fn ids_are_unique_and_fit_for_files() {
    let names = ["a/b", "a-b", "A B", "<script>", "שלום", "עולם"];
    let rows = names.iter().flat_map(|name| [1, 2].map(|threads| row(name, "std", threads, 0, 1.0)));
    let charts = charts(rows.collect());
    let expected = ["a-b-throughput", "a-b-throughput-2", "a-b-throughput-3", "script-throughput"];
    assert_eq!(ids(&charts)[..4], expected);
    assert_eq!(ids(&charts)[4..], ["workload-throughput", "workload-throughput-2"]);
}

/// Long names, many locks, workloads and numbers of threads, two files: no part of it makes the report large.
#[test]
fn a_report_stays_small_whatever_the_rows() {
    let full = |(n, row): (usize, Row)| {
        let row = Row { cpus: Some(1.0 / (n + 1) as f64), ctx_switches_per_s: Some(n as f64 / 3.0), ..row };
        let row = Row { jain: Some(0.1), min_share: Some(1.0 / 3.0), wait_p50_ns: Some(n as f64), ..row };
        Row { wait_p99_ns: Some(1e300), wait_max_ns: Some(1e300), streak_p90_ns: Some(1e-300), ..row }
    };
    let mut rows = Vec::new();
    for n in 0..4_000_u32 {
        let (lock, workload) =
            (format!("{}{}", "lock".repeat(300), n % 50), format!("{}{}", "work".repeat(300), n % 70));
        rows.push(row(&workload, &lock, n % 40, n % 3, f64::from(n) / 7.0));
    }
    let rows: Vec<Row> = rows.into_iter().enumerate().map(full).collect();
    let charts = charts_of(&[source(&"one".repeat(300), rows.clone()), source(&"two".repeat(300), rows)]);
    assert!(charts.figures.len() <= MOST_CHARTS && charts.left_out.is_some());
    let drawn = |figure: &Figure| crate::drawing::chart_in_page(figure, &figure.xs()).svg.len();
    let size: usize = charts.figures.iter().map(drawn).sum();
    assert!(size < 1_000_000, "{size} bytes");
}

#[test]
fn a_file_is_named_beside_a_lock_only_where_there_are_several() {
    let rows = || [1, 2].map(|threads| row("w", "std", threads, 0, 10.0)).to_vec();
    let names = |sources: &[Source]| -> Vec<String> {
        charts_of(sources).figures[0].series.iter().map(|series| series.name.clone()).collect()
    };
    assert_eq!(names(&[source("a.csv", rows()), source("b.csv", rows())]), ["std (a.csv)", "std (b.csv)"]);
    assert_eq!(names(&[source("a.csv", rows())]), ["std"]);
}

#[test]
fn with_more_series_than_colours_only_the_flagship_and_the_best_have_one() {
    let quiet_of = |n: u32| {
        let locks = (1..n).map(|lock| (format!("lock{lock}"), f64::from(lock))).chain([("ondeck".to_string(), 2.5)]);
        let rows = locks.flat_map(|(lock, mega)| {
            // At the last number of threads, lock 3 is the best.
            let last = if lock == "lock3" { 100.0 } else { mega };
            [row("w", &lock, 1, 0, mega), row("w", &lock, 8, 0, last)]
        });
        let charts = charts(rows.collect());
        let series = figure(&charts, "w-throughput").series.clone();
        series.into_iter().filter(|one| !one.quiet).map(|one| one.name).collect::<Vec<String>>()
    };
    assert_eq!(quiet_of(8).len(), 8, "each has a colour");
    let mut loud = quiet_of(12);
    loud.sort();
    assert_eq!(loud, ["lock3", "ondeck"]);
}

/// Two files of five locks need five colours.
#[test]
fn few_locks_of_two_files_keep_their_colours() {
    let locks = || (0..5).map(|lock| format!("lock{lock}"));
    let five = || locks().flat_map(|lock| [row("w", &lock, 1, 0, 1.0), row("w", &lock, 2, 0, 1.0)]).collect();
    let two_files = charts_of(&[source("a.csv", five()), source("b.csv", five())]);
    assert!(two_files.figures.iter().flat_map(|figure| &figure.series).all(|one| !one.quiet));
}
