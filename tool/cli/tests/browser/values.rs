//! The figures of a report as its page carries them, and numbers as they are written beside a chart.

use crate::pages::Page;
use crate::tab::{Tab, Window};
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Figure {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) form: String,
    pub(crate) x: Axis,
    /// A value with a meaning of its own, and what is written beside it.
    pub(crate) mark: Option<(f64, String)>,
    pub(crate) series: Vec<Series>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Scale {
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) names: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) spread: Option<(f64, f64)>,
}

impl Figure {
    pub(crate) fn n_points(&self) -> usize {
        self.series.iter().map(|series| series.points.len()).sum()
    }

    /// All places to the right, ascending.
    pub(crate) fn places(&self) -> Vec<f64> {
        let mut places: Vec<f64> = self.series.iter().flat_map(|one| &one.points).map(|point| point.x).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    /// CSS selector of something in the figure.
    pub(crate) fn select(&self, what: &str) -> String {
        format!("[id=\"fig-{}\"] {what}", self.id)
    }

    /// The same as an expression of JavaScript, of the figure itself.
    pub(crate) fn section(&self) -> String {
        format!("document.getElementById('fig-{}')", self.id)
    }
}

/// Opens a page whose charts are all drawn.
pub(crate) fn open(page: &Page, window: Window) -> Tab {
    let mut tab = Tab::open(&page.file, window);
    tab.until("document.body.dataset.ready === 'true'");
    tab.eval::<bool>("frames(2)");
    tab
}

/// All figures of a page; that of a profile has none which a script draws.
pub(crate) fn figures(tab: &mut Tab) -> Vec<Figure> {
    let figures = tab.report()["figures"].take();
    if figures.is_null() {
        return Vec::new();
    }
    serde_json::from_value(figures).unwrap_or_else(|error| panic!("{error}"))
}

/// Every third of a page's figures, where to use them all would take minutes. Neighbours are about different things.
pub(crate) fn sample(figures: Vec<Figure>) -> impl Iterator<Item = Figure> {
    figures.into_iter().step_by(3)
}

/// The value of a number that is written with a unit, and what one of its unit is; `None` of what is not a number.
fn read(text: &str) -> Option<(f64, f64)> {
    let text = text.trim().replace('\u{2212}', "-");
    let end = text.find(|sign: char| !(sign.is_ascii_digit() || "+-.e".contains(sign))).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let size = match unit.trim() {
        "" | "ns" => 1.0,
        "k" | "us" => 1e3,
        "M" | "ms" => 1e6,
        "G" | "s" => 1e9,
        _ => return None,
    };
    digits.parse::<f64>().ok().map(|value| (value * size, size))
}

/// The value of a number that is written with a unit; `None` of what is not one.
pub(crate) fn number(text: &str) -> Option<f64> {
    read(text).map(|(value, _)| value)
}

/// Whether a number is written as this: with three digits, and at most six behind the point.
pub(crate) fn is_written_as(value: f64, text: &str) -> bool {
    read(text).is_some_and(|(read, size)| (read - value).abs() <= (0.005_01 * value.abs()).max(0.501e-6 * size))
}

#[test]
fn numbers_are_read_as_they_are_written() {
    assert_eq!(number("58.1 M"), Some(58.1e6));
    assert_eq!(number("1.50 us"), Some(1500.0));
    assert_eq!(number("0.95"), Some(0.95));
    assert_eq!(number("1.00e+300"), Some(1e300));
    assert_eq!(number("threads"), None);
    assert_eq!(number("3 apples"), None);
    assert!(is_written_as(58_149_999.0, "58.1 M"));
    assert!(is_written_as(0.000_049_635, "0.000050"));
    assert!(!is_written_as(0.000_049_635, "0.000051"));
    assert!(!is_written_as(58_149_999.0, "58.6 M"));
    assert!(!is_written_as(58_149_999.0, "58.1 k"));
}
