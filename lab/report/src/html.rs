//! The report as one HTML file that needs nothing else.
//!
//! All of it can be read where no script runs. A script adds what a pointer and keys do to charts. Nothing in a result
//! file can be trusted: every text goes through the template or the writer of SVG, which escape it, or through `json`.

mod table;
#[cfg(test)]
mod tests;

use crate::document::{Document, Finding, Origin};
use crate::drawing::{Inline, chart_in_page, markers, swatch};
use crate::figure::Figure;
use crate::main_table::MainTable;
use crate::palette::{Background, DARK, HUES, Hue, LIGHT, QUIET};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;

const STYLE: &str = include_str!("html/page.css");
/// For every page of ours: numbers as the tables write them, and elements whose text is never taken for markup.
pub const BASICS: &str = concat!(include_str!("html/format.js"), include_str!("html/elements.js"));
/// The parts of each share one scope, that of a module.
const CHARTS: &str = concat!(include_str!("html/elements.js"), include_str!("html/chart.js"));

/// Nothing is loaded from anywhere, whatever gets into the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; \
                      form-action 'none'";
/// From so many figures on they are listed above the first.
const CONTENTS_FROM: usize = 3;

/// The text of the page.
pub fn page(document: &Document) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&document.title, ""))
            body {
                main {
                    (header(document))
                    (first(document))
                    (findings(&document.findings))
                    (tables(&document.tables))
                    (figures(document))
                    (origins(document))
                }
                (footer())
                // Written by a library that escapes all text.
                @if !document.figures.is_empty() { (PreEscaped(markers())) }
                script type="module" {
                    (PreEscaped(lean(CHARTS)))
                    "document.body.dataset.ready = 'true';"
                }
            }
        }
    }
    .into_string()
}

/// Anything as JSON that can stand inside a script element: no `<`, with which the element could be ended, and no
/// line separator, which older readers of scripts take for the end of a string.
///
/// # Panics
/// If it has no JSON form, which everything has that is made of strings, numbers and lists of them.
pub fn json(of: &impl Serialize) -> String {
    let data = serde_json::to_string(of).expect("strings and numbers always have a JSON form");
    data.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// A script or style sheet of ours without its indentation and the lines that are comments: one that begins with `/*` ends
/// where its line or a later one ends.
pub fn lean(source: &str) -> String {
    let mut is_comment = false;
    let is_kept = |line: &&str| {
        let begins = is_comment || line.starts_with("/*");
        is_comment = begins && !line.ends_with("*/");
        !begins && !line.starts_with("//") && !line.is_empty()
    };
    source.lines().map(str::trim).filter(is_kept).fold(String::new(), |all, line| all + line + "\n")
}

/// The head of a page: nothing may be loaded, and it looks as all pages of ours do, and as `more` of a style sheet says.
pub fn head(title: &str, more: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="generator" content=(concat!("ondeck ", env!("CARGO_PKG_VERSION")));
            title { (title) }
            style { (PreEscaped(colours())) (PreEscaped(lean(STYLE))) (PreEscaped(lean(more))) }
        }
    }
}

/// The colours of the charts, which the pictures have too, as variables of the style sheet. Paper is always light.
fn colours() -> String {
    let variables = |background: Background, of: fn(&Hue) -> &'static str| {
        let Background { card, ink, muted, grid } = background;
        let styles: String = (0..).zip(&HUES).map(|(n, hue)| format!("--style-{n}:{};", of(hue))).collect();
        let quiet = of(&QUIET);
        format!(":root{{--paper:{card};--ink:{ink};--muted:{muted};--rule:{grid};--quiet:{quiet};{styles}}}")
    };
    let (light, dark) = (variables(LIGHT, |hue| hue.light), variables(DARK, |hue| hue.dark));
    format!("{light}@media screen and (prefers-color-scheme:dark){{{dark}}}")
}

/// The title and the first thing to know.
fn header(document: &Document) -> Markup {
    html! {
        header {
            h1 { (document.title) }
            @if !document.verdict.is_empty() { p.verdict { (document.verdict) } }
        }
    }
}

/// What a reader sees before anything is scrolled: the first chart, and from which files it is. How many warnings came
/// with them stands here; the warnings themselves stand at the end.
fn first(document: &Document) -> Markup {
    let warnings = |origin: &Origin| match origin.warnings.len() {
        0 => None,
        1 => Some("1 warning".to_string()),
        n => Some(format!("{n} warnings")),
    };
    html! {
        @if let Some(figure) = document.figures.first() {
            div.first { h2.unseen { "First chart" } (self::figure((0, figure))) }
        }
        @if !document.origins.is_empty() {
            ul.sources aria-label="Contents" {
                @if document.figures.len() > 1 { li { a href="#figures" { "All charts" } } }
                @for (index, origin) in document.origins.iter().enumerate() {
                    li {
                        a href={ "#origin-" (index) } { bdi { (origin.label) } }
                        @if let Some(warnings) = warnings(origin) { " " span.flag { (warnings) } }
                    }
                }
            }
        }
    }
}

fn findings(findings: &[Finding]) -> Markup {
    html! {
        section id="answers" aria-label="Answers" {
            @for answer in findings {
                article {
                    h2 { (answer.question) }
                    div.sentences { @for sentence in &answer.sentences { p { (sentence) } } }
                }
            }
        }
    }
}

fn tables(tables: &[MainTable]) -> Markup {
    html! {
        @for MainTable { title, units, grid, legend } in tables {
            section.part {
                h2 { (title) }
                p.caption { (units) }
                (grid.html(title))
                p.caption { (legend) }
            }
        }
    }
}

fn figures(document: &Document) -> Markup {
    let Document { figures, left_out, .. } = document;
    // A single chart stands above already.
    let is_all_shown = figures.len() == 1 && left_out.is_none();
    html! {
        @if !is_all_shown {
            section id="figures" {
                h2 { "Charts" }
                @if figures.is_empty() {
                    p.note { "There is a chart for each workload that was run with several numbers of threads. The files have none." }
                }
                @if figures.len() >= CONTENTS_FROM {
                    nav.contents aria-label="Charts" {
                        ol { @for figure in figures { li { a href={ "#fig-" (figure.id) } { (figure.title) } } } }
                    }
                }
                @if let Some(left_out) = left_out { p.note { (left_out) } }
                @for figure in figures.iter().enumerate().skip(1) { (self::figure(figure)) }
            }
        }
    }
}

/// The figure, the nth of the page.
fn figure((nth, figure): (usize, &Figure)) -> Markup {
    let xs = figure.xs();
    let Inline { room, places, svg } = chart_in_page(figure, &xs);
    let (heading, text) = (format!("title-{nth}"), format!("text-{nth}"));
    html! {
        section.figure id={ "fig-" (figure.id) } {
            h3 id=(heading) { (figure.title) }
            p.caption { (figure.caption) }
            // A script makes buttons of the names.
            div.legend role="group" aria-label="Series" {
                @for series in &figure.series {
                    span { (PreEscaped(swatch(series))) bdi { (series.name) } }
                }
            }
            div.plot {
                div.chart role="img" aria-labelledby={ (heading) " " (text) } style=(room) data-xs=(places) data-x=(figure.x.label) {
                    p { (figure.y.label) }
                    (PreEscaped(svg))
                    p { (figure.x.label) }
                }
            }
            details.data {
                summary { "In words and numbers" }
                (table::table(figure, &xs))
            }
            // Seen with the table. Inside, it could not name the chart while that is closed.
            p.text id=(text) { (figure.text) }
        }
    }
}

fn origins(document: &Document) -> Markup {
    html! {
        details.made id="origins" {
            summary { h2 { "How this was made" } }
            p.subject { (document.subject) }
            @for (index, origin) in document.origins.iter().enumerate() {
                article id={ "origin-" (index) } {
                    h3 { bdi { (origin.label) } }
                    @if !origin.warnings.is_empty() {
                        ul.warnings aria-label="Warnings" { @for warning in &origin.warnings { li { (warning) } } }
                    }
                    @if !origin.facts.is_empty() {
                        dl { @for (name, value) in &origin.facts { dt { (name) } dd { (value) } } }
                    }
                    @if !origin.command.is_empty() {
                        p.again { "To measure it again:" }
                        div.command { pre { code { (origin.command) } } }
                    }
                }
            }
        }
    }
}

fn footer() -> Markup {
    html! {
        footer {
            p { "Written by " code { "ondeck report" } " " (env!("CARGO_PKG_VERSION")) "." }
        }
    }
}
