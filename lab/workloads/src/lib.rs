//! Measures locks, on this machine and on simulated ones: workloads, drivers, calibration.
//!
//! The program `ondeck` uses it for `bench`, `sim` and `calibrate`. Begin with [`Plan`](plan::Plan), what is to be measured;
//! [`WorkloadSpec`](workload::WorkloadSpec), what the threads do; [`LockSpec`](lock::LockSpec), with which lock.
//!
//! [`driver::run`] carries out a plan and gives rows. A row is what one lock did in one workload at one thread count in
//! one round. The workloads are in [`workload`]; what they need of a lock is in [`bench_lock`], and what they need of an
//! execution in [`execution`]. Which locks there are is in [`lock`]. What is made of rows is for `ondeck-report`.

pub mod bench_lock;
pub mod busy_loops;
pub mod calibrate;
mod conditions;
mod condvars;
pub mod driver;
pub mod execution;
mod failure;
pub mod lock;
mod measure;
mod noise;
mod peers;
pub mod plan;
mod points;
pub mod simulate;
pub mod this_machine;
mod thread_group;
mod tuning;
pub mod wait_policy;
pub mod workload;

/// What there is to be run: workloads and locks as `ondeck list` names them.
pub fn catalogue() -> ondeck_report::catalogue::Catalogue {
    let workloads = workload::WORKLOADS.iter().map(|workload| workload.name.to_string()).collect();
    let locks = lock::locks();
    let peers = locks.iter().filter(|lock| lock.peer).map(|lock| lock.name.to_string()).collect();
    let locks = locks.iter().map(|lock| lock.name.to_string()).collect();
    ondeck_report::catalogue::Catalogue { workloads, locks, peers }
}

/// The example of the workspace's README.md compiles and runs. Here, because a crate that is published can only include
/// what is in its package.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
