//! What is charged, and what of it is recorded. The rule is in `account`.

use crate::account::IS_EXACT;
use crate::layout::{Lock, kind};
use crate::recording::Recording;
use crate::ring::{Sample, push};
use crate::{chance, waiting};
use core::sync::atomic::Ordering::Relaxed;

/// What somebody is charged.
#[derive(Debug)]
pub(crate) struct Charged {
    pub(crate) ns: u64,
    /// How long the hold lasted, or nobody had the lock, as far as that is known; of a time without a holder, what of
    /// the charge a long hold before has caused.
    pub(crate) lengths: [u64; 2],
    /// Whether it is for a time beside which a look at the clock is nothing.
    pub(crate) is_long: bool,
}

/// A time that is at least so long is long: two looks at a clock, and a sample, are a hundredth of it. To put a thread to sleep
/// and wake it takes about as long, and a better mutex saves that.
pub const LONG_NS: u64 = 20_000;

impl Charged {
    /// It was a time without a holder. Of those that waited, some do because of a long hold before.
    pub(crate) fn free(mut self, lock: &Lock) -> Self {
        let victims = u64::from(lock.victims.load(Relaxed));
        if victims > 0 {
            let n = waiting::number(lock.waiting.load(Relaxed)).max(1);
            self.lengths[1] = if victims >= n { self.ns } else { self.ns / n * victims };
        }
        self
    }
}

/// Charges what is waited for up to now, and says how much that is.
pub(crate) fn charge(lock: &Lock, now: u64, with_left_over: bool) -> Charged {
    let mut area = 0;
    // Of several who have the lock to read and release it at once, one charges an instant. Always succeeds.
    let _ = lock.waiting.fetch_update(Relaxed, Relaxed, |word| {
        area = waiting::area(word, now);
        Some(word.wrapping_add(waiting::charged(area)))
    });
    // Two locked instructions less: only who has the lock writes the one, and the other is mostly 0.
    let since = lock.charged_until.load(Relaxed);
    lock.charged_until.store(now, Relaxed);
    let has_left_over = with_left_over && lock.left_over.load(Relaxed) != 0;
    let left_over = if has_left_over { lock.left_over.swap(0, Relaxed) } else { 0 };
    let lasted = now.saturating_sub(lock.lasts_since.load(Relaxed));
    lock.lasts_since.store(now, Relaxed);
    Charged { ns: area + left_over, lengths: [lasted, 0], is_long: now.saturating_sub(since) >= LONG_NS }
}

/// Whether charges for that lock are exact: the C library's locks tell of each wait, and of those that many may have there
/// are no others.
pub(crate) fn is_exact(lock: &Lock) -> bool {
    IS_EXACT.load(Relaxed) || lock.kind.load(Relaxed) & kind::SEVERAL != 0
}

/// Waits and charges of at least that are always recorded, shorter ones in proportion.
pub(crate) fn whole_ns(recording: &Recording) -> u64 {
    const PER_RATE_NS: u64 = 1000;
    (recording.rate - 1) * PER_RATE_NS
}

/// A thread that will sleep has the time to walk its stack before; if its wait is recorded from less than that on, it will
/// most likely be.
pub(crate) const SLEEP_NS: u64 = 50_000;

#[inline]
pub(crate) fn record(
    recording: &Recording,
    event: u32,
    number: u32,
    at: u64,
    charged: &Charged,
    stack: impl FnOnce() -> u32,
) {
    let (whole, ns, lengths) = (whole_ns(recording), charged.ns, charged.lengths);
    if ns >= chance::threshold(whole) {
        let (stack, weight) = (stack(), chance::weight(ns, whole));
        push(recording, Sample { event, lock: number, stack, at, ns, weight, lengths });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock() -> Lock {
        // SAFETY: its fields are numbers, and zeros are a lock that nobody has used.
        unsafe { core::mem::zeroed() }
    }

    #[test]
    fn what_is_left_over_is_charged_to_whom_it_is_for() {
        let lock = lock();
        lock.waiting.store(waiting::one(1000), Relaxed);
        lock.left_over.store(70, Relaxed);
        assert_eq!((charge(&lock, 1500, false).ns, lock.left_over.load(Relaxed)), (500, 70));
        assert_eq!((charge(&lock, 1600, true).ns, lock.left_over.load(Relaxed)), (170, 0));
        assert_eq!((charge(&lock, 1600, true).ns, lock.charged_until.load(Relaxed)), (0, 1600));
    }

    #[test]
    fn a_time_is_long_from_20_us_on() {
        let lock = lock();
        for (now, is_long) in [(50_000, true), (69_999, false), (89_999, true), (89_999, false), (80_000, false)] {
            assert_eq!(charge(&lock, now, false).is_long, is_long, "{now}");
        }
    }
}
