//! The program's surface, tested from outside: its words, its errors, its output and its files.

mod deep;
mod first;
mod forks;
mod gone;
mod kept;
mod kernel;
mod launch;
mod lock_order;
mod looked;
mod named;
mod partial;
mod profiled;
mod profiles;
mod recorded;
mod replaced;
mod report;
mod running;
mod runs;
mod sandboxed;
mod sanitized;
mod service;
mod signals;
mod sim;
mod stats;
#[path = "../support/mod.rs"]
mod support;
mod texts;
mod top;
mod trial;
mod usage;
