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
//! `proof/spec/pthread_process.tla` is a model of this: with a fork at any moment, and another one in the child, threads exclude each
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
use crate::{die, launched, places, real, thread};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use ondeck_core::{Platform, kernel};
use ondeck_record::{Charging, Source, Wish};

/// Whether the kernel gives a child that page as zeros.
static IS_WIPED: AtomicBool = AtomicBool::new(false);
/// What a child keeps: which lock was chosen, FRESH before that.
static CHOICE: AtomicU32 = AtomicU32::new(FRESH);
static OTHER: AtomicPtr<Operations> = AtomicPtr::new(ptr::null_mut());
/// The thread that prepares, by its place. What it calls of others, such as the loader, may lock: that is left to the C library
/// altogether, and unlocked before this ends.
static PREPARES: AtomicUsize = AtomicUsize::new(0);
/// Counts the forks that lead to this process, in the units of a state.
static N_FORKS: AtomicU32 = AtomicU32::new(0);

/// Whether the C library's own mutexes and condition variables are used as they are.
#[inline]
pub(crate) fn is_theirs() -> bool {
    // While another thread prepares nobody knows: who guessed would lock in one form what is unlocked in another.
    if matches!(state() & CHOICES, FRESH | BUSY) {
        if PREPARES.load(Relaxed) == thread::place() {
            return true;
        }
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
                        PREPARES.store(thread::place(), Relaxed);
                        let state = prepare();
                        PREPARES.store(0, Relaxed);
                        // pthread_process: settle
                        STATE.state.store(state, Release);
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
    if kernel::variable(c"ONDECK_LOCK") == Some(c"glibc") {
        real::look_up_mutexes();
    }
}

/// What a thread raises itself, by a fault or step by step, ends the process if it is blocked; and two signals are the C
/// library's own.
const NOT_BLOCKED: [i32; 8] =
    [libc::SIGILL, libc::SIGTRAP, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV, libc::SIGSYS, 32, 33];

/// A handler that locks something in the middle of `act` would wait for its own thread.
fn without_signals(act: impl FnOnce()) {
    let before = set_mask(NOT_BLOCKED.iter().fold(!0, |mask, signal| mask & !(1 << (signal - 1))));
    act();
    set_mask(before);
}

/// The calling thread's signals that wait, a bit each, and what they were before.
fn set_mask(mask: u64) -> u64 {
    let mut before = 0_u64;
    let (new, old) = ((&raw const mask) as usize, (&raw mut before) as usize);
    // SAFETY: reads and writes eight bytes that are ours.
    let _ = unsafe { kernel::call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, new, old, size_of::<u64>()]) };
    before
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
        let answer = unsafe { kernel::advise(page, size_of::<Wiped>(), libc::MADV_WIPEONFORK) };
        IS_WIPED.store(answer.is_ok(), Relaxed);
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
    let Some(name) = kernel::variable(c"ONDECK_LOCK") else { return ONDECK };
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
        ondeck_record::ask_by(thread::number);
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use core::ffi::CStr;
    use ondeck_record::read::Reader;
    use std::os::unix::ffi::OsStrExt as _;
    use std::time::{Duration, Instant};

    /// Whether `test` passes in a child of this process, which may do with its state what it likes.
    #[track_caller]
    pub(crate) fn in_child(test: impl FnOnce()) {
        // SAFETY: the child does nothing that needs the parent's other threads, and ends here.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: always may be called.
            unsafe { libc::alarm(100) };
            let is_ok = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test)).is_ok();
            // SAFETY: always may be called.
            unsafe { libc::_exit(i32::from(!is_ok)) };
        }
        assert_eq!(status_of(child), 0, "the child has failed");
    }

    fn status_of(child: libc::pid_t) -> i32 {
        let mut status = 0;
        // SAFETY: `status` is ours.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        status
    }

    pub(crate) fn set_state(state: u32) {
        STATE.state.store(state, Relaxed);
    }

    /// A directory for recordings, gone with it.
    struct Directory(std::path::PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ondeck-preload-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Directory(path)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// In a child: as if nothing had been prepared, in this environment.
    fn forget(lock: Option<&CStr>, records: Option<&Directory>) {
        let directory = records.map(|one| std::ffi::CString::new(one.0.as_os_str().as_bytes()).unwrap());
        let all = [(Wish::RATE, Some(c"1")), (Wish::MAX_MB, Some(c"1")), (Wish::DIRECTORY, directory.as_deref())];
        for (name, value) in all.into_iter().chain([(c"ONDECK_LOCK", lock)]) {
            let answer = match value {
                // SAFETY: strings of C, and this is the only thread.
                Some(value) => unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) },
                // SAFETY: as above.
                None => unsafe { libc::unsetenv(name.as_ptr()) },
            };
            assert_eq!(answer, 0);
        }
        CHOICE.store(FRESH, Relaxed);
        // SAFETY: this is the only thread.
        unsafe { *WISH.0.get() = None };
        set_state(FRESH);
    }

    /// Whether `test` passes in a child with the flagship that records all it does, which it reads by what it is given.
    #[track_caller]
    pub(crate) fn recorded(name: &str, test: impl FnOnce(&dyn Fn() -> Reader)) {
        let directory = Directory::new(name);
        in_child(|| {
            forget(None, Some(&directory));
            lock();
            assert!(records());
            test(&|| {
                let file = std::fs::read_dir(&directory.0).unwrap().next().unwrap();
                Reader::open(&file.unwrap().path()).unwrap()
            });
        });
    }

    #[test]
    fn the_environment_chooses_the_lock() {
        let known = if theirs::are_known() { KNOWN } else { THEIRS };
        let directory = Directory::new("chooses");
        for (name, plain, recorded) in [
            (None, ONDECK, ONDECK | RECORDED),
            (Some(c""), ONDECK, ONDECK | RECORDED),
            (Some(c"ondeck"), ONDECK, ONDECK | RECORDED),
            (Some(c"glibc"), THEIRS, known | RECORDED),
            (Some(c"std-port"), ANOTHER, ANOTHER),
        ] {
            for (records, expected) in [(None, plain), (Some(&directory), recorded)] {
                in_child(|| {
                    forget(name, records);
                    assert_eq!(lock().is_some(), expected == ANOTHER, "{name:?}");
                    assert_eq!(state(), expected, "{name:?}");
                    assert_eq!(records_in(&directory), expected & RECORDED != 0, "{name:?}");
                });
            }
        }
    }

    /// Whether this process has a file there.
    fn records_in(directory: &Directory) -> bool {
        let own = std::process::id().to_string();
        let mut files = std::fs::read_dir(&directory.0).unwrap();
        files.any(|file| file.unwrap().file_name().to_str().is_some_and(|name| name.contains(&own)))
    }

    #[test]
    fn what_is_theirs_is_known_before_the_answer() {
        in_child(|| {
            for (state, is) in [(ONDECK, false), (ANOTHER, false), (THEIRS, true), (KNOWN | RECORDED, true)] {
                set_state(state);
                assert_eq!(is_theirs(), is, "{state}");
            }
            for (choice, is) in [(THEIRS, true), (ONDECK, false)] {
                CHOICE.store(choice, Relaxed);
                set_state(FRESH);
                assert_eq!(is_theirs(), is, "{choice}");
            }
        });
    }

    #[test]
    fn what_needs_no_preparation_is_recorded_in_a_child_too() {
        let directory = Directory::new("child");
        in_child(|| {
            for (state, is) in [(ONDECK, false), (BUSY, false), (ONDECK | RECORDED, true), (THEIRS | RECORDED, true)] {
                set_state(state);
                assert_eq!(records(), is, "{state}");
            }
            forget(None, Some(&directory));
            assert!(!records());
            assert_eq!(state(), FRESH);
            // In the child of a process that does not record.
            CHOICE.store(ONDECK, Relaxed);
            assert!(!records());
            assert_eq!(state(), ONDECK | ONE_FORK);
        });
        in_child(|| {
            forget(None, Some(&directory));
            // SAFETY: this is the only thread.
            unsafe { *WISH.0.get() = Wish::of_environment() };
            CHOICE.store(ONDECK, Relaxed);
            assert!(records());
            assert_eq!(state(), ONDECK | RECORDED | ONE_FORK);
        });
    }

    /// A child that runs no handlers has the page as the kernel gives it.
    #[test]
    fn what_the_kernel_does_to_the_page_is_known() {
        in_child(|| {
            forget(None, None);
            lock();
            assert_eq!(state(), ONDECK);
            let none = ptr::null_mut::<c_void>();
            // SAFETY: a child as that of a fork, which only looks and ends.
            let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, none, none, none, none) };
            if child == 0 {
                // SAFETY: always may be called.
                unsafe { libc::_exit(i32::from(state() == FRESH)) };
            }
            let status = status_of(libc::pid_t::try_from(child).unwrap());
            assert_eq!(libc::WEXITSTATUS(status) == 1, IS_WIPED.load(Relaxed));
        });
    }

    /// What it calls may come back to us; another thread waits until it is known.
    #[test]
    fn whoever_prepares_leaves_what_it_locks_to_the_c_library() {
        in_child(|| {
            set_state(BUSY);
            PREPARES.store(thread::place(), Relaxed);
            assert!(is_theirs());
            let other = std::thread::spawn(is_theirs);
            std::thread::sleep(Duration::from_millis(20));
            assert!(!other.is_finished());
            set_state(ONDECK);
            assert!(!other.join().unwrap() && !is_theirs());
        });
    }

    #[test]
    fn no_signal_comes_in_the_middle() {
        let blocked = || {
            // SAFETY: plain memory, which the call fills.
            let mut set = unsafe { core::mem::zeroed() };
            // SAFETY: only asks.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), &mut set) };
            // SAFETY: filled by the call before.
            (1..=31).filter(|signal| unsafe { libc::sigismember(&set, *signal) } == 1).collect::<Vec<i32>>()
        };
        // SAFETY: plain memory, whose zeros are an empty set.
        let mut set: libc::sigset_t = unsafe { core::mem::zeroed() };
        // SAFETY: the set is ours, and the signal is one.
        unsafe { libc::sigaddset(&mut set, libc::SIGUSR2) };
        // SAFETY: reads the set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &set, ptr::null_mut()) };
        let before = blocked();
        assert_eq!(before, [libc::SIGUSR2]);
        let mut within = Vec::new();
        without_signals(|| within = blocked());
        let all =
            (1..=31).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal) && !NOT_BLOCKED.contains(signal));
        assert_eq!(within, all.collect::<Vec<i32>>());
        assert_eq!(blocked(), before);
    }

    /// Two that begin at once, again and again, for as long as a machine under load may take.
    #[test]
    fn one_thread_prepares() {
        in_child(|| {
            lock();
            let (n_before, begin) = (N_FORKS.load(Relaxed), Instant::now());
            let n_here = AtomicU32::new(0);
            let meet = |n: u32| {
                n_here.fetch_add(1, Release);
                for look in 0.. {
                    if n_here.load(Acquire) >= 2 * n {
                        break;
                    }
                    if look % 1000 == 999 {
                        std::thread::yield_now();
                    }
                }
            };
            let (is_over, is_twice) = (AtomicBool::new(false), AtomicBool::new(false));
            let turn = |round: u32, is_first: bool| {
                if is_first {
                    places::tests::use_all();
                    set_state(FRESH);
                    is_over.store(begin.elapsed() > Duration::from_millis(500), Relaxed);
                }
                meet(2 * round - 1);
                let is_over = is_over.load(Relaxed);
                lock();
                meet(2 * round);
                if N_FORKS.load(Relaxed).wrapping_sub(n_before) != round * ONE_FORK {
                    is_twice.store(true, Relaxed);
                }
                is_over
            };
            std::thread::scope(|scope| {
                scope.spawn(|| (1..5000).any(|round| turn(round, false)));
                (1..5000).any(|round| turn(round, true));
            });
            assert!(!is_twice.load(Relaxed));
        });
    }

    #[test]
    fn the_first_touch_is_marked_and_made_once() {
        const PARENTS: u32 = 7 * ONE_FORK;
        let ours = generation_of(state());
        let word = AtomicU32::new(PARENTS);
        let exchange = |old, new| word.compare_exchange(old, new, Relaxed, Relaxed).is_ok();
        let n_times = AtomicU32::new(0);
        let forget = || {
            // Others look at it meanwhile.
            assert_eq!(word.load(Relaxed), ours | UNDER_WAY);
            n_times.fetch_add(1, Relaxed);
        };
        for _ in 0..2 {
            revive(|| word.load(Relaxed), exchange, forget);
            assert_eq!((word.load(Relaxed), n_times.load(Relaxed)), (ours, 1));
        }
        // The mark of another process, which was forked in the middle.
        word.store(PARENTS | UNDER_WAY, Relaxed);
        revive(|| word.load(Relaxed), exchange, forget);
        assert_eq!((word.load(Relaxed), n_times.load(Relaxed)), (ours, 2));
    }

    #[test]
    fn who_finds_the_mark_of_its_own_process_waits() {
        let ours = generation_of(state());
        let n_looks = AtomicU32::new(0);
        let read = || if n_looks.fetch_add(1, Relaxed) < 3 { ours | UNDER_WAY } else { ours };
        revive(read, |_, _| panic!("another thread is at it"), || panic!("another thread is at it"));
        assert_eq!(n_looks.load(Relaxed), 4);
    }
}
