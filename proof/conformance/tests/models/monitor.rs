//! Monitors under loom, under random schedules, and on real threads.
//!
//! `Restless` monitors deflate at the first chance, and a test has a few side objects only, so that one changes hands
//! while others still look at it. `Crowded` ones are never thin: what happens around the side objects fits into fewer
//! steps then.

use ondeck_conformance::monitors::{
    deflates_when_calm, latecomer_does_not_wait, leaked_levels_are_not_found_again, manages_without_side_objects,
    misuse_is_refused, nests, pulse_meets_timeout, pulses_all, pulses_in_order, share_side_objects,
    wait_restores_levels,
};
use ondeck_conformance::properties::{exclusion, freeing, timed, tries};
use ondeck_conformance::side_objects::{Crowded, MonitorWorld, Restless};
use ondeck_conformance::{HardwareWorld, LoomWorld, Model, Schedule, ScheduleWorld, Time, within};
use ondeck_core::{Hardware, Platform};
use ondeck_lineage::Defaults;
use std::time::Duration;

mod small {
    use super::*;

    type Thin = <LoomWorld as MonitorWorld>::Monitor<Restless>;
    type Fat = <LoomWorld as MonitorWorld>::Monitor<Crowded>;

    const MODEL: Model = Model::new();
    const SPINNING: Model = Model::new().spinning(Time::MayLeap(1_000_000)).preemptions(1);

    fn begin() {
        LoomWorld::begin(3);
    }

    #[test]
    fn monitor_excludes() {
        let seen = [["want", "hand_over", "enter"].as_slice(), &["hand_over", "close", "deflate"]];
        MODEL.preemptions(2).check_containing(&seen, || {
            begin();
            exclusion::<LoomWorld, Thin>(2, 2);
        });
    }

    #[test]
    fn monitor_excludes_three() {
        MODEL.preemptions(1).check_containing(&[&["hand_over", "close", "deflate"]], || {
            begin();
            exclusion::<LoomWorld, Thin>(3, 1);
        });
    }

    #[test]
    fn monitor_excludes_spinning() {
        SPINNING.reaching(&["want", "hand_over", "enter", "stray"]).check(|| {
            begin();
            exclusion::<LoomWorld, Thin>(2, 2);
        });
    }

    #[test]
    fn monitor_excludes_without_numbers() {
        MODEL.preemptions(2).check_containing(&[&["found", "deflate", "found"]], || {
            begin();
            exclusion::<LoomWorld, Fat>(2, 1);
        });
    }

    #[test]
    fn monitor_tries_disturb_nobody() {
        MODEL.preemptions(1).reaching(&["hand_over", "enter", "stray"]).check(|| {
            begin();
            tries::<LoomWorld, Thin>(3, 1);
        });
    }

    #[test]
    fn monitor_deadlines() {
        MODEL.expiring().preemptions(1).reaching(&["sleep", "hand_over", "enter"]).check(|| {
            begin();
            timed::<LoomWorld, Thin>(3, 2, 1, Model::deadline_ns());
        });
    }

    #[test]
    fn monitor_deadlines_when_fat() {
        MODEL.expiring().preemptions(1).reaching(&["pin", "leave"]).check(|| {
            begin();
            timed::<LoomWorld, Fat>(2, 1, 1, Model::deadline_ns());
        });
    }

    #[test]
    fn monitor_leaked_levels_are_not_found_again() {
        MODEL.preemptions(2).check(leaked_levels_are_not_found_again::<LoomWorld, Crowded>);
        MODEL.preemptions(2).check(leaked_levels_are_not_found_again::<LoomWorld, Restless>);
    }

    #[test]
    fn monitor_nests() {
        MODEL
            .preemptions(1)
            .check_containing(&[&["want", "unnest", "hand_over"]], || nests::<LoomWorld, Restless>(2, 2));
    }

    #[test]
    fn monitor_nests_beyond_the_word() {
        MODEL.preemptions(1).check_containing(&[&["want", "inflate", "rouse"]], || nests::<LoomWorld, Restless>(2, 9));
    }

    #[test]
    fn monitor_latecomer_goes_away() {
        MODEL.preemptions(1).check_containing(&[&["deflate", "open", "stray"]], || {
            share_side_objects::<LoomWorld, Crowded>(2, 2);
        });
    }

    #[test]
    fn monitor_latecomer_does_not_wait() {
        let model = MODEL.preemptions(2).reaching(&["stray", "retire"]);
        model.check(latecomer_does_not_wait::<LoomWorld, Crowded>);
    }

    #[test]
    fn monitor_wait_restores_levels() {
        MODEL
            .preemptions(2)
            .check_containing(&[&["want", "inflate", "rouse"]], wait_restores_levels::<LoomWorld, Restless>);
    }

    #[test]
    fn monitor_pulse_meets_timeout() {
        let body = || pulse_meets_timeout::<LoomWorld, Restless>(1, 0, Model::deadline_ns());
        MODEL.expiring().preemptions(2).check_containing(&[&["withdraw", "summon"]], body);
    }

    #[test]
    fn monitor_pulses_all() {
        MODEL.preemptions(1).reaching(&["enlist"]).check(|| pulses_all::<LoomWorld, Restless>(2));
    }

    #[test]
    fn monitor_without_memory() {
        let model = MODEL.preemptions(1).reaching(&["sleep", "hand_over"]);
        model.check(|| manages_without_side_objects::<LoomWorld, Restless>(3));
    }

    #[test]
    fn monitor_is_freed_by_its_last_user() {
        MODEL.preemptions(1).reaching(&["hand_over", "deflate", "stray"]).check(|| {
            begin();
            freeing::<LoomWorld, Thin>(3);
        });
    }

    #[test]
    fn monitor_deflates_when_calm() {
        MODEL.reaching(&["inflate", "deflate"]).check(|| deflates_when_calm::<LoomWorld, Restless>(1));
    }
}

mod broad {
    use super::*;

    type Thin = <ScheduleWorld as MonitorWorld>::Monitor<Restless>;
    type Slow = <ScheduleWorld as MonitorWorld>::Monitor<Defaults>;
    type Fat = <ScheduleWorld as MonitorWorld>::Monitor<Crowded>;

    const SEARCH: Schedule = Schedule { executions: 5_000 };
    const SOON_NS: u64 = 1 << 20;

    fn begin() {
        ScheduleWorld::begin(8);
    }

    #[test]
    fn monitor_excludes() {
        let seen = [["want", "hand_over", "enter", "close", "deflate"].as_slice(), &["hand_over", "pin", "unpin"]];
        SEARCH.check_containing(&seen, || {
            begin();
            exclusion::<ScheduleWorld, Thin>(5, 3);
        });
    }

    #[test]
    fn monitor_excludes_with_defaults() {
        SEARCH.check(|| {
            begin();
            exclusion::<ScheduleWorld, Slow>(5, 3);
        });
    }

    #[test]
    fn monitor_excludes_without_numbers() {
        SEARCH.check(|| {
            begin();
            exclusion::<ScheduleWorld, Fat>(5, 3);
        });
    }

    #[test]
    fn monitor_tries_disturb_nobody() {
        SEARCH.check(|| {
            begin();
            tries::<ScheduleWorld, Thin>(5, 3);
        });
    }

    #[test]
    fn monitor_deadlines() {
        SEARCH.check(|| {
            begin();
            timed::<ScheduleWorld, Thin>(5, 3, 3, SOON_NS);
        });
    }

    #[test]
    fn monitor_nests() {
        SEARCH.check(|| nests::<ScheduleWorld, Restless>(4, 3));
        SEARCH.check_containing(&[&["want", "inflate", "rouse"]], || nests::<ScheduleWorld, Restless>(3, 10));
    }

    #[test]
    fn monitor_latecomer_goes_away() {
        let seen = [["deflate", "open", "stray"].as_slice(), &["deflate", "open", "pin", "unpin"]];
        SEARCH.check_containing(&seen, || share_side_objects::<ScheduleWorld, Crowded>(4, 4));
        SEARCH.check(|| share_side_objects::<ScheduleWorld, Restless>(4, 4));
    }

    #[test]
    fn monitor_latecomer_does_not_wait() {
        SEARCH.check(latecomer_does_not_wait::<ScheduleWorld, Crowded>);
    }

    #[test]
    fn monitor_wait_restores_levels() {
        SEARCH.check(wait_restores_levels::<ScheduleWorld, Restless>);
        SEARCH.check(wait_restores_levels::<ScheduleWorld, Crowded>);
    }

    #[test]
    fn monitor_pulse_meets_timeout() {
        let both = [["withdraw", "summon"].as_slice(), &["summon", "withdraw"]];
        SEARCH.check_containing(&both, || pulse_meets_timeout::<ScheduleWorld, Restless>(3, 2, SOON_NS));
    }

    #[test]
    fn monitor_pulses_in_order() {
        SEARCH.check(|| pulses_in_order::<ScheduleWorld, Restless>(4));
    }

    #[test]
    fn monitor_pulses_all() {
        SEARCH.check(|| pulses_all::<ScheduleWorld, Restless>(5));
    }

    #[test]
    fn monitor_without_memory() {
        SEARCH.check(|| manages_without_side_objects::<ScheduleWorld, Restless>(5));
    }

    #[test]
    fn monitor_is_freed_by_its_last_user() {
        SEARCH.check(|| {
            begin();
            freeing::<ScheduleWorld, Thin>(5);
        });
    }

    #[test]
    fn monitor_misuse_is_refused() {
        SEARCH.check(misuse_is_refused::<ScheduleWorld, Restless>);
    }
}

mod hardware {
    use super::*;

    type Thin = <HardwareWorld as MonitorWorld>::Monitor<Restless>;
    type Slow = <HardwareWorld as MonitorWorld>::Monitor<Defaults>;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn soon_ns() -> u64 {
        Hardware::now_ns() + 200_000
    }

    #[test]
    fn monitor_excludes() {
        within(PATIENCE, "restless monitor", || exclusion::<HardwareWorld, Thin>(4, 20_000));
        within(PATIENCE, "monitor", || exclusion::<HardwareWorld, Slow>(8, 20_000));
    }

    #[test]
    fn monitor_latecomer_goes_away() {
        within(PATIENCE, "monitors", || (0..2_000).for_each(|_| share_side_objects::<HardwareWorld, Crowded>(4, 4)));
    }

    #[test]
    fn monitor_nests() {
        within(PATIENCE, "levels", || (0..1_000).for_each(|_| nests::<HardwareWorld, Restless>(4, 10)));
    }

    #[test]
    fn monitor_deadlines() {
        within(PATIENCE, "deadlines", || (0..500).for_each(|_| timed::<HardwareWorld, Thin>(4, 2, 20, soon_ns())));
    }

    #[test]
    fn monitor_pulse_meets_timeout() {
        let once = |_| pulse_meets_timeout::<HardwareWorld, Restless>(3, 2, soon_ns());
        within(PATIENCE, "pulses", || (0..500).for_each(once));
    }

    #[test]
    fn monitor_pulses_in_order() {
        within(PATIENCE, "order", || (0..50).for_each(|_| pulses_in_order::<HardwareWorld, Restless>(6)));
    }

    #[test]
    fn monitor_pulses_all() {
        within(PATIENCE, "all", || (0..500).for_each(|_| pulses_all::<HardwareWorld, Restless>(6)));
    }

    #[test]
    fn monitor_is_freed_by_its_last_user() {
        within(PATIENCE, "freeing", || (0..5_000).for_each(|_| freeing::<HardwareWorld, Thin>(4)));
    }

    #[test]
    fn monitor_misuse_is_refused() {
        misuse_is_refused::<HardwareWorld, Restless>();
    }

    #[test]
    fn monitor_deflates_when_calm() {
        deflates_when_calm::<HardwareWorld, Restless>(1);
        deflates_when_calm::<HardwareWorld, Defaults>(256);
    }
}
