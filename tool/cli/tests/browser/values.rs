//! The figures of a report, read from its files and not from its page, and numbers as they are written beside a chart.

use crate::pages::Page;
use crate::tab::{Tab, Window};
pub(crate) use ondeck_kit::figure::Figure;

/// Where a figure is in the page.
pub(crate) trait InPage {
    fn n_points(&self) -> usize;
    fn select(&self, what: &str) -> String;
    fn section(&self) -> String;
}

impl InPage for Figure {
    fn n_points(&self) -> usize {
        self.series.iter().map(|series| series.points.len()).sum()
    }

    /// CSS selector of something in the figure.
    fn select(&self, what: &str) -> String {
        format!("[id=\"fig-{}\"] {what}", self.id)
    }

    /// The same as an expression of JavaScript, of the figure itself.
    fn section(&self) -> String {
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

/// All figures of a page, as its files have them; that of a profile has none.
pub(crate) fn figures(page: &Page) -> Vec<Figure> {
    page.document.as_ref().map_or_else(Vec::new, |document| document.figures.clone())
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
