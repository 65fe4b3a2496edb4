//! Waits on any level are for data that threads may share.

use ondeck::Monitor;
use std::cell::Cell;
use std::time::{Duration, Instant};

fn main() {
    let monitor = Monitor::new(Cell::new(1));
    let _entered = monitor.enter();
    monitor.wait().unwrap();
    monitor.wait_for(Duration::ZERO).unwrap();
    monitor.wait_until(Instant::now()).unwrap();
}
