//! What users of `parking_lot::Condvar` rely on.

mod limit;

use ondeck::{Condvar, Mutex, MutexGuard, low_latency};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any scheduling delay that is worth failing for.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(5);

static CHANGED: Condvar = Condvar::new();

/// Runs `body` while `n` threads wait, and then waits for them to return.
fn with_waiters(n: usize, body: impl FnOnce(&Mutex<usize>, &Condvar)) {
    let (n_waiting, changed) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| {
                let mut n_waiting = n_waiting.lock();
                *n_waiting += 1;
                changed.wait(&mut n_waiting);
                *n_waiting -= 1;
            });
        }
        while *n_waiting.lock() < n {
            thread::yield_now();
        }
        body(&n_waiting, &changed);
    });
    assert_eq!(n_waiting.into_inner(), 0);
}

#[test]
fn nobody_waits() {
    assert!(!CHANGED.notify_one());
    assert_eq!(CHANGED.notify_all(), 0);
    assert_eq!(format!("{:?}", Condvar::default()), "Condvar { .. }");
}

#[test]
fn notify_one_wakes_one_and_says_so() {
    with_waiters(1, |_, changed| {
        assert!(changed.notify_one());
        assert!(!changed.notify_one());
    });
    with_waiters(3, |n_waiting, changed| {
        for rest in (0..3).rev() {
            assert!(changed.notify_one());
            while *n_waiting.lock() != rest {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(1));
            assert_eq!(*n_waiting.lock(), rest, "one notification, one return");
        }
    });
}

#[test]
fn notify_all_wakes_all_and_counts_them() {
    for n in [1, 2, 10, 64] {
        with_waiters(n, |_, changed| assert_eq!(changed.notify_all(), n));
        with_waiters(n, |n_waiting, changed| {
            let _guard = n_waiting.lock();
            assert_eq!(changed.notify_all(), n);
            assert_eq!(changed.notify_all(), 0, "they are on their way");
        });
    }
}

#[test]
fn a_notification_under_the_mutex_wakes_nobody_into_it() {
    with_waiters(4, |n_waiting, changed| {
        let guard = n_waiting.lock();
        changed.notify_all();
        thread::sleep(SHORT);
        assert_eq!(*guard, 4);
    });
}

/// How often a thread has gone to sleep, if it sleeps now.
#[cfg(target_os = "linux")]
fn n_sleeps(thread: i32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).expect("it lives");
    let value = |name| status.lines().find_map(|line| line.strip_prefix(name)).expect("has a line for it").trim();
    value("State:").starts_with('S').then(|| value("voluntary_ctxt_switches:").parse().expect("a number"))
}

/// Not even to find that it has to wait: a notified thread sleeps on until the notifier has released the mutex.
#[cfg(target_os = "linux")]
#[test]
#[cfg_attr(miri, ignore = "asks the system for the states of threads")]
fn a_notifier_that_holds_the_mutex_wakes_nobody() {
    for n in [1, 4] {
        let (waiters, changed) = (Mutex::new(Vec::new()), Condvar::new());
        thread::scope(|scope| {
            for _ in 0..n {
                scope.spawn(|| {
                    let mut waiters = waiters.lock();
                    // SAFETY: takes nothing and cannot fail.
                    waiters.push(unsafe { libc::gettid() });
                    changed.wait(&mut waiters);
                });
            }
            let waiters = loop {
                let waiters = waiters.lock();
                if waiters.len() == n && waiters.iter().all(|&waiter| n_sleeps(waiter).is_some()) {
                    break waiters;
                }
                drop(waiters);
                thread::yield_now();
            };
            let n_sleeps = || waiters.iter().map(|&waiter| n_sleeps(waiter)).collect::<Vec<_>>();
            let before = n_sleeps();
            assert_eq!(changed.notify_all(), n);
            thread::sleep(SHORT);
            assert_eq!(n_sleeps(), before);
        });
    }
}

#[test]
fn the_oldest_is_first() {
    let (order, changed) = (Mutex::new(Vec::new()), Condvar::new());
    thread::scope(|scope| {
        for thread in 0..4 {
            let is_waiting = AtomicBool::new(false);
            let (order, changed, is_waiting) = (&order, &changed, Arc::new(is_waiting));
            let tells = is_waiting.clone();
            scope.spawn(move || {
                let mut order = order.lock();
                tells.store(true, Relaxed);
                changed.wait(&mut order);
                order.push(thread);
            });
            while !is_waiting.load(Relaxed) {
                thread::yield_now();
            }
        }
        for n in 1..=4 {
            drop(order.lock());
            assert!(changed.notify_one());
            while order.lock().len() < n {
                thread::yield_now();
            }
        }
    });
    assert_eq!(order.into_inner(), [0, 1, 2, 3]);
}

/// Waits as number `thread` and says so when that is over; returns once it waits.
fn starts_waiting<'a>(
    scope: &'a thread::Scope<'a, '_>,
    (order, changed): &'a (Mutex<Vec<u32>>, Condvar),
    thread: u32,
    patience: Option<Duration>,
) -> thread::ScopedJoinHandle<'a, ()> {
    let is_waiting = Arc::new(AtomicBool::new(false));
    let tells = is_waiting.clone();
    let waiter = scope.spawn(move || {
        let mut order = order.lock();
        tells.store(true, Relaxed);
        match patience {
            Some(patience) => drop(changed.wait_for(&mut order, patience)),
            None => changed.wait(&mut order),
        }
        order.push(thread);
    });
    while !is_waiting.load(Relaxed) {
        thread::yield_now();
    }
    drop(order.lock());
    waiter
}

#[test]
fn the_oldest_stays_the_first_when_another_gives_up() {
    let both = (Mutex::new(Vec::new()), Condvar::new());
    thread::scope(|scope| {
        starts_waiting(scope, &both, 0, None);
        let gives_up = starts_waiting(scope, &both, 1, Some(Duration::from_millis(50)));
        starts_waiting(scope, &both, 2, None);
        gives_up.join().expect("it only waits");
        for n in 2..=3 {
            assert!(both.1.notify_one());
            while both.0.lock().len() < n {
                thread::yield_now();
            }
        }
    });
    assert_eq!(both.0.into_inner(), [1, 0, 2]);
}

#[test]
fn wait_while_looks_first() {
    let mutex = Mutex::new(0);
    Condvar::new().wait_while(&mut mutex.lock(), |_| false);
    let (mutex, changed) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..10 {
                *mutex.lock() += 1;
                changed.notify_one();
            }
        });
        let mut guard = mutex.lock();
        changed.wait_while(&mut guard, |count| *count < 10);
        assert_eq!(*guard, 10);
    });
}

#[test]
fn timeouts_end_and_not_early() {
    let (mutex, changed) = (Mutex::new(()), Condvar::new());
    let mut guard = mutex.lock();
    let start = Instant::now();
    assert!(changed.wait_for(&mut guard, SHORT).timed_out());
    assert!(start.elapsed() >= SHORT);
    let deadline = Instant::now() + SHORT;
    assert!(changed.wait_until(&mut guard, deadline).timed_out());
    assert!(Instant::now() >= deadline);
    assert!(changed.wait_for(&mut guard, Duration::ZERO).timed_out());
    assert!(changed.wait_until(&mut guard, start).timed_out(), "a moment that has passed");
    assert!(mutex.is_locked());
    assert_eq!(changed.notify_all(), 0, "nobody is left in the list");
}

#[test]
fn a_notification_in_time_is_no_timeout() {
    for timeout in [LONG, Duration::MAX] {
        let (mutex, changed) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            let mut guard = mutex.lock();
            scope.spawn(|| {
                *mutex.lock() = true;
                assert!(changed.notify_one());
            });
            assert!(!changed.wait_for(&mut guard, timeout).timed_out());
            assert!(*guard);
        });
    }
}

#[test]
fn a_timeout_that_passes_after_the_notification_does_not_count() {
    let (mutex, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let mut guard = mutex.lock();
            *guard = true;
            !changed.wait_for(&mut guard, Duration::from_millis(200)).timed_out()
        });
        let guard = loop {
            let guard = mutex.lock();
            if *guard {
                break guard;
            }
            drop(guard);
            thread::yield_now();
        };
        let is_notified = changed.notify_one();
        thread::sleep(Duration::from_millis(300));
        drop(guard);
        assert_eq!(waiter.join().expect("no panic"), is_notified);
    });
}

#[test]
fn wait_while_with_a_timeout_looks_once_more_after_it() {
    let (mutex, changed) = (Mutex::new(0), Condvar::new());
    let mut guard = mutex.lock();
    assert!(changed.wait_while_for(&mut guard, |_| true, SHORT).timed_out());
    assert!(!changed.wait_while_for(&mut guard, |_| false, SHORT).timed_out());
    let mut looks = 0;
    let result = changed.wait_while_until(
        &mut guard,
        |_| {
            looks += 1;
            looks == 1
        },
        Instant::now() + SHORT,
    );
    assert!(!result.timed_out(), "the second look, after the timeout, finds it fulfilled");
    assert_eq!(looks, 2);
}

#[test]
fn a_panic_in_the_condition_releases_the_mutex() {
    let (mutex, changed) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        let waiter = scope.spawn(|| changed.wait_while(&mut mutex.lock(), |_| panic!("in the condition")));
        assert!(waiter.join().is_err());
    });
    assert!(mutex.try_lock().is_some());
}

#[test]
fn several_mutexes_at_once() {
    let mutexes: [Mutex<bool>; 3] = Default::default();
    let changed = Condvar::new();
    thread::scope(|scope| {
        for mutex in &mutexes {
            let changed = &changed;
            scope.spawn(move || {
                let mut guard = mutex.lock();
                *guard = true;
                changed.wait(&mut guard);
                assert!(mutex.is_locked());
                *guard = false;
            });
        }
        for mutex in &mutexes {
            while !*mutex.lock() {
                thread::yield_now();
            }
        }
        assert_eq!(changed.notify_all(), 3);
    });
    assert!(mutexes.iter().all(|mutex| !*mutex.lock()));
}

#[test]
fn one_after_another() {
    let (mutex, changed) = (Mutex::new(()), Condvar::new());
    let mut guard = mutex.lock();
    thread::scope(|scope| {
        let notifier = scope.spawn(|| {
            let _guard = mutex.lock();
            changed.notify_one()
        });
        changed.wait(&mut guard);
        assert!(notifier.join().expect("no panic"));
    });
}

#[test]
fn bump_until_a_waiter_is_found() {
    let (mutex, changed) = (Mutex::new(()), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| changed.wait(&mut mutex.lock()));
        let mut guard = mutex.lock();
        while !changed.notify_one() {
            MutexGuard::bump(&mut guard);
            thread::yield_now();
        }
    });
}

#[test]
fn the_other_policy_has_them_too() {
    let (mutex, changed) = (low_latency::Mutex::new(()), low_latency::Condvar::new());
    assert!(changed.wait_for(&mut mutex.lock(), Duration::from_millis(1)).timed_out());
}

#[test]
fn ping_pong() {
    const TURNS: usize = 2_000;
    let (turn, changed) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        for player in 0..2 {
            let (turn, changed) = (&turn, &changed);
            scope.spawn(move || {
                let mut turn = turn.lock();
                while *turn < TURNS {
                    if *turn % 2 == player {
                        *turn += 1;
                        changed.notify_one();
                    } else {
                        changed.wait(&mut turn);
                    }
                }
            });
        }
    });
    assert_eq!(turn.into_inner(), TURNS);
}

/// Producers and consumers over a queue of `room` places: with `notify_one` on two condition variables no notification
/// may be spent on the wrong thread or be lost.
fn queue(producers: usize, consumers: usize, room: usize, per_producer: usize) {
    let queue = Arc::new((Mutex::new(Vec::new()), Condvar::new(), Condvar::new()));
    let taken = Arc::new(AtomicUsize::new(0));
    let (done, is_done) = channel();
    for _ in 0..producers {
        let (queue, done) = (queue.clone(), done.clone());
        thread::spawn(move || {
            let (items, has_item, has_room) = &*queue;
            for item in 0..per_producer {
                let mut items = items.lock();
                has_room.wait_while(&mut items, |items| items.len() == room);
                items.push(Some(item));
                has_item.notify_one();
            }
            done.send(()).expect("the test waits");
        });
    }
    for _ in 0..consumers {
        let (queue, taken, done) = (queue.clone(), taken.clone(), done.clone());
        thread::spawn(move || {
            let (items, has_item, has_room) = &*queue;
            loop {
                let mut items = items.lock();
                has_item.wait_while(&mut items, |items| items.is_empty());
                let item = items.pop().expect("not empty");
                has_room.notify_one();
                if item.is_none() {
                    break;
                }
                taken.fetch_add(1, Relaxed);
            }
            done.send(()).expect("the test waits");
        });
    }
    let wait = || is_done.recv_timeout(LONG).expect("no notification is lost");
    (0..producers).for_each(|_| wait());
    for _ in 0..consumers {
        let (items, has_item, has_room) = &*queue;
        let mut items = items.lock();
        has_room.wait_while(&mut items, |items| items.len() == room);
        items.insert(0, None);
        has_item.notify_one();
    }
    (0..consumers).for_each(|_| wait());
    assert_eq!(taken.load(Relaxed), producers * per_producer);
}

#[test]
#[cfg_attr(miri, ignore = "its clock is far ahead of what it has done")]
fn queues() {
    queue(1, 1, 1, 5_000);
    queue(1, 1, 100, 20_000);
    queue(10, 1, 1, 300);
    queue(1, 10, 1, 3_000);
    queue(10, 10, 1, 300);
    queue(10, 10, 100, 1_000);
}
