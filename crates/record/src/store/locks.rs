//! What is known of each lock: an entry of the recording, whose number the lock has in its own marks or, where it has no room
//! for marks, is found by its address.
//!
//! # Entries are given to other locks
//! A server may make a lock for each request, and few programs say when a lock is gone: many a C++ mutex is never destroyed. So
//! once no entry is free, a new lock gets one that was not used for a while, if a reader says that this may be:
//!
//! | who | does |
//! |---|---|
//! | a thread that adds a lock | finds that a quarter of the entries is left at most, and sets `wants_places` |
//! | reader | clears that, adds 1 to `epoch`, notes what each entry is, and only then sets `taken` to the same |
//! | a thread that uses a lock | writes the epoch into its entry, if it has another one |
//! | a thread that adds a lock | takes an entry that was last used two epochs before `taken`, and that nobody waits for |
//!
//! Why two: a thread may read the epoch, lose its core, and use the lock in the next epoch. Until it has been away for a whole
//! epoch more, its entry stays, and the reader knows the lock.
//!
//! *No figure goes to another lock.* The number of a lock has the entry's turn in it, which changes with each lock. So a sample
//! that is written late, by a thread that has released the lock before, is of the lock that it was of.
//!
//! *No wait is in an entry that goes.* The thread that takes an entry clears its address, and then looks whether anybody
//! waits. Who begins to wait counts itself, and then looks at the address. All four are of one order (`SeqCst`), so one of them
//! sees the other: the entry stays, or the wait begins anew in another entry.
//!
//! Who holds the lock meanwhile, and is looked at, loses that look. A reader that makes profiles never changes `epoch`, so
//! its locks stay. A recording in memory alone has no reader: its figures are in `counts`, so any entry may go that nobody waits for.

use super::Recording;
use crate::layout::{Lock, NONE, tenancy, waiting};
use crate::thread::now_ns;
use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
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
    HAND.store(0, Relaxed);
    for place in &PLACES {
        place.address.store(0, Relaxed);
        place.number.store(NONE, Relaxed);
    }
}

/// The entry of the lock of that number, as long as the lock has it.
pub(crate) fn lock(recording: &Recording, number: u32) -> Option<&Lock> {
    let lock = entry(recording, tenancy::entry(number))?;
    tenancy::is_of(number, lock.tenancy.load(Acquire)).then_some(lock)
}

/// The entry of that number, whose lock ever it is.
fn entry(recording: &Recording, number: u32) -> Option<&Lock> {
    if number == NONE { None } else { recording.entry(recording.locks, number.into()) }
}

/// The number and the entry of the lock at that address, if it has the entry of that number. It is used now.
pub(crate) fn in_entry(recording: &Recording, number: u32, address: u64) -> Option<(u32, &Lock)> {
    let lock = entry(recording, number)?;
    // Before the address: of an entry that changes meanwhile, this is the turn before, which nobody has any more.
    let word = lock.tenancy.load(Acquire);
    if lock.address.load(Acquire) != address {
        return None;
    }
    keep(recording, lock, word);
    Some((tenancy::number(number, word), lock))
}

/// The lock is used: its entry does not go soon.
fn keep(recording: &Recording, lock: &Lock, word: u32) {
    let now = tenancy::used(word, recording.epoch.load(Relaxed));
    if now != word {
        // If it fails, another thread does it, or the entry goes.
        let _ = lock.tenancy.compare_exchange(word, now, Relaxed, Relaxed);
    }
}

/// Whether a lock that has this entry, and is waited for as far as this thread is concerned, still has it.
pub(crate) fn still_has(lock: &Lock, number: u32, address: u64) -> bool {
    lock.address.load(SeqCst) == address && tenancy::is_of(number, lock.tenancy.load(Relaxed))
}

/// Whether there is room for one more, on the disk too; counts one as dropped if not. Asked before a number is taken: while a
/// disk is full all would be used up, and readers do not look far behind entries that are missing.
pub(crate) fn has_room(recording: &Recording) -> bool {
    let has_room = entry(recording, USED.load(Relaxed)).is_some() || entries_may_go(recording);
    if !has_room {
        recording.dropped_locks.fetch_add(1, Relaxed);
    }
    has_room
}

/// Whether entries are given to other locks here.
fn entries_may_go(recording: &Recording) -> bool {
    !recording.has_file() || recording.taken.load(Relaxed) != 0
}

/// Whether the entry of that number may be given to another lock, or has been.
pub(crate) fn is_spare(recording: &Recording, number: u32) -> bool {
    entries_may_go(recording) && lock(recording, number).is_none_or(|lock| may_go(recording, lock))
}

fn may_go(recording: &Recording, lock: &Lock) -> bool {
    let word = lock.tenancy.load(Acquire);
    let is_over = if recording.has_file() {
        tenancy::may_go(word, recording.taken.load(Acquire))
    } else {
        word & tenancy::CLAIMED == 0
    };
    is_over && waiting::number(lock.waiting.load(Relaxed)) == 0
}

/// Where the next entry is looked for that may go.
static HAND: AtomicU32 = AtomicU32::new(0);

/// An entry that nobody has any more, with its number, for the calling thread alone. Its address is missing.
fn take_over(recording: &Recording) -> Option<(u32, &Lock)> {
    /// Where fewer than one in so many may go, a lock may be dropped.
    const STEPS: u32 = 64;
    if !entries_may_go(recording) {
        return None;
    }
    let room = u32::try_from(recording.locks.room).unwrap_or(u32::MAX).max(2) - 1;
    (0..STEPS).find_map(|_| {
        let number = HAND.fetch_add(1, Relaxed) % room + 1;
        let lock = entry(recording, number).filter(|lock| may_go(recording, lock))?;
        let word = clear(lock)?;
        let next = tenancy::next(word, recording.epoch.load(Relaxed));
        lock.tenancy.store(next, Release);
        forget_figures(lock);
        Some((tenancy::number(number, next), lock))
    })
}

/// Takes the address out of the entry of a lock that nobody waits for: its word then.
fn clear(lock: &Lock) -> Option<u32> {
    let word = lock.tenancy.load(Acquire);
    let is_claimed = word & tenancy::CLAIMED != 0;
    if is_claimed || lock.tenancy.compare_exchange(word, word | tenancy::CLAIMED, AcqRel, Relaxed).is_err() {
        return None;
    }
    let address = lock.address.swap(0, SeqCst);
    if waiting::number(lock.waiting.load(SeqCst)) == 0 {
        return Some(word);
    }
    lock.address.store(address, SeqCst);
    lock.tenancy.fetch_and(!tenancy::CLAIMED, Release);
    None
}

/// What the entry had of another lock. Who has counted itself there meanwhile takes itself out again.
fn forget_figures(lock: &Lock) {
    let left = lock.waiting.load(Relaxed);
    if waiting::number(left) == 0 {
        lock.waiting.fetch_sub(left, Relaxed);
    }
    let numbers = [&lock.victims, &lock.taken_by, &lock.most_waiting, &lock.origin, &lock.parks, &lock.wakes];
    let more = [&lock.rotations, &lock.spins, &lock.name, &lock.held_by];
    numbers.into_iter().chain(more).for_each(|number| number.store(0, Relaxed));
    let numbers = [&lock.left_over, &lock.taken_at, &lock.period, &lock.settled, &lock.longest, &lock.class];
    numbers.into_iter().for_each(|number| number.store(0, Relaxed));
    let now = now_ns();
    // Nothing lasts since it was another lock's.
    lock.lasts_since.store(now, Relaxed);
    lock.charged_until.store(now, Relaxed);
}

/// The number of a new lock. [`NONE`] if there is no room.
pub(crate) fn add(recording: &Recording, address: u64, kind: u32, origin: u32) -> u32 {
    if has_room(recording) {
        if let Some((number, lock)) = fresh(recording).or_else(|| take_over(recording)) {
            lock.kind.store(kind, Relaxed);
            lock.origin.store(origin, Relaxed);
            lock.address.store(address, Release);
            // The reader may have begun an epoch since.
            keep(recording, lock, lock.tenancy.load(Relaxed));
            return number;
        }
        // Others were faster, or the file system is full.
        recording.dropped_locks.fetch_add(1, Relaxed);
    }
    NONE
}

/// An entry that no lock has had yet, with its number.
fn fresh(recording: &Recording) -> Option<(u32, &Lock)> {
    let used = USED.load(Relaxed);
    if u64::from(used) >= recording.locks.room / 4 * 3 {
        want_places(recording);
    }
    // Not counted on for ever: numbers would begin anew.
    entry(recording, used)?;
    let number = USED.fetch_add(1, Relaxed);
    let lock = entry(recording, number)?;
    lock.tenancy.store(tenancy::used(0, recording.epoch.load(Relaxed)), Relaxed);
    Some((number, lock))
}

pub(crate) fn want_places(recording: &Recording) {
    if recording.wants_places.load(Relaxed) == 0 {
        recording.wants_places.store(1, Relaxed);
    }
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

/// The number of the lock at an address that has no marks; a new one, with the stack that `origin` gives, for the first one
/// there. [`NONE`] if there is no room.
pub(crate) fn at(recording: &Recording, address: u64, kind: u32, origin: impl FnOnce() -> u32) -> u32 {
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
            let found = in_entry(recording, tenancy::entry(number), address);
            if let Some((number, _)) = found.filter(|(_, lock)| lock.kind.load(Relaxed) == kind) {
                return number;
            }
            let number = add(recording, address, kind, origin());
            place.number.store(number, Release);
            return number;
        }
    }
    instead(recording, address, kind, origin)
}

/// The same where all places are taken: in that of a lock that is no more, or was not used for a while.
fn instead(recording: &Recording, address: u64, kind: u32, origin: impl FnOnce() -> u32) -> u32 {
    want_places(recording);
    let is_free = |place: &&Place| match place.number.load(Acquire) {
        NONE => true,
        number => is_spare(recording, number),
    };
    if let Some(place) = near(&PLACES, address).find(is_free) {
        let before = place.address.load(Acquire);
        // Those behind it are found past it, as past any other.
        if place.address.compare_exchange(before, address, AcqRel, Relaxed).is_ok() {
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
            scope.spawn(|| (1..LOCKS).for_each(|_| assert_ne!(add(recording, 64, 7, 8), NONE)));
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
