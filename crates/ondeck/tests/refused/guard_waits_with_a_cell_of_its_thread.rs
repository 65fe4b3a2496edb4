//! The same by the guard's own wait.

use ondeck::{Monitor, MonitorGuard};
use qcell::{TLCell, TLCellOwner};

struct Mark;

fn main() {
    let monitor = Monitor::new(TLCell::<Mark, Vec<u64>>::new(vec![1]));
    let mut owner = TLCellOwner::<Mark>::new();
    let mut entered = monitor.enter();
    let first: &mut u64 = &mut owner.rw(&entered)[0];
    MonitorGuard::wait(&mut entered).unwrap();
    *first = 0xDEAD;
}
