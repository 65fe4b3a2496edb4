//! The points of a figure as a table: what a chart shows, for those who do not see it or want the numbers.

use crate::figure::{Axis, Figure, Point, Scale, Series, Unit};
use crate::wording;
use maud::{Markup, html};

/// One row for each series and a column for each `x`, or the other way round: whichever is narrower.
pub(super) fn table(figure: &Figure, xs: &[f64]) -> Markup {
    let label = |x: &f64| exact(&figure.x, *x);
    if xs.len() > figure.series.len() {
        let header: Vec<&str> = figure.series.iter().map(|series| series.name.as_str()).collect();
        let rows = xs.iter().map(|x| (label(x), cells(figure, figure.series.iter().map(|series| (series, *x)))));
        return grid(&figure.x.label, &header, rows.collect());
    }
    let labels: Vec<String> = xs.iter().map(label).collect();
    let header: Vec<&str> = labels.iter().map(String::as_str).collect();
    let rows = figure.series.iter().map(|series| (series.name.clone(), cells(figure, xs.iter().map(|x| (series, *x)))));
    grid(&figure.x.label, &header, rows.collect())
}

fn grid(corner: &str, header: &[&str], rows: Vec<(String, Vec<Markup>)>) -> Markup {
    html! {
        table {
            thead { tr { th { (corner) } @for name in header { th { (name) } } } }
            tbody {
                @for (name, cells) in rows {
                    tr { th { (name) } @for cell in cells { td { (cell) } } }
                }
            }
        }
    }
}

fn cells<'a>(figure: &Figure, places: impl Iterator<Item = (&'a Series, f64)>) -> Vec<Markup> {
    let point = |(series, x): (&'a Series, f64)| series.points.iter().find(|point| point.x == x);
    places.map(|place| point(place).map(|point| cell(figure.y.unit, point)).unwrap_or_default()).collect()
}

fn cell(unit: Unit, point: &Point) -> Markup {
    html! {
        @if point.at_least { ">" }
        (number(unit, point.y))
        @if point.bistable { " bistable" }
        @if let Some((least, most)) = point.spread {
            " " small { (number(unit, least)) " to " (number(unit, most)) }
        }
    }
}

/// A place on the axis: its name if it has one; thread counts are whole numbers and are not rounded.
fn exact(axis: &Axis, x: f64) -> String {
    match &axis.scale {
        Scale::Names { names } => names.get(x as usize).cloned().unwrap_or_else(|| x.to_string()),
        _ if axis.unit == Unit::Count && x.fract() == 0.0 && x.abs() < 1e6 => x.to_string(),
        _ => number(axis.unit, x),
    }
}

fn number(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Count => wording::count(value),
        Unit::Ns => wording::duration_ns(value),
        Unit::Ratio => wording::three_digits(value),
    }
}
