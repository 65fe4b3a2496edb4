//! M1: hardware threads that share a core; and how much slower all are when many are busy.

use crate::common::{Body, body, line, now, on_cpus, smt_toy, timed, toy, until};
use ondeck_core::{Atomic, Platform};
use ondeck_sim::Simulated;
use std::sync::atomic::Ordering::SeqCst;

// While both halves work, each takes 1.5 times as long. Work is looked at anew every 5 us of it.

/// What 100 us of work take on CPU 0 while CPU 1, the other half of the core, does something.
fn beside(other: impl FnOnce() + Send + 'static) -> u64 {
    let works = timed(|| Simulated::work(100_000));
    let other: Body = body(move || {
        other();
        0
    });
    on_cpus(&smt_toy(1), vec![works, other]).value[0]
}

#[test]
fn m1_alone_on_its_core_a_thread_is_as_fast_as_ever() {
    assert_eq!(beside(|| ()), 100_000_000);
    // The other one sleeps but for its way there.
    let took = beside(|| Simulated::sleep_ns(50_000));
    assert!((100_000_000..=105_000_000).contains(&took), "{took}");
}

#[test]
fn m1_both_at_work_take_longer() {
    // The other one works longer than this one.
    assert_eq!(beside(|| Simulated::work(1_000_000)), 150_000_000);
}

#[test]
fn m1_ends_with_the_work_of_the_other_half() {
    // 20 us of the other's work take 30; this one has done 20 of its 100 by then, and is as fast as ever from the next look
    // on: 30 + 80, and a look's 2.5 at most.
    let took = beside(|| Simulated::work(20_000));
    assert!((110_000_000..=112_500_000).contains(&took), "{took}");
}

#[test]
fn m1_begins_with_the_work_of_the_other_half() {
    // The other one sleeps until 50 us, and has the CPU at 52; from then on it works.
    let took = beside(|| {
        Simulated::sleep_ns(50_000);
        Simulated::work(1_000_000);
    });
    // While it goes to sleep, 5 take 7.5. Then 45 at full speed, until the look at 52.5, and 50 at 1.5.
    assert_eq!(took, 127_500_000);
}

#[test]
fn m1_does_not_count_while_the_other_half_pauses() {
    assert_eq!(beside(|| Simulated::pause_ns(1_000_000)), 100_000_000);
    // In pauses one by one too.
    let took = beside(|| (0..20_000).for_each(|_| Simulated::pause()));
    assert!((100_000_000..=102_500_000).contains(&took), "{took}");
}

#[test]
fn m1_counts_pauses_where_they_do_not_leave_the_core_to_the_other_half() {
    let works = timed(|| Simulated::work(100_000));
    let pauses: Body = body(|| {
        Simulated::pauses(200_000); // of 10 ns
        0
    });
    let mut machine = smt_toy(1);
    machine.kinds[0].smt_pausing = 1_200;
    assert_eq!(on_cpus(&machine, vec![works, pauses]).value[0], 120_000_000);
}

#[test]
fn m1_slows_operations_that_hit_but_not_pauses() {
    let word = line(0);
    let adds = body(move || {
        until(1_000); // 1.5 us, as the other half works
        let begin = now();
        word.0.fetch_add(1, SeqCst); // 4 * 1.5
        word.0.load(SeqCst); // 1 * 1.5
        Simulated::pause(); // 10
        now() - begin
    });
    let other = body(|| {
        Simulated::work(1_000_000);
        0
    });
    assert_eq!(on_cpus(&smt_toy(1), vec![adds, other]).value[0], 17_500);
}

#[test]
fn the_more_cpus_are_busy_the_slower_each_is() {
    let mut machine = toy(5);
    machine.kinds[0].derate = 200;
    // Of 5 CPUs n are busy: 200 / 1000 * (n - 1) / 4 slower: 0, 5, 10, 15, 20 %.
    for (n, took) in [(1, 100), (2, 105), (3, 110), (4, 115), (5, 120)] {
        let works = || {
            body(|| {
                Simulated::work(1_000);
                let begin = now();
                Simulated::work(100_000);
                now() - begin
            })
        };
        let outcome = on_cpus(&machine, (0..n).map(|_| works()).collect());
        assert_eq!(outcome.value[0], took * 1_000_000, "{n} busy");
    }
}

#[test]
fn a_line_that_the_other_half_has_written_takes_longer() {
    // A read-modify-write takes 4 ns, and 7 more if the other half of the core wrote the line since.
    let mut machine = smt_toy(1);
    machine.kinds[0].sibling_ps = 7_000;
    machine.kinds[0].smt_slowdown = 1_000;
    let word = line(0);
    let theirs = word.clone();
    let adds = body(move || {
        let mut times = Vec::new();
        for begin in [10_000, 30_000, 31_000] {
            until(begin);
            let from = now();
            word.0.fetch_add(1, SeqCst);
            times.push(now() - from);
        }
        assert_eq!(times, [4_000, 11_000, 4_000]);
        0
    });
    let adds_between = body(move || {
        until(20_000);
        theirs.0.fetch_add(1, SeqCst);
        0
    });
    on_cpus(&machine, vec![adds, adds_between]);
}
