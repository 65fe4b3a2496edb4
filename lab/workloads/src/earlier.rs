//! Which measurements of a plan an earlier run has finished, by its rows: these need not be made again.

use crate::lock::BenchPlatform;
use crate::plan::{Failure, Point, Progress};
use crate::points::n_rows;
use ondeck_report::output::about_earlier;
use ondeck_report::row::Row;
use ondeck_report::wording;

/// The rows of each measurement, a point in a round, in the order of the measurements; `None` of one that is to be made.
/// `rows` are in that order too, but any measurement may be missing. All points can be run on `G`.
///
/// # Errors
/// In one line, if a row is of no measurement, or one has a part of its rows only.
pub(crate) fn assign<'a, G: BenchPlatform>(
    measurements: impl Iterator<Item = (u32, &'a Point)>,
    rows: &[Row],
) -> Result<Vec<Option<Vec<Row>>>, Failure> {
    let mut left = rows;
    let mut assigned = Vec::new();
    for (round, point) in measurements {
        let is_next = left.first().is_some_and(|row| row.threads == point.threads && is_of(row, round, point));
        let n = if is_next { n_rows::<G>(point) } else { 0 };
        // A phase with visitors has more threads than the point.
        let is_whole = n <= left.len() && left[..n].iter().all(|row| is_of(row, round, point));
        let (own, others) = left.split_at(if is_whole { n } else { 0 });
        assigned.push((!own.is_empty()).then(|| own.to_vec()));
        left = others;
    }
    let Some(row) = left.first() else { return Ok(assigned) };
    let Row { workload, lock, threads, round, .. } = row;
    Err(Failure::Plan(format!(
        "the rows of the earlier run do not fit this plan: it has no {workload} with {lock} at {} in round {round} in that \
         place, or more rows of it",
        wording::threads(*threads)
    )))
}

/// Whether the row is of a point's measurement. A measurement of several rows adds the name of each to that of the workload.
fn is_of(row: &Row, round: u32, point: &Point) -> bool {
    let more = row.workload.strip_prefix(&point.workload.to_string());
    row.round == round
        && row.lock == point.lock.as_str()
        && more.is_some_and(|more| more.is_empty() || more.starts_with('/'))
}

/// Tells how much of the plan need not be done.
pub(crate) fn tell(assigned: &[Option<Vec<Row>>], on_progress: &mut dyn FnMut(Progress)) {
    let n = assigned.iter().flatten().count();
    if n > 0 {
        on_progress(Progress::Warning(about_earlier(n, assigned.len())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ondeck_core::Hardware;

    fn row(workload: &str, lock: &str, threads: u32, round: u32) -> Row {
        Row { workload: workload.into(), lock: lock.into(), threads, round, ..Row::default() }
    }

    /// How many rows each measurement has.
    fn counts(points: &[Point], rows: &[Row]) -> Result<Vec<usize>, String> {
        let measurements = (0..2).flat_map(|round| points.iter().map(move |point| (round, point)));
        let assigned = assign::<Hardware>(measurements, rows).map_err(|failure| failure.to_string())?;
        Ok(assigned.into_iter().map(|rows| rows.map_or(0, |rows| rows.len())).collect())
    }

    #[test]
    fn any_measurement_may_be_missing() {
        let points = Point::all(&[("solo", "std", 1), ("spike", "std", 2), ("sections/cs1-out2", "std", 2)]);
        let spike = |round| ["before", "during", "after"].map(|name| row(&format!("spike/{name}"), "std", 2, round));
        let mut during = spike(1);
        during[1].threads = 66;
        let last = row("sections/cs1-out2", "std", 2, 0);
        assert_eq!(counts(&points, &[]), Ok(vec![0; 6]));
        assert_eq!(
            counts(&points, &[&[row("solo", "std", 1, 0), last.clone()], &during[..]].concat()),
            Ok(vec![1, 0, 1, 0, 3, 0])
        );
        assert_eq!(counts(&points, &[&spike(0)[..], &[last], &during].concat()), Ok(vec![0, 3, 1, 0, 3, 0]));
    }

    #[test]
    fn rows_of_something_else_are_refused() {
        let points = Point::all(&[("solo", "std", 1), ("spike", "std", 2)]);
        let spike = ["before", "during", "after"].map(|name| row(&format!("spike/{name}"), "std", 2, 0));
        for (rows, words) in [
            (vec![row("solo", "pthread", 1, 0)], "solo with pthread at 1 thread in round 0"),
            (vec![row("solo", "std", 1, 2)], "in round 2"),
            (vec![row("solo", "std", 1, 1), row("solo", "std", 1, 0)], "in round 0"),
            (spike[..2].to_vec(), "spike/before"),
            (vec![row("sections/cs1-out2", "std", 2, 0)], "sections/cs1-out2"),
        ] {
            let error = counts(&points, &rows).unwrap_err();
            assert!(error.contains(words) && !error.contains('\n'), "no {words:?} in {error}");
        }
    }
}
