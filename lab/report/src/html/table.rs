//! The points of a figure as a table: what a chart shows, for those who do not see it or want the numbers.

use maud::{Markup, Render, html};
use ondeck_kit::figure::{Axis, Figure, Point, Series, Unit};
use ondeck_kit::{Grid, wording};

/// One row for each series and a column for each `x`, or the other way round: whichever is narrower.
pub(super) fn table(figure: &Figure, xs: &[f64]) -> Markup {
    let label = |x: &f64| exact(&figure.x, *x);
    let cell = |series: &Series, x: f64| {
        let point = series.points.iter().find(|point| point.x == x);
        point.map(|point| cell(figure.y.unit, point)).unwrap_or_default()
    };
    let (corner, names) = ([&figure.x.label], figure.series.iter().map(|series| &series.name));
    let grid = if xs.len() > figure.series.len() {
        let mut grid = Grid::new(corner, names);
        for x in xs {
            let cells = figure.series.iter().map(|series| cell(series, *x));
            grid.row([label(x).render()].into_iter().chain(cells));
        }
        grid
    } else {
        let mut grid = Grid::new(corner, xs.iter().map(label));
        for series in &figure.series {
            grid.row([series.name.render()].into_iter().chain(xs.iter().map(|x| cell(series, *x))));
        }
        grid
    };
    grid.html(&figure.title)
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

/// A place on the axis. Numbers of threads are whole and are not rounded.
fn exact(axis: &Axis, x: f64) -> String {
    let is_whole = axis.unit == Unit::Count && x.fract() == 0.0 && x.abs() < 1e6;
    if is_whole { x.to_string() } else { number(axis.unit, x) }
}

fn number(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Count => wording::count(value),
        Unit::Ns => wording::duration_ns(value),
        Unit::Ratio => wording::three_digits(value),
    }
}
