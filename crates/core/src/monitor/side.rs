//! The side object: what a monitor has while it is fat.
//!
//! Its memory is never freed, so a thread that has read its index, however long ago, may look at it. What the object
//! must not do is let such a latecomer *wait* here for a monitor that it does not want. Hence the pins:
//!
//! | field | who writes it | who reads it |
//! |---|---|---|
//! | mutex, room | anybody, by their own rules | anybody |
//! | pins | anybody who wants to wait here, the owner, the holder of a closed object; read-modify-writes only | the same |
//! | owner, levels, calm | who holds the mutex and has found the monitor's word to name this object | the same; owner: anybody |
//!
//! An object is *closed* while it belongs to no monitor. A thread pins it before it waits here, and then looks at the
//! monitor's word again. The one that closes needs the pins to be 0 in the same operation, so the two cannot miss each
//! other: either the pin comes first and the object stays with its monitor, or the thread that pins finds it closed, or
//! open again for another monitor. In the last case it sees by E3 that the word has changed.

use super::{CLOSE, ENTER, EXIT, OPEN, PIN, RETIRE, UNPIN};
use crate::ondeck::{RawCondvar, RawOndeck};
use crate::{Atomic, Platform};
use crate::{RawLock, RawTimedLock};
use core::fmt;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Set in the pins while the object belongs to no monitor.
const CLOSED: u32 = 1 << 31;

/// Where a monitor finds its side objects, and leaves them.
///
/// A type without a value, since a monitor of four bytes has no room to say which pool it is: one program may have
/// several, each with monitors of its own type.
///
/// What a thread did before it gave an object back happens before the [`take`](Pool::take) that hands it out again.
pub trait Pool<P: Platform>: 'static {
    /// The object with this index, which `take` has handed out at some time.
    fn side(index: u32) -> &'static Side<P>;

    /// Hands out an object that no monitor has, new or given back: less than 2^31. `None` if there is no memory.
    fn take() -> Option<u32>;

    /// Takes back what was handed out.
    fn give_back(index: u32);
}

/// The fat part of a monitor: a mutex, a condition variable, and who is inside how deep.
///
/// Aligned so that two of them share no cache line.
#[repr(align(64))]
pub struct Side<P: Platform> {
    /// Held by the thread inside.
    mutex: RawOndeck<P>,
    /// Those that wait for a pulse.
    room: RawCondvar<P>,
    /// How many threads wait here, for the mutex or a pulse; and [`CLOSED`].
    pins: P::U32,
    /// Number of the thread inside, written by itself; 0 if nobody is.
    owner: P::U32,
    /// Levels beyond the first.
    levels: P::U32,
    /// Exits in a row since somebody last waited here.
    calm: P::U32,
}

const _: () = assert!(size_of::<Side<crate::Hardware>>() == 64);

impl<P: Platform> Side<P> {
    /// A closed object, for a pool.
    pub fn new() -> Self {
        let zero = || P::U32::new(0);
        Side {
            mutex: RawOndeck::new(),
            room: RawCondvar::new(),
            pins: P::U32::new(CLOSED),
            owner: zero(),
            levels: zero(),
            calm: zero(),
        }
    }

    // -- Anybody --------------------------------------------------------------------------------------------------

    /// Whether `me`, the calling thread, is inside. Exact: only a thread itself writes its number, and takes it away.
    #[inline(always)]
    pub(super) fn is_owned_by(&self, me: u32) -> bool {
        self.owner.load(Relaxed) == me
    }

    pub(super) fn is_at_rest(&self) -> bool {
        self.is_owned_by(0) && self.pins.load(Relaxed) == 0 && self.mutex.is_at_rest()
    }

    pub(super) fn shows_sleeper(&self) -> Option<bool> {
        self.mutex.shows_sleeper()
    }

    #[inline(always)]
    pub(super) fn try_acquire(&self) -> bool {
        self.mutex.try_acquire()
    }

    /// Pins the object, so that it stays with its monitor; false, and nothing done, if it has none.
    pub(super) fn pin(&self) -> bool {
        P::step(PIN);
        let is_open = self.pins.fetch_add(1, Acquire) & CLOSED == 0; // E3
        if !is_open {
            self.unpin();
        }
        is_open
    }

    /// Takes back one pin.
    pub(super) fn unpin(&self) {
        P::step(UNPIN);
        let before = self.pins.fetch_sub(1, Relaxed);
        debug_assert!(before & !CLOSED > 0, "I4: unpinned by one that pinned");
    }

    /// Waits for the mutex, which gives true, or for the deadline. The caller has pinned the object for its monitor.
    pub(super) fn acquire_pinned(&self, deadline_ns: Option<u64>) -> bool {
        let is_ours = match deadline_ns {
            None => {
                self.mutex.acquire();
                true
            }
            Some(deadline_ns) => self.mutex.try_acquire_until(deadline_ns),
        };
        if is_ours {
            self.calm.store(0, Relaxed);
        }
        self.unpin();
        is_ours
    }

    // -- The holder of the mutex ------------------------------------------------------------------------------------

    /// Notes that `me` is inside.
    #[inline(always)]
    pub(super) fn own(&self, me: u32) {
        debug_assert!(self.is_owned_by(0), "I3: nobody else is inside");
        self.owner.store(me, Relaxed);
    }

    #[inline(always)]
    pub(super) fn disown(&self) {
        self.owner.store(0, Relaxed);
    }

    pub(super) fn is_nested(&self) -> bool {
        self.levels.load(Relaxed) > 0
    }

    /// One level deeper.
    pub(super) fn nest(&self) {
        let levels = self.levels.load(Relaxed).checked_add(1);
        self.levels.store(levels.expect("a monitor entered 2^32 times by one thread: guards are leaked"), Relaxed);
    }

    /// One level less; false in the first.
    #[inline(always)]
    pub(super) fn unnest(&self) -> bool {
        let levels = self.levels.load(Relaxed);
        if levels > 0 {
            self.levels.store(levels - 1, Relaxed);
        }
        levels > 0
    }

    /// Notes one more exit, and tells whether the last `many` were calm and nobody waits now.
    #[inline(always)]
    pub(super) fn is_calm(&self, many: u32) -> bool {
        let calm = self.calm.load(Relaxed).saturating_add(1);
        self.calm.store(calm, Relaxed);
        calm >= many && self.pins.load(Relaxed) == 0
    }

    /// Closes the object if nobody waits here.
    pub(super) fn close(&self) -> bool {
        P::step(CLOSE);
        let is_closed = self.pins.compare_exchange(0, CLOSED, Relaxed, Relaxed).is_ok();
        if is_closed {
            self.calm.store(0, Relaxed);
        }
        is_closed
    }

    /// Lets the next one in. If the caller has closed the object it may be another monitor's after this.
    ///
    /// # Safety
    /// - The caller holds the mutex.
    #[inline(always)]
    pub(super) unsafe fn release(&self) {
        // SAFETY: the caller's duty is the same.
        unsafe { self.mutex.release() };
    }

    /// Leaves all levels, waits for a pulse or the deadline, and comes back to the same level. True if pulsed.
    ///
    /// # Safety
    /// - The caller, `me`, is inside.
    pub(super) unsafe fn wait(&self, me: u32, deadline_ns: Option<u64>) -> bool {
        let levels = self.levels.load(Relaxed);
        self.levels.store(0, Relaxed);
        self.calm.store(0, Relaxed);
        self.disown();
        P::step(PIN);
        self.pins.fetch_add(1, Relaxed);
        // SAFETY: being inside is holding the mutex.
        let is_pulsed = unsafe { self.room.wait(&self.mutex, deadline_ns) };
        self.unpin();
        self.own(me);
        self.levels.store(levels, Relaxed);
        is_pulsed
    }

    /// Whether a thread is known to wait for the mutex.
    pub(super) fn is_contended(&self) -> bool {
        self.mutex.is_contended()
    }

    /// Gives the mutex to who waits for it, and comes back behind them.
    ///
    /// # Safety
    /// - The caller, `me`, is inside, on the first level.
    pub(super) unsafe fn bump(&self, me: u32) {
        self.disown();
        P::step(PIN);
        self.pins.fetch_add(1, Relaxed);
        P::step(EXIT);
        // SAFETY: being inside is holding the mutex.
        unsafe { self.mutex.release_fair() };
        P::step(ENTER);
        self.acquire_pinned(None);
        self.own(me);
    }

    /// Ends the wait of the thread that has waited longest; false if nobody waits.
    pub(super) fn pulse(&self) -> bool {
        self.room.notify_one()
    }

    /// Ends all waits; tells how many.
    pub(super) fn pulse_all(&self) -> usize {
        self.room.notify_all()
    }

    // -- Who has just taken it from the pool, or has the monitor for itself -------------------------------------------

    /// Lets threads pin it. The caller has taken it from the pool and will give it to a monitor.
    pub(super) fn open(&self) {
        P::step(OPEN);
        let before = self.pins.fetch_and(!CLOSED, Release); // E3
        debug_assert!(before & CLOSED != 0, "I4: nobody else has it");
    }

    /// Takes it for the calling thread, before it is given to a monitor.
    pub(super) fn enter_first(&self, me: u32, levels: u32) {
        // Not waiting for a section: only a latecomer of the monitor before can have it, until it has looked at the word.
        self.mutex.acquire();
        self.own(me);
        self.levels.store(levels, Relaxed);
    }

    /// Closes it though somebody may be about to see that this is not what it wants; true if it can be given back.
    ///
    /// False, and nothing done, if somebody is inside: that thread has leaked its guard, and takes the object for its own
    /// as long as its number is here, whatever monitor has the object by then. So it stays with that thread for good.
    pub(super) fn retire(&self) -> bool {
        if !self.is_owned_by(0) {
            return false;
        }
        P::step(RETIRE);
        self.pins.fetch_or(CLOSED, Relaxed);
        self.calm.store(0, Relaxed);
        true
    }
}

impl<P: Platform> Default for Side<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> fmt::Debug for Side<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pins = self.pins.load(Relaxed);
        f.debug_struct("Side")
            .field("is_closed", &(pins & CLOSED != 0))
            .field("pins", &(pins & !CLOSED))
            .field("owner", &self.owner.load(Relaxed))
            .field("levels", &self.levels.load(Relaxed))
            .field("mutex", &self.mutex)
            .finish()
    }
}
