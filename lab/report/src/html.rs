//! The report as one HTML file that needs nothing else.
//!
//! All of it can be read where no script runs. A script adds what a pointer and keys do to charts. Nothing in a result
//! file can be trusted: every text goes through the template or the writer of SVG, which escape it, or through `json`.

mod table;
#[cfg(test)]
mod tests;

use crate::document::{Document, Finding, Origin};
use crate::drawing::{Inline, chart_in_page, markers, swatch};
use crate::main_table::MainTable;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ondeck_kit::figure::Figure;
use ondeck_kit::page::{ELEMENTS, head, lean};

/// What a pointer and keys do to charts.
const CHART: &str = include_str!("html/chart.js");
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
                    // The parts share one scope, that of a module.
                    (PreEscaped(lean(ELEMENTS))) (PreEscaped(lean(CHART)))
                    "document.body.dataset.ready = 'true';"
                }
            }
        }
    }
    .into_string()
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
