//! The sentences: one for each cause.

use super::causes::{CauseKind, CauseShare, whys};
use super::measures::threads;
use crate::Lock;
use crate::names::{base, in_a_sentence, shown};
use crate::profile::{LockKind, Profile, Site, WaitObject};
use crate::words::{percent, waits_on};
use crate::wrappers::{Tops, UNKNOWN};
use ondeck_kit::wording::{counted, duration_ns, plain};

/// So many locks are followed from one holder to the next.
const DEEPEST: usize = 8;
/// More of a hold without a core is said.
const WORTH_SAYING: f64 = 0.3;

/// With more of it without a core, a hold is not what to look at.
const MOSTLY: f64 = 0.75;

/// What is said of a cause.
pub(super) struct CauseText {
    pub(super) text: String,
    /// The locks that it names.
    pub(super) names: Vec<usize>,
    /// Whether ondeck's mutex is to be tried.
    pub(super) tries: bool,
}

/// Whether ondeck's mutex could stand in for the lock, and does not yet. Of the program's own locks, ondeck's tell how their
/// threads wait.
pub(super) fn can_be_tried(profile: &Profile, lock: &Lock) -> bool {
    lock.kind == LockKind::Mutex && profile.lock == "glibc" && lock.spins.is_none()
}

pub(super) fn sentence(profile: &Profile, tops: &Tops, index: usize, why: &CauseShare) -> CauseText {
    let lock = &profile.locks[index];
    let name = lock_name(lock);
    let function = function(profile, tops, why);
    // Where it is not nearly all there is, whose waiting is meant.
    let is_nearly_all = lock.wait_ns >= NEARLY_ALL * profile.wait_ns();
    let share = format!("{} of the waiting{}", percent(why.part), if is_nearly_all { "" } else { " for it" });
    let holds = format!("{function} holds {name}");
    let each = match why.is_one_event() {
        true => format!("once, for {}", duration_ns(why.each_ns)),
        false => format!("for {} at a time", duration_ns(why.each_ns)),
    };
    let mut said = CauseText { text: String::new(), names: vec![index], tries: false };
    said.text = match why.what {
        CauseKind::Held => {
            let without = without_core(profile, lock, why);
            match why.blocked > 0.0 {
                true => format!(
                    "{holds} {each}: {share}, {} of that while it {}{without}. Make it shorter, and do the call \
                     outside of the section.",
                    percent(why.blocked),
                    sleeps(why),
                ),
                false => {
                    format!("{holds} {each}: {share}{without}. {}.", shorter(profile, lock, why))
                }
            }
        }
        // Where the C library waits for threads that it has woken, while it notifies.
        CauseKind::Blocked if why.call == "futex" => {
            said.tries = can_be_tried(profile, lock);
            format!(
                "{holds} {each} while it is blocked in futex, as in a notification: {share}. Notify outside of the section."
            )
        }
        CauseKind::Blocked => {
            format!("{holds} {each} while it {}: {share}. Do that outside of the section.", sleeps(why))
        }
        CauseKind::Waits(other) => {
            let chain = Chain::follow(profile, tops, other, index);
            said.names.extend(&chain.names);
            let (text, advice) = (&chain.text, chain.advice());
            format!("{holds} while it waits for {text}: {} of the waiting for {name}. {advice}", percent(why.part))
        }
        CauseKind::Cores => {
            let (threads, cores) = (counted(threads(lock) as usize, "thread"), counted(profile.cores as usize, "core"));
            let advice = match threads_fit(profile, lock) {
                true => format!("{threads} have {cores}. {LOOK_ELSEWHERE}"),
                false => format!("{threads} share {cores}. Use fewer threads, or more cores"),
            };
            format!("Holders of {name} lose their core, or the next has none yet: {share}. {advice}.")
        }
        CauseKind::Free => format!(
            "{name} is free for {share}, but the thread woken for it does not run yet. \
             {LOOK_ELSEWHERE}."
        ),
        CauseKind::Passing => {
            said.tries = can_be_tried(profile, lock);
            passing(profile, tops, lock, &name, &share, said.tries)
        }
    };
    said
}

/// A lock with this part of all waiting needs no word to say whose waiting is meant.
const NEARLY_ALL: f64 = 0.9;
/// Where a lock's threads have no core although there are enough cores for them.
const LOOK_ELSEWHERE: &str = "Look for what else uses the cores: other threads, other programs, or a limit on CPU time";

/// What to do about a function that holds a lock for long.
fn shorter(profile: &Profile, lock: &Lock, why: &CauseShare) -> &'static str {
    match why.without_core >= MOSTLY {
        true if threads_fit(profile, lock) => LOOK_ELSEWHERE,
        true => "Use fewer threads, or more cores",
        false => "Make it shorter",
    }
}

fn threads_fit(profile: &Profile, lock: &Lock) -> bool {
    threads(lock) <= profile.cores.max(1)
}

/// What of the holds was without a core, if that is much.
fn without_core(profile: &Profile, lock: &Lock, why: &CauseShare) -> String {
    if why.without_core < WORTH_SAYING {
        return String::new();
    }
    let (part, cores) = (percent(why.without_core), counted(profile.cores as usize, "core"));
    let share = match threads_fit(profile, lock) {
        true => String::new(),
        false => format!(" ({} share {cores})", counted(threads(lock) as usize, "thread")),
    };
    format!(", {part} of that without a core{share}")
}

fn sleeps(why: &CauseShare) -> String {
    if why.call.is_empty() { "sleeps".to_owned() } else { format!("is blocked in {}", plain(&why.call)) }
}

fn passing(profile: &Profile, tops: &Tops, lock: &Lock, name: &str, share: &str, tries: bool) -> String {
    let held = match lock.hold_histogram.quantile(0.5) {
        Some(ns) => format!("Sections under {name} are short ({}), and", duration_ns(ns)),
        None => format!("{name} is held briefly, and"),
    };
    let want = format!("{held} {} want them: {share} is for passing it on", counted(threads(lock) as usize, "thread"));
    if tries {
        return format!("{want}.");
    }
    let most = heaviest(profile, tops, &lock.takers, |site| site.count)
        .map_or(String::new(), |who| format!(", most in {who}"));
    format!("{want}. Lock it less often{most}.")
}

/// What a holder waits for, followed from each lock to who has it.
struct Chain {
    text: String,
    /// The locks on the way.
    names: Vec<usize>,
    /// The function that has the last one, and waits for nothing.
    root: Option<String>,
}

impl Chain {
    fn follow(profile: &Profile, tops: &Tops, other: Option<WaitObject>, from: usize) -> Chain {
        let mut chain = Chain { text: String::new(), names: Vec::new(), root: None };
        let mut next = other;
        while chain.names.len() < DEEPEST {
            let Some(WaitObject::Lock(index)) = next else {
                chain.text += &place(profile, next);
                break;
            };
            let index = index as usize;
            let Some(lock) = profile.locks.get(index) else { break };
            chain.text += &lock_name(lock);
            if index == from || chain.names.contains(&index) {
                chain.text += ", in a circle";
                break;
            }
            chain.names.push(index);
            let whys = whys(profile, tops, index);
            let Some(held) = whys.iter().find(|why| why.what.is_of_a_holder()) else { break };
            next = chain.add(profile, tops, held);
            if next.is_none() && !matches!(held.what, CauseKind::Waits(_)) {
                break;
            }
        }
        chain
    }

    /// Who has the last lock, and what that waits for.
    fn add(&mut self, profile: &Profile, tops: &Tops, held: &CauseShare) -> Option<WaitObject> {
        let function = function(profile, tops, held);
        if let CauseKind::Waits(further) = held.what {
            self.text += &format!(", which {function} holds while it waits for ");
            return further;
        }
        self.text += &format!(", which {function} holds for {} at a time", duration_ns(held.each_ns));
        if held.what == CauseKind::Blocked {
            self.text += &format!(" ({})", sleeps(held).trim_start_matches("is "));
        }
        self.root = held.frame.map(|_| function);
        None
    }

    /// Where to begin.
    fn advice(&self) -> String {
        self.root.as_ref().map_or("Release it before.".to_owned(), |function| format!("Begin with {function}."))
    }
}

/// What a thread waits for, by its name, and its kind if it is no lock.
pub(super) fn place(profile: &Profile, other: Option<WaitObject>) -> String {
    let name = match other {
        Some(WaitObject::Lock(index)) => profile.locks.get(index as usize).map(lock_name),
        Some(WaitObject::Condition(index)) => profile
            .conditions
            .get(index as usize)
            .map(|condition| format!("the {} {}", waits_on(condition.kind), quoted_name(&condition.name))),
        None => None,
    };
    name.unwrap_or("something else".to_owned())
}

/// The view from the kernel knows no holds.
pub(super) fn seen_from_the_kernel(tops: &Tops, profile: &Profile, lock: &Lock) -> String {
    let name = lock_name(lock);
    let who = match heaviest(profile, tops, &lock.wakers, |site| site.ns) {
        Some(who) => format!("{who} ends most of the waiting for {name}."),
        None => format!("Threads wait for {name}."),
    };
    format!(
        "{who} How long it is held, and by whom, is not seen from the kernel. `ondeck profile -- COMMAND` records that for the C library's locks."
    )
}

pub(super) fn lock_name(lock: &Lock) -> String {
    in_a_sentence(base(&lock.name, lock.address))
}

/// A name between backticks, which it has none of itself.
pub(super) fn quoted_name(name: &str) -> String {
    format!("`{}`", shown(name).replace('`', "'"))
}

pub(super) fn function(profile: &Profile, tops: &Tops, why: &CauseShare) -> String {
    let known = why.frame.filter(|frame| profile.frames[*frame as usize].function != UNKNOWN);
    known.map_or("An unknown function".to_owned(), |frame| named(profile, tops, frame))
}

/// A function with its place.
pub(super) fn named(profile: &Profile, tops: &Tops, frame: u32) -> String {
    let (name, frame) = (tops.brief(frame), &profile.frames[frame as usize]);
    let file = plain(frame.file.rsplit('/').next().unwrap_or_default());
    let place = if file.is_empty() { String::new() } else { format!(" ({file}:{})", frame.line) };
    format!("{}{place}", quoted_name(name))
}

/// The function with the most of the sites, by their stacks without frames that only lock.
pub(super) fn heaviest(
    profile: &Profile,
    tops: &Tops,
    sites: &[Site],
    amount: impl Fn(&Site) -> f64,
) -> Option<String> {
    let mut sums: std::collections::BTreeMap<&str, (f64, f64, u32)> = std::collections::BTreeMap::new();
    for site in sites {
        let (Some(frame), amount) = (tops.top(site.stack), amount(site)) else { continue };
        let (sum, most, place) = sums.entry(tops.brief(frame)).or_insert((0.0, 0.0, frame));
        *sum += amount;
        if amount > *most {
            (*most, *place) = (amount, frame);
        }
    }
    // The first by name of those that are alike, so that it is the same each time.
    let (_, (sum, _, frame)) = sums.into_iter().rev().max_by(|one, other| one.1.0.total_cmp(&other.1.0))?;
    (sum > 0.0).then(|| named(profile, tops, frame))
}
