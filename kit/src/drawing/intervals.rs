//! Bars that stand on intervals: a histogram, or amounts over time, one upon the other.

use super::lettering::{clean, fit, number, width};
use super::scale::{Ends, Ruler};
use super::{AXIS_SIZE, MOST_TICK, at, rule, without_overlap, words};
use crate::figure::{Axis, Scale, Unit};
use crate::palette::{HUES, LIGHT};
use crate::wording::whole;
use svg::Document;
use svg::node::element::{Group, Rectangle, Title};

/// Bars over intervals of one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervals {
    /// What is seen, for those who do not see it.
    pub text: String,
    /// What the intervals are of.
    pub x: Axis,
    /// What runs upwards, from 0.
    pub y: Axis,
    /// What the bars are made of, the lowest first: name, and number of its colour.
    pub parts: Vec<(String, usize)>,
    /// The bars, ascending, none over another.
    pub bars: Vec<Interval>,
    /// How large it is drawn.
    pub size: Size,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// How much there is, of each of [`Intervals::parts`].
    pub amounts: Vec<f64>,
}

/// How large a picture is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// As wide as the page.
    Whole,
    /// Two fit beside each other.
    Half,
    /// As wide as the page, and low: one of many.
    Strip,
}

impl Size {
    /// Width of the picture, and height between the axes, in pixels.
    fn pixels(self) -> (f64, f64) {
        match self {
            Size::Whole => (960.0, 220.0),
            Size::Half => (460.0, 130.0),
            Size::Strip => (960.0, 90.0),
        }
    }
}

/// Pixels between neighbouring bars, if they are wide enough for a gap.
const GAP: f64 = 1.0;
/// Lower ones would not be seen.
const LEAST_HEIGHT: f64 = 1.0;
/// The widest that a name in the legend becomes.
const MOST_NAME: f64 = 290.0;
const SWATCH: f64 = 12.0;
const LEGEND_ROW: f64 = 20.0;

/// The picture for a page that has title and caption as its own text, and the colours in its style sheet.
pub fn intervals_in_page(of: &Intervals, alternative: &str) -> String {
    let (wide, high) = of.size.pixels();
    let (legend, below) = legend(of, wide);
    let top = below + AXIS_SIZE + 12.0;
    let bottom = top + high;
    let most = bars(of).map(total).fold(0.0, f64::max);
    let y = Ruler::new(&of.y, &[most], Ends::Round, (bottom, top));
    let widest = y.ticks.iter().map(|(_, text)| width(text, AXIS_SIZE)).fold(0.0, f64::max);
    let left = widest.min(MOST_TICK) + 10.0;
    let ends: Vec<f64> = bars(of).flat_map(|bar| [low_end(&of.x, bar), bar.to]).collect();
    let x = Ruler::new(&of.x, &ends, Ends::Exact, (left, wide - 6.0));
    let mut group = Group::new().add(legend).add(words(&of.y.label, AXIS_SIZE, "muted", (0.0, top - 12.0)));
    for (value, text) in &y.ticks {
        let Some(place) = y.place(*value) else { continue };
        group = group.add(rule("grid", LIGHT.grid, (left, place), (wide - 6.0, place)));
        let text = words(text, AXIS_SIZE, "muted", (left - 8.0, place + AXIS_SIZE * 0.35));
        group = group.add(text.set("text-anchor", "end"));
    }
    for (index, (name, style)) in of.parts.iter().enumerate() {
        group = group.add(part(of, (index, name, *style), &x, &y));
    }
    group = group.add(rule("axis", LIGHT.muted, (left, bottom), (wide - 6.0, bottom)));
    group = below_axis(group, of, &x, (left, wide, bottom));
    let label = if of.x.label.is_empty() { 0.0 } else { AXIS_SIZE + 6.0 };
    let height = bottom + AXIS_SIZE + 14.0 + label;
    let document = Document::new().set("viewBox", (0, 0, wide, at(height)));
    document.set("role", "img").set("aria-label", clean(alternative)).add(group).to_string()
}

/// Those that have a place and a height.
fn bars(of: &Intervals) -> impl Iterator<Item = &Interval> {
    of.bars.iter().filter(|bar| bar.from < bar.to && bar.to.is_finite() && total(bar).is_finite())
}

fn total(bar: &Interval) -> f64 {
    bar.amounts.iter().sum()
}

/// Where the bar begins; one from 0 on has no beginning on a logarithmic axis, and gets half of its end.
fn low_end(x: &Axis, bar: &Interval) -> f64 {
    if x.scale == Scale::Log && bar.from <= 0.0 { bar.to / 2.0 } else { bar.from }
}

/// What a bar stands for: what is counted in an interval is a whole number.
fn amount_of(amount: f64, unit: Unit) -> String {
    if unit == Unit::Count { whole(amount) } else { number(amount, unit) }
}

/// All bars of one part, upon those before it.
fn part(of: &Intervals, (index, name, style): (usize, &str, usize), x: &Ruler, y: &Ruler) -> Group {
    let hue = style % HUES.len();
    let mut group = Group::new().set("class", format!("hue{hue}")).set("fill", HUES[hue].light).set("stroke", "none");
    for bar in bars(of) {
        let amount = bar.amounts.get(index).copied().unwrap_or(0.0);
        let below: f64 = bar.amounts.iter().take(index).sum();
        if amount <= 0.0 {
            continue;
        }
        let (from, to) = (x.place_or_end(low_end(&of.x, bar)), x.place_or_end(bar.to));
        let (low, high) = (y.place_or_end(below), y.place_or_end(below + amount));
        let gap = if to - from > 4.0 * GAP { GAP } else { 0.0 };
        let height = (low - high).max(if of.parts.len() == 1 { LEAST_HEIGHT } else { 0.0 });
        let told = format!(
            "{} to {}: {}{}",
            number(bar.from, of.x.unit),
            number(bar.to, of.x.unit),
            amount_of(amount, of.y.unit),
            if of.parts.len() == 1 { String::new() } else { format!(" {name}") },
        );
        let shape = Rectangle::new().set("x", at(from)).set("y", at(low - height));
        let shape = shape.set("width", at((to - from - gap).max(0.5))).set("height", at(height));
        group = group.add(shape.add(Title::new(clean(&told))));
    }
    group
}

fn below_axis(mut group: Group, of: &Intervals, x: &Ruler, (left, wide, bottom): (f64, f64, f64)) -> Group {
    let ticks = x.ticks.iter().filter_map(|(value, text)| Some((x.place(*value)?, text.clone()))).collect();
    for (place, text) in without_overlap(ticks) {
        group = group.add(rule("axis", LIGHT.muted, (place, bottom), (place, bottom + 5.0)));
        let half = width(&text, AXIS_SIZE) / 2.0;
        let middle = place.min(wide - half);
        group = group
            .add(words(&text, AXIS_SIZE, "muted", (middle, bottom + 8.0 + AXIS_SIZE)).set("text-anchor", "middle"));
    }
    if of.x.label.is_empty() {
        return group;
    }
    let label = words(&of.x.label, AXIS_SIZE, "muted", ((left + wide) / 2.0, bottom + 14.0 + 2.0 * AXIS_SIZE));
    group.add(label.set("text-anchor", "middle"))
}

/// What the colours mean, where there are several; and the pixel below it.
fn legend(of: &Intervals, wide: f64) -> (Group, f64) {
    let mut group = Group::new();
    if of.parts.len() < 2 {
        return (group, 0.0);
    }
    let (mut x, mut base) = (0.0, AXIS_SIZE);
    for (name, style) in &of.parts {
        let name = fit(name, AXIS_SIZE, MOST_NAME);
        let room = SWATCH + 8.0 + width(&name, AXIS_SIZE) + 16.0;
        if x > 0.0 && x + room > wide {
            (x, base) = (0.0, base + LEGEND_ROW);
        }
        let hue = style % HUES.len();
        let swatch = Rectangle::new().set("x", at(x)).set("y", at(base - SWATCH + 2.0)).set("rx", 2);
        let swatch = swatch.set("width", SWATCH).set("height", SWATCH).set("fill", HUES[hue].light);
        group = group.add(swatch.set("class", format!("hue{hue}")));
        group = group.add(words(&name, AXIS_SIZE, "ink", (x + SWATCH + 8.0, base)));
        x += room;
    }
    (group, base + 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Unit;

    fn intervals(scale: Scale, parts: &[&str], bars: Vec<Interval>) -> Intervals {
        let axis = |unit, scale| Axis { label: "wait".into(), unit, scale, ticks: Vec::new() };
        let parts = (0..).zip(parts).map(|(style, name)| (name.to_string(), style)).collect();
        Intervals {
            text: "text".into(),
            x: axis(Unit::Ns, scale),
            y: axis(Unit::Count, Scale::Linear),
            parts,
            bars,
            size: Size::Half,
        }
    }

    fn bar(from: f64, to: f64, amounts: &[f64]) -> Interval {
        Interval { from, to, amounts: amounts.to_vec() }
    }

    /// x, y, width and height of the bars of a part.
    fn shapes(svg: &str, part: usize) -> Vec<[f64; 4]> {
        let tree = roxmltree::Document::parse(svg).expect("it is XML");
        let has_title = |node: &roxmltree::Node| node.children().any(|child| child.has_tag_name("title"));
        let class = format!("hue{part}");
        let of_part = |node: &roxmltree::Node| node.parent().is_some_and(|up| up.attribute("class") == Some(&class));
        let number = |node: roxmltree::Node, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
        let shapes = tree.descendants().filter(has_title).filter(of_part);
        shapes.map(|node| ["x", "y", "width", "height"].map(|name| number(node, name))).collect()
    }

    #[test]
    fn bars_of_a_logarithmic_axis_are_as_wide_as_their_ratio() {
        let bars = vec![bar(0.0, 2.0, &[1.0]), bar(2.0, 4.0, &[2.0]), bar(4.0, 16.0, &[4.0])];
        let svg = intervals_in_page(&intervals(Scale::Log, &["waits"], bars), "three bars");
        let shapes = shapes(&svg, 0);
        assert_eq!(shapes.len(), 3);
        assert!((shapes[0][2] - shapes[1][2]).abs() < 0.3 && (shapes[2][2] - 2.0 * shapes[0][2]).abs() < 2.0, "{svg}");
        assert!((shapes[2][3] - 4.0 * shapes[0][3]).abs() < 0.3, "{svg}");
        assert!(
            svg.contains("<title>4.00 ns to 16.0 ns: 4</title>") && svg.contains("aria-label=\"three bars\""),
            "{svg}"
        );
    }

    #[test]
    fn parts_stand_upon_each_other() {
        let bars = vec![bar(0.0, 1e9, &[1.0, 3.0]), bar(1e9, 2e9, &[0.0, 2.0])];
        let svg = intervals_in_page(&intervals(Scale::Linear, &["<one>", "two"], bars), "");
        let (lower, upper) = (shapes(&svg, 0), shapes(&svg, 1));
        assert_eq!((lower.len(), upper.len()), (1, 2));
        assert!((upper[0][1] + upper[0][3] - lower[0][1]).abs() < 0.2, "{svg}");
        assert!(svg.contains("&lt;one&gt;"), "{svg}");
    }

    #[test]
    fn nothing_and_odd_numbers_are_drawn_too() {
        let odd = [0.0, -1.0, 7.0, f64::MAX, f64::NAN, f64::INFINITY, 1e-320];
        for scale in [Scale::Log, Scale::Linear] {
            let bars = odd.iter().flat_map(|from| odd.map(|to| bar(*from, to, &[to, *from]))).collect();
            for bars in [bars, Vec::new()] {
                let svg = intervals_in_page(&intervals(scale.clone(), &["a", "b"], bars), "");
                roxmltree::Document::parse(&svg).expect("it is XML");
                assert!(!svg.contains("NaN") && !svg.contains("\"inf"), "{svg}");
            }
        }
    }
}
