//! What pictures are made of: texts that fit, axes, lines, and bars over intervals, as SVG.

mod intervals;
mod lettering;
mod scale;

pub use intervals::{Interval, Intervals, Size, intervals_in_page};
pub use lettering::{clean, fit, lines, number, tick, width};
pub use scale::{Ends, Ruler};

use crate::palette::LIGHT;
use svg::node::element::{Line, Text};

/// A file with a picture in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Name of the file, without its extension.
    pub id: String,
    /// What is shown, in one line.
    pub title: String,
    /// The text of the file.
    pub svg: String,
}

/// Height of what is written at an axis, in pixels.
pub const AXIS_SIZE: f64 = 13.0;
/// The widest that a number at the left axis becomes.
pub const MOST_TICK: f64 = 120.0;

/// A coordinate: tenths of a pixel are fine enough, and the same on every machine.
pub fn at(pixels: f64) -> f64 {
    // Adding 0 turns -0 into 0.
    (pixels * 10.0).round() / 10.0 + 0.0
}

/// A text that begins at the point, which lies on its base line.
pub fn words(text: &str, size: f64, class: &str, (x, y): (f64, f64)) -> Text {
    let fill = if class == "ink" { LIGHT.ink } else { LIGHT.muted };
    Text::new(clean(text)).set("x", at(x)).set("y", at(y)).set("font-size", size).set("class", class).set("fill", fill)
}

/// A line across, or along an axis.
pub fn rule(class: &str, colour: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> Line {
    let line = Line::new().set("x1", at(x1)).set("y1", at(y1)).set("x2", at(x2)).set("y2", at(y2));
    line.set("class", class).set("stroke", colour)
}

/// Whether each text has its place to itself.
pub fn have_room(ticks: &[(f64, String)]) -> bool {
    let half = |text: &str| width(text, AXIS_SIZE) / 2.0;
    ticks.windows(2).all(|pair| pair[1].0 - half(&pair[1].1) - pair[0].0 - half(&pair[0].1) > 8.0)
}

/// The texts without those that would touch one that is already there. The first and the last are there.
pub fn without_overlap(ticks: Vec<(f64, String)>) -> Vec<(f64, String)> {
    let Some(last) = ticks.last().cloned() else { return ticks };
    let mut kept: Vec<(f64, String)> = Vec::new();
    for tick in ticks {
        let touches = |other: &(f64, String)| !have_room(&[other.clone(), tick.clone()]);
        let is_last = tick == last;
        if kept.last().is_none_or(|before| !touches(before)) && (is_last || have_room(&[tick.clone(), last.clone()])) {
            kept.push(tick);
        }
    }
    kept
}
