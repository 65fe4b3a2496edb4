//! The program's surface, tested from outside: its words, its errors, its output and its files.

mod book;
mod check;
mod common;
mod first;
mod gone;
mod kept;
mod kernel;
mod launch;
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
#[path = "../../../../proof/testprograms/library.rs"]
mod library;
mod partial;
mod profiled;
mod profiles;
mod programs;
mod recorded;
mod report;
mod runs;
mod sanitized;
mod signals;
mod sim;
mod texts;
mod top;
mod trial;
mod usage;
