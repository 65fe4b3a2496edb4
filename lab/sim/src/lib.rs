//! A simulated many-core machine that locks run on, unchanged and reproducibly.
//!
//! `workloads` runs locks on it for `ondeck sim`, and `conformance` tests them on it. Begin with [`Machine`], what
//! is simulated; [`run`]; [`Outcome`], what came out.
//!
//! [`Simulated`] is a [`Platform`](ondeck_core::Platform): a lock that is written over the platform runs on it as it
//! stands. Its threads are coroutines in one thread of the system; its time is an integer that only the cost of what
//! they do moves on. What is modelled: cache lines with owners, sharers and one request at a time; distances between
//! cores; store buffers; pauses; hardware threads that share a core; kinds of cores; futexes with the buckets that the
//! kernel keeps them in; latency and placement of wakes; run queues, time slices, preemption. What is not: the
//! instructions in between, the capacity of caches, bandwidth, prefetching. Memory is sequentially consistent but for the
//! store buffers, so orderings that are too weak are not found here; that is what `loom` is for.
//!
//! Nothing here knows any lock.
//!
//! # Example
//! A lock of a few lines, on four cores:
//! ```
//! use ondeck_core::{Atomic, Platform};
//! use ondeck_sim::{Options, SimU32, Simulated, machine};
//! use std::sync::Arc;
//! use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
//!
//! fn with_lock<P: Platform>(word: &P::U32, section: impl FnOnce()) {
//!     while word.swap(1, Acquire) == 1 {
//!         P::pause_ns(100);
//!     }
//!     section();
//!     word.store(0, Release);
//! }
//!
//! let machine = machine::find("rpi5", None)?;
//! let words: Arc<[SimU32; 2]> = Arc::new([0, 0].map(Atomic::new));
//! let outcome = ondeck_sim::run(&machine, &Options::default(), || {
//!     let start = |cpu| {
//!         let words = words.clone();
//!         let add = move || with_lock::<Simulated>(&words[0], || words[1].store(words[1].load(Relaxed) + 1, Relaxed));
//!         Simulated::start_thread(Some(cpu), Box::new(move || (0..100).for_each(|_| add())))
//!     };
//!     [0, 1, 2, 3].map(start).into_iter().for_each(Simulated::join);
//!     words[1].load(Relaxed)
//! });
//! assert_eq!(outcome.expect("nobody sleeps on a spin lock").value, 400);
//! # Ok::<(), String>(())
//! ```

mod atomics;
mod engine;
pub mod machine;
mod outcome;
mod platform;
pub mod timeline;

pub use atomics::{SimPtr, SimU32, SimU64};
pub use engine::random::Random;
pub use outcome::{Failure, Options, Outcome};
pub use platform::{Simulated, Thread};

use machine::Machine;

/// Runs `root` on `machine`, and the threads that it starts, until it returns.
///
/// `root` is an observer: what it does takes no CPU and moves no line; it can start threads, sleep, wait for them and
/// look at what they have done. Threads that are not gone when it returns are left where they are, and what they own is
/// never dropped.
///
/// # Errors
/// If nothing can happen any more before `root` has returned, or if a thread panicked.
///
/// # Panics
/// If called from within a run.
pub fn run<R>(machine: &Machine, options: &Options, root: impl FnOnce() -> R) -> Result<Outcome<R>, Failure> {
    engine::run(machine, options, root)
}
