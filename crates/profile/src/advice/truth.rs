//! Profiles of simulated runs, of which the truth is known: what is predicted from them must come near it.

use super::tests::profile_of;
use super::*;
use crate::{Bar, Histogram, Lock, Site};
use ondeck_lab::lock::LockSpec;
use ondeck_lab::plan::{Pin, Plan, Point};
use ondeck_lab::predict::{LOCKS, Sections};
use ondeck_lab::simulate::timeline::{Mark, What};
use ondeck_lab::simulate::{self, MachinePlan};
use std::sync::atomic::AtomicBool;

/// Another one than those that are predicted with.
const SEED: u64 = 77;

/// A workload that is known, and how often the locks are acquired in it.
struct Truth {
    profile: Profile,
    glibc_per_s: f64,
    ondeck_per_s: f64,
}

/// What becomes of sections of so many ns on a machine with so many cores, and what a recorder sees of it.
fn truth(cores: u32, threads: u32, section_ns: f64, outside_ns: f64) -> Truth {
    // Who shares a core is to lose it a few times.
    let seconds = if threads > cores { 0.03 } else { 0.01 };
    let machine = simulate::machine("mesh", Some(cores)).unwrap();
    let workload = Sections { section_ns, outside_ns }.workload(&machine);
    let points = LOCKS.map(|lock| Point { workload, lock: LockSpec::parse(lock).unwrap(), threads }).to_vec();
    let plan = Plan { points, rounds: 1, seconds: Some(seconds), seed: SEED, pin: Pin::None, earlier: Vec::new() };
    let plan = MachinePlan { plan, machine, machine_words: String::new(), record: true };
    let outcome = simulate::run(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap();
    let [glibc_per_s, ondeck_per_s] = [0, 1].map(|row: usize| outcome.rows[row].ops_per_s.unwrap());
    Truth { profile: recorded(&outcome.timeline.unwrap(), cores, threads), glibc_per_s, ondeck_per_s }
}

/// What a recorder sees of a run of glibc's mutex in which nobody begins late or ends early.
fn recorded(run: &simulate::Timeline, cores: u32, threads: u32) -> Profile {
    let (mut waits, mut holds) = (Vec::new(), Vec::new());
    let mut begun = vec![None; run.threads as usize];
    let (mut first, mut last) = (u64::MAX, 0);
    for event in &run.events {
        let begun = &mut begun[event.thread as usize];
        match event.what {
            What::Marked(Mark::Asks) => (first, last) = (first.min(event.at_ps), event.at_ps),
            What::Step(step) if step.name == "look" => *begun = begun.or(Some(event.at_ps)),
            What::Marked(Mark::Holds) => waits.extend(begun.replace(event.at_ps).map(|at| event.at_ps - at)),
            What::Step(step) if step.name == "sign_out" => holds.extend(begun.take().map(|at| event.at_ps - at)),
            _ => {}
        }
    }
    let sum_ns = |times: &[u64]| times.iter().sum::<u64>() as f64 / 1e3;
    let count = holds.len() as f64;
    profile_of(
        Lock {
            acquisitions: count,
            waits: waits.len() as f64,
            wait_ns: sum_ns(&waits),
            hold_ns: sum_ns(&holds),
            hold_histogram: histogram(&holds),
            threads,
            takers: vec![Site { stack: 0, count, ns: sum_ns(&holds) }],
            ..super::tests::nothing()
        },
        cores,
        (last - first) as f64 / 1e12,
    )
}

/// Bars of powers of two.
fn histogram(times_ps: &[u64]) -> Histogram {
    let bar = |power: u32| {
        let (from, to) = (1 << power, 2 << power);
        let count = times_ps.iter().filter(|ps| (from..to).contains(&(**ps / 1000))).count();
        Bar { from, to, count: count as f64 }
    };
    Histogram((0..40).map(bar).filter(|bar| bar.count > 0.0).collect())
}

/// Predicts, and says if the rates of a lock are not as near the true ones as a part of these.
fn check(truth: &Truth, near: f64) -> Prediction {
    let prediction = predict(&truth.profile.locks[0], &truth.profile, None).expect("it is worth predicting");
    let here = prediction.here();
    let pairs = [(here.glibc_per_s, truth.glibc_per_s), (here.ondeck_per_s, truth.ondeck_per_s)];
    for (lock, (predicted, actual)) in LOCKS.into_iter().zip(pairs) {
        let error = predicted / actual - 1.0;
        assert!(
            error.abs() < near,
            "{lock}: {predicted:.0} a second are predicted, {actual:.0} are true: {prediction:?}"
        );
    }
    assert!(prediction.is_like_the_run(), "{prediction:?}");
    prediction
}

/// Two threads that fall into step: other sections look the same but for the waits.
#[test]
fn predictions_for_two_threads_come_true() {
    check(&truth(2, 2, 30.0, 100.0), 0.15);
}

#[test]
fn a_prediction_is_the_same_each_time() {
    let truth = truth(2, 2, 100.0, 300.0);
    let first = check(&truth, 0.15);
    assert_eq!(predictions(&truth.profile, 3, None), [Some(first)]);
    assert_eq!(predictions(&truth.profile, 0, None), [None]);
}

#[test]
fn a_model_of_the_machine_is_taken_if_it_has_as_many_cores() {
    let truth = truth(2, 2, 100.0, 300.0);
    let predicted = |cores| {
        let mut here = simulate::machine("mesh", Some(cores)).unwrap();
        here.name = "here.toml".to_owned();
        // So that its figures are others.
        here.kinds[0].rmw_ps *= 2;
        predict(&truth.profile.locks[0], &truth.profile, Some(&here)).unwrap()
    };
    let without = check(&truth, 0.15);
    assert_eq!(predicted(4), without);
    let with = predicted(2);
    assert_eq!((with.here().machine.as_str(), with.here().cores), ("here.toml", 2));
    assert_ne!(with.here().glibc_per_s, without.here().glibc_per_s);
    assert_eq!(with.machines[1].machine, without.machines[1].machine);
}

#[test]
fn predictions_for_many_cores_come_true() {
    check(&truth(16, 16, 3000.0, 30_000.0), 0.15);
    check(&truth(16, 4, 300.0, 600.0), 0.15);
    check(&truth(4, 4, 50_000.0, 100_000.0), 0.15);
}

/// What a clock has shown is more than the sections that there were.
#[test]
fn sections_are_told_from_what_the_lock_costs() {
    let truth = truth(16, 16, 100.0, 1000.0);
    let prediction = check(&truth, 0.15);
    let seen = Measures::of(&truth.profile.locks[0], &truth.profile).seen().unwrap();
    assert!(seen.section_ns > 180.0 && seen.outside_ns > 2000.0, "{seen:?}");
    assert!((90.0..115.0).contains(&prediction.section_ns), "{prediction:?}");
    assert!((900.0..1150.0).contains(&prediction.outside_ns), "{prediction:?}");
}

/// Without their lock's waits: with many of them, what is seen fits several sections, and the prediction says that it is not
/// like the run.
#[test]
fn predictions_for_threads_that_share_cores_come_true() {
    check(&truth(2, 8, 300.0, 3000.0), 0.15);
}
