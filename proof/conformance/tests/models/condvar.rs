//! The flagship's condition variable under loom, under random schedules, and on real threads. The race R24 of
//! `src/races.rs`, a waiter that is put into the dugout of a lock by somebody else, is in all of them.

use crate::{DEADLINE_NS, MODEL, SEARCH, SOON_NS, SPINNING};
use ondeck_conformance::condvar::{
    outsiders_acquire_by_themselves, timeouts_race_with_notifications, waits_for_no_thread_without_a_core,
    wakes_all_and_loses_none, wakes_all_at_once, wakes_nobody_into_the_lock,
};
use ondeck_conformance::{Far, HardwareHarness, LoomHarness, Model, ScheduleHarness, within};
use ondeck_core::{Hardware, Platform};
use std::time::Duration;

/// What wakes a waiter whose node is near, and one wherever it is.
const NEAR: &[&str] = &["invite", "send_alone"];
const ALL: &[&str] = &["invite"];

const PATIENCE: Duration = Duration::from_secs(60);

mod small {
    use super::*;

    #[test]
    fn condvar_wakes_all_and_loses_none() {
        let calls = MODEL.reaching(&["enlist", "call_up", "show_up"]);
        calls.check(|| wakes_all_and_loses_none::<LoomHarness>(1, true));
        let invites = MODEL.reaching(&["invite", "show_up"]);
        invites.check(|| wakes_all_and_loses_none::<LoomHarness>(1, false));
        let enlists = MODEL.preemptions(1).reaching(&["enlist", "call_up"]);
        enlists.check(|| wakes_all_and_loses_none::<LoomHarness>(2, true));
        enlists.check(|| wakes_all_and_loses_none::<LoomHarness>(2, false));
        SPINNING.reaching(&["enlist", "pass"]).check(|| wakes_all_and_loses_none::<LoomHarness>(1, true));
    }

    #[test]
    fn condvar_wakes_nobody_into_the_lock() {
        MODEL.reaching(&["enlist"]).check(|| wakes_nobody_into_the_lock::<LoomHarness>(1, NEAR));
        MODEL.preemptions(1).reaching(&["enlist"]).check(|| wakes_nobody_into_the_lock::<LoomHarness>(2, NEAR));
    }

    #[test]
    fn condvar_wakes_all_at_once() {
        let moved = ["summon", "summon", "enlist", "enlist"].as_slice();
        MODEL.preemptions(1).check_containing(&[moved], || wakes_all_at_once::<LoomHarness>(2));
    }

    #[test]
    fn condvar_timeouts_race_with_notifications() {
        let body = || timeouts_race_with_notifications::<LoomHarness>(1, 0, DEADLINE_NS);
        MODEL.expiring().check_containing(&[&["withdraw", "summon"]], body);
    }

    #[test]
    fn condvar_waits_for_no_thread_without_a_core() {
        let model = MODEL.preemptions(1);
        model.reaching(&["invite", "send_alone"]).check(|| waits_for_no_thread_without_a_core::<LoomHarness>(1, false));
        model.reaching(&["hurry", "latch"]).check(|| waits_for_no_thread_without_a_core::<LoomHarness>(1, true));
    }

    #[test]
    fn condvar_outsiders_acquire_by_themselves() {
        let alone = MODEL.reaching(&["send_alone"]);
        alone.check(|| outsiders_acquire_by_themselves::<LoomHarness>(0, 1, true));
        alone.check(|| outsiders_acquire_by_themselves::<LoomHarness>(0, 1, false));
        let mixed = MODEL.preemptions(1).reaching(&["send_alone", "enlist"]);
        mixed.check(|| outsiders_acquire_by_themselves::<LoomHarness>(1, 1, true));
    }
}

/// Waiters whose records are beyond what a word can hold: all, or every second.
mod far {
    use super::*;

    const ALL: Model = MODEL.far(Far::Everybody).reaching(&["send_alone"]);
    const SOME: Model = MODEL.far(Far::EverySecond).reaching(&["send_alone", "enlist"]);

    #[test]
    fn condvar_wakes_all_and_loses_none() {
        ALL.preemptions(1).check(|| wakes_all_and_loses_none::<LoomHarness>(2, true));
    }

    #[test]
    fn condvar_wakes_all_at_once() {
        ALL.preemptions(2).check(|| wakes_all_at_once::<LoomHarness>(2));
        SOME.preemptions(1).check(|| wakes_all_at_once::<LoomHarness>(3));
    }

    #[test]
    fn condvar_timeouts_race_with_notifications() {
        let body = || timeouts_race_with_notifications::<LoomHarness>(1, 1, DEADLINE_NS);
        ALL.expiring().preemptions(1).check(body);
    }
}

mod broad {
    use super::*;

    #[test]
    fn condvar_wakes_all_and_loses_none() {
        SEARCH.check_containing(&[&["send_alone"]], || wakes_all_and_loses_none::<ScheduleHarness>(4, true));
        SEARCH.check(|| wakes_all_and_loses_none::<ScheduleHarness>(4, false));
    }

    #[test]
    fn condvar_wakes_nobody_into_the_lock() {
        SEARCH.check_containing(&[&["enlist", "enlist"]], || wakes_nobody_into_the_lock::<ScheduleHarness>(4, ALL));
    }

    #[test]
    fn condvar_wakes_all_at_once() {
        SEARCH.check_containing(&[&["send_alone", "enlist"]], || wakes_all_at_once::<ScheduleHarness>(6));
    }

    #[test]
    fn condvar_timeouts_race_with_notifications() {
        let both = [["withdraw", "summon"].as_slice(), &["summon", "withdraw"], &["withdraw", "send_alone"]];
        SEARCH.check_containing(&both, || timeouts_race_with_notifications::<ScheduleHarness>(3, 2, SOON_NS));
    }

    #[test]
    fn condvar_waits_for_no_thread_without_a_core() {
        SEARCH.check(|| waits_for_no_thread_without_a_core::<ScheduleHarness>(3, true));
        SEARCH.check(|| waits_for_no_thread_without_a_core::<ScheduleHarness>(3, false));
    }

    #[test]
    fn condvar_outsiders_acquire_by_themselves() {
        let mixed = [["enlist", "send_alone"].as_slice(), &["send_alone", "enlist"], &["send_alone", "invite"]];
        SEARCH.check_containing(&mixed, || outsiders_acquire_by_themselves::<ScheduleHarness>(2, 2, true));
        SEARCH.check(|| outsiders_acquire_by_themselves::<ScheduleHarness>(3, 1, false));
    }
}

mod hardware {
    use super::*;
    use ondeck_lineage::ondeck::RawCondvar;
    use ondeck_lineage::{RawLock, RawOndeck};

    /// The thread that destroys a condition variable asks it this.
    #[test]
    fn condvar_knows_whether_anybody_waits() {
        let (mutex, changed) = (RawOndeck::<Hardware>::new(), RawCondvar::<Hardware>::new());
        // Twice, as the look leaves nothing behind.
        assert!(changed.is_idle() && changed.is_idle());
        let wait = || {
            mutex.acquire();
            // SAFETY: acquired.
            let is_notified = unsafe { changed.wait(&mutex, None) };
            // SAFETY: acquired by the wait.
            unsafe { mutex.release() };
            is_notified
        };
        within(PATIENCE, "condvar", || {
            std::thread::scope(|scope| {
                let waiter = scope.spawn(wait);
                while changed.is_idle() {
                    Hardware::yield_now();
                }
                assert!(changed.notify_one() && changed.is_idle());
                assert!(waiter.join().expect("the waiter does not panic"));
            });
        });
    }

    #[test]
    fn condvar_wakes_all_and_loses_none() {
        let body = || (0..200).for_each(|round| wakes_all_and_loses_none::<HardwareHarness>(4, round % 2 == 0));
        within(PATIENCE, "condvar", body);
    }

    #[test]
    fn condvar_timeouts_race_with_notifications() {
        let once = |_| timeouts_race_with_notifications::<HardwareHarness>(3, 2, Hardware::now_ns() + 200_000);
        within(PATIENCE, "condvar", || (0..200).for_each(once));
    }

    #[test]
    fn condvar_outsiders_acquire_by_themselves() {
        let once = |round| outsiders_acquire_by_themselves::<HardwareHarness>(2, 2, round % 2 == 0);
        within(PATIENCE, "condvar", || (0..200).for_each(once));
    }
}
