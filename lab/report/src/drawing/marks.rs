//! Lines, whiskers and markers of a series.

use super::Frame;
use ondeck_kit::drawing::{Ruler, at, clean, number};
use ondeck_kit::figure::{Figure, Point, Series};
use ondeck_kit::palette::{DASHES, HUES, LIGHT, MARKERS, Marker, QUIET};
use svg::node::element::{Circle, Group, Path, Polygon, Polyline, Title};
use svg::node::{Node, Value};

/// Up to so many series have a band between their spreads; more of them would only darken each other.
pub(super) const BANDS: usize = 4;

/// How a series is told from the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeriesStyle {
    pub(super) style: usize,
    pub(super) source: usize,
    pub(super) is_quiet: bool,
}

impl SeriesStyle {
    pub(super) fn of(series: &Series) -> SeriesStyle {
        SeriesStyle { style: series.style, source: series.source, is_quiet: series.quiet }
    }

    pub(super) fn is_flagship(self) -> bool {
        self.style == 0
    }

    /// What is inside has the series' colour.
    pub(super) fn group(self) -> Group {
        let hue = self.style % HUES.len();
        let (class, colour) = match self.is_quiet {
            true => ("quiet".to_string(), QUIET.light),
            false => (format!("hue{hue}"), HUES[hue].light),
        };
        Group::new().set("class", class).set("fill", colour).set("stroke", colour)
    }

    fn marker(self) -> Marker {
        MARKERS[self.style % MARKERS.len()]
    }

    fn radius(self) -> f64 {
        if self.is_flagship() { 5.5 } else { 4.5 }
    }
}

/// The element with the series' line.
pub(super) fn stroke<T: Node>(mut line: T, look: &SeriesStyle) -> T {
    let dash = DASHES[look.source % DASHES.len()];
    let width = match (look.is_flagship(), look.is_quiet) {
        (true, _) => "4",
        (false, false) => "2.2",
        (false, true) => "1.4",
    };
    line.assign("stroke-width", width);
    if !dash.is_empty() {
        line.assign("stroke-dasharray", dash);
    }
    line
}

/// The series' marker with its middle at the pixel.
pub(super) fn marker(look: &SeriesStyle, x: f64, y: f64) -> Box<dyn Node> {
    let radius = look.radius();
    // Of files beyond the first, markers are hollow: their inside is as the card.
    let is_hollow = look.source > 0;
    let fill = |node: Box<dyn Node>| {
        let mut node = node;
        if let Some(attributes) = node.get_attributes_mut() {
            let (class, part, width) = if is_hollow { ("card", "fill", "2") } else { ("rim", "stroke", "1.2") };
            attributes.insert("class".into(), Value::from(class));
            attributes.insert(part.into(), Value::from(LIGHT.card));
            attributes.insert("stroke-width".into(), Value::from(width));
        }
        node
    };
    // Corners of a shape with the area of the disc, more or less.
    let shape = |n: usize, size: f64, turn: f64, inner: f64| {
        let corner = |n_th: usize| {
            let size = if inner < 1.0 && n_th % 2 == 1 { size * inner } else { size };
            let angle = (turn + n_th as f64 / n as f64) * std::f64::consts::TAU;
            format!("{},{}", at(x + radius * size * angle.sin()), at(y - radius * size * angle.cos()))
        };
        let corners: Vec<String> = (0..n).map(corner).collect();
        Polygon::new().set("points", corners.join(" ")).into()
    };
    fill(match look.marker() {
        Marker::Circle => Circle::new().set("cx", at(x)).set("cy", at(y)).set("r", radius).into(),
        Marker::Square => shape(4, 1.25, 0.125, 1.0),
        Marker::Diamond => shape(4, 1.35, 0.0, 1.0),
        Marker::Up => shape(3, 1.4, 0.0, 1.0),
        Marker::Down => shape(3, 1.4, 0.5, 1.0),
        Marker::Pentagon => shape(5, 1.2, 0.5, 1.0),
        Marker::Star => shape(10, 1.55, 0.0, 0.45),
    })
}

/// The series as a line with markers.
pub(super) fn line(figure: &Figure, frame: &Frame, series: &Series, n_series: usize) -> Group {
    let look = SeriesStyle::of(series);
    let places = frame.places(series);
    let mut group = look.group();
    if n_series <= BANDS && places.len() > 1 {
        group = group.add(band(&frame.y, &places).set("stroke", "none").set("fill-opacity", "0.18"));
    } else {
        for (point, x, _) in &places {
            group = whisker(group, frame, point, *x, 3.0);
        }
    }
    let path = polyline(&places).set("fill", "none").set("stroke-linejoin", "round");
    group = group.add(stroke(path, &look));
    for (point, x, y) in &places {
        group = group.add(Group::new().add(explanation(figure, series, point)).add(marker(&look, *x, *y)));
    }
    group
}

/// From point to point.
pub(super) fn polyline(places: &[(&Point, f64, f64)]) -> Polyline {
    let path: Vec<String> = places.iter().map(|(_, x, y)| format!("{},{}", at(*x), at(*y))).collect();
    Polyline::new().set("points", path.join(" "))
}

pub(super) fn band(y: &Ruler, places: &[(&Point, f64, f64)]) -> Polygon {
    let ends = |point: &Point| point.spread.unwrap_or((point.y, point.y));
    let upper = places.iter().map(|(point, x, _)| (*x, y.place_or_end(ends(point).1)));
    let lower = places.iter().rev().map(|(point, x, _)| (*x, y.place_or_end(ends(point).0)));
    let corners: Vec<String> = upper.chain(lower).map(|(x, y)| format!("{},{}", at(x), at(y))).collect();
    Polygon::new().set("points", corners.join(" "))
}

fn whisker(group: Group, frame: &Frame, point: &Point, x: f64, half: f64) -> Group {
    let Some(path) = frame.whisker(point, x, half) else { return group };
    let path = Path::new().set("d", path).set("fill", "none");
    group.add(path.set("stroke-width", "1.4").set("stroke-opacity", "0.65"))
}

/// What a pointer that rests on a point is told, in a browser.
fn explanation(figure: &Figure, series: &Series, point: &Point) -> Title {
    let y = |value: f64| number(value, figure.y.unit);
    let x = super::value_of_x(&figure.x, point.x);
    let spread = point.spread.map_or(String::new(), |(low, high)| format!(" ({} to {})", y(low), y(high)));
    Title::new(clean(&format!("{}, {x}: {}{spread}", series.name, y(point.y))))
}
