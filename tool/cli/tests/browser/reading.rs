//! The page for those who do not see it, and where no script runs.

use crate::pages::{HOSTILE, HOSTILE_PROFILE, PROFILE, Page, REAL, TOY, TRACED};
use crate::tab::{Tab, WIDE, Window};
use crate::values::{InPage, figures, open};
use serde_json::{Value, json};

/// Roles that ask a reader to do something.
const INTERACTIVE: [&str; 12] = [
    "button",
    "link",
    "checkbox",
    "radio",
    "combobox",
    "listbox",
    "menuitem",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "textbox",
];

fn value<'a>(node: &'a Value, property: &str) -> &'a str {
    node[property]["value"].as_str().unwrap_or_default()
}

/// What assistive technology is told of the page.
fn tree(tab: &mut Tab) -> Vec<Value> {
    let tree = tab.call("Accessibility.getFullAXTree", json!({}));
    let nodes = tree["nodes"].as_array().expect("a tree has nodes").iter();
    nodes.filter(|node| node["ignored"] == false).cloned().collect()
}

fn is_focusable(node: &Value) -> bool {
    let properties = node["properties"].as_array().into_iter().flatten();
    properties.into_iter().any(|one| one["name"] == "focusable" && one["value"]["value"] == true)
}

#[test]
#[ignore = "needs Chromium"]
fn whatever_can_be_used_has_a_name() {
    for page in [&TOY, &REAL, &TRACED, &HOSTILE, &PROFILE, &HOSTILE_PROFILE] {
        let mut tab = open(page, WIDE);
        let nodes = tree(&mut tab);
        let usable: Vec<&Value> = nodes
            .iter()
            .filter(|node| INTERACTIVE.contains(&value(node, "role")) || is_focusable(node))
            .filter(|node| value(node, "role") != "RootWebArea")
            .collect();
        assert!(usable.len() > 20, "{} elements can be used", usable.len());
        for node in usable {
            assert!(!value(node, "name").trim().is_empty(), "{}: no name: {node}", page.file.display());
        }
    }
}

#[test]
#[ignore = "needs Chromium"]
fn every_chart_has_an_alternative_and_a_table() {
    for page in [&TOY, &REAL] {
        let mut tab = open(page, WIDE);
        let pictures: Vec<String> = tree(&mut tab)
            .iter()
            .filter(|node| value(node, "role") == "image")
            .map(|node| value(node, "name").to_owned())
            .collect();
        for figure in figures(page) {
            assert!(!figure.text.is_empty(), "{} has no words", figure.id);
            let has_both = |name: &&String| name.contains(&figure.title) && name.contains(&figure.text);
            assert!(pictures.iter().any(|name| has_both(&name)), "{} has no alternative among {pictures:?}", figure.id);
            let cells: usize = tab.eval(&format!(
                "[...{}.querySelectorAll('details td')].filter((cell) => cell.textContent.trim() !== '').length",
                figure.section()
            ));
            assert_eq!(cells, figure.n_points(), "{}: the table has every point", figure.id);
        }
    }
}

#[test]
#[ignore = "needs Chromium"]
fn the_document_is_in_order() {
    for page in [&TOY, &REAL, &TRACED, &HOSTILE, &PROFILE, &HOSTILE_PROFILE] {
        let mut tab = open(page, WIDE);
        let levels: Vec<u32> =
            tab.eval("[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((one) => Number(one.localName[1]))");
        assert_eq!(levels.first(), Some(&1), "it begins with its title: {levels:?}");
        assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1, "{levels:?}");
        assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "no level is left out: {levels:?}");
        let twice: Vec<String> = tab.eval(
            "[...document.querySelectorAll('[id]')].map(({ id }) => id).filter((id, at, all) => all.indexOf(id) < at)",
        );
        assert_eq!(twice, Vec::<String>::new(), "ids that occur twice");
        let dangling: Vec<String> = tab.eval(
            "[...document.querySelectorAll('a')].map((a) => a.getAttribute('href')).filter((href) => !href.startsWith('#') || !document.getElementById(href.slice(1)))",
        );
        assert_eq!(dangling, Vec::<String>::new(), "links that lead nowhere");
        let [title, language]: [String; 2] = tab.eval("[document.title, document.documentElement.lang]");
        match &page.document {
            Some(document) => assert_eq!(document.title, title),
            None => assert_eq!(tab.report()["title"], title),
        }
        assert_eq!(language, "en");
    }
}

#[test]
#[ignore = "needs Chromium"]
fn without_scripts_everything_is_there() {
    for page in [&TOY, &HOSTILE] {
        let page: &Page = page;
        let mut tab = Tab::open(&page.file, Window { scripts: false, ..WIDE });
        assert!(tab.eval::<bool>("document.body.dataset.ready === undefined"), "scripts do not run");
        let document = page.document.as_ref().expect("it is a report");
        let findings = document.findings.iter().flat_map(|one| [vec![one.question.clone()], one.sentences.clone()]);
        let origins = document.origins.iter();
        let origins = origins.flat_map(|one| [vec![one.label.clone(), one.command.clone()], one.warnings.clone()]);
        let expected: Vec<String> = findings.chain(origins).flatten().collect();
        assert!(expected.len() > 10, "{expected:?}");
        let seen: String = tab.eval("[...document.querySelectorAll('main *')].filter(isSeen).filter((one) => one.getClientRects().length > 0).map((one) => one.textContent).join('\\n')");
        for text in expected {
            assert!(seen.contains(&text), "{}: {text} cannot be read", page.file.display());
        }
        for figure in figures(page) {
            let (section, n_points) = (figure.section(), figure.n_points());
            let shapes: usize = tab
                .eval(&format!("[...{section}.querySelectorAll('.chart svg :is(use, rect)')].filter(isSeen).length"));
            assert_eq!(shapes, n_points, "{}", figure.id);
            let names: Vec<String> =
                tab.eval(&format!("[...{section}.querySelectorAll('.legend bdi')].map((one) => one.textContent)"));
            assert_eq!(names, figure.series.iter().map(|one| one.name.clone()).collect::<Vec<String>>());
        }
    }
}

#[test]
#[ignore = "needs Chromium"]
fn the_command_is_copied_or_marked() {
    let mut tab = open(&TOY, WIDE);
    let command: String = tab.eval("document.querySelector('#origins code').textContent");
    assert!(command.starts_with("ondeck bench "), "{command}");
    tab.click("#origins > summary");
    tab.click("#origins button.copy");
    tab.until("document.querySelector('#origins button.copy').textContent !== 'Copy'");
    let _ = tab.try_call("Browser.grantPermissions", json!({"permissions": ["clipboardReadWrite"]}));
    let copied: String = tab.eval(
        "document.querySelector('#origins button.copy').textContent === 'Copied' ? navigator.clipboard.readText() : String(getSelection())",
    );
    assert_eq!(copied, command);
}
