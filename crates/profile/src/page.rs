//! The page of a profile: one HTML file that needs nothing else.
//!
//! It looks as the page of `ondeck report` does, whose style, head and colours it uses. All figures, stacks and charts
//! are there without a script; one sorts the table, moves the flame graphs, and draws those of each lock when they are
//! looked at. Nothing in a profile can be trusted: every text goes through the template, which escapes it, or through
//! `json`, and is put in one line before (`names::shown`).

mod charts;
mod lock;
mod stacks;
mod table;
#[cfg(test)]
mod tests;

use crate::flamegraph::tree::{Block, Detail, Graphs, Side};
use crate::flamegraph::{self, class, described, frames, height, is_drawn};
use crate::names::{middle, shown};
use crate::profile::Profile;
use crate::words;
use crate::wrappers::Tops;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ondeck_report::drawing::intervals_in_page;
use ondeck_report::html::{BASICS, head, json};
use ondeck_report::wording::{counted, plain};
use serde::Serialize;
use std::sync::LazyLock;

const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
/// What this page has besides the style of all pages.
static STYLES: LazyLock<String> = LazyLock::new(|| flamegraph::colours() + flamegraph::STYLE + STYLE);
/// So many locks have a section of their own.
const MOST_DETAILS: usize = 50;
/// So many of them are open at first.
const OPEN: usize = 3;
/// What a graph of all locks shows, and one of a lock.
const DETAIL: Detail = Detail { least: 0.001, most_frames: 800 };
const DETAIL_OF_LOCK: Detail = Detail { least: 0.003, most_frames: 250 };
/// So many sentences of advice stand among the answers.
const MOST_ADVICE: usize = 3;

/// What the script reads.
#[derive(Serialize)]
struct Data {
    title: String,
    /// What each frame says, what is written on it, and its class.
    labels: Vec<(String, String, String)>,
    /// Of each lock with a section: its waiters, its holders.
    graphs: Vec<[Vec<Place>; 2]>,
}

/// Level, number of the label, ns, count. Where a frame begins follows from those before it.
type Place = (u32, usize, f64, f64);

/// The text of the page. `advice` is what may be said of a lock, by its index in the profile.
pub fn page(profile: &Profile, advice: &[(usize, String)]) -> String {
    let tops = Tops::new(profile);
    let mut graphs = Graphs::new(profile, &tops);
    let title = format!("Waiting for locks in {}", words::program(profile));
    let waited = words::waited(profile);
    let detailed: Vec<usize> = waited.iter().take(MOST_DETAILS).map(|(index, _)| *index).collect();
    let all = Side::BOTH.map(|side| (side, graphs.all(side, DETAIL)));
    let flames = flames(&all, &graphs);
    let data = data(&title, &mut graphs, &detailed);
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title, &STYLES))
            body {
                main {
                    (header(profile, &title))
                    (table::locks(profile, &tops, &detailed))
                    (answers(profile, &tops, advice))
                    (flames)
                    (over_time(profile))
                    (lock::sections(profile, &tops, &detailed, advice))
                    (table::conditions(profile, &tops))
                    (made(profile))
                }
                footer { p { "Written by ondeck " (env!("CARGO_PKG_VERSION")) "." } }
                script type="application/json" id="report" { (PreEscaped(json(&data))) }
                script type="module" { (PreEscaped(BASICS)) (PreEscaped(flamegraph::SCRIPT)) (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

fn data(title: &str, graphs: &mut Graphs, detailed: &[usize]) -> Data {
    let place = |block: &Block| (block.level, block.label, block.ns.round(), block.count.round());
    let places = |blocks: Vec<Block>| match is_drawn(&blocks) {
        true => blocks.iter().map(place).collect(),
        false => Vec::new(),
    };
    let of_lock = |index: &usize| Side::BOTH.map(|side| places(graphs.one(*index, side, DETAIL_OF_LOCK)));
    let of_locks = detailed.iter().map(of_lock).collect();
    let label = |label| (described(label), flamegraph::text(label), class(label));
    Data { title: title.to_string(), labels: graphs.labels.all().iter().map(label).collect(), graphs: of_locks }
}

/// The title, and how much is waited for what. Warnings stand at the end, but their number stands here.
fn header(profile: &Profile, title: &str) -> Markup {
    let (sentence, lock) = words::headline_parts(profile);
    let n_warnings = words::warnings(profile).len();
    html! {
        header {
            h1 { (title) }
            p.verdict { (sentence) @if let Some(lock) = &lock { " " (name(lock)) } "." }
            @if n_warnings > 0 {
                ul.sources aria-label="Contents" { li { a href="#run" { (counted(n_warnings, "warning")) } } }
            }
        }
    }
}

/// The command, the machine and the processes; what casts doubt on the figures.
fn made(profile: &Profile) -> Markup {
    let warnings = words::warnings(profile);
    html! {
        details.made id="run" {
            summary { h2 { "How this was made" } }
            @if !profile.command.is_empty() {
                div.command { pre { code { (words::command(profile)) } } }
            }
            ul.sources aria-label="The run" {
                @for (name, value) in words::facts(profile) { li { (name) ": " bdi { (value) } } }
            }
            @if !warnings.is_empty() {
                ul.warnings aria-label="Warnings" { @for warning in &warnings { li { (warning) } } }
            }
            (table::processes(profile))
        }
    }
}

/// A name from the profile, set apart from the text around it.
fn name(text: &str) -> Markup {
    html! { code.name { bdi { (shown(text)) } } }
}

fn answers(profile: &Profile, tops: &Tops, advice: &[(usize, String)]) -> Markup {
    let waited = words::waited(profile);
    let first: Vec<&(usize, String)> = waited
        .iter()
        .flat_map(|(index, _)| advice.iter().filter(move |(of, _)| of == index))
        .take(MOST_ADVICE)
        .collect();
    html! {
        section id="answers" aria-label="Answers" {
            @if let Some(nothing) = words::nothing(profile) {
                article { h2 { "Is there anything to see?" } div.sentences { p { (nothing) } } }
            }
            @if let Some((_, lock)) = waited.first() {
                article {
                    h2 { "Who waited, and who held the lock meanwhile?" }
                    div.sentences {
                        @if let Some((waiter, part)) = tops.busiest(&lock.waiters) {
                            p { (words::percent(part)) " of the waiting for this lock is in " (name(&waiter)) "." }
                        }
                        @if let Some((holder, part)) = tops.busiest(&lock.holders) {
                            p { (name(&holder)) " held it during " (words::percent(part)) " of the waiting in which anybody held it." }
                        }
                        @if let Some(free) = lock::handing_on(lock) { p { (free) } }
                    }
                }
            }
            @if !first.is_empty() {
                article {
                    h2 { "What may help?" }
                    div.sentences {
                        @for (index, sentence) in first {
                            p { (name(&middle(&profile.locks[*index].name, 120))) ". " (plain(sentence)) }
                        }
                    }
                }
            }
        }
    }
}

fn over_time(profile: &Profile) -> Markup {
    let Some(over_time) = charts::over_time(profile) else { return html! {} };
    let title = "Threads that waited, over time";
    html! {
        section.part id="time" {
            h2 { "Over time" }
            p.caption {
                "How many threads waited at the same time: the average over each slice of time. The locks with the most waiting are "
                "stacked."
            }
            div.lanes tabindex="0" role="region" aria-label={ "Picture: " (title) } {
                // Written by a library that escapes all text.
                (PreEscaped(intervals_in_page(&over_time, &format!("{title}. {}", over_time.text))))
            }
            details.data {
                summary { "In words and numbers" }
                p.text { (over_time.text) }
                div.scroll tabindex="0" role="region" aria-label={ "Data: " (title) } { (charts::table(&over_time)) }
            }
        }
    }
}

/// The graphs of all locks, which are there without a script.
fn flames(all: &[(Side, Vec<Block>)], graphs: &Graphs) -> Markup {
    if !all.iter().any(|(_, blocks)| is_drawn(blocks)) {
        return html! {};
    }
    html! {
        section.part id="flames" {
            h2 { "Flame graphs" }
            p.caption {
                "All waiting is at the top. Below it are the locks, then the functions from the outermost inwards. Functions in "
                "italics were inlined. Grey ones only lock."
            }
            div.flames {
                div.bar-of-flames {}
                @for (side, blocks) in all {
                    @let (title, meaning) = flamegraph::words(*side);
                    @if is_drawn(blocks) {
                        h3 { (title) }
                        p.caption { (meaning) }
                        svg.graph width="100%" height=(height(blocks)) role="group" aria-label=(title) {
                            (frames(blocks, graphs))
                        }
                    }
                }
            }
        }
    }
}
