//! F1: read-modify-writes at the home of the line, where it is not the core's alone.

use crate::common::{Body, Line, body, line, now, on_cpus, toy, until};
use ondeck_platform::Atomic;
use ondeck_sim::machine::{FarAtomics, Machine};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// From a core to the home and back in 40, where an operation keeps the line for 9.
fn far(n: u32) -> Machine {
    let mut machine = toy(n);
    machine.memory.far_atomics = Some(FarAtomics { round_trip_ps: 40_000, busy_ps: 9_000 });
    machine
}

fn add_at(ns: u64, word: &Arc<Line>) -> Body {
    let word = word.clone();
    body(move || {
        until(ns);
        word.0.fetch_add(1, SeqCst);
        now()
    })
}

#[test]
fn f1_is_near_while_the_line_is_the_cores_alone() {
    let word = line(0);
    let owner = body(move || {
        word.0.load(SeqCst); // first touch: alone with it, done at 1
        word.0.fetch_add(1, SeqCst); // near: done at 5
        now()
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
        body(move || {
            word.0.fetch_add(1, SeqCst);
            until(100);
            // Its copy is gone, as is everybody's: far again, 100 to 140.
            assert_eq!(word.0.fetch_add(1, SeqCst), 4);
            now()
        })
    };
    let outcome = on_cpus(&far(4), vec![owner, add_at(10, &word), add_at(11, &word), add_at(12, &word)]);
    assert_eq!(outcome.value, [140_000, 50_000, 59_000, 68_000]);
}

#[test]
fn f1_a_core_that_loads_from_home_is_alone_with_it() {
    let word = line(0);
    let reader = word.clone();
    let second = body(move || {
        until(10);
        reader.0.fetch_add(1, SeqCst); // far: done at 50, the line is at home
        until(100);
        assert_eq!(reader.0.load(SeqCst), 2); // from home: 40 at llc = 1, done at 140
        reader.0.fetch_add(1, SeqCst); // near: 144
        now()
    });
    assert_eq!(on_cpus(&far(2), vec![add_at(0, &word), second]).value, [4_000, 144_000]);
}

#[test]
fn f1_is_far_for_one_of_many_that_share() {
    let word = line(0);
    let reader = word.clone();
    let second = body(move || {
        until(10);
        reader.0.load(SeqCst); // L2: back at 58, both share
        until(100);
        reader.0.fetch_add(1, SeqCst); // far: 140
        now()
    });
    assert_eq!(on_cpus(&far(2), vec![add_at(0, &word), second]).value, [4_000, 140_000]);
}

#[test]
fn a_plain_store_takes_the_line_from_home() {
    let word = line(0);
    let storer = word.clone();
    let second = body(move || {
        until(10);
        storer.0.fetch_add(1, SeqCst); // far: 50, the line is at home
        until(100);
        storer.0.store(7, Relaxed); // 100.3; granted at 120, back at 140
        storer.0.fetch_add(1, SeqCst); // S2: waits until 140, then it is the owner: 144
        now()
    });
    assert_eq!(on_cpus(&far(2), vec![add_at(0, &word), second]).value, [4_000, 144_000]);
    assert_eq!(word.0.load(SeqCst), 8);
}

#[test]
fn f1_a_compare_exchange_is_done_by_the_core() {
    let word = line(0);
    let owner = add_at(0, &word);
    let other = {
        let word = word.clone();
        body(move || {
            until(10);
            // W2: there at 34, back at 58, done at 62.
            assert_eq!(word.0.compare_exchange(1, 2, SeqCst, Relaxed), Ok(1));
            word.0.fetch_add(1, SeqCst); // its own now: done at 66
            now()
        })
    };
    assert_eq!(on_cpus(&far(2), vec![owner, other]).value, [4_000, 66_000]);
}
