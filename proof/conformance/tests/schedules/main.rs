//! Random schedules, with more threads than loom can take, and simulated machines.

mod priority;
#[cfg(feature = "models")]
mod schedule;
mod simulated;
