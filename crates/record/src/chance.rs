//! Which of many is looked at, so that what is seen stands for the whole without bias.

use crate::memory::now_ns;
use crate::thread::own;
use core::cell::Cell;

/// The next of the thread's numbers (xorshift64*, Vigna 2016).
fn next() -> u64 {
    let state = &own().chance;
    let mut x = state.get();
    if x == 0 {
        x = now_ns() ^ ((&raw const *state) as u64).rotate_left(32) | 1;
    }
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    state.set(x);
    x.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

/// A number of at least 0 and below 1.
fn fraction() -> f64 {
    (next() >> 11) as f64 / (1_u64 << 53) as f64
}

/// How many events to pass over until the next that is looked at, if each is with a chance of one in `rate`: a geometric
/// distribution, so it makes no difference how long one has counted already, nor whether the program has a period.
pub(crate) fn gap(rate: u64) -> u32 {
    if rate <= 1 {
        return 0;
    }
    let gap = (1.0 - fraction()).ln() / (1.0 - 1.0 / rate as f64).ln();
    gap.min(f64::from(u32::MAX - 1)) as u32
}

/// One more, of which `left` were still to be passed over before the next that is looked at, and that one; 0 if nobody has
/// counted yet. Whether it is looked at, and what is left then.
fn counted(left: u32, rate: u64) -> (bool, u32) {
    // A gap is of those that are passed over; of the first one of all, this one is the first.
    match left {
        0 => match gap(rate) {
            0 => (true, gap(rate) + 1),
            passed => (false, passed),
        },
        1 => (true, gap(rate) + 1),
        left => (false, left - 1),
    }
}

/// The same, of a count that a thread keeps: whether this one is looked at.
pub(crate) fn count(left: &Cell<u32>, rate: u64) -> bool {
    let (is_looked_at, next) = counted(left.get(), rate);
    left.set(next);
    is_looked_at
}

/// From which amount on one is recorded, drawn before it is known: so that one of at least `whole` always is, and a smaller
/// one with a chance in proportion.
pub(crate) fn threshold(whole: u64) -> u64 {
    if whole == 0 { 0 } else { 1 + (fraction() * whole as f64) as u64 }
}

/// For how many of its size an amount stands that is not below its [`threshold`].
pub(crate) fn weight(amount: u64, whole: u64) -> f64 {
    if amount >= whole { 1.0 } else { whole as f64 / amount as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_mean_and_the_spread_of_independent_choices() {
        const N: usize = 200_000;
        for rate in [2_u64, 10, 1000] {
            let gaps: Vec<f64> = (0..N).map(|_| f64::from(gap(rate))).collect();
            let mean = gaps.iter().sum::<f64>() / N as f64;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / N as f64;
            let expected = rate as f64 - 1.0;
            // Four standard errors.
            let error = 4.0 * (expected * rate as f64).sqrt() / (N as f64).sqrt();
            assert!((mean - expected).abs() < error, "{rate}: {mean}");
            let ratio = variance / (expected * rate as f64);
            assert!((0.95..1.05).contains(&ratio), "{rate}: variance {variance}");
        }
        assert_eq!((gap(1), gap(0)), (0, 0));
    }

    /// What follows on a state of 1, as others have computed it too.
    #[test]
    fn numbers_are_those_of_the_generator() {
        own().chance.set(1);
        let numbers: [u64; 3] = core::array::from_fn(|_| next());
        assert_eq!(numbers, [5_180_492_295_206_395_165, 12_380_297_144_915_551_517, 13_389_498_078_930_870_103]);
    }

    #[test]
    fn events_are_counted_down_to_the_one_that_is_looked_at() {
        assert_eq!((counted(5, 10), counted(2, 10)), ((false, 4), (false, 1)));
        let (is_looked_at, left) = counted(1, 10);
        assert!(is_looked_at && left > 0);
        // A gap that is too large for the counter is cut, so that there is a next one.
        own().chance.set(1);
        assert_eq!(counted(1, 1 << 50), (true, u32::MAX));
    }

    #[test]
    fn what_is_recorded_adds_up_to_the_whole() {
        const N: u64 = 200_000;
        for (amount, whole) in [(1_u64, 100_u64), (50, 100), (99, 100), (100, 100), (5000, 100)] {
            let seen = (0..N).filter(|_| amount >= threshold(whole)).count();
            let ratio = seen as f64 * weight(amount, whole) / N as f64;
            assert!((0.9..1.1).contains(&ratio), "{amount} of {whole}: {ratio}");
        }
        assert!((0..1000).all(|_| threshold(100) > 0));
        assert_eq!((threshold(0), weight(0, 0)), (0, 1.0));
    }
}
