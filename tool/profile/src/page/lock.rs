//! The section of one lock.

use super::charts::{self, histogram};
use super::parts::{legend, name, prose};
use super::stacks::{self, SiteListOptions};
use crate::findings::{of_lock, parts as causes};
use crate::flamegraph::{class_of, words};
use crate::profile::{Lock, Profile, Spot, State};
use crate::rows::Side;
use crate::words::{
    FROM_KERNEL, Known, acquisitions, kind, known, longest, others, p99, percent, share, waited, waits,
};
use crate::wrappers::Tops;
use maud::{Markup, html};
use ondeck_kit::drawing::Intervals;
use ondeck_kit::wording::{counted, duration_ns, whole};
use std::collections::BTreeMap;

/// So many locks are open at first.
const OPEN: usize = 3;
/// Stacks of each side: of the first locks, and of the others.
const STACKS: [usize; 2] = [4, 1];
/// So many locks are the first.
const FIRST: usize = 10;
/// The colours of waiting and of holding.
const WAITING: usize = 1;
const HOLDING: usize = 0;

/// What holders did meanwhile, as a bar and in numbers.
fn states(lock: &Lock) -> Markup {
    let mut sums: BTreeMap<State, f64> = BTreeMap::new();
    causes(lock).iter().for_each(|cause| *sums.entry(cause.state).or_default() += cause.ns);
    let all: f64 = sums.values().sum();
    let mut sums: Vec<(State, f64)> = sums.into_iter().filter(|(_, ns)| *ns > 0.0).collect();
    sums.sort_by(|one, other| other.1.total_cmp(&one.1));
    html! {
        @if !sums.is_empty() {
            div.states aria-hidden="true" {
                @for (state, ns) in &sums { span.(class_of(*state)) style={ "flex-grow:" (format!("{:.4}", ns / all)) } {} }
            }
            (legend(sums.iter().map(|(state, ns)| (*state, ns / all))))
        }
    }
}

/// A section for each of the locks that were waited for longest.
pub(super) fn sections(profile: &Profile, tops: &Tops, detailed: &[usize]) -> Markup {
    let n_waited = waited(profile).len();
    html! {
        @if !detailed.is_empty() {
            section.part id="each" {
                h2 { "Lock by lock" }
                @if n_waited > detailed.len() {
                    p.note {
                        "The " (detailed.len()) " locks with the most waiting. "
                        (counted(n_waited - detailed.len(), "other")) " with less waiting are in the table only."
                    }
                }
                @for (place, index) in detailed.iter().enumerate() {
                    (section(profile, tops, place, &profile.locks[*index], &of_lock(profile, tops, *index)))
                }
            }
        }
    }
}

fn section(profile: &Profile, tops: &Tops, place: usize, lock: &Lock, sentences: &[String]) -> Markup {
    let known = known(profile, lock);
    let [waiters, holders] = Side::BOTH.map(|side| words(known, side).0);
    let what = if known == Known::Wakers { "wake-up" } else { "hold" };
    let most = STACKS[usize::from(place >= FIRST)];
    html! {
        details.lock id={ "lock-" (place) } open[place < OPEN] {
            summary { h3 { (name(&lock.name)) @if let Some(kind) = kind(lock) { " " small { (kind) } } } span.share { (percent(share(profile, lock.wait_ns))) " of all waiting" } }
            (states(lock))
            @if !sentences.is_empty() {
                ul.advice aria-label="Why threads wait" { @for sentence in sentences { li { (prose(sentence.trim_end_matches(':'))) } } }
            }
            dl.figures-of { @for (name, value) in figures(lock) { div { dt { (name) } dd { (value) } } } }
            (origin(profile, tops, lock))
            div.sides {
                div {
                    h4 { (waiters) }
                    (stacks::list(profile, tops, &lock.waiters, &SiteListOptions { what: "wait", most, whole: lock.wait_ns }))
                }
                div {
                    h4 { (holders) }
                    (stacks::list(profile, tops, others(profile, lock), &SiteListOptions { what, most, whole: lock.wait_ns }))
                    @if let Some(free) = handing_on(lock) { p.note { (free) } }
                }
            }
            div.sides {
                (chart("Waits by length", histogram(&lock.wait_histogram, "waits", WAITING)))
                @if profile.lock != FROM_KERNEL { (chart("Holds by length", histogram(&lock.hold_histogram, "holds", HOLDING))) }
            }
            @if let Some(timeline) = charts::of_lock(profile, &lock.timeline, WAITING) {
                h4 { "Waiting over time" }
                div.lanes.strip tabindex="0" role="region" aria-label={ "Picture: waiting over time" } {
                    (charts::drawn(&timeline, "Waiting over time"))
                }
            }
            // Filled by the script when it is opened, as most are never looked at.
            details.data.flames-of data-lock=(place) data-others=(holders) hidden { summary { "Flame graphs" } }
        }
    }
}

fn figures(lock: &Lock) -> Vec<(&'static str, String)> {
    let time = |ns: Option<f64>| ns.map_or("-".to_string(), duration_ns);
    let mut all = vec![
        ("waited", duration_ns(lock.wait_ns)),
        ("waits", waits(lock.waits, lock.wait_ns)),
        ("mean wait", time(lock.mean_wait_ns())),
        ("p99", time(p99(&lock.wait_histogram, lock.longest_ns))),
        ("longest", longest(lock.longest_ns, lock.wait_ns)),
        ("acquisitions", acquisitions(lock)),
        ("held", time((lock.hold_ns > 0.0).then_some(lock.hold_ns))),
        ("mean hold", time(lock.mean_hold_ns())),
        ("most waiting", lock.most_waiting.to_string()),
        ("threads", lock.threads.to_string()),
    ];
    let told = [("spins", lock.spins), ("sleeps", lock.parks), ("wake-ups", lock.wakes), ("rotations", lock.rotations)];
    all.extend(told.into_iter().filter_map(|(name, value)| Some((name, whole(value?)))));
    all
}

/// The part of the waiting in which nobody held the lock, in a sentence; `None` where it is nothing.
fn handing_on(lock: &Lock) -> Option<String> {
    let part = (lock.wait_ns > 0.0).then(|| lock.handing_on_ns / lock.wait_ns).filter(|part| *part >= 0.001)?;
    Some(format!(
        "For {} of the waiting time the lock was free, but the thread that was woken for it was not running yet.",
        percent(part)
    ))
}

fn origin(profile: &Profile, tops: &Tops, lock: &Lock) -> Markup {
    let process = profile.processes.get(lock.process as usize).filter(|_| profile.processes.len() > 1);
    html! {
        details.stack.origin {
            summary {
                @match lock.origin {
                    Some(origin) => {
                        @let verb = match origin.spot { Spot::Initialised => "Initialised", Spot::FirstSeen => "First seen" };
                        @match tops.top(origin.stack) {
                            Some(frame) => {
                                (verb) " in " code { bdi { (crate::names::shown(tops.brief(frame))) } } ", "
                                bdi { (stacks::place(&profile.frames[frame as usize])) }
                            }
                            None => { (verb) " at an unknown place" }
                        }
                    }
                    None => "Its origin is not known",
                }
                @if let Some(process) = process { "; process " (process.pid) }
                "; at " (format!("{:#x}", lock.address))
            }
            @if let Some(origin) = lock.origin { (stacks::frames(profile, tops, origin.stack)) }
        }
    }
}

/// A chart with its words and numbers; a note where there is nothing.
fn chart(title: &str, of: Option<Intervals>) -> Markup {
    html! {
        div {
            h4 { (title) }
            @match of {
                None => p.note { "None was seen." },
                Some(intervals) => {
                    div.lanes.half { (charts::drawn(&intervals, title)) }
                    (charts::in_words(&intervals, title))
                }
            }
        }
    }
}
