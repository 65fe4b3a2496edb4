//! What `ondeck bench` and `ondeck list machines` print, whole, on a machine that is made up and at a moment that is long
//! gone: output is documentation.

use insta::assert_snapshot;
use ondeck_report::board::Board;
use ondeck_report::catalogue::Catalogue;
use ondeck_report::output::{Format, Results, read};
use ondeck_report::summary;
use std::path::Path;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/toy-before.csv");

fn results() -> Results {
    read(Path::new(FILE)).expect("it is a result file").0
}

/// As the program arranges the rows: in the order of the command line.
fn summary_of(results: &Results, is_kept: bool, width: usize) -> String {
    let workloads = ["solo", "mutex-contention", "sections/cs100-out400", "handoff-fast", "spike"];
    let locks = ["ondeck", "std", "parking-lot"];
    let catalogue = Catalogue::new(&workloads, &locks, &locks[1..]);
    summary(&Board::new(&results.rows, &catalogue), results, is_kept, width)
}

#[test]
fn bench_of_five_rounds() {
    assert_snapshot!(summary_of(&results(), true, 100));
}

#[test]
fn bench_of_one_round_in_a_narrow_terminal() {
    let mut results = results();
    results.rows.retain(|row| row.round == 0);
    results.warnings.clear();
    assert_snapshot!(summary_of(&results, false, 60));
}

/// The first rows: what matters is the form.
fn few_rows() -> Results {
    let mut results = results();
    results.rows.truncate(2);
    results
}

#[test]
fn bench_as_csv() {
    assert_snapshot!(few_rows().to_text(Format::Csv));
}

#[test]
fn bench_beside_csv() {
    assert_snapshot!(few_rows().fingerprint_text());
}

#[test]
fn bench_as_json() {
    assert_snapshot!(few_rows().to_text(Format::Json));
}

#[test]
fn list_machines() {
    let toy = results().fingerprint.expect("it has one");
    let mut large = toy.clone();
    (large.machine, large.cpus_online, large.cpus_allowed) = ("toy-64c128t-vm".into(), 128, 16);
    (large.cores, large.sockets, large.numa_nodes) = (Some(64), Some(2), Some(4));
    (large.smt, large.virtual_machine, large.governor) = (Some(true), true, None);
    assert_snapshot!([toy.line(), large.line()].join("\n"));
}
