//! Threads that wait for one lock: their number in 16 bits, and the sum of instants above them.

const BITS: u32 = 16;
const SUM: u64 = u64::MAX >> BITS;
/// A difference that is more is none: the other side of it was ahead.
const LONGEST: u64 = SUM / 2;

pub(crate) const fn one(from: u64) -> u64 {
    (from << BITS).wrapping_add(1)
}

pub(crate) const fn number(word: u64) -> u64 {
    word & ((1 << BITS) - 1)
}

/// What they have waited until `now` and nobody was charged for.
pub(crate) const fn area(word: u64, now: u64) -> u64 {
    let area = number(word).wrapping_mul(now).wrapping_sub(word >> BITS) & SUM;
    if area > LONGEST { 0 } else { area }
}

/// What is added when so much was charged.
pub(crate) const fn charged(area: u64) -> u64 {
    area << BITS
}

#[cfg(test)]
mod tests {
    use super::{area, charged, number, one};

    #[test]
    fn each_instant_of_each_wait_is_charged_once() {
        // 5 ms in 48 bits, behind which they begin again.
        for start in [0_u64, 1 << 40, (1 << 48) - 3_000_000] {
            let at = |ms: u64| start.wrapping_add(ms * 1_000_000);
            let ms = |ms: u64| ms * 1_000_000;
            let mut word = 0_u64.wrapping_add(one(at(0))).wrapping_add(one(at(1)));
            assert_eq!(number(word), 2);
            // A release at 3 ms: 3 of the one, 2 of the other.
            assert_eq!(area(word, at(3)), ms(5));
            word = word.wrapping_add(charged(ms(5)));
            assert_eq!(area(word, at(3)), 0);
            // One acquires at 4 ms: 2 ms of nobody.
            assert_eq!(area(word, at(4)), ms(2));
            word = word.wrapping_add(charged(ms(2))).wrapping_sub(one(at(4)));
            assert_eq!((number(word), area(word, at(6))), (1, ms(2)));
            word = word.wrapping_sub(one(at(4)));
            assert_eq!((number(word), area(word, at(9))), (0, 0));
        }
    }

    #[test]
    fn what_seems_to_be_from_before_is_nothing() {
        assert_eq!(area(one(1000), 999), 0);
    }
}
