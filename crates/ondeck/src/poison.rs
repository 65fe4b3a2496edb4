//! [`Mutex`], [`RwLock`] and [`Condvar`] with the methods of `std::sync`.
//!
//! If a thread panics while it holds the mutex, the mutex is poisoned. A writer's panic poisons a [`RwLock`], a reader's
//! panic does not.
//!
//! To come from the standard library, change one line:
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
//! - [`PoisonError`], [`TryLockError`], [`LockResult`] and [`TryLockResult`] are the standard library's types.
//!   [`WaitTimeoutResult`] is a type of this module with the same method, because only the standard library can make a
//!   value of its own type.
//! - A wait never ends for no reason.
//! - A condition variable may be used with several mutexes at once. The standard library may panic then.
//! - Some methods that Rust has on nightly only work here on stable: [`get_cloned`](Mutex::get_cloned),
//!   [`set`](Mutex::set) and [`replace`](Mutex::replace) of both locks, [`data_ptr`](Mutex::data_ptr) and
//!   [`MutexGuard::map`]. They are those of Rust 1.95. If Rust changes them before they become stable, this module
//!   changes too.
//! - The guards of a [`RwLock`] have no `map`. The compiler does not shorten the lifetime of a [`RwLockReadGuard`]'s
//!   data.
//! - A [`RwLock`] is also poisoned if a panic drops a value that downgrades a write guard. The standard library does not
//!   poison it then.

mod condvar;
mod guard;
mod mutex;
mod rwlock;

pub use condvar::{Condvar, WaitTimeoutResult};
pub use guard::{MappedMutexGuard, MutexGuard};
pub use mutex::Mutex;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
