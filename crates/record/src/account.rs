//! Who waits, and who is charged for it.
//!
//! # The rule
//! Each instant of each wait is charged to the hold that is in progress at that instant, or to nobody if the lock is free
//! then. So a hold of 1 ms during which three threads wait is charged 3 ms, whoever of them waits longer and whoever
//! releases later. A hold is known by the stack that acquired the lock, where that was walked: if it was waited for, or looked at.
//! Else by the stack that releases it.
//!
//! # How that is computed
//! Of the threads that wait, a lock has the number and the sum of the instants from which each is still to be charged for
//! (`waiting`), in one word. Who starts to wait adds its own instant. A release at an instant t is charged n·t − sum, and
//! sets the sum to n·t: one addition, and what others add meanwhile stays. Who has waited and acquires charges what it finds
//! to nobody, since the lock was free since the last release, and takes itself out. Who gives up leaves its part for the next
//! to be charged.
//!
//! # Exact, and at instants
//! *Exact*: while anybody waits, each acquire and each release reads the clock. With the C library's mutexes that is so: a
//! release that is waited for is a system call anyway. *At instants*: ondeck's lock is released and acquired again by whoever
//! runs, many times while others sleep, and two looks at a clock would be most of such a hold. There a waiter asks for a
//! charge when it begins to wait and whenever it goes to sleep; the hold in progress then is charged for all since the last
//! charge. Over many instants the shares are the same. Where a look costs little beside what it measures, the next step is
//! looked at as well, and charged for itself alone: the release by who has waited or was the first to find the lock free, and
//! what follows a hold that was long. So what is long is charged exactly. What a waiter finds that nobody looked at is left
//! over for the next instant.
//!
//! # What an uncontended acquisition costs
//! One counter of the thread is counted down, and one word of the mutex looked at. One acquisition of many, by chance, is
//! timed. The counter is the thread's, so that an acquisition writes nothing that other threads look at.

use crate::layout::Lock;
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// More than that have no number in their marks.
pub(crate) const MOST_LOCKS: u32 = 1 << 24;

/// Whether charges are exact; see the head of the file.
pub(crate) static IS_EXACT: AtomicBool = AtomicBool::new(true);
/// Tells marks of this process from those that its parent left in its memory, in their place in [`Tag`].
pub(crate) static GENERATION: AtomicU32 = AtomicU32::new(0);

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
    pub(crate) _rest: AtomicU32,
}

/// What of a lock is in its marks.
pub(crate) struct Tag;

impl Tag {
    /// Whoever acquires or releases is to charge, what was left over too.
    pub(crate) const HOT: u32 = 1;
    /// The acquisition is looked at.
    pub(crate) const TIMED: u32 = 2;
    /// The number is that of the stack where the mutex was initialised; it has none of its own yet.
    pub(crate) const IS_ORIGIN: u32 = 4;
    /// The stack that acquired the mutex is known.
    pub(crate) const KNOWN: u32 = 8;
    /// Whoever acquires or releases is to charge what has passed since the last charge, which was the step before.
    pub(crate) const NEXT: u32 = 0x10;
    pub(crate) const ONE_GENERATION: u32 = 0x20;
    pub(crate) const GENERATION: u32 = 0xe0;
    /// The number is above that.
    pub(crate) const NUMBER_AT: u32 = 8;
}

/// A wait in progress.
#[derive(Debug)]
pub struct Wait<'a> {
    pub(crate) marks: &'a Marks,
    pub(crate) lock: &'a Lock,
    pub(crate) number: u32,
    pub(crate) from: u64,
    /// It is recorded if it takes as long as that.
    pub(crate) threshold: u64,
    /// Of an `Access`.
    pub(crate) flag: u32,
    pub(crate) stack: Cell<u32>,
    /// Among those that are seen to wait, from its first sleep on.
    pub(crate) slot: Cell<u32>,
    /// What the thread was doing before, which is to be found again: a signal's handler may wait inside a wait.
    pub(crate) outer: Cell<*const Wait<'static>>,
}

impl Wait<'_> {
    /// The stack that has waited, if it was walked.
    pub(crate) fn known_stack(&self) -> u32 {
        self.stack.get()
    }
}
