//! From calls and returns to waits, and to who ended them.

use crate::event::op;
use crate::record::RecordOrigin;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A thread's sleep in the kernel, from its call to its return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The number of the image, in [`Tracer::images`](crate::Tracer::images).
    pub image: usize,
    /// The thread's number.
    pub thread: u32,
    /// The futex, of [`in_time`](crate::in_time).
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
pub(crate) struct OpenCall {
    pub(crate) about: RecordOrigin,
    pub(crate) image: usize,
    pub(crate) address: u64,
    pub(crate) stack: u32,
    /// See [`Wait::waiting`]; filled in by [`Pairs::call`].
    pub(crate) waiting: u32,
    /// The stack of who woke it, filled in by [`Pairs::woke`].
    pub(crate) waker: Option<u32>,
    /// Whether records were lost since: its return may be among them.
    pub(crate) is_doubtful: bool,
}

/// A call that has woken somebody.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wake {
    pub(crate) at: u64,
    pub(crate) image: usize,
    pub(crate) address: u64,
    pub(crate) op: i32,
    pub(crate) stack: u32,
    pub(crate) woken: i64,
}

/// Waits that go on, and those that are over but may still learn who ended them.
#[derive(Default)]
pub(crate) struct Pairs {
    open: FxHashMap<u32, OpenCall>,
    /// The threads that wait for a futex.
    waiting: FxHashMap<(usize, u64), Vec<u32>>,
    /// In the order of their ends.
    over: VecDeque<Wait>,
    /// How many have left `over`: the first of it has this number.
    n_settled: u64,
    /// The numbers of those whose waker is not known yet.
    unmatched: FxHashMap<(usize, u64), Vec<u64>>,
    n_doubtful: u64,
}

/// Who wakes a thread is seen when it returns from its call, and the thread that it woke may have its CPU by then.
const LATEST_WAKE_NS: u64 = 100_000_000;

impl Pairs {
    /// A thread calls, and may sleep.
    pub(crate) fn call(&mut self, mut begun: OpenCall) {
        // Its return is among what was lost.
        self.n_doubtful += u64::from(self.close(begun.about.thread).is_some_and(|begun| begun.is_doubtful));
        let waiting = self.waiting.entry((begun.image, begun.address)).or_default();
        waiting.push(begun.about.thread);
        begun.waiting = waiting.len() as u32;
        self.open.insert(begun.about.thread, begun);
    }

    /// The call of a thread that is over.
    fn close(&mut self, thread: u32) -> Option<OpenCall> {
        let begun = self.open.remove(&thread)?;
        let key = (begun.image, begun.address);
        if let Some(waiting) = self.waiting.get_mut(&key) {
            waiting.retain(|other| *other != thread);
            if waiting.is_empty() {
                self.waiting.remove(&key);
            }
        }
        Some(begun)
    }

    /// A thread's call returns.
    pub(crate) fn returned(&mut self, about: RecordOrigin, result: i64) {
        let Some(begun) = self.close(about.thread) else { return };
        if begun.is_doubtful {
            self.n_doubtful += 1;
            return;
        }
        let again = [libc::EAGAIN, libc::EFAULT, libc::EINVAL, libc::ENOSYS, libc::EDEADLK];
        // The word had changed already, so the thread did not sleep.
        if again.iter().any(|error| result == -i64::from(*error)) {
            return;
        }
        let end = match result {
            0 => End::Woken(begun.waker),
            _ if result == -i64::from(libc::ETIMEDOUT) => End::TimedOut,
            _ => End::Interrupted,
        };
        if end == End::Woken(None) {
            let number = self.n_settled + self.over.len() as u64;
            self.unmatched.entry((begun.image, begun.address)).or_default().push(number);
        }
        self.over.push_back(begun.wait(about.at, end));
    }

    /// A call has woken somebody: those that have waited longest, as the kernel does.
    pub(crate) fn woke(&mut self, wake: Wake) {
        if !op::wakes(wake.op) {
            return;
        }
        let key = (wake.image, wake.address);
        for _ in 0..wake.woken {
            // Who still waits is later than who does not any more.
            if let Some(wait) = self.longest_unmatched(key, wake.at) {
                wait.end = End::Woken(Some(wake.stack));
                continue;
            }
            let threads = self.waiting.get(&key).map_or(&[][..], Vec::as_slice);
            let mut begun =
                threads.iter().filter(|thread| self.open.get(thread).is_some_and(|one| one.waker.is_none()));
            let Some(begun) = begun.next().and_then(|thread| self.open.get_mut(thread)) else { return };
            begun.waker = Some(wake.stack);
        }
    }

    /// Of the waits for a futex that are over and have no waker, the one that began first, before a time. It is taken to
    /// have one now.
    fn longest_unmatched(&mut self, key: (usize, u64), at: u64) -> Option<&mut Wait> {
        let numbers = self.unmatched.get_mut(&key)?;
        let index = |number: u64| (number - self.n_settled) as usize;
        let possible = numbers.iter().enumerate().filter(|(_, number)| self.over[index(**number)].from_ns <= at);
        let (place, number) = possible.min_by_key(|(_, number)| self.over[index(**number)].from_ns)?;
        let found = index(*number);
        numbers.remove(place);
        if numbers.is_empty() {
            self.unmatched.remove(&key);
        }
        self.over.get_mut(found)
    }

    /// A thread has ended, maybe in a call.
    pub(crate) fn ended(&mut self, thread: u32, at: u64) {
        let Some(begun) = self.close(thread) else { return };
        if begun.is_doubtful {
            self.n_doubtful += 1;
        } else {
            self.over.push_back(begun.wait(at, End::Interrupted));
        }
    }

    /// Waits that are over and learn no more, at a time.
    pub(crate) fn settled(&mut self, now: u64, mut each: impl FnMut(Wait)) {
        while let Some(wait) = self.over.front().filter(|wait| wait.to_ns.saturating_add(LATEST_WAKE_NS) <= now) {
            each(*wait);
            let key = (wait.image, wait.address);
            if wait.end == End::Woken(None) {
                let numbers = self.unmatched.entry(key).or_default();
                numbers.retain(|number| *number != self.n_settled);
                if numbers.is_empty() {
                    self.unmatched.remove(&key);
                }
            }
            self.over.pop_front();
            self.n_settled += 1;
        }
    }

    /// Records were lost. Of a thread that waited then, the return may be lost, and the call of its next wait: so the next
    /// return that is told ends nothing that is known.
    pub(crate) fn lost(&mut self) {
        for begun in self.open.values_mut() {
            begun.is_doubtful = true;
        }
    }

    /// How many waits were left out, as records were lost while they went on.
    pub(crate) fn doubtful(&self) -> u64 {
        self.n_doubtful
    }

    /// Waits that go on.
    pub(crate) fn waiting(&self, now: u64) -> impl Iterator<Item = Wait> {
        self.open.values().filter(|begun| !begun.is_doubtful).map(move |begun| begun.wait(now, End::Waiting))
    }
}

impl OpenCall {
    pub(crate) fn new(about: RecordOrigin, image: usize, address: u64, stack: u32) -> Self {
        OpenCall { about, image, address, stack, waiting: 0, waker: None, is_doubtful: false }
    }

    fn wait(&self, to_ns: u64, end: End) -> Wait {
        let OpenCall { about, image, address, stack, waiting, .. } = *self;
        let from_ns = about.at;
        Wait { image, thread: about.thread, address, stack, from_ns, to_ns: to_ns.max(from_ns), waiting, end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(pairs: &mut Pairs, thread: u32, at: u64, address: u64) {
        let about = RecordOrigin { pid: 1, thread, at };
        pairs.call(OpenCall::new(about, 0, address, thread * 10));
    }

    fn woke(pairs: &mut Pairs, stack: u32, at: u64, address: u64, woken: i64) {
        pairs.woke(Wake { at, image: 0, address, op: libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, stack, woken });
    }

    fn returned(pairs: &mut Pairs, thread: u32, at: u64, result: i64) {
        pairs.returned(RecordOrigin { pid: 1, thread, at }, result);
    }

    fn ends(pairs: &mut Pairs) -> Vec<(u32, u64, End)> {
        let mut list = Vec::new();
        pairs.settled(u64::MAX, |wait| list.push((wait.thread, wait.to_ns - wait.from_ns, wait.end)));
        list
    }

    #[test]
    fn a_wait_lasts_from_call_to_return_and_has_its_waker() {
        let mut pairs = Pairs::default();
        call(&mut pairs, 1, 100, 0x1000);
        woke(&mut pairs, 20, 120, 0x2000, 1);
        woke(&mut pairs, 30, 150, 0x1000, 1);
        returned(&mut pairs, 1, 160, 0);
        // Nobody waits any more.
        returned(&mut pairs, 1, 170, 0);
        assert_eq!(ends(&mut pairs), [(1, 60, End::Woken(Some(30)))]);
    }

    #[test]
    fn a_waker_that_lost_its_cpu_is_found_later() {
        let mut pairs = Pairs::default();
        call(&mut pairs, 1, 100, 0x1000);
        returned(&mut pairs, 1, 160, 0);
        let mut n = 0;
        pairs.settled(200, |_| n += 1);
        assert_eq!(n, 0);
        call(&mut pairs, 2, 250, 0x1000);
        woke(&mut pairs, 30, 300, 0x1000, 1);
        pairs.settled(160 + LATEST_WAKE_NS, |wait| {
            n += 1;
            assert_eq!(wait.end, End::Woken(Some(30)));
        });
        assert_eq!(n, 1);
        assert!(pairs.waiting(400).all(|wait| wait.thread == 2));
    }

    #[test]
    fn each_wake_ends_as_many_waits_as_it_says_the_oldest_first() {
        let mut pairs = Pairs::default();
        for thread in 1..=4 {
            call(&mut pairs, thread, 100 + u64::from(thread), 0x1000);
        }
        woke(&mut pairs, 40, 200, 0x1000, 2);
        woke(&mut pairs, 50, 210, 0x1000, 1);
        assert_eq!(pairs.waiting(250).map(|wait| wait.waiting).max(), Some(4));
        for thread in [3, 1, 2, 4] {
            returned(&mut pairs, thread, 300, 0);
        }
        let ends: Vec<(u32, End)> = ends(&mut pairs).into_iter().map(|(thread, _, end)| (thread, end)).collect();
        let woken = |stack| End::Woken(Some(stack));
        assert_eq!(ends, [(3, woken(50)), (1, woken(40)), (2, woken(40)), (4, End::Woken(None))]);
    }

    #[test]
    fn other_ends_are_told_apart() {
        let mut pairs = Pairs::default();
        for (result, end) in [(-110, End::TimedOut), (-4, End::Interrupted), (-512, End::Interrupted)] {
            call(&mut pairs, 1, 100, 0x1000);
            returned(&mut pairs, 1, 130, result);
            assert_eq!(ends(&mut pairs), [(1, 30, end)]);
        }
        // It did not sleep.
        call(&mut pairs, 1, 100, 0x1000);
        returned(&mut pairs, 1, 101, -11);
        assert!(ends(&mut pairs).is_empty() && pairs.waiting(110).count() == 0);
        call(&mut pairs, 1, 200, 0x1000);
        let waiting: Vec<Wait> = pairs.waiting(250).collect();
        assert_eq!((waiting.len(), waiting[0].to_ns - waiting[0].from_ns), (1, 50));
        pairs.ended(1, 260);
        assert_eq!(ends(&mut pairs), [(1, 60, End::Interrupted)]);
        assert_eq!(pairs.waiting(300).count(), 0);
    }

    #[test]
    fn what_was_lost_spoils_nothing() {
        let mut pairs = Pairs::default();
        returned(&mut pairs, 1, 100, 0);
        woke(&mut pairs, 3, 100, 0x1000, 1000);
        call(&mut pairs, 1, 100, 0x1000);
        call(&mut pairs, 1, 500, 0x1000);
        returned(&mut pairs, 1, 510, 0);
        assert_eq!(ends(&mut pairs), [(1, 10, End::Woken(None))], "the return between was not seen");
        assert!(pairs.waiting.is_empty());
    }

    #[test]
    fn a_wait_that_may_have_ended_in_a_gap_is_left_out() {
        let mut pairs = Pairs::default();
        call(&mut pairs, 1, 100, 0x1000);
        call(&mut pairs, 2, 110, 0x1000);
        pairs.lost();
        assert_eq!(pairs.waiting(200).count(), 0);
        // What returns may be a later call, which was lost.
        returned(&mut pairs, 1, 900, 0);
        pairs.ended(2, 910);
        assert_eq!((ends(&mut pairs), pairs.doubtful()), (vec![], 2));
        call(&mut pairs, 1, 920, 0x1000);
        returned(&mut pairs, 1, 950, 0);
        assert_eq!(ends(&mut pairs), [(1, 30, End::Woken(None))], "what begins behind the gap is known");
        // The return is lost, and the next call is told.
        call(&mut pairs, 1, 960, 0x1000);
        pairs.lost();
        call(&mut pairs, 1, 980, 0x1000);
        returned(&mut pairs, 1, 990, 0);
        assert_eq!((ends(&mut pairs), pairs.doubtful()), (vec![(1, 10, End::Woken(None))], 3));
    }
}
