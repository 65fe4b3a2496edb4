//! `parking_lot` 0.12 with `ondeck`'s locks. Names, methods and features are the same.
//!
//! Use it if your dependencies use `parking_lot` and you don't want to change them. Two lines in the `Cargo.toml` of
//! your program replace `parking_lot` in all of them:
//!
//! ```toml
//! [patch.crates-io]
//! parking_lot = { path = "ondeck/crates/parking_lot" }
//! ```
//!
//! ```
//! use parking_lot::{Condvar, Mutex};
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
//! # What is replaced
//! | name | what you get |
//! |---|---|
//! | [`RawMutex`], [`Mutex`], [`ReentrantMutex`] | `ondeck`'s mutex |
//! | [`RawFairMutex`], [`FairMutex`] | the same; each release gives the mutex to a waiting thread, if there is one |
//! | [`Condvar`] | `ondeck`'s: a notified thread joins those that sleep for the mutex |
//! | [`RawRwLock`], [`RwLock`] | `ondeck`'s reader-writer lock |
//! | [`Once`], [`OnceState`] | that of `std` |
//! | [`lock_api`] | `lock_api` 0.4, as in the original |
//!
//! Names and methods are the work of Amanieu d'Antras and the other authors of `parking_lot`. The page of `ondeck` says
//! how its locks block, who gets them next, and what they promise.
//!
//! # Differences from the original
//! - **Size.** A raw mutex has 8 bytes instead of 1, a condition variable 24 instead of 8, a raw reader-writer lock 16
//!   instead of 8, and a [`Once`] 8 instead of 1. A mutex around eight bytes or more is as large as the original's. A
//!   reentrant mutex always is.
//! - **Drop.** A reader-writer lock has a destructor: it gives back what readers count in.
//! - **Number of readers.** A reader-writer lock has room for 524,288. What waits for room ends the process, and an attempt
//!   panics.
//! - **Fairness.** [`MutexGuard::unlock_fair`](lock_api::MutexGuard::unlock_fair) gives the mutex to a waiting thread.
//!   A plain release does so when that thread's patience is over. The original does so by chance, every half
//!   millisecond or so. A fair release of a reader-writer lock waits until a waiting writer has noticed, which takes a
//!   microsecond or so, and a millisecond at most.
//!
//! # Soundness
//! `lock_api` 0.4 has a hole, here as in the original. Through a shared guard, data that is `Sync` but not `Send` can
//! reach another thread. `ondeck::Mutex` prevents that.
//!
//! # Features
//! It has all features of the original, and `record`:
//!
//! - `arc_lock`, `owning_ref`, `serde`, `nightly`: turn on the same features of `lock_api`.
//! - `send_guard`: guards may be sent to another thread. That thread then releases the mutex.
//! - `deadlock_detection`: adds the module `deadlock`, which finds nothing. It excludes `send_guard`.
//! - `hardware-lock-elision`: is accepted and changes nothing.
//! - `record`: `ondeck profile` can record the mutexes of the program. The page of `ondeck` says how, and what it
//!   costs.

#[cfg(all(feature = "send_guard", feature = "deadlock_detection"))]
compile_error!("`send_guard` and `deadlock_detection` exclude each other, as in the original");

mod condvar;
#[cfg(feature = "deadlock_detection")]
pub mod deadlock;
mod fair_mutex;
mod mutex;
mod once;
mod remutex;
mod rwlock;

pub use ::lock_api;
pub use condvar::{Condvar, WaitTimeoutResult};
pub use fair_mutex::{FairMutex, FairMutexGuard, MappedFairMutexGuard, RawFairMutex, const_fair_mutex};
#[cfg(feature = "arc_lock")]
pub use lock_api::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard, ArcRwLockWriteGuard,
};
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard, RawMutex, const_mutex};
pub use once::{Once, OnceState};
pub use remutex::{MappedReentrantMutexGuard, RawThreadId, ReentrantMutex, ReentrantMutexGuard, const_reentrant_mutex};
pub use rwlock::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, RawRwLock, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
    RwLockWriteGuard, const_rwlock,
};

/// Whether a guard may leave its thread.
#[cfg(not(feature = "send_guard"))]
type GuardMarker = lock_api::GuardNoSend;
#[cfg(feature = "send_guard")]
type GuardMarker = lock_api::GuardSend;
