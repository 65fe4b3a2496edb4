//! The two axes: what stands at them, and the lines across.

use super::{Frame, MARGIN, WIDTH};
use ondeck_kit::drawing::{AXIS_SIZE, MOST_TICK, fit, rule, without_overlap, words};
use ondeck_kit::figure::Figure;
use ondeck_kit::palette::LIGHT;
use svg::node::element::Group;

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

/// The axis at the bottom.
pub(super) struct Bottom<'a> {
    frame: &'a Frame,
    label: String,
    /// Pixel and text of what stands at the axis.
    ticks: Vec<(f64, String)>,
}

impl<'a> Bottom<'a> {
    pub(super) fn new(figure: &Figure, frame: &'a Frame) -> Bottom<'a> {
        let all = frame.x.ticks.iter().filter_map(|(value, text)| Some((frame.x.place(*value)?, text.clone())));
        let label = fit(&figure.x.label, AXIS_SIZE, frame.right - frame.left);
        Bottom { frame, label, ticks: without_overlap(all.collect()) }
    }

    /// The pixel below everything that is written here.
    pub(super) fn bottom(&self) -> f64 {
        let label = if self.label.is_empty() { 0.0 } else { AXIS_SIZE + 12.0 };
        self.frame.bottom + 10.0 + AXIS_SIZE + label
    }

    pub(super) fn draw(&self) -> Group {
        let (bottom, mut group) = (self.frame.bottom, Group::new());
        for (x, text) in &self.ticks {
            group = group.add(rule("axis", LIGHT.muted, (*x, bottom), (*x, bottom + 5.0)));
            let text = words(text, AXIS_SIZE, "muted", (*x, bottom + 10.0 + AXIS_SIZE));
            group = group.add(text.set("text-anchor", "middle"));
        }
        let middle = ((self.frame.left + self.frame.right) / 2.0, self.bottom());
        match self.label.as_str() {
            "" => group,
            label => group.add(words(label, AXIS_SIZE, "ink", middle).set("text-anchor", "middle")),
        }
    }
}
