//! What a thread waits for in the kernel, by the functions on its stack: a table, and how it is read.
//!
//! # How it is read
//! A stack is read from the system call outwards, through functions that only lock or wait ([`is_between`]). The first row
//! that is a lock decides. A row that is a wait is kept, and what is outside may know better: a channel's `recv` parks its
//! thread, and so does a lock that is made of parked threads. A row of [`WHOLE`] knows better than locks, too.
//!
//! # How to add a row
//! Write the beginning of the function's short name, as the list and the page show it. With `$` at its end it is the whole
//! name. Then add a stack to the test below: a row that no stack needs fails it.

use crate::profile::{Frame, LockKind, WaitKind};
use crate::wrappers::is_wrapper;

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WaitSubject {
    Lock(LockKind),
    Wait(WaitKind),
}

/// Whose the futex is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FutexOwner {
    /// Of what is waited for. So many bytes before the lower of its two words, or its only one, it begins.
    Object(u64),
    /// Of the thread that waits. What it waits for is known by the place in the program only.
    Thread,
    /// Of the process, which has one such lock, of this name.
    Process(&'static str),
}

/// What is known of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Class {
    pub(crate) meaning: WaitSubject,
    pub(crate) whose: FutexOwner,
}

use FutexOwner::{Object, Process, Thread};
use WaitSubject::{Lock, Wait};

/// How the name of a function begins, and what it is that waits there.
type Row = (&'static str, WaitSubject, FutexOwner);

#[rustfmt::skip]
const ROWS: &[Row] = &[
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
    // C++20's waiting on atomics, by libstdc++ and libc++, and what is made of it.
    ("std::__detail::__platform_wait", Wait(WaitKind::Other), Object(0)),
    ("std::__detail::__wait", Wait(WaitKind::Other), Object(0)),
    ("std::__detail::__timed_wait", Wait(WaitKind::Other), Object(0)),
    ("std::__atomic_wait", Wait(WaitKind::Other), Object(0)),
    ("std::__libcpp_atomic_wait", Wait(WaitKind::Other), Object(0)),
    ("std::__libcpp_platform_wait_on_address", Wait(WaitKind::Other), Object(0)),
    ("std::__cxx_atomic_wait", Wait(WaitKind::Other), Object(0)),
    ("std::__atomic_base::wait", Wait(WaitKind::Other), Object(0)),
    ("std::atomic::wait", Wait(WaitKind::Other), Object(0)),
    ("std::atomic_flag::wait", Wait(WaitKind::Other), Object(0)),
    ("std::__atomic_semaphore::", Wait(WaitKind::Semaphore), Object(0)),
    ("std::counting_semaphore::", Wait(WaitKind::Semaphore), Object(0)),
    ("std::__tree_barrier::", Wait(WaitKind::Barrier), Object(0)),
    ("std::barrier::", Wait(WaitKind::Barrier), Object(0)),
    ("std::latch::", Wait(WaitKind::Barrier), Object(0)),
    // Abseil. A thread sleeps on a semaphore of its own, except for a spin lock.
    ("absl::synchronization_internal::", Wait(WaitKind::Park), Thread),
    ("absl::Mutex::Block", Wait(WaitKind::Park), Thread),
    ("absl::Mutex::Await", Wait(WaitKind::Condition), Thread),
    ("absl::Mutex::", Lock(LockKind::Mutex), Thread),
    ("absl::CondVar::", Wait(WaitKind::Condition), Thread),
    ("absl::base_internal::SpinLock::", Lock(LockKind::Mutex), Object(0)),
    ("absl::base_internal::SpinLockWait", Wait(WaitKind::Once), Object(0)),
    // nsync does the same.
    ("nsync_mu_semaphore_p", Wait(WaitKind::Park), Thread),
    ("nsync_mu_lock", Lock(LockKind::Mutex), Thread),
    ("nsync_mu_rlock", Lock(LockKind::Mutex), Thread),
    ("nsync_mu_wait", Wait(WaitKind::Condition), Thread),
    ("nsync_cv_wait", Wait(WaitKind::Condition), Thread),
    // folly.
    ("folly::SharedMutex", Lock(LockKind::RwLock), Object(0)),
    ("folly::MicroLock", Lock(LockKind::Mutex), Object(0)),
    ("folly::detail::distributed_mutex::", Lock(LockKind::Mutex), Thread),
    ("folly::detail::MemoryIdler::", Wait(WaitKind::Park), Thread),
    ("folly::detail::LifoSem", Wait(WaitKind::Semaphore), Thread),
    ("folly::Baton::", Wait(WaitKind::Park), Thread),
    ("folly::SaturatingSemaphore::", Wait(WaitKind::Park), Thread),
    ("folly::ParkingLot::", Wait(WaitKind::Park), Thread),
    ("folly::parking_lot_detail::", Wait(WaitKind::Park), Thread),
    // WebKit.
    ("WTF::ParkingLot::", Wait(WaitKind::Park), Thread),
    ("WTF::Lock", Lock(LockKind::Mutex), Thread),
    ("WTF::WordLock", Lock(LockKind::Mutex), Thread),
    ("WTF::Condition::", Wait(WaitKind::Condition), Thread),
    // InnoDB, of MySQL and of MariaDB. The first ones sleep on a condition variable of the lock's.
    ("TTASEventMutex::", Lock(LockKind::Mutex), Object(40)),
    ("rw_lock_s_lock", Lock(LockKind::RwLock), Object(40)),
    ("rw_lock_x_lock", Lock(LockKind::RwLock), Object(40)),
    ("rw_lock_sx_lock", Lock(LockKind::RwLock), Object(40)),
    ("srw_mutex_impl::", Lock(LockKind::Mutex), Object(0)),
    ("ssux_lock_impl::", Lock(LockKind::RwLock), Object(0)),
    ("group_commit_lock::acquire", Lock(LockKind::Mutex), Thread),
    // CPython. Its lock is a semaphore, on which threads without work sleep too.
    ("PyThread_acquire_lock", Wait(WaitKind::Semaphore), Object(0)),
    ("_PySemaphore_", Wait(WaitKind::Park), Thread),
    ("_PyParkingLot_Park", Wait(WaitKind::Park), Thread),
    ("_PyMutex_Lock", Lock(LockKind::Mutex), Thread),
    ("PyMutex_Lock", Lock(LockKind::Mutex), Thread),
    ("_PyRawMutex_Lock", Lock(LockKind::Mutex), Thread),
    ("_PyRWMutex_", Lock(LockKind::RwLock), Thread),
    ("PyEvent_Wait", Wait(WaitKind::Other), Thread),
    ("_PyOnceFlag_CallOnce", Wait(WaitKind::Once), Thread),
    // .NET's virtual machine: a thread sleeps on a condition variable of its own.
    ("CorUnix::CPalSynchronizationManager::", Wait(WaitKind::Park), Thread),
    ("AwareLock::Enter", Lock(LockKind::Mutex), Thread),
    ("SyncBlock::Wait", Wait(WaitKind::Condition), Thread),
    ("CLRLifoSemaphore::", Wait(WaitKind::Park), Thread),
    // Swift's mutex, and the queues that its programs use.
    ("$s15Synchronization12_MutexHandleV", Lock(LockKind::Mutex), Object(0)),
    ("_dispatch_unfair_lock_lock_slow", Lock(LockKind::Mutex), Object(0)),
    ("_dispatch_sema4_", Wait(WaitKind::Semaphore), Object(0)),
    ("_dispatch_thread_event_wait", Wait(WaitKind::Other), Thread),
    ("_dispatch_worker_thread", Wait(WaitKind::Park), Thread),
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
    ("ondeck_lineage::ondeck::condvar::", Wait(WaitKind::Condition), Thread),
    ("ondeck_lineage::monitor::side::Side::wait", Wait(WaitKind::Condition), Thread),
    ("ondeck_lineage::monitor::RawOndeckMonitor::wait", Wait(WaitKind::Condition), Thread),
    ("ondeck_lineage::", Lock(LockKind::Mutex), Thread),
    ("ondeck_cond_wait", Wait(WaitKind::Condition), Thread),
    ("ondeck_monitor_wait", Wait(WaitKind::Condition), Thread),
    ("ondeck_monitor_enter", Lock(LockKind::Mutex), Thread),
    ("ondeck_mutex_lock", Lock(LockKind::Mutex), Thread),
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

/// The same of what is made of others' locks and waits, and is something else than these: the last of them decides. Such a
/// function may be the place that waits.
#[rustfmt::skip]
const WHOLE: &[Row] = &[
    // CPython's interpreter lock has a mutex and a condition variable.
    ("take_gil$", Lock(LockKind::Mutex), Process("GIL")),
    ("drop_gil", Lock(LockKind::Mutex), Process("GIL")),
    // A call of `acquire` by the program, or by its condition variables, queues and events, whose threads have no work.
    ("lock_PyThread_acquire_lock", Wait(WaitKind::Semaphore), Object(0)),
    // Calls what stands after `with`. A method that is called by its name is called by another function.
    ("_PyObject_MakeTpCall", Lock(LockKind::Mutex), Object(0)),
    ("rlock_acquire", Lock(LockKind::Mutex), Object(0)),
    ("_enter_buffered_busy", Lock(LockKind::Mutex), Object(0)),
    ("_queue_SimpleQueue_get", Wait(WaitKind::Channel), Thread),
    ("ThreadHandle_join", Wait(WaitKind::Join), Thread),
    // Waits until what it is told is true.
    ("absl::Mutex::LockWhen", Wait(WaitKind::Condition), Thread),
    ("absl::Mutex::ReaderLockWhen", Wait(WaitKind::Condition), Thread),
];

/// What a lock is by the symbol that it lies in, whatever functions wait for it: these may have no names.
const DATA: &[Row] = &[
    // All that CPython has of the C library's in its state is of the interpreter lock. Debian's CPython has this symbol only.
    ("_PyRuntime", Lock(LockKind::Mutex), Process("GIL")),
];

/// What is known of a lock with this symbol.
pub(crate) fn of_datum(symbol: &str) -> Option<Class> {
    row(DATA, symbol)
}

/// Functions between the system call and the program that are no wrappers elsewhere.
const BETWEEN: &[&str] = &[
    "std::",
    "core::",
    "folly::detail::",
    "folly::atomic_",
    "WTF::",
    "binary_semaphore::",
    "_PyParkingLot_",
    "cfunction_call",
    "rwmutex_set_parked",
    "CorUnix::",
    "CLREvent",
    "_dispatch_",
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
const BETWEEN_FILES: &[&str] = &["libc.so", "libc-", "libpthread", "ld-musl", "libjvm.so", "libcoreclr.so"];

/// The same of functions without names only.
const NAMELESS: &[&str] = &["python3", "libpython3"];

fn row(rows: &[Row], brief: &str) -> Option<Class> {
    let brief = plain(brief);
    let is_it = |name: &str| match name.strip_suffix('$') {
        Some(whole) => brief == whole,
        None => brief.starts_with(name),
    };
    let (_, meaning, whose) = rows.iter().find(|(name, ..)| is_it(name))?;
    Some(Class { meaning: *meaning, whose: *whose })
}

/// A name of the C library's without the `_` before it, of which debug information has up to three: `___pthread_join`. A
/// name of nsync's as if it were compiled as C, which it need not be.
fn plain(brief: &str) -> &str {
    let brief = brief.strip_prefix("nsync::").unwrap_or(brief);
    let plain = brief.trim_start_matches('_');
    let is_library = ["pthread_", "sem_", "new_sem_", "cnd_", "mtx_", "thrd_"].iter().any(|it| plain.starts_with(it));
    if is_library { plain } else { brief }
}

/// Whether a frame only locks or waits, so that what it does it does for its caller.
fn is_between(frame: &Frame, brief: &str) -> bool {
    let has = |list: &[&str], text: &str| list.iter().any(|beginning| text.starts_with(beginning));
    is_wrapper(frame, brief)
        || has(BETWEEN, brief)
        || has(BETWEEN_FILES, &frame.module)
        || !frame.is_named && has(NAMELESS, &frame.module)
}

/// What a thread with these frames waits for, the innermost first, each with its short name.
pub(crate) fn classify<'a>(frames: impl Iterator<Item = (&'a Frame, &'a str)>) -> Class {
    let mut found: Option<Class> = None;
    for (frame, brief) in frames {
        let is_lock = found.is_some_and(|class| matches!(class.meaning, Lock(_)));
        match (row(WHOLE, brief), row(ROWS, brief)) {
            // A process's only lock may be wanted again after a wait for something else, which is outside then.
            (Some(class @ Class { whose: Process(_), .. }), _) => return class,
            (Some(class), _) => found = Some(class),
            (None, Some(class)) if !is_lock => found = Some(class),
            (None, Some(_)) => {}
            (None, None) if is_between(frame, brief) => {}
            (None, None) => break,
        }
    }
    found.unwrap_or(Class { meaning: Lock(LockKind::Unknown), whose: Object(0) })
}

/// The frame that waits, by its place in the stack: the first that is neither a row nor between. Where all are, as in
/// threads of Go's or Java's runtime, the first that does more than lock or wait.
pub(super) fn place<'a>(frames: impl Iterator<Item = (&'a Frame, &'a str)> + Clone) -> Option<usize> {
    let first = |is_passed: fn(&Frame, &str) -> bool| {
        frames.clone().position(|(frame, brief)| row(ROWS, brief).is_none() && !is_passed(frame, brief))
    };
    first(is_between).or_else(|| first(is_wrapper))
}

#[cfg(test)]
mod tests;
