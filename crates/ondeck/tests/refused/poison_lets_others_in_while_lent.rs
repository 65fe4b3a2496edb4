//! The same with poison.

use ondeck::poison::{Condvar, Mutex};
use std::time::Duration;

fn main() {
    let (mutex, changed) = (Mutex::new(vec![1]), Condvar::new());
    let mut guard = mutex.lock().unwrap();
    let lent = &mut guard[0];
    let mut guard = changed.wait(guard).unwrap();
    *lent += 1;
    let lent = &mut guard[0];
    let _ = changed.wait_timeout(guard, Duration::ZERO).unwrap();
    *lent += 1;
    let guard = mutex.lock().unwrap();
    let lent = &guard[0];
    let _guard = changed.wait_while(guard, |numbers| numbers.is_empty()).unwrap();
    println!("{lent}");
}
