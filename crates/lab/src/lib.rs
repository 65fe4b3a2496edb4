//! Measures locks: workloads, drivers, statistics, result files.
//!
//! [`driver::run`] carries out a plan and gives rows. A row is what one lock did in one workload at one thread count in
//! one round; the workloads are in [`workload`], the locks in [`lock`], and what both need of an execution in
//! [`world`]. The other modules read, write, compare and show rows.

pub mod board;
pub mod calibrate;
pub mod compare;
mod conditions;
mod crew;
pub mod driver;
mod earlier;
mod failure;
pub mod fingerprint;
pub mod histogram;
pub mod lock;
mod measure;
mod noise;
pub mod output;
mod peers;
mod random;
pub mod report;
pub mod row;
pub mod simulate;
pub mod stats;
pub mod tuning;
pub mod wait_policy;
pub mod workload;
pub mod world;

/// The example of the workspace's README.md compiles and runs. Here, because a crate that is published can only include
/// what is in its package.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
