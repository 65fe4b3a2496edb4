// Every method of `crossbeam_utils::Backoff` that is not deprecated.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread;

#[test]
fn compare_exchange_loop() {
    let (number, backoff) = (AtomicU32::new(3), Backoff::new());
    let double = || loop {
        let seen = number.load(Relaxed);
        if number.compare_exchange(seen, seen * 2, Relaxed, Relaxed).is_ok() {
            return;
        }
        backoff.spin();
    };
    double();
    assert_eq!(number.into_inner(), 6);
    (0..1000).for_each(|_| backoff.spin());
    assert!(!backoff.is_completed(), "spinning alone never ends it");
}

#[test]
fn wait_for_another_thread() {
    let (turn, waiter) = (AtomicU32::new(0), thread::current());
    thread::scope(|scope| {
        scope.spawn(|| {
            turn.store(1, Release);
            let backoff = Backoff::default();
            while turn.load(Acquire) != 2 {
                backoff.snooze();
            }
            turn.store(3, Release);
            waiter.unpark();
        });
        let backoff = Backoff::new();
        while turn.load(Acquire) != 1 {
            backoff.snooze();
        }
        turn.store(2, Release);
        backoff.reset();
        assert!(!backoff.is_completed());
        while turn.load(Acquire) != 3 {
            if backoff.is_completed() { thread::park() } else { backoff.snooze() }
        }
    });
}

#[test]
fn ends_in_advice_to_sleep() {
    let backoff = Backoff::new();
    while !backoff.is_completed() {
        backoff.snooze();
    }
    assert!(format!("{backoff:?}").contains("is_completed: true"));
}
