//! Which lock hurts in a program: from the recordings that the recorder leaves to profiles, pages and advice.
//!
//! The program `ondeck` uses it for `profile`, `top`, `report` and `compare`. Begin with [`Profile`], what a run told;
//! [`Lock`], a lock in it; [`Findings`], why threads waited and what to do first.
//!
//! | file | what is in it |
//! |---|---|
//! | `profile` | what a run told, as everything that is shown is formed of |
//! | `thread_time` | where the time of all threads went |
//! | `sites` | what was counted at places of the program |
//! | `collect` | from recordings to a profile, or to statistics, while the program runs; its `account` is what is known of one lock |
//! | `futex` | from what the kernel tells of futex calls to a profile |
//! | `stacks` | frames and stacks with names, which both of these look up |
//! | `sorting` | the order of locks, with names that tell them apart |
//! | `kinds` | what a thread waits for, by the functions on its stack |
//! | `libraries` | what locks inside of libraries' functions are |
//! | `wrappers::anonymous` | names for closures and lambdas that have none |
//! | `group` | locks of one kind as one |
//! | `circles` | locks that are taken in both orders |
//! | `symbols` | names for addresses |
//! | `runtimes` | programs whose tasks wait without a thread |
//! | `json` | the file for programs, which is read back |
//! | `pprof` | the file for pprof |
//! | `rows` | what these say of a lock: who waited, held and took it, complete to its totals |
//! | `compare` | two runs side by side |
//! | `names`, `wrappers`, `words` | short names, frames that only lock, sentences: what all that follow share |
//! | `terminal` | the list that a run ends with |
//! | `flamegraph` | the picture of all stacks, in a file or a page |
//! | `page` | the page |
//! | `findings`, `rules` | why threads waited, and what to do first; all thresholds for that |
#![cfg(target_os = "linux")]

mod circles;
mod collect;
mod compare;
mod findings;
mod flamegraph;
mod futex;
mod group;
pub mod json;
mod kinds;
mod libraries;
#[cfg(test)]
mod made_up;
mod names;
mod note;
mod page;
pub mod pprof;
mod profile;
mod rows;
mod rules;
mod runtimes;
#[cfg(test)]
mod sample;
mod sites;
mod sorting;
mod stacks;
mod symbols;
mod terminal;
mod thread_time;
mod words;
mod wrappers;

pub use collect::{Collector, Run, is_alive};
pub use compare::compare;
pub use findings::{Findings, LongWait, findings, long_waits};
pub use flamegraph::svg as flamegraph;
pub use futex::{FutexCollector, FutexSnapshot, Namer};
pub use group::grouped;
pub use note::Note;
pub use ondeck_record::stats::{Labels, Snapshot as Statistics};
pub use page::page;
pub use profile::{
    Bar, Cause, Condition, Doing, Dropped, Frame, Histogram, Lock, LockKind, LockOrder, OrderStep, Origin, Process,
    ProcessEnd, Profile, Site, Spot, State, Stuck, ThreadTime, Timeline, VERSION, WaitKind, WaitObject,
};
pub use symbols::{Module, Symbols};
pub use terminal::{SortColumn, long_wait, sorted_table, table};
pub use wrappers::busiest;
