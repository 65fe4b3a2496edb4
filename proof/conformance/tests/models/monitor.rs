//! Monitors under loom, under random schedules, and on real threads.

use crate::{DEADLINE_NS, MODEL, SEARCH, SOON_NS, SPINNING};
use ondeck_conformance::monitors::{
    misuse_is_refused, nests, pulse_meets_timeout, pulses_all, pulses_in_order, wait_restores_levels,
};
use ondeck_conformance::properties::{exclusion, freeing, timed, tries};
use ondeck_conformance::{HardwareHarness, LoomHarness, LoomPlatform, ScheduleHarness, SchedulePlatform, within};
use ondeck_core::{Hardware, Platform, RawOndeckMonitor};
use std::time::Duration;

mod small {
    use super::*;

    type Monitor = RawOndeckMonitor<LoomPlatform>;

    #[test]
    fn monitor_excludes() {
        MODEL.preemptions(2).reaching(&["enter", "exit"]).check(|| exclusion::<LoomHarness, Monitor>(2, 2));
    }

    #[test]
    fn monitor_excludes_spinning() {
        SPINNING.check(|| exclusion::<LoomHarness, Monitor>(2, 2));
    }

    #[test]
    fn monitor_tries_disturb_nobody() {
        MODEL.preemptions(1).check(|| tries::<LoomHarness, Monitor>(3, 1));
    }

    #[test]
    fn monitor_deadlines() {
        MODEL.expiring().preemptions(1).check(|| timed::<LoomHarness, Monitor>(3, 2, 1, DEADLINE_NS));
    }

    #[test]
    fn monitor_nests() {
        MODEL.preemptions(1).reaching(&["nest", "unnest"]).check(|| nests::<LoomHarness>(2, 2));
    }

    #[test]
    fn monitor_wait_restores_levels() {
        MODEL.preemptions(2).reaching(&["enlist"]).check(wait_restores_levels::<LoomHarness>);
    }

    #[test]
    fn monitor_pulse_meets_timeout() {
        let body = || pulse_meets_timeout::<LoomHarness>(1, 0, DEADLINE_NS);
        MODEL.expiring().preemptions(2).check_containing(&[&["withdraw", "summon"]], body);
    }

    #[test]
    fn monitor_pulses_all() {
        MODEL.preemptions(1).reaching(&["enlist"]).check(|| pulses_all::<LoomHarness>(2));
    }

    #[test]
    fn monitor_is_freed_by_its_last_user() {
        MODEL.preemptions(1).check(|| freeing::<LoomHarness, Monitor>(3));
    }
}

mod broad {
    use super::*;

    type Monitor = RawOndeckMonitor<SchedulePlatform>;

    #[test]
    fn monitor_excludes() {
        SEARCH.check(|| exclusion::<ScheduleHarness, Monitor>(5, 3));
    }

    #[test]
    fn monitor_tries_disturb_nobody() {
        SEARCH.check(|| tries::<ScheduleHarness, Monitor>(5, 3));
    }

    #[test]
    fn monitor_deadlines() {
        SEARCH.check(|| timed::<ScheduleHarness, Monitor>(5, 3, 3, SOON_NS));
    }

    #[test]
    fn monitor_nests() {
        SEARCH.check(|| nests::<ScheduleHarness>(4, 3));
    }

    #[test]
    fn monitor_wait_restores_levels() {
        SEARCH.check(wait_restores_levels::<ScheduleHarness>);
    }

    #[test]
    fn monitor_pulse_meets_timeout() {
        let both = [["withdraw", "summon"].as_slice(), &["summon", "withdraw"]];
        SEARCH.check_containing(&both, || pulse_meets_timeout::<ScheduleHarness>(3, 2, SOON_NS));
    }

    #[test]
    fn monitor_pulses_in_order() {
        SEARCH.check(|| pulses_in_order::<ScheduleHarness>(4));
    }

    #[test]
    fn monitor_pulses_all() {
        SEARCH.check(|| pulses_all::<ScheduleHarness>(5));
    }

    #[test]
    fn monitor_is_freed_by_its_last_user() {
        SEARCH.check(|| freeing::<ScheduleHarness, Monitor>(5));
    }

    #[test]
    fn monitor_misuse_is_refused() {
        SEARCH.check(misuse_is_refused::<ScheduleHarness>);
    }
}

mod hardware {
    use super::*;

    type Monitor = RawOndeckMonitor<Hardware>;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn soon_ns() -> u64 {
        Hardware::now_ns() + 200_000
    }

    #[test]
    fn monitor_excludes() {
        within(PATIENCE, "monitor", || exclusion::<HardwareHarness, Monitor>(8, 20_000));
    }

    #[test]
    fn monitor_nests() {
        within(PATIENCE, "levels", || (0..1_000).for_each(|_| nests::<HardwareHarness>(4, 10)));
    }

    #[test]
    fn monitor_deadlines() {
        within(PATIENCE, "deadlines", || (0..500).for_each(|_| timed::<HardwareHarness, Monitor>(4, 2, 20, soon_ns())));
    }

    #[test]
    fn monitor_pulse_meets_timeout() {
        let once = |_| pulse_meets_timeout::<HardwareHarness>(3, 2, soon_ns());
        within(PATIENCE, "pulses", || (0..500).for_each(once));
    }

    #[test]
    fn monitor_pulses_in_order() {
        within(PATIENCE, "order", || (0..50).for_each(|_| pulses_in_order::<HardwareHarness>(6)));
    }

    #[test]
    fn monitor_pulses_all() {
        within(PATIENCE, "all", || (0..500).for_each(|_| pulses_all::<HardwareHarness>(6)));
    }

    #[test]
    fn monitor_is_freed_by_its_last_user() {
        within(PATIENCE, "freeing", || (0..5_000).for_each(|_| freeing::<HardwareHarness, Monitor>(4)));
    }

    #[test]
    fn monitor_misuse_is_refused() {
        misuse_is_refused::<HardwareHarness>();
    }
}
