//! What all threads of a process spend their time with: looked at from outside, some dozens of times a second, at no cost to
//! the threads.
//!
//! The kernel tells exactly how long a thread has run, and how long it could have run and had no core (`schedstat`). For the
//! rest of its time it slept. What for, it says of one instant (`syscall`), and the recording says whether that is one of its
//! waits. So the time that a thread slept is split as the looks are that found it asleep. Each counts as much as the time
//! since the look before it.
//!
//! Where a thread runs, the kernel tells of those that run for long at a time ([`Sampler`]): then a loop that only waits, as of a spin
//! lock, does not look like computing, nor does what lock and unlock calls take.
//!
//! Looks take a hundredth of one core's time ([`LOOKS_TAKE`]): the more threads, the fewer looks. A thread that has not run
//! since the last look still sleeps there, and is not asked again.

use super::holders::{Activity, Thread};
use crate::profile::{Doing, ThreadTime};
use crate::rules::QUIET;
use crate::thread_time;
use ondeck_futex::process::threads_if_told;
use ondeck_futex::{Image, RunningPlace, SAMPLE_NS, Sampler, Sleepers, futex_of, in_time};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Of one core's time, looks take one part in so many.
const LOOKS_TAKE: u32 = 100;
/// Between two looks at least.
const GAP: Duration = Duration::from_millis(9);
/// Who was seen for so long goes on as before.
const LONG_SEEN: Duration = Duration::from_millis(100);
/// To list more threads often takes too long.
const MOST_LISTED: u64 = 64;
/// In which the kernel tells programs when a thread began, whatever its own are.
const TICK: Duration = Duration::from_millis(10);
/// A thread that runs for so many ns at a time, in the mean, is asked where.
const LONG_AT_A_TIME_NS: u64 = 200_000;

/// What a thread spends time with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Spending {
    Running,
    /// It runs where that has to do with locks.
    RunningAt(RunningPlace),
    NoCore,
    /// A recorded wait, at that address and of that kind ([`ondeck_record::layout::kind`]).
    Recorded(u64, u32),
    /// It sleeps in the system call of that number, if it is in one; and the number of the stack.
    Sleeping(Option<u32>, u32),
    /// It slept only between looks.
    Unseen,
}

/// A wait that is recorded as being under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedWait {
    /// The thread's number here.
    pub(crate) thread: u32,
    pub(crate) address: u64,
    pub(crate) kind: u32,
}

/// Times in ns, by what they were spent with.
pub(crate) type Times = BTreeMap<Spending, f64>;

/// The threads of one process.
#[derive(Debug, Default)]
pub(crate) struct ThreadTimes {
    pid: u32,
    process: PathBuf,
    threads: BTreeMap<u32, Watched>,
    /// Since when it is observed, and when it was there the last time, with so many threads.
    began: Option<Instant>,
    was_there: Option<(Instant, u64)>,
    /// The last look: threads that are new have begun since then.
    looked: Option<Instant>,
    /// Of the time before [`settle`](Self::settle), from the start and from the last snapshot.
    pub(crate) all: Times,
    pub(crate) recent: Times,
    /// Once one was found asleep.
    stacks: Option<Sleepers>,
    due: Option<Instant>,
    /// Of the last look.
    cost: Duration,
}

#[derive(Debug)]
struct Watched {
    /// Open if there is room for more.
    files: Option<Thread>,
    /// When its sums were settled, and at the last look.
    first: Told,
    last: Told,
    /// At the look before.
    before: Told,
    /// Where it slept at the last look, and the futex that it slept for.
    slept: Option<Spending>,
    futex: Option<u64>,
    /// How much time the looks stand for that found it asleep.
    asleep: Times,
    /// Where it runs, while it runs for long at a time; and how much of that has to do with locks.
    sampler: Option<Sampler>,
    awake: Times,
}

/// A thread that slept for a futex at the last look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FutexSleep {
    pub(crate) thread: u32,
    /// As the process has it.
    pub(crate) address: u64,
    pub(crate) stack: u32,
    /// How often it had been given a core: as long as it is not, it sleeps on.
    pub(crate) turns: u64,
    /// The time that the look stands for.
    pub(crate) from: Instant,
    pub(crate) to: Instant,
}

/// A thread that is asleep.
struct Sleeper {
    thread: u32,
    /// The number of the system call, and what the kernel says of it.
    call: Option<u32>,
    text: String,
    /// How much time that stands for, in ns.
    weight: f64,
}

/// What the kernel tells of a thread at an instant, in ns.
#[derive(Clone, Copy, Debug)]
struct Told {
    at: Instant,
    ran: u64,
    delayed: u64,
    /// How often it has been given a core.
    turns: u64,
}

impl ThreadTimes {
    pub(crate) fn new(pid: u32) -> Self {
        ThreadTimes { pid, process: format!("/proc/{pid}").into(), ..ThreadTimes::default() }
    }

    /// The same of a process that was started so long ago, or is observed for so long.
    pub(crate) fn since(pid: u32, age: Duration) -> Self {
        ThreadTimes { began: Instant::now().checked_sub(age), ..ThreadTimes::new(pid) }
    }

    /// Looks at all threads, if it is time to. `recorded` tells the waits that are under way, and `more` is looked at after that.
    pub(crate) fn look(&mut self, recorded: impl FnMut() -> Vec<RecordedWait>, more: impl FnOnce(&mut Self)) {
        let now = Instant::now();
        self.notice_ends(now);
        if self.due.is_some_and(|due| now < due) {
            return;
        }
        let (began, is_first) = (own_time(), self.looked.is_none());
        if self.look_at_all(recorded) {
            more(self);
        }
        // The first reads what is loaded, which is done once, and another one may read what is new.
        let cost = if is_first { Duration::ZERO } else { own_time().saturating_sub(began) };
        let before = std::mem::replace(&mut self.cost, cost);
        self.due = Some(now + GAP.max(cost.min(before) * LOOKS_TAKE));
    }

    /// Threads end between two looks. How many there are is asked more often, which is cheap.
    fn notice_ends(&mut self, now: Instant) {
        let Ok(directory) = std::fs::metadata(self.process.join("task")) else { return };
        let n = directory.nlink();
        let before = self.was_there.replace((now, n));
        if let Some((then, _)) = before.filter(|(_, before)| n < *before && n < MOST_LISTED)
            && let Some(alive) = threads_if_told(self.pid)
        {
            self.forget_all_but(&alive.into_iter().collect(), (then, now));
        }
    }

    /// Whether the kernel has told which threads there are.
    fn look_at_all(&mut self, mut recorded: impl FnMut() -> Vec<RecordedWait>) -> bool {
        let Some(alive) = threads_if_told(self.pid) else { return false };
        let alive: BTreeSet<u32> = alive.into_iter().collect();
        let now = Instant::now();
        self.forget_all_but(&alive, (self.looked.unwrap_or(now), now));
        let waits = recorded();
        let mut sleepers = Vec::new();
        for thread in alive {
            if let Some(sleeper) = self.look_at(thread) {
                sleepers.push(sleeper);
            }
            self.sample(thread);
        }
        // Who began to wait meanwhile is in one of both lists.
        let later = if sleepers.is_empty() { Vec::new() } else { recorded() };
        for sleeper in sleepers {
            let wait = later.iter().chain(&waits).find(|wait| wait.thread == sleeper.thread);
            let spending = match wait {
                Some(wait) => Some(Spending::Recorded(wait.address, wait.kind)),
                None => self.stack(&sleeper).map(|stack| Spending::Sleeping(sleeper.call, stack)),
            };
            // One that has gone on meanwhile counts at the next look.
            let (Some(spending), Some(watched)) = (spending, self.threads.get_mut(&sleeper.thread)) else { continue };
            (watched.slept, watched.futex) = (Some(spending), futex_of(&sleeper.text));
            *watched.asleep.entry(spending).or_default() += sleeper.weight;
        }
        self.looked = Some(now);
        true
    }

    /// Looks at one thread. The answer is one that is asleep and was not yet at the last look.
    fn look_at(&mut self, thread: u32) -> Option<Sleeper> {
        let known = self.threads.get_mut(&thread);
        let is_new = known.is_none();
        let kept = known.as_ref().and_then(|known| known.files.as_ref());
        let opened = kept.is_none().then(|| Thread::new(&self.process, thread));
        let files = kept.or(opened.as_ref())?;
        let ((doing, text), told) = (files.doing_with_text()?, Told::of(files)?);
        let watched = match known {
            Some(known) => known,
            None => {
                // One that began since the last look, or since the process is observed, has done in that time all that it has done.
                let birth = told.at_birth(&self.process, thread);
                let is_whole = self.looked.is_some() || self.began.is_some_and(|began| birth.at + 2 * TICK >= began);
                let first = if is_whole { birth } else { told };
                let files = opened.and_then(|mut files| files.keep().then_some(files));
                self.threads.entry(thread).or_insert(Watched {
                    files,
                    first,
                    last: told,
                    before: told,
                    slept: None,
                    futex: None,
                    asleep: Times::new(),
                    sampler: None,
                    awake: Times::new(),
                })
            }
        };
        let weight = told.at.duration_since(watched.last.at).as_nanos() as f64;
        let has_slept_on = !is_new && told.turns == watched.last.turns && told.ran == watched.last.ran;
        (watched.before, watched.last) = (watched.last, told);
        let slept = watched.slept.take().filter(|_| has_slept_on);
        let Activity::Blocked(call) = doing else { return None };
        let Some(spending) = slept else { return Some(Sleeper { thread, call, text, weight }) };
        *watched.asleep.entry(spending).or_default() += weight;
        watched.slept = slept;
        None
    }

    /// Where a thread has run since the last look. Who is switched often is not asked: each time would cost it some part of a us.
    fn sample(&mut self, thread: u32) {
        let Some(watched) = self.threads.get_mut(&thread) else { return };
        let Watched { before, last, .. } = *watched;
        let ran = last.ran.saturating_sub(before.ran);
        let is_long = ran >= LONG_AT_A_TIME_NS * last.turns.saturating_sub(before.turns);
        let had_sampler = watched.sampler.take();
        if ran == 0 {
            watched.sampler = had_sampler;
        } else if is_long {
            let pid = self.pid;
            watched.sampler = had_sampler.or_else(|| Sampler::of(thread).ok());
            let stacks = self.stacks.get_or_insert_with(|| Sleepers::new(pid));
            let awake = &mut watched.awake;
            let mut add = |address| {
                let Some(place) = stacks.running(address) else { return };
                *awake.entry(Spending::RunningAt(place)).or_default() += SAMPLE_NS as f64;
            };
            watched.sampler.iter_mut().for_each(|sampler| sampler.take(&mut add));
        }
    }

    fn stack(&mut self, sleeper: &Sleeper) -> Option<u32> {
        self.sleepers().look(sleeper.thread, &sleeper.text)
    }

    /// The stacks of its threads.
    pub(crate) fn sleepers(&mut self) -> &mut Sleepers {
        self.stacks.get_or_insert_with(|| Sleepers::new(self.pid))
    }

    /// What is loaded, once a stack was wanted.
    pub(crate) fn image(&self) -> Option<&Image> {
        self.stacks.as_ref().map(Sleepers::image)
    }

    /// Whether threads have waited for anything but work or a time for a part of theirs that matters, as far as was seen by now.
    pub(crate) fn has_waits(&self) -> bool {
        let waits = self.all.iter().filter(|(spending, _)| match **spending {
            Spending::RunningAt(_) => true,
            Spending::Sleeping(call, stack) => {
                !self.in_time(stack).is_empty() && !thread_time::is_idle(&Activity::Blocked(call).told().1)
            }
            _ => false,
        });
        waits.map(|(_, ns)| ns).sum::<f64>() > QUIET * self.all.values().sum::<f64>()
    }

    /// The addresses of a stack.
    pub(crate) fn addresses(&self, stack: u32) -> Vec<u64> {
        self.in_time(stack).iter().copied().map(in_time::plain).collect()
    }

    /// The same, of [`in_time`].
    pub(crate) fn in_time(&self, stack: u32) -> &[u64] {
        self.stacks.as_ref().map_or(&[], |stacks| stacks.addresses(stack))
    }

    /// The threads that slept for a futex at the last look.
    pub(crate) fn in_futex(&self) -> impl Iterator<Item = FutexSleep> {
        self.threads.iter().filter_map(|(thread, watched)| {
            let (Some(Spending::Sleeping(_, stack)), Some(address)) = (watched.slept, watched.futex) else {
                return None;
            };
            let Watched { before, last, .. } = watched;
            let (from, to, turns) = (before.at, last.at, last.turns);
            Some(FutexSleep { thread: *thread, address, stack, turns, from, to })
        })
    }

    /// What a thread that is known does now, and what the kernel says of that.
    pub(crate) fn ask(&self, thread: u32) -> Option<(Activity, String)> {
        let files = self.threads.get(&thread)?.files.as_ref();
        files.map_or_else(|| Thread::new(&self.process, thread).doing_with_text(), Thread::doing_with_text)
    }

    /// Of the time that a thread could run before the last look, the part in which it had no core.
    pub(crate) fn without_core(&self, thread: u32) -> f64 {
        let Some(Watched { before, last, .. }) = self.threads.get(&thread) else { return 0.0 };
        let [ran, delayed] = [last.ran.saturating_sub(before.ran), last.delayed.saturating_sub(before.delayed)];
        if delayed > 0 { delayed as f64 / (ran + delayed) as f64 } else { 0.0 }
    }

    /// What was seen, from the start or from the last snapshot, with what it is here.
    pub(crate) fn told(&self, is_recent: bool, process: u32) -> impl Iterator<Item = (ThreadTime, Spending)> {
        let spent = if is_recent { &self.recent } else { &self.all };
        spent.iter().map(move |(spending, ns)| {
            let (doing, call) = match *spending {
                Spending::Running => (Doing::Running, None),
                Spending::RunningAt(place) if place.waits => (Doing::Spinning, None),
                Spending::RunningAt(_) => (Doing::Running, None),
                Spending::NoCore => (Doing::NoCore, None),
                Spending::Recorded(..) => (Doing::Recorded, None),
                Spending::Sleeping(call, _) => (Doing::Sleeping, call),
                Spending::Unseen => (Doing::Unseen, None),
            };
            let call = call.map(|_| Activity::Blocked(call).told().1).unwrap_or_default();
            (ThreadTime { process, doing, call, ns: *ns, ..ThreadTime::default() }, *spending)
        })
    }

    /// The others have ended, between these times.
    fn forget_all_but(&mut self, alive: &BTreeSet<u32>, (from, to): (Instant, Instant)) {
        let gone: Vec<u32> = self.threads.keys().filter(|thread| !alive.contains(thread)).copied().collect();
        for thread in gone {
            let watched = self.threads.remove(&thread);
            watched.into_iter().for_each(|mut watched| self.add(watched.settle_until(from + (to - from) / 2)));
        }
    }

    /// Adds up what was seen until now.
    pub(crate) fn settle(&mut self) {
        let times: Vec<Times> = self.threads.values_mut().map(Watched::settle).collect();
        times.into_iter().for_each(|times| self.add(times));
    }

    fn add(&mut self, times: Times) {
        for (spending, ns) in times {
            *self.all.entry(spending).or_default() += ns;
            *self.recent.entry(spending).or_default() += ns;
        }
    }

    /// The process is gone.
    pub(crate) fn close(&mut self) {
        if let Some((then, _)) = self.was_there {
            self.forget_all_but(&BTreeSet::new(), (then, then));
        }
    }
}

impl Watched {
    /// The same of a thread that has ended then. Until that it did what it had done before, if that is known of most of its life.
    fn settle_until(&mut self, ended: Instant) -> Times {
        let [seen, life] =
            [self.last.at, ended.max(self.last.at)].map(|at| at.saturating_duration_since(self.first.at));
        let mut times = self.settle();
        match life.as_secs_f64() / seen.as_secs_f64() {
            grows if grows < 2.0 || seen >= LONG_SEEN => times.values_mut().for_each(|ns| *ns *= grows),
            _ => *times.entry(Spending::Unseen).or_default() += (life - seen).as_nanos() as f64,
        }
        times
    }

    /// What it spent its time with since the last call.
    fn settle(&mut self) -> Times {
        let (first, last) = (self.first, self.last);
        self.first = last;
        let seen = std::mem::take(&mut self.asleep);
        let life = last.at.saturating_duration_since(first.at).as_nanos() as f64;
        let ran = (last.ran.saturating_sub(first.ran) as f64).min(life);
        let delayed = (last.delayed.saturating_sub(first.delayed) as f64).min(life - ran);
        let asleep = life - ran - delayed;
        let whole: f64 = seen.values().sum();
        let awake = std::mem::take(&mut self.awake);
        // They are samples, and may be some more than what it ran.
        let share = (ran / awake.values().sum::<f64>()).min(1.0);
        let mut times: Times = awake.into_iter().map(|(spending, ns)| (spending, ns * share)).collect();
        let rest = ran - times.values().sum::<f64>();
        times.extend([(Spending::Running, rest), (Spending::NoCore, delayed)]);
        match whole > 0.0 {
            true => times.extend(seen.into_iter().map(|(spending, weight)| (spending, weight / whole * asleep))),
            false => _ = times.insert(Spending::Unseen, asleep),
        }
        times.retain(|_, ns| *ns > 0.0);
        times
    }
}

impl Told {
    fn of(files: &Thread) -> Option<Self> {
        let [ran, delayed, turns] = files.times()?;
        Some(Told { at: Instant::now(), ran, delayed, turns })
    }

    /// When the thread has begun, which the kernel tells in ticks: in the middle of one, or as early as what it has done says.
    fn at_birth(self, process: &Path, thread: u32) -> Self {
        let least = Duration::from_nanos(self.ran.saturating_add(self.delayed));
        let most = age(process, thread).unwrap_or(least);
        let life = most.saturating_sub(TICK / 2).max(least);
        Told { at: self.at.checked_sub(life).unwrap_or(self.at), ran: 0, delayed: 0, turns: 0 }
    }
}

/// How old a thread is at most: less than a tick more than it is.
fn age(process: &Path, thread: u32) -> Option<Duration> {
    /// Behind the name, which may have any characters.
    const STARTED: usize = 19;
    let stat = std::fs::read_to_string(process.join(format!("task/{thread}/stat"))).ok()?;
    let ticks: u32 = stat.rsplit_once(')')?.1.split_whitespace().nth(STARTED)?.parse().ok()?;
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32).checked_sub(ticks * TICK)
}

/// How long this thread has run.
pub(super) fn own_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(start: Instant, at: u64, ran: u64, delayed: u64, turns: u64) -> Told {
        Told { at: start + Duration::from_nanos(at), ran, delayed, turns }
    }

    #[test]
    fn a_threads_time_is_what_the_kernel_tells_and_sleep_is_split_by_looks() {
        let start = Instant::now();
        let (futex, read) = (Spending::Sleeping(Some(202), 1), Spending::Sleeping(Some(0), 0));
        let asleep = Times::from([(futex, 3.0), (read, 1.0)]);
        let (first, last) = (told(start, 0, 100, 10, 1), told(start, 1000, 500, 110, 9));
        let spins = Spending::RunningAt(RunningPlace { stack: 2, waits: true });
        let awake = Times::from([(spins, 300.0)]);
        let mut watched =
            Watched { files: None, first, last, before: first, slept: None, futex: None, asleep, sampler: None, awake };
        let expected =
            [(Spending::Running, 100.0), (spins, 300.0), (Spending::NoCore, 100.0), (read, 125.0), (futex, 375.0)];
        assert_eq!(watched.settle(), Times::from(expected));
        assert_eq!(watched.settle(), Times::new(), "it begins anew");
        watched.last = told(start, 2000, 600, 110, 9);
        watched.awake = Times::from([(spins, 1000.0)]);
        assert_eq!(watched.settle(), Times::from([(spins, 100.0), (Spending::Unseen, 900.0)]), "no more than it ran");
    }

    #[test]
    fn times_add_up_to_the_lives_of_all_threads() {
        let (go, end) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || end.recv().is_err());
        let mut times = ThreadTimes::new(std::process::id());
        let began = Instant::now();
        let n_looks = |times: &ThreadTimes| times.threads.values().filter(|watched| !watched.asleep.is_empty()).count();
        while n_looks(&times) == 0 || began.elapsed() < Duration::from_millis(60) {
            times.look(Vec::new, |_| ());
            std::thread::sleep(Duration::from_millis(1));
        }
        let life = |watched: &Watched| watched.last.at.duration_since(watched.first.at).as_nanos() as f64;
        let lives: f64 = times.threads.values().map(life).sum();
        // Threads of other tests may have ended meanwhile.
        let sum = |times: &ThreadTimes| times.all.values().sum::<f64>();
        let ended = sum(&times);
        times.settle();
        let settled = sum(&times) - ended;
        assert!((settled - lives).abs() < 0.001 * lives, "{settled} {lives}");
        let in_futex = |spending: &Spending| match spending {
            Spending::Sleeping(Some(202), stack) => times.addresses(*stack).len() > 1,
            _ => false,
        };
        assert!(times.all.keys().any(in_futex), "{:?}", times.all);
        drop(go);
        assert!(sleeper.join().unwrap());
    }
}
