//! macOS: `__ulock_wait` and `__ulock_wake`.
//!
//! Why not `os_sync_wait_on_address`, which is documented? It came with macOS 14.4, so a program for older systems has
//! to look it up with `dlsym`, which takes the dynamic linker's locks: on the slow path of a lock that may guard an
//! allocator or be taken in an initialiser, that is a deadlock in waiting. The calls here are in every macOS that Rust
//! supports, need no look-up, are what the documented ones are made of, and are what LLVM's C++ library links against
//! for `std::atomic::wait`, so programs in the field keep them from changing. The price: programs for the App Store
//! may not name them. (iOS and its relatives, which have no other way in, use the portable file.)
//!
//! Priority is not donated to the holder: the kernel does not know who that is.

use crate::WaitEnd;
use crate::platform::atomic::upper_half;
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Compare 32 bits, and be woken from this process only.
const UL_COMPARE_AND_WAIT: u32 = 1;
const ULF_WAKE_ALL: u32 = 0x100;
/// Return an error as a negative number instead of changing `errno`.
const ULF_NO_ERRNO: u32 = 0x0100_0000;

unsafe extern "C" {
    fn __ulock_wait(operation: u32, address: *const c_void, value: u64, timeout_us: u32) -> c_int;
    fn __ulock_wake(operation: u32, address: *const c_void, wake_value: u64) -> c_int;
    fn clock_gettime_nsec_np(clock: libc::clockid_t) -> u64;
}

/// Sleeps while `*word == expected`, until woken or the monotonic clock reaches `deadline_ns`.
pub(super) fn wait(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd {
    ulock_wait(word.as_ptr(), expected, deadline_ns)
}

/// As [`wait`], for the upper half of `word`: the kernel compares that half only.
pub(super) fn wait_upper(word: &AtomicU64, expected: u64, deadline_ns: Option<u64>) -> WaitEnd {
    ulock_wait(upper_half(word.as_ptr()), (expected >> 32) as u32, deadline_ns)
}

fn ulock_wait(word: *const u32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd {
    const FOREVER: u32 = 0;
    let timeout_us = match deadline_ns.map(|deadline| deadline.saturating_sub(now_ns())) {
        None => FOREVER,
        Some(0) => return WaitEnd::TimedOut,
        // Rounded up; what does not fit (over an hour) ends in a wake for no reason.
        Some(ns) => u32::try_from(ns.div_ceil(1000)).unwrap_or(u32::MAX),
    };
    let operation = UL_COMPARE_AND_WAIT | ULF_NO_ERRNO;
    // SAFETY: `word` is aligned and alive: callers hold a reference to it.
    let answer = unsafe { __ulock_wait(operation, word.cast(), u64::from(expected), timeout_us) };
    // A woken thread must not say that it timed out, however late it is: it would swallow the wake.
    let is_over = answer == -libc::ETIMEDOUT && deadline_ns.is_some_and(|deadline| now_ns() >= deadline);
    if is_over { WaitEnd::TimedOut } else { WaitEnd::Woken }
}

/// Wakes one sleeper on the address, or all if `n` is more than one; never dereferences it.
pub(super) fn wake(word: *const u32, n: u32) {
    let all = match n {
        0 => return,
        1 => 0,
        _ => ULF_WAKE_ALL,
    };
    // Interrupted, it has woken nobody. Any other error is that nobody sleeps.
    // SAFETY: the address is a key here.
    while unsafe { __ulock_wake(UL_COMPARE_AND_WAIT | ULF_NO_ERRNO | all, word.cast(), 0) } == -libc::EINTR {}
}

/// `sched_yield`.
pub(super) fn yield_now() {
    // SAFETY: no arguments, no memory; cannot fail.
    unsafe { libc::sched_yield() };
}

/// The clock that `__ulock_wait` counts on: it stands still while the machine sleeps.
pub(super) fn now_ns() -> u64 {
    // SAFETY: no memory; the clock exists since macOS 10.12.
    unsafe { clock_gettime_nsec_np(libc::CLOCK_UPTIME_RAW) }
}

/// The address of the thread's structure. The first use of a thread-local variable of ours would allocate.
pub(super) fn thread_id() -> u64 {
    // SAFETY: no arguments, no memory; cannot fail.
    (unsafe { libc::pthread_self() }) as u64
}

/// Unknown: the call that tells is missing before macOS 11.
pub(super) fn current_core() -> u32 {
    0
}

/// Not asked.
pub(super) fn process_time_ns() -> Option<u64> {
    None
}

/// The cores of the machine: macOS has neither affinity nor quotas.
pub(super) fn parallelism() -> u32 {
    // SAFETY: no memory; reads a number that the kernel keeps.
    u32::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1)
}

/// Macs have one.
pub(super) fn memory_nodes() -> u32 {
    1
}

/// Whether the environment variable `name` is set to `value`.
pub(super) fn environment_is(name: &CStr, value: &CStr) -> bool {
    // SAFETY: `name` is a C string. The answer is null or a C string; see `Hardware` for who might change it meanwhile.
    let found = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: not null, so a C string, used before anything of ours could change the environment.
    !found.is_null() && unsafe { CStr::from_ptr(found) } == value
}
