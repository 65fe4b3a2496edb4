//! The process is prepared: it chooses its lock, once, and if it is the child of a fork, counts that. `first_touch` then
//! writes anew what a child finds of its parent's threads.
//!
//! Preparing goes from `FRESH` over `BUSY`, which one thread writes, to the choice and the number of the process: the one word
//! of `state`, at which each operation looks. A fork makes it `FRESH` again.
//!
//! While the process runs, an observer may ask for a recording or for its end (`ondeck_record::control`): it sets a bit in the
//! word, with which no operation is usual. The next thread obeys (`obey`) and clears it. While a process is not prepared nobody
//! obeys, and the observer asks again.
//!
//! # Which lock
//! `ONDECK_LOCK` names it; the flagship if it is unset; `glibc` leaves all to the C library, for a first recording. It
//! is read once, by the thread that first touches a mutex: one that was locked in one form must not be unlocked in
//! another.
//!
//! # Fork
//! Only the thread that forks goes on in the child. But the words of the child's mutexes still tell of the parent's other
//! threads: that one is on deck and awake, that others sleep on a list. Nobody would ever call anybody again. So forks are
//! counted, from process to process, and each mutex and condition variable has the number of the process that touched it last.
//! A thread that finds another number there is the first to touch it in this process (`revive`): nobody in this process waits
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

mod first_touch;

pub(crate) use crate::state::{
    BESIDE, generation_of, is_ondeck, is_recorded, leaves_all, records_known, state, unrecorded, usual_generation,
    usual_shape,
};
pub(crate) use first_touch::revive;

use crate::bytes::glibc;
use crate::family::{self, Operations};
use crate::platform::PreloadPlatform;
use crate::signals::without_signals;
use crate::state::{
    ANOTHER, ASKED, BUSY, BYTE_OF_ASKED, CHOICES, FRESH, GLIBC, GLIBC_KNOWN, ONDECK, ONE_FORK, ORDER, RECORDED, STATE,
    WipeOnForkPage,
};
use crate::{die, places, real, thread};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use ondeck_core::{Platform, kernel};
use ondeck_record::{Change, RecordOptions, Sleep, Source};

/// Whether the kernel gives a child that page as zeros.
static IS_WIPED: AtomicBool = AtomicBool::new(false);
/// What a child keeps: which lock was chosen, FRESH before that.
static CHOICE: AtomicU32 = AtomicU32::new(FRESH);
static OTHER: AtomicPtr<Operations> = AtomicPtr::new(ptr::null_mut());
/// The thread that prepares, by its place. What it calls of others, such as the loader, may lock: that is left to the C library
/// altogether, and unlocked before this ends.
static PREPARING: AtomicUsize = AtomicUsize::new(0);
/// Counts the forks that lead to this process, in the units of a state.
static N_FORKS: AtomicU32 = AtomicU32::new(0);

/// Whether the C library's own mutexes and condition variables are used as they are.
#[inline]
pub(crate) fn is_glibc() -> bool {
    // Each further turn is that of a process that has not looked yet. The answer is that of one look: a signal handler may make
    // a child between two of them, in which the second would find nothing chosen.
    loop {
        let found = state();
        // While another thread prepares nobody knows: who guessed would lock in one form what is unlocked in another.
        if matches!(found & CHOICES, FRESH | BUSY) {
            if PREPARING.load(Relaxed) == thread::place() {
                return true;
            }
            prepare();
            continue;
        }
        if found & (ASKED | ORDER) != 0 {
            obey();
        }
        return matches!(found & CHOICES, GLIBC | GLIBC_KNOWN);
    }
}

/// Whether what needs no preparation is recorded. A process that is being prepared records nothing yet, and who asks may be
/// the one that prepares.
#[inline(always)]
pub(crate) fn records() -> bool {
    let state = state();
    if state & (ASKED | ORDER) != 0 && !matches!(state & CHOICES, FRESH | BUSY) {
        obey();
    }
    is_recorded(state) || state & CHOICES == FRESH && starts_to_record()
}

/// Does what an observer asks for, of all operations or just now. Others go on meanwhile.
#[cold]
#[inline(never)]
fn obey() {
    if state() & ORDER != 0 {
        ondeck_record::tell_all();
    }
    if state() & ASKED == 0 {
        return;
    }
    without_signals(|| {
        let choice = CHOICE.load(Relaxed);
        let lock = how_recorded(choice);
        let (name, sleep) = lock.map_or((None, Sleep::AtOnce), |(name, sleep)| (Some(name), sleep));
        // Who asks, asks again until it is answered.
        let ask_no_more = || STATE.state.fetch_and(!ASKED, Relaxed);
        let has_obeyed = ondeck_record::obey(name, sleep, Source::Library, |change| {
            ask_no_more();
            match change {
                // Another recording may have been there, of another observer.
                Change::Begun => {
                    STATE.state.fetch_and(!ORDER, Relaxed);
                    STATE.state.fetch_or(recorded(), Release);
                }
                Change::Ended => _ = STATE.state.fetch_and(!(RECORDED | ORDER), Release),
                Change::Nothing => {}
            }
        });
        if !has_obeyed {
            ask_no_more();
        }
    });
}

/// What is beside the choice in the state of a process whose recording has begun.
fn recorded() -> u32 {
    if ondeck_record::tells_order() { RECORDED | ORDER } else { RECORDED }
}

/// In the child of a fork, which has not looked yet whether it records.
#[cold]
#[inline(never)]
fn starts_to_record() -> bool {
    if CHOICE.load(Relaxed) == FRESH {
        return false;
    }
    prepare();
    is_recorded(state())
}

/// Prepares if that has not been done, and gives the operations of the lock; `None` for the flagship.
#[cold]
pub(crate) fn prepare() -> Option<&'static Operations> {
    const NAP_NS: u32 = 10_000;
    // Ended by the preparing thread, which waits for nobody.
    loop {
        // pthread_process: prepare
        let found = STATE.state.load(Acquire);
        match found & CHOICES {
            ONDECK | GLIBC | GLIBC_KNOWN => return None,
            // SAFETY: stored before the state was, and never freed.
            ANOTHER => return unsafe { OTHER.load(Relaxed).as_ref() },
            BUSY => PreloadPlatform::nap_ns(NAP_NS),
            _ => {
                look_up_early();
                without_signals(|| {
                    // A child that is asked before it has prepared is asked again.
                    if STATE.state.compare_exchange(found, BUSY, Acquire, Relaxed).is_ok() {
                        PREPARING.store(thread::place(), Relaxed);
                        let state = new_state();
                        PREPARING.store(0, Relaxed);
                        // pthread_process: settle
                        STATE.state.store(state, Release);
                    }
                });
            }
        }
    }
}

/// Looks up what [`new_state`] calls of the C library. Not there: the loader's lock may be held by a thread that waits until
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

/// The state of this process, which nobody else prepares: the first one chooses, the child of a fork counts that.
fn new_state() -> u32 {
    if CHOICE.load(Relaxed) == FRESH {
        choose();
        let page = (&raw const STATE).cast_mut().cast::<c_void>();
        // If it is refused, the handler does the same.
        // SAFETY: the page is ours, whole, and holds nothing but the state.
        let answer = unsafe { kernel::advise(page, size_of::<WipeOnForkPage>(), libc::MADV_WIPEONFORK) };
        IS_WIPED.store(answer.is_ok(), Relaxed);
        ondeck_record::control::listen((page as usize + BYTE_OF_ASKED) as u64);
    } else {
        // pthread_process: count
        N_FORKS.store(N_FORKS.load(Relaxed).wrapping_add(ONE_FORK) & (ASKED - 1), Relaxed);
        places::clear();
        ondeck_record::leave_parents();
    }
    let choice = CHOICE.load(Relaxed);
    N_FORKS.load(Relaxed) | choice | if begin_to_record(choice) { recorded() } else { 0 }
}

/// Chooses the lock and what is recorded, for this process and its children.
fn choose() {
    CHOICE.store(lock_of_environment(), Relaxed);
    let options = RecordOptions::of_environment();
    if CHOICE.load(Relaxed) == GLIBC && glibc::are_known() {
        CHOICE.store(GLIBC_KNOWN, Relaxed);
    }
    // SAFETY: the preparing thread is alone at it.
    unsafe { *OPTIONS.0.get() = options };
}

/// Begins to record this process, if that is asked for. In the child of a fork it was asked for in the parent.
fn begin_to_record(choice: u32) -> bool {
    let Some((name, sleep)) = how_recorded(choice) else { return false };
    // SAFETY: written once, before the first look at it, by the preparing thread.
    let options = unsafe { &*OPTIONS.0.get() };
    options.as_ref().is_some_and(|options| ondeck_record::start(options, name, sleep, Source::Library))
}

/// Name of the lock, and what it tells of threads that wait; `None` if it cannot be recorded.
fn how_recorded(choice: u32) -> Option<(&'static str, Sleep)> {
    match choice {
        ONDECK => Some(("ondeck", Sleep::Told)),
        GLIBC | GLIBC_KNOWN => Some(("glibc", Sleep::AtOnce)),
        _ => None,
    }
}

/// What is to be recorded. Written by the thread that prepares the first process, which is alone at it.
struct OptionsCell(UnsafeCell<Option<RecordOptions>>);

// SAFETY: the preparing thread is alone.
unsafe impl Sync for OptionsCell {}

static OPTIONS: OptionsCell = OptionsCell(UnsafeCell::new(None));

fn lock_of_environment() -> u32 {
    let Some(name) = kernel::variable(c"ONDECK_LOCK") else { return ONDECK };
    if name == c"" || name == c"ondeck" {
        return ONDECK;
    }
    if name == c"glibc" {
        return GLIBC;
    }
    match family::choose(name) {
        Ok(operations) => OTHER.store(ptr::from_ref(operations).cast_mut(), Relaxed),
        Err(reason) => die(&["ONDECK_LOCK=", name.to_str().unwrap_or("?"), " is not possible: ", reason]),
    }
    ANOTHER
}

/// Run by the C library in the child of a fork.
pub(crate) extern "C" fn in_child() {
    // A handler that ran before may have locked, and prepared the child.
    if !IS_WIPED.load(Relaxed) {
        STATE.state.store(FRESH, Relaxed);
        ondeck_record::in_child();
    }
}

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
        let all = [
            (RecordOptions::RATE, Some(c"1")),
            (RecordOptions::MAX_MB, Some(c"1")),
            (RecordOptions::DIRECTORY, directory.as_deref()),
        ];
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
        unsafe { *OPTIONS.0.get() = None };
        set_state(FRESH);
    }

    /// Whether `test` passes in a child with the flagship that records all it does, which it reads by what it is given.
    #[track_caller]
    pub(crate) fn recorded(name: &str, test: impl FnOnce(&dyn Fn() -> Reader)) {
        let directory = Directory::new(name);
        in_child(|| {
            forget(None, Some(&directory));
            prepare();
            assert!(records());
            test(&|| {
                let file = std::fs::read_dir(&directory.0).unwrap().next().unwrap();
                Reader::open(&file.unwrap().path()).unwrap()
            });
        });
    }

    #[test]
    fn the_environment_chooses_the_lock() {
        let known = if glibc::are_known() { GLIBC_KNOWN } else { GLIBC };
        let directory = Directory::new("chooses");
        for (name, plain, recorded) in [
            (None, ONDECK, ONDECK | RECORDED),
            (Some(c""), ONDECK, ONDECK | RECORDED),
            (Some(c"ondeck"), ONDECK, ONDECK | RECORDED),
            (Some(c"glibc"), known, known | RECORDED),
            (Some(c"std-port"), ANOTHER, ANOTHER),
        ] {
            for (records, expected) in [(None, plain), (Some(&directory), recorded)] {
                in_child(|| {
                    forget(name, records);
                    assert_eq!(prepare().is_some(), expected == ANOTHER, "{name:?}");
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
            for (state, is) in [(ONDECK, false), (ANOTHER, false), (GLIBC, true), (GLIBC_KNOWN | RECORDED, true)] {
                set_state(state);
                assert_eq!(is_glibc(), is, "{state}");
            }
            for (choice, is) in [(GLIBC, true), (ONDECK, false)] {
                CHOICE.store(choice, Relaxed);
                set_state(FRESH);
                assert_eq!(is_glibc(), is, "{choice}");
            }
        });
    }

    #[test]
    fn what_needs_no_preparation_is_recorded_in_a_child_too() {
        let directory = Directory::new("child");
        in_child(|| {
            for (state, is) in [(ONDECK, false), (BUSY, false), (ONDECK | RECORDED, true), (GLIBC | RECORDED, true)] {
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
            unsafe { *OPTIONS.0.get() = RecordOptions::of_environment() };
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
            prepare();
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
            PREPARING.store(thread::place(), Relaxed);
            assert!(is_glibc());
            let other = std::thread::spawn(is_glibc);
            std::thread::sleep(Duration::from_millis(20));
            assert!(!other.is_finished());
            set_state(ONDECK);
            assert!(!other.join().unwrap() && !is_glibc());
        });
    }

    /// Two that begin at once, again and again, for as long as a machine under load may take.
    #[test]
    fn one_thread_prepares() {
        in_child(|| {
            prepare();
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
                prepare();
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
}
