//! Measures locks: workloads, drivers, statistics, result files.

pub mod board;
pub mod calibrate;
pub mod compare;
pub mod fingerprint;
pub mod output;
pub mod report;
pub mod row;
pub mod stats;
pub mod world;
