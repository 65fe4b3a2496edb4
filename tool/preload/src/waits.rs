//! What else threads wait for, recorded: semaphores, barriers, initialisations, ends of threads, and spin locks.
//!
//! All of them stay the C library's, whichever lock answers for mutexes. Not recorded, a call is handed on. Recorded, a look
//! tells whether it will wait, where that can be told: nothing is tried first, since that would take a place where a thread
//! may be cancelled.
//!
//! A cancelled thread unwinds through here, past nothing that would have to be dropped. The wait is not recorded then. What an
//! initialisation throws does so too, after the wait: who waits for one that is left does it anew, and waits no more.
#![allow(clippy::missing_safety_doc, reason = "as in `names`: for callers that keep what POSIX and C ask for")]

use crate::handler::or_leave;
use crate::real::Run;
use crate::{Answer, process, real, thread};
use core::cell::Cell;
use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use libc::{
    EBUSY, clockid_t, pthread_barrier_t, pthread_barrierattr_t, pthread_spinlock_t, pthread_t, sem_t, timespec,
};
use ondeck_record::OpaqueWait;
use ondeck_record::layout::kind;

/// The first four bytes of something of the C library's.
///
/// # Safety
/// The caller's object exists.
#[inline(always)]
unsafe fn word<T>(object: *const T) -> u32 {
    // SAFETY: as the caller says; they are aligned, and others change them by atomic instructions.
    unsafe { &*object.cast::<AtomicU32>() }.load(Relaxed)
}

/// The value of a semaphore is its first four bytes.
#[inline(always)]
unsafe fn is_empty(semaphore: *const sem_t) -> bool {
    // SAFETY: the caller's.
    unsafe { word(semaphore) == 0 }
}

/// Whether another thread is at it, or was when this process was forked.
#[inline(always)]
unsafe fn is_under_way(once: *const c_int) -> bool {
    const UNDER_WAY: u32 = 1;
    // SAFETY: the caller's.
    unsafe { word(once) & UNDER_WAY != 0 }
}

/// Nothing tells before whether the call waits. If not, it is over at once, and hardly ever recorded.
#[inline(always)]
unsafe fn perhaps<T>(_: *const T) -> bool {
    true
}

/// Joins are known by the places in the program that make them.
const NOWHERE: *const c_void = core::ptr::null();

#[inline(never)]
fn record(address: u64, kind: u32, act: impl FnOnce() -> Answer) -> Answer {
    let wait = OpaqueWait::begin(address, kind);
    // Those may be shorter than a walk of the stack, which would count as waiting.
    let is_perhaps_short = matches!(kind, kind::SPIN | kind::BARRIER);
    if let Some(wait) = wait.as_ref().filter(|_| !is_perhaps_short) {
        wait.look();
    }
    let Some(wait) = wait else { return act() };
    let answer = or_leave(|| wait.leave(), act);
    wait.end();
    answer
}

/// The calls that wait: for what, as what that is recorded, and how a look tells that they will.
macro_rules! waits {
    ($($name:ident($($argument:ident: $type:ty),*): $what:expr, $kind:ident, $waits:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: the caller's.
            let act = || unsafe { real::$name($($argument),*) };
            // SAFETY: the caller's.
            if process::records() && unsafe { $waits($what) } {
                record($what as u64, kind::$kind, act)
            } else {
                act()
            }
        }
    )*};
}

waits! {
    sem_wait(semaphore: *mut sem_t): semaphore, SEMAPHORE, is_empty;
    sem_timedwait(semaphore: *mut sem_t, at: *const timespec): semaphore, SEMAPHORE, is_empty;
    sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, at: *const timespec): semaphore, SEMAPHORE, is_empty;
    pthread_barrier_wait(barrier: *mut pthread_barrier_t): barrier, BARRIER, perhaps;
    pthread_join(thread: pthread_t, result: *mut *mut c_void): NOWHERE, JOIN, perhaps;
    pthread_timedjoin_np(thread: pthread_t, result: *mut *mut c_void, at: *const timespec): NOWHERE, JOIN, perhaps;
    pthread_clockjoin_np(thread: pthread_t, result: *mut *mut c_void, clock: clockid_t, at: *const timespec): NOWHERE, JOIN, perhaps;
    thrd_join(thread: pthread_t, result: *mut c_int): NOWHERE, JOIN, perhaps;
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_once(once: *mut c_int, run: Run) -> c_int {
    // SAFETY: the caller's.
    if process::records() && unsafe { is_under_way(once) } {
        // SAFETY: the caller's.
        unsafe { record_once(once, run) }
    } else {
        // SAFETY: the caller's.
        unsafe { real::pthread_once(once, run) }
    }
}

/// The wait for an initialisation that another thread is at, and what is to be done if that one leaves it.
struct OnceWait {
    wait: Cell<Option<OpaqueWait>>,
    run: Run,
}

impl OnceWait {
    fn end(&self) {
        if let Some(wait) = self.wait.take() {
            wait.end();
        }
    }
}

/// # Safety
/// As of `pthread_once`.
#[inline(never)]
unsafe fn record_once(once: *mut c_int, run: Run) -> c_int {
    let wait = OpaqueWait::begin(once as u64, kind::ONCE);
    wait.as_ref().inspect(|wait| wait.look());
    let here = OnceWait { wait: Cell::new(wait), run };
    let before = thread::once();
    thread::set_once((&raw const here).cast());
    // SAFETY: the caller's.
    let answer = unsafe { real::pthread_once(once, Some(do_it_here)) };
    thread::set_once(before);
    here.end();
    answer
}

unsafe extern "C-unwind" fn do_it_here() {
    // SAFETY: set by the call of the C library's function that this is called by, in a frame that is still there.
    let here = unsafe { &*thread::once().cast::<OnceWait>() };
    here.end();
    if let Some(run) = here.run {
        // SAFETY: the caller of `pthread_once` has given it for that.
        unsafe { run() };
    }
}

/// C11's flag is the same.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn call_once(once: *mut c_int, run: Run) {
    // SAFETY: the caller's.
    unsafe { pthread_once(once, run) };
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_spin_lock(lock: *mut pthread_spinlock_t) -> c_int {
    // SAFETY: the caller's.
    let act = || unsafe { real::pthread_spin_lock(lock) };
    if !process::records() {
        return act();
    }
    ondeck_record::note_lock();
    // SAFETY: the caller's.
    match unsafe { real::pthread_spin_trylock(lock) } {
        EBUSY => record(lock as u64, kind::SPIN, act),
        answer => answer,
    }
}

/// Calls after which another object is at the address.
macro_rules! inits {
    ($($name:ident($object:ident: $whole:ty $(, $argument:ident: $type:ty)*);)*) => {$(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name($object: $whole $(, $argument: $type)*) -> c_int {
            if process::records() {
                ondeck_record::forget($object as u64);
            }
            // SAFETY: the caller's.
            unsafe { real::$name($object $(, $argument)*) }
        }
    )*};
}

inits! {
    sem_init(semaphore: *mut sem_t, is_shared: c_int, value: c_uint);
    pthread_barrier_init(barrier: *mut pthread_barrier_t, attributes: *const pthread_barrierattr_t, n: c_uint);
    pthread_spin_init(lock: *mut pthread_spinlock_t, is_shared: c_int);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::tests::recorded;
    use core::ptr;
    use std::time::Duration;

    /// Something of the C library's that its own functions have made.
    fn made<T>(init: impl FnOnce(*mut T) -> c_int) -> T {
        let mut object = core::mem::MaybeUninit::<T>::zeroed();
        assert_eq!(init(object.as_mut_ptr()), 0);
        // SAFETY: all of these are plain numbers.
        unsafe { object.assume_init() }
    }

    #[test]
    fn a_look_tells_that_a_semaphore_is_empty() {
        for n in [0, 1, 5] {
            // SAFETY: room for a semaphore.
            let mut semaphore = made(|semaphore| unsafe { sem_init(semaphore, 0, n) });
            // SAFETY: it has just been made.
            assert_eq!(unsafe { is_empty(&semaphore) }, n == 0);
            if n == 1 {
                // SAFETY: as above.
                assert_eq!(unsafe { sem_wait(&mut semaphore) }, 0);
                // SAFETY: as above.
                assert!(unsafe { is_empty(&semaphore) });
            }
        }
    }

    std::thread_local! {
        static ONCE: Cell<*mut c_int> = const { Cell::new(ptr::null_mut()) };
        static N_RUNS: Cell<u32> = const { Cell::new(0) };
    }

    unsafe extern "C-unwind" fn run() {
        // SAFETY: the caller's, alive meanwhile.
        assert!(unsafe { is_under_way(ONCE.get()) });
        N_RUNS.set(N_RUNS.get() + 1);
    }

    #[test]
    fn what_happens_once_is_under_way_meanwhile() {
        let mut once: c_int = 0;
        ONCE.set(&raw mut once);
        // SAFETY: it is ours.
        assert!(!unsafe { is_under_way(ONCE.get()) });
        for _ in 0..2 {
            // SAFETY: as above.
            unsafe { call_once(ONCE.get(), Some(run)) };
            assert_eq!(N_RUNS.get(), 1);
            // SAFETY: as above.
            assert!(!unsafe { is_under_way(ONCE.get()) });
        }
    }

    #[test]
    fn a_spin_lock_that_was_locked_is_locked() {
        // SAFETY: room for a spin lock.
        let mut lock: pthread_spinlock_t = made(|lock| unsafe { pthread_spin_init(lock, 0) });
        // SAFETY: it has just been made.
        assert_eq!(unsafe { pthread_spin_lock(&mut lock) }, 0);
        // SAFETY: as above.
        assert_eq!(unsafe { real::pthread_spin_trylock(&mut lock) }, EBUSY);
    }

    /// Has `wait` wait while another thread is about to end that by `end`, until an entry of that kind is in the recording.
    /// On a busy machine the other may be first, so that takes longer each time.
    fn is_recorded(what: u32, wait: impl Fn(&dyn Fn()), end: impl Fn() + Sync) {
        recorded(&format!("waits-{what}"), |read| {
            let is_there = (0..9).any(|attempt| {
                std::thread::scope(|scope| {
                    wait(&|| {
                        scope.spawn(|| {
                            std::thread::sleep(Duration::from_millis(1 << attempt));
                            end();
                        });
                    });
                });
                read().locks().unwrap().iter().any(|lock| lock.kind == what)
            });
            assert!(is_there, "{what}");
        });
    }

    /// An object that threads share.
    struct Shared<T>(core::cell::UnsafeCell<T>);

    // SAFETY: it is only used by the C library's functions for it.
    unsafe impl<T> Sync for Shared<T> {}

    impl<T> Shared<T> {
        fn get(&self) -> *mut T {
            self.0.get()
        }
    }

    #[test]
    fn waits_for_semaphores_are_recorded() {
        // SAFETY: room for a semaphore.
        let semaphore = Shared(made(|semaphore| unsafe { sem_init(semaphore, 0, 0) }).into());
        let wait = |begin: &dyn Fn()| {
            begin();
            // SAFETY: it has been made.
            assert_eq!(unsafe { sem_wait(semaphore.get()) }, 0);
        };
        is_recorded(kind::SEMAPHORE, wait, || {
            // SAFETY: as above.
            unsafe { libc::sem_post(semaphore.get()) };
        });
    }

    #[test]
    fn waits_for_spin_locks_are_recorded() {
        // SAFETY: room for a spin lock.
        let lock = Shared(made(|lock| unsafe { pthread_spin_init(lock, 0) }).into());
        let wait = |begin: &dyn Fn()| {
            // SAFETY: it has been made.
            assert_eq!(unsafe { pthread_spin_lock(lock.get()) }, 0);
            begin();
            // SAFETY: as above; the other thread unlocks it.
            assert_eq!(unsafe { pthread_spin_lock(lock.get()) }, 0);
            // SAFETY: as above.
            unsafe { libc::pthread_spin_unlock(lock.get()) };
        };
        is_recorded(kind::SPIN, wait, || {
            // SAFETY: as above.
            unsafe { libc::pthread_spin_unlock(lock.get()) };
        });
    }

    #[test]
    fn waits_at_barriers_are_recorded() {
        // SAFETY: room for a barrier.
        let barrier = Shared(made(|barrier| unsafe { pthread_barrier_init(barrier, ptr::null(), 2) }).into());
        let meet = || {
            // SAFETY: it has been made.
            let answer = unsafe { pthread_barrier_wait(barrier.get()) };
            assert!([0, libc::PTHREAD_BARRIER_SERIAL_THREAD].contains(&answer));
        };
        let wait = |begin: &dyn Fn()| {
            begin();
            meet();
        };
        is_recorded(kind::BARRIER, wait, meet);
    }

    #[test]
    fn waits_for_the_end_of_threads_are_recorded() {
        let wait = |_: &dyn Fn()| {
            std::thread::spawn(|| std::thread::sleep(Duration::from_millis(3))).join().unwrap();
        };
        is_recorded(kind::JOIN, wait, || ());
    }
}
