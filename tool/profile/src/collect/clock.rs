//! The clock that a recording's times are of.
//!
//! Mostly it is the reader's. It is another one in a time namespace, or if the program was given a faked clock. Then the
//! instant at which the recording began, which is told by the date as well, says what that clock showed as the run began.
//! Whatever a file says, no time lies outside of the run, and no wait is longer than it.

use super::run::Run;
use ondeck_record::layout::event;
use ondeck_record::read::{RecordingInfo, Sample};

#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// What it showed when the run began. Below zero it wraps, as its readers do.
    origin_ns: u64,
    run_started_ns: u64,
}

impl Clock {
    /// What may pass between a look at the clock and the samples that are taken after it.
    const LATE_NS: u64 = 1_000_000_000;
    /// More threads than a system has.
    const MOST_THREADS: u64 = 1 << 22;

    /// `now_ns` is by the reader's clock.
    pub(super) fn new(about: &RecordingInfo, run: &Run, now_ns: u64) -> Self {
        let begins = run.started_ns..=now_ns.saturating_add(Self::LATE_NS);
        let origin_ns = if begins.contains(&about.started_ns) {
            run.started_ns
        } else {
            let after = about.started_realtime_ns.saturating_sub(run.started_realtime_ns);
            about.started_ns.wrapping_sub(after.min(now_ns.saturating_sub(run.started_ns)))
        };
        Clock { origin_ns, run_started_ns: run.started_ns }
    }

    /// From the start of the run to a time of the recording.
    pub(super) fn since(&self, at: u64) -> u64 {
        at.wrapping_sub(self.origin_ns)
    }

    /// The time of the recording so long after the start of the run.
    pub(super) fn instant(&self, since: u64) -> u64 {
        since.wrapping_add(self.origin_ns)
    }

    /// From the start of the run to now.
    pub(super) fn until_now(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.run_started_ns)
    }

    /// The sample with its time counted from the start of the run, and whether it could be as it was.
    pub(super) fn corrected(&self, sample: Sample, now_ns: u64) -> (Sample, bool) {
        let at = self.since(sample.at).min(self.until_now(now_ns).saturating_add(Self::LATE_NS));
        let longest = match event::plain(sample.event) {
            // Of all who waited meanwhile.
            event::CHARGE | event::HANDING_ON => at.saturating_mul(Self::MOST_THREADS),
            _ => at,
        };
        let ns = sample.ns.min(longest);
        (Sample { at, ns, ..sample }, (at, ns) == (self.since(sample.at), sample.ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn clock(started_ns: u64, started_realtime_ns: u64) -> Clock {
        let about = RecordingInfo {
            pid: 1,
            parent: 0,
            program: "p".into(),
            lock: "glibc".to_owned(),
            source: 0,
            rate: 1,
            started_realtime_ns,
            started_ns,
        };
        let run = Run { command: Vec::new(), started_realtime_ns: 5000 * S, started_ns: 100 * S, cores: 1 };
        Clock::new(&about, &run, 110 * S)
    }

    #[test]
    fn a_clock_of_its_own_is_known_by_the_date() {
        // The reader's; one that is ahead, one that is behind, and one that shows a time before zero.
        for started_ns in [104 * S, 9000 * S, 50 * S, 0, (20 * S).wrapping_neg()] {
            let clock = clock(started_ns, 5004 * S);
            assert_eq!(clock.since(started_ns), 4 * S, "{started_ns}");
            assert_eq!(clock.since(started_ns.wrapping_add(S)), 5 * S, "{started_ns}");
        }
        // If the date is wrong too, it began between the run's start and now.
        assert_eq!(clock(9000 * S, 0).since(9000 * S), 0);
        assert_eq!(clock(9000 * S, u64::MAX).since(9000 * S), 10 * S);
    }

    #[test]
    fn no_time_is_outside_of_the_run() {
        let clock = clock(104 * S, 5004 * S);
        let sample = |event, at, ns| {
            clock.corrected(
                Sample { event, thread: 1, lock: 1, stack: 0, at, ns, weight: 1.0, lengths: [0; 2] },
                110 * S,
            )
        };
        for (event, at, ns, expected) in [
            (event::WAIT, 105 * S, S, (5 * S, S, true)),
            (event::WAIT, 105 * S, 6 * S, (5 * S, 5 * S, false)),
            (event::CHARGE, 105 * S, 60 * S, (5 * S, 60 * S, true)),
            (event::CHARGE, 105 * S, u64::MAX, (5 * S, (5 * S) << 22, false)),
            (event::TAKE, 99 * S, 0, (11 * S, 0, false)),
            (event::WAIT, u64::MAX, u64::MAX, (11 * S, 11 * S, false)),
        ] {
            let (sample, is_whole) = sample(event, at, ns);
            assert_eq!((sample.at, sample.ns, is_whole), expected);
        }
    }
}
