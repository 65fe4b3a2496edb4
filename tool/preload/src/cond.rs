//! What the functions of a `pthread_cond_t` do: its waiters are moved to their mutex when they are notified. Its bytes are
//! in `bytes::cond`.
//!
//! # Why they are ours
//! The C library's wait unlocks the mutex by a function of its own that we cannot stand in for. And it is here that
//! programs gain: a signal under the mutex wakes a thread that must wait for the mutex at once, and a broadcast all of them.
//! Here a notified waiter becomes a sleeper of its mutex, and is called by a release.
//!
//! # A thread that waits with a mutex of the C library
//! or of another lock of the family, or with a mutex that it does not hold, is woken by its notification and locks it by
//! itself.
//!
//! # The end
//! A condition variable may be destroyed as soon as nobody is blocked on it, which a broadcaster knows of those that it
//! has notified, though they sleep in the mutex now, which it may have itself. So a notified waiter does not touch it
//! any more, with one exception: if it is cancelled it passes its notification on, lest that be lost for others. Who is
//! in a wait is counted (`n_inside`), and stands in the table of `places`. `pthread_cond_destroy` waits until the list
//! is empty, and takes each waiter that is still counted out of the table: cuts it off. A waiter on its way out, or a
//! cancelled one, first takes itself out of the table, or marks its place there; a waiter that finds itself cut off
//! leaves the condition variable alone.

mod hold;
mod shared;

use self::hold::MutexHold;
use crate::bytes::cond::{Cond, MONOTONIC, SHARED};
use crate::bytes::mutex::{Kind, Mutex, PreloadPolicy};
use crate::cancel::{self, Sharing};
use crate::handler::Handler;
use crate::platform::PreloadPlatform;
use crate::time::Deadline;
use crate::{Answer, glibc, places, process};
use core::ffi::c_void;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use libc::{EINVAL, EPERM, ETIMEDOUT, clockid_t, timespec};
use ondeck_core::Platform;
use ondeck_core::ondeck::Waiter;
use ondeck_record::OpaqueWait;

impl Cond {
    /// Makes one that nobody waits for out of anything.
    pub(crate) fn init(&self, is_shared: bool, is_monotonic: bool) {
        self.clear(); // pthread_places: init
        process::prepare();
        self.generation.store(process::generation_of(process::state()), Relaxed);
        self.flags.store(if is_shared { SHARED } else { 0 } | if is_monotonic { MONOTONIC } else { 0 }, Relaxed);
    }

    #[inline(always)]
    pub(crate) fn signal(&self) {
        if self.is_shared() {
            return shared::notify(self);
        }
        self.prepare();
        self.waiters.notify_one(); // pthread_process: notify
    }

    #[inline(always)]
    pub(crate) fn broadcast(&self) {
        if self.is_shared() {
            return shared::notify(self);
        }
        self.prepare();
        self.waiters.notify_all(); // pthread_places: broadcast
    }

    /// Whether the flagship is the lock, nothing is recorded, the condition variable has been touched in this process before and
    /// is of this process alone, and nobody waits: what is all that a notification finds out then.
    #[inline(always)]
    pub(crate) fn is_usual_and_idle(&self) -> bool {
        self.generation.load(Acquire) == process::usual_generation(process::state())
            && !self.is_shared()
            && self.waiters.looks_idle()
    }

    /// Makes process and condition variable ready: in the child of a fork, the parent's waiters do not exist.
    #[inline(always)]
    fn prepare(&self) {
        if !process::is_ondeck() {
            process::prepare();
        }
        if self.generation.load(Acquire) != process::generation_of(process::state()) {
            process::revive(
                || self.generation.load(Acquire),
                |from, to| self.generation.compare_exchange(from, to, AcqRel, Relaxed).is_ok(),
                || self.clear(), // pthread_process: clear
            );
        }
    }

    /// Waits until nobody will touch it any more. Who still waits for a notification keeps its destroyer waiting, as with
    /// the C library; see the head of the file.
    pub(crate) fn destroy(&self) {
        glibc::forget((&raw const *self) as u64);
        const SHORTEST_NS: u32 = 10_000;
        const LONGEST_NS: u32 = 1_000_000;
        let is_shared = self.is_shared();
        if !is_shared {
            self.prepare();
        }
        let mut gap_ns = SHORTEST_NS;
        // Ended by those who leave, of whom none waits for us.
        loop {
            let is_idle = is_shared || self.waiters.is_idle(); // pthread_places: is_idle
            if is_idle && !is_shared && self.n_inside.load(Acquire) != 0 {
                self.n_inside.fetch_sub(places::cut_off(self), Relaxed); // pthread_places: count_cut
            }
            // pthread_places: destroyed
            if is_idle && self.n_inside.load(Acquire) == 0 {
                return;
            }
            PreloadPlatform::nap_ns(gap_ns);
            gap_ns = (gap_ns * 2).min(LONGEST_NS);
        }
    }
}

// -- Waiting ----------------------------------------------------------------------------------------------------------

/// Waits as the C library's functions do: `at` on `clock` is the deadline, null for none.
///
/// # Safety
/// Both exist until the wait is over, and `at` is null or a point of time.
pub(crate) unsafe fn wait(cond: *const Cond, mutex: *const Mutex, clock: clockid_t, at: *const timespec) -> Answer {
    // SAFETY: as the caller says.
    let deadline = match unsafe { at.as_ref() } {
        None => None,
        Some(at) => match Deadline::new(clock, *at) {
            None => return EINVAL,
            Some(deadline) => Some(deadline.by_kernel()),
        },
    };
    // SAFETY: as the caller says.
    let here = unsafe { &*mutex };
    if here.kind().is_some_and(|kind| kind != Kind::Normal && !here.is_mine()) {
        return EPERM;
    }
    cancel::test();
    let recorded = glibc::begin_to_wait_on(cond as u64);
    // SAFETY: as the caller says.
    let cond = unsafe { &*cond };
    let answer = if cond.is_shared() {
        // SAFETY: as the caller says.
        unsafe { shared::wait(cond, mutex, deadline, recorded.as_ref()) }
    } else {
        // SAFETY: as the caller says.
        unsafe { wait_in_list(cond, mutex, deadline, recorded.as_ref()) }
    };
    glibc::end_wait_on(recorded);
    answer
}

/// What a cancelled waiter must put in order. In the frame of the wait, which is still whole when the handler runs.
struct WaitCleanup<'a> {
    cond: &'a Cond,
    waiter: &'a Waiter<PreloadPlatform, PreloadPolicy>,
    had: MutexHold,
    place: Option<&'static places::Place>,
}

impl WaitCleanup<'_> {
    /// The last touch of the condition variable, unless that is gone. Once.
    fn leave(&self) {
        if self.place.is_some_and(|place| place.leave()) {
            self.cond.n_inside.fetch_sub(1, Release); // pthread_places: count_out
        }
    }

    /// The wait is over, and left: has the mutex again.
    fn finish(&self, is_notified: bool) -> Answer {
        // SAFETY: the caller of the wait keeps the mutex.
        unsafe {
            // pthread_places: reacquire
            self.had.again(|mutex| match mutex.raw() {
                Some(raw) => {
                    self.waiter.reacquire(raw, is_notified);
                    mutex.note_reacquired();
                }
                None => mutex.acquire(),
            })
        }
    }
}

/// # Safety
/// As for [`wait`].
unsafe fn wait_in_list(
    cond: &Cond,
    mutex: *const Mutex,
    deadline: Option<Deadline>,
    recorded: Option<&OpaqueWait>,
) -> Answer {
    cond.prepare();
    // SAFETY: as the caller says.
    let here = unsafe { &*mutex };
    // Only a holder may tell the releases of its mutex to look out for notified waiters (I9 of the lock). So a waiter that
    // does not hold the mutex, which a normal one permits, is woken by its notification and locks the mutex by itself.
    let raw = here.kind().filter(|_| here.is_mine()).and_then(|_| here.raw());
    let waiter = Waiter::new(raw);
    let place = places::take(cond);
    // Who stands nowhere cannot be cut off, and touches nothing that it would have to be cut off from.
    if place.is_some() {
        cond.n_inside.fetch_add(1, Relaxed); // pthread_places: count_in
    }
    // pthread_process: join
    // pthread_places: join
    // SAFETY: fresh, and it stays here until the wait is over; the caller has the mutex.
    unsafe { cond.waiters.join(&waiter) };
    // SAFETY: as the caller says.
    let had = match unsafe { MutexHold::leave(mutex) } {
        Ok(had) => had,
        Err(error) => {
            if !cond.waiters.withdraw(&waiter) {
                waiter.outlast();
            }
            if place.is_some_and(|place| place.leave()) {
                cond.n_inside.fetch_sub(1, Release);
            }
            return error;
        }
    };
    glibc::look(recorded);
    let waiting = WaitCleanup { cond, waiter: &waiter, had, place };
    let mut handler = Handler::new();
    // SAFETY: popped below, in this frame.
    unsafe { handler.push(cancelled, (&raw const waiting).cast_mut().cast()) };
    // pthread_places: wake, withdraw, unlink
    let is_notified =
        cond.waiters.sleep(&waiter, |word, waiting| cancel::sleep(word, waiting, Sharing::OneProcess, deadline));
    // SAFETY: pushed above, and nothing since.
    unsafe { handler.pop() };
    waiting.leave();
    match waiting.finish(is_notified) {
        0 if !is_notified => ETIMEDOUT,
        answer => answer,
    }
}

/// The thread has been cancelled in its sleep: it must not have eaten a notification while others wait, and its own
/// handlers expect it to have the mutex.
unsafe extern "C-unwind" fn cancelled(waiting: *mut c_void) {
    // SAFETY: pushed with this type, and the frame that it is in is whole.
    let waiting = unsafe { &*waiting.cast::<WaitCleanup<'_>>() };
    // Holds the condition variable fast, if it is there still; if not, we have been notified.
    let is_there = waiting.place.is_some_and(|place| place.hold(waiting.cond));
    // pthread_places: withdraw, unlink, find_notified
    let is_notified = !(waiting.waiter.is_queued() && waiting.cond.waiters.withdraw(waiting.waiter));
    if is_notified && is_there {
        waiting.cond.waiters.notify_one(); // pthread_places: pass_on
    }
    waiting.leave();
    if is_notified {
        waiting.waiter.outlast();
    }
    waiting.finish(is_notified);
}
