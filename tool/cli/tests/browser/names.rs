//! Names from a foreign file are text, whatever they look like.

use crate::pages::{HOSTILE, HOSTILE_PROFILE, HOSTILE_WORKLOAD, TOY, hostile_locks};
use crate::tab::{Tab, WIDE};
use crate::values::{InPage, figures, open};
use std::collections::BTreeMap;

/// How often each kind of element occurs that could run or load something.
pub(crate) fn dangerous(tab: &mut Tab) -> BTreeMap<String, usize> {
    tab.eval(
        "Object.fromEntries(['script', 'img', 'iframe', 'object', 'embed', 'style', 'link', 'base', 'form', 'i', 'b', 'u']
           .map((name) => [name, document.querySelectorAll(name).length]))",
    )
}

pub(crate) fn handlers(tab: &mut Tab) -> Vec<String> {
    tab.eval("everything().flatMap((one) => one.getAttributeNames().filter((name) => name.startsWith('on')))")
}

#[test]
#[ignore = "needs Chromium"]
fn hostile_names_are_text() {
    let mut toy = open(&TOY, WIDE);
    let mut tab = open(&HOSTILE, WIDE);
    assert_eq!(dangerous(&mut tab), dangerous(&mut toy), "elements as on a harmless page");
    assert_eq!(handlers(&mut tab), Vec::<String>::new());
    let figures = figures(&HOSTILE);
    let titles: Vec<String> = tab.eval("figures().map((one) => one.querySelector('h3').textContent)");
    assert_eq!(titles, figures.iter().map(|figure| figure.title.clone()).collect::<Vec<String>>());
    assert!(titles.iter().any(|title| title.contains(HOSTILE_WORKLOAD)), "{titles:?}");
    let legend: Vec<String> = tab.eval("seriesButtons(figures()[0]).map((button) => button.textContent)");
    assert_eq!(legend, figures[0].series.iter().map(|series| series.name.clone()).collect::<Vec<String>>());
    // What cannot be shown in a line or turns the direction of writing is replaced, and what is very long is shortened.
    let plain = hostile_locks().into_iter().filter(|lock| lock.len() < 60 && !lock.contains('\u{202e}'));
    for lock in plain {
        assert!(legend.contains(&lock), "{lock} is not in the legend: {legend:?}");
    }
    // Whatever a reader does must not bring a name to life either.
    for figure in &figures {
        let middle = tab.middle(&figure.select(".chart"));
        tab.hover(middle);
        let said: Option<Vec<String>> =
            tab.eval(&format!("tooltipOf({})?.rows.map((row) => row[0])", figure.section()));
        let said = said.unwrap_or_else(|| panic!("{}: no tooltip", figure.id));
        assert!(said.iter().any(|name| hostile_locks().contains(name)), "{}: {said:?}", figure.id);
    }
    assert!(tab.eval::<bool>("window.hacked === undefined"));
}

#[test]
#[ignore = "needs Chromium"]
fn what_is_odd_about_a_foreign_file_is_said() {
    let mut tab = open(&HOSTILE, WIDE);
    let origins: String = tab.eval("document.getElementById('origins').textContent");
    for part in ["<b>colour</b>", &"x".repeat(500), &"w".repeat(500), "cpu <script>window.hacked=1</script>"] {
        assert!(origins.contains(part), "{part} is not among the origins: {origins}");
    }
}

/// A name that is written from right to left must not turn round the text after it.
#[test]
#[ignore = "needs Chromium"]
fn names_keep_their_direction_to_themselves() {
    for page in [&HOSTILE, &HOSTILE_PROFILE] {
        let mut tab = open(page, WIDE);
        let loose: Vec<String> = tab.eval("looseDirections()");
        assert_eq!(loose, Vec::<String>::new());
    }
}
