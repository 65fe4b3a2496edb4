//! The names of the series, each at the height where its line ends.

use super::marks::{SeriesStyle, marker, stroke};
use ondeck_kit::drawing::{at, fit, number, width, words};
use ondeck_kit::figure::{Figure, Series};
use svg::node::element::{Group, Line};

/// Pixels from one name to the next.
pub(super) const ROW: f64 = 20.0;
const SIZE: f64 = 14.0;
const VALUE_SIZE: f64 = 12.0;
/// Pixels of the piece of line before a name.
const SAMPLE: f64 = 26.0;
const GAP: f64 = 8.0;
/// The widest that names become; longer ones are cut.
const MOST_NAME: f64 = 220.0;

/// Names beside the chart.
#[derive(Debug)]
pub(super) struct Legend<'a> {
    entries: Vec<Entry<'a>>,
    /// Pixels from the left end of the samples to the end of what is written.
    pub(super) width: f64,
}

#[derive(Debug)]
struct Entry<'a> {
    series: &'a Series,
    name: String,
    /// The last figure, where the line reaches the edge.
    value: String,
}

impl<'a> Legend<'a> {
    /// The names of all series that have something to show.
    pub(super) fn new(figure: &'a Figure, series: &[&'a Series]) -> Legend<'a> {
        let last_x = series.iter().filter_map(|series| series.points.last()).map(|point| point.x).reduce(f64::max);
        let entry = |series: &&'a Series| {
            let last = series.points.last().filter(|point| Some(point.x) == last_x);
            let value = last.map_or(String::new(), |point| number(point.y, figure.y.unit));
            Entry { series, name: fit(&series.name, SIZE, MOST_NAME), value }
        };
        let entries: Vec<Entry> = series.iter().map(entry).collect();
        let widths = entries.iter().map(|entry| width(&entry.name, SIZE) + GAP + width(&entry.value, VALUE_SIZE));
        let width = widths.reduce(f64::max).map_or(0.0, |widest| SAMPLE + GAP + widest);
        Legend { entries, width }
    }

    /// Height that the names take.
    pub(super) fn height(&self) -> f64 {
        ROW * self.entries.len() as f64
    }

    /// The names, from pixel `left` on and between `top` and `bottom`. `ends` says where a series' line ends.
    pub(super) fn draw(
        &self,
        left: f64,
        (top, bottom): (f64, f64),
        ends: impl Fn(&Series) -> Option<(f64, f64)>,
    ) -> Group {
        let mut rows: Vec<(&Entry, Option<(f64, f64)>)> =
            self.entries.iter().map(|entry| (entry, ends(entry.series))).collect();
        // Without an end of its own, a name comes last. The order is stable: equals stay as the figure has them.
        rows.sort_by(|(_, one), (_, other)| height(*one).total_cmp(&height(*other)));
        let wished: Vec<f64> = match rows.iter().any(|(_, end)| end.is_some()) {
            true => rows.iter().map(|(_, end)| height(*end).min(bottom)).collect(),
            false => (0..rows.len()).map(|row| top + ROW * (row as f64 + 0.5)).collect(),
        };
        let heights = apart(&wished, ROW, (top + ROW / 2.0, bottom - ROW / 2.0));
        let mut group = Group::new().set("class", "legend");
        for ((entry, end), y) in rows.into_iter().zip(heights) {
            group = group.add(entry.draw((left, left + self.width), y, end));
        }
        group
    }
}

fn height(end: Option<(f64, f64)>) -> f64 {
    end.map_or(f64::MAX, |(_, y)| y)
}

impl Entry<'_> {
    /// Between the two pixels: the name at the left, the figure at the right, so that figures stand in a column.
    fn draw(&self, (left, right): (f64, f64), y: f64, end: Option<(f64, f64)>) -> Group {
        let look = SeriesStyle::of(self.series);
        let mut sample = look.group();
        if let Some((end_x, end_y)) = end {
            let leader = Line::new().set("x1", at(end_x)).set("y1", at(end_y)).set("x2", at(left)).set("y2", at(y));
            sample = sample.add(leader.set("stroke-width", 1).set("stroke-opacity", "0.45"));
        }
        let line = Line::new().set("x1", at(left)).set("y1", at(y)).set("x2", at(left + SAMPLE)).set("y2", at(y));
        sample = sample.add(stroke(line, &look)).add(marker(&look, left + SAMPLE / 2.0, y));
        let text_x = left + SAMPLE + GAP;
        let name = words(&self.name, SIZE, "ink", (text_x, y + SIZE * 0.35));
        let name = if look.is_flagship() { name.set("font-weight", "bold") } else { name };
        let group = Group::new().add(sample).add(name);
        if self.value.is_empty() {
            return group;
        }
        let value = words(&self.value, VALUE_SIZE, "muted", (right, y + SIZE * 0.35));
        group.add(value.set("text-anchor", "end"))
    }
}

/// Heights at least a row apart, in the same order, between the two ends, and together as near as can be to what is
/// wished: neighbours that are too close share the way.
pub(super) fn apart(wished: &[f64], row: f64, (top, bottom): (f64, f64)) -> Vec<f64> {
    // Less one row for each before it, the heights need only not to fall; what falls is put together at its mean.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (nth, wish) in wished.iter().enumerate() {
        let mut pool = (wish - row * nth as f64, 1);
        while let Some((mean, n)) = pools.pop_if(|(mean, _)| *mean > pool.0) {
            let all = n + pool.1;
            pool = ((mean * n as f64 + pool.0 * pool.1 as f64) / all as f64, all);
        }
        pools.push(pool);
    }
    let last = (bottom - row * wished.len().saturating_sub(1) as f64).max(top);
    let levels = pools.into_iter().flat_map(|(mean, n)| std::iter::repeat_n(mean.clamp(top, last), n));
    levels.enumerate().map(|(nth, level)| level + row * nth as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_where_lines_end_if_there_is_room() {
        assert_eq!(apart(&[100.0, 200.0], ROW, (0.0, 300.0)), [100.0, 200.0]);
    }

    #[test]
    fn names_that_are_too_close_share_the_way() {
        assert_eq!(apart(&[100.0, 100.0, 200.0], ROW, (0.0, 300.0)), [90.0, 110.0, 200.0]);
        assert_eq!(apart(&[0.0, 0.0], ROW, (0.0, 300.0)), [0.0, 20.0]);
        assert_eq!(apart(&[300.0, 300.0], ROW, (0.0, 300.0)), [280.0, 300.0]);
        assert!(apart(&[], ROW, (0.0, 300.0)).is_empty());
    }

    #[test]
    fn names_never_overlap_or_leave_their_order() {
        let wished: Vec<f64> = (0..15).map(|n| f64::from(n * n % 7 * 40)).collect();
        let mut wished = wished;
        wished.sort_by(f64::total_cmp);
        let heights = apart(&wished, ROW, (0.0, 280.0));
        assert!(heights.windows(2).all(|pair| pair[1] - pair[0] > ROW - 1e-9), "{heights:?}");
        assert!(heights[0] >= 0.0 && heights[14] <= 280.0 + 1e-9, "{heights:?}");
    }
}
