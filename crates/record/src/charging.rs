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
//! # Exact, and at instants
//! *Exact*: while anybody waits, each acquire and each release reads the clock. With the C library's mutexes that is
//! so: a release that is waited for is a system call anyway. *At instants*: ondeck's lock is released and acquired
//! again by any thread that runs, many times while others sleep, and two looks at a clock would be most of such a hold.
//! There a waiter asks for a charge when it begins to wait and whenever it goes to sleep; the hold in progress then is
//! charged for all since the last charge. Over many instants the shares are the same. Where a look costs little beside
//! what it measures, the next step is looked at as well, and charged for itself alone: the release by who has waited or
//! was the first to find the lock free, and what follows a hold that was long. So what is long is charged exactly. What
//! a waiter finds that nobody looked at is left over for the next instant.
//!
//! # What an uncontended acquisition costs
//! One counter of the thread is counted down, and one word of the mutex looked at. One acquisition of many, by chance, is
//! timed. The counter is the thread's, so that an acquisition writes nothing that other threads look at.

use crate::layout::{Lock, kind, waiting};
use crate::store::{
    Recording, locks,
    ring::{Sample, push},
};
use crate::{thread, walk};
use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed},
};

// -- Marks ------------------------------------------------------------------------------------------------------------

/// More than that have no number in their marks.
pub(crate) const MOST_LOCKS: u32 = 1 << 24;

/// Whether charges are exact; see the head of the file.
pub(crate) static IS_EXACT: AtomicBool = AtomicBool::new(true);
/// Tells marks of this process from those that its parent left in its memory, in their place in [`Tag`].
static GENERATION: AtomicU32 = AtomicU32::new(0);

pub(crate) fn begin(is_exact: bool) {
    IS_EXACT.store(is_exact, Relaxed);
    GENERATION.store(GENERATION.load(Relaxed).wrapping_add(Tag::ONE_GENERATION) & Tag::GENERATION, Relaxed);
}

/// Which recording of the process and its parents this is.
pub(crate) fn generation() -> u32 {
    GENERATION.load(Relaxed)
}

/// Eight bytes in a mutex of which zeros are a mutex that has not been seen.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Marks {
    /// A [`Tag`].
    pub(crate) tag: AtomicU32,
    /// The locks have room for eight bytes.
    _rest: AtomicU32,
}

/// What of a lock is in its marks.
pub(crate) struct Tag;

impl Tag {
    /// The next acquire or release is to charge, what was left over too.
    pub(crate) const HOT: u32 = 1;
    /// The acquisition is looked at.
    pub(crate) const TIMED: u32 = 2;
    /// The number is that of the stack where the mutex was initialised; it has none of its own yet.
    pub(crate) const IS_ORIGIN: u32 = 4;
    /// The stack that acquired the mutex is known.
    pub(crate) const KNOWN: u32 = 8;
    /// The next acquire or release is to charge what has passed since the last charge, which was the step before.
    pub(crate) const NEXT: u32 = 0x10;
    pub(crate) const ONE_GENERATION: u32 = 0x20;
    pub(crate) const GENERATION: u32 = 0xe0;
    /// The number is above that.
    pub(crate) const NUMBER_AT: u32 = 8;
}

impl Marks {
    /// Of a lock that has not been seen.
    pub(crate) const fn new() -> Self {
        Marks { tag: AtomicU32::new(0), _rest: AtomicU32::new(0) }
    }

    #[inline(always)]
    pub(crate) fn has(&self, flags: u32) -> bool {
        self.tag.load(Relaxed) & flags != 0
    }

    /// The number and the entry of the mutex at that address, made if there is none.
    pub(crate) fn lock<'a>(&self, recording: &'a Recording, address: u64) -> Option<(u32, &'a Lock)> {
        let generation = GENERATION.load(Relaxed);
        let tag = self.tag.load(Acquire);
        let number = tag >> Tag::NUMBER_AT;
        let is_ours = tag & Tag::GENERATION == generation;
        if is_ours && tag & Tag::IS_ORIGIN == 0 {
            let found = locks::lock(recording, number).filter(|lock| lock.address.load(Relaxed) == address);
            if let Some(lock) = found {
                return Some((number, lock));
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
        let number = locks::add(recording, address, kind, origin);
        // What a parent's waiters have asked for is nothing here.
        let asked = if is_ours { tag & (Tag::HOT | Tag::NEXT) } else { 0 };
        let next = number << Tag::NUMBER_AT | generation | asked;
        // If another thread has been faster, our entry stays without samples, which readers leave out. It fails if a flag
        // has changed, too: then the other's is the number next time.
        if self.tag.compare_exchange(tag, next, AcqRel, Relaxed).is_err() {
            let tag = self.tag.load(Acquire);
            let is_theirs = tag & Tag::GENERATION == generation && tag & Tag::IS_ORIGIN == 0;
            let theirs = locks::lock(recording, tag >> Tag::NUMBER_AT).filter(|_| is_theirs);
            if let Some(lock) = theirs.filter(|lock| lock.address.load(Relaxed) == address) {
                return Some((tag >> Tag::NUMBER_AT, lock));
            }
        }
        locks::lock(recording, number).map(|lock| (number, lock))
    }

    /// The number of the lock at that address.
    pub(crate) fn number(&self, recording: &Recording, address: u64) -> Option<u32> {
        self.lock(recording, address).map(|(number, _)| number)
    }

    /// Whether the next acquire or release is to look.
    #[inline(always)]
    pub(crate) fn asks(&self) -> bool {
        self.has(Tag::HOT | Tag::NEXT)
    }

    /// A waiter asks for a charge of the hold in progress, now.
    pub(crate) fn ask(&self, lock: &Lock, now: u64) {
        if !self.has(Tag::HOT) {
            // Who charges meanwhile may write another instant, as near.
            lock.lasts_since.store(now.max(lock.lasts_since.load(Relaxed)), Relaxed);
        }
        self.tag.fetch_or(Tag::HOT, Relaxed);
    }

    /// Charged: the next is to charge only if that is to be exact, if it `goes_on` for this step, or if it is asked for.
    pub(crate) fn cool(&self, lock: &Lock, goes_on: bool) {
        let is_exact = is_exact(lock);
        let is_waited_for = waiting::number(lock.waiting.load(Relaxed)) > 0;
        if is_exact && is_waited_for {
            return;
        }
        if goes_on && is_waited_for {
            self.tag.fetch_or(Tag::NEXT, Relaxed);
            self.tag.fetch_and(!Tag::HOT, Relaxed);
            return;
        }
        self.tag.fetch_and(!(Tag::HOT | Tag::NEXT), Relaxed);
        // Who began to wait meanwhile may have set it before it was cleared.
        if is_exact && waiting::number(lock.waiting.load(Relaxed)) > 0 {
            self.tag.fetch_or(Tag::HOT, Relaxed);
        }
    }

    /// Whether somebody waits who asks for a charge, as far as this process has written it.
    pub(crate) fn asks_for_charge(&self) -> bool {
        let tag = self.tag.load(Relaxed);
        tag & (Tag::HOT | Tag::NEXT) != 0 && tag & Tag::GENERATION == generation()
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
    /// Whether it is for a time beside which a look at the clock is nothing.
    pub(crate) is_long: bool,
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
pub(crate) fn charge(lock: &Lock, now: u64, with_left_over: bool) -> Charge {
    let mut area = 0;
    // Of several who have the lock to read and release it at once, one charges an instant. Always succeeds.
    let _ = lock.waiting.fetch_update(Relaxed, Relaxed, |word| {
        area = waiting::area(word, now);
        Some(word.wrapping_add(waiting::charged(area)))
    });
    // Two locked instructions less: only who has the lock writes the one, and the other is mostly 0.
    let since = lock.charged_until.load(Relaxed);
    lock.charged_until.store(now, Relaxed);
    let has_left_over = with_left_over && lock.left_over.load(Relaxed) != 0;
    let left_over = if has_left_over { lock.left_over.swap(0, Relaxed) } else { 0 };
    let lasted = now.saturating_sub(lock.lasts_since.load(Relaxed));
    lock.lasts_since.store(now, Relaxed);
    Charge { ns: area + left_over, lengths: [lasted, 0], is_long: now.saturating_sub(since) >= LONG_NS }
}

/// Whether charges for that lock are exact: the C library's locks tell of each wait, and of those that many may have there
/// are no others.
pub(crate) fn is_exact(lock: &Lock) -> bool {
    IS_EXACT.load(Relaxed) || lock.kind.load(Relaxed) & kind::SEVERAL != 0
}

/// Waits and charges of at least that are always recorded, shorter ones in proportion.
pub(crate) fn whole_ns(recording: &Recording) -> u64 {
    const PER_RATE_NS: u64 = 1000;
    (recording.rate - 1) * PER_RATE_NS
}

/// A thread that will sleep has the time to walk its stack before; if its wait is recorded from less than that on, it will
/// most likely be.
pub(crate) const SLEEP_NS: u64 = 50_000;

#[inline]
pub(crate) fn record(
    recording: &Recording,
    event: u32,
    number: u32,
    at: u64,
    charged: &Charge,
    stack: impl FnOnce() -> u32,
) {
    let (whole, ns, lengths) = (whole_ns(recording), charged.ns, charged.lengths);
    if ns >= thread::threshold(whole) {
        let (stack, weight) = (stack(), thread::weight(ns, whole));
        push(recording, Sample { event, lock: number, stack, at, ns, weight, lengths });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock() -> Lock {
        // SAFETY: its fields are numbers, and zeros are a lock that nobody has used.
        unsafe { core::mem::zeroed() }
    }

    #[test]
    fn what_is_left_over_is_charged_to_whom_it_is_for() {
        let lock = lock();
        lock.waiting.store(waiting::one(1000), Relaxed);
        lock.left_over.store(70, Relaxed);
        assert_eq!((charge(&lock, 1500, false).ns, lock.left_over.load(Relaxed)), (500, 70));
        assert_eq!((charge(&lock, 1600, true).ns, lock.left_over.load(Relaxed)), (170, 0));
        assert_eq!((charge(&lock, 1600, true).ns, lock.charged_until.load(Relaxed)), (0, 1600));
    }

    #[test]
    fn a_time_is_long_from_20_us_on() {
        let lock = lock();
        for (now, is_long) in [(50_000, true), (69_999, false), (89_999, true), (89_999, false), (80_000, false)] {
            assert_eq!(charge(&lock, now, false).is_long, is_long, "{now}");
        }
    }
}
