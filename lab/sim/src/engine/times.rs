//! What happens next: one time per slot, and which slot comes first.
//!
//! Whatever can happen has a slot of its own (a hardware thread's timer, a thread, a thread's store buffer), with at
//! most one time in it. A tree of winners over the slots finds the first one without any search, and a time can be
//! moved or taken back at the price of its path to the root. Equal times are put in order by a number drawn for each,
//! so that nobody always comes first, and everybody does so again with the same seed.

use super::random::mix;

/// The time of a slot in which nothing happens.
pub(crate) const NEVER: u64 = u64::MAX;

/// Time, then the number drawn, then the slot: compared as one.
type Key = u128;

const NOTHING: Key = Key::MAX;

pub(crate) struct EventTimes {
    /// Half of it inner nodes, of which 1 is the root, then one leaf per slot.
    nodes: Vec<Key>,
    /// Leaves: a power of two.
    leaves: usize,
    /// Counts up with every time set, so that numbers drawn do not come again.
    drawn: u64,
    /// Decides the numbers.
    seed: u64,
}

impl EventTimes {
    pub(crate) fn new(seed: u64) -> Self {
        let leaves = 64;
        EventTimes { nodes: vec![NOTHING; 2 * leaves], leaves, drawn: 0, seed }
    }

    /// Makes room for `slots` slots.
    pub(crate) fn reserve(&mut self, slots: usize) {
        if slots <= self.leaves {
            return;
        }
        let old = self.nodes.split_off(self.leaves);
        self.leaves = slots.next_power_of_two();
        self.nodes = vec![NOTHING; 2 * self.leaves];
        self.nodes[self.leaves..self.leaves + old.len()].copy_from_slice(&old);
        for node in (1..self.leaves).rev() {
            self.nodes[node] = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
        }
    }

    /// When the next thing happens; [`NEVER`] if nothing does.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        (self.nodes[1] >> 64) as u64
    }

    /// Time and slot of what happens next.
    #[inline]
    pub(crate) fn first(&self) -> Option<(u64, usize)> {
        let key = self.nodes[1];
        (key != NOTHING).then_some(((key >> 64) as u64, key as u32 as usize))
    }

    #[inline]
    pub(crate) fn set(&mut self, slot: usize, time: u64) {
        self.drawn += 1;
        let tie = mix(self.seed ^ self.drawn) >> 32;
        self.put(slot, Key::from(time) << 64 | Key::from(tie) << 32 | slot as Key);
    }

    #[inline]
    pub(crate) fn clear(&mut self, slot: usize) {
        self.put(slot, NOTHING);
    }

    /// The time in a slot.
    #[inline]
    pub(crate) fn of(&self, slot: usize) -> u64 {
        (self.nodes[self.leaves + slot] >> 64) as u64
    }

    #[inline]
    fn put(&mut self, slot: usize, key: Key) {
        let mut node = self.leaves + slot;
        self.nodes[node] = key;
        while node > 1 {
            let first = self.nodes[node].min(self.nodes[node ^ 1]);
            node /= 2;
            if self.nodes[node] == first {
                return;
            }
            self.nodes[node] = first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_comes_first_whatever_was_moved() {
        let mut times = EventTimes::new(1);
        times.reserve(100);
        assert_eq!((times.next(), times.first()), (NEVER, None));
        let mut random = 7u64;
        let mut model = vec![NEVER; 100];
        for _ in 0..10_000 {
            random = mix(random);
            let slot = (random >> 20) as usize % 100;
            if random.is_multiple_of(3) {
                times.clear(slot);
                model[slot] = NEVER;
            } else {
                times.set(slot, random >> 40);
                model[slot] = random >> 40;
            }
            assert_eq!(times.next(), *model.iter().min().unwrap());
            assert_eq!(times.of(slot), model[slot]);
            if let Some((time, first)) = times.first() {
                assert_eq!(model[first], time);
            }
        }
    }

    #[test]
    fn growing_keeps_what_is_there() {
        let mut times = EventTimes::new(1);
        times.set(5, 50);
        times.set(63, 40);
        times.reserve(1000);
        times.set(999, 45);
        assert_eq!(times.first(), Some((40, 63)));
        times.clear(63);
        assert_eq!(times.first(), Some((45, 999)));
    }

    #[test]
    fn ties_are_broken_by_the_seed() {
        let winner = |seed| {
            let mut times = EventTimes::new(seed);
            (0..8).for_each(|slot| times.set(slot, 1));
            times.first().unwrap().1
        };
        let winners: std::collections::BTreeSet<usize> = (0..50).map(winner).collect();
        assert!(winners.len() > 4, "{winners:?}");
        assert_eq!(winner(3), winner(3));
    }
}
