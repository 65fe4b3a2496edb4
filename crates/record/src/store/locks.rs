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
//! # How an entry goes
//! All of it is decided by one word, `Lock::tenancy`:
//!
//! | word | who has the entry |
//! |---|---|
//! | turn, epoch | the lock of that turn, last used in that epoch |
//! | turn, claim | the same, and a thread wants it: one compare-exchange from the word that it has judged |
//! | next turn, filled | that thread alone, if the word was still its claim, and nobody waited in between |
//! | next turn, epoch | the next lock, whose address is there by then. A new entry begins with *filled*, too |
//!
//! *What is used stays.* A use writes the epoch into the word, also over a claim, which then fails. No two claims have one number, so
//! none takes another one for its own.
//!
//! *No wait is in an entry that goes.* The thread that claims an entry writes its claim, and then looks whether anybody
//! waits. Who begins to wait counts itself, and then looks at the word. All four are of one order (`SeqCst`), so one of them
//! sees the other: the entry stays, or the wait begins anew in another entry. Who ends a wait writes all that belongs into
//! the entry before it counts itself out.
//!
//! *No figure goes to another lock.* The number of a lock has the entry's turn in it, which changes with each lock. So a sample
//! that is written late, by a thread that has released the lock before, is of the lock that it was of. An address is believed
//! if the turn was the same before and after.
//!
//! Tests run all this in each order that two or three threads may have (`tests::orders`), and `cargo xtask mutants --lock tenancy`
//! breaks it.
//!
//! Who holds the lock meanwhile, and is looked at, loses that look. A reader that makes profiles never changes `epoch`, so
//! its locks stay. A recording in memory alone has no reader: its figures are in `counts`, so any entry may go that nobody waits for.

use super::Recording;
use crate::layout::tenancy::{self, CLAIMED, FILLED};
use crate::layout::{Lock, NONE, waiting};
use crate::thread::now_ns;
use core::ops::Range;
use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
    fence,
};
#[cfg(test)]
use tests::interleavings::step;

/// Another thread may come in between here. In tests each does.
#[cfg(not(test))]
fn step() {}

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
    step();
    let word = lock.tenancy.load(Acquire);
    step();
    if word & FILLED != 0 || lock.address.load(Acquire) != address {
        return None;
    }
    // That may be the address of the next lock by now.
    let number = tenancy::number(number, word);
    keep(recording, lock, number).then_some((number, lock))
}

/// The lock of that number is used: its entry does not go soon. False if it is gone.
pub(crate) fn keep(recording: &Recording, lock: &Lock, number: u32) -> bool {
    step();
    let mut word = lock.tenancy.load(SeqCst);
    // Each turn of it is another thread's success.
    while tenancy::is_of(number, word) && word & FILLED == 0 {
        let now = tenancy::used(word, recording.epoch.load(Relaxed));
        step();
        // Mostly it is the same epoch.
        let written = if now == word { Ok(word) } else { lock.tenancy.compare_exchange(word, now, SeqCst, SeqCst) };
        match written {
            Ok(_) => return true,
            Err(other) => word = other,
        }
    }
    false
}

/// One more waits for the lock of that number, since that instant: what was there before. Its entry stays from then on. `None` if
/// it is gone.
pub(crate) fn count_in(recording: &Recording, (number, lock): (u32, &Lock), since: u64) -> Option<u64> {
    step();
    let before = lock.waiting.fetch_add(waiting::one(since), SeqCst);
    if keep(recording, lock, number) {
        return Some(before);
    }
    count_out(lock, since);
    None
}

/// The same thread waits no more. The entry may be another lock's right afterwards.
pub(crate) fn count_out(lock: &Lock, since: u64) {
    step();
    lock.waiting.fetch_sub(waiting::one(since), Release);
}

/// Whether there is room for one more, on the disk too; counts one as dropped if not. Asked before a number is taken: while a
/// disk is full all would be used up, and readers do not look far behind entries that are missing.
pub(crate) fn has_room(recording: &Recording) -> bool {
    let has_room = entry(recording, USED.load(Relaxed)).is_some() || entries_may_go(recording);
    if !has_room {
        recording.count_dropped(&recording.dropped_locks);
    }
    has_room
}

/// Whether entries are given to other locks here.
fn entries_may_go(recording: &Recording) -> bool {
    !recording.has_file() || recording.taken.load(Relaxed) != 0
}

/// Whether the entry of that number, which the lock at that address had, may be given to another lock, or has been.
pub(crate) fn is_spare(recording: &Recording, number: u32, address: u64) -> bool {
    let is_its = |lock: &&Lock| lock.address.load(Acquire) == address;
    let lock = entry(recording, tenancy::entry(number)).filter(is_its);
    entries_may_go(recording) && lock.is_none_or(|lock| judge(recording, lock).is_some())
}

/// The word of an entry that may go as far as can be seen.
fn judge(recording: &Recording, lock: &Lock) -> Option<u32> {
    step();
    let word = lock.tenancy.load(Acquire);
    // Of who has it, it is known only where nestings are noted, and those are to be found.
    let is_had = lock.held_by.load(Relaxed) != 0;
    let is_busy = word & (CLAIMED | FILLED) != 0 || is_had || waiting::number(lock.waiting.load(Relaxed)) != 0;
    let is_over = || !recording.has_file() || tenancy::may_go(word, recording.taken.load(Acquire));
    (!is_busy && is_over()).then_some(word)
}

/// Where the next entry is looked for that may go.
static HAND: AtomicU32 = AtomicU32::new(0);

/// An entry that nobody has any more, with its index and its word, for the calling thread alone. Its address is missing.
fn take_over(recording: &Recording) -> Option<(u32, u32, &Lock)> {
    /// Where fewer than one in so many may go, a lock may be dropped.
    const STEPS: u32 = 64;
    if !entries_may_go(recording) {
        return None;
    }
    let room = u32::try_from(recording.locks.room).unwrap_or(u32::MAX).max(2) - 1;
    (0..STEPS.min(room)).find_map(|_| {
        let claim = HAND.fetch_add(1, Relaxed);
        let index = claim % room + 1;
        let lock = entry(recording, index)?;
        let word = give_away(lock, judge(recording, lock)?, claim)?;
        forget_figures(lock);
        Some((index, word, lock))
    })
}

/// Takes an entry that has been judged from its lock: its word then, if nobody has used it meanwhile or waits.
fn give_away(lock: &Lock, word: u32, claim: u32) -> Option<u32> {
    let claimed = tenancy::claimed(word, claim);
    step();
    lock.tenancy.compare_exchange(word, claimed, SeqCst, Relaxed).ok()?;
    step();
    let is_waited_for = waiting::number(lock.waiting.load(SeqCst)) != 0;
    let next = if is_waited_for { word } else { tenancy::next(word) };
    step();
    lock.tenancy.compare_exchange(claimed, next, SeqCst, Relaxed).ok()?;
    (!is_waited_for).then_some(next)
}

/// What the entry had of another lock. Who has counted itself there meanwhile takes itself out again.
fn forget_figures(lock: &Lock) {
    // Who sees any of this sees that it is the next turn.
    fence(Release);
    step();
    lock.address.store(0, Relaxed);
    fence(Release);
    let left = lock.waiting.load(Relaxed);
    if waiting::number(left) == 0 {
        lock.waiting.fetch_sub(left, Relaxed);
    }
    let numbers = [&lock.victims, &lock.taken_by, &lock.most_waiting, &lock.origin, &lock.parks, &lock.wakes];
    let more = [&lock.rotations, &lock.spins, &lock.name, &lock.held_by];
    numbers.into_iter().chain(more).for_each(|number| number.store(0, Relaxed));
    let numbers = [&lock.left_over, &lock.taken_at, &lock.period, &lock.settled, &lock.longest];
    numbers.into_iter().for_each(|number| number.store(0, Relaxed));
    let now = now_ns();
    // Nothing lasts since it was another lock's.
    lock.lasts_since.store(now, Relaxed);
    lock.charged_until.store(now, Relaxed);
}

/// Where a lock is first looked at.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) stack: u32,
    /// The number of the module that the lock is in, of [`in_time`](crate::layout::in_time).
    pub(crate) module: u32,
}

/// The number of a new lock. [`NONE`] if there is no room.
pub(crate) fn add(recording: &Recording, address: u64, kind: u32, origin: Origin) -> u32 {
    if has_room(recording) {
        if let Some((index, word, lock)) = fresh(recording).or_else(|| take_over(recording)) {
            // Both have few bits.
            lock.kind.store(kind as u16, Relaxed);
            lock.origin.store(origin.stack, Relaxed);
            lock.module.store(origin.module as u16, Relaxed);
            step();
            lock.address.store(address, Release);
            step();
            lock.tenancy.store(tenancy::used(word, recording.epoch.load(Relaxed)), SeqCst);
            let number = tenancy::number(index, word);
            // The reader may have begun an epoch since.
            keep(recording, lock, number);
            return number;
        }
        // Others were faster, or the file system is full.
        recording.count_dropped(&recording.dropped_locks);
    }
    NONE
}

/// The same of one that no lock has had yet.
fn fresh(recording: &Recording) -> Option<(u32, u32, &Lock)> {
    let used = USED.load(Relaxed);
    if u64::from(used) >= recording.locks.room / 4 * 3 {
        want_places(recording);
    }
    // Not counted on for ever: numbers would begin anew.
    entry(recording, used)?;
    let index = USED.fetch_add(1, Relaxed);
    let lock = entry(recording, index)?;
    step();
    // One that was counted and not had yet may be claimed meanwhile.
    lock.tenancy.compare_exchange(0, FILLED, Acquire, Relaxed).ok()?;
    Some((index, FILLED, lock))
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
            let found = in_entry(recording, tenancy::entry(number), address);
            if let Some((number, _)) = found.filter(|(_, lock)| lock.kind() == kind) {
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
fn instead(recording: &Recording, address: u64, kind: u32, origin: impl FnOnce() -> Origin) -> u32 {
    want_places(recording);
    // The address first: with it goes what was found.
    let mut places = near(&PLACES, address).map(|place| (place, place.address.load(Acquire)));
    let is_free = |(place, before): &(&Place, u64)| match place.number.load(Acquire) {
        NONE => true,
        number => is_spare(recording, number, *before),
    };
    if let Some((place, before)) = places.find(is_free) {
        // Those behind it are found past it, as past any other.
        if place.address.compare_exchange(before, address, AcqRel, Relaxed).is_ok() {
            let number = add(recording, address, kind, origin());
            place.number.store(number, Release);
            return number;
        }
    }
    recording.count_dropped(&recording.dropped_locks);
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
mod tests;
