//! What a workload needs of an execution besides what a lock needs: threads, work, lines of memory, and the books the
//! system keeps.
//!
//! A workload is written once over a lock and an [`Execution`]. Everything that it does to shared memory goes through the
//! atomics of [`Platform`], so that a simulated machine charges for it. What the measuring does (counting operations,
//! knowing when to stop) does not: it uses ordinary atomics and is free of charge there.

pub(crate) mod simulated;

pub use ondeck_core::Hardware;
pub use ondeck_sim::Simulated;

use ondeck_core::{Atomic, Platform, WaitEnd};
use ondeck_sim::Random;
use std::hint::black_box;
use std::mem;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::fence;

/// How many threads can run at once on this machine.
pub fn cpus() -> u32 {
    Hardware::parallelism()
}

/// Something alone on its cache lines. Two lines, because processors fetch them in pairs.
#[repr(align(128))]
pub(crate) struct CachePadded<T>(pub(crate) T);

/// What the process has used since it began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// CPU time of all threads, user and system.
    pub cpu_ns: u64,
    /// Context switches of all threads, voluntary or not.
    pub ctx_switches: u64,
}

/// An execution that threads can be started in and measured in.
pub trait Execution: Platform {
    /// What the column `platform` of a result says.
    const NAME: &'static str;

    /// A thread that was started. Dropping it lets the thread run on by itself.
    type Thread: Send;

    /// The cores that threads may be pinned to.
    fn cores() -> Vec<u32>;

    /// Starts a thread, on `core` only if one is given. The error says what the system said.
    fn start_thread(core: Option<u32>, body: Box<dyn FnOnce() + Send>) -> Result<Self::Thread, String>;

    /// Waits until the thread is gone.
    fn join(thread: Self::Thread);

    /// Spends `units` units of work: turns of an empty loop.
    fn spend(units: u32);

    /// Instructions that the hardware executes by itself, `cycles` of them: spent where only atomic operations take time.
    fn instructions(_cycles: u32) {}

    /// The Fibonacci number `n` by naive recursion, for workloads whose originals work like that: 9 calls for 4, 109 for
    /// 9.
    fn fib(n: u32) -> u32;

    /// Adds one with a plain load and store, as ordinary data under a lock is changed: a second thread inside loses an
    /// update. (Atomics only because a broken lock must be found out, not be undefined behaviour.)
    #[inline(always)]
    fn add_one(count: &Self::U64) {
        count.store(count.load(Relaxed) + 1, Relaxed);
    }

    /// A full barrier: all stores of the thread are seen before any load that follows.
    fn barrier();

    /// Does `code` as a kernel does what it must not be preempted in, where that can be had.
    fn unpreempted<R>(code: impl FnOnce() -> R) -> R {
        code()
    }

    /// What the process has used.
    fn usage() -> Usage;

    /// What decides the chances of this execution. `None` where the machine brings chance enough: there the threads of a
    /// workload draw the same numbers each time.
    fn seed() -> Option<u64> {
        None
    }

    /// What thread number `me` of a workload draws.
    fn random(me: u32) -> Random {
        let seed = Self::seed().map_or(0, |seed| Random::new(seed).next());
        Random::new(seed ^ u64::from(me))
    }

    /// What every thread is at, of threads that seem to be stuck; `None` where it cannot be known.
    fn standstill() -> Option<String> {
        None
    }

    /// Keeps what threads have shared until the run is over, on a platform that knows things by their addresses: what
    /// comes to lie there next would be taken for it.
    fn keep<T: ?Sized + Send + Sync + 'static>(_shared: std::sync::Arc<T>) {}

    /// Sleeps for `ns` nanoseconds.
    fn sleep_ns(ns: u64) {
        let never = Self::U32::new(0);
        let deadline_ns = Self::now_ns() + ns;
        // Ends at the deadline: nobody else knows the word, so nothing but spurious wakes comes before.
        while Self::wait_on(&never, 0, Some(deadline_ns)) != WaitEnd::TimedOut {}
    }

    /// How many nanoseconds one of [`Platform::ticks`] lasts.
    fn ns_per_tick() -> f64 {
        const SECOND_NS: u64 = 1_000_000_000;
        SECOND_NS as f64 / Self::ns_to_ticks(SECOND_NS) as f64
    }
}

/// Stack of a worker: workloads need a few pages, and there may be a thousand of them.
const STACK_BYTES: usize = 128 * 1024;

impl Execution for Hardware {
    const NAME: &'static str = "hardware";

    type Thread = std::thread::JoinHandle<()>;

    fn cores() -> Vec<u32> {
        let Some(set) = affinity() else { return Vec::new() };
        // SAFETY: CPU_ISSET reads one bit of a set that we own; the index is below the size of the set.
        (0..libc::CPU_SETSIZE as usize)
            .filter(|&core| unsafe { libc::CPU_ISSET(core, &set) })
            .map(|c| c as u32)
            .collect()
    }

    fn start_thread(core: Option<u32>, body: Box<dyn FnOnce() + Send>) -> Result<Self::Thread, String> {
        let builder = std::thread::Builder::new().name("ondeck-worker".into()).stack_size(STACK_BYTES);
        let thread = builder.spawn(body).map_err(|error| error.to_string())?;
        match core {
            Some(core) => pin(&thread, core).map(|()| thread),
            None => Ok(thread),
        }
    }

    fn join(thread: Self::Thread) {
        // A worker that panicked has said so on standard error and left its counter behind, so the check that follows
        // fails too; there is nothing to add here.
        let _ = thread.join();
    }

    #[inline(always)]
    fn spend(units: u32) {
        if units > 0 {
            turn_in_place(units);
        }
    }

    #[inline(always)]
    fn fib(n: u32) -> u32 {
        fib(n)
    }

    #[inline(always)]
    fn barrier() {
        fence(SeqCst);
    }

    fn usage() -> Usage {
        // SAFETY: an all-zero rusage is a valid value of a struct of integers.
        let mut usage: libc::rusage = unsafe { mem::zeroed() };
        // SAFETY: writes one rusage that we own.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
        Usage {
            cpu_ns: ns_of(usage.ru_utime) + ns_of(usage.ru_stime),
            ctx_switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
        }
    }
}

/// The empty loop: one cycle per turn, no memory touched. It is kept out of line so that there is one of it; inlined,
/// it would be compiled and aligned differently into the loop of each lock.
#[inline(never)]
fn turn_in_place(units: u32) {
    for _ in 0..units {
        black_box(());
    }
}

/// As the definition has it. The compiler would turn one of the two calls into a loop if it were not kept from it.
#[inline(never)]
fn fib(n: u32) -> u32 {
    if n < 2 { 1 } else { black_box(fib(n - 1)) + black_box(fib(n - 2)) }
}

fn ns_of(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

/// The cores that this thread may run on.
fn affinity() -> Option<libc::cpu_set_t> {
    // SAFETY: an all-zero set is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: writes at most the stated size into a set that we own; 0 is the calling thread.
    let answer = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    (answer == 0).then_some(set)
}

/// Lets `thread` run on `core` only.
fn pin(thread: &std::thread::JoinHandle<()>, core: u32) -> Result<(), String> {
    use std::os::unix::thread::JoinHandleExt;
    // SAFETY: an all-zero set is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: sets one bit of a set that we own; `core` comes from `Execution::cores` and is below the size of the set.
    unsafe { libc::CPU_SET(core as usize, &mut set) };
    // SAFETY: the handle has not been joined, so its pthread is valid; the set is read only.
    let error = unsafe { libc::pthread_setaffinity_np(thread.as_pthread_t(), size_of::<libc::cpu_set_t>(), &set) };
    match error {
        0 => Ok(()),
        error => Err(format!("cannot pin it to core {core}: {}", std::io::Error::from_raw_os_error(error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_and_spending_take_time() {
        let start = Hardware::now_ns();
        Hardware::sleep_ns(2_000_000);
        assert!(Hardware::now_ns() - start >= 2_000_000);
        let before = Hardware::usage();
        Hardware::spend(20_000_000);
        assert!(Hardware::usage().cpu_ns > before.cpu_ns);
    }

    #[test]
    fn numbers_by_recursion() {
        assert_eq!([4, 9].map(Hardware::fib), [5, 55]);
    }

    #[test]
    fn there_is_a_core_to_pin_to() {
        let core = Hardware::cores()[0];
        let thread = Hardware::start_thread(Some(core), Box::new(|| ())).unwrap();
        Hardware::join(thread);
    }

    #[test]
    fn threads_draw_the_same_each_time_where_there_is_no_seed() {
        for me in [0, 3] {
            let (mut of_thread, mut plain) = (Hardware::random(me), Random::new(me.into()));
            assert_eq!(of_thread.next(), plain.next());
        }
    }
}
