//! Times at their ends, by real calls: a deadline that is far away waits until somebody ends the wait, and none is early.

#[path = "../../ondeck/tests/extremes/mutexes.rs"]
mod mutexes;
#[path = "../../ondeck/tests/extremes/times.rs"]
mod times;

use parking_lot::{Condvar, FairMutex, Mutex, ReentrantMutex, RwLock};
use std::time::Instant;
use times::{all_last_until, far, long, past, short};

type Wait<'a> = Box<dyn Fn() -> bool + Send + 'a>;

#[test]
fn attempts_on_other_locks_last_too() {
    let (fair, reentrant, shared) = (FairMutex::new(()), ReentrantMutex::new(()), RwLock::new(()));
    let (fair, reentrant, shared) = (&fair, &reentrant, &shared);
    let mut waits = Vec::<Wait<'_>>::new();
    for time in long() {
        waits.push(Box::new(move || fair.try_lock_for(time).is_some()));
        waits.push(Box::new(move || reentrant.try_lock_for(time).is_some()));
        waits.push(Box::new(move || shared.try_read_for(time).is_some()));
        waits.push(Box::new(move || shared.try_read_recursive_for(time).is_some()));
        waits.push(Box::new(move || shared.try_write_for(time).is_some()));
        waits.push(Box::new(move || shared.try_upgradable_read_for(time).is_some()));
    }
    for deadline in far() {
        waits.push(Box::new(move || fair.try_lock_until(deadline).is_some()));
        waits.push(Box::new(move || reentrant.try_lock_until(deadline).is_some()));
        waits.push(Box::new(move || shared.try_read_until(deadline).is_some()));
        waits.push(Box::new(move || shared.try_write_until(deadline).is_some()));
    }
    let guards = (fair.lock(), reentrant.lock(), shared.write());
    for time in short() {
        let begin = Instant::now();
        assert!(fair.try_lock_for(time).is_none() && shared.try_read_for(time).is_none());
        assert!(begin.elapsed() >= 2 * time, "{time:?}");
    }
    assert!(past().into_iter().all(|deadline| shared.try_write_until(deadline).is_none()));
    all_last_until(waits, move || drop(guards));
}
