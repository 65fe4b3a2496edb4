//! The flagship under loom: its promises, and the races that its design must survive, each by name.
//!
//! A race is a model that must contain it: the steps are given in the order in which some execution has to take them,
//! else the test fails as decoration. The numbers are those of the list in `src/races.rs`, which also says which races
//! need more threads (those are in `schedule.rs`) or no model at all, and which do not exist in this design. All models end with the lock at rest, and all but those that
//! say otherwise let one wait end for no reason.
//!
//! `MODEL` does not spin: waiters nap or sleep at once, and time stands. `SPINNING` waits and polls; each reading of the
//! tick counter may leap beyond every patience, so that asking, passing and napping happen at every moment
//! and not at all. Its executions are long, so its preemptions are few.

use crate::{DEADLINE_NS, MODEL, SPINNING};
use ondeck_conformance::properties::{
    behind_a_holder, exclusion, freeing, freeing_timed, outlived, timed, tried_meanwhile, tries,
};
use ondeck_conformance::{Far, LoomHarness, LoomPlatform, Model, NoYields, Time};
use ondeck_lineage::RawOndeck;

type Lock = RawOndeck<LoomPlatform, NoYields>;

#[test]
fn mutual_exclusion() {
    MODEL.reaching(&["nap", "rise", "rouse", "take"]).check(|| exclusion::<LoomHarness, Lock>(2, 2));
}

#[test]
fn mutual_exclusion_spinning() {
    let model = SPINNING.preemptions(3).reaching(&["accept", "call_up"]);
    model.check(|| exclusion::<LoomHarness, Lock>(2, 2));
}

/// And R02: the deck takes the lock before and after an arrival grabs it.
#[test]
fn every_waiter_finishes() {
    let both = [["claim", "take", "grab"].as_slice(), &["claim", "grab", "take"]];
    let model = MODEL.reaching(&["call_up", "detach", "show_up"]);
    model.check_containing(&both, || exclusion::<LoomHarness, Lock>(3, 1));
}

/// Four threads: one at bat, one on deck, two in the dugout.
#[test]
fn every_waiter_finishes_in_a_crowd() {
    let model = Model { spurious_wakes: 0, ..MODEL.preemptions(1) };
    model.check_containing(&[&["call_up", "detach", "show_up"]], || {
        behind_a_holder::<LoomHarness, Lock>(3, 0, DEADLINE_NS)
    });
}

/// The links that a caller has edited reach the next to hold the latch, whom no other edge leads there.
#[test]
fn edited_links_reach_a_canceller() {
    let model = Model { spurious_wakes: 0, ..MODEL.expiring().preemptions(1) };
    let model = model.reaching(&["call_up", "detach", "latch"]);
    model.check(|| behind_a_holder::<LoomHarness, Lock>(3, 1, DEADLINE_NS));
}

/// A pass is accepted while its giver still calls a sleeper. Time leaps by less than a patience, so that the deck looks
/// more than once.
#[test]
fn pass_is_accepted_during_a_call() {
    let model = Model { spurious_wakes: 0, ..MODEL.spinning(Time::Leaps(15_000)).preemptions(1) };
    let body = || behind_a_holder::<LoomHarness, Lock>(2, 0, DEADLINE_NS);
    model.check_containing(&[&["pass_on", "accept", "detach"]], body);
}

#[test]
fn tries_disturb_nobody() {
    MODEL.preemptions(2).reaching(&["rouse", "call_up"]).check(|| tries::<LoomHarness, Lock>(3, 1));
}

/// A lock that was given to somebody asleep is not taken back.
#[test]
fn nap_is_ended_by_a_pass() {
    let model = Model { time: Time::MayLeap(1_000_000), ..MODEL.preemptions(1) };
    model.check_containing(&[&["nap", "pass", "accept"]], || exclusion::<LoomHarness, Lock>(3, 1));
}

/// A lock that is released again and again between two looks of the deck: time hardly passes.
#[test]
fn captured_lock_is_left_to_its_holder() {
    let slow = Time::MayLeap(1_000);
    let model = MODEL.spinning(slow).preemptions(1).reaching(&["claim", "take"]);
    model.check(|| exclusion::<LoomHarness, Lock>(2, 3));
}

#[test]
fn r01_deck_leaves_while_the_lock_is_released() {
    let both = [["leave", "vacate"].as_slice(), &["vacate", "leave"]];
    MODEL.expiring().preemptions(2).check_containing(&both, || timed::<LoomHarness, Lock>(2, 1, 2, DEADLINE_NS));
}

/// And R13, the last: a pass to the only sleeper.
#[test]
fn r03_request_meets_release() {
    let all = [
        ["ask", "vacate", "take"].as_slice(),
        &["ask", "vacate", "grab"],
        &["ask", "pass", "accept"],
        &["pass_on", "show_up"],
    ];
    SPINNING.check_containing(&all, || exclusion::<LoomHarness, Lock>(3, 1));
}

#[test]
fn r04_pass_meets_deadline() {
    let body = || timed::<LoomHarness, Lock>(2, 1, 2, DEADLINE_NS);
    SPINNING.expiring().check_containing(&[&["pass", "accept"]], body);
}

#[test]
fn r09_canceller_holds_the_latch_while_the_lock_is_released() {
    let released = ["latch", "vacate", "detach"].as_slice();
    MODEL.expiring().check_containing(&[released], || timed::<LoomHarness, Lock>(3, 1, 1, DEADLINE_NS));
}

#[test]
fn r10_last_sleeper_cancels_after_a_request() {
    let body = || timed::<LoomHarness, Lock>(3, 2, 1, DEADLINE_NS);
    SPINNING.expiring().check_containing(&[&["ask", "latch", "detach"]], body);
}

/// An occupant out of time leaves, and the holder calls in its place. And R08: a sleeper cancels after it has been called.
#[test]
fn r15_called_after_the_deadline() {
    let both = [["leave", "call_up", "show_up"].as_slice(), &["latch", "unlatch", "show_up"]];
    MODEL.expiring().preemptions(2).check_containing(&both, || timed::<LoomHarness, Lock>(3, 2, 1, DEADLINE_NS));
}

/// A thread that ends in the dugout leaves the list, or the seat that it is called to; and passes on a lock that it
/// gets there.
#[test]
fn a_thread_ends_in_the_dugout() {
    let model = Model { spurious_wakes: 0, ..MODEL.ending().preemptions(2) };
    let all = [["latch", "detach"].as_slice(), &["latch", "unlatch", "show_up", "take", "vacate"]];
    model.check_containing(&all, || outlived::<LoomHarness, Lock>(2));
    model.preemptions(1).check_containing(&[&["show_up", "leave"]], || outlived::<LoomHarness, Lock>(3));
}

/// The same in its nap on deck, while somebody sleeps whom nobody else would call.
#[test]
fn a_thread_ends_in_its_nap() {
    let all = [
        ["nap", "rise", "leave", "call_up"].as_slice(),
        &["nap", "rise", "take", "call_up"],
        &["nap", "pass", "accept"],
    ];
    let model = Model { time: Time::MayLeap(1_000_000), ..MODEL.ending().preemptions(1) };
    model.check_containing(&all, || outlived::<LoomHarness, Lock>(2));
}

/// Twice as many waits that end for no reason as in the other models.
#[test]
fn r16_spurious_wakes() {
    let model = Model { spurious_wakes: 2, ..MODEL.preemptions(2) };
    model.check_containing(&[&["nap", "rise", "nap"]], || exclusion::<LoomHarness, Lock>(3, 1));
}

#[test]
fn r17_free_after_release() {
    MODEL.preemptions(2).reaching(&["rouse", "call_up"]).check(|| freeing::<LoomHarness, Lock>(3));
}

#[test]
fn r17_free_after_release_spinning() {
    SPINNING.reaching(&["pass", "pass_on"]).check(|| freeing::<LoomHarness, Lock>(3));
}

#[test]
fn r17_free_after_giving_up() {
    let model = MODEL.expiring().preemptions(2).reaching(&["latch", "leave"]);
    model.check(|| freeing_timed::<LoomHarness, Lock>(3, DEADLINE_NS));
}

/// A release that looks before it writes, as on Arm: what it then writes is all that the next holder has of the section.
mod far_atomics {
    use super::*;

    const LOOKING: Model = MODEL.far_atomics();

    #[test]
    fn mutual_exclusion() {
        LOOKING.reaching(&["rouse", "vacate"]).check(|| exclusion::<LoomHarness, Lock>(2, 2));
    }

    /// Somebody takes the lock between its release and the end of the call.
    #[test]
    fn lock_is_taken_during_a_call() {
        let calls = Model { spurious_wakes: 0, ..LOOKING.preemptions(1) };
        calls.check_containing(&[&["call_up", "grab", "detach"]], || tried_meanwhile::<LoomHarness, Lock>(2));
    }

    #[test]
    fn pass_is_accepted_during_a_call() {
        let model = Model { spurious_wakes: 0, ..LOOKING.spinning(Time::Leaps(15_000)).preemptions(1) };
        let body = || behind_a_holder::<LoomHarness, Lock>(2, 0, DEADLINE_NS);
        model.check_containing(&[&["pass_on", "accept", "detach"]], body);
    }

    #[test]
    fn room_is_left() {
        LOOKING.check_containing(&[&["make_room", "vacate"]], || exclusion::<LoomHarness, Lock>(3, 1));
    }
}

/// Threads whose stacks are beyond what the word can hold, so that they look in instead of sleeping in the dugout. Beside
/// sleepers they are in `loom_deep.rs`, since that takes four threads, and in `schedule.rs`.
mod far {
    use super::*;

    const ALL: Model = MODEL.far(Far::Everybody).reaching(&["doze"]);

    #[test]
    fn mutual_exclusion() {
        ALL.preemptions(2).check(|| exclusion::<LoomHarness, Lock>(3, 1));
    }

    #[test]
    fn mutual_exclusion_spinning() {
        let spinning = Model { may_spin: true, time: Time::MayLeap(1_000_000), ..ALL.preemptions(1) };
        spinning.check(|| exclusion::<LoomHarness, Lock>(3, 1));
    }

    #[test]
    fn deadlines() {
        ALL.expiring().preemptions(1).check(|| timed::<LoomHarness, Lock>(3, 2, 1, DEADLINE_NS));
        ALL.expiring().preemptions(1).check(|| timed::<LoomHarness, Lock>(3, 1, 2, DEADLINE_NS));
    }

    /// A deadline that comes before the next rotation is not slept over.
    #[test]
    fn deadline_before_the_next_look() {
        ALL.expiring().preemptions(1).check(|| {
            timed::<LoomHarness, Lock>(3, 3, 1, 1_000);
            assert!(LoomPlatform::longest_nap_ns() < 1_000, "a nap goes on after the deadline");
        });
    }

    #[test]
    fn free_after_release() {
        ALL.preemptions(1).check(|| freeing::<LoomHarness, Lock>(3));
    }

    #[test]
    fn free_after_giving_up() {
        ALL.expiring().preemptions(1).check(|| freeing_timed::<LoomHarness, Lock>(3, DEADLINE_NS));
    }
}
