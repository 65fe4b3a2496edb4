//! Windows 8 and later: `WaitOnAddress` and its relatives.
//!
//! `WaitOnAddress` counts milliseconds from now and keeps its sleepers in a table of the process, by address. It spins
//! a little before it sleeps, on the sleeper's own record.

use crate::WaitEnd;
use crate::platform::atomic::upper_half;
use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// A truth value of the Windows API: zero is false.
type Bool = i32;

const INFINITE: u32 = u32::MAX;
const ERROR_TIMEOUT: u32 = 1460;
const ALL_PROCESSOR_GROUPS: u16 = 0xffff;

// The functions live in the library that their documentation names; `raw-dylib` needs no import library.
#[link(name = "api-ms-win-core-synch-l1-2-0", kind = "raw-dylib")]
unsafe extern "system" {
    fn WaitOnAddress(address: *const c_void, compare: *const c_void, size: usize, milliseconds: u32) -> Bool;
    fn WakeByAddressSingle(address: *const c_void);
    fn WakeByAddressAll(address: *const c_void);
}

#[link(name = "kernel32", kind = "raw-dylib")]
unsafe extern "system" {
    fn GetLastError() -> u32;
    fn SwitchToThread() -> Bool;
    fn QueryPerformanceCounter(count: *mut i64) -> Bool;
    fn QueryPerformanceFrequency(frequency: *mut i64) -> Bool;
    fn GetCurrentThreadId() -> u32;
    fn GetCurrentProcessorNumber() -> u32;
    fn GetCurrentProcess() -> *mut c_void;
    fn GetProcessAffinityMask(process: *mut c_void, ours: *mut usize, of_system: *mut usize) -> Bool;
    fn GetActiveProcessorCount(group: u16) -> u32;
    fn GetNumaHighestNodeNumber(highest: *mut u32) -> Bool;
    fn GetEnvironmentVariableW(name: *const u16, value: *mut u16, size: u32) -> u32;
}

/// Sleeps while `*word == expected`, until woken or the monotonic clock reaches `deadline_ns`.
pub(super) fn wait(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd {
    wait_on_address(word.as_ptr(), expected, deadline_ns)
}

/// As [`wait`], for the upper half of `word`: the system compares that half only.
pub(super) fn wait_upper(word: &AtomicU64, expected: u64, deadline_ns: Option<u64>) -> WaitEnd {
    wait_on_address(upper_half(word.as_ptr()), (expected >> 32) as u32, deadline_ns)
}

fn wait_on_address(word: *const u32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd {
    let timeout_ms = match deadline_ns.map(|deadline| deadline.saturating_sub(now_ns())) {
        None => INFINITE,
        Some(0) => return WaitEnd::TimedOut,
        // Rounded up; what does not fit (49 days) ends in a wake for no reason.
        Some(ns) => u32::try_from(ns.div_ceil(1_000_000)).unwrap_or(INFINITE).min(INFINITE - 1),
    };
    let compare = ptr::from_ref(&expected).cast();
    // SAFETY: `word` is aligned and alive (callers hold a reference to it), `compare` points to a local of that size.
    let is_woken = unsafe { WaitOnAddress(word.cast(), compare, size_of::<u32>(), timeout_ms) } != 0;
    // A woken thread must not say that it timed out, however late it is: it would swallow the wake.
    // SAFETY: no arguments, no memory.
    let is_timeout = !is_woken && unsafe { GetLastError() } == ERROR_TIMEOUT;
    let is_over = is_timeout && deadline_ns.is_some_and(|deadline| now_ns() >= deadline);
    if is_over { WaitEnd::TimedOut } else { WaitEnd::Woken }
}

/// Wakes one sleeper on the address, or all if `n` is more than one; never dereferences it.
pub(super) fn wake(word: *const u32, n: u32) {
    match n {
        0 => {}
        // SAFETY: the address is a key here.
        1 => unsafe { WakeByAddressSingle(word.cast()) },
        // SAFETY: the address is a key here.
        _ => unsafe { WakeByAddressAll(word.cast()) },
    }
}

/// `SwitchToThread`: yields to threads that are ready to run on this core.
pub(super) fn yield_now() {
    // SAFETY: no arguments, no memory.
    unsafe { SwitchToThread() };
}

/// The performance counter, in nanoseconds.
pub(super) fn now_ns() -> u64 {
    let (mut count, mut hz) = (0, 0);
    // SAFETY: writes one integer that we own; cannot fail on the systems that have `WaitOnAddress`.
    unsafe { QueryPerformanceCounter(&mut count) };
    // SAFETY: as above. The frequency is fixed at boot and read without a system call.
    unsafe { QueryPerformanceFrequency(&mut hz) };
    let (count, hz) = (count as u64, (hz as u64).max(1));
    // Split, because the product with 10^9 would not fit.
    (count / hz) * 1_000_000_000 + (count % hz) * 1_000_000_000 / hz
}

/// The number that the system gives to the thread.
pub(super) fn thread_id() -> u64 {
    // SAFETY: no arguments, no memory; cannot fail.
    u64::from(unsafe { GetCurrentThreadId() })
}

/// The core we run on, counted within its group of 64.
pub(super) fn current_core() -> u32 {
    // SAFETY: no arguments, no memory.
    unsafe { GetCurrentProcessorNumber() }
}

/// Not asked.
pub(super) fn process_time_ns() -> Option<u64> {
    None
}

/// The cores that the process's affinity allows. The rate limit of a job object is not looked at.
pub(super) fn parallelism() -> u32 {
    let (mut ours, mut of_system) = (0, 0);
    // SAFETY: takes nothing, and gives a constant that stands for this process.
    let process = unsafe { GetCurrentProcess() };
    // SAFETY: writes two masks that we own.
    let is_known = unsafe { GetProcessAffinityMask(process, &mut ours, &mut of_system) } != 0;
    if is_known && ours != of_system && ours != 0 {
        return ours.count_ones();
    }
    // Not restricted, or spread over several groups of 64, which a mask cannot say.
    // SAFETY: no memory.
    unsafe { GetActiveProcessorCount(ALL_PROCESSOR_GROUPS) }
}

/// Those of the machine, whatever the affinity is. The answer does not change while the system runs.
pub(super) fn memory_nodes() -> u32 {
    let mut highest = 0;
    // SAFETY: writes one integer that we own.
    let is_told = unsafe { GetNumaHighestNodeNumber(&mut highest) } != 0;
    if is_told { highest.saturating_add(1) } else { 0 }
}

/// Whether the environment variable `name` is set to `value`; both short, in ASCII and not empty.
pub(super) fn environment_is(name: &CStr, value: &CStr) -> bool {
    let mut wide_name = [0; 32];
    let name = name.to_bytes();
    assert!(name.len() < wide_name.len(), "the name and its NUL fit");
    wide_name.iter_mut().zip(name).for_each(|(wide, &byte)| *wide = u16::from(byte));
    let mut found = [0; 16];
    // SAFETY: the name ends with NUL; at most 16 units are written, into a buffer of that size.
    let length = unsafe { GetEnvironmentVariableW(wide_name.as_ptr(), found.as_mut_ptr(), found.len() as u32) };
    // Zero: not set. More than there is room for: a longer value, which is not written.
    let found = found.get(..length as usize).unwrap_or_default();
    length > 0 && found.iter().copied().eq(value.to_bytes().iter().map(|&byte| u16::from(byte)))
}
