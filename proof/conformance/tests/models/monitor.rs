//! Monitors under loom, under random schedules, and on real threads.
//!
//! `EagerDeflation` monitors deflate at the first chance, and a test has a few side objects only, so that one changes hands
//! while others still look at it. `NoThinOwners` ones are never thin: what happens around the side objects fits into fewer
//! steps then.

use crate::{DEADLINE_NS, MODEL, SEARCH, SOON_NS, SPINNING};
use ondeck_conformance::monitors::{
    deflates_when_calm, latecomer_does_not_wait, leaked_levels_are_not_found_again, manages_without_side_objects,
    misuse_is_refused, nests, pulse_meets_timeout, pulses_all, pulses_in_order, share_side_objects,
    wait_restores_levels,
};
use ondeck_conformance::properties::{exclusion, freeing, timed, tries};
use ondeck_conformance::side_objects::{EagerDeflation, MonitorHarness, NoThinOwners};
use ondeck_conformance::{HardwareHarness, LoomHarness, ScheduleHarness, within};
use ondeck_core::{Hardware, Platform};
use ondeck_lineage::Defaults;
use std::time::Duration;

mod small {
    use super::*;

    type Thin = <LoomHarness as MonitorHarness>::Monitor<EagerDeflation>;
    type Fat = <LoomHarness as MonitorHarness>::Monitor<NoThinOwners>;

    /// The body, which begins with few side objects.
    fn begun(body: impl Fn() + Send + Sync + 'static) -> impl Fn() + Send + Sync + 'static {
        move || {
            LoomHarness::begin(3);
            body();
        }
    }

    #[test]
    fn monitor_excludes() {
        let seen = [["want", "hand_over", "enter"].as_slice(), &["hand_over", "close", "deflate"]];
        MODEL.preemptions(2).check_containing(&seen, begun(|| exclusion::<LoomHarness, Thin>(2, 2)));
    }

    #[test]
    fn monitor_excludes_three() {
        MODEL
            .preemptions(1)
            .check_containing(&[&["hand_over", "close", "deflate"]], begun(|| exclusion::<LoomHarness, Thin>(3, 1)));
    }

    #[test]
    fn monitor_excludes_spinning() {
        SPINNING
            .reaching(&["want", "hand_over", "enter", "stray"])
            .check(begun(|| exclusion::<LoomHarness, Thin>(2, 2)));
    }

    #[test]
    fn monitor_excludes_without_numbers() {
        MODEL
            .preemptions(2)
            .check_containing(&[&["found", "deflate", "found"]], begun(|| exclusion::<LoomHarness, Fat>(2, 1)));
    }

    #[test]
    fn monitor_tries_disturb_nobody() {
        MODEL
            .preemptions(1)
            .reaching(&["hand_over", "enter", "stray"])
            .check(begun(|| tries::<LoomHarness, Thin>(3, 1)));
    }

    #[test]
    fn monitor_deadlines() {
        MODEL
            .expiring()
            .preemptions(1)
            .reaching(&["sleep", "hand_over", "enter"])
            .check(begun(|| timed::<LoomHarness, Thin>(3, 2, 1, DEADLINE_NS)));
    }

    #[test]
    fn monitor_deadlines_when_fat() {
        MODEL
            .expiring()
            .preemptions(1)
            .reaching(&["pin", "leave"])
            .check(begun(|| timed::<LoomHarness, Fat>(2, 1, 1, DEADLINE_NS)));
    }

    #[test]
    fn monitor_leaked_levels_are_not_found_again() {
        MODEL.preemptions(2).check(leaked_levels_are_not_found_again::<LoomHarness, NoThinOwners>);
        MODEL.preemptions(2).check(leaked_levels_are_not_found_again::<LoomHarness, EagerDeflation>);
    }

    #[test]
    fn monitor_nests() {
        MODEL
            .preemptions(1)
            .check_containing(&[&["want", "unnest", "hand_over"]], || nests::<LoomHarness, EagerDeflation>(2, 2));
    }

    #[test]
    fn monitor_nests_beyond_the_word() {
        MODEL
            .preemptions(1)
            .check_containing(&[&["want", "inflate", "rouse"]], || nests::<LoomHarness, EagerDeflation>(2, 9));
    }

    #[test]
    fn monitor_latecomer_goes_away() {
        MODEL.preemptions(1).check_containing(&[&["deflate", "open", "stray"]], || {
            share_side_objects::<LoomHarness, NoThinOwners>(2, 2);
        });
    }

    #[test]
    fn monitor_latecomer_does_not_wait() {
        let model = MODEL.preemptions(2).reaching(&["stray", "retire"]);
        model.check(latecomer_does_not_wait::<LoomHarness, NoThinOwners>);
    }

    #[test]
    fn monitor_wait_restores_levels() {
        MODEL
            .preemptions(2)
            .check_containing(&[&["want", "inflate", "rouse"]], wait_restores_levels::<LoomHarness, EagerDeflation>);
    }

    #[test]
    fn monitor_pulse_meets_timeout() {
        let body = || pulse_meets_timeout::<LoomHarness, EagerDeflation>(1, 0, DEADLINE_NS);
        MODEL.expiring().preemptions(2).check_containing(&[&["withdraw", "summon"]], body);
    }

    #[test]
    fn monitor_pulses_all() {
        MODEL.preemptions(1).reaching(&["enlist"]).check(|| pulses_all::<LoomHarness, EagerDeflation>(2));
    }

    #[test]
    fn monitor_without_memory() {
        let model = MODEL.preemptions(1).reaching(&["sleep", "hand_over"]);
        model.check(|| manages_without_side_objects::<LoomHarness, EagerDeflation>(3));
    }

    #[test]
    fn monitor_is_freed_by_its_last_user() {
        MODEL
            .preemptions(1)
            .reaching(&["hand_over", "deflate", "stray"])
            .check(begun(|| freeing::<LoomHarness, Thin>(3)));
    }

    #[test]
    fn monitor_deflates_when_calm() {
        MODEL.reaching(&["inflate", "deflate"]).check(|| deflates_when_calm::<LoomHarness, EagerDeflation>(1));
    }
}

mod broad {
    use super::*;

    type Thin = <ScheduleHarness as MonitorHarness>::Monitor<EagerDeflation>;
    type Slow = <ScheduleHarness as MonitorHarness>::Monitor<Defaults>;
    type Fat = <ScheduleHarness as MonitorHarness>::Monitor<NoThinOwners>;

    /// The body, which begins with few side objects.
    fn begun(body: impl Fn() + Send + Sync + 'static) -> impl Fn() + Send + Sync + 'static {
        move || {
            ScheduleHarness::begin(8);
            body();
        }
    }

    #[test]
    fn monitor_excludes() {
        let seen = [["want", "hand_over", "enter", "close", "deflate"].as_slice(), &["hand_over", "pin", "unpin"]];
        SEARCH.check_containing(&seen, begun(|| exclusion::<ScheduleHarness, Thin>(5, 3)));
    }

    #[test]
    fn monitor_excludes_with_defaults() {
        SEARCH.check(begun(|| exclusion::<ScheduleHarness, Slow>(5, 3)));
    }

    #[test]
    fn monitor_excludes_without_numbers() {
        SEARCH.check(begun(|| exclusion::<ScheduleHarness, Fat>(5, 3)));
    }

    #[test]
    fn monitor_tries_disturb_nobody() {
        SEARCH.check(begun(|| tries::<ScheduleHarness, Thin>(5, 3)));
    }

    #[test]
    fn monitor_deadlines() {
        SEARCH.check(begun(|| timed::<ScheduleHarness, Thin>(5, 3, 3, SOON_NS)));
    }

    #[test]
    fn monitor_nests() {
        SEARCH.check(|| nests::<ScheduleHarness, EagerDeflation>(4, 3));
        SEARCH.check_containing(&[&["want", "inflate", "rouse"]], || nests::<ScheduleHarness, EagerDeflation>(3, 10));
    }

    #[test]
    fn monitor_latecomer_goes_away() {
        let seen = [["deflate", "open", "stray"].as_slice(), &["deflate", "open", "pin", "unpin"]];
        SEARCH.check_containing(&seen, || share_side_objects::<ScheduleHarness, NoThinOwners>(4, 4));
        SEARCH.check(|| share_side_objects::<ScheduleHarness, EagerDeflation>(4, 4));
    }

    #[test]
    fn monitor_latecomer_does_not_wait() {
        SEARCH.check(latecomer_does_not_wait::<ScheduleHarness, NoThinOwners>);
    }

    #[test]
    fn monitor_wait_restores_levels() {
        SEARCH.check(wait_restores_levels::<ScheduleHarness, EagerDeflation>);
        SEARCH.check(wait_restores_levels::<ScheduleHarness, NoThinOwners>);
    }

    #[test]
    fn monitor_pulse_meets_timeout() {
        let both = [["withdraw", "summon"].as_slice(), &["summon", "withdraw"]];
        SEARCH.check_containing(&both, || pulse_meets_timeout::<ScheduleHarness, EagerDeflation>(3, 2, SOON_NS));
    }

    #[test]
    fn monitor_pulses_in_order() {
        SEARCH.check(|| pulses_in_order::<ScheduleHarness, EagerDeflation>(4));
    }

    #[test]
    fn monitor_pulses_all() {
        SEARCH.check(|| pulses_all::<ScheduleHarness, EagerDeflation>(5));
    }

    #[test]
    fn monitor_without_memory() {
        SEARCH.check(|| manages_without_side_objects::<ScheduleHarness, EagerDeflation>(5));
    }

    #[test]
    fn monitor_is_freed_by_its_last_user() {
        SEARCH.check(begun(|| freeing::<ScheduleHarness, Thin>(5)));
    }

    #[test]
    fn monitor_misuse_is_refused() {
        SEARCH.check(misuse_is_refused::<ScheduleHarness, EagerDeflation>);
    }
}

mod hardware {
    use super::*;

    type Thin = <HardwareHarness as MonitorHarness>::Monitor<EagerDeflation>;
    type Slow = <HardwareHarness as MonitorHarness>::Monitor<Defaults>;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn soon_ns() -> u64 {
        Hardware::now_ns() + 200_000
    }

    #[test]
    fn monitor_excludes() {
        within(PATIENCE, "restless monitor", || exclusion::<HardwareHarness, Thin>(4, 20_000));
        within(PATIENCE, "monitor", || exclusion::<HardwareHarness, Slow>(8, 20_000));
    }

    #[test]
    fn monitor_latecomer_goes_away() {
        within(PATIENCE, "monitors", || {
            (0..2_000).for_each(|_| share_side_objects::<HardwareHarness, NoThinOwners>(4, 4))
        });
    }

    #[test]
    fn monitor_nests() {
        within(PATIENCE, "levels", || (0..1_000).for_each(|_| nests::<HardwareHarness, EagerDeflation>(4, 10)));
    }

    #[test]
    fn monitor_deadlines() {
        within(PATIENCE, "deadlines", || (0..500).for_each(|_| timed::<HardwareHarness, Thin>(4, 2, 20, soon_ns())));
    }

    #[test]
    fn monitor_pulse_meets_timeout() {
        let once = |_| pulse_meets_timeout::<HardwareHarness, EagerDeflation>(3, 2, soon_ns());
        within(PATIENCE, "pulses", || (0..500).for_each(once));
    }

    #[test]
    fn monitor_pulses_in_order() {
        within(PATIENCE, "order", || (0..50).for_each(|_| pulses_in_order::<HardwareHarness, EagerDeflation>(6)));
    }

    #[test]
    fn monitor_pulses_all() {
        within(PATIENCE, "all", || (0..500).for_each(|_| pulses_all::<HardwareHarness, EagerDeflation>(6)));
    }

    #[test]
    fn monitor_is_freed_by_its_last_user() {
        within(PATIENCE, "freeing", || (0..5_000).for_each(|_| freeing::<HardwareHarness, Thin>(4)));
    }

    #[test]
    fn monitor_misuse_is_refused() {
        misuse_is_refused::<HardwareHarness, EagerDeflation>();
    }

    #[test]
    fn monitor_deflates_when_calm() {
        deflates_when_calm::<HardwareHarness, EagerDeflation>(1);
        deflates_when_calm::<HardwareHarness, Defaults>(256);
    }
}
