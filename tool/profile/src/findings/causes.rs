//! The causes of one lock's waiting, put together by what can be done about them.

use super::measures::threads;
use crate::profile::{Cause, Lock, Profile, Site, State, WaitObject};
use crate::wrappers::Tops;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// A function whose usual hold is shorter does not hold for long by itself: in a long hold it had no core, or was
/// interrupted.
const SHORT_NS: f64 = 20e3;
/// Fewer samples do not say how long holds usually are.
const FEWEST: f64 = 5.0;
/// What lies between two looks at a holder. If a thread has its core again sooner, it seems to have run all the time.
const LOOK_NS: f64 = 2e6;
/// So many holds that were waited for do say it.
const MANY: f64 = 50.0;
/// If at most that part of them was long, it was not usual.
const RARE: f64 = 0.1;
/// A longest hold that is so many times the mean would make a few samples of usual holds seem long.
const KEPT: f64 = 0.99;

/// What keeps threads waiting, as far as the same can be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CauseKind {
    /// Somebody holds it for long, running.
    Held,
    /// Somebody sleeps with it.
    Blocked,
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
    pub(super) fn is_of_a_holder(self) -> bool {
        matches!(self, CauseKind::Held | CauseKind::Blocked | CauseKind::Waits(_))
    }
}

/// A part of a lock's waiting.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CauseShare {
    pub(crate) what: CauseKind,
    /// The frame of the function that holds it, by its index in [`Profile::frames`].
    pub(crate) frame: Option<u32>,
    pub(crate) call: String,
    pub(crate) ns: f64,
    /// Of the lock's waiting.
    pub(crate) part: f64,
    /// How many holds.
    pub(crate) count: f64,
    /// How long each is, by the waiting that it causes.
    pub(crate) each_ns: f64,
    /// What of it was without a core.
    pub(crate) without_core: f64,
    /// What of it was blocked, in [`call`](Self::call), where the function both runs and sleeps.
    pub(crate) blocked: f64,
}

/// A function that runs and sleeps has one sentence, if it sleeps for at least this part of its holds. A system call that
/// sleeps also runs, in the kernel.
const SLEEPS_TOO: f64 = 0.25;

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
    let is_short = |cause: &Cause| cause.each_ns < SHORT_NS;
    let mut causes: Vec<Cause> = held.collect();
    causes.iter_mut().filter(|cause| is_short(cause)).for_each(|cause| cause.state = State::Passing);
    let free = Cause { state: State::Free, ns: lock.handing_on_ns, ..Cause::default() };
    causes.extend(Some(free).filter(|free| free.ns > 0.0));
    Cow::Owned(causes)
}

/// The causes of a lock's waiting, the largest first.
pub(super) fn whys(profile: &Profile, tops: &Tops, index: usize) -> Vec<CauseShare> {
    let lock = &profile.locks[index];
    let parts = parts(lock);
    let usual = UsualHolds::of(lock, &parts, tops, profile.rate);
    let is_crowded = threads(lock) > profile.cores.max(1);
    // Where sites are all that is known, how long each hold was is a guess.
    let lacks_core = |cause: &Cause| is_crowded && cause.each_ns < LOOK_NS && !lock.causes.is_empty();
    let is_late = |cause: &Cause| is_crowded && lock.most_waiting >= profile.cores && cause.each_ns >= SHORT_NS;
    let mut sums: BTreeMap<(CauseKind, &str, &str), CauseShare> = BTreeMap::new();
    for cause in parts.iter() {
        let frame = cause.stack.and_then(|stack| tops.top(stack));
        let function = frame.map_or("", |frame| tops.brief(frame));
        let what = match cause.state {
            State::Blocked => CauseKind::Blocked,
            State::OtherLock => CauseKind::Waits(cause.other),
            State::NoCore if usual.is_short(function) => CauseKind::Cores,
            State::Computing | State::Unknown if lacks_core(cause) && usual.is_short(function) => CauseKind::Cores,
            State::Computing | State::NoCore | State::Unknown => CauseKind::Held,
            State::Free if is_crowded => CauseKind::Cores,
            State::Free => CauseKind::Free,
            State::Passing if is_late(cause) => CauseKind::Cores,
            State::Passing => CauseKind::Passing,
        };
        let has_function = what.is_of_a_holder();
        let key = (what, if has_function { function } else { "" }, cause.call.as_str());
        let why = sums.entry(key).or_insert_with(|| CauseShare::new(what, frame.filter(|_| has_function), &cause.call));
        why.add(cause);
    }
    let all: f64 = sums.values().map(|why| why.ns).sum();
    let mut whys: Vec<CauseShare> = sums.into_values().filter(|why| why.ns > 0.0).collect();
    whys.iter_mut().for_each(|why| why.finish(all));
    whys.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    for at in 0..whys.len() {
        let Some((held, smaller)) = whys.get(at..).and_then(<[CauseShare]>::split_first) else { break };
        let Some(behind) = held.sleeps_too(smaller, tops) else { continue };
        let sleeps = whys.remove(at + 1 + behind);
        whys[at].take_in(&sleeps);
    }
    whys.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    whys
}

impl CauseShare {
    fn new(what: CauseKind, frame: Option<u32>, call: &str) -> CauseShare {
        let call = call.to_owned();
        CauseShare { what, frame, call, ns: 0.0, part: 0.0, count: 0.0, each_ns: 0.0, without_core: 0.0, blocked: 0.0 }
    }

    fn add(&mut self, cause: &Cause) {
        self.ns += cause.ns;
        self.count += cause.count;
        self.each_ns += cause.ns * cause.each_ns;
        self.without_core += if cause.state == State::NoCore { cause.ns } else { 0.0 };
    }

    fn finish(&mut self, all: f64) {
        self.part = self.ns / all;
        self.each_ns /= self.ns;
        self.without_core /= self.ns;
    }

    /// Where among those that are smaller the sleeps of its function are, if they are enough.
    fn sleeps_too(&self, whys: &[CauseShare], tops: &Tops) -> Option<usize> {
        // In another line of it, maybe.
        let function = |why: &CauseShare| why.frame.map(|frame| tops.brief(frame).to_owned());
        let mine = function(self).filter(|_| self.what == CauseKind::Held)?;
        whys.iter().position(|other| {
            let is_enough = other.ns >= SLEEPS_TOO * (self.ns + other.ns);
            other.what == CauseKind::Blocked && is_enough && function(other).is_some_and(|its| its == mine)
        })
    }

    fn take_in(&mut self, sleeps: &CauseShare) {
        let ns = self.ns + sleeps.ns;
        self.each_ns = (self.ns * self.each_ns + sleeps.ns * sleeps.each_ns) / ns;
        self.without_core *= self.ns / ns;
        (self.blocked, self.call) = (sleeps.ns / ns, sleeps.call.clone());
        (self.ns, self.part, self.count) = (ns, self.part + sleeps.part, self.count + sleeps.count);
    }

    /// Whether it was a single hold.
    pub(super) fn is_one_event(&self) -> bool {
        self.what.is_of_a_holder() && self.count < 1.5
    }
}

/// How long functions usually hold a lock.
struct UsualHolds<'a> {
    /// By their samples.
    means: HashMap<&'a str, f64>,
    /// The longest of 99 of 100 holds of all.
    most_ns: Option<f64>,
    /// Of the holds that were waited for: all, and how many of these were long.
    waited_for: HashMap<&'a str, (f64, f64)>,
}

impl<'a> UsualHolds<'a> {
    fn of(lock: &Lock, parts: &[Cause], tops: &'a Tops, rate: u32) -> UsualHolds<'a> {
        let mut sums: HashMap<&str, (f64, f64)> = HashMap::new();
        for Site { stack, count, ns } in &lock.takers {
            let Some(frame) = tops.top(*stack) else { continue };
            let (all, sum) = sums.entry(tops.brief(frame)).or_default();
            (*all, *sum) = (*all + count, *sum + ns);
        }
        let samples: f64 = sums.values().map(|(count, _)| count).sum();
        // A function with a few of many acquisitions is known by a sample or two, or by none.
        let fewest = FEWEST * f64::from(rate);
        let often = sums.iter().filter(|(_, (count, _))| *count > 0.05 * samples && *count >= fewest);
        let means = often.map(|(name, (count, ns))| (*name, ns / count)).collect();
        UsualHolds {
            means,
            most_ns: lock.hold_histogram.quantile(KEPT),
            waited_for: Self::waited_for(lock, parts, tops),
        }
    }

    fn waited_for(lock: &Lock, parts: &[Cause], tops: &'a Tops) -> HashMap<&'a str, (f64, f64)> {
        let all = lock.holders.iter().map(|site| (site.stack, [site.count, 0.0]));
        let long = parts.iter().filter(|cause| cause.state != State::Passing);
        let long = long.filter_map(|cause| Some((cause.stack?, [0.0, cause.count])));
        let mut sums: HashMap<&str, (f64, f64)> = HashMap::new();
        for (stack, [all, long]) in all.chain(long) {
            let Some(frame) = tops.top(stack) else { continue };
            let (of_all, of_long) = sums.entry(tops.brief(frame)).or_default();
            (*of_all, *of_long) = (*of_all + all, *of_long + long);
        }
        sums
    }

    fn is_short(&self, function: &str) -> bool {
        if self.waited_for.get(function).is_some_and(|(all, long)| *all >= MANY && *long <= RARE * all) {
            return true;
        }
        let Some(mean) = self.means.get(function) else { return false };
        // Holds without a core are in the mean.
        *mean < SHORT_NS || self.means.len() == 1 && self.most_ns.is_some_and(|most| most < SHORT_NS)
    }
}
