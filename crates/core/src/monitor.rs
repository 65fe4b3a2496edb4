//! monitor: the flagship with its holder's number and depth beside it, so that the holder may enter again.
//!
//! # Idea
//! A thread that is inside must be told from all others before it tries the mutex, or it waits for itself. So the thread
//! inside writes its number next to the mutex, and takes it away before it leaves. Each thread writes its own number
//! only. So *that is my number* cannot be misread, and the mutex decides everything else.
//!
//! # Lineage
//! Java's and CoreCLR's monitors: their operations (Enter, TryEnter, Wait, Pulse, PulseAll) with their meaning. The
//! mutex is the flagship, and the wait room its condition variable, so a pulsed thread is moved to the waiters of the
//! mutex and not woken into it. Left out: thin locks, which keep owner and depth in four bytes and find the rest in a
//! table while threads contend (`coreclr_monitor.rs` of the lineage has one).
//!
//! # State word
//! That of the flagship. Beside it:
//!
//! | bits | name | meaning when set | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | 32 of their own | owner | number of the thread inside, 0 if none | enter | exit | exact for the thread that asks of itself |
//! | 32 of their own | levels | levels beyond the first | nest | unnest | exact: only the thread inside looks |
//!
//! # Life of a word
//!
//! ```text
//!            enter           nest
//!   free  <--------->  inside  <--------->  inside, one level deeper
//!            exit           unnest
//! ```
//!
//! | step | from -> to | who | operation and ordering |
//! |---|---|---|---|
//! | enter | mutex acquired, then owner 0 -> own number | contender | the flagship's; store, Relaxed |
//! | nest | levels + 1 | thread inside | store, Relaxed |
//! | unnest | levels - 1 | thread inside, not on the first level | store, Relaxed |
//! | exit | owner 0, then the mutex released | thread inside, on the first level; one that waits, on all | store, Relaxed; the flagship's |
//!
//! # Invariants
//! - I1 At most one thread is inside: the holder of the mutex. asserted: nowhere, the flagship's promise; checked by:
//!   `monitor_excludes`.
//! - I2 The owner is 0 or the thread that holds the mutex, and it says so itself. asserted: `own`, `release`; checked by:
//!   `monitor_nests`.
//!
//! # Orderings
//! None of its own. Levels and owner go from holder to holder with the mutex. Relaxed is enough for the look at the
//! owner: a thread that reads its own number reads what it wrote itself, and any other value sends it to the mutex.
//!
//! # Promises
//! - Mutual exclusion by I1; reentrancy; levels come back after a wait. Conformance `monitor_excludes`, `monitor_nests`,
//!   `monitor_wait_restores_levels`.
//! - Waits end with a pulse or their deadline, never for no reason; a pulse is never spent on a wait that times out, and
//!   takes the oldest. Conformance `monitor_pulse_meets_timeout`, `monitor_pulses_in_order`.
//! - No lost wake-up, bypass, priorities: as the flagship's. Conformance `monitor_excludes`, `monitor_under_priorities`.
//!
//! # Cost
//! The flagship's 2 RMWs on its line, two loads and two stores of the same line, and a thread number from thread-local
//! memory. Each further level: no RMW. 32 bytes.
//!
//! # After release
//! No: `exit` ends with the flagship's release. Conformance `monitor_is_freed_by_its_last_user`.
//!
//! # Limits
//! 2^32 threads in the life of a process, after which entering panics; 2^32 levels.
//! 3 unsafe blocks, all about the mutex that the caller holds.

use crate::ondeck::{RawCondvar, RawOndeck};
use crate::{Atomic, Platform, StaticPlatform, Step};
use crate::{Entry, NotHeld, Promises, RawLock, RawMonitor, RawTimedLock};
use core::fmt;
use core::sync::atomic::Ordering::Relaxed;

/// What this lock is, in short.
pub const ENTRY: Entry = Entry {
    name: "monitor",
    idea: "ondeck with its holder's number and depth beside it, and a room in which threads wait for each other",
    bytes: 32,
    rmws: 2,
    awake: crate::ondeck::ENTRY.awake,
    woken: crate::ondeck::ENTRY.woken,
    promises: Promises { reentrant: true, ..crate::ondeck::ENTRY.promises },
};

// -- 1. Steps ---------------------------------------------------------------------------------------------------------

const ENTER: Step = step("enter");
const NEST: Step = step("nest");
const UNNEST: Step = step("unnest");
const EXIT: Step = step("exit");

const fn step(name: &'static str) -> Step {
    Step { lock: "monitor", name }
}

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// A reentrant lock in which threads can wait for each other: see the head of this file.
pub struct RawOndeckMonitor<P: Platform> {
    /// Held by the thread inside.
    mutex: RawOndeck<P>,
    /// Number of the thread inside, written by itself; 0 if nobody is.
    owner: P::U32,
    /// Levels beyond the first.
    levels: P::U32,
    /// Those that wait for a pulse.
    room: RawCondvar<P>,
}

const _: () = assert!(size_of::<RawOndeckMonitor<crate::Hardware>>() == ENTRY.bytes);

impl<P: StaticPlatform> RawOndeckMonitor<P> {
    /// A free monitor, for statics.
    pub const INIT: Self =
        RawOndeckMonitor { mutex: RawOndeck::INIT, owner: P::U32_ZERO, levels: P::U32_ZERO, room: RawCondvar::INIT };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform> RawLock for RawOndeckMonitor<P> {
    type Platform = P;
    const ENTRY: Entry = ENTRY;

    fn new() -> Self {
        let zero = || P::U32::new(0);
        RawOndeckMonitor { mutex: RawOndeck::new(), owner: zero(), levels: zero(), room: RawCondvar::new() }
    }

    /// Enters if nobody else is inside.
    #[inline(always)]
    fn try_acquire(&self) -> bool {
        self.enter_by(RawOndeck::try_acquire)
    }

    /// Enters, once more if the calling thread is inside.
    #[inline(always)]
    fn acquire(&self) {
        self.enter_by(|mutex| {
            mutex.acquire();
            true
        });
    }

    /// Leaves one level, and the monitor if it was the first.
    #[inline(always)]
    unsafe fn release(&self) {
        debug_assert!(self.is_held(), "I2: left by the thread that is inside");
        let levels = self.levels.load(Relaxed);
        if levels > 0 {
            P::step(UNNEST);
            self.levels.store(levels - 1, Relaxed);
            return;
        }
        self.disown();
        // SAFETY: the caller is inside, which is holding the mutex.
        unsafe { self.mutex.release() };
    }

    fn shows_sleeper(&self) -> Option<bool> {
        self.mutex.shows_sleeper()
    }

    fn is_at_rest(&self) -> bool {
        self.is_owned_by(0) && self.mutex.is_at_rest()
    }
}

impl<P: Platform> RawTimedLock for RawOndeckMonitor<P> {
    #[inline]
    fn try_acquire_until(&self, deadline_ns: u64) -> bool {
        self.enter_by(|mutex| mutex.try_acquire_until(deadline_ns))
    }
}

impl<P: Platform> RawMonitor for RawOndeckMonitor<P> {
    #[inline]
    fn is_held(&self) -> bool {
        self.is_owned_by(me::<P>())
    }

    fn wait(&self, deadline_ns: Option<u64>) -> Result<bool, NotHeld> {
        let me = me::<P>();
        if !self.is_owned_by(me) {
            return Err(NotHeld);
        }
        let levels = self.levels.load(Relaxed);
        self.levels.store(0, Relaxed);
        self.disown();
        // SAFETY: the caller is inside, as we have just seen, which is holding the mutex.
        let is_pulsed = unsafe { self.room.wait(&self.mutex, deadline_ns) };
        self.own(me);
        self.levels.store(levels, Relaxed);
        Ok(is_pulsed)
    }

    fn pulse(&self) -> Result<bool, NotHeld> {
        if self.is_held() { Ok(self.room.notify_one()) } else { Err(NotHeld) }
    }

    fn pulse_all(&self) -> Result<usize, NotHeld> {
        if self.is_held() { Ok(self.room.notify_all()) } else { Err(NotHeld) }
    }
}

impl<P: Platform> RawOndeckMonitor<P> {
    /// Whether the calling thread, which is inside, has entered more than once.
    #[inline]
    pub fn is_nested(&self) -> bool {
        self.levels.load(Relaxed) > 0
    }

    /// Lets in a thread that is known to wait for the monitor, if there is one, and enters again behind it.
    ///
    /// # Safety
    /// - The calling thread is inside, and has entered once.
    #[inline]
    pub unsafe fn bump(&self) {
        if self.mutex.is_contended() {
            self.disown();
            // SAFETY: the caller is inside, which is holding the mutex.
            unsafe { self.mutex.release_fair() };
            self.acquire();
        }
    }

    /// Enters, with `acquire` if this is the first level; false if it gives up.
    #[inline(always)]
    fn enter_by(&self, acquire: impl FnOnce(&RawOndeck<P>) -> bool) -> bool {
        let me = me::<P>();
        if self.is_owned_by(me) {
            self.nest();
            return true;
        }
        P::step(ENTER);
        let is_inside = acquire(&self.mutex);
        if is_inside {
            self.own(me);
        }
        is_inside
    }

    /// One level deeper.
    #[inline(always)]
    fn nest(&self) {
        P::step(NEST);
        let levels = self.levels.load(Relaxed).checked_add(1);
        self.levels.store(levels.expect("a monitor entered 2^32 times by one thread: guards are leaked"), Relaxed);
    }

    /// Whether `me`, the calling thread, is inside. Exact: only a thread itself writes its number, and takes it away.
    #[inline(always)]
    fn is_owned_by(&self, me: u32) -> bool {
        self.owner.load(Relaxed) == me
    }

    /// Notes that `me`, which holds the mutex, is inside.
    #[inline(always)]
    fn own(&self, me: u32) {
        debug_assert!(self.is_owned_by(0), "I2: nobody else is inside");
        self.owner.store(me, Relaxed);
    }

    /// Notes that nobody is inside; the caller releases the mutex next.
    #[inline(always)]
    fn disown(&self) {
        P::step(EXIT);
        self.owner.store(0, Relaxed);
    }
}

/// Number of the calling thread.
#[inline(always)]
fn me<P: Platform>() -> u32 {
    P::thread_index().map_or_else(no_number, core::num::NonZeroU32::get)
}

#[cold]
fn no_number() -> u32 {
    panic!("2^32 threads have been started in this process: monitors cannot tell them apart any more")
}

impl<P: Platform> fmt::Debug for RawOndeckMonitor<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawOndeckMonitor")
            .field("owner", &self.owner.load(Relaxed))
            .field("levels", &self.levels.load(Relaxed))
            .field("mutex", &self.mutex)
            .finish()
    }
}
