//! The text that the ports of parking_lot's mutexes share.
//!
//! Both have their own file with the whole story in its header, [`parking_lot_012_port`](crate::parking_lot_012_port)
//! first. They differ in how a release leaves the word, which [`Variant`] asks for, and in a constant of spinning. Labels
//! as E1 and I1 are those of the headers; what is cited here means the same in both.

mod bucket;
mod latch;
mod parker;
mod state;

use self::bucket::{Bucket, Node, PoppedNode};
pub(crate) use self::state::State;
use crate::{Defaults, Entry, RawLock, TuningSource};
use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use ondeck_core::{Atomic, Platform, Step};

// -- 1. Steps, and what makes one of the two --------------------------------------------------------------------------

/// The answers in which the two mutexes differ. A value of it is the part of the bucket that only this one has.
pub trait Variant<P: Platform>: Sized + Send + Sync + 'static {
    /// The row of this lock in [`LOCKS`](crate::LOCKS).
    const ENTRY: Entry;
    /// Its constants.
    type Tuning;

    /// An arrival finds nothing in the word.
    const GRAB: Step = Step { lock: Self::ENTRY.name, name: "grab" };
    /// One attempt that does not wait.
    const TRY: Step = Step { lock: Self::ENTRY.name, name: "try" };
    /// A contender reads the word.
    const LOOK: Step = Step { lock: Self::ENTRY.name, name: "look" };
    /// A contender finds the lock free, whoever is parked.
    const LATE_GRAB: Step = Step { lock: Self::ENTRY.name, name: "late_grab" };
    /// A contender says that somebody parks.
    const ANNOUNCE: Step = Step { lock: Self::ENTRY.name, name: "announce" };
    /// Under the latch: whether parking is still right.
    const VALIDATE: Step = Step { lock: Self::ENTRY.name, name: "validate" };
    /// A contender goes behind the others.
    const ENQUEUE: Step = Step { lock: Self::ENTRY.name, name: "enqueue" };
    /// It sleeps.
    const PARK: Step = Step { lock: Self::ENTRY.name, name: "park" };
    /// The holder leaves by the fast path.
    const VACATE: Step = Step { lock: Self::ENTRY.name, name: "vacate" };
    /// A releaser takes out the oldest sleeper.
    const DEQUEUE: Step = Step { lock: Self::ENTRY.name, name: "dequeue" };
    /// It gives that one its permit.
    const PERMIT: Step = Step { lock: Self::ENTRY.name, name: "permit" };
    /// It calls the system for that one.
    const WAKE: Step = Step { lock: Self::ENTRY.name, name: "wake" };
    /// The latch is free and without a queue.
    const LATCH: Step = Step { lock: Self::ENTRY.name, name: "latch" };
    /// The latch is found free after all.
    const LATE_LATCH: Step = Step { lock: Self::ENTRY.name, name: "late_latch" };
    /// A thread that wants the latch goes on top of its stack.
    const PUSH: Step = Step { lock: Self::ENTRY.name, name: "push" };
    /// It sleeps there.
    const AWAIT_LATCH: Step = Step { lock: Self::ENTRY.name, name: "await_latch" };
    /// The latch is given back.
    const UNLATCH: Step = Step { lock: Self::ENTRY.name, name: "unlatch" };
    /// The thread that has given it back may work on its stack.
    const CLAIM_STACK: Step = Step { lock: Self::ENTRY.name, name: "claim_stack" };
    /// Somebody has the latch again, who will look after the stack.
    const LEAVE_STACK: Step = Step { lock: Self::ENTRY.name, name: "leave_stack" };
    /// The only one is taken out.
    const POP_ONLY: Step = Step { lock: Self::ENTRY.name, name: "pop_only" };
    /// The oldest of several is taken out.
    const POP_OLDEST: Step = Step { lock: Self::ENTRY.name, name: "pop_oldest" };
    /// It is woken.
    const ROUSE: Step = Step { lock: Self::ENTRY.name, name: "rouse" };

    /// That of a free lock.
    fn new() -> Self;

    /// How contenders spin, for the word and for the latch.
    fn spins(tuning: Self::Tuning) -> Spins;

    /// The holder leaves.
    fn vacate<T: TuningSource<Self::Tuning>>(lock: &ParkingLot<P, Self, T>);
}

// -- 2. Tuning --------------------------------------------------------------------------------------------------------

/// How contenders spin before they sleep: some rounds of pauses, each twice as long as the one before, then yields.
#[derive(Clone, Copy, Debug)]
pub struct Spins {
    /// Pauses in the first round.
    pub first_pauses: u32,
    /// Rounds of pauses; none where spinning cannot pay.
    pub pause_rounds: u32,
    /// Offers of the core after them.
    pub yields: u32,
}

/// Where a contender is in that.
pub(crate) struct Spinner<P> {
    spins: Spins,
    round: u32,
    platform: PhantomData<P>,
}

impl<P: Platform> Spinner<P> {
    #[inline]
    pub(crate) fn new(spins: Spins) -> Self {
        Spinner { spins, round: 0, platform: PhantomData }
    }

    /// From the beginning, after sleeping.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.round = 0;
    }

    /// Lets a little time pass; false if there is no more to spend.
    #[inline]
    pub(crate) fn spin(&mut self) -> bool {
        let (round, rounds) = (self.round, self.spins.pause_rounds);
        if round >= rounds + self.spins.yields {
            return false;
        }
        self.round += 1;
        if round >= rounds {
            P::yield_now();
        } else if P::may_spin() {
            P::pauses(self.spins.first_pauses << round);
        }
        true
    }
}

// -- 3. State: parking_lot/state.rs -----------------------------------------------------------------------------------

// -- 4. The lock ------------------------------------------------------------------------------------------------------

/// A mutex of parking_lot, of the kind `V`, with a bucket of its own on a line of its own, as far away as the original's.
///
/// There is none for statics: a bucket beside the word would keep apart what shares a line with the original's byte.
#[repr(C)]
pub struct ParkingLot<P: Platform, V, T = Defaults> {
    pub(crate) word: P::U32,
    bucket: Box<Bucket<P, V>>,
    tuning: PhantomData<T>,
}

// -- 5. Public raw operations -----------------------------------------------------------------------------------------

impl<P: Platform, V: Variant<P>, T: TuningSource<V::Tuning>> RawLock for ParkingLot<P, V, T> {
    type Platform = P;
    const ENTRY: Entry = V::ENTRY;

    fn new() -> Self {
        ParkingLot { word: P::U32::new(State::FREE.0), bucket: Box::new(Bucket::new(V::new())), tuning: PhantomData }
    }

    #[inline]
    fn try_acquire(&self) -> bool {
        let mut seen = self.look();
        // Ended by a word that is locked, or by success; each failure but a spurious one is another thread's success.
        while !seen.is_locked() {
            P::step(V::TRY);
            // E1
            match self.word.compare_exchange_weak(seen.0, seen.locked().0, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) => seen = State(found),
            }
        }
        false
    }

    #[inline]
    fn acquire(&self) {
        P::step(V::GRAB);
        // E1
        if self.word.compare_exchange_weak(State::FREE.0, State::LOCKED.0, Acquire, Relaxed).is_err() {
            self.acquire_slow();
        }
    }

    #[inline]
    unsafe fn release(&self) {
        V::vacate(self);
    }

    fn shows_sleeper(&self) -> Option<bool> {
        Some(!self.bucket.is_empty())
    }

    fn is_at_rest(&self) -> bool {
        self.state() == State::FREE && self.bucket.is_at_rest()
    }
}

// -- 6. acquire_slow --------------------------------------------------------------------------------------------------

impl<P: Platform, V: Variant<P>, T: TuningSource<V::Tuning>> ParkingLot<P, V, T> {
    #[cold]
    #[inline(never)]
    fn acquire_slow(&self) {
        let mut spinner = Spinner::<P>::new(V::spins(T::TUNING));
        let mut seen = self.look();
        // Ended by a late_grab that finds the lock free, or by a hand-off. Spinning is bounded, and who parks is woken (I3).
        loop {
            if !seen.is_locked() {
                P::step(V::LATE_GRAB);
                // E1
                match self.word.compare_exchange_weak(seen.0, seen.locked().0, Acquire, Relaxed) {
                    Ok(_) => return,
                    Err(found) => seen = State(found),
                }
                continue;
            }
            if !seen.has_parked() {
                if spinner.spin() {
                    seen = self.look();
                    continue;
                }
                P::step(V::ANNOUNCE);
                if let Err(found) = self.word.compare_exchange_weak(seen.0, seen.parked().0, Relaxed, Relaxed) {
                    seen = State(found);
                    continue;
                }
            }
            if self.park() {
                return;
            }
            spinner.reset();
            seen = self.look();
        }
    }

    /// Sleeps until a releaser takes us out, unless the lock is about to be released or was. True if that one has handed
    /// us the lock.
    #[inline]
    fn park(&self) -> bool {
        let node = Node::new();
        let bucket = self.latch();
        P::step(V::VALIDATE);
        if self.state() != State::LOCKED.parked() {
            bucket.unlatch();
            return false;
        }
        P::step(V::ENQUEUE);
        // SAFETY: the queue latch is ours, and the node is here until it has its permit, which ends `park` below.
        unsafe { bucket.append(&node, self.key()) };
        bucket.unlatch();
        P::step(V::PARK);
        node.park()
    }

    // -- 7. Spin loop: `Spinner` above ------------------------------------------------------------------------------------

    // -- 8. What the slow releases share ----------------------------------------------------------------------------------

    /// Takes out the oldest sleeper, if there is one. The queue latch is the caller's.
    #[inline]
    pub(crate) fn dequeue(&self, bucket: &Bucket<P, V>) -> Option<PoppedNode<P>> {
        P::step(V::DEQUEUE);
        // SAFETY: the queue latch is ours.
        unsafe { bucket.pop(self.key()) }
    }

    /// Tells a sleeper that was taken out whether it has the lock, lets go of the latch, and wakes it.
    #[inline]
    pub(crate) fn wake(&self, bucket: &Bucket<P, V>, popped: PoppedNode<P>, is_handed: bool) {
        P::step(V::PERMIT);
        // SAFETY: taken out above, and given its permit nowhere else.
        let call = unsafe { popped.permit(is_handed) };
        bucket.unlatch();
        P::step(V::WAKE);
        call.make();
    }

    /// The bucket, with its latch.
    #[inline]
    pub(crate) fn latch(&self) -> &Bucket<P, V> {
        let bucket = &*self.bucket;
        bucket.latch.acquire::<V>(V::spins(T::TUNING));
        bucket
    }

    // -- 9. Waiter record: parking_lot/bucket.rs; that of the latch: parking_lot/latch.rs ----------------------------------

    /// By which a sleeper says what it waits for.
    #[inline]
    fn key(&self) -> u64 {
        core::ptr::from_ref(&self.word).addr() as u64
    }

    #[inline]
    fn look(&self) -> State {
        P::step(V::LOOK);
        self.state()
    }
}

// -- 10. Inspect ------------------------------------------------------------------------------------------------------

impl<P: Platform, V, T> ParkingLot<P, V, T> {
    fn state(&self) -> State {
        State(self.word.load(Relaxed))
    }
}

impl<P: Platform, V: Variant<P>, T> fmt::Debug for ParkingLot<P, V, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({:?})", V::ENTRY.name, self.state())
    }
}

// -- 11. Tests of the spinner; those of section 3 are beside it ----------------------------------------------------------

#[cfg(test)]
mod tests {
    use super::*;
    use ondeck_core::Hardware;

    #[test]
    fn a_spinner_stops_after_its_rounds_and_begins_anew() {
        let mut spinner = Spinner::<Hardware>::new(Spins { first_pauses: 1, pause_rounds: 3, yields: 7 });
        for _ in 0..2 {
            assert_eq!((0..20).filter(|_| spinner.spin()).count(), 10);
            spinner.reset();
        }
    }
}
