//! Who holds the C library's locks meanwhile, and what that thread does, as looks from outside show it.
//!
//! The C library's locks have the thread that holds them in their memory, behind the word that is waited for. What that word is
//! for is known once its waiters' stacks have names. So each place where a lock could have its holder is read, and the
//! right one is chosen later ([`held`](super::held)). What the holder does is asked between two readings of its number.
//!
//! If it sleeps, its stack is read. If it runs, the kernel tells where, and where it ends the hold ([`WatchedHold`]). Both together say
//! which function has the lock. They are of this hold and no other: the word that says who holds the lock is watched, and read
//! after that.

use crate::collect::holders::Activity;
use crate::collect::numbers::ThreadNumbers;
use crate::collect::thread_times::{FutexSleep, ThreadTimes};
use ondeck_futex::process::bytes;
use ondeck_futex::{WatchedHold, futex_of};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// Behind a futex, where locks may have the number of the thread that holds them: a mutex, and a lock for readers and
/// writers behind its second and its first word.
const OWNERS: [u64; 3] = [8, 12, 16];

/// Threads that sleep, by the futex.
pub(super) type Waiters = BTreeMap<u64, Vec<FutexSleep>>;

/// What the holder of a lock did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Seen {
    /// There was none.
    Free,
    /// It was another one after the look than before.
    Changed,
    /// It is no thread of the process: one of another process, or one that has ended. Or that is not the place of its number.
    Elsewhere,
    /// It ran.
    Computing,
    NoCore,
    /// It slept in that call, and maybe for that futex.
    Asleep {
        call: Option<u32>,
        futex: Option<u64>,
    },
}

/// What it did, and its stack if that is known.
pub(super) type SeenAt = (Seen, Option<u32>);

/// The waiting that is charged to holders that did the same.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Charge {
    pub(super) ns: f64,
    /// Holds that were told apart.
    pub(super) count: f64,
    /// Each hold's length, as far as it was seen, times the waiting that is charged to it.
    pub(super) ns_of_lengths: f64,
}

/// By the futex, the place of the holder's number, and what the holder did.
pub(super) type Charges = BTreeMap<(u64, u64, SeenAt), Charge>;

/// What is charged for one place of the holder's number.
pub(super) fn of_place(charges: &Charges, futex: u64, place: u64) -> impl Iterator<Item = (SeenAt, Charge)> {
    let from = charges.range((futex, place, (Seen::Free, None))..);
    from.take_while(move |((at, its, _), _)| (*at, *its) == (futex, place)).map(|((.., seen), charge)| (*seen, *charge))
}

/// Who holds the locks of a process that others wait for.
pub(super) struct Holds {
    pid: u32,
    numbers: ThreadNumbers,
    open: HashMap<(u64, u64), Hold>,
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
    did: BTreeMap<SeenAt, f64>,
    watched: Option<WatchedHold>,
    /// Whether it was watched until its end.
    has_ended: bool,
    /// A stack of its thread, one where it ran before others; and its part from the function on that holds the lock.
    during: Option<u32>,
    holder: Option<u32>,
}

/// So many holds are watched from one look on, which takes some 0.1 ms each, and of one process at once.
const MOST_NEW: usize = 4;
const MOST_WATCHED: usize = 8;

impl Holds {
    pub(super) fn of(pid: u32) -> Self {
        let numbers = ThreadNumbers::of(pid);
        Holds { pid, numbers, open: HashMap::new(), charges: Charges::new(), recent: Charges::new() }
    }

    /// Looks at who keeps those waiting whom the last look has found asleep.
    pub(super) fn look(&mut self, times: &mut ThreadTimes, waiters: &Waiters) {
        self.open.values_mut().for_each(|hold| hold.learn(times));
        let mut futexes: Vec<(&u64, &Vec<FutexSleep>)> = waiters.iter().collect();
        futexes.sort_by_key(|(_, waiters)| Reverse(waiters.len()));
        let n_watched = self.open.values().filter(|hold| hold.watched.is_some()).count();
        let mut n_new = MOST_NEW.min(MOST_WATCHED.saturating_sub(n_watched));
        for (futex, waiters) in futexes {
            for place in OWNERS {
                let spot = (*futex, place);
                let Some((thread, seen, watched)) = self.owner(times, spot, &mut n_new) else { continue };
                let mut hold = Hold { watched, ..Hold::new(thread, waiters) };
                if let Some(mut old) = self.open.remove(&spot) {
                    // It may have ended just now.
                    old.learn(times);
                    match old.goes_on(&hold) {
                        true => {
                            // A thread that has ended with the lock would be watched for ever.
                            let is_here = !matches!(seen.0, Seen::Elsewhere);
                            let watched = old.watched.take().or(hold.watched).filter(|_| is_here);
                            hold = Hold { waiters: hold.waiters, to: hold.to, watched, ..old };
                        }
                        false => self.charge(spot, &old),
                    }
                }
                let ns = waiters.iter().map(|wait| wait.to.duration_since(wait.from).as_nanos() as f64).sum();
                hold.add(seen, ns, times.without_core(thread));
                self.open.insert(spot, hold);
            }
        }
        self.end_all_but(times, waiters);
    }

    /// What nobody waits for any more is over, as all is once the process has ended.
    pub(super) fn end_all_but(&mut self, times: &mut ThreadTimes, waiters: &Waiters) {
        let over: Vec<_> = self.open.extract_if(|(futex, _), _| !waiters.contains_key(futex)).collect();
        for (spot, mut hold) in over {
            hold.learn(times);
            self.charge(spot, &hold);
        }
    }

    /// Who holds the lock with that futex, if that is the place of its number, and what that thread does. Up to `n_new` more holds are watched from now on.
    fn owner(
        &mut self,
        times: &mut ThreadTimes,
        spot: (u64, u64),
        n_new: &mut usize,
    ) -> Option<(u32, SeenAt, Option<WatchedHold>)> {
        let there = self.number(spot)?;
        let thread = if there == 0 { 0 } else { self.numbers.here(there) };
        let seen = self.seen(times, spot, (there, thread));
        let is_here = matches!(seen.0, Seen::Computing | Seen::Asleep { .. });
        let is_watched = |hold: &Hold| hold.owner == thread && hold.watched.is_some();
        if !is_here || *n_new == 0 || self.open.get(&spot).is_some_and(is_watched) {
            return Some((thread, seen, None));
        }
        // What it does is asked again, as it may have had the lock for another time before.
        *n_new -= 1;
        let again = WatchedHold::of(thread, spot.0.wrapping_add(spot.1)).ok().and_then(|mut watched| {
            let now = self.seen(times, spot, (there, thread));
            // Else its number may be that of a thread of another process by now.
            let is_here = matches!(now.0, Seen::Computing | Seen::Asleep { .. });
            (is_here && !watched.has_ended()).then_some((now, watched))
        });
        Some(again.map_or((thread, seen, None), |(now, watched)| (thread, now, Some(watched))))
    }

    fn number(&self, (futex, place): (u64, u64)) -> Option<u32> {
        bytes(self.pid, futex.wrapping_add(place)).map(u32::from_ne_bytes)
    }

    /// What the holder of that number does.
    fn seen(&self, times: &mut ThreadTimes, spot: (u64, u64), (there, thread): (u32, u32)) -> SeenAt {
        let seen = match times.ask(thread) {
            _ if thread == 0 => (Seen::Free, None),
            Some((Activity::Blocked(call), text)) => {
                let futex = futex_of(&text);
                (Seen::Asleep { call, futex }, times.sleepers().look(thread, &text))
            }
            Some(_) => (Seen::Computing, None),
            None => (Seen::Elsewhere, None),
        };
        if self.number(spot) == Some(there) { seen } else { (Seen::Changed, None) }
    }

    fn charge(&mut self, spot: (u64, u64), hold: &Hold) {
        [&mut self.charges, &mut self.recent].into_iter().for_each(|all| hold.charge(spot, all));
    }

    /// What is charged to holders, from the start or since the last snapshot, with holds that go on.
    pub(super) fn charged(&self, is_recent: bool) -> Charges {
        let mut charges = if is_recent { &self.recent } else { &self.charges }.clone();
        self.open.iter().for_each(|(spot, hold)| hold.charge(*spot, &mut charges));
        charges
    }

    /// The next snapshot begins here.
    pub(super) fn begin_snapshot(&mut self) {
        self.charges = self.charged(false);
        self.open.clear();
        self.recent.clear();
    }
}

impl Hold {
    fn new(owner: u32, waiters: &[FutexSleep]) -> Self {
        let to = waiters.iter().map(|sleep| sleep.to).max().unwrap_or_else(Instant::now);
        let step = waiters.iter().map(|sleep| sleep.to.duration_since(sleep.from)).max().unwrap_or_default();
        let waiters = waiters.iter().map(|sleep| (sleep.thread, sleep.turns)).collect();
        let (did, watched, has_ended) = (BTreeMap::new(), None, false);
        Hold { owner, waiters, from: to, to, step, did, watched, has_ended, during: None, holder: None }
    }

    /// Whether a later look shows the same hold: it is watched and has not ended, or nobody was woken in between.
    fn goes_on(&self, later: &Hold) -> bool {
        let is_same = self.owner == later.owner && self.owner != 0 && !self.has_ended;
        is_same && (self.watched.is_some() || self.waiters.iter().all(|wait| later.waiters.contains(wait)))
    }

    /// Takes what was told of it since the last look.
    fn learn(&mut self, times: &mut ThreadTimes) {
        let Some(watched) = &mut self.watched else { return };
        self.has_ended = watched.has_ended();
        let [ran, ended] = times.sleepers().watched(watched);
        self.during = ran.or(self.during);
        if self.has_ended {
            self.watched = None;
            self.holder = self.during.zip(ended).and_then(|(during, ended)| times.sleepers().holder(during, ended));
        }
    }

    /// A look at it.
    fn add(&mut self, (seen, stack): SeenAt, ns: f64, without_core: f64) {
        let without = if seen == Seen::Computing { ns * without_core } else { 0.0 };
        self.during = self.during.or(stack);
        for (seen, ns) in [(seen, ns - without), (Seen::NoCore, without)] {
            if ns > 0.0 {
                *self.did.entry((seen, stack)).or_default() += ns;
            }
        }
    }

    fn charge(&self, (futex, place): (u64, u64), charges: &mut Charges) {
        /// What is new beyond these is left out.
        const MOST: usize = 1 << 16;
        let seen = self.to.duration_since(self.from);
        // One look does not tell. Before the first and after the last of several it is half of the time between two, each.
        let length = if seen.is_zero() { 0.0 } else { (seen + self.step).as_nanos() as f64 };
        let whole: f64 = self.did.values().sum();
        for ((seen, stack), ns) in &self.did {
            // If it goes on, where it was seen has to do.
            let has_holder = matches!(seen, Seen::Computing | Seen::NoCore | Seen::Asleep { .. });
            let known = self.holder.or(*stack).or(self.during).filter(|_| has_holder);
            let key = (futex, place, (*seen, known));
            if charges.len() >= MOST && !charges.contains_key(&key) {
                continue;
            }
            let charge = charges.entry(key).or_default();
            charge.ns += ns;
            charge.count += ns / whole;
            charge.ns_of_lengths += ns * length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::looks::Looked;
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
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
        let over = Hold { has_ended: true, ..Hold::new(5, &[sleep(1, 3, start)]) };
        assert!(!over.goes_on(&Hold::new(5, &[sleep(1, 3, later)])), "its end was seen");
        let free = Hold::new(0, &[sleep(1, 3, start)]);
        assert!(!free.goes_on(&Hold::new(0, &[sleep(1, 3, later)])), "nobody had it");
    }

    #[test]
    fn waiting_is_charged_with_the_length_that_several_looks_have_seen() {
        let start = Instant::now();
        let mut hold = Hold::new(5, &[sleep(1, 3, start)]);
        hold.add((Seen::Computing, Some(7)), 8.0, 0.25);
        let mut charges = Charges::new();
        hold.charge((64, 8), &mut charges);
        hold.to = start + Duration::from_millis(30);
        hold.charge((64, 8), &mut charges);
        let all: Vec<(SeenAt, Charge)> = of_place(&charges, 64, 8).collect();
        assert_eq!(
            all.iter().map(|one| one.0).collect::<Vec<_>>(),
            [(Seen::Computing, Some(7)), (Seen::NoCore, Some(7))]
        );
        let Charge { ns, count, ns_of_lengths } = all[0].1;
        assert_eq!((ns, count, ns_of_lengths), (12.0, 1.5, 6.0 * 40e6), "the first was met by one look");
        assert_eq!(all[1].1.ns, 4.0);
    }

    #[test]
    fn a_hold_is_its_holders_and_else_where_it_was_seen() {
        let asleep = Seen::Asleep { call: Some(0), futex: None };
        let charged = |holder| {
            let mut hold = Hold { holder, ..Hold::new(5, &[sleep(1, 3, Instant::now())]) };
            [(Seen::Computing, None), (asleep, Some(9)), (asleep, None), (Seen::Changed, None)]
                .into_iter()
                .for_each(|seen| hold.add(seen, 8.0, 0.0));
            let mut charges = Charges::new();
            hold.charge((64, 8), &mut charges);
            assert_eq!(of_place(&charges, 64, 16).count(), 0);
            of_place(&charges, 64, 8).map(|((seen, stack), charge)| (seen, stack, charge.ns)).collect::<Vec<_>>()
        };
        let expected = |stack| [(Seen::Changed, None, 8.0), (Seen::Computing, stack, 8.0), (asleep, stack, 16.0)];
        assert_eq!(charged(None), expected(Some(9)));
        assert_eq!(charged(Some(7)), expected(Some(7)));
    }

    /// A mutex that one thread has, in a loop or asleep, and another one waits for.
    fn looks_at_a_hold(works: bool, mut is_seen: impl FnMut(&Looked, SeenAt) -> bool) {
        struct Shared(std::cell::UnsafeCell<libc::pthread_mutex_t>);
        // SAFETY: all use of it is by the C library's functions.
        unsafe impl Sync for Shared {}
        let shared = Shared(std::cell::UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        let shared = &shared;
        let with_it = |then: &dyn Fn()| {
            // SAFETY: a mutex that stays.
            unsafe { libc::pthread_mutex_lock(shared.0.get()) };
            then();
            // SAFETY: it is ours.
            unsafe { libc::pthread_mutex_unlock(shared.0.get()) };
        };
        let ((locked, has_locked), (end, ends)) = (mpsc::channel(), mpsc::channel::<()>());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                with_it(&|| {
                    locked.send(()).unwrap();
                    if works { works_until(&ends) } else { assert!(ends.recv().is_err()) }
                });
            });
            has_locked.recv().unwrap();
            scope.spawn(move || with_it(&|| ()));
            let mut looked = Looked::new(std::process::id());
            let place = (shared.0.get() as u64, OWNERS[0]);
            let looks = (0..5000).take_while(|_| {
                looked.look(0, &mut |_| ());
                std::thread::sleep(Duration::from_millis(2));
                let charges = looked.holds.charged(false);
                !of_place(&charges, place.0, place.1).any(|(seen, _)| is_seen(&looked, seen))
            });
            assert!(looks.count() < 5000, "it is not seen");
            assert!(looked.waiting().any(|wait| wait.address == place.0), "it still waits");
            assert!(!looked.holds.open.is_empty());
            looked.close();
            let charges = looked.holds.charged(false);
            assert!(looked.holds.open.is_empty() && of_place(&charges, place.0, place.1).next().is_some());
            drop(end);
        });
    }

    /// As of a mutex that another process holds.
    #[test]
    fn a_holder_that_is_no_thread_of_the_process_is_unknown() {
        let lock: [AtomicU32; 6] = [2, 0, 1, 0, 0, 0].map(AtomicU32::new);
        let place = (lock.as_ptr() as u64, OWNERS[0]);
        let call = |op: libc::c_int, value: libc::c_int| {
            // SAFETY: a word of ours, and no time limit.
            unsafe { libc::syscall(libc::SYS_futex, place.0, op | libc::FUTEX_PRIVATE_FLAG, value, 0_usize) }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| call(libc::FUTEX_WAIT, 2));
            let mut looked = Looked::new(std::process::id());
            let looks = (0..5000).take_while(|_| {
                looked.look(0, &mut |_| ());
                std::thread::sleep(Duration::from_millis(2));
                of_place(&looked.holds.charged(false), place.0, place.1).next().is_none()
            });
            assert!(looks.count() < 5000, "it is not seen");
            let seen: Vec<SeenAt> = of_place(&looked.holds.charged(false), place.0, place.1).map(|all| all.0).collect();
            lock[0].store(0, Relaxed);
            call(libc::FUTEX_WAKE, 1);
            assert_eq!(seen, [(Seen::Elsewhere, None)]);
        });
    }

    #[inline(never)]
    fn works_until(ends: &mpsc::Receiver<()>) {
        while ends.try_recv() == Err(mpsc::TryRecvError::Empty) {
            (0..100_000).for_each(|n| _ = std::hint::black_box(n));
        }
    }

    #[test]
    fn the_holder_of_a_mutex_is_seen_with_what_it_sleeps_in() {
        looks_at_a_hold(false, |_, (seen, stack)| {
            matches!(seen, Seen::Asleep { call: Some(_), futex: Some(_) }) && stack.is_some()
        });
    }

    #[test]
    fn the_holder_of_a_mutex_is_seen_where_it_runs() {
        if let Err(error) = WatchedHold::of(std::process::id(), 0) {
            let refusals = [libc::EACCES, libc::EPERM, libc::ENOSYS, libc::ENOSPC, libc::ENODEV, libc::EOPNOTSUPP];
            return assert!(error.raw_os_error().is_some_and(|number| refusals.contains(&number)), "{error}");
        }
        let here = works_until as *const () as u64;
        looks_at_a_hold(true, |looked, (seen, stack)| {
            let addresses = stack.map_or(Vec::new(), |stack| looked.times.addresses(stack));
            seen == Seen::Computing && addresses.iter().any(|at| (here..here + 4000).contains(at))
        });
    }
}
