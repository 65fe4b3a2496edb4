//! Deadlock detection of `parking_lot` 0.13, which sees its own locks: [`RwLock`](crate::RwLock) and
//! [`Once`](crate::Once).
//!
//! A mutex of `ondeck` does not record who holds it, so a circle of threads with a [`Mutex`](crate::Mutex), a
//! [`FairMutex`](crate::FairMutex), a [`ReentrantMutex`](crate::ReentrantMutex) or a [`Condvar`](crate::Condvar) in it is not
//! found: an empty answer says nothing about those. A program that relies on this module keeps the original.
//!
//! # Example
//! ```
//! let circles = parking_lot::deadlock::check_deadlock();
//! assert!(circles.is_empty());
//! ```

pub use parking_lot_013::deadlock::check_deadlock;
