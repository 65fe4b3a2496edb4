//! Each verdict, and where one begins and another ends.

use super::super::tests::{contended, nothing, profile, profile_of};
use super::*;
use crate::{Site, advice, made_up};

fn judged(profile: &Profile) -> Verdict {
    verdict(profile, &advice(profile, &[]))
}

fn text(profile: &Profile) -> String {
    judged(profile).text
}

#[test]
fn a_program_that_no_lock_holds_back_is_told_so() {
    let quiet = judged(&profile(|lock| lock.wait_ns = 0.16e9));
    assert_eq!(quiet.kind, Finding::Quiet);
    assert_eq!(
        quiet.text,
        "No lock holds this program back: its threads waited 0.4 % of the time they could have run."
    );
    assert!(quiet.command.is_none() && quiet.locks.is_empty());
    assert_ne!(judged(&profile(|lock| lock.wait_ns = 0.401e9)).kind, Finding::Quiet);
    let calm = judged(&made_up::calm());
    assert_eq!(calm.kind, Finding::NoWaits);
    assert!(calm.text.ends_with("no thread waited in 20.0 k acquisitions of 1 lock in 4.0 s."), "{}", calm.text);
    assert_eq!(judged(&made_up::silent()).kind, Finding::NoLocks);
}

/// A table with a lock for each part has many that hardly matter, and a sum that does.
#[test]
fn many_locks_that_hardly_matter_are_added_up() {
    let mut profile = profile(|lock| lock.wait_ns = 0.3e9);
    profile.locks = vec![profile.locks[0].clone(); 20];
    let spread = judged(&profile);
    assert_eq!(spread.kind, Finding::Spread);
    let expected =
        "No single lock holds this program back, but 20 locks together may: its threads waited 15 % of the time";
    assert!(spread.text.starts_with(expected), "{}", spread.text);
}

/// Two processes, and one that only waits for its child: the time of that one does not make waiting look small.
#[test]
fn processes_without_locks_do_not_count() {
    let mut profile = profile(|lock| (lock.wait_ns, lock.process) = (0.16e9, 1));
    let child = profile.processes[0].clone();
    profile.processes.push(child);
    assert!(text(&profile).contains("waited 0.4 %"), "{}", text(&profile));
    profile.locks.push(Lock { process: 0, ..contended() });
    profile.locks[1].wait_ns = 0.16e9;
    assert!(text(&profile).contains("waited 0.4 %"), "{}", text(&profile));
    profile.locks[1].process = 1;
    assert!(text(&profile).contains("waited 0.8 %"), "{}", text(&profile));
}

#[test]
fn a_lock_with_short_sections_is_to_be_measured() {
    let verdict = judged(&profile(|lock| lock.wait_ns = 13e9));
    assert_eq!(verdict.kind, Finding::Lock(Kind::NotPredicted));
    assert_eq!(verdict.text, "`lock` costs up to 32 % of this program's time. Measure whether ondeck's locks help:");
    assert_eq!(verdict.command.as_deref(), Some("ondeck profile --try -- server"));
    assert_eq!(verdict.locks, [0]);
}

#[test]
fn a_long_section_is_named_with_its_holder() {
    let long = |lock: &mut Lock| {
        lock.takers = vec![Site { stack: 0, count: 1e6, ns: 4.6e12 }];
        lock.wait_ns = 36e9;
    };
    let verdict = judged(&profile(long));
    assert_eq!(verdict.kind, Finding::Lock(Kind::Long));
    assert_eq!(
        verdict.text,
        "`lock` costs up to 90 % of this program's time. It is held for 4.60 ms at a time, most in \
         `Cache::put` (cache.cc:88). Make that section shorter. No other mutex will help."
    );
    assert_eq!(verdict.command, None);
}

/// Of threads without a core it cannot be said that they would have run.
#[test]
fn more_threads_than_cores_are_counted() {
    let crowded = |lock: &mut Lock| (lock.wait_ns, lock.handing_on_ns, lock.threads) = (140e9, 100e9, 16);
    let verdict = judged(&profile(crowded));
    assert_eq!(verdict.kind, Finding::Lock(Kind::Late));
    assert_eq!(
        verdict.text,
        "`lock` keeps 14.0 of 16 threads waiting, on average. Too few cores: mostly it was free, but the thread woken for it \
         had no core yet. 16 threads share 4 cores. Use fewer threads, or measure whether ondeck's locks help:"
    );
    assert_eq!(verdict.command.as_deref(), Some("ondeck profile --try -- server"));
    // More waiting than there are threads is a gap in what was seen.
    let text = text(&profile(|lock| (lock.wait_ns, lock.threads) = (500e9, 16)));
    assert!(text.starts_with("`lock` keeps 16.0 of 16 threads waiting"), "{text}");
}

#[test]
fn too_little_seen_says_how_to_see_more() {
    let verdict = judged(&profile(|lock| lock.acquisitions = 190.0));
    assert_eq!(verdict.kind, Finding::Lock(Kind::Unknown));
    assert!(verdict.text.ends_with("Too little was recorded to say more. Record more:"), "{}", verdict.text);
    assert_eq!(verdict.command.as_deref(), Some("ondeck profile --rate 3 -- server"));
    let mut all = profile(|lock| lock.acquisitions = 19.0);
    all.rate = 1;
    assert!(text(&all).ends_with("Record a longer run."), "{}", text(&all));
}

/// Of two locks that matter as much, none is the cause.
#[test]
fn locks_that_matter_together_are_told_together() {
    let mut profile = profile(|lock| lock.wait_ns = 4.5e9);
    profile.locks = (0..3).map(|n| Lock { name: format!("shard {n}"), ..profile.locks[0].clone() }).collect();
    profile.locks.push(nothing());
    let verdict = judged(&profile);
    assert!(
        verdict.text.starts_with("3 locks together cost up to 34 % of this program's time. Begin with `shard 0`. "),
        "{}",
        verdict.text
    );
    assert_eq!(verdict.locks, [0, 1, 2]);
    profile.locks[1].wait_ns = 20e9;
    let verdict = judged(&profile);
    assert!(verdict.text.starts_with("`shard 1` costs up to 50 %"), "{}", verdict.text);
    assert_eq!(verdict.locks, [1, 0, 2]);
}

/// Without advice, as for a snapshot, and with nonsense of a file from elsewhere.
#[test]
fn a_verdict_is_one_line_whatever_the_figures() {
    for number in [0.0, 1e-300, 1.0, 1e18, f64::MAX] {
        let mut profile = profile(|lock| {
            lock.name = "a\n`b`\u{1b}[31m".repeat(100);
            (lock.wait_ns, lock.waits, lock.acquisitions, lock.handing_on_ns) = (number, number, number, number);
            lock.process = 99;
        });
        profile.seconds = number;
        let verdict = verdict(&profile, &[]);
        assert!(!verdict.text.contains(['\n', '\u{1b}']) && !verdict.text.contains("NaN"), "{verdict:?}");
        assert!(
            verdict.text.chars().count() < 500 && verdict.text.matches('`').count().is_multiple_of(2),
            "{verdict:?}"
        );
    }
    assert_eq!(verdict(&profile_of(nothing(), 0, 0.0), &[]).kind, Finding::NoWaits);
}
