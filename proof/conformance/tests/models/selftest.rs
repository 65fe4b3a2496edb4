//! The check of the checks: every fault of the faulty lock is noticed by the property that is for it, and the same lock
//! without a fault passes all of them.
//!
//! A faulty lock is run in a child process, because a deadlock inside loom aborts.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_conformance::child::test_in_child;
use ondeck_conformance::faulty_lock::{Fault, FaultChoice, FaultyLock};
use ondeck_conformance::properties::{exclusion, freeing, timed, tries};
use ondeck_conformance::{Harness, Job, LoomHarness, LoomPlatform, Model, NarrowCounterHarness, TWO_BITS, Time};
use ondeck_conformance::{Schedule, ScheduleHarness, SchedulePlatform};
use ondeck_core::{Atomic, Platform};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The faulty lock under loom and under random schedules.
type Small<S> = FaultyLock<LoomPlatform, S>;
type Broad<S> = FaultyLock<SchedulePlatform, S>;

const SEARCH: Schedule = Schedule { executions: 2_000 };

struct Healthy;

impl FaultChoice for Healthy {
    const FAULT: Fault = Fault::None;
}

#[test]
fn healthy_passes_loom() {
    Model::new().check(|| exclusion::<LoomHarness, Small<Healthy>>(2, 2));
    Model::new().check(|| exclusion::<LoomHarness, Small<Healthy>>(3, 1));
    Model::new().check(|| tries::<LoomHarness, Small<Healthy>>(2, 2));
    Model::new().check(|| freeing::<LoomHarness, Small<Healthy>>(3));
    Model::new().expiring().check(|| timed::<LoomHarness, Small<Healthy>>(3, 2, 1, Model::deadline_ns()));
}

#[test]
fn healthy_passes_schedules() {
    SEARCH.check(|| exclusion::<ScheduleHarness, Broad<Healthy>>(5, 3));
    SEARCH.check(|| tries::<ScheduleHarness, Broad<Healthy>>(4, 3));
    SEARCH.check(|| freeing::<ScheduleHarness, Broad<Healthy>>(6));
    SEARCH.check(|| timed::<ScheduleHarness, Broad<Healthy>>(5, 3, 2, 1 << 20));
}

/// The model's own choices are choices for every thread, whatever the schedule.
#[test]
fn coins_have_two_sides_for_every_thread() {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let seen_inside = seen.clone();
    Model::new().spinning(Time::MayLeap(100)).preemptions(0).check(move || {
        let job = |name: &'static str| {
            let seen = seen_inside.clone();
            Box::new(move || {
                let (before, after) = (LoomPlatform::ticks(), LoomPlatform::ticks());
                seen.lock().expect("nobody panics while holding it").insert((name, after - before));
            }) as Job
        };
        LoomHarness::run(vec![job("spawned"), job("first")]);
    });
    let all = BTreeSet::from([("first", 0), ("first", 100), ("spawned", 0), ("spawned", 100)]);
    assert_eq!(*seen.lock().expect("nobody panics while holding it"), all);
}

/// A reader that takes an equal count for the same time, while a writer comes and goes `releases` times.
fn trusts_the_count<H: Harness>(releases: u32) {
    const LOCKED: u64 = 1 << 62;
    const RELEASE: u64 = LOCKED | 1 << 52;
    let word = Arc::new((<H::Platform as Platform>::U64::new(0), <H::Platform as Platform>::U32::new(0)));
    let (written, read) = (word.clone(), word.clone());
    let write = Box::new(move || {
        for _ in 0..releases {
            written.0.fetch_or(LOCKED, Relaxed);
            written.1.fetch_add(1, Relaxed);
            // Full, the counter carries into the flag.
            if written.0.fetch_add(RELEASE, Release).wrapping_add(RELEASE) & LOCKED != 0 {
                written.0.fetch_and(!LOCKED, Release);
            }
        }
    });
    let look = Box::new(move || {
        let before = read.0.fetch_or(0, Acquire);
        let data = [read.1.load(Relaxed), read.1.load(Relaxed)];
        if before & LOCKED == 0 && read.0.compare_exchange(before, before, Acquire, Relaxed).is_ok() {
            assert_eq!(data[0], data[1], "a word of another time");
        }
    });
    H::run(vec![write as Job, look]);
}

/// A narrow word comes round: four releases are seen with ten bits of a counter, and not with two.
#[test]
fn narrow_words_come_round() {
    Model::new().check(|| trusts_the_count::<LoomHarness>(4));
    Model::new().check(|| trusts_the_count::<NarrowCounterHarness<LoomHarness, TWO_BITS>>(3));
}

mod narrow_counter {
    use super::*;

    #[test]
    #[ignore = "must fail; run by `is_noticed` in a child process"]
    fn child() {
        Model::new().check(|| trusts_the_count::<NarrowCounterHarness<LoomHarness, TWO_BITS>>(4));
    }

    #[test]
    fn is_noticed() {
        let output = test_in_child(module_path!(), "child").output().expect("the child starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains("a word of another time"), "it has not come round:\n{text}");
    }
}

/// A model that no longer takes the step that it is there for fails.
#[test]
#[should_panic = "no execution takes these steps: [\"retire\"]"]
fn a_step_that_is_not_reached_is_noticed() {
    let model = Model::new().reaching(&["grab", "retire"]);
    model.check(|| exclusion::<LoomHarness, ondeck_lineage::RawOndeck<LoomPlatform>>(2, 1));
}

/// `noticed!(name, Fault, "what the failing child prints", body)`: two tests, of which the child's must fail.
macro_rules! noticed {
    ($name:ident, $fault:ident, $message:literal, $body:expr) => {
        mod $name {
            use super::*;

            struct Faulty;

            impl FaultChoice for Faulty {
                const FAULT: Fault = Fault::$fault;
            }

            #[test]
            #[ignore = "must fail; run by `is_noticed` in a child process"]
            fn child() {
                $body
            }

            #[test]
            fn is_noticed() {
                let output = test_in_child(module_path!(), "child").output().expect("the child starts");
                let text = String::from_utf8_lossy(&output.stderr);
                assert!(!output.status.success(), "{:?} was not noticed", Fault::$fault);
                assert!(text.contains($message), "{:?} failed in another way:\n{text}", Fault::$fault);
                assert!(text.contains("reproduce: "), "no line that reproduces:\n{text}");
            }
        }
    };
}

noticed!(loom_test_then_set, TestThenSet, "Causality violation", {
    Model::new().check(|| exclusion::<LoomHarness, Small<Faulty>>(2, 1));
});

noticed!(loom_relaxed_release, RelaxedRelease, "Causality violation", {
    Model::new().check(|| exclusion::<LoomHarness, Small<Faulty>>(2, 1));
});

noticed!(loom_relaxed_acquire, RelaxedAcquire, "Causality violation", {
    Model::new().check(|| exclusion::<LoomHarness, Small<Faulty>>(2, 1));
});

noticed!(loom_relaxed_slow_acquire, RelaxedSlowAcquire, "Causality violation", {
    Model::new().check(|| exclusion::<LoomHarness, Small<Faulty>>(2, 1));
});

noticed!(loom_look_then_release, LookThenRelease, "deadlock", {
    Model::new().check(|| exclusion::<LoomHarness, Small<Faulty>>(2, 1));
});

// Needs three threads: with two there are no others to forget.
noticed!(loom_forgets_others, ForgetsOthers, "deadlock", {
    Model::new().check(|| exclusion::<LoomHarness, Small<Faulty>>(3, 1));
});

noticed!(loom_looks_after_release, LooksAfterRelease, "Causality violation", {
    Model::new().check(|| freeing::<LoomHarness, Small<Faulty>>(2));
});

noticed!(loom_claims_after_timeout, ClaimsAfterTimeout, "Causality violation", {
    Model::new().expiring().check(|| timed::<LoomHarness, Small<Faulty>>(2, 1, 1, Model::deadline_ns()));
});

noticed!(loom_marks_on_failed_try, MarksOnFailedTry, "a flag is left", {
    Model::new().check(|| tries::<LoomHarness, Small<Faulty>>(2, 1));
});

noticed!(schedule_test_then_set, TestThenSet, "two threads are inside", {
    SEARCH.check(|| exclusion::<ScheduleHarness, Broad<Faulty>>(4, 1));
});

noticed!(schedule_look_then_release, LookThenRelease, "deadlock", {
    SEARCH.check(|| exclusion::<ScheduleHarness, Broad<Faulty>>(4, 2));
});

noticed!(schedule_forgets_others, ForgetsOthers, "deadlock", {
    SEARCH.check(|| exclusion::<ScheduleHarness, Broad<Faulty>>(4, 2));
});

noticed!(schedule_looks_after_release, LooksAfterRelease, "after the end of its life", {
    SEARCH.check(|| freeing::<ScheduleHarness, Broad<Faulty>>(4));
});

noticed!(schedule_claims_after_timeout, ClaimsAfterTimeout, "two threads are inside", {
    SEARCH.check(|| timed::<ScheduleHarness, Broad<Faulty>>(4, 2, 1, 1 << 20));
});

noticed!(schedule_crowd_polls, CrowdPolls, "poll the word", {
    let report = SEARCH.check(|| exclusion::<ScheduleHarness, Broad<Faulty>>(4, 1));
    assert!(report.pollers <= 1, "reproduce: {} threads poll the word at once", report.pollers);
});
