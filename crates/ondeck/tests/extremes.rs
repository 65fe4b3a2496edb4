//! Times at their ends, by real calls: a deadline that is far away waits until somebody ends the wait, and none is early.

#[path = "extremes/mutexes.rs"]
mod mutexes;
#[path = "extremes/times.rs"]
mod times;

use ondeck::{Condvar, Monitor, Mutex, SpinWait, WaitEnd, poison};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Instant;
use times::{all_last_until, far, long, past, short};

type Wait<'a> = Box<dyn Fn() -> bool + Send + 'a>;

#[test]
fn a_monitor_is_entered_when_it_is_free_or_not_in_time() {
    let monitor = Monitor::new(());
    let (room, mut waits) = (&monitor, Vec::<Wait<'_>>::new());
    for time in long() {
        waits.push(Box::new(move || room.try_enter_for(time).is_some()));
    }
    for deadline in far() {
        waits.push(Box::new(move || room.try_enter_until(deadline).is_some()));
    }
    let entered = monitor.enter();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for time in short() {
                let begin = Instant::now();
                assert!(room.try_enter_for(time).is_none() && begin.elapsed() >= time, "{time:?}");
            }
            assert!(past().into_iter().all(|deadline| room.try_enter_until(deadline).is_none()));
        });
    });
    all_last_until(waits, move || drop(entered));
}

#[test]
fn waits_in_a_monitor_last_until_a_pulse_or_their_deadline() {
    let monitor = Monitor::new(AtomicBool::new(false));
    let (room, mut waits) = (&monitor, Vec::<Wait<'_>>::new());
    for time in long() {
        waits.push(Box::new(move || {
            let entered = room.enter();
            entered.load(SeqCst) || room.wait_for(time) == Ok(WaitEnd::Pulsed)
        }));
    }
    for deadline in far() {
        waits.push(Box::new(move || {
            let entered = room.enter();
            entered.load(SeqCst) || room.wait_until(deadline) == Ok(WaitEnd::Pulsed)
        }));
    }
    let entered = monitor.enter();
    for time in short() {
        let begin = Instant::now();
        assert_eq!(monitor.wait_for(time), Ok(WaitEnd::TimedOut));
        assert!(begin.elapsed() >= time, "{time:?}");
    }
    assert!(past().into_iter().all(|deadline| monitor.wait_until(deadline) == Ok(WaitEnd::TimedOut)));
    drop(entered);
    all_last_until(waits, || {
        let entered = monitor.enter();
        entered.store(true, SeqCst);
        monitor.pulse_all().expect("entered");
    });
}

#[test]
fn waits_with_the_standard_librarys_methods_last_too() {
    let (is_over, changed) = (poison::Mutex::new(false), poison::Condvar::new());
    let (is_over, changed) = (&is_over, &changed);
    let mut waits = Vec::<Wait<'_>>::new();
    for time in long() {
        waits.push(Box::new(move || {
            let guard = is_over.lock().unwrap();
            *guard || !changed.wait_timeout(guard, time).unwrap().1.timed_out()
        }));
        waits.push(Box::new(move || {
            !changed.wait_timeout_while(is_over.lock().unwrap(), time, |is_over| !*is_over).unwrap().1.timed_out()
        }));
    }
    all_last_until(waits, || {
        *is_over.lock().unwrap() = true;
        changed.notify_all();
    });
    for time in short() {
        let begin = Instant::now();
        let guard = is_over.lock().unwrap();
        assert!(changed.wait_timeout_while(guard, time, |is_over| *is_over).unwrap().1.timed_out());
        assert!(begin.elapsed() >= time, "{time:?}");
    }
}

/// Its threads are awake: one at a time.
#[test]
fn a_wait_that_spins_lasts() {
    for time in long() {
        let is_over = AtomicBool::new(false);
        let wait: Wait<'_> = Box::new(|| SpinWait::new().wait_for(time, || is_over.load(SeqCst)));
        all_last_until(vec![wait], || is_over.store(true, SeqCst));
    }
    for time in short() {
        let begin = Instant::now();
        assert!(!SpinWait::new().wait_for(time, || false) && begin.elapsed() >= time, "{time:?}");
    }
}
