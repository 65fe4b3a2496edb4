//! The tables: locks, other places of waiting, processes.

use super::parts::name;
use crate::names::{middle, shown};
use crate::profile::{Lock, Profile};
use crate::words::{self, acquisitions, kind, longest, others, p99, percent, share, waits};
use crate::wrappers::Tops;
use maud::{Markup, Render, html};
use ondeck_kit::Grid;
use ondeck_kit::wording::{counted, duration_ns};

/// More rows nobody reads, and each of them costs a kilobyte.
const MOST_ROWS: usize = 1000;
/// So many rows are shown at first, at least and at most; those that matter, if they are between. The first screen is to
/// have room for a picture below.
const ROWS_AT_FIRST: (usize, usize) = (1, 10);
/// The longest name in a cell.
const MOST_NAME: usize = 60;
const MOST_FUNCTION: usize = 48;

/// What stands above the columns, and whether they are sorted as numbers, the largest first.
const COLUMNS: [(&str, bool); 10] = [
    ("lock", false),
    ("share", true),
    ("waits", true),
    ("mean", true),
    ("p99", true),
    ("longest", true),
    ("acquisitions", true),
    ("mean hold", true),
    ("most waiting", true),
    ("waits most", false),
];

/// What a cell says, and what it is sorted by.
type Cell = (String, f64);

/// The table of all locks; those with a section have a link to it.
/// `n_matter` is the number of locks that matter.
pub(super) fn locks(profile: &Profile, tops: &Tops, detailed: &[usize], n_matter: usize) -> Markup {
    let mut all: Vec<(usize, &Lock)> = profile.locks.iter().enumerate().collect();
    all.sort_by(|(_, one), (_, other)| {
        other.wait_ns.total_cmp(&one.wait_ns).then(other.acquisitions.total_cmp(&one.acquisitions))
    });
    let n_waited = words::waited(profile).len();
    let (idle, first) = (all.len() - n_waited, n_matter.clamp(ROWS_AT_FIRST.0, ROWS_AT_FIRST.1));
    if all.is_empty() {
        return html! {};
    }
    html! {
        section.part id="locks" {
            h2 { "Locks" }
            p.caption {
                @if let Some(waiting) = words::waiting(profile) { (waiting) " " }
                "Times are of waits, except the mean hold. "
                @if idle > 0 { (counted(idle, "lock")) " of " (all.len()) " had no waits. " }
                @if all.len() > MOST_ROWS { "The table has the first " (MOST_ROWS) "." }
            }
            div.scroll.sortable data-first=(first) tabindex="0" role="region" aria-label="Data: locks" {
                table {
                    thead { tr { @for (name, is_number) in COLUMNS.into_iter().chain([(words::others_head(profile), false)]) {
                        th scope="col" data-number[is_number] aria-sort=[(name == "share").then_some("descending")] { (name) }
                    } } }
                    tbody {
                        @for (index, lock) in all.iter().take(MOST_ROWS) {
                            (row(profile, tops, lock, detailed.iter().position(|of| of == index)))
                        }
                    }
                }
            }
        }
    }
}

fn row(profile: &Profile, tops: &Tops, lock: &Lock, place: Option<usize>) -> Markup {
    let time = |ns: Option<f64>| -> Cell { (ns.map_or("-".to_string(), duration_ns), ns.unwrap_or(-1.0)) };
    let cells: [Cell; 8] = [
        (percent(share(profile, lock.wait_ns)), lock.wait_ns),
        (waits(lock.waits, lock.wait_ns), lock.waits),
        time(lock.mean_wait_ns()),
        time(p99(&lock.wait_histogram, lock.longest_ns)),
        time((lock.longest_ns > 0).then_some(lock.longest_ns as f64)),
        (acquisitions(lock), lock.acquisitions),
        time(lock.mean_hold_ns()),
        (lock.most_waiting.to_string(), f64::from(lock.most_waiting)),
    ];
    let name = shown(&lock.name);
    let brief = middle(&name, MOST_NAME);
    html! {
        tr {
            th scope="row" title=[(brief != name && place.is_none()).then_some(&name)] {
                @match place {
                    Some(place) => a href={ "#lock-" (place) } { bdi { (brief) } },
                    None => bdi { (brief) },
                }
                @if let Some(kind) = kind(lock) { " " small { (kind) } }
            }
            @for (column, (text, value)) in cells.iter().enumerate() {
                td data-v=(format!("{value:.0}")) {
                    // The share as a bar, too: SVG, as attributes may not have a style here.
                    @if column == 0 { (bar(share(profile, lock.wait_ns))) span.beside { (text) } } @else { (text) }
                }
            }
            @for sites in [lock.waiters.as_slice(), others(profile, lock)] { td.words { (function(tops, sites)) } }
        }
    }
}

/// A part of a whole as a bar.
fn bar(part: f64) -> Markup {
    let width = (part.clamp(0.0, 1.0) * 64.0 * 10.0).round() / 10.0;
    html! {
        svg.sharebar viewBox="0 0 64 10" width="64" height="10" aria-hidden="true" {
            rect.whole width="64" height="10" rx="2" {}
            rect width=(width) height="10" rx="2" {}
        }
    }
}

fn function(tops: &Tops, sites: &[crate::Site]) -> Markup {
    let Some((name, part)) = tops.busiest(sites) else { return html! { "-" } };
    let name = shown(&name);
    let brief = middle(&name, MOST_FUNCTION);
    html! {
        bdi title=[(brief != name).then_some(&name)] { (brief) } " " small { (percent(part)) }
    }
}

/// The condition variables, and what else nobody holds.
pub(super) fn conditions(profile: &Profile, tops: &Tops) -> Markup {
    let Some(sentence) = words::conditions(profile) else { return html! {} };
    let time = |ns: Option<f64>| ns.map_or("-".to_string(), duration_ns);
    let mut grid = Grid::new(["place"], ["waited", "waits", "mean", "p99", "longest", "waits most"]).with_texts(1);
    for of in profile.conditions.iter().take(MOST_ROWS) {
        let place = html! { bdi { (shown(&of.name)) } " " small { (words::waits_on(of.kind)) } };
        let figures = [
            duration_ns(of.wait_ns),
            waits(of.waits, of.wait_ns),
            time((of.waits > 0.0).then(|| of.wait_ns / of.waits)),
            time(p99(&of.wait_histogram, of.longest_ns)),
            longest(of.longest_ns, of.wait_ns),
        ];
        let figures = figures.iter().map(Render::render);
        grid.row([place].into_iter().chain(figures).chain([function(tops, &of.waiters)]));
    }
    html! {
        section.part id="conditions" {
            h2 { "Waiting that is not for a lock" }
            p.caption {
                (sentence) ". Threads without work wait there, so long waits may be idle threads."
            }
            (grid.html("waiting that is not for a lock"))
            @if profile.conditions.len() > MOST_ROWS {
                p.note { (counted(profile.conditions.len() - MOST_ROWS, "other")) " are not shown." }
            }
        }
    }
}

/// What ran.
pub(super) fn processes(profile: &Profile) -> Markup {
    let mut grid = Grid::new(["process"], ["parent", "from", "to", "ended", "program"]).with_texts(1);
    for process in profile.processes.iter().take(MOST_ROWS) {
        let time = |seconds: f64| duration_ns(seconds.max(0.0) * 1e9).render();
        let (pid, parent) = (process.pid.render(), process.parent.render());
        let ended = words::ended(process.ended).render();
        grid.row([pid, parent, time(process.from), time(process.to), ended, name(&process.program)]);
    }
    html! {
        @if grid.is_empty() { p.note { "No process recorded." } } @else { (grid.html("processes")) }
        @if profile.processes.len() > MOST_ROWS {
            p.note { (counted(profile.processes.len() - MOST_ROWS, "other")) " are not shown." }
        }
    }
}
