//! The thin form of a monitor: owner and depth in one word, until somebody wants what a word cannot give.
//!
//! # Idea
//! Most monitors are never contended. For them the number of the owner and the depth of its nesting fit into a word.
//! One compare-exchange enters and one leaves. The fat form beside it can do the rest: count waiters, put them to
//! sleep, nest deeper than six bits. A monitor *inflates* when it is first contended for longer than a spin, and stays
//! fat.
//!
//! # Lineage
//! The object header of CoreCLR (`ObjHeader` in vm/syncblk.h and vm/syncblk.inl). There a word in front of each object
//! holds owner and depth, or, once inflated, the index of a *sync block* in a table; a garbage collection may take an
//! idle sync block back. Here the fat form lies beside the word in the lock, so there is no index, and it is never given
//! back. Kept: the layout, one compare-exchange per change, six bits of depth, and that whoever inflates takes a flag in
//! the word while it copies owner and depth over (BIT_SBLK_SPIN_LOCK there). Changed: 24 bits of owner instead of 10,
//! because our numbers of threads are not given out again. Left out: hash code and application domain, which share the
//! original's word.
//!
//! # The word
//!
//! | bits | name | meaning | set by | cleared by | may be stale? |
//! |---|---|---|---|---|---|
//! | 0-23 | owner | number of the thread inside, 0 if there is none | grab | vacate | exact while thin |
//! | 24-29 | depth | how often it entered beyond the first time | nest | unnest | exact while thin |
//! | 30 | LATCHED | somebody copies owner and depth into the fat form: all others wait, it does not | latch | inflate | exact |
//! | 31 | FAT | the fat form counts; all other bits are 0 | inflate | - | exact |
//!
//! The steps belong to the locks: each hands over its own ([`Steps`]).
//!
//! # Orderings
//! - T1 thin vacate -> grab, latch: everything the last holder wrote. A latch takes it on behalf of those who enter by
//!   the fat form.
//! - T2 inflate -> every look that may find FAT: the fields of the fat form, and with T1 what was written under the thin
//!   form before.
//!
//! Nesting changes nothing that another thread reads, so it is Relaxed.

use core::fmt;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Platform, StaticPlatform, Step};

/// A lock's names for what happens to its thin word.
pub struct Steps {
    /// Free to owned.
    pub grab: Step,
    /// One level deeper.
    pub nest: Step,
    /// One level less deep.
    pub unnest: Step,
    /// Owned to free.
    pub vacate: Step,
    /// LATCHED set.
    pub latch: Step,
    /// LATCHED to FAT.
    pub inflate: Step,
}

/// What became of an attempt to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Inside.
    Entered,
    /// Somebody else is.
    Contended,
    /// The word is too small for what is wanted: only the fat form can give it.
    Overflow,
    /// The fat form counts, and has not been asked.
    Fat,
}

/// The number of the calling thread.
///
/// # Panics
/// If the process has started more than 2^32 threads that asked for one.
#[inline]
pub(crate) fn me<P: Platform>() -> u32 {
    P::thread_index().expect("so many threads have come and gone that their numbers are used up").get()
}

/// The word as a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(u32);

impl State {
    const FREE: State = State(0);
    const FAT: State = State(1 << 31);
    const LATCHED: u32 = 1 << 30;
    const OWNER: u32 = (1 << 24) - 1;
    const LEVEL: u32 = 1 << 24;
    const DEPTH: u32 = 0x3F << 24;

    fn is_free(self) -> bool {
        self == State::FREE
    }

    pub(crate) fn is_fat(self) -> bool {
        self == State::FAT
    }

    fn is_latched(self) -> bool {
        self.0 & State::LATCHED != 0
    }

    /// 0 if there is none.
    pub(crate) fn owner(self) -> u32 {
        self.0 & State::OWNER
    }

    /// How often the owner has entered: 0 if nobody is inside.
    pub(crate) fn levels(self) -> u32 {
        if self.owner() == 0 { 0 } else { self.0 / State::LEVEL % 64 + 1 }
    }

    /// Entered once by `thread`; `None` if its number is too large.
    fn owned_by(thread: u32) -> Option<State> {
        (thread <= State::OWNER).then_some(State(thread))
    }

    /// One level deeper; `None` if the bits are used up.
    fn nested(self) -> Option<State> {
        (self.0 & State::DEPTH != State::DEPTH).then_some(State(self.0 + State::LEVEL))
    }

    /// One level less deep; `None` at the last, which is left for the free word.
    fn unnested(self) -> Option<State> {
        (self.0 & State::DEPTH != 0).then(|| State(self.0 - State::LEVEL))
    }

    fn latched(self) -> State {
        State(self.0 | State::LATCHED)
    }
}

const _: () = assert!(State::OWNER + State::DEPTH + State::LATCHED + State::FAT.0 == u32::MAX);
const _: () = assert!(State::OWNER + 1 == State::LEVEL);

/// The thin word.
#[repr(transparent)]
pub(crate) struct Thin<P: Platform>(P::U32);

impl<P: StaticPlatform> Thin<P> {
    /// Free and thin, for statics.
    pub(crate) const INIT: Self = Thin(P::U32_ZERO);
}

impl<P: Platform> Thin<P> {
    /// Free and thin.
    pub(crate) fn new() -> Self {
        Thin(P::U32::new(State::FREE.0))
    }

    /// The way in when nobody is inside and the form is thin; false otherwise.
    #[inline]
    pub(crate) fn grab(&self, me: u32, steps: &Steps) -> bool {
        let is_free = State(self.0.load(Relaxed)).is_free();
        is_free && State::owned_by(me).is_some_and(|mine| self.change(State::FREE, mine, steps.grab))
    }

    /// Every way in that the thin form has.
    pub(crate) fn enter(&self, me: u32, steps: &Steps) -> Answer {
        let seen = self.state();
        if seen.is_fat() {
            return Answer::Fat;
        }
        let (next, step, if_lost) = if seen.is_free() {
            (State::owned_by(me), steps.grab, Answer::Contended)
        } else if seen.owner() == me {
            // Only a latch can come between, and its taker will have made the form fat in a moment.
            (seen.nested().filter(|_| !seen.is_latched()), steps.nest, Answer::Overflow)
        } else {
            return Answer::Contended;
        };
        match next {
            None => Answer::Overflow,
            Some(next) if self.change(seen, next, step) => Answer::Entered,
            Some(_) => if_lost,
        }
    }

    fn change(&self, seen: State, next: State, step: Step) -> bool {
        P::step(step);
        self.0.compare_exchange(seen.0, next.0, Acquire, Relaxed).is_ok() // T1
    }

    /// Leaves one level; false if the form is fat and the fat form has to be asked.
    ///
    /// # Panics
    /// If the caller is not inside.
    #[inline]
    pub(crate) fn leave(&self, me: u32, steps: &Steps) -> bool {
        let once = State(me);
        if self.0.load(Relaxed) == once.0 {
            P::step(steps.vacate);
            // T1
            if self.0.compare_exchange(once.0, State::FREE.0, Release, Relaxed).is_ok() {
                return true;
            }
        }
        self.leave_slow(me, steps)
    }

    /// Nested, fat, or about to be.
    #[inline(never)]
    fn leave_slow(&self, me: u32, steps: &Steps) -> bool {
        // Ended by the change, or by FAT. Only the taker of the latch can come between us and the change, and it waits
        // for nobody; should it have lost its core, a yield gives it ours.
        loop {
            let seen = self.state();
            if seen.is_fat() {
                return false;
            }
            assert!(seen.owner() == me, "release by a thread that does not hold the lock");
            if seen.is_latched() {
                P::yield_now();
                continue;
            }
            let (step, next) = seen.unnested().map_or((steps.vacate, State::FREE), |next| (steps.unnest, next));
            P::step(step);
            // T1
            if self.0.compare_exchange(seen.0, next.0, Release, Relaxed).is_ok() {
                return true;
            }
        }
    }

    /// Makes the form fat if it is not. `copy` is given the owner, 0 for none, and how often it has entered, and writes
    /// that into the fat form; nobody reads or writes there before it returns.
    pub(crate) fn inflate(&self, steps: &Steps, copy: impl FnOnce(u32, u32)) {
        // Ended by FAT. A latch that fails was preceded by another thread's success; the thread that has it waits for
        // nobody.
        loop {
            let seen = self.state();
            if seen.is_fat() {
                return;
            }
            if seen.is_latched() {
                P::yield_now();
            } else if self.change(seen, seen.latched(), steps.latch) {
                copy(seen.owner(), seen.levels());
                P::step(steps.inflate);
                self.0.store(State::FAT.0, Release); // T2
                return;
            }
        }
    }

    pub(crate) fn state(&self) -> State {
        State(self.0.load(Acquire)) // T2
    }

    /// Whether the word says that nobody is inside. A fat one says nothing.
    pub(crate) fn is_free_or_fat(&self) -> bool {
        let seen = self.state();
        seen.is_free() || seen.is_fat()
    }
}

/// Who is inside the fat form, and how often. Written by the holder, and by who inflates on its behalf.
///
/// Others read only whether it is themselves. Nobody but they could make it so, or, once, the thread that inflated the
/// lock while they held it, which they have seen by T2; so a stale answer is no too.
pub(crate) struct Holder<P: Platform> {
    thread: P::U32,
    levels: P::U32,
}

impl<P: StaticPlatform> Holder<P> {
    /// Nobody, for statics.
    pub(crate) const INIT: Self = Holder { thread: P::U32_ZERO, levels: P::U32_ZERO };
}

impl<P: Platform> Holder<P> {
    /// Nobody.
    pub(crate) fn new() -> Self {
        Holder { thread: P::U32::new(0), levels: P::U32::new(0) }
    }

    pub(crate) fn is(&self, me: u32) -> bool {
        self.thread.load(Relaxed) == me
    }

    /// The lock has become the thread's, which has entered it so often; or nobody's.
    pub(crate) fn set(&self, thread: u32, levels: u32) {
        self.thread.store(thread, Relaxed);
        self.levels.store(levels, Relaxed);
    }

    /// The holder enters again.
    ///
    /// # Panics
    /// If it does so for the 2^32nd time.
    pub(crate) fn nest(&self) {
        let levels = self.levels.load(Relaxed).checked_add(1);
        self.levels.store(levels.expect("entered again without end"), Relaxed);
    }

    /// The holder leaves once; true if it is out with that. It is forgotten then.
    pub(crate) fn unnest(&self) -> bool {
        let left = self.levels.load(Relaxed) - 1;
        self.set(if left == 0 { 0 } else { self.thread.load(Relaxed) }, left);
        left == 0
    }

    /// How often the holder has entered.
    pub(crate) fn levels(&self) -> u32 {
        self.levels.load(Relaxed)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_fat(), self.owner()) {
            (true, _) => f.write_str("fat"),
            (_, 0) => f.write_str("free"),
            (_, owner) => write!(f, "held by thread {owner}, entered {} times", self.levels()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNERS: [u32; 4] = [1, 2, 1 << 12, State::OWNER];

    #[test]
    fn an_owner_enters_sixty_four_times_and_leaves_as_often() {
        for owner in OWNERS {
            let mut state = State::owned_by(owner).unwrap();
            for levels in 1..=64 {
                assert_eq!((state.owner(), state.levels()), (owner, levels));
                assert!(!state.is_free() && !state.is_fat() && !state.is_latched());
                match state.nested() {
                    Some(next) => {
                        assert_eq!(next.unnested(), Some(state));
                        state = next;
                    }
                    None => assert_eq!(levels, 64),
                }
            }
        }
        assert_eq!(State(1).unnested(), None);
    }

    #[test]
    fn a_number_that_does_not_fit_is_refused() {
        assert_eq!(State::owned_by(State::OWNER + 1), None);
        assert_eq!(State::owned_by(u32::MAX), None);
    }

    #[test]
    fn a_latch_keeps_owner_and_depth() {
        for state in [State::FREE, State(1), State(1).nested().unwrap(), State(State::OWNER | State::DEPTH)] {
            let latched = state.latched();
            assert!(latched.is_latched() && !latched.is_free() && !latched.is_fat());
            assert_eq!((latched.owner(), latched.levels()), (state.owner(), state.levels()));
        }
    }
}
