//! Of every word that can occur, with every answer that clock and system may give: what must hold of each plan.

use super::super::dugout::seen::NAPS;
use super::super::state::ROOM;
use super::*;
use core::cell::Cell;

/// Whether the invariants of the header allow this word: I2, I4, I6, and that whoever asks, naps or is passed the
/// lock has a seat or is being called to one.
fn can_occur(state: State) -> bool {
    let implies = |this: u64, that: bool| !state.has(this) || that;
    let somebody_acts = state.has(DECK | LATCHED);
    (!state.has_sleepers() || state.has(LOCKED) || somebody_acts)
        && implies(FLIGHT | SECOND, state.has(DECK))
        && implies(FAIR | NAPPING, state.is_anybody_up())
        && implies(LATCHED, state.has_sleepers() || state.has(FLIGHT))
        && implies(PASSED, state.has(LOCKED) && somebody_acts)
}

/// Every combination of flags that can occur, with and without a sleeper.
fn all() -> impl Iterator<Item = State> {
    let flags = (0..1u64 << 11).map(|bits| ((bits & 0x1ff) << 42) | ((bits >> 9 & 1) * LOCKED) | ((bits >> 10) * RUSH));
    let all = flags.flat_map(|flags| [State(flags), State(flags | 0x1234)]);
    all.filter(|state| can_occur(*state))
}

/// Answers to questions, by their number; and which of them were asked.
struct Answers {
    yes: u32,
    asked: Cell<u32>,
}

impl Answers {
    /// Every combination of answers to so many questions.
    fn all(n_questions: u32) -> impl Iterator<Item = Answers> + Clone {
        (0..1 << n_questions).map(|yes| Answers { yes, asked: Cell::new(0) })
    }

    fn to(&self, question: u32) -> bool {
        self.yes & 1 << question != 0
    }

    fn ask(&self, question: u32) -> impl Fn() -> bool + '_ {
        move || {
            self.asked.set(self.asked.get() | 1 << question);
            self.to(question)
        }
    }

    fn was_asked(&self, question: u32) -> bool {
        self.asked.get() & 1 << question != 0
    }
}

/// Which steps were seen.
#[derive(Debug)]
struct Kinds<T>([Option<T>; 16]);

impl<T: Copy + PartialEq> Kinds<T> {
    fn new() -> Self {
        Kinds([None; 16])
    }

    fn note(&mut self, step: T) {
        let place = self.0.iter_mut().find(|seen| seen.is_none_or(|seen| seen == step));
        *place.expect("fewer kinds of steps") = Some(step);
    }

    fn count(&self) -> usize {
        self.0.iter().flatten().count()
    }
}

const PAST: u32 = 0;

// Of an arrival.
const ROTATION_DUE: u32 = 1;
const COMING_HERE: u32 = 2;

fn each_arrival(mut look: impl FnMut(State, Arrival, Answers, ArrivalPlan)) {
    for (state, bits) in all().flat_map(|state| (0..8).map(move |bits| (state, bits))) {
        let [sits_beside, may_yield, has_deadline] = [1, 2, 4].map(|bit| bits & bit != 0);
        let me = Arrival { sits_beside, may_yield, has_deadline };
        for world in Answers::all(3) {
            let [past, due] = [PAST, ROTATION_DUE].map(|question| world.ask(question));
            let step = arrival(state, me, past, due, world.ask(COMING_HERE));
            look(state, me, world, step);
        }
    }
}

#[test]
fn an_arrival_breaks_into_no_hot_lock_and_leaves_no_other_free() {
    each_arrival(|state, _, _, step| {
        let (is_free, is_awaited) = (!state.has(LOCKED), state.has(DECK) && state.has(HOT));
        // Where whoever is awaited is only on its way, an arrival without a seat takes the lock before it sleeps.
        let may_grab = is_free && (!is_awaited || !state.is_anybody_up());
        assert!(step != ArrivalPlan::Grab || may_grab, "{state:x?}");
        let waits =
            matches!(step, ArrivalPlan::Claim | ArrivalPlan::Yield | ArrivalPlan::MakeWay | ArrivalPlan::Enqueue);
        assert!(!may_grab || !waits, "{step:?}, {state:x?}");
    });
}

#[test]
fn an_arrival_out_of_time_waits_no_more_and_no_other_goes_away() {
    each_arrival(|state, _, world, step| {
        let is_over = matches!(step, ArrivalPlan::Grab | ArrivalPlan::Leave);
        assert!(is_over || !world.to(PAST), "{step:?} past the deadline, {state:x?}");
        assert!(step != ArrivalPlan::Leave || world.to(PAST));
    });
}

/// What a push relies on: a release or an occupant that acts for the sleeper (I2).
#[test]
fn an_arrival_goes_to_sleep_only_if_somebody_will_wake_it() {
    each_arrival(|state, _, _, step| {
        if step == ArrivalPlan::Enqueue {
            assert!(state.has(DECK) || state.is_vacant(), "asleep beside an empty seat");
            assert!(can_occur(state.with_head(1)), "{state:x?}");
        }
    });
}

#[test]
fn an_empty_seat_is_for_the_arrival_but_for_a_sleeper_that_is_due() {
    each_arrival(|state, _, world, step| {
        let is_for_a_sleeper = state.is_vacant() && world.to(ROTATION_DUE);
        let may_sit = !state.has(DECK) && !is_for_a_sleeper;
        assert!(step != ArrivalPlan::Claim || may_sit, "{state:x?}");
        let goes_by =
            matches!(step, ArrivalPlan::SitBeside | ArrivalPlan::Yield | ArrivalPlan::MakeWay | ArrivalPlan::Enqueue);
        assert!(!may_sit || !goes_by, "{step:?}, {state:x?}");
    });
}

/// I4: a third would have no flag.
#[test]
fn an_arrival_sits_beside_a_sleeper_that_is_on_its_way_elsewhere() {
    each_arrival(|state, me, world, step| {
        let may_sit = me.sits_beside && state.has(FLIGHT) && !state.has(SECOND) && !world.to(COMING_HERE);
        assert!(step != ArrivalPlan::SitBeside || may_sit && can_occur(state.with(SECOND)));
        let waits = matches!(step, ArrivalPlan::Yield | ArrivalPlan::MakeWay | ArrivalPlan::Enqueue);
        assert!(!may_sit || !waits, "{step:?}, {state:x?}");
    });
}

#[test]
fn an_arrival_yields_before_it_sleeps_but_not_at_a_hot_lock() {
    each_arrival(|state, me, _, step| {
        let helps = me.may_yield && !state.has(HOT);
        assert!(step != ArrivalPlan::Yield || helps);
        assert!(step != ArrivalPlan::Enqueue || !helps);
    });
}

/// It might have to wait for the latch in order to leave: for the thread that it has interrupted.
#[test]
fn an_arrival_with_a_deadline_does_not_go_where_it_could_not_leave() {
    each_arrival(|state, me, _, step| {
        let is_stuck = me.has_deadline && state.has(LATCHED);
        assert!(step != ArrivalPlan::Enqueue || !is_stuck, "{state:x?}");
        assert!(step != ArrivalPlan::MakeWay || is_stuck, "{state:x?}");
    });
}

#[test]
fn an_arrival_asks_clock_and_system_only_what_matters() {
    each_arrival(|state, me, world, step| {
        assert!(step != ArrivalPlan::Grab || world.asked.get() == 0 || state.has(HOT), "the free lock comes first");
        assert!(!world.was_asked(ROTATION_DUE) || state.is_vacant());
        assert!(!world.was_asked(COMING_HERE) || (me.sits_beside && state.has(FLIGHT)));
    });
}

// Of an occupant.
const MAY_TAKE: u32 = 1;
const DUE: u32 = 2;
const MAY_NAP: u32 = 3;
const MAY_YIELD: u32 = 4;

fn each_occupant(mut look: impl FnMut(State, Occupant, Answers, OccupantPlan)) {
    let seated = all().filter(|state| state.is_anybody_up());
    for (state, bits) in seated.flat_map(|state| (0..32).map(move |bits| (state, bits))) {
        let [is_called, spins, has_asked, has_napped, has_missed] = [1, 2, 4, 8, 16].map(|bit| bits & bit != 0);
        let me = Occupant { is_called, spins, has_asked, has_napped, has_missed };
        // Of two both have been called only if the lock is passed (I4).
        if is_called && state.has(FLIGHT) && !state.has(PASSED) {
            continue;
        }
        for world in Answers::all(5) {
            let [past, take, due] = [PAST, MAY_TAKE, DUE].map(|question| world.ask(question));
            let step = occupant(state, me, past, take, due, world.ask(MAY_NAP), world.ask(MAY_YIELD));
            look(state, me, world, step);
        }
    }
}

/// Whether nobody has asked yet, and it polls.
fn may_ask(state: State, me: Occupant) -> bool {
    !state.has(FAIR) && (me.spins || me.has_napped)
}

#[test]
fn an_occupant_accepts_what_is_passed_at_once() {
    each_occupant(|state, _, world, step| {
        assert_eq!(step == OccupantPlan::Accept, state.has(PASSED));
        assert!(!state.has(PASSED) || world.asked.get() == 0, "nothing to think about");
    });
}

#[test]
fn an_occupant_takes_a_free_lock_unless_it_has_time_to_leave_it_to_its_holder() {
    each_occupant(|state, me, world, step| {
        let must_wait = me.spins && !me.has_asked && !world.to(MAY_TAKE) && !world.to(PAST);
        let asks = me.has_missed && may_ask(state, me) && world.to(DUE) && !world.to(PAST);
        assert_eq!(step == OccupantPlan::Take, !state.has(LOCKED) && !must_wait && !asks);
    });
}

#[test]
fn an_occupant_out_of_time_neither_sleeps_nor_polls_and_no_other_gives_up() {
    each_occupant(|state, _, world, step| {
        let is_over = matches!(step, OccupantPlan::Accept | OccupantPlan::Take | OccupantPlan::GiveUp);
        assert!(is_over || !world.to(PAST), "{step:?} past the deadline");
        assert!(step != OccupantPlan::GiveUp || (world.to(PAST) && state.has(LOCKED)), "a free lock is taken");
    });
}

/// Where polling is of no use, asking would have the lock wait for a sleeper: a nap comes first.
#[test]
fn an_occupant_asks_when_it_is_due_and_nobody_has() {
    each_occupant(|state, me, world, step| {
        let must_ask = may_ask(state, me) && world.to(DUE);
        assert!(step != OccupantPlan::Ask || must_ask);
        let puts_off =
            matches!(step, OccupantPlan::Retire | OccupantPlan::Nap | OccupantPlan::Yield | OccupantPlan::Pause);
        assert!(!puts_off || !must_ask, "{step:?} before it asks");
        assert!(!world.was_asked(DUE) || !state.has(FAIR), "a look at the clock for nothing");
    });
}

/// The deadline may pass between two looks at the clock.
#[test]
fn an_occupant_whose_deadline_passes_meanwhile_leaves_no_free_lock() {
    for state in all().filter(|state| state.is_anybody_up() && !state.has(PASSED)) {
        let me = Occupant { is_called: false, spins: true, has_asked: false, has_napped: false, has_missed: false };
        let n_looks = Cell::new(0);
        let is_past = || n_looks.replace(n_looks.get() + 1) > 0;
        let step = occupant(state, me, is_past, || false, || false, || false, || false);
        assert!(step != OccupantPlan::GiveUp || state.has(LOCKED), "{state:x?}");
    }
}

#[test]
fn an_occupant_naps_only_before_a_release_and_not_beside_a_call() {
    each_occupant(|state, me, world, step| {
        if step == OccupantPlan::Nap {
            assert!(state.has(LOCKED) && !state.has(PASSED), "nobody would end the nap");
            assert!(!me.spins || world.to(MAY_NAP), "too soon");
            assert!(me.is_called || !state.has(SECOND));
            let napping = state.napping(me.has_napped);
            assert!(can_occur(napping));
            assert_eq!(napping.alarmed_if_asked().0 & NAPS, NAPS, "a profiler takes it for no nap");
        }
    });
}

#[test]
fn an_occupant_leaves_when_the_sleeper_beside_it_is_up_or_before_it_sleeps_beside_one() {
    each_occupant(|state, me, world, step| {
        let would_nap = !me.spins || world.to(MAY_NAP);
        let has_to_go = state.has(SECOND) && !me.is_called && (!state.has(FLIGHT) || would_nap);
        assert!(step != OccupantPlan::Retire || has_to_go);
        assert!(
            !matches!(step, OccupantPlan::Nap | OccupantPlan::Yield | OccupantPlan::Pause) || !has_to_go,
            "{step:?}"
        );
    });
}

#[test]
fn an_occupant_polls_only_where_that_is_of_use_and_yields_when_nothing_moves() {
    each_occupant(|state, me, world, step| {
        let polls = matches!(step, OccupantPlan::Yield | OccupantPlan::Pause);
        assert!(
            !polls || !state.has(LOCKED) || state.has(PASSED) || (me.spins && !world.to(MAY_NAP)),
            "{step:?} instead of a nap"
        );
        assert!(!polls || (step == OccupantPlan::Yield) == world.to(MAY_YIELD));
    });
}

/// An occupant leaves a taken lock, or a called sleeper goes on.
#[test]
fn whoever_leaves_its_seat_leaves_no_sleeper_alone() {
    each_occupant(|state, _, _, step| {
        if matches!(step, OccupantPlan::GiveUp | OccupantPlan::Retire) {
            let left = state.left();
            assert!(can_occur(left), "{step:?} of {state:x?}");
            assert!(!left.is_vacant() || left.has(LOCKED), "{step:?} of {state:x?}");
        }
    });
}

// Of the holder.

/// The word after a release, as `release_slow` writes it.
fn released(state: State, step: ReleasePlan) -> State {
    match step {
        ReleasePlan::PassOn => state.passed().with(LATCHED),
        ReleasePlan::Pass => state.passed(),
        ReleasePlan::Rouse => state.released().without(NAPPING),
        ReleasePlan::CallUp => state.released().with(LATCHED),
        ReleasePlan::Rush => state.released().without(NAPPING | RUSH).with(LATCHED),
        ReleasePlan::Vacate => state.vacated(),
    }
}

/// Somebody is inside, and wishes for a fair release or does not.
fn each_release(mut look: impl FnMut(State, bool, ReleasePlan)) {
    for state in all().filter(|state| state.has(LOCKED) && !state.has(PASSED)) {
        for is_fair in [false, true] {
            look(state, is_fair, release(state, is_fair));
        }
    }
}

#[test]
fn no_release_leaves_a_sleeper_beside_an_empty_seat_and_calls_nobody() {
    each_release(|state, _, step| {
        let next = released(state, step);
        assert!(can_occur(next), "{step:?} of {state:x?}");
        let is_left_alone = next.is_vacant() && !next.has(LATCHED);
        assert!(!is_left_alone, "{step:?} of {state:x?}");
    });
}

/// I4, I6: one call at a time, under a latch that was free, and of somebody.
#[test]
fn a_release_calls_only_where_it_may() {
    each_release(|state, _, step| {
        if matches!(step, ReleasePlan::PassOn | ReleasePlan::CallUp) {
            assert!(state.has_sleepers() && !state.has(LATCHED | FLIGHT | SECOND));
        }
        assert!(step != ReleasePlan::CallUp || !state.has(DECK), "a seat is taken: nobody need be woken");
        let is_rush = state.has(RUSH) && state.has_sleepers() && !state.has(LATCHED);
        assert!(step != ReleasePlan::Rush || is_rush);
        assert!(
            !is_rush || !matches!(step, ReleasePlan::Rouse | ReleasePlan::CallUp | ReleasePlan::Vacate),
            "{step:?}"
        );
    });
}

#[test]
fn the_lock_is_passed_only_to_somebody_who_has_a_seat_or_gets_it() {
    each_release(|state, _, step| match step {
        ReleasePlan::Pass => assert!(state.has(DECK)),
        ReleasePlan::PassOn => assert!(state.has_sleepers() && !state.has(SECOND)),
        _ => {}
    });
}

#[test]
fn a_pass_that_somebody_wants_and_can_have_is_made_and_no_other() {
    each_release(|state, is_fair, step| {
        let is_given = matches!(step, ReleasePlan::Pass | ReleasePlan::PassOn);
        let is_wanted = is_fair || state.has(FAIR);
        assert!(!is_given || is_wanted);
        let can_have = state.has(DECK) || (state.has_sleepers() && !state.has(LATCHED));
        assert!(is_given || !is_wanted || !can_have, "{step:?} of {state:x?}");
    });
}

/// `release_slow` wakes after `rouse`, and after `pass` and `hurry` if the word shows NAPPING; a call wakes another.
#[test]
fn a_napping_deck_is_woken_by_every_release() {
    each_release(|state, _, step| {
        let wakes = matches!(step, ReleasePlan::Rouse | ReleasePlan::Pass | ReleasePlan::Rush);
        assert!(!state.has(NAPPING) || wakes, "{step:?}");
        assert!(step != ReleasePlan::Rouse || state.has(NAPPING), "nobody to wake");
    });
}

/// The dugout rotates with each pass: the seat that falls empty is kept for a sleeper already.
#[test]
fn a_pass_calls_the_next_if_somebody_may_be_called() {
    each_release(|state, _, step| {
        let may_call = state.has_sleepers() && !state.has(LATCHED | FLIGHT | SECOND | NAPPING);
        assert!(step != ReleasePlan::Pass || !may_call, "a seat will be empty, {state:x?}");
    });
}

#[test]
fn hints_decide_no_release() {
    each_release(|state, is_fair, step| {
        assert_eq!(release(state.without(HOT | ROOM), is_fair), step);
    });
}

#[test]
fn every_step_is_taken_by_somebody() {
    let (mut arrivals, mut occupants, mut holders) = (Kinds::new(), Kinds::new(), Kinds::new());
    each_arrival(|_, _, _, step| arrivals.note(step));
    each_occupant(|_, _, _, step| occupants.note(step));
    each_release(|_, _, step| holders.note(step));
    let counts = [arrivals.count(), occupants.count(), holders.count()];
    assert_eq!(counts, [7, 8, 6], "{arrivals:?} {occupants:?} {holders:?}");
}
