//! Deadlock detection of `parking_lot` 0.13. It sees [`RwLock`](crate::RwLock) and [`Once`](crate::Once), and no
//! mutexes.
//!
//! A mutex of `ondeck` does not record who holds it. So a deadlock is not found if a [`Mutex`](crate::Mutex), a
//! [`FairMutex`](crate::FairMutex), a [`ReentrantMutex`](crate::ReentrantMutex) or a [`Condvar`](crate::Condvar) is
//! part of it. An empty answer says nothing about these. If you rely on this module, use the original.
//!
//! # Example
//! ```
//! let circles = parking_lot::deadlock::check_deadlock();
//! assert!(circles.is_empty());
//! ```

pub use parking_lot_013::deadlock::check_deadlock;
