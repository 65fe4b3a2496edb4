//! Statistics of what was taken until now, in the form in which a program has them of itself.
//!
//! They are for runs of months. So processes that have ended are added up and forgotten, and so are locks whose places were
//! given to others. There is an end to the number of locks that are told apart, and a lock keeps the label that it was first
//! told with.

use super::build::parts::{OTHERS, parts};
use super::gaps::Lost;
use super::tally::Tally;
use super::totals::Totals;
use super::{Collector, Recording, Run};
use ondeck_record::read::ReadError;
use ondeck_record::stats::Snapshot;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// So many locks are told apart: each is some forty lines wherever statistics are kept.
const MOST: usize = 511;

/// What is known of processes that have ended, and of locks that are no more.
#[derive(Default)]
pub(super) struct Ended {
    /// Of all locks that were ever waited for, by what they are called.
    locks: BTreeMap<String, Tally>,
    n_processes: u64,
    missed: u64,
    pub(super) lost: Lost,
    pub(super) has_locked: bool,
}

impl Ended {
    pub(super) fn is_empty(&self) -> bool {
        self.n_processes == 0
    }

    /// How a lock is called here, which threads have waited for or not; `None` as long as none has for any that is called so.
    fn label(&mut self, label: String, is_waited_for: bool) -> Option<String> {
        if self.locks.contains_key(&label) {
            return Some(label);
        }
        let label = if self.locks.len() < MOST { label } else { OTHERS.to_owned() };
        if is_waited_for {
            self.locks.entry(label.clone()).or_default();
        }
        self.locks.contains_key(&label).then_some(label)
    }

    /// A lock that is called so is no more.
    fn add(&mut self, label: String, tally: &Tally) {
        if let Some(label) = self.label(label, tally.is_waited_for()) {
            self.locks.entry(label).or_default().add(tally);
        }
    }
}

impl Recording {
    /// Has the program give places of locks to others, if they have become few: whether all locks are to be looked at now.
    fn begins_to_make_room(&mut self) -> Result<bool, ReadError> {
        match self.contents.reader() {
            Some(reader) if reader.wants_places()? => reader.begin_epoch().map(|()| true),
            _ => Ok(false),
        }
    }

    /// Remembers what the locks are called and how long was waited for them: they may be no more at the next look.
    fn remember(&mut self, of_locks: &[(u32, String, Tally)]) {
        for (number, label, tally) in of_locks {
            self.labels.entry(*number).or_insert_with(|| label.clone());
            if let Some(totals) = self.locks.get_mut(number) {
                totals.tally.longest_wait_of(tally);
            }
        }
    }

    /// Takes out what is known of locks that are no more, which are all but these: how they were called, and their figures. What
    /// never had a label is no lock, or was written late of one that was taken out before.
    pub(super) fn take_out_all_but(&mut self, numbers: &BTreeSet<u32>) -> Vec<(String, Tally)> {
        let mut gone = Vec::new();
        let labels = &self.labels;
        let n_before = self.locks.len();
        self.locks.retain(|number, totals| {
            let stays = numbers.contains(number);
            if let Some(label) = labels.get(number).filter(|_| !stays) {
                gone.push((label.clone(), std::mem::take(&mut totals.tally)));
            }
            stays
        });
        if self.only_statistics {
            self.kept.give_back((n_before - self.locks.len()) * size_of::<Totals>());
        }
        self.labels.retain(|number, _| numbers.contains(number));
        self.holders.forget_all_but(numbers);
        gone
    }
}

impl Collector {
    /// As [`new`](Self::new), of which nothing but [`statistics`](Self::statistics) will be asked for. So of a lock it keeps counts
    /// alone, and these only as long as the lock has its place.
    pub fn of_statistics(directory: &Path, run: Run) -> Self {
        Collector { only_statistics: true, ..Self::new(directory, run) }
    }

    /// Lets programs that have few places for locks left give those of unused locks to others, see
    /// [`ondeck_record::layout::tenancy`]. To be called after each [`take`](Self::take). A [`profile`](Self::profile) is
    /// without locks that are no more.
    pub fn make_room(&mut self) {
        for at in 0..self.recordings.len() {
            // What is wrong with a recording is found out when it is taken.
            if self.recordings[at].begins_to_make_room().unwrap_or_default() {
                self.make_room_in(at);
            }
        }
    }

    fn make_room_in(&mut self, at: usize) {
        // One that is damaged keeps its places.
        let Some(of_locks) = parts(&mut self.symbols, &self.recordings[at..=at]).pop().flatten() else { return };
        let recording = &mut self.recordings[at];
        recording.remember(&of_locks);
        let numbers = of_locks.iter().map(|(number, ..)| *number).collect();
        for (label, tally) in recording.take_out_all_but(&numbers) {
            self.ended.add(label, &tally);
        }
        if let Some(reader) = recording.contents.reader() {
            // As above.
            let _ = reader.take_epoch();
        }
    }

    /// What the program has told until now of the locks that its threads have waited for, in all processes. Counts never
    /// decrease. Processes that have ended are forgotten: a [`profile`](Self::profile) is without them from here on.
    pub fn statistics(&mut self) -> Snapshot {
        let of_recordings = parts(&mut self.symbols, &self.recordings);
        let mut parts: Vec<(String, Tally, bool)> = Vec::new();
        for (recording, of_locks) in self.recordings.iter_mut().zip(of_recordings) {
            // Of one that is damaged nothing can be said.
            let Some(of_locks) = of_locks else { continue };
            // Who is named later keeps its label: what was counted would be gone from there.
            recording.remember(&of_locks);
            let numbers = of_locks.iter().map(|(number, ..)| *number).collect();
            parts.extend(of_locks.into_iter().map(|(_, label, tally)| (label, tally, recording.is_closed)));
            if recording.is_closed || recording.contents.gives_places_back() {
                let gone = recording.take_out_all_but(&numbers).into_iter();
                parts.extend(gone.map(|(label, tally)| (label, tally, true)));
            }
        }
        // Those that were waited for first: the others count if they are called like one of these.
        parts.sort_by_key(|(_, tally, _)| !tally.is_waited_for());
        let mut missed = 0;
        let mut live: BTreeMap<String, Tally> = BTreeMap::new();
        for (label, tally, has_ended) in parts {
            let Some(label) = self.ended.label(label, tally.is_waited_for()) else { continue };
            let of_ended = has_ended.then(|| self.ended.locks.get_mut(&label)).flatten();
            of_ended.unwrap_or_else(|| live.entry(label).or_default()).add(&tally);
        }
        for recording in &self.recordings {
            let lost = recording.dropped.samples.saturating_add(recording.dropped.locks);
            let sum = if recording.is_closed { &mut self.ended.missed } else { &mut missed };
            *sum = sum.saturating_add(lost);
            if recording.is_closed {
                self.ended.lost.add(recording);
                self.ended.has_locked |= recording.has_locked;
            }
        }
        let n_before = self.recordings.len();
        self.recordings.retain(|recording| !recording.is_closed);
        self.ended.n_processes += (n_before - self.recordings.len()) as u64;
        let mut snapshot = Snapshot::default();
        for (label, ended) in &self.ended.locks {
            let mut tally = ended.clone();
            tally.add(live.get(label).unwrap_or(&Tally::default()));
            snapshot.locks.push(tally.statistics(label));
        }
        snapshot.missed = self.ended.missed.saturating_add(missed);
        snapshot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_a_line_from_its_first_wait_on_if_there_is_room() {
        let mut ended = Ended::default();
        assert_eq!(ended.label("cache".to_owned(), false), None);
        for at in 0..MOST + 2 {
            let expected = if at < MOST { at.to_string() } else { OTHERS.to_owned() };
            assert_eq!(ended.label(at.to_string(), true), Some(expected));
        }
        // What there is room for stays, and the rest has one line together.
        assert_eq!(ended.label("7".to_owned(), false).as_deref(), Some("7"));
        assert_eq!(ended.label("cache".to_owned(), false).as_deref(), Some(OTHERS));
        assert_eq!(ended.locks.len(), MOST + 1);
    }
}
