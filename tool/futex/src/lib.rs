//! What the kernel tells of a process's futex calls: which thread slept on which address, from which stack, how long, and who
//! woke it.
//!
//! `ondeck profile --futex`, `--pid` and `ondeck top` use it. Begin with [`Tracer`], which follows a process; [`Wait`], one sleep of
//! a thread; [`Refusal`], why the kernel does not tell.
//!
//! Every lock whose waiters sleep does it by a futex, whatever language and library it comes from, so this sees all of
//! them, also in static programs and in processes that run already. It sees nothing of what happens without a system call:
//! who holds a lock, how often it is acquired, who waits awake.
//!
//! | file | what is in it |
//! |---|---|
//! | `tracefs` | the tracepoints: their numbers, and where their fields are |
//! | `refusal` | why the kernel does not tell, and what to do about it |
//! | `event` | the kernel's events: three for each thread and CPU, inherited by what the thread starts |
//! | `ring` | the memory in which the kernel leaves records, one for each CPU |
//! | `record` | the bytes of a record |
//! | `image` | processes, their programs and libraries |
//! | `in_time` | addresses where several files were loaded after each other |
//! | `loader` | the loader, run as a program |
//! | `maps` | what is mapped into a process, and which of it is code; for others, too |
//! | `elf` | files of programs as they are on disk; for other readers of such files, too |
//! | `walk::module` | what is needed of a program file or library |
//! | `process` | what `/proc` tells of a process; for others, too |
//! | `walk` | from registers and a copy of the stack to return addresses |
//! | `walk::caller` | who has called a function, where only the stack pointer is known |
//! | `pair` | from calls and returns to waits, and to who ended them |
//! | `start` | a program that is held until its events are there |
//! | `held` | stacks of calls that came without one |
//! | `budget` | what watching may cost, and how many stacks are copied for that |
//! | `tracer` | all of it together |
//! | `sleeper` | the stacks of threads that sleep, without events |
//! | `sampler` | where threads run |
//! | `hold` | where a thread is that holds a lock, and where it releases it |
//! | `waiting_loop` | whether they only wait there, by their instructions |
#![cfg(target_os = "linux")]

mod budget;
pub mod elf;
mod event;
mod held;
mod hold;
mod image;
pub mod in_time;
pub mod loader;
pub mod maps;
mod open_files;
mod pair;
pub mod process;
mod record;
mod refusal;
mod ring;
mod sampler;
mod sleeper;
mod start;
mod tracefs;
mod tracer;
mod waiting_loop;
mod walk;

pub use hold::WatchedHold;
pub use image::{Image, MOST_MODULES};
pub use pair::{End, Release, Wait};
pub use process::now_ns;
pub use refusal::Refusal;
pub use sampler::{SAMPLE_NS, Sampler};
pub use sleeper::{RunningPlace, Sleepers, futex_of};
pub use start::PausedProcess;
pub use tracer::{Tracer, not_urgent};
pub use walk::module::Module;
