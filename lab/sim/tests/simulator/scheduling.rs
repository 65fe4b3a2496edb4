//! Who has a CPU, and for how long: queues, slices, preemption, yields, balancing.

use crate::common::{MS, US, all, body, fair, line, now, on, share, timed, toy, until, works};
use ondeck_core::{Atomic, Platform};
use ondeck_sim::machine::{Machine, Policy};
use ondeck_sim::{Options, SimU32, Simulated};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

fn quantum(n: u32, boost: bool) -> Machine {
    let mut machine = toy(n);
    machine.os.policy = Policy::Quantum { quantum_ps: 10_000_000_000, boost, starved_ps: 4_000 * MS };
    machine
}

#[test]
fn fair_slices_are_the_latency_shared_but_not_less_than_a_slice() {
    // Three of 4 ms each on one CPU, in slices of 6 / 3 = 2, so 3 ms; a switch takes 1 us. 3 ms each: 0, 1 and 2 until 3,
    // 6.001, 9.002; then 1 ms each: 0 from 9.003 to 10.003, 1 to 11.004, 2 to 12.005.
    let ends = share(&toy(1), vec![works(4_000_000), works(4_000_000), works(4_000_000)]);
    assert_eq!(ends, [10 * MS + 3 * US, 11 * MS + 4 * US, 12 * MS + 5 * US]);
    // Two: 6 / 2 = 3 as well; with a latency of 10, 5 each, so each of 6 ms is done after 5, 5, 1 and 1.
    let machine = fair(1, 10 * MS, 3 * MS, MS);
    assert_eq!(share(&machine, vec![works(6_000_000), works(6_000_000)]), [11 * MS + 2 * US, 12 * MS + 3 * US]);
}

#[test]
fn quantum_slices_go_round() {
    // Of 10 ms: 25 and 5 on one CPU: 0 until 10, 1 from 10.001 to 15.001, 0 from 15.002 for the rest of 15.
    let ends = share(&quantum(1, false), vec![works(25_000_000), works(5_000_000)]);
    assert_eq!(ends, [30 * MS + 2 * US, 15 * MS + US]);
}

#[test]
fn a_slice_counts_from_when_the_thread_got_the_cpu() {
    // 0 has the CPU from 0 on. 1 is started at 2 ms and queues: 0 keeps it until 3 ms, not 5.
    let first = body(|| {
        until(2_000_000);
        let other = Simulated::start_thread(Some(0), Box::new(|| assert_eq!(now(), 3 * MS + US)));
        Simulated::work(2_000_000);
        let end = now();
        Simulated::join(other);
        end
    });
    // 1 does nothing, ends at 3.001; 0 has it from 3.002 for 1 ms.
    assert_eq!(share(&toy(1), vec![first]), [4 * MS + 2 * US]);
}

#[test]
fn preemption_in_the_middle_keeps_the_rest() {
    // One pause of 1 ms that begins at 2.5 and is cut at 3.0: 0.5 are left. 1 works 1 ms from 3.001 to 4.001; 0 goes on at
    // 4.002, until 4.502.
    let pauses = timed(|| {
        until(2_500_000);
        Simulated::pause_ns(1_000_000);
    });
    assert_eq!(share(&toy(1), vec![pauses, works(1_000_000)]), [4 * MS + 502 * US, 4 * MS + US]);
}

#[test]
fn a_thread_that_waits_for_a_line_loses_its_cpu_when_it_has_it() {
    let word = line(0);
    let theirs = word.clone();
    let asks = timed(move || {
        until(2_999_990);
        word.0.fetch_add(1, SeqCst); // would be done at 3000042; the slice ends at 3000000
        // Off at 3000.042 us, a switch, 1 ms of the other, a switch.
    });
    let owner = timed(move || theirs.0.fetch_add(1, SeqCst));
    let bodies = vec![(Some(0), asks), (Some(0), works(1_000_000)), (Some(1), owner)];
    let outcome = on(&toy(2), 1, bodies).unwrap();
    assert_eq!(outcome.value[..2], [4 * MS + 2 * US + 42_000, 4 * MS + US + 42_000]);
}

#[test]
fn the_holder_of_a_lock_may_lose_its_cpu() {
    // Holder takes the flag at 0, works 5 ms; on its CPU another one wants to work 3 ms. A spinner on another CPU gets the
    // flag only after the holder had its slice, the other one its own, and the holder the rest of 2 ms.
    let flag = line(0);
    let theirs = flag.clone();
    let holder = timed(move || {
        flag.0.swap(1, SeqCst);
        Simulated::work(5_000_000);
        flag.0.swap(0, SeqCst);
    });
    let spinner = timed(move || {
        until(1_000);
        while theirs.0.load(SeqCst) == 1 {
            Simulated::pause_ns(10_000);
        }
    });
    let bodies = vec![(Some(0), holder), (Some(0), works(3_000_000)), (Some(1), spinner)];
    let outcome = on(&toy(2), 1, bodies).unwrap();
    let freed = outcome.value[0];
    // 5 + 3 ms, two switches, two operations, of which the second is an upgrade.
    assert!((8 * MS + 2 * US..8 * MS + 2 * US + 100_000).contains(&freed), "{freed}");
    assert!((freed..freed + 11 * US).contains(&outcome.value[2]), "{:?}", outcome.value);
}

#[test]
fn a_yield_goes_behind_those_that_wait() {
    for machine in [toy(1), quantum(1, false), quantum(1, true)] {
        // 0 yields at 1 ms: 100 ns for the call, 1 us for the switch, 1 works 1 ms, a switch. 0 goes on at 2.0021.
        let yields = body(|| {
            until(1_000_000);
            Simulated::yield_now();
            let back = now();
            Simulated::yield_now(); // nobody is left: 100 ns
            assert_eq!(now(), back + 100_000);
            back
        });
        let ends = share(&machine, vec![yields, works(1_000_000)]);
        assert_eq!(ends, [2 * MS + 2 * US + 100_000, 2 * MS + US + 100_000], "{:?}", machine.os.policy);
    }
}

#[test]
fn a_yield_of_one_far_behind_changes_nothing() {
    // 0 has its slice of 3 ms before 1 has anything: that is more than the granularity of 1 ms, so 1 yields in vain. After
    // 2.5 ms of work it does not: 0 has another slice, and then 1 goes on, for it has still had less.
    let yields = body(|| {
        let begin = now();
        Simulated::yield_now();
        let first = now() - begin;
        Simulated::work(2_500_000);
        let begin = now();
        Simulated::yield_now();
        assert_eq!([first, now() - begin], [100_000, 100_000 + US + 3 * MS + US]);
        begin
    });
    assert_eq!(share(&toy(1), vec![works(20_000_000), yields])[1], 3 * MS + US + 100_000 + 2_500_000_000);
}

#[test]
fn a_boosted_thread_yields_too() {
    // Woken at 1 ms onto its idle CPU, boosted; another one is started there, and has its turn.
    let sleeps = body(|| {
        Simulated::sleep_ns(1_000_000);
        let other = Simulated::start_thread(Some(0), Box::new(|| Simulated::work(1_000)));
        let begin = now();
        Simulated::yield_now();
        let took = now() - begin;
        Simulated::join(other);
        took
    });
    // The call, a switch, 1 us, a switch.
    assert_eq!(on(&quantum(1, true), 1, all(Some(0), vec![sleeps])).unwrap().value, [100_000 + 3 * US]);
}

#[test]
fn a_woken_thread_takes_the_cpu_if_it_had_less_by_the_granularity() {
    let run = |sleep_ns: u64| {
        let sleeps = timed(move || Simulated::sleep_ns(sleep_ns));
        share(&toy(1), vec![sleeps, works(10_000_000)])[0]
    };
    // 0 leaves at 0.5 us with as much; 1 runs from 1.5 us on. At 1.4 ms 1 has had 1.3985 ms, which is more by more than
    // 1 ms: 0 has the CPU after a switch.
    assert_eq!(run(1_400_000), 1_400_000_000 + US);
    // At 0.9 ms it is less: 0 queues, and gets it when 1's slice ends, 3 ms after it began, and a switch.
    assert_eq!(run(900_000), 3 * MS + 1_500_000 + US);
}

#[test]
fn a_preempted_thread_is_next_with_what_is_left_of_its_quantum() {
    // 0 sleeps from the start to 2 ms, and has the CPU from 2.001 to 3.001. 1 has it since 1.5 us and goes on at 3.002 for the
    // rest of its 10 ms, until 11.0035. Only then it is 2's turn.
    let sleeps = timed(|| {
        Simulated::sleep_ns(2_000_000);
        Simulated::work(1_000_000);
    });
    let bodies = all(None, vec![sleeps, works(50_000_000), works(1_000_000)]);
    let outcome = on(&quantum(1, true), 1, bodies).unwrap();
    assert_eq!((outcome.value[0], outcome.value[2]), (3 * MS + US, 12 * MS + 4_500_000));
}

#[test]
fn who_has_starved_for_four_seconds_has_a_turn() {
    // 1 and 2 are woken in turn, each while the other works for 1 ms, and so are always before 0, which works for 1 ms too
    // and has lost the CPU at once. At the look of 5 s it has waited for more than 4 s: it is next when somebody sleeps.
    let wakes = |n: u32| {
        timed(move || {
            (0..n).for_each(|_| {
                Simulated::sleep_ns(500_000);
                Simulated::work(1_000_000);
            });
        })
    };
    let ends = |starved_ps: u64| {
        let mut machine = quantum(1, true);
        if let Policy::Quantum { starved_ps: theirs, .. } = &mut machine.os.policy {
            *theirs = starved_ps;
        }
        share(&machine, vec![wakes(3_000), wakes(3_000), works(1_000_000)])[2]
    };
    assert!((5_000 * MS..5_003 * MS).contains(&ends(4_000 * MS)), "{}", ends(4_000 * MS));
    assert!(ends(0) > 5_900 * MS, "nobody looks: it waits until the others are done");
}

#[test]
fn a_boosted_thread_takes_the_cpu_at_once_and_others_wait() {
    let run = |boost: bool| {
        let sleeps = timed(|| Simulated::sleep_ns(10_000));
        share(&quantum(1, boost), vec![sleeps, works(50_000_000)])[0]
    };
    assert_eq!(run(true), 10 * US + US);
    // 1 has had the CPU since 1.5 us, keeps it for a quantum.
    assert_eq!(run(false), 10 * MS + 1_500_000 + US);
}

#[test]
fn a_cpu_that_becomes_idle_takes_a_thread_that_waits_elsewhere_unless_its_cache_is_warm() {
    // CPU 0: 0 works 10 ms, pinned; 2 waits behind it, not pinned. CPU 1: 1 works 1 ms.
    // 2 was never on a CPU: pulled at 1 ms, a switch.
    let bodies = vec![(Some(0), works(10_000_000)), (Some(1), works(1_000_000)), (None, works(1_000))];
    let outcome = on(&toy(2), 1, bodies).unwrap();
    assert_eq!(outcome.value[2], MS + 2 * US);
    // 2 works 4 ms: its slice ends at 6.001 when it shares CPU 0 (the queue of CPU 0 is taken first: both are equal). CPU 1
    // has nothing from 6.2 on, 0.199 after 2 was last on: it is warm for 0.5 ms, cold for 0.1.
    let run = |cache_hot_ps| {
        let mut machine = toy(2);
        machine.os.cache_hot_ps = cache_hot_ps;
        machine.os.balance_ps = 1_000 * MS;
        let bodies = vec![(Some(0), works(10_000_000)), (Some(1), works(6_200_000)), (None, works(4_000_000))];
        on(&machine, 1, bodies).unwrap().value[2]
    };
    // 0 until 3, 2 from 3.001 to 6.001, 0 from 6.002 to 9.002, 2 from 9.003 to 10.003.
    assert_eq!(run(500 * US), 10 * MS + 3 * US);
    // Pulled at 6.2, a switch, 1 ms.
    assert_eq!(run(100 * US), 7 * MS + 201 * US);
}

#[test]
fn the_periodic_balance_takes_warm_threads_too() {
    // As above, warm; balanced every 4 ms: at 8 ms CPU 1 takes 2, which has 1 ms left.
    let bodies = vec![(Some(0), works(10_000_000)), (Some(1), works(6_200_000)), (None, works(4_000_000))];
    assert_eq!(on(&toy(2), 1, bodies).unwrap().value[2], 9 * MS + US);
}

#[test]
fn an_idle_cpu_looks_beyond_a_queue_in_which_all_are_pinned() {
    // CPU 0: two that are pinned wait behind a third. CPU 1: one that is not waits behind a pinned one. CPU 2 idles from
    // 1 us on, and takes that one, never run yet, although CPU 0 has the longer queue.
    let pinned = |cpu, ns| (Some(cpu), works(ns));
    let bodies = vec![
        pinned(0, 9_000_000),
        pinned(0, 9_000_000),
        pinned(0, 9_000_000),
        pinned(1, 9_000_000),
        pinned(2, 1_000),
        (None, works(1_000)),
    ];
    let outcome = on(&toy(3), 1, bodies).unwrap();
    assert_eq!(outcome.value[5], US + US + US);
}

#[test]
fn the_periodic_balance_evens_the_queues_out() {
    // Behind one that is pinned there wait: on CPU 0 two that are long, on CPU 1 two that are done with their first turn, at
    // 3 ms. At 4 ms CPU 0 has the first of the long ones and two that wait; nobody waits for CPU 1, which gets the second.
    let long = || {
        body(|| {
            let cpu = Simulated::current_core();
            Simulated::work(20_000_000);
            cpu.into()
        })
    };
    let bodies = vec![
        (Some(0), works(20_000_000)),
        (Some(1), works(20_000_000)),
        (None, long()),
        (None, works(1_000)),
        (None, long()),
        (None, works(1_000)),
    ];
    let outcome = on(&toy(2), 1, bodies).unwrap();
    assert_eq!((outcome.value[2], outcome.value[4]), (0, 1));
}

#[test]
fn better_cpus_that_idle_pull_threads_back_from_worse_ones() {
    let mut machine = toy(2);
    machine.cpus[1].rank = 1;
    // 1 works on CPU 1 as CPU 0 is taken until 1 ms. At 4 ms the balance moves it over: a switch.
    let moved = timed(|| {
        assert_eq!(Simulated::current_core(), 1);
        Simulated::work(5_000_000);
        assert_eq!(Simulated::current_core(), 0);
    });
    let bodies = vec![(None, works(1_000_000)), (None, moved)];
    assert_eq!(on(&machine, 1, bodies).unwrap().value, [MS, 5 * MS + US]);
    // Not if it is pinned.
    let bodies = vec![(None, works(1_000_000)), (Some(1), works(5_000_000))];
    assert_eq!(on(&machine, 1, bodies).unwrap().value, [MS, 5 * MS]);
}

#[test]
fn joining_a_thread_frees_the_cpu() {
    let joins = timed(|| {
        let other = Simulated::start_thread(Some(0), Box::new(|| Simulated::work(1_000)));
        Simulated::join(other); // asleep at 0.5 us; a switch, 1 us of work, a switch
    });
    assert_eq!(on(&toy(1), 1, all(Some(0), vec![joins])).unwrap().value, [3_500_000]);
}

#[test]
fn a_thread_begins_when_it_is_started() {
    let starts = body(|| {
        Simulated::work(50_000);
        let begun = Arc::new(SimU32::new(0));
        let theirs = begun.clone();
        let other = Simulated::start_thread(
            Some(1),
            Box::new(move || {
                theirs.swap((now() / 1_000) as u32, SeqCst);
            }),
        );
        Simulated::join(other);
        begun.load(SeqCst).into()
    });
    assert_eq!(on(&toy(2), 1, all(Some(0), vec![starts])).unwrap().value, [50_000]);
}

#[test]
fn a_slice_that_ends_while_its_thread_falls_asleep_is_not_forgotten_if_it_is_woken_at_once() {
    // 0 goes to sleep just before its slice of 3 ms ends, and is woken before it is asleep; 1 waits for its CPU, and must
    // get it then, not never.
    let word = Arc::new(SimU32::new(0));
    let theirs = word.clone();
    let sleeps = timed(move || {
        until(2_999_500); // takes the bucket at 2999600, asleep at 3000304
        Simulated::wait_on(&word, 0, None);
        Simulated::work(100_000_000);
    });
    let wakes = timed(move || {
        until(2_999_650); // at the bucket at 2999774, gets it at 2999800
        Simulated::wake(&raw const *theirs, 1);
    });
    let bodies = vec![(Some(0), sleeps), (Some(0), works(1_000)), (Some(1), wakes)];
    let outcome = on(&toy(2), 1, bodies).unwrap();
    // Off at 3000.304, a switch, 1 us.
    assert_eq!(outcome.value[1], 3 * MS + 304_000 + 2 * US);
}

#[test]
fn a_thread_is_not_switched_for_one_that_has_gone_elsewhere() {
    // 2 is started at 2999.8 us and waits for CPU 0. The slice of 0 ends at 3000, while it waits for a line. At 3000.01 CPU 1
    // has nothing to do, and takes 2. At 3000.042 0 has its line, and goes on.
    let word = line(0);
    let theirs = word.clone();
    let ends = Arc::new(AtomicU64::new(0));
    let end = ends.clone();
    let asks = move || {
        until(2_999_990);
        word.0.fetch_add(1, SeqCst); // 2999990 + 48 + 4
        end.store(now(), SeqCst);
    };
    let owner = move || {
        theirs.0.fetch_add(1, SeqCst);
        until(3_000_010);
    };
    let outcome = ondeck_sim::run(&toy(2), &Options::default(), || {
        let first = Simulated::start_thread(Some(0), Box::new(asks));
        let second = Simulated::start_thread(Some(1), Box::new(owner));
        Simulated::sleep_ns(2_999_800);
        let third = Simulated::start_thread(None, Box::new(|| assert_eq!(Simulated::current_core(), 1)));
        [first, second, third].into_iter().for_each(Simulated::join);
    });
    outcome.unwrap();
    assert_eq!(ends.load(SeqCst), 3_000_042_000);
}

#[test]
fn cpu_time_and_switches_are_counted() {
    let machine = toy(1);
    let outcome = ondeck_sim::run(&machine, &Options::default(), || {
        let all = [1_000_000, 2_000_000].map(|ns| Simulated::start_thread(None, Box::new(move || Simulated::work(ns))));
        Simulated::sleep_ns(500_000);
        assert_eq!(Simulated::usage(), (500_000, 0), "a running thread counts as it goes");
        all.into_iter().for_each(Simulated::join);
        Simulated::usage()
    });
    // 1 ms, a switch of 1 us, 2 ms; both have left the CPU.
    assert_eq!(outcome.unwrap().value, (3_001_000, 2));
}

#[test]
fn what_a_thread_had_is_counted_once() {
    // 1 works 5 ms from 1.5 us on, and sleeps for 0.1 ms. 0 wakes at 5010 us, has the CPU at 5012 and is behind 1, which had
    // 5 ms, by half a latency. So 1 does not take it away at 5101.5, but at the end of 0's slice.
    let first = timed(|| {
        Simulated::sleep_ns(5_010_000);
        Simulated::work(4_000_000);
    });
    let second = timed(|| {
        Simulated::work(5_000_000);
        Simulated::sleep_ns(100_000);
    });
    let machine = fair(1, 6 * MS, 3 * MS, 50 * US);
    assert_eq!(share(&machine, vec![first, second])[1], 8_012 * US + US);
}

#[test]
fn a_yield_that_sleeps_leaves_the_cpu_to_others() {
    // toy: yielding takes 100.
    let mut machine = toy(1);
    machine.os.yield_sleeps = true;
    let yields = || {
        body(|| {
            let start = now();
            Simulated::yield_now();
            now() - start
        })
    };
    let alone = on(&machine, 1, vec![(Some(0), yields())]).unwrap();
    assert_eq!(alone.value, [100_000]);
    // Another thread has the CPU meanwhile, and keeps it: the first goes on when that has ended.
    let works = body(|| {
        let start = now();
        Simulated::work(1_000);
        now() - start
    });
    let both = on(&machine, 1, vec![(Some(0), yields()), (Some(0), works)]).unwrap().value;
    assert_eq!(both[1], 1_000_000);
    assert!(both[0] > 1_000_000, "{both:?}");
}

#[test]
fn who_cannot_be_preempted_goes_when_it_is_done_or_sleeps() {
    // 0 works from 1 to 5 ms and cannot be preempted: its slice, which ends at 3, lasts until 5. Then 1 works, from 5.001
    // to 6.001, and 0 goes on at 6.002.
    let keeps = timed(|| {
        until(MS / 1000);
        Simulated::unpreempted(|| {
            assert!(!Simulated::is_core_wanted(), "nothing is over yet");
            Simulated::work(4_000_000);
            assert!(Simulated::is_core_wanted());
            assert_eq!(now(), 5 * MS);
        });
        assert!(!Simulated::is_core_wanted(), "what was wanted was given");
    });
    assert_eq!(share(&toy(1), vec![keeps, works(1_000_000)]), [6 * MS + 2 * US, 6 * MS + US]);
    // The same, but it sleeps from 4 ms on: 0.5 us to fall asleep, a switch, and the CPU is the other's until 5.0015.
    let sleeps = timed(|| {
        until(MS / 1000);
        Simulated::unpreempted(|| {
            Simulated::work(3_000_000);
            Simulated::sleep_ns(10_000);
        });
    });
    assert_eq!(share(&toy(1), vec![sleeps, works(1_000_000)])[1], 5 * MS + US + US / 2);
}

#[test]
fn a_yield_of_one_that_cannot_be_preempted_is_a_pause() {
    let keeps = timed(|| {
        Simulated::unpreempted(|| {
            Simulated::yield_now();
            assert_eq!(now(), 10_000);
        });
        Simulated::yield_now();
    });
    // After the pause and the yield of 100 ns the other one comes, and this one when that is done.
    assert_eq!(share(&toy(1), vec![keeps, works(1_000)]), [110_000 + US + US + US, 110_000 + US + US]);
}
