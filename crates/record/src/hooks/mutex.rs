//! What a thread does at the marks of a mutex as it acquires and releases it.

use super::{destroyed, lock_order, tries};
use crate::charging::budget::{PERIOD, WAITS};
use crate::charging::instants::{ChargedTo, Count, calibrate, stamp};
use crate::charging::{Charge, LONG_NS, MOST_LOCKS, Marks, Tag, charge, generation, is_exact, record, still};
use crate::counts::{self, Held, ToTell};
use crate::layout::{Lock, NONE, event, waiting};
use crate::store::ring::{Sample, push};
use crate::store::{Recording, current, locks};
use crate::thread::{self, Hold, between, now_ns, own};
use crate::walk;
use core::sync::atomic::Ordering::Relaxed;

// -- Acquiring --------------------------------------------------------------------------------------------------------

impl Marks {
    /// The mutex has been initialised, by the calling thread.
    #[cold]
    pub fn initialised(&self) {
        let Some(recording) = current() else { return };
        let origin = walk::stack(recording);
        let tag = if origin < MOST_LOCKS { origin << Tag::NUMBER_AT | Tag::IS_ORIGIN } else { 0 };
        self.tag.store(tag | generation(recording), Relaxed);
    }

    /// Whether the next acquisition, by the calling thread, is only to be [`count`]ed, if it does not wait. A thread
    /// that begins to wait after this look is charged to the hold that follows it.
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        own().holds.left() > 1 && (!self.has(Tag::HOT | Tag::WAITED) || self.is_quiet_though_waited_for())
    }

    /// As [`is_quiet`](Self::is_quiet) of what nobody waits for, as far as is known: a shorter look.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        thread::left() > 1 && !self.has(Tag::HOT | Tag::WAITED)
    }

    /// Counts an acquisition that is to follow, if the mutex [is idle](Self::is_idle): whether it is.
    #[inline(always)]
    pub fn count_if_idle(&self) -> bool {
        let left = thread::left();
        let is_idle = left > 1 && !self.has(Tag::HOT | Tag::WAITED);
        if is_idle {
            thread::leave(left - 1);
        }
        is_idle
    }

    #[inline(always)]
    fn is_quiet_though_waited_for(&self) -> bool {
        let count = Count::now();
        let is_quiet = !self.has(Tag::HOT) && !self.is_due(count);
        if is_quiet {
            stamp(self, count);
        }
        is_quiet
    }

    /// The calling thread has acquired the mutex at that address, without waiting.
    #[inline(always)]
    pub fn taken(&self, address: u64) {
        if self.is_idle() {
            count();
        } else {
            self.taken_with_a_look(address, false);
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn taken_with_a_look(&self, address: u64, has_waited: bool) {
        let Some(recording) = current() else { return };
        own().again.set((0, 0));
        tries::has_another();
        if !has_waited && self.asks() {
            self.found_free(recording, address);
        }
        if self.has(Tag::WAITED) {
            stamp(self, Count::now());
        }
        recording.note_lock();
        let is_timed = own().holds.count(recording);
        if is_timed || lock_order::tells_order() {
            self.look(recording, address, if is_timed { Tag::TIMED | Tag::KNOWN } else { Tag::KNOWN });
        }
    }

    /// Acquires the mutex at that address by `act`, after a walk of the stack: a walk takes longer than many a hold, and others
    /// would have to wait for it.
    #[cold]
    #[inline(never)]
    pub fn take_ready<T>(&self, address: u64, act: impl FnOnce() -> T) -> T {
        if let Some(recording) = current() {
            own().ready.set((address, walk::stack(recording).into()));
        }
        let result = act();
        own().ready.set((0, 0));
        result
    }

    /// Has the stack that acquires it known, which these flags say, and this hold timed if they do.
    fn look(&self, recording: &Recording, address: u64, flags: u32) {
        let Some((number, lock)) = self.lock(recording, address) else { return };
        let (ready, stack) = own().ready.get();
        let stack = if ready == address { stack as u32 } else { walk::stack(recording) };
        lock.taken_by.store(stack, Relaxed);
        self.tag.fetch_or(flags, Relaxed);
        if lock_order::tells_order() {
            lock_order::taken(recording, (number, lock), stack, false);
        }
        // After the mark, which may have to wait for the line.
        lock.taken_at.store(now_ns(), Relaxed);
    }

    /// Somebody waits, and nobody had the lock until now.
    pub(crate) fn found_free(&self, recording: &Recording, address: u64) {
        let Some((number, lock)) = self.lock(recording, address) else { return };
        self.charge_nobody(recording, number, lock, now_ns());
    }

    /// The same, at that instant. Whether anything was charged.
    pub(crate) fn charge_nobody(&self, recording: &Recording, number: u32, lock: &Lock, now: u64) -> bool {
        let charged = if is_exact(lock) {
            let charged = charge(lock, now);
            self.cool(lock);
            Some(charged)
        } else {
            self.charge_at_instant(lock, now, Count::now(), ChargedTo::Nobody)
        };
        let is_charged = charged.is_some();
        if let Some(charged) = charged {
            record(recording, event::HANDING_ON, number, now, &charged.free(lock), || NONE);
        }
        is_charged
    }

    /// The calling thread has acquired the lock at that address, which others wait for, without waiting.
    pub(crate) fn found_bare(&self, recording: &Recording, address: u64) {
        if self.asks_for_charge(recording) {
            self.found_free(recording, address);
        }
    }

    /// Whether [`release`](Self::release) is to be called before the mutex is released.
    #[inline(always)]
    pub fn is_marked(&self) -> bool {
        self.has(Tag::HOT | Tag::WAITED | Tag::TIMED | Tag::KNOWN) && self.is_marked_at_a_look()
    }

    /// Whether anything is marked at all: a shorter look.
    #[inline(always)]
    pub fn has_any(&self) -> bool {
        self.has(Tag::HOT | Tag::WAITED | Tag::TIMED | Tag::KNOWN)
    }

    #[inline(always)]
    fn is_marked_at_a_look(&self) -> bool {
        self.has(Tag::HOT | Tag::TIMED | Tag::KNOWN) || self.is_due_or_long(Count::now())
    }
}

/// Counts an acquisition of a mutex that [is quiet](Marks::is_quiet).
#[inline(always)]
pub fn count() {
    thread::leave(thread::left() - 1);
}

/// Takes a count back: the mutex could not be acquired at once.
pub fn uncount() {
    let holds = &own().holds;
    holds.leave(holds.left() + 1);
}

// -- Releasing --------------------------------------------------------------------------------------------------------

impl Marks {
    /// The calling thread is about to release the lock at that address, which has no room for what is known of this hold. If
    /// somebody asks for a charge, `is_charged` says whether it is this hold's, now.
    pub(crate) fn release_bare(
        &self,
        recording: &Recording,
        address: u64,
        hold: Option<Hold>,
        is_charged: impl FnOnce(&Lock, u64) -> bool,
    ) -> Option<PendingRelease> {
        let asks = self.asks_for_charge(recording);
        let timed_from = hold.filter(|hold| hold.is_timed).map(|hold| hold.from);
        if !asks && timed_from.is_none() {
            return None;
        }
        // Before a walk of the stack, if the lock has no entry yet: the hold ends here.
        let now = now_ns();
        let (number, lock) = self.lock(recording, address)?;
        // Who waited has given up.
        let is_over = waiting::number(lock.waiting.load(Relaxed)) == 0;
        let charged = (asks && (is_over || is_charged(lock, now))).then(|| {
            let charged = charge(lock, now);
            self.cool(lock);
            note_victims(lock, charged.lengths[0]);
            charged
        });
        let held = timed_from.map(|from| between(from, now));
        let taken_by = hold.map_or(NONE, |hold| hold.stack);
        Some(PendingRelease {
            number,
            recording: recording.number,
            now,
            woken: own().woken.get(),
            taken_by,
            taken_at: 0,
            charged,
            held,
            refused: None,
            flag: 0,
        })
    }

    /// The calling thread is about to release the mutex at that address. What is to be done after that is in the answer; the
    /// mutex may be gone by then.
    #[cold]
    #[inline(never)]
    pub fn release(&self, address: u64) -> Option<PendingRelease> {
        let recording = current()?;
        if lock_order::tells_order() {
            lock_order::released(recording, address, destroyed::known(recording, self, address));
        }
        let tag = self.tag.load(Relaxed);
        let is_ours = tag & Tag::GENERATION == generation(recording);
        let count = Count::now();
        let is_due = tag & Tag::WAITED != 0 && self.is_due_or_long(count);
        let is_looked_at = tag & (Tag::HOT | Tag::TIMED) != 0 || is_due;
        // Before the line is written, which somebody who tries to lock may have taken away: the hold ends here.
        let now = if is_looked_at { now_ns() } else { 0 };
        if tag & (Tag::TIMED | Tag::KNOWN) != 0 {
            self.tag.fetch_and(!(Tag::TIMED | Tag::KNOWN), Relaxed);
        }
        if !is_looked_at {
            return None;
        }
        let found = if is_ours { self.lock(recording, address) } else { None };
        let Some((number, lock)) = found else {
            self.tag.fetch_and(!(Tag::HOT | Tag::WAITED), Relaxed);
            return None;
        };
        let refuses = tag & Tag::KNOWN != 0 && lock.taken_by.load(Relaxed) == tries::REFUSES;
        let taken_by = if tag & Tag::KNOWN != 0 && !refuses { lock.taken_by.load(Relaxed) } else { NONE };
        let mut pending = PendingRelease {
            number,
            recording: recording.number,
            now,
            woken: own().woken.get(),
            taken_by,
            taken_at: 0,
            charged: None,
            held: None,
            refused: None,
            flag: 0,
        };
        if tag & Tag::HOT != 0 {
            let charged = charge(lock, now);
            self.cool(lock);
            note_victims(lock, charged.lengths[0]);
            pending.charged = Some(charged);
        } else if is_due {
            let held_ns = self.held_ns(lock, now, count);
            pending.charged = self.charge_at_instant(lock, now, count, ChargedTo::Hold(held_ns));
            note_victims(lock, pending.charged.as_ref().map_or(held_ns.unwrap_or(0), |charge| charge.lengths[0]));
        }
        let taken_at = lock.taken_at.load(Relaxed);
        // Not of this process, if nobody has written it here.
        if tag & Tag::TIMED != 0 && taken_at != 0 {
            let ns = Some(between(taken_at, now));
            (pending.held, pending.refused) = if refuses { (None, ns) } else { (ns, None) };
        }
        Some(pending)
    }
}

/// A hold ends that has lasted so long. If that was long, the threads that wait now do because of it.
fn note_victims(lock: &Lock, held_ns: u64) {
    if held_ns >= LONG_NS {
        lock.victims.store(waiting::number(lock.waiting.load(Relaxed)) as u32, Relaxed);
    }
}

/// What is to be written down of a release.
#[derive(Debug)]
pub struct PendingRelease {
    pub(crate) number: u32,
    /// The number of the recording that it is of.
    pub(super) recording: u32,
    now: u64,
    /// What the calling thread had woken by then.
    woken: u64,
    /// The stack that acquired it, if that is known.
    taken_by: u32,
    /// Where the call returned to that acquired it; 0 if that is not known.
    taken_at: u64,
    charged: Option<Charge>,
    held: Option<u64>,
    /// How long it has gone on since another thread tried to lock it in vain, if that was looked at.
    refused: Option<u64>,
    /// Of an `Access`.
    pub(crate) flag: u32,
}

impl PendingRelease {
    /// The call that acquired the mutex returned to that address; 0 if that is not known.
    #[must_use]
    pub fn of_hold_from(self, taken_at: u64) -> Self {
        PendingRelease { taken_at, ..self }
    }

    /// The mutex is released.
    pub fn done(self) {
        if let Some(told) = self.write_down() {
            told.tell();
        }
    }

    /// The mutex is released soon: nothing that might lock it is called.
    pub fn done_before(self) {
        self.write_down();
    }

    fn write_down(self) -> Option<ToTell> {
        let recording = still(self.recording)?;
        let n_woken = own().woken.get().wrapping_sub(self.woken);
        if n_woken > 0 {
            if let Some(lock) = locks::lock(recording, self.number) {
                lock.wakes.fetch_add(n_woken as u32, Relaxed);
            }
        }
        if let Some(ns) = self.held {
            let (weight, stack) = (recording.rate as f64, self.taken_by);
            let event = event::TAKE | self.flag;
            push(recording, Sample { event, lock: self.number, stack, at: self.now, ns, weight, lengths: [0; 2] });
        }
        if let Some(ns) = self.refused {
            tries::refused(recording, self.number, self.now, ns);
        }
        if let Some(charged) = &self.charged {
            let stack = || match self.taken_by {
                NONE => walk::stack_of_release(recording, self.taken_at),
                known => known,
            };
            let from = now_ns();
            let is_recorded = record(recording, event::CHARGE | self.flag, self.number, self.now, charged, stack);
            if charged.chance.is_some() {
                calibrate();
                PERIOD.spent(from);
            } else if is_recorded {
                WAITS.spent(from);
            }
        }
        let waited_for = self.charged.map(|charged| charged.lengths[0]);
        counts::held(recording, Held { lock: self.number, timed: self.held, waited_for, stack: self.taken_by })
    }
}
