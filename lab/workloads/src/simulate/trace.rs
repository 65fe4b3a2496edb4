//! The timeline of a run as a file for trace viewers.
//!
//! The file is in Chrome's trace event format, which <https://ui.perfetto.dev> and `chrome://tracing` open. It has two
//! groups of tracks: what runs on each hardware thread and which cache lines it gets from where, and what each thread is
//! at, as the lock sees it. Every step of the lock is an instant; a wake and the move of a line are arrows.
//!
//! Viewers count in whole nanoseconds and want the slices of a track to lie beside or within each other, the outer one
//! first. So all times are rounded to nanoseconds before anything is made of them, and the slices are sorted.

mod draft;
mod header;
mod life;
#[cfg(test)]
mod tests;
mod write;

use super::{MIN_SECONDS, MachinePlan};
use crate::plan::Plan;
use draft::{Draft, ns};
pub use header::{Header, Subject};
use ondeck_sim::machine::Machine;
use ondeck_sim::timeline::{Event, Timeline};
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;

/// So many events of a contended lock make a file of about 25 MB; `chrome://tracing` takes no more than 256 MB.
const MOST_EVENTS: usize = 200_000;

/// Writes the timeline as Chrome trace events. Of a long one, only the beginning is written; the header says so.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut impl Write, timeline: &Timeline, machine: &Machine, subject: &Subject) -> io::Result<Header> {
    write_first(out, timeline, machine, subject, MOST_EVENTS)
}

/// Seconds of a window with which the run of `of` is written whole, if the plan is one run, of which not more than
/// `header` says was. Found by running it: how many events a shorter run has depends on what its threads do in it.
/// `None` if even the shortest window has too many.
pub fn seconds_written_whole(of: &MachinePlan, header: &Header, stop: &AtomicBool) -> Option<f64> {
    // A run is longer than its window.
    let mut seconds = header.end_us / 1e6;
    loop {
        // One digit is easier to type.
        seconds = format!("{:.0e}", seconds / 2.0).parse().ok()?;
        if seconds < MIN_SECONDS {
            return None;
        }
        let shorter = MachinePlan { plan: Plan { seconds: Some(seconds), ..of.plan.clone() }, ..of.clone() };
        let timeline = super::run(&shorter, stop, &mut |_| ()).ok()?.timeline?;
        if !timeline.is_cut && timeline.events.len() <= MOST_EVENTS {
            return Some(seconds);
        }
    }
}

fn write_first(
    out: &mut impl Write,
    timeline: &Timeline,
    machine: &Machine,
    subject: &Subject,
    most: usize,
) -> io::Result<Header> {
    let events = &timeline.events[..timeline.events.len().min(most)];
    let end_ns = events.last().map_or(0, |event| ns(event.at_ps));
    let header = Header {
        subject: subject.clone(),
        end_us: end_ns as f64 / 1e3,
        is_cut: timeline.is_cut || events.len() < timeline.events.len(),
    };
    // One nanosecond more, so that what the last event has begun can be seen, and arrows end in it.
    let entries = draft(events, machine, end_ns + 1);
    write::file(out, &header, machine, timeline.threads, &entries)?;
    Ok(header)
}

fn draft(events: &[Event], machine: &Machine, end_ns: u64) -> Vec<draft::Entry> {
    let mut draft = Draft::new(machine);
    events.iter().for_each(|event| draft.take(event));
    draft.finish(end_ns)
}
