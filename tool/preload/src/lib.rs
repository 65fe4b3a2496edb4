//! ondeck's locks in place of the C library's mutexes and condition variables, for programs that cannot be changed.
//!
//! Loaded before the C library (`ondeck run`, or `LD_PRELOAD`), this library answers a program's `pthread_mutex_*`,
//! `pthread_cond_*`, `mtx_*` and `cnd_*`, and looks at its other waits if they are to be recorded. What it does, and what it
//! cannot do: docs/pthread.md; why in this way: docs/pthread-design.md.
//!
//! | file | what is in it |
//! |---|---|
//! | `probes` | places for bpftrace, perf and gdb |
//! | `allocator` | memory for the recorder |
//! | `real` | the C library's own functions |
//! | `state` | which lock there is, whether it is recorded, and which process this is: one word |
//! | `thread` | who the calling thread is, and whether it is the only one |
//! | `handler` | what a thread does on its way out of a wait that it does not come back from |
//! | `platform` | the platform without what may surprise a program |
//! | `time` | the two clocks that a deadline may be written in |
//! | `family` | any other lock of the family in the place of the flagship |
//! | `bytes::mutex` | the 40 bytes of a `pthread_mutex_t`: whose it is, and whose are which |
//! | `bytes::glibc` | what a look tells of those that stay the C library's, and how it locks plain ones |
//! | `bytes::cond` | the 48 bytes of a `pthread_cond_t` |
//! | `places` | who waits on which condition variable, for who destroys one |
//! | `signals` | keeping signal handlers out of the next two |
//! | `process` | preparing a process: its lock, its recording, its number among those that forks lead to |
//! | `process::first_touch` | what a fork leaves behind in mutexes and condition variables |
//! | `launched` | what `ondeck run` asks for as a program begins |
//! | `loader` | what the loader runs before the program begins, and after its end |
//! | `mutex` | the operations on mutexes that are ours |
//! | `glibc` | mutexes and condition variables that stay the C library's, recorded |
//! | `cancel` | sleeping so that `pthread_cancel` can end it |
//! | `cond` | condition variables: waiters of one process, moved to their mutex when they are notified |
//! | `cond::hold` | the mutex of a wait, unlocked and locked again |
//! | `cond::shared` | waiters of several processes |
//! | `rwlock` | locks for readers and writers: ours or the C library's, recorded |
//! | `waits` | semaphores, barriers, joins and what else threads wait for, recorded |
//! | `names` | what is exported |
//!
//! Each uses those above it.
//!
//! Nothing here allocates, prints (but for the last words of a process that cannot go on), takes a lock of the standard
//! library, panics, or looks up a symbol while a plain mutex is locked: all of that may lock a mutex itself.

// One C library, on one system. Elsewhere there is nothing to stand in for, and this is an empty library.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64", target_endian = "little"))]

mod allocator;
mod bytes;
mod cancel;
mod cond;
mod family;
mod glibc;
mod handler;
mod launched;
mod loader;
mod mutex;
mod names;
mod places;
mod platform;
mod probes;
mod process;
mod real;
mod rwlock;
mod signals;
mod state;
mod thread;
mod time;
mod waits;

use core::ffi::c_int;
use ondeck_core::kernel;

/// The last words of a process that cannot go on, and its end.
#[cold]
fn die(words: &[&str]) -> ! {
    for text in ["ondeck: "].iter().chain(words).chain(&["\n"]) {
        kernel::write(libc::STDERR_FILENO, text.as_bytes());
    }
    // SAFETY: always may be called.
    unsafe { libc::abort() }
}

/// What the functions of this family answer: 0, or a number of `errno.h`.
type Answer = c_int;
