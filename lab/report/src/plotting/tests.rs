//! Charts of small tables of rows, each value checked by hand.

use super::*;
use crate::catalogue::Catalogue;
use crate::made_up::{rounds, row, source};
use crate::row::Row;
use ondeck_kit::figure::{Form, Point, Scale};

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
    assert!(
        figure.caption.ends_with("A point is the median of 3 to 4 rounds; the band or whisker spans them."),
        "{figure:?}"
    );
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
    assert_eq!(ids(&charts), ["mutex-contention-throughput", "mutex-contention-relative"], "nothing else was measured");
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
    assert_eq!(figure.series[0].points, [Point { x: 0.0, y: 3e6, spread: None, ..Point::default() }]);
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
            "mutex-capture-throughput",
            "solo-time",
            "solo-quantiles",
            "mutex-capture-relative",
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
    assert_eq!(ids(&charts), ["spike-on-2-threads-throughput", "spike-on-2-threads-relative"]);
    let (absolute, relative) = (&charts.figures[0], &charts.figures[1]);
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
    assert_eq!(charts_of(&[]), Charts { figures: Vec::new(), left_out: None });
    let empty = Row { workload: "w".into(), lock: "std".into(), threads: 2, ..Row::default() };
    assert_eq!(ids(&charts(vec![empty])), Vec::<&str>::new());
}

#[test]
fn figures_that_are_not_numbers_are_no_points() {
    let row = |round, figure| Row { ops_per_s: Some(figure), ..row("w", "std", 2, round, 1.0) };
    let charts = charts(vec![row(0, f64::NAN), row(1, f64::INFINITY), row(2, 1e300)]);
    assert_eq!(charts.figures[0].series[0].points, [Point { x: 0.0, y: 1e300, spread: None, ..Point::default() }]);
    assert!(charts.figures[0].text.contains("std 1.00e300"), "{}", charts.figures[0].text);
}

#[test]
fn files_are_laid_over_each_other() {
    let one = [row("w", "b", 2, 0, 1.0), row("w", "a", 2, 0, 1.0)];
    let two = [row("w", "c", 2, 0, 1.0), row("w", "a", 2, 0, 1.0), row("w", "ondeck", 2, 0, 1.0)];
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
    let charts = charts(vec![row("w", "ondeck[idle_ns=300]", 2, 0, 1.0), row("w", "ondeck", 2, 0, 1.0)]);
    let styles: Vec<(&str, usize)> =
        charts.figures[0].series.iter().map(|series| (series.name.as_str(), series.style)).collect();
    assert_eq!(styles, [("ondeck", 0), ("ondeck[idle_ns=300]", 1)]);
}

/// 4 against 4 rounds: wholly apart gives p = 2/70, mixed gives more than 0.05.
#[test]
fn changes_say_where_no_difference_can_be_told() {
    let old = [rounds("w", "std", 1, &[10.0, 11.0, 12.0, 13.0]), rounds("w", "std", 2, &[10.0, 11.0, 12.0, 13.0])];
    let new = [rounds("w", "std", 1, &[20.0, 22.0, 24.0, 26.0]), rounds("w", "std", 2, &[9.0, 11.5, 12.5, 14.0])];
    let charts = charts_of(&[source("old.csv", old.concat()), source("new.csv", new.concat())]);
    let figure = figure(&charts, "w-change");
    assert_eq!(figure.title, "w: new.csv / old.csv");
    assert_eq!((figure.series.len(), figure.series[0].source, figure.form), (1, 1, Form::Lines));
    assert_eq!(
        figure.series[0].points,
        [spread(1.0, 23.0 / 11.5, 20.0 / 13.0, 26.0 / 10.0), spread(2.0, 12.0 / 11.5, 9.0 / 13.0, 14.0 / 10.0)]
    );
    assert_eq!(
        figure.text,
        "Throughput, new.csv / old.csv. std: 2.00 at 1 thread, 1.04 at 2 threads. Perhaps only noise (p > 0.05): \
         std (2 threads)."
    );
}

#[test]
fn changes_of_single_settings_stand_side_by_side() {
    let file = |speed: f64| {
        let mut rows = rounds("spike/before", "std", 2, &[10.0 * speed]);
        rows.extend(rounds("sections/cs1-out2", "std", 8, &[1.0]));
        rows.extend(rounds("solo", "std", 1, &[50.0 * speed]));
        rows.extend(rounds("handoff-fast", "std", 2, &[5.0]));
        rows
    };
    let files = [source("old.csv", file(1.0)), source("mid.csv", file(2.0)), source("new.csv", file(4.0))];
    let charts = figures(&files, &Catalogue::new(&["solo", "handoff-fast", "sections", "spike"], &[], &[]));
    let speeds = figure(&charts, "throughput-change");
    let names = |figure: &Figure| match &figure.x.scale {
        Scale::Names { names } => names.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(names(speeds), ["sections/cs1-out2, 8 threads", "spike/before, 2 threads"]);
    let legend: Vec<&str> = speeds.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(legend, ["std (mid.csv)", "std (new.csv)"]);
    assert_eq!(speeds.series[1].points[1], Point { x: 1.0, y: 4.0, spread: None, ..Point::default() });
    let times = figure(&charts, "time-change");
    assert_eq!(names(times), ["solo", "handoff-fast"]);
    assert_eq!(times.series[0].points[0].y, 0.5);
    assert!(times.text.contains("Where a file has fewer than 4 rounds, no difference can show."), "{}", times.text);
}

#[test]
fn other_machines_are_named_and_other_platforms_not_compared() {
    let on = |platform: &str, machine: &str| {
        let move_to = |row: Row| Row { platform: platform.into(), machine: machine.into(), ..row };
        rounds("w", "std", 2, &[1.0]).into_iter().map(move_to).collect::<Vec<Row>>()
    };
    let pair = |other| charts_of(&[source("a", on("hardware", "toy-4c")), source("b", other)]);
    let charts = pair(on("hardware", "big"));
    let text = &figure(&charts, "throughput-change").text;
    assert!(text.ends_with("The machines differ: toy-4c and big."), "{text}");
    assert_eq!(ids(&pair(on("sim", "toy-4c"))), ["w-throughput"]);
}

#[test]
fn captions_say_what_is_computed() {
    let simulated = |machine: &str| {
        let row = row("solo", "std", 1, 0, 1.0);
        source(machine, vec![Row { platform: "sim".into(), machine: machine.into(), ..row }])
    };
    let hardware = source("here", vec![row("solo", "std", 1, 0, 1.0)]);
    let caption = |sources: &[Source]| charts_of(sources).figures[0].caption.clone();
    let said = caption(&[simulated("m1")]);
    assert!(said.starts_with("Computed for a simulated m1, not measured. A bar is"), "{said}");
    let said = caption(&[simulated("rpi5"), simulated("m1")]);
    assert!(said.contains("Computed for a simulated m1 and a simulated rpi5, not measured."), "{said}");
    let said = caption(&[hardware.clone(), simulated("m1")]);
    assert!(said.starts_with("Partly measured, and partly computed for a simulated m1. A bar is"), "{said}");
    assert!(!caption(&[hardware]).contains("Computed"));
}

#[test]
fn too_many_locks_are_counted_in_the_caption() {
    let rows: Vec<Row> = (0..300).map(|lock| row("w", &format!("lock-{lock}"), 2, 0, 1.0)).collect();
    let charts = charts(rows);
    assert_eq!(charts.figures[0].series.len(), draw::MOST_SERIES);
    let caption = &charts.figures[0].caption;
    assert!(caption.ends_with("Not shown: 276 of 300 series; ondeck report --markdown has all."), "{caption}");
}

#[test]
fn too_many_numbers_of_threads_are_thinned_out() {
    let charts = charts((1..=500).map(|threads| row("w", "std", threads, 0, 1.0)).collect());
    let figure = figure(&charts, "w-throughput");
    let points = &figure.series[0].points;
    assert_eq!((points.len(), points[0].x, points[31].x), (topic::MOST_PLACES, 1.0, 500.0));
    assert!(figure.caption.contains("Not shown: 468 of 500 numbers of threads;"), "{}", figure.caption);
}

#[test]
fn too_many_charts_leave_the_most_telling_of_each_workload() {
    let workload = |n: u32| [row(&format!("w{n:03}"), "std", 1, 0, 1.0), row(&format!("w{n:03}"), "std", 2, 0, 1.0)];
    let charts = charts((0..80).flat_map(workload).collect());
    let expected: Vec<String> = (0..MOST_CHARTS).map(|n| format!("w{n:03}-throughput")).collect();
    assert_eq!(ids(&charts), expected);
    // 20 more absolute ones, and all 80 relative to one thread.
    let left_out = charts.left_out.unwrap();
    assert!(left_out.starts_with("100 charts are left out"), "{left_out}");
}

#[test]
fn many_hand_offs_are_several_charts() {
    let charts = charts((0..30).map(|n| row(&format!("handoff-{n:02}"), "std", 2, 0, 1.0)).collect());
    assert_eq!(ids(&charts), ["handoff-time", "handoff-time-2", "handoff-time-3"]);
    assert_eq!(charts.figures[2].series[0].points.len(), 30 - 2 * topic::MOST_NAMES);
}

#[test]
fn ids_are_unique_and_fit_for_files() {
    let names = ["a/b", "a-b", "A B", "<script>", "שלום", "עולם"];
    let charts = charts(names.iter().map(|name| row(name, "std", 2, 0, 1.0)).collect());
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
    let rows = |workload: &str| [1, 2].map(|threads| row(workload, "std", threads, 0, 10.0)).to_vec();
    let [both, alone] = [rows("both"), rows("alone")];
    let charts = charts_of(&[source("a.csv", both.clone()), source("b.csv", [both, alone].concat())]);
    let names =
        |id: &str| -> Vec<&str> { figure(&charts, id).series.iter().map(|series| series.name.as_str()).collect() };
    assert_eq!(names("both-relative"), ["std (a.csv)", "std (b.csv)"]);
    assert_eq!(names("alone-relative"), ["std"]);
    assert!(figure(&charts, "alone-relative").caption.ends_with(" From b.csv."));
    assert!(!figure(&charts, "both-relative").caption.contains("From"));
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

/// Bars have nothing but their colour, and two files of five locks need five colours.
#[test]
fn bars_few_locks_and_slower_ones_are_not_hushed() {
    let locks = |n: usize| (0..n).map(|lock| format!("lock{lock}"));
    let at_one = charts(locks(12).map(|lock| row("w", &lock, 4, 0, 1.0)).collect());
    assert!(figure(&at_one, "w-throughput").series.iter().all(|one| !one.quiet));
    let five = || locks(5).flat_map(|lock| [row("w", &lock, 1, 0, 1.0), row("w", &lock, 2, 0, 1.0)]).collect();
    let two_files = charts_of(&[source("a.csv", five()), source("b.csv", five())]);
    assert!(two_files.figures.iter().flat_map(|figure| &figure.series).all(|one| !one.quiet));
}

#[test]
fn the_first_chart_of_several_files_is_what_changed() {
    let rows = |mega| vec![row("solo", "std", 1, 0, 1.0), row("w", "std", 1, 0, mega), row("w", "std", 2, 0, mega)];
    let sources = [("a.csv", rows(1.0)), ("b.csv", rows(2.0))].map(|(label, rows)| source(label, rows));
    assert_eq!(ids(&charts_of(&sources))[0], "w-change");
    assert_eq!(ids(&charts_of(&sources[..1]))[0], "w-throughput");
}
