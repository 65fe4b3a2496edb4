//! Timelines that nobody has simulated, for tests.

use ondeck_sim::Random;
use ondeck_sim::machine::{Cpu, Machine, builtin};
use ondeck_sim::timeline::{Event, Mark, ThreadEvent, Timeline};

/// Two cores of two hardware threads each: 0 and 2 are on core 0. Nothing is computed with its costs here.
pub(crate) fn machine() -> Machine {
    let mut machine = builtin("m1").expect("it is built in");
    let cpu = |core, kind, rank| Cpu { core, kind, socket: 0, node: 0, rank };
    (machine.name, machine.about) = ("toy <2>".into(), "a toy".into());
    machine.cpus = vec![cpu(0, 0, 0), cpu(1, 1, 1), cpu(0, 0, 2), cpu(1, 1, 3)];
    (machine.cores, machine.distance_ps) = (2, vec![0, 50_000, 50_000, 0]);
    machine
}

/// As many turns at the lock as asked for, by threads of which one waits awake while the others sleep.
pub(crate) fn ball_game(n_threads: u32, n_turns: u32) -> (Timeline, Machine) {
    let mut random = Random::new(7);
    let mut events: Vec<Event> = Vec::new();
    let mut now = 0;
    let mut happens = |after_ns: u32, thread, what| {
        now += u64::from(after_ns) * 1000;
        events.push(Event { at_ps: now, thread, what });
    };
    for thread in 0..n_threads {
        happens(100, thread, ThreadEvent::Runs { cpu: thread % 4 });
        happens(10, thread, ThreadEvent::Marked(Mark::Asks));
        if thread > 1 {
            happens(10, thread, ThreadEvent::Sleeps);
        }
    }
    for turn in 0..n_turns {
        let (at_bat, next) = (turn % n_threads, (turn + 2) % n_threads);
        happens(20, at_bat, ThreadEvent::Marked(Mark::Holds));
        happens(100 + random.below(50), at_bat, ThreadEvent::Marked(Mark::Released));
        happens(30, at_bat, ThreadEvent::Marked(Mark::Asks));
        happens(5, at_bat, ThreadEvent::Sleeps);
        happens(5, next, ThreadEvent::Woken { by: Some(at_bat) });
        happens(60, next, ThreadEvent::Runs { cpu: at_bat % 4 });
    }
    (Timeline { events, threads: n_threads, cpus: 4, is_cut: false }, machine())
}
