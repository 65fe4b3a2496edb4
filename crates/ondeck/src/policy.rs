//! The types with their policy as a parameter.
//!
//! The types of the crate's root have the policy [`Balanced`], those of [`low_latency`](crate::low_latency) have
//! [`LowLatency`]. Use this module for code that works with any policy:
//!
//! ```
//! use ondeck::policy::{Mutex, Policy};
//!
//! fn add<P: Policy>(total: &Mutex<u64, P>) {
//!     *total.lock() += 1;
//! }
//!
//! static TOTAL: ondeck::low_latency::Mutex<u64> = ondeck::low_latency::Mutex::new(0);
//! add(&TOTAL);
//! add(&ondeck::Mutex::new(0));
//! ```
//!
//! The compiler does not guess the policy of `Mutex::new`: write `Mutex::<_, LowLatency>::new(0)`, or use the types of
//! the other modules. `docs/rust.md` in the repository says how to make a policy of your own.

#[cfg(feature = "arc_lock")]
pub use crate::arc_guard::ArcMutexGuard;
pub use crate::condvar::Condvar;
pub use crate::guard::{MappedMutexGuard, MutexGuard};
pub use crate::mutex::Mutex;
pub use crate::raw::{RawCondvar, RawMutex};
pub use ondeck_core::ondeck::{Balanced, LowLatency, Policy};
