//! A machine with round figures, for timelines that can be computed by hand.

use ondeck_core::{Atomic, Platform};
use ondeck_sim::machine::{CoreKind, Cpu, Machine, Memory, Os, Policy};
use ondeck_sim::{Failure, Options, Outcome, SimU32, SimU64, Simulated};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// From one core to another, in nanoseconds.
pub(crate) const D: u64 = 48;
/// In picoseconds.
pub(crate) const MS: u64 = 1_000_000_000;
pub(crate) const US: u64 = 1_000_000;

/// `n` cores, 48 ns from each other: a hit takes 1 ns, a read-modify-write 4, a pause 10, a system call 100.
pub(crate) fn toy(n: u32) -> Machine {
    let kind = CoreKind {
        name: "toy".into(),
        hit_ps: 1_000,
        rmw_ps: 4_000,
        store_ps: 300,
        sibling_ps: 0,
        barrier_ps: 5_000,
        pause_ps: 10_000,
        pause_jitter: 0,
        work_ps: 1_000,
        fib_call_ps: 2_000,
        ticks_ps: 0,
        clock_ps: 0,
        yield_ps: 100_000,
        smt_slowdown: 1_000,
        smt_pausing: 1_000,
        derate: 0,
    };
    let memory = Memory {
        read_owned: 1_000,
        read_shared_ps: 5_000,
        llc: 1_000,
        write: 1_000,
        upgrade: 900,
        per_sharer_ps: 0,
        write_again: 0,
        ahead_ps: 0,
        way_jitter: 0,
        store_buffer: 8,
        far_atomics: None,
    };
    Machine {
        name: "toy".into(),
        about: "a toy".into(),
        hash: 0,
        guesses: 0,
        figures: 0,
        line_bytes: 64,
        kinds: vec![kind],
        cpus: (0..n).map(|core| Cpu { core, kind: 0, socket: 0, node: 0, rank: 0 }).collect(),
        cores: n,
        distance_ps: (0..n * n).map(|at| if at / n == at % n { 0 } else { 1000 * D as u32 }).collect(),
        memory,
        os: os(),
    }
}

/// A system with round figures.
pub(crate) fn os() -> Os {
    Os {
        policy: Policy::Fair {
            latency_ps: 6_000_000_000,
            slice_ps: 3_000_000_000,
            wakeup_granularity_ps: 1_000_000_000,
        },
        syscall_ps: 100_000,
        wake_none_ps: 120_000,
        wake_call_ps: 700_000,
        sleep_ps: 500_000,
        resume_ps: 300_000,
        bucket_ps: 200_000,
        buckets: 64,
        wake_latency_ps: 2_000_000,
        wake_deeper_ps: 0,
        idle_ps: 10_000_000,
        wake_deepest_ps: 0,
        wake_jitter: 0,
        kernel_jitter: 0,
        newidle: None,
        switch_ps: 1_000_000,
        move_on_wake: 0,
        wake_fastest: false,
        yield_sleeps: false,
        wake_affine: false,
        cache_hot_ps: 500_000_000,
        balance_ps: 4_000_000_000,
    }
}

/// A word alone on its line.
#[repr(align(64))]
pub(crate) struct Line(pub(crate) SimU64);

pub(crate) fn line(value: u64) -> Arc<Line> {
    Arc::new(Line(SimU64::new(value)))
}

/// What a thread of a test does; it gives a time, or a value.
pub(crate) type Body = Box<dyn FnOnce() -> u64 + Send>;

/// Runs the bodies as threads, each on the CPU of its number, and gives what they return.
pub(crate) fn on_cpus(machine: &Machine, bodies: Vec<Body>) -> Outcome<Vec<u64>> {
    let pinned = bodies.into_iter().enumerate().map(|(cpu, body)| (Some(cpu as u32), body)).collect();
    on(machine, 1, pinned).expect("the program ends")
}

/// Runs the bodies as threads, each on its CPU if it has one, and gives what they return.
pub(crate) fn on(machine: &Machine, seed: u64, bodies: Vec<(Option<u32>, Body)>) -> Result<Outcome<Vec<u64>>, Failure> {
    ondeck_sim::run(machine, &Options { seed, record: false }, || {
        let results: Arc<Vec<AtomicU64>> = Arc::new((0..bodies.len()).map(|_| AtomicU64::new(0)).collect());
        let start = |(index, (cpu, body)): (usize, (Option<u32>, Body))| {
            let results = results.clone();
            Simulated::start_thread(cpu, Box::new(move || results[index].store(body(), Ordering::Relaxed)))
        };
        let threads: Vec<_> = bodies.into_iter().enumerate().map(start).collect();
        threads.into_iter().for_each(Simulated::join);
        results.iter().map(|result| result.load(Ordering::Relaxed)).collect()
    })
}

/// A body, boxed.
pub(crate) fn body(body: impl FnOnce() -> u64 + Send + 'static) -> Body {
    Box::new(body)
}

/// Does something, and gives when it is done.
pub(crate) fn timed<R>(act: impl FnOnce() -> R + Send + 'static) -> Body {
    body(move || {
        act();
        now()
    })
}

/// Does something with a line at `ns`, and gives when it is done.
pub(crate) fn at<R>(ns: u64, line: &Arc<Line>, act: impl FnOnce(&Line) -> R + Send + 'static) -> Body {
    let line = line.clone();
    timed(move || {
        until(ns);
        act(&line)
    })
}

/// A load.
pub(crate) fn load_at(ns: u64, line: &Arc<Line>) -> Body {
    at(ns, line, |line| line.0.load(Ordering::SeqCst))
}

/// A read-modify-write: the way to own a line.
pub(crate) fn own_at(ns: u64, line: &Arc<Line>) -> Body {
    at(ns, line, |line| line.0.fetch_add(1, Ordering::SeqCst))
}

/// A lock of three values: free, held, held while others may sleep.
#[repr(align(64))]
pub(crate) struct Lock(pub(crate) SimU32);

impl Lock {
    pub(crate) fn new() -> Arc<Lock> {
        Arc::new(Lock(SimU32::new(0)))
    }

    pub(crate) fn acquire(&self) {
        if self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            while self.0.swap(2, Ordering::Acquire) != 0 {
                Simulated::wait_on(&self.0, 2, None);
            }
        }
    }

    pub(crate) fn release(&self) {
        if self.0.swap(0, Ordering::Release) == 2 {
            Simulated::wake(&raw const self.0, 1);
        }
    }
}

/// Sets what moving a line between two cores takes.
pub(crate) fn set_distance(machine: &mut Machine, a: u32, b: u32, ns: u32) {
    machine.distance_ps[(a * machine.cores + b) as usize] = 1000 * ns;
    machine.distance_ps[(b * machine.cores + a) as usize] = 1000 * ns;
}

/// The toy with two hardware threads on each of its `n` cores: the first `n` are the first ones. The second ones are
/// filled last, and while both are at work each takes 1.5 times as long.
pub(crate) fn smt_toy(n: u32) -> Machine {
    let mut machine = toy(n);
    machine.cpus.extend((0..n).map(|core| Cpu { core, kind: 0, socket: 0, node: 0, rank: 1 }));
    machine.kinds[0].smt_slowdown = 1_500;
    machine
}

/// The time since the run began, in picoseconds.
pub(crate) fn now() -> u64 {
    Simulated::ticks() - START_PS
}

/// When runs begin, by their clock.
pub(crate) const START_PS: u64 = 1_000_000_000;

/// Does work until `ns` nanoseconds after the start.
pub(crate) fn until(ns: u64) {
    Simulated::work((ns - now() / 1000) as u32);
}

/// Works for so many nanoseconds; gives when it is done.
pub(crate) fn works(ns: u32) -> Body {
    timed(move || Simulated::work(ns))
}

/// Runs the bodies on CPUs of the machine's choice, and gives what they return.
pub(crate) fn share(machine: &Machine, bodies: Vec<Body>) -> Vec<u64> {
    on(machine, 1, all(None, bodies)).expect("the program ends").value
}

/// The toy with other figures of its policy.
pub(crate) fn fair(n: u32, latency_ps: u64, slice_ps: u64, wakeup_granularity_ps: u64) -> Machine {
    let mut machine = toy(n);
    machine.os.policy = Policy::Fair { latency_ps, slice_ps, wakeup_granularity_ps };
    machine
}

/// All on one CPU, or none on any in particular.
pub(crate) fn all(pin: Option<u32>, bodies: Vec<Body>) -> Vec<(Option<u32>, Body)> {
    bodies.into_iter().map(|body| (pin, body)).collect()
}
