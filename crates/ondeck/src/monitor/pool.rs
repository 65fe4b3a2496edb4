//! The side objects of all monitors of the process: slabs of doubling size, and a list of the free objects.
//!
//! Slabs are never freed. A thread may come to an object after its monitor has gone, and must find a lock there. The
//! cost is bounded: at most about twice as many objects exist as were in use at one time, with 64 bytes each.

use ondeck_core::monitor::{Pool, Side};
use ondeck_core::ondeck::RawOndeck;
use ondeck_core::{Hardware, Platform, RawLock};
use std::cell::UnsafeCell;
use std::sync::OnceLock;

type Slab = &'static [Side<Hardware>];

/// Objects of the first slab; each further one has twice as many as the one before.
const FIRST: usize = 32;
/// Together they hold 2^31 objects but for the last few.
const N_SLABS: usize = 26;

static SLABS: [OnceLock<Slab>; N_SLABS] = [const { OnceLock::new() }; N_SLABS];
static FREE: FreeObjects = FreeObjects::new();

/// Not a [`crate::Mutex`], which the recorder knows: it would call the program's function for long holds in the middle of a
/// monitor's steps, and that function may use the same monitor.
struct FreeObjects {
    lock: RawOndeck<Hardware>,
    list: UnsafeCell<Free>,
}

// SAFETY: `with` gives the list to one thread at a time, and it may be sent.
unsafe impl Sync for FreeObjects {}

impl FreeObjects {
    const fn new() -> Self {
        FreeObjects { lock: RawOndeck::INIT, list: UnsafeCell::new(Free { indices: Vec::new(), n_slabs: 0 }) }
    }

    /// `act` does not come back here: it calls nothing of the program's but its allocator.
    fn with<R>(&self, act: impl FnOnce(&mut Free) -> R) -> R {
        struct Releases<'a>(&'a RawOndeck<Hardware>);
        impl Drop for Releases<'_> {
            fn drop(&mut self) {
                // SAFETY: acquired before this was made, by this thread.
                unsafe { self.0.release() };
            }
        }
        self.lock.acquire();
        let _releases = Releases(&self.lock);
        // SAFETY: the lock is held until `_releases` is dropped, and nobody else comes to the list without it.
        act(unsafe { &mut *self.list.get() })
    }
}

struct Free {
    /// With room for all objects that there are, so that giving one back never allocates. The last one comes first: it
    /// may still be in a cache.
    indices: Vec<u32>,
    n_slabs: usize,
}

/// The pool of [`Monitor`](crate::Monitor).
pub(crate) struct Slabs;

impl Pool<Hardware> for Slabs {
    #[inline]
    fn side(index: u32) -> &'static Side<Hardware> {
        // Nearly always; and then where the object is follows from the index alone, without a look into the table on the way.
        if let (Some(first), offset @ 0..FIRST) = (SLABS[0].get(), index as usize) {
            return &first[offset];
        }
        side_of_any_slab(index)
    }

    #[cold]
    fn take() -> Option<u32> {
        FREE.with(|free| {
            if free.indices.is_empty() && free.n_slabs < N_SLABS {
                free.grow()?;
            }
            free.indices.pop()
        })
    }

    #[cold]
    fn give_back(index: u32) {
        FREE.with(|free| free.indices.push(index));
    }
}

#[cold]
#[inline(never)]
fn side_of_any_slab(index: u32) -> &'static Side<Hardware> {
    let (slab, offset) = place(index);
    // Made before the index was handed out, but the index may have come to us by a word that publishes nothing. Ended when
    // the slab is seen here too.
    loop {
        if let Some(slab) = SLABS[slab].get() {
            return &slab[offset];
        }
        Hardware::pause();
    }
}

impl Free {
    /// Makes the next slab. Its objects are handed out in order of address. `None` if there is no memory; then there is
    /// at most more room in the list than it needs, and the next call tries again.
    #[cold]
    fn grow(&mut self) -> Option<()> {
        let first = first_index(self.n_slabs);
        let n_new = FIRST << self.n_slabs;
        debug_assert!(self.indices.is_empty(), "else there would be no need, and less room to add");
        self.indices.try_reserve_exact(first + n_new).ok()?;
        let mut slab = Vec::new();
        slab.try_reserve_exact(n_new).ok()?;
        // From here on nothing allocates.
        slab.extend((0..n_new).map(|_| Side::new()));
        let is_new = SLABS[self.n_slabs].set(slab.leak()).is_ok();
        debug_assert!(is_new, "made under the lock, once");
        self.n_slabs += 1;
        self.indices.extend((first..first + n_new).rev().map(|index| index as u32));
        Some(())
    }
}

/// Index of the first object of a slab.
const fn first_index(slab: usize) -> usize {
    FIRST * ((1 << slab) - 1)
}

/// Slab of an object, and where in it.
#[inline]
const fn place(index: u32) -> (usize, usize) {
    let index = index as usize;
    let slab = (index / FIRST + 1).ilog2() as usize;
    (slab, index - first_index(slab))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Monitor;

    #[test]
    fn every_index_has_one_place() {
        let mut next = (0, 0);
        for index in 0..10_000 {
            assert_eq!(place(index), next);
            next = if next.1 + 1 == FIRST << next.0 { (next.0 + 1, 0) } else { (next.0, next.1 + 1) };
        }
        let last = first_index(N_SLABS) as u32 - 1;
        assert!(last < 1 << 31, "an index of the raw part");
        assert_eq!(place(last), (N_SLABS - 1, (FIRST << (N_SLABS - 1)) - 1));
    }

    #[test]
    fn an_object_that_was_given_back_is_handed_out_again() {
        for _ in 0..10_000 {
            let monitor = Monitor::new(());
            // Two waits at once take two objects; a wait of no length takes one and leaves it with the monitor.
            let entered = monitor.enter();
            monitor.wait_for(std::time::Duration::ZERO).expect("entered");
            drop(entered);
        }
        assert!(FREE.with(|free| free.n_slabs) <= 2, "10 000 monitors, one after the other, share a few objects");
    }
}
