//! The flagship in words without room for its counter: with two bits of it, and with none, so that a state word of
//! another time is met in a few acquisitions. What every compare-exchange then does is said in the header of
//! `ondeck.rs`, under "An equal word".

use crate::{DEADLINE_NS, MODEL, SEARCH, SOON_NS, SPINNING};
use ondeck_conformance::condvar::{timeouts_race_with_notifications, wakes_all_and_loses_none, wakes_all_at_once};
use ondeck_conformance::properties::{exclusion, freeing, freeing_timed, timed};
use ondeck_conformance::{Harness, LoomHarness, NO_COUNT, NarrowCounterHarness, NoYields, ScheduleHarness, TWO_BITS};
use ondeck_lineage::RawOndeck;

macro_rules! models {
    ($name:ident, $cut:ident) => {
        mod $name {
            use super::*;

            type NarrowLoom = NarrowCounterHarness<LoomHarness, $cut>;
            type Lock = RawOndeck<<NarrowLoom as Harness>::Platform, NoYields>;

            #[test]
            fn mutual_exclusion() {
                MODEL.reaching(&["nap", "rouse"]).check(|| exclusion::<NarrowLoom, Lock>(2, 2));
                MODEL.preemptions(2).reaching(&["nap", "rouse"]).check(|| exclusion::<NarrowLoom, Lock>(2, 4));
            }

            #[test]
            fn every_waiter_finishes() {
                MODEL.preemptions(2).reaching(&["call_up"]).check(|| exclusion::<NarrowLoom, Lock>(3, 1));
                SPINNING.reaching(&["pass_on", "accept"]).check(|| exclusion::<NarrowLoom, Lock>(3, 1));
            }

            #[test]
            fn deadlines() {
                let model = MODEL.expiring().preemptions(1).reaching(&["leave", "latch", "detach"]);
                model.check(|| timed::<NarrowLoom, Lock>(3, 2, 1, DEADLINE_NS));
                SPINNING
                    .expiring()
                    .reaching(&["pass", "leave"])
                    .check(|| timed::<NarrowLoom, Lock>(2, 1, 2, DEADLINE_NS));
            }

            #[test]
            fn free_after_release() {
                MODEL.preemptions(1).reaching(&["call_up"]).check(|| freeing::<NarrowLoom, Lock>(3));
                MODEL.expiring().preemptions(1).check(|| freeing_timed::<NarrowLoom, Lock>(3, DEADLINE_NS));
            }

            #[test]
            fn condvar() {
                MODEL.preemptions(1).reaching(&["enlist"]).check(|| wakes_all_and_loses_none::<NarrowLoom>(2, true));
                MODEL.preemptions(1).reaching(&["enlist"]).check(|| wakes_all_at_once::<NarrowLoom>(2));
                let timed = MODEL.expiring().preemptions(2).reaching(&["withdraw", "enlist"]);
                timed.check(|| timeouts_race_with_notifications::<NarrowLoom>(1, 0, DEADLINE_NS));
            }
        }
    };
}

models!(two_bits, TWO_BITS);
models!(no_count, NO_COUNT);

macro_rules! schedules {
    ($name:ident, $cut:ident) => {
        mod $name {
            use super::*;

            type NarrowLoom = NarrowCounterHarness<ScheduleHarness, $cut>;
            type Lock = RawOndeck<<NarrowLoom as Harness>::Platform, NoYields>;

            #[test]
            fn exclusion_and_deadlines() {
                SEARCH.check(|| exclusion::<NarrowLoom, Lock>(5, 5));
                SEARCH.check(|| timed::<NarrowLoom, Lock>(6, 4, 3, SOON_NS));
                SEARCH.check(|| freeing_timed::<NarrowLoom, Lock>(6, SOON_NS));
            }

            #[test]
            fn condvar() {
                SEARCH.check(|| wakes_all_and_loses_none::<NarrowLoom>(4, true));
                SEARCH.check(|| timeouts_race_with_notifications::<NarrowLoom>(3, 2, SOON_NS));
            }
        }
    };
}

mod broad {
    use super::*;

    schedules!(two_bits, TWO_BITS);
    schedules!(no_count, NO_COUNT);
}
