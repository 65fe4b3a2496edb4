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
mod loom_quiet;
mod monitor;
mod rwlock;
mod selftest;

use ondeck_conformance::{Model, Schedule, Time};

/// Waiters nap or sleep at once, and time stands.
const MODEL: Model = Model::new();
/// Waiters poll, and each reading of the tick counter may leap beyond every patience.
const SPINNING: Model = MODEL.spinning(Time::MayLeap(1_000_000)).preemptions(1);
const DEADLINE_NS: u64 = Model::deadline_ns();
const SEARCH: Schedule = Schedule { executions: 5_000 };
/// A deadline in the middle of what the random clock passes through in one execution.
const SOON_NS: u64 = 1 << 20;
