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
//! *A lock becomes quiet* by a release (`hush`) that finds the counter come round: each of 1024 releases was asked
//! nothing. *It becomes loud* by the first release that finds it held and more than that. So an arrival that finds it quiet and
//! taken *knocks*: it writes its token, the address of its node, into the place of the head, and waits awake. Mostly the holder's
//! release comes, and nobody pays for more than a comparison. If none comes for 5 us, the arrival ends the slips under
//! way, and takes QUIET away itself (`settle`), if its token is still there.
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
//! - *Nobody waits for another who knocks.* A token may be replaced by that of another thread, whose patience is over; the first
//!   one then waits again, for a time of no fixed length, or two could go on replacing each other's.
//! - A token that its thread has left behind, as its deadline has passed, is one of nobody until a thread with a node at
//!   the same address writes it again. That one counts from its own write.
//! - *After release*: the store of a slip is its last access, as the addition is of a loud release.
//!
//! # Bound
//! At most one expulsion for each knock of 5 us, and none of a lock that has not been released 1024 times since the last one.
//! A platform lets no lock become quiet for a millisecond after an expulsion ([`Platform::can_expel`]); so each lock causes
//! at most 1,000 a second.
//!
//! # Lineage
//! Exits without an atomic instruction, which a waiter makes up for: HotSpot's monitors (1-0 locks). Making the fast side's
//! fence the slow side's system call: `membarrier`, liburcu, Linux' percpu-rwsem. Not related: biased locks, whose owner
//! keeps the lock while it does not use it. A quiet lock is free for whoever comes.

use super::dugout::Node;
use super::state::{ALARM, ROOM, State};
use super::watch::Wait;
use super::{EXPEL, KNOCK, MAKE_ROOM, Policy, RawOndeck, SETTLE, SLIP};
use crate::{Atomic, Platform};
use core::sync::atomic::Ordering::Relaxed;

/// How long who knocks waits for a release before it expels: about what that costs.
const PATIENCE_NS: u32 = 5_000;

/// How long a thread has knocked.
pub(super) struct Knock<P> {
    /// Since it first did, or had to begin anew.
    since: Option<Wait<P>>,
    patience_ns: u32,
}

impl<P: Platform> Knock<P> {
    pub(super) fn new() -> Self {
        Knock { since: None, patience_ns: PATIENCE_NS }
    }

    /// Of a thread that may be the holder, for whose release it would wait in vain.
    pub(super) fn at_once() -> Self {
        Knock { since: None, patience_ns: 0 }
    }

    fn is_over(&mut self) -> bool {
        let patience_ns = self.patience_ns;
        self.since.get_or_insert_with(Wait::new).longer_than(patience_ns) || !P::may_spin()
    }

    /// Another thread has been faster. Of no fixed length.
    fn begin_anew(&mut self) {
        self.since = None;
        self.patience_ns = PATIENCE_NS * (1 + P::ticks() as u32 % 4);
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
    /// list. False if that has none.
    #[cold]
    pub(super) fn knock(&self, state: State, node: &Node<P>, knock: &mut Knock<P>) -> bool {
        let Some(token) = node.token() else {
            // The next release finds more than it expects, and leaves the lock loud.
            P::step(MAKE_ROOM);
            self.word.fetch_or(ROOM | ALARM, Relaxed);
            return false;
        };
        let (is_over, is_mine) = (knock.is_over(), state.head() == token);
        if !is_mine && (is_over || state.head() == 0) {
            P::step(KNOCK);
            self.cas(state, State::quiet_and_held(token), Relaxed);
        } else if !is_over {
            P::pause_ns(T::tuning().poll_asked_ns);
        } else {
            P::step(EXPEL);
            P::expel();
            P::step(SETTLE);
            if !self.cas(state, state.loud(), Relaxed) {
                knock.begin_anew();
            }
        }
        true
    }
}
