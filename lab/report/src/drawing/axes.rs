//! The two axes: what stands at them, and the lines across.

use super::{Frame, MARGIN, WIDTH};
use ondeck_kit::drawing::{AXIS_SIZE, MOST_TICK, at, fit, have_room, rule, width, without_overlap, words};
use ondeck_kit::figure::{Figure, Scale};
use ondeck_kit::palette::LIGHT;
use svg::node::element::{Group, Text};

/// The widest that a name below the chart becomes, where it is slanted.
const MOST_NAME: f64 = 150.0;
/// Degrees by which names are slanted that have no room side by side.
const SLANT: f64 = 35.0;
/// Smallest distance of slanted names.
const SLANTED_ROW: f64 = 18.0;

/// The axis at the left: its label above, a line across for each number.
pub(super) fn left(figure: &Figure, frame: &Frame) -> Group {
    let label = fit(&figure.y.label, AXIS_SIZE, WIDTH - 2.0 * MARGIN);
    let mut group = Group::new().add(words(&label, AXIS_SIZE, "ink", (MARGIN, frame.top - 16.0)));
    for (value, text) in &frame.y.ticks {
        let Some(y) = frame.y.place(*value) else { continue };
        group = group.add(rule("grid", LIGHT.grid, (frame.left, y), (frame.right, y)));
        let text = fit(text, AXIS_SIZE, MOST_TICK);
        let place = (frame.left - 8.0, y + AXIS_SIZE * 0.35);
        group = group.add(words(&text, AXIS_SIZE, "muted", place).set("text-anchor", "end"));
    }
    let base = frame.y.base();
    group.add(rule("axis", LIGHT.muted, (frame.left, base), (frame.right, base)))
}

/// The line of a value that has a meaning of its own, with that meaning.
pub(super) fn mark(group: Group, frame: &Frame, (value, meaning): &(f64, String)) -> Group {
    let Some(y) = frame.y.place(*value) else { return group };
    let line = rule("axis", LIGHT.muted, (frame.left, y), (frame.right, y)).set("stroke-dasharray", "3 4");
    let text = fit(meaning, AXIS_SIZE, frame.right - frame.left - 12.0);
    let text = words(&text, AXIS_SIZE, "muted halo", (frame.right - 6.0, y - 7.0));
    let text = text.set("text-anchor", "end").set("font-style", "italic");
    let text = text.set("stroke", LIGHT.card).set("stroke-width", 3).set("paint-order", "stroke");
    group.add(line).add(text)
}

/// The axis at the bottom.
pub(super) struct Bottom<'a> {
    frame: &'a Frame,
    label: String,
    /// Pixel and text of what stands at the axis.
    ticks: Vec<(f64, String)>,
    is_slanted: bool,
}

impl<'a> Bottom<'a> {
    pub(super) fn new(figure: &Figure, frame: &'a Frame) -> Bottom<'a> {
        let all: Vec<(f64, String)> =
            frame.x.ticks.iter().filter_map(|(value, text)| Some((frame.x.place(*value)?, text.clone()))).collect();
        let is_slanted = matches!(figure.x.scale, Scale::Names { .. }) && !have_room(&all);
        let ticks = match is_slanted {
            true => slanted(all, frame),
            false => without_overlap(all),
        };
        let label = fit(&figure.x.label, AXIS_SIZE, frame.right - frame.left);
        Bottom { frame, label, ticks, is_slanted }
    }

    /// Height of what stands at the axis.
    fn height(&self) -> f64 {
        let widest = self.ticks.iter().map(|(_, text)| width(text, AXIS_SIZE)).fold(0.0, f64::max);
        if self.is_slanted { widest * SLANT.to_radians().sin() + AXIS_SIZE } else { AXIS_SIZE }
    }

    /// The pixel below everything that is written here.
    pub(super) fn bottom(&self) -> f64 {
        let label = if self.label.is_empty() { 0.0 } else { AXIS_SIZE + 12.0 };
        self.frame.bottom + 10.0 + self.height() + label
    }

    pub(super) fn draw(&self) -> Group {
        let (bottom, mut group) = (self.frame.bottom, Group::new());
        for (x, text) in &self.ticks {
            group = group.add(rule("axis", LIGHT.muted, (*x, bottom), (*x, bottom + 5.0)));
            group = group.add(self.tick(*x, text));
        }
        let middle = ((self.frame.left + self.frame.right) / 2.0, self.bottom());
        match self.label.as_str() {
            "" => group,
            label => group.add(words(label, AXIS_SIZE, "ink", middle).set("text-anchor", "middle")),
        }
    }

    fn tick(&self, x: f64, text: &str) -> Text {
        let bottom = self.frame.bottom;
        if !self.is_slanted {
            return words(text, AXIS_SIZE, "muted", (x, bottom + 10.0 + AXIS_SIZE)).set("text-anchor", "middle");
        }
        let (x, y) = (x + 4.0, bottom + 8.0 + AXIS_SIZE / 2.0);
        let turn = format!("rotate(-{SLANT} {} {})", at(x), at(y));
        words(text, AXIS_SIZE, "muted", (x, y)).set("text-anchor", "end").set("transform", turn)
    }
}

/// The names as they are when slanted: cut to the room at their left, and only as many as have a line each.
fn slanted(ticks: Vec<(f64, String)>, frame: &Frame) -> Vec<(f64, String)> {
    let gap = (frame.right - frame.left) / ticks.len().max(1) as f64;
    let every = (SLANTED_ROW / gap).ceil().max(1.0) as usize;
    let room = |x: f64| ((x - 4.0) / SLANT.to_radians().cos()).min(MOST_NAME);
    let cut = |(x, text): (f64, String)| (x, fit(&text, AXIS_SIZE, room(x)));
    ticks.into_iter().step_by(every).map(cut).collect()
}
