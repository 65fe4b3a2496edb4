//! What a thread does next: one pure function for each loop of the flagship, one arm for each step that the loop takes.
//!
//! A plan is made from the word and from what the thread knows beside it. Questions that cost a look at the clock, or ask
//! the system, come as closures: they are asked in a fixed order, and only where the answer matters.

use super::state::{DECK, FAIR, FLIGHT, HOT, LATCHED, LOCKED, NAPPING, PASSED, STANDIN, State, VACANT};

// -- Acquiring --------------------------------------------------------------------------------------------------------

/// What an arrival knows beside the word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Whether it can gain anything by waiting awake: not on one core.
    pub(super) spins: bool,
    /// Not after it has ceded a seat: others are ahead of it.
    pub(super) may_stand_in: bool,
    /// Whether it has yields left for a crowd.
    pub(super) may_yield: bool,
    /// Whether it has yields left for being awake when a seat falls empty.
    pub(super) stays_awake: bool,
}

/// One step of `acquire_slow`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrive {
    /// The arrival tries to take a free lock, unless that is hot and somebody sits on deck.
    Grab,
    /// The arrival goes away without the lock once its deadline has passed.
    Leave,
    /// The arrival waits for an awake occupant to accept the lock that was passed to it, and takes it back if that lasts.
    GiveWay,
    /// The arrival sits down on the empty seat, unless a rotation is due and the seat is for a sleeper.
    Claim,
    /// The arrival sits down on a seat that is kept for a called sleeper, as long as that one is not about to get this core.
    StandIn,
    /// The arrival finds no seat and gives its core to whoever wants it, a few times, while threads outnumber the cores
    /// or to be awake when a seat falls empty.
    Yield,
    /// The arrival goes to sleep when it finds no seat.
    Enqueue,
}

pub(super) fn arrival(
    state: State,
    me: Arrival,
    is_past: impl Fn() -> bool,
    is_rotation_due: impl Fn() -> bool,
    is_coming_here: impl Fn() -> bool,
    is_crowded: impl Fn() -> bool,
) -> Arrive {
    if !state.has(LOCKED) && may_barge(state) {
        return Arrive::Grab;
    }
    if is_past() {
        return Arrive::Leave;
    }
    // Awake receivers only: a lock passed to a napping deck is not taken back (I5).
    if me.spins && state.has(PASSED) && !state.has(STANDIN | NAPPING) {
        return Arrive::GiveWay;
    }
    let is_for_a_sleeper = state.has(VACANT) && is_rotation_due();
    if !state.has(DECK) && !is_for_a_sleeper {
        return Arrive::Claim;
    }
    if me.may_stand_in && state.has(FLIGHT) && !state.has(STANDIN) && !is_coming_here() {
        return Arrive::StandIn;
    }
    if !state.has(HOT) && (me.spins && me.stays_awake || me.may_yield && is_crowded()) {
        return Arrive::Yield;
    }
    Arrive::Enqueue
}

/// Whether an arrival may take a free lock: in a hot lock with somebody on deck it would only break in.
const fn may_barge(state: State) -> bool {
    !state.has(HOT) || !state.is_seat_occupied()
}

// -- On deck ----------------------------------------------------------------------------------------------------------

/// What the occupant of the seat knows beside the word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occupant {
    /// Whether it can gain anything by waiting awake: not on one core.
    pub(super) spins: bool,
    pub(super) has_asked: bool,
    pub(super) has_napped: bool,
    /// Whether a lock that looked free was taken again by the time of its compare-exchange.
    pub(super) has_missed: bool,
}

/// One step of `on_deck`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OnDeck {
    /// The occupant takes the lock that a release has passed to it.
    Accept,
    /// The occupant takes a free lock, unless that is hot and there is time to leave it to its last holder.
    Take,
    /// The occupant leaves the seat once its deadline has passed.
    GiveUp,
    /// The occupant asks, once its patience is over or a rotation is due, that the next release pass the lock; also if that
    /// looks free, once it has not been when the occupant took it.
    Ask,
    /// A stand-in leaves the seat when the sleeper that it is kept for is up, or when it would have to sleep itself.
    Cede,
    /// The occupant sleeps until the next release when there was none for long, or when polling is of no use.
    Nap,
    /// The occupant gives its core away when there was no release for a while, as the holder may be waiting for it.
    Yield,
    /// The occupant keeps its hands off until the next poll.
    Pause,
}

pub(super) fn occupant(
    state: State,
    me: Occupant,
    is_past: impl Fn() -> bool,
    may_take: impl Fn() -> bool,
    is_due: impl Fn() -> bool,
    may_nap: impl Fn() -> bool,
    may_yield: impl Fn() -> bool,
) -> OnDeck {
    if state.has(PASSED) {
        return OnDeck::Accept;
    }
    // Where polling is of no use it naps first: the release that ends the nap may be enough.
    let must_ask = || !me.has_asked && (me.spins || me.has_napped) && is_due();
    if !state.has(LOCKED) && (!me.spins || me.has_asked || may_take() || is_past()) {
        // Where lines travel far it may look free each time, and be taken again by the time of the write.
        return if me.has_missed && must_ask() && !is_past() { OnDeck::Ask } else { OnDeck::Take };
    }
    if is_past() {
        return OnDeck::GiveUp;
    }
    if must_ask() {
        return OnDeck::Ask;
    }
    if state.has(STANDIN) && (!state.has(FLIGHT) || !me.spins || may_nap()) {
        return OnDeck::Cede;
    }
    // A release ends a nap, so there has to be one to come.
    if state.has(LOCKED) && (!me.spins || may_nap()) {
        return OnDeck::Nap;
    }
    if may_yield() { OnDeck::Yield } else { OnDeck::Pause }
}

/// One step of an occupant that gives up and has not been passed the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GiveUp {
    /// A stand-in leaves the seat to the sleeper that it is kept for.
    Cede,
    /// The occupant leaves the seat empty, as nobody sleeps.
    Leave,
    /// The occupant waits for the latch while another thread has it.
    MakeWay,
    /// The occupant leaves the seat with the latch in its hand, and calls a sleeper to it.
    HandDown,
}

pub(super) const fn giving_up(state: State) -> GiveUp {
    if state.has(STANDIN) {
        GiveUp::Cede
    } else if !state.has_sleepers() {
        GiveUp::Leave
    } else if state.has(LATCHED) {
        GiveUp::MakeWay
    } else {
        GiveUp::HandDown
    }
}

// -- In line ----------------------------------------------------------------------------------------------------------

/// What a called sleeper knows beside the word that is up and has found a stand-in in its seat.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Whether it can gain anything by waiting awake: not on one core.
    pub(super) spins: bool,
    pub(super) has_waked: bool,
}

/// One step of `wait_in_line`. `is_past`: its deadline has passed, so it must get through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InLine {
    /// The one in line sits down when the stand-in has gone, or when it is the stand-in now, of another that was called.
    Sit,
    /// The one in line wakes a stand-in that fell asleep before it became one.
    Wake,
    /// The one in line takes the free lock past the stand-in, if that is late, or the lock is cool, or it is out of time.
    Take { is_past: bool },
    /// The one in line takes the lock that was passed to a stand-in and not accepted for long.
    Intercept { is_past: bool },
    /// The one in line goes away once its deadline has passed, and leaves the seat to the stand-in.
    Leave,
    /// The one in line gives its core to the stand-in, which may have lost it to the one in line.
    MakeWay,
    /// The one in line leaves the stand-in the time to look.
    Pause,
}

pub(super) fn in_line(state: State, me: Line, is_late: impl Fn() -> bool, is_past: impl Fn() -> bool) -> InLine {
    if !state.has(STANDIN) || state.has(FLIGHT) {
        return InLine::Sit;
    }
    if state.has(NAPPING) && !me.has_waked {
        return InLine::Wake;
    }
    let (is_late, is_past) = (is_late(), is_past());
    if !state.has(LOCKED) && (is_late || is_past || !state.has(HOT)) {
        return InLine::Take { is_past };
    }
    if state.has(PASSED) && is_late {
        return InLine::Intercept { is_past };
    }
    if is_past {
        return InLine::Leave;
    }
    if is_late || !me.spins { InLine::MakeWay } else { InLine::Pause }
}

// -- Releasing --------------------------------------------------------------------------------------------------------

/// How the holder releases a lock that shows work to do: one step of `release_slow`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ToRelease {
    /// The holder gives the lock to the seat, and calls a sleeper to be the next there, when it is asked and may call one.
    PassOn,
    /// The holder gives the lock to the seat when it is asked and may call nobody.
    Pass,
    /// The holder frees the lock and wakes the deck, which naps.
    Rouse,
    /// The holder frees the lock and calls a sleeper to the empty seat.
    CallUp,
    /// The holder frees the lock when somebody else sees to the rest.
    Vacate,
}

pub(super) const fn release(state: State, is_fair: bool) -> ToRelease {
    let gives = state.has(FAIR) || is_fair;
    let may_call = state.has_sleepers() && !state.has(LATCHED | FLIGHT | STANDIN | NAPPING);
    if gives && may_call {
        ToRelease::PassOn
    } else if gives && state.has(DECK) {
        ToRelease::Pass
    } else if state.has(NAPPING) {
        ToRelease::Rouse
    } else if state.has(VACANT) && !state.has(DECK | LATCHED) {
        ToRelease::CallUp
    } else {
        ToRelease::Vacate
    }
}

#[cfg(test)]
mod tests;
