//! Idle CPUs as on Linux: which threads find them, and which they find.

use crate::common::{MS, US, body, now, on, toy, until, works};
use ondeck_core::Platform;
use ondeck_sim::Simulated;
use ondeck_sim::machine::{Eevdf, Machine, Policy};

/// Two CPUs; one that falls idle looks for work with this probability, in thousandths.
fn machine(newidle: u32) -> Machine {
    let mut machine = toy(2);
    machine.os.newidle = Some(newidle);
    machine.os.policy = Policy::Eevdf(Eevdf { slice_ps: 3 * MS, ..Eevdf::default() });
    machine
}

/// CPU 1 falls idle at 2 ms, while CPU 0 has two threads of 6 ms; the second of them waits there from the start, or ran until
/// 1.5 ms. When the later one of them ends.
fn ends(machine: &Machine) -> u64 {
    let bodies = vec![(None, works(6_000_000)), (Some(1), works(2_000_000)), (None, works(6_000_000))];
    let ends = on(machine, 1, bodies).unwrap().value;
    ends[0].max(ends[2])
}

#[test]
fn a_cpu_that_falls_idle_takes_work_as_often_as_the_machine_says() {
    // 0 runs for 1.5 ms, and 2 from then on. Always: 0 has the second CPU from 2 ms on, and 4.5 ms left; 2 ends at 7.5. Never:
    // 0 has it from the look at 4 ms on, and ends at 8.5.
    let (always, never) = (ends(&machine(1_000)), ends(&machine(0)));
    assert!((7_500 * US..7_510 * US).contains(&always), "{always}");
    assert!((8_500 * US..8_510 * US).contains(&never), "{never}");
}

#[test]
fn only_the_third_look_takes_a_thread_that_has_just_run() {
    // The two on CPU 0 have their turns of a tenth of a ms, so that none is ever off for half a ms. The looks are at 4, 8 and
    // 12 ms: from the third on both have a CPU.
    let mut machine = machine(0);
    machine.os.policy = Policy::Quantum { quantum_ps: MS / 10, boost: false, starved_ps: 0 };
    let bodies = vec![(None, works(10_000_000)), (Some(1), works(300_000)), (None, works(10_000_000))];
    let ends = on(&machine, 1, bodies).unwrap().value;
    let later = ends[0].max(ends[2]);
    // 20 ms of work, and some 1 % of switches: 12 ms done by then, the rest by two.
    assert!((16 * MS..16 * MS + 200 * US).contains(&later), "{later}");
    // One that takes any thread at the first look is done by 4 + (20 - 4) / 2.
    machine.os.newidle = None;
    machine.os.cache_hot_ps = 900 * MS;
    let bodies = vec![(None, works(10_000_000)), (Some(1), works(300_000)), (None, works(10_000_000))];
    let ends = on(&machine, 1, bodies).unwrap().value;
    let later = ends[0].max(ends[2]);
    assert!((12 * MS..12 * MS + 200 * US).contains(&later), "{later}");
}

/// Both CPUs work until about `busy_ns`, then CPU 1 is idle. On CPU 0 a thread sleeps from 100 us before to 100 us after that,
/// while another one works there. On which CPU the sleeper finds itself.
fn wakes_on(machine: &Machine, busy_ns: u64) -> u64 {
    let sleeps = body(move || {
        until(busy_ns - 100_000);
        Simulated::sleep_ns(200_000);
        Simulated::current_core().into()
    });
    let works_early = body(move || {
        until(busy_ns);
        0
    });
    let works_late = body(move || {
        Simulated::sleep_ns(busy_ns - 50_000 - now() / 1000);
        Simulated::work(1_000_000);
        0
    });
    on(machine, 1, vec![(None, sleeps), (None, works_early), (None, works_late)]).unwrap().value[0]
}

#[test]
fn no_cpu_is_looked_for_where_all_were_busy() {
    // At the start the machine is still as if it had always been idle.
    assert_eq!(wakes_on(&machine(0), 200_000), 1);
    assert_eq!(wakes_on(&machine(0), 60_000_000), 0);
    let mut eager = machine(0);
    eager.os.newidle = None;
    assert_eq!(wakes_on(&eager, 60_000_000), 1);
}
