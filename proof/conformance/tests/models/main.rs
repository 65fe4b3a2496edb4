//! Searches by loom, which visits every schedule of a small case, and what belongs to them.
//!
//! One program for all of them: each would compile every lock for loom anew.

mod condvar;
mod condvar_races;
mod fair;
mod loom;
mod loom_deep;
mod loom_narrow;
mod loom_ondeck;
mod monitor;
mod selftest;
