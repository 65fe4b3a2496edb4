//! Programs drawn at random, on machines drawn at random: nothing is lost, and everything comes again.

use crate::common::{Body, Line, line, on, toy};
use ondeck_core::{Atomic, Platform};
use ondeck_sim::machine::{CoreKind, Cpu, Eevdf, FarAtomics, Machine, Policy};
use ondeck_sim::{Outcome, Random, SimU32, Simulated};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

const PROGRAMS: u64 = 1_500;

/// Numbers for what is drawn.
#[derive(Clone)]
struct Draw(Random);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.next() % bound
    }

    fn is(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

/// A few cores of two kinds, second hardware threads, far operations, nodes: whatever the number says; and times so short
/// that slices end and queues are balanced in the middle of everything.
fn machine(draw: &mut Draw) -> Machine {
    let n = 1 + draw.below(5) as u32;
    let mut machine = toy(n);
    let slow = CoreKind { rmw_ps: 7_000, pause_ps: 3_000, work_ps: 2_300, ..machine.kinds[0].clone() };
    machine.kinds.push(slow);
    for cpu in &mut machine.cpus {
        (cpu.kind, cpu.rank, cpu.node) = (draw.below(2) as u32, draw.below(3) as u32, draw.below(2) as u32);
    }
    if draw.is(2) {
        let halves: Vec<Cpu> = machine.cpus.iter().map(|&cpu| Cpu { rank: 5, ..cpu }).collect();
        machine.cpus.extend(halves);
    }
    for kind in &mut machine.kinds {
        (kind.smt_slowdown, kind.derate) = (1_000 + draw.below(600) as u32, draw.below(300) as u32);
        kind.smt_pausing = 1_000 + draw.below(300) as u32;
        kind.pause_jitter = 100;
    }
    let memory = &mut machine.memory;
    (memory.llc, memory.per_sharer_ps, memory.store_buffer) = (700, 500, 1 + draw.below(4) as u32);
    (memory.way_jitter, memory.write_again) = (draw.below(300) as u32, draw.below(600) as u32);
    memory.ahead_ps = if draw.is(3) { draw.below(90_000) as u32 } else { 0 };
    memory.far_atomics = draw.is(3).then_some(FarAtomics { round_trip_ps: 40_000, busy_ps: 9_000 });
    let os = &mut machine.os;
    os.policy = if draw.is(3) {
        let slice_ps = 1_000_000 + draw.below(10_000_000);
        let tick_ps = if draw.is(2) { 1 + draw.below(10_000_000) } else { 0 };
        Policy::Eevdf(Eevdf { slice_ps, tick_ps, delays_dequeue: draw.is(2), yield_forfeits: draw.is(2) })
    } else if draw.is(2) {
        Policy::Quantum { quantum_ps: 1_000_000 + draw.below(20_000_000), boost: draw.is(2), starved_ps: 0 }
    } else {
        let slice_ps = 1_000_000 + draw.below(10_000_000);
        Policy::Fair { latency_ps: 2 * slice_ps, slice_ps, wakeup_granularity_ps: draw.below(5_000_000) }
    };
    (os.buckets, os.move_on_wake, os.wake_affine) = (1 + draw.below(4) as u32, draw.below(1_000) as u32, draw.is(2));
    (os.wake_jitter, os.kernel_jitter) = (draw.below(900) as u32, draw.below(900) as u32);
    (os.wake_fastest, os.yield_sleeps) = (draw.is(2), draw.is(4));
    os.newidle = draw.is(2).then(|| draw.below(1_000) as u32);
    (os.cache_hot_ps, os.balance_ps) = (draw.below(30_000_000), 3_000_000 + draw.below(20_000_000));
    machine
}

/// What the threads of a program share. Every word has its line, wherever it was allocated.
#[derive(Clone)]
struct Shared {
    sums: Vec<Arc<Line>>,
    chain: Arc<Line>,
    permits: Arc<Permits>,
    message: Arc<Line>,
    flag: Arc<Line>,
}

#[repr(align(64))]
struct Permits(SimU32);

/// What a thread has done: added to each sum, and found in the chain's place, where it left its own.
#[derive(Default)]
struct ThreadLog {
    added: Vec<u64>,
    swaps: Vec<(u64, u64)>,
}

fn take_permit(permits: &SimU32) {
    loop {
        let n = permits.load(Acquire);
        if n == 0 {
            Simulated::wait_on(permits, 0, None);
        } else if permits.compare_exchange(n, n - 1, Acquire, Relaxed).is_ok() {
            return;
        }
    }
}

fn one_step(me: u64, step: u64, draw: &mut Draw, shared: &Shared, did: &mut ThreadLog) {
    let sum = draw.below(shared.sums.len() as u64) as usize;
    let word = &shared.sums[sum].0;
    match draw.below(12) {
        0 => {
            word.fetch_add(1, SeqCst);
            did.added[sum] += 1;
        }
        1 => {
            word.count(2);
            did.added[sum] += 2;
        }
        2 => {
            let mut found = word.load(Relaxed);
            while let Err(now) = word.compare_exchange(found, found + 3, SeqCst, Relaxed) {
                found = now;
                Simulated::pause();
            }
            did.added[sum] += 3;
        }
        3 => {
            let mine = me << 32 | step;
            did.swaps.push((mine, shared.chain.0.swap(mine, SeqCst)));
        }
        4 => {
            // Whoever takes one has given one before: there are always enough.
            shared.permits.0.fetch_add(1, Release);
            Simulated::wake(&raw const shared.permits.0, 1 + draw.below(2) as u32);
            take_permit(&shared.permits.0);
        }
        5 if me == 1 => {
            shared.message.0.store(step, Relaxed);
            shared.flag.0.store(step, Release);
        }
        5 => {
            let flag = shared.flag.0.load(Acquire);
            assert!(shared.message.0.load(Relaxed) >= flag, "stores are seen in their order");
        }
        6 => Simulated::work(draw.below(4_000) as u32),
        7 => (0..draw.below(20)).for_each(|_| Simulated::pause()),
        8 => Simulated::yield_now(),
        9 => Simulated::sleep_ns(draw.below(5_000)),
        10 => {
            let deadline = Simulated::now_ns() + draw.below(3_000);
            Simulated::wait_on(&shared.permits.0, 0, Some(deadline));
        }
        _ => Simulated::barrier(),
    }
}

/// A program; gives the outcome, in which each thread's value is when it was done.
fn run(number: u64, seed: u64) -> Outcome<Vec<u64>> {
    let mut draw = Draw(Random::new(number << 20));
    let machine = machine(&mut draw);
    let shared = Shared {
        sums: (0..1 + draw.below(3)).map(|_| line(0)).collect(),
        chain: line(0),
        permits: Arc::new(Permits(SimU32::new(0))),
        message: line(0),
        flag: line(0),
    };
    let all = Arc::new(std::sync::Mutex::new(Vec::new()));
    let bodies = (1..=1 + draw.below(8)).map(|me| {
        let (shared, all, mut draw) = (shared.clone(), all.clone(), Draw(Random::new(number << 20 | me)));
        let pin = draw.is(4).then(|| draw.below(machine.cpus.len() as u64) as u32);
        let body: Body = Box::new(move || {
            let mut did = ThreadLog { added: vec![0; shared.sums.len()], swaps: Vec::new() };
            let mut last = 0;
            for step in 1..=20 + draw.below(30) {
                one_step(me, step, &mut draw, &shared, &mut did);
                let now = Simulated::ticks();
                assert!(now >= last, "time goes back");
                last = now;
            }
            all.lock().unwrap().push(did);
            last
        });
        (pin, body)
    });
    let outcome = on(&machine, seed, bodies.collect()).unwrap_or_else(|why| panic!("program {number}: {why}"));
    check(&shared, &all.lock().unwrap());
    outcome
}

fn check(shared: &Shared, all: &[ThreadLog]) {
    for (sum, word) in shared.sums.iter().enumerate() {
        assert_eq!(word.0.load(SeqCst), all.iter().map(|did| did.added[sum]).sum::<u64>());
    }
    assert_eq!(shared.permits.0.load(SeqCst), 0);
    // Each value that was left in the chain's place was found once, but for the last one; and so was the first.
    let (mut left, mut found): (Vec<u64>, Vec<u64>) = all.iter().flat_map(|did| &did.swaps).copied().unzip();
    left.push(0);
    found.push(shared.chain.0.load(SeqCst));
    left.sort_unstable();
    found.sort_unstable();
    assert_eq!(left, found);
}

#[test]
fn nothing_is_lost_and_everything_comes_again() {
    let mut seeds_differ = 0;
    for number in 0..PROGRAMS {
        let first = run(number, number);
        // What else was allocated is of no matter: the words lie elsewhere now.
        let ballast: Vec<Box<[u8]>> = (0..50).map(|size| vec![1; 100 * size].into_boxed_slice()).collect();
        let again = run(number, number);
        drop(ballast);
        let key = |outcome: &Outcome<Vec<u64>>| {
            (outcome.trace_hash, outcome.virtual_ps, outcome.atomics, outcome.value.clone())
        };
        assert_eq!(key(&first), key(&again), "program {number}");
        if number.is_multiple_of(10) {
            let elsewhere = std::thread::spawn(move || run(number, number)).join().unwrap();
            assert_eq!(key(&first), key(&elsewhere), "program {number}, in another thread of the system");
        }
        seeds_differ += u64::from(run(number, number + 1).trace_hash != first.trace_hash);
    }
    // A short program on one CPU may leave nothing to chance.
    assert!(seeds_differ > PROGRAMS * 9 / 10, "{seeds_differ} of {PROGRAMS}");
}
