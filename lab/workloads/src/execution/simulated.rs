//! Workloads on the simulated machine.
//!
//! A run knows cache lines by their addresses. So nothing that threads have shared is freed before the run is over: what
//! came to lie there next would find the line in some core, or not, as the allocator pleases.

use super::{Execution, Usage};
use ondeck_core::Platform;
use ondeck_sim::machine::Machine;
use ondeck_sim::{Failure, Options, Outcome, Simulated, Thread};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

thread_local! {
    /// What the run on this thread of the system has shared.
    static KEPT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
    /// Its seed.
    static SEED: Cell<u64> = const { Cell::new(0) };
}

/// As [`ondeck_sim::run`], with nothing left of the run before.
pub(crate) fn run<R>(machine: &Machine, options: &Options, root: impl FnOnce() -> R) -> Result<Outcome<R>, Failure> {
    SEED.set(options.seed);
    let outcome = ondeck_sim::run(machine, options, root);
    drop(KEPT.take());
    outcome
}

impl Execution for Simulated {
    const NAME: &'static str = "sim";

    type Thread = Thread;

    fn cores() -> Vec<u32> {
        (0..Simulated::parallelism()).collect()
    }

    fn start_thread(core: Option<u32>, body: Box<dyn FnOnce() + Send>) -> Result<Thread, String> {
        Ok(Simulated::start_thread(core, body))
    }

    fn join(thread: Thread) {
        Simulated::join(thread);
    }

    #[inline]
    fn spend(units: u32) {
        if units > 0 {
            Simulated::work(units);
        }
    }

    #[inline]
    fn instructions(cycles: u32) {
        Simulated::work(cycles);
    }

    #[inline]
    fn fib(n: u32) -> u32 {
        Simulated::fib(n)
    }

    #[inline]
    fn barrier() {
        Simulated::barrier();
    }

    #[inline]
    fn unpreempted<R>(code: impl FnOnce() -> R) -> R {
        Simulated::unpreempted(code)
    }

    fn usage() -> Usage {
        let (cpu_ns, ctx_switches) = Simulated::usage();
        Usage { cpu_ns, ctx_switches }
    }

    fn seed() -> Option<u64> {
        Some(SEED.get())
    }

    fn standstill() -> Option<String> {
        Some(Simulated::standstill())
    }

    fn keep<T: ?Sized + Send + Sync + 'static>(shared: Arc<T>) {
        KEPT.with_borrow_mut(|kept| kept.push(Box::new(shared)));
    }

    fn sleep_ns(ns: u64) {
        Simulated::sleep_ns(ns);
    }
}
