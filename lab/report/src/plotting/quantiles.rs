//! How long threads waited: the quantiles of the waits in one setting.

use super::topic::{Cell, Curve, Kind, Place, Topic};
use crate::row::{Metric, Row, WAIT_MAX_NS, WAIT_P50_NS, WAIT_P99_NS, WAIT_P999_NS};

/// The quantiles that a row has, with their names.
pub(super) const QUANTILES: [(&str, Metric); 4] =
    [("p50", WAIT_P50_NS), ("p99", WAIT_P99_NS), ("p99.9", WAIT_P999_NS), ("longest", WAIT_MAX_NS)];

/// The quantiles where most threads waited; of places with names, at each. None where no row has any.
pub(super) fn topics<'a>(topic: &Topic<'a>) -> Vec<Topic<'a>> {
    let mut waited = vec![false; topic.places.len()];
    for cell in topic.courses.iter().flat_map(|course| &course.cells) {
        waited[cell.place] |= has_waits(cell.rows);
    }
    let mut places: Vec<usize> = (0..waited.len()).filter(|place| waited[*place]).collect();
    if topic.kind == Kind::Threads {
        places = places.split_off(places.len().saturating_sub(1));
    }
    places.into_iter().map(|place| at(topic, place)).collect()
}

fn at<'a>(topic: &Topic<'a>, place: usize) -> Topic<'a> {
    let Place { workload, threads, name } = &topic.places[place];
    let quantile = |(name, _): &(&str, Metric)| Place { workload, threads: *threads, name: name.to_string() };
    let course = |course: &Curve<'a>| {
        let rows = course.cells.iter().find(|cell| cell.place == place && has_waits(cell.rows))?.rows;
        let cells = (0..QUANTILES.len()).map(|place| Cell { place, rows, base: None }).collect();
        Some(Curve { cells, ..course.clone() })
    };
    Topic {
        kind: Kind::Quantiles,
        name: match topic.kind {
            Kind::Family => name.clone(),
            _ => format!("{}, {name}", topic.name),
        },
        places: QUANTILES.iter().map(quantile).collect(),
        places_left_out: 0,
        courses: topic.courses.iter().filter_map(course).collect(),
    }
}

fn has_waits(rows: &[&Row]) -> bool {
    rows.iter().any(|row| QUANTILES.iter().any(|(_, metric)| (metric.of)(row).is_some()))
}
