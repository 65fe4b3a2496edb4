//! Who waits on which condition variable: so that one that is destroyed can be taken from those who have been notified.
//!
//! A notified waiter may still be asleep, in its mutex, when its condition variable is destroyed and freed; and if it is
//! cancelled there, it has to pass its notification on, for which it needs it. So each waiter stands here, by the address.
//! The destroyer takes the address away ([`cut_off`]); a thread that wants to touch it [`hold`](Place::hold)s it first.
//!
//! # Steps
//! `proof/spec/pthread_places.tla` is a model of this and of the waits and the destruction in `cond`: nobody touches a condition
//! variable that is gone, or another one at its address; the destruction ends, also if the destroyer has the mutex in which the
//! notified sleep; and no notification is lost with a cancelled waiter. Comments in the code name the steps.
//!
//! | step | what it does |
//! |---|---|
//! | `take` | a waiter takes a free place, or finds none |
//! | `count_in` | counts itself, if it has one |
//! | `join` | becomes a waiter, and releases the mutex |
//! | `wake` | has been notified, and called by a release of the mutex |
//! | `withdraw` | gives up: its record cannot be notified any more |
//! | `unlink` | and leaves the list |
//! | `hold` | is cancelled: keeps the condition variable from being destroyed, if it is there |
//! | `find_notified` | has been notified before that |
//! | `pass_on` | and notifies another |
//! | `leave` | gives its place up |
//! | `count_out` | counts itself out, unless it was cut off; its last touch |
//! | `reacquire` | has the mutex again |
//! | `broadcast` | all waiters become sleepers of the mutex |
//! | `is_idle` | the destroyer waits until nobody is in the list |
//! | `cut_off` | takes the address from a place, unless that is held |
//! | `count_cut` | subtracts those from the count |
//! | `destroyed` | returns once nobody is counted; else it begins again |
//! | `init` | another one at the same address |
//!
//! Orderings: the destroyer acquires the count, and `count_out` releases it, so whatever a waiter has done is over. Who is cut
//! off has last touched the condition variable under the list's lock, which the destroyer has had since. A hold and a cut are
//! exchanges of one word, of which one comes first.

use crate::bytes::cond::Cond;
use crate::thread;
use core::ptr;
use core::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// A place for one waiter, on a line of its own.
#[repr(align(64))]
pub(crate) struct Place {
    /// The condition variable's address, [`HELD`] with it; [`CUT`] once it may be gone; 0 if nobody stands here.
    cond: AtomicUsize,
}

const HELD: usize = 1;
const CUT: usize = 2;

/// More waiters than this at a time have none. What they do without: one that is cancelled while it is notified loses the
/// notification for others.
const PLACES: usize = 8192;
static WAITING: [Place; PLACES] = [const { Place { cond: AtomicUsize::new(0) } }; PLACES];
/// No place from here on has been used.
static END: AtomicUsize = AtomicUsize::new(0);

/// Notes that the calling thread waits on `cond`. `None` if there is no place.
pub(crate) fn take(cond: &Cond) -> Option<&'static Place> {
    /// Where threads begin to look: few enough that a table of few waiters is short.
    const SPREAD: usize = 128;
    let first = thread::id() as usize % SPREAD;
    (0..PLACES).map(|n| (first + n) % PLACES).find_map(|idx| {
        let place = &WAITING[idx];
        // Who cuts off looks at no place from the end on, so that comes first.
        if place.cond.load(Relaxed) != 0 {
            return None;
        }
        if END.load(Relaxed) <= idx {
            END.fetch_max(idx + 1, Relaxed);
        }
        let address = ptr::from_ref(cond).expose_provenance();
        // pthread_places: take
        place.cond.compare_exchange(0, address, AcqRel, Relaxed).ok().map(|_| place)
    })
}

impl Place {
    /// Keeps the condition variable from being destroyed until [`leave`](Self::leave); false if it may be gone.
    pub(crate) fn hold(&self, cond: &Cond) -> bool {
        let address = ptr::from_ref(cond).addr();
        // pthread_places: hold
        self.cond.compare_exchange(address, address | HELD, Acquire, Relaxed).is_ok()
    }

    /// The waiter will not touch the condition variable any more, and gives the place up. False if it must not even count
    /// itself out.
    pub(crate) fn leave(&self) -> bool {
        self.cond.swap(0, Release) != CUT // pthread_places: leave
    }
}

/// Takes `cond` away from all who wait on it, but for those that hold it, and gives their number.
pub(crate) fn cut_off(cond: &Cond) -> u32 {
    let address = ptr::from_ref(cond).addr();
    let is_cut = |place: &&Place| {
        // pthread_places: cut_off
        place.cond.load(Relaxed) == address && place.cond.compare_exchange(address, CUT, Relaxed, Relaxed).is_ok()
    };
    WAITING[..END.load(Relaxed)].iter().filter(is_cut).count() as u32
}

/// In the child of a fork nobody waits.
pub(crate) fn clear() {
    for place in &WAITING[..END.swap(0, Relaxed)] {
        place.cond.store(0, Relaxed);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::{Mutex, PoisonError};

    /// As if all places had been used: then it takes long to clear them.
    pub(crate) fn use_all() {
        END.store(PLACES, Relaxed);
    }

    /// There is one table.
    static TURN: Mutex<()> = Mutex::new(());

    fn alone(test: impl FnOnce([&Cond; 2])) {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: zeros are what a static initialiser writes.
        let conds: [Cond; 2] = unsafe { core::mem::zeroed() };
        test(conds.each_ref());
        clear();
    }

    #[test]
    fn each_waiter_has_a_place_of_its_own_while_there_are_any() {
        alone(|[cond, _]| {
            let mut places: Vec<&'static Place> = (0..PLACES).map(|_| take(cond).unwrap()).collect();
            assert!(take(cond).is_none());
            places[PLACES / 2].leave();
            assert!(ptr::eq(take(cond).unwrap(), places[PLACES / 2]));
            assert_eq!(cut_off(cond), PLACES as u32);
            assert!(places.iter().all(|place| !place.leave()));
            places.sort_unstable_by_key(|place| ptr::from_ref::<Place>(place));
            places.dedup_by(|one, other| ptr::eq(*one, *other));
            assert_eq!(places.len(), PLACES);
        });
    }

    #[test]
    fn who_is_cut_off_holds_nothing_and_does_not_count_itself_out() {
        alone(|[cond, other]| {
            let (place, beside) = (take(cond).unwrap(), take(other).unwrap());
            assert_eq!(cut_off(cond), 1);
            assert_eq!(cut_off(cond), 0);
            assert!(!place.hold(cond));
            assert!(!place.leave());
            assert!(beside.hold(other));
            assert!(beside.leave());
        });
    }

    #[test]
    fn who_holds_is_not_cut_off() {
        alone(|[cond, _]| {
            let place = take(cond).unwrap();
            assert!(place.hold(cond));
            assert_eq!(cut_off(cond), 0);
            assert!(place.leave());
            assert_eq!(cut_off(cond), 0);
        });
    }

    /// A place that is left and cut off at once is counted out by one of the two.
    #[test]
    fn a_cut_and_a_leave_never_both_count() {
        const ROUNDS: usize = 100_000;
        alone(|[cond, _]| {
            let begun = [const { AtomicUsize::new(0) }; 2];
            let meet = |round, mine: usize| {
                begun[mine].store(round, Release);
                while begun[1 - mine].load(Acquire) < round {
                    core::hint::spin_loop();
                }
            };
            let place = take(cond).unwrap();
            std::thread::scope(|scope| {
                let cuts = scope.spawn(|| {
                    let cut = |round| {
                        meet(2 * round - 1, 0);
                        let n = cut_off(cond);
                        meet(2 * round, 0);
                        n
                    };
                    (1..=ROUNDS).map(cut).collect::<Vec<u32>>()
                });
                let leave = |round| {
                    meet(2 * round - 1, 1);
                    // Who cuts off looks at many places first.
                    (0..round % 512).for_each(|n| {
                        core::hint::black_box(n);
                    });
                    let counts = place.leave();
                    meet(2 * round, 1);
                    place.cond.store(ptr::from_ref(cond).addr(), Relaxed);
                    u32::from(counts)
                };
                let leaves: Vec<u32> = (1..=ROUNDS).map(leave).collect();
                let sums = cuts.join().unwrap().into_iter().zip(leaves).map(|(cut, left)| cut + left);
                assert!(sums.into_iter().all(|sum| sum == 1));
            });
        });
    }

    #[test]
    fn in_a_child_nobody_waits() {
        alone(|[cond, _]| {
            assert!((0..3).all(|_| take(cond).is_some()));
            clear();
            assert_eq!(cut_off(cond), 0);
            // The table has an end, and each place that is in use is before it.
            for n in 1..10 {
                (0..n).for_each(|_| assert!(take(cond).is_some()));
                assert_eq!(cut_off(cond), n);
            }
        });
    }
}
