//! Nothing that a guard of a mutex has lent lives over what lets others in.

use ondeck::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

fn main() {
    let (mutex, changed) = (Mutex::new(vec![1]), Condvar::new());
    let mut guard = mutex.lock();
    let lent = &mut guard[0];
    changed.wait(&mut guard);
    *lent += 1;
    let lent = &mut guard[0];
    changed.wait_for(&mut guard, Duration::ZERO);
    *lent += 1;
    let lent = &guard[0];
    changed.wait_while(&mut guard, |numbers| numbers.is_empty());
    println!("{lent}");
    let lent = &mut guard[0];
    MutexGuard::unlocked(&mut guard, || ());
    *lent += 1;
    let lent = &guard[0];
    MutexGuard::bump(&mut guard);
    println!("{lent}");
    let lent = &mut guard[0];
    MutexGuard::unlock_fair(guard);
    *lent += 1;
}
