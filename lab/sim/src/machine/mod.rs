//! What a simulated machine is: its cores, how far they are from each other, and what everything costs.
//!
//! People write machine files, in nanoseconds; `docs/machines.md` describes them. `schema` has their fields, and `resolve`
//! makes the [`Machine`] of them that the engine computes with.

mod figure;
mod file;
mod model;
mod resolve;
mod schema;
mod topology;
mod tree;

#[cfg(test)]
mod bad_files;
#[cfg(test)]
mod tests;

#[cfg(test)]
use file::from_text;
pub use file::{builtin, builtin_names, find, load};
pub use model::{CoreKind, Cpu, Eevdf, FarAtomics, MAX_CORES, Machine, Memory, Os, Policy};
