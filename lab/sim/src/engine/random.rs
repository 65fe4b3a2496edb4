//! Chance that comes again with the same seed.

/// A stream of random numbers (SplitMix64, as published by Steele, Lea and Flood in 2014): the same seed gives the same
/// numbers for ever, which no library promises.
#[derive(Clone, Debug)]
pub struct Random(u64);

/// What advances a stream by one number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Spreads a number over all 64 bits: the first of its stream.
#[inline]
pub(crate) fn mix(x: u64) -> u64 {
    Random(x).next()
}

/// What a stream is for. Each purpose has its own, so that a draw more in one does not move the others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Pauses,
    Placement,
    Ways,
    Kernel,
}

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The stream of a thread of a run, for one purpose.
    pub(crate) fn of(seed: u64, purpose: Purpose, thread: u32) -> Self {
        Random(mix(seed ^ mix((purpose as u64) << 32 | u64::from(thread))).wrapping_add(STEP))
    }

    /// The next number.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "a stream without an end is used as such")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero; even to within 1 in 2^32 / `bound`.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// A place, each as likely as its weight says; the weights are not all zero.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut left = self.below(weights.iter().sum());
        let is_here = |weight: &u32| {
            let is_here = left < *weight;
            left = left.saturating_sub(*weight);
            is_here
        };
        weights.iter().position(is_here).expect("what was drawn is below the sum")
    }

    /// Puts the items into random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }

    /// About `ps`: at most `jitter` thousandths of it away.
    #[inline]
    pub(crate) fn about(&mut self, ps: u64, jitter: u32) -> u64 {
        let drawn = if jitter == 0 { 1000 } else { 1000 - jitter + self.below(2 * jitter + 1) };
        ps * u64::from(drawn) / 1000
    }

    /// About `n` times `ps`, in one draw: about as far away as a sum of `n` that are drawn one by one strays, and a little
    /// less where `n` is no square.
    #[inline]
    pub(crate) fn about_in_all(&mut self, n: u64, ps: u64, jitter: u32) -> u64 {
        let strays = n.isqrt();
        (n - strays) * ps + self.about(strays * ps, jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_their_own_and_come_again() {
        let draw = |seed, purpose, thread| {
            let mut random = Random::of(seed, purpose, thread);
            (0..4).map(|_| random.below(1000)).collect::<Vec<u32>>()
        };
        assert_eq!(draw(1, Purpose::Pauses, 2), draw(1, Purpose::Pauses, 2));
        let others = [draw(2, Purpose::Pauses, 2), draw(1, Purpose::Placement, 2), draw(1, Purpose::Pauses, 3)];
        assert!(others.iter().all(|other| *other != draw(1, Purpose::Pauses, 2)), "{others:?}");
    }

    #[test]
    fn many_at_once_stray_as_far_as_one_by_one() {
        let (n, ps, jitter) = (400, 10_000, 50);
        let spread = |of: &mut dyn FnMut(&mut Random) -> u64| {
            let mut random = Random::of(3, Purpose::Pauses, 0);
            let off: Vec<f64> = (0..2_000).map(|_| of(&mut random) as f64 - (n * ps) as f64).collect();
            (off.iter().map(|off| off * off).sum::<f64>() / off.len() as f64).sqrt()
        };
        let one_by_one = spread(&mut |random| (0..n).map(|_| random.about(ps, jitter)).sum());
        let at_once = spread(&mut |random| random.about_in_all(n, ps, jitter));
        assert!((0.9..1.1).contains(&(at_once / one_by_one)), "{at_once} {one_by_one}");
        let (mut one, mut other) = (Random::of(3, Purpose::Pauses, 0), Random::of(3, Purpose::Pauses, 0));
        assert_eq!(one.about(ps, jitter), other.about_in_all(1, ps, jitter));
    }

    #[test]
    fn numbers_lie_below_their_bound_and_reach_it() {
        let mut random = Random::of(9, Purpose::Pauses, 0);
        let seen: std::collections::BTreeSet<u32> = (0..200).map(|_| random.below(7)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<u32>>(), [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn the_stream_is_the_published_one() {
        let mut random = Random::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
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
