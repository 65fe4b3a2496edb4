//! The page of a profile: one HTML file that needs nothing else.
//!
//! It looks as the page of `ondeck report` does, whose style, head and colours it uses. All figures, stacks and charts
//! are there without a script; one sorts the table, moves the flame graphs, and draws those of each lock when they are
//! looked at. Nothing in a profile can be trusted: every text goes through the template, which escapes it, or through
//! `json`, and is put in one line before (`names::shown`).

mod charts;
mod lock;
mod lock_order;
mod parts;
mod stacks;
mod table;
#[cfg(test)]
mod tests;

use crate::findings::{Findings, findings};
use crate::flamegraph::tree::{Block, Detail, Graphs};
use crate::flamegraph::{self, class, described, frames, height, is_drawn};
use crate::names::middle;
use crate::profile::{Profile, State};
use crate::rows::Side;
use crate::thread_time;
use crate::words;
use crate::wrappers::Tops;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ondeck_kit::page::{BASICS, head, json, lean};
use ondeck_kit::wording::{counted, plain};
use parts::{command_box, legend, name, noted, prose};
use serde::Serialize;
use std::sync::LazyLock;

const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
/// What this page has besides the style of all pages.
static STYLES: LazyLock<String> = LazyLock::new(|| flamegraph::colours() + flamegraph::STYLE + STYLE);
/// So many locks have a section of their own.
const MOST_DETAILS: usize = 50;
/// What a graph of all locks shows, and one of a lock.
const DETAIL: Detail = Detail { least: 0.001, most_frames: 800 };
const DETAIL_OF_LOCK: Detail = Detail { least: 0.003, most_frames: 250 };
/// The first lock's graphs are half as wide, and stand in the page twice.
const DETAIL_OF_FIRST: Detail = Detail { least: 0.006, most_frames: 120 };
/// What the script reads.
#[derive(Serialize)]
struct Data {
    title: String,
    /// The names of states.
    states: [&'static str; State::ALL.len()],
    /// What each frame says, what is written on it, and its class.
    labels: Vec<(String, String, String)>,
    /// Of each lock with a section: its waiters, its holders.
    graphs: Vec<[Vec<Place>; 2]>,
}

/// Level, number of the label, ns, count; the number of its state, or of each of several states, with its part in
/// thousandths behind it. Where a frame begins follows from those before it.
type Place = (u32, usize, f64, f64, Vec<u16>);

/// The text of the page.
pub fn page(profile: &Profile) -> String {
    let tops = Tops::new(profile);
    let mut graphs = Graphs::new(profile, &tops);
    let title = format!("Waiting for locks in {}", words::program(profile));
    let found = findings(profile);
    let waited = words::waited(profile);
    let detailed: Vec<usize> = waited.iter().take(MOST_DETAILS).map(|(index, _)| *index).collect();
    let first = waited.first().map(|(index, lock)| {
        let sides = Side::BOTH.map(|side| graphs.one(*index, side, DETAIL_OF_FIRST));
        let title = html! { "Most waiting: " (name(&middle(&lock.name, 90))) };
        pair(profile, "first", &title, &html! {}, &sides, &graphs)
    });
    let all = Side::BOTH.map(|side| graphs.all(side, DETAIL));
    let flames = flames(profile, &all, &graphs);
    let data = data(&title, &mut graphs, &detailed);
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title, &STYLES))
            body {
                main {
                    (header(profile, &tops, &title, &found))
                    (table::locks(profile, &tops, &detailed, found.locks.len()))
                    (lock_order::section(profile, &tops))
                    @if let Some(first) = first { (first) }
                    @if found.is_nothing { (answers(profile)) }
                    (flames)
                    (over_time(profile))
                    (lock::sections(profile, &tops, &detailed))
                    (table::conditions(profile, &tops))
                    (made(profile))
                }
                footer { p { "Written by ondeck " (env!("CARGO_PKG_VERSION")) "." } }
                script type="application/json" id="report" { (PreEscaped(json(&data))) }
                script type="module" { (PreEscaped(lean(BASICS))) (PreEscaped(lean(flamegraph::SCRIPT))) (PreEscaped(lean(SCRIPT))) }
            }
        }
    }
    .into_string()
}

fn data(title: &str, graphs: &mut Graphs, detailed: &[usize]) -> Data {
    let place = |block: &Block| {
        let parts = match block.parts().as_slice() {
            [(state, _)] => vec![*state as u16],
            parts => parts.iter().flat_map(|(state, part)| [*state as u16, (part * 1000.0).round() as u16]).collect(),
        };
        (block.level, block.label, block.ns.round(), block.count.round(), parts)
    };
    let places = |blocks: Vec<Block>| match is_drawn(&blocks) {
        true => blocks.iter().map(place).collect(),
        false => Vec::new(),
    };
    let of_lock = |index: &usize| Side::BOTH.map(|side| places(graphs.one(*index, side, DETAIL_OF_LOCK)));
    let of_locks = detailed.iter().map(of_lock).collect();
    let label = |label| (described(label), flamegraph::text(label), class(label));
    Data {
        title: title.to_string(),
        states: State::ALL.map(words::state_of),
        labels: graphs.labels.all().map(label).collect(),
        graphs: of_locks,
    }
}

/// The title, and what to do.
fn header(profile: &Profile, tops: &Tops, title: &str, found: &Findings) -> Markup {
    html! {
        header {
            h1 { (title) }
            p.verdict { (prose(&found.verdict)) }
            @if let Some(command) = &found.command { (command_box(command)) }
            @if let Some(times) = thread_time::sentence(profile, tops) { p { (times) } }
            @for (line, stack) in &found.stacks {
                p { (plain(line)) }
                pre { @for frame in profile.frames_of(*stack) { (plain(&frame.function)) "\n" } }
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
                (command_box(&words::command(profile)))
            }
            ul.sources aria-label="The run" {
                @for (name, value) in words::facts(profile) { li { (name) ": " bdi { (value) } } }
            }
            @if !warnings.is_empty() {
                ul.warnings aria-label="Warnings" { @for warning in &warnings { li { (noted(warning)) } } }
            }
            @let nameless = words::nameless(profile);
            @if !nameless.is_empty() {
                details.data {
                    summary { (counted(nameless.len(), "file")) " without debug symbols" }
                    ul.warnings aria-label="Files without debug symbols" { @for file in &nameless { li { (file) } } }
                }
            }
            (table::processes(profile))
        }
    }
}

/// What is said where there is nothing to show.
fn answers(profile: &Profile) -> Markup {
    html! {
        @if let Some(nothing) = words::nothing(profile) {
            section id="answers" aria-label="Answers" {
                article {
                    h2 { "Is there anything to see?" }
                    div.sentences {
                        p { (nothing) }
                        @if let Some(not_seen) = words::not_seen(profile) { p { (not_seen) } }
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
                (charts::drawn(&over_time, title))
            }
            (charts::in_words(&over_time, title))
        }
    }
}

/// The graphs of all locks, which are there without a script.
fn flames(profile: &Profile, all: &[Vec<Block>; 2], graphs: &Graphs) -> Markup {
    let title = html! { "Flame graphs of all locks" };
    let caption = html! {
        p.caption {
        "All waiting is at the top. Below it are the locks, then the functions from the outermost inwards. Functions in "
        "italics were inlined. Grey ones of waiting threads only lock. "
        "Colours of holders say what the holder did."
        }
    };
    pair(profile, "flames", &title, &caption, all, graphs)
}

/// Two graphs side by side, in a section with this id.
fn pair(
    profile: &Profile,
    id: &str,
    title: &Markup,
    caption: &Markup,
    sides: &[Vec<Block>; 2],
    graphs: &Graphs,
) -> Markup {
    if !sides.iter().any(|blocks| is_drawn(blocks)) {
        return html! {};
    }
    html! {
        section.part id=(id) {
            h2 { (title) }
            (caption)
            div.flames {
                div.sides {
                    @for (side, blocks) in Side::BOTH.into_iter().zip(sides) {
                        @let (title, meaning) = flamegraph::words(words::known_of_all(profile), side);
                        @if is_drawn(blocks) {
                            div {
                                h3 { (title) }
                                p.caption { (meaning) }
                                svg.graph width="100%" height=(height(blocks)) role="group" aria-label=(title) {
                                    (frames(blocks, &graphs.labels))
                                }
                                @let parts = blocks[0].parts();
                                @if !parts.is_empty() { (legend(parts.into_iter())) }
                            }
                        }
                    }
                }
                div.bar-of-flames {}
            }
        }
    }
}
