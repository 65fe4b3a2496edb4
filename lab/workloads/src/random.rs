//! A small generator of random numbers: the same seed gives the same numbers for ever, which no library promises.

use crate::world::World;

/// A stream of random numbers (SplitMix64, as published by Steele, Lea and Flood in 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The stream of a workload's thread number `me`, in an execution with or without a [seed](World::seed).
    pub(crate) fn of_thread<W: World>(me: u32) -> Self {
        let seed = W::seed().map_or(0, |seed| Random::new(seed).next());
        Random(seed ^ u64::from(me))
    }

    /// The next number.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `n`; even to within 1 in 2^32 / n.
    #[inline]
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// Puts the items into random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Hardware;

    #[test]
    fn the_stream_is_the_published_one() {
        let mut random = Random::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn threads_draw_the_same_each_time_where_there_is_no_seed() {
        for me in [0, 3] {
            let (mut of_thread, mut plain) = (Random::of_thread::<Hardware>(me), Random::new(me.into()));
            assert_eq!(of_thread.next(), plain.next());
        }
    }

    #[test]
    fn shuffling_reaches_every_order() {
        let mut random = Random::new(1);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..200 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            seen.insert(items);
        }
        assert_eq!(seen.len(), 6);
    }
}
