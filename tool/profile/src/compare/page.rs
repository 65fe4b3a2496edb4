//! The comparison as a page: flame graphs of both runs in the colours of the difference, and the tables as text.

use super::compare;
use super::graph::Graphs;
use super::pairs::pairs;
use crate::flamegraph::tree::{Block, Label, Labels};
use crate::flamegraph::{self, described, frames_with, height, is_drawn};
use crate::rows::Side;
use crate::summary::Summary;
use crate::words::{FROM_KERNEL, program_of};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ondeck_kit::drawing::clean;
use ondeck_kit::page::{BASICS, head, lean};
use ondeck_kit::palette::{Background, Hue, mix};
use ondeck_kit::wording::{change, duration_ns, plain};
use std::fmt::Write as _;

const STYLE: &str = include_str!("../page/page.css");
const STARTER: &str = include_str!("page.js");
/// The columns of the tables.
const TEXT_WIDTH: usize = 108;
/// More waiting, and less, on each ground. Not the hues of locks, which mean nothing of that kind.
const HUES: [(&str, Hue); 2] =
    [("more", Hue { light: "#c4161c", dark: "#ff6f6f" }), ("less", Hue { light: "#0072b2", dark: "#56b4e9" })];
/// How strong the colour of a frame is, on each ground: each step stands for a quarter of the largest difference.
const STRENGTHS: [[f64; STEPS]; 2] = [[0.15, 0.3, 0.45, 0.6], [0.12, 0.24, 0.36, 0.48]];
const STEPS: usize = 4;
/// A difference that is a smaller part of the largest has no colour.
const LEAST: f64 = 0.02;

/// The page that compares two profiles. The names stand for the files.
pub fn page(old: &Summary, new: &Summary, names: [&str; 2]) -> String {
    let title = format!("Waiting for locks in {}, before and after", program_of(&new.command));
    let names = names.map(plain);
    let (pairs, runs) = (pairs(old, new), [old, new]);
    let mut labels = Labels::default();
    let sides = Side::BOTH.map(|side| (side, Graphs::new(&pairs, runs, side, &mut labels)));
    let is_woken = runs.iter().any(|run| run.lock == FROM_KERNEL);
    let text = compare(old, new).text(&names[0], &names[1], TEXT_WIDTH);
    let style = flamegraph::colours() + &colours() + flamegraph::STYLE + STYLE;
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title, &style))
            body {
                main {
                    header {
                        h1 { (title) }
                        p.verdict { "Before is " bdi { (names[0]) } ", after is " bdi { (names[1]) } "." }
                    }
                    @for (side, graphs) in &sides { (section(*side, graphs, &labels, is_woken)) }
                    section.part { h2 { "Figures" } div.scroll tabindex="0" role="region" aria-label="Figures" { pre { (text) } } }
                }
                footer { p { "Written by ondeck " (env!("CARGO_PKG_VERSION")) "." } }
                script type="module" { (PreEscaped(lean(BASICS))) (PreEscaped(lean(flamegraph::SCRIPT))) (PreEscaped(lean(STARTER))) }
            }
        }
    }
    .into_string()
}

/// Both graphs of a side.
fn section(side: Side, graphs: &Graphs, labels: &Labels, is_woken: bool) -> Markup {
    let (title, _) = flamegraph::words(is_woken, side);
    html! {
        section.part {
            h2 { (title) }
            p.caption {
                "Width: the waiting in each second of that run. Red functions have more waiting after than before, blue ones less. A "
                "small difference may be chance: see the figures below."
            }
            div.flames {
                div.sides {
                    @for (run, name) in ["Before", "After"].into_iter().enumerate() {
                        @let blocks = &graphs.blocks[run];
                        div {
                            h3 { (name) ": " (duration_ns(blocks.first().map_or(0.0, |root| root.ns))) " of waiting in each second" }
                            @if is_drawn(blocks) {
                                svg.graph width="100%" height=(height(blocks)) role="group" aria-label={ (title) ", " (name) } {
                                    (frames_with(blocks, labels, |label, block| looks(label, block, run, graphs.largest)))
                                }
                            } @else { p.note { "There is nothing to show." } }
                        }
                    }
                }
                (legend(graphs.largest))
                div.bar-of-flames {}
            }
        }
    }
}

/// Colours, from the most that a frame has less to the most that one has more.
fn legend(largest: f64) -> Markup {
    let steps = STEPS as i32;
    html! {
        p.states-said {
            span { "-" (duration_ns(largest)) " in each second " }
            @for step in -steps..=steps { b.(class_of_step(step)) {} }
            span { " +" (duration_ns(largest)) }
        }
    }
}

/// The class and the title of a frame in the graph of a run.
fn looks(label: &Label, block: &Block, run: usize, largest: f64) -> (String, String) {
    let [old, new] = if run == 1 { [block.other, block.ns] } else { [block.ns, block.other] };
    let class = format!("f {}", class_of_step(step(new - old, largest)));
    let change = match (old > 0.0, new > 0.0) {
        (true, true) => change(new / old),
        (true, false) => "gone".to_owned(),
        _ => "new".to_owned(),
    };
    let title = format!(
        "{}: before {}, after {} in each second, {change}",
        described(label),
        duration_ns(old),
        duration_ns(new)
    );
    (class, clean(&title))
}

/// How strong a difference is, and in which direction: 0 is none.
fn step(difference: f64, largest: f64) -> i32 {
    let part = if largest > 0.0 { difference / largest } else { 0.0 };
    let steps = (part.abs() * STEPS as f64).ceil().min(STEPS as f64) as i32;
    if part.abs() < LEAST { 0 } else { steps * part.signum() as i32 }
}

fn class_of_step(step: i32) -> String {
    match step {
        0 => "same".to_owned(),
        1.. => format!("{}{step}", HUES[0].0),
        _ => format!("{}{}", HUES[1].0, -step),
    }
}

/// What frames are filled with, and the marks of the legend.
fn colours() -> String {
    let [light, dark] = [0, 1].map(|at| {
        let mut text = String::new();
        for (class, fill) in fills(at) {
            let _ = write!(text, ".f.{class}>rect{{fill:{fill}}}b.{class}{{background:{fill}}}");
        }
        text
    });
    format!("{light}@media screen and (prefers-color-scheme:dark){{{dark}}}")
}

/// The fill of each class on a ground.
fn fills(at: usize) -> Vec<(String, String)> {
    let (Background { card, grid, .. }, _) = flamegraph::GROUNDS[at];
    let mut fills = vec![(class_of_step(0), grid.to_owned())];
    for (name, hue) in HUES {
        let hue = [hue.light, hue.dark][at];
        fills.extend(
            (1..).zip(STRENGTHS[at]).map(|(step, strength)| (format!("{name}{step}"), mix(hue, card, strength))),
        );
    }
    fills
}

#[cfg(test)]
mod tests;
