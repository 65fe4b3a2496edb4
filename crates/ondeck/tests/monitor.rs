//! `ondeck::Monitor` as its users see it.

mod limit;

use ondeck::{Monitor, MonitorGuard, Nested, NotHeld, WaitEnd};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(5);

#[test]
fn it_takes_32_bytes_beside_its_data() {
    assert_eq!(size_of::<Monitor<()>>(), 32);
    assert_eq!(size_of::<Monitor<u64>>(), 40);
}

#[test]
fn a_million_can_be_entered_at_once() {
    let monitors: Vec<Monitor<()>> =
        (0..if cfg!(miri) { 100 } else { 1_000_000 }).map(|_| Monitor::default()).collect();
    let entered: Vec<_> = monitors.iter().map(Monitor::enter).collect();
    assert!(monitors.iter().all(Monitor::is_entered));
    drop(entered);
    assert!(!monitors.iter().any(Monitor::is_entered));
}

#[test]
fn threads_exclude_each_other_at_any_depth() {
    const THREADS: usize = 8;
    const ROUNDS: usize = if cfg!(miri) { 10 } else { 5_000 };
    let sum = Monitor::new(Cell::new(0));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let sum = &sum;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let levels: Vec<_> = (0..=(thread + round) % 10).map(|_| sum.enter()).collect();
                    levels[0].set(levels[0].get() + 1);
                }
            });
        }
    });
    assert_eq!(sum.into_inner().get(), THREADS * ROUNDS);
}

#[test]
fn guards_may_be_dropped_in_any_order() {
    let monitor = Monitor::new(());
    let (first, second) = (monitor.enter(), monitor.enter());
    drop(first);
    thread::scope(|scope| scope.spawn(|| assert!(monitor.try_enter().is_none())).join().expect("no panic"));
    drop(second);
    thread::scope(|scope| scope.spawn(|| assert!(monitor.try_enter().is_some())).join().expect("no panic"));
}

#[test]
fn a_thread_inside_may_call_what_enters() {
    let names = Monitor::new(RefCell::new(Vec::new()));
    let add = |name| names.enter().borrow_mut().push(name);
    let entered = names.enter();
    add("first");
    add("second");
    assert_eq!(*entered.borrow(), ["first", "second"]);
}

#[test]
fn who_is_not_inside_is_refused() {
    let monitor = Monitor::new(());
    let refuses = || {
        assert_eq!((monitor.wait(), monitor.wait_for(LONG)), (Err(NotHeld), Err(NotHeld)));
        assert_eq!((monitor.pulse(), monitor.pulse_all()), (Err(NotHeld), Err(NotHeld)));
    };
    refuses();
    let entered = monitor.enter();
    let refuse_elsewhere = || thread::scope(|scope| scope.spawn(refuses).join().expect("refused"));
    refuse_elsewhere();
    drop(entered);
    refuses();
}

#[test]
fn a_wait_ends_at_its_deadline_and_as_deep_as_it_began() {
    let monitor = Monitor::new(());
    let begin = Instant::now();
    let _levels: Vec<_> = (0..3).map(|_| monitor.enter()).collect();
    assert_eq!(monitor.wait_for(SHORT), Ok(WaitEnd::TimedOut));
    assert_eq!(monitor.wait_until(begin), Ok(WaitEnd::TimedOut));
    assert!(begin.elapsed() >= SHORT);
    assert!(monitor.is_entered());
    thread::scope(|scope| {
        let entered =
            scope.spawn(|| (monitor.try_enter_for(SHORT).is_some(), monitor.try_enter_until(begin).is_some()));
        assert_eq!(entered.join().expect("no panic"), (false, false));
    });
}

#[test]
fn a_guard_waits_only_if_it_is_the_only_one() {
    let monitor = Monitor::new(Cell::new(0));
    let mut first = monitor.enter();
    for more in [1, 8] {
        let levels: Vec<_> = (0..more).map(|_| monitor.enter()).collect();
        let begin = Instant::now();
        assert_eq!(MonitorGuard::wait(&mut first), Err(Nested));
        assert_eq!(MonitorGuard::wait_for(&mut first, LONG), Err(Nested));
        assert_eq!(MonitorGuard::wait_until(&mut first, begin + LONG), Err(Nested));
        assert!(begin.elapsed() < LONG);
        thread::scope(|scope| scope.spawn(|| assert!(monitor.try_enter().is_none())).join().expect("still inside"));
        drop(levels);
        assert_eq!(MonitorGuard::wait_for(&mut first, SHORT), Ok(WaitEnd::TimedOut));
    }
    // A leaked guard may have lent something for good.
    std::mem::forget(monitor.enter());
    assert_eq!(MonitorGuard::wait(&mut first), Err(Nested));
    drop(first);
    assert!(monitor.is_entered());
    assert_eq!(MonitorGuard::wait(&mut monitor.enter()), Err(Nested));
}

#[test]
fn bump_lets_waiters_in_and_nobody_else_notices() {
    let done = Monitor::new(Cell::new(0));
    let mut entered = done.enter();
    MonitorGuard::bump(&mut entered);
    thread::scope(|scope| {
        let others: Vec<_> = (0..3).map(|_| scope.spawn(|| done.enter().set(done.enter().get() + 1))).collect();
        let again = done.enter();
        MonitorGuard::bump(&mut entered);
        thread::sleep(SHORT);
        MonitorGuard::bump(&mut entered);
        assert_eq!(again.get(), 0, "not from two levels");
        drop(again);
        let begin = Instant::now();
        while entered.get() < 3 {
            assert!(begin.elapsed() < LONG, "nobody was let in");
            MonitorGuard::bump(&mut entered);
            assert!(done.is_entered());
        }
        drop(entered);
        others.into_iter().for_each(|other| other.join().expect("no panic"));
    });
    assert!(!done.is_entered());
    assert!(done.try_enter().is_some());
}

#[test]
fn two_threads_play_ping_pong() {
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 10_000 };
    let ball = Monitor::new(Cell::new(0));
    let play = |side: usize| {
        for _ in 0..ROUNDS {
            let mut at = ball.enter();
            while at.get() % 2 != side {
                assert_eq!(MonitorGuard::wait_for(&mut at, LONG), Ok(WaitEnd::Pulsed));
            }
            at.set(at.get() + 1);
            ball.pulse().expect("entered");
        }
    };
    thread::scope(|scope| [0, 1].map(|side| scope.spawn(move || play(side))).map(|player| player.join().is_ok()));
    assert_eq!(ball.into_inner().get(), 2 * ROUNDS);
}

/// Starts threads that wait, one after the other, and calls `pulse` when all do, with the number of those that are back. What
/// they return is the order in which they came back.
fn order_after(waiters: usize, pulse: impl Fn(&Monitor<Cell<usize>>, &AtomicUsize)) -> Vec<usize> {
    let (waiting, back) = (Monitor::new(Cell::new(0)), AtomicUsize::new(0));
    thread::scope(|scope| {
        let place = || {
            let mut n = waiting.enter();
            n.set(n.get() + 1);
            MonitorGuard::wait_for(&mut n, LONG).expect("entered once");
            back.fetch_add(1, Relaxed)
        };
        let wait_one = |index| {
            let waiter = scope.spawn(place);
            // Counted and not inside any more, so it waits.
            while waiting.enter().get() <= index {
                thread::yield_now();
            }
            waiter
        };
        let waiters: Vec<_> = (0..waiters).map(wait_one).collect();
        pulse(&waiting, &back);
        waiters.into_iter().map(|waiter| waiter.join().expect("no panic")).collect()
    })
}

#[test]
fn the_oldest_waiter_is_pulsed_first() {
    let one_by_one = |waiting: &Monitor<Cell<usize>>, back: &AtomicUsize| {
        for n in 1..=6 {
            let entered = waiting.enter();
            assert_eq!(waiting.pulse(), Ok(true));
            drop(entered);
            let begin = Instant::now();
            while back.load(Relaxed) < n {
                assert!(begin.elapsed() < LONG, "waited {LONG:?} for the one that was pulsed");
                thread::yield_now();
            }
        }
        let _entered = waiting.enter();
        assert_eq!(waiting.pulse(), Ok(false), "nobody is left");
    };
    assert_eq!(order_after(6, one_by_one), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn pulse_all_ends_every_wait() {
    let mut order = order_after(6, |waiting, _back| {
        let _entered = waiting.enter();
        assert_eq!(waiting.pulse_all(), Ok(6));
        assert_eq!(waiting.pulse_all(), Ok(0));
    });
    order.sort_unstable();
    assert_eq!(order, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_panic_leaves_the_monitor() {
    let monitor = Monitor::new(());
    thread::scope(|scope| {
        let panics = scope.spawn(|| {
            let _levels = (monitor.enter(), monitor.enter());
            panic!("on purpose");
        });
        assert!(panics.join().is_err());
    });
    assert!(monitor.try_enter().is_some());
}

#[test]
fn it_can_be_looked_at() {
    static NUMBER: Monitor<u32> = Monitor::new(7);
    assert_eq!(format!("{NUMBER:?}"), "Monitor { data: 7 }");
    let entered = NUMBER.enter();
    assert_eq!(format!("{entered:?} {entered}"), "7 7");
    thread::scope(|scope| {
        let look = scope.spawn(|| format!("{NUMBER:?}"));
        assert_eq!(look.join().expect("no panic"), "Monitor { data: <locked> }");
    });
}
