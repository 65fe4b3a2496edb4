//! `parking_lot` 0.12 with `ondeck`'s mutexes: the same names, methods and features, for programs whose dependencies use
//! `parking_lot` and shall not be changed.
//!
//! Two lines in the `Cargo.toml` of the program replace it in the whole tree:
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
//! # What is whose
//! | name | is |
//! |---|---|
//! | [`RawMutex`], [`Mutex`], [`ReentrantMutex`] | `ondeck`'s mutex |
//! | [`RawFairMutex`], [`FairMutex`] | the same, and each release gives it to a waiter, if there is one |
//! | [`Condvar`] | `ondeck`'s, which moves the notified to the mutex's own waiters |
//! | [`RawRwLock`], [`RwLock`], [`Once`], [`OnceState`] | those of `parking_lot` 0.13 |
//! | [`lock_api`] | `lock_api` 0.4, as in the original |
//!
//! The surface is Amanieu d'Antras' and the other authors' of `parking_lot`; the page of `ondeck` says how its mutexes
//! block, whom they prefer, and what they promise.
//!
//! # Differences from the original
//! - Sizes: a raw mutex is 8 bytes and not 1, a condition variable 24 and not 8. With data of eight bytes or more a mutex is
//!   as large as the original's, and so is a reentrant one in any case.
//! - [`MutexGuard::unlock_fair`](lock_api::MutexGuard::unlock_fair) gives the mutex to a waiter. A plain release does so
//!   when the waiter's patience is over, where the original draws by lot every half millisecond or so.
//! - Rust 1.95 is needed, for the sake of `parking_lot` 0.13.
//!
//! # Soundness
//! As with every mutex of `lock_api` 0.4, data that is `Sync` and not `Send` can be taken to another thread through a
//! shared guard; version 0.5, on which `ondeck::Mutex` rests, refuses that.
//!
//! # Features
//! All of the original's, and one:
//! - `arc_lock`, `owning_ref`, `serde`, `nightly`: handed on to `lock_api`, and the last to `parking_lot` 0.13.
//! - `send_guard`: guards may be sent to another thread, which releases then.
//! - `deadlock_detection`: the module `deadlock`, which does not see mutexes. Not together with `send_guard`.
//! - `hardware-lock-elision`: accepted; changes nothing.
//! - `record`: what is done with mutexes is written down while the program runs under `ondeck profile`; the page of `ondeck`
//!   says how, and what it costs.

#[cfg(all(feature = "send_guard", feature = "deadlock_detection"))]
compile_error!("`send_guard` and `deadlock_detection` exclude each other, as in the original");

mod condvar;
#[cfg(feature = "deadlock_detection")]
pub mod deadlock;
mod fair_mutex;
mod mutex;
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
pub use parking_lot_013::{Once, OnceState};
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
