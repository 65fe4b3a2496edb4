//! Who waits on which condition variable: so that one that is destroyed can be taken from those who have been notified.
//!
//! A notified waiter may still be asleep, in its mutex, when its condition variable is destroyed and freed; and if it is
//! cancelled there, it has to pass its notification on, for which it needs it. So each waiter stands here, by the address.
//! Who destroys takes the address away ([`cut_off`]); who wants to touch it [`hold`](Place::hold)s it first.

use crate::bytes::cond::Cond;
use crate::thread;
use core::ptr;
use core::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// A place for one waiter, on a line of its own.
#[repr(align(64))]
pub(crate) struct Place {
    /// The condition variable's address, [`HELD`] with it; [`CUT`] once it may be gone; 0 if nobody stands here.
    cond: AtomicUsize,
}

const HELD: usize = 1;
const CUT: usize = 2;

/// More waiters than this at a time have none. What they do without: one that is cancelled while it is notified loses the
/// notification for others.
const PLACES: usize = 8192;
static WAITING: [Place; PLACES] = [const { Place { cond: AtomicUsize::new(0) } }; PLACES];
/// No place from here on has been used.
static END: AtomicUsize = AtomicUsize::new(0);

/// Notes that the calling thread waits on `cond`. `None` if there is no place.
pub(crate) fn take(cond: &Cond) -> Option<&'static Place> {
    /// Where threads begin to look: few enough that a table of few waiters is short.
    const SPREAD: usize = 128;
    let first = thread::id() as usize % SPREAD;
    (0..PLACES).map(|n| (first + n) % PLACES).find_map(|idx| {
        let place = &WAITING[idx];
        // Who cuts off looks at no place from the end on, so that comes first.
        if place.cond.load(Relaxed) != 0 {
            return None;
        }
        if END.load(Relaxed) <= idx {
            END.fetch_max(idx + 1, Relaxed);
        }
        let address = ptr::from_ref(cond).expose_provenance();
        place.cond.compare_exchange(0, address, AcqRel, Relaxed).ok().map(|_| place)
    })
}

impl Place {
    /// Keeps the condition variable from being destroyed until [`leave`](Self::leave); false if it may be gone.
    pub(crate) fn hold(&self, cond: &Cond) -> bool {
        let address = ptr::from_ref(cond).addr();
        self.cond.compare_exchange(address, address | HELD, Acquire, Relaxed).is_ok()
    }

    /// The waiter will not touch the condition variable any more, and gives the place up. False if it must not even count
    /// itself out.
    pub(crate) fn leave(&self) -> bool {
        self.cond.swap(0, Release) != CUT
    }
}

/// Takes `cond` away from all who wait on it, but for those that hold it, and gives their number.
pub(crate) fn cut_off(cond: &Cond) -> u32 {
    let address = ptr::from_ref(cond).addr();
    let is_cut = |place: &&Place| {
        place.cond.load(Relaxed) == address && place.cond.compare_exchange(address, CUT, Relaxed, Relaxed).is_ok()
    };
    WAITING[..END.load(Relaxed)].iter().filter(is_cut).count() as u32
}

/// In the child of a fork nobody waits.
pub(crate) fn clear() {
    for place in &WAITING[..END.swap(0, Relaxed)] {
        place.cond.store(0, Relaxed);
    }
}
