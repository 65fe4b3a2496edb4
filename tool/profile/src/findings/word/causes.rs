//! The sentences about a lock: one for each cause.

use super::{called_by, heaviest, lock_name, named, place};
use crate::Lock;
use crate::findings::classify::{CauseKind, CauseShare, Chain, ChainEnd, measures};
use crate::names::base;
use crate::profile::{LockKind, Profile};
use crate::rules::{BETWEEN_LOOKS_NS, LONG_NS, LOST_EACH_NS, MOSTLY, NEARLY_ALL, WORTH_SAYING};
use crate::words::{self, is_from_outside, percent};
use crate::wrappers::{Tops, UNKNOWN, begins, is_below};
use ondeck_kit::wording::{counted, duration_ns, plain, whole};

pub(super) fn sentence(profile: &Profile, tops: &Tops, lock: &Lock, cause: &CauseShare) -> String {
    let name = lock_name(lock);
    let function = function(profile, tops, cause);
    // Where it is not nearly all there is, whose waiting is meant.
    let is_nearly_all = lock.wait_ns >= NEARLY_ALL * profile.wait_ns();
    let share = format!("{} of the waiting{}", percent(cause.part), if is_nearly_all { "" } else { " for it" });
    let holds = format!("{function} holds {name}");
    let each = length(profile, cause);
    match cause.what {
        CauseKind::Held => {
            let without = without_core(profile, cause);
            match cause.blocked > 0.0 {
                true => format!(
                    "{holds}{each}: {share}, {} of that while it {}{without}. Make it shorter, and do the call \
                     outside of the section.",
                    percent(cause.blocked),
                    sleeps(cause),
                ),
                false if is_from_outside(profile) && cause.frame.is_none() => {
                    format!("{holds}{each}{}", looked_at(lock, cause, &(share + &without)))
                }
                false => {
                    format!("{holds}{each}: {share}{without}. {}.", shorter(cause))
                }
            }
        }
        CauseKind::Notifying => format!(
            "{holds}{each} while it is blocked in futex, as in a notification: {share}. Notify outside of the section."
        ),
        CauseKind::Blocked => {
            let advice = match cause.is_idle() {
                true => "If it waits for work there, the others have none either: then this costs nothing",
                false => "Do that outside of the section",
            };
            format!("{holds}{each} while it {}: {share}. {advice}.", sleeps(cause))
        }
        CauseKind::Waits(_) => {
            let (text, advice) = (chain(profile, tops, &cause.chain), where_to_begin(profile, tops, &cause.chain));
            format!("{holds} while it waits for {text}: {} of the waiting for {name}. {advice}", percent(cause.part))
        }
        CauseKind::Cores => {
            let (threads, cores) = (counted(cause.threads as usize, "thread"), counted(profile.cores as usize, "core"));
            let advice = match cause.has_cores {
                true => format!("{threads} have {cores}. {LOOK_ELSEWHERE}"),
                false => format!("{threads} share {cores}. Use fewer threads, or more cores"),
            };
            format!("Holders of {name} lose their core, or the next has none yet: {share}. {advice}.")
        }
        CauseKind::Free => format!(
            "{name} is free for {share}, but the thread woken for it does not run yet. \
             {LOOK_ELSEWHERE}."
        ),
        CauseKind::Passing => passing(profile, tops, lock, &share, cause),
    }
}

/// Where a lock's threads have no core although there are enough cores for them.
const LOOK_ELSEWHERE: &str = "Look for what else uses the cores: other threads, other programs, or a limit on CPU time";

/// How long a function holds a lock, with a space before it. Looks know it of holds that several of them have met.
fn length(profile: &Profile, cause: &CauseShare) -> String {
    let about = match is_from_outside(profile) {
        true if cause.each_ns < BETWEEN_LOOKS_NS => return String::new(),
        true => "about ",
        false => "",
    };
    let ns = duration_ns(cause.each_ns);
    if cause.is_one_event() { format!(" once, for {about}{ns}") } else { format!(" for {about}{ns} at a time") }
}

/// Looks do not see the function of each holder that runs.
fn looked_at(lock: &Lock, cause: &CauseShare, share: &str) -> String {
    match lock.kind {
        LockKind::RwLock => {
            format!(": {share}. Who holds it to read, and which function runs, is not seen from outside.")
        }
        _ if cause.without_core >= MOSTLY => format!(": {share}. {}.", shorter(cause)),
        _ => format!(": {share}. Which function that is was not seen from outside."),
    }
}

/// What to do about a function that holds a lock for long.
fn shorter(cause: &CauseShare) -> &'static str {
    // A hold that computes for so long loses its core by its own length.
    let is_long = cause.each_ns * (1.0 - cause.without_core) >= LOST_EACH_NS;
    match cause.without_core >= MOSTLY {
        true if is_long && cause.has_cores => "Make it shorter, and look for what else uses the cores",
        true if is_long => "Make it shorter, or use fewer threads",
        true if cause.has_cores => LOOK_ELSEWHERE,
        true => "Use fewer threads, or more cores",
        false => "Make it shorter",
    }
}

/// What of the holds was without a core, if that is much.
fn without_core(profile: &Profile, cause: &CauseShare) -> String {
    if cause.without_core < WORTH_SAYING {
        return String::new();
    }
    let (part, cores) = (percent(cause.without_core), counted(profile.cores as usize, "core"));
    let share = match cause.has_cores {
        true => String::new(),
        false => format!(" ({} share {cores})", counted(cause.threads as usize, "thread")),
    };
    format!(", {part} of that without a core{share}")
}

fn sleeps(cause: &CauseShare) -> String {
    match (cause.call.as_str(), cause.awaited.as_str()) {
        ("", _) => "sleeps".to_owned(),
        ("futex", "") => "sleeps in futex, for no lock that was recorded".to_owned(),
        (call, "") => format!("is blocked in {}", plain(call)),
        (_, awaited) => format!("waits {}", plain(awaited)),
    }
}

fn passing(profile: &Profile, tops: &Tops, lock: &Lock, share: &str, cause: &CauseShare) -> String {
    let name = lock_name(lock);
    let threads = counted(cause.threads as usize, "thread");
    let want = match lock.hold_histogram.quantile(0.5) {
        Some(ns) => format!("Sections under {name} are short ({}), and {threads} want them", duration_ns(ns)),
        None => format!("{name} is held briefly, and {threads} want it"),
    };
    let want = format!("{want}: {share} is for passing it on.{}", how_often(profile, lock));
    if cause.tries {
        return want;
    }
    let most = heaviest(profile, tops, &lock.takers, |site| site.count)
        .map_or(String::new(), |who| format!(", most in {who}"));
    format!("{want} Lock it less often{most}.")
}

/// How often it is taken, if its threads do little else: what is left of the cores' time between two sections is the most that it
/// may be.
fn how_often(profile: &Profile, lock: &Lock) -> String {
    let between_ns = (measures::runnable_ns(lock, profile) - lock.hold_ns) / lock.acquisitions;
    let each_second = lock.acquisitions / measures::life_ns(profile, lock.process) * 1e9;
    match lock.members == 1 && between_ns > 0.0 && between_ns < LONG_NS as f64 {
        true => format!(
            " It is taken {} times a second, with at most {} for all else between.",
            whole(each_second),
            duration_ns(between_ns)
        ),
        false => String::new(),
    }
}

/// What a holder waits for, from each lock to who has it.
fn chain(profile: &Profile, tops: &Tops, chain: &Chain) -> String {
    let mut text = String::new();
    for (lock, held) in &chain.links {
        text += &lock_name(&profile.locks[*lock]);
        let Some(held) = held else { continue };
        let function = function(profile, tops, held).replace(UNKNOWN_FUNCTION, "an unknown function");
        if matches!(held.what, CauseKind::Waits(_)) {
            text += &format!(", which {function} holds while it waits for ");
            continue;
        }
        text += &format!(", which {function} holds{}", length(profile, held));
        if held.what.is_sleep() {
            text += &format!(" ({})", sleeps(held).trim_start_matches("is "));
        }
    }
    text + &match chain.end {
        ChainEnd::Holder => String::new(),
        ChainEnd::Place(other) => place(profile, other),
        ChainEnd::Circle(lock) => format!("{}, in a circle", lock_name(&profile.locks[lock])),
    }
}

/// The function that has the last lock and waits for nothing, if that is known.
fn where_to_begin(profile: &Profile, tops: &Tops, chain: &Chain) -> String {
    let last = chain.links.last().and_then(|(_, held)| held.as_ref());
    let root = last.filter(|held| !matches!(held.what, CauseKind::Waits(_)) && held.frame.is_some());
    root.map_or("Release it before.".to_owned(), |held| format!("Begin with {}.", function(profile, tops, held)))
}

/// The view from the kernel knows no holds.
pub(super) fn seen_from_the_kernel(profile: &Profile, tops: &Tops, lock: &Lock) -> String {
    let name = lock_name(lock);
    let who = match heaviest(profile, tops, &lock.wakers, |site| site.ns) {
        Some(who) => format!("{who} ends most of the waiting for {name}."),
        None => format!("Threads wait for {name}."),
    };
    let how = match is_recordable(profile, lock) {
        true => " `ondeck profile -- COMMAND` records that.",
        false => "",
    };
    format!("{who} How long it is held, and by whom, is not seen from the kernel.{how}")
}

/// Whether the recorder's library would stand in for what its threads wait in: functions of the C library, of a program that is
/// not static.
fn is_recordable(profile: &Profile, lock: &Lock) -> bool {
    let frames = lock.waiters.iter().flat_map(|site| &profile.stacks[site.stack as usize]);
    frames.map(|frame| &profile.frames[*frame as usize]).any(|frame| {
        let function = frame.function.trim_start_matches('_');
        is_below(frame) && begins(function, "pthread_mutex_ pthread_rwlock_ pthread_spin_ mtx_")
    })
}

/// Where nobody is known to have had the lock.
pub(super) fn unknown_holder(profile: &Profile, lock: &Lock) -> String {
    let (name, share) = (lock_name(lock), percent(words::share(profile, lock.wait_ns)));
    match base(&lock.name, lock.address) {
        words::GIL => format!(
            "Threads wait for {name}, which Python code needs to run: {share} of the waiting. Use processes, or calls that \
             release it."
        ),
        _ => format!("Threads wait for {name}: {share} of the waiting. Who holds it meanwhile is not known."),
    }
}

/// Where a sentence begins.
const UNKNOWN_FUNCTION: &str = "An unknown function";

fn function(profile: &Profile, tops: &Tops, cause: &CauseShare) -> String {
    let known = cause.frame.filter(|frame| profile.frames[*frame as usize].function != UNKNOWN);
    known.map_or(UNKNOWN_FUNCTION.to_owned(), |frame| named(profile, tops, frame) + &called_by(tops, cause.caller))
}
