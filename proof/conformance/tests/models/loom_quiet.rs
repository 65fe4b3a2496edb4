//! The quiet lock: released by a look and a store, between which whoever asks something must get it expelled. What makes that
//! right is said in the header of `quiet.rs`.
//!
//! The counter has one bit, so that a lock is quiet after two releases; each model begins with a quiet one.

use crate::{DEADLINE_NS, MODEL, SEARCH, SOON_NS, SPINNING};
use ondeck_conformance::condvar::{timeouts_race_with_notifications, wakes_all_and_loses_none, wakes_all_at_once};
use ondeck_conformance::properties::{exclusion, freeing, freeing_timed, outlived, timed, tries};
use ondeck_conformance::{Far, Harness, LoomHarness, NarrowCounterHarness, NoYields, ONE_BIT, ScheduleHarness};
use ondeck_lineage::RawOndeck;

type Quiet<H> = NarrowCounterHarness<H, ONE_BIT, true>;
type Lock<H> = RawOndeck<<Quiet<H> as Harness>::Platform, NoYields>;

mod loom {
    use super::*;

    type H = Quiet<LoomHarness>;
    type L = Lock<LoomHarness>;

    /// A knock is undone by a store that was under way; found by the release; and settled, which ends in a nap.
    #[test]
    fn mutual_exclusion() {
        let all = [
            ["slip", "knock", "grab"].as_slice(),
            &["knock", "slip", "vacate"],
            &["knock", "expel", "settle", "claim", "nap", "rouse"],
            &["vacate", "hush", "slip"],
        ];
        MODEL.check_containing(&all, || exclusion::<H, L>(2, 2));
    }

    #[test]
    fn every_waiter_finishes() {
        let reach = MODEL.preemptions(2).reaching(&["settle", "nap", "call_up", "enqueue"]);
        reach.check(|| exclusion::<H, L>(3, 1));
        SPINNING.reaching(&["settle", "pass_on", "accept"]).check(|| exclusion::<H, L>(3, 1));
    }

    #[test]
    fn tries_disturb_nobody() {
        MODEL.preemptions(2).reaching(&["slip", "settle"]).check(|| tries::<H, L>(3, 1));
    }

    #[test]
    fn deadlines() {
        let model = MODEL.expiring().preemptions(2).reaching(&["settle", "leave", "slip"]);
        model.check(|| timed::<H, L>(2, 1, 2, DEADLINE_NS));
        MODEL.expiring().preemptions(1).reaching(&["latch", "detach"]).check(|| timed::<H, L>(3, 2, 1, DEADLINE_NS));
    }

    #[test]
    fn a_thread_ends_in_its_nap() {
        MODEL.ending().preemptions(1).reaching(&["nap", "settle"]).check(|| outlived::<H, L>(2));
    }

    #[test]
    fn free_after_release() {
        MODEL.preemptions(2).reaching(&["slip", "rouse"]).check(|| freeing::<H, L>(3));
        MODEL.expiring().preemptions(1).reaching(&["slip"]).check(|| freeing_timed::<H, L>(3, DEADLINE_NS));
    }

    /// Those who cannot knock look in.
    #[test]
    fn far() {
        let far = MODEL.far(Far::Everybody).preemptions(2).reaching(&["doze", "make_room"]);
        far.check(|| exclusion::<H, L>(2, 2));
        MODEL.far(Far::EverySecond).preemptions(1).reaching(&["doze", "settle"]).check(|| exclusion::<H, L>(3, 1));
    }

    #[test]
    fn condvar() {
        MODEL.preemptions(1).reaching(&["settle", "enlist"]).check(|| wakes_all_and_loses_none::<H>(2, true));
        MODEL.preemptions(1).reaching(&["settle", "enlist"]).check(|| wakes_all_at_once::<H>(2));
        MODEL.preemptions(2).reaching(&["settle", "invite"]).check(|| wakes_all_and_loses_none::<H>(1, false));
        let timed = MODEL.expiring().preemptions(2).reaching(&["withdraw", "enlist"]);
        timed.check(|| timeouts_race_with_notifications::<H>(1, 0, DEADLINE_NS));
    }
}

mod broad {
    use super::*;

    type H = Quiet<ScheduleHarness>;
    type L = Lock<ScheduleHarness>;

    #[test]
    fn exclusion_and_deadlines() {
        let all = [["slip", "knock", "settle"].as_slice(), &["settle", "hush", "slip"]];
        SEARCH.check_containing(&all, || exclusion::<H, L>(5, 5));
        SEARCH.check_containing(&all, || timed::<H, L>(6, 4, 3, SOON_NS));
        SEARCH.check(|| freeing_timed::<H, L>(6, SOON_NS));
    }

    #[test]
    fn condvar() {
        SEARCH.check_containing(&[&["settle", "enlist"]], || wakes_all_and_loses_none::<H>(4, true));
        SEARCH.check(|| timeouts_race_with_notifications::<H>(3, 2, SOON_NS));
    }
}
