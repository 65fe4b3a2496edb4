//! The causes of one lock's waiting, put together by what can be done about them.

use super::measures::{share, threads};
use crate::kinds::NOTIFIES;
use crate::profile::{Cause, Lock, LockKind, Profile, State, WaitObject};
use crate::rules::{LONG_NS, LOOK_NS, LOST_EACH_NS, ONE_EVENT, RAN, RARE, SLEEPS_TOO, WORTH_A_TRIAL};
use crate::thread_time;
use crate::wrappers::Tops;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// What keeps threads waiting, as far as the same can be done about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::findings) enum CauseKind {
    /// Somebody holds it for long, running.
    #[default]
    Held,
    /// Somebody sleeps with it.
    Blocked,
    /// The same in a futex call: where the C library waits for threads that it has woken, while it notifies.
    Notifying,
    /// Somebody waits with it for something else.
    Waits(Option<WaitObject>),
    /// Holders, or those that come next, have no core.
    Cores,
    /// Nobody has it, and who comes next does not run.
    Free,
    /// It is passed on all the time.
    Passing,
}

impl CauseKind {
    /// Whether a function is to blame that has the lock.
    pub(in crate::findings) fn is_of_a_holder(self) -> bool {
        self == CauseKind::Held || self.is_sleep() || matches!(self, CauseKind::Waits(_))
    }

    /// Whether that function sleeps.
    pub(in crate::findings) fn is_sleep(self) -> bool {
        matches!(self, CauseKind::Blocked | CauseKind::Notifying)
    }
}

/// A part of a lock's waiting.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::findings) struct CauseShare {
    pub(in crate::findings) what: CauseKind,
    /// The frame of the function that holds it, by its index in [`Profile::frames`].
    pub(in crate::findings) frame: Option<u32>,
    /// A function around that one, if it has no name.
    pub(in crate::findings) caller: Option<u32>,
    pub(in crate::findings) call: String,
    /// What it sleeps for there, of a futex call.
    pub(in crate::findings) awaited: String,
    pub(super) ns: f64,
    /// Of the lock's waiting.
    pub(in crate::findings) part: f64,
    /// How many holds.
    count: f64,
    /// How long each is, by the waiting that it causes.
    pub(in crate::findings) each_ns: f64,
    /// What of it was without a core.
    pub(in crate::findings) without_core: f64,
    /// What of it was blocked, in [`call`](Self::call), where the function both runs and sleeps.
    pub(in crate::findings) blocked: f64,
    /// What the holder waits for, of [`CauseKind::Waits`].
    pub(in crate::findings) chain: Chain,
    /// Threads that use the lock at once, and whether there is a core for each.
    pub(in crate::findings) threads: u32,
    pub(in crate::findings) has_cores: bool,
    /// Whether ondeck's mutex is to be tried.
    pub(in crate::findings) tries: bool,
}

/// The causes of a lock, as recorded or, where only sites are known, as far as these tell.
pub(crate) fn parts(lock: &Lock) -> Cow<'_, [Cause]> {
    if !lock.causes.is_empty() {
        return Cow::Borrowed(&lock.causes);
    }
    let waiting = f64::from(lock.most_waiting.max(1));
    let held = lock.holders.iter().map(|site| Cause {
        state: State::Unknown,
        stack: Some(site.stack),
        ns: site.ns,
        count: site.count,
        // Each of its instants is charged as often as threads wait then.
        each_ns: if site.count > 0.0 { site.ns / site.count / waiting } else { 0.0 },
        ..Cause::default()
    });
    let is_short = |cause: &Cause| cause.each_ns < LONG_NS as f64;
    let mut causes: Vec<Cause> = held.collect();
    causes.iter_mut().filter(|cause| is_short(cause)).for_each(|cause| cause.state = State::Passing);
    let free = Cause { state: State::Free, ns: lock.handing_on_ns, ..Cause::default() };
    causes.extend(Some(free).filter(|free| free.ns > 0.0));
    Cow::Owned(causes)
}

/// Whether ondeck's mutex could stand in for the lock, does not yet, and may gain more than two runs differ by. Of the program's own locks, ondeck's tell how their
/// threads wait.
fn can_be_tried(profile: &Profile, lock: &Lock) -> bool {
    let is_worth_it = share(lock, profile) >= WORTH_A_TRIAL;
    lock.kind == LockKind::Mutex && profile.lock == "glibc" && lock.spins.is_none() && is_worth_it
}

/// The causes of a lock's waiting, the largest first, each with the locks that it leads to.
pub(super) fn causes(profile: &Profile, tops: &Tops, index: usize) -> Vec<CauseShare> {
    let mut causes = of_lock(profile, tops, index);
    for cause in &mut causes {
        if let CauseKind::Waits(other) = cause.what {
            cause.chain = Chain::follow(profile, tops, other, index);
        }
    }
    causes
}

/// The same of a lock by itself.
pub(super) fn of_lock(profile: &Profile, tops: &Tops, index: usize) -> Vec<CauseShare> {
    let lock = &profile.locks[index];
    let parts = parts(lock);
    let holds = WaitedHolds::of(lock, &parts, tops);
    let is_crowded = threads(lock) > profile.cores.max(1);
    let lack_cores = |cause: &Cause, function: &str| {
        let known = holds.get(function).filter(|_| !lock.causes.is_empty());
        // Looks are too far apart to tell what a shorter hold did.
        let may_be_kept = |known: &WaitedHolds| is_crowded && cause.each_ns < LOOK_NS as f64 && known.may_be_kept(lock);
        known.is_some_and(|known| known.lack_cores(is_crowded) || may_be_kept(known))
    };
    let is_late = |cause: &Cause| is_crowded && lock.most_waiting >= profile.cores && cause.each_ns >= LONG_NS as f64;
    let can_be_tried = can_be_tried(profile, lock);
    let awaited = awaited(&parts, tops);
    let mut sums: BTreeMap<(CauseKind, &str, [&str; 2]), CauseShare> = BTreeMap::new();
    for cause in parts.iter() {
        let frame = cause.stack.and_then(|stack| tops.top(stack));
        let function = frame.map_or("", |frame| tops.brief(frame));
        let what = match cause.state {
            State::Blocked => CauseKind::Blocked,
            State::OtherLock => CauseKind::Waits(cause.other),
            State::Computing | State::NoCore | State::Unknown if lack_cores(cause, function) => CauseKind::Cores,
            State::Computing | State::NoCore | State::Unknown => CauseKind::Held,
            State::Free if is_crowded => CauseKind::Cores,
            State::Free => CauseKind::Free,
            State::Passing if is_late(cause) => CauseKind::Cores,
            State::Passing => CauseKind::Passing,
        };
        let has_function = what.is_of_a_holder();
        let awaited = awaited.get(function).filter(|_| cause.call == "futex" && cause.awaited.is_empty());
        let awaited = awaited.map_or(cause.awaited.as_str(), |(awaited, _)| awaited);
        let key = (what, if has_function { function } else { "" }, [cause.call.as_str(), awaited]);
        let share = sums.entry(key).or_insert_with(|| CauseShare {
            threads: threads(lock),
            has_cores: !is_crowded,
            tries: can_be_tried,
            what,
            frame: frame.filter(|_| has_function),
            caller: cause.stack.and_then(|stack| tops.known_caller(stack)),
            call: cause.call.clone(),
            awaited: awaited.to_owned(),
            ..CauseShare::default()
        });
        share.add(cause);
    }
    let all: f64 = sums.values().map(|share| share.ns).sum();
    let mut shares: Vec<CauseShare> = sums.into_values().filter(|share| share.ns > 0.0).collect();
    shares.iter_mut().for_each(|share| share.finish(all));
    shares.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    for at in 0..shares.len() {
        let Some((held, smaller)) = shares.get(at..).and_then(<[CauseShare]>::split_first) else { break };
        let Some(behind) = held.sleeps_too(smaller, tops) else { continue };
        let sleeps = shares.remove(at + 1 + behind);
        shares[at].take_in(&sleeps);
    }
    shares.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    shares
}

/// What functions sleep for most in futex calls, as far as looks have seen the stack: their others are alike.
fn awaited<'a>(parts: &'a [Cause], tops: &'a Tops) -> HashMap<&'a str, (&'a str, f64)> {
    let mut most: HashMap<&str, (&str, f64)> = HashMap::new();
    for cause in parts.iter().filter(|cause| !cause.awaited.is_empty()) {
        let Some(frame) = cause.stack.and_then(|stack| tops.top(stack)) else { continue };
        let known = most.entry(tops.brief(frame)).or_default();
        if cause.ns > known.1 {
            *known = (&cause.awaited, cause.ns);
        }
    }
    most
}

impl CauseShare {
    fn add(&mut self, cause: &Cause) {
        self.ns += cause.ns;
        self.count += cause.count;
        self.each_ns += cause.ns * cause.each_ns;
        self.without_core += if cause.state == State::NoCore { cause.ns } else { 0.0 };
    }

    fn finish(&mut self, all: f64) {
        self.part = self.ns / all;
        self.each_ns /= self.ns;
        // What lasts longer, a look would have seen.
        let is_short = self.awaited.is_empty() && self.call == "futex" && self.each_ns < LOOK_NS as f64;
        if self.what == CauseKind::Blocked && (is_short || self.awaited == NOTIFIES) {
            self.what = CauseKind::Notifying;
        }
        self.tries &= matches!(self.what, CauseKind::Notifying | CauseKind::Passing);
        self.without_core /= self.ns;
    }

    /// Where among those that are smaller the sleeps of its function are, if they are enough.
    fn sleeps_too(&self, smaller: &[CauseShare], tops: &Tops) -> Option<usize> {
        // In another line of it, maybe.
        let function = |share: &CauseShare| share.frame.map(|frame| tops.brief(frame).to_owned());
        let mine = function(self).filter(|_| self.what == CauseKind::Held)?;
        smaller.iter().position(|other| {
            let is_enough = other.ns >= SLEEPS_TOO * (self.ns + other.ns);
            other.what.is_sleep() && is_enough && function(other).is_some_and(|its| its == mine)
        })
    }

    fn take_in(&mut self, sleeps: &CauseShare) {
        let ns = self.ns + sleeps.ns;
        self.each_ns = (self.ns * self.each_ns + sleeps.ns * sleeps.each_ns) / ns;
        self.without_core *= self.ns / ns;
        (self.blocked, self.call, self.awaited) = (sleeps.ns / ns, sleeps.call.clone(), sleeps.awaited.clone());
        (self.ns, self.part, self.count) = (ns, self.part + sleeps.part, self.count + sleeps.count);
    }

    /// How long holders computed in the holds that were waited for.
    pub(in crate::findings) fn computed_ns(&self) -> f64 {
        if self.what == CauseKind::Held { self.count * self.each_ns } else { 0.0 }
    }

    /// Whether the holder may have no work, and then the waiters have none either.
    pub(in crate::findings) fn is_idle(&self) -> bool {
        self.what == CauseKind::Blocked && thread_time::is_turn(&self.call)
    }

    /// Whether it was a single hold.
    pub(in crate::findings) fn is_one_event(&self) -> bool {
        self.what.is_of_a_holder() && self.count < ONE_EVENT
    }
}

/// So many locks are followed from one holder to the next.
const DEEPEST: usize = 8;

/// Locks, each of which the holder of the one before waits for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::findings) struct Chain {
    /// Each with the cause by which its holder keeps others waiting, if that is known.
    pub(in crate::findings) links: Vec<(usize, Option<CauseShare>)>,
    /// What the last holder waits for.
    pub(in crate::findings) end: ChainEnd,
}

/// Where a [`Chain`] ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::findings) enum ChainEnd {
    /// With its last link: that one's holder waits for nothing, or is not known.
    #[default]
    Holder,
    /// At what is no lock, or not known.
    Place(Option<WaitObject>),
    /// At a lock that is on the way already.
    Circle(usize),
}

impl Chain {
    pub(super) fn follow(profile: &Profile, tops: &Tops, other: Option<WaitObject>, from: usize) -> Chain {
        let mut chain = Chain::default();
        let mut next = other;
        while chain.links.len() < DEEPEST {
            let Some(WaitObject::Lock(index)) = next else {
                chain.end = ChainEnd::Place(next);
                break;
            };
            let index = index as usize;
            if index >= profile.locks.len() {
                break;
            }
            if index == from || chain.links.iter().any(|(lock, _)| *lock == index) {
                chain.end = ChainEnd::Circle(index);
                break;
            }
            let held = of_lock(profile, tops, index).into_iter().find(|share| share.what.is_of_a_holder());
            let what = held.as_ref().map(|held| held.what);
            chain.links.push((index, held));
            let Some(CauseKind::Waits(further)) = what else { break };
            next = further;
        }
        chain
    }
}

/// The holds of a function that threads waited for.
#[derive(Clone, Copy, Default)]
struct WaitedHolds {
    all: f64,
    long: f64,
    /// How much was waited for it while it ran, and while it had no core, in long holds.
    ran_ns: f64,
    kept_ns: f64,
}

impl WaitedHolds {
    /// By the function.
    fn of<'a>(lock: &Lock, parts: &[Cause], tops: &'a Tops) -> HashMap<&'a str, WaitedHolds> {
        let all = lock.holders.iter().map(|site| (site.stack, WaitedHolds { all: site.count, ..Self::default() }));
        let long = parts.iter().filter_map(|cause| {
            let holds = WaitedHolds { long: cause.count, ..Self::default() };
            let holds = match cause.state {
                State::Computing => WaitedHolds { ran_ns: cause.ns, ..holds },
                State::NoCore => WaitedHolds { kept_ns: cause.ns, ..holds },
                State::Passing => return None,
                _ => holds,
            };
            Some((cause.stack?, holds))
        });
        let mut sums: HashMap<&str, WaitedHolds> = HashMap::new();
        for (stack, more) in all.chain(long) {
            let Some(frame) = tops.top(stack) else { continue };
            let sum = sums.entry(tops.brief(frame)).or_default();
            (sum.all, sum.long) = (sum.all + more.all, sum.long + more.long);
            (sum.ran_ns, sum.kept_ns) = (sum.ran_ns + more.ran_ns, sum.kept_ns + more.kept_ns);
        }
        sums
    }

    /// Whether they are short by themselves, and long only as others have the cores. That is measured; of holds that nobody
    /// looked at, it is so if more threads want the cores than there are.
    fn lack_cores(&self, is_crowded: bool) -> bool {
        let measured_ns = self.ran_ns + self.kept_ns;
        let are_kept = if measured_ns > 0.0 { self.ran_ns < RAN * measured_ns } else { is_crowded };
        are_kept && self.long <= RARE * self.all
    }

    /// Whether no more of them were long than threads lose their core in usual ones, at a turn of some ms.
    fn may_be_kept(&self, lock: &Lock) -> bool {
        let usual_ns = lock.hold_histogram.quantile(0.5).unwrap_or_default();
        // Acquisitions are few samples. All that were waited for are known better.
        let waited_for: f64 =
            lock.causes.iter().filter(|cause| cause.state != State::Free).map(|cause| cause.count).sum();
        let n_holds = lock.acquisitions.max(self.all).max(waited_for);
        usual_ns < LONG_NS as f64 && self.long <= n_holds * usual_ns / LOST_EACH_NS
    }
}
