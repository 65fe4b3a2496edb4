//! The program's surface, tested from outside: its words, its errors, its output and its files.

mod book;
mod common;
mod first;
mod kernel;
mod launch;
mod partial;
mod profiled;
mod profiles;
mod recorded;
mod report;
mod runs;
mod sim;
mod texts;
mod top;
mod trial;
mod usage;
