//! Runs that do not end as they should, and what is said of them.

use crate::common::{Body, Lock, body, line, now, on, on_cpus, toy};
use ondeck_core::{Atomic, Platform};
use ondeck_sim::{Failure, Options, Simulated};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

#[test]
fn a_deadlock_is_told_with_both_threads_and_words() {
    let (a, b) = (Lock::new(), Lock::new());
    let takes = |begin_ns, first: &Arc<Lock>, second: &Arc<Lock>| {
        let (first, second) = (first.clone(), second.clone());
        let body: Body = body(move || {
            Simulated::work(begin_ns);
            first.acquire();
            Simulated::work(1_000);
            second.acquire();
            0
        });
        (None, body)
    };
    let Err(Failure::Deadlock(text)) = on(&toy(2), 1, vec![takes(0, &a, &b), takes(10, &b, &a)]) else {
        panic!("two threads that take two locks in different orders do not end");
    };
    // Each word was written last by whoever announced to sleep on it.
    assert!(text.contains("2 threads, 2 of them asleep"), "{text}");
    assert!(
        text.contains("thread 1: asleep on line 1+0 while it is 0x2 (still 0x2); last written by thread 1"),
        "{text}"
    );
    assert!(
        text.contains("thread 2: asleep on line 0+0 while it is 0x2 (still 0x2); last written by thread 2"),
        "{text}"
    );
}

#[test]
fn a_lost_wake_up_is_told_with_the_value_that_the_word_has_now() {
    let word = Lock::new();
    let theirs = word.clone();
    let sleeps = body(move || {
        Simulated::wait_on(&theirs.0, 0, None);
        0
    });
    let forgets = body(move || {
        Simulated::work(10_000);
        word.0.swap(7, SeqCst);
        0
    });
    let Err(Failure::Deadlock(text)) = on(&toy(2), 1, vec![(None, sleeps), (None, forgets)]) else {
        panic!("nobody wakes the sleeper");
    };
    assert!(text.contains("1 threads, 1 of them asleep"), "{text}");
    assert!(text.contains("while it is 0x0 (now 0x7); last written by thread 2"), "{text}");
}

/// A run that must work whatever was before it: its hash.
fn a_good_run() -> u64 {
    let word = line(0);
    let add = || {
        let word = word.clone();
        body(move || word.0.fetch_add(1, SeqCst))
    };
    on_cpus(&toy(2), vec![add(), add()]).trace_hash
}

#[test]
fn a_panic_ends_the_run_and_nothing_else() {
    let before = a_good_run();
    let fails = |body: Body| match on(&toy(2), 1, vec![(None, body), (None, self::body(|| 1))]) {
        Err(Failure::Panicked(text)) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(fails(body(|| panic!("at {} it breaks", now()))), "at 0 it breaks");
    assert_eq!(fails(body(|| panic!("for no reason"))), "for no reason");
    // What is thrown may be anything, and own a word, which is dropped.
    let word = line(0);
    assert_eq!(fails(body(|| std::panic::panic_any(word))), "it does not say why");
    assert_eq!(a_good_run(), before);
}

#[test]
fn a_panic_of_the_first_thread_is_told_too() {
    let outcome = ondeck_sim::run(&toy(1), &Options::default(), || panic!("in the root"));
    assert!(matches!(outcome, Err(Failure::Panicked(text)) if text == "in the root"));
}

#[test]
fn a_run_within_a_run_panics_clearly() {
    let nested = || {
        let _ = ondeck_sim::run(&toy(1), &Options::default(), || ());
        0
    };
    let Err(Failure::Panicked(text)) = on(&toy(1), 1, vec![(None, body(nested))]) else {
        panic!("it must not work");
    };
    assert_eq!(text, "a run cannot be started from within a run");
    a_good_run();
}

#[test]
fn outside_of_a_run_there_is_no_machine() {
    let panic = std::panic::catch_unwind(Simulated::pause).unwrap_err();
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    assert!(text.unwrap().contains("within ondeck_sim::run"), "{text:?}");
    // Words can be used all the same.
    let word = line(1);
    assert_eq!(word.0.fetch_add(1, SeqCst), 1);
}

#[test]
fn a_standstill_names_sleepers_and_what_spinners_do() {
    let (lock, flag) = (Lock::new(), line(0));
    let (theirs, sleeps_on) = (flag.clone(), lock.clone());
    let outcome = ondeck_sim::run(&toy(4), &Options::default(), || {
        Simulated::start_thread(
            Some(0),
            Box::new(move || {
                sleeps_on.0.swap(3, SeqCst);
                Simulated::wait_on(&sleeps_on.0, 3, None);
            }),
        );
        Simulated::start_thread(
            Some(1),
            Box::new(move || {
                while theirs.0.load(SeqCst) == 0 {
                    Simulated::pause();
                }
            }),
        );
        Simulated::start_thread(Some(2), Box::new(|| Simulated::sleep_ns(1_000_000)));
        // Waits for the CPU of the spinner.
        Simulated::start_thread(Some(1), Box::new(|| ()));
        Simulated::sleep_ns(100_000);
        Simulated::standstill()
    });
    let text = outcome.unwrap().value;
    assert!(text.contains("at 100000 ns, 4 threads, 2 of them asleep"), "{text}");
    assert!(text.contains("while it is 0x3 (still 0x3); last written by thread 1"), "{text}");
    assert!(text.contains("Load line 1+0, found 0x0, 64 times"), "{text}");
    assert!(text.contains("thread 3: asleep, until"), "{text}");
    assert!(text.contains("thread 4: ready, without a CPU"), "{text}");
}

#[test]
fn threads_that_are_left_over_are_left_alone() {
    let before = a_good_run();
    let owned = Arc::new(());
    let outcome = ondeck_sim::run(&toy(3), &Options::default(), || {
        let (word, far) = (Lock::new(), line(0));
        let (sleeps_on, spins_on, stores_to, theirs) = (word.clone(), far.clone(), far.clone(), owned.clone());
        Simulated::start_thread(None, Box::new(move || _ = Simulated::wait_on(&sleeps_on.0, 0, None)));
        Simulated::start_thread(
            None,
            Box::new(move || {
                let _theirs = theirs;
                while spins_on.0.fetch_add(1, SeqCst) < u64::MAX / 2 {}
            }),
        );
        Simulated::start_thread(
            None,
            Box::new(move || {
                loop {
                    stores_to.0.store(1, Relaxed);
                    Simulated::pause();
                }
            }),
        );
        Simulated::sleep_ns(10_000);
        7
    });
    assert_eq!(outcome.unwrap().value, 7);
    assert_eq!(Arc::strong_count(&owned), 2, "what a thread that is left over owns is never dropped");
    assert_eq!(a_good_run(), before);
}

#[test]
fn the_observer_sees_what_was_done_until_now() {
    let word = line(0);
    let theirs = word.clone();
    let outcome = ondeck_sim::run(&toy(1), &Options::default(), || {
        Simulated::start_thread(
            None,
            Box::new(move || {
                Simulated::work(1_000);
                theirs.0.swap(1, SeqCst);
            }),
        );
        let before = word.0.load(SeqCst);
        Simulated::work(2_000);
        (before, word.0.load(SeqCst))
    });
    assert_eq!(outcome.unwrap().value, (0, 1));
}
