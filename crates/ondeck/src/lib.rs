//! A mutex and a condition variable that keep their speed when many threads want them.
//!
//! Most mutexes keep several waiting threads awake, or wake one at every release; under contention each of those takes
//! the lock's cache line from the thread that could get on. Here at most one thread is *on deck* (awake, next to try),
//! the others sleep (in the *dugout*), and a release wakes nobody while somebody is on deck.
//!
//! [`Mutex`] and [`Condvar`] have the methods of `parking_lot`'s, and [`poison`] has those of `std::sync`, so each is a
//! change of one line; [`nonpoison`] has those of nightly's `std::sync::nonpoison`. [`SpinWait`] is for a state that another
//! thread leaves soon, and has the methods of `crossbeam_utils::Backoff`.
//!
//! ```
//! use ondeck::{Condvar, Mutex};
//!
//! static QUEUE: Mutex<Vec<u32>> = Mutex::new(Vec::new());
//! static FILLED: Condvar = Condvar::new();
//!
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         QUEUE.lock().push(7);
//!         FILLED.notify_one();
//!     });
//!     let mut queue = QUEUE.lock();
//!     FILLED.wait_while(&mut queue, |queue| queue.is_empty());
//!     assert_eq!(queue.pop(), Some(7));
//! });
//! ```
//!
//! # Size and cost
//! A lock is 8 bytes, a condition variable 16, both `const` to construct and without destructor. Uncontended, `lock` and
//! its release are one atomic read-modify-write each. Nothing here allocates or registers a thread-local destructor, so
//! the locks work before `main`, in thread-local destructors and inside a global allocator. A waiting thread uses up to
//! 1 KiB of its stack, 2.5 KiB in a [`Condvar`]. A [`Monitor`] allocates when it is contended, waited in, or entered more
//! than eight levels deep: it works before `main` and in destructors too, but has no place inside an allocator.
//!
//! # Panics
//! A panic while a guard is alive releases the mutex and does not poison it; [`poison::Mutex`] does. No function here
//! panics by itself. Acquiring a mutex twice from one thread waits for ever, with a timeout until then.
//!
//! # Blocking
//! [`lock`](Mutex#method.lock), the timed attempts and the waits may spin for some microseconds, yield and sleep.
//! `try_lock`, a release and the notifications never wait for a holder; they may yield while another thread completes a
//! few instructions.
//!
//! Where CPU time is limited by a quota, a spinner spends what the holder needs: `ONDECK_SPIN=0` in the environment makes
//! all waiting threads of the process sleep at once. It is read once, when a thread first has to wait. On one core
//! nobody spins in any case.
//!
//! # Real-time priorities
//! A thread of any priority may share these locks with others on its core. What it waits for may be a thread of lower
//! priority that has lost the core to it, to which a yield gives nothing; so after some yields it naps, 50 us at a time.
//! A timed attempt may end late by as much, and by what the others then do with the core. Priorities are not inherited: a
//! thread of middle priority can keep the holder from its core for as long as it likes. [`SpinWait`] naps only if its
//! policy has a [`Nap`]; without one it waits for ever for such a thread.
//!
//! # Fairness
//! An arrival may acquire a free lock although others wait, and a lock that is released all the time is left to its
//! holder for a while; this is where the throughput comes from. What is promised is a bound in time: the thread on deck
//! asks for the lock when its patience is over, and is given it by the next release; the dugout rotates, oldest first or
//! nearly so. So with no endless section, and a system that runs every thread that may run, nobody starves.
//! Nothing is promised about shares: with hundreds of threads a tenth of
//! a second is too short for all to have a turn. The times are those of the policy: the default is [`Mutex`],
//! [`throughput`] makes longer turns, [`low_latency`] shorter ones, down to one section (`docs/policies.md`). A release by
//! [`unlock_fair`](MutexGuard#method.unlock_fair) gives the lock to a waiter at once, if there is one.
//!
//! # When not
//! Short sections with work outside, an uncontended lock, waits that must be short for each thread: others do these better.
//! The package's `README.md` has the figures.
//!
//! # Destruction
//! Whoever acquires a mutex last may free it right after its own release, as an object with a reference count in it
//! does: the releases before do not touch it any more. A thread that a notification has woken may free the condition
//! variable.
//!
//! # Fork and signals
//! In the child of a `fork` only the forking thread exists. A mutex that another thread held stays taken there for ever,
//! and the threads that waited are gone with their stacks, to which a contended lock or a condition variable still
//! points. So the child may use what nobody used at that moment, and what its thread held if nobody waited for it; it has
//! to write a new value over anything else, and there is nothing to destroy. For a [`Monitor`] the same holds as long as it
//! is thin, and the thread is still inside of those that it was inside of. What all monitors share, the pool of side objects,
//! is in use while another thread makes one fat or gives its object back: if a thread may have been doing that, the child
//! must not contend for a monitor, wait in one or drop a fat one.
//!
//! Signals do not end a wait: an interrupted system call is repeated, with the same deadline, and `errno` is kept.
//! A signal handler must not use these locks, as it must not use others: the thread that it interrupts may be the holder,
//! or half-way through an operation on the same lock. `try_lock` and the notifications are no exception; what a handler
//! may do is write an atomic that a [`SpinWait`] looks at.
//!
//! # Features
//! - `arc_lock`: guards that own an `Arc` of their mutex, as `parking_lot` has them.
//! - `serde`: a mutex is serialised as its data.
//! - `lock_api-04`: the module `lock_api_04`, for libraries that are generic over `lock_api` 0.4.
//! - `record`: what is done with mutexes is written down while the program runs under `ondeck profile`; see below.
//!
//! # Recording
//! With the feature `record`, on Linux with pointers of 64 bits, `ondeck profile -- PROGRAM` shows which mutexes threads wait
//! for, where, and which holds they wait for. That is asked for by `ONDECK_RECORD` in the environment, a directory, which is
//! read once before `main`; without it nothing is written. [`Monitor`] and [`SpinWait`] are not recorded, and on other
//! systems nothing is.
//!
//! What it costs: each acquisition counts in a thread-local variable, and while it records each acquire and release looks
//! whether others wait. One acquisition of a thousand (`--rate`) has its stack walked, and each wait in which the thread
//! sleeps; that takes 40 KiB of stack, and is left out where there is less. Memory is asked for before `main` only, so the
//! lock may be the allocator's. Without the feature nothing of this is compiled.
//!
//! What it does not tell: what comes to be at the address of a mutex that is gone counts as that mutex. A wait on a
//! [`Condvar`] lasts until the thread has the mutex again, and all of it counts as a wait on the condition variable. Code
//! that is loaded while the program runs has no names.

#[cfg(feature = "lock_api-04")]
pub mod lock_api_04;
mod monitor;
pub mod nonpoison;
pub mod poison;
mod raw;
#[cfg(not(feature = "record"))]
#[path = "unrecorded.rs"]
mod recorded;
mod spin_wait;

#[cfg(feature = "record")]
ondeck_platform::where_recordable! {
    { mod recorded; }
    else {
        #[path = "unrecorded.rs"]
        mod recorded;
    }
}

pub use lock_api;
pub use lock_api::WaitTimeoutResult;
pub use monitor::{Monitor, MonitorGuard, Nested, NotHeld, WaitEnd};
pub use raw::{RawCondvar, RawMutex};
pub use spin_wait::{Nap, SpinPolicy, SpinWait};

/// A mutual exclusion lock around data, with the methods of `parking_lot::Mutex`.
///
/// See the [crate's page](crate) for blocking, fairness and cost.
///
/// # Example
/// ```
/// use ondeck::Mutex;
/// use std::time::Duration;
///
/// static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
///
/// NAMES.lock().push("ondeck".to_owned());
/// let names = NAMES.lock();
/// assert_eq!(names.len(), 1);
/// assert!(NAMES.try_lock_for(Duration::from_millis(1)).is_none());
/// ```
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;

/// Access to the data of a [`Mutex`], which is released when this is dropped. Stays on its thread.
///
/// # Example
/// ```
/// use ondeck::{Mutex, MutexGuard};
///
/// let mutex = Mutex::new(1);
/// let mut guard: MutexGuard<'_, i32> = mutex.lock();
/// *guard += 1;
/// // Nobody waits, so nobody comes in between; otherwise a waiter would.
/// MutexGuard::bump(&mut guard);
/// MutexGuard::unlock_fair(guard);
/// assert_eq!(mutex.into_inner(), 2);
/// ```
///
/// Guards are not [`Send`]:
/// ```compile_fail,E0277
/// let mutex = ondeck::Mutex::new(1);
/// let guard = mutex.lock();
/// std::thread::scope(|scope| scope.spawn(move || drop(guard)).join());
/// ```
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;

/// Access to a part of the data of a [`Mutex`], made by [`MutexGuard::map`](MutexGuard#method.map).
///
/// # Example
/// ```
/// use ondeck::{MappedMutexGuard, Mutex, MutexGuard};
///
/// let mutex = Mutex::new((1, "two"));
/// let second: MappedMutexGuard<'_, &str> = MutexGuard::map(mutex.lock(), |pair| &mut pair.1);
/// assert_eq!(*second, "two");
/// ```
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawMutex, T>;

/// Access to the data of a [`Mutex`] in an `Arc`, of which it owns a clone.
///
/// # Example
/// ```
/// use ondeck::{ArcMutexGuard, Mutex};
/// use std::sync::Arc;
///
/// let mutex = Arc::new(Mutex::new(1));
/// let guard: ArcMutexGuard<i32> = mutex.lock_arc();
/// drop(mutex);
/// assert_eq!(*guard, 1);
/// ```
#[cfg(feature = "arc_lock")]
pub type ArcMutexGuard<T> = lock_api::ArcMutexGuard<RawMutex, T>;

/// A condition variable for [`Mutex`], with the methods of `parking_lot::Condvar`.
///
/// A notification does not wake its waiters to let them fight for the mutex: it moves them to the mutex's own waiters,
/// to be woken one by one as it becomes free. Waits end with a notification or with their deadline, never for no
/// reason; the condition is still best looked at in a loop ([`wait_while`](Condvar#method.wait_while)), since another
/// thread may have acquired the mutex between the notification and the return.
///
/// Threads may wait with different mutexes at the same time; each acquires its own again.
///
/// # Fairness
/// `notify_one` takes the thread that has waited longest. From then on it waits for the mutex like others, and a timeout
/// that passes meanwhile counts no more.
///
/// # Example
/// ```
/// use ondeck::{Condvar, Mutex};
/// use std::time::Duration;
///
/// let (is_ready, changed) = (Mutex::new(false), Condvar::new());
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         *is_ready.lock() = true;
///         changed.notify_all();
///     });
///     let mut guard = is_ready.lock();
///     changed.wait_while(&mut guard, |is_ready| !*is_ready);
///     assert!(changed.wait_for(&mut guard, Duration::from_millis(1)).timed_out());
/// });
/// ```
///
/// A guard of another kind of mutex is refused by the compiler:
/// ```compile_fail,E0308
/// let (mutex, changed) = (ondeck::low_latency::Mutex::new(()), ondeck::Condvar::new());
/// changed.wait(&mut mutex.lock());
/// ```
pub type Condvar = lock_api::Condvar<RawCondvar>;

/// The aliases of one policy.
macro_rules! policy {
    ($policy:ty, $module:literal) => {
        /// [`crate::Mutex`] with this module's policy.
        ///
        /// # Example
        /// ```
        #[doc = concat!("let mutex = ondeck::", $module, "::Mutex::new(1);")]
        /// assert_eq!(*mutex.lock(), 1);
        /// ```
        pub type Mutex<T> = lock_api::Mutex<crate::RawMutex<$policy>, T>;

        /// [`crate::MutexGuard`] with this module's policy.
        ///
        /// # Example
        /// ```
        #[doc = concat!("use ondeck::", $module, "::{Mutex, MutexGuard};")]
        ///
        /// let mutex = Mutex::new(1);
        /// let guard: MutexGuard<'_, i32> = mutex.lock();
        /// assert_eq!(*guard, 1);
        /// ```
        pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, crate::RawMutex<$policy>, T>;

        /// [`crate::MappedMutexGuard`] with this module's policy.
        ///
        /// # Example
        /// ```
        #[doc = concat!("use ondeck::", $module, "::{MappedMutexGuard, Mutex, MutexGuard};")]
        ///
        /// let mutex = Mutex::new((1, 2));
        /// let second: MappedMutexGuard<'_, i32> = MutexGuard::map(mutex.lock(), |pair| &mut pair.1);
        /// assert_eq!(*second, 2);
        /// ```
        pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, crate::RawMutex<$policy>, T>;

        /// [`crate::Condvar`] for this module's mutexes.
        ///
        /// # Example
        /// ```
        #[doc = concat!("static CHANGED: ondeck::", $module, "::Condvar = ondeck::", $module, "::Condvar::new();")]
        /// assert!(!CHANGED.notify_one());
        /// ```
        pub type Condvar = lock_api::Condvar<crate::RawCondvar<$policy>>;
    };
}

/// The types for data that is passed around for throughput: a thread keeps a contended lock for half a millisecond
/// before another has its turn, and a sleeper is called every two. `docs/policies.md` has figures beside the other policies'.
///
/// # Example
/// ```
/// use ondeck::throughput::Mutex;
///
/// static TOTAL: Mutex<u64> = Mutex::new(0);
/// *TOTAL.lock() += 1;
/// ```
pub mod throughput {
    use ondeck_locks::ondeck::Throughput;

    policy!(Throughput, "throughput");
}

/// The types for data that somebody waits for: a contended lock goes to the waiter on deck at each release, unless sections
/// follow each other within some 100 ns. Then turns are a fifth of the default's. Each pass and each look of the waiter
/// costs the holder some of its speed: `docs/policies.md` has figures beside the other policies'.
///
/// # Example
/// ```
/// use ondeck::low_latency::Mutex;
///
/// static REQUESTS: Mutex<Vec<u64>> = Mutex::new(Vec::new());
/// REQUESTS.lock().push(1);
/// ```
pub mod low_latency {
    use ondeck_locks::ondeck::LowLatency;

    policy!(LowLatency, "low_latency");
}

/// README.md's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
