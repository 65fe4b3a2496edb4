//! A queue with a bound, from one monitor. `cargo run --release --example monitor_queue -p ondeck`
//!
//! ```text
//! 4 producers sent 200000 items to 2 consumers: sum 4999900000 each way
//! ```

use ondeck::{Monitor, MonitorGuard};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::thread;

struct Queue<T> {
    items: Monitor<RefCell<VecDeque<T>>>,
    bound: usize,
}

impl<T> Queue<T> {
    const fn new(bound: usize) -> Self {
        Queue { items: Monitor::new(RefCell::new(VecDeque::new())), bound }
    }

    /// Waits while the queue is full.
    fn push(&self, item: T) {
        let mut items = self.items.enter();
        // The borrow ends before the wait, or this would not compile: another thread is inside meanwhile.
        while items.borrow().len() == self.bound {
            MonitorGuard::wait(&mut items).expect("entered once");
        }
        items.borrow_mut().push_back(item);
        self.changed();
    }

    /// Waits while the queue is empty.
    fn pop(&self) -> T {
        let mut items = self.items.enter();
        loop {
            let first = items.borrow_mut().pop_front();
            if let Some(item) = first {
                self.changed();
                return item;
            }
            MonitorGuard::wait(&mut items).expect("entered once");
        }
    }

    /// Lets all that wait look again: a monitor has one wait room for those that want items and those that want room.
    fn changed(&self) {
        self.items.pulse_all().expect("entered");
    }
}

const PRODUCERS: u64 = 4;
const CONSUMERS: u64 = 2;
const ITEMS: u64 = 50_000;

static QUEUE: Queue<Option<u64>> = Queue::new(64);

fn main() {
    let received: u64 = thread::scope(|scope| {
        let consumers: Vec<_> =
            (0..CONSUMERS).map(|_| scope.spawn(|| std::iter::from_fn(|| QUEUE.pop()).sum::<u64>())).collect();
        let producers: Vec<_> =
            (0..PRODUCERS).map(|_| scope.spawn(|| (0..ITEMS).for_each(|item| QUEUE.push(Some(item))))).collect();
        for producer in producers {
            producer.join().expect("no panic");
        }
        (0..CONSUMERS).for_each(|_| QUEUE.push(None));
        consumers.into_iter().map(|consumer| consumer.join().expect("no panic")).sum()
    });
    let sent = PRODUCERS * (0..ITEMS).sum::<u64>();
    assert_eq!(received, sent);
    println!("{PRODUCERS} producers sent {} items to {CONSUMERS} consumers: sum {sent} each way", PRODUCERS * ITEMS);
}
