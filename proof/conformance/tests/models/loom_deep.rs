//! Models of the flagship that take minutes, deeper than those of `loom_ondeck.rs` and `loom_narrow.rs`; run by
//! `cargo test -p ondeck-conformance --test models loom_deep -- --ignored`.

use crate::{DEADLINE_NS, MODEL, SPINNING};
use ondeck_conformance::condvar::wakes_all_and_loses_none;
use ondeck_conformance::properties::{behind_a_holder, exclusion, freeing, freeing_timed, timed};
use ondeck_conformance::{
    Far, Harness, LoomHarness, LoomPlatform, Model, NO_COUNT, NarrowCounterHarness, NoYields, TWO_BITS,
};
use ondeck_lineage::RawOndeck;

type Lock = RawOndeck<LoomPlatform, NoYields>;

/// Two of four threads give up, with nothing before the race for the lock decided.
#[test]
#[ignore = "minutes: cargo test -p ondeck-conformance --test models loom_deep -- --ignored"]
fn two_of_four_give_up() {
    let model = Model { spurious_wakes: 0, ..MODEL.expiring().preemptions(2) };
    model.reaching(&["hand_down", "latch", "unlatch"]).check(|| timed::<LoomHarness, Lock>(4, 2, 1, DEADLINE_NS));
}

#[test]
#[ignore = "minutes: cargo test -p ondeck-conformance --test models loom_deep -- --ignored"]
fn r13_pass_to_the_only_sleeper() {
    let model = SPINNING.preemptions(2);
    model.check_containing(&[&["pass_on", "show_up"]], || exclusion::<LoomHarness, Lock>(3, 1));
}

#[test]
#[ignore = "minutes: cargo test -p ondeck-conformance --test models loom_deep -- --ignored"]
fn far_threads_beside_sleepers() {
    let model = Model { spurious_wakes: 0, ..MODEL.far(Far::EverySecond).preemptions(1) };
    let model = model.reaching(&["doze", "enqueue", "detach"]);
    model.check(|| behind_a_holder::<LoomHarness, Lock>(3, 0, DEADLINE_NS));
    model.expiring().check(|| behind_a_holder::<LoomHarness, Lock>(3, 1, DEADLINE_NS));
}

#[test]
#[ignore = "minutes: cargo test -p ondeck-conformance --test models loom_deep -- --ignored"]
fn far_threads() {
    let model = MODEL.far(Far::Everybody).preemptions(2).reaching(&["doze"]);
    model.check(|| freeing::<LoomHarness, Lock>(3));
    model.expiring().check(|| freeing_timed::<LoomHarness, Lock>(3, DEADLINE_NS));
    model.reaching(&["send_alone"]).check(|| wakes_all_and_loses_none::<LoomHarness>(2, true));
}

macro_rules! narrow {
    ($name:ident, $cut:ident) => {
        #[test]
        #[ignore = "minutes: cargo test -p ondeck-conformance --test models loom_deep -- --ignored"]
        fn $name() {
            type NarrowLoom = NarrowCounterHarness<LoomHarness, $cut>;
            type Lock = RawOndeck<<NarrowLoom as Harness>::Platform, NoYields>;

            MODEL.check(|| exclusion::<NarrowLoom, Lock>(3, 1));
            MODEL.expiring().preemptions(2).check(|| timed::<NarrowLoom, Lock>(3, 2, 1, DEADLINE_NS));
            MODEL.expiring().preemptions(2).check(|| freeing_timed::<NarrowLoom, Lock>(3, DEADLINE_NS));
            SPINNING.preemptions(2).check(|| exclusion::<NarrowLoom, Lock>(2, 4));
        }
    };
}

narrow!(narrow_with_two_bits, TWO_BITS);
narrow!(narrow_without_count, NO_COUNT);
