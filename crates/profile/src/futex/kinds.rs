//! What a thread waits for in the kernel, by the functions on its stack: a table, and how it is read.
//!
//! # How it is read
//! A stack is read from the system call outwards, through functions that only lock or wait ([`is_between`]). The first row
//! that is a lock decides. A row that is a wait is kept, and what is outside may know better: a channel's `recv` parks its
//! thread, and so does a lock that is made of parked threads.
//!
//! # How to add a row
//! Write the beginning of the function's short name, as the list and the page show it. With `$` at its end it is the whole
//! name. Then add a stack to the test below: a row that no stack needs fails it.

use crate::profile::{Frame, LockKind, WaitKind};
use crate::wrappers::is_wrapper;

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Meaning {
    Lock(LockKind),
    Wait(WaitKind),
}

/// Whose the futex is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whose {
    /// Of what is waited for. So many bytes before the lower of its two words, or its only one, it begins.
    Object(u64),
    /// Of the thread that waits. What it waits for is known by the place in the program only.
    Thread,
}

/// What is known of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class {
    pub(super) meaning: Meaning,
    pub(super) whose: Whose,
}

use Meaning::{Lock, Wait};
use Whose::{Object, Thread};

/// How the name of a function begins, and what it is that waits there.
#[rustfmt::skip]
const ROWS: &[(&str, Meaning, Whose)] = &[
    // The C library, and its names for its parts, which begin with `_` more often. Two words of a condition variable lie 40 bytes inside of it, two of a
    // lock for readers and a writer 8 bytes, and that of a barrier, after its count of who has come, 4 bytes.
    ("pthread_mutex_", Lock(LockKind::Mutex), Object(0)),
    ("__lll_lock_wait", Lock(LockKind::Mutex), Object(0)),
    ("__GI___lll_lock_wait", Lock(LockKind::Mutex), Object(0)),
    ("mtx_", Lock(LockKind::Mutex), Object(0)),
    ("pthread_rwlock_", Lock(LockKind::RwLock), Object(8)),
    ("pthread_cond_", Wait(WaitKind::Condition), Object(40)),
    ("cnd_", Wait(WaitKind::Condition), Object(40)),
    ("sem_wait", Wait(WaitKind::Semaphore), Object(0)),
    ("sem_timedwait", Wait(WaitKind::Semaphore), Object(0)),
    ("sem_clockwait", Wait(WaitKind::Semaphore), Object(0)),
    ("new_sem_", Wait(WaitKind::Semaphore), Object(0)),
    ("pthread_join", Wait(WaitKind::Join), Thread),
    ("pthread_timedjoin_np", Wait(WaitKind::Join), Thread),
    ("pthread_clockjoin", Wait(WaitKind::Join), Thread),
    ("thrd_join", Wait(WaitKind::Join), Thread),
    ("pthread_barrier_wait", Wait(WaitKind::Barrier), Object(4)),
    ("pthread_once", Wait(WaitKind::Once), Object(0)),
    // What only has a lock of its own inside the C library.
    ("malloc$", Lock(LockKind::Mutex), Object(0)),
    ("free$", Lock(LockKind::Mutex), Object(0)),
    ("calloc$", Lock(LockKind::Mutex), Object(0)),
    ("realloc$", Lock(LockKind::Mutex), Object(0)),
    ("cfree$", Lock(LockKind::Mutex), Object(0)),
    // musl.
    ("__lock$", Lock(LockKind::Mutex), Object(0)),
    ("__lockfile$", Lock(LockKind::Mutex), Object(0)),
    // Rust's standard library.
    ("std::sys::sync::mutex::futex::Mutex::", Lock(LockKind::Mutex), Object(0)),
    ("std::sys::sync::rwlock::futex::RwLock::", Lock(LockKind::RwLock), Object(0)),
    ("std::sys::sync::condvar::futex::Condvar::", Wait(WaitKind::Condition), Object(0)),
    ("std::sys::sync::once::futex::Once::", Wait(WaitKind::Once), Object(0)),
    ("std::sys::sync::thread_parking::", Wait(WaitKind::Park), Thread),
    ("std::thread::park", Wait(WaitKind::Park), Thread),
    ("std::sync::mpmc::", Wait(WaitKind::Channel), Thread),
    ("std::sync::mpsc::", Wait(WaitKind::Channel), Thread),
    ("std::sync::barrier::Barrier::wait", Wait(WaitKind::Barrier), Object(0)),
    ("crossbeam_channel::", Wait(WaitKind::Channel), Thread),
    // parking_lot: a thread sleeps on a word of its own.
    ("parking_lot_core::parking_lot::park", Wait(WaitKind::Park), Thread),
    ("parking_lot_core::thread_parker::", Wait(WaitKind::Park), Thread),
    ("parking_lot_core::word_lock::", Lock(LockKind::Mutex), Thread),
    ("parking_lot::raw_mutex::RawMutex::", Lock(LockKind::Mutex), Thread),
    ("parking_lot::raw_fair_mutex::", Lock(LockKind::Mutex), Thread),
    ("parking_lot::raw_rwlock::RawRwLock::", Lock(LockKind::RwLock), Thread),
    ("parking_lot::condvar::Condvar::", Wait(WaitKind::Condition), Thread),
    ("parking_lot::once::Once::", Wait(WaitKind::Once), Thread),
    // ondeck's own sleepers do the same.
    ("ondeck_locks::", Lock(LockKind::Mutex), Thread),
    // Go's runtime. Its goroutines wait without the kernel.
    ("runtime.lock2", Lock(LockKind::Mutex), Object(0)),
    ("runtime.notesleep", Wait(WaitKind::Park), Thread),
    ("runtime.notetsleep", Wait(WaitKind::Park), Thread),
    ("runtime.stopm", Wait(WaitKind::Park), Thread),
    ("runtime.mPark", Wait(WaitKind::Park), Thread),
    ("runtime.futexsleep", Wait(WaitKind::Other), Object(0)),
    // Java's virtual machine: a thread sleeps on a condition variable of its own.
    ("ObjectMonitor::enter", Lock(LockKind::Mutex), Thread),
    ("ObjectMonitor::EnterI", Lock(LockKind::Mutex), Thread),
    ("ObjectMonitor::ReenterI", Lock(LockKind::Mutex), Thread),
    ("LinuxWaitBarrier::wait", Wait(WaitKind::Other), Thread),
    ("ObjectMonitor::wait", Wait(WaitKind::Condition), Thread),
    ("JavaThread::sleep", Wait(WaitKind::Other), Thread),
    ("Monitor::wait", Wait(WaitKind::Condition), Thread),
    ("Parker::park", Wait(WaitKind::Park), Thread),
    ("Unsafe_Park", Wait(WaitKind::Park), Thread),
];

/// Functions between the system call and the program that are no wrappers elsewhere.
const BETWEEN: &[&str] = &[
    "std::",
    "core::",
    "parking_lot",
    "crossbeam_channel::",
    "runtime.",
    "ondeck_",
    "PlatformEvent::",
    "os::PlatformEvent::",
    "PlatformMonitor::",
    "os::PlatformMonitor::",
    "ObjectMonitor::",
    "Parker::",
    "__futex",
    "futex",
];

/// Files of libraries whose functions stand between, whatever they are called.
const BETWEEN_FILES: &[&str] = &["libc.so", "libc-", "libpthread", "ld-musl", "libjvm.so"];

fn row(brief: &str) -> Option<Class> {
    let brief = plain(brief);
    let is_it = |name: &str| match name.strip_suffix('$') {
        Some(whole) => brief == whole,
        None => brief.starts_with(name),
    };
    let (_, meaning, whose) = ROWS.iter().find(|(name, ..)| is_it(name))?;
    Some(Class { meaning: *meaning, whose: *whose })
}

/// A name of the C library's without the `_` before it, of which debug information has up to three: `___pthread_join`.
fn plain(brief: &str) -> &str {
    let plain = brief.trim_start_matches('_');
    let is_library = ["pthread_", "sem_", "new_sem_", "cnd_", "mtx_", "thrd_"].iter().any(|it| plain.starts_with(it));
    if is_library { plain } else { brief }
}

/// Whether a frame only locks or waits, so that what it does it does for its caller.
fn is_between(frame: &Frame, brief: &str) -> bool {
    let has = |list: &[&str], text: &str| list.iter().any(|beginning| text.starts_with(beginning));
    is_wrapper(frame, brief) || has(BETWEEN, brief) || has(BETWEEN_FILES, &frame.module)
}

/// What a thread with these frames waits for, the innermost first, each with its short name.
pub(super) fn classify<'a>(frames: impl Iterator<Item = (&'a Frame, &'a str)>) -> Class {
    let mut found = None;
    for (frame, brief) in frames {
        match row(brief) {
            Some(class @ Class { meaning: Lock(_), .. }) => return class,
            Some(class) => found = Some(class),
            None if is_between(frame, brief) => {}
            None => break,
        }
    }
    found.unwrap_or(Class { meaning: Lock(LockKind::Unknown), whose: Object(0) })
}

/// The frame that waits, by its place in the stack: the first that is neither a row nor between. Where all are, as in
/// threads of Go's or Java's runtime, the first that does more than lock or wait.
pub(super) fn place<'a>(frames: impl Iterator<Item = (&'a Frame, &'a str)> + Clone) -> Option<usize> {
    let first = |is_passed: fn(&Frame, &str) -> bool| {
        frames.clone().position(|(frame, brief)| row(brief).is_none() && !is_passed(frame, brief))
    };
    first(is_between).or_else(|| first(is_wrapper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::brief;
    use LockKind::{Mutex, RwLock, Unknown};
    use WaitKind::{Barrier, Channel, Condition, Join, Once, Other, Park, Semaphore};

    fn judged(stack: &str) -> Class {
        let frames = frames(stack);
        classify(frames.iter().map(|(frame, brief)| (frame, brief.as_str())))
    }

    /// Frames from `function@module`, the innermost first.
    fn frames(stack: &str) -> Vec<(Frame, String)> {
        stack
            .split_whitespace()
            .map(|function| {
                let (function, module) = function.split_once('@').unwrap_or((function, "app"));
                let frame = Frame {
                    function: function.to_owned(),
                    module: module.to_owned(),
                    is_named: !function.contains("+0x"),
                    ..Frame::default()
                };
                (frame, brief(function))
            })
            .collect()
    }

    /// Every row by itself, with what calls it and what it calls: whoever changes a row's meaning has to change it here.
    const EXPECTED: &[(&str, Meaning, Whose)] = &[
        ("libc.so.6+0x88@libc.so.6 pthread_mutex_lock@libc.so.6 main", Lock(Mutex), Object(0)),
        ("__lll_lock_wait __pthread_mutex_lock std::mutex::lock work", Lock(Mutex), Object(0)),
        ("___pthread_mutex_lock main", Lock(Mutex), Object(0)),
        ("__pthread_mutex_timedlock main", Lock(Mutex), Object(0)),
        (
            "futex_wait __GI___lll_lock_wait __pthread_mutex_cond_lock __pthread_cond_wait_common main",
            Lock(Mutex),
            Object(0),
        ),
        ("mtx_lock main", Lock(Mutex), Object(0)),
        ("pthread_rwlock_rdlock@libc.so.6 main", Lock(RwLock), Object(8)),
        ("__pthread_rwlock_wrlock main", Lock(RwLock), Object(8)),
        ("___pthread_rwlock_wrlock main", Lock(RwLock), Object(8)),
        (
            "libc.so.6+0x8@libc.so.6 pthread_cond_wait@libc.so.6 std::condition_variable::wait work",
            Wait(Condition),
            Object(40),
        ),
        ("__pthread_cond_wait main", Wait(Condition), Object(40)),
        ("___pthread_cond_timedwait main", Wait(Condition), Object(40)),
        ("cnd_wait main", Wait(Condition), Object(40)),
        ("sem_wait main", Wait(Semaphore), Object(0)),
        ("sem_timedwait main", Wait(Semaphore), Object(0)),
        ("sem_clockwait main", Wait(Semaphore), Object(0)),
        ("do_futex_wait.constprop.0 __new_sem_wait_slow main", Wait(Semaphore), Object(0)),
        ("pthread_join main", Wait(Join), Thread),
        ("pthread_timedjoin_np main", Wait(Join), Thread),
        ("__pthread_clockjoin_ex main", Wait(Join), Thread),
        ("___pthread_join main", Wait(Join), Thread),
        ("libc.so.6+0x85f15@libc.so.6 libc.so.6+0x8ace2@libc.so.6 pthread_join@libc.so.6 main", Wait(Join), Thread),
        ("thrd_join main", Wait(Join), Thread),
        ("pthread_barrier_wait main", Wait(Barrier), Object(4)),
        ("futex_wait_simple ___pthread_barrier_wait main", Wait(Barrier), Object(4)),
        ("pthread_once main", Wait(Once), Object(0)),
        ("__pthread_once_slow main", Wait(Once), Object(0)),
        ("__cnd_wait main", Wait(Condition), Object(40)),
        ("___sem_timedwait64 main", Wait(Semaphore), Object(0)),
        ("libc.so.6+0x9@libc.so.6 malloc@libc.so.6 work", Lock(Mutex), Object(0)),
        ("free@libc.so.6 work", Lock(Mutex), Object(0)),
        ("calloc@libc.so.6 work", Lock(Mutex), Object(0)),
        ("realloc@libc.so.6 work", Lock(Mutex), Object(0)),
        ("cfree@libc.so.6 work", Lock(Mutex), Object(0)),
        ("__lock work", Lock(Mutex), Object(0)),
        ("__lockfile work", Lock(Mutex), Object(0)),
        (
            "syscall std::sys::pal::unix::futex::futex_wait std::sys::sync::mutex::futex::Mutex::lock_contended app::work",
            Lock(Mutex),
            Object(0),
        ),
        // A condition variable's waiter that has been woken, and waits for the mutex now.
        (
            "std::sys::sync::mutex::futex::Mutex::lock_contended std::sync::poison::condvar::Condvar::wait app::work",
            Lock(Mutex),
            Object(0),
        ),
        ("std::sys::sync::rwlock::futex::RwLock::read_contended app::work", Lock(RwLock), Object(0)),
        ("std::sys::sync::condvar::futex::Condvar::wait_optional_timeout app::work", Wait(Condition), Object(0)),
        ("std::sys::sync::once::futex::Once::call app::work", Wait(Once), Object(0)),
        ("std::sys::sync::thread_parking::futex::Parker::park app::work", Wait(Park), Thread),
        ("std::thread::park app::work", Wait(Park), Thread),
        ("std::thread::park std::sync::mpmc::context::Context::wait_until app::work", Wait(Channel), Thread),
        ("std::sync::mpsc::Receiver<T>::recv app::work", Wait(Channel), Thread),
        (
            "std::sys::sync::condvar::futex::Condvar::wait std::sync::barrier::Barrier::wait app::work",
            Wait(Barrier),
            Object(0),
        ),
        ("std::thread::park_timeout crossbeam_channel::context::Context::wait_until app::work", Wait(Channel), Thread),
        ("parking_lot_core::thread_parker::imp::ThreadParker::futex_wait app::work", Wait(Park), Thread),
        (
            "parking_lot_core::parking_lot::park parking_lot::raw_mutex::RawMutex::lock_slow app::work",
            Lock(Mutex),
            Thread,
        ),
        ("parking_lot_core::parking_lot::park app::work", Wait(Park), Thread),
        ("parking_lot_core::word_lock::WordLock::lock_slow app::work", Lock(Mutex), Thread),
        (
            "parking_lot_core::parking_lot::park parking_lot::raw_fair_mutex::RawFairMutex::lock app::work",
            Lock(Mutex),
            Thread,
        ),
        (
            "parking_lot_core::parking_lot::park parking_lot::raw_rwlock::RawRwLock::lock_shared_slow app::work",
            Lock(RwLock),
            Thread,
        ),
        (
            "parking_lot_core::parking_lot::park parking_lot::condvar::Condvar::wait_until_internal app::work",
            Wait(Condition),
            Thread,
        ),
        ("parking_lot_core::parking_lot::park parking_lot::once::Once::call_once_slow app::work", Wait(Once), Thread),
        ("syscall ondeck_platform::linux::wait ondeck_locks::ondeck::lock_slow app::work", Lock(Mutex), Thread),
        ("runtime.futex runtime.futexsleep runtime.lock2 main.work", Lock(Mutex), Object(0)),
        ("runtime.futex runtime.futexsleep runtime.notesleep runtime.schedule", Wait(Park), Thread),
        ("runtime.futex runtime.notetsleep_internal runtime.sysmon", Wait(Park), Thread),
        ("runtime.futex runtime.stopm runtime.findRunnable", Wait(Park), Thread),
        ("runtime.futex runtime.mPark runtime.x", Wait(Park), Thread),
        ("runtime.futex runtime.futexsleep runtime.semacquire", Wait(Other), Object(0)),
        ("pthread_cond_wait PlatformEvent::park@libjvm.so ObjectMonitor::enter@libjvm.so app", Lock(Mutex), Thread),
        ("pthread_cond_wait PlatformEvent::park ObjectMonitor::EnterI app", Lock(Mutex), Thread),
        ("pthread_cond_wait PlatformEvent::park ObjectMonitor::ReenterI app", Lock(Mutex), Thread),
        ("pthread_cond_wait PlatformEvent::park ObjectMonitor::wait app", Wait(Condition), Thread),
        (
            "pthread_cond_timedwait os::PlatformEvent::park@libjvm.so JavaThread::sleep@libjvm.so JVM_Sleep@libjvm.so app",
            Wait(Other),
            Thread,
        ),
        ("syscall LinuxWaitBarrier::wait SafepointSynchronize::block", Wait(Other), Thread),
        ("pthread_cond_wait Monitor::wait@libjvm.so app", Wait(Condition), Thread),
        ("pthread_cond_wait Parker::park@libjvm.so app", Wait(Park), Thread),
        ("pthread_cond_wait libjvm.so+0x12@libjvm.so Unsafe_Park@libjvm.so app", Wait(Park), Thread),
        // A program's own lock; and one that only runs while another is initialised.
        ("app::MyLock::lock app::work", Lock(Unknown), Object(0)),
        ("", Lock(Unknown), Object(0)),
        ("app::init std::sys::sync::once::futex::Once::call main", Lock(Unknown), Object(0)),
    ];

    #[test]
    fn each_stack_is_what_it_waits_for() {
        for (stack, meaning, whose) in EXPECTED {
            assert_eq!(judged(stack), Class { meaning: *meaning, whose: *whose }, "{stack}");
        }
    }

    #[test]
    fn who_waits_is_who_does_more_than_lock() {
        let place = |stack: &str| {
            let frames = frames(stack);
            place(frames.iter().map(|(frame, brief)| (frame, brief.as_str())))
        };
        assert_eq!(place("syscall std::sys::sync::mutex::futex::Mutex::lock_contended app::work main"), Some(2));
        // The runtime's own threads.
        assert_eq!(place("runtime.futex runtime.notesleep runtime.stopm runtime.findRunnable runtime.mcall"), Some(3));
        assert_eq!(place("pthread_cond_wait@libc.so.6 Monitor::wait@libjvm.so CompileQueue::get@libjvm.so"), Some(2));
        assert_eq!([place("syscall"), place("")], [None; 2]);
    }

    #[test]
    fn no_row_is_without_a_stack_that_needs_it() {
        for (name, ..) in ROWS {
            let whole = name.strip_suffix('$');
            let needs = |function: &str| whole.map_or(function.starts_with(name), |whole| function == whole);
            let functions = |stack: &str| -> Vec<String> {
                let names = stack.split_whitespace().map(|word| word.split('@').next().unwrap_or_default());
                names.map(|name| plain(&brief(name)).to_owned()).collect()
            };
            let is_needed = EXPECTED.iter().any(|(stack, ..)| functions(stack).iter().any(|function| needs(function)));
            assert!(is_needed, "{name}");
            let first = ROWS.iter().find(|(other, ..)| name.starts_with(other.trim_end_matches('$')));
            let is_hidden = first.is_some_and(|(other, ..)| other != name && !other.ends_with('$'));
            assert!(!is_hidden, "{name} is never reached");
        }
    }
}
