//! A condition variable and its mutex have the same policy.

use ondeck::{Condvar, low_latency};

fn main() {
    let mutex = low_latency::Mutex::new(1);
    Condvar::new().wait(&mut mutex.lock());
}
