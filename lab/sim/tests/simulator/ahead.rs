//! What a core asks for ahead: A1 (the line that came next the last time), A2 (a read that is followed by a write).
//! Distances are 48 ns, read-modify-writes take 4.

use crate::common::{Body, Line, body, line, now, on_cpus, toy, until};
use ondeck_core::{Atomic, Platform};
use ondeck_sim::Simulated;
use ondeck_sim::machine::Machine;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Two cores that look ahead by so many ns.
fn looks_ahead(ns: u32) -> Machine {
    let mut machine = toy(2);
    machine.memory.ahead_ps = 1000 * ns;
    machine
}

/// Takes all of these lines at 0 ns, and again every 1000.
fn takes_back(lines: &[&Arc<Line>]) -> Body {
    let lines: Vec<_> = lines.iter().map(|&line| line.clone()).collect();
    body(move || {
        for turn in 0..3 {
            until(1000 * turn);
            lines.iter().for_each(|line| add(line));
        }
        0
    })
}

/// What `act` takes when it is done at 500, 1500 and 2500 ns.
fn takes(act: impl Fn(u64) + Send + 'static) -> Body {
    body(move || {
        three(|turn| {
            until(500 + 1000 * turn);
            since(|| act(turn))
        })
    })
}

/// What that takes with lines that the other core [takes back](takes_back), where cores look ahead by so many ns.
fn takes_with<const N: usize>(ahead_ns: u32, act: impl Fn(&[Arc<Line>; N], u64) + Send + 'static) -> u64 {
    let lines: [Arc<Line>; N] = std::array::from_fn(|_| line(0));
    let owner = takes_back(&lines.each_ref());
    on_cpus(&looks_ahead(ahead_ns), vec![owner, takes(move |turn| act(&lines, turn))]).value[1]
}

/// A read-modify-write.
fn add(line: &Line) {
    line.0.fetch_add(1, SeqCst);
}

/// Three times in one value.
fn three(time_ns: impl Fn(u64) -> u64) -> u64 {
    [0, 1, 2].map(time_ns).into_iter().fold(0, |all, ns| all * 1000 + ns)
}

/// What `act` takes, in ns.
fn since(act: impl FnOnce()) -> u64 {
    let start = now();
    act();
    (now() - start) / 1000
}

#[test]
fn a1_two_lines_that_came_one_after_the_other_come_together() {
    let adds = |ahead_ns| takes_with::<2>(ahead_ns, |lines, _| lines.iter().for_each(|line| add(line)));
    // 48 + 4 for each; what is known from the first time on spares the way of the second line.
    assert_eq!([adds(50), adds(0)], [104_056_056, 104_104_104]);
}

#[test]
fn a1_is_for_what_comes_soon() {
    let adds_after = |gap_ns: u64| {
        takes_with(50, move |[first, second], _| {
            add(first);
            until(now() / 1000 + gap_ns);
            add(second);
        })
    };
    assert_eq!([adds_after(40), adds_after(60)], [144_096_096, 164_164_164]);
}

#[test]
fn a1_is_not_for_a_line_that_was_lost_meanwhile() {
    // The taker owns the first line when it asks for the second one; meanwhile the owner takes the first one away.
    let [first, second] = [line(0), line(0)];
    let (their_first, their_second) = (first.clone(), second.clone());
    let owner = body(move || {
        for turn in 0..3 {
            until(1000 * turn);
            add(&their_second);
            until(1000 * turn + 501);
            add(&their_first);
        }
        0
    });
    let taker = body(move || {
        three(|turn| {
            until(1000 * turn + 400);
            add(&first);
            until(1000 * turn + 500);
            since(|| {
                add(&second);
                until(now() / 1000 + 30);
                add(&first);
            })
        })
    });
    // 52 + 30 + 52 each time.
    assert_eq!(on_cpus(&looks_ahead(50), vec![owner, taker]).value[1], 134_134_134);
}

#[test]
fn a1_counts_from_the_first_line() {
    // The third comes 40 after the second one, which was there with the first: 80 after it.
    let took = takes_with(50, |[first, second, third], _| {
        add(first);
        until(now() / 1000 + 40);
        add(second);
        until(now() / 1000 + 40);
        add(third);
    });
    // 52 + 40 + 52 + 40 + 52, and later 4 for the second one.
    assert_eq!(took, 236_188_188);
}

#[test]
fn a1_saves_no_way_back_from_a_line_that_is_busy() {
    // A third core takes the second line, granted at 530 and busy until 578.
    let [first, second] = [line(0), line(0)];
    let their_second = second.clone();
    let other = body(move || {
        for turn in 0..3 {
            until(1000 * turn + 506);
            add(&their_second);
        }
        0
    });
    let owner = takes_back(&[&first, &second]);
    let taker = takes(move |_| {
        add(&first);
        add(&second);
    });
    let mut machine = toy(3);
    machine.memory.ahead_ps = 50_000;
    // Granted at 578, and done 28 later, asked for ahead or not.
    assert_eq!(on_cpus(&machine, vec![owner, taker, other]).value[1], 106_106_106);
}

#[test]
fn a1_is_not_for_what_comes_after_a_system_call() {
    let took = takes_with(500, |[first, second], _| {
        add(first);
        Simulated::wake_upper(&raw const first.0, 1);
        add(second);
    });
    // 52 + 120 + 52, however far a core looks.
    assert_eq!(took, 224_224_224);
}

#[test]
fn a1_expects_what_came_the_last_time() {
    let took = takes_with(50, |[first, second, third], turn| {
        add(first);
        add(if turn == 1 { third } else { second });
    });
    assert_eq!(took, 104_104_104);
}

#[test]
fn a1_is_for_lines_that_have_not_come_yet() {
    let [first, second] = [line(0), line(0)];
    let (their_first, their_second) = (first.clone(), second.clone());
    let owner = body(move || {
        for turn in 0..3 {
            until(1000 * turn);
            add(&their_first);
            add(&their_second);
            // Takes the first one away again, while the other core is at the second one.
            until(1000 * turn + 530);
            add(&their_first);
        }
        0
    });
    let taker = takes(move |_| {
        add(&first);
        add(&second);
        until(now() / 1000 + 40);
        add(&first);
    });
    // 52 + 52 + 40 + 52, and later 52 + 4 + 40 + 52.
    assert_eq!(on_cpus(&looks_ahead(50), vec![owner, taker]).value[1], 196_148_148);
}

#[test]
fn a1_knows_nothing_of_what_a_poll_waits_for() {
    let [flag, data] = [line(0), line(0)];
    let (their_flag, their_data) = (flag.clone(), data.clone());
    let setter = body(move || {
        for turn in 0..3 {
            until(1000 * turn + 500);
            add(&their_data);
            their_flag.0.store(turn + 1, SeqCst);
        }
        0
    });
    let waiter = body(move || {
        three(|turn| {
            while flag.0.load(SeqCst) <= turn {}
            since(|| add(&data))
        })
    });
    assert_eq!(on_cpus(&looks_ahead(50), vec![setter, waiter]).value[1], 52_052_052);
}

#[test]
fn a2_a_read_before_a_write_brings_the_line_for_it() {
    let exchanges = |ahead_ns| {
        takes_with(ahead_ns, |[word], _| {
            let value = word.0.load(SeqCst);
            word.0.compare_exchange(value, value + 1, SeqCst, Relaxed).unwrap();
        })
    };
    // The read takes 48, and keeps the line busy until 24 ns after it has come. Then the write takes half of 0.9 ways back
    // and 4; or if the line was brought for it, 4.
    assert_eq!([exchanges(50), exchanges(0)], [97_052_052, 97_097_097]);
}

#[test]
fn a2_is_for_a_write_that_comes_soon() {
    let adds_after = |gap_ns: u64| {
        takes_with(50, move |[word], _| {
            word.0.load(SeqCst);
            until(now() / 1000 + gap_ns);
            add(word);
        })
    };
    // The write needs 47.2, or if the line was brought for it, 4.
    assert_eq!([adds_after(40), adds_after(60)], [135_092_092, 155_155_155]);
}

#[test]
fn a2_the_write_comes_before_the_line_is_taken_away() {
    let word = line(0);
    let owner = takes_back(&[&word]);
    let theirs = word.clone();
    let other = body(move || {
        for turn in 0..3 {
            until(1000 * turn + 501);
            add(&theirs);
        }
        0
    });
    let taker = takes(move |_| {
        word.0.load(SeqCst);
        add(&word);
    });
    let mut machine = toy(3);
    machine.memory.ahead_ps = 50_000;
    // The first time the other one is between.
    assert_eq!(on_cpus(&machine, vec![owner, taker, other]).value[1], 148_052_052);
}

#[test]
fn a2_is_about_the_first_write() {
    let word = line(0);
    let owner = takes_back(&[&word]);
    let taker = takes(move |_| {
        word.0.load(SeqCst);
        add(&word);
        until(now() / 1000 + 100);
        add(&word);
    });
    assert_eq!(on_cpus(&looks_ahead(50), vec![owner, taker]).value[1], 201_156_156);
}

#[test]
fn a2_a_poll_shares_the_line() {
    let word = line(0);
    let theirs = word.clone();
    let setter = body(move || {
        for turn in 0..3 {
            until(1000 * turn + 500);
            theirs.0.store(2 * turn + 1, SeqCst);
        }
        0
    });
    let waiter = body(move || {
        three(|turn| {
            while word.0.load(SeqCst) <= 2 * turn {}
            since(|| _ = word.0.fetch_add(1, SeqCst))
        })
    });
    // The line is busy until 24 after it has come; half of 0.9 ways back, and 4.
    assert_eq!(on_cpus(&looks_ahead(50), vec![setter, waiter]).value[1], 49_049_049);
}

#[test]
fn a2_a_read_that_was_not_followed_by_a_write_shares_the_line() {
    let word = line(0);
    let theirs = word.clone();
    let owner = body(move || {
        three(|turn| {
            until(1000 * turn);
            add(&theirs);
            until(1000 * turn + 700);
            since(|| _ = theirs.0.load(SeqCst))
        })
    });
    let own = line(0);
    let taker = takes(move |turn| {
        word.0.load(SeqCst);
        if turn == 0 {
            add(&word);
        }
        // Or the next read would be taken for another turn of a loop that polls.
        own.0.load(SeqCst);
    });
    // The owner's read has the line far away while the other one has it for itself: after its write, and once more as it
    // expects to write.
    assert_eq!(on_cpus(&looks_ahead(50), vec![owner, taker]).value[0], 48_048_001);
}
