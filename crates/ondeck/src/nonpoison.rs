//! [`Mutex`] and [`Condvar`] with the methods of `std::sync::nonpoison`, which Rust has on nightly only: as
//! [`crate::poison`], but a panic while the mutex is held releases it and is not remembered.
//!
//! ```
//! // use std::sync::nonpoison::{Condvar, Mutex};
//! use ondeck::nonpoison::{Condvar, Mutex};
//!
//! static QUEUE: Mutex<Vec<u32>> = Mutex::new(Vec::new());
//! static FILLED: Condvar = Condvar::new();
//!
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         QUEUE.with_mut(|queue| queue.push(7));
//!         FILLED.notify_one();
//!     });
//!     let mut queue = QUEUE.lock();
//!     FILLED.wait_while(&mut queue, |queue| queue.is_empty());
//!     assert_eq!(queue.pop(), Some(7));
//! });
//! ```
//!
//! [`crate::Mutex`] is the same lock with more methods, those of `parking_lot`; this one is for programs that want to
//! exchange it for the standard library's some day.
//!
//! # Differences from `std::sync::nonpoison`
//! - It is as it was there in Rust 1.95. Should it change before it becomes stable, so will this.
//! - [`WaitTimeoutResult`] is that of [`crate::poison`], and [`WouldBlock`] is an error that `?` can pass on.
//! - Waits do not end for no reason, and a condition variable may be used with several mutexes at once, where the
//!   standard library may panic.

mod condvar;
mod mutex;
#[cfg(feature = "serde")]
mod serde;

pub use crate::poison::WaitTimeoutResult;
pub use condvar::Condvar;
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard};

use std::fmt;

/// What [`Mutex::try_lock`] gives.
///
/// # Example
/// ```
/// use ondeck::nonpoison::{Mutex, MutexGuard, TryLockResult};
///
/// let mutex = Mutex::new(1);
/// let guard: TryLockResult<MutexGuard<'_, i32>> = mutex.try_lock();
/// assert!(guard.is_ok());
/// ```
pub type TryLockResult<Guard> = Result<Guard, WouldBlock>;

/// The mutex is taken, so that acquiring it would mean to wait.
///
/// # Example
/// ```
/// use ondeck::nonpoison::{Mutex, WouldBlock};
///
/// let mutex = Mutex::new(1);
/// let guard = mutex.lock();
/// assert!(matches!(mutex.try_lock(), Err(WouldBlock)));
/// # drop(guard);
/// ```
#[derive(Debug)]
pub struct WouldBlock;

impl fmt::Display for WouldBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the mutex is taken, and `try_lock` does not wait")
    }
}

impl std::error::Error for WouldBlock {}
