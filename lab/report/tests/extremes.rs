//! Files with any rows, or none: everything that is made of them is made, whatever their figures are.

use ondeck_report::catalogue::Catalogue;
use ondeck_report::compare::compare;
use ondeck_report::document::Document;
use ondeck_report::drawing::pictures;
use ondeck_report::fingerprint::{Fingerprint, Simulation};
use ondeck_report::html::page;
use ondeck_report::inputs::{Inputs, Source};
use ondeck_report::markdown::markdown;
use ondeck_report::output::{Format, Results};
use ondeck_report::row::Row;
use ondeck_report::{Storage, explain, summary};
use proptest::prelude::*;
use proptest::sample::select;
use std::path::PathBuf;

const WORKLOADS: [&str; 15] = [
    "",
    "solo",
    "handoff-fast",
    "sections/cs20-out60",
    "sections/cs200-out60",
    "sections/cs20-out600",
    "spike/before",
    "spike/during",
    "spike/after",
    "aim7",
    "gc-wait/scan",
    "pool/burst4-work5-gap200-after/dispatch",
    "monitor-latency",
    "monitor-try-enter/fat",
    "<w>|\u{301}\t/",
];
const LOCKS: [&str; 6] =
    ["ondeck", "std", "parking-lot", "pthread", "", "a lock with a name that is longer than a column"];
const FIGURES: [f64; 19] = [
    0.0,
    -0.0,
    -1.0,
    5e-324,
    f64::MIN_POSITIVE,
    1e-9,
    0.5,
    1.0,
    1.5,
    1e6,
    1.1e6,
    2e7,
    1e18,
    1e300,
    f64::MAX,
    f64::MIN,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];
const NUMBERS: [u32; 7] = [0, 1, 2, 3, 8, 1000, u32::MAX];

/// Mostly one that a run could have, or all would be of the extremes.
fn figure() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![2 => Just(None), 5 => (1.0..1e9).prop_map(Some), 3 => select(&FIGURES[..]).prop_map(Some)]
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..5_u32, 1 => select(&NUMBERS[..])]
}

prop_compose! {
    fn row()(
        platform in prop_oneof![4 => Just("hardware"), 3 => Just("sim"), 1 => Just("")],
        machine in prop_oneof![6 => Just("toy-4c"), 1 => Just("")],
        (workload, lock) in (select(&WORKLOADS[..]), select(&LOCKS[..])),
        (threads, round) in (number(), number()),
        (seconds, ops) in (figure(), prop::option::of(prop_oneof![Just(0), Just(u64::MAX), any::<u64>()])),
        f in prop::collection::vec(figure(), 13),
        at_least in prop_oneof![3 => Just(""), 1 => Just("wait_p99_ns ops_per_s"), 1 => Just(" x ")],
    ) -> Row {
        Row {
            platform: platform.into(), machine: machine.into(), workload: workload.into(), lock: lock.into(), threads, round,
            seconds: seconds.unwrap_or(0.1), ops, ops_per_s: f[0], ns_per_op: f[1], cpus: f[2], ctx_switches_per_s: f[3],
            jain: f[4], min_share: f[5], wait_p50_ns: f[6], wait_p99_ns: f[7], wait_p999_ns: f[8], wait_max_ns: f[9],
            streak_p90_ns: f[10], starve_p90_ns: f[11], starve_max_ns: f[12], at_least: at_least.into(),
            ..Row::default()
        }
    }
}

/// Rows of their own, or of one workload in all its rounds, which more is said of.
fn rows() -> impl Strategy<Value = Vec<Row>> {
    let of_one = (select(&WORKLOADS[..]), prop::collection::vec(row(), 0..40)).prop_map(|(workload, mut rows)| {
        for (n, row) in rows.iter_mut().enumerate() {
            (row.workload, row.round) = (workload.to_owned(), n as u32 / 8);
            (row.platform, row.machine) = ("hardware".into(), "toy-4c".into());
        }
        rows
    });
    prop_oneof![prop::collection::vec(row(), 0..30), of_one]
}

prop_compose! {
    fn fingerprint()(
        cpus_online in number(), cpus_allowed in number(), cores in prop::option::of(number()), nodes in prop::option::of(number()),
        load_average in figure(), seeds in prop::option::of((any::<u64>(), number(), number(), number())), date in ".{0,20}",
    ) -> Fingerprint {
        let simulation = seeds.map(|(seed, seeds, guesses, figures)| Simulation { seed, seeds, guesses, figures, ..Simulation::default() });
        Fingerprint { cpus_online, cpus_allowed, cores, numa_nodes: nodes, load_average, simulation, date, ..Fingerprint::default() }
    }
}

prop_compose! {
    fn source()(
        rows in rows(), fingerprint in prop::option::of(fingerprint()),
        command in prop_oneof![Just("ondeck bench --rounds 3"), Just(""), Just("'"), Just("ondeck sim --rounds")],
        warnings in prop::collection::vec(".{0,30}", 0..3),
    ) -> Source {
        let results = Results { fingerprint, command: command.to_owned(), warnings, rows };
        Source { label: "a.csv".into(), results, notes: Vec::new() }
    }
}

fn catalogue() -> Catalogue {
    Catalogue::new(&["solo", "sections"], &["std", "parking-lot"], &["std", "pthread"])
}

/// All that `ondeck report` makes.
fn report(sources: &[Source]) {
    let document = Document::new(sources, &[], &catalogue());
    let texts = [page(&document), markdown(sources, &document, &catalogue())];
    let size: usize = texts.iter().chain(pictures(&document).iter().map(|picture| &picture.svg)).map(String::len).sum();
    assert!(size < 20 << 20, "{size}");
}

/// What a run ends with.
fn end(source: &Source) {
    let board = source.board(&catalogue());
    for width in [1, 80] {
        for kept in [Storage::Nowhere, Storage::File("a.csv"), Storage::Partial] {
            summary(&board, &source.results, kept, width);
        }
        explain::tables(&source.results.rows, width);
    }
}

fn compared(old: &Source, new: &Source) {
    let comparison = compare(&old.results.rows, &new.results.rows);
    let _ = (comparison.nothing_in_common("a", "b"), comparison.regressions());
    assert!(comparison.text("a", "b", 80).len() + comparison.markdown("a", "b").len() < 1 << 20);
}

proptest! {
    #[test]
    fn whatever_the_rows_are_a_report_comes_of_them(sources in prop::collection::vec(source(), 0..4)) {
        report(&sources);
        sources.iter().for_each(end);
        if let [old, .., new] = &sources[..] {
            compared(old, new);
        }
    }

    /// The same of their files: they are read or refused. CSV has words for what is no number.
    #[test]
    fn whatever_a_file_has_it_is_read_or_refused(source in source(), is_json: bool, end in 0..2000_usize) {
        let text = source.results.to_text(if is_json { Format::Json } else { Format::Csv });
        let cut: String = text.chars().take(text.chars().count().saturating_sub(end)).collect();
        for text in [text, cut] {
            let files = [PathBuf::from("/no/such/directory/a"), PathBuf::from("b")];
            if let Ok(inputs) = Inputs::parse(&files, &[text.clone(), text]) {
                report(&inputs.sources);
            }
        }
    }
}
