//! What to say of a run that gets nowhere.

use super::futex::NO_BUCKET;
use super::thread::{CompletedOp, Phase, Thread};
use super::{Engine, OBSERVER, START_PS, value};
use crate::outcome::Failure;
use std::fmt::Write;

/// Most threads that are told of one by one.
const MOST_THREADS: usize = 32;

impl Engine {
    pub(super) fn deadlock(&self) -> Failure {
        Failure::Deadlock(self.standstill())
    }

    /// Who sleeps where, and what the others did last.
    pub(crate) fn standstill(&self) -> String {
        let mut out = String::new();
        let alive = || self.threads.iter().enumerate().skip(1).filter(|(_, thread)| thread.phase != Phase::Gone);
        let asleep = alive().filter(|(_, thread)| thread.place.is_some()).count();
        let _ =
            write!(out, "at {} ns, {} threads, {asleep} of them asleep", (self.now - START_PS) / 1000, alive().count());
        for (index, thread) in alive().take(MOST_THREADS) {
            let _ = write!(out, "\n  thread {index}: {}", self.state_of(thread));
            for line in self.last_operations(thread) {
                let _ = write!(out, "\n    {line}");
            }
        }
        if alive().count() > MOST_THREADS {
            let _ = write!(out, "\n  and {} more", alive().count() - MOST_THREADS);
        }
        out
    }

    fn state_of(&self, thread: &Thread) -> String {
        let Some(place) = thread.place else {
            return match thread.phase {
                Phase::Ready => "ready, without a CPU".to_string(),
                phase => format!("{phase:?} on CPU {}", thread.cpu),
            };
        };
        if place.bucket == NO_BUCKET {
            return "asleep, until its time has come or a thread is gone".to_string();
        }
        // SAFETY: a thread that is in a bucket holds a reference to the word that it waits for.
        let value = unsafe { value::read(place.address, place.is_wide) };
        let last_writer = self.last_writer(place.address);
        let writer = last_writer.map_or_else(|| "nobody that is known".to_string(), |index| format!("thread {index}"));
        let (name, expected) = (self.name_of(place.address), place.expected);
        let state = if value == expected { "still" } else { "now" };
        format!("asleep on {name} while it is {expected:#x} ({state} {value:#x}); last written by {writer}")
    }

    /// The thread that has written a word last, as far as is remembered.
    fn last_writer(&self, address: u64) -> Option<usize> {
        let wrote = |made: &&CompletedOp| made.op.address == address && made.op.kind != super::Kind::Load;
        let last =
            |(index, thread): (usize, &Thread)| thread.recent.iter().filter(wrote).last().map(|made| (made.at, index));
        self.threads.iter().enumerate().skip(OBSERVER as usize + 1).filter_map(last).max().map(|(_, index)| index)
    }

    /// A word by its line and place: addresses would differ from run to run.
    fn name_of(&self, address: u64) -> String {
        let place = address % u64::from(self.machine.line_bytes);
        self.lines.known(address).map_or_else(|| "an unknown word".to_string(), |line| format!("line {line}+{place}"))
    }

    /// The last operations, equal ones in one line.
    fn last_operations(&self, thread: &Thread) -> Vec<String> {
        let mut lines: Vec<(String, u32)> = Vec::new();
        for made in thread.recent.iter() {
            let place = made.op.address % u64::from(self.machine.line_bytes);
            let text = format!("{:?} line {}+{place}, found {:#x}", made.op.kind, made.line, made.before);
            match lines.last_mut().filter(|last| last.0 == text) {
                Some(last) => last.1 += 1,
                None => lines.push((text, 1)),
            }
        }
        let times = |(text, n): (String, u32)| if n > 1 { format!("{text}, {n} times") } else { text };
        lines.into_iter().map(times).collect()
    }
}
