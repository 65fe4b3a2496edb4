//! Linux and Android: futexes, the vDSO clock, `sched_yield`.
//!
//! Nothing here changes `errno`: a lock that is put under a C program must not be seen in it. Files are read by bare
//! system calls, because the C library's `open` and `read` are points where a thread can be cancelled, and other
//! libraries like to wrap them.

mod cgroup;
mod cores;
mod file;
mod futex;
mod nodes;

use crate::WaitEnd;
use crate::platform::atomic::upper_half;
use crate::platform::kernel;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Sleeps while `*word == expected`, until woken or the monotonic clock reaches `deadline_ns`.
pub(super) fn wait(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd {
    futex::wait(word.as_ptr(), expected, deadline_ns)
}

/// As [`wait`], for the upper half of `word`: the kernel compares that half only.
pub(super) fn wait_upper(word: &AtomicU64, expected: u64, deadline_ns: Option<u64>) -> WaitEnd {
    futex::wait(upper_half(word.as_ptr()), (expected >> 32) as u32, deadline_ns)
}

/// Wakes at most `n` sleepers on the address; never dereferences it.
pub(super) fn wake(word: *const u32, n: u32) {
    futex::wake(word, n);
}

/// `sched_yield`.
pub(super) fn yield_now() {
    // SAFETY: no arguments, no memory; cannot fail.
    let _ = unsafe { kernel::call(libc::SYS_sched_yield, []) };
}

/// CLOCK_MONOTONIC in nanoseconds, whatever the program takes for it.
pub(super) fn now_ns() -> u64 {
    kernel::monotonic_ns()
}

/// The address of the thread's control block. A thread-local variable of ours would do too, but its first use in a
/// library that was loaded late allocates.
pub(super) fn thread_id() -> u64 {
    // SAFETY: no arguments, no memory; cannot fail.
    (unsafe { libc::pthread_self() }) as usize as u64
}

/// The core we run on. glibc answers from the restartable-sequences area of the thread, under 1 ns.
pub(super) fn current_core() -> u32 {
    // SAFETY: no arguments, no memory.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// The cores that may run us, less what the quota of our control group forbids. What cannot be found out (no `/proc`,
/// an unusual mount) limits nothing.
pub(super) fn parallelism() -> u32 {
    cores::count().min(cgroup::quota())
}

/// The CPU time that this process has had.
pub(super) fn process_time_ns() -> Option<u64> {
    let used = kernel::clock(libc::CLOCK_PROCESS_CPUTIME_ID);
    Some(used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64)
}

/// The memory nodes whose cores may run us, 0 before the loader has counted them.
#[inline]
pub(super) fn memory_nodes() -> u32 {
    nodes::known()
}

/// Whether the environment variable `name` is set to `value`.
pub(super) fn environment_is(name: &CStr, value: &CStr) -> bool {
    // SAFETY: `name` is a C string. The answer is null or a C string; see `Hardware` for who might change it meanwhile.
    let found = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: not null, so a C string, used before anything of ours could change the environment.
    !found.is_null() && unsafe { CStr::from_ptr(found) } == value
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ptr;

    #[test]
    fn errno_survives() {
        // SAFETY: there is no such file.
        assert_eq!(unsafe { libc::close(-1) }, -1);
        wait(&AtomicU32::new(1), 0, None);
        wait(&AtomicU32::new(0), 0, Some(1));
        wake(ptr::without_provenance(64), 1);
        parallelism();
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
    }
}
