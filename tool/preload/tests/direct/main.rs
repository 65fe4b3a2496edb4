//! The library under calls that this process makes itself: what it writes into a recording, and what it does with a mutex that
//! somebody else has touched.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64", target_endian = "little"))]
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "calls of C, one after another")]

mod bypassed;
mod common;
#[path = "../../../../proof/testprograms/library.rs"]
mod library;
mod recorded;
mod rwlocks;
mod theirs;
