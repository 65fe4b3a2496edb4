//! Writes: W1 (the core owns the line), W2 (another core does), W3 (others share it), W4 (others wait for it), and requests
//! in line.

use crate::common::{Line, at, body, line, load_at, now, on_cpus, own_at, set_distance, timed, toy, until};
use ondeck_core::Atomic;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

#[test]
fn w1_every_read_modify_write_on_an_own_line_takes_the_same() {
    let word = line(0);
    let owner = timed(move || {
        word.0.swap(1, SeqCst); // done at 4
        assert_eq!(word.0.fetch_add(2, SeqCst), 1); // 8
        assert_eq!(word.0.fetch_or(4, SeqCst), 3); // 12
        assert_eq!(word.0.fetch_and(5, SeqCst), 7); // 16
        assert_eq!(word.0.compare_exchange(5, 6, SeqCst, Relaxed), Ok(5)); // 20
        assert_eq!(word.0.compare_exchange(5, 7, SeqCst, Relaxed), Err(6)); // 24: one that fails costs as much
        word.0.store(9, SeqCst); // 28: a store in the one order of all is a read-modify-write
        assert_eq!(word.0.fetch_sub(1, SeqCst), 9); // 32
    });
    assert_eq!(on_cpus(&toy(1), vec![owner]).value, [32_000]);
}

#[test]
fn w2_takes_the_line_from_its_owner() {
    let word = line(0);
    let taker = at(10, &word, |word| {
        assert_eq!(word.0.swap(5, SeqCst), 1); // there at 34, back at 58, done at 62
        word.0.swap(6, SeqCst); // W1: done at 66
    });
    // 0 owns until 34. At 100 it loads from 1: back at 148.
    let loser = at(0, &word, |word| {
        word.0.fetch_add(1, SeqCst);
        until(100);
        assert_eq!(word.0.load(SeqCst), 6);
    });
    assert_eq!(on_cpus(&toy(2), vec![loser, taker]).value, [148_000, 66_000]);
}

#[test]
fn w2_a_compare_exchange_that_fails_takes_the_line_all_the_same() {
    let word = line(0);
    let taker = at(10, &word, |word| {
        assert_eq!(word.0.compare_exchange(7, 8, SeqCst, Relaxed), Err(1)); // done at 62
        word.0.swap(6, SeqCst); // W1: done at 66
    });
    assert_eq!(on_cpus(&toy(2), vec![own_at(0, &word), taker]).value, [4_000, 66_000]);
}

#[test]
fn w2_keeps_the_line_busy_for_w_times_the_distance_but_not_less_than_the_operation() {
    // 1 is granted at 34. Busy for the greater of 24 + 4 = 28 and w * 48. 2 arrives at 35, and is done 28 after its grant.
    for (write, last) in [(1_000, 34 + 48 + 28), (1_500, 34 + 72 + 28), (500, 34 + 28 + 28)] {
        let word = line(0);
        let mut machine = toy(3);
        machine.memory.write = write;
        let bodies = vec![own_at(0, &word), own_at(10, &word), own_at(11, &word)];
        assert_eq!(on_cpus(&machine, bodies).value, [4_000, 62_000, 1000 * last], "w = {write}");
    }
}

#[test]
fn w4_a_line_that_others_wait_for_is_gone_with_the_operation_it_was_brought_for() {
    // 1 is granted at 34, has the line at 62 and keeps it busy until 82. 2 waits since 35: what 1 does next has to get the
    // line back, and is at the order point half of the way to 2 later, at 86. 2 is granted at 82, done at 110, the line
    // busy until 130: then 1 is granted, and done at 158.
    let again = |word: &Arc<Line>| {
        at(10, word, |word| {
            word.0.swap(5, SeqCst);
            word.0.swap(6, SeqCst);
        })
    };
    let word = line(0);
    let bodies = vec![own_at(0, &word), again(&word), own_at(11, &word)];
    assert_eq!(on_cpus(&toy(3), bodies).value, [4_000, 158_000, 110_000]);
    // Where a core always comes to write again: done at 66 (W1).
    let word = line(0);
    let mut machine = toy(3);
    machine.memory.write_again = 1_000;
    let bodies = vec![own_at(0, &word), again(&word), own_at(11, &word)];
    assert_eq!(on_cpus(&machine, bodies).value, [4_000, 66_000, 110_000]);
    // Reading it is possible until it is granted to another.
    let word = line(0);
    let reads = at(10, &word, |word| {
        word.0.swap(5, SeqCst);
        assert_eq!(word.0.load(SeqCst), 5);
    });
    assert_eq!(on_cpus(&toy(3), vec![own_at(0, &word), reads, own_at(11, &word)]).value, [4_000, 63_000, 110_000]);
}

#[test]
fn single_ways_differ_by_as_much_as_the_machine_says() {
    // Each takes the line from the other, 48 + 4 away: both halves of the way are a tenth longer or shorter at most.
    let mut machine = toy(2);
    machine.memory.way_jitter = 100;
    let word = line(0);
    let takes = |first: u64| {
        let word = word.clone();
        body(move || {
            let times = (0..200).map(|turn| {
                until(first + 1000 * turn);
                let start = now();
                word.0.fetch_add(1, SeqCst);
                now() - start
            });
            let times: Vec<u64> = times.skip(1).collect();
            assert!(times.iter().all(|ps| (47_200..=56_800).contains(ps)), "{times:?}");
            assert!(times.iter().any(|&ps| ps < 50_000) && times.iter().any(|&ps| ps > 54_000), "{times:?}");
            times.iter().sum::<u64>() / 199
        })
    };
    let means = on_cpus(&machine, vec![takes(1000), takes(1500)]).value;
    // The deviation of one way is 2, that of the mean of 199 is 0.14: five of them.
    assert!(means.iter().all(|ps| ps.abs_diff(52_000) < 700), "{means:?}");
}

#[test]
fn w3_goes_to_the_farthest_of_those_that_share() {
    let word = line(0);
    let mut machine = toy(3);
    set_distance(&mut machine, 2, 0, 100);
    // 1 loads at 10, so that 0 and 1 share from 34 on. 2 writes at 200: farthest is 0, 100 away: there at 250, back at 300,
    // done at 304.
    let bodies = vec![own_at(0, &word), load_at(10, &word), own_at(200, &word)];
    assert_eq!(on_cpus(&machine, bodies).value, [4_000, 58_000, 304_000]);
}

#[test]
fn w3_every_sharer_beyond_the_first_costs_more() {
    // 1 to 3 load: 0 to 3 share. kappa is 2.
    // 4, a stranger: four others, so 48 + 3 * 2 = 54: there at 1027, back at 1054, done at 1058.
    let word = line(0);
    let mut machine = toy(5);
    machine.memory.per_sharer_ps = 2_000;
    let readers = |word: &Arc<Line>| vec![own_at(0, word), load_at(100, word), load_at(200, word), load_at(300, word)];
    let mut bodies = readers(&word);
    bodies.push(own_at(1_000, &word));
    assert_eq!(on_cpus(&machine, bodies).value[4], 1_058_000);

    // 3, which shares itself: three others, and an upgrade: 48 * 0.9 + 2 * 2 = 47.2, done at 1000 + 47.2 + 4.
    let word = line(0);
    let mut bodies = readers(&word);
    bodies[3] = at(300, &word, |word| {
        word.0.load(SeqCst);
        until(1_000);
        word.0.fetch_add(1, SeqCst);
    });
    assert_eq!(on_cpus(&machine, bodies).value[3], 1_051_200);
}

#[test]
fn w3_leaves_one_owner_and_no_sharer() {
    let word = line(0);
    // 1 shares from 34 on, 0 takes the line back by an upgrade at 100: there at 121.6, done at 121.6 + 21.6 + 4 = 147.2. At
    // 200 it is the owner again: W1, 204. 1 has lost its copy: a load at 300 takes 48.
    let theirs = word.clone();
    let first = body(move || {
        theirs.0.fetch_add(1, SeqCst);
        until(100);
        theirs.0.fetch_add(1, SeqCst);
        assert_eq!(now(), 147_200);
        until(200);
        let begin = now();
        theirs.0.fetch_add(1, SeqCst);
        now() - begin
    });
    let second = at(10, &word, |word| {
        word.0.load(SeqCst);
        until(300);
        word.0.load(SeqCst);
    });
    assert_eq!(on_cpus(&toy(2), vec![first, second]).value, [4_000, 348_000]);
}

#[test]
fn requests_are_granted_in_the_order_in_which_they_arrive() {
    let word = line(0);
    // At 1 to 5 owners of the line follow each other every 48: 34, 82, 130, 178, 226, each done 28 later. What each finds
    // is how many were before it.
    let add = |ns: u64, before: u64| {
        at(ns, &word, move |word| assert_eq!(word.0.fetch_add(1, SeqCst), before, "the one of {ns} ns"))
    };
    let bodies = vec![own_at(0, &word), add(13, 4), add(11, 2), add(14, 5), add(10, 1), add(12, 3)];
    assert_eq!(on_cpus(&toy(6), bodies).value, [4_000, 206_000, 110_000, 254_000, 62_000, 158_000]);
}

#[test]
fn a_far_request_comes_later_although_it_was_made_earlier() {
    let word = line(0);
    let mut machine = toy(3);
    set_distance(&mut machine, 0, 1, 100);
    // 1 at 10, 50 away: there at 60. 2 at 20, 24 away: there at 44, granted, done at 72; busy until 92.
    // At 92 the owner is 2, 48 from 1: granted, back in 24, done at 120.
    let bodies = vec![own_at(0, &word), own_at(10, &word), own_at(20, &word)];
    assert_eq!(on_cpus(&machine, bodies).value, [4_000, 120_000, 72_000]);
}

#[test]
fn readers_and_writers_wait_in_one_line() {
    let word = line(0);
    // A write at 10 is granted at 34 and keeps the line until 82; a load at 11 is granted at 82, back at 106, busy until 130;
    // a load at 12 is granted at 130, now from the cache, back at 154, busy until 135; a write at 13 is granted at 135: three
    // others... 1, 2 and 3 share, 48 far: done at 163.
    let bodies = vec![own_at(0, &word), own_at(10, &word), load_at(11, &word), load_at(12, &word), own_at(13, &word)];
    assert_eq!(on_cpus(&toy(5), bodies).value, [4_000, 62_000, 106_000, 154_000, 163_000]);
}
