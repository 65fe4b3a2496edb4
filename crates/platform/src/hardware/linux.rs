//! Linux and Android: futexes, the vDSO clock, `sched_yield`.

use crate::Waited;
use core::ptr;

/// Sleeps while `*word == expected`, until woken or the monotonic clock reaches `deadline_ns`.
pub(super) fn wait(word: *mut u32, expected: u32, deadline_ns: Option<u64>) -> Waited {
    let deadline = deadline_ns.map(timespec);
    let timeout = deadline.as_ref().map_or(ptr::null(), ptr::from_ref);
    // FUTEX_WAIT_BITSET rather than FUTEX_WAIT: its timeout is a point of the monotonic clock.
    // SAFETY: `word` is aligned and alive (callers hold a reference to it), `timeout` is null or points to a local.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word,
            libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG,
            expected,
            timeout,
            ptr::null::<u32>(),
            u32::MAX,
        )
    };
    if answer < 0 && errno() == libc::ETIMEDOUT { Waited::TimedOut } else { Waited::Woken }
}

/// Wakes at most `n` sleepers on the address; never dereferences it.
pub(super) fn wake(word: *const u32, n: u32) {
    // SAFETY: FUTEX_WAKE uses the address as a key; a key without sleepers, or of freed memory, is no error for us.
    unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, n.min(i32::MAX as u32)) };
}

/// `sched_yield`.
pub(super) fn yield_now() {
    // SAFETY: no arguments, no memory.
    unsafe { libc::sched_yield() };
}

/// CLOCK_MONOTONIC in nanoseconds.
pub(super) fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec that we own. The clock exists on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The core we run on. glibc answers from the restartable-sequences area of the thread, under 1 ns.
pub(super) fn current_core() -> u32 {
    // SAFETY: no arguments, no memory.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ }
}

fn errno() -> i32 {
    // SAFETY: the C library gives a valid pointer to this thread's errno.
    unsafe { *libc::__errno_location() }
}
