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

#[cfg(test)]
mod tests {
    use super::*;

    fn now(clock: clockid_t) -> timespec {
        let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `now` is ours.
        unsafe { libc::clock_gettime(clock, &mut now) };
        now
    }

    fn ns(at: timespec) -> i128 {
        i128::from(at.tv_sec) * i128::from(SECOND_NS) + i128::from(at.tv_nsec)
    }

    /// So many seconds from now, and a nanosecond before a full second.
    fn in_seconds(clock: clockid_t, seconds: i64) -> Deadline {
        let at = timespec { tv_sec: now(clock).tv_sec + seconds, tv_nsec: SECOND_NS - 1 };
        Deadline::new(clock, at).unwrap()
    }

    #[test]
    fn the_two_clocks_are_taken_and_no_other() {
        assert!(Deadline::is_clock(CLOCK_REALTIME) && Deadline::is_clock(CLOCK_MONOTONIC));
        for clock in [libc::CLOCK_BOOTTIME, libc::CLOCK_PROCESS_CPUTIME_ID, libc::CLOCK_TAI, -1] {
            assert!(!Deadline::is_clock(clock), "{clock}");
        }
    }

    #[test]
    fn a_point_of_time_has_less_than_a_second_of_nanoseconds() {
        for (tv_nsec, is_time) in [(-1, false), (0, true), (SECOND_NS - 1, true), (SECOND_NS, false)] {
            assert_eq!(Deadline::new(CLOCK_REALTIME, timespec { tv_sec: 0, tv_nsec }).is_some(), is_time);
        }
    }

    #[test]
    fn the_time_left_is_what_the_clock_says() {
        for clock in [CLOCK_REALTIME, CLOCK_MONOTONIC] {
            let deadline = in_seconds(clock, 1000);
            let before = now(clock);
            let left = i128::from(deadline.left_ns());
            let after = now(clock);
            let most = ns(deadline.at) - ns(before);
            assert!((ns(deadline.at) - ns(after)..=most).contains(&left), "{left} of {most} ns");
            assert_eq!(in_seconds(clock, -10).left_ns(), 0);
        }
    }

    #[test]
    fn who_acquires_before_the_deadline_goes_on_until_then() {
        let deadline = in_seconds(CLOCK_REALTIME, 1000);
        let mut n_calls = 0;
        let before = Preloaded::now_ns();
        let has_it = deadline.keep(|until| {
            n_calls += 1;
            // An hour of slack, for a clock that is set meanwhile.
            assert!((before + 900_000_000_000..before + 4_600_000_000_000).contains(&until), "{before} {until}");
            n_calls == 3
        });
        assert!(has_it && n_calls == 3, "{n_calls} calls");
    }

    #[test]
    fn after_the_deadline_one_attempt_is_made() {
        let mut n_calls = 0;
        let has_it = in_seconds(CLOCK_MONOTONIC, -10).keep(|_| {
            n_calls += 1;
            assert!(n_calls < 10, "no end");
            false
        });
        assert!(!has_it && n_calls == 1, "{n_calls} calls");
        assert!(in_seconds(CLOCK_MONOTONIC, -10).keep(|_| true));
    }
}
