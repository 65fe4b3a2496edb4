//! The promises of ondeck's locks, as tests that are generic over the lock and over the harness it runs in.
//!
//! Only its own tests use it. Begin with [`Harness`], a place where locks run; [`properties`]; [`faulty_lock`], the lock with faults.
//!
//! A property ([`properties`]) is written once. A [`Harness`] runs it: [`HardwareHarness`] on this machine's threads,
//! `LoomHarness` under every schedule and every weak-memory outcome that loom can tell apart, `ScheduleHarness` under
//! thousands of random schedules with more threads; `NarrowCounterHarness` is one of them with shorter words. `README.md` of
//! this crate says how to reproduce a failure; the test files say which lock must keep which promise.
//!
//! A test that cannot fail is decoration, so there are two checks of the checks: [`faulty_lock`] holds a lock with
//! switchable faults, each of which a named property must notice, and `cargo xtask mutants` breaks ondeck one edit
//! at a time.

pub mod child;
#[cfg(feature = "models")]
mod choices;
pub mod condvar;
pub mod counted;
pub mod depth;
pub mod faulty_lock;
#[cfg(feature = "models")]
mod futex;
mod hardware;
mod harness;
#[cfg(feature = "models")]
mod loom_platform;
#[cfg(feature = "models")]
mod monitor;
pub mod monitors;
#[cfg(feature = "models")]
mod narrow_counter;
mod no_yields;
#[cfg(feature = "models")]
mod priority;
pub mod properties;
pub mod races;
#[cfg(feature = "models")]
mod reproduce;
pub mod rwlock;
#[cfg(feature = "models")]
mod schedule;
#[cfg(feature = "models")]
mod sequences;
#[cfg(feature = "models")]
pub mod short_spin;
#[cfg(feature = "models")]
pub mod steps;
#[cfg(feature = "models")]
mod witnessed_atomic;

pub use hardware::{HardwareHarness, Random, within};
pub use harness::{CheckedCell, EndInSleep, Harness, Job};
#[cfg(feature = "models")]
pub use loom_platform::{Far, LoomHarness, LoomPlatform, Model, Time};
#[cfg(feature = "models")]
pub use monitor::Report;
#[cfg(feature = "models")]
pub use narrow_counter::{NO_COUNT, NarrowCounter, NarrowCounterHarness, ONE_BIT, TWO_BITS};
pub use no_yields::NoYields;
#[cfg(feature = "models")]
pub use schedule::{Schedule, ScheduleHarness, SchedulePlatform};
