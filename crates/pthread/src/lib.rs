//! ondeck's locks in place of the C library's mutexes and condition variables, for programs that cannot be changed.
//!
//! Loaded before the C library (`ondeck run`, or `LD_PRELOAD`), this library answers a program's `pthread_mutex_*`,
//! `pthread_cond_*`, `mtx_*` and `cnd_*`, and looks at its other waits if they are to be recorded. What it does, why in this way, and what it cannot do: docs/pthread.md.
//!
//! | file | what is in it |
//! |---|---|
//! | `mutex` | the 40 bytes of a `pthread_mutex_t`, whose are which, and the operations on them |
//! | `mutex::theirs` | the same for those that stay the C library's, recorded |
//! | `cond` | the 48 bytes of a `pthread_cond_t`: waiters of one process, moved to their mutex when they are notified |
//! | `cond::shared` | the same for condition variables that processes share |
//! | `cancel` | sleeping so that `pthread_cancel` can end it |
//! | `process` | what holds for the whole process: which lock, and what a fork leaves behind |
//! | `places` | who waits on which condition variable, for who destroys one |
//! | `platform` | the seam without what may surprise a program |
//! | `family` | any other lock of the family in the place of the flagship |
//! | `thread` | who the calling thread is, and whether it is the only one |
//! | `time` | the two clocks that a deadline may be written in |
//! | `real` | the C library's own functions |
//! | `theirs` | mutexes and condition variables that stay the C library's, recorded |
//! | `rwlock` | its locks for readers and writers, recorded |
//! | `waits` | semaphores, barriers, joins and what else threads wait for, recorded |
//! | `probes` | places for bpftrace, perf and gdb |
//! | `room` | memory for the recorder |
//! | `names` | what is exported |
//!
//! Nothing here allocates, prints (but for the last words of a process that cannot go on), takes a lock of the standard
//! library, panics, or looks up a symbol while a plain mutex is locked: all of that may lock a mutex itself.

// One C library, on one system. Elsewhere there is nothing to stand in for, and this is an empty library.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64", target_endian = "little"))]

mod cancel;
mod cond;
mod family;
mod launched;
mod mutex;
mod names;
mod places;
mod platform;
mod probes;
mod process;
mod real;
mod room;
mod rwlock;
mod theirs;
mod thread;
mod time;
mod waits;

use core::ffi::c_int;

/// The last words of a process that cannot go on, and its end.
#[cold]
fn die(words: &[&str]) -> ! {
    for text in ["ondeck: "].iter().chain(words).chain(&["\n"]) {
        // SAFETY: the text is alive, and of that length.
        unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    }
    // SAFETY: always may be called.
    unsafe { libc::abort() }
}

/// What the functions of this family answer: 0, or a number of `errno.h`.
type Answer = c_int;
