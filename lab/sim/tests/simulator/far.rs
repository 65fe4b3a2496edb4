//! F1: read-modify-writes at the home of the line, where it is not the core's alone. F2: those whose result nobody takes.

use crate::common::{Body, Line, at, body, line, now, on_cpus, own_at, timed, toy, until};
use ondeck_core::Atomic;
use ondeck_sim::machine::{FarAtomics, Machine};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// From a core to the home and back in 40, where an operation keeps the line for 9.
fn far(n: u32) -> Machine {
    let mut machine = toy(n);
    machine.memory.far_atomics = Some(FarAtomics { round_trip_ps: 40_000, busy_ps: 9_000 });
    machine
}

#[test]
fn f1_is_near_while_the_line_is_the_cores_alone() {
    let word = line(0);
    let owner = timed(move || {
        word.0.load(SeqCst); // first touch: alone with it, done at 1
        word.0.fetch_add(1, SeqCst); // near: done at 5
    });
    assert_eq!(on_cpus(&far(1), vec![owner]).value, [5_000]);
}

#[test]
fn f1_leaves_the_line_at_home_and_keeps_it_busy_for_as_long_whoever_comes() {
    let word = line(0);
    // 0 owns. 1 at 10: there at 30, busy until 39, back at 50. 2 at 11: there at 31, granted at 39, back at 59. 3 at 12:
    // granted at 48, back at 68.
    let owner = {
        let word = word.clone();
        timed(move || {
            word.0.fetch_add(1, SeqCst);
            until(100);
            // Its copy is gone, as is everybody's: far again, 100 to 140.
            assert_eq!(word.0.fetch_add(1, SeqCst), 4);
        })
    };
    let outcome = on_cpus(&far(4), vec![owner, own_at(10, &word), own_at(11, &word), own_at(12, &word)]);
    assert_eq!(outcome.value, [140_000, 50_000, 59_000, 68_000]);
}

#[test]
fn f1_a_core_that_loads_from_home_is_alone_with_it() {
    let word = line(0);
    let second = at(10, &word, |word| {
        word.0.fetch_add(1, SeqCst); // far: done at 50, the line is at home
        until(100);
        assert_eq!(word.0.load(SeqCst), 2); // from home: 40 at llc = 1, done at 140
        word.0.fetch_add(1, SeqCst); // near: 144
    });
    assert_eq!(on_cpus(&far(2), vec![own_at(0, &word), second]).value, [4_000, 144_000]);
}

#[test]
fn f1_is_far_for_one_of_many_that_share() {
    let word = line(0);
    let second = at(10, &word, |word| {
        word.0.load(SeqCst); // L2: back at 58, both share
        until(100);
        word.0.fetch_add(1, SeqCst); // far: 140
    });
    assert_eq!(on_cpus(&far(2), vec![own_at(0, &word), second]).value, [4_000, 140_000]);
}

#[test]
fn a_plain_store_takes_the_line_from_home() {
    let word = line(0);
    let second = at(10, &word, |word| {
        word.0.fetch_add(1, SeqCst); // far: 50, the line is at home
        until(100);
        word.0.store(7, Relaxed); // 100.3; granted at 120, back at 140
        word.0.fetch_add(1, SeqCst); // S2: waits until 140, then it is the owner: 144
    });
    assert_eq!(on_cpus(&far(2), vec![own_at(0, &word), second]).value, [4_000, 144_000]);
    assert_eq!(word.0.load(SeqCst), 8);
}

#[test]
fn f1_a_compare_exchange_is_done_by_the_core() {
    let word = line(0);
    let owner = own_at(0, &word);
    let other = {
        let word = word.clone();
        timed(move || {
            until(10);
            // W2: there at 34, back at 58, done at 62.
            assert_eq!(word.0.compare_exchange(1, 2, SeqCst, Relaxed), Ok(1));
            word.0.fetch_add(1, SeqCst); // its own now: done at 66
        })
    };
    assert_eq!(on_cpus(&far(2), vec![owner, other]).value, [4_000, 66_000]);
}

/// Counts `n` times from `ns` on, and gives when it went on and when it has found all of them done.
fn count_at(ns: u64, n: u64, word: &Arc<Line>) -> Body {
    let word = word.clone();
    body(move || {
        until(ns);
        (0..n).for_each(|_| word.0.count(1));
        let went_on = now();
        assert!(word.0.load(Relaxed) > n, "a thread sees its own");
        went_on << 32 | now()
    })
}

#[test]
fn f2_a_thread_goes_on_while_the_home_counts() {
    let word = line(0);
    // There at 30 and granted one after the other, at 30, 39 and 48. The load waits for the last grant, reaches the home at
    // 68, and is back at 88.
    let counter = count_at(10, 3, &word);
    assert_eq!(on_cpus(&far(2), vec![own_at(0, &word), counter]).value, [4_000, 10_900 << 32 | 88_000]);
}

#[test]
fn f2_the_home_is_what_two_counters_share() {
    let word = line(0);
    // Both there at 30, and granted in turn, each ninth: the last of core 2 at 120, that of core 1 at 129. The load of core 2
    // is at home at 140, and back at 160. That of core 1 is there at 149, has the value from core 2, and is back at 173.
    let outcome = on_cpus(&far(3), vec![own_at(0, &word), count_at(10, 6, &word), count_at(10, 6, &word)]);
    assert_eq!(outcome.value, [4_000, 11_800 << 32 | 173_000, 11_800 << 32 | 160_000]);
    assert_eq!(word.0.load(SeqCst), 13);
}

#[test]
fn f2_whoever_has_the_line_counts_there() {
    let word = line(0);
    let owner = timed(move || {
        word.0.load(SeqCst); // first touch: alone with it, done at 1
        word.0.count(1); // near: done at 5
    });
    assert_eq!(on_cpus(&far(1), vec![owner]).value, [5_000]);
}

#[test]
fn without_far_atomics_a_count_is_an_add() {
    let word = line(0);
    let counter = at(10, &word, |word| {
        word.0.count(1); // W2: there at 34, back at 58, done at 62
    });
    assert_eq!(on_cpus(&toy(2), vec![own_at(0, &word), counter]).value, [4_000, 62_000]);
}
