//! Nothing that a guard has lent lives over what lets others in.

use ondeck::{Monitor, MonitorGuard};
use std::cell::RefCell;
use std::time::{Duration, Instant};

fn main() {
    let monitor = Monitor::new(RefCell::new(vec![1]));
    let mut entered = monitor.enter();
    let lent = entered.borrow();
    MonitorGuard::wait(&mut entered).unwrap();
    drop(lent);
    let lent = entered.borrow();
    MonitorGuard::wait_for(&mut entered, Duration::ZERO).unwrap();
    drop(lent);
    let lent = entered.borrow();
    MonitorGuard::wait_until(&mut entered, Instant::now()).unwrap();
    drop(lent);
    let lent = entered.borrow();
    MonitorGuard::bump(&mut entered);
    drop(lent);
}
