//! Places that bpftrace, perf and gdb can stop at or count: of a library that is not looked at, one instruction each that does
//! nothing. Debian's C library has none such of its own. docs/profile-design.md shows their use.
//!
//! Functions of their own, so that each place is in the library once.

use probe::probe;

/// The calling thread has found the mutex at that address locked, and begins to wait. Of recorded mutexes.
#[cold]
#[inline(never)]
pub(crate) fn contended(mutex: u64) {
    probe!(ondeck, contended, mutex);
}

/// It has the mutex, after so many ns; or, if `has_it` is 0, has given up.
#[cold]
#[inline(never)]
pub(crate) fn acquired(mutex: u64, waited_ns: u64, has_it: bool) {
    let has_it = u64::from(has_it);
    probe!(ondeck, acquired, mutex, waited_ns, has_it);
}

/// It is about to release a recorded mutex that others wait for, or whose hold is timed.
#[cold]
#[inline(never)]
pub(crate) fn release(mutex: u64) {
    probe!(ondeck, release, mutex);
}

/// It wakes so many threads that sleep on the word at that address, which is in one of ondeck's mutexes or in a waiter of it.
#[cold]
#[inline(never)]
pub(crate) fn wake(word: u64, n: u32) {
    let n = u64::from(n);
    probe!(ondeck, wake, word, n);
}
