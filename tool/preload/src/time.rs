//! The two clocks that a deadline may be written in.
//!
//! # Clocks that are faked
//! A program, or a library that is loaded beside ours, may define `clock_gettime` and tell another time than the kernel
//! does. A caller that takes a deadline from such a clock means that clock; all sleeping is by the kernel's. So a
//! deadline is moved by what lies between the two before it is waited for. The C library does not do that, so libraries
//! that fake the time stand before its functions and move deadlines themselves: they must be loaded behind ours, as
//! `ondeck run` sees to.

use crate::platform::PreloadPlatform;
use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, clockid_t, timespec};
use ondeck_core::{Platform, kernel};

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

    /// The same by the kernel's clock, if it was written by the program's.
    pub(crate) fn by_kernel(self) -> Self {
        match ahead_ns(self.clock) {
            0 => self,
            by_ns => Deadline { at: earlier(self.at, by_ns), ..self },
        }
    }

    /// Whether the functions take deadlines of this clock.
    pub(crate) fn is_clock(clock: clockid_t) -> bool {
        clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC
    }

    /// How much time is left by its own clock, in nanoseconds; 0 if it has passed.
    pub(crate) fn left_ns(self) -> u64 {
        let left = ns(self.at) - ns(kernel::clock(self.clock));
        u64::try_from(left.max(0)).unwrap_or(u64::MAX)
    }

    /// By `acquire`, which takes a deadline of the monotonic clock and is false once that has passed. Never early: if the
    /// other clock was set back meanwhile, it goes on. That it was set forward is noticed late.
    pub(crate) fn keep(self, acquire: impl FnMut(u64) -> bool) -> bool {
        let deadline = self.by_kernel();
        keep(|| deadline.left_ns(), acquire)
    }
}

/// As [`Deadline::keep`], with `left_ns` as the clock.
fn keep(left_ns: impl Fn() -> u64, mut acquire: impl FnMut(u64) -> bool) -> bool {
    loop {
        if acquire(PreloadPlatform::now_ns().saturating_add(left_ns())) {
            return true;
        }
        if left_ns() == 0 {
            return false;
        }
    }
}

fn ns(at: timespec) -> i128 {
    i128::from(at.tv_sec) * i128::from(SECOND_NS) + i128::from(at.tv_nsec)
}

/// By how much the program's clock is ahead of the kernel's; 0 if they are one.
fn ahead_ns(clock: clockid_t) -> i128 {
    let mut theirs = timespec { tv_sec: 0, tv_nsec: 0 };
    let before = ns(kernel::clock(clock));
    // By its name, so this is the program's own function if it has one.
    // SAFETY: `theirs` is ours, and the clock is one of the two.
    unsafe { libc::clock_gettime(clock, &mut theirs) };
    let theirs = ns(theirs);
    if theirs < before { theirs - before } else { (theirs - ns(kernel::clock(clock))).max(0) }
}

/// So many nanoseconds before; a time that the kernel's clock does not reach becomes its first or its last.
fn earlier(at: timespec, by_ns: i128) -> timespec {
    let all = ns(at) - by_ns;
    let second = i128::from(SECOND_NS);
    let tv_sec = i64::try_from(all.div_euclid(second)).unwrap_or(if all < 0 { 0 } else { i64::MAX });
    timespec { tv_sec, tv_nsec: all.rem_euclid(second) as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    fn now(clock: clockid_t) -> timespec {
        let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `now` is ours.
        unsafe { libc::clock_gettime(clock, &mut now) };
        now
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
        let before = PreloadPlatform::now_ns();
        let has_it = deadline.keep(|until| {
            n_calls += 1;
            // An hour of slack, for a clock that is set meanwhile.
            assert!((before + 900_000_000_000..before + 4_600_000_000_000).contains(&until), "{before} {until}");
            n_calls == 3
        });
        assert!(has_it && n_calls == 3, "{n_calls} calls");
    }

    #[test]
    fn a_clock_that_is_set_back_gives_the_next_attempt_more_time() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let left_ns = Cell::new(HOUR_NS);
        let before = PreloadPlatform::now_ns();
        let has_it = keep(
            || left_ns.get(),
            |until| {
                let is_set_back = left_ns.replace(3 * HOUR_NS) == 3 * HOUR_NS;
                assert_eq!(until > before + 2 * HOUR_NS, is_set_back, "{before} {until}");
                is_set_back
            },
        );
        assert!(has_it);
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

    #[test]
    fn a_deadline_is_moved_by_what_a_faked_clock_is_ahead() {
        let at = |tv_sec, tv_nsec| timespec { tv_sec, tv_nsec };
        for (given, by_ns, expected) in [
            (at(5, 3), 2_000_000_004, at(2, 999_999_999)),
            (at(5, 3), -2_999_999_999, at(8, 2)),
            (at(i64::MAX, 0), -1_000_000_000, at(i64::MAX, 0)),
            (at(i64::MIN, 0), 1_000_000_000, at(0, 0)),
        ] {
            let moved = earlier(given, by_ns);
            assert_eq!((moved.tv_sec, moved.tv_nsec), (expected.tv_sec, expected.tv_nsec), "{by_ns}");
        }
        assert!([CLOCK_REALTIME, CLOCK_MONOTONIC].map(ahead_ns) == [0, 0], "here they are one");
    }

    #[test]
    fn the_extremes_are_far_or_have_passed() {
        for clock in [CLOCK_REALTIME, CLOCK_MONOTONIC] {
            let left = |tv_sec| Deadline { clock, at: timespec { tv_sec, tv_nsec: 0 } }.left_ns();
            assert_eq!((left(i64::MIN), left(-1), left(i64::MAX)), (0, 0, u64::MAX));
        }
    }
}
