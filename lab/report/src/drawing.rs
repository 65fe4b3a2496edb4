//! A chart as a static picture, for pages that run no programs: README files, documents, slides.
//!
//! The picture lies on a card of its own, so that it is legible on any page, and is darker where the reader prefers that.
//! Its bytes follow from the figure alone: coordinates are rounded to a tenth of a pixel, and nothing is asked of the
//! machine, its fonts included. What is written is text, and gets the room that it needs in the widest usual font.

mod axes;
mod legend;
mod marks;
mod page;
#[cfg(test)]
mod tests;

pub use page::{Inline, chart_in_page, markers, swatch};

use legend::Legend;
use ondeck_kit::drawing::{AXIS_SIZE, Ends, MOST_TICK, Picture, Ruler, at, clean, fit, lines, tick, width, words};
use ondeck_kit::figure::{Axis, Figure, Point, Series};
use ondeck_kit::palette::{DARK, HUES, LIGHT, QUIET};
use svg::Document;
use svg::node::element::{Definitions, Description, Group, Rectangle, Style, Title};

/// All pictures of a report.
pub fn pictures(report: &crate::document::Document) -> Vec<Picture> {
    let chart = |figure: &Figure| Picture { id: figure.id.clone(), title: figure.title.clone(), svg: svg(figure) };
    report.figures.iter().map(chart).collect()
}

/// Pixels of the whole picture; it grows downwards if there are many names.
const WIDTH: f64 = 960.0;
/// Between the edge of the card and what is on it.
const MARGIN: f64 = 24.0;
/// Height of what the axes enclose.
const HEIGHT: f64 = 340.0;
const TITLE_SIZE: f64 = 20.0;
const CAPTION_SIZE: f64 = 13.0;
const CAPTION_LINES: usize = 3;
/// Between lines of the caption.
const CAPTION_ROW: f64 = 18.0;
const FONTS: &str = "system-ui, Helvetica, Arial, sans-serif";

/// The text of an SVG file.
pub fn svg(figure: &Figure) -> String {
    let series: Vec<&Series> = figure.series.iter().filter(|series| !series.points.is_empty()).collect();
    let legend = Legend::new(figure, &series);
    let header = header(&figure.title, &figure.caption);
    // The label of the axis stands above it.
    let top = header.bottom + 2.0 * AXIS_SIZE + 18.0;
    let right = WIDTH - MARGIN - legend.width - if series.is_empty() { 0.0 } else { LEADER };
    let frame =
        Frame::new(figure, &series, (top, top + HEIGHT.max(legend.height())), |widest| (MARGIN + widest, right));
    let x_axis = axes::Bottom::new(figure, &frame);
    let bottom = x_axis.bottom() + MARGIN;
    let mut chart = Group::new().set("font-family", FONTS).add(card(bottom)).add(header.group);
    chart = chart.add(axes::left(figure, &frame)).add(x_axis.draw());
    let draw = |chart: Group, one: &Series| chart.add(marks::line(figure, &frame, one, series.len()));
    chart = upwards(&series).fold(chart, draw);
    if series.is_empty() {
        let middle = ((frame.left + frame.right) / 2.0, (frame.top + frame.bottom) / 2.0);
        chart = chart.add(words("no figures", TITLE_SIZE, "muted", middle).set("text-anchor", "middle"));
    }
    let ends = |series: &Series| frame.end(figure, series);
    chart = chart.add(legend.draw(frame.right + LEADER, (frame.top, frame.bottom), ends));
    document(&figure.title, &figure.text, bottom, chart)
}

/// The lines in the order in which they are drawn: grey ones first, and the first of the legend last, over the others.
fn upwards<'s>(series: &[&'s Series]) -> impl Iterator<Item = &'s Series> {
    let (quiet, others): (Vec<&Series>, Vec<&Series>) = series.iter().rev().partition(|one| one.quiet);
    quiet.into_iter().chain(others)
}

/// Pixels between the ends of the axis and the first and last point.
const PAD: f64 = 18.0;
/// Pixels from the axes to the names beside them.
const LEADER: f64 = 20.0;

/// What everything lies on.
fn card(height: f64) -> Rectangle {
    let edge = Rectangle::new().set("x", 0.5).set("y", 0.5).set("width", WIDTH - 1.0).set("height", at(height - 1.0));
    edge.set("rx", 10).set("class", "card grid").set("fill", LIGHT.card).set("stroke", LIGHT.grid)
}

fn document(title: &str, text: &str, height: f64, chart: Group) -> String {
    let document = Document::new()
        .set("viewBox", (0, 0, WIDTH, at(height)))
        .set("width", WIDTH)
        .set("height", at(height))
        .set("role", "img")
        .set("aria-labelledby", "title desc")
        .add(Title::new(clean(title)).set("id", "title"))
        .add(Description::new().set("id", "desc").add(svg::node::Text::new(clean(text))))
        .add(Definitions::new().add(Style::new(dark_style())))
        .add(chart);
    format!("{document}\n")
}

/// The colours on a dark background. Those on a light one are attributes, for programs that know no style sheets.
fn dark_style() -> String {
    let mut rules = format!(
        ".card{{fill:{};}}.rim{{stroke:{};}}.ink{{fill:{};}}.muted{{fill:{};}}.grid{{stroke:{};}}.axis{{stroke:{};}}",
        DARK.card, DARK.card, DARK.ink, DARK.muted, DARK.grid, DARK.muted
    );
    for (n, hue) in HUES.iter().enumerate() {
        rules += &format!(".hue{n}{{fill:{0};stroke:{0};}}", hue.dark);
    }
    rules += &format!(".quiet{{fill:{0};stroke:{0};}}", QUIET.dark);
    format!("@media (prefers-color-scheme:dark){{{rules}}}")
}

/// A value of the axis to the right, in words: `16 threads`.
fn value_of_x(axis: &Axis, value: f64) -> String {
    format!("{} {}", tick(value, axis.unit), axis.label)
}

struct Header {
    group: Group,
    bottom: f64,
}

/// Title and caption.
fn header(title: &str, caption: &str) -> Header {
    let most = WIDTH - 2.0 * MARGIN;
    let mut y = MARGIN + TITLE_SIZE;
    let title = words(&fit(title, TITLE_SIZE, most), TITLE_SIZE, "ink", (MARGIN, y));
    let mut group = Group::new().add(title.set("font-weight", "bold"));
    y += 6.0;
    for line in lines(caption, CAPTION_SIZE, most, CAPTION_LINES) {
        y += CAPTION_ROW;
        group = group.add(words(&line, CAPTION_SIZE, "muted", (MARGIN, y)));
    }
    Header { group, bottom: y }
}

/// The axes and what they enclose, in pixels.
#[derive(Debug)]
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// What the numbers at the left axis take, with the gap beside them.
    numbers: f64,
    x: Ruler,
    y: Ruler,
}

impl Frame {
    /// Between `top` and `bottom`; `sides` are left and right, given the room for the numbers at the left axis.
    fn new(figure: &Figure, series: &[&Series], (top, bottom): (f64, f64), sides: impl Fn(f64) -> (f64, f64)) -> Frame {
        let points = || series.iter().flat_map(|series| &series.points);
        let xs: Vec<f64> = points().map(|point| point.x).collect();
        let spreads = points().filter_map(|point| point.spread).flat_map(|(low, high)| [low, high]);
        let ys: Vec<f64> = points().map(|point| point.y).chain(spreads).collect();
        let y = Ruler::new(&figure.y, &ys, Ends::Round, (bottom, top));
        let widest = y.ticks.iter().map(|(_, text)| width(text, AXIS_SIZE)).fold(0.0, f64::max);
        let numbers = widest.min(MOST_TICK) + 10.0;
        let (left, right) = sides(numbers);
        let x = Ruler::new(&figure.x, &xs, Ends::Exact, (left + PAD, right - PAD));
        Frame { left, right, top, bottom, numbers, x, y }
    }

    /// Where a point lies; `None` if an axis has no place for it.
    fn place<'p>(&self, point: &'p Point) -> Option<(&'p Point, f64, f64)> {
        Some((point, self.x.place(point.x)?, self.y.place(point.y)?))
    }

    /// Where the points of a series lie that have a place.
    fn places<'p>(&self, series: &'p Series) -> Vec<(&'p Point, f64, f64)> {
        series.points.iter().filter_map(|point| self.place(point)).collect()
    }

    /// From the lowest to the highest round of a point, with a cap at each end.
    fn whisker(&self, point: &Point, x: f64, half: f64) -> Option<String> {
        let (low, high) = point.spread?;
        let (low, high) = (at(self.y.place_or_end(low)), at(self.y.place_or_end(high)));
        let (left, right) = (at(x - half), at(x + half));
        Some(format!("M{left},{low}H{right}M{},{low}V{high}M{left},{high}H{right}", at(x)))
    }

    /// Where a line ends, if that is at the right edge and so beside its name.
    fn end(&self, figure: &Figure, series: &Series) -> Option<(f64, f64)> {
        let (_, x, y) = series.points.iter().filter_map(|point| self.place(point)).next_back()?;
        let last = figure.series.iter().flat_map(|series| &series.points).filter_map(|point| self.x.place(point.x));
        (x >= last.fold(0.0, f64::max)).then_some((x, y))
    }
}
