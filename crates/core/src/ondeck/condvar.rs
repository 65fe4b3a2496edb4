//! The flagship's condition variable: waiters wait in a list of their own, and a notification moves them to the lock's
//! dugout.
//!
//! # Idea
//! A notified thread needs the lock before it can do anything, and the notifier mostly still holds it. So a notification
//! under the lock wakes nobody: a woken thread could only take the core from the holder that it waits for. It pushes the
//! waiter's node onto the lock's list of sleepers, and the release calls it from there. If the lock is free, the
//! notification wakes the waiter itself.
//!
//! A notification is *in a hurry* in three cases:
//!
//! - It ends several waits at once.
//! - Other programs keep the cores busy ([`Busy`]).
//! - A thread has been called in an earlier rotation and is not up yet, and it is not our own threads that keep the cores
//!   busy: to wake more of them would be no help.
//!
//! Then no waiter depends on a thread that has been woken and may have no core. If the lock is free, but somebody has a seat, the
//! waiter is sent *alone*: it acquires as an arrival does. If the lock is taken, the push sets RUSH, and the release calls the
//! waiters that have been notified one after the other, for as long as the lock is free. How many are awake at once thus
//! follows from how long they need the lock. If that is short, all are woken in a row, and run on all cores. If it is long, the
//! first one has it by the time of the next look, and the others sleep on: no herd.
//!
//! Other notifications leave the waiter to whoever has a seat, or to the thread that has been called. A pool of threads whose
//! work is short does most of it with few of them awake.
//!
//! # Lineage
//! Moving waiters to the queue of the lock is the idea of Linux's FUTEX_CMP_REQUEUE and of wait morphing. Here a waiter
//! carries the pointer to its lock in its own record, so waiters of several locks may wait together.
//!
//! # Life of a waiter
//! The record lives on the stack of its thread. Its `place` says who may do what with it:
//!
//! | place | meaning | who writes next and prev | goes on to |
//! |---|---|---|---|
//! | QUEUED | in the list | holder of the list's lock | MOVING by a notifier (`summon`), LEAVING by the thread (`withdraw`) |
//! | LEAVING | timed out; in the list until the thread has taken it out | holder of the list's lock | (returns) |
//! | MOVING | notified: out of the list, then in the dugout of the lock (`enlist`), called to its seat (`invite`) or alone (`send_alone`) | the notifier | granted |
//!
//! One compare-exchange on `place` decides between a notification and a timeout, so no notification is spent on a thread
//! that reports a timeout. Who wins MOVING owns the record until the push or the grant; after either it may be gone.
//!
//! # Responsibility
//! A list of sleepers must always have somebody who will call the next one. If the word shows a seat taken or a sleeper,
//! there is such a somebody already, and one more sleeper changes nothing (I2). If it shows a holder, the push sets the
//! alarm, so that the holder's release calls (I9); of a quiet lock nothing can be asked, so the notification makes it loud first
//! (quiet.rs). If the lock is free, and nobody is there, the waiter is invited to a seat
//! instead of pushed; it then counts as called (I4). One that is sent alone is relied on by nobody.
//!
//! # Orderings
//! The list and the records in it are ordered by the list's lock. `enlist` publishes a record as `enqueue` does (E2), a
//! grant is E4. Everything else is Relaxed: `place` decides who, not what. The look at `oldest` without the lock may miss
//! only waiters that the caller has no claim to notify: one that released its lock before the caller acquired it is
//! ordered before the look by that lock (E1).
//!
//! # Promises
//! No spurious return: a wait ends with a notification or its deadline. Oldest first. Nobody is woken by a notifier that
//! holds the lock, but who has no lock or a node that fits into no word. When several have been notified at once, and nobody
//! sleeps for the lock alone, all are served whether or not one of them that has been woken gets a core. A waiter that has been
//! notified acquires its lock without a deadline, with the lock's promises; one called alone as any arrival, on a far stack with
//! what the lock's Limits say. The list's lock is a flagship, so a thread with real-time priority waits for its holder
//! asleep. Conformance: `condvar_wakes_all_and_loses_none`, `condvar_wakes_nobody_into_the_lock`, `condvar_timeouts_race_with_notifications`,
//! `condvar_outsiders_acquire_by_themselves`, `condvar_waits_for_no_thread_without_a_core`, `a_notified_waiter_is_one_contender_of_many`, `condvar_under_priorities`.
//!
//! # Cost
//! Nobody waits: a notification is one load. Otherwise two RMWs of the list's lock, and per waiter one of its place and
//! one of its lock's word, a wake only for one that is invited or sent alone. In a rush, a call takes two RMWs of the release.
//! 16 bytes; a waiter's record is 1 KiB of its stack.
//!
//! # After release
//! A notification does not touch the condition variable after it has released the list's lock, whose release does not
//! touch it after its releasing write. A waiter does not touch it after it has been notified. So a woken thread may
//! free it, and so may a notifier of all, unless waiters with deadlines may still be LEAVING. Conformance:
//! `freed_by_the_notifier`, `freed_by_the_last_waiter`.

use super::dugout::Node;
use super::quiet::Knock;
use super::state::{FLIGHT, LATCHED, LOCKED, QUIET, RUSH, State};
use super::watch::{Tries, epoch_now};
use super::{Balanced, Policy, RawOndeck, Turn, step};
use crate::RawLock;
use crate::{Atomic, AtomicPointer, Busy, Platform, StaticPlatform, Step, WaitEnd};
use core::fmt;
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release};

const SUMMON: Step = step("summon");
const WITHDRAW: Step = step("withdraw");
const ENLIST: Step = step("enlist");
const INVITE: Step = step("invite");
const SEND_ALONE: Step = step("send_alone");

const QUEUED: u32 = 0;
const MOVING: u32 = 1;
const LEAVING: u32 = 2;

/// A condition variable for [`RawOndeck`]: see the head of this file.
pub struct RawCondvar<P: Platform, T: Policy = Balanced> {
    /// Guards the list; held for a few loads and stores per waiter.
    list_lock: RawOndeck<P, T>,
    /// Address of the waiter that has waited longest, 0 if there is none. The list is a ring, so its `prev` is the
    /// newest. A number, since pointers of a platform cannot be built in a constant.
    oldest: P::U64,
}

/// A thread that waits for a notification: its record, on its own stack. See [`RawCondvar::join`].
pub struct Waiter<P: Platform, T: Policy = Balanced> {
    node: Node<P>,
    next: P::Ptr<Waiter<P, T>>,
    prev: P::Ptr<Waiter<P, T>>,
    place: P::U32,
    /// Where the thread fell asleep.
    core: u32,
    mutex: *const RawOndeck<P, T>,
}

impl<P: StaticPlatform, T: Policy> RawCondvar<P, T> {
    /// Nobody waits; for statics.
    pub const INIT: Self = RawCondvar { list_lock: RawOndeck::INIT, oldest: P::U64_ZERO };
}

impl<P: Platform, T: Policy> RawCondvar<P, T> {
    /// Nobody waits.
    pub fn new() -> Self {
        RawCondvar { list_lock: RawOndeck::new(), oldest: P::U64::new(0) }
    }

    /// Releases `mutex`, waits for a notification or until the platform's clock has reached `deadline_ns`, and acquires
    /// `mutex` again. True if it was notified, false if the deadline came first.
    ///
    /// A notifier that acquires `mutex` after this has released it finds the caller waiting.
    ///
    /// # Safety
    /// The calling thread holds `mutex`.
    pub unsafe fn wait(&self, mutex: &RawOndeck<P, T>, deadline_ns: Option<u64>) -> bool {
        let waiter = Waiter::new(Some(mutex));
        // SAFETY: it is fresh, waits below until its wait is over, and the caller holds the mutex.
        unsafe { self.join(&waiter) };
        // SAFETY: the caller holds it.
        unsafe { mutex.release() };
        let is_notified = self.sleep(&waiter, |word, waiting| P::wait_on(word, waiting, deadline_ns));
        waiter.reacquire(mutex, is_notified);
        is_notified
    }

    // -- The parts of a wait, for a caller that must do something in between
    // -----------------------------------------------------

    /// Makes `waiter` one that a notification may find. Then release the mutex, [`sleep`](Self::sleep), and acquire the
    /// mutex again by [`reacquire`](Waiter::reacquire).
    ///
    /// # Safety
    /// - The calling thread holds the mutex that `waiter` was made with, if any, and `waiter` is fresh.
    /// - `waiter` stays where it is until `sleep` or [`outlast`](Waiter::outlast) has returned, or
    ///   [`withdraw`](Self::withdraw) was true.
    pub unsafe fn join(&self, waiter: &Waiter<P, T>) {
        // SAFETY: it is fresh, so this thread's.
        unsafe { waiter.node.waits_on(self) };
        self.append(waiter);
    }

    /// Sleeps until notified, which gives true, or until `wait` tells of a timeout and nobody has notified us before.
    /// `wait` is given the word to sleep on and the value of one that waits, as to
    /// [`wait_on`](crate::Platform::wait_on).
    pub fn sleep(&self, waiter: &Waiter<P, T>, mut wait: impl FnMut(&P::U32, u32) -> WaitEnd) -> bool {
        let (word, waiting) = waiter.node.grant_word();
        while !waiter.node.is_granted() {
            if wait(word, waiting) == WaitEnd::TimedOut {
                if self.withdraw(waiter) {
                    return false;
                }
                // Notified already, and perhaps in the dugout of the lock: only a grant gets us out of there.
                waiter.outlast();
            }
        }
        waiter.node.note_up();
        true
    }

    /// Whether a notification would find nobody; stale at once.
    #[inline]
    pub fn looks_idle(&self) -> bool {
        self.oldest().is_null()
    }

    /// Whether nobody is in the list: neither waits, nor has been timed out and is about to go. Waits for the thread
    /// that has the list's lock, so that after a true nobody is left who will touch the condition variable but for who
    /// joins anew.
    pub fn is_idle(&self) -> bool {
        self.list_lock.acquire();
        let is_idle = self.oldest().is_null();
        // SAFETY: acquired above.
        unsafe { self.list_lock.release() };
        is_idle
    }

    /// True if the waiter has left the list, false if it has been notified before.
    #[cold]
    pub fn withdraw(&self, waiter: &Waiter<P, T>) -> bool {
        P::step(WITHDRAW);
        if waiter.place.compare_exchange(QUEUED, LEAVING, Relaxed, Relaxed).is_err() {
            return false;
        }
        self.list_lock.acquire();
        self.unlink(waiter);
        // SAFETY: acquired above.
        unsafe { self.list_lock.release() };
        true
    }

    /// Ends the wait of the thread that has waited longest; false if nobody waits.
    #[inline]
    pub fn notify_one(&self) -> bool {
        !self.oldest().is_null() && self.notify(1) == 1
    }

    /// Ends the wait of all threads that wait now; tells how many they were.
    #[inline]
    pub fn notify_all(&self) -> usize {
        if self.oldest().is_null() { 0 } else { self.notify(usize::MAX) }
    }

    #[cold]
    #[inline(never)]
    fn notify(&self, most: usize) -> usize {
        let (mut waiter, n_detached) = self.detach(most);
        let hurries = n_detached > 1;
        // From here on `self` may be gone.
        for _ in 0..n_detached {
            // SAFETY: detached by us, hence alive until it is enlisted.
            let next = unsafe { &*waiter }.next.load(Relaxed);
            // SAFETY: as above, and this is the only time.
            unsafe { RawOndeck::enlist(waiter, hurries) };
            waiter = next;
        }
        n_detached
    }

    // -- The list, under its lock --------------------------------------------------------------------------------------

    fn oldest(&self) -> *const Waiter<P, T> {
        ptr::with_exposed_provenance(self.oldest.load(Relaxed) as usize)
    }

    /// Null if there is none. The caller holds the list's lock.
    fn newest(&self) -> *const Waiter<P, T> {
        let oldest = self.oldest();
        if oldest.is_null() {
            return oldest;
        }
        // SAFETY: in the list, whose lock the caller holds.
        unsafe { &*oldest }.prev.load(Relaxed)
    }

    fn set_oldest(&self, waiter: *const Waiter<P, T>) {
        self.oldest.store(waiter.expose_provenance() as u64, Relaxed);
    }

    fn append(&self, waiter: &Waiter<P, T>) {
        self.list_lock.acquire();
        let oldest = self.oldest();
        if oldest.is_null() {
            waiter.link_behind(waiter);
            self.set_oldest(waiter);
        } else {
            // SAFETY: in the list, whose lock we hold.
            waiter.link_behind(unsafe { &*self.newest() });
            // SAFETY: as above.
            unsafe { &*oldest }.link_behind(waiter);
        }
        // SAFETY: acquired above.
        unsafe { self.list_lock.release() };
    }

    /// Takes `waiter`, which is in the list, out of it. The caller holds the list's lock.
    fn unlink(&self, waiter: &Waiter<P, T>) {
        let (next, prev) = (waiter.next.load(Relaxed), waiter.prev.load(Relaxed));
        if ptr::eq(next, waiter) {
            return self.set_oldest(ptr::null());
        }
        // SAFETY: in the list, whose lock the caller holds.
        let next = unsafe { &*next };
        // SAFETY: as above.
        next.link_behind(unsafe { &*prev });
        if ptr::eq(self.oldest(), waiter) {
            self.set_oldest(next);
        }
    }

    /// Takes the oldest waiters off the list, `most` or as many as there are, and gives the first and their number. Each
    /// leads to the following one by its `next`.
    fn detach(&self, most: usize) -> (*const Waiter<P, T>, usize) {
        let (mut first, mut last, mut n_detached) = (ptr::null(), None, 0);
        self.list_lock.acquire();
        let newest = self.newest();
        let mut waiter = self.oldest();
        let mut is_done = waiter.is_null();
        while !is_done {
            // SAFETY: in the list, whose lock we hold.
            let here = unsafe { &*waiter };
            is_done = ptr::eq(waiter, newest);
            waiter = here.next.load(Relaxed);
            P::step(SUMMON);
            if here.place.compare_exchange(QUEUED, MOVING, Relaxed, Relaxed).is_ok() {
                self.unlink(here);
                match last {
                    None => first = ptr::from_ref(here),
                    Some(last) => here.link_behind(last),
                }
                (last, n_detached) = (Some(here), n_detached + 1);
                is_done |= n_detached == most;
            }
        }
        // SAFETY: acquired above.
        unsafe { self.list_lock.release() };
        (first, n_detached)
    }
}

impl<P: Platform, T: Policy> Waiter<P, T> {
    /// For a wait that ends with the acquisition of `mutex`, which the calling thread holds. Without one, for a wait that ends
    /// with something that the waiter sees to itself: another kind of lock, or a mutex that it does not hold.
    pub fn new(mutex: Option<&RawOndeck<P, T>>) -> Self {
        let null = || AtomicPointer::new(ptr::null_mut());
        Waiter {
            node: Node::of_waiter(),
            next: null(),
            prev: null(),
            place: P::U32::new(QUEUED),
            core: P::current_core(),
            mutex: mutex.map_or(ptr::null(), ptr::from_ref),
        }
    }

    /// Whether it has neither been notified nor withdrawn; stale at once unless it is false.
    pub fn is_queued(&self) -> bool {
        self.place.load(Relaxed) == QUEUED
    }

    /// Sleeps until granted. Ends only for a waiter that has been notified.
    pub fn outlast(&self) {
        let (word, waiting) = self.node.grant_word();
        while !self.node.is_granted() {
            P::wait_on(word, waiting, None);
        }
    }

    /// Acquires the mutex that it was made with, in which a notified waiter mostly has its seat already; or any other, if it was
    /// made without one.
    pub fn reacquire(&self, mutex: &RawOndeck<P, T>, is_notified: bool) {
        let has_seat = is_notified && !self.node.is_alone();
        if (!has_seat || mutex.show_up(None) != Turn::AtBat) && !mutex.grab() {
            mutex.acquire_slow(None, if is_notified { Node::of_waiter } else { Node::new });
        }
    }

    /// The mutex, which its thread has borrowed for as long as it waits.
    fn mutex(&self) -> Option<&RawOndeck<P, T>> {
        // SAFETY: null, or a mutex that `new` was given, and that the waiter keeps until the wait is over.
        unsafe { self.mutex.as_ref() }
    }

    /// Wakes one that will acquire its mutex by itself, as any arrival.
    ///
    /// # Safety
    /// The caller has won MOVING of `waiter`, has enlisted it nowhere, and does this once.
    unsafe fn send_alone(waiter: *const Self) {
        // SAFETY: its thread sleeps until it is granted.
        let here = unsafe { &*waiter };
        P::step(SEND_ALONE);
        here.node.call_alone();
        // SAFETY: as above, and nobody else grants it.
        unsafe { Node::grant(ptr::from_ref(&here.node)) };
    }

    /// Makes `self` the one that comes after `older`.
    fn link_behind(&self, older: &Self) {
        self.prev.store(ptr::from_ref(older).cast_mut(), Relaxed);
        older.next.store(ptr::from_ref(self).cast_mut(), Relaxed);
    }
}

// -- The way to the lock ----------------------------------------------------------------------------------------------

impl<P: Platform, T: Policy> RawOndeck<P, T> {
    /// Makes a notified waiter a sleeper of its lock. If nobody would call it from there, it is called at once.
    ///
    /// # Safety
    /// - The caller has won MOVING of `waiter` and does this once. The waiter may be gone when this returns.
    unsafe fn enlist(waiter: *const Waiter<P, T>, hurries: bool) {
        // SAFETY: its thread sleeps until it is granted, which takes the push or the grant below.
        let here = unsafe { &*waiter };
        let Some(lock) = here.mutex() else {
            // SAFETY: as for `send_alone`.
            return unsafe { Waiter::send_alone(waiter) };
        };
        let busy = P::busy();
        // SAFETY: it is ours until the push or the grant.
        unsafe { here.node.waits_for(lock) };
        let (mut tries, mut knock) = (Tries::default(), Knock::at_once());
        // Each further turn is caused by another thread's step, but for those of a knock, which end.
        loop {
            let state = lock.load();
            if state.has(QUIET) && state.has(LOCKED) {
                if lock.knock(state, &here.node, &mut knock) {
                    continue;
                }
                // SAFETY: as for `send_alone`.
                return unsafe { Waiter::send_alone(waiter) };
            }
            let hurries = hurries || Self::hurries(state, busy);
            if state.has(LOCKED) || (!state.loud().is_alone() && !hurries) {
                let Some(next) = here.node.on_top_of(state) else {
                    // SAFETY: as for `send_alone`.
                    return unsafe { Waiter::send_alone(waiter) };
                };
                here.node.slept_on(here.core);
                P::step(ENLIST);
                // E2
                if lock.get_through(state, if hurries { next.with(RUSH) } else { next }, Release, &mut tries) {
                    return;
                }
            } else if !state.loud().is_alone() || state.loud().has(LATCHED) {
                // A latch over an empty list is that of a sleeper that has been called alone, past its deadline.
                // SAFETY: as for `send_alone`.
                return unsafe { Waiter::send_alone(waiter) };
            } else {
                P::step(INVITE);
                // The core, as when a sleeper is called: the kernel tends to put it behind its caller.
                let called = state.loud().called(epoch_now::<P>(T::tuning()), P::current_core());
                if lock.get_through(state, called, Relaxed, &mut tries) {
                    break;
                }
            }
        }
        // SAFETY: still ours, since it has not been granted. Neither it nor its lock is touched after this.
        unsafe { Node::grant(ptr::from_ref(&here.node)) };
    }

    /// Whether a notification is in a hurry because a thread that is called may have no core.
    fn hurries(state: State, busy: Busy) -> bool {
        match busy {
            Busy::Others => true,
            // Our own threads make each other late. To wake more of them is no help.
            Busy::Ours => false,
            // One has been called in an earlier rotation, and is not up.
            Busy::Nobody => state.has(FLIGHT) && epoch_now::<P>(T::tuning()) != state.epoch(),
        }
    }
}

impl<P: Platform, T: Policy> Default for RawCondvar<P, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform, T: Policy> fmt::Debug for RawCondvar<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawCondvar").field("has_waiters", &!self.oldest().is_null()).finish()
    }
}
