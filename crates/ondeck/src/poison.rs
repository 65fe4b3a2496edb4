//! [`Mutex`] and [`Condvar`] with the methods of `std::sync`: the mutex is poisoned when a thread panics while it holds
//! it.
//!
//! Coming from the standard library, change one line:
//!
//! ```
//! // use std::sync::{Condvar, Mutex};
//! use ondeck::poison::{Condvar, Mutex};
//!
//! static QUEUE: Mutex<Vec<u32>> = Mutex::new(Vec::new());
//! static FILLED: Condvar = Condvar::new();
//!
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         QUEUE.lock().unwrap().push(7);
//!         FILLED.notify_one();
//!     });
//!     let mut queue = FILLED.wait_while(QUEUE.lock().unwrap(), |queue| queue.is_empty()).unwrap();
//!     assert_eq!(queue.pop(), Some(7));
//! });
//! ```
//!
//! # Differences from `std::sync`
//! - [`PoisonError`], [`TryLockError`], [`LockResult`] and [`TryLockResult`] are those of the standard library.
//!   [`WaitTimeoutResult`] is a type of this module, since nobody else can make a value of the other; it has the same
//!   method.
//! - Waits do not end for no reason, and a condition variable may be used with several mutexes at once, where the
//!   standard library may panic.
//! - What Rust has on nightly only is here on stable, as it was there in Rust 1.95: [`get_cloned`](Mutex::get_cloned),
//!   [`set`](Mutex::set), [`replace`](Mutex::replace) and [`data_ptr`](Mutex::data_ptr), and the guards of a part of the data
//!   ([`MutexGuard::map`]). Should it change before it becomes stable, so will this. [`crate::nonpoison`] has the types
//!   without poison.

mod condvar;
mod guard;
mod mutex;
#[cfg(feature = "serde")]
mod serde;

pub use condvar::{Condvar, WaitTimeoutResult};
pub use guard::{MappedMutexGuard, MutexGuard};
pub use mutex::Mutex;
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
