//! Waits and holders as looks from outside show them: for processes that are neither recorded nor watched from the kernel.
//!
//! A look finds the threads that sleep in a futex call. What it finds stands for the time since the look before it, and a thread
//! that has not been given a core since then sleeps on in the same wait. So sums of waiting are estimates without bias. How often threads
//! waited, and how long each time, is not known: looks may be further apart than that.
//!
//! The C library's locks have the thread that holds them in their memory, behind the word that is waited for. What that word is
//! for is known once its waiters' stacks have names. So each place where a lock could have its holder is read, and the
//! right one is chosen later ([`held`](super::held)). What the holder does is asked between two readings of its number.

use crate::collect::holders::Activity;
use crate::collect::numbers::ThreadNumbers;
use crate::collect::thread_times::{FutexSleep, ThreadTimes};
use ondeck_futex::process::{bytes, syscall, threads};
use ondeck_futex::{End, Image, Wait, futex_of, now_ns};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// Behind a futex, where locks may have the number of the thread that holds them: a mutex, and a lock for readers and
/// writers behind its second and its first word.
pub(super) const OWNERS: [u64; 3] = [8, 12, 16];

/// What the holder of a lock did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Seen {
    /// There was none.
    Free,
    /// It was another one after the look than before.
    Changed,
    /// It ran.
    Computing,
    NoCore,
    /// It slept in that call, there, and maybe for that futex.
    Asleep {
        call: Option<u32>,
        stack: Option<u32>,
        futex: Option<u64>,
    },
}

/// The waiting that is charged to holders that did the same.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Charge {
    pub(super) ns: f64,
    /// Holds that were told apart.
    pub(super) count: f64,
    /// Each hold's length, as far as it was seen, times the waiting that is charged to it.
    pub(super) ns_of_lengths: f64,
}

/// By the futex, and the place of the holder's number.
pub(super) type Charges = BTreeMap<(u64, u64), BTreeMap<Seen, Charge>>;

/// Between two times that it is asked whether a look is due.
pub(super) const GAP: Duration = Duration::from_millis(3);

/// A process that is looked at.
pub(super) struct Looked {
    pid: u32,
    pub(super) times: ThreadTimes,
    numbers: ThreadNumbers,
    /// The waits that go on, by thread, with how often it had been given a core.
    open: HashMap<u32, (u64, Wait)>,
    holds: HashMap<(u64, u64), Hold>,
    /// From the start, and since the last snapshot.
    charges: Charges,
    recent: Charges,
}

/// A hold that may go on.
struct Hold {
    owner: u32,
    /// The waits for its end.
    waiters: Vec<(u32, u64)>,
    from: Instant,
    to: Instant,
    /// The time that the first look stands for.
    step: Duration,
    did: BTreeMap<Seen, f64>,
}

impl Looked {
    /// `None` if it may not be looked at.
    pub(super) fn new(pid: u32) -> Option<Self> {
        threads(pid).into_iter().find_map(|thread| syscall(pid, thread))?;
        let (mut times, numbers) = (ThreadTimes::new(pid), ThreadNumbers::of(pid));
        times.sleepers();
        let (open, holds) = (HashMap::new(), HashMap::new());
        Some(Looked { pid, times, numbers, open, holds, charges: Charges::new(), recent: Charges::new() })
    }

    /// The process, with what is loaded.
    pub(super) fn image(&self) -> Option<&Image> {
        self.times.image()
    }

    /// Looks at all threads, if it is time to; each wait that is over is told.
    pub(super) fn look(&mut self, image: usize, each: &mut dyn FnMut(Wait)) {
        // To look at more is within what looks may cost.
        let mut times = std::mem::replace(&mut self.times, ThreadTimes::new(self.pid));
        times.look(Vec::new, |times| {
            let mut waiters: BTreeMap<u64, Vec<FutexSleep>> = BTreeMap::new();
            times.in_futex().for_each(|sleep| waiters.entry(sleep.address).or_default().push(sleep));
            self.note_waits(image, &waiters, each);
            self.note_holds(times, &waiters);
        });
        self.times = times;
    }

    fn note_waits(&mut self, image: usize, waiters: &BTreeMap<u64, Vec<FutexSleep>>, each: &mut dyn FnMut(Wait)) {
        let now_ns = now_ns();
        let ns = |at: Instant| now_ns.saturating_sub(at.elapsed().as_nanos() as u64);
        let mut still = HashMap::new();
        for sleep in waiters.values().flatten() {
            let FutexSleep { thread, address, stack, turns, .. } = *sleep;
            let (waiting, end) = (waiters[&address].len() as u32, End::Waiting);
            let known = open_wait(&mut self.open, sleep);
            let from_ns = known.map_or(ns(sleep.from), |wait| wait.from_ns);
            let wait = Wait { image, thread, address, stack, from_ns, to_ns: ns(sleep.to), waiting, end, joins: false };
            still.insert(thread, (turns, wait));
        }
        self.open.drain().for_each(|(_, (_, wait))| each(Wait { end: End::Woken(None), ..wait }));
        self.open = still;
    }

    fn note_holds(&mut self, times: &mut ThreadTimes, waiters: &BTreeMap<u64, Vec<FutexSleep>>) {
        for (address, waiters) in waiters {
            for (at, owner, seen) in owners(times, &mut self.numbers, self.pid, *address) {
                let (spot, mut hold) = ((*address, at), Hold::new(owner, waiters));
                match self.holds.remove(&spot) {
                    Some(old) if old.goes_on(&hold) => {
                        (hold.from, hold.step, hold.did) = (old.from, old.step, old.did);
                    }
                    Some(old) => self.charge(spot, &old),
                    None => {}
                }
                let ns = waiters.iter().map(|wait| wait.to.duration_since(wait.from).as_nanos() as f64).sum();
                hold.add(seen, ns, times.without_core(owner));
                self.holds.insert(spot, hold);
            }
        }
        // What nobody waits for any more.
        let over = self.holds.extract_if(|(address, _), _| !waiters.contains_key(address));
        over.collect::<Vec<_>>().iter().for_each(|(spot, hold)| self.charge(*spot, hold));
    }

    fn charge(&mut self, spot: (u64, u64), hold: &Hold) {
        [&mut self.charges, &mut self.recent].into_iter().for_each(|all| hold.charge(spot, all));
    }

    /// The waits that go on.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Wait> {
        self.open.values().map(|(_, wait)| *wait)
    }

    /// What is charged to holders, from the start or since the last snapshot, with holds that go on.
    pub(super) fn charged(&self, is_recent: bool) -> Charges {
        let mut charges = if is_recent { &self.recent } else { &self.charges }.clone();
        self.holds.iter().for_each(|(spot, hold)| hold.charge(*spot, &mut charges));
        charges
    }

    /// The next snapshot begins here.
    pub(super) fn begin_snapshot(&mut self) {
        self.charges = self.charged(false);
        self.holds.clear();
        self.recent.clear();
        self.times.recent.clear();
    }
}

/// The wait that was under way before, if the thread sleeps on in it.
fn open_wait(open: &mut HashMap<u32, (u64, Wait)>, sleep: &FutexSleep) -> Option<Wait> {
    open.get(&sleep.thread).filter(|(turns, wait)| (*turns, wait.address) == (sleep.turns, sleep.address))?;
    open.remove(&sleep.thread).map(|(_, wait)| wait)
}

/// Who may hold the lock with that futex, by the place where its number is, and what that thread does.
fn owners(times: &mut ThreadTimes, numbers: &mut ThreadNumbers, pid: u32, futex: u64) -> Vec<(u64, u32, Seen)> {
    let read = |at: u64| bytes(pid, futex.wrapping_add(at)).map(u32::from_ne_bytes);
    let mut owner_at = |at: u64| {
        let there = read(at)?;
        let owner = if there == 0 { 0 } else { numbers.here(there) };
        let seen = match times.ask(owner) {
            _ if owner == 0 => Seen::Free,
            Some((Activity::Blocked(call), text)) => {
                let (stack, futex) = (times.sleepers().look(owner, &text), futex_of(&text));
                Seen::Asleep { call, stack, futex }
            }
            Some(_) => Seen::Computing,
            // It is no thread of the process, so that is not its place.
            None => return None,
        };
        Some((at, owner, if read(at) == Some(there) { seen } else { Seen::Changed }))
    };
    OWNERS.into_iter().filter_map(&mut owner_at).collect()
}

impl Hold {
    fn new(owner: u32, waiters: &[FutexSleep]) -> Self {
        let to = waiters.iter().map(|sleep| sleep.to).max().unwrap_or_else(Instant::now);
        let step = waiters.iter().map(|sleep| sleep.to.duration_since(sleep.from)).max().unwrap_or_default();
        let waiters = waiters.iter().map(|sleep| (sleep.thread, sleep.turns)).collect();
        Hold { owner, waiters, from: to, to, step, did: BTreeMap::new() }
    }

    /// Whether a later look shows the same hold: nobody was woken in between.
    fn goes_on(&self, later: &Hold) -> bool {
        self.owner == later.owner && self.owner != 0 && self.waiters.iter().all(|wait| later.waiters.contains(wait))
    }

    /// A look at it.
    fn add(&mut self, seen: Seen, ns: f64, without_core: f64) {
        let without = if seen == Seen::Computing { ns * without_core } else { 0.0 };
        for (seen, ns) in [(seen, ns - without), (Seen::NoCore, without)] {
            if ns > 0.0 {
                *self.did.entry(seen).or_default() += ns;
            }
        }
    }

    fn charge(&self, spot: (u64, u64), charges: &mut Charges) {
        /// Locks beyond these have no known holder.
        const MOST: usize = 1 << 13;
        if charges.len() >= MOST && !charges.contains_key(&spot) {
            return;
        }
        let charges = charges.entry(spot).or_default();
        let seen = self.to.duration_since(self.from);
        // One look does not tell. Before the first and after the last of several it is half of the time between two, each.
        let length = if seen.is_zero() { 0.0 } else { (seen + self.step).as_nanos() as f64 };
        for (seen, ns) in &self.did {
            let charge = charges.entry(*seen).or_default();
            charge.ns += ns;
            charge.count += 1.0;
            charge.ns_of_lengths += ns * length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn sleep(thread: u32, turns: u64, to: Instant) -> FutexSleep {
        let from = to.checked_sub(Duration::from_millis(10)).unwrap();
        FutexSleep { thread, address: 64, stack: 0, turns, from, to }
    }

    #[test]
    fn a_hold_goes_on_as_long_as_nobody_was_woken() {
        let start = Instant::now();
        let later = start + Duration::from_millis(10);
        let first = Hold::new(5, &[sleep(1, 3, start)]);
        assert!(first.goes_on(&Hold::new(5, &[sleep(1, 3, later), sleep(2, 8, later)])));
        assert!(!first.goes_on(&Hold::new(5, &[sleep(1, 4, later)])), "it was woken, and waits again");
        assert!(!first.goes_on(&Hold::new(6, &[sleep(1, 3, later)])), "another one has it");
        let free = Hold::new(0, &[sleep(1, 3, start)]);
        assert!(!free.goes_on(&Hold::new(0, &[sleep(1, 3, later)])), "nobody had it");
    }

    #[test]
    fn waiting_is_charged_with_the_length_that_several_looks_have_seen() {
        let start = Instant::now();
        let mut hold = Hold::new(5, &[sleep(1, 3, start)]);
        hold.add(Seen::Computing, 8.0, 0.25);
        let mut charges = Charges::new();
        hold.charge((64, 8), &mut charges);
        hold.to = start + Duration::from_millis(30);
        hold.charge((64, 8), &mut charges);
        let all = &charges[&(64, 8)];
        assert_eq!(all.keys().copied().collect::<Vec<_>>(), [Seen::Computing, Seen::NoCore]);
        let Charge { ns, count, ns_of_lengths } = all[&Seen::Computing];
        assert_eq!((ns, count, ns_of_lengths), (12.0, 2.0, 6.0 * 40e6), "the first was met by one look");
        assert_eq!(all[&Seen::NoCore].ns, 4.0);
    }

    #[test]
    fn the_holder_of_a_mutex_is_seen_with_what_it_sleeps_in() {
        struct Shared(std::cell::UnsafeCell<libc::pthread_mutex_t>);
        // SAFETY: all use of it is by the C library's functions.
        unsafe impl Sync for Shared {}
        static SHARED: Shared = Shared(std::cell::UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        let ((locked, has_locked), (end, ends)) = (mpsc::channel(), mpsc::channel::<()>());
        let holder = std::thread::spawn(move || {
            // SAFETY: a mutex that stays.
            unsafe { libc::pthread_mutex_lock(SHARED.0.get()) };
            locked.send(()).unwrap();
            assert!(ends.recv().is_err());
            // SAFETY: it is ours.
            unsafe { libc::pthread_mutex_unlock(SHARED.0.get()) };
        });
        has_locked.recv().unwrap();
        let waiter = std::thread::spawn(|| {
            // SAFETY: a mutex that stays.
            unsafe { libc::pthread_mutex_lock(SHARED.0.get()) };
            // SAFETY: it is ours.
            unsafe { libc::pthread_mutex_unlock(SHARED.0.get()) };
        });
        let mut looked = Looked::new(std::process::id()).unwrap();
        let place = (SHARED.0.get() as u64, OWNERS[0]);
        let is_asleep = |seen: &Seen| matches!(seen, Seen::Asleep { call: Some(_), stack: Some(_), futex: Some(_) });
        let is_seen = |looked: &Looked| looked.charged(false).get(&place).is_some_and(|all| all.keys().any(is_asleep));
        let looks = (0..5000).take_while(|_| {
            looked.look(0, &mut |_| ());
            std::thread::sleep(Duration::from_millis(2));
            !is_seen(&looked)
        });
        assert!(looks.count() < 5000, "it is not seen");
        assert!(looked.waiting().any(|wait| wait.address == place.0), "it still waits");
        drop(end);
        holder.join().unwrap();
        waiter.join().unwrap();
    }
}
