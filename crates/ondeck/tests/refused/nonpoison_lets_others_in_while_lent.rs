//! The same without poison.

use ondeck::nonpoison::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

fn main() {
    let (mutex, changed) = (Mutex::new(vec![1]), Condvar::new());
    let mut guard = mutex.lock();
    let lent = &mut guard[0];
    changed.wait(&mut guard);
    *lent += 1;
    let lent = &mut guard[0];
    changed.wait_timeout(&mut guard, Duration::ZERO);
    *lent += 1;
    let lent = &guard[0];
    changed.wait_while(&mut guard, |numbers| numbers.is_empty());
    println!("{lent}");
    let lent = &mut guard[0];
    let _part = MutexGuard::map(guard, |numbers| &mut numbers[0]);
    *lent += 1;
}
