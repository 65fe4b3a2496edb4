//! What no real machine can be asked to do: locks on simulated cores that never write twice while another wants the line.

use ondeck_locks::RawLock;
use ondeck_locks::ondeck::{BALANCED, RawOndeck};
use ondeck_platform::{Atomic, Platform};
use ondeck_sim::machine::{self, Machine};
use ondeck_sim::{Options, SimU64, Simulated};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

const RUN_NS: u64 = 5_000_000;
/// Cycles.
const INSIDE: u32 = 20;
const OUTSIDE: u32 = 60;

#[repr(align(128))]
struct Alone<T>(T);

/// A lock that is wanted again and again, and what became of it.
struct Wanted {
    lock: Alone<RawOndeck<Simulated>>,
    count: Alone<SimU64>,
    is_over: Alone<AtomicBool>,
    longest_wait_ns: AtomicU64,
}

impl Wanted {
    fn want(&self) {
        while !self.is_over.0.load(Relaxed) {
            let asked_at = Simulated::now_ns();
            self.lock.0.acquire();
            self.longest_wait_ns.fetch_max(Simulated::now_ns() - asked_at, Relaxed);
            let count = self.count.0.load(Relaxed);
            Simulated::work(INSIDE);
            self.count.0.store(count + 1, Relaxed);
            // SAFETY: acquired above.
            unsafe { self.lock.0.release() };
            Simulated::work(OUTSIDE);
        }
    }
}

/// How often `n_threads` have had the lock, and the longest wait in nanoseconds.
fn contend(machine: &Machine, n_threads: u32) -> (u64, u64) {
    let outcome = ondeck_sim::run(machine, &Options { seed: 1, record: false }, || {
        let wanted = Arc::new(Wanted {
            lock: Alone(RawOndeck::new()),
            count: Alone(Atomic::new(0)),
            is_over: Alone(AtomicBool::new(false)),
            longest_wait_ns: AtomicU64::new(0),
        });
        let start = |_| {
            let wanted = wanted.clone();
            Simulated::start_thread(None, Box::new(move || wanted.want()))
        };
        let threads: Vec<_> = (0..n_threads).map(start).collect();
        Simulated::sleep_ns(RUN_NS);
        wanted.is_over.0.store(true, Relaxed);
        threads.into_iter().for_each(Simulated::join);
        (wanted.count.0.load(Relaxed), wanted.longest_wait_ns.load(Relaxed))
    });
    outcome.expect("the run ends").value
}

/// Where a line that others wait for is always gone after one operation, no compare-exchange that was prepared by a load
/// ever meets the value that the load saw, as long as a holder writes all the time.
#[test]
fn nobody_needs_luck_against_the_holder() {
    let mut machine = machine::find("epyc-2x48", None).expect("a machine that there is");
    machine.memory.write_again = 0;
    let (alone, _) = contend(&machine, 1);
    for n_threads in [2, 4, 16] {
        let (count, longest_wait_ns) = contend(&machine, n_threads);
        assert!(count > alone * 3 / 4, "{n_threads} threads: {count} acquisitions, one alone {alone}");
        let promised_ns = BALANCED.longest_wait_ns(n_threads - 1, 1_000, 50_000);
        assert!(longest_wait_ns < promised_ns, "{n_threads} threads: waited {longest_wait_ns} ns of {promised_ns}");
    }
}
