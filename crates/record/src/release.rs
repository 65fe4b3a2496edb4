//! A release: what it is charged, and what is written down of it.

use crate::account::{GENERATION, Marks, Tag};
use crate::charge::{Charged, LONG_NS, charge, record};
use crate::layout::{Lock, NONE, event};
use crate::memory::{between, now_ns};
use crate::recording::{Recording, current};
use crate::ring::{Sample, push};
use crate::thread::{Hold, own};
use crate::{locks, waiting, walk};
use core::sync::atomic::Ordering::Relaxed;

impl Marks {
    /// The calling thread is about to release the lock at that address, which has no room for what is known of this hold. If
    /// somebody asks for a charge, `is_charged` says whether it is this hold's, now.
    pub(crate) fn release_bare(
        &self,
        recording: &Recording,
        address: u64,
        hold: Option<Hold>,
        is_charged: impl FnOnce(&Lock, u64) -> bool,
    ) -> Option<Pending> {
        let asks = self.asks_for_charge();
        let timed_from = hold.filter(|hold| hold.is_timed).map(|hold| hold.from);
        if !asks && timed_from.is_none() {
            return None;
        }
        let (number, lock) = self.lock(recording, address)?;
        let now = now_ns();
        // Who waited has given up.
        let is_over = waiting::number(lock.waiting.load(Relaxed)) == 0;
        let charged = (asks && (is_over || is_charged(lock, now))).then(|| {
            let charged = charge(lock, now, self.has(Tag::HOT));
            self.cool(lock, charged.is_long);
            held(lock, charged)
        });
        let held = timed_from.map(|from| between(from, now));
        let taken_by = hold.map_or(NONE, |hold| hold.stack);
        Some(Pending { number, now, woken: own().woken.get(), taken_by, charged, held, flag: 0 })
    }

    /// The calling thread is about to release the mutex at that address. What is to be done after that is in the answer; the
    /// mutex may be gone by then.
    #[cold]
    #[inline(never)]
    pub fn release(&self, address: u64) -> Option<Pending> {
        let recording = current()?;
        let tag = self.tag.load(Relaxed);
        let is_ours = tag & Tag::GENERATION == GENERATION.load(Relaxed);
        let is_looked_at = tag & (Tag::HOT | Tag::NEXT | Tag::TIMED) != 0;
        // Before the line is written, which somebody who tries to lock may have taken away: the hold ends here.
        let now = if is_looked_at { now_ns() } else { 0 };
        if tag & (Tag::TIMED | Tag::KNOWN) != 0 {
            self.tag.fetch_and(!(Tag::TIMED | Tag::KNOWN), Relaxed);
        }
        if !is_looked_at {
            return None;
        }
        let Some((number, lock)) = self.lock(recording, address).filter(|_| is_ours) else {
            self.tag.fetch_and(!(Tag::HOT | Tag::NEXT), Relaxed);
            return None;
        };
        let taken_by = if tag & Tag::KNOWN != 0 { lock.taken_by.load(Relaxed) } else { NONE };
        let mut pending =
            Pending { number, now, woken: own().woken.get(), taken_by, charged: None, held: None, flag: 0 };
        if tag & (Tag::HOT | Tag::NEXT) != 0 {
            let charged = charge(lock, now, tag & Tag::HOT != 0);
            self.cool(lock, charged.is_long);
            pending.charged = Some(held(lock, charged));
        }
        let taken_at = lock.taken_at.load(Relaxed);
        // Not of this process, if nobody has written it here.
        if tag & Tag::TIMED != 0 && taken_at != 0 {
            pending.held = Some(between(taken_at, now));
        }
        Some(pending)
    }
}

/// The charge of a hold. If that was long, whoever waits now does because of it.
fn held(lock: &Lock, charged: Charged) -> Charged {
    if charged.lengths[0] >= LONG_NS {
        lock.victims.store(waiting::number(lock.waiting.load(Relaxed)) as u32, Relaxed);
    }
    charged
}

/// What is to be written down of a release.
#[derive(Debug)]
pub struct Pending {
    pub(crate) number: u32,
    now: u64,
    /// What the calling thread had woken by then.
    woken: u64,
    /// The stack that acquired it, if that is known.
    taken_by: u32,
    charged: Option<Charged>,
    held: Option<u64>,
    /// Of an `Access`.
    pub(crate) flag: u32,
}

impl Pending {
    /// The mutex is released.
    pub fn done(self) {
        let Some(recording) = current() else { return };
        let n_woken = own().woken.get().wrapping_sub(self.woken);
        if n_woken > 0
            && let Some(lock) = locks::lock(recording, self.number)
        {
            lock.wakes.fetch_add(n_woken as u32, Relaxed);
        }
        if let Some(ns) = self.held {
            let (weight, stack) = (recording.rate as f64, self.taken_by);
            let event = event::TAKE | self.flag;
            push(recording, Sample { event, lock: self.number, stack, at: self.now, ns, weight, lengths: [0; 2] });
        }
        if let Some(charged) = &self.charged {
            let stack = || if self.taken_by == NONE { walk::stack(recording) } else { self.taken_by };
            record(recording, event::CHARGE | self.flag, self.number, self.now, charged, stack);
        }
    }
}
