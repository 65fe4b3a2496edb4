//! What the threads do that hold locks others wait for: looked at from outside, some hundred times a second, at no cost to
//! the holder.
//!
//! The recording shows who waits for which lock. The lock's own memory shows who has it, and the kernel what that thread
//! does. A look counts if the same thread has the lock before and after it. Looks are kept until the hold is charged that
//! they fell into: so they split what is known exactly, and are no measure themselves.
//!
//! Some locks do not say who has them: ondeck's in a Rust program, and locks for readers and writers that readers have. While
//! one is waited for, all threads of the process are looked at. Who had the lock is known once the hold is charged. Such a look
//! counts only if the hold has surely lasted all the time of the look: a thread may have waited for a condition variable just
//! before it got the lock, and wait again just after it has released it.
//!
//! The kernel does not say of one instant whether a thread runs or only could. It says how long a thread has been kept from
//! running until now ([`Thread::times`]). So of a hold in which the thread could run, as much counts as without a core as
//! that has grown from its first look to the first one after it.

mod delays;
mod thread;

use super::clock::Clock;
use super::numbers::ThreadNumbers;
use crate::profile::State;
use crate::rules::{LOOKED_FOR_NS, SLEEPER_NS};
use delays::Delay;
use ondeck_futex::process::{bytes, syscall, threads};
use ondeck_futex::{Sleepers, in_time, maps};
use ondeck_record::layout::{NONE, kind};
use ondeck_record::read::{ReadError, Reader, Waiter};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Instant;
pub(crate) use thread::Thread;

/// Where glibc's mutex, and ours in its place, has its holder.
pub(crate) const OWNER_OF_MUTEX: u64 = 8;
/// Where glibc's lock for readers and writers has its writer.
pub(crate) const OWNER_OF_RWLOCK: u64 = 24;

/// What a holder did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Activity {
    /// It could run, and did as far as is known.
    Computing,
    /// It could run, and had no core.
    NoCore,
    /// It slept in the system call of that number, if that is known.
    Blocked(Option<u32>),
    /// It slept in a futex call outside of the recorded ones, in the stack of that number.
    Asleep(u32),
    /// It waited for the lock of that number, or for what has none ([`NONE`]) at that address.
    Waiting(u32, u64),
    /// It waited for the end of a thread.
    Joining,
}

impl Activity {
    /// It slept in a futex call, and where is not known.
    pub(super) const IN_FUTEX: Activity = Activity::Blocked(Some(libc::SYS_futex as u32));

    /// As a profile has it, with the system call.
    pub(crate) fn told(self) -> (State, String) {
        let call = match self {
            Activity::Blocked(Some(number)) => syscalls::Sysno::new(number as usize)
                .map_or_else(|| format!("system call {number}"), |call| call.name().to_owned()),
            Activity::Joining => "pthread_join".to_owned(),
            Activity::Asleep(_) => "futex".to_owned(),
            _ => String::new(),
        };
        let state = match self {
            Activity::Computing => State::Computing,
            Activity::NoCore => State::NoCore,
            Activity::Blocked(_) | Activity::Asleep(_) | Activity::Joining => State::Blocked,
            Activity::Waiting(..) => State::OtherLock,
        };
        (state, call)
    }
}

/// What a holder did during a hold, as parts of it.
pub(super) type Shares = Vec<(Activity, f64)>;

/// A time that goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// From the start of the run to when that was asked.
    pub(super) then: u64,
    pub(super) asked: Instant,
}

impl Now {
    /// From the start of the run.
    fn ns(self) -> u64 {
        self.then.saturating_add(u64::try_from(self.asked.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Who waited at some instant between two times.
#[derive(Debug)]
struct Waiters {
    list: Vec<Waiter>,
    from: u64,
    until: u64,
}

impl Waiters {
    fn read(reader: &Reader, now: Now) -> Result<Self, ReadError> {
        let from = now.ns();
        let list = reader.waiters()?;
        Ok(Waiters { list, from, until: now.ns() })
    }
}

#[derive(Clone, Copy, Debug)]
struct HolderSample {
    /// From the start of the run to a time before the look.
    at: u64,
    /// To a time after it.
    until: u64,
    thread: u32,
    doing: Activity,
}

/// The looks at the holders of one process.
#[derive(Debug, Default)]
pub(super) struct Holders {
    /// Where the kernel tells of the process, once that was asked; `None` inside if it cannot be looked at.
    process: Option<Option<PathBuf>>,
    /// What its threads are called here.
    numbers: ThreadNumbers,
    /// Of the lock with a number: where its memory says who has it, and whether it is for several.
    owners: HashMap<u32, (u64, bool)>,
    looks: BTreeMap<u32, VecDeque<HolderSample>>,
    /// The looks at threads that may have held a lock that does not say so.
    suspects: ThreadSamples,
    /// How long threads were kept from running, at the looks at them, in ns.
    delays: HashMap<u32, VecDeque<Delay>>,
    /// Where the kernel tells of them.
    threads: HashMap<u32, Thread>,
    /// Where threads sleep that have waited for long, or that others have waited for.
    sleepers: HashMap<u32, Sleeper>,
    /// The stacks of these, and of holders that sleep in futex calls, once one was looked at.
    stacks: Option<Sleepers>,
    /// When the next such holder's stack is looked at, and how many were.
    asleep: (u64, u32),
    /// Threads that seem to wait since that time and have ended, and when that was asked.
    ended: Vec<(u32, u64)>,
    asked_at: u64,
}

/// All threads of a process, as they were seen lately, and the looks at them.
#[derive(Debug, Default)]
struct ThreadSamples {
    threads: Vec<u32>,
    /// When these were listed.
    at: Option<u64>,
    looks: HashMap<u32, VecDeque<HolderSample>>,
}

impl ThreadSamples {
    /// To look at more takes too long.
    const MOST: usize = 64;

    fn list(&mut self, pid: u32, numbers: &ThreadNumbers, now: u64) -> Vec<u32> {
        const AGAIN_NS: u64 = 50_000_000;
        if self.at.is_none_or(|at| now.saturating_sub(at) >= AGAIN_NS) {
            self.threads = threads(pid);
            self.threads.truncate(Self::MOST);
            self.threads.iter_mut().for_each(|thread| *thread = numbers.there(*thread));
            self.looks.retain(|thread, _| self.threads.contains(thread));
            self.at = Some(now);
        }
        self.threads.clone()
    }

    /// The looks at a thread in a hold that has ended at `to`, and may have begun at `from`.
    fn during(&self, thread: u32, from: u64, to: u64) -> impl Iterator<Item = HolderSample> {
        // The length is the middle of what it may be, and an eighth more: of its middle, it is a sixteenth less at most.
        let surely = from + to.saturating_sub(from).div_ceil(6);
        let looks = self.looks.get(&thread).into_iter().flatten();
        looks.copied().filter(move |look| look.at >= surely && look.until <= to)
    }
}

#[derive(Debug)]
struct Sleeper {
    at: u64,
    stack: u32,
}

impl Holders {
    /// Locks that have other numbers are no more.
    pub(super) fn forget_all_but(&mut self, numbers: &BTreeSet<u32>) {
        self.owners.retain(|number, _| numbers.contains(number));
        self.looks.retain(|number, _| numbers.contains(number));
    }

    /// Looks at the holders of all locks that threads wait for.
    pub(super) fn look(&mut self, reader: &Reader, clock: &Clock, time: Now) -> Result<(), ReadError> {
        let now = time.ns();
        self.follow(now);
        let seen = Waiters::read(reader, time)?;
        let waiters = &seen.list;
        let waits = |waiter: &&Waiter| now.saturating_sub(clock.since(waiter.since)) >= LOOKED_FOR_NS;
        let hangs = |waiter: &&Waiter| now.saturating_sub(clock.since(waiter.since)) >= SLEEPER_NS;
        for waiter in waiters.iter().filter(hangs).filter(|waiter| waiter.stack == NONE) {
            if self.process(reader).is_some() {
                self.find_sleeper(reader.about.pid, waiter.thread, now);
            }
        }
        let mut locks: Vec<u32> = waiters.iter().filter(waits).map(|waiter| waiter.lock).collect();
        locks.sort_unstable();
        locks.dedup();
        let mut has_suspects = false;
        for lock in locks.into_iter().filter(|lock| *lock != NONE) {
            let Some(process) = self.process(reader) else { return Ok(()) };
            let place = self.owner_of(reader, lock)?;
            let owner = || bytes(reader.about.pid, place?.0).map(u32::from_ne_bytes).filter(|owner| *owner != 0);
            let Some(thread) = owner() else {
                has_suspects |= place.is_none_or(|(_, may_be_readers)| may_be_readers);
                continue;
            };
            let at = time.ns();
            let mut doing = self.doing(reader, &process, waiters, thread);
            if doing != Some(Activity::Computing) {
                // It may have got the lock since, by a wait that is over, or have begun to wait.
                doing = self.doing(reader, &process, &reader.waiters()?, thread);
            }
            let Some(mut doing) = doing.filter(|_| owner() == Some(thread)) else { continue };
            let until = time.ns();
            self.note_delay(&process, thread, now);
            let is_hanging = waiters.iter().filter(hangs).any(|waiter| waiter.lock == lock);
            if is_hanging && matches!(doing, Activity::Blocked(_)) {
                self.find_sleeper(reader.about.pid, thread, now);
            }
            if doing == Activity::IN_FUTEX
                && let Some(stack) = self.asleep(reader.about.pid, thread, now).filter(|_| owner() == Some(thread))
            {
                doing = Activity::Asleep(stack);
            }
            add(self.looks.entry(lock).or_default(), HolderSample { at, until, thread, doing });
        }
        if has_suspects {
            self.look_at_suspects(reader, &seen, time);
        }
        Ok(())
    }

    fn look_at_suspects(&mut self, reader: &Reader, waiters: &Waiters, time: Now) {
        let Some(process) = self.process(reader) else { return };
        let now = waiters.from;
        for thread in self.suspects.list(reader.about.pid, &self.numbers, now) {
            let asked = time.ns();
            let Some(doing) = self.doing(reader, &process, &waiters.list, thread) else { continue };
            let (at, until) = match doing {
                Activity::Computing | Activity::NoCore => (asked, time.ns()),
                // It did not wait before, or it would be among those.
                Activity::Blocked(_) | Activity::Asleep(_) => (waiters.from, time.ns()),
                Activity::Waiting(..) | Activity::Joining => (waiters.from, waiters.until),
            };
            if doing == Activity::Computing {
                self.note_delay(&process, thread, now);
            }
            add(self.suspects.looks.entry(thread).or_default(), HolderSample { at, until, thread, doing });
        }
    }

    /// A thread that is cancelled in a wait for a condition variable still seems to wait. Until the process is gone, the kernel
    /// tells that it has ended.
    pub(super) fn leave_out_ended(&mut self, waiters: &mut Vec<Waiter>, is_gone: bool, now: u64) {
        const AGAIN_NS: u64 = 500_000_000;
        let opaque = |waiter: &&Waiter| waiter.lock == NONE;
        if let Some(Some(process)) = self.process.as_ref().filter(|_| !is_gone && now >= self.asked_at + AGAIN_NS) {
            let numbers = &mut self.numbers;
            let mut task = |waiter: &Waiter| format!("task/{}", numbers.here(waiter.thread));
            let has_ended = |waiter: &&Waiter| !process.join(task(waiter)).exists();
            let ended = waiters.iter().filter(opaque).filter(has_ended);
            self.ended = ended.map(|waiter| (waiter.thread, waiter.since)).collect();
            self.asked_at = now;
        }
        waiters.retain(|waiter| !self.ended.contains(&(waiter.thread, waiter.since)));
    }

    /// What a thread does; `None` if it has ended, or does something for the recorder.
    fn doing(&mut self, reader: &Reader, process: &Path, waiters: &[Waiter], thread: u32) -> Option<Activity> {
        match waiters.iter().find(|waiter| waiter.thread == thread) {
            Some(waiter) if waiter.kind == kind::JOIN => Some(Activity::Joining),
            Some(waiter) => Some(Activity::Waiting(waiter.lock, waiter.address)),
            None => {
                // Asked before and after: the kernel tells of one instant between.
                let is_inside = || reader.inside().is_ok_and(|all| all.contains(&thread));
                let was_inside = is_inside();
                let doing = self.ask(process, thread, Thread::doing);
                doing.filter(|doing| !matches!(doing, Activity::Blocked(_)) || !was_inside && !is_inside())
            }
        }
    }

    /// The number here of a thread of the recording.
    pub(super) fn here(&mut self, thread: u32) -> u32 {
        self.numbers.here(thread)
    }

    fn find_sleeper(&mut self, pid: u32, thread: u32, now: u64) {
        const AGAIN_NS: u64 = 250_000_000;
        if self.sleepers.get(&thread).is_some_and(|known| now.saturating_sub(known.at) < AGAIN_NS) {
            return;
        }
        if let Some(stack) = self.stack_of(pid, thread) {
            self.sleepers.insert(thread, Sleeper { at: now, stack });
        }
    }

    fn stack_of(&mut self, pid: u32, thread: u32) -> Option<u32> {
        let here = self.numbers.here(thread);
        let call = syscall(pid, here)?;
        self.stacks.get_or_insert_with(|| Sleepers::new(pid)).look(here, &call)
    }

    /// The number of the stack where a holder sleeps in a futex call, as for a future, if it is time to look at one: more and more
    /// seldom, as they are alike.
    fn asleep(&mut self, pid: u32, thread: u32, now: u64) -> Option<u32> {
        const GAP_NS: u64 = 20_000_000;
        const MOST_GAPS: u32 = 50;
        let (at, n) = self.asleep;
        if now < at {
            return None;
        }
        self.asleep = (now + GAP_NS * u64::from(n.min(MOST_GAPS)), n + 1);
        Some(self.stack_of(pid, thread)? | Self::SEEN)
    }

    /// The number of the stack where a thread sleeps, if it was looked for after that time; [`NONE`] if not.
    pub(super) fn sleeps(&self, thread: u32, since: u64) -> u32 {
        self.sleepers.get(&thread).filter(|known| known.at >= since).map_or(NONE, |known| known.stack | Self::SEEN)
    }

    /// The addresses of a stack with such a number.
    pub(super) fn seen(&self, stack: u32) -> Option<Vec<u64>> {
        let number = (stack & Self::SEEN != 0).then_some(stack & !Self::SEEN)?;
        let addresses = self.stacks.as_ref()?.addresses(number);
        Some(addresses.iter().copied().map(in_time::plain).collect())
    }

    /// Told from stacks of the recording.
    const SEEN: u32 = 1 << 31;

    /// Looks once more at those that have lately held a lock: they may have run since.
    fn follow(&mut self, now: u64) {
        const LATELY_NS: u64 = 1_000_000_000;
        let Some(Some(process)) = self.process.clone() else { return };
        self.delays.retain(|_, seen| seen.back().is_some_and(|last| now.saturating_sub(last.at) < LATELY_NS));
        self.threads.retain(|thread, _| self.delays.contains_key(thread));
        let threads: Vec<u32> = self.delays.keys().copied().collect();
        threads.into_iter().for_each(|thread| self.note_delay(&process, thread, now));
    }

    /// Asks the kernel of a thread.
    fn ask<R>(&mut self, process: &Path, thread: u32, ask: impl FnOnce(&Thread) -> R) -> R {
        if let Some(known) = self.threads.get(&thread) {
            return ask(known);
        }
        let mut new = Thread::new(process, self.numbers.here(thread));
        let answer = ask(&new);
        if new.keep() {
            self.threads.insert(thread, new);
        }
        answer
    }

    /// The process is gone.
    pub(super) fn close(&mut self) {
        self.threads.clear();
    }

    fn note_delay(&mut self, process: &Path, thread: u32, now: u64) {
        const MOST: usize = 4096;
        let Some([ran, kept, _]) = self.ask(process, thread, Thread::times) else { return };
        let seen = self.delays.entry(thread).or_default();
        // A thread that is only followed is forgotten once it stays as it is.
        match seen.back() {
            Some(last) if last.kept == kept && last.at == now => {}
            _ => seen.push_back(Delay { at: now, kept, ran }),
        }
        if seen.len() > MOST {
            seen.pop_front();
        }
    }

    /// What the thread did that had the lock from `from` to `to`, as far as looks fell into that time. They are forgotten, and
    /// those before.
    pub(super) fn during(&mut self, lock: u32, thread: u32, from: u64, to: u64) -> Option<Shares> {
        let mut seen: Vec<HolderSample> = Vec::new();
        if let Some(looks) = self.looks.get_mut(&lock) {
            let n_until = looks.iter().take_while(|look| look.until <= to).count();
            seen.extend(looks.drain(..n_until).filter(|look| look.at >= from && look.thread == thread));
        }
        if seen.is_empty() {
            seen.extend(self.suspects.during(thread, from, to));
        }
        self.split(&seen, to)
    }

    /// What the thread does that has the lock still, that thread, and when it was first seen to have it.
    pub(super) fn until_now(&self, lock: u32) -> Option<(Shares, u32, u64)> {
        let looks = self.looks.get(&lock)?;
        let last = looks.back()?;
        let n_others = looks.iter().rposition(|look| look.thread != last.thread).map_or(0, |at| at + 1);
        let of_this: Vec<HolderSample> = looks.range(n_others..).copied().collect();
        Some((self.split(&of_this, last.at)?, last.thread, of_this.first()?.at))
    }

    /// What the holder did at the last look.
    pub(super) fn last(&self, lock: u32) -> Option<(u32, Activity, u64)> {
        self.looks.get(&lock)?.back().map(|look| (look.thread, look.doing, look.at))
    }

    /// The looks at one thread as parts, and of those in which the thread could run the part without a core.
    fn split(&self, looks: &[HolderSample], to: u64) -> Option<Shares> {
        let HolderSample { thread, at: first, .. } = *looks.first()?;
        let mut counts: BTreeMap<Activity, f64> = BTreeMap::new();
        // In one hold it sleeps for one thing.
        let asleep = looks.iter().map(|look| look.doing).find(|doing| matches!(doing, Activity::Asleep(_)));
        let doing = |look: &HolderSample| asleep.filter(|_| look.doing == Activity::IN_FUTEX).unwrap_or(look.doing);
        looks.iter().for_each(|look| *counts.entry(doing(look)).or_default() += 1.0);
        let all: f64 = counts.values().sum();
        let could_run = counts.remove(&Activity::Computing).unwrap_or_default();
        if could_run > 0.0 {
            // It has computed for no longer than it ran.
            let idle = self.ran(thread, first, to).map_or(0.0, |ran| (could_run - ran * all).max(0.0));
            let without = (self.without_core(thread, first, to) * all).min(could_run).max(idle);
            counts.insert(Activity::Computing, could_run - without);
            counts.insert(Activity::NoCore, without);
        }
        Some(counts.into_iter().map(|(doing, n)| (doing, n / all)).filter(|(_, part)| *part > 0.0).collect())
    }

    /// Where the kernel tells of the process. One that has another number here, as in a container, is not looked at, unless
    /// the recording was given that number.
    pub(super) fn process(&mut self, reader: &Reader) -> Option<PathBuf> {
        if self.process.is_none() {
            let process = PathBuf::from(format!("/proc/{}", reader.about.pid));
            let name = reader.path().file_name()?.to_string_lossy();
            let has_it = match maps::lines(reader.about.pid) {
                Ok(mut lines) => lines.any(|line| line.contains(&*name)),
                // As when as many files are open as may be: asked again at the next look.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => return None,
                Err(_) => false,
            };
            self.process = Some(has_it.then_some(process));
            self.numbers = ThreadNumbers::of(reader.about.pid);
        }
        self.process.clone().flatten()
    }

    /// Where the memory of a lock says which thread has it, and whether others may have it that are not there; `None` for
    /// those that do not say.
    fn owner_of(&mut self, reader: &Reader, lock: u32) -> Result<Option<(u64, bool)>, ReadError> {
        if reader.about.source != ondeck_record::layout::source::LIBRARY {
            return Ok(None);
        }
        if let Some(known) = self.owners.get(&lock) {
            return Ok(Some(*known));
        }
        let Some(entry) = reader.lock(lock)? else { return Ok(None) };
        let is_for_several = entry.kind & kind::SEVERAL != 0;
        let offset = if is_for_several { OWNER_OF_RWLOCK } else { OWNER_OF_MUTEX };
        let place = (entry.address.wrapping_add(offset), is_for_several);
        self.owners.insert(lock, place);
        Ok(Some(place))
    }
}

fn add(looks: &mut VecDeque<HolderSample>, look: HolderSample) {
    /// Looks that wait for a charge. A hold that takes longer than these is known by its end.
    const MOST: usize = 4096;
    looks.push_back(look);
    if looks.len() > MOST {
        looks.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

    const MS: u64 = 1_000_000;

    fn look(at: u64, thread: u32, doing: Activity) -> HolderSample {
        HolderSample { at: at * MS, until: at * MS, thread, doing }
    }

    fn seen(doing: &[(u64, Activity)], delays: &[(u64, u64)]) -> Holders {
        let looks = doing.iter().map(|(at, doing)| look(*at, 5, *doing)).collect();
        let delays = delays.iter().map(|(at, ns)| Delay { at: at * MS, kept: ns * MS, ran: at * MS }).collect();
        Holders { looks: BTreeMap::from([(1, looks)]), delays: HashMap::from([(5, delays)]), ..Holders::default() }
    }

    #[test]
    fn a_hold_is_split_by_the_looks_that_fell_into_it() {
        let (blocked, waiting) = (Activity::Blocked(Some(74)), Activity::Waiting(3, 64));
        let mut holders =
            seen(&[(1, Activity::Computing), (2, blocked), (4, blocked), (6, waiting), (9, blocked)], &[]);
        assert_eq!(holders.during(1, 6, 2 * MS, 3 * MS), None, "another thread's hold");
        assert_eq!(holders.during(1, 5, 4 * MS, 7 * MS), Some(vec![(blocked, 0.5), (waiting, 0.5)]));
        assert_eq!(holders.during(1, 5, 7 * MS, 8 * MS), None, "no look fell into it");
        assert_eq!(holders.last(1), Some((5, blocked, 9 * MS)));
        assert_eq!(holders.during(2, 5, 0, 9 * MS), None, "another lock's");
    }

    /// A thread that is kept from running until its hold ends has its delay written only then.
    #[test]
    fn what_a_thread_was_kept_from_running_counts_as_without_a_core() {
        let runs = [(2, Activity::Computing), (4, Activity::Computing)];
        let shares = |delays: &[(u64, u64)]| seen(&runs, delays).during(1, 5, 2 * MS, 5 * MS).unwrap();
        assert_eq!(shares(&[(2, 10), (4, 10), (6, 13)]), [(Activity::Computing, 0.25), (Activity::NoCore, 0.75)]);
        assert_eq!(shares(&[(2, 10), (4, 10), (6, 10)]), [(Activity::Computing, 1.0)]);
        assert_eq!(shares(&[(2, 10), (6, 90)]), [(Activity::NoCore, 1.0)]);
        assert_eq!(shares(&[]), [(Activity::Computing, 1.0)]);
    }

    /// One that was kept from running before and behind its hold too has a delay that is small beside that time.
    #[test]
    fn a_thread_has_computed_for_no_longer_than_it_ran() {
        let runs = [(2, Activity::Computing), (4, Activity::Computing)];
        let mut holders = seen(&runs, &[]);
        let told = |at, ran| Delay { at: at * MS, kept: 0, ran: ran * MS };
        holders.delays.insert(5, [told(1, 50), told(11, 51)].into());
        let shares = holders.during(1, 5, 2 * MS, 6 * MS).unwrap();
        assert_eq!(shares, [(Activity::Computing, 0.25), (Activity::NoCore, 0.75)]);
    }

    #[test]
    fn a_hold_of_a_lock_that_does_not_say_who_has_it_is_split_by_the_looks_at_its_thread() {
        let mut holders = seen(&[], &[]);
        let looks = [(1, Activity::Computing), (3, Activity::Joining), (5, Activity::Blocked(None))];
        let looks = looks.map(|(at, doing)| look(at, 6, doing));
        holders.suspects.looks.insert(6, looks.into());
        for _ in 0..2 {
            let shares = holders.during(1, 6, 2 * MS, 5 * MS);
            assert_eq!(shares, Some(vec![(Activity::Blocked(None), 0.5), (Activity::Joining, 0.5)]), "of any lock");
        }
        assert_eq!(holders.during(1, 7, 2 * MS, 5 * MS), None);
    }

    #[test]
    fn a_wait_before_a_hold_or_after_it_is_no_part_of_it() {
        let waits = Activity::Waiting(NONE, 64);
        let during = |at: u64, until: u64| {
            let mut holders = seen(&[], &[]);
            let look = HolderSample { at: at * MS, until: until * MS, thread: 6, doing: waits };
            holders.suspects.looks.insert(6, [look].into());
            // A hold of 16 ms, or of 15 or 17.
            holders.during(1, 6, 82 * MS, 100 * MS)
        };
        let all = Some(vec![(waits, 1.0)]);
        assert_eq!((during(83, 84), during(84, 86)), (None, None), "it may have begun after that");
        assert_eq!((during(85, 86), during(99, 100)), (all.clone(), all));
        assert_eq!(during(99, 101), None, "the look may have come after its end");
        let mut holders = seen(&[(5, waits)], &[]);
        holders.looks.get_mut(&1).unwrap()[0].until = 7 * MS;
        assert_eq!(holders.during(1, 5, 4 * MS, 6 * MS), None);
        assert_eq!(holders.during(1, 5, 4 * MS, 8 * MS), Some(vec![(waits, 1.0)]), "of the next hold");
    }

    #[test]
    fn a_lock_that_is_held_still_is_told_with_its_holder() {
        let blocked = Activity::Blocked(None);
        let mut holders = seen(&[(2, blocked), (4, blocked)], &[]);
        holders.looks.get_mut(&1).unwrap().push_front(look(1, 9, Activity::Computing));
        assert_eq!(holders.until_now(1), Some((vec![(blocked, 1.0)], 5, 2 * MS)));
    }

    #[test]
    fn the_kernel_tells_what_this_thread_does() {
        let process = PathBuf::from("/proc/self");
        let (ends, number) = (AtomicBool::new(false), AtomicU32::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: always may be called.
                number.store(unsafe { libc::gettid() } as u32, Relaxed);
                while !ends.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
            while number.load(Relaxed) == 0 {
                std::thread::yield_now();
            }
            let thread = Thread::new(&process, number.load(Relaxed));
            assert_eq!(thread.doing(), Some(Activity::Computing));
            assert!(thread.times().is_some());
            ends.store(true, Relaxed);
        });
        assert_eq!(Thread::new(&process, u32::MAX).doing(), None);
    }
}
