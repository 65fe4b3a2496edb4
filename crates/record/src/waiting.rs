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

    /// Each step looks at the clock, and is done later: by then others may have charged more than it knows of.
    #[test]
    fn what_is_charged_late_or_twice_is_made_good_later() {
        const MASK: u64 = super::SUM;
        let mut chance = 1_u64;
        let mut any = |below: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (chance >> 33) % below
        };
        for round in 0..2000 {
            // Some rounds pass the end of 48 bits.
            let start = MASK - 100 * (round % 3);
            let (mut word, mut clock, mut until) = (0_u64, start + 10, start);
            let (mut charged_to_all, mut left_over, mut waited) = (0_u64, 0_u64, 0_u64);
            let mut waiters = std::vec::Vec::new();
            let mut arrivals = 6;
            while arrivals > 0 || !waiters.is_empty() {
                clock += any(5);
                let now = clock - any(4);
                match any(4) {
                    0 if arrivals > 0 => {
                        arrivals -= 1;
                        waiters.push(now);
                        word = word.wrapping_add(one(now));
                    }
                    // A release, or an acquisition by somebody who has not waited.
                    1 => {
                        let ns = area(word, now);
                        word = word.wrapping_add(charged(ns));
                        (charged_to_all, until) = (charged_to_all + ns, now);
                    }
                    2 if !waiters.is_empty() => {
                        let from = waiters.swap_remove(any(waiters.len() as u64) as usize);
                        let now = now.max(from);
                        let ns = area(word, now);
                        word = word.wrapping_add(charged(ns)).wrapping_sub(one(now));
                        (charged_to_all, until, waited) = (charged_to_all + ns, now, waited + now - from);
                    }
                    3 if !waiters.is_empty() => {
                        let from = waiters.swap_remove(any(waiters.len() as u64) as usize);
                        // As it was some time ago, or has become since it looked at the clock.
                        let since = from.max(until - any(3));
                        word = word.wrapping_sub(one(since));
                        (left_over, waited) = (left_over + now.saturating_sub(since), waited + now.max(since) - from);
                    }
                    _ => {}
                }
            }
            assert_eq!(number(word), 0);
            // What the word still has is charged less, or more, when somebody waits again.
            let to_come = 0_u64.wrapping_sub(word >> super::BITS);
            assert_eq!((charged_to_all + left_over).wrapping_add(to_come) & MASK, waited, "round {round}");
        }
    }

    #[test]
    fn what_seems_to_be_from_before_is_nothing() {
        assert_eq!(area(one(1000), 999), 0);
    }
}
