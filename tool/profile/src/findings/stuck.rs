//! Programs that hang: threads that wait for each other in a circle, or for one that does not come back.

use super::Findings;
use super::texts::{heaviest, lock_name, named, place};
use crate::profile::{Profile, State, Stuck, WaitKind, WaitObject};
use crate::words::FROM_KERNEL;
use crate::wrappers::{Tops, is_below};
use ondeck_kit::wording::{counted_that, duration_ns};

/// A wait is no hang before.
const LONG_NS: u64 = 1_000_000_000;
/// Nor if it is a smaller part of the run.
const PART: f64 = 0.25;

/// The verdict, if threads hang.
pub(super) fn found(profile: &Profile, tops: &Tops) -> Option<Findings> {
    let stuck = hanging(profile);
    let circle = stuck.iter().find_map(|one| circle(&stuck, one));
    circle.map(|circle| deadlock(profile, tops, &circle)).or_else(|| owner(profile, tops, &stuck))
}

fn hanging(profile: &Profile) -> Vec<&Stuck> {
    let hangs = |stuck: &&Stuck| stuck.ns >= LONG_NS && stuck.ns as f64 >= PART * profile.seconds * 1e9;
    profile.stuck.iter().filter(hangs).collect()
}

/// The threads of a circle, each waiting for a lock of the next one.
fn circle<'p>(stuck: &[&'p Stuck], first: &'p Stuck) -> Option<Vec<&'p Stuck>> {
    let mut circle: Vec<&Stuck> = vec![first];
    loop {
        let last = circle.last()?;
        let holder = last.holder?;
        if holder == first.thread {
            return Some(circle);
        }
        let next = of_thread(stuck, first.process, holder).filter(|one| matches!(one.on, WaitObject::Lock(_)))?;
        // A circle that this thread only leads to is found from one of its own.
        if circle.iter().any(|one| one.thread == next.thread) {
            return None;
        }
        circle.push(next);
    }
}

fn of_thread<'p>(stuck: &[&'p Stuck], process: u32, thread: u32) -> Option<&'p Stuck> {
    stuck.iter().find(|one| (one.process, one.thread) == (process, thread)).copied()
}

fn deadlock(profile: &Profile, tops: &Tops, circle: &[&Stuck]) -> Findings {
    let lock = |one: &Stuck| place(profile, Some(one.on));
    let sentences = circle.iter().enumerate().map(|(at, one)| {
        // Who waits for it is the one before in the circle.
        let before = circle[(at + circle.len() - 1) % circle.len()];
        let who = who(profile, tops, one);
        if circle.len() == 1 {
            return format!("{who} locks {}, which it holds already, since {}", lock(one), duration_ns(one.ns as f64));
        }
        format!("{who} holds {} and waits for {} since {}", lock(before), lock(one), duration_ns(one.ns as f64))
    });
    let verdict = format!("Deadlock: {}.", sentences.collect::<Vec<String>>().join("; "));
    let stacks = circle.iter().filter_map(|one| {
        let line = format!("thread {} waits for {} here", one.thread, lock(one).replace('`', ""));
        Some((line, one.stack?))
    });
    Findings { verdict, stacks: stacks.collect(), ..Findings::default() }
}

/// Threads that all wait for one that has a lock, and does something else.
fn owner(profile: &Profile, tops: &Tops, stuck: &[&Stuck]) -> Option<Findings> {
    // What the holder itself waits for that has no holder.
    let its_wait = |one: &Stuck| {
        of_thread(stuck, one.process, one.holder?).filter(|its| matches!(its.on, WaitObject::Condition(_)))
    };
    let is_last = |one: &Stuck| one.state != State::OtherLock || its_wait(one).is_some();
    let first = stuck.iter().find(|one| one.holder.is_some() && is_last(one))?;
    let all: Vec<&&Stuck> = stuck
        .iter()
        .filter(|one| (one.process, one.on, one.holder) == (first.process, first.on, first.holder))
        .collect();
    let WaitObject::Lock(lock) = first.on else { return None };
    let lock = &profile.locks[lock as usize];
    let its = its_wait(first);
    let does = match first.state {
        _ if its.is_some() => format!("waits for {}", place(profile, its.map(|its| its.on))),
        State::Blocked if first.call.is_empty() => "sleeps".to_owned(),
        State::Blocked => format!("is blocked in {}", first.call),
        State::Computing => "is computing".to_owned(),
        State::NoCore => "has no core".to_owned(),
        _ => "holds it".to_owned(),
    };
    let known = lock.causes.iter().filter_map(|cause| tops.top(cause.stack?)).next();
    let holder_stack = first.holder_stack.or(its.and_then(|its| its.stack));
    let function = holder_stack.and_then(|stack| of_program(profile, tops, stack)).or(known);
    let in_function = function.map_or(String::new(), |frame| format!(", in {}", named(profile, tops, frame)));
    let verdict = format!(
        "{} for {} since {}: thread {} has it and {does}{in_function}.",
        counted_that(all.len(), "thread", ["waits", "wait"]),
        lock_name(lock),
        duration_ns(first.ns as f64),
        first.holder?,
    );
    let holder = holder_stack.map(|stack| (format!("thread {} has it, and is here", first.holder.unwrap_or(0)), stack));
    let waiter = first.stack.map(|stack| (format!("thread {} waits here", first.thread), stack));
    Some(Findings { verdict, stacks: holder.into_iter().chain(waiter).collect(), ..Findings::default() })
}

/// What most threads wait for that is no lock, if they have for long: a notification may have been lost.
pub(super) fn idle(profile: &Profile, tops: &Tops) -> Option<String> {
    let mut counts: Vec<(usize, &Stuck)> = Vec::new();
    for one in hanging(profile) {
        match counts.iter_mut().find(|(_, first)| first.on == one.on) {
            Some((n, _)) => *n += 1,
            None => counts.push((1, one)),
        }
    }
    let of_kind = |one: &Stuck| match one.on {
        WaitObject::Condition(index) => profile.conditions.get(index as usize).filter(|one| one.kind != WaitKind::Join),
        WaitObject::Lock(_) => None,
    };
    let (n, first, condition) =
        counts.into_iter().rev().filter_map(|(n, one)| Some((n, one, of_kind(one)?))).max_by_key(|(n, ..)| *n)?;
    let function = first.stack.and_then(|stack| of_program(profile, tops, stack));
    let function = function.map_or(String::new(), |frame| format!(", in {}", named(profile, tops, frame)));
    let notified = match heaviest(profile, tops, &condition.notifiers, |site| site.count) {
        _ if condition.kind != WaitKind::Condition || profile.lock == FROM_KERNEL => String::new(),
        Some(function) => format!(" It is notified in {function}."),
        None => " It was not seen to be notified.".to_owned(),
    };
    let (threads_wait, on) = (counted_that(n, "thread", ["waits", "wait"]), place(profile, Some(first.on)));
    Some(format!("{threads_wait} for {on} since {}{function}.{notified}", duration_ns(first.ns as f64)))
}

/// The innermost function of the program.
fn of_program(profile: &Profile, tops: &Tops, stack: u32) -> Option<u32> {
    profile.stacks[stack as usize].iter().copied().find(|number| {
        let frame = &profile.frames[*number as usize];
        frame.is_named && !is_below(frame) && !tops.is_wrapper(*number)
    })
}

/// A thread by the function in which it waits. A stack that ends in a library says nothing of that.
fn who(profile: &Profile, tops: &Tops, one: &Stuck) -> String {
    let top = one.stack.and_then(|stack| tops.top(stack));
    match top.filter(|number| !is_below(&profile.frames[*number as usize])) {
        Some(frame) => format!("{} (thread {})", named(profile, tops, frame), one.thread),
        None => format!("thread {}", one.thread),
    }
}
