//! What each mutex and condition variable with the methods of `parking_lot`'s keeps: the parent has `Mutex` and `Condvar`.

use super::times::{all_last_until, far, long, past, short};
use super::{Condvar, Mutex};
use std::time::Instant;

#[test]
fn attempts_last_until_the_mutex_is_free_or_their_time_is_over() {
    let mutex = Mutex::new(());
    let guard = mutex.lock();
    for time in short() {
        let begin = Instant::now();
        assert!(mutex.try_lock_for(time).is_none() && begin.elapsed() >= time, "{time:?}");
        let deadline = Instant::now() + time;
        assert!(mutex.try_lock_until(deadline).is_none() && Instant::now() >= deadline, "{time:?}");
    }
    assert!(past().into_iter().all(|deadline| mutex.try_lock_until(deadline).is_none()));
    let (contended, mut waits) = (&mutex, Vec::<Box<dyn Fn() -> bool + Send>>::new());
    for time in long() {
        waits.push(Box::new(move || contended.try_lock_for(time).is_some()));
    }
    for deadline in far() {
        waits.push(Box::new(move || contended.try_lock_until(deadline).is_some()));
    }
    all_last_until(waits, move || drop(guard));
    assert!(past().into_iter().all(|deadline| mutex.try_lock_until(deadline).is_some()), "a free one is locked");
}

#[test]
fn waits_last_until_a_notification_or_their_deadline() {
    let (is_over, changed) = (Mutex::new(false), Condvar::new());
    let mut guard = is_over.lock();
    for time in short() {
        let begin = Instant::now();
        assert!(changed.wait_for(&mut guard, time).timed_out() && begin.elapsed() >= time, "{time:?}");
        let result = changed.wait_while_for(&mut guard, |is_over| !*is_over, time);
        assert!(result.timed_out() && begin.elapsed() >= 2 * time, "{time:?}");
        let deadline = Instant::now() + time;
        assert!(changed.wait_until(&mut guard, deadline).timed_out() && Instant::now() >= deadline, "{time:?}");
    }
    for deadline in past() {
        assert!(changed.wait_until(&mut guard, deadline).timed_out());
        assert!(changed.wait_while_until(&mut guard, |is_over| !*is_over, deadline).timed_out());
    }
    drop(guard);
    let (is_over, changed) = (&is_over, &changed);
    let mut waits = Vec::<Box<dyn Fn() -> bool + Send>>::new();
    for time in long() {
        waits.push(Box::new(move || {
            let mut guard = is_over.lock();
            *guard || !changed.wait_for(&mut guard, time).timed_out()
        }));
        waits.push(Box::new(move || {
            !changed.wait_while_for(&mut is_over.lock(), |is_over| !*is_over, time).timed_out()
        }));
    }
    for deadline in far() {
        waits.push(Box::new(move || {
            let mut guard = is_over.lock();
            *guard || !changed.wait_until(&mut guard, deadline).timed_out()
        }));
        waits.push(Box::new(move || {
            !changed.wait_while_until(&mut is_over.lock(), |is_over| !*is_over, deadline).timed_out()
        }));
    }
    all_last_until(waits, || {
        *is_over.lock() = true;
        changed.notify_all();
    });
}
