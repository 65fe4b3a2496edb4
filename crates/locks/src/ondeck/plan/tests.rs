//! Of every word that can occur, with every answer that clock and system may give: what must hold of each plan.

use super::super::state::ROOM;
use super::*;
use core::cell::Cell;

/// Whether the invariants of the header allow this word: I2, I3, I4, I6, and that whoever asks, naps or is passed the
/// lock has the seat or is being called to it.
fn can_occur(state: State) -> bool {
    let somebody_sleeps = state.has_sleepers();
    let implies = |this: u64, that: bool| !state.has(this) || that;
    let somebody_acts = state.has(DECK | LATCHED);
    implies(VACANT, somebody_sleeps)
        && (!somebody_sleeps || state.has(DECK | VACANT))
        && (!somebody_sleeps || state.has(LOCKED) || somebody_acts)
        && implies(FLIGHT | STANDIN | FAIR, state.has(DECK))
        && implies(LATCHED, somebody_sleeps || state.has(FLIGHT))
        && implies(PASSED, state.has(LOCKED) && somebody_acts)
        && implies(NAPPING, state.has(DECK) || (state.has(PASSED) && state.has(LATCHED)))
}

/// Every combination of flags that can occur, with and without a sleeper.
fn all() -> impl Iterator<Item = State> {
    let flags = (0..1u64 << 11).map(|bits| (bits & 0x3ff) << 42 | (bits >> 10) * LOCKED);
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
const CROWDED: u32 = 3;

fn each_arrival(mut look: impl FnMut(State, Arrival, Answers, Arrive)) {
    for (state, bits) in all().flat_map(|state| (0..16).map(move |bits| (state, bits))) {
        let [spins, may_stand_in, may_yield, stays_awake] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
        let me = Arrival { spins, may_stand_in, may_yield, stays_awake };
        for world in Answers::all(4) {
            let [past, due] = [PAST, ROTATION_DUE].map(|question| world.ask(question));
            let step = arrival(state, me, past, due, world.ask(COMING_HERE), world.ask(CROWDED));
            look(state, me, world, step);
        }
    }
}

#[test]
fn an_arrival_breaks_into_no_hot_lock_and_leaves_no_other_free() {
    each_arrival(|state, _, _, step| {
        let (is_free, is_awaited) = (!state.has(LOCKED), state.is_seat_occupied() && state.has(HOT));
        assert_eq!(step == Arrive::Grab, is_free && !is_awaited, "{state:x?}");
    });
}

#[test]
fn an_arrival_out_of_time_waits_no_more_and_no_other_goes_away() {
    each_arrival(|state, _, world, step| {
        let is_over = matches!(step, Arrive::Grab | Arrive::Leave);
        assert!(is_over || !world.to(PAST), "{step:?} past the deadline, {state:x?}");
        assert!(step != Arrive::Leave || world.to(PAST));
    });
}

/// I5.
#[test]
fn nobody_takes_back_what_was_given_to_somebody_asleep_or_with_one_in_line_behind() {
    let mut n_given_way = 0;
    each_arrival(|state, me, world, step| {
        if step == Arrive::GiveWay {
            assert!(me.spins && state.has(PASSED) && !state.has(NAPPING | STANDIN));
            n_given_way += 1;
        } else if state.has(PASSED) && !state.has(NAPPING | STANDIN) && me.spins {
            assert!(world.to(PAST), "{step:?} although the seat is about to fall empty");
        }
    });
    assert!(n_given_way > 0);
}

/// What a push relies on: a release or an occupant that acts for the sleeper (I2, I3).
#[test]
fn an_arrival_goes_to_sleep_only_if_somebody_will_wake_it() {
    each_arrival(|state, _, _, step| {
        if step == Arrive::Enqueue {
            assert!(state.has(DECK | VACANT), "asleep beside an empty seat");
            assert!(can_occur(state.with_head(1)), "{state:x?}");
        }
    });
}

#[test]
fn an_empty_seat_is_for_the_arrival_but_for_a_sleeper_when_a_rotation_is_due() {
    each_arrival(|state, _, world, step| {
        let is_for_a_sleeper = state.has(VACANT) && world.to(ROTATION_DUE);
        if step == Arrive::Claim {
            assert!(!state.has(DECK) && !is_for_a_sleeper, "{state:x?}");
        }
        if !state.has(DECK) && !is_for_a_sleeper {
            assert!(!matches!(step, Arrive::StandIn | Arrive::Yield | Arrive::Enqueue), "{step:?}, {state:x?}");
        }
    });
}

/// I4: a second stand-in would be a third in the seat.
#[test]
fn an_arrival_stands_in_once_for_a_sleeper_that_runs_elsewhere() {
    each_arrival(|state, me, world, step| {
        let may_stand_in = me.may_stand_in && !world.to(COMING_HERE);
        if step == Arrive::StandIn {
            assert!(may_stand_in && state.has(FLIGHT) && !state.has(STANDIN));
            assert!(can_occur(state.with(STANDIN)));
        }
        if matches!(step, Arrive::Yield | Arrive::Enqueue) && state.has(FLIGHT) && !state.has(STANDIN) {
            assert!(!may_stand_in, "{step:?} beside a seat that is kept for a sleeper on its way");
        }
    });
}

#[test]
fn an_arrival_yields_before_it_sleeps_in_a_crowd_or_to_be_awake() {
    each_arrival(|state, me, world, step| {
        let is_wanted = (me.spins && me.stays_awake) || (me.may_yield && world.to(CROWDED));
        let helps = is_wanted && !state.has(HOT);
        assert!(step != Arrive::Yield || helps);
        assert!(step != Arrive::Enqueue || !helps);
    });
}

#[test]
fn an_arrival_asks_clock_and_system_only_what_matters() {
    each_arrival(|state, me, world, step| {
        assert!(step != Arrive::Grab || world.asked.get() == 0, "the free lock comes first");
        assert!(!world.was_asked(ROTATION_DUE) || state.has(VACANT));
        assert!(!world.was_asked(COMING_HERE) || (me.may_stand_in && state.has(FLIGHT)));
        assert!(!world.was_asked(CROWDED) || matches!(step, Arrive::Yield | Arrive::Enqueue));
        assert!(!world.was_asked(CROWDED) || (me.may_yield && !state.has(HOT)));
    });
}

// Of an occupant.
const MAY_TAKE: u32 = 1;
const DUE: u32 = 2;
const MAY_NAP: u32 = 3;
const MAY_YIELD: u32 = 4;

fn each_occupant(mut look: impl FnMut(State, Occupant, Answers, OnDeck)) {
    let seated = all().filter(|state| state.is_seat_occupied());
    for (state, bits) in seated.flat_map(|state| (0..16).map(move |bits| (state, bits))) {
        let [spins, has_asked, has_napped, has_missed] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
        let me = Occupant { spins, has_asked, has_napped, has_missed };
        for world in Answers::all(5) {
            let [past, take, due] = [PAST, MAY_TAKE, DUE].map(|question| world.ask(question));
            let step = occupant(state, me, past, take, due, world.ask(MAY_NAP), world.ask(MAY_YIELD));
            look(state, me, world, step);
        }
    }
}

/// Whether it has not asked yet, and polls.
fn may_ask(me: Occupant) -> bool {
    !me.has_asked && (me.spins || me.has_napped)
}

#[test]
fn an_occupant_accepts_whatever_it_is_passed_at_once() {
    each_occupant(|state, _, world, step| {
        assert_eq!(step == OnDeck::Accept, state.has(PASSED));
        assert!(step != OnDeck::Accept || world.asked.get() == 0, "nothing to think about");
    });
}

#[test]
fn an_occupant_takes_a_free_lock_unless_it_has_time_to_leave_it_to_its_holder() {
    each_occupant(|state, me, world, step| {
        let must_wait = me.spins && !me.has_asked && !world.to(MAY_TAKE) && !world.to(PAST);
        let asks = me.has_missed && may_ask(me) && world.to(DUE) && !world.to(PAST);
        assert_eq!(step == OnDeck::Take, !state.has(LOCKED) && !must_wait && !asks);
        assert!(step != OnDeck::Take || !me.has_asked || world.asked.get() == 0, "it has asked for it");
    });
}

#[test]
fn an_occupant_out_of_time_neither_sleeps_nor_polls_and_no_other_gives_up() {
    each_occupant(|state, _, world, step| {
        let is_over = matches!(step, OnDeck::Accept | OnDeck::Take | OnDeck::GiveUp);
        assert!(is_over || !world.to(PAST), "{step:?} past the deadline");
        assert!(step != OnDeck::GiveUp || (world.to(PAST) && state.has(LOCKED)), "a free lock is taken");
    });
}

/// Where polling is of no use, asking would have the lock wait for a sleeper: a nap comes first.
#[test]
fn an_occupant_asks_once_when_it_is_due() {
    each_occupant(|_, me, world, step| {
        let may_ask = may_ask(me) && world.to(DUE);
        assert!(step != OnDeck::Ask || may_ask);
        let puts_off = matches!(step, OnDeck::Cede | OnDeck::Nap | OnDeck::Yield | OnDeck::Pause);
        assert!(!puts_off || !may_ask, "{step:?} before it asks");
        assert!(!world.was_asked(DUE) || !me.has_asked, "a look at the clock for nothing");
    });
}

#[test]
fn a_stand_in_goes_when_its_sleeper_is_up_and_never_sleeps_in_its_seat() {
    each_occupant(|state, me, world, step| {
        let has_to_go = state.has(STANDIN) && (!state.has(FLIGHT) || !me.spins || world.to(MAY_NAP));
        assert!(step != OnDeck::Cede || has_to_go);
        assert!(!matches!(step, OnDeck::Nap | OnDeck::Yield | OnDeck::Pause) || !has_to_go, "{step:?}");
        assert!(step != OnDeck::Nap || !state.has(STANDIN));
        assert!(step != OnDeck::Cede || can_occur(state.ceded()));
    });
}

#[test]
fn an_occupant_naps_only_before_a_release() {
    each_occupant(|state, me, world, step| {
        if step == OnDeck::Nap {
            assert!(state.has(LOCKED) && !state.has(PASSED), "nobody would end the nap");
            assert!(!me.spins || world.to(MAY_NAP), "too soon");
            assert!(can_occur(state.napping(me.has_napped)));
        }
    });
}

#[test]
fn an_occupant_polls_only_where_that_is_of_use_and_yields_when_nothing_moves() {
    each_occupant(|state, me, world, step| {
        let polls = matches!(step, OnDeck::Yield | OnDeck::Pause);
        assert!(!polls || me.spins, "{step:?} on one core");
        assert!(!polls || !state.has(LOCKED) || !world.to(MAY_NAP), "{step:?} instead of a nap");
        assert!(!polls || (step == OnDeck::Yield) == world.to(MAY_YIELD));
    });
}

#[test]
fn whoever_gives_up_its_seat_leaves_no_sleeper_alone() {
    let mut steps = Kinds::new();
    for state in all().filter(|state| state.is_seat_occupied() && !state.has(PASSED)) {
        let step = giving_up(state);
        steps.note(step);
        match step {
            GiveUp::Cede => {
                assert!(state.has(STANDIN), "nobody to leave it to");
                assert!(can_occur(state.ceded()));
            }
            GiveUp::Leave => {
                assert!(!state.has_sleepers() && !state.has(FLIGHT | STANDIN | LATCHED));
                assert!(can_occur(state.left()));
            }
            GiveUp::MakeWay => assert!(state.has(LATCHED) && state.has_sleepers() && !state.has(STANDIN)),
            GiveUp::HandDown => {
                assert!(!state.has(LATCHED), "the latch is another's");
                assert!(state.has_sleepers() && !state.has(FLIGHT | STANDIN), "I4: one call at a time");
                assert!(can_occur(state.handed_down()));
            }
        }
    }
    assert_eq!(steps.count(), 4, "{steps:?}");
}

// Of the one in line.
const LATE: u32 = 1;

fn each_in_line(mut look: impl FnMut(State, Line, Answers, InLine)) {
    for (state, bits) in all().flat_map(|state| (0..4).map(move |bits| (state, bits))) {
        let me = Line { spins: bits & 1 != 0, has_waked: bits & 2 != 0 };
        for world in Answers::all(2) {
            let step = in_line(state, me, world.ask(LATE), world.ask(PAST));
            look(state, me, world, step);
        }
    }
}

/// I4: with FLIGHT there are two others in the seat, so this one has become the stand-in.
#[test]
fn the_one_in_line_sits_down_as_soon_as_the_seat_is_its() {
    each_in_line(|state, _, world, step| {
        let is_in_line = state.has(STANDIN) && !state.has(FLIGHT);
        assert_eq!(step == InLine::Sit, !is_in_line);
        assert!(step != InLine::Sit || world.asked.get() == 0);
    });
}

#[test]
fn a_napping_stand_in_is_woken_once_before_anything_else() {
    each_in_line(|state, me, _, step| {
        let sleeps_in_our_seat = state.has(NAPPING) && step != InLine::Sit;
        assert_eq!(step == InLine::Wake, sleeps_in_our_seat && !me.has_waked);
    });
}

#[test]
fn the_one_in_line_takes_nothing_from_a_stand_in_that_may_still_answer() {
    each_in_line(|state, _, world, step| match step {
        InLine::Take { .. } => {
            assert!(!state.has(LOCKED), "somebody is inside");
            assert!(world.to(LATE) || world.to(PAST) || !state.has(HOT), "it is left to its last holder");
        }
        InLine::Intercept { .. } => assert!(state.has(PASSED) && world.to(LATE)),
        InLine::MakeWay | InLine::Pause => {
            let is_free = !state.has(LOCKED);
            assert!(!is_free || (state.has(HOT) && !world.to(LATE)), "a free lock that nobody else takes");
            assert!(!state.has(PASSED) || !world.to(LATE), "a pass that nobody accepts");
        }
        _ => {}
    });
}

#[test]
fn the_one_in_line_keeps_its_deadline() {
    each_in_line(|_, _, world, step| match step {
        InLine::Take { is_past } | InLine::Intercept { is_past } => assert_eq!(is_past, world.to(PAST)),
        InLine::Leave => assert!(world.to(PAST)),
        InLine::MakeWay | InLine::Pause => assert!(!world.to(PAST), "it waits on"),
        InLine::Sit | InLine::Wake => {}
    });
    let one = |flags, yes| {
        let world = Answers { yes, asked: Cell::new(0) };
        let me = Line { spins: true, has_waked: true };
        in_line(State(DECK | STANDIN | flags), me, world.ask(LATE), world.ask(PAST))
    };
    let (late, past) = (1 << LATE, 1 << PAST);
    assert_eq!(one(LOCKED, late | past), InLine::Leave);
    assert_eq!(one(HOT, past), InLine::Take { is_past: true }, "rather than nothing");
    assert_eq!(one(LOCKED | PASSED, late | past), InLine::Intercept { is_past: true });
    assert_eq!(one(LOCKED | PASSED, past), InLine::Leave, "the stand-in may accept it any moment");
}

/// The stand-in may need this very core.
#[test]
fn the_one_in_line_stays_awake_on_its_core_only_for_a_moment() {
    each_in_line(|_, me, world, step| {
        assert!(step != InLine::Pause || (me.spins && !world.to(LATE)));
        assert!(step != InLine::MakeWay || !me.spins || world.to(LATE));
    });
}

// Of the holder.

/// The word after a release, as `release_slow` writes it.
fn released(state: State, step: ToRelease) -> State {
    match step {
        ToRelease::PassOn => state.passed().with(LATCHED),
        ToRelease::Pass => state.passed(),
        ToRelease::Rouse => state.released().without(NAPPING),
        ToRelease::CallUp => state.released().with(LATCHED),
        ToRelease::Vacate => state.vacated(),
    }
}

/// Somebody is inside, and wishes for a fair release or does not.
fn each_release(mut look: impl FnMut(State, bool, ToRelease)) {
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
        let is_left_alone = next.has_sleepers() && !next.has(DECK | LATCHED);
        assert!(!is_left_alone, "{step:?} of {state:x?}");
    });
}

/// I4, I6: one call at a time, under a latch that was free, and of somebody.
#[test]
fn a_release_calls_only_where_it_may() {
    each_release(|state, _, step| {
        if matches!(step, ToRelease::PassOn | ToRelease::CallUp) {
            assert!(state.has_sleepers() && !state.has(LATCHED | FLIGHT | STANDIN));
        }
        assert!(step != ToRelease::CallUp || !state.has(DECK), "the seat is taken: nobody need be woken");
    });
}

#[test]
fn the_lock_is_passed_only_to_somebody_who_has_the_seat_or_gets_it() {
    each_release(|state, _, step| match step {
        ToRelease::Pass => assert!(state.has(DECK)),
        ToRelease::PassOn => assert!(state.has(DECK) || state.has_sleepers()),
        _ => {}
    });
}

#[test]
fn a_pass_that_somebody_wants_and_can_have_is_made_and_no_other() {
    each_release(|state, is_fair, step| {
        let is_given = matches!(step, ToRelease::Pass | ToRelease::PassOn);
        let is_wanted = is_fair || state.has(FAIR);
        assert!(!is_given || is_wanted);
        let can_have = state.has(DECK) || (state.has_sleepers() && !state.has(LATCHED));
        assert!(is_given || !is_wanted || !can_have, "{step:?} of {state:x?}");
    });
}

/// `release_slow` wakes after `rouse`, and after `pass` if the word shows NAPPING; a call wakes another.
#[test]
fn a_napping_deck_is_woken_by_every_release() {
    each_release(|state, _, step| {
        assert!(!state.has(NAPPING) || matches!(step, ToRelease::Rouse | ToRelease::Pass), "{step:?}");
        assert!(step != ToRelease::Rouse || state.has(NAPPING), "nobody to wake");
    });
}

/// The dugout rotates with each pass: the seat that falls empty is kept for a sleeper already.
#[test]
fn a_pass_calls_the_next_if_somebody_may_be_called() {
    each_release(|state, _, step| {
        let may_call = state.has_sleepers() && !state.has(LATCHED | FLIGHT | STANDIN | NAPPING);
        assert!(step != ToRelease::Pass || !may_call, "the seat will be empty, {state:x?}");
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
    let (mut arrivals, mut occupants, mut lines, mut holders) =
        (Kinds::new(), Kinds::new(), Kinds::new(), Kinds::new());
    each_arrival(|_, _, _, step| arrivals.note(step));
    each_occupant(|_, _, _, step| occupants.note(step));
    each_in_line(|_, _, _, step| lines.note(step));
    each_release(|_, _, step| holders.note(step));
    let counts = [arrivals.count(), occupants.count(), lines.count(), holders.count()];
    // Of those in line, two come with and without a deadline that is past.
    assert_eq!(counts, [7, 8, 7 + 2, 5], "{arrivals:?} {occupants:?} {lines:?} {holders:?}");
}
