//! Waiting for a state that another thread leaves soon.

use ondeck_core::Hardware;

pub use ondeck_core::spin_wait::{Nap, SpinPolicy};

/// A thread's wait for something that another thread does soon.
///
/// The wait first spins for a bounded time. Then it yields the core between two looks. If the [`SpinPolicy`] says so,
/// it later sleeps between two looks.
///
/// It has the methods of `crossbeam_utils::Backoff`. Its budget is in nanoseconds, and not in turns:
///
/// | `Backoff` | `SpinWait` | what is different |
/// |---|---|---|
/// | `new` | [`new`](SpinWait#method.new) | [`with_policy`](SpinWait#method.with_policy) sets another budget |
/// | `spin` | [`spin`](SpinWait#method.spin) | nothing: 1, 2, 4 ... 64 pauses |
/// | `snooze` | [`snooze`](SpinWait#method.snooze) | one pause per call for 5 us, not 127 pauses in 7 calls; 2.5 us of pauses after each yield |
/// | `is_completed` | [`is_completed`](SpinWait#method.is_completed) | true from the first yield on, not from the fourth |
/// | `reset` | [`reset`](SpinWait#method.reset) | nothing |
/// | a loop around `snooze` | [`wait_until`](SpinWait#method.wait_until), [`wait_for`](SpinWait#method.wait_for) | each call begins a new wait |
///
/// # Example
/// ```
/// use ondeck::{Nap, SpinPolicy, SpinWait};
/// use std::sync::atomic::{AtomicBool, Ordering::{Acquire, Release}};
/// use std::time::Duration;
///
/// let is_ready = AtomicBool::new(false);
/// std::thread::scope(|scope| {
///     scope.spawn(|| is_ready.store(true, Release));
///     SpinWait::new().wait_until(|| is_ready.load(Acquire));
/// });
///
/// // A state that may last: 10 us of spinning, then yields, and after a millisecond 100 us of sleep between looks.
/// let nap = Some(Nap { after_ns: 1_000_000, length_ns: 100_000 });
/// let wait = SpinWait::with_policy(SpinPolicy { nap, ..SpinPolicy::SCAN_WAIT });
/// assert!(!wait.wait_for(Duration::from_millis(2), || !is_ready.load(Acquire)));
/// ```
///
/// If the waiting thread can be woken, let it spin first and then park:
/// ```
/// use ondeck::SpinWait;
/// use std::sync::atomic::{AtomicBool, Ordering::{Acquire, Release}};
/// use std::thread;
///
/// let (is_ready, waiter) = (AtomicBool::new(false), thread::current());
/// thread::scope(|scope| {
///     scope.spawn(|| {
///         is_ready.store(true, Release);
///         waiter.unpark();
///     });
///     let wait = SpinWait::new();
///     while !is_ready.load(Acquire) {
///         if wait.is_completed() { thread::park() } else { wait.snooze() }
///     }
/// });
/// ```
///
/// # Blocking
/// It spins and yields. It sleeps only if its policy has a [`Nap`]. With `ONDECK_SPIN=0` in the environment, or on one
/// core, it does not spin: every [`snooze`](SpinWait#method.snooze) yields or naps.
///
/// # Fairness
/// None, as it is not a lock. A thread sees the state if it looks at the right moment.
pub type SpinWait = ondeck_core::SpinWait<Hardware>;
