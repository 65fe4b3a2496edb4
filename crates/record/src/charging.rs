//! Who waits, and who is charged for it: the marks of a lock, its account, and what of a charge is recorded. Used by `hooks`,
//! which says when; it uses `store`, `walk` and what is below them.
//!
//! # The rule
//! Each instant of each wait is charged to the hold that is in progress at that instant, or to nobody if the lock is free
//! then. So a hold of 1 ms during which three threads wait is charged 3 ms, whichever of them waits longer and whichever
//! releases later. A hold is known by the stack that acquired the lock, where that was walked: if it was waited for, or looked at.
//! Else by the stack that releases it.
//!
//! # How that is computed
//! Of the threads that wait, a lock has the number and the sum of the instants from which each is still to be charged
//! for (`layout::waiting`), in one word. Who starts to wait adds its own instant. A release at an instant t is charged
//! n·t − sum, and sets the sum to n·t: one addition, and what others add meanwhile stays. A thread that has waited and
//! acquires charges what it finds to nobody, since the lock was free since the last release, and takes itself out. Who
//! gives up leaves its part for the next to be charged.
//!
//! # Exact, and sampled
//! *Exact*: while anybody waits, each acquire and each release reads the clock, and charges. A release that is waited for
//! should do nothing, though: where threads sleep all the time, all releases are such, and what each of them does makes the
//! next one wait. So charges are *sampled* by default, see `instants`. Locks that many may have at once are exact always.
//!
//! # What an uncontended acquisition costs
//! One counter of the thread is counted down, and one word of the mutex looked at. One acquisition of many, by chance, is
//! timed. The counter is the thread's, so that an acquisition writes nothing that other threads look at.

pub(crate) mod budget;
pub(crate) mod instants;

use crate::layout::{Lock, kind, tenancy, waiting};
use crate::store::{
    Recording, current, locks,
    ring::{Sample, push},
};
use crate::thread::{Threshold, now_ns};
use crate::walk;
use budget::WAITS;
use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
};
use instants::Count;

// -- Marks ------------------------------------------------------------------------------------------------------------

/// More than that have no number in their marks.
pub(crate) const MOST_LOCKS: u32 = 1 << 24;

/// Whether charges are exact; see the head of the file.
static IS_EXACT: AtomicBool = AtomicBool::new(true);
/// Counts the recordings of this process and its parents.
static N_RECORDINGS: AtomicU32 = AtomicU32::new(0);

/// Whether the lock tells when a thread goes to sleep. Else each that waits sleeps at once, as far as is known.
static TELLS: AtomicBool = AtomicBool::new(true);

pub(crate) fn begin(is_exact: bool, tells: bool, rate: u64, budget: u64) {
    IS_EXACT.store(is_exact, Relaxed);
    TELLS.store(tells, Relaxed);
    instants::begin();
    budget::begin(rate, if is_exact { 0 } else { budget });
    N_RECORDINGS.store(N_RECORDINGS.load(Relaxed).wrapping_add(1), Relaxed);
}

/// The same, of one for statistics alone: charges are exact, which times the holds that are waited for, and no stack is walked
/// for a wait.
pub(crate) fn begin_without_samples(tells: bool, rate: u64) {
    begin(true, tells, rate, 0);
    budget::begin_without_samples();
}

pub(crate) fn tells() -> bool {
    TELLS.load(Relaxed)
}

/// The number of the recording that begins. Each says its own: a thread that is inside of one that has ended would take the
/// count for that one's.
pub(crate) fn number_of_next() -> u32 {
    N_RECORDINGS.load(Relaxed)
}

/// The recording of that number, if it goes on.
pub(crate) fn still(number: u32) -> Option<&'static Recording> {
    current().filter(|recording| recording.number == number)
}

/// The number as far as a [`Tag`] has room for it, in its place there. One number in eight is the same: what counts is
/// checked by address too.
pub(crate) fn generation(recording: &Recording) -> u32 {
    recording.number.wrapping_mul(Tag::ONE_GENERATION) & Tag::GENERATION
}

/// Eight bytes in a mutex of which zeros are a mutex that has not been seen.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Marks {
    /// A [`Tag`].
    pub(crate) tag: AtomicU32,
    /// While it is [`Tag::WAITED`] for: when the next instant comes, by the [counter](instants::Count).
    pub(crate) due: AtomicU32,
}

/// What of a lock is in its marks.
pub(crate) struct Tag;

impl Tag {
    /// Each acquire and release is to charge.
    pub(crate) const HOT: u32 = 1;
    /// The acquisition is looked at.
    pub(crate) const TIMED: u32 = 2;
    /// The number is that of the stack where the mutex was initialised; it has none of its own yet.
    pub(crate) const IS_ORIGIN: u32 = 4;
    /// The stack that acquired the mutex is known.
    pub(crate) const KNOWN: u32 = 8;
    /// Who acquires or releases it is to charge if an instant has come.
    pub(crate) const WAITED: u32 = 0x10;
    /// What changes while the number stays.
    const FLAGS: u32 = Tag::HOT | Tag::TIMED | Tag::KNOWN | Tag::WAITED;
    pub(crate) const ONE_GENERATION: u32 = 0x20;
    pub(crate) const GENERATION: u32 = 0xe0;
    /// The number is above that.
    pub(crate) const NUMBER_AT: u32 = 8;
}

impl Marks {
    /// Of a lock that has not been seen.
    pub(crate) const fn new() -> Self {
        Marks { tag: AtomicU32::new(0), due: AtomicU32::new(0) }
    }

    #[inline(always)]
    pub(crate) fn has(&self, flags: u32) -> bool {
        self.tag.load(Relaxed) & flags != 0
    }

    /// The number and the entry of the mutex at that address, made if there is none.
    pub(crate) fn lock<'a>(&self, recording: &'a Recording, address: u64) -> Option<(u32, &'a Lock)> {
        let generation = generation(recording);
        let tag = self.tag.load(Acquire);
        let number = tag >> Tag::NUMBER_AT;
        let is_ours = tag & Tag::GENERATION == generation;
        if is_ours && tag & Tag::IS_ORIGIN == 0 {
            if let Some(found) = locks::in_entry(recording, number, address) {
                return Some(found);
            }
        }
        if !locks::has_room(recording) {
            return None;
        }
        let (kind, origin) = if is_ours && tag & Tag::IS_ORIGIN != 0 {
            (kind::INITIALISED, number)
        } else {
            (kind::SEEN, walk::stack(recording))
        };
        let number = locks::add(recording, address, kind, walk::origin(address, origin));
        // What a parent's waiters have asked for is nothing here. Flags may have changed.
        let kept = if is_ours { Tag::HOT | Tag::WAITED } else { 0 };
        let next = |now: u32| {
            let is_same = (now ^ tag) & !Tag::FLAGS == 0;
            is_same.then(|| tenancy::entry(number) << Tag::NUMBER_AT | generation | now & kept)
        };
        // If another thread has been faster, our entry stays without samples, which readers leave out.
        if self.tag.fetch_update(AcqRel, Relaxed, next).is_err() {
            let tag = self.tag.load(Acquire);
            let is_theirs = tag & Tag::GENERATION == generation && tag & Tag::IS_ORIGIN == 0;
            let theirs = locks::in_entry(recording, tag >> Tag::NUMBER_AT, address).filter(|_| is_theirs);
            if theirs.is_some() {
                return theirs;
            }
        }
        locks::lock(recording, number).map(|lock| (number, lock))
    }

    /// The number of the lock at that address.
    pub(crate) fn number(&self, recording: &Recording, address: u64) -> Option<u32> {
        self.lock(recording, address).map(|(number, _)| number)
    }

    /// Whether the next acquire or release is to charge.
    #[inline(always)]
    pub(crate) fn asks(&self) -> bool {
        match self.tag.load(Relaxed) & (Tag::HOT | Tag::WAITED) {
            0 => false,
            Tag::WAITED => self.is_due(Count::now()),
            _ => true,
        }
    }

    /// The calling thread has begun to wait, which others are to know; nobody else waits if it is the first.
    pub(crate) fn ask(&self, lock: &Lock, now: u64, count: Count, is_first: bool) {
        let flag = if is_exact(lock) { Tag::HOT } else { Tag::WAITED };
        // A flag that is left from those who waited before may be so old that its instant means nothing, nor since when it
        // lasts.
        if self.tag.load(SeqCst) & flag != 0 && !is_first {
            return;
        }
        // Who charges meanwhile may write another instant, as near.
        lock.lasts_since.store(now.max(lock.lasts_since.load(Relaxed)), Relaxed);
        if flag == Tag::WAITED {
            instants::calibrate();
            self.draw_instant(lock, now, count);
        }
        self.tag.fetch_or(flag, Release);
    }

    /// Charged: nobody else need, once nobody waits.
    pub(crate) fn cool(&self, lock: &Lock) {
        let is_waited_for = || waiting::number(lock.waiting.load(SeqCst)) > 0;
        if is_waited_for() {
            return;
        }
        self.tag.fetch_and(!(Tag::HOT | Tag::WAITED), SeqCst);
        // Who began to wait meanwhile may have found the flag before it was cleared.
        if is_waited_for() {
            self.ask(lock, now_ns(), Count::now(), false);
        }
    }

    /// Whether somebody waits who asks for each charge, as far as this process has written it.
    pub(crate) fn asks_for_charge(&self, recording: &Recording) -> bool {
        let tag = self.tag.load(Relaxed);
        tag & Tag::HOT != 0 && tag & Tag::GENERATION == generation(recording)
    }
}

// -- Charges ----------------------------------------------------------------------------------------------------------

/// What somebody is charged.
#[derive(Debug)]
pub(crate) struct Charge {
    pub(crate) ns: u64,
    /// How long the hold lasted, or nobody had the lock, as far as that is known; of a time without a holder, what of
    /// the charge a long hold before has caused.
    pub(crate) lengths: [u64; 2],
    /// With which chance such a hold is charged at all, if charges are sampled.
    pub(crate) chance: Option<f64>,
}

/// A time that is at least so long is long: two looks at a clock, and a sample, are a hundredth of it. To put a thread to sleep
/// and wake it takes about as long, and a better mutex saves that.
pub const LONG_NS: u64 = 20_000;

impl Charge {
    /// It was a time without a holder. Of those that waited, some do because of a long hold before.
    pub(crate) fn free(mut self, lock: &Lock) -> Self {
        let victims = u64::from(lock.victims.load(Relaxed));
        if victims > 0 {
            let n = waiting::number(lock.waiting.load(Relaxed)).max(1);
            self.lengths[1] = if victims >= n { self.ns } else { self.ns / n * victims };
        }
        self
    }
}

/// Charges what is waited for up to now, and says how much that is.
pub(crate) fn charge(lock: &Lock, now: u64) -> Charge {
    let mut area = 0;
    // Of several who have the lock to read and release it at once, one charges an instant. Always succeeds.
    let _ = lock.waiting.fetch_update(Relaxed, Relaxed, |word| {
        area = waiting::area(word, now);
        Some(word.wrapping_add(waiting::charged(area)))
    });
    // Only who has the lock writes it.
    lock.charged_until.store(now, Relaxed);
    let lasted = now.saturating_sub(lock.lasts_since.load(Relaxed));
    lock.lasts_since.store(now, Relaxed);
    Charge { ns: area + take_left_over(lock), lengths: [lasted, 0], chance: None }
}

/// What those that have given up had waited, and nobody was charged for.
pub(crate) fn take_left_over(lock: &Lock) -> u64 {
    // A locked instruction less: it is mostly 0.
    if lock.left_over.load(Relaxed) == 0 { 0 } else { lock.left_over.swap(0, Relaxed) }
}

/// Whether charges for that lock are exact.
pub(crate) fn is_exact(lock: &Lock) -> bool {
    IS_EXACT.load(Relaxed) || lock.kind() & kind::SEVERAL != 0
}

/// A thread that will sleep has the time to walk its stack before; if its wait is recorded from less than that on, it will
/// most likely be.
pub(crate) const SLEEP_NS: u64 = 50_000;

/// Writes a charge down, if it is one that is. Whether it was.
#[inline]
pub(crate) fn record(
    recording: &Recording,
    event: u32,
    number: u32,
    at: u64,
    charged: &Charge,
    stack: impl FnOnce() -> u32,
) -> bool {
    let (ns, lengths) = (charged.ns, charged.lengths);
    let (ns, weight) = match charged.chance {
        // Its amount stands for those that were not charged as well.
        Some(_) if ns == 0 => return false,
        Some(chance) => {
            let each = ((ns as f64 * chance) as u64).max(1);
            (each, ns as f64 / each as f64)
        }
        None => {
            let Some(weight) = Threshold::draw(WAITS.at(at)).weight(ns) else { return false };
            (ns, weight)
        }
    };
    push(recording, Sample { event, lock: number, stack: stack(), at, ns, weight, lengths });
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock() -> Lock {
        // SAFETY: its fields are numbers, and zeros are a lock that nobody has used.
        unsafe { core::mem::zeroed() }
    }

    #[test]
    fn what_is_left_over_is_charged_once() {
        let lock = lock();
        lock.waiting.store(waiting::one(1000), Relaxed);
        assert_eq!(charge(&lock, 1500).ns, 500);
        lock.left_over.store(70, Relaxed);
        assert_eq!((charge(&lock, 1600).ns, lock.left_over.load(Relaxed)), (170, 0));
        assert_eq!((charge(&lock, 1600).ns, lock.charged_until.load(Relaxed)), (0, 1600));
    }
}
