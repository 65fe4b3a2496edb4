//! All of it together: events for a process, and what is read from their rings.

use crate::budget::{self, Budget};
use crate::event::{self, CountingStart, FUTEX, Files, Plan, op};
use crate::held::HeldStacks;
use crate::image::{Image, Images};
use crate::in_time;
use crate::maps::Mapping;
use crate::pair::{OpenCall, Pairs, Release, Wait, Wake};
use crate::process::{now_ns, threads};
use crate::record::{Call, Record, RecordOrigin};
use crate::refusal::Refusal;
use crate::ring::{Place, Ring};
use crate::sleeper::{Sleeper, slept_ns};
use crate::tracefs::Tracepoints;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::time::Duration;

/// Watches the futex calls of processes, of their threads, and of all that they start.
pub struct Tracer {
    points: Tracepoints,
    files: Files,
    /// One for each CPU, and the event that it is of.
    rings: Vec<(Ring, OwnedFd)>,
    /// Kept open: a closed event tells nothing.
    events: Vec<OwnedFd>,
    plan: Plan,
    /// From when on each call is told of without its stack, if not each is copied.
    thinned_from: u64,
    budget: Budget,
    /// What is known of stacks, if not each is copied.
    held: HeldStacks,
    images: Images,
    pairs: Pairs,
    /// What was read and when it was, until all CPUs have told what was before.
    later: Vec<(u64, WaitEvent)>,
    /// Calls that have slept or woken.
    n_calls: u64,
    lost: u64,
}

/// What concerns waits.
#[derive(Clone, Copy, Debug)]
enum WaitEvent {
    Call(OpenCall),
    Return(RecordOrigin, i64),
    Woke(Wake),
    Ended(u32),
    Lost,
}

/// What happens to images.
enum ImageEvent {
    Fork { pid: u32, parent: u32 },
    Exec { pid: u32 },
    Map { pid: u32, mapping: Mapping, path: PathBuf },
}

impl Tracer {
    /// For a process that has not become its program yet; it begins there. `ring_bytes` is the room for each CPU.
    pub fn of_held(pid: u32, ring_bytes: usize) -> Result<Tracer, Refusal> {
        let mut tracer = Tracer::new()?;
        tracer.open(pid, &[pid], CountingStart::Exec, ring_bytes)?;
        Ok(tracer)
    }

    /// For processes that run already.
    pub fn of_running(pids: &[u32], ring_bytes: usize) -> Result<Tracer, Refusal> {
        if let Some(pid) = pids.iter().find(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            return Err(Refusal::NoProcess(*pid));
        }
        let mut tracer = Tracer::new()?;
        tracer.plan = Plan::of_period(budget::first(pids));
        for pid in pids {
            let n_before = tracer.rings.len() + tracer.events.len();
            tracer.open_all(*pid, ring_bytes)?;
            if tracer.rings.len() + tracer.events.len() == n_before {
                return Err(Refusal::NoProcess(*pid));
            }
            tracer.images.at(*pid, now_ns());
        }
        for event in tracer.rings.iter().map(|(_, event)| event).chain(&tracer.events) {
            event::enable(event)?;
        }
        pids.iter().for_each(|pid| tracer.add_sleepers(*pid));
        Ok(tracer)
    }

    /// Threads that sleep already have told nothing of it: what they do now counts as a call that began when they last ran.
    /// One that calls or returns meanwhile is told of by its events, which are later.
    fn add_sleepers(&mut self, pid: u32) {
        for thread in threads(pid) {
            let Some(sleeper) = Sleeper::find(pid, thread) else { continue };
            let Some((address, ends)) = sleeper.futex() else { continue };
            let now = now_ns();
            let image = self.images.at(pid, now);
            let stack = self.images.stack(image, now, &sleeper.registers, &mut sleeper.stack(thread));
            let at = now.saturating_sub(slept_ns(pid, thread).unwrap_or(0));
            let about = RecordOrigin { pid, thread, at };
            let address = self.images.list[image].in_time(address, now);
            self.later.push((at, WaitEvent::Call(OpenCall { ends, ..OpenCall::new(about, image, address, stack) })));
        }
    }

    fn new() -> Result<Tracer, Refusal> {
        // On busy CPUs each of thousands of calls would wait for its turn, and rings would be full before they are read.
        // SAFETY: no memory.
        USUAL_NICE.store(unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }, Relaxed);
        set_nice(MOST_URGENT);
        Ok(Tracer::empty(Tracepoints::find()?, event::raise_limit_of_files()))
    }

    fn empty(points: Tracepoints, files: Files) -> Tracer {
        Tracer {
            points,
            files,
            rings: Vec::new(),
            events: Vec::new(),
            plan: Plan::WHOLE,
            thinned_from: 0,
            budget: Budget::default(),
            held: HeldStacks::default(),
            images: Images::default(),
            pairs: Pairs::default(),
            later: Vec::new(),
            n_calls: 0,
            lost: 0,
        }
    }

    /// For tests: of a file that somebody else writes as the kernel would, a page and then the ring. A call has the number 522,
    /// its address at 16 and its operation at 24, a return has 521 and its result at 16.
    #[doc(hidden)]
    pub fn of_file(file: OwnedFd, ring_bytes: usize) -> std::io::Result<Tracer> {
        let mut tracer = Tracer::empty(Tracepoints::SOME, Files { limit: 0, most: 0 });
        tracer.rings.push((Ring::map(&file, ring_bytes)?, file));
        Ok(tracer)
    }

    /// For each thread of a process that runs.
    fn open_all(&mut self, pid: u32, ring_bytes: usize) -> Result<(), Refusal> {
        // A thread that is started meanwhile may have events from its parent already. Then it tells everything twice, and
        // pairing takes the second for the first again.
        const ROUNDS: usize = 16;
        let mut known = BTreeSet::new();
        for _ in 0..ROUNDS {
            let new: Vec<u32> = threads(pid).into_iter().filter(|thread| known.insert(*thread)).collect();
            if new.is_empty() {
                break;
            }
            self.open(pid, &new, CountingStart::Enabled, ring_bytes)?;
        }
        Ok(())
    }

    /// Looks whether watching costs too much, or the rings were nearly full: then fewer stacks are copied from now on.
    fn adapt(&mut self) {
        let fullest = self.rings.iter().map(|(ring, _)| ring.fullness()).fold(0.0, f64::max);
        let period = self.budget.period(self.plan.period, now_ns(), self.n_calls, self.lost, fullest);
        let Some(period) = period else { return };
        // Those that are there now have each stack: as they were meant.
        self.read();
        let (plan, old) = (self.plan, std::mem::take(&mut self.events));
        self.plan = Plan::of_period(period);
        let was_whole = plan.period == 1;
        if was_whole {
            self.thinned_from = u64::MAX;
        }
        // If there is no room for more events, it goes on as it was.
        if self.open_for_all().is_err() {
            (self.plan, self.events) = (plan, old);
            self.budget.give_up();
            return;
        }
        if was_whole {
            self.thinned_from = now_ns();
        }
        for event in self.rings.iter().map(|(_, event)| event).chain(&old) {
            let _ = event::disable(event);
        }
        // To close one can take the kernel some ms, and the rings are to be read meanwhile. Those that the rings are of stay open.
        std::thread::spawn(move || {
            not_urgent();
            drop(old);
        });
        self.read();
        self.budget.restart(self.lost);
    }

    /// For each process that is known and has threads, and those that they start meanwhile.
    fn open_for_all(&mut self) -> Result<(), Refusal> {
        const ROUNDS: usize = 16;
        let mut known = BTreeSet::new();
        for _ in 0..ROUNDS {
            let pids: BTreeSet<u32> = self.images.list.iter().map(|image| image.pid).collect();
            let new: Vec<u32> = pids.into_iter().filter(|pid| known.insert(*pid)).collect();
            if new.is_empty() {
                break;
            }
            let n_before = self.events.len();
            new.into_iter().try_for_each(|pid| self.open_all(pid, 0))?;
            self.events[n_before..].iter().try_for_each(event::enable)?;
            self.read();
        }
        Ok(())
    }

    fn open(&mut self, pid: u32, threads: &[u32], begin: CountingStart, ring_bytes: usize) -> Result<(), Refusal> {
        let cpus = cpus();
        let needed = self.rings.len() + self.events.len() + self.plan.kinds.len() * cpus.len() * threads.len();
        for thread in threads {
            for (index, cpu) in cpus.iter().enumerate() {
                for which in self.plan.kinds.iter().copied() {
                    let event = match event::open(&self.points, self.plan, which, *thread, *cpu, begin) {
                        Ok(event) => event,
                        // The thread has ended meanwhile.
                        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => break,
                        Err(error) => return Err(event::refusal(error, pid, needed, self.files)),
                    };
                    event::filter(&event, which)?;
                    match self.rings.get(index) {
                        Some((_, first)) => event::redirect(&event, first)?,
                        None => {
                            let ring = Ring::map(&event, ring_bytes).map_err(Refusal::NoMemory)?;
                            self.rings.push((ring, event));
                            continue;
                        }
                    }
                    self.events.push(event);
                }
            }
        }
        Ok(())
    }

    /// How long to sleep until the next call of [`take`](Self::take): with each stack copied, a ring of a busy CPU is full after
    /// some tens of ms.
    pub fn gap(&self) -> Duration {
        Duration::from_millis(if self.plan.period > 1 { 20 } else { 5 })
    }

    /// Takes what the kernel has told, and shows each wait that has ended, with its parts by who kept the thread waiting. To be called after each [`gap`](Self::gap), as
    /// there is room for so much only.
    pub fn take(&mut self, each: impl FnMut(Wait, &[Release])) {
        // Records of another CPU that are being written just now are there within this time.
        const SLACK_NS: u64 = 1_000_000;
        let now = now_ns();
        self.adapt();
        self.read();
        self.pair(now.saturating_sub(SLACK_NS), each);
    }

    /// The same when nothing more will come.
    pub fn take_last(&mut self, each: impl FnMut(Wait, &[Release])) {
        self.read();
        self.pair(u64::MAX, each);
    }

    fn read(&mut self) {
        let places: Vec<(Place, Place)> = self.rings.iter().map(|(ring, _)| ring.places()).collect();
        // What is loaded and started comes first: a call on one CPU may need what another CPU tells.
        self.read_changes(&places);
        self.read_calls(&places);
    }

    fn read_changes(&mut self, places: &[(Place, Place)]) {
        let Tracer { points, rings, images, later, lost, .. } = self;
        let mut changes: Vec<(u64, ImageEvent)> = Vec::new();
        for ((ring, _), (from, to)) in rings.iter_mut().zip(places) {
            ring.read(*from, *to, |kind, misc, bytes| match Record::parse_change(points, kind, misc, bytes) {
                Some(Record::Forked { at, pid, parent }) if pid != parent => {
                    changes.push((at, ImageEvent::Fork { pid, parent }));
                }
                Some(Record::Exec { about }) => changes.push((about.at, ImageEvent::Exec { pid: about.pid })),
                Some(Record::Mapped { about, pid, mapping, path }) => {
                    let path = Path::new(OsStr::from_bytes(path)).to_owned();
                    changes.push((about.at, ImageEvent::Map { pid, mapping, path }));
                }
                Some(Record::Lost { at, n }) => {
                    *lost = lost.saturating_add(n);
                    later.push((at, WaitEvent::Lost));
                }
                _ => {}
            });
        }
        changes.sort_by_key(|(at, _)| *at);
        for (at, change) in changes {
            match change {
                ImageEvent::Fork { pid, parent } => images.forked(pid, parent, at),
                ImageEvent::Exec { pid } => images.exec(pid, at),
                ImageEvent::Map { pid, mapping, path } => images.mapped(pid, at, &mapping, &path),
            }
        }
    }

    fn read_calls(&mut self, places: &[(Place, Place)]) {
        let Tracer { points, rings, images, later, n_calls, held, plan, thinned_from, .. } = self;
        // Then one with its stack is told of without it as well.
        let is_copy = |call: &Call<'_>| plan.period > 1 && call.stack.is_some() && call.about.at >= *thinned_from;
        for ((ring, _), (from, to)) in rings.iter_mut().zip(places) {
            ring.read(*from, *to, |kind, misc, bytes| match Record::parse(points, kind, misc, bytes) {
                Some(Record::Wait(call)) => {
                    let (image, stack) = held.stack(images, &call, false);
                    if !is_copy(&call) {
                        *n_calls += 1;
                        let Call { about, address, op, value, .. } = call;
                        let address = images.list[image].in_time(address, about.at);
                        let ends = op::thread(op, value);
                        let begun = OpenCall { ends, ..OpenCall::new(about, image, address, stack) };
                        later.push((about.at, WaitEvent::Call(begun)));
                    }
                }
                Some(Record::Wake { call, woken }) => {
                    let (image, stack) = held.stack(images, &call, true);
                    if !is_copy(&call) {
                        *n_calls += 1;
                        let Call { about: RecordOrigin { at, thread, .. }, address, op, .. } = call;
                        let address = images.list[image].in_time(address, at);
                        later.push((at, WaitEvent::Woke(Wake { at, thread, image, address, op, stack, woken })));
                    }
                }
                Some(Record::Return { about, result }) => later.push((about.at, WaitEvent::Return(about, result))),
                Some(Record::Ended { at, pid, thread }) => {
                    later.push((at, WaitEvent::Ended(thread)));
                    images.ended(pid, thread, at);
                }
                _ => {}
            });
            ring.give_back(*to);
        }
    }

    fn pair(&mut self, until: u64, each: impl FnMut(Wait, &[Release])) {
        self.later.sort_by_key(|(at, _)| *at);
        let n = self.later.partition_point(|(at, _)| *at <= until);
        for (at, happened) in self.later.drain(..n) {
            match happened {
                WaitEvent::Call(begun) => self.pairs.call(begun),
                WaitEvent::Return(about, result) => self.pairs.returned(about, result),
                WaitEvent::Woke(wake) => self.pairs.woke(wake),
                WaitEvent::Ended(thread) => self.pairs.ended(thread, at),
                WaitEvent::Lost => self.pairs.lost(),
            }
        }
        self.pairs.settled(until, each);
    }

    /// Shows the waits that are over, without asking any longer who ended them.
    pub fn settle(&mut self, each: impl FnMut(Wait, &[Release])) {
        self.pairs.settled(u64::MAX, each);
    }

    /// Waits that go on. The return from a call may have been lost, so the kernel is asked.
    pub fn waiting(&self, now_ns: u64) -> impl Iterator<Item = Wait> {
        self.pairs.waiting(now_ns).filter(|wait| may_sleep(self.images.list[wait.image].pid, wait))
    }

    /// The processes that were seen, with their programs.
    pub fn images(&self) -> &[Image] {
        &self.images.list
    }

    /// The addresses of a stack, of [`in_time`]: behind the system call, then behind the calls that led there.
    pub fn stack(&self, number: u32) -> &[u64] {
        self.images.addresses(number)
    }

    /// One stack in so many was looked at, at last.
    pub fn period(&self) -> u64 {
        self.plan.period
    }

    /// Records that were lost, as a ring was full.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Waits that were left out, as records were lost while they went on.
    pub fn doubtful(&self) -> u64 {
        self.pairs.doubtful()
    }

    /// Whether a process has mapped so many pieces of code that the rest was left out: [`MOST_MODULES`](crate::MOST_MODULES).
    pub fn has_left_out_code(&self) -> bool {
        self.images.has_left_out()
    }

    /// How often a stack was cut, as there were too many different ones.
    pub fn cut_stacks(&self) -> u64 {
        self.images.n_cut()
    }

    /// Takes nothing any more: the process goes on at full speed.
    pub fn stop(&mut self) {
        not_urgent();
        self.events.clear();
        self.rings.clear();
    }
}

const MOST_URGENT: libc::c_int = -20;
/// What the thread had that made a tracer.
static USUAL_NICE: AtomicI32 = AtomicI32::new(0);

/// The calling thread, which has made a [`Tracer`] or was started by one that has, has time: it is as urgent as before.
pub fn not_urgent() {
    set_nice(USUAL_NICE.load(Relaxed));
}

/// That of the calling thread. Less than it has only root may ask for; then it stays as it is.
fn set_nice(nice: libc::c_int) {
    // SAFETY: no memory.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
}

/// Whether a thread may still sleep for that futex; that it does if the kernel does not tell.
fn may_sleep(pid: u32, wait: &Wait) -> bool {
    let path = format!("/proc/{pid}/task/{}/syscall", wait.thread);
    match std::fs::read_to_string(path) {
        Ok(text) => is_about(&text, in_time::plain(wait.address)),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// Whether a line of `/proc/PID/task/TID/syscall` is of a call about that futex: number, arguments, stack, instruction.
fn is_about(text: &str, address: u64) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    // Of futex_waitv and of calls that end at a signal and begin again, the address is elsewhere.
    words.len() > 1 && (words[0] != FUTEX.to_string() || words[1] == format!("{address:#x}"))
}

/// The CPUs that are there: `0-3,8`.
fn cpus() -> Vec<u32> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let cpus = numbers(text.trim());
    if cpus.is_empty() { vec![0] } else { cpus }
}

fn numbers(list: &str) -> Vec<u32> {
    let ranges = list.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    });
    ranges.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::{is_about, numbers};
    use crate::event::FUTEX;

    #[test]
    fn a_thread_that_runs_or_sleeps_elsewhere_waits_no_more() {
        let sleeps = format!("{FUTEX} 0x7f0010 0x80 0x2 0x0 0x0 0x0 0x7ffd00 0x7f1234\n");
        assert!(is_about(&sleeps, 0x7f_0010) && !is_about(&sleeps, 0x7f_0018));
        assert!(!is_about("running\n", 0x7f_0010));
    }

    #[test]
    fn who_has_time_is_as_urgent_as_before() {
        // SAFETY: no memory.
        let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        // More than at the start, which everybody may ask for.
        let usual = nice() + 3;
        super::set_nice(usual);
        super::USUAL_NICE.store(nice(), super::Relaxed);
        super::set_nice(usual + 2);
        assert_eq!(nice(), (usual + 2).min(19));
        super::not_urgent();
        // Who may not ask for more keeps what it has.
        assert!(nice() == usual.min(19) || nice() == (usual + 2).min(19));
    }

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(numbers("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(numbers("0"), [0]);
        assert!(numbers("").is_empty() && numbers("none").is_empty());
    }
}
