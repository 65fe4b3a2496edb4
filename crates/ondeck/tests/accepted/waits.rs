//! What the refusals must leave possible.

use ondeck::poison::{Condvar as PoisonCondvar, Mutex as PoisonMutex};
use ondeck::{Condvar, Monitor, MonitorGuard, Mutex, MutexGuard, Nested};
use qcell::{TLCell, TLCellOwner};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

struct Mark;

fn main() {
    // A borrow that ends before the wait, and another after it.
    let monitor = Monitor::new(TLCell::<Mark, Vec<u64>>::new(vec![1]));
    let mut owner = TLCellOwner::<Mark>::new();
    let mut entered = monitor.enter();
    owner.rw(&entered)[0] += 1;
    MonitorGuard::wait_for(&mut entered, Duration::ZERO).unwrap();
    assert_eq!(owner.rw(&entered)[0], 2);

    let names = Monitor::new(RefCell::new(vec!["first"]));
    let mut entered = names.enter();
    entered.borrow_mut().push("second");
    let again = names.enter();
    assert_eq!(MonitorGuard::wait_for(&mut entered, Duration::ZERO), Err(Nested));
    drop(again);
    MonitorGuard::bump(&mut entered);

    // What threads may share stays lent over a wait, on any level.
    let count = Monitor::new(AtomicU32::new(0));
    let levels = (count.enter(), count.enter());
    let lent: &AtomicU32 = &levels.1;
    count.wait_for(Duration::ZERO).unwrap();
    lent.fetch_add(1, Relaxed);

    let (mutex, changed) = (Mutex::new(vec![1]), Condvar::new());
    let mut guard = mutex.lock();
    guard[0] += 1;
    changed.wait_for(&mut guard, Duration::ZERO);
    MutexGuard::unlocked(&mut guard, || mutex.lock().push(2));
    assert_eq!(*guard, [2, 2]);

    let (mutex, changed) = (PoisonMutex::new(1), PoisonCondvar::new());
    let guard = mutex.lock().unwrap();
    let (guard, result) = changed.wait_timeout(guard, Duration::ZERO).unwrap();
    assert!(result.timed_out() && *guard == 1);
}
