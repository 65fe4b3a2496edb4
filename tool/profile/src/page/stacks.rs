//! Stacks as text, those with the most time first.

use crate::names::{middle, shown};
use crate::profile::{Profile, Site};
use crate::words::percent;
use crate::wrappers::{NO_STACK, Tops};
use maud::{Markup, html};
use ondeck_kit::wording::{counted, duration_ns, whole_of};

/// Frames of a stack; those further out are the same for all.
const MOST_FRAMES: usize = 24;
/// Of longer names, with their template arguments, the middle is left out: there are thousands on a page.
const MOST_NAME: usize = 180;

/// How the sites are shown.
pub(super) struct SiteListOptions<'a> {
    /// What the count is of: `wait`, `hold`.
    pub(super) what: &'a str,
    /// How many are shown.
    pub(super) most: usize,
    /// All that their time is a part of, in ns.
    pub(super) whole: f64,
}

pub(super) fn list(profile: &Profile, tops: &Tops, sites: &[Site], manner: &SiteListOptions) -> Markup {
    let mut sites: Vec<&Site> = sites.iter().filter(|site| site.ns > 0.0).collect();
    sites.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    let (first, rest) = sites.split_at(sites.len().min(manner.most));
    let rest_ns: f64 = rest.iter().map(|site| site.ns).sum();
    html! {
        @if first.is_empty() { p.note { "No stack was seen." } }
        @for (index, site) in first.iter().enumerate() { (stack(profile, tops, site, manner, index == 0)) }
        @if !rest.is_empty() {
            p.note { "and " (counted(rest.len(), "other stack")) ", " (percent(part(rest_ns, manner.whole))) }
        }
    }
}

fn part(ns: f64, whole: f64) -> f64 {
    if whole > 0.0 { ns / whole } else { 0.0 }
}

fn stack(profile: &Profile, tops: &Tops, site: &Site, manner: &SiteListOptions, is_open: bool) -> Markup {
    let top = tops.top(site.stack).map_or(NO_STACK, |frame| tops.brief(frame));
    let times = if site.count > 0.0 {
        format!("{}, {} each", whole_of(site.count, manner.what), duration_ns(site.ns / site.count))
    } else {
        duration_ns(site.ns)
    };
    html! {
        details.stack open[is_open] {
            summary {
                b { (percent(part(site.ns, manner.whole))) } " " code { bdi { (shown(top)) } }
                @if let Some(access) = tops.access(site.stack) { " " (access) }
                small { (times) }
            }
            (frames(profile, tops, site.stack))
        }
    }
}

/// The frames of a stack, the innermost first.
pub(super) fn frames(profile: &Profile, tops: &Tops, stack: u32) -> Markup {
    let all: Vec<u32> = tops.stack(stack).collect();
    html! {
        @if all.is_empty() { p.note { (NO_STACK) } }
        @else {
            ol.frames {
                @for number in all.iter().take(MOST_FRAMES) {
                    @let frame = &profile.frames[*number as usize];
                    li.wrapper[tops.is_wrapper(*number)] {
                        code { bdi { (middle(&shown(&frame.function), MOST_NAME)) } }
                        @if frame.is_inlined { " " span.tag { "inlined" } }
                        small { bdi { (place(frame)) } }
                    }
                }
            }
            @if all.len() > MOST_FRAMES { p.note { "and " (counted(all.len() - MOST_FRAMES, "frame")) " further out" } }
        }
    }
}

/// Where the frame is: `file:line`, or its module.
pub(super) fn place(frame: &crate::Frame) -> String {
    match (frame.file.as_str(), frame.line) {
        ("", _) => shown(&frame.module),
        (file, 0) => shown(file),
        (file, line) => format!("{}:{line}", shown(file)),
    }
}
