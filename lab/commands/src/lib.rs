//! The laboratory's part of the program `ondeck`: words and flags of what measures, simulates and compares locks.
//!
//! `ondeck` has them with its feature `lab`. What they do is in the other crates of `lab/`. Begin with `args`, the words;
//! each command has a file of its name.

mod args;
mod bench;
mod calibrate;
mod choice;
mod compare;
mod deliver;
mod display;
mod list;
mod plan;
mod report;
mod sim;

pub use args::{BenchArgs, CalibrateArgs, ListArgs, ReportArgs, SimArgs};
pub use bench::run as bench;
pub use calibrate::run as calibrate;
pub use compare::{no_result, run as compare};
pub use list::run as list;
pub use report::Report;
pub use sim::run as sim;

// For tests of the program, which read what it has written.
#[doc(hidden)]
pub use {ondeck_report as results, ondeck_workloads::catalogue};
