//! Random schedules of one core on which some threads have priority, as under SCHED_FIFO.
//!
//! While a thread with priority can run, no thread without does, however often the first pauses or yields: the others
//! get the core only while it sleeps, on a word or for a time. So a thread that waits for one that has lost the core to
//! it, and does not sleep, waits until the schedule's steps are used up. Which threads have priority, and after how
//! many steps of the others each of them comes, is drawn anew for each execution.

use shuttle::scheduler::{RandomScheduler, Schedule, Scheduler, Task, TaskId};
use std::cell::RefCell;
use std::collections::BTreeMap;

thread_local! {
    /// For the execution that runs on this real thread.
    static CLASSES: RefCell<PriorityClasses> = const { RefCell::new(PriorityClasses { first: 0, asleep: BTreeMap::new() }) };
}

#[derive(Default)]
struct PriorityClasses {
    /// Threads with priority, a bit each.
    first: u64,
    /// Those of them that sleep for a time: after so many steps of others they are back.
    asleep: BTreeMap<usize, u64>,
}

impl PriorityClasses {
    fn has_priority(&self, task: &Task) -> bool {
        self.first >> (usize::from(task.id()) % 64) & 1 == 1
    }

    fn is_asleep(&self, task: &Task) -> bool {
        self.asleep.contains_key(&usize::from(task.id()))
    }

    fn pass_a_step(&mut self) {
        self.asleep.retain(|_, steps| {
            *steps = steps.saturating_sub(1);
            *steps > 0
        });
    }
}

/// `thread` sleeps for a time, if it has priority: so many steps of others. It has to yield next.
pub(crate) fn fall_asleep(thread: usize, steps: u64) {
    CLASSES.with_borrow_mut(|classes| {
        if classes.first >> (thread % 64) & 1 == 1 {
            classes.asleep.insert(thread, steps);
        }
    });
}

/// `thread` has been woken: if it has priority it runs next.
pub(crate) fn wake(thread: usize) {
    CLASSES.with_borrow_mut(|classes| classes.asleep.remove(&thread));
}

/// No thread has priority.
pub(crate) fn forget() {
    CLASSES.take();
}

/// The scheduler of that core.
pub(crate) struct PriorityScheduler(RandomScheduler);

impl PriorityScheduler {
    pub(crate) fn new(seed: u64, executions: usize) -> Self {
        PriorityScheduler(RandomScheduler::new_from_seed(seed, executions))
    }
}

impl Scheduler for PriorityScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        let schedule = self.0.new_execution()?;
        // A thread in four. Never the first, which only starts the others.
        let first = self.0.next_u64() & self.0.next_u64() & !1;
        let within = |draw: u64| 1 + (draw >> 8) % (1 << (draw % 9));
        let asleep =
            (0..64).filter(|thread| first >> thread & 1 == 1).map(|thread| (thread, within(self.0.next_u64())));
        CLASSES.set(PriorityClasses { first, asleep: asleep.collect() });
        Some(schedule)
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        let candidates: Vec<&Task> = CLASSES.with_borrow_mut(|classes| {
            let choose = |wanted: &dyn Fn(&Task) -> bool| -> Vec<&Task> {
                runnable.iter().copied().filter(|task| wanted(task)).collect()
            };
            let first = choose(&|task| classes.has_priority(task) && !classes.is_asleep(task));
            let others = choose(&|task| !classes.has_priority(task));
            if !first.is_empty() {
                return first;
            }
            classes.pass_a_step();
            // With nobody else to run, a sleep is over at once.
            if others.is_empty() { runnable.to_vec() } else { others }
        });
        self.0.next_task(&candidates, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}
