//! Counters that each core has for itself, for locks whose readers are not to write what others read.

use crate::Platform;
use core::num::NonZeroU32;

/// Where a lock's word has the number of its counter.
pub(crate) const COUNTER_SHIFT: u32 = 22;
/// Bits of that number.
pub(crate) const COUNTER_BITS: u32 = 10;
/// The bit of that word with which nobody counts.
pub(crate) const FOLDING_SHIFT: u32 = 20;

/// In a counter, readers that are in are below this bit, and how many came in is above it.
const ENTERED_SHIFT: u32 = 52;

/// What all cores have counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Readers that entered by the counter less those that left by it, wrapping around: fewer than none if those who
    /// left have entered otherwise.
    pub readers: u64,
    /// How many have entered, without the bits from 4096 on.
    pub entered: u32,
}

impl Counted {
    /// One reader more.
    pub const ENTER: u64 = (1 << ENTERED_SHIFT) + 1;
    /// One reader less.
    pub const LEAVE: u64 = u64::MAX;

    /// What a sum over all cores says.
    pub const fn of(sum: u64) -> Self {
        const SIGN: u32 = 64 - ENTERED_SHIFT;
        let readers = ((sum << SIGN) as i64 >> SIGN) as u64;
        Counted { readers, entered: (sum.wrapping_sub(readers) >> ENTERED_SHIFT) as u32 }
    }
}

/// Counters by core: a thread adds to its core's part of one without a locked instruction, and nobody else writes there.
///
/// A lock relies on one as long as its word has the number of it. All methods have a default, for platforms without any.
pub trait CoreCounters: Platform {
    /// Whether there may ever be counters.
    const MAY_COUNT: bool = false;

    /// Takes a counter that nobody has, and that is zero. Its number has at most 10 bits, which are above the lowest 22 in a word. `None` if there is none.
    fn take_counter() -> Option<NonZeroU32> {
        None
    }

    /// Whether a lock whose readers do not meet is to have a counter now: few are taken, and to count costs less than to write the word.
    fn pays_alone() -> bool {
        true
    }

    /// Gives it back.
    ///
    /// # Safety
    /// It was taken, and nobody counts there any more.
    unsafe fn give_counter(counter: u32) {
        let _ = counter;
    }

    /// Looks whether `word` has the number of a counter, and bit 20 is 0; if so adds `amount` to this core's part of the counter.
    /// Returns whether it did.
    ///
    /// The look and the addition are two steps. An [`expel_counts`](CoreCounters::expel_counts) in between, a signal, or the loss
    /// of the core ends it with false and without the addition. The look has Acquire ordering and the addition Release.
    ///
    /// # Safety
    /// The number in the word is of a counter that was taken.
    unsafe fn count_unless_expelled(word: &Self::U64, amount: u64) -> bool {
        let _ = (word, amount);
        false
    }

    /// Puts an end to each [`count_unless_expelled`](CoreCounters::count_unless_expelled) of this process that has looked and not
    /// added yet. Whoever looks after it began sees what the caller has written before.
    ///
    /// It takes microseconds, and interrupts all threads of the process that run. Where the system has come to refuse it, nobody
    /// counts any more from then on.
    fn expel_counts() {}

    /// Adds up what all cores have counted. It is exact if nobody counts there meanwhile. Else it may miss some that move from one
    /// core to another.
    fn counted(counter: u32) -> Counted {
        let _ = counter;
        Counted::of(0)
    }

    /// Whether a lock with its word there may be spread, as far as [`note`](CoreCounters::note) has told: a guess, that does without a
    /// look at the word.
    fn is_noted(word: *const Self::U64) -> bool {
        let _ = word;
        true
    }

    /// Tells whether the lock with its word there is spread.
    fn note(word: *const Self::U64, is_spread: bool) {
        let _ = (word, is_spread);
    }

    /// Whether a counter by which so many have entered has saved more than an expulsion costs.
    fn was_worth_it(counted: Counted) -> bool {
        /// That is some 20 us for two that read in turns, and an expulsion takes 10.
        const LEAST: u32 = 512;
        counted.entered >= LEAST
    }

    /// Whether this call is one of so many of this core that are looked at. `one_in` is a power of two.
    fn is_sampled(one_in: u32) -> bool {
        let _ = one_in;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_has_who_is_in_and_who_came() {
        let sum = |n_in: u64, n_out: u64| {
            Counted::of(Counted::ENTER.wrapping_mul(n_in).wrapping_add(Counted::LEAVE.wrapping_mul(n_out)))
        };
        assert_eq!(sum(5, 2), Counted { readers: 3, entered: 5 });
        assert_eq!(sum(2, 5), Counted { readers: 3_u64.wrapping_neg(), entered: 2 });
        assert_eq!(sum(4100, 4100), Counted { readers: 0, entered: 4 });
        assert_eq!(sum(0, 0), Counted { readers: 0, entered: 0 });
    }
}
