//! The two clocks that a deadline may be written in.

use crate::platform::Preloaded;
use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, clockid_t, timespec};
use ondeck_platform::Platform;

const SECOND_NS: i64 = 1_000_000_000;

/// A point of time on one of the two clocks.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    pub(crate) clock: clockid_t,
    pub(crate) at: timespec,
}

impl Deadline {
    /// `None` if `at` is no point of time.
    pub(crate) fn new(clock: clockid_t, at: timespec) -> Option<Self> {
        (0..SECOND_NS).contains(&at.tv_nsec).then_some(Deadline { clock, at })
    }

    /// Whether the functions take deadlines of this clock.
    pub(crate) fn is_clock(clock: clockid_t) -> bool {
        clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC
    }

    /// How much time is left by its own clock, in nanoseconds; 0 if it has passed.
    pub(crate) fn left_ns(self) -> u64 {
        let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `now` is ours, and the clock is one of the two.
        unsafe { libc::clock_gettime(self.clock, &mut now) };
        let seconds = self.at.tv_sec.saturating_sub(now.tv_sec);
        let left = seconds.saturating_mul(SECOND_NS).saturating_add(self.at.tv_nsec - now.tv_nsec);
        u64::try_from(left).unwrap_or(0)
    }

    /// By `acquire`, which takes a deadline of the monotonic clock and is false once that has passed. Never early: if the
    /// other clock was set back meanwhile, it goes on. That it was set forward is noticed late.
    pub(crate) fn keep(self, mut acquire: impl FnMut(u64) -> bool) -> bool {
        loop {
            let left_ns = self.left_ns();
            if acquire(Preloaded::now_ns().saturating_add(left_ns)) {
                return true;
            }
            if self.left_ns() == 0 {
                return false;
            }
        }
    }
}
