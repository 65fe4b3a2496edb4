#![deny(unused_must_use)]
//! A guard that nobody keeps guards nothing.

use ondeck::{Mutex, MutexGuard, low_latency};

fn main() {
    let mutex = Mutex::new((1, 2));
    mutex.lock();
    MutexGuard::map(mutex.lock(), |pair| &mut pair.0);
    low_latency::Mutex::new(1).lock();
}
