//! What is known of each lock: an entry of the recording, whose number the lock has in its own marks or, where it has no room
//! for marks, is found by its address.

use super::Recording;
use crate::layout::{Lock, NONE};
use core::ops::Range;
use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Entries that are in use; entry 0 is nobody's, so that no lock has the number of none.
static USED: AtomicU32 = AtomicU32::new(1);

/// An address, and the number of its lock.
struct Place {
    address: AtomicU64,
    number: AtomicU32,
}

const N_PLACES: usize = 4096;
static PLACES: [Place; N_PLACES] =
    [const { Place { address: AtomicU64::new(0), number: AtomicU32::new(NONE) } }; N_PLACES];

/// Forgets what another process, our parent, has written.
pub(crate) fn begin() {
    USED.store(1, Relaxed);
    for place in &PLACES {
        place.address.store(0, Relaxed);
        place.number.store(NONE, Relaxed);
    }
}

/// The entry of that number.
pub(crate) fn lock(recording: &Recording, number: u32) -> Option<&Lock> {
    if number == NONE { None } else { recording.entry(recording.locks, number.into()) }
}

/// Whether there is room for one more, on the disk too; counts one as dropped if not. Asked before a number is taken: while a
/// disk is full all would be used up, and readers do not look far behind entries that are missing.
pub(crate) fn has_room(recording: &Recording) -> bool {
    let has_room = lock(recording, USED.load(Relaxed)).is_some();
    if !has_room {
        recording.dropped_locks.fetch_add(1, Relaxed);
    }
    has_room
}

/// Where a lock is first looked at.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) stack: u32,
    /// The number of the module that the lock is in, of [`in_time`](crate::layout::in_time).
    pub(crate) module: u32,
}

/// The number of a new entry. [`NONE`] if there is no room.
pub(crate) fn add(recording: &Recording, address: u64, kind: u32, origin: Origin) -> u32 {
    if has_room(recording) {
        let number = USED.fetch_add(1, Relaxed);
        if let Some(lock) = lock(recording, number) {
            lock.kind.store(kind, Relaxed);
            lock.origin.store(origin.stack, Relaxed);
            lock.module.store(origin.module, Relaxed);
            lock.address.store(address, Release);
            return number;
        }
        // Others were faster, or the file system is full.
        recording.dropped_locks.fetch_add(1, Relaxed);
    }
    NONE
}

/// The places of a table by addresses in which one may be.
pub(crate) fn near<P, const N: usize>(places: &'static [P; N], address: u64) -> impl Iterator<Item = &'static P> {
    indices(N, address).map(|at| &places[at])
}

/// Where these are in a table of so many places.
pub(crate) fn indices(n_places: usize, address: u64) -> impl Iterator<Item = usize> {
    /// Further than that, the table is as good as full.
    const FARTHEST: usize = 32;
    let first = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
    (first..first + FARTHEST).map(move |at| at % n_places)
}

/// The number of the lock at an address that has no marks; [`NONE`] if there is none.
pub(crate) fn known_at(address: u64) -> u32 {
    let places = near(&PLACES, address).map(|place| (place, place.address.load(Acquire)));
    let mut until_free = places.take_while(|(_, found)| *found != 0);
    until_free.find(|(_, found)| *found == address).map_or(NONE, |(place, _)| place.number.load(Acquire))
}

/// The number of the lock at an address that has no marks; a new one, with the origin that `origin` gives, for the first one
/// there. [`NONE`] if there is no room.
pub(crate) fn at(recording: &Recording, address: u64, kind: u32, origin: impl FnOnce() -> Origin) -> u32 {
    for place in near(&PLACES, address) {
        let mut found = place.address.load(Acquire);
        if found == 0 {
            match place.address.compare_exchange(0, address, Release, Acquire) {
                Ok(_) => {
                    let number = add(recording, address, kind, origin());
                    place.number.store(number, Release);
                    return number;
                }
                Err(other) => found = other,
            }
        }
        if found == address {
            // Of another thread, which may not have written it yet.
            let number = place.number.load(Acquire);
            // Of something else, it is of what was there before.
            if lock(recording, number).is_some_and(|lock| lock.kind.load(Relaxed) == kind) {
                return number;
            }
            let number = add(recording, address, kind, origin());
            place.number.store(number, Release);
            return number;
        }
    }
    recording.dropped_locks.fetch_add(1, Relaxed);
    NONE
}

/// What comes to be at this address is another lock.
pub(crate) fn forget(address: u64) {
    for place in near(&PLACES, address) {
        match place.address.load(Acquire) {
            0 => return,
            // The place stays: those behind it are found past it.
            found if found == address => return place.number.store(NONE, Release),
            _ => {}
        }
    }
}

/// What comes to be at these addresses are other locks, as another file is there.
pub(crate) fn forget_within(addresses: Range<u64>) {
    for place in PLACES.iter().filter(|place| addresses.contains(&place.address.load(Acquire))) {
        place.number.store(NONE, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{alone, with_room_for_samples};

    /// A reader looks at entries while they are written.
    #[test]
    fn an_entry_that_shows_its_address_is_complete() {
        const LOCKS: u32 = 4_000;
        let _alone = alone();
        begin();
        let recording = with_room_for_samples(LOCKS.into(), 1);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (1..LOCKS).for_each(|_| assert_ne!(add(recording, 64, 7, Origin { stack: 8, module: 0 }), NONE))
            });
            for number in 1..LOCKS {
                let lock = lock(recording, number).unwrap();
                while lock.address.load(Acquire) == 0 {
                    core::hint::spin_loop();
                }
                assert_eq!((lock.kind.load(Relaxed), lock.origin.load(Relaxed)), (7, 8), "entry {number}");
            }
        });
        begin();
    }
}
