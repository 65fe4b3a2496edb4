//! [`Mutex`] and [`Condvar`] with the methods of `std::sync::nonpoison`, which Rust has on nightly only.
//!
//! A panic while the mutex is held releases the mutex, and is not remembered. The types of [`crate::poison`] remember
//! it.
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
//! [`crate::Mutex`] is the same lock with the methods of `parking_lot`, which has more of them. Choose this module if
//! you want to change to the standard library's mutex some day.
//!
//! # Differences from `std::sync::nonpoison`
//! - The methods are those of Rust 1.95. If Rust changes them before they become stable, this module changes too.
//! - [`WaitTimeoutResult`] is a type of this crate. [`WouldBlock`] is an error that `?` can pass on.
//! - A wait never ends for no reason.
//! - A condition variable may be used with several mutexes at once. The standard library may panic then.

mod condvar;
mod mutex;

pub use crate::WaitTimeoutResult;
pub use condvar::Condvar;
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard};

use std::fmt;

/// The result of [`Mutex::try_lock`].
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

/// The error of [`Mutex::try_lock`]: the mutex is taken, and to lock it would mean to wait.
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
