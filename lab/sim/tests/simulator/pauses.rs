//! P1: pauses, and the other things that take a fixed time.

use crate::common::{Body, body, now, on, on_cpus, timed, toy};
use ondeck_core::Platform;
use ondeck_sim::Simulated;
use ondeck_sim::machine::Machine;

fn alone(machine: &Machine, act: impl FnOnce() + Send + 'static) -> u64 {
    let body: Body = timed(act);
    on_cpus(machine, vec![body]).value[0]
}

#[test]
fn p1_a_pause_takes_what_the_machine_says() {
    let machine = toy(1);
    assert_eq!(alone(&machine, || (0..7).for_each(|_| Simulated::pause())), 70_000);
    assert_eq!(alone(&machine, || Simulated::pauses(7)), 70_000);
    assert_eq!(alone(&machine, || Simulated::pauses(0)), 0);
    // In whole pauses of 10, not less than asked for.
    assert_eq!(alone(&machine, || Simulated::pause_ns(95)), 100_000);
    assert_eq!(alone(&machine, || Simulated::pause_ns(100)), 100_000);
    assert_eq!(alone(&machine, || Simulated::pause_ns(0)), 0);
}

#[test]
fn p1_where_a_pause_is_next_to_nothing_time_is_counted() {
    let mut machine = toy(1);
    machine.kinds[0].pause_ps = 400;
    assert_eq!(alone(&machine, Simulated::pause), 400);
    assert_eq!(alone(&machine, || Simulated::pause_ns(95)), 95_000);
}

#[test]
fn p1_single_pauses_lie_within_the_jitter_and_around_the_average() {
    let mut machine = toy(1);
    machine.kinds[0].pause_jitter = 150;
    let pauses = |seed| {
        let body = body(|| {
            let mut last = now();
            let mut one = || {
                Simulated::pause();
                let took = now() - last;
                last += took;
                took
            };
            let all: Vec<u64> = (0..2_000).map(|_| one()).collect();
            assert!(all.iter().all(|took| (8_500..=11_500).contains(took)), "{all:?}");
            // Uniform between 8.5 and 11.5: the ends are reached, to a twentieth.
            assert!(*all.iter().min().unwrap() < 8_650 && *all.iter().max().unwrap() > 11_350, "{all:?}");
            all.iter().sum()
        });
        on(&machine, seed, vec![(Some(0), body)]).unwrap().value[0]
    };
    // 2000 of them differ from 20 us by 0.87 * sqrt(2000) = 39 ns, one deviation: five of them are 194 ns.
    assert!((19_806_000..=20_194_000).contains(&pauses(1)), "{}", pauses(1));
    assert_eq!(pauses(1), pauses(1));
    assert_ne!(pauses(1), pauses(2));
}

#[test]
fn clocks_counters_work_and_yields_take_what_the_machine_says() {
    let mut machine = toy(1);
    let kind = &mut machine.kinds[0];
    (kind.clock_ps, kind.ticks_ps) = (25_000, 7_000);
    // The last look at the time takes 7, by `now`.
    assert_eq!(alone(&machine, || _ = Simulated::now_ns()), 25_000 + 7_000);
    assert_eq!(alone(&machine, || _ = Simulated::ticks()), 7_000 + 7_000);
    assert_eq!(alone(&machine, || Simulated::work(123)), 123_000 + 7_000);
    assert_eq!(alone(&machine, Simulated::yield_now), 100_000 + 7_000);
    // fib(5) calls 15 times: 1 for itself, 9 for fib(4), 5 for fib(3).
    assert_eq!(alone(&machine, || assert_eq!(Simulated::fib(5), 8)), 15 * 2_000 + 7_000);
    assert_eq!(Simulated::ns_to_ticks(3), 3_000);
}
