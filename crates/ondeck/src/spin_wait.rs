//! Waiting for a state that another thread leaves soon.

use ondeck_platform::Hardware;

pub use ondeck_locks::spin_wait::{Nap, SpinPolicy};

/// A thread's wait for something that another thread does soon: on the core for a bounded time, then yielding it
/// between looks, then sleeping between them if the [`SpinPolicy`] says so.
///
/// It has the methods of `crossbeam_utils::Backoff`, with a budget in nanoseconds instead of turns:
///
/// | `Backoff` | `SpinWait` | what is different |
/// |---|---|---|
/// | `new` | [`new`](SpinWait#method.new) | and [`with_policy`](SpinWait#method.with_policy) for another budget |
/// | `spin` | [`spin`](SpinWait#method.spin) | nothing: 1, 2, 4 ... 64 pauses |
/// | `snooze` | [`snooze`](SpinWait#method.snooze) | one pause per call for 5 us, not 127 pauses in 7 calls; after a yield, 2.5 us on the core again |
/// | `is_completed` | [`is_completed`](SpinWait#method.is_completed) | true from the first yield on, not from the fourth |
/// | `reset` | [`reset`](SpinWait#method.reset) | nothing |
/// | a loop around `snooze` | [`wait_until`](SpinWait#method.wait_until), [`wait_for`](SpinWait#method.wait_for) | begin a new wait by themselves |
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
/// A thread that can be woken spins first and parks then:
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
/// Spins, yields, and sleeps only with a [`Nap`]. With `ONDECK_SPIN=0` in the environment, or on one core, it does not
/// spin: every [`snooze`](SpinWait#method.snooze) yields or naps.
///
/// # Fairness
/// None: it is not a lock. Whoever looks at the right moment sees the state.
pub type SpinWait = ondeck_locks::SpinWait<Hardware>;
