//! Deadlock detection, which finds nothing: `ondeck`'s locks do not record who holds them.
//!
//! It is here so that programs compile that ask for it. An empty answer says nothing. If you rely on this module, use the
//! original while you look for a deadlock.
//!
//! # Example
//! ```
//! for circle in parking_lot::deadlock::check_deadlock() {
//!     for thread in circle {
//!         println!("{} {:#?}", thread.thread_id(), thread.backtrace());
//!     }
//! }
//! ```

use std::backtrace::Backtrace;

/// A thread of a deadlock. There is none.
#[derive(Debug)]
pub enum DeadlockedThread {}

impl DeadlockedThread {
    /// The thread's number.
    pub fn thread_id(&self) -> usize {
        match *self {}
    }

    /// Where the thread waits.
    pub fn backtrace(&self) -> &Backtrace {
        match *self {}
    }
}

/// Returns an empty list.
pub fn check_deadlock() -> Vec<Vec<DeadlockedThread>> {
    Vec::new()
}
