//! From calls and returns to waits, and to who ended them.

use crate::event::op;
use crate::record::About;
use std::collections::{HashMap, VecDeque};

/// A thread's sleep in the kernel, from its call to its return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The number of the image, in [`Tracer::images`](crate::Tracer::images).
    pub image: usize,
    /// The thread's number.
    pub thread: u32,
    /// The futex.
    pub address: u64,
    /// The thread's stack, for [`Tracer::stack`](crate::Tracer::stack).
    pub stack: u32,
    /// When it called, in ns of the monotonic clock.
    pub from_ns: u64,
    /// When the call returned.
    pub to_ns: u64,
    /// How many waited for the same futex when it began to, itself among them.
    pub waiting: u32,
    /// How it ended.
    pub end: End,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Another thread woke it: the stack of that thread, if it was seen.
    Woken(Option<u32>),
    /// Its time was over.
    TimedOut,
    /// A signal came, or the thread ended.
    Interrupted,
    /// It still waits.
    Waiting,
}

/// A call that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) about: About,
    pub(crate) image: usize,
    pub(crate) address: u64,
    pub(crate) op: u32,
    pub(crate) value: u32,
    pub(crate) stack: u32,
    /// See [`Wait::waiting`]; filled in by [`Pairs::call`].
    pub(crate) waiting: u32,
}

/// A call that may have woken somebody.
#[derive(Clone, Copy, Debug)]
struct Wake {
    at: u64,
    thread: u32,
    stack: u32,
    /// How many it may still have woken.
    left: u32,
}

/// Calls whose return has not been seen, and calls that may have ended waits.
#[derive(Default)]
pub(crate) struct Pairs {
    open: HashMap<u32, Begun>,
    /// How many wait for a futex.
    waiting: HashMap<(usize, u64), u32>,
    wakes: HashMap<(usize, u64), VecDeque<Wake>>,
}

/// Wakes of one futex that are remembered: threads that have been woken return within a few.
const MOST_WAKES: usize = 64;
/// Futexes whose wakes are remembered. Who has a new one for each wait would fill the memory.
const MOST_FUTEXES: usize = 1 << 16;

fn waits(op: u32) -> bool {
    let waiting = [op::WAIT, op::WAIT_BITSET, op::LOCK_PI, op::LOCK_PI2, op::WAIT_REQUEUE_PI];
    waiting.contains(&(op & op::COMMAND))
}

fn wakes(op: u32) -> bool {
    let waking =
        [op::WAKE, op::WAKE_BITSET, op::WAKE_OP, op::REQUEUE, op::CMP_REQUEUE, op::CMP_REQUEUE_PI, op::UNLOCK_PI];
    waking.contains(&(op & op::COMMAND))
}

impl Pairs {
    /// A thread calls.
    pub(crate) fn call(&mut self, mut begun: Begun) {
        self.close(begun.about.thread);
        if wakes(begun.op) {
            // The call that unlocks says nothing of how many it wakes; it is one.
            let left = if begun.op & op::COMMAND == op::UNLOCK_PI { 1 } else { begun.value };
            if self.wakes.len() >= MOST_FUTEXES {
                self.wakes.clear();
            }
            let list = self.wakes.entry((begun.image, begun.address)).or_default();
            if list.len() == MOST_WAKES {
                list.pop_front();
            }
            list.push_back(Wake { at: begun.about.at, thread: begun.about.thread, stack: begun.stack, left });
        }
        if waits(begun.op) {
            let waiting = self.waiting.entry((begun.image, begun.address)).or_default();
            *waiting += 1;
            begun.waiting = *waiting;
        }
        self.open.insert(begun.about.thread, begun);
    }

    /// The call of a thread that is over.
    fn close(&mut self, thread: u32) -> Option<Begun> {
        let begun = self.open.remove(&thread)?;
        let key = (begun.image, begun.address);
        if waits(begun.op)
            && let Some(waiting) = self.waiting.get_mut(&key)
        {
            *waiting -= 1;
            if *waiting == 0 {
                self.waiting.remove(&key);
            }
        }
        Some(begun)
    }

    /// A thread's call returns.
    pub(crate) fn returned(&mut self, about: About, result: i64) -> Option<Wait> {
        let begun = self.close(about.thread)?;
        if wakes(begun.op) {
            if result <= 0 {
                self.forget(&begun);
            }
            return None;
        }
        let again = [libc::EAGAIN, libc::EFAULT, libc::EINVAL, libc::ENOSYS, libc::EDEADLK].map(i64::from);
        // The word had changed already, so the thread did not sleep.
        if !waits(begun.op) || again.contains(&-result) {
            return None;
        }
        let end = match result {
            0 => End::Woken(self.waker(&begun, about.at)),
            _ if result == -i64::from(libc::ETIMEDOUT) => End::TimedOut,
            _ => End::Interrupted,
        };
        Some(begun.wait(about.at, end))
    }

    /// A thread has ended, maybe in a call.
    pub(crate) fn ended(&mut self, thread: u32, at: u64) -> Option<Wait> {
        let begun = self.close(thread)?;
        waits(begun.op).then(|| begun.wait(at, End::Interrupted))
    }

    /// Waits that go on.
    pub(crate) fn waiting(&self, now: u64) -> impl Iterator<Item = Wait> {
        let waiting = self.open.values().filter(|begun| waits(begun.op));
        waiting.map(move |begun| begun.wait(now, End::Waiting))
    }

    /// A wake that woke nobody.
    fn forget(&mut self, begun: &Begun) {
        if let Some(list) = self.wakes.get_mut(&(begun.image, begun.address)) {
            list.retain(|wake| (wake.at, wake.thread) != (begun.about.at, begun.about.thread));
        }
    }

    /// Who woke a thread: the first that called meanwhile and may have woken one more. The kernel wakes in the order of
    /// arrival, and who is woken first usually returns first.
    fn waker(&mut self, begun: &Begun, until: u64) -> Option<u32> {
        let list = self.wakes.get_mut(&(begun.image, begun.address))?;
        let is_possible = |wake: &&mut Wake| wake.left > 0 && (begun.about.at..=until).contains(&wake.at);
        let wake = list.iter_mut().find(is_possible)?;
        wake.left -= 1;
        Some(wake.stack)
    }
}

impl Begun {
    fn wait(&self, to_ns: u64, end: End) -> Wait {
        let Begun { about, image, address, stack, waiting, .. } = *self;
        let from_ns = about.at;
        Wait { image, thread: about.thread, address, stack, from_ns, to_ns: to_ns.max(from_ns), waiting, end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(pairs: &mut Pairs, thread: u32, at: u64, op: u32, address: u64, value: u32) {
        let about = About { pid: 1, thread, at };
        pairs.call(Begun { about, image: 0, address, op, value, stack: thread * 10, waiting: 0 });
    }

    fn returned(pairs: &mut Pairs, thread: u32, at: u64, result: i64) -> Option<(u64, End)> {
        let wait = pairs.returned(About { pid: 1, thread, at }, result)?;
        Some((wait.to_ns - wait.from_ns, wait.end))
    }

    const PRIVATE: u32 = 128;

    #[test]
    fn a_wait_lasts_from_call_to_return_and_has_its_waker() {
        let mut pairs = Pairs::default();
        call(&mut pairs, 1, 100, op::WAIT | PRIVATE, 0x1000, 2);
        call(&mut pairs, 2, 120, op::WAKE | PRIVATE, 0x2000, 1);
        call(&mut pairs, 3, 150, op::WAKE | PRIVATE, 0x1000, 1);
        assert_eq!(returned(&mut pairs, 1, 160, 0), Some((60, End::Woken(Some(30)))));
        assert_eq!(returned(&mut pairs, 3, 161, 1), None);
        // Nobody waits any more.
        assert_eq!(returned(&mut pairs, 1, 170, 0), None);
    }

    #[test]
    fn each_wake_ends_as_many_waits_as_it_says_and_no_earlier_ones() {
        let mut pairs = Pairs::default();
        call(&mut pairs, 9, 90, op::WAKE, 0x1000, 1);
        for thread in 1..=3 {
            call(&mut pairs, thread, 100, op::WAIT_BITSET, 0x1000, 0);
        }
        call(&mut pairs, 4, 200, op::WAKE, 0x1000, 1);
        call(&mut pairs, 5, 210, op::WAKE, 0x1000, 1);
        call(&mut pairs, 6, 220, op::WAKE, 0x1000, 1);
        assert_eq!(returned(&mut pairs, 5, 221, 0), None, "it woke nobody");
        assert_eq!(pairs.waiting(250).map(|wait| wait.waiting).max(), Some(3));
        let ends = [1, 2, 3].map(|thread| returned(&mut pairs, thread, 300, 0).unwrap().1);
        assert_eq!(ends, [End::Woken(Some(40)), End::Woken(Some(60)), End::Woken(None)]);
    }

    #[test]
    fn other_ends_are_told_apart() {
        let mut pairs = Pairs::default();
        for (result, end) in [(-110, End::TimedOut), (-4, End::Interrupted), (-512, End::Interrupted)] {
            call(&mut pairs, 1, 100, op::LOCK_PI, 0x1000, 0);
            assert_eq!(returned(&mut pairs, 1, 130, result), Some((30, end)));
        }
        // It did not sleep.
        call(&mut pairs, 1, 100, op::WAIT, 0x1000, 0);
        assert_eq!(returned(&mut pairs, 1, 101, -11), None);
        call(&mut pairs, 1, 200, op::WAIT, 0x1000, 0);
        let waiting: Vec<Wait> = pairs.waiting(250).collect();
        assert_eq!((waiting.len(), waiting[0].to_ns - waiting[0].from_ns), (1, 50));
        assert_eq!(pairs.ended(1, 260).map(|wait| wait.end), Some(End::Interrupted));
        assert_eq!(pairs.waiting(300).count(), 0);
    }

    #[test]
    fn what_was_lost_spoils_nothing() {
        let mut pairs = Pairs::default();
        assert_eq!(returned(&mut pairs, 1, 100, 0), None, "its call was not seen");
        call(&mut pairs, 1, 100, op::WAIT, 0x1000, 0);
        call(&mut pairs, 1, 500, op::WAIT, 0x1000, 0);
        assert_eq!(returned(&mut pairs, 1, 510, 0), Some((10, End::Woken(None))), "the return between was not seen");
        for address in 0..2 * MOST_FUTEXES as u64 {
            call(&mut pairs, 2, 600, op::WAKE, address, 1);
        }
        assert!(pairs.wakes.len() <= MOST_FUTEXES);
    }
}
