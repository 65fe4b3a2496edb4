//! What a program's threads write down of its locks while it runs.
//!
//! What is charged to whom, and what that costs: `account`.
//!
//! | file | what is in it |
//! |---|---|
//! | `layout` | the form of a recording: one file for each process |
//! | `waiting` | how many wait, and since when, in one word |
//! | `account` | what a lock and a wait have on their account |
//! | `thread` | what each thread has for itself |
//! | `memory` | what of it may be read |
//! | `chance` | which of many is looked at |
//! | `recording` | where the file is, and its entries |
//! | `ring` | samples, on their way to whoever reads |
//! | `locks` | what is known of each lock, by its address where it has no room for a number |
//! | `stacks` | each stack once |
//! | `modules` | the program's files as they are loaded |
//! | `file` | making the file |
//! | `walk` | the calling thread's stack |
//! | `holds` | what a thread remembers of its own holds |
//! | `charge` | what is charged, and what of it is recorded |
//! | `marks`, `wait`, `release` | what a thread does as it acquires a lock, waits for it, and releases it |
//! | `several` | the same for locks that many may have at once to read |
//! | `bare` | the same for locks that have no room for marks |
//! | `opaque` | waits on what has no marks |
//! | `read` | recordings, for those who read them |
//!
//! Each but the last uses those above it.
//!
//! The writing half runs in somebody else's program, inside its locks: it takes no lock of its own that anybody waits for,
//! opens files only when a process begins, and asks for no memory but when a module is seen for the first time.

#![cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]

mod account;
pub mod bare;
mod chance;
mod charge;
mod file;
mod holds;
pub mod layout;
mod locks;
mod marks;
mod memory;
mod modules;
mod opaque;
pub mod read;
mod recording;
mod release;
mod ring;
mod several;
mod stacks;
mod thread;
mod wait;
mod waiting;
mod walk;

pub use account::{Marks, Wait};
pub use file::Wish;
pub use marks::count;
pub use opaque::{Opaque, forget};
pub use recording::is_on;
pub use release::Pending;
pub use several::{Access, is_due, prepare_to_read};
pub use wait::{rotated, slept, spun, woke};

/// What the lock that is recorded tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charging {
    /// Each acquire and release that somebody waits for is looked at.
    Exact,
    /// Waiters ask for a look.
    AtInstants,
}

/// Which part of the process records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The library that stands in for the C library's locks.
    Library,
    /// The program itself.
    Program,
}

/// Asks the loader which files the program is of. To be called before the program starts: takes the loader's lock.
pub fn ask_loader() {
    modules::ask_loader();
}

/// Begins to record this process, as `wish` says; `lock` is the name of the lock that answers. False if there is no file;
/// then nothing is recorded. To be called by one thread at a time, before anything else here, and again in the child of
/// a fork.
pub fn start(wish: &Wish, lock: &str, charging: Charging, source: Source) -> bool {
    stacks::begin();
    locks::begin();
    walk::begin();
    modules::begin();
    account::begin(charging == Charging::Exact);
    let source = match source {
        Source::Library => layout::source::LIBRARY,
        Source::Program => layout::source::PROGRAM,
    };
    let has_begun = file::start(wish, lock, source);
    // So that memory for walks and stacks is there before a lock is held.
    if let Some(recording) = file::current() {
        walk::stack(recording);
    }
    has_begun
}

/// This process is the child of a fork: what it would find is its parent's.
pub fn in_child() {
    file::forget();
}

/// The process comes to its regular end.
pub fn exit() {
    if let Some(recording) = file::current() {
        recording.exit();
    }
}
