//! What holds for the whole process: which lock there is, and that it may be the child of a fork.
//!
//! # Which lock
//! `ONDECK_LOCK` names it; the flagship if it is unset; `glibc` leaves all to the C library, for a first
//! recording. It is read once, by whoever first touches a mutex: one that was locked in one form must not be unlocked in
//! another.
//!
//! # Fork
//! Only the thread that forks goes on in the child. But the words of the child's mutexes still tell of the parent's other
//! threads: that one is on deck and awake, that others sleep on a list. Nobody would ever call anybody again. So forks are
//! counted, from process to process, and each mutex and condition variable has the number of the process that touched it last.
//! Whoever finds another number there is the first to touch it in this process ([`revive`]): nobody in this process waits
//! for it, whatever the word tells, so that is written anew, and then the number. Only what the child really uses is touched.
//!
//! How the child knows that it is one: its state lies in a page that the kernel gives to a child as zeros. Each operation
//! looks at it for the lock's sake anyway. So it works for children of `clone` too, and no handler has to be the first of
//! all handlers of a fork. Where the kernel refuses such a page, a handler of `pthread_atfork` does the same.
//!
//! # Steps
//! `spec/pthread_process.tla` is a model of this: with a fork at any moment, and another one in the child, threads exclude each
//! other, nobody uses what is half written, a mutex that somebody had at the fork stays locked, and no thread of the child waits
//! for one of the parent. Comments in the code name the steps.
//!
//! | step | what it does |
//! |---|---|
//! | `prepare` | goes on in a process that is prepared, waits until it is, or begins to prepare it |
//! | `count` | whoever prepares counts the fork |
//! | `settle` | and tells all others, with the number of the process |
//! | `look` | reads the number of an object: goes on, or waits for whoever writes it anew |
//! | `mark` | or replaces it by the mark of this process; then the object is the thread's alone |
//! | `clear` | forgets who waited, and the lock |
//! | `regrab` | locks a mutex that has an owner, who may be the thread that forked |
//! | `publish` | writes the number of this process |
//! | `grab` | acquires the lock, or sleeps in its queue |
//! | `take` | the sleeper that a release has called acquires it |
//! | `enter` | writes the owner |
//! | `disown` | clears the owner, for a release |
//! | `vacate` | frees the lock, and calls a sleeper |
//! | `join` | becomes a waiter of a condition variable |
//! | `leave` | who waits counts itself, and releases the mutex |
//! | `notify` | the waiter becomes a sleeper of the mutex |
//!
//! Orderings: `publish` releases what `clear` and `regrab` have written, and `look` acquires. What the parent had written is
//! there before the child has a thread. `mark` needs no more than that of several threads one succeeds.

pub(crate) use crate::state::{generation_of, is_ondeck, is_ondeck_in, is_recorded, state};

use crate::bytes::theirs;
use crate::family::{self, Operations};
use crate::platform::{self, Preloaded};
use crate::state::{ANOTHER, BUSY, CHOICES, FRESH, KNOWN, ONDECK, ONE_FORK, RECORDED, STATE, THEIRS, Wiped};
use crate::{die, launched, places, real};
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use ondeck_platform::Platform;
use ondeck_record::{Charging, Source, Wish};

/// Whether the kernel gives a child that page as zeros.
static IS_WIPED: AtomicBool = AtomicBool::new(false);
/// What a child keeps: which lock was chosen, FRESH before that.
static CHOICE: AtomicU32 = AtomicU32::new(FRESH);
static OTHER: AtomicPtr<Operations> = AtomicPtr::new(ptr::null_mut());
/// Counts the forks that lead to this process, in the units of a state.
static N_FORKS: AtomicU32 = AtomicU32::new(0);

/// Whether the C library's own mutexes and condition variables are used as they are.
#[inline]
pub(crate) fn is_theirs() -> bool {
    // While another thread prepares nobody knows: who guessed would lock in one form what is unlocked in another.
    if matches!(state() & CHOICES, FRESH | BUSY) {
        lock();
    }
    matches!(state() & CHOICES, THEIRS | KNOWN)
}

/// Whether what needs no preparation is recorded. A process that is being prepared records nothing yet, and who asks may be
/// the one that prepares.
#[inline(always)]
pub(crate) fn records() -> bool {
    let state = state();
    is_recorded(state) || state & CHOICES == FRESH && starts_to_record()
}

/// In the child of a fork, which has not looked yet whether it records.
#[cold]
#[inline(never)]
fn starts_to_record() -> bool {
    if CHOICE.load(Relaxed) == FRESH {
        return false;
    }
    lock();
    is_recorded(state())
}

/// Prepares if that has not been done, and gives the operations of the lock; `None` for the flagship.
#[cold]
pub(crate) fn lock() -> Option<&'static Operations> {
    const NAP_NS: u32 = 10_000;
    // Ended by whoever prepares, which waits for nobody.
    loop {
        // pthread_process: prepare
        match STATE.state.load(Acquire) & CHOICES {
            ONDECK | THEIRS | KNOWN => return None,
            // SAFETY: stored before the state was, and never freed.
            ANOTHER => return unsafe { OTHER.load(Relaxed).as_ref() },
            BUSY => Preloaded::nap_ns(NAP_NS),
            _ => {
                look_up_early();
                without_signals(|| {
                    if STATE.state.compare_exchange(FRESH, BUSY, Acquire, Relaxed).is_ok() {
                        // pthread_process: settle
                        STATE.state.store(prepare(), Release);
                    }
                });
            }
        }
    }
}

/// Looks up what [`prepare`] calls of the C library. Not there: the loader's lock may be held by a thread that waits until
/// this one has prepared.
fn look_up_early() {
    // The child of a fork has chosen, and its environment may be half written.
    if CHOICE.load(Relaxed) != FRESH {
        return;
    }
    // SAFETY: a string of C; the value is used before anybody can change the environment.
    let name = unsafe { libc::getenv(c"ONDECK_LOCK".as_ptr()) };
    // SAFETY: a value of the environment is a string of C.
    if !name.is_null() && unsafe { CStr::from_ptr(name) } == c"glibc" {
        real::look_up_mutexes();
    }
}

/// A handler that locks something in the middle of `act` would wait for its own thread.
fn without_signals(act: impl FnOnce()) {
    let mut all = core::mem::MaybeUninit::uninit();
    let mut before = core::mem::MaybeUninit::uninit();
    // SAFETY: fills the set.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: `all` is filled, and `before` is room for a set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
    act();
    // SAFETY: filled by the call before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
}

fn prepare() -> u32 {
    if CHOICE.load(Relaxed) == FRESH {
        CHOICE.store(choose(), Relaxed);
        // SAFETY: whoever prepares is alone at it.
        unsafe { *WISH.0.get() = Wish::of_environment() };
        // SAFETY: as above.
        let is_recorded = unsafe { &*WISH.0.get() }.is_some();
        if CHOICE.load(Relaxed) == THEIRS && is_recorded && theirs::are_known() {
            CHOICE.store(KNOWN, Relaxed);
        }
        let page = (&raw const STATE).cast_mut().cast::<c_void>();
        // If it is refused, the handler does the same.
        // SAFETY: the page is ours, whole, and holds nothing but the state.
        let answer = unsafe { libc::madvise(page, size_of::<Wiped>(), libc::MADV_WIPEONFORK) };
        IS_WIPED.store(answer == 0, Relaxed);
    } else {
        // pthread_process: count
        N_FORKS.store(N_FORKS.load(Relaxed).wrapping_add(ONE_FORK), Relaxed);
        places::clear();
    }
    let choice = CHOICE.load(Relaxed);
    N_FORKS.load(Relaxed) | choice | if begin_to_record(choice) { RECORDED } else { 0 }
}

/// Begins to record this process, if that is asked for. In the child of a fork it was asked for in the parent.
fn begin_to_record(choice: u32) -> bool {
    let (name, charging) = match choice {
        ONDECK => ("ondeck", Charging::AtInstants),
        THEIRS | KNOWN => ("glibc", Charging::Exact),
        _ => return false,
    };
    // SAFETY: written once, before the first look at it, by whoever prepares.
    let wish = unsafe { &*WISH.0.get() };
    wish.as_ref().is_some_and(|wish| ondeck_record::start(wish, name, charging, Source::Library))
}

/// What is to be recorded. Written by whoever prepares the first process, who is alone at it.
struct Kept(UnsafeCell<Option<Wish>>);

// SAFETY: whoever prepares is alone.
unsafe impl Sync for Kept {}

static WISH: Kept = Kept(UnsafeCell::new(None));

fn choose() -> u32 {
    // SAFETY: a string of C; the value is used before anybody can change the environment.
    let name = unsafe { libc::getenv(c"ONDECK_LOCK".as_ptr()) };
    if name.is_null() {
        return ONDECK;
    }
    // SAFETY: a value of the environment is a string of C.
    let name = unsafe { CStr::from_ptr(name) };
    if name == c"" || name == c"ondeck" {
        return ONDECK;
    }
    if name == c"glibc" {
        return THEIRS;
    }
    match family::choose(name) {
        Ok(operations) => OTHER.store(ptr::from_ref(operations).cast_mut(), Relaxed),
        Err(reason) => die(&["ONDECK_LOCK=", name.to_str().unwrap_or("?"), " is not possible: ", reason]),
    }
    ANOTHER
}

/// Beside the number of a process: one of its threads writes the object anew. It names the process, since a fork may come in
/// the middle. The child then has the mark and not the thread, finds the mark of another process, and begins again.
const UNDER_WAY: u32 = 1;

const _: () = assert!(generation_of(UNDER_WAY) == 0);

/// Calls `forget` if this is the first touch of an object in this process, and nobody else does. The number of the process
/// that touched it last is read and written by the other two; `exchange` is to compare, and to acquire and release. `forget`
/// may be called again in a child that was forked while it ran, and comes to the same there.
#[cold]
#[inline(never)]
pub(crate) fn revive(read: impl Fn() -> u32, exchange: impl Fn(u32, u32) -> bool, forget: impl Fn()) {
    const NAP_NS: u32 = 10_000;
    let ours = generation_of(state());
    let under_way = ours | UNDER_WAY;
    // Ended by the thread of this process that writes it anew, which waits for nobody.
    loop {
        // pthread_process: look
        let theirs = read();
        if theirs == ours {
            return;
        }
        if theirs == under_way {
            Preloaded::nap_ns(NAP_NS);
            continue;
        }
        without_signals(|| {
            // pthread_process: mark
            if exchange(theirs, under_way) {
                forget();
                // pthread_process: publish
                exchange(under_way, ours);
            }
        });
    }
}

/// Run by the loader before the program, so that nothing of this has to be done when a mutex is first locked: the C library
/// may allocate here, take the loader's lock, or read files.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = {
    extern "C" fn in_child() {
        // A handler that ran before may have locked, and prepared the child.
        if !IS_WIPED.load(Relaxed) {
            STATE.state.store(FRESH, Relaxed);
            ondeck_record::in_child();
        }
    }
    extern "C" fn begin() {
        real::look_up_all();
        platform::ask_early();
        ondeck_record::ask_loader();
        // SAFETY: the handler only stores.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        // A recording tells of programs without a lock, too.
        lock();
        launched::obey();
    }
    begin
};

/// Run by the loader after the program's own end.
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = {
    extern "C" fn end() {
        ondeck_record::exit();
    }
    end
};
