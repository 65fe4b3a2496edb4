//! A mutex and a condition variable that stay fast when many threads want them.
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
//! The types have the methods of types that you may use already. Change one line to try them:
//!
//! | you have | you write |
//! |---|---|
//! | `parking_lot::{Mutex, Condvar}` | `ondeck::{Mutex, Condvar}` |
//! | `parking_lot::RwLock` | [`ondeck::RwLock`](RwLock) |
//! | `std::sync::{Mutex, Condvar}` | `ondeck::poison::{Mutex, Condvar}` ([`poison`]) |
//! | `std::sync::RwLock` | [`ondeck::poison::RwLock`](poison::RwLock) |
//! | `crossbeam_utils::Backoff` | [`SpinWait`], which waits for a state that another thread leaves soon |
//! | a lock that its holder may enter again | [`Monitor`] |
//!
//! # Why it is fast
//! Most mutexes keep several waiting threads awake, or wake one at every release. Each of these threads takes the
//! lock's cache line away from the thread that is inside. Here, at most one waiting thread is *on deck*: awake and next
//! to try. The others sleep in a list, the *dugout*. While a thread is on deck, a release wakes nobody.
//!
//! # When not to use it
//! - Nobody contends for the lock.
//! - Sections are short, and threads also work outside the lock.
//! - No thread may wait for long.
//!
//! Other mutexes are better there. The package's `README.md` has the figures.
//!
//! # Size and cost
//! A lock has 8 bytes. A condition variable has 16, and so has a [`RwLock`]. All are `const` to construct. Only a
//! [`RwLock`] has a destructor, which gives back what its readers count in. Without contention, `lock` is one atomic read-modify-write, and so is its release.
//!
//! The mutexes and condition variables allocate nothing and register no thread-local destructor. So they work before
//! `main`, in thread-local destructors and inside a global allocator. The last is not so on systems other than Linux,
//! Android, macOS and Windows: there, a wait may allocate.
//!
//! A waiting thread uses up to 1 KiB of its stack, and up to 2.5 KiB in a [`Condvar`]. On Linux, about once a second,
//! one waiting thread also asks the system which cores it may use. For that moment it needs about 12 KiB of stack. With
//! `ONDECK_SPIN=0` in the environment it does not ask.
//!
//! # Panics
//! A panic while a guard is alive releases the mutex and does not poison it. A [`poison::Mutex`] is poisoned, and so is
//! a [`poison::RwLock`] if a writer panics. The mutexes and condition variables never panic by themselves. [`Monitor`]
//! says when it does. A thread that locks a mutex which it already holds waits for ever, or until its timeout.
//!
//! # Blocking
//! [`lock`](Mutex::lock), attempts with a timeout, and waits may spin, yield and sleep. A thread that arrives
//! looks at the lock for about half a microsecond. Then it either goes on deck or sleeps. The thread on deck stays
//! awake, and naps if nobody releases the lock for about 50 microseconds.
//!
//! `try_lock`, a release and the notifications never wait for a holder. They may yield while another thread completes a
//! few instructions.
//!
//! Set `ONDECK_SPIN=0` in the environment if a quota limits your CPU time. A spinning thread then uses up time that the
//! holder needs. With this setting all waiting threads of the process sleep at once. The variable is read once, when a
//! thread first has to wait. On one core no thread spins in any case.
//!
//! # Real-time priorities
//! Threads of any priority may share a lock, also on one core. A thread sometimes waits for one of lower priority,
//! which has lost the core to it. A yield does not help there. So after some yields the waiting thread naps, for 50
//! microseconds at a time. This can make a timed attempt end late, by the nap and by what other threads then do with
//! the core.
//!
//! Priorities are not inherited: a thread of middle priority can keep the holder from its core for as long as it likes.
//! [`SpinWait`] naps only if its policy has a [`Nap`]. Without one it may wait for ever for a thread of lower priority.
//!
//! # Fairness
//! The order is not first come, first served. A thread that arrives may take a free lock although others wait. A lock
//! that is released all the time is left to its holder for a while. The throughput comes from this.
//!
//! Waiting is bounded in time. The thread on deck asks for the lock when its patience is over, and the next release
//! gives it the lock. The sleeping threads come on deck in turn, the oldest first or nearly so. So nobody starves if
//! every section ends and the system runs every thread that may run. Equal shares are not promised: with hundreds of
//! threads, a tenth of a second is too short for all to have a turn.
//!
//! How long a turn lasts depends on the policy (`docs/rust.md` in the repository compares them):
//!
//! | types | the thread on deck asks, if nobody sleeps | a sleeping thread is called |
//! |---|---|---|
//! | [`Mutex`], [`poison`] | after 75 us | every 150 us |
//! | [`low_latency`] | after 15 us | every 100 us |
//!
//! [`unlock_fair`](MutexGuard::unlock_fair) gives the lock to a waiting thread at once, if there is one.
//!
//! # Freeing a lock
//! The thread that acquires a mutex last may free it right after its own release: earlier releases do not touch it any
//! more. So an object with a reference count can contain its own mutex. A thread that a notification has woken may free
//! the condition variable.
//!
//! # Fork
//! In the child of a `fork`, only the thread that forked exists. A mutex that another thread held stays taken for ever.
//! The threads that waited are gone with their stacks, but a contended lock or a condition variable still points there.
//! So the child may use:
//!
//! - a lock that nobody used at the moment of the fork
//! - a lock that the forking thread held, if nobody waited for it
//!
//! Over any other lock the child has to write a new value. There is nothing to destroy.
//!
//! The same holds for a [`Monitor`]. The forking thread is still inside the monitors that it was inside of.
//!
//! # Signals
//! A signal does not end a wait. An interrupted system call is repeated with the same deadline, and `errno` is kept.
//!
//! A signal handler must not use these locks, not even `try_lock` or a notification. The thread that it interrupts may
//! be the holder, or half-way through an operation on the same lock. A handler may write an atomic that a [`SpinWait`]
//! looks at.
//!
//! # Features
//! - `arc_lock`: guards that own an `Arc` of their [`Mutex`] or [`RwLock`], as `parking_lot` has them.
//! - `serde`: a mutex or a reader-writer lock is serialised as its data.
//! - `lock_api-04`, `lock_api-05`: the modules `lock_api_04` and `lock_api_05`, for libraries that are generic over
//!   `lock_api`. [`RawMutex`] and [`RawRwLock`] have its traits then. Version 0.5 needs Rust 1.95.
//! - `record`: `ondeck profile` can record the locks of the program. The next section describes it.
//! - `stats`: the program can ask how long its threads wait for which locks. The last section describes it.
//!
//! # Recording
//! With the feature `record`, `ondeck profile -- PROGRAM` shows which mutexes and reader-writer locks threads wait for,
//! where they wait, and which holds they wait for. This works on Linux with pointers of 64 bits. Other systems record
//! nothing. [`Monitor`] and [`SpinWait`] are not recorded either.
//!
//! `ONDECK_RECORD` in the environment names a directory for the recordings. `ondeck profile` sets it. The library reads
//! it once, before `main`. Without it, nothing is written.
//!
//! Recording has these costs:
//!
//! - Without a recording, each acquire, release and notification reads one byte that says so.
//! - While a program is recorded, each acquisition counts in a thread-local variable. Each acquire and release looks
//!   whether others wait. If so, it may read a clock.
//! - Some call stacks are walked. At the default `--rate`, this is one acquisition in a thousand, and every wait of a
//!   millisecond or more. Shorter waits are chosen by chance, in proportion to their length. A walk needs 24 KiB of
//!   free stack. If there is less, that stack is missing from the recording.
//! - Memory is allocated only before `main`. So the lock may be the allocator's.
//! - Without the feature, none of this is compiled.
//!
//! A recording has these limits:
//!
//! - A lock at the address of an earlier one counts as that one.
//! - An upgradable reader of an [`RwLock`] is shown as one that reads. Who downgrades or upgrades ends one hold and begins
//!   another.
//! - If a [`RwLock`] has more readers than it can count, a recorded thread that waits for it may end the process, where
//!   it would panic without a recording.
//! - A wait on a [`Condvar`] lasts until the thread has the mutex again. All of it counts as a wait on the condition
//!   variable.
//! - Code that is loaded while the program runs has no names.
//!
//! # Statistics
//! With the feature `stats`, the module `stats` counts waits and holds of the locks while the program runs in production. It
//! has `record` in it, and so the same limits.
//!
//! ```
//! # #[cfg(feature = "stats")] {
//! use std::time::Duration;
//!
//! static CACHE: ondeck::Mutex<Vec<u32>> = ondeck::Mutex::new(Vec::new());
//!
//! ondeck::stats::start();
//! ondeck::name(&CACHE, "cache");
//! ondeck::stats::on_long_hold(Duration::from_millis(100), |hold| {
//!     eprintln!("{} was held for {:?}", hold.lock(), hold.held);
//! });
//! CACHE.lock().push(1);
//!
//! // What a handler of `GET /metrics` sends:
//! let mut text = String::new();
//! ondeck::stats::snapshot().prometheus(&mut text).unwrap();
//! assert!(text.contains("# TYPE ondeck_lock_wait_seconds histogram"));
//! # }
//! ```
//!
//! Each wait is counted; of the holds, one in a thousand is timed. Before `start`, an operation costs what it costs with `record`
//! and no recording. `docs/stats.md` in the repository has queries for Grafana, and what it costs.

#[cfg(feature = "arc_lock")]
mod arc_guard;
mod condvar;
mod guard;
#[cfg(feature = "lock_api-04")]
pub mod lock_api_04;
#[cfg(feature = "lock_api-05")]
pub mod lock_api_05;
mod monitor;
mod mutex;
mod narrowing;
pub mod poison;
pub mod policy;
mod raw;
#[cfg(not(feature = "record"))]
#[path = "unrecorded.rs"]
mod recorded;
mod rwlock;
#[cfg(feature = "serde")]
mod serde;
mod spin_wait;

#[cfg(feature = "record")]
ondeck_core::where_recordable! {
    { mod recorded; }
    else {
        #[path = "unrecorded.rs"]
        mod recorded;
    }
}

#[cfg(feature = "stats")]
#[doc(inline)]
pub use ondeck_record::stats;

pub use monitor::{Monitor, MonitorGuard, Nested, NotHeld, WaitEnd};
pub use raw::WaitTimeoutResult;
#[cfg(feature = "arc_lock")]
pub use rwlock::{ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard, ArcRwLockWriteGuard};
pub use rwlock::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, RawRwLock, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
    RwLockWriteGuard,
};
pub use spin_wait::{Nap, SpinPolicy, SpinWait};

/// Gives a lock the name by which `ondeck profile` shows it: a mutex or a condition variable, or a struct that has one.
///
/// Give all locks of one class the same name, as each shard of a map: they are one row in the profile, with their number.
///
/// Statistics (the feature `stats`) show it by that name too. Without the feature `record`, this does nothing. A name has up to 47 bytes. A process has room for 1024 different names and
/// for about 50,000 locks that have one. What finds no room is left out, and the profile says so. A lock that is named again
/// has the later name, and an empty one takes the name away. A name belongs to the lock's place in memory. So a lock that is
/// moved should be named afterwards. Locks have no destructor, so what is later made at the same place has the name too, until
/// it is given its own. Never blocks.
///
/// # Example
/// ```
/// use ondeck::Mutex;
///
/// static CACHE: Mutex<Vec<u32>> = Mutex::new(Vec::new());
/// ondeck::name(&CACHE, "cache");
///
/// let shards: Vec<Mutex<u32>> = (0..10_000).map(Mutex::new).collect();
/// shards.iter().for_each(|shard| ondeck::name(shard, "shard"));
/// ```
pub fn name<T: ?Sized>(lock: &T, name: &str) {
    recorded::name((&raw const *lock).cast::<u8>() as u64, size_of_val(lock) as u64, name.as_bytes());
}

/// A mutex around data, with the methods of `parking_lot::Mutex`.
///
/// The [crate's page](crate) describes how threads wait, who gets the mutex next, and what it costs.
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
pub type Mutex<T> = policy::Mutex<T>;

/// Access to the data of a [`Mutex`]. Dropping the guard releases the mutex. A guard stays on its thread.
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
pub type MutexGuard<'a, T> = policy::MutexGuard<'a, T>;

/// Access to a part of the data of a [`Mutex`]. [`MutexGuard::map`](MutexGuard::map) makes it.
///
/// # Example
/// ```
/// use ondeck::{MappedMutexGuard, Mutex, MutexGuard};
///
/// let mutex = Mutex::new((1, "two"));
/// let second: MappedMutexGuard<'_, &str> = MutexGuard::map(mutex.lock(), |pair| &mut pair.1);
/// assert_eq!(*second, "two");
/// ```
pub type MappedMutexGuard<'a, T> = policy::MappedMutexGuard<'a, T>;

/// Access to the data of a [`Mutex`] in an `Arc`. The guard owns a clone of the `Arc`.
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
pub type ArcMutexGuard<T> = policy::ArcMutexGuard<T>;

/// A condition variable for [`Mutex`], with the methods of `parking_lot::Condvar`.
///
/// A notification does not wake threads that would then fight for the mutex. It moves them to the threads that sleep
/// for the mutex, and they wake one by one as it becomes free.
///
/// A wait ends with a notification or with its deadline, never for no reason. Check your condition in a loop all the
/// same, as [`wait_while`](Condvar::wait_while) does. Another thread may have had the mutex between the
/// notification and the return.
///
/// Threads may wait with different mutexes at the same time. Each thread acquires its own mutex again.
///
/// # Fairness
/// `notify_one` ends the wait of the thread that has waited longest. From then on, this thread waits for the mutex like
/// any other. A timeout that passes meanwhile has no effect.
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
/// The compiler refuses the guard of another kind of mutex:
/// ```compile_fail,E0308
/// let (mutex, changed) = (ondeck::low_latency::Mutex::new(()), ondeck::Condvar::new());
/// changed.wait(&mut mutex.lock());
/// ```
pub type Condvar = policy::Condvar;

/// [`policy::RawMutex`] with the default policy: the lock under [`Mutex`], without data.
///
/// # Example
/// ```
/// static LOCK: ondeck::RawMutex = ondeck::RawMutex::new();
/// assert!(LOCK.try_lock());
/// ```
pub type RawMutex = policy::RawMutex;

/// [`policy::RawCondvar`] with the default policy: the condition variable under [`Condvar`], without guards.
///
/// # Example
/// ```
/// static CHANGED: ondeck::RawCondvar = ondeck::RawCondvar::new();
/// assert!(!CHANGED.notify_one());
/// ```
pub type RawCondvar = policy::RawCondvar;

/// The wrappers of one version of `lock_api` around ondeck's locks.
#[cfg(any(feature = "lock_api-04", feature = "lock_api-05"))]
macro_rules! wrappers_of_lock_api {
    ($version:ident, $module:literal) => {
        /// [`crate::Mutex`] with the wrapper of `lock_api`.
        ///
        /// # Example
        /// ```
        #[doc = concat!("let mutex = ondeck::", $module, "::Mutex::new(1);")]
        /// assert!(mutex.try_lock().is_some());
        /// ```
        pub type Mutex<T> = $version::Mutex<crate::RawMutex, T>;

        /// The guard of [`Mutex`].
        ///
        /// # Example
        /// ```
        #[doc = concat!("use ondeck::", $module, "::{Mutex, MutexGuard};")]
        ///
        /// let mutex = Mutex::new((1, 2));
        /// let guard: MutexGuard<'_, (i32, i32)> = mutex.lock();
        /// assert_eq!(guard.0, 1);
        /// ```
        pub type MutexGuard<'a, T> = $version::MutexGuard<'a, crate::RawMutex, T>;

        /// The guard of a part of a [`Mutex`]'s data.
        ///
        /// # Example
        /// ```
        #[doc = concat!("use ondeck::", $module, "::{MappedMutexGuard, Mutex, MutexGuard};")]
        ///
        /// let mutex = Mutex::new((1, 2));
        /// let second: MappedMutexGuard<'_, i32> = MutexGuard::map(mutex.lock(), |pair| &mut pair.1);
        /// assert_eq!(*second, 2);
        /// ```
        pub type MappedMutexGuard<'a, T> = $version::MappedMutexGuard<'a, crate::RawMutex, T>;

        /// [`crate::RwLock`] with the wrapper of `lock_api`.
        ///
        /// # Example
        /// ```
        #[doc = concat!("let lock = ondeck::", $module, "::RwLock::new(1);")]
        /// assert_eq!(*lock.read(), 1);
        /// ```
        pub type RwLock<T> = $version::RwLock<crate::RawRwLock, T>;

        /// A reader's guard of [`RwLock`].
        ///
        /// # Example
        /// See [`RwLock`].
        pub type RwLockReadGuard<'a, T> = $version::RwLockReadGuard<'a, crate::RawRwLock, T>;

        /// The writer's guard of [`RwLock`].
        ///
        /// # Example
        /// ```
        #[doc = concat!("use ondeck::", $module, "::{RwLock, RwLockWriteGuard};")]
        ///
        /// let lock = RwLock::new(1);
        /// assert_eq!(*RwLockWriteGuard::downgrade(lock.write()), 1);
        /// ```
        pub type RwLockWriteGuard<'a, T> = $version::RwLockWriteGuard<'a, crate::RawRwLock, T>;

        /// The upgradable reader's guard of [`RwLock`].
        ///
        /// # Example
        /// ```
        #[doc = concat!("use ondeck::", $module, "::{RwLock, RwLockUpgradableReadGuard};")]
        ///
        /// let lock = RwLock::new(1);
        /// *RwLockUpgradableReadGuard::upgrade(lock.upgradable_read()) += 1;
        /// ```
        pub type RwLockUpgradableReadGuard<'a, T> = $version::RwLockUpgradableReadGuard<'a, crate::RawRwLock, T>;

        /// A reader's guard of a part of a [`RwLock`]'s data.
        ///
        /// # Example
        /// ```
        #[doc = concat!("use ondeck::", $module, "::{RwLock, RwLockReadGuard};")]
        ///
        /// let lock = RwLock::new((1, 2));
        /// assert_eq!(*RwLockReadGuard::map(lock.read(), |pair| &pair.1), 2);
        /// ```
        pub type MappedRwLockReadGuard<'a, T> = $version::MappedRwLockReadGuard<'a, crate::RawRwLock, T>;

        /// The writer's guard of a part of a [`RwLock`]'s data.
        ///
        /// # Example
        /// As for [`MappedRwLockReadGuard`].
        pub type MappedRwLockWriteGuard<'a, T> = $version::MappedRwLockWriteGuard<'a, crate::RawRwLock, T>;
    };
}
#[cfg(any(feature = "lock_api-04", feature = "lock_api-05"))]
pub(crate) use wrappers_of_lock_api;

/// The types with shorter turns, for locks where somebody waits for each change of hands.
///
/// Each release gives a contended lock to the thread on deck, unless sections follow each other within about 100 ns.
/// Then turns are a fifth of the default's. Each change of hands costs the holder some of its speed, and so does each
/// look of the waiting thread. `docs/rust.md` in the repository compares it with the default.
///
/// # Example
/// ```
/// use ondeck::low_latency::Mutex;
///
/// static REQUESTS: Mutex<Vec<u64>> = Mutex::new(Vec::new());
/// REQUESTS.lock().push(1);
/// ```
pub mod low_latency {
    use ondeck_core::ondeck::LowLatency;

    /// [`crate::Mutex`] with this module's policy.
    ///
    /// # Example
    /// ```
    /// let mutex = ondeck::low_latency::Mutex::new(1);
    /// assert_eq!(*mutex.lock(), 1);
    /// ```
    pub type Mutex<T> = crate::policy::Mutex<T, LowLatency>;

    /// [`crate::MutexGuard`] with this module's policy.
    ///
    /// # Example
    /// ```
    /// use ondeck::low_latency::{Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new(1);
    /// let guard: MutexGuard<'_, i32> = mutex.lock();
    /// assert_eq!(*guard, 1);
    /// ```
    pub type MutexGuard<'a, T> = crate::policy::MutexGuard<'a, T, LowLatency>;

    /// [`crate::MappedMutexGuard`] with this module's policy.
    ///
    /// # Example
    /// ```
    /// use ondeck::low_latency::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new((1, 2));
    /// let second: MappedMutexGuard<'_, i32> = MutexGuard::map(mutex.lock(), |pair| &mut pair.1);
    /// assert_eq!(*second, 2);
    /// ```
    pub type MappedMutexGuard<'a, T> = crate::policy::MappedMutexGuard<'a, T, LowLatency>;

    /// [`crate::Condvar`] for this module's mutexes.
    ///
    /// # Example
    /// ```
    /// static CHANGED: ondeck::low_latency::Condvar = ondeck::low_latency::Condvar::new();
    /// assert!(!CHANGED.notify_one());
    /// ```
    pub type Condvar = crate::policy::Condvar<LowLatency>;
}

/// README.md's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
