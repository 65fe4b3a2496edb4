//! Which locks were held when another one was taken: each pair of locks once, in a table by hash. What has no room is counted.

use super::Recording;
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
    pub(crate) gates: [u32; 2],
}

const fn word([low, high]: [u32; 2]) -> u64 {
    (high as u64) << 32 | low as u64
}

/// Notes that, if it tells something new. `has` says whether the thread has that lock alone, which is neither of the two.
pub(crate) fn note(recording: &Recording, taken: Taken, has: impl Fn(u32) -> bool) {
    /// Further than that, the table is as good as full.
    const FARTHEST: u64 = 64;
    let (part, locks) = (recording.nestings, word(taken.locks));
    let first = locks.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    for step in 0..FARTHEST.min(part.room) {
        let Some(place) = recording.entry::<Nesting>(part, (first + step) % part.room) else { break };
        let found = match place.locks.load(Acquire) {
            0 => place.locks.compare_exchange(0, locks, AcqRel, Acquire).err().unwrap_or(locks),
            found => found,
        };
        if found == locks {
            return see(place, taken, has);
        }
    }
    recording.count_dropped(&recording.dropped_nestings);
}

/// Keeps the gates that were there each time, and the stacks of the time that had the fewest.
fn see(place: &Nesting, taken: Taken, has: impl Fn(u32) -> bool) {
    let kept = |before: u64| match before {
        0 => Nesting::word(taken.gates),
        _ => Nesting::word(Nesting::gates(before).map(|gate| if has(gate) { gate } else { NONE })),
    };
    // Of two threads that come here at once, each keeps what the other has left.
    let changes = |before| (kept(before) != before).then(|| kept(before));
    if place.gates.fetch_update(AcqRel, Acquire, changes).is_ok() {
        place.stacks.store(word(taken.stacks), Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::with_room_for_nestings;
    use core::sync::atomic::Ordering::Relaxed;

    fn entries(recording: &Recording) -> Vec<(u64, u64, [u32; 2])> {
        let entry = |at| recording.entry::<Nesting>(recording.nestings, at).unwrap();
        let all = (0..recording.nestings.room).map(entry).filter(|entry| entry.locks.load(Relaxed) != 0);
        let gates = |entry: &Nesting| Nesting::gates(entry.gates.load(Relaxed));
        all.map(|entry| (entry.locks.load(Relaxed), entry.stacks.load(Relaxed), gates(entry))).collect()
    }

    #[test]
    fn a_pair_has_one_entry_with_the_gates_of_all_times() {
        let recording = with_room_for_nestings(8);
        let taken = |stacks, gates| Taken { locks: [1, 2], stacks, gates };
        let note = |recording, taken: Taken| note(recording, taken, |gate| taken.gates.contains(&gate));
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
        note(recording, Taken { locks: [2, 1], stacks: [1, 1], gates: [0, 0] });
        assert_eq!((entries(recording).len(), recording.dropped_nestings.load(Relaxed)), (2, 0));
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let recording = with_room_for_nestings(4);
        for lock in 2..8 {
            note(recording, Taken { locks: [1, lock], stacks: [1, 1], gates: [0, 0] }, |_| false);
        }
        assert_eq!((entries(recording).len(), recording.dropped_nestings.load(Relaxed)), (4, 2));
    }
}
