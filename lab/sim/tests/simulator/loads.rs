//! Loads: L1 (the core has the line), L2 (another core owns it), L3 (others share it).

use crate::common::{at, line, load_at, on_cpus, own_at, set_distance, smt_toy, timed, toy, until};
use ondeck_core::Atomic;
use std::sync::atomic::Ordering::SeqCst;

#[test]
fn l1_an_owner_or_sharer_takes_a_hit() {
    let word = line(7);
    let shared = word.clone();
    let owner = timed(move || {
        assert_eq!(word.0.load(SeqCst), 7); // first touch: the line is in the core; at 0, done at 1
        word.0.swap(8, SeqCst); // at 1, W1, done at 5
        word.0.load(SeqCst); // as its owner, done at 6
        until(100);
        word.0.load(SeqCst); // as one of two that share: done at 101
    });
    let reader = timed(move || {
        until(10);
        assert_eq!(shared.0.load(SeqCst), 8); // L2: there at 34, back at 58
        shared.0.load(SeqCst); // as one of two that share: done at 59
    });
    assert_eq!(on_cpus(&toy(2), vec![owner, reader]).value, [101_000, 59_000]);
}

#[test]
fn l1_hardware_threads_of_a_core_share_its_lines() {
    let word = line(0);
    let mut machine = smt_toy(1);
    machine.kinds[0].smt_slowdown = 1_000;
    // 0 owns from 0 on; 1 loads at 10 for 1, and adds at 11 for 4.
    let second = at(10, &word, |word| {
        assert_eq!(word.0.load(SeqCst), 1);
        word.0.fetch_add(1, SeqCst);
    });
    assert_eq!(on_cpus(&machine, vec![own_at(0, &word), second]).value, [4_000, 15_000]);
}

#[test]
fn l2_a_load_of_an_owned_line_keeps_it_busy() {
    for (read_owned, last) in [(1_000, 106_000), (1_600, 134_800), (500, 82_000)] {
        let word = line(0);
        let mut machine = toy(3);
        machine.memory.read_owned = read_owned;
        // 1 loads at 10: there at 34, back at 58, busy until 34 + 48 * r_m = 82, 110.8 or 58. 2 loads at 11: there at 35,
        // granted at 82, 110.8 or 58, back 24 later.
        let bodies = vec![own_at(0, &word), load_at(10, &word), load_at(11, &word)];
        assert_eq!(on_cpus(&machine, bodies).value, [4_000, 58_000, last], "r_m = {read_owned}");
    }
}

#[test]
fn l2_takes_its_value_where_the_request_is_granted() {
    let word = line(0);
    let owner = at(0, &word, |word| {
        word.0.swap(1, SeqCst); // done at 4
        until(30);
        word.0.swap(2, SeqCst); // at 30, before the load is granted
        until(35);
        // At 35: the load was granted at 34, so this is an upgrade, and the load has not seen it. There at 35 + 21.6 =
        // 56.6, busy until 82, back at 82 + 21.6 + 4 = 107.6.
        word.0.swap(3, SeqCst);
    });
    let reader = timed(move || {
        until(10);
        assert_eq!(word.0.load(SeqCst), 2); // granted at 34
    });
    assert_eq!(on_cpus(&toy(2), vec![owner, reader]).value, [107_600, 58_000]);
}

#[test]
fn l3_a_load_of_a_shared_line_comes_from_the_nearest_and_keeps_it_busy_shortly() {
    let word = line(0);
    let mut machine = toy(5);
    machine.memory.llc = 700;
    set_distance(&mut machine, 2, 0, 100);
    set_distance(&mut machine, 2, 1, 40);
    // 1 loads at 10 from the owner: back at 58; 0 and 1 share.
    // 2 loads at 200: nearest is 1, 40 * 0.7 = 28, so there at 214, back at 228; busy until 219.
    // 3 loads at 200: nearest are 0 and 1, 48 * 0.7 = 33.6: there at 216.8, granted at 219, back at 235.8.
    // 4 loads at 201: there at 217.8, granted at 224, back at 240.8.
    let bodies =
        vec![own_at(0, &word), load_at(10, &word), load_at(200, &word), load_at(200, &word), load_at(201, &word)];
    assert_eq!(on_cpus(&machine, bodies).value, [4_000, 58_000, 228_000, 235_800, 240_800]);
}

#[test]
fn l3_follows_l2_where_a_second_reader_comes_meanwhile() {
    let word = line(0);
    // 1 at 10: granted at 34, busy until 82. 2 at 11 asks the owner, 24 away; at 82 it is shared, and comes from the cache:
    // llc is 1, so 24 back: 106; busy until 87. 3 at 12: granted at 87, back at 111.
    let bodies = vec![own_at(0, &word), load_at(10, &word), load_at(11, &word), load_at(12, &word)];
    assert_eq!(on_cpus(&toy(4), bodies).value, [4_000, 58_000, 106_000, 111_000]);
}
