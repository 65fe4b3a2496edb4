//! Mutex algorithms, each a readable text in one file and one form, generic over the machine that runs it.
//!
//! Read them in the order of [`LOCKS`]: each adds one idea to the one before. Nothing here knows an operating system
//! or a simulator; everything outside is asked for through [`ondeck_platform::Platform`].

mod raw;

pub use raw::{RawLock, RawTimedLock};

use ondeck_platform::Platform;

/// What a lock promises; each promise is a conformance test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// Has an acquisition that can be given up ([`RawTimedLock`]).
    pub timed: bool,
    /// Waiters sleep; without this they burn their core.
    pub sleeps: bool,
    /// Nothing touches the lock's memory after the releasing write.
    pub free_after_release: bool,
    /// How long or how often a waiter may be bypassed, in words; "unbounded" if it may starve.
    pub bypass: &'static str,
}

/// One row of the table of locks: what the command line, the benchmarks and the conformance matrix know of a lock.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name as the command line spells it, and of the file.
    pub name: &'static str,
    /// What it is, in one line.
    pub idea: &'static str,
    /// Size in bytes.
    pub bytes: usize,
    /// What it promises.
    pub promises: Promises,
}
