//! The quiet lock: one that is released without a locked instruction, as nobody has asked anything of it for long.
//!
//! # Idea
//! A release has to free the lock and to learn what is asked of it. An atomic instruction does both at once. Without one it can
//! *look, then store* ([`Platform::store_unless_expelled`]). That is half the price, and in between the word may change. So
//! whoever wants to be heard by the next release first puts an end to the releases under way ([`Platform::expel`]), which
//! costs microseconds and interrupts others. A lock is worth that only if it is hardly ever asked, so it is one of two:
//!
//! - *loud*: released by the addition of `vacate`, as the head of ondeck.rs has it. Each lock begins so.
//! - *quiet*, with the bit QUIET: released by a *slip*, which compares the word with "quiet, held, and nothing else", and
//!   stores "quiet and free".
//!
//! *A lock becomes quiet* by a release (`hush`) that finds the counter come round and nobody there: mostly as each of 1024
//! releases was asked nothing. *It becomes loud* by the first release that finds it held and more than that. So an arrival
//! that finds it quiet and taken *knocks*: it writes its token, the address of its node, into the place of the head, and
//! waits awake. Mostly the holder's release comes, and nobody pays for more than a comparison. If none comes for 5 us, the
//! arrival ends the slips under way, and takes QUIET away itself (`settle`), if its token is still there.
//!
//! # Argument
//! - I10 *On a quiet word nothing counts but LOCKED and the token*, and a write to it promises nothing: a slip under way may
//!   undo it. Flags and counter are zero, but for what a blind read-modify-write has set whose load was of another time; its
//!   answer shows QUIET, and it then has done nothing. The first release that sees such a word leaves LOCKED, the token
//!   and all the rest behind.
//! - *Only a holder makes a lock quiet*, while nobody has a seat, sleeps, has the latch, or is on the way to a seat. All of
//!   these are in the word. So none of them ever meets a quiet word; but one who has been called alone, which has nothing in
//!   the word: it may set LATCHED on a quiet one, sees so, and tries again.
//! - *Mutual exclusion*: a slip is made by the holder, and frees the lock. What it may undo is a knock only, or a settle; and a
//!   settle does not meet one:
//! - *Settle*: a thread writes its token while the lock is held, then expels, then replaces the word with exactly that token by
//!   a loud one. Only this thread writes its token, and it does not do so in between: so if the token is there at the end, it was
//!   there all the time. Slips that looked before it was there are ended, as they were expelled. Slips that looked
//!   while it was there have found more than they compare with. So none is under way.
//! - *No lost wake-up*: nobody sleeps, or relies on a release, before the lock is loud. Who knocks looks again and again.
//! - *Nobody waits for ever for another who knocks*, and may have no core: a token that stands for 100 us is replaced. That is far
//!   longer than an expulsion takes, and whose token was replaced waits twice as long for others' next time. So two do not
//!   go on replacing each other's. Meanwhile they yield, and nap if that is in vain (yields.rs).
//! - A token that its thread has left behind, as its deadline has passed, is one of nobody. A thread with a node at the same
//!   address takes it for its own: nobody else writes it, so it stands from that look to the comparison of `settle`.
//! - *After release*: the store of a slip is its last access, as the addition is of a loud release.
//!
//! # Bound
//! A lock that has become loud needs one expulsion; more only if a thread that knocks loses its core, one for each 100 us. A
//! platform lets no lock become quiet for a millisecond after an expulsion ([`Platform::can_expel`]). So as long as all have
//! cores, each lock causes at most 1,000 a second. All locks together cause one for each 1024 releases and each hold of 5 us:
//! below 100,000 a second for a thread that does nothing else (31,000 measured, X42).
//!
//! An arrival knocks for 5 us and the time of an expulsion, beside others who knock for 100 us. It needs some luck against a
//! holder that releases and acquires without a pause: the store of each slip may come after its token. A release that
//! finds it is enough.
//!
//! A fair release, and whoever lets others in ([`RawOndeck::release_fair`]), gives nothing to a thread that only knocks: as one
//! that still looks for the first time, it waits nowhere yet.
//!
//! # Lineage
//! Exits without an atomic instruction, which a waiter makes up for: HotSpot's monitors (1-0 locks). Making the fast side's
//! fence the slow side's system call: `membarrier`, liburcu, Linux' percpu-rwsem. Not related: biased locks, whose owner
//! keeps the lock while it does not use it. A quiet lock is free for whoever comes.

use super::dugout::Node;
use super::state::{ALARM, ROOM, State};
use super::watch::Wait;
use super::{EXPEL, KNOCK, MAKE_ROOM, Policy, RawOndeck, SETTLE, SLIP};
use crate::yields::Yields;
use crate::{Atomic, Platform};
use core::sync::atomic::Ordering::Relaxed;

/// How long who knocks waits for a release before it expels: about what that costs.
pub(super) const PATIENCE_NS: u32 = 5_000;
/// How long another's token stays unchanged before it is replaced: an expulsion takes far less, also behind others.
const STALE_NS: u32 = 100_000;
const MOST_STALE_NS: u32 = 64 * STALE_NS;

/// How long a thread has knocked.
pub(super) struct Knock<P> {
    /// The token that was seen last, and since when.
    seen: u64,
    since: Option<Wait<P>>,
    patience_ns: u32,
    stale_ns: u32,
    yields: Yields,
}

impl<P: Platform> Knock<P> {
    pub(super) fn new() -> Self {
        Knock { patience_ns: if P::may_spin() { PATIENCE_NS } else { 0 }, ..Self::at_once() }
    }

    /// Of a thread that may be the holder, for whose release it would wait in vain.
    pub(super) fn at_once() -> Self {
        Knock { seen: 0, since: None, patience_ns: 0, stale_ns: STALE_NS, yields: Yields::default() }
    }

    /// Whether this token has been there for so long.
    fn stands_for(&mut self, token: u64, ns: u32) -> bool {
        if self.seen != token {
            (self.seen, self.since) = (token, None);
        }
        self.since.get_or_insert_with(Wait::new).longer_than(ns)
    }

    /// Another thread has replaced our token: it took us for one without a core.
    fn was_overtaken(&mut self) {
        self.stale_ns = self.stale_ns.saturating_mul(2).min(MOST_STALE_NS);
    }
}

impl<P: Platform, T: Policy> RawOndeck<P, T> {
    /// Releases a lock that is quiet. If something else is in the word, or comes between, by comparison.
    ///
    /// Takes a pointer because the lock may be freed once it is released.
    #[inline(always)]
    pub(super) fn release_quiet(this: *const Self) {
        P::step(SLIP);
        let (held, free) = (State::quiet_and_held(0), State::quiet());
        // SAFETY: the caller holds the lock, so it is there until the store.
        let word = unsafe { &(*this).word };
        // SAFETY: the lock is quiet, so `can_expel` was true.
        let is_free = unsafe { P::store_unless_expelled(word, held.0, free.0) }; // E1
        if !is_free {
            Self::release_slow(this, false);
        }
    }

    /// One step of making a quiet lock loud that `state` shows taken, with the token of `node`, which is the caller's and in no
    /// list. False if that has none, or the platform does not help: then the next release makes it loud.
    #[cold]
    pub(super) fn knock(&self, state: State, node: &Node<P>, knock: &mut Knock<P>) -> bool {
        let Some(token) = node.token() else {
            // So that the next release finds more than it expects.
            P::step(MAKE_ROOM);
            self.word.fetch_or(ROOM | ALARM, Relaxed);
            return false;
        };
        let (patience_ns, stale_ns) = (knock.patience_ns, knock.stale_ns);
        match state.head() {
            0 => self.write_token(state, token),
            head if head == token => {
                if patience_ns == 0 || knock.stands_for(token, patience_ns) {
                    return self.settle(state, knock);
                }
                P::pause_ns(T::tuning().poll_asked_ns);
            }
            other if knock.stands_for(other, stale_ns) => self.write_token(state, token),
            other if P::may_spin() && !knock.stands_for(other, PATIENCE_NS) => P::pause_ns(T::tuning().poll_asked_ns),
            _ => knock.yields.make_way::<P>(),
        }
        true
    }

    fn write_token(&self, state: State, token: u64) {
        P::step(KNOCK);
        self.cas(state, State::quiet_and_held(token), Relaxed);
    }

    /// Makes the lock loud, in whose word our token was at the time of `state`. False if the platform does not help.
    fn settle(&self, state: State, knock: &mut Knock<P>) -> bool {
        P::step(EXPEL);
        if !P::expel() {
            return false;
        }
        P::step(SETTLE);
        if !self.cas(state, state.loud(), Relaxed) {
            knock.was_overtaken();
        }
        true
    }
}
