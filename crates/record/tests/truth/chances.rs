//! One of many is looked at, and stands for the others.

use crate::common::{
    Mode::{Cheap, Exact, Told},
    prepare,
};
use crate::common::{in_its_own_process, pass, reader, samples, start};
use ondeck_record::layout::event;
use ondeck_record::{Marks, bare};
use std::time::{Duration, Instant};

const LOCK: u64 = 0x5000;

/// Within six standard errors of a number that each of `n` has added to with a chance of one in `rate`.
fn is_near(seen: f64, n: u32, rate: f64) -> bool {
    (seen - f64::from(n)).abs() < 6.0 * (f64::from(n) * (rate - 1.0)).sqrt()
}

#[test]
fn acquisitions_stand_for_those_that_were_passed_over() {
    const N: u32 = 50_000;
    const RATE: u64 = 50;
    in_its_own_process("chances::acquisitions_stand_for_those_that_were_passed_over", RATE, |directory| {
        start(Exact);
        let marks = Marks::default();
        for n in 0..N {
            if n % 2 == 0 && marks.is_quiet() {
                ondeck_record::count();
                assert!(!marks.is_marked());
            } else {
                marks.taken(LOCK);
                if marks.is_marked() {
                    marks.release(LOCK).unwrap().done();
                }
            }
        }
        let samples = samples(&mut reader(directory));
        assert!(samples.iter().all(|sample| sample.event == event::TAKE && sample.weight == RATE as f64));
        assert!(is_near(samples.len() as f64 * RATE as f64, N, RATE as f64), "{}", samples.len());
    });
}

/// Also while somebody waits, where each acquisition is told.
#[test]
fn so_do_those_that_others_wait_for() {
    // All samples have room, however slow the machine is.
    const N: u32 = 3000;
    const RATE: u64 = 5;
    in_its_own_process("chances::so_do_those_that_others_wait_for", RATE, |directory| {
        start(Exact);
        let marks = Marks::default();
        let _waiting = marks.wait(LOCK);
        for _ in 0..N {
            assert!(!marks.is_quiet());
            marks.taken(LOCK);
            marks.release(LOCK).unwrap().done();
        }
        let samples = samples(&mut reader(directory));
        let n = samples.iter().filter(|sample| sample.event == event::TAKE).count();
        assert!(is_near(n as f64 * RATE as f64, N, RATE as f64), "{n}");
        // Charges are recorded in proportion too.
        for event in [event::CHARGE, event::HANDING_ON] {
            let n = samples.iter().filter(|sample| sample.event == event).count();
            assert!(n >= 10, "{event}: {n}");
        }
    });
}

#[test]
fn so_do_those_to_read_and_those_of_locks_without_marks() {
    const N: u32 = 20_000;
    const RATE: u64 = 20;
    in_its_own_process("chances::so_do_those_to_read_and_those_of_locks_without_marks", RATE, |directory| {
        assert!(prepare());
        for turn in 0..u64::from(N) {
            let is_due = bare::is_due();
            if is_due || bare::remembers() {
                bare::within(|| bare::taken(LOCK, Some(turn), is_due, false));
            }
            if bare::remembers() {
                bare::within(|| bare::release(LOCK, Some(turn), false).unwrap().done());
            }
        }
        let mut reader = reader(directory);
        let n = samples(&mut reader).len();
        assert!(is_near(n as f64 * RATE as f64, N, RATE as f64), "{n}");
        let marks = Marks::default();
        for _ in 0..N {
            marks.read(LOCK + 64, ondeck_record::prepare_to_read(), true);
            marks.release_read(LOCK + 64, || true).into_iter().for_each(ondeck_record::PendingRelease::done);
        }
        let n = samples(&mut reader).len();
        assert!(is_near(n as f64 * RATE as f64, N, RATE as f64), "{n}");
    });
}

/// Waits of a given length are recorded in proportion, and each stands for as many as are missing. With charges at instants,
/// as there a thread that does not sleep does not walk its stack before: that would make longer what is most likely recorded.
#[test]
fn short_waits_are_recorded_in_proportion() {
    const RATE: u64 = 201;
    const WHOLE: f64 = 200_000.0;
    in_its_own_process("chances::short_waits_are_recorded_in_proportion", RATE, |directory| {
        start(Told);
        let marks = Marks::default();
        let (mut total, mut most) = (0_f64, 0_f64);
        for _ in 0..3000 {
            marks.taken(LOCK);
            let waiting = marks.wait(LOCK).unwrap();
            let ns = waiting.end(false, LOCK) as f64;
            total += ns;
            most = most.max(ns);
            marks.release(LOCK);
        }
        // Long ones always are.
        let waiting = marks.wait(LOCK).unwrap();
        pass(300);
        let long = waiting.end(false, LOCK);
        let samples = samples(&mut reader(directory));
        let gone: Vec<_> = samples.iter().filter(|sample| sample.event == event::GAVE_UP).collect();
        let last = gone.last().unwrap();
        assert_eq!((last.ns, last.weight), (long, 1.0));
        let short = &gone[..gone.len() - 1];
        assert!(short.iter().all(|sample| sample.weight >= 1.0 && sample.weight * sample.ns as f64 > WHOLE - 1.0));
        let seen: f64 = short.iter().map(|sample| sample.weight * sample.ns as f64).sum();
        // Each adds WHOLE with a chance of its part of it.
        let error = 6.0 * (total * WHOLE).sqrt() + most;
        assert!((seen - total).abs() < error, "{seen} for {total}, of {}", short.len());
    });
}

/// All waits would be recorded, which costs more than it may. Soon few are, and they stand for all.
#[test]
fn what_waits_cost_makes_fewer_of_them_samples() {
    const US: u64 = 20;
    const WHILE: Duration = Duration::from_millis(700);
    in_its_own_process("chances::what_waits_cost_makes_fewer_of_them_samples", US + 1, |directory| {
        start(Cheap);
        let marks = Marks::default();
        let (mut reader, began) = (reader(directory), Instant::now());
        let (mut total, mut seen, mut variance, mut n, mut n_seen) = (0.0, 0.0, 0.0_f64, 0, 0);
        // A wait in which this thread lost its core may be long, and stands for itself.
        let mut heaviest = 0.0_f64;
        while began.elapsed() < WHILE {
            for _ in 0..100 {
                let waiting = marks.wait(LOCK).unwrap();
                pass(US);
                total += waiting.end(false, LOCK) as f64;
                n += 1;
            }
            for sample in samples(&mut reader).iter().filter(|sample| sample.event == event::GAVE_UP) {
                let (ns, weight) = (sample.ns as f64, sample.weight);
                seen += weight * ns;
                variance += weight * (weight - 1.0) * ns * ns;
                (n_seen, heaviest) = (n_seen + 1, heaviest.max(weight));
            }
        }
        assert!(heaviest > 5.0 && n_seen < n / 2, "one of {n_seen} of {n} stands for {heaviest}");
        assert!((seen - total).abs() < 6.0 * variance.sqrt(), "{seen} for {total}, of {n_seen}");
    });
}
