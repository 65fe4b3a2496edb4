//! Workloads on the simulated machine.
//!
//! A run knows cache lines by their addresses. So nothing that threads have shared is freed before the run is over: what
//! came to lie there next would find the line in some core, or not, as the allocator pleases.

use super::{CachePadded, Execution, Usage};
use ondeck_core::Platform;
use ondeck_lineage::monitor::{Pool, Side};
use ondeck_sim::machine::Machine;
use ondeck_sim::{Failure, Options, Outcome, Simulated, Thread};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

thread_local! {
    /// What the run on this thread of the system has shared.
    static KEPT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
    /// Its side objects, and the indices of those that no monitor has.
    static SIDES: RefCell<SideObjects> = const { RefCell::new(SideObjects { all: Vec::new(), free: Vec::new() }) };
    /// Its seed.
    static SEED: Cell<u64> = const { Cell::new(0) };
}

/// As [`ondeck_sim::run`], with nothing left of the run before.
pub(crate) fn run<R>(machine: &Machine, options: &Options, root: impl FnOnce() -> R) -> Result<Outcome<R>, Failure> {
    SIDES.with_borrow_mut(|sides| *sides = SideObjects::default());
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

/// The side objects of a run.
#[derive(Default)]
struct SideObjects {
    all: Vec<&'static CachePadded<Side<Simulated>>>,
    free: Vec<u32>,
}

/// Where simulated monitors find their side objects.
pub(crate) struct SideObjectsOfRun;

impl Pool<Simulated> for SideObjectsOfRun {
    fn side(index: u32) -> &'static Side<Simulated> {
        SIDES.with_borrow(|sides| &sides.all[index as usize].0)
    }

    fn take() -> Option<u32> {
        SIDES.with_borrow_mut(|sides| {
            if let Some(index) = sides.free.pop() {
                return Some(index);
            }
            // Never freed: a reference to it is for ever, and the next run wants one whose line nobody has touched.
            sides.all.push(Box::leak(Box::new(CachePadded(Side::new()))));
            Some(sides.all.len() as u32 - 1)
        })
    }

    fn give_back(index: u32) {
        SIDES.with_borrow_mut(|sides| sides.free.push(index));
    }
}
