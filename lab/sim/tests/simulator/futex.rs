//! Sleeping on a word: what it costs whom, and who is woken.

use crate::common::{Body, Line, MS, body, fair, now, on, on_cpus, smt_toy, timed, toy, until};
use ondeck_core::{Atomic, Platform, WaitEnd};
use ondeck_sim::machine::Machine;
use ondeck_sim::{SimU32, SimU64, Simulated};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// A word to sleep on, and a word of the upper half of which one sleeps.
#[repr(align(64))]
struct Word(SimU32);

#[repr(align(64))]
struct Wide(SimU64);

fn word(value: u32) -> Arc<Word> {
    Arc::new(Word(SimU32::new(value)))
}

/// Sleeps at `ns` while the word is 0; gives when it is back.
fn sleeper(ns: u64, word: &Arc<Word>, expect: WaitEnd, deadline_ns: Option<u64>) -> Body {
    let word = word.clone();
    timed(move || {
        until(ns);
        assert_eq!(Simulated::wait_on(&word.0, 0, deadline_ns.map(|ns| ns + 1_000_000)), expect);
    })
}

/// Wakes `n` at `ns`; gives when it is done.
fn waker(ns: u64, word: &Arc<Word>, n: u32) -> Body {
    let word = word.clone();
    timed(move || {
        until(ns);
        Simulated::wake(&raw const word.0, n);
    })
}

// A read-modify-write on the line of the bucket takes 4 of a core that has it, and 48 more of another one. The way back of 24
// is before the bucket is held.

#[test]
fn a_wait_on_a_changed_word_takes_the_bucket_and_goes_back() {
    let word = word(1);
    // Entry 100, bucket: first touch, granted at 100; the word: first touched by `bucket_of`, a hit. Held 200, and 4: 304.
    assert_eq!(on_cpus(&toy(1), vec![sleeper(0, &word, WaitEnd::Woken, None)]).value, [304_000]);
}

#[test]
fn a_wake_that_finds_nobody_costs_little() {
    assert_eq!(on_cpus(&toy(1), vec![waker(0, &word(0), 1)]).value, [120_000]);
}

#[test]
fn a_wait_and_a_wake() {
    let word = word(0);
    // Sleeper: entry to 100, holds the bucket until 300 (304), leaves its CPU at 304 + 500 = 804.
    // Waker: enters at 10000, asks for the bucket at 10100, granted at 10124, has it at 10148, holds it to 10348, is done with
    // the call to the sleeper at 11048, and with its own read-modify-write of 4: 11052.
    // Sleeper: runs 2000 after it was roused, at 13048; returns in 300: 13348.
    let bodies = vec![sleeper(0, &word, WaitEnd::Woken, None), waker(10_000, &word, 1)];
    assert_eq!(on_cpus(&toy(2), bodies).value, [13_348_000, 11_052_000]);
}

/// Wakes that always take equally long can keep threads in step for ever, as those of no real system do.
#[test]
fn wakes_and_system_calls_lie_about_their_average_within_their_jitter() {
    let mut machine = toy(2);
    (machine.os.wake_jitter, machine.os.kernel_jitter) = (500, 0);
    let woken = |machine: &Machine, seed| {
        let word = word(0);
        let bodies = vec![(Some(0), sleeper(0, &word, WaitEnd::Woken, None)), (Some(1), waker(10_000, &word, 1))];
        on(machine, seed, bodies).unwrap().value
    };
    let spread = |times: &[u64]| {
        let mean = times.iter().sum::<u64>() / times.len() as u64;
        (times.iter().min().unwrap().abs_diff(mean) / 1000, times.iter().max().unwrap().abs_diff(mean) / 1000)
    };
    let (sleepers, wakers): (Vec<u64>, Vec<u64>) =
        (0..200).map(|seed| woken(&machine, seed)).map(|at| (at[0], at[1])).unzip();
    // Half of 2000 to either side, of which a sample sees most.
    let (below, above) = spread(&sleepers);
    assert!((850..=1100).contains(&below) && (850..=1100).contains(&above), "{below} {above}");
    assert!(wakers.iter().all(|at| *at == wakers[0]), "only the wake takes its time");
    (machine.os.wake_jitter, machine.os.kernel_jitter) = (0, 100);
    // A tenth of a call of 100.
    let wakers: Vec<u64> = (0..200).map(|seed| woken(&machine, seed)[1]).collect();
    let (below, above) = spread(&wakers);
    assert!((8..=11).contains(&below) && (8..=11).contains(&above), "{below} {above}");
}

#[test]
fn a_wake_takes_at_most_n_in_the_order_in_which_they_came() {
    let word = word(0);
    // 1, 2 and 3 sleep in the order 2, 3, 1. A wake of two at 10 us takes 2 and 3; one of a hundred at 20 us takes 1.
    let sleepers = |ns| sleeper(ns, &word, WaitEnd::Woken, None);
    let theirs = word.clone();
    let both = body(move || {
        until(10_000);
        Simulated::wake(&raw const theirs.0, 2);
        let first = now();
        until(20_000);
        Simulated::wake(&raw const theirs.0, 100);
        assert_eq!(now(), 21_004_000);
        first
    });
    let outcome = on_cpus(&toy(4), vec![both, sleepers(3_000), sleepers(1_000), sleepers(2_000)]);
    // Waker at 10 us: bucket from another core, held until 10348; calls done at 11048 and 11748, and 4.
    // At 20 us: the bucket is here: 20100, held to 20300, call done at 21000, and 4.
    // Sleepers: 2 us after their call, and 300.
    assert_eq!(outcome.value, [11_752_000, 23_300_000, 13_348_000, 14_048_000]);
}

#[test]
fn a_wake_takes_only_those_of_its_address() {
    // One bucket for all.
    let mut machine = toy(3);
    machine.os.buckets = 1;
    let (mine, other) = (word(0), word(0));
    let bodies = vec![
        sleeper(0, &mine, WaitEnd::Woken, None),
        sleeper(1_000, &other, WaitEnd::TimedOut, Some(30_000)),
        waker(10_000, &mine, 10),
    ];
    // The other's deadline: 30 us, 2 us of latency, 300 back.
    assert_eq!(on_cpus(&machine, bodies).value, [13_348_000, 32_300_000, 11_052_000]);
}

#[test]
fn a_wake_while_the_sleeper_still_falls_asleep_keeps_it_awake() {
    let word = word(0);
    // Sleeper queues at 100, holds the bucket until 300, is asleep at 804. Waker: at 200 entry, asks at 300, there at 324,
    // back at 348, held to 548, call to 1248, and 4. It takes the sleeper out at 324, which finds out at 804, and
    // returns in 300.
    let bodies = vec![sleeper(0, &word, WaitEnd::Woken, None), waker(200, &word, 1)];
    assert_eq!(on_cpus(&toy(2), bodies).value, [1_104_000, 1_252_000]);
}

#[test]
fn deadlines() {
    let alone = |deadline, expect| on_cpus(&toy(1), vec![sleeper(0, &word(0), expect, deadline)]).value[0];
    // Passed when the bucket is taken: as one on a changed word.
    assert_eq!(alone(Some(0), WaitEnd::TimedOut), 304_000);
    // Passed while it falls asleep: it leaves at 804, is woken at once, and has slept.
    assert_eq!(alone(Some(400), WaitEnd::TimedOut), 804_000 + 2_000_000 + 300_000);
    // To come.
    assert_eq!(alone(Some(50_000), WaitEnd::TimedOut), 50_000_000 + 2_000_000 + 300_000);
}

#[test]
fn a_wake_before_the_deadline_takes_the_deadline_away() {
    let word = word(0);
    let theirs = word.clone();
    let twice = body(move || {
        let deadline = Some(1_000_000 + 15_000);
        assert_eq!(Simulated::wait_on(&theirs.0, 0, deadline), WaitEnd::Woken);
        let first = now();
        // The first deadline must not end the second sleep.
        assert_eq!(Simulated::wait_on(&theirs.0, 0, None), WaitEnd::Woken);
        assert!(now() > 30_000_000);
        first
    });
    let theirs = word.clone();
    let wakes = timed(move || {
        until(10_000);
        Simulated::wake(&raw const theirs.0, 1);
        until(30_000);
        Simulated::wake(&raw const theirs.0, 1);
    });
    assert_eq!(on_cpus(&toy(2), vec![twice, wakes]).value[0], 13_348_000);
}

#[test]
fn the_first_of_two_wakers_keeps_the_bucket_from_the_second() {
    let word = word(0);
    let sleepers = |ns| sleeper(ns, &word, WaitEnd::Woken, None);
    let bodies = vec![sleepers(0), sleepers(1_000), waker(10_000, &word, 1), waker(10_050, &word, 1)];
    // First: as alone: asks at 10100, there at 10124, has it at 10148, holds it to 10348; 11052.
    // Second: there at 10174, granted at 10348, has it at 10372, holds it to 10572, call to 11272, and 4.
    let outcome = on_cpus(&toy(4), bodies);
    assert_eq!(outcome.value, [13_348_000, 11_272_000 + 2_300_000, 11_052_000, 11_276_000]);
}

#[test]
fn hardware_threads_of_one_core_wait_for_its_bucket_too() {
    let mut machine = smt_toy(1);
    machine.kinds[0].smt_slowdown = 1_000;
    let word = word(1);
    // Both have the bucket's line: 0 holds it from 100 to 300, 1 from 300 to 500.
    let bodies = vec![sleeper(0, &word, WaitEnd::Woken, None), sleeper(10, &word, WaitEnd::Woken, None)];
    assert_eq!(on_cpus(&machine, bodies).value, [304_000, 504_000]);
}

#[test]
fn the_kernel_brings_the_word_to_the_cpu_of_whoever_wants_to_sleep() {
    let word = word(0);
    let theirs = word.clone();
    let owner = timed(move || theirs.0.swap(1, SeqCst));
    // Bucket from 110, the word's line from the owner within: 48; 110 + 48 + 200 + 4.
    assert_eq!(on_cpus(&toy(2), vec![owner, sleeper(10, &word, WaitEnd::Woken, None)]).value, [4_000, 362_000]);
}

#[test]
fn the_upper_half_of_a_word_is_slept_on_by_itself() {
    let word = Arc::new(Wide(SimU64::new(7 << 32 | 1)));
    let theirs = word.clone();
    let sleeps = timed(move || {
        // Another upper half: does not sleep.
        assert_eq!(Simulated::wait_on_upper(&theirs.0, 6 << 32, None), WaitEnd::Woken);
        assert_eq!(now(), 304_000);
        // The lower half does not matter.
        assert_eq!(Simulated::wait_on_upper(&theirs.0, 7 << 32, None), WaitEnd::Woken);
    });
    let wakes = timed(move || {
        until(10_000);
        Simulated::wake_upper(&raw const word.0, 1);
    });
    assert_eq!(on_cpus(&toy(2), vec![sleeps, wakes]).value, [13_348_000, 11_052_000]);
}

#[test]
fn an_idle_cpu_takes_longer_the_longer_it_was_idle() {
    let mut machine = toy(2);
    (machine.os.wake_deeper_ps, machine.os.idle_ps, machine.os.wake_deepest_ps) = (100_000, 10_000_000, 450_000);
    // Off the CPU at 804 ns, roused `idle` later; latency 2000 and 100 for each doubling of 1 + idle / 10 us.
    for (idle_us, deeper_ns) in [(5, 0), (9, 0), (11, 100), (29, 100), (31, 200), (71, 300), (151, 400), (100_000, 450)]
    {
        let word = word(0);
        let roused = 804 + idle_us * 1_000;
        let bodies = vec![sleeper(0, &word, WaitEnd::Woken, None), waker(roused - 1_048, &word, 1)];
        let back = on_cpus(&machine, bodies).value[0];
        assert_eq!(back, 1_000 * (roused + 2_000 + deeper_ns + 300), "{idle_us} us idle");
    }
}

#[test]
fn a_store_before_a_wake_is_seen_by_whoever_is_about_to_sleep() {
    // The store takes until 200 + 24 to be granted. Nobody may sleep through it, whenever they come to the bucket.
    for ns in (0..600).step_by(7) {
        let word = word(0);
        let (theirs, owner) = (word.clone(), word.clone());
        let keeps = timed(move || owner.0.fetch_add(0, SeqCst));
        let stores = timed(move || {
            until(200);
            theirs.0.store(1, Relaxed);
            Simulated::wake(&raw const theirs.0, 1);
        });
        on_cpus(&toy(3), vec![keeps, stores, sleeper(ns, &word, WaitEnd::Woken, None)]);
    }
}

#[test]
fn a_woken_thread_does_not_run_before_its_waker_has_called_it() {
    // One CPU for the sleeper and for somebody who works there: the woken one has slept, so it takes the CPU at once; that is
    // when the waker's call is done, at 11048, and a switch of 1000 later, and 300 back.
    let machine = fair(2, 6 * MS, 3 * MS, 1_000);
    let word = word(0);
    let works = timed(|| Simulated::work(100_000));
    let bodies =
        vec![(Some(0), sleeper(0, &word, WaitEnd::Woken, None)), (Some(0), works), (Some(1), waker(10_000, &word, 1))];
    let outcome = on(&machine, 1, bodies).unwrap();
    assert_eq!(outcome.value[0], 11_048_000 + 1_000_000 + 300_000);
}

/// What a thread leaves for its waker, on its stack.
#[repr(align(32))]
struct Record {
    is_woken: SimU32,
    seen: SimU64,
}

/// Makes a record, tells the waker where it is, and sleeps on it.
fn wait_once(at: &Line) {
    let record = Record { is_woken: SimU32::new(0), seen: SimU64::new(0) };
    at.0.store((&raw const record).expose_provenance() as u64, SeqCst);
    while record.is_woken.load(SeqCst) == 0 {
        Simulated::wait_on(&record.is_woken, 0, None);
    }
    assert_eq!(record.seen.load(Relaxed), 7);
}

/// The same, further down on the stack.
#[inline(never)]
fn wait_deeper(at: &Line) {
    let frames = std::hint::black_box([0_u8; 4096 + 96]);
    wait_once(at);
    std::hint::black_box(frames);
}

fn wake_all(at: &Line, n: u32) {
    for _ in 0..n {
        let mut record = 0;
        while record == 0 {
            record = at.0.swap(0, SeqCst);
        }
        let record = std::ptr::with_exposed_provenance::<Record>(record as usize);
        // SAFETY: its thread does not leave `wait_once` before the swap below, the last use of the reference.
        let record = unsafe { &*record };
        let address = &raw const record.is_woken;
        record.seen.store(7, SeqCst);
        record.is_woken.swap(1, SeqCst);
        Simulated::wake(address, 1);
    }
}

/// Where a compiler puts a record on a stack, and whether two of them ever lie at one place, decides nothing.
#[test]
fn records_on_stacks_may_lie_anywhere() {
    const ROUNDS: u32 = 40;
    let hash = |is_deep: fn(u32) -> bool| {
        let at = Arc::new(Line(SimU64::new(0)));
        let others = at.clone();
        let waiter = timed(move || {
            for round in 0..ROUNDS {
                if is_deep(round) { wait_deeper(&at) } else { wait_once(&at) }
            }
        });
        let waker = timed(move || wake_all(&others, ROUNDS));
        on_cpus(&toy(2), vec![waiter, waker]).trace_hash
    };
    let flat = hash(|_| false);
    assert_eq!([hash(|_| true), hash(|round| round % 2 == 1), hash(|round| round > 20)], [flat; 3]);
}
