//! Measures locks: workloads, drivers, statistics, result files.

pub mod row;
pub mod stats;
