//! Points of the clocks that a caller may name, on the platform's clock.

use libc::{clockid_t, timespec};
use ondeck_core::{Hardware, Platform};
use std::ffi::c_int;

const NS_PER_S: i128 = 1_000_000_000;

/// A point of a clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    clock: clockid_t,
    /// Since the origin of that clock.
    ns: i128,
}

impl Deadline {
    /// `None` if the clock is none of the two that are served, or the time is none.
    pub(crate) fn new(clock: c_int, time: Option<&timespec>) -> Option<Self> {
        let clock = clock as clockid_t;
        let time = time.filter(|time| (0..NS_PER_S).contains(&time.tv_nsec.into()))?;
        [libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME].contains(&clock).then(|| Deadline { clock, ns: ns(time) })
    }

    /// The same moment on the platform's clock, unless somebody sets the clock meanwhile. The platform's clock is read
    /// second: the moment may come late by the time between, but not early.
    pub(crate) fn on_platform(self) -> u64 {
        in_ns(u64::try_from((self.ns - self.now()).max(0)).unwrap_or(u64::MAX))
    }

    pub(crate) fn is_past(self) -> bool {
        self.now() >= self.ns
    }

    fn now(self) -> i128 {
        let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `now` is ours to be written. Both clocks exist on every system, so it is.
        unsafe { libc::clock_gettime(self.clock, &mut now) };
        ns(&now)
    }
}

fn ns(time: &timespec) -> i128 {
    i128::from(time.tv_sec) * NS_PER_S + i128::from(time.tv_nsec)
}

/// So many nanoseconds from now on the platform's clock, or its end, which is 584 years away.
pub(crate) fn in_ns(ns: u64) -> u64 {
    Hardware::now_ns().saturating_add(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(clock: clockid_t, tv_sec: libc::time_t, tv_nsec: libc::c_long) -> Option<Deadline> {
        Deadline::new(clock as c_int, Some(&timespec { tv_sec, tv_nsec }))
    }

    #[test]
    fn what_is_no_time_and_what_is_no_clock_is_refused() {
        for tv_nsec in [-1, 1_000_000_000, libc::c_long::MAX, libc::c_long::MIN] {
            assert!(at(libc::CLOCK_MONOTONIC, 1, tv_nsec).is_none(), "{tv_nsec}");
        }
        assert!(at(libc::CLOCK_REALTIME, 1, 999_999_999).is_some());
        assert!(at(libc::CLOCK_PROCESS_CPUTIME_ID, 1, 0).is_none());
        assert!(Deadline::new(libc::CLOCK_REALTIME as c_int, None).is_none());
    }

    #[test]
    fn the_ends_of_time_are_far_away_and_past() {
        for clock in [libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME] {
            assert_eq!(at(clock, libc::time_t::MAX, 0).expect("a time").on_platform(), u64::MAX);
            let past = at(clock, libc::time_t::MIN, 0).expect("a time");
            assert!(past.is_past());
            assert!(past.on_platform() <= Hardware::now_ns());
        }
    }

    #[test]
    fn a_deadline_is_not_early() {
        for clock in [libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME] {
            let origin = at(clock, 0, 0).expect("a time");
            let before = Hardware::now_ns();
            let second = Deadline { ns: origin.now() + NS_PER_S, ..origin };
            let on_platform = second.on_platform();
            assert!(on_platform >= before + 1_000_000_000 && !second.is_past());
        }
    }
}
