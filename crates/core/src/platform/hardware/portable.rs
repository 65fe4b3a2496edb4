//! Any other system: what the standard library offers. Sleepers wait in a table of mutexes and condition variables,
//! found by the address that they sleep on.
//!
//! # What is weaker here
//! - Sleepers whose addresses fall into one bucket are woken together: each wake is a wake of all, spurious for most of
//!   them, and a lock's bound on awake waiters is lost.
//! - The mutexes are the standard library's; on some systems they allocate on first use. So ondeck's locks cannot be
//!   used inside an allocator, and the child of a fork may find a bucket locked for ever.
//! - The thread's identity is a thread-local variable, and the clock starts when it is first asked: both may allocate
//!   or take a lock of the standard library once.

extern crate std;

use crate::WaitEnd;
use crate::platform::atomic::upper_half;
use core::cell::Cell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// The sleepers of the addresses that fall here. On a cache line of its own.
#[repr(align(128))]
struct Bucket {
    /// Held between looking at the word and falling asleep, so that no wake comes in between.
    door: Mutex<()>,
    woken: Condvar,
}

/// 2 to the power of this are the buckets: few strangers meet, and the table takes 8 KiB.
const BUCKET_BITS: u32 = 6;
static BUCKETS: [Bucket; 1 << BUCKET_BITS] =
    [const { Bucket { door: Mutex::new(()), woken: Condvar::new() } }; 1 << BUCKET_BITS];

/// Sleeps while `word` holds `expected`, until woken or the monotonic clock reaches `deadline_ns`.
pub(super) fn wait(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> WaitEnd {
    wait_while(word.as_ptr(), || word.load(Relaxed) == expected, deadline_ns)
}

/// As [`wait`], for the upper half of `word`. All of it is compared, because a program must not read half of a word
/// that others change as a whole.
pub(super) fn wait_upper(word: &AtomicU64, expected: u64, deadline_ns: Option<u64>) -> WaitEnd {
    wait_while(upper_half(word.as_ptr()), || word.load(Relaxed) == expected, deadline_ns)
}

/// A wake takes the door after its caller has changed the word. So it either finds us asleep, or we find the change:
/// the door publishes it, and the look may be Relaxed.
fn wait_while(address: *const u32, is_unchanged: impl FnOnce() -> bool, deadline_ns: Option<u64>) -> WaitEnd {
    let bucket = bucket(address);
    let door = bucket.door.lock().unwrap_or_else(PoisonError::into_inner);
    if !is_unchanged() {
        return WaitEnd::Woken;
    }
    let Some(deadline) = deadline_ns else {
        drop(bucket.woken.wait(door));
        return WaitEnd::Woken;
    };
    let left = Duration::from_nanos(deadline.saturating_sub(now_ns()));
    drop(bucket.woken.wait_timeout(door, left));
    // No wake is meant for one sleeper here, so none is swallowed by saying that the time is over.
    if now_ns() >= deadline { WaitEnd::TimedOut } else { WaitEnd::Woken }
}

/// Wakes all sleepers on the address, and others; never dereferences it.
pub(super) fn wake(address: *const u32, n: u32) {
    if n > 0 {
        let bucket = bucket(address);
        drop(bucket.door.lock());
        bucket.woken.notify_all();
    }
}

/// Multiplication by a number without pattern (2^64 over the golden ratio) spreads addresses that are close together.
fn bucket(address: *const u32) -> &'static Bucket {
    let hash = (address.addr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &BUCKETS[(hash >> (u64::BITS - BUCKET_BITS)) as usize]
}

/// The standard library's.
pub(super) fn yield_now() {
    std::thread::yield_now();
}

/// Nanoseconds since the first call, and one.
pub(super) fn now_ns() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let age = ORIGIN.get_or_init(Instant::now).elapsed();
    u64::try_from(age.as_nanos()).unwrap_or(u64::MAX).saturating_add(1)
}

/// The address of a thread-local variable, which has no destructor, so that it can be asked for until the very end.
pub(super) fn thread_id() -> u64 {
    // A cell, because constants that nobody can change may be given one address for all threads.
    std::thread_local!(static MARK: Cell<u8> = const { Cell::new(0) });
    MARK.with(|mark| core::ptr::from_ref(mark).addr() as u64)
}

/// Unknown.
pub(super) fn current_core() -> u32 {
    0
}

/// Not asked.
#[cfg_attr(test, allow(dead_code, reason = "the tests of a system that has its own"))]
pub(super) fn process_time_ns() -> Option<u64> {
    None
}

/// The standard library's answer, which knows the affinity on some systems.
pub(super) fn parallelism() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
}

/// Not known.
pub(super) fn memory_nodes() -> u32 {
    0
}

/// Whether the environment variable `name` is set to `value`.
pub(super) fn environment_is(name: &CStr, value: &CStr) -> bool {
    let Ok(name) = name.to_str() else { return false };
    std::env::var_os(name).is_some_and(|found| found.as_encoded_bytes() == value.to_bytes())
}
