//! Each stack once: an index by hash, of numbers of entries, each of which is a word with hash and length and the addresses.

use super::Recording;
use crate::layout::NONE;
use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// The stacks' words that are in use; word 0 is nobody's, so that no stack has the number of none.
static USED: AtomicU64 = AtomicU64::new(1);

/// Forgets what another process, our parent, has written.
pub(crate) fn begin() {
    USED.store(1, Relaxed);
}

/// The number of a stack. [`NONE`] if there is no room for one more, or it is empty.
pub(crate) fn number(recording: &Recording, stack: &[u64]) -> u32 {
    /// Further than that, the index is as good as full.
    const FARTHEST: u64 = 64;
    let room = recording.index.room;
    if stack.is_empty() || room == 0 {
        return NONE;
    }
    let hash = hash(stack);
    let head = hash & !0xffff | stack.len() as u64;
    let mut own = NONE;
    for step in 0..FARTHEST {
        let at = (hash >> 16).wrapping_add(step) % room;
        let Some(place) = recording.entry::<AtomicU32>(recording.index, at) else { break };
        let mut found = place.load(Acquire);
        if found == NONE {
            if own == NONE {
                own = write(recording, head, stack);
            }
            if own == NONE {
                break;
            }
            match place.compare_exchange(NONE, own, Release, Acquire) {
                Ok(_) => return own,
                Err(other) => found = other,
            }
        }
        if is_that(recording, found, head, stack) {
            return found;
        }
    }
    recording.count_dropped(&recording.dropped_stacks);
    NONE
}

/// The innermost return address of a stack; 0 of none.
pub(crate) fn innermost(recording: &Recording, number: u32) -> u64 {
    if number == NONE { 0 } else { word(recording, u64::from(number) + 1).map_or(0, |word| word.load(Relaxed)) }
}

/// The return addresses of a stack, the innermost first, as many as there is room for, and zeros behind them.
pub(crate) fn copy(recording: &Recording, number: u32, to: &[AtomicU64]) {
    /// Of a stack's first word, the bits that have its length.
    const LENGTH: u64 = 0xffff;
    let value = |at: u64| word(recording, at).map_or(0, |word| word.load(Relaxed));
    let head = u64::from(number);
    let length = if number == NONE { 0 } else { value(head) & LENGTH };
    for (at, word) in (0..).zip(to) {
        word.store(if at < length { value(head + 1 + at) } else { 0 }, Relaxed);
    }
}

/// FNV-1a by words, and its bits mixed into the upper ones.
fn hash(stack: &[u64]) -> u64 {
    let hash = stack.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, word| (hash ^ word).wrapping_mul(0x100_0000_01b3));
    (hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn word(recording: &Recording, at: u64) -> Option<&AtomicU64> {
    recording.entry(recording.stacks, at)
}

fn write(recording: &Recording, head: u64, stack: &[u64]) -> u32 {
    let length = stack.len() as u64 + 1;
    let at = USED.fetch_add(length, Relaxed);
    let last = at + length - 1;
    // What has room has a number too: the longest file has room for fewer than 2^32 words.
    if last >= recording.stacks.room {
        return NONE;
    }
    for (word_at, value) in (at..).zip(core::iter::once(&head).chain(stack)) {
        if let Some(place) = word(recording, word_at) {
            place.store(*value, Relaxed);
        }
    }
    at as u32
}

fn is_that(recording: &Recording, number: u32, head: u64, stack: &[u64]) -> bool {
    let value = |at| word(recording, at).map_or(0, |word| word.load(Relaxed));
    value(number.into()) == head && (u64::from(number) + 1..).zip(stack).all(|(at, address)| value(at) == *address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{alone, with_room_for_stacks};

    fn dropped(recording: &Recording) -> u64 {
        recording.dropped_stacks.load(Relaxed)
    }

    #[test]
    fn a_stack_has_one_number_and_no_stack_has_none() {
        let _alone = alone();
        begin();
        let recording = with_room_for_stacks(64, 100);
        let first = number(recording, &[7, 8, 9]);
        let second = number(recording, &[5]);
        assert_eq!((first, second), (1, 5));
        assert_eq!((number(recording, &[7, 8, 9]), number(recording, &[5])), (first, second));
        assert_eq!(number(recording, &[]), NONE);
        assert_eq!([first, second, NONE].map(|number| innermost(recording, number)), [7, 5, 0]);
        assert_eq!((USED.load(Relaxed), dropped(recording)), (7, 0));
    }

    #[test]
    fn stacks_with_one_hash_are_told_apart() {
        let _alone = alone();
        begin();
        let recording = with_room_for_stacks(64, 100);
        // The second word takes back what the first has changed.
        let after = |first: u64| (0xcbf2_9ce4_8422_2325_u64 ^ first).wrapping_mul(0x100_0000_01b3);
        let (one, other) = ([1, 2], [3, 2 ^ after(1) ^ after(3)]);
        assert_eq!(hash(&one), hash(&other));
        let numbers = [&one, &other].map(|stack| number(recording, stack));
        assert_eq!(numbers, [1, 4]);
        assert_eq!([&other, &one].map(|stack| number(recording, stack)), [4, 1]);
    }

    #[test]
    fn a_stack_that_another_begins_with_is_another() {
        let _alone = alone();
        begin();
        // All of them want the one place.
        let recording = with_room_for_stacks(1, 100);
        assert_eq!(number(recording, &[1, 2, 3]), 1);
        assert_eq!((number(recording, &[1, 2]), dropped(recording)), (NONE, 1));
        assert_eq!(number(recording, &[1, 2, 3]), 1);
    }

    #[test]
    fn a_stack_that_does_not_fit_as_a_whole_is_dropped() {
        let _alone = alone();
        let stack = [1, 2, 3, 4, 5, 6];
        // The word that is nobody's, one with hash and length, and the addresses.
        for (room, expected) in [(9, 1), (8, 1), (7, NONE), (1, NONE)] {
            begin();
            let recording = with_room_for_stacks(64, room);
            assert_eq!(number(recording, &stack), expected, "{room}");
            assert_eq!(dropped(recording), u64::from(expected == NONE), "{room}");
        }
    }
}
