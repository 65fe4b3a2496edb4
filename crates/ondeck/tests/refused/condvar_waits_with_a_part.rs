//! A guard of a part is for no wait: what is lent by the whole would not be seen.

use ondeck::{Condvar, Mutex, MutexGuard};

fn main() {
    let (mutex, changed) = (Mutex::new(vec![1]), Condvar::new());
    let mut part = MutexGuard::map(mutex.lock(), |numbers| &mut numbers[0]);
    changed.wait(&mut part);
}
