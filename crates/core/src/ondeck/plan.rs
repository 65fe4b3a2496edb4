//! What a thread does next: one pure function for each loop of the flagship, one arm for each step that the loop takes.
//!
//! A plan is made from the word and from what the thread knows beside it. Questions that cost a look at the clock, or ask
//! the system, come as closures: they are asked in a fixed order, and only where the answer matters.

use super::state::{DECK, FAIR, FLIGHT, HOT, LATCHED, LOCKED, NAPPING, PASSED, QUIET, RUSH, SECOND, State};

// -- Acquiring --------------------------------------------------------------------------------------------------------

/// What an arrival knows beside the word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Whether it may sit beside a sleeper on its way: not on one core, and not after it has left such a seat to sleep.
    pub(super) sits_beside: bool,
    /// Whether it has yields left, and can gain by staying awake a little longer: not on one core.
    pub(super) may_yield: bool,
    /// Whether it is to go away at some time.
    pub(super) has_deadline: bool,
}

/// One step of `acquire_slow`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ArrivalPlan {
    /// The arrival tries to take a free lock, unless that is hot and a seat is taken, or kept and there is one beside it.
    Grab,
    /// The arrival makes a quiet lock loud, so that it can be asked something.
    Knock,
    /// The arrival goes away without the lock once its deadline has passed.
    Leave,
    /// The arrival sits down on the empty deck, unless the lock's next waiter is to be a sleeper.
    Claim,
    /// The arrival sits down beside a called sleeper that is on its way, and not to this core.
    SitBeside,
    /// The arrival finds no seat and gives its core to a thread that wants it, a few times: a core that fell idle here
    /// might stay idle for a time slice, and a seat may fall empty meanwhile.
    Yield,
    /// The arrival has a deadline, and does not go where it could not leave: a signal handler may have interrupted the thread
    /// that holds the latch, and wait in its place.
    MakeWay,
    /// The arrival goes to sleep when it finds no seat.
    Enqueue,
}

pub(super) fn arrival(
    state: State,
    me: Arrival,
    is_past: impl Fn() -> bool,
    is_rotation_due: impl Fn() -> bool,
    is_coming_here: impl Fn() -> bool,
) -> ArrivalPlan {
    if !state.has(LOCKED) && may_barge(state) {
        return ArrivalPlan::Grab;
    }
    if is_past() {
        return ArrivalPlan::Leave;
    }
    if state.has(QUIET) {
        return ArrivalPlan::Knock;
    }
    let is_for_a_sleeper = || state.is_vacant() && is_rotation_due();
    if !state.has(DECK) && !is_for_a_sleeper() {
        return ArrivalPlan::Claim;
    }
    if me.sits_beside && state.has(FLIGHT) && !state.has(SECOND) && !is_coming_here() {
        return ArrivalPlan::SitBeside;
    }
    // It would leave a free lock to one who has been called and may have no core.
    if !state.has(LOCKED) && !state.is_anybody_up() {
        return ArrivalPlan::Grab;
    }
    if me.may_yield && !state.has(HOT) {
        return ArrivalPlan::Yield;
    }
    if me.has_deadline && state.has(LATCHED) {
        return ArrivalPlan::MakeWay;
    }
    ArrivalPlan::Enqueue
}

/// Whether an arrival may take a free lock. It breaks into no hot lock that another is to have: one awake, or one that has been
/// called. If it did, the turn of who got the lock by the last pass would end after a section or two.
const fn may_barge(state: State) -> bool {
    !state.has(HOT) || !state.has(DECK) || state.has(QUIET)
}

// -- In a seat --------------------------------------------------------------------------------------------------------

/// What the occupant of a seat knows beside the word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occupant {
    /// Whether it was called to its seat: then, of two, it stays.
    pub(super) is_called: bool,
    /// Whether it can gain anything by waiting awake: not on one core.
    pub(super) spins: bool,
    pub(super) has_asked: bool,
    pub(super) has_napped: bool,
    /// Whether a lock that looked free was taken again by the time of its compare-exchange.
    pub(super) has_missed: bool,
}

/// One step of `sit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OccupantPlan {
    /// The occupant takes the lock that a release has passed.
    Accept,
    /// The occupant takes a free lock, unless that is hot and there is time to leave it to its last holder.
    Take,
    /// The occupant leaves the seat: its deadline has passed.
    GiveUp,
    /// The occupant asks, once its patience is over or a rotation is due, that the next release pass the lock; also if that
    /// looks free, once it has not been when the occupant took it.
    Ask,
    /// The occupant leaves its seat to go to the dugout, when the sleeper that was called beside it is up, or before it would
    /// sleep beside one.
    Retire,
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
) -> OccupantPlan {
    if state.has(PASSED) {
        return OccupantPlan::Accept;
    }
    // Where polling is of no use it naps first: the release that ends the nap may be enough.
    let must_ask = || !state.has(FAIR) && (me.spins || me.has_napped) && is_due();
    if !state.has(LOCKED) && (!me.spins || me.has_asked || may_take() || is_past()) {
        // Where lines travel far it may look free each time, and be taken again by the time of the write.
        return if me.has_missed && must_ask() && !is_past() { OccupantPlan::Ask } else { OccupantPlan::Take };
    }
    if is_past() {
        // It may have passed since the look at it above. A free lock is not left to nobody.
        return if state.has(LOCKED) { OccupantPlan::GiveUp } else { OccupantPlan::Take };
    }
    if must_ask() {
        return OccupantPlan::Ask;
    }
    let would_nap = || !me.spins || may_nap();
    // One waiter awake is enough, and both may need the same core.
    if state.has(SECOND) && !me.is_called && (!state.has(FLIGHT) || would_nap()) {
        return OccupantPlan::Retire;
    }
    // A release ends a nap, so there has to be one to come.
    if state.has(LOCKED) && would_nap() {
        return OccupantPlan::Nap;
    }
    if may_yield() { OccupantPlan::Yield } else { OccupantPlan::Pause }
}

// -- Releasing --------------------------------------------------------------------------------------------------------

/// How the holder releases a lock that shows work to do: one step of `release_slow`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReleasePlan {
    /// The holder gives the lock to the deck, and calls a sleeper to be the next, when it is asked and may call one.
    PassOn,
    /// The holder gives the lock to who sits when it is asked and may call nobody.
    Pass,
    /// The holder frees the lock and wakes the occupant that naps.
    Rouse,
    /// The holder frees the lock and calls a sleeper, as both seats are empty.
    CallUp,
    /// The holder frees the lock and calls a sleeper, also if a seat is taken or kept: somebody who sleeps has been notified,
    /// and whoever has the seat may have no core.
    Rush,
    /// The holder frees the lock when somebody else sees to the rest.
    Vacate,
}

pub(super) const fn release(state: State, is_fair: bool) -> ReleasePlan {
    // Whatever else it shows: who knocks waits awake.
    if state.has(QUIET) {
        return ReleasePlan::Vacate;
    }
    let gives = state.has(FAIR) || is_fair;
    let may_call = state.has_sleepers() && !state.has(LATCHED | FLIGHT | SECOND | NAPPING);
    if gives && may_call {
        ReleasePlan::PassOn
    } else if gives && state.has(DECK) {
        ReleasePlan::Pass
    } else if state.has(RUSH) && state.has_sleepers() && !state.has(LATCHED) {
        ReleasePlan::Rush
    } else if state.has(NAPPING) {
        ReleasePlan::Rouse
    } else if state.is_vacant() && !state.has(LATCHED) {
        ReleasePlan::CallUp
    } else {
        ReleasePlan::Vacate
    }
}

// Arithmetic on every state there is: the interpreter would take hours, and could find nothing.
#[cfg(all(test, not(miri)))]
mod tests;
