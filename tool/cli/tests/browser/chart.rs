//! The charts under the mouse: what is drawn, told and hidden.

use crate::pages::{HOSTILE, REAL, TOY};
use crate::tab::{Spot, Tab, WIDE};
use crate::values::{Figure, InPage, figures, is_written_as, number, open, sample};
use ondeck_kit::figure::{Form, Scale};
use serde::Deserialize;
use std::collections::BTreeSet;

/// A text in a chart and where it stands.
#[derive(Clone, Debug, Deserialize)]
struct Text {
    text: String,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// What a tooltip says: the place, and for each series name, value and spread.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Tooltip {
    pub(crate) place: String,
    pub(crate) rows: Vec<[String; 3]>,
}

fn shapes(tab: &mut Tab, figure: &Figure, series: usize) -> usize {
    let section = figure.section();
    tab.eval(&format!("shapesOf({section}, colourOf(seriesButtons({section})[{series}]))"))
}

fn texts(tab: &mut Tab, figure: &Figure) -> Vec<Text> {
    tab.eval(&format!("textsOf({})", figure.section()))
}

pub(crate) fn tooltip(tab: &mut Tab, figure: &Figure) -> Option<Tooltip> {
    tab.eval(&format!("tooltipOf({})", figure.section()))
}

/// Points that have a place on a chart.
fn drawable(figure: &Figure, series: usize) -> usize {
    let (log_x, log_y) = (figure.x.scale == Scale::Log, figure.y.scale == Scale::Log);
    let is_bar = figure.form == Form::Bars;
    let has_place = |x: f64, y: f64| (!log_x || x > 0.0) && (!log_y || y > 0.0) && (!is_bar || y > 0.0);
    figure.series[series].points.iter().filter(|point| has_place(point.x, point.y)).count()
}

#[test]
#[ignore = "needs Chromium"]
fn every_point_is_drawn_in_the_colour_of_its_series() {
    for page in [&TOY, &REAL, &HOSTILE] {
        let mut tab = open(page, WIDE);
        let figures = figures(page);
        assert!(!figures.is_empty());
        for figure in &figures {
            let colours: Vec<String> = tab.eval(&format!("seriesButtons({}).map(colourOf)", figure.section()));
            assert_eq!(colours.len(), figure.series.len(), "{}: a button for each series", figure.id);
            for (index, colour) in colours.iter().enumerate() {
                // Several files may share a colour.
                let alike = (0..colours.len()).filter(|other| colours[*other] == *colour);
                let expected: usize = alike.map(|other| drawable(figure, other)).sum();
                let drawn = shapes(&mut tab, figure, index);
                let name = &figure.series[index].name;
                assert!(drawn >= expected, "{}: {name}: {drawn} shapes for {expected} points", figure.id);
                assert!(expected > 0, "{}: {name} has nothing to draw", figure.id);
            }
        }
    }
}

/// Moves the mouse over the whole width of a chart; what the tooltip says, each saying once.
fn sweep(tab: &mut Tab, figure: &Figure) -> Vec<Tooltip> {
    let [left, top, width, height] = tab.rectangle(&figure.select(".chart"));
    let mut said: Vec<Tooltip> = Vec::new();
    // Twice as many as the most places, log or linear, need to be told apart.
    let n_steps = 40;
    for step in 0..=n_steps {
        let x = left + 2.0 + (width - 4.0) * f64::from(step) / f64::from(n_steps);
        tab.hover(Spot { x, y: top + height / 2.0 });
        let now = tooltip(tab, figure);
        said.extend(now.filter(|now| said.last().is_none_or(|last| last.place != now.place)));
    }
    said
}

/// How a place is called in the first line of a tooltip.
fn place_name(figure: &Figure, x: f64) -> String {
    match &figure.x.scale {
        Scale::Names { names } => names[x as usize].clone(),
        _ => format!("{}: {x}", figure.x.label),
    }
}

/// Holds what a tooltip says against the figures at its place. `shown` are the series that are switched on.
pub(crate) fn check_tooltip(figure: &Figure, shown: &[usize], x: f64, said: &Tooltip) {
    let at = |index: &usize| figure.series[*index].points.iter().find(|point| point.x == x);
    let expected: Vec<_> = shown.iter().filter_map(|index| Some((&figure.series[*index].name, at(index)?))).collect();
    assert!(said.rows.len() == expected.len().min(16), "{}: {said:?} at {x}", figure.id);
    for (name, point) in &expected {
        let rows: Vec<_> = said.rows.iter().filter(|row| row[0] == **name).collect();
        assert!(!rows.is_empty() || expected.len() > 16, "{}: {name} is missing at {x}: {said:?}", figure.id);
        for row in rows {
            assert!(is_written_as(point.y, &row[1]), "{}: {name} at {x} is {}: {row:?}", figure.id, point.y);
            let spread: Vec<&str> = row[2].split(" to ").collect();
            let is_spread = point.spread.is_none_or(|(least, most)| {
                spread.len() == 2 && is_written_as(least, spread[0]) && is_written_as(most, spread[1])
            });
            assert!(is_spread, "{}: {name} at {x} reaches over {:?}: {row:?}", figure.id, point.spread);
        }
    }
}

#[test]
#[ignore = "needs Chromium"]
fn the_mouse_finds_every_value() {
    let mut tab = open(&TOY, WIDE);
    for figure in figures(&TOY) {
        let said = sweep(&mut tab, &figure);
        let all: Vec<usize> = (0..figure.series.len()).collect();
        let places = figure.xs();
        let names: Vec<String> = places.iter().map(|x| place_name(&figure, *x)).collect();
        let told: Vec<&String> = said.iter().map(|tooltip| &tooltip.place).collect();
        assert_eq!(told, names.iter().collect::<Vec<_>>(), "{}: places from left to right", figure.id);
        for (x, tooltip) in places.iter().zip(&said) {
            check_tooltip(&figure, &all, *x, tooltip);
        }
        tab.hover(Spot { x: 1.0, y: 1.0 });
        assert!(tooltip(&mut tab, &figure).is_none(), "{}: it stays when the mouse has left", figure.id);
    }
}

/// Switches a series off and on again: what was drawn goes and comes back.
pub(crate) fn switch(tab: &mut Tab, figure: &Figure, series: usize, press: impl Fn(&mut Tab)) {
    let button = figure.select(&format!("button.series[data-series='{series}']"));
    let is_on = |tab: &mut Tab| tab.eval::<bool>(&format!("document.querySelector({button:?}).ariaPressed === 'true'"));
    let n_points = drawable(figure, series);
    let before = shapes(tab, figure, series);
    press(tab);
    assert!(!is_on(tab), "{}: series {series} is switched off", figure.id);
    let hidden = shapes(tab, figure, series);
    assert!(hidden + n_points <= before, "{}: series {series}: {before} shapes, then {hidden}", figure.id);
    check_middle(tab, figure, series);
    press(tab);
    assert!(is_on(tab), "{}: series {series} is switched on", figure.id);
    assert_eq!(shapes(tab, figure, series), before, "{}: shapes of series {series}", figure.id);
}

/// A series that is switched off is not in the tooltip either.
fn check_middle(tab: &mut Tab, figure: &Figure, off: usize) {
    let shown: Vec<usize> = (0..figure.series.len()).filter(|index| *index != off).collect();
    let middle = tab.middle(&figure.select(".chart"));
    tab.hover(middle);
    let said = tooltip(tab, figure);
    if shown.is_empty() {
        assert!(said.is_none(), "{}: nothing is shown, and yet: {said:?}", figure.id);
        return;
    }
    let said = said.unwrap_or_else(|| panic!("{}: no tooltip", figure.id));
    let x = figure.xs().into_iter().find(|x| place_name(figure, *x) == said.place);
    check_tooltip(figure, &shown, x.unwrap_or_else(|| panic!("{}: no place {}", figure.id, said.place)), &said);
}

/// The first and the last series of some figures: to press them all takes minutes and shows no more.
#[test]
#[ignore = "needs Chromium"]
fn a_series_is_switched_off_and_on() {
    for page in [&TOY, &HOSTILE] {
        let mut tab = open(page, WIDE);
        for figure in sample(figures(page)) {
            for series in BTreeSet::from([0, figure.series.len() - 1]) {
                let button = figure.select(&format!("button.series[data-series='{series}']"));
                switch(&mut tab, &figure, series, |tab| tab.click(&button));
            }
        }
    }
}

/// Numbers beside an axis and how far along it they stand: upwards or to the right.
fn ticks(tab: &mut Tab, figure: &Figure, axis: char) -> Vec<(f64, f64)> {
    let texts = texts(tab, figure);
    let numbers: Vec<(f64, &Text)> = texts.iter().filter_map(|text| Some((number(&text.text)?, text))).collect();
    // Those of one axis share an edge; among the other texts of a chart there may be a number too.
    let edge = |text: &Text| if axis == 'y' { text.right } else { text.top };
    let on_edge = |place: f64| numbers.iter().filter(|(_, text)| (edge(text) - place).abs() < 1.5).count();
    let Some((_, first)) = numbers.iter().max_by_key(|(_, text)| on_edge(edge(text))) else { return Vec::new() };
    let place = edge(first);
    let along =
        |text: &Text| if axis == 'y' { -(text.top + text.bottom) / 2.0 } else { f64::midpoint(text.left, text.right) };
    let of_axis = numbers.iter().filter(|(_, text)| (edge(text) - place).abs() < 1.5);
    let mut ticks: Vec<(f64, f64)> = of_axis.map(|(value, text)| (*value, along(text))).collect();
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    ticks
}

/// Whether each tick stands within two pixels of where a scale would have it, given the first and the last.
fn fits(ticks: &[(f64, f64)], scale: fn(f64) -> f64) -> bool {
    let [(least, from), .., (most, to)] = *ticks else { return false };
    let part = |value: f64| (scale(value) - scale(least)) / (scale(most) - scale(least));
    ticks.iter().all(|(value, at)| (from + part(*value) * (to - from) - at).abs() < 2.0)
}

#[test]
#[ignore = "needs Chromium"]
fn numbers_stand_where_their_scale_has_them() {
    let mut tab = open(&TOY, WIDE);
    let mut n_told_apart = 0;
    for figure in figures(&TOY) {
        for (axis, scale) in [('x', &figure.x.scale), ('y', &figure.y.scale)] {
            let ticks = ticks(&mut tab, &figure, axis);
            // Two ticks fit any scale.
            if matches!(scale, Scale::Names { .. }) || ticks.len() < 3 {
                continue;
            }
            let (log, linear) = (fits(&ticks, f64::ln), fits(&ticks, |value| value));
            let is_log = *scale == Scale::Log;
            assert_eq!((log, linear), (is_log, !is_log), "{}, {axis}: {ticks:?}", figure.id);
            n_told_apart += 1;
        }
    }
    assert!(n_told_apart > 4, "{n_told_apart} axes could be told apart");
}

#[test]
#[ignore = "needs Chromium"]
fn no_label_is_cut_off_or_covers_another() {
    for (page, window) in [(&TOY, WIDE), (&REAL, WIDE)] {
        let mut tab = open(page, window);
        let mut faults = Vec::new();
        for figure in figures(page) {
            let [left, top, width, height] = tab.rectangle(&figure.select(".plot"));
            let mut texts = texts(&mut tab, &figure);
            // What a mark means is written upon the chart, wherever its lines run.
            texts.retain(|text| figure.mark.as_ref().is_none_or(|(_, meaning)| text.text != *meaning));
            let is_cut = |text: &Text| {
                text.left < left - 1.0
                    || text.right > left + width + 1.0
                    || text.top < top - 1.0
                    || text.bottom > top + height + 1.0
            };
            faults.extend(
                texts.iter().filter(|text| is_cut(text)).map(|text| format!("{}: {} is cut off", figure.id, text.text)),
            );
            for (index, one) in texts.iter().enumerate() {
                let covered = texts[..index].iter().filter(|other| cover(one, other));
                faults.extend(covered.map(|other| format!("{}: {} covers {}", figure.id, one.text, other.text)));
            }
        }
        assert!(faults.is_empty(), "at a width of {}: {faults:#?}", window.width);
    }
}

/// Whether two texts share more than the air around their letters.
fn cover(one: &Text, other: &Text) -> bool {
    let across = one.right.min(other.right) - one.left.max(other.left);
    let upright = one.bottom.min(other.bottom) - one.top.max(other.top);
    across > 1.0 && upright > 4.0
}
