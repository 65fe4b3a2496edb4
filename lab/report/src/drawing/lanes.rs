//! Lanes: one for each thread, with bars whose height says as much as their colour. A thread that is nearer to the lock
//! has the higher bar.

use super::{FONTS, HUES, LIGHT, MARGIN, WIDTH, card, document, header};
use crate::timeline::{Lane, Lanes};
use crate::trace::Place;
use ondeck_kit::drawing::{AXIS_SIZE, Ends, Ruler, at, clean, fit, rule, width, words};
use ondeck_kit::figure::{Axis, Scale, Unit};
use ondeck_kit::wording::duration_ns;
use serde::{Serialize, Serializer};
use svg::Document;
use svg::node::element::{Group, Rectangle, Title};

/// Pixels of a lane where there are few, and where there are many.
const WIDE_LANE: f64 = 30.0;
const NARROW_LANE: f64 = 20.0;
/// More lanes than these are narrow.
const FEW: usize = 12;
/// What is shorter than so many pixels would not be seen at all, be it a bar or a gap.
const LEAST: f64 = 0.7;
const LEGEND_SIZE: f64 = 13.0;
/// Pixels of a bar in the legend.
const SAMPLE: f64 = 22.0;

/// How a place is drawn: number of its colour, and which part of the lane its bar fills. The rest is the empty lane.
fn look(place: Place) -> Option<(usize, f64)> {
    match place {
        Place::AtBat => Some((0, 0.84)),
        Place::Awake => Some((1, 0.44)),
        Place::Dugout => Some((5, 0.12)),
        Place::Outside => None,
    }
}

/// What a script needs to draw the same lanes with other ends, from the same spans: those of the page zoom.
#[derive(Serialize)]
struct LaneDrawing {
    /// Nanoseconds that the window spans.
    length: u64,
    /// Number of the colour of each place, its name, and which part of a lane its bar fills.
    places: Vec<(usize, &'static str, f64)>,
    lanes: Vec<LaneRuns>,
}

#[derive(Serialize)]
struct LaneRuns {
    name: String,
    /// For each place, in the same order: so long after the one before it, for how long, and in how many spans if several.
    runs: Vec<Vec<Vec<u64>>>,
}

/// A reader who zooms sees what is so many times shorter than what the whole picture shows.
const FINEST: f64 = 32.0;

impl Serialize for Lanes {
    /// Spans that could not be told apart however far one zooms are one.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (begin, end) = self.window;
        let ruler = Ruler::new(&time(), &[0.0, (end - begin) as f64], Ends::Exact, (0.0, WIDTH * FINEST));
        let drawn: Vec<Place> = Place::ALL.into_iter().filter(|place| look(*place).is_some()).collect();
        let of_place = |lane: &Lane, place: Place| {
            let mut last = begin;
            let told = |run: Run| {
                let (gap, length) = (run.from_ns - last, run.to_ns - run.from_ns);
                last = run.to_ns;
                if run.times == 1 { vec![gap, length] } else { vec![gap, length, run.times as u64] }
            };
            runs(lane, place, begin, &ruler).into_iter().map(told).collect()
        };
        let lane = |lane: &Lane| LaneRuns {
            name: clean(&lane.name),
            runs: drawn.iter().map(|place| of_place(lane, *place)).collect(),
        };
        let places = drawn.iter().filter_map(|place| look(*place).map(|(hue, part)| (hue, place.name(), part)));
        let (places, lanes) = (places.collect(), self.lanes.iter().map(lane).collect());
        LaneDrawing { length: end - begin, places, lanes }.serialize(serializer)
    }
}

/// Nanoseconds.
fn time() -> Axis {
    Axis { label: String::new(), unit: Unit::Ns, scale: Scale::Linear, ticks: Vec::new() }
}

/// What the legend says of a place.
fn meaning(place: Place) -> &'static str {
    match place {
        Place::AtBat => "at bat: holds the lock",
        Place::Awake => "awake: wants the lock",
        Place::Dugout => "dugout: asleep, wants it",
        Place::Outside => "outside: does without",
    }
}

/// The text of an SVG file.
pub fn lanes_svg(lanes: &Lanes) -> String {
    let header = header(&lanes.title, &lanes.caption);
    let (group, bottom) = drawing(lanes, (MARGIN, WIDTH - MARGIN), header.bottom + 14.0);
    let bottom = bottom + MARGIN;
    let chart = Group::new().set("font-family", FONTS).add(card(bottom)).add(header.group).add(group);
    document(&lanes.title, &lanes.text, bottom, chart)
}

/// The same without title and caption, for a page that has them as its own text, and the colours in its style sheet.
pub fn lanes_in_page(lanes: &Lanes, alternative: &str) -> String {
    let (group, bottom) = drawing(lanes, (0.0, WIDTH), 0.0);
    let svg = Document::new()
        .set("viewBox", (0, 0, WIDTH, at(bottom + 4.0)))
        .set("role", "img")
        .set("aria-label", clean(alternative));
    svg.add(group).to_string()
}

/// Legend, lanes and axis below `top`; and where they end.
fn drawing(lanes: &Lanes, (left, right): (f64, f64), top: f64) -> (Group, f64) {
    let lane_height = if lanes.lanes.len() <= FEW { WIDE_LANE } else { NARROW_LANE };
    let names = lanes.lanes.iter().map(|lane| width(&lane.name, AXIS_SIZE)).fold(0.0, f64::max);
    let from = left + names.min(160.0) + 12.0;
    let (begin, end) = lanes.window;
    let length = (end - begin) as f64;
    let ruler = Ruler::new(&time(), &[0.0, length], Ends::Exact, (from, right));
    let top = top + 2.0 * LEGEND_SIZE;
    let bottom = top + lane_height * lanes.lanes.len() as f64;
    let mut group = Group::new().add(legend(left, top - LEGEND_SIZE));
    group = group.add(axis_below(&ruler, (from, right), (top, bottom)));
    // A script that zooms draws between these again.
    group = group.set("data-from", at(from)).set("data-right", at(right));
    for (index, lane) in lanes.lanes.iter().enumerate() {
        let middle = top + lane_height * (index as f64 + 0.5);
        group = group.add(rule("grid", LIGHT.grid, (from, middle), (right, middle)));
        let name =
            words(&fit(&lane.name, AXIS_SIZE, 160.0), AXIS_SIZE, "ink", (from - 12.0, middle + AXIS_SIZE * 0.35));
        group = group.add(name.set("text-anchor", "end"));
        let lane_group =
            Group::new().set("class", "lane").set("data-middle", at(middle)).set("data-height", lane_height);
        group = group.add(bars(lane, begin, &ruler, (middle, lane_height)).into_iter().fold(lane_group, Group::add));
    }
    (group, bottom + 14.0 + AXIS_SIZE)
}

/// A bar for each place, in the order of time.
fn legend(left: f64, base: f64) -> Group {
    let mut group = Group::new().set("class", "legend");
    let mut x = left;
    for place in Place::ALL {
        let middle = base - LEGEND_SIZE * 0.35;
        let sample = match look(place) {
            Some((hue, part)) => coloured(hue).add(bar((x, SAMPLE), (middle, NARROW_LANE * part))),
            None => Group::new().add(rule("grid", LIGHT.grid, (x, middle), (x + SAMPLE, middle))),
        };
        let text_x = x + SAMPLE + 8.0;
        group = group.add(sample).add(words(meaning(place), LEGEND_SIZE, "ink", (text_x, base)));
        x = text_x + width(meaning(place), LEGEND_SIZE) + 12.0;
    }
    group
}

/// Times, with a line up through all lanes for each.
fn axis_below(ruler: &Ruler, (from, right): (f64, f64), (top, bottom): (f64, f64)) -> Group {
    let mut ticks = Group::new().set("class", "ticks").set("data-top", at(top)).set("data-bottom", at(bottom));
    for (value, text) in &ruler.ticks {
        let Some(x) = ruler.place(*value) else { continue };
        ticks = ticks.add(rule("grid", LIGHT.grid, (x, top), (x, bottom + 5.0)));
        let half = width(text, AXIS_SIZE) / 2.0;
        let text = words(text, AXIS_SIZE, "muted", (x.min(right - half), bottom + 10.0 + AXIS_SIZE));
        ticks = ticks.add(text.set("text-anchor", "middle"));
    }
    Group::new().add(ticks).add(rule("axis", LIGHT.muted, (from, bottom), (right, bottom)))
}

/// Spans of one place, too close to each other to be told apart.
struct Run {
    from: f64,
    to: f64,
    from_ns: u64,
    to_ns: u64,
    /// Time at the place, without what is in between.
    ns: u64,
    times: usize,
}

/// The spans of a place, in the order of time, those that nearly touch as one.
fn runs(lane: &Lane, place: Place, begin: u64, ruler: &Ruler) -> Vec<Run> {
    let place_of = |ns: u64| ruler.place_or_end((ns - begin) as f64);
    let mut runs: Vec<Run> = Vec::new();
    for span in lane.spans.iter().filter(|span| span.place == place) {
        let (from, to, ns) = (place_of(span.from_ns), place_of(span.to_ns), span.to_ns - span.from_ns);
        match runs.last_mut() {
            Some(last) if from - last.to < LEAST => {
                (last.to, last.to_ns) = (to, span.to_ns);
                (last.ns, last.times) = (last.ns + ns, last.times + 1);
            }
            _ => runs.push(Run { from, to, from_ns: span.from_ns, to_ns: span.to_ns, ns, times: 1 }),
        }
    }
    runs
}

/// The bars of a lane by their colour, each with what it says to a pointer that rests on it.
fn bars(lane: &Lane, begin: u64, ruler: &Ruler, (middle, height): (f64, f64)) -> Vec<Group> {
    let of_place = |place: &Place| {
        let (hue, part) = look(*place)?;
        let runs = runs(lane, *place, begin, ruler);
        let draw = |group: Group, run: &Run| {
            let (name, place, length) = (&lane.name, place.name(), duration_ns(run.ns as f64));
            let times = if run.times == 1 { String::new() } else { format!(" {} times", run.times) };
            let from = duration_ns((run.from_ns - begin) as f64);
            let told = Title::new(clean(&format!("{name}: {place}{times} for {length}, from {from}")));
            group.add(bar((run.from, (run.to - run.from).max(LEAST)), (middle, height * part)).add(told))
        };
        (!runs.is_empty()).then(|| runs.iter().fold(coloured(hue), draw))
    };
    // The highest bars are drawn last, over the others.
    Place::ALL.iter().rev().filter_map(of_place).collect()
}

fn coloured(hue: usize) -> Group {
    Group::new().set("class", format!("hue{hue}")).set("fill", HUES[hue].light)
}

fn bar((x, wide): (f64, f64), (middle, height): (f64, f64)) -> Rectangle {
    let bar = Rectangle::new().set("x", hundredths(x)).set("y", at(middle - height / 2.0));
    bar.set("width", hundredths(wide)).set("height", at(height)).set("stroke", "none")
}

/// Neighbours in a lane would overlap or gape by what tenths of a pixel leave out.
fn hundredths(pixels: f64) -> f64 {
    (pixels * 100.0).round() / 100.0
}
