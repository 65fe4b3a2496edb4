//! Threads of different priorities on one core: a thread with real-time priority keeps it from the others until it
//! sleeps, so it must never wait by yielding for one that has lost the core to it.

#[cfg(feature = "models")]
mod modelled {
    use ondeck_conformance::condvar::{timeouts_race_with_notifications, wakes_all_and_loses_none, wakes_all_at_once};
    use ondeck_conformance::monitors::pulses_all;
    use ondeck_conformance::properties::{behind_a_holder, exclusion, freeing_timed, timed, tries};
    use ondeck_conformance::side_objects::{MonitorWorld, Restless};
    use ondeck_conformance::{Schedule, SchedulePlatform, ScheduleWorld};
    use ondeck_locks::{RawOndeck, RawTicket};

    type Lock = RawOndeck<SchedulePlatform>;
    type Monitor = <ScheduleWorld as MonitorWorld>::Monitor<Restless>;

    const SEARCH: Schedule = Schedule { executions: 4_000 };
    const DEADLINE_NS: u64 = 1 << 20;

    #[test]
    fn plain() {
        let passes = [["pass_on", "detach"].as_slice(), &["break_line"]];
        SEARCH.check_under_priorities(&passes, || exclusion::<ScheduleWorld, Lock>(6, 3));
        SEARCH.check_under_priorities(&[], || tries::<ScheduleWorld, Lock>(5, 3));
    }

    #[test]
    fn timed_attempts() {
        let cancelled = ["latch", "detach"].as_slice();
        SEARCH.check_under_priorities(&[cancelled], || timed::<ScheduleWorld, Lock>(6, 4, 2, DEADLINE_NS));
        SEARCH.check_under_priorities(&[cancelled], || behind_a_holder::<ScheduleWorld, Lock>(5, 5, DEADLINE_NS));
        SEARCH.check_under_priorities(&[], || freeing_timed::<ScheduleWorld, Lock>(6, DEADLINE_NS));
    }

    #[test]
    fn condvar() {
        SEARCH.check_under_priorities(&[], || wakes_all_and_loses_none::<ScheduleWorld>(4, true));
        SEARCH.check_under_priorities(&[], || wakes_all_and_loses_none::<ScheduleWorld>(4, false));
        SEARCH.check_under_priorities(&[], || wakes_all_at_once::<ScheduleWorld>(5));
        SEARCH.check_under_priorities(&[], || timeouts_race_with_notifications::<ScheduleWorld>(3, 2, DEADLINE_NS));
    }

    #[test]
    fn monitor() {
        let deflated = ["close", "pin", "unpin", "deflate"].as_slice();
        SEARCH.check_under_priorities(&[deflated], || {
            ScheduleWorld::begin(8);
            exclusion::<ScheduleWorld, Monitor>(5, 3);
        });
        SEARCH.check_under_priorities(&[], || {
            ScheduleWorld::begin(8);
            timed::<ScheduleWorld, Monitor>(5, 3, 3, DEADLINE_NS);
        });
        SEARCH.check_under_priorities(&[], || pulses_all::<ScheduleWorld, Restless>(4));
    }

    /// The check of the check: whoever has drawn a number yields until it is called, and others are never called.
    #[test]
    #[should_panic(expected = "max_steps")]
    fn is_noticed_where_all_yield() {
        Schedule { executions: 1_000 }.check_under_priorities(&[], || {
            exclusion::<ScheduleWorld, RawTicket<SchedulePlatform>>(4, 2);
        });
    }
}
