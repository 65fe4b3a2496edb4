//! The page without a mouse.

use crate::chart::{check_tooltip, switch, tooltip};
use crate::pages::{HOSTILE, PROFILE, TOY};
use crate::tab::{Tab, WIDE};
use crate::values::{InPage, figures, open, sample};
use serde::Deserialize;

/// Where the focus is: the element's place in the document, and whether a reader sees that it is there.
#[derive(Debug, Deserialize)]
struct Focus {
    place: usize,
    is_marked: bool,
    what: String,
}

fn focus(tab: &mut Tab) -> Option<Focus> {
    tab.eval("focusNow()")
}

/// Strikes Tab until the element has the focus.
pub(crate) fn go_to(tab: &mut Tab, selector: &str) {
    for _ in 0..300 {
        if tab.eval(&format!("document.activeElement === document.querySelector({selector:?})")) {
            return;
        }
        tab.strike("Tab");
    }
    panic!("{selector} is not reached with Tab");
}

#[test]
#[ignore = "needs Chromium"]
fn tab_reaches_everything_once_and_shows_where_it_is() {
    for page in [&HOSTILE, &PROFILE] {
        let mut tab = open(page, WIDE);
        let expected: Vec<usize> = tab.eval("stops()");
        assert!(expected.len() > 20, "{expected:?}");
        let mut reached = Vec::new();
        for _ in 0..expected.len() {
            tab.strike("Tab");
            let focus = focus(&mut tab).expect("Tab leaves the page too early");
            assert!(focus.is_marked, "nothing marks the focus on {}", focus.what);
            reached.push(focus.place);
        }
        assert_eq!(reached, expected, "in the order of reading");
    }
}

#[test]
#[ignore = "needs Chromium"]
fn keys_switch_a_series() {
    let mut tab = open(&TOY, WIDE);
    let figure = &figures(&TOY)[1];
    go_to(&mut tab, &figure.select("button.series[data-series='1']"));
    for key in [" ", "Enter"] {
        switch(&mut tab, figure, 1, |tab| tab.strike(key));
    }
}

#[test]
#[ignore = "needs Chromium"]
fn arrows_tell_every_value() {
    let mut tab = open(&TOY, WIDE);
    for figure in sample(figures(&TOY)) {
        go_to(&mut tab, &figure.select(".chart"));
        assert!(tooltip(&mut tab, &figure).is_none(), "{}: nothing was asked yet", figure.id);
        let all: Vec<usize> = (0..figure.series.len()).collect();
        let places = figure.xs();
        for x in &places {
            tab.strike("ArrowRight");
            let said = tooltip(&mut tab, &figure).unwrap_or_else(|| panic!("{}: nothing at {x}", figure.id));
            check_tooltip(&figure, &all, *x, &said);
        }
        // At the end it stays where it is, and the way back is the same.
        tab.strike("ArrowRight");
        for x in places.iter().rev() {
            let said = tooltip(&mut tab, &figure).unwrap_or_else(|| panic!("{}: nothing at {x}", figure.id));
            check_tooltip(&figure, &all, *x, &said);
            tab.strike("ArrowLeft");
        }
        tab.strike("Escape");
        assert!(tooltip(&mut tab, &figure).is_none(), "{}: Escape ends it", figure.id);
        tab.strike("ArrowLeft");
        assert!(tooltip(&mut tab, &figure).is_some());
        tab.strike("Tab");
        assert!(tooltip(&mut tab, &figure).is_none(), "{}: leaving ends it", figure.id);
    }
}
