//! What a thread waits for in the kernel, by the functions on its stack: a table, and how it is read.
//!
//! # How it is read
//! A stack is read from the system call outwards, through functions that only lock or wait ([`is_between`]). The first row
//! that is a lock decides. A row that is a wait is kept, and what is outside may know better: a channel's `recv` parks its
//! thread, and so does a lock that is made of parked threads. A row of [`WHOLE`] knows better than locks, too.
//!
//! # How to add a row
//! Write the beginning of the function's short name, as the list and the page show it, to those of the same meaning: a name
//! stands between spaces. With `$` at its end it is the whole name. Then add a stack to the test below: a name that no stack
//! needs fails it. Of Rust, write modules and not types: of a function that was inlined, tables of lines tell no more than
//! its [file](located).

use crate::profile::{Frame, LockKind, WaitKind};
use crate::words::waits_on;
use crate::wrappers::{begins, is_wrapper};
use std::borrow::Cow;

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

impl Class {
    /// Of a stack with no row.
    const UNKNOWN: Class = Class { meaning: WaitSubject::Lock(LockKind::Unknown), whose: FutexOwner::Object(0) };

    pub(crate) fn is_unknown(&self) -> bool {
        *self == Class::UNKNOWN
    }
}

use FutexOwner::{Object, Process, Thread};
use LockKind::{Mutex, RwLock};
use WaitKind::{Barrier, Channel, Condition, Join, Once, Other, Park, Semaphore};
use WaitSubject::{Lock, Wait};

/// What it is that waits in functions whose names begin so.
type Row = (WaitSubject, FutexOwner, &'static str);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // The C library, and its names for its parts, which begin with `_` more often. Two words of a condition
    // variable lie 40 bytes inside of it, two of a lock for readers and a writer 8 bytes, and that of a
    // barrier, after its count of who has come, 4 bytes.
    (Lock(Mutex), Object(0), "pthread_mutex_ __lll_lock_wait __GI___lll_lock_wait mtx_"),
    (Lock(RwLock), Object(8), "pthread_rwlock_"),
    (Wait(Condition), Object(40), "pthread_cond_ cnd_"),
    (Wait(Semaphore), Object(0), "sem_wait sem_timedwait sem_clockwait new_sem_"),
    (Wait(Join), Thread, "pthread_join pthread_timedjoin_np pthread_clockjoin thrd_join"),
    (Wait(Barrier), Object(4), "pthread_barrier_wait"),
    (Wait(Once), Object(0), "pthread_once __cxa_guard_acquire"),
    // What only has a lock of its own inside the C library.
    (Lock(Mutex), Object(0), "malloc$ free$ calloc$ realloc$ cfree$"),
    // musl.
    (Lock(Mutex), Object(0), "__lock$ __lockfile$"),
    // C++20's waiting on atomics, by libstdc++ and libc++, and what is made of it.
    (Wait(Other), Object(0), "std::__detail::__platform_wait std::__detail::__wait \
        std::__detail::__timed_wait std::__atomic_wait std::__libcpp_atomic_wait \
        std::__libcpp_platform_wait_on_address std::__cxx_atomic_wait std::__atomic_base::wait \
        std::atomic::wait std::atomic_flag::wait std::__atomic_futex_unsigned_base::"),
    (Wait(Semaphore), Object(0), "std::__atomic_semaphore:: std::counting_semaphore::"),
    (Wait(Barrier), Object(0), "std::__tree_barrier:: std::barrier:: std::latch::"),
    // Abseil. A thread sleeps on a semaphore of its own, except for a spin lock.
    (Wait(Park), Thread, "absl::synchronization_internal:: absl::Mutex::Block"),
    (Wait(Condition), Thread, "absl::Mutex::Await absl::CondVar::"),
    (Lock(Mutex), Thread, "absl::Mutex::"),
    (Lock(Mutex), Object(0), "absl::base_internal::SpinLock::"),
    (Wait(Once), Object(0), "absl::base_internal::SpinLockWait"),
    // nsync does the same.
    (Wait(Park), Thread, "nsync_mu_semaphore_p"),
    (Lock(Mutex), Thread, "nsync_mu_lock nsync_mu_rlock"),
    (Wait(Condition), Thread, "nsync_mu_wait nsync_cv_wait"),
    // folly.
    (Lock(RwLock), Object(0), "folly::SharedMutex"),
    (Lock(Mutex), Object(0), "folly::MicroLock"),
    (Lock(Mutex), Thread, "folly::detail::distributed_mutex::"),
    (Wait(Park), Thread, "folly::detail::MemoryIdler:: folly::Baton:: folly::SaturatingSemaphore:: \
        folly::ParkingLot:: folly::parking_lot_detail::"),
    (Wait(Semaphore), Thread, "folly::detail::LifoSem"),
    // GLib. A condition variable's word follows a pointer.
    (Lock(Mutex), Object(0), "g_mutex_lock g_bit_lock g_pointer_bit_lock"),
    (Wait(Condition), Object(8), "g_cond_wait"),
    // Qt. Its condition variables are made of the C library's.
    (Lock(Mutex), Object(0), "QMutex:: QBasicMutex:: QRecursiveMutex::"),
    (Wait(Semaphore), Object(0), "QSemaphore::"),
    // WebKit.
    (Wait(Park), Thread, "WTF::ParkingLot::"),
    (Lock(Mutex), Thread, "WTF::Lock WTF::WordLock"),
    (Wait(Condition), Thread, "WTF::Condition::"),
    // InnoDB, of MySQL and of MariaDB. The first ones sleep on a condition variable of the lock's.
    (Lock(Mutex), Object(40), "TTASEventMutex::"),
    (Lock(RwLock), Object(40), "rw_lock_s_lock rw_lock_x_lock rw_lock_sx_lock"),
    (Lock(Mutex), Object(0), "srw_mutex_impl::"),
    (Lock(RwLock), Object(0), "ssux_lock_impl::"),
    (Lock(Mutex), Thread, "group_commit_lock::acquire"),
    // CPython. Its lock is a semaphore, on which threads without work sleep too.
    (Wait(Semaphore), Object(0), "PyThread_acquire_lock"),
    (Wait(Park), Thread, "_PySemaphore_ _PyParkingLot_Park"),
    (Lock(Mutex), Thread, "_PyMutex_Lock PyMutex_Lock _PyRawMutex_Lock"),
    (Lock(RwLock), Thread, "_PyRWMutex_"),
    (Wait(Other), Thread, "PyEvent_Wait"),
    (Wait(Once), Thread, "_PyOnceFlag_CallOnce"),
    // .NET's virtual machine: a thread sleeps on a condition variable of its own.
    (Wait(Park), Thread, "CorUnix::CPalSynchronizationManager:: CLRLifoSemaphore::"),
    (Lock(Mutex), Thread, "AwareLock::Enter"),
    (Wait(Condition), Thread, "SyncBlock::Wait"),
    // Swift's mutex, and the queues that its programs use.
    (Lock(Mutex), Object(0), "$s15Synchronization12_MutexHandleV _dispatch_unfair_lock_lock_slow"),
    (Wait(Semaphore), Object(0), "_dispatch_sema4_"),
    (Wait(Other), Thread, "_dispatch_thread_event_wait"),
    (Wait(Park), Thread, "_dispatch_worker_thread"),
    // Rust's standard library.
    (Lock(Mutex), Object(0), "std::sys::sync::mutex::futex:: std::sys::unix::locks::futex_mutex:: \
        std::sys::pal::unix::locks::futex_mutex::"),
    (Lock(RwLock), Object(0), "std::sys::sync::rwlock::futex:: std::sys::unix::locks::futex_rwlock:: \
        std::sys::pal::unix::locks::futex_rwlock::"),
    (Wait(Condition), Object(0), "std::sys::sync::condvar::futex:: std::sys::unix::locks::futex_condvar:: \
        std::sys::pal::unix::locks::futex_condvar:: std::sync::condvar:: std::sync::poison::condvar::"),
    (Wait(Once), Object(0), "std::sys::sync::once::futex:: std::sys_common::once::futex::"),
    (Wait(Park), Thread, "std::sys::sync::thread_parking:: std::sys_common::thread_park std::thread::park"),
    (Wait(Channel), Thread, "std::sync::mpmc:: std::sync::mpsc:: crossbeam_channel::"),
    (Wait(Barrier), Object(0), "std::sync::barrier::"),
    // parking_lot: a thread sleeps on a word of its own.
    (Wait(Park), Thread, "parking_lot_core::parking_lot::park parking_lot_core::thread_parker::"),
    (Lock(Mutex), Thread, "parking_lot_core::word_lock:: parking_lot::raw_mutex:: parking_lot::raw_fair_mutex::"),
    (Lock(RwLock), Thread, "parking_lot::raw_rwlock::"),
    (Wait(Condition), Thread, "parking_lot::condvar:: parking_lot::raw_condvar:: lock_api::condvar::"),
    (Wait(Once), Thread, "parking_lot::once::"),
    // ondeck's own sleepers do the same.
    (Wait(Condition), Thread, "ondeck_core::ondeck::condvar:: ondeck_lineage::ondeck::condvar:: \
        ondeck_lineage::monitor::side::Side::wait \
        ondeck_lineage::monitor::RawOndeckMonitor::wait ondeck_cond_wait ondeck_monitor_wait"),
    (Lock(Mutex), Thread, "ondeck_core::ondeck:: ondeck_lineage:: ondeck_monitor_enter ondeck_mutex_lock"),
    // A reader of its reader-writer lock sleeps on the upper half of the lock's word.
    (Lock(RwLock), Object(4), "ondeck_core::rwlock:: ondeck_rwlock_"),
    // Go's runtime. Its goroutines wait without the kernel.
    (Lock(Mutex), Object(0), "runtime.lock2"),
    (Wait(Park), Thread, "runtime.notesleep runtime.notetsleep runtime.stopm runtime.mPark"),
    (Wait(Other), Object(0), "runtime.futexsleep"),
    // OpenMP by GCC.
    (Lock(Mutex), Object(0), "GOMP_critical_ GOMP_atomic_start omp_set_lock omp_set_nest_lock"),
    (Wait(Barrier), Thread, "GOMP_barrier GOMP_parallel"),
    // Java's virtual machine: a thread sleeps on a condition variable of its own.
    (Lock(Mutex), Thread, "ObjectMonitor::enter ObjectMonitor::EnterI ObjectMonitor::ReenterI"),
    (Wait(Other), Thread, "LinuxWaitBarrier::wait JavaThread::sleep"),
    (Wait(Condition), Thread, "ObjectMonitor::wait Monitor::wait"),
    (Wait(Park), Thread, "Parker::park Unsafe_Park"),
];

/// The same of what is made of others' locks and waits, and is something else than these: the last of them decides. Such a
/// function may be the place that waits.
#[rustfmt::skip]
const WHOLE: &[Row] = &[
    // CPython's interpreter lock has a mutex and a condition variable.
    (Lock(Mutex), Process("GIL"), "take_gil$ drop_gil"),
    // A call of `acquire` by the program, or by its condition variables, queues and events, whose
    // threads have no work.
    (Wait(Semaphore), Object(0), "lock_PyThread_acquire_lock"),
    // Calls what stands after `with`. A method that is called by its name is called by another
    // function.
    (Lock(Mutex), Object(0), "_PyObject_MakeTpCall rlock_acquire _enter_buffered_busy"),
    (Wait(Channel), Thread, "_queue_SimpleQueue_get"),
    (Wait(Join), Thread, "ThreadHandle_join"),
    // Waits until what it is told is true.
    (Wait(Condition), Thread, "absl::Mutex::LockWhen absl::Mutex::ReaderLockWhen \
        absl::Mutex::WriterLockWhen"),
];

/// What a lock is by the symbol that it lies in, whatever functions wait for it: these may have no names.
const DATA: &[Row] = &[
    // All that CPython has of the C library's in its state is of the interpreter lock. Debian's
    // CPython has this symbol only.
    (Lock(Mutex), Process("GIL"), "_PyRuntime"),
];

/// What is known of a lock with this symbol.
pub(crate) fn of_datum(symbol: &str) -> Option<Class> {
    row(DATA, symbol)
}

/// Functions between the system call and the program that are no wrappers elsewhere.
const BETWEEN: &str = "std:: core:: folly::detail:: folly::atomic_ WTF:: binary_semaphore:: _PyParkingLot_ \
    cfunction_call rwmutex_set_parked CorUnix:: CLREvent _dispatch_ parking_lot crossbeam_channel:: runtime. \
    ondeck_ PlatformEvent:: os::PlatformEvent:: PlatformMonitor:: os::PlatformMonitor:: ObjectMonitor:: \
    Parker:: __futex futex";

/// Files of libraries whose functions stand between, whatever they are called.
const BETWEEN_FILES: &str = "libc.so libc- libpthread ld-musl libjvm.so libcoreclr.so";

/// The same of functions without names only.
const NAMELESS: &str = "python3 libpython3 libglib-2.0.so libQt5Core.so libQt6Core.so libgomp.so";

/// Files of runtimes whose threads have nothing to do where nothing else is on their stacks.
const POOLS: &str = "libgomp.so";

fn row(rows: &[Row], brief: &str) -> Option<Class> {
    let brief = plain(brief);
    let is_it = |name: &str| match name.strip_suffix('$') {
        Some(whole) => brief == whole,
        None => brief.starts_with(name),
    };
    let (meaning, whose, _) = rows.iter().find(|(.., names)| names.split(' ').any(is_it))?;
    Some(Class { meaning: *meaning, whose: *whose })
}

/// A short name with the module that the source file tells, if it has none: `parking_lot::raw_condvar::wait` of `wait` in
/// `parking_lot-0.13.0/src/raw_condvar.rs`. In tables of lines, inlined functions of Rust have no more than their own name.
fn located<'a>(frame: &Frame, brief: &'a str) -> Cow<'a, str> {
    let module = || {
        let (before, inside) = frame.file.strip_suffix(".rs")?.rsplit_once("/src/")?;
        let directory = before.rsplit('/').next()?;
        let is_version = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
        let package = match directory.rsplit_once('-') {
            Some((package, version)) if is_version(version) => package,
            _ => directory,
        };
        let inside = inside.strip_suffix("/mod").unwrap_or(inside).replace('/', "::");
        Some(format!("{}::{inside}::{brief}", package.replace('-', "_")))
    };
    let is_bare = frame.is_inlined && !brief.contains("::");
    is_bare.then(module).flatten().map_or(Cow::Borrowed(brief), Cow::Owned)
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
    is_wrapper(frame, brief)
        || begins(brief, BETWEEN)
        || begins(&frame.module, BETWEEN_FILES)
        || !frame.is_named && begins(&frame.module, NAMELESS)
}

/// What a thread with these frames waits for, the innermost first, each with its short name.
pub(crate) fn classify<'a>(frames: impl Iterator<Item = (&'a Frame, &'a str)>) -> Class {
    let mut found: Option<Class> = None;
    let mut otherwise = Class::UNKNOWN;
    for (frame, brief) in frames {
        let brief = &located(frame, brief);
        let is_lock = found.is_some_and(|class| matches!(class.meaning, Lock(_)));
        match (row(WHOLE, brief), row(ROWS, brief)) {
            // A process's only lock may be wanted again after a wait for something else, which is outside then.
            (Some(class @ Class { whose: Process(_), .. }), _) => return class,
            (Some(class), _) => found = Some(class),
            (None, Some(class)) if !is_lock => found = Some(class),
            (None, Some(_)) => {}
            (None, None) if begins(&frame.module, POOLS) => otherwise = Class { meaning: Wait(Park), whose: Thread },
            (None, None) if is_between(frame, brief) => {}
            (None, None) => return found.unwrap_or(Class::UNKNOWN),
        }
    }
    found.unwrap_or(otherwise)
}

/// The frame that waits, by its place in the stack: the first that is neither a row nor between. Where all are, as in
/// threads of Go's or Java's runtime, the first that does more than lock or wait.
pub(crate) fn place<'a>(frames: impl Iterator<Item = (&'a Frame, &'a str)> + Clone) -> Option<usize> {
    let first = |is_passed: fn(&Frame, &str) -> bool| {
        frames.clone().position(|(frame, brief)| {
            let brief = &located(frame, brief);
            row(ROWS, brief).is_none() && !is_passed(frame, brief)
        })
    };
    first(is_between).or_else(|| first(is_wrapper))
}

/// What [`awaited`] says of who waits for threads that it wakes, as the C library may.
pub(crate) const NOTIFIES: &str = "in a notification";

/// What the stack of a thread that sleeps in a futex call says of that, behind "it waits": ``for a future (`std::future::get`)``, and
/// where it is of no kind that is known ``in `fprintf` ``. `None` if the program itself makes the call.
pub(crate) fn awaited<'a>(frames: impl Iterator<Item = (&'a Frame, &'a str)> + Clone) -> Option<String> {
    let inner = frames.clone().take(place(frames.clone())?).filter(|(frame, _)| frame.is_named);
    let inner: Vec<&str> = inner.map(|(_, brief)| brief).collect();
    let has = |words: &str| inner.iter().any(|brief| begins(plain(brief), words));
    let function = inner.last()?;
    let what = match classify(frames).meaning {
        _ if has("pthread_cond_signal pthread_cond_broadcast cnd_signal cnd_broadcast") => {
            return Some(NOTIFIES.to_owned());
        }
        _ if has("std::__future_base:: std::__basic_future:: std::future:: std::shared_future::") => "a future",
        Lock(LockKind::Unknown) | Wait(Other) => return Some(format!("in `{function}`")),
        Lock(_) => "a lock",
        Wait(Once) => "an initialisation",
        Wait(kind) => &format!("a {}", waits_on(kind)),
    };
    Some(format!("for {what} (`{function}`)"))
}

#[cfg(test)]
mod tests;
