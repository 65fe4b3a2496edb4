//! The text that the two mutexes of glibc share: its `pthread_mutex_t`, what is kept in it, and how one sleeps.
//!
//! Each has its own file with the whole story in its header, beginning with [`pthread_port`](crate::pthread_port). They
//! differ in what a contender does before it is ready to sleep, which [`Kind`] asks for. Labels as E1 and I1 are those of
//! the headers; what is cited here means the same in both.

use crate::tristate::State;
use crate::{Entry, RawLock};
use core::fmt;
use core::hint::black_box;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use ondeck_core::{Atomic, Platform, StaticPlatform, Step};

// -- 1. Steps, and what makes one of the two --------------------------------------------------------------------------

/// The answer in which the two mutexes differ.
pub trait Kind<P: Platform>: Sized + Send + Sync + 'static {
    /// The row of this lock in [`LOCKS`](crate::LOCKS).
    const ENTRY: Entry;

    /// A thread reads which kind of mutex this is.
    const READ_KIND: Step = Step { lock: Self::ENTRY.name, name: "read_kind" };
    /// One attempt.
    const GRAB: Step = Step { lock: Self::ENTRY.name, name: "grab" };
    /// A contender that is ready to sleep reads whether somebody does.
    const LOOK: Step = Step { lock: Self::ENTRY.name, name: "look" };
    /// A contender says that it will sleep.
    const ANNOUNCE: Step = Step { lock: Self::ENTRY.name, name: "announce" };
    /// It sleeps.
    const PARK: Step = Step { lock: Self::ENTRY.name, name: "park" };
    /// The holder writes down who it is.
    const SIGN_IN: Step = Step { lock: Self::ENTRY.name, name: "sign_in" };
    /// The holder strikes that out.
    const SIGN_OUT: Step = Step { lock: Self::ENTRY.name, name: "sign_out" };
    /// The holder frees the lock.
    const VACATE: Step = Step { lock: Self::ENTRY.name, name: "vacate" };
    /// An ex-holder wakes a sleeper.
    const WAKE: Step = Step { lock: Self::ENTRY.name, name: "wake" };

    /// How often an acquisition reads the kind before it knows which way to go.
    const READS_TO_ACQUIRE: u32;
    /// How often a release does.
    const READS_TO_RELEASE: u32;

    /// Gets the lock for a caller whose first grab has failed.
    fn acquire_slow(lock: &PthreadMutex<P, Self>);
}

// -- 2. Tuning: each lock's own ---------------------------------------------------------------------------------------

// -- 3. State: tristate.rs --------------------------------------------------------------------------------------------

/// What the kind field says: the kind that the type says. The original has a number for each kind, and many more kinds.
const AS_TYPED: u32 = 0;
/// What the owner field says while it names nobody.
const NOBODY: u32 = 0;

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// A mutex of glibc of the kind `K`, with the fields of the original at their places.
#[repr(C)]
pub struct PthreadMutex<P: Platform, K> {
    word: P::U32,
    /// Levels of a recursive mutex, which neither kind is.
    _count: u32,
    owner: P::U32,
    n_users: P::U32,
    kind: P::U32,
    /// What the adaptive kind has learned. In the original two fields, of which the other is for elision.
    pub(crate) spins: P::U32,
    /// The place in a list of robust mutexes, which neither kind is.
    _list: [u64; 2],
    variant: PhantomData<K>,
}

impl<P: StaticPlatform, K> PthreadMutex<P, K> {
    /// A free lock, for statics.
    pub const INIT: Self = PthreadMutex {
        word: P::U32_ZERO,
        _count: 0,
        owner: P::U32_ZERO,
        n_users: P::U32_ZERO,
        kind: P::U32_ZERO,
        spins: P::U32_ZERO,
        _list: [0; 2],
        variant: PhantomData,
    };
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------
//
// Called through a pointer: those of the original are calls into a shared library, and that is a part of what they cost alone.

impl<P: Platform, K: Kind<P>> RawLock for PthreadMutex<P, K> {
    type Platform = P;
    const ENTRY: Entry = K::ENTRY;

    fn new() -> Self {
        PthreadMutex {
            word: P::U32::new(State::FREE.0),
            _count: 0,
            owner: P::U32::new(NOBODY),
            n_users: P::U32::new(0),
            kind: P::U32::new(AS_TYPED),
            spins: P::U32::new(0),
            _list: [0; 2],
            variant: PhantomData,
        }
    }

    #[inline]
    fn try_acquire(&self) -> bool {
        black_box(Self::try_acquire_there as fn(&Self) -> bool)(self)
    }

    #[inline]
    fn acquire(&self) {
        black_box(Self::acquire_there as fn(&Self))(self);
    }

    #[inline]
    unsafe fn release(&self) {
        black_box(Self::release_there as fn(&Self))(self);
    }

    /// May claim a sleeper that is gone.
    fn shows_sleeper(&self) -> Option<bool> {
        Some(self.state().is_crowded())
    }

    fn is_at_rest(&self) -> bool {
        self.state().is_free() && self.owner.load(Relaxed) == NOBODY && self.n_users.load(Relaxed) == 0
    }
}

impl<P: Platform, K: Kind<P>> PthreadMutex<P, K> {
    fn try_acquire_there(&self) -> bool {
        self.read_kind(1);
        P::step(K::LOOK);
        let is_in = self.looks_free() && self.grab();
        if is_in {
            self.sign_in();
        }
        is_in
    }

    fn acquire_there(&self) {
        self.read_kind(K::READS_TO_ACQUIRE);
        if !self.grab() {
            K::acquire_slow(self);
        }
        // In the original too this is looked at on each acquisition.
        assert!(self.owner.load(Relaxed) == NOBODY, "I4: the last holder has not signed out");
        self.sign_in();
    }

    fn release_there(&self) {
        // Taken before the releasing write: `self` may be gone when the wake is sent.
        let address = &raw const self.word;
        self.read_kind(K::READS_TO_RELEASE);
        self.sign_out();
        P::step(K::VACATE);
        let found = State(self.word.swap(State::FREE.0, Release)); // E1
        debug_assert!(!found.is_free(), "I2: release of a free lock");
        if found.is_crowded() {
            Self::release_slow(address);
        }
    }

    #[inline]
    pub(crate) fn grab(&self) -> bool {
        P::step(K::GRAB);
        self.word.compare_exchange(State::FREE.0, State::HELD.0, Acquire, Relaxed).is_ok() // E1
    }

    /// What decides in the original which of its ways is taken. Its compiler reads the field again for most of the questions.
    #[inline]
    fn read_kind(&self, n_reads: u32) {
        P::step(K::READ_KIND);
        for _ in 0..n_reads {
            assert!(self.kind.load(Relaxed) == AS_TYPED, "I3: the kind of a mutex has changed");
        }
    }

    #[inline]
    fn sign_in(&self) {
        P::step(K::SIGN_IN);
        // A thread whose number does not exist any more signs as nobody: the field decides nothing.
        self.owner.store(P::thread_index().map_or(NOBODY, u32::from), Relaxed);
        self.n_users.store(self.n_users.load(Relaxed).wrapping_add(1), Relaxed);
    }

    #[inline]
    fn sign_out(&self) {
        P::step(K::SIGN_OUT);
        self.owner.store(NOBODY, Relaxed);
        self.n_users.store(self.n_users.load(Relaxed).wrapping_sub(1), Relaxed);
    }

    // -- 6. acquire_slow: the half that sleeps ------------------------------------------------------------------------

    #[cold]
    #[inline(never)]
    pub(crate) fn wait(&self) {
        P::step(K::LOOK);
        let mut is_crowded = self.state().is_crowded();
        // Ended by an announce that finds FREE. A sleeper is woken by a vacate that found the mark (I1).
        while is_crowded || !self.announce().is_free() {
            P::step(K::PARK);
            P::wait_on(&self.word, State::CROWDED.0, None);
            is_crowded = false;
        }
    }

    /// A thread that comes here may have left sleepers behind, so the mark stays also if it is the way in.
    fn announce(&self) -> State {
        P::step(K::ANNOUNCE);
        State(self.word.swap(State::CROWDED.0, Acquire)) // E1
    }

    // -- 7. Spin helper: the adaptive kind's own ----------------------------------------------------------------------

    // -- 8. release_slow ----------------------------------------------------------------------------------------------

    /// Wakes by address only: the lock may be free, taken again, or gone.
    #[cold]
    #[inline(never)]
    fn release_slow(address: *const P::U32) {
        P::step(K::WAKE);
        P::wake(address, 1);
    }
}

// -- 9. Waiter record: none, the kernel keeps the queue. --------------------------------------------------------------

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, K> PthreadMutex<P, K> {
    fn state(&self) -> State {
        State(self.word.load(Relaxed))
    }

    pub(crate) fn looks_free(&self) -> bool {
        self.state().is_free()
    }
}

impl<P: Platform, K: Kind<P>> fmt::Debug for PthreadMutex<P, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({:?})", K::ENTRY.name, self.state())
    }
}

// -- 11. Tests of section 4 -------------------------------------------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;
    use ondeck_core::Hardware;
    use std::mem::offset_of;

    /// As glibc's headers have them on processors of 64 bits; so they share a line as often as there.
    #[test]
    fn fields_are_where_the_original_has_them() {
        type Mutex = PthreadMutex<Hardware, ()>;
        assert_eq!([offset_of!(Mutex, word), offset_of!(Mutex, owner), offset_of!(Mutex, n_users)], [0, 8, 12]);
        assert_eq!([offset_of!(Mutex, kind), offset_of!(Mutex, spins), size_of::<Mutex>()], [16, 20, 40]);
    }
}
