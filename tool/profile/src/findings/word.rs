//! The third pass: findings as sentences. Only here are texts, and nothing is decided but how something is said.

mod causes;
mod hidden;
pub(crate) mod lock_order;
mod others;

use super::classify::StuckTogether;
use super::{Finding, Kind};
use crate::Lock;
use crate::names::{base, in_a_sentence, shown};
use crate::profile::{Profile, Site, WaitObject};
use crate::rules::{QUIET, WORTH_WINNING};
use crate::runtimes;
use crate::thread_time;
use crate::words::{self, percent, waited, waits_on};
use crate::wrappers::Tops;
use ondeck_kit::wording::{counted, plain, run_time, whole_of};
use std::collections::BTreeMap;

/// All findings in one line, and what can be pasted to follow them.
pub(super) fn verdict(profile: &Profile, tops: &Tops, findings: &[Finding<'_>]) -> (String, Option<String>) {
    let mut verdict = String::new();
    for finding in findings {
        verdict += match finding.is_waited_for() {
            _ if verdict.is_empty() => "",
            true => " Also: ",
            false => " ",
        };
        verdict += &sentence(profile, tops, finding);
    }
    verdict += &prize(profile, tops, findings);
    let command = findings.iter().any(tries).then(|| trial(profile));
    if command.is_some() {
        verdict += match profile.is_stopped {
            true => " Start it with ondeck's locks, and compare what it does under the same load:",
            false => " Measure whether ondeck's locks help:",
        };
    }
    (verdict, command)
}

/// What could be won at most, if the first of them went away. Of many short waits that is not known: they cost more than their
/// time.
fn prize(profile: &Profile, tops: &Tops, findings: &[Finding<'_>]) -> String {
    let Some(first) = findings.first() else { return String::new() };
    let (what, held_ns) = match &first.kind {
        // Who waits for work there may have none, and then nobody has.
        Kind::Cause(cause) if cause.is_idle() => return String::new(),
        Kind::Cause(cause) if cause.what.is_of_a_holder() => ("these holds", cause.computed_ns()),
        Kind::Tries { .. } => ("these tries", 0.0),
        _ => return String::new(),
    };
    let bound = thread_time::bound(profile, tops, first.ns, held_ns).filter(|bound| *bound >= WORTH_WINNING);
    bound.map_or(String::new(), |bound| format!(" Without {what}, it would be at most {bound:.1} times as fast."))
}

/// Whether ondeck's locks may help.
fn tries(finding: &Finding<'_>) -> bool {
    matches!(&finding.kind, Kind::Cause(cause) if cause.tries)
}

/// What shows whether ondeck's locks help. What does not end by itself, as a server, cannot be run again and again.
fn trial(profile: &Profile) -> String {
    let how = if profile.is_stopped { "run" } else { "profile --try" };
    format!("ondeck {how} -- {}", words::command(profile))
}

/// What is said of a lock where it is explained.
pub(super) fn explained(profile: &Profile, tops: &Tops, finding: &Finding<'_>) -> String {
    let helps = match profile.is_stopped {
        _ if !tries(finding) => "",
        true => " ondeck's locks may help (`ondeck run`).",
        false => " ondeck's locks may help (`--try`).",
    };
    sentence(profile, tops, finding) + helps
}

/// Stacks that belong to it, each with a line above it.
pub(super) fn stacks(profile: &Profile, finding: &Finding<'_>) -> Vec<(String, u32)> {
    match &finding.kind {
        Kind::Deadlock(circle) => others::stacks_of_circle(profile, circle),
        Kind::HeldUp(stuck) => others::stacks_of_holder(stuck),
        _ => Vec::new(),
    }
}

/// Of a wait that goes on: a line, and stacks.
pub(super) fn long_wait(profile: &Profile, tops: &Tops, stuck: &StuckTogether<'_>) -> (String, Vec<(String, u32)>) {
    (others::held_up(profile, tops, stuck), others::stacks_of_holder(stuck))
}

fn sentence(profile: &Profile, tops: &Tops, finding: &Finding<'_>) -> String {
    let lock = || &profile.locks[finding.locks[0]];
    match &finding.kind {
        Kind::Deadlock(circle) => others::deadlock(profile, tops, circle),
        Kind::HeldUp(stuck) => others::held_up(profile, tops, stuck),
        Kind::Herd(condition) => others::herd(profile, tops, condition),
        Kind::Cause(cause) => causes::sentence(profile, tops, lock(), cause),
        Kind::FromKernel => causes::seen_from_the_kernel(profile, tops, lock()),
        Kind::Spins => {
            let most = heaviest(profile, tops, &lock().waiters, |site| site.ns);
            let most = most.map_or(String::new(), |who| format!(", most in {who}"));
            let name = lock_name(lock());
            format!("The waiters of {name} use CPU time while they wait{most}. Use a mutex, or lock it less often.")
        }
        Kind::UnknownHolder => causes::unknown_holder(profile, lock()),
        Kind::Hidden(wait) => hidden::sentence(profile, tops, wait),
        Kind::Awake(time) => hidden::awake(profile, tops, time),
        Kind::Order => lock_order::verdict(profile, tops),
        Kind::NoLock { is_sure } => without_a_lock(profile, tops, finding.share, *is_sure),
        Kind::Idle(idle) => others::idle(profile, tops, idle),
        Kind::Tries { part } => others::tries(profile, tops, lock(), *part),
        Kind::Wait(index, waiters) => others::no_lock(profile, tops, *index, *waiters),
    }
}

/// Where no single lock matters. Threads waited for all of them in that part of the time that they could have run.
fn without_a_lock(profile: &Profile, tops: &Tops, share: f64, is_sure: bool) -> String {
    let (n_locks, length) = (counted(profile.locks.len(), "lock"), run_time(profile.seconds));
    let waiting = format!("its threads waited {} of the time they could have run", percent(share));
    if let Some(runtime) = runtimes::of(profile) {
        return format!(
            "Only what whole threads wait for was seen: {waiting}. Locks between {} do not show in this view, and may matter.",
            runtime.tasks
        );
    }
    let rests_on = thread_time::rests_on(profile, tops);
    let no_lock = if is_sure { "No lock" } else { "No lock that was seen" };
    match () {
        () if profile.locks.is_empty() && profile.conditions.is_empty() => {
            words::without_locks(profile) + "." + &rests_on
        }
        () if profile.locks.is_empty() && is_sure => format!("No lock was waited for in {length}.{rests_on}"),
        () if profile.locks.is_empty() => {
            format!("Of the locks that were seen, none was waited for in {length}.{rests_on}")
        }
        () if waited(profile).is_empty() => {
            let acquisitions = whole_of(profile.locks.iter().map(|lock| lock.acquisitions).sum(), "acquisition");
            format!(
                "{no_lock} holds this program back: no thread waited in {acquisitions} of {n_locks} in {length}.{rests_on}"
            )
        }
        () if share < QUIET => format!("{no_lock} holds this program back: {waiting}.{rests_on}"),
        () => format!(
            "No single lock holds this program back, but {n_locks} together may: {waiting}. Lock less often, or give each \
             thread its own data."
        ),
    }
}

// -- What things are called -------------------------------------------------------------------------------------------

fn lock_name(lock: &Lock) -> String {
    in_a_sentence(base(&lock.name, lock.address))
}

/// A name between backticks, which it has none of itself.
fn quoted_name(name: &str) -> String {
    format!("`{}`", shown(name).replace('`', "'"))
}

/// What a thread waits for, by its name, and its kind if it is no lock.
fn place(profile: &Profile, other: Option<WaitObject>) -> String {
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

/// A function with its place.
fn named(profile: &Profile, tops: &Tops, frame: u32) -> String {
    let (name, frame) = (tops.brief(frame), &profile.frames[frame as usize]);
    let file = plain(frame.file.rsplit('/').next().unwrap_or_default());
    let place = if file.is_empty() { String::new() } else { format!(" ({file}:{})", frame.line) };
    format!("{}{place}", quoted_name(name))
}

/// What is known of who called a function that has no name.
fn called_by(tops: &Tops, caller: Option<u32>) -> String {
    caller.map_or(String::new(), |caller| format!(" (called by {})", quoted_name(tops.brief(caller))))
}

/// The function with the most of the sites, by their stacks without frames that only lock.
fn heaviest(profile: &Profile, tops: &Tops, sites: &[Site], amount: impl Fn(&Site) -> f64) -> Option<String> {
    let mut sums: BTreeMap<&str, (f64, f64, Site)> = BTreeMap::new();
    for site in sites {
        let (Some(frame), amount) = (tops.top(site.stack), amount(site)) else { continue };
        let (sum, most, place) = sums.entry(tops.brief(frame)).or_insert((0.0, 0.0, *site));
        *sum += amount;
        if amount > *most {
            (*most, *place) = (amount, *site);
        }
    }
    // The first by name of those that are alike, so that it is the same each time.
    let (_, (sum, _, site)) = sums.into_iter().rev().max_by(|one, other| one.1.0.total_cmp(&other.1.0))?;
    let frame = tops.top(site.stack).filter(|_| sum > 0.0)?;
    Some(named(profile, tops, frame) + &called_by(tops, tops.known_caller(site.stack)))
}
