//! Statistics of what was taken until now, in the form in which a program has them of itself.
//!
//! They are for runs of months. So processes that have ended are added up and forgotten, and so are locks whose places were
//! given to others. There is an end to the number of locks that are told apart, and a lock keeps the label that it was first
//! told with.

use super::account::{Account, Durations};
use super::build::parts::{OTHERS, parts};
use super::gaps::Lost;
use super::{Collector, Recording, Run};
use crate::profile::Bar;
use ondeck_record::read::ReadError;
use ondeck_record::stats::{Histogram, LockStatistics, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

/// So many locks are told apart: each is some forty lines wherever statistics are kept.
const MOST: usize = 511;

/// How many bytes the counts of a lock take.
pub(super) const ROOM_OF_COUNTS: usize = size_of::<Account>() + 2 * Histogram::BUCKETS * size_of::<Bar>();

/// The lengths that statistics do not tell apart: longer than one limit, and not longer than the next.
pub(super) fn bar(ns: u64) -> Range<u64> {
    let bucket = Histogram::bucket(Duration::from_nanos(ns));
    let above = |limit: Duration| limit.as_nanos() as u64 + 1;
    let from = bucket.checked_sub(1).and_then(Histogram::limit).map_or(0, above);
    from..Histogram::limit(bucket).map_or(u64::MAX, above)
}

/// In whole numbers. What is rounded is the number up to each limit, as that is what is written: so the whole is off by no
/// more than a half, and nothing ever decreases.
fn histogram(durations: &Durations) -> Histogram {
    let mut histogram = Histogram::default();
    let (mut so_far, mut told) = (0.0, 0);
    for bar in &durations.lengths.0 {
        so_far += bar.count;
        let more = (so_far.round() as u64).saturating_sub(told);
        histogram.buckets[Histogram::bucket(Duration::from_nanos(bar.from))] += more;
        told += more;
    }
    histogram.sum = Duration::from_nanos(durations.sum.ns as u64);
    histogram
}

fn statistics(lock: &str, account: &Account) -> LockStatistics {
    let mut told = LockStatistics::default();
    lock.clone_into(&mut told.lock);
    (told.waits, told.holds) = (histogram(&account.waits), histogram(&account.holds));
    told.gave_up = account.gave_up.round() as u64;
    told.longest_wait = Duration::from_nanos(account.waits.longest_ns);
    told.longest_hold = Duration::from_nanos(account.holds.longest_ns);
    told.timed_holds = account.holds.n_samples;
    told.waiting.clone_from(&account.waiting);
    told
}

/// What is known of processes that have ended, and of locks that are no more.
#[derive(Default)]
pub(super) struct Ended {
    /// Of all locks that were ever waited for, by what they are called.
    locks: BTreeMap<String, Account>,
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
    fn add(&mut self, label: String, account: &Account) {
        if let Some(label) = self.label(label, account.is_waited_for()) {
            self.locks.entry(label).or_default().merge(account, |stack| stack);
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
    fn remember(&mut self, of_locks: &[(u32, String, Account)]) {
        for (number, label, account) in of_locks {
            self.labels.entry(*number).or_insert_with(|| label.clone());
            if let Some(known) = self.locks.get_mut(number) {
                known.waits.longest_ns = known.waits.longest_ns.max(account.waits.longest_ns);
            }
        }
    }

    /// Takes out what is known of locks that are no more, which are all but these: how they were called, and their figures. What
    /// never had a label is no lock, or was written late of one that was taken out before.
    pub(super) fn take_out_all_but(&mut self, numbers: &BTreeSet<u32>) -> Vec<(String, Account)> {
        let mut gone = Vec::new();
        let labels = &self.labels;
        let n_before = self.locks.len();
        self.locks.retain(|number, account| {
            let stays = numbers.contains(number);
            if let Some(label) = labels.get(number).filter(|_| !stays) {
                gone.push((label.clone(), std::mem::take(account)));
            }
            stays
        });
        if self.only_statistics {
            self.kept.give_back((n_before - self.locks.len()) * ROOM_OF_COUNTS);
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
        for (label, account) in recording.take_out_all_but(&numbers) {
            self.ended.add(label, &account);
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
        let mut parts: Vec<(String, Account, bool)> = Vec::new();
        for (recording, of_locks) in self.recordings.iter_mut().zip(of_recordings) {
            // Of one that is damaged nothing can be said.
            let Some(of_locks) = of_locks else { continue };
            // Who is named later keeps its label: what was counted would be gone from there.
            recording.remember(&of_locks);
            let numbers = of_locks.iter().map(|(number, ..)| *number).collect();
            parts.extend(of_locks.into_iter().map(|(_, label, account)| (label, account, recording.is_closed)));
            if recording.is_closed || recording.contents.gives_places_back() {
                let gone = recording.take_out_all_but(&numbers).into_iter();
                parts.extend(gone.map(|(label, account)| (label, account, true)));
            }
        }
        // Those that were waited for first: the others count if they are called like one of these.
        parts.sort_by_key(|(_, account, _)| !account.is_waited_for());
        let mut missed = 0;
        let mut live: BTreeMap<String, Account> = BTreeMap::new();
        for (label, account, has_ended) in parts {
            let Some(label) = self.ended.label(label, account.is_waited_for()) else { continue };
            let of_ended = has_ended.then(|| self.ended.locks.get_mut(&label)).flatten();
            of_ended.unwrap_or_else(|| live.entry(label).or_default()).merge(&account, |stack| stack);
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
            let mut account = ended.clone();
            live.get(label).iter().for_each(|live| account.merge(live, |stack| stack));
            snapshot.locks.push(statistics(label, &account));
        }
        snapshot.missed = self.ended.missed.saturating_add(missed);
        snapshot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ondeck_record::layout::event;
    use ondeck_record::read::Sample;

    #[test]
    fn estimates_are_told_in_whole_numbers_that_add_up() {
        let mut account = Account::default();
        let mut wait = |event, weight, ns| {
            account.count(&Sample { event, weight, ns, thread: 1, lock: 0, stack: 0, at: 0, lengths: [0; 2] }, bar);
        };
        for (event, ns) in [(event::WAIT, 500), (event::GAVE_UP, 2_000), (event::WAIT, 5_000)] {
            wait(event, 1.4, ns);
        }
        wait(event::GAVE_UP, 1.0, 20_000_000_000);
        let told = statistics("a", &account);
        assert_eq!((told.waits.buckets[..3].to_vec(), told.waits.buckets[15]), (vec![1, 2, 1], 1));
        assert_eq!((told.waits.count(), told.gave_up), (5, 2));
        assert_eq!(told.waits.sum, Duration::from_nanos(20_000_010_500));
        assert_eq!(told.longest_wait, Duration::from_secs(20));
        assert!(told.lock == "a" && told.holds == Histogram::default());
        for ns in [0, 1000, 1001, 10_000_000_000, 10_000_000_001, u64::MAX - 1] {
            let (bar, bucket) = (bar(ns), |ns| Histogram::bucket(Duration::from_nanos(ns)));
            assert!(bar.contains(&ns) && bucket(bar.start) == bucket(ns), "{ns} {bar:?}");
        }
    }

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
