//! The picture of all stacks: who waited, and who held the lock meanwhile, as wide as they took.
//!
//! The whole is at the top, the locks below it, then the stacks of each from the outermost function on. Each frame is a
//! picture of its own within the picture, placed in hundredths of the whole: so its text is cut off where it ends, and a
//! zoom changes two numbers. Without a script it is a picture with titles; `flamegraph/flame.js` adds zoom, keys and
//! search. The page uses the same frames and the same script.

pub(crate) mod tree;

use crate::names::middle;
use crate::profile::{Profile, State};
use crate::rows::Side;
use crate::words::{Known, command, headline, known_of_all, percent, program, state_of};
use crate::wrappers::Tops;
use maud::{Markup, PreEscaped, html};
use ondeck_kit::drawing::clean;
use ondeck_kit::hash::hash_number;
use ondeck_kit::page::BASICS;
use ondeck_kit::palette::{Background, DARK, HUES, LIGHT, mix};
use ondeck_kit::wording::{duration_ns, whole_of, wrap};
use std::fmt::Write as _;
use tree::{Block, Detail, Graphs, Kind, Label, Labels};

/// What makes graphs move; it needs [`BASICS`].
pub(crate) const SCRIPT: &str = include_str!("flamegraph/flame.js");
/// What starts it in a file of its own.
const STARTER: &str = include_str!("flamegraph/file.js");
/// Everything but the frames' colours, for a page and for a file.
pub(crate) const STYLE: &str = include_str!("flamegraph/flame.css");
/// Pixels of a level; `flame.js` knows them too.
pub(crate) const ROW: u32 = 18;
/// Pixels of a file.
const WIDTH: u32 = 1200;
const MARGIN: u32 = 20;
/// Half a pixel of [`WIDTH`], and what a file can hold.
const DETAIL: Detail = Detail { least: 0.5 / 1200.0, most_frames: 2000 };
/// In narrower parts of the whole nothing can be read.
const LEAST_TEXT: f64 = 0.025;
/// The longest text on a frame; its title has the whole name.
const MOST_TEXT: usize = 120;
/// Tints of functions: one of these hues for a module, in one of these strengths for a function.
const MODULE_HUES: [usize; 5] = [1, 4, 2, 3, 6];
const STRENGTHS: [f64; 3] = [0.26, 0.34, 0.42];

/// What frames of holders are filled with, in the order of [`State::ALL`]: a hue, and its strengths on [`GROUNDS`]. They
/// differ in lightness as well, so that also who is colour-blind can tell them apart: a test holds them to that.
const STATES: [(usize, [f64; 2]); State::ALL.len()] = [
    (2, [0.85, 0.45]),
    (1, [0.8, 0.3]),
    (3, [0.65, 0.3]),
    (4, [0.35, 0.5]),
    (5, [0.3, 0.45]),
    (6, [0.5, 0.35]),
    (7, [0.6, 0.35]),
];
/// What a hue is on a ground.
type HueOnBackground = fn(usize) -> &'static str;
/// Light and dark.
const GROUNDS: [(Background, HueOnBackground); 2] = [(LIGHT, |hue| HUES[hue].light), (DARK, |hue| HUES[hue].dark)];

/// What stands above the graphs: heading, and what the width means.
pub(crate) fn words(known: Known, side: Side) -> (&'static str, &'static str) {
    match (side, known) {
        (Side::Waiters, _) => ("Who waited", "Width: how long threads waited here."),
        (_, Known::Holders) => ("Who held it meanwhile", "Width: how long others waited meanwhile."),
        (_, Known::Wakers) => ("Who woke the waiting threads", "Width: how long a wait was that ended here."),
        (_, Known::Either) => (
            "Who held it, or woke the waiting threads",
            "Width: how long others waited meanwhile, or until they were woken here.",
        ),
    }
}

/// What a state's colour is called in the style sheet, where it fills frames of holders and the marks of legends.
pub(crate) fn class_of(state: State) -> String {
    format!("state-{}", state as u8)
}

/// A file with the graphs of all locks: waiters above, holders below.
pub fn svg(profile: &Profile) -> String {
    let tops = Tops::new(profile);
    let mut graphs = Graphs::new(profile, &tops);
    let sides = Side::BOTH.map(|side| (side, graphs.all(side, DETAIL)));
    let title = format!("Waiting for locks in {}", program(profile));
    let headline: Vec<String> = wrap("", &headline(profile), 150).lines().map(str::to_string).collect();
    let mut y = MARGIN + 20;
    let mut line = |pixels: u32| {
        y += pixels;
        y
    };
    let head = html! {
        text.name x=(MARGIN) y=(line(0)) { (clean(&title)) }
        @for text in &headline { text.small x=(MARGIN) y=(line(20)) { (clean(text)) } }
        text.small x=(MARGIN) y=(line(20)) { (clean(&middle(&command(profile), 150))) }
    };
    // The script puts its field for a search here.
    let bar = line(10);
    line(66);
    let parts = html! {
        @for (side, blocks) in &sides {
            @let (name, meaning) = words(known_of_all(profile), *side);
            text.part x=(MARGIN) y=(line(28)) { (name) }
            text.small x=(MARGIN) y=(line(18)) { (meaning) }
            @if let Some(parts) = blocks.first().map(Block::parts).filter(|parts| !parts.is_empty()) {
                (legend(&parts, line(18)))
            }
            @if is_drawn(blocks) {
                @let top = line(8);
                @let height = height(blocks);
                svg.graph x="1.6%" width="96.8%" y=(top) height=(height) role="group" aria-label=(name) {
                    (frames(blocks, &graphs.labels))
                }
                @let _ = line(height);
            } @else {
                text.small x=(MARGIN) y=(line(24)) { "There is nothing to show." }
            }
        }
    };
    let height = line(MARGIN);
    let all = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(height) data-bar=(bar) role="group"
            aria-labelledby="title" {
            title id="title" { (clean(&title)) }
            style { (PreEscaped(in_xml(&file_style()))) }
            rect.card width="100%" height="100%" {}
            (head)
            (parts)
            script { (PreEscaped(in_xml(&format!("(() => {{\n{BASICS}{SCRIPT}{STARTER}}})();")))) }
        }
    };
    all.into_string() + "\n"
}

/// What the colours of a file mean, in a line.
fn legend(parts: &[(State, f64)], y: u32) -> Markup {
    /// Pixels of a mark with its space, and of a letter.
    const MARK: usize = 34;
    const LETTER: usize = 7;
    let mut x = MARGIN as usize;
    let mut mark = |state: State, part: f64| {
        let text = format!("{} {}", state_of(state), percent(part));
        let place = x;
        x += MARK + LETTER * text.chars().count();
        html! {
            rect.(class_of(state)) x=(place) y=(y - 10) width="11" height="11" {}
            text.small x=(place + 16) y=(y) { (text) }
        }
    };
    html! { @for (state, part) in parts { (mark(*state, *part)) } }
}

/// Text of ours that an XML file may hold as it is.
fn in_xml(text: &str) -> String {
    format!("<![CDATA[\n{text}]]>")
}

/// Whether the graph has a width.
pub(crate) fn is_drawn(blocks: &[Block]) -> bool {
    blocks.first().is_some_and(|root| root.ns > 0.0 && root.ns.is_finite())
}

/// Pixels of a graph.
pub(crate) fn height(blocks: &[Block]) -> u32 {
    (blocks.iter().map(|block| block.level).max().unwrap_or(0) + 1) * ROW
}

/// The frames of a graph that has a width.
pub(crate) fn frames(blocks: &[Block], labels: &Labels) -> Markup {
    let whole = blocks.first().map_or(1.0, |root| root.ns);
    let hundredths = |ns: f64| format!("{:.4}%", ns / whole * 100.0);
    html! {
        @for block in blocks {
            @let label = labels.get(block.label);
            @let narrow = if block.ns / whole < LEAST_TEXT { " narrow" } else { "" };
            @let parts = block.parts();
            svg class={ (class(label)) (class_of_parts(&parts)) (narrow) } x=(hundredths(block.from)) width=(hundredths(block.ns))
                y=(block.level * ROW) height=(ROW - 1) {
                title { (told(label, block, whole)) }
                // Each reaches to the end, so that there are no gaps, and the next lies above it.
                @for (place, (state, _)) in parts.iter().enumerate().filter(|_| parts.len() > 1) {
                    @let from = parts[..place].iter().fold(0.0, |sum, (_, part)| sum + part);
                    rect.(class_of(*state)) x=(hundredths(from * whole)) width="100%" height="100%" {}
                }
                rect width="100%" height="100%" {}
                text x="4" y="13" { (text(label)) }
            }
        }
    }
}

/// What is written on a frame.
pub(crate) fn text(label: &Label) -> String {
    middle(&clean(&label.brief), MOST_TEXT)
}

/// Name and figures of a frame. `flame.js` says the same of those that it draws.
fn told(label: &Label, block: &Block, whole: f64) -> String {
    let times = if block.count > 0.0 { format!(", {}", whole_of(block.count, "time")) } else { String::new() };
    let parts = block.parts();
    let causes = match parts.as_slice() {
        [] => String::new(),
        [(state, _)] => format!("; {}", state_of(*state)),
        parts => {
            let said = |(state, part): &(State, f64)| format!("{} {}", state_of(*state), percent(*part));
            format!("; {}", parts.iter().map(said).collect::<Vec<String>>().join(", "))
        }
    };
    clean(&format!("{}: {}, {}{times}{causes}", described(label), duration_ns(block.ns), percent(block.ns / whole)))
}

/// The whole name, and where the function is.
pub(crate) fn described(label: &Label) -> String {
    let inlined = if label.kind == Kind::Inlined { ", inlined" } else { "" };
    let module = if label.module.is_empty() { String::new() } else { format!(" ({}{inlined})", label.module) };
    clean(&label.name) + &clean(&module)
}

/// Which colours a frame has, the same in each picture: a hue of its module, a strength of its name.
pub(crate) fn class(label: &Label) -> String {
    let strength = hash_number(&label.brief) % STRENGTHS.len() as u64;
    let function = || format!("m{} s{strength}", hash_number(&label.module) % MODULE_HUES.len() as u64);
    match label.kind {
        Kind::Root => "f root".to_string(),
        Kind::Lock => format!("f lock s{strength}"),
        Kind::Function => format!("f {}", function()),
        Kind::Inlined => format!("f {} inlined", function()),
        Kind::Wrapper => "f wrapper".to_string(),
        Kind::Rest => "f rest".to_string(),
    }
}

/// What a frame's class has in addition: how it is filled that is made of these states.
fn class_of_parts(parts: &[(State, f64)]) -> String {
    match parts {
        [] => String::new(),
        [(state, _)] => format!(" caused {}", class_of(*state)),
        _ => " striped".to_owned(),
    }
}

/// The frames' colours. Paper is always light.
pub(crate) fn colours() -> String {
    let [light, dark] = [0, 1].map(rules);
    format!("{light}@media screen and (prefers-color-scheme:dark){{{dark}}}")
}

/// Those on one of the [`GROUNDS`].
fn rules(at: usize) -> String {
    let mut text = String::new();
    for (selector, fill) in fills(at) {
        let _ = write!(text, ".f{selector}>rect{{fill:{fill}}}");
    }
    for (state, fill) in State::ALL.into_iter().zip(states(at)) {
        let class = class_of(state);
        let _ = write!(text, ".{class},.f.striped>rect.{class}{{fill:{fill};background:{fill};stroke:none}}");
        let _ = write!(text, ".f.caused.{class}>rect{{fill:{fill}}}");
    }
    // The last one is the edge of the whole frame.
    text += ".f.striped>rect:last-of-type{fill:none}";
    let (ground, of) = GROUNDS[at];
    let hit = of(0);
    let _ = write!(
        text,
        ".f>rect{{stroke:{}}}.f>text{{fill:{}}}.f.hit>rect{{stroke:{hit}}}.f:focus>rect{{stroke:{}}}",
        ground.card, ground.ink, ground.ink
    );
    text
}

/// What frames of holders are filled with.
fn states(at: usize) -> [String; State::ALL.len()] {
    let (ground, of) = GROUNDS[at];
    STATES.map(|(hue, strengths)| mix(of(hue), ground.card, strengths[at]))
}

/// What each kind of other frames is filled with.
fn fills(at: usize) -> Vec<(String, String)> {
    let (ground, of) = GROUNDS[at];
    let mut all = vec![
        (".root".to_string(), ground.grid.to_string()),
        (".wrapper".to_string(), mix(ground.muted, ground.card, 0.22)),
        (".rest".to_string(), mix(ground.muted, ground.card, 0.1)),
    ];
    for (number, strength) in STRENGTHS.iter().enumerate() {
        all.push((format!(".lock.s{number}"), mix(of(0), ground.card, *strength)));
        for (module, hue) in MODULE_HUES.iter().enumerate() {
            all.push((format!(".m{module}.s{number}"), mix(of(*hue), ground.card, *strength)));
        }
    }
    all
}

/// The style of a file: what a page has in its own.
fn file_style() -> String {
    let ground = |ground: Background, dashes: &str| {
        let Background { card, ink, muted, grid } = ground;
        format!(
            "svg{{color:{ink};--paper:{card};--ink:{ink};--muted:{muted};--rule:{grid};--edge:{dashes}}}.card{{fill:{card}}}\
             .name,.part{{fill:{ink}}}.small{{fill:{muted}}}"
        )
    };
    let (light, dark) = (ground(LIGHT, "#cfd4dc"), ground(DARK, "#414957"));
    let fonts = "system-ui,Helvetica,Arial,sans-serif";
    format!(
        "text{{font:13px {fonts}}}.name{{font-weight:bold;font-size:20px}}.part{{font-weight:bold;font-size:15px}}\
         {light}@media screen and (prefers-color-scheme:dark){{{dark}}}{}{STYLE}",
        colours()
    )
}

#[cfg(test)]
mod tests;
