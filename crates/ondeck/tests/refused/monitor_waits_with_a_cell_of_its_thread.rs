#![forbid(unsafe_code)]
//! Two threads with an owner each would have `&mut` to one vector, one of them over a wait.

use ondeck::Monitor;
use qcell::{TLCell, TLCellOwner};

struct Mark;

fn main() {
    let monitor = Monitor::new(TLCell::<Mark, Vec<u64>>::new(vec![0xAAAA_AAAA; 64]));
    std::thread::scope(|scope| {
        let monitor = &monitor;
        scope.spawn(move || {
            let mut owner = TLCellOwner::<Mark>::new();
            let entered = monitor.enter();
            let first: &mut u64 = &mut owner.rw(&entered)[0];
            monitor.wait().unwrap();
            *first = 0xDEAD;
        });
        scope.spawn(move || {
            let mut owner = TLCellOwner::<Mark>::new();
            let entered = monitor.enter();
            *owner.rw(&entered) = Vec::new();
            monitor.pulse().unwrap();
        });
    });
}
