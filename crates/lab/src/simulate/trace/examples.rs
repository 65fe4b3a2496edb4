//! Timelines that nobody has simulated, for tests.

use crate::random::Random;
use ondeck_sim::machine::{CoreKind, Cpu, Machine, Memory, Os, Policy};
use ondeck_sim::timeline::{Event, Mark, Timeline, What};

/// Two cores of two hardware threads each: 0 and 2 are on core 0. Nothing is computed with its costs here.
pub(crate) fn machine() -> Machine {
    let kind = |name: &str| CoreKind {
        name: name.into(),
        hit_ps: 1000,
        rmw_ps: 4000,
        store_ps: 500,
        barrier_ps: 4000,
        pause_ps: 40_000,
        pause_jitter: 0,
        work_ps: 300,
        fib_call_ps: 1800,
        ticks_ps: 8000,
        clock_ps: 20_000,
        yield_ps: 160_000,
        smt_slowdown: 1000,
        derate: 0,
    };
    let cpu = |core, kind, rank| Cpu { core, kind, node: 0, rank };
    Machine {
        name: "toy <2>".into(),
        about: "a toy".into(),
        hash: 1,
        line_bytes: 64,
        kinds: vec![kind("P"), kind("E")],
        cpus: vec![cpu(0, 0, 0), cpu(1, 1, 1), cpu(0, 0, 2), cpu(1, 1, 3)],
        cores: 2,
        distance_ps: vec![0, 50_000, 50_000, 0],
        memory: Memory {
            read_owned: 1000,
            read_shared_ps: 3000,
            llc: 1000,
            write: 1000,
            upgrade: 1000,
            per_sharer_ps: 900,
            way_jitter: 0,
            store_buffer: 8,
            far_atomics: None,
        },
        os: Os {
            policy: Policy::Quantum { quantum_ps: 1, boost: false },
            syscall_ps: 1,
            wake_none_ps: 1,
            wake_call_ps: 1,
            sleep_ps: 1,
            resume_ps: 1,
            bucket_ps: 1,
            buckets: 1,
            wake_latency_ps: 1,
            wake_deeper_ps: 1,
            idle_ps: 1,
            wake_deepest_ps: 1,
            switch_ps: 1,
            move_on_wake: 0,
            wake_affine: false,
            wake_fastest: false,
            yield_sleeps: false,
            cache_hot_ps: 1,
            balance_ps: 1,
        },
    }
}

/// As many turns at the lock as asked for, by threads of which one is on deck while the others sleep.
pub(crate) fn ball_game(n_threads: u32, n_turns: u32) -> (Timeline, Machine) {
    let mut random = Random::new(7);
    let mut events: Vec<Event> = Vec::new();
    let mut now = 0;
    let mut happens = |after_ns: u32, thread, what| {
        now += u64::from(after_ns) * 1000;
        events.push(Event { at_ps: now, thread, what });
    };
    for thread in 0..n_threads {
        happens(100, thread, What::Runs { cpu: thread % 4 });
        happens(10, thread, What::Marked(Mark::Asks));
        if thread > 1 {
            happens(10, thread, What::Sleeps);
        }
    }
    for turn in 0..n_turns {
        let (at_bat, next) = (turn % n_threads, (turn + 2) % n_threads);
        happens(20, at_bat, What::Marked(Mark::Holds));
        happens(100 + random.below(50), at_bat, What::Marked(Mark::Released));
        happens(30, at_bat, What::Marked(Mark::Asks));
        happens(5, at_bat, What::Sleeps);
        happens(5, next, What::Woken { by: Some(at_bat) });
        happens(60, next, What::Runs { cpu: at_bat % 4 });
    }
    (Timeline { events, threads: n_threads, cpus: 4, is_cut: false }, machine())
}
