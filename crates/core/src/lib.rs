//! What the mutex `ondeck` is made of: its algorithm, generic over the machine that runs it, and this machine.
//!
//! If you want a mutex around data, take the crate `ondeck`. Take this crate if you want the bare lock. You can run it
//! elsewhere, too: under a model checker, in a simulator, or on a system of your own.
//!
//! ```
//! use ondeck_core::{Hardware, RawLock, RawOndeck};
//!
//! static LOCK: RawOndeck<Hardware> = RawOndeck::INIT;
//!
//! LOCK.acquire();
//! assert!(!LOCK.try_acquire());
//! // SAFETY: acquired above, by this thread.
//! unsafe { LOCK.release() };
//! ```
//!
//! Begin with these three:
//!
//! - [`RawOndeck`], the lock. Its module [`ondeck`] explains it, and has its condition variable.
//! - [`RawLock`], what every lock can do.
//! - [`Platform`], what a lock asks of the machine: atomics, sleeping and waking, pauses and clocks. [`Hardware`] is this
//!   machine. A model checker or a simulator implements the trait in its own way, and runs the same source.
//!
//! [`monitor`] is a lock that its holder may enter again, and [`spin_wait`] a policy for waiting without sleeping.
//!
//! # What everything here keeps to
//! A lock works before `main`, inside a global allocator, in the child of a fork, and under a C program. So nothing
//! here allocates, takes a lock of the standard library, registers a thread-local destructor, or changes `errno`.
//!
//! There are two exceptions. Systems without a file of their own use a fallback, which may allocate and take locks of
//! the standard library. The head of `platform/hardware/portable.rs` says what that costs. On Windows, the value of
//! `GetLastError` is not kept.
//!
//! # Which processors
//! The locks need atomics of 64 bits. Processors of 32 bits that have them work, such as i686 and armv7. Others are not
//! supported, such as riscv32. Only the module `platform` contains code for one kind of machine.

// A lock knows of the machine what its platform offers.
#![cfg_attr(not(test), no_std)]

mod entry;
pub mod monitor;
pub mod ondeck;
#[allow(clippy::disallowed_types, reason = "the atomics of this machine are its own")]
mod platform;
mod raw;
pub mod rwlock;
pub mod spin_wait;
mod yields;

pub use entry::{Entry, Promises};
pub use monitor::RawOndeckMonitor;
pub use ondeck::RawOndeck;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
#[doc(hidden)]
pub use platform::kernel;
pub use platform::{
    Atomic, AtomicPointer, Busy, CoreCounters, Counted, Hardware, Platform, RunState, StaticPlatform, Step, ThreadId,
    Token, WaitEnd,
};
pub use raw::{NotHeld, RawLock, RawMonitor, RawTimedLock};
pub use rwlock::RawOndeckRwLock;
pub use spin_wait::{SpinPolicy, SpinWait};

/// README.md's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
