//! A lock with switchable faults: the check that the properties notice what they are for.
//!
//! The healthy lock is a three-value futex lock with timeouts (0 free, 1 held, 2 held and somebody may sleep). Each
//! [`Fault`] is a mistake that somebody has made in earnest. `tests/models/selftest.rs` says which property notices which.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Platform, WaitEnd};
use ondeck_lineage::{Entry, Promises, RawLock, RawTimedLock};

/// What is wrong with the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The fast path tests and sets in two accesses.
    TestThenSet,
    /// The releasing write publishes nothing.
    RelaxedRelease,
    /// Taking the lock does not look at what the last holder published.
    RelaxedAcquire,
    /// The same, but only for a thread that has waited. The model checker's own wake-up could hide this one.
    RelaxedSlowAcquire,
    /// Release looks whether somebody sleeps and then writes, in two accesses.
    LookThenRelease,
    /// A waked thread takes the lock without saying that others may still sleep.
    ForgetsOthers,
    /// Release reads the lock again after it is free and somebody has been waked.
    LooksAfterRelease,
    /// An acquisition that has timed out claims to hold the lock.
    ClaimsAfterTimeout,
    /// A try that failed leaves a mark in the lock.
    MarksOnFailedTry,
    /// Waiters poll instead of sleeping, all of them.
    CrowdPolls,
}

/// Chooses the fault of a [`FaultyLock`] by type.
pub trait FaultChoice: Send + Sync + 'static {
    /// The fault.
    const FAULT: Fault;
}

/// The lock. See the module's text.
pub struct FaultyLock<P: Platform, S: FaultChoice> {
    word: P::U32,
    fault: PhantomData<fn() -> S>,
}

const FREE: u32 = 0;
const HELD: u32 = 1;
const CROWDED: u32 = 2;
/// The bits of the value, and one that no healthy lock sets.
const VALUE: u32 = 3;
const MARK: u32 = 4;

impl<P: Platform, S: FaultChoice> FaultyLock<P, S> {
    fn has(fault: Fault) -> bool {
        S::FAULT == fault
    }

    fn acquire_slow(&self, deadline_ns: Option<u64>) -> bool {
        let is_weak = Self::has(Fault::RelaxedAcquire) || Self::has(Fault::RelaxedSlowAcquire);
        let order = if is_weak { Relaxed } else { Acquire };
        while self.word.swap(CROWDED, order) & VALUE != FREE {
            if Self::has(Fault::CrowdPolls) {
                while self.word.load(Relaxed) != FREE {
                    P::pause_ns(50);
                }
                continue;
            }
            if P::wait_on(&self.word, CROWDED, deadline_ns) == WaitEnd::TimedOut {
                return Self::has(Fault::ClaimsAfterTimeout);
            }
            if Self::has(Fault::ForgetsOthers) && self.word.compare_exchange(FREE, HELD, order, Relaxed).is_ok() {
                return true;
            }
        }
        true
    }
}

impl<P: Platform, S: FaultChoice> RawLock for FaultyLock<P, S> {
    type Platform = P;

    const ENTRY: Entry = Entry {
        name: "faulty-lock",
        idea: "three values of one word, and a fault",
        bytes: 4,
        rmws: 2,
        awake: "none",
        woken: "one sleeper",
        promises: Promises {
            timed: true,
            sleeps: true,
            reentrant: false,
            free_after_release: true,
            bypass: "unbounded",
            starves: "any waiter",
        },
    };

    fn new() -> Self {
        FaultyLock { word: P::U32::new(FREE), fault: PhantomData }
    }

    fn try_acquire(&self) -> bool {
        if Self::has(Fault::TestThenSet) {
            let is_free = self.word.load(Acquire) == FREE;
            if is_free {
                self.word.store(HELD, Relaxed);
            }
            return is_free;
        }
        let order = if Self::has(Fault::RelaxedAcquire) { Relaxed } else { Acquire };
        let won = self.word.compare_exchange(FREE, HELD, order, Relaxed).is_ok();
        if !won && Self::has(Fault::MarksOnFailedTry) {
            self.word.fetch_or(MARK, Relaxed);
        }
        won
    }

    fn acquire(&self) {
        if !self.try_acquire() {
            self.acquire_slow(None);
        }
    }

    unsafe fn release(&self) {
        let word = &raw const self.word;
        let order = if Self::has(Fault::RelaxedRelease) { Relaxed } else { Release };
        let before = if Self::has(Fault::LookThenRelease) {
            let before = self.word.load(Relaxed);
            self.word.store(FREE, order);
            before
        } else if Self::has(Fault::MarksOnFailedTry) {
            self.word.fetch_and(!VALUE, order) & VALUE
        } else {
            self.word.swap(FREE, order)
        };
        if before == CROWDED {
            P::wake(word, 1);
            if Self::has(Fault::LooksAfterRelease) {
                self.word.load(Relaxed);
            }
        }
    }

    fn is_at_rest(&self) -> bool {
        self.word.load(Relaxed) == FREE
    }
}

impl<P: Platform, S: FaultChoice> RawTimedLock for FaultyLock<P, S> {
    fn try_acquire_until(&self, deadline_ns: u64) -> bool {
        self.try_acquire() || self.acquire_slow(Some(deadline_ns))
    }
}
