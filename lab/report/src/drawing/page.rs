//! A chart inside a page: as wide as its place, in the colours of the style sheet.
//!
//! What lies between the axes is drawn a thousand units wide and high, and stretched. Markers and texts stand at parts of
//! that, so that they keep their size. A pointer is told the values by a script, which reads them from the table of the figure.

use super::legend::apart;
use super::marks::{self, SeriesStyle, marker};
use super::{Frame, upwards};
use ondeck_kit::drawing::{AXIS_SIZE, MOST_TICK, clean, fit, width, without_overlap};
use ondeck_kit::figure::{Figure, Point, Series};
use ondeck_kit::palette::{HUES, MARKERS};
use std::fmt::Write as _;
use svg::node::Node;
use svg::node::element::{Element, Group, Path, Text, Use};

/// A chart, and what the element around it needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Inline {
    /// Variables of the style sheet: pixels at the left and at the right.
    pub room: String,
    /// Where each place of the figure lies, in thousandths of the width; `-` if nowhere.
    pub places: String,
    /// The element.
    pub svg: String,
}

/// Units from one end of the axes to the other: few enough digits, and fine enough for any screen.
const ACROSS: f64 = 1000.0;
/// Pixels from the top to the bottom, in the style sheet.
const HEIGHT: f64 = 320.0;
/// Pixels that a unit takes at least: in windows of tablets and more, and in those of phones.
const WIDE: f64 = 0.58;
const NARROW: f64 = 0.23;
/// The widest that a name beside the chart becomes.
const MOST_NAME: f64 = 190.0;
/// Pixels from one name beside the chart to the next, and how many have room.
const ROW: f64 = 16.0;
const MOST_NAMED: usize = (HEIGHT / ROW) as usize;
/// Up to so many series have a band between their spreads.
const BANDS: usize = 6;

/// The chart. `xs` are the places of the figure, ascending.
pub fn chart_in_page(figure: &Figure, xs: &[f64]) -> Inline {
    let series: Vec<&Series> = figure.series.iter().filter(|series| !series.points.is_empty()).collect();
    let mut frame = Frame::new(figure, &series, (0.0, ACROSS), |_| (0.0, ACROSS));
    (frame.x.is_whole, frame.y.is_whole) = (true, true);
    let (names, right) = names(figure, &frame, &series);
    let numbers = frame.y.ticks.iter().filter_map(|(value, text)| Some((frame.y.place(*value)?, text)));
    let numbers = numbers.fold(group("numbers").set("transform", "translate(-8 4.5)"), |group, (y, text)| {
        group.add(words(&fit(text, AXIS_SIZE, MOST_TICK)).set("y", part(y)))
    });
    let mut upon = vec![numbers, below(&frame)];
    let stretched = drawn(figure, &frame, &series, &mut upon);
    upon.push(names);
    if series.is_empty() {
        upon.push(group("ticks").add(words("no figures").set("x", "50%").set("y", "50%")));
    }
    let svg: String = upon.iter().map(flat).collect();
    let axes = format!("<svg viewBox=\"0 0 {ACROSS} {ACROSS}\" preserveAspectRatio=\"none\">{stretched}</svg>");
    let places: Vec<String> = xs.iter().map(|x| frame.x.place(*x).map_or("-".into(), |x| x.to_string())).collect();
    Inline {
        room: format!("--left:{}px;--right:{right}px", frame.numbers.ceil()),
        places: places.join(" "),
        svg: format!("<svg>{axes}{svg}</svg>"),
    }
}

/// What is stretched. The markers stand upon it, a group for each series.
fn drawn(figure: &Figure, frame: &Frame, series: &[&Series], upon: &mut Vec<Group>) -> String {
    let mut drawn = vec![lines(frame)];
    for one in upwards(series) {
        let places = frame.places(one);
        let stem = |(point, x, _): &(&Point, f64, f64)| {
            let (low, high) = point.spread?;
            Some(format!("M{x},{}V{}", frame.y.place_or_end(low), frame.y.place_or_end(high)))
        };
        let spread: Box<dyn Node> = match series.len() <= BANDS && places.len() > 1 {
            true => marks::band(&frame.y, &places).into(),
            false => Path::new().set("d", places.iter().filter_map(stem).collect::<String>()).into(),
        };
        drawn.push(of_series(figure, one, Group::new()).add(spread).add(marks::polyline(&places)));
        let id = format!("#{}", marker_id(one.style, one.source));
        let marker = |x: f64, y: f64| Use::new().set("href", id.as_str()).set("x", part(x)).set("y", part(y));
        let markers = of_series(figure, one, Group::new());
        upon.push(places.iter().fold(markers, |group, (_, x, y)| group.add(marker(*x, *y))));
    }
    drawn.iter().map(flat).collect()
}

/// The lines across, and the axis with its ticks.
fn lines(frame: &Frame) -> Group {
    let across = |y: f64| format!("M0,{y}H{ACROSS}");
    let grid: String = frame.y.ticks.iter().filter_map(|(value, _)| frame.y.place(*value)).map(across).collect();
    let mut axis = across(frame.y.base());
    for x in frame.x.ticks.iter().filter_map(|(value, _)| frame.x.place(*value)) {
        let _ = write!(axis, "M{x},{ACROSS}v16");
    }
    Group::new().add(path("grid", &grid)).add(path("axis", &axis))
}

/// The names of those lines that reach the last place, beside their ends; and the pixels that they take.
fn names(figure: &Figure, frame: &Frame, series: &[&Series]) -> (Group, f64) {
    let is_named = |one: &&&Series| series.len() > 1 && (series.len() <= MOST_NAMED || !one.quiet);
    let ends = series.iter().filter(is_named).filter_map(|one| Some((*one, frame.end(figure, one)?.1)));
    let mut ends: Vec<(&Series, f64)> = ends.collect();
    ends.sort_by(|one, other| one.1.total_cmp(&other.1));
    let unit = HEIGHT / ACROSS;
    let heights = apart(&ends.iter().map(|(_, y)| y * unit).collect::<Vec<f64>>(), ROW, (0.0, HEIGHT));
    let (mut all, mut widest) = (all_at("x"), 0.0_f64);
    for ((one, _), y) in ends.iter().zip(heights) {
        let name = fit(&one.name, AXIS_SIZE, MOST_NAME);
        widest = widest.max(width(&name, AXIS_SIZE) + 10.0);
        all.append(of_series(figure, one, words(&name)).set("y", part((y / unit).round())));
    }
    (group("names").set("transform", "translate(8 4.5)").add(all), widest.ceil())
}

/// Where words stand along an axis.
type Ticks = Vec<(f64, String)>;

/// What stands at the axis below: in narrow windows less than in wide ones.
fn below(frame: &Frame) -> Group {
    let ticks: Ticks =
        frame.x.ticks.iter().filter_map(|(value, text)| Some((frame.x.place(*value)?, text.clone()))).collect();
    let scaled =
        |ticks: &[(f64, String)], by: f64| -> Ticks { ticks.iter().map(|(x, text)| (x * by, text.clone())).collect() };
    let fitting = |ticks: &[(f64, String)], by: f64| scaled(&without_overlap(scaled(ticks, by)), 1.0 / by);
    let kept = fitting(&ticks, WIDE);
    let narrow = fitting(&kept, NARROW);
    let mut all = all_at("y");
    for (x, text) in &kept {
        let word = words(text).set("x", part(x.round()));
        let is_narrow = narrow.iter().any(|(other, _)| (other - x).abs() < 0.01);
        all.append(if is_narrow { word } else { word.set("class", "wide") });
    }
    group("ticks").set("transform", "translate(0 19)").add(all)
}

/// What the legend has before a name, and a tooltip too.
pub fn swatch(series: &Series) -> String {
    let marker = marker_id(series.style, series.source);
    format!("<svg class=\"{}\"><use href=\"#{marker}\"/></svg>", classes(SeriesStyle::of(series)))
}

/// All markers, for charts and legends to use, each with a piece of line that is seen in legends. A page has them once.
pub fn markers() -> String {
    let looks = (0..=MARKERS.len()).flat_map(|style| [0, 1].map(|source| (style, source)));
    let all = looks.map(|(style, source)| {
        let series = Series { name: String::new(), style, source, quiet: false, points: Vec::new() };
        let group = Group::new().set("id", marker_id(style, source).to_string()).add(path("piece", "M-14,0H14"));
        flat(&group.add(marker(&SeriesStyle::of(&series), 0.0, 0.0)))
    });
    format!("<svg hidden>{}</svg>", all.collect::<String>())
}

/// The flagship's is larger, and those of files beyond the first are hollow: they have capital letters.
fn marker_id(style: usize, source: usize) -> char {
    let shape = if style == 0 { 0 } else { (style - 1) % MARKERS.len() + 1 };
    char::from(if source > 0 { b'A' } else { b'a' } + shape as u8)
}

/// How the style sheet knows a series.
fn classes(look: SeriesStyle) -> String {
    let mut classes = format!("hue{}", look.style % HUES.len());
    for (is, class) in [(look.is_flagship(), " lead"), (look.is_quiet, " quiet")] {
        classes += if is { class } else { "" };
    }
    match look.source {
        0 => classes,
        source => classes + &format!(" file{}", source % ondeck_kit::palette::DASHES.len()),
    }
}

/// What a script hides or brings forward together.
fn of_series<T: Node>(figure: &Figure, series: &Series, mut part: T) -> T {
    let index = figure.series.iter().position(|one| std::ptr::eq(one, series));
    part.assign("class", format!("s{} {}", index.unwrap_or_default(), classes(SeriesStyle::of(series))));
    part
}

/// Words whose place along an axis is its far end.
fn all_at(axis: &str) -> Element {
    let mut all = Element::new("svg");
    all.assign(axis, "100%");
    all
}

fn group(class: &str) -> Group {
    Group::new().set("class", class)
}

fn path(class: &str, d: &str) -> Path {
    Path::new().set("class", class).set("d", d)
}

fn words(text: &str) -> Text {
    Text::new(clean(text))
}

/// A place along the axis, as a part of its length.
fn part(x: f64) -> String {
    format!("{}%", x / 10.0)
}

/// The element in one line: no text has a line break of its own.
fn flat(node: &Group) -> String {
    node.to_string().replace('\n', "")
}
