//! The thread that locks must release.

use ondeck::{Mutex, MutexGuard, low_latency};

fn is_sent<T: Send>(_: T) {}

fn main() {
    is_sent(Mutex::new(1).lock());
    is_sent(low_latency::Mutex::new(1).lock());
    is_sent(MutexGuard::map(Mutex::new((1, 2)).lock(), |pair| &mut pair.1));
}
