//! The promises of ondeck's locks, as tests that are generic over the lock and over the world it runs in.
//!
//! Only its own tests use it. Begin with [`World`], a place where locks run; [`properties`]; [`specimen`], the lock with faults.
//!
//! A property ([`properties`]) is written once. A [`World`] runs it: [`HardwareWorld`] on this machine's threads,
//! `LoomWorld` under every schedule and every weak-memory outcome that loom can tell apart, `ScheduleWorld` under
//! thousands of random schedules with more threads; `NarrowWorld` is one of them with shorter words. `README.md` of
//! this crate says how to reproduce a failure; the test files say which lock must keep which promise.
//!
//! A test that cannot fail is decoration, so there are two checks of the checks: [`specimen`] holds a lock with
//! switchable faults, each of which a named property must notice, and `cargo xtask mutants` breaks the real locks one
//! edit at a time.

#[cfg(feature = "models")]
pub mod brief;
pub mod child;
#[cfg(feature = "models")]
mod coins;
pub mod condvar;
pub mod counted;
pub mod depth;
#[cfg(feature = "models")]
mod futex;
mod hardware;
#[cfg(feature = "models")]
mod loom_platform;
#[cfg(feature = "models")]
mod monitor;
pub mod monitors;
#[cfg(feature = "models")]
mod narrow;
#[cfg(feature = "models")]
mod priority;
pub mod properties;
pub mod races;
#[cfg(feature = "models")]
mod reproduce;
#[cfg(feature = "models")]
mod schedule;
pub mod side_objects;
pub mod specimen;
#[cfg(feature = "models")]
pub mod steps;
mod unyielding;
#[cfg(feature = "models")]
mod watched;
mod world;

pub use hardware::{HardwareWorld, Random, within};
#[cfg(feature = "models")]
pub use loom_platform::{Far, LoomPlatform, LoomWorld, Model, Time};
#[cfg(feature = "models")]
pub use monitor::Report;
#[cfg(feature = "models")]
pub use narrow::{NO_COUNT, Narrow, NarrowWorld, TWO_BITS};
#[cfg(feature = "models")]
pub use schedule::{Schedule, SchedulePlatform, ScheduleWorld};
pub use unyielding::Unyielding;
pub use world::{Ended, Guarded, Job, World};
