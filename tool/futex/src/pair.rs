//! From calls and returns to waits, and to who ended them.

use crate::event::op;
use crate::record::RecordOrigin;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::path::Path;

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
    /// Whether it is for the end of a thread, which the kernel tells.
    pub joins: bool,
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

/// Until when a wait is charged to whom: to the stack that next woke a thread that waited for the same futex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// In ns of the monotonic clock.
    pub until_ns: u64,
    /// That stack.
    pub stack: u32,
}

/// A call that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenCall {
    pub(crate) about: RecordOrigin,
    pub(crate) image: usize,
    pub(crate) address: u64,
    pub(crate) stack: u32,
    /// The thread for whose end it may wait; 0 for none.
    pub(crate) ends: u32,
    /// See [`Wait::waiting`]; filled in by [`Pairs::call`].
    pub(crate) waiting: u32,
    /// Who woke it and when, filled in by [`Pairs::woke`].
    pub(crate) waker: Option<Release>,
    /// Whether records were lost since: its return may be among them.
    pub(crate) is_doubtful: bool,
}

/// A call that has woken somebody.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wake {
    pub(crate) at: u64,
    pub(crate) thread: u32,
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
    /// The futexes that are waited for, or of which a wait is not settled.
    words: FxHashMap<(usize, u64), Word>,
    /// In the order of their ends.
    over: VecDeque<EndedWait>,
    /// How many have left `over`: the first of it has this number.
    n_settled: u64,
    n_doubtful: u64,
    /// When each thread has returned from its last call.
    returned: FxHashMap<u32, u64>,
    /// Threads that have ended lately, and when.
    gone: VecDeque<(u64, u32)>,
}

/// What is known of a futex.
#[derive(Default)]
struct Word {
    /// The threads that wait for it.
    waiting: Vec<u32>,
    /// The numbers of the waits that are over and whose waker is not known yet.
    unmatched: Vec<u64>,
    /// How many waits are not settled.
    n_over: usize,
    /// In the order of their times.
    releases: VecDeque<Release>,
}

struct EndedWait {
    wait: Wait,
    /// When it was woken, if it was: it may have had no core then.
    woken_ns: u64,
    /// See [`OpenCall::ends`].
    ends: u32,
}

/// Who wakes a thread is seen when it returns from its call, and the thread that it woke may have its CPU by then.
const LATEST_WAKE_NS: u64 = 100_000_000;

impl Pairs {
    /// A thread calls, and may sleep.
    pub(crate) fn call(&mut self, mut begun: OpenCall) {
        // Its return is among what was lost.
        self.n_doubtful += u64::from(self.close(begun.about.thread).is_some_and(|begun| begun.is_doubtful));
        let waiting = &mut self.words.entry(begun.key()).or_default().waiting;
        waiting.push(begun.about.thread);
        begun.waiting = waiting.len() as u32;
        self.open.insert(begun.about.thread, begun);
    }

    /// The call of a thread that is over.
    fn close(&mut self, thread: u32) -> Option<OpenCall> {
        let begun = self.open.remove(&thread)?;
        self.words.entry(begun.key()).or_default().waiting.retain(|other| *other != thread);
        self.forget_if_idle(begun.key());
        Some(begun)
    }

    fn forget_if_idle(&mut self, key: (usize, u64)) {
        if self.words.get(&key).is_some_and(|word| word.waiting.is_empty() && word.n_over == 0) {
            self.words.remove(&key);
        }
    }

    /// A thread's call returns.
    pub(crate) fn returned(&mut self, about: RecordOrigin, result: i64) {
        self.returned.insert(about.thread, about.at);
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
            0 => End::Woken(begun.waker.map(|waker| waker.stack)),
            _ if result == -i64::from(libc::ETIMEDOUT) => End::TimedOut,
            _ => End::Interrupted,
        };
        self.end(&begun, about.at, end);
    }

    fn end(&mut self, begun: &OpenCall, at: u64, end: End) {
        let word = self.words.entry(begun.key()).or_default();
        word.n_over += 1;
        if end == End::Woken(None) {
            word.unmatched.push(self.n_settled + self.over.len() as u64);
        }
        let woken_ns = begun.waker.map_or(at, |waker| waker.until_ns.min(at));
        self.over.push_back(EndedWait { wait: begun.wait(at, end), woken_ns, ends: begun.ends });
    }

    /// A call has woken somebody: those that have waited longest, as the kernel does.
    pub(crate) fn woke(&mut self, wake: Wake) {
        // What it did before that was something else.
        let since = self.returned.insert(wake.thread, wake.at).unwrap_or(0);
        let key = (wake.image, wake.address);
        let Some(word) = self.words.get_mut(&key).filter(|_| op::wakes(wake.op)) else { return };
        let over = |number: &u64| &self.over[(*number - self.n_settled) as usize].wait;
        // Who still waits is later than who does not any more.
        let is_possible = |number: &u64| over(number).from_ns <= wake.at && over(number).to_ns > since;
        let mut found: Vec<u64> = word.unmatched.iter().copied().filter(is_possible).collect();
        found.sort_by_key(|number| over(number).from_ns);
        found.truncate(wake.woken.max(0) as usize);
        word.unmatched.retain(|number| !found.contains(number));
        // It has woken them before they returned.
        let until_ns = found.iter().map(|number| over(number).to_ns).fold(wake.at, u64::min);
        let release = Release { until_ns, stack: wake.stack };
        for number in &found {
            let ended = &mut self.over[(*number - self.n_settled) as usize];
            (ended.wait.end, ended.woken_ns) = (End::Woken(Some(wake.stack)), until_ns);
        }
        let mut left = wake.woken - found.len() as i64;
        for thread in &word.waiting {
            let begun = self.open.get_mut(thread).filter(|begun| left > 0 && begun.waker.is_none());
            left -= i64::from(begun.map(|begun| begun.waker = Some(release)).is_some());
        }
        word.note(release);
    }

    /// A thread has ended, maybe in a call.
    pub(crate) fn ended(&mut self, thread: u32, at: u64) {
        self.returned.remove(&thread);
        self.gone.push_back((at, thread));
        let Some(begun) = self.close(thread) else { return };
        if begun.is_doubtful {
            self.n_doubtful += 1;
        } else {
            self.end(&begun, at, End::Interrupted);
        }
    }

    /// Waits that are over and learn no more, at a time, each with its parts by who ended them.
    pub(crate) fn settled(&mut self, now: u64, mut each: impl FnMut(Wait, &[Release])) {
        let mut parts = Vec::new();
        while let Some(ended) = self.over.front().filter(|it| it.wait.to_ns.saturating_add(LATEST_WAKE_NS) <= now) {
            let is_near = |at: u64| at.abs_diff(ended.wait.to_ns) <= LATEST_WAKE_NS;
            // No call has woken it.
            let joins = ended.wait.end == End::Woken(None)
                && self.gone.iter().any(|(at, thread)| *thread == ended.ends && is_near(*at));
            let wait = Wait { joins, ..ended.wait };
            let key = (wait.image, wait.address);
            let word = self.words.entry(key).or_default();
            word.unmatched.retain(|number| *number != self.n_settled);
            word.n_over = word.n_over.saturating_sub(1);
            word.parts(ended, &mut parts);
            each(wait, &parts);
            self.forget_if_idle(key);
            self.over.pop_front();
            self.n_settled += 1;
        }
        while self.gone.pop_front_if(|(at, _)| at.saturating_add(2 * LATEST_WAKE_NS) <= now).is_some() {}
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
        let is_there = |pid: u32, thread: u32| Path::new(&format!("/proc/{pid}/task/{thread}")).exists();
        let joins = move |begun: &OpenCall| begun.ends != 0 && is_there(begun.about.pid, begun.ends);
        let known = self.open.values().filter(|begun| !begun.is_doubtful);
        known.map(move |begun| Wait { joins: joins(begun), ..begun.wait(now, End::Waiting) })
    }
}

impl Word {
    fn note(&mut self, release: Release) {
        /// Those of 0.1 s, as long as nothing is settled. What was before them is charged to the first.
        const MOST: usize = 1 << 16;
        let at = self.releases.iter().rposition(|it| it.until_ns <= release.until_ns).map_or(0, |at| at + 1);
        self.releases.insert(at, release);
        if self.releases.len() > MOST {
            self.releases.pop_front();
        }
    }

    /// The parts of a wait. From when it was woken on, it is charged to who did that.
    fn parts(&self, ended: &EndedWait, parts: &mut Vec<Release>) {
        parts.clear();
        let first = self.releases.partition_point(|release| release.until_ns <= ended.wait.from_ns);
        let before = self.releases.range(first..).take_while(|release| release.until_ns < ended.woken_ns).copied();
        let last = match ended.wait.end {
            End::Woken(Some(stack)) => Some(Release { until_ns: ended.wait.to_ns, stack }),
            _ => None,
        };
        for part in before.chain(last) {
            match parts.last_mut() {
                Some(same) if same.stack == part.stack => same.until_ns = part.until_ns,
                _ => parts.push(part),
            }
        }
    }
}

impl OpenCall {
    pub(crate) fn new(about: RecordOrigin, image: usize, address: u64, stack: u32) -> Self {
        OpenCall { about, image, address, stack, ends: 0, waiting: 0, waker: None, is_doubtful: false }
    }

    fn key(&self) -> (usize, u64) {
        (self.image, self.address)
    }

    fn wait(&self, to_ns: u64, end: End) -> Wait {
        let OpenCall { about, image, address, stack, waiting, .. } = *self;
        let from_ns = about.at;
        let (thread, to_ns) = (about.thread, to_ns.max(from_ns));
        Wait { image, thread, address, stack, from_ns, to_ns, waiting, end, joins: false }
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
        let op = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        pairs.woke(Wake { at, thread: stack, image: 0, address, op, stack, woken });
    }

    fn returned(pairs: &mut Pairs, thread: u32, at: u64, result: i64) {
        pairs.returned(RecordOrigin { pid: 1, thread, at }, result);
    }

    fn ends(pairs: &mut Pairs) -> Vec<(u32, u64, End)> {
        let mut list = Vec::new();
        pairs.settled(u64::MAX, |wait, _| list.push((wait.thread, wait.to_ns - wait.from_ns, wait.end)));
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
        pairs.settled(200, |_, _| n += 1);
        assert_eq!(n, 0);
        call(&mut pairs, 2, 250, 0x1000);
        woke(&mut pairs, 30, 300, 0x1000, 1);
        pairs.settled(160 + LATEST_WAKE_NS, |wait, _| {
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
        assert!(pairs.words.is_empty());
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

    /// The parts of each wait, by its thread: how long, and who ended that part.
    fn parts(pairs: &mut Pairs) -> Vec<(u32, Vec<(u64, u32)>)> {
        let mut list = Vec::new();
        pairs.settled(u64::MAX, |wait, parts| {
            let mut from = wait.from_ns;
            let part = |part: &Release| (part.until_ns - std::mem::replace(&mut from, part.until_ns), part.stack);
            list.push((wait.thread, parts.iter().map(part).collect()));
        });
        list
    }

    #[test]
    fn each_moment_of_a_wait_is_charged_to_the_next_who_wakes_somebody() {
        let mut pairs = Pairs::default();
        // One has the lock until 400, and wakes one of four, who wakes the next after 10.
        (1..=4).for_each(|thread| call(&mut pairs, thread, 100, 0x1000));
        for (at, thread) in [(400, 90), (410, 1), (420, 2), (430, 3)] {
            woke(&mut pairs, thread, at, 0x1000, 1);
            returned(&mut pairs, thread % 90 + 1, at + 3, 0);
        }
        let expected = [
            (1, vec![(303, 90)]),
            (2, vec![(300, 90), (13, 1)]),
            (3, vec![(300, 90), (10, 1), (13, 2)]),
            (4, vec![(300, 90), (10, 1), (10, 2), (13, 3)]),
        ];
        assert_eq!(parts(&mut pairs), expected);
        assert!(pairs.words.is_empty());
    }

    /// The thread that it woke took its core at once, and was told of before.
    #[test]
    fn who_is_seen_late_to_wake_a_thread_did_it_before_that_thread_ran() {
        let mut pairs = Pairs::default();
        (1..=3).for_each(|thread| call(&mut pairs, thread, 100, 0x1000));
        for thread in 1..=3 {
            returned(&mut pairs, thread, 390 + 10 * u64::from(thread), 0);
            woke(&mut pairs, thread, 395 + 10 * u64::from(thread), 0x1000, 1);
        }
        woke(&mut pairs, 90, 900, 0x1000, 1);
        let expected = [(1, vec![(300, 90)]), (2, vec![(300, 90), (10, 1)]), (3, vec![(300, 90), (5, 1), (15, 2)])];
        assert_eq!(parts(&mut pairs), expected);
    }

    /// Nobody's call wakes who waits for a thread's end.
    #[test]
    fn the_end_of_a_thread_is_told_from_others() {
        let mut pairs = Pairs::default();
        for (thread, ends) in [(1, 50), (2, 51), (3, 0), (4, 50)] {
            let about = RecordOrigin { pid: 1, thread, at: 100 };
            pairs.call(OpenCall { ends, ..OpenCall::new(about, 0, 0x1000 * u64::from(thread), 7) });
        }
        woke(&mut pairs, 90, 150, 0x4000, 1);
        pairs.ended(50, 210);
        for thread in 1..=4 {
            returned(&mut pairs, thread, 200, 0);
        }
        let mut joins = Vec::new();
        pairs.settled(u64::MAX, |wait, _| joins.extend(wait.joins.then_some(wait.thread)));
        assert_eq!((joins, pairs.gone.len()), (vec![1], 0));
    }

    #[test]
    fn who_gives_up_was_kept_by_those_who_woke_others() {
        let mut pairs = Pairs::default();
        (1..=2).for_each(|thread| call(&mut pairs, thread, 100, 0x1000));
        woke(&mut pairs, 90, 150, 0x1000, 1);
        returned(&mut pairs, 1, 160, 0);
        returned(&mut pairs, 2, 200, -110);
        assert_eq!(parts(&mut pairs), [(1, vec![(60, 90)]), (2, vec![(50, 90)])]);
    }
}
