//! A queue with a bound, from a mutex and two condition variables. `cargo run --release --example condvar_queue -p ondeck`
//!
//! ```text
//! 4 producers sent 200000 items to 2 consumers: sum 4999900000 each way
//! ```

use ondeck::{Condvar, Mutex};
use std::collections::VecDeque;
use std::thread;

struct Queue<T> {
    items: Mutex<VecDeque<T>>,
    has_item: Condvar,
    has_room: Condvar,
    bound: usize,
}

impl<T> Queue<T> {
    const fn new(bound: usize) -> Self {
        Queue { items: Mutex::new(VecDeque::new()), has_item: Condvar::new(), has_room: Condvar::new(), bound }
    }

    /// Waits while the queue is full.
    fn push(&self, item: T) {
        let mut items = self.items.lock();
        self.has_room.wait_while(&mut items, |items| items.len() == self.bound);
        items.push_back(item);
        // Under the mutex: the consumer does not run into it, it is moved to the mutex's waiters.
        self.has_item.notify_one();
    }

    /// Waits while the queue is empty.
    fn pop(&self) -> T {
        let mut items = self.items.lock();
        loop {
            if let Some(item) = items.pop_front() {
                self.has_room.notify_one();
                return item;
            }
            self.has_item.wait(&mut items);
        }
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
