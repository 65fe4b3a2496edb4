//! Pictures: published rows as they are, and what the simulator gives at every number of threads.

use super::machine;
use super::published;
use super::tables::{Effort, simulate};
use ondeck_report::drawing::svg;
use ondeck_report::figure::{Axis, Figure, Form, Point, Scale, Series, Unit};

/// One seed: the tables have more.
const EFFORT: Effort = Effort { seconds: 0.01, seeds: 1 };

/// What is drawn: a machine with the locks of its published rows.
const DRAWN: [(&str, &[&str], u32); 2] =
    [("i7-13700h", &["go-tristate-futex", "go-spinbit-futex"], 20), ("m1", &["go-tristate-sema"], 8)];

/// Path and text of each picture.
pub(super) fn pictures() -> Result<Vec<(String, String)>, String> {
    DRAWN.iter().map(|&(name, locks, most)| Ok((path(name), svg(&figure(name, locks, most)?)))).collect()
}

fn path(name: &str) -> String {
    format!("docs/pictures/validation-chan-contended-{name}.svg")
}

fn figure(name: &str, locks: &[&str], most: u32) -> Result<Figure, String> {
    let pairs: Vec<(String, u32)> =
        locks.iter().flat_map(|lock| (1..=most).map(move |threads| ((*lock).to_owned(), threads))).collect();
    let ns = simulate(&machine(name), "chan-contended", &pairs, EFFORT)?;
    let mut series = Vec::new();
    for (index, lock) in locks.iter().enumerate() {
        let simulated = pairs.iter().zip(&ns).filter(|((of, _), _)| of == lock);
        let point = |x: u32, y: f64| Point { x: f64::from(x), y, ..Point::default() };
        let simulated = simulated.map(|((_, threads), &ns)| point(*threads, ns));
        series.push(line((*lock).to_owned(), index, 0, simulated.collect()));
        let rows = published::lines(published::CHAN_CONTENDED, &[("machine", name), ("lock", lock)]);
        let point = |row: published::Line| Point {
            x: row.number("threads"),
            y: 1000.0 * row.number("us_per_op"),
            ..Point::default()
        };
        series.push(line("published".to_owned(), index, 1, rows.into_iter().map(point).collect()));
    }
    Ok(Figure {
        id: format!("validation-chan-contended-{name}"),
        title: format!("chan-contended on the {name}: simulated and published"),
        caption: "100 sends and 100 receives. Dashed: published, the rows that the machine file was fitted on; else simulated.".into(),
        text: String::new(),
        form: Form::Lines,
        x: Axis { label: "threads".into(), unit: Unit::Count, scale: Scale::Linear, ticks: Vec::new() },
        y: Axis { label: "time per operation".into(), unit: Unit::Ns, scale: Scale::Linear, ticks: Vec::new() },
        mark: None,
        series,
    })
}

fn line(name: String, style: usize, source: usize, points: Vec<Point>) -> Series {
    Series { name, style, source, quiet: false, points }
}
