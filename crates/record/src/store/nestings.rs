//! Which locks were held when another one was taken: each pair of locks once, in a table by hash. What has no room is counted.
//!
//! Where there is none left, a pair of which one lock is gone gives its place to another pair. The reader has it by then: a lock goes
//! two epochs after its last use, and the reader takes all pairs in each of them. While the words of a place change, it has
//! [`Nesting::CHANGES`] for locks.

use super::{Recording, locks};
use crate::layout::{NONE, Nesting};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};

/// A thread takes a lock while it has another one.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    /// The numbers of the locks, the one that it has first; with [`Nesting::SHARED`], if it has that to read.
    pub(crate) locks: [u32; 2],
    /// The stacks that took them.
    pub(crate) stacks: [u32; 2],
    /// Two of the others that it has alone meanwhile, [`NONE`] for none.
    pub(crate) outer: [u32; 2],
}

const fn word([low, high]: [u32; 2]) -> u64 {
    (high as u64) << 32 | low as u64
}

/// Notes that, if it tells something new. `has` says whether the thread has that lock alone, which is neither of the two.
pub(crate) fn note(recording: &Recording, taken: Taken, has: impl Fn(u32) -> bool) {
    /// Further than that, the table is as good as full.
    const FARTHEST: u64 = 64;
    /// So far it is to be looked if places become few.
    const FAR: u64 = 16;
    let (part, locks) = (recording.nestings, word(taken.locks));
    let first = locks.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let near = || {
        let place = move |step| recording.entry::<Nesting>(part, (first + step) % part.room);
        (0..FARTHEST.min(part.room)).map_while(place)
    };
    for (step, place) in (0..).zip(near()) {
        if step == FAR {
            locks::want_places(recording);
        }
        let found = match place.locks.load(Acquire) {
            0 => place.locks.compare_exchange(0, locks, AcqRel, Acquire).err().unwrap_or(locks),
            found => found,
        };
        if found == locks {
            return see(place, taken, has);
        }
    }
    if let Some(place) = near().find(|place| take_over(recording, place)) {
        place.locks.store(locks, Release);
        return see(place, taken, has);
    }
    recording.count_dropped(&recording.dropped_nestings);
}

/// Empties the place of a pair of which one lock is gone: whether it is such a one, and the calling thread's now.
fn take_over(recording: &Recording, place: &Nesting) -> bool {
    let found = place.locks.load(Acquire);
    let is_there = |lock: u32| locks::lock(recording, lock & !(Nesting::SHARED | Nesting::TRIED)).is_some();
    let is_pair = found != Nesting::CHANGES && !(is_there(found as u32) && is_there((found >> 32) as u32));
    if !is_pair || place.locks.compare_exchange(found, Nesting::CHANGES, AcqRel, Acquire).is_err() {
        return false;
    }
    [&place.outer, &place.stacks].into_iter().for_each(|word| word.store(0, Release));
    true
}

/// Keeps the outer locks that were there each time, and the stacks of the time that had the fewest.
fn see(place: &Nesting, taken: Taken, has: impl Fn(u32) -> bool) {
    let kept = |before: u64| match before {
        0 => Nesting::word(taken.outer),
        _ => Nesting::word(Nesting::outer(before).map(|outer| if has(outer) { outer } else { NONE })),
    };
    // Of two threads that come here at once, each keeps what the other has left.
    let changes = |before| (kept(before) != before).then(|| kept(before));
    if place.outer.fetch_update(AcqRel, Acquire, changes).is_ok() {
        place.stacks.store(word(taken.stacks), Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{alone, with_room_for_nestings};
    use core::sync::atomic::Ordering::Relaxed;

    fn entries(recording: &Recording) -> Vec<(u64, u64, [u32; 2])> {
        let entry = |at| recording.entry::<Nesting>(recording.nestings, at).unwrap();
        let all = (0..recording.nestings.room).map(entry).filter(|entry| entry.locks.load(Relaxed) != 0);
        let outer = |entry: &Nesting| Nesting::outer(entry.outer.load(Relaxed));
        all.map(|entry| (entry.locks.load(Relaxed), entry.stacks.load(Relaxed), outer(entry))).collect()
    }

    #[test]
    fn a_pair_has_one_entry_with_the_outer_locks_of_all_times() {
        let recording = with_room_for_nestings(8);
        let taken = |stacks, outer| Taken { locks: [1, 2], stacks, outer };
        let note = |recording, taken: Taken| note(recording, taken, |outer| taken.outer.contains(&outer));
        note(recording, taken([10, 20], [7, 9]));
        assert_eq!(entries(recording), [(2 << 32 | 1, 20 << 32 | 10, [7, 9])]);
        // In the other place; nothing new.
        note(recording, taken([11, 21], [9, 7]));
        assert_eq!(entries(recording), [(2 << 32 | 1, 20 << 32 | 10, [7, 9])]);
        note(recording, taken([12, 22], [9, 5]));
        assert_eq!(entries(recording), [(2 << 32 | 1, 22 << 32 | 12, [0, 9])]);
        note(recording, taken([13, 23], [0, 0]));
        note(recording, taken([14, 24], [9, 0]));
        assert_eq!(entries(recording), [(2 << 32 | 1, 23 << 32 | 13, [0, 0])]);
        note(recording, Taken { locks: [2, 1], stacks: [1, 1], outer: [0, 0] });
        assert_eq!((entries(recording).len(), recording.dropped_nestings.load(Relaxed)), (2, 0));
    }

    #[test]
    fn a_pair_of_which_one_lock_is_gone_gives_its_place_to_another_and_the_rest_is_counted() {
        let _alone = alone();
        locks::begin();
        let recording = with_room_for_nestings(4);
        let new = || locks::add(recording, 64, 7, locks::Origin { stack: 1, module: 0 });
        let numbers: [u32; 7] = core::array::from_fn(|_| new());
        let note = |lock| {
            note(recording, Taken { locks: [numbers[0], lock], stacks: [lock; 2], outer: [0, 0] }, |_| false);
        };
        numbers[1..].iter().for_each(|lock| note(*lock));
        assert_eq!((entries(recording).len(), recording.dropped_nestings.load(Relaxed)), (4, 2));
        locks::lock(recording, numbers[2]).unwrap().tenancy.fetch_add(1, Relaxed);
        numbers[5..].iter().for_each(|lock| note(*lock));
        let pairs: Vec<(u64, u64)> =
            entries(recording).iter().map(|(locks, stacks, _)| (locks >> 32, *stacks)).collect();
        assert_eq!((pairs.len(), recording.dropped_nestings.load(Relaxed)), (4, 3));
        let has = |lock: u32| pairs.contains(&(lock.into(), word([lock; 2])));
        assert_eq!([1, 2, 3, 4, 5, 6].map(|at| has(numbers[at])), [true, false, true, true, true, false]);
        locks::begin();
    }
}
