//! Which CPU a started or woken thread gets.

use crate::common::{Body, body, on, smt_toy, toy, until};
use ondeck_core::{Atomic, Platform};
use ondeck_sim::machine::Machine;
use ondeck_sim::{Options, Simulated};
use std::sync::{Arc, Mutex};

/// The CPUs on which threads find themselves that are started at once and keep working.
fn starts(machine: &Machine, n: usize) -> Vec<u64> {
    let stays = || {
        body(|| {
            let cpu = Simulated::current_core();
            Simulated::work(100_000);
            cpu.into()
        })
    };
    on(machine, 1, (0..n).map(|_| (None, stays())).collect()).unwrap().value
}

#[test]
fn new_threads_fill_cpus_by_rank_and_then_queue_where_the_queue_is_shortest() {
    // First hardware threads first, then the second ones, then in line: where one has ended after 0.1 ms.
    assert_eq!(starts(&smt_toy(2), 4), [0, 1, 2, 3]);
    let mut machine = toy(4);
    for (cpu, rank) in [(0, 2), (1, 0), (2, 3), (3, 1)] {
        machine.cpus[cpu].rank = rank;
    }
    assert_eq!(starts(&machine, 6), [1, 3, 0, 2, 0, 1]);
}

/// Where a thread is before and after it has slept from 0 to 1 ms, on a machine on which others work on `busy`.
fn wakes(machine: &Machine, seed: u64, on_cpu: Option<u32>, busy: &'static [u32]) -> (u32, u32) {
    let places = Arc::new(Mutex::new((0, 0)));
    let theirs = places.clone();
    ondeck_sim::run(machine, &Options { seed, record: false }, || {
        let sleeps = move || {
            let before = Simulated::current_core();
            Simulated::sleep_ns(1_000_000);
            *theirs.lock().unwrap() = (before, Simulated::current_core());
        };
        let mut all = vec![Simulated::start_thread(on_cpu, Box::new(sleeps))];
        // They come when it sleeps.
        Simulated::sleep_ns(10_000);
        let work = |&cpu: &u32| Simulated::start_thread(Some(cpu), Box::new(|| Simulated::work(2_000_000)));
        all.extend(busy.iter().map(work));
        all.into_iter().for_each(Simulated::join);
    })
    .unwrap();
    *places.lock().unwrap()
}

#[test]
fn a_woken_thread_gets_the_cpu_that_it_had_if_that_idles() {
    for seed in 0..20 {
        assert_eq!(wakes(&toy(4), seed, None, &[1, 2]), (0, 0));
    }
}

#[test]
fn a_woken_thread_is_moved_as_often_as_the_machine_says() {
    let mut machine = toy(4);
    machine.os.move_on_wake = 400;
    let moved = (0..500).filter(|&seed| wakes(&machine, seed, None, &[]).1 != 0).count();
    // 200 of 500, one deviation is 11: five of them.
    assert!((145..=255).contains(&moved), "{moved} of 500");
    // All of them, if anything else idles; none otherwise; never if it is pinned.
    machine.os.move_on_wake = 1_000;
    assert!((0..20).all(|seed| wakes(&machine, seed, None, &[]).1 != 0));
    assert!((0..20).all(|seed| wakes(&machine, seed, None, &[1, 2, 3]).1 == 0));
    assert!((0..20).all(|seed| wakes(&machine, seed, Some(2), &[]) == (2, 2)));
}

#[test]
fn a_woken_thread_whose_cpu_is_taken_stays_near_it() {
    // Nodes: 0 and 1, 2 and 3. CPU 0 is taken: 1 is near.
    let mut machine = toy(4);
    (machine.cpus[2].node, machine.cpus[3].node) = (1, 1);
    for seed in 0..20 {
        assert_eq!(wakes(&machine, seed, None, &[0]), (0, 1));
    }
    // With its node full it queues behind its own, although the other node idles; it waits there until the balance at 4 ms
    // at most, or until the CPU is free: the other works 2 ms.
    for seed in 0..20 {
        assert_eq!(wakes(&machine, seed, None, &[0, 1]).1, 0);
    }
}

#[test]
fn a_woken_thread_may_be_drawn_to_the_node_of_its_waker() {
    // It slept on CPU 0, whose node is full; its waker is on CPU 2, next to which CPU 3 idles.
    let mut machine = toy(4);
    (machine.cpus[2].node, machine.cpus[3].node) = (1, 1);
    let word = Arc::new(ondeck_sim::SimU32::new(0));
    let theirs = word.clone();
    let sleeps: Body = body(move || {
        Simulated::wait_on(&theirs, 0, None);
        Simulated::current_core().into()
    });
    let works = |begin: u64| {
        body(move || {
            Simulated::sleep_ns(begin);
            Simulated::work(1_000_000);
            0
        })
    };
    let wakes = body(move || {
        until(100_000);
        Simulated::wake(&raw const *word, 1);
        Simulated::work(1_000_000);
        0
    });
    let bodies = vec![(None, sleeps), (Some(1), works(0)), (Some(2), wakes), (Some(0), works(20_000))];
    assert_eq!(on(&machine, 1, bodies).unwrap().value[0], 3);
}

#[test]
fn a_core_whose_other_half_works_is_the_last_resort() {
    // Three cores. CPU 0 is taken, 1 is idle beside a busy sibling (4), 2 and 5 are a whole idle core, 3 is the sibling of 0.
    for seed in 0..20 {
        let (_, after) = wakes(&smt_toy(3), seed, None, &[0, 4]);
        assert!(after == 2 || after == 5, "{after}");
    }
    // With no whole core left: whatever half idles.
    let found: std::collections::BTreeSet<u32> =
        (0..40).map(|seed| wakes(&smt_toy(3), seed, None, &[0, 4, 5]).1).collect();
    assert_eq!(found.into_iter().collect::<Vec<u32>>(), [1, 2, 3]);
}

#[test]
fn a_woken_thread_gets_a_faster_cpu_where_the_system_gives_these_away_first() {
    // Threads start on the slow CPUs 2 and 3, as these are filled first here.
    let mut machine = toy(4);
    let slow = machine.kinds[0].clone();
    machine.kinds.push(slow);
    for (cpu, kind, rank) in [(0, 0, 1), (1, 0, 1), (2, 1, 0), (3, 1, 0)] {
        (machine.cpus[cpu].kind, machine.cpus[cpu].rank) = (kind, rank);
    }
    assert_eq!(wakes(&machine, 1, None, &[]), (2, 2));
    machine.os.wake_fastest = true;
    assert_eq!(wakes(&machine, 1, None, &[]), (2, 0));
    assert_eq!(wakes(&machine, 1, None, &[0]), (2, 1));
    assert_eq!(wakes(&machine, 1, None, &[0, 1]), (2, 2), "none of them idles");
    assert_eq!(wakes(&machine, 1, Some(2), &[]), (2, 2), "pinned");
}
